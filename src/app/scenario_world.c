/* The world section: pool, times, workers, workloads, budgets. */

#include <stddef.h>

#include "app/nearest.h"
#include "app/scenario.h"
#include "base/time.h"

#define OPTION(member) offsetof(struct dr_world_options, member)
static const struct dr_field world_fields[] = {
    {"zones", DR_FIELD_OTHER, 0, NULL, "names of the zones, each with one subnet `subnet-<zone>`; default [a, b]"},
    {"types", DR_FIELD_OTHER, 0, NULL, "list of instance types; default one t3.medium"},
    {"workers", DR_FIELD_OTHER, 0, NULL, "list of workers at the start, or just their number"},
    {"workloads", DR_FIELD_OTHER, 0, NULL, "list of workloads"},
    {"budgets", DR_FIELD_OTHER, 0, NULL, "list of disruption budgets"},
    {"series", DR_FIELD_OTHER, 0, NULL, "mapping of signals to the value that they read from the start, or to a trace"},
    {"demand", DR_FIELD_OTHER, 0, NULL, "mapping of cpu (cores) and memory (bytes) to what is asked of the fleet, or to a trace"},
    {"servers", DR_FIELD_COUNT, OPTION(servers), NULL, "control-plane nodes, tainted; default 1"},
    {"spotPrice", DR_FIELD_PERCENT, OPTION(spot_percent_of_price), NULL, "spot price as a share of on-demand; default 35%"},
    {"boot", DR_FIELD_SPAN_RANGE, OPTION(boot_min_ms), NULL, "launch to running; default 15s..30s"},
    {"join", DR_FIELD_SPAN_RANGE, OPTION(join_min_ms), NULL, "running to Node object; default 25s..50s"},
    {"ready", DR_FIELD_SPAN, OPTION(ready_ms), NULL, "Node object to Ready; default 10s"},
    {"neverJoin", DR_FIELD_SHARE_PPM, OPTION(never_join_ppm), NULL, "share of launches that never join; default 0%"},
    {"notReadyAfter", DR_FIELD_SPAN, OPTION(not_ready_after_ms), NULL, "silent kubelet to NotReady; default 40s"},
    {"podEviction", DR_FIELD_SPAN, OPTION(pod_eviction_ms), NULL, "NotReady to pods deleted; default 5m"},
    {"shutdown", DR_FIELD_SPAN, OPTION(shutdown_ms), NULL, "shutting down to terminated; default 30s"},
    {"terminatedVisible", DR_FIELD_SPAN, OPTION(terminated_visible_ms), NULL,
     "how long a terminated machine is still described; default 1h"},
    {"describeLag", DR_FIELD_SPAN, OPTION(describe_lag_ms), NULL, "how long a fresh machine is not described; default 0s"},
    {"nodesVanish", DR_FIELD_BOOL, OPTION(nodes_vanish), NULL,
     "a cloud controller removes the Node of an ended machine; default false, as with K3s"},
    {"reuseAddresses", DR_FIELD_BOOL, OPTION(reuse_addresses), NULL,
     "the lowest free address, and so the node name, is given again; default false"},
    {"identity", DR_FIELD_CHOICE, OPTION(identity), "provider-id|label|ip|both", "how a Node says which machine it is; default both"},
    {"podStart", DR_FIELD_SPAN, OPTION(pod_start_ms), NULL, "bound to running; default 3s"},
    {"podStop", DR_FIELD_SPAN, OPTION(pod_stop_ms), NULL, "deleted to gone; default 5s"},
    {"sample", DR_FIELD_SPAN, OPTION(sample_ms), NULL, "time between samples of the metrics; default 15s"},
    {"podUse", DR_FIELD_PERCENT, OPTION(pod_use_percent), NULL,
     "without series or demand: what a running pod uses of its requests; default 60%"},
    {"fixedFleet", DR_FIELD_COUNT, OPTION(fixed_fleet), NULL, "workers of the fleet that cost is compared with; default the maximum"},
    {NULL, DR_FIELD_OTHER, 0, NULL, NULL},
};

#define TYPE(member) offsetof(struct dr_worker_type, member)
static const struct dr_field type_fields[] = {
    {"name", DR_FIELD_STR, TYPE(name), NULL, "name"},
    {"cpu", DR_FIELD_CORES, TYPE(cpu_milli), NULL, "allocatable cores"},
    {"memory", DR_FIELD_BYTES, TYPE(mem_bytes), NULL, "allocatable memory"},
    {"pods", DR_FIELD_COUNT, TYPE(pod_limit), NULL, "most pods; default 110"},
    {"price", DR_FIELD_USD, TYPE(on_demand_micro_usd), NULL, "on demand, dollars per hour"},
    {"labels", DR_FIELD_LABELS, TYPE(labels), NULL, "labels of its nodes"},
    {NULL, DR_FIELD_OTHER, 0, NULL, NULL},
};

#define WORKER(member) offsetof(struct dr_scenario_workers, member)
static const struct dr_field worker_fields[] = {
    {"count", DR_FIELD_COUNT, WORKER(count), NULL, "how many of this kind; default 1"},
    {"type", DR_FIELD_STR, WORKER(worker.type), NULL, "default the first"},
    {"zone", DR_FIELD_STR, WORKER(worker.zone), NULL, "default the least filled"},
    {"market", DR_FIELD_CHOICE, WORKER(worker.market), "on-demand|spot", "default on-demand"},
    {"age", DR_FIELD_SPAN, WORKER(worker.age_ms), NULL,
     "launched so long before the start; default 1h, each further one of a list entry a minute younger"},
    {"neverJoin", DR_FIELD_BOOL, WORKER(worker.never_join), NULL, "the machine runs but its Node never appears"},
    {"booting", DR_FIELD_BOOL, WORKER(worker.booting), NULL, "it has just been launched"},
    {"action", DR_FIELD_STR, WORKER(worker.action_id), NULL, "our action tag: launched by an action of ours"},
    {NULL, DR_FIELD_OTHER, 0, NULL, NULL},
};

struct workload_extra {
    struct dr_world_workload w;
    struct dr_strs tolerate;
    int64_t host_port;
};
#define LOAD(member) offsetof(struct workload_extra, member)
static const struct dr_field workload_fields[] = {
    {"name", DR_FIELD_STR, LOAD(w.name), NULL, "name; its pods carry the label app=<name>"},
    {"kind", DR_FIELD_CHOICE, LOAD(w.kind), "deployment|daemonset|bare|mirror", "default deployment"},
    {"namespace", DR_FIELD_STR, LOAD(w.ns), NULL, "default `default`"},
    {"replicas", DR_FIELD_COUNT, LOAD(w.replicas), NULL, "default 1; 0 and `scale` later: pods that come later"},
    {"cpu", DR_FIELD_CORES, LOAD(w.spec.cpu_milli), NULL, "request of a pod"},
    {"memory", DR_FIELD_BYTES, LOAD(w.spec.mem_bytes), NULL, "request of a pod"},
    {"selector", DR_FIELD_LABELS, LOAD(w.spec.selector), NULL, "node selector"},
    {"tolerate", DR_FIELD_STRS, LOAD(tolerate), NULL, "keys of taints that its pods tolerate"},
    {"hostPort", DR_FIELD_COUNT, LOAD(host_port), NULL, "a TCP port of the node"},
    {"volumeZones", DR_FIELD_STRS, LOAD(w.spec.volume_zones), NULL, "zones that its volume allows"},
    {"volumeUnbound", DR_FIELD_BOOL, LOAD(w.spec.volume_unbound), NULL, "waits for a volume that does not come"},
    {"unmodelled", DR_FIELD_BOOL, LOAD(w.spec.unmodelled), NULL, "has a hard rule that fit does not know"},
    {"labels", DR_FIELD_LABELS, LOAD(w.labels), NULL, "instead of app=<name>"},
    {"priority", DR_FIELD_COUNT, LOAD(w.priority), NULL, "higher is scheduled first"},
    {"critical", DR_FIELD_BOOL, LOAD(w.critical), NULL, "priority class system-node-critical or system-cluster-critical"},
    {"localData", DR_FIELD_BOOL, LOAD(w.local_data), NULL, "has data on its node"},
    {"grace", DR_FIELD_SPAN, LOAD(w.grace_ms), NULL, "default 30s"},
    {"start", DR_FIELD_SPAN, LOAD(w.start_ms), NULL, "default that of the world"},
    {"stop", DR_FIELD_SPAN, LOAD(w.stop_ms), NULL, "default that of the world"},
    {"stuck", DR_FIELD_BOOL, LOAD(w.stuck_stop), NULL, "its pods never finish terminating"},
    {"imageBroken", DR_FIELD_BOOL, LOAD(w.image_broken), NULL, "its image cannot be pulled"},
    {NULL, DR_FIELD_OTHER, 0, NULL, NULL},
};

struct budget_text {
    struct dr_str name;
    struct dr_str ns;
    struct dr_str app;
    struct dr_str min_available;
    struct dr_str max_unavailable;
};
#define BUDGET(member) offsetof(struct budget_text, member)
static const struct dr_field budget_fields[] = {
    {"name", DR_FIELD_STR, BUDGET(name), NULL, "default the name of the app"},
    {"namespace", DR_FIELD_STR, BUDGET(ns), NULL, "default `default`"},
    {"app", DR_FIELD_STR, BUDGET(app), NULL, "covers the pods with this app label; without it all pods of the namespace"},
    {"minAvailable", DR_FIELD_STR, BUDGET(min_available), NULL, "a number or a share such as 50%"},
    {"maxUnavailable", DR_FIELD_STR, BUDGET(max_unavailable), NULL, "a number or a share; one of the two is given"},
    {NULL, DR_FIELD_OTHER, 0, NULL, NULL},
};

static void put_table(struct dr_buf *buf, const char *title, const struct dr_field *fields) {
    dr_buf_fmt(buf, "\n### `%s`\n\n| key | meaning |\n|---|---|\n", title);
    for (; fields->name != NULL; fields++) {
        dr_buf_fmt(buf, "| `%s` | %s", fields->name, fields->help);
        if (fields->choices != NULL) {
            dr_buf_puts(buf, " (");
            for (const char *p = fields->choices; *p != '\0'; p++) {
                if (*p == '|') {
                    dr_buf_puts(buf, ", ");
                } else {
                    dr_buf_putc(buf, *p);
                }
            }
            dr_buf_putc(buf, ')');
        }
        dr_buf_puts(buf, " |\n");
    }
}

void dr_scenario_put_fields(struct dr_buf *buf) {
    put_table(buf, "world", world_fields);
    put_table(buf, "world.types", type_fields);
    put_table(buf, "world.workers", worker_fields);
    put_table(buf, "world.workloads", workload_fields);
    put_table(buf, "world.budgets", budget_fields);
}

/* ---- lists ---- */

/* A list of mappings; NULL: not given, or reported. */
static const struct dr_yaml *list_of(struct dr_scenario_reader *r, const struct dr_yaml *world, const char *key, size_t max) {
    const struct dr_yaml *list = dr_yaml_get(world, key);
    if (list == NULL || dr_yaml_null(list)) {
        return NULL;
    }
    if (list->kind != DR_YAML_SEQUENCE || list->n > max) {
        dr_reports_add(r->reports, list->line, list->column, "world.%s: %s: must be a list of at most %zu", key, dr_yaml_kind_name(list),
                       max);
        return NULL;
    }
    return list;
}

static void add_name(struct dr_scenario_reader *r, struct dr_strs *names, size_t max, struct dr_str name, const struct dr_yaml *at,
                     const char *path) {
    if (name.n == 0) {
        dr_reports_add(r->reports, at->line, at->column, "%s: name: is missing", path);
    } else if (dr_strs_has(*names, name)) {
        dr_reports_add(r->reports, at->line, at->column, "%s: name: %.*s: given twice", path, DR_FMT(name));
    } else if (names->n < max) {
        ((struct dr_str *)(uintptr_t)names->v)[names->n++] = name;
    }
}

static void need_name(struct dr_scenario_reader *r, const struct dr_yaml *item, const char *key, const char *path, struct dr_str name,
                      struct dr_strs known) {
    if (name.n == 0 || dr_strs_has(known, name)) {
        return;
    }
    const struct dr_yaml *v = dr_yaml_get(item, key);
    struct dr_nearest nearest;
    dr_nearest_init(&nearest, name);
    for (size_t i = 0; i < known.n; i++) {
        dr_nearest_try(&nearest, known.v[i]);
    }
    dr_reports_add(r->reports, v->line, v->column, "%s.%s: %.*s: there is none of this name in the world%s%.*s%s", path, key, DR_FMT(name),
                   nearest.found ? "; did you mean " : "", DR_FMT(nearest.best), nearest.found ? "?" : "");
}

static void read_zones(struct dr_scenario_reader *r, const struct dr_yaml *world) {
    static const struct dr_str default_zones[] = {{"a", 1}, {"b", 1}};
    struct dr_scenario *s = r->scenario;
    s->lexicon.zones = (struct dr_strs){default_zones, 2};
    const struct dr_yaml *list = list_of(r, world, "zones", DR_WORLD_MAX_ZONES);
    if (list == NULL) {
        return;
    }
    struct dr_strs zones = {DR_NEW_N(r->arena, struct dr_str, list->n), 0};
    for (const struct dr_yaml *item = list->child; item != NULL; item = item->next) {
        if (item->kind != DR_YAML_SCALAR || item->text.n > 40) {
            dr_reports_add(r->reports, item->line, item->column, "world.zones: %s: must be a short name", dr_yaml_kind_name(item));
            continue;
        }
        add_name(r, &zones, list->n, item->text, item, "world.zones");
    }
    if (zones.n == 0) {
        dr_reports_add(r->reports, list->line, list->column, "world.zones: must have at least one");
        return;
    }
    struct dr_subnet *subnets = DR_NEW_N(r->arena, struct dr_subnet, zones.n);
    for (size_t i = 0; i < zones.n; i++) {
        subnets[i] = (struct dr_subnet){dr_str_fmt(r->arena, "subnet-%.*s", DR_FMT(zones.v[i])), zones.v[i]};
    }
    s->lexicon.zones = zones;
    s->options.subnets = subnets;
    s->options.subnet_n = zones.n;
}

static void read_types(struct dr_scenario_reader *r, const struct dr_yaml *world) {
    struct dr_scenario *s = r->scenario;
    const struct dr_yaml *list = list_of(r, world, "types", DR_WORLD_MAX_TYPES);
    if (list != NULL && list->n == 0) {
        dr_reports_add(r->reports, list->line, list->column, "world.types: must have at least one");
        list = NULL;
    }
    if (list != NULL) {
        struct dr_worker_type *types = DR_NEW_N(r->arena, struct dr_worker_type, list->n);
        size_t n = 0;
        for (const struct dr_yaml *item = list->child; item != NULL; item = item->next, n++) {
            types[n].pod_limit = 110;
            dr_fields_read(r, "world.types", item, type_fields, &types[n]);
            if (types[n].cpu_milli <= 0 || types[n].mem_bytes <= 0 || types[n].pod_limit <= 0) {
                dr_reports_add(r->reports, item->line, item->column, "world.types: cpu, memory and pods: must be above 0");
            }
        }
        s->options.types = types;
        s->options.type_n = n;
    }
    struct dr_strs names = {DR_NEW_N(r->arena, struct dr_str, s->options.type_n), 0};
    const struct dr_yaml *item = list == NULL ? world : list->child; /* the default has a name: nothing will be said about it */
    for (size_t i = 0; i < s->options.type_n; i++) {
        DR_ASSERT(item != NULL);
        add_name(r, &names, s->options.type_n, s->options.types[i].name, item, "world.types");
        item = list == NULL ? item : item->next;
    }
    s->lexicon.types = names;
}

static void read_workers(struct dr_scenario_reader *r, const struct dr_yaml *world) {
    struct dr_scenario *s = r->scenario;
    const struct dr_yaml *number = dr_yaml_get(world, "workers");
    int64_t total = 0;
    if (number != NULL && number->kind == DR_YAML_SCALAR && dr_str_to_i64(number->text, &total) && total >= 0 &&
        total <= DR_SCENARIO_MAX_WORKERS) {
        struct dr_scenario_workers *one = DR_NEW(r->arena, struct dr_scenario_workers);
        *one = (struct dr_scenario_workers){.worker = {.age_ms = DR_HOUR_MS}, .count = total};
        s->workers = one;
        s->worker_n = 1;
        return;
    }
    total = 0;
    if (number != NULL && number->kind == DR_YAML_SCALAR && !dr_yaml_null(number)) {
        dr_reports_add(r->reports, number->line, number->column, "world.workers: %.*s: must be a number from 0 to %d, or a list of workers",
                       DR_FMT(number->text), DR_SCENARIO_MAX_WORKERS);
        return;
    }
    const struct dr_yaml *list = list_of(r, world, "workers", DR_SCENARIO_MAX_WORKERS);
    struct dr_scenario_workers *workers = DR_NEW_N(r->arena, struct dr_scenario_workers, list == NULL ? 0 : list->n);
    s->workers = workers;
    for (const struct dr_yaml *item = list == NULL ? NULL : list->child; item != NULL; item = item->next) {
        struct dr_scenario_workers *w = &workers[s->worker_n++];
        *w = (struct dr_scenario_workers){.worker = {.age_ms = DR_HOUR_MS}, .count = 1};
        dr_fields_read(r, "world.workers", item, worker_fields, w);
        need_name(r, item, "zone", "world.workers", w->worker.zone, s->lexicon.zones);
        need_name(r, item, "type", "world.workers", w->worker.type, s->lexicon.types);
        w->worker.age_ms = w->worker.booting ? 0 : w->worker.age_ms;
        total += w->count;
    }
    if (total > DR_SCENARIO_MAX_WORKERS) {
        dr_reports_add(r->reports, list->line, list->column, "world.workers: %lld: at most %d", (long long)total, DR_SCENARIO_MAX_WORKERS);
    }
}

static void finish_workload(struct dr_scenario_reader *r, struct workload_extra *x) {
    struct dr_toleration *tolerations = DR_NEW_N(r->arena, struct dr_toleration, x->tolerate.n);
    for (size_t i = 0; i < x->tolerate.n; i++) {
        tolerations[i] = (struct dr_toleration){.key = x->tolerate.v[i], .exists = true, .any_effect = true};
    }
    x->w.spec.tolerations = tolerations;
    x->w.spec.toleration_n = x->tolerate.n;
    if (x->host_port > 0) {
        struct dr_host_port *port = DR_NEW(r->arena, struct dr_host_port);
        *port = (struct dr_host_port){x->host_port, 'T'};
        x->w.spec.host_ports = port;
        x->w.spec.host_port_n = 1;
    }
}

static void read_workloads(struct dr_scenario_reader *r, const struct dr_yaml *world) {
    struct dr_scenario *s = r->scenario;
    const struct dr_yaml *list = list_of(r, world, "workloads", 500);
    size_t max = list == NULL ? 0 : list->n;
    struct dr_world_workload *workloads = DR_NEW_N(r->arena, struct dr_world_workload, max);
    struct dr_strs names = {DR_NEW_N(r->arena, struct dr_str, max), 0};
    int64_t total = 0;
    for (const struct dr_yaml *item = list == NULL ? NULL : list->child; item != NULL; item = item->next) {
        struct workload_extra x = {.w = {.replicas = 1, .grace_ms = -1, .start_ms = -1, .stop_ms = -1}};
        dr_fields_read(r, "world.workloads", item, workload_fields, &x);
        finish_workload(r, &x);
        add_name(r, &names, max, x.w.name, item, "world.workloads");
        for (size_t i = 0; i < x.w.spec.volume_zones.n; i++) {
            need_name(r, item, "volumeZones", "world.workloads", x.w.spec.volume_zones.v[i], s->lexicon.zones);
        }
        total += x.w.replicas;
        workloads[s->workload_n++] = x.w;
    }
    if (total > (int64_t)s->options.max_pods) {
        dr_reports_add(r->reports, list->line, list->column, "world.workloads: %lld pods: at most %zu", (long long)total,
                       s->options.max_pods);
    }
    s->workloads = workloads;
    s->lexicon.workloads = names;
}

static bool budget_value(struct dr_str text, struct dr_budget *budget) {
    budget->percent = dr_str_ends(text, "%");
    struct dr_str number = budget->percent ? dr_str_sub(text, 0, text.n - 1) : text;
    return dr_str_to_i64(number, &budget->value) && budget->value >= 0 && budget->value <= (budget->percent ? 100 : 1000000);
}

static struct dr_budget make_budget(struct dr_scenario_reader *r, const struct dr_yaml *item, const struct budget_text *t) {
    struct dr_budget b = {.ns = t->ns.n == 0 ? DR_STR("default") : t->ns, .name = t->name.n == 0 ? t->app : t->name};
    b.has_min_available = t->min_available.n > 0;
    if ((t->min_available.n > 0) == (t->max_unavailable.n > 0)) {
        dr_reports_add(r->reports, item->line, item->column, "world.budgets: minAvailable or maxUnavailable: one of the two must be given");
    } else if (!budget_value(b.has_min_available ? t->min_available : t->max_unavailable, &b)) {
        const struct dr_yaml *v = dr_yaml_get(item, b.has_min_available ? "minAvailable" : "maxUnavailable");
        dr_reports_add(r->reports, v->line, v->column, "world.budgets.%.*s: %.*s: must be a number of pods or a share such as 50%%",
                       DR_FMT(v->key->text), DR_FMT(v->text));
    }
    if (t->app.n > 0) {
        struct dr_requirement *app = DR_NEW(r->arena, struct dr_requirement);
        struct dr_str *value = DR_NEW(r->arena, struct dr_str);
        *value = t->app;
        *app = (struct dr_requirement){.key = DR_STR("app"), .op = DR_OP_IN, .values = {value, 1}};
        b.selector = (struct dr_term){app, 1};
    }
    return b;
}

static void read_budgets(struct dr_scenario_reader *r, const struct dr_yaml *world) {
    struct dr_scenario *s = r->scenario;
    const struct dr_yaml *list = list_of(r, world, "budgets", 100);
    size_t max = list == NULL ? 0 : list->n;
    struct dr_budget *budgets = DR_NEW_N(r->arena, struct dr_budget, max);
    struct dr_strs names = {DR_NEW_N(r->arena, struct dr_str, max), 0};
    for (const struct dr_yaml *item = list == NULL ? NULL : list->child; item != NULL; item = item->next) {
        struct budget_text text = {.name = DR_STR_NONE};
        dr_fields_read(r, "world.budgets", item, budget_fields, &text);
        need_name(r, item, "app", "world.budgets", text.app, s->lexicon.workloads);
        budgets[s->budget_n] = make_budget(r, item, &text);
        add_name(r, &names, max, budgets[s->budget_n].name, item, "world.budgets");
        s->budget_n++;
    }
    s->budgets = budgets;
    s->lexicon.budgets = names;
}

/* What the promises are compared with is what the engine is told. */
static void follow_config(struct dr_scenario *s) {
    const struct dr_config *cfg = &s->settings.cfg;
    s->options.cluster = cfg->cluster;
    s->options.min_workers = cfg->min_workers;
    s->options.max_workers = cfg->max_workers;
    s->options.join_timeout_ms = cfg->join_timeout_ms;
    s->options.zone_is_rule = dr_config_zone_is_rule(cfg, s->lexicon.zones.n);
    s->options.codec_check = true;
}

void dr_scenario_read_world(struct dr_scenario_reader *reader, const struct dr_yaml *world) {
    static const struct dr_yaml nothing = {.kind = DR_YAML_MAPPING, .line = 1, .column = 1};
    if (world == NULL || dr_yaml_null(world)) {
        world = &nothing;
    }
    dr_fields_read(reader, "world", world, world_fields, &reader->scenario->options);
    if (world->kind != DR_YAML_MAPPING) {
        world = &nothing;
    }
    if (reader->scenario->options.sample_ms < DR_SECOND_MS) {
        const struct dr_yaml *v = dr_yaml_get(world, "sample");
        dr_reports_add(reader->reports, v->line, v->column, "world.sample: %.*s: must be at least 1s", DR_FMT(v->text));
    }
    if (reader->scenario->options.servers > 100) {
        const struct dr_yaml *v = dr_yaml_get(world, "servers");
        dr_reports_add(reader->reports, v->line, v->column, "world.servers: %.*s: must be at most 100", DR_FMT(v->text));
    }
    read_zones(reader, world);
    read_types(reader, world);
    read_workers(reader, world);
    read_workloads(reader, world);
    read_budgets(reader, world);
    follow_config(reader->scenario);
    dr_scenario_read_curves(reader, dr_yaml_get(world, "series"), dr_yaml_get(world, "demand"));
}
