/* drover run: the daemon on the real cluster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/commands.h"
#include "app/session.h"
#include "base/time.h"

/* No sign of life for so long is death: longer than any single call and its retries may take. */
#define SILENT_MS (90 * DR_SECOND_MS)
#define OUTDATED_MS DR_MINUTE_MS    /* between looks at secrets and servers that may have changed */
#define TAKE_MS (10 * DR_SECOND_MS) /* for putting messages into the inbox */

static const struct dr_option options[] = {DR_OPTION_CONFIG, DR_OPTION_END};

/* One configuration and what was opened by it; a reload makes a second one and then lets the first go. */
struct world {
    struct dr_arena arena;
    struct dr_settings settings;
    struct dr_live live;
};

struct service {
    struct dr_app *app;
    const char *file;
    struct dr_process process;
    struct dr_log log;
    struct world *world;
    struct dr_daemon daemon;
    char warned[256];    /* what the cluster could not show when last looked at, cut short */
    unsigned seen;       /* events that nobody was told of yet */
    bool watching;       /* both streams were open when last looked at */
    int64_t outdated_ms; /* monotonic: when secrets and servers are looked at next */
};

static int64_t now_ms(struct service *service) { return dr_process_now_ms(&service->process); }

static void say(struct service *service, enum dr_level level, const char *event, const char *text) {
    dr_log_put(&service->log, now_ms(service), level, event, dr_str_of(text), NULL, 0);
}

/* ---- what wakes it ---- */

/* A watch that ends and comes back is no news; one that cannot be opened is, once. */
static void look_at_watch(struct service *service) {
    struct dr_kube_watch *watch = service->world->live.watch;
    struct dr_kube_watch_seen seen;
    dr_kube_watch_turn(watch, &seen);
    service->seen |= seen.unschedulable ? DR_WAKE_POD : 0u;
    service->seen |= seen.nodes ? DR_WAKE_NODE : 0u;
    struct dr_str why = dr_kube_watch_why(watch);
    bool watching = why.n == 0;
    if (service->watching && !watching) {
        dr_log_put(&service->log, now_ms(service), DR_LOG_WARN, "watch", why, NULL, 0);
    }
    service->watching = watching;
}

static void look_at_queue(struct service *service) {
    struct dr_sqs *sqs = service->world->live.sqs;
    if (sqs == NULL) {
        return;
    }
    size_t n = 0;
    struct dr_err err;
    /* What fails is logged by the adapter, once. */
    if (dr_sqs_ready(sqs) && dr_sqs_take(sqs, now_ms(service) + TAKE_MS, &n, &err) == 0 && n > 0) {
        service->seen |= DR_WAKE_MESSAGE;
    }
    dr_sqs_start(sqs);
}

/* Between passes everything ends the wait; inside of a pass that waits for something, what may change its plan. */
static bool pump(void *self) {
    struct service *service = self;
    look_at_watch(service);
    look_at_queue(service);
    return service->seen != 0;
}

static int64_t service_monotonic_ms(void *self) {
    (void)self;
    return dr_process_monotonic_ms();
}

/* What a pass could not see although it went on; told when it changes. */
static void look_at_warning(struct service *service) {
    struct dr_str warning = dr_kubernetes_warning(service->world->live.kube);
    char now[sizeof(service->warned)];
    snprintf(now, sizeof(now), "%.*s", DR_FMT(warning));
    if (strcmp(now, service->warned) != 0) {
        memcpy(service->warned, now, sizeof(now));
        if (warning.n > 0) {
            dr_log_put(&service->log, now_ms(service), DR_LOG_WARN, "cluster", warning, NULL, 0);
        }
    }
}

static unsigned service_wait(void *self, int64_t until_ms) {
    struct service *service = self;
    look_at_warning(service);
    dr_process_wait(&service->process, until_ms);
    unsigned seen = service->seen;
    service->seen = 0;
    seen |= service->process.stopping ? DR_WAKE_STOP : 0u;
    seen |= service->process.reload ? DR_WAKE_RELOAD : 0u;
    service->process.reload = false;
    if (dr_process_monotonic_ms() >= service->outdated_ms) {
        service->outdated_ms = dr_process_monotonic_ms() + OUTDATED_MS;
        seen |= dr_live_outdated(&service->world->live, !service->watching) ? DR_WAKE_RELOAD : 0u;
    }
    return seen;
}

/* ---- configuration ---- */

static void world_free(struct world *world) {
    if (world != NULL) {
        dr_live_deinit(&world->live);
        dr_arena_deinit(&world->arena);
        free(world);
    }
}

/* NULL: said why. A reload says it in the log, a start on the error output. */
static struct world *world_new(struct service *service, struct dr_err *err) {
    struct world *world = calloc(1, sizeof(*world));
    DR_ASSERT(world != NULL);
    dr_arena_init(&world->arena, 0);
    struct dr_settings_source source = {service->file, NULL, service->app->env};
    struct dr_reports *reports = DR_NEW(&world->arena, struct dr_reports);
    dr_reports_init(reports, &world->arena, service->file == NULL ? "configuration" : service->file);
    int result = 0;
    if (dr_settings_load(&world->settings, &world->arena, &source, reports) < 0) {
        struct dr_buf text;
        dr_buf_init(&text, (size_t)64 * 1024);
        dr_reports_put(reports, &text);
        fputs(text.p == NULL ? "" : text.p, service->app->err);
        result = dr_fail(err, DR_E_INVALID, "%s", text.p == NULL ? "" : text.p);
        dr_buf_deinit(&text);
    } else {
        struct dr_http *before = service->process.http;
        result = dr_live_init(&world->live, &world->settings, service->app->env, &service->process, err);
        world->live.log = &service->log;
        if (result == 0) {
            result = dr_live_open(&world->live, DR_LIVE_TICK | DR_LIVE_QUEUE | DR_LIVE_WATCH, err);
        }
        if (result < 0) {
            dr_live_deinit(&world->live);
            service->process.http = before;
        }
    }
    if (result < 0) {
        dr_arena_deinit(&world->arena);
        free(world);
        return NULL;
    }
    world->live.ports.notify = dr_session_notify(&service->log);
    return world;
}

static void use_world(struct service *service, struct world *world) {
    service->world = world;
    service->watching = true;
    const struct dr_live_config *cfg = &world->settings.live;
    service->process.grace_ms = cfg->grace_ms;
    dr_session_log(&service->log, service->app, cfg);
    service->daemon.ports = &world->live.ports;
    service->daemon.cfg = &world->settings.cfg;
    service->daemon.batch_ms = cfg->batch_ms;
}

/* Starts to listen as this world wants it; the old place is left only when the new one is taken. */
static int use_health(struct service *service, const struct world *world, struct dr_err *err) {
    struct dr_str before = service->world == NULL ? DR_STR_NONE : service->world->settings.live.health_listen;
    struct dr_str listen = world->settings.live.health_listen;
    struct dr_health *health = NULL;
    if (dr_str_eq(before, listen)) {
        return 0;
    }
    if (listen.n > 0 && (health = dr_health_start(listen, &service->process.beat_ms, SILENT_MS, err)) == NULL) {
        return -1;
    }
    dr_health_stop(service->daemon.health);
    service->daemon.health = health;
    return 0;
}

static int service_reload(void *self, struct dr_daemon *daemon) {
    (void)daemon;
    struct service *service = self;
    struct dr_err err = {.code = DR_OK};
    struct world *before = service->world;
    struct dr_http *loop = service->process.http;
    struct world *world = world_new(service, &err);
    if (world != NULL && use_health(service, world, &err) < 0) {
        world_free(world);
        service->process.http = loop;
        world = NULL;
    }
    if (world == NULL) {
        struct dr_field field = DR_F_STR("error", dr_str_trim(dr_str_of(err.text)));
        dr_log_put(&service->log, now_ms(service), DR_LOG_ERROR, "reload", DR_STR("refused: the old configuration stays in force"), &field,
                   1);
        return -1;
    }
    use_world(service, world);
    world_free(before);
    say(service, DR_LOG_INFO, "reload", "the new configuration is in force");
    return 0;
}

static const struct dr_daemon_ops service_ops = {service_monotonic_ms, service_wait, service_reload};

/* ---- start and end ---- */

static void announce(struct service *service) {
    const struct dr_settings *settings = &service->world->settings;
    struct dr_field fields[] = {
        DR_F_STR("version", DR_STR(DR_VERSION)),
        DR_F_STR("cluster", settings->cfg.cluster),
        DR_F_STR("process", service->daemon.name),
        DR_F_STR("store", dr_live_store(&settings->live) == DR_STORE_SQLITE ? DR_STR("sqlite") : DR_STR("dynamodb")),
        DR_F_STR("api", service->world->live.cluster_from),
        DR_F_BOOL("queue", service->world->live.sqs != NULL),
    };
    dr_log_put(&service->log, now_ms(service), DR_LOG_INFO, "start", DR_STR("drover runs"), fields, sizeof(fields) / sizeof(fields[0]));
}

static int start(struct service *service, struct dr_err *err) {
    if (dr_process_init(&service->process, true, err) < 0) {
        return -1;
    }
    service->process.sd = dr_sd_of(service->app->env);
    service->process.pump = pump;
    service->process.self = service;
    struct world *world = world_new(service, err);
    if (world == NULL) {
        return -1;
    }
    if (use_health(service, world, err) < 0) {
        world_free(world);
        return -1;
    }
    service->daemon.ops = &service_ops;
    service->daemon.self = service;
    service->daemon.log = &service->log;
    use_world(service, world);
    service->daemon.name = dr_str_dup(service->app->arena, dr_live_name(&world->live));
    return 0;
}

static int run(struct dr_app *app, const struct dr_args *args) {
    struct service service = {.app = app, .file = dr_session_file(app, args)};
    struct dr_err err = {.code = DR_OK};
    dr_daemon_init(&service.daemon);
    int code = DR_EXIT_OK;
    if (start(&service, &err) < 0) {
        bool told = service.world == NULL && err.code == DR_E_INVALID && strchr(err.text, '\n') != NULL;
        code = err.code == DR_E_INVALID ? DR_EXIT_USAGE : DR_EXIT_FAILED;
        if (!told) {
            code = dr_app_fail(app, (enum dr_exit)code, "%s", err.text);
        }
    } else {
        announce(&service);
        dr_sd_send(&service.process.sd, "READY=1");
        dr_daemon_run(&service.daemon);
        dr_sd_send(&service.process.sd, "STOPPING=1");
        say(&service, DR_LOG_INFO, "stop", "asked to stop; nothing is left half done");
    }
    dr_health_stop(service.daemon.health);
    world_free(service.world);
    dr_process_deinit(&service.process);
    dr_daemon_deinit(&service.daemon);
    return code;
}

const struct dr_command dr_cmd_run = {
    .name = "run",
    .summary = "the daemon on the real cluster: woken by waiting pods, queue messages and a timer",
    .operands = "",
    .details =
        "SIGTERM and SIGINT end it after the effect under way; SIGHUP reads the configuration again (a bad one is refused and the old one\n"
        "stays). Several may run for one cluster: one holds the lease, the others stand by.\n",
    .options = options,
    .run = run,
};
