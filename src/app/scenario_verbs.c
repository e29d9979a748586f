/* The timeline: what happens to the world, and when. One row per verb; the first argument of each is its time. */

#include "app/scenario.h"
#include "base/num.h"
#include "base/time.h"

enum verb {
    SERIES,
    DEMAND_CPU,
    DEMAND_MEMORY,
    OUTAGE,
    HANG,
    GAP,
    SCALE,
    FIX,
    VOLUME,
    DROP_BUDGET,
    INTERRUPT,
    REBALANCE,
    EVENT,
    KILL,
    KUBELET,
    PROTECT,
    PROTECT_NODE,
    CORDON,
    TAINT,
    DELETE_NODE,
    BREAK_IDENTITY,
    ADD_WORKER,
    CAPACITY,
    PRICE,
    QUOTA,
    NEVER_JOIN,
    ZONE_IS,
    BOOT,
    DESCRIBE_LAG,
    FAULT,
    LATENCY,
    SLEEP,
    PROCESS,
    CLOCK,
    ITEM,
    VERB_N,
};

const struct dr_sentence_form dr_scenario_verbs[] = {
    [SERIES] = {"at TIME series SIGNAL VALUE", "The signal reads this value from now on, until the next `series` of it."},
    [DEMAND_CPU] = {"at TIME demand cpu CORES",
                    "So many cores are asked of the fleet; linear between such points, utilisation follows from the Ready workers."},
    [DEMAND_MEMORY] = {"at TIME demand memory BYTES", "So much memory is asked of the fleet; linear between such points."},
    [OUTAGE] = {"at TIME outage SIGNAL for SPAN [because TEXT]", "The signal cannot be read; the default reason is `connection refused`."},
    [HANG] = {"at TIME hang SIGNAL for SPAN", "Queries of the signal are answered by nobody until their deadline."},
    [GAP] = {"at TIME gap SIGNAL for SPAN", "The series has no samples of that time."},
    [SCALE] = {"at TIME scale WORKLOAD to COUNT", "The workload wants so many replicas."},
    [FIX] = {"at TIME fix WORKLOAD", "Its image can be pulled and its pods can end from now on."},
    [VOLUME] = {"at TIME volume WORKLOAD bound|unbound", "Its volume is there, or not."},
    [DROP_BUDGET] = {"at TIME drop BUDGET", "The disruption budget is deleted."},
    [INTERRUPT] = {"at TIME interrupt WORKER [notice SPAN] [unannounced]",
                   "The market takes the machine back in 2 minutes; the warning reaches the inbox after `notice` (default 1s), or never if "
                   "it is unannounced."},
    [REBALANCE] = {"at TIME rebalance WORKER [notice SPAN]", "The market recommends to move away from the machine; a hint, no more."},
    [EVENT] = {"at TIME event EVENT WORKER",
               "A row reaches the inbox as it stands: a duplicate, a late one, one for a machine that is not ours (i-...)."},
    [KILL] = {"at TIME kill WORKER", "The machine ends at once, by nobody's wish."},
    [KUBELET] = {"at TIME kubelet WORKER down|up", "The kubelet falls silent, or speaks again."},
    [PROTECT] = {"at TIME protect WORKER on|off", "Termination protection of the machine."},
    [PROTECT_NODE] = {"at TIME protect-node WORKER on|off", "Annotation drover.dev/protected of its Node."},
    [CORDON] = {"at TIME person cordons|uncordons WORKER", "A person does that, not the autoscaler."},
    [TAINT] = {"at TIME taint WORKER TAINT", "Its Node gets a taint."},
    [DELETE_NODE] = {"at TIME delete-node WORKER", "A person deletes its Node object."},
    [BREAK_IDENTITY] = {"at TIME break-identity WORKER", "Its Node no longer says whose it is."},
    [ADD_WORKER] = {"at TIME add-worker [zone ZONE] [market MARKET] [silent]",
                    "A machine of the pool that nobody of ours launched; `silent` never joins."},
    [CAPACITY] = {"at TIME capacity STOCK [type TYPE] [zone ZONE] [market MARKET]", "So many further launches succeed there."},
    [PRICE] = {"at TIME price USD [type TYPE] [zone ZONE] [market MARKET]", "What a machine costs there from now on."},
    [QUOTA] = {"at TIME quota STOCK", "So many machines of the account may be alive at once."},
    [NEVER_JOIN] = {"at TIME never-join COUNT", "The next so many launches never become a Node."},
    [ZONE_IS] = {"at TIME zone ZONE broken|healthy", "What is launched in a broken zone never joins."},
    [BOOT] = {"at TIME boot SPAN [join SPAN] [ready SPAN]", "Exact times of launches from now on."},
    [DESCRIBE_LAG] = {"at TIME describe-lag SPAN", "How long a fresh machine is not described."},
    [FAULT] = {"at TIME fault FAULT [at CALL] [nth COUNT] [times COUNT] [for SPAN] [process COUNT] [code CODE] [by SHIFT] [chance VALUE]",
               "Strikes at calls from now on: at this one, only the n-th of its name since the start, so often at most, for so long, of "
               "this process, with this code, by this time (stale, clock-step, delay), "
               "with this probability. For interleave-* `process` is the one that runs a pass inside the call."},
    [LATENCY] = {"at TIME latency SPAN [at CALL]", "Every call (of this name) takes so long."},
    [SLEEP] = {"at TIME sleep SPAN", "No scheduled passes for so long: the autoscaler is down. Events still wake it."},
    [PROCESS] = {"at TIME process COUNT ticks [every SPAN] [until TIME]",
                 "A further process (1 to 7) makes a pass, or one every so often."},
    [CLOCK] = {"at TIME clock COUNT off SHIFT", "The clock of the process (0 is the first) is off by so much."},
    [ITEM] = {"at TIME item TEXT", "The stored item is replaced by this DynamoDB JSON, as another system or a person would."},
    [VERB_N] = {NULL, NULL},
};

/* ---- workers by name ---- */

static struct dr_str pick_end(struct dr_world *world, bool newest) {
    struct dr_str id = DR_STR_NONE;
    for (size_t n = 0;; n++) {
        struct dr_str next = dr_world_pick(world, -1, DR_STR_NONE, n);
        if (next.n == 0) {
            return id;
        }
        id = next;
        if (!newest) {
            return id;
        }
    }
}

struct dr_str dr_scenario_worker(struct dr_scenario_run *run, struct dr_str name) {
    int64_t n = 0;
    if (dr_str_starts(name, "i-")) {
        return name;
    }
    if (dr_str_is(name, "oldest") || dr_str_is(name, "newest")) {
        return pick_end(run->world, dr_str_is(name, "newest"));
    }
    if (dr_str_is(name, "victim")) {
        const struct dr_state *item = dr_world_item(run->world);
        return item != NULL && item->down_targets.n > 0 ? item->down_targets.v[0] : DR_STR_NONE;
    }
    bool spot = dr_str_starts(name, "spot");
    bool demand = dr_str_starts(name, "demand");
    (void)dr_str_to_i64(dr_str_sub(name, spot ? 4 : demand ? 6 : 1, name.n), &n);
    if (spot || demand) {
        return dr_world_pick(run->world, spot ? DR_MARKET_SPOT : DR_MARKET_ON_DEMAND, DR_STR_NONE, (size_t)(n - 1));
    }
    return dr_str_fmt(run->arena, "i-%016llx", (unsigned long long)n); /* machines are numbered as they come */
}

/* ---- faults ---- */

enum { FAULT_KIND = 1, FAULT_CALL, FAULT_NTH, FAULT_TIMES, FAULT_FOR, FAULT_PROCESS, FAULT_CODE, FAULT_BY, FAULT_CHANCE };

static struct dr_fault fault_of(const struct dr_sentence *s) {
    const struct dr_sentence_arg *a = s->args;
    struct dr_fault f = dr_fault_of((enum dr_fault_kind)a[FAULT_KIND].n);
    bool interleaves = f.kind == DR_FAULT_INTERLEAVE_BEFORE || f.kind == DR_FAULT_INTERLEAVE_AFTER;
    f.name = a[FAULT_CALL].given ? (int)a[FAULT_CALL].n : DR_CALL_ANY;
    f.occurrence = a[FAULT_NTH].given ? (uint64_t)a[FAULT_NTH].n : 0;
    f.limit = a[FAULT_TIMES].given ? a[FAULT_TIMES].n : interleaves ? 1 : 0;
    f.from_ms = a[0].n;
    f.to_ms = a[FAULT_FOR].given ? a[0].n + a[FAULT_FOR].n : 0;
    f.process = a[FAULT_PROCESS].given && !interleaves ? (int)a[FAULT_PROCESS].n : interleaves ? 0 : -1;
    f.arg = a[FAULT_PROCESS].given ? a[FAULT_PROCESS].n : 1;
    f.code = a[FAULT_CODE].given ? (enum dr_code)a[FAULT_CODE].n : DR_OK;
    f.ms = a[FAULT_BY].given ? a[FAULT_BY].n : 0;
    f.ppm = a[FAULT_CHANCE].given ? a[FAULT_CHANCE].n : 0;
    return f;
}

size_t dr_scenario_faults(const struct dr_scenario *scenario, struct dr_fault *ret) {
    size_t n = 0;
    for (size_t i = 0; i < scenario->timeline_n; i++) {
        if (scenario->timeline[i].form == FAULT) {
            if (n < DR_SCENARIO_MAX_FAULTS) {
                ret[n] = fault_of(&scenario->timeline[i]);
            }
            n++;
        }
    }
    return n;
}

/* ---- what can be checked before the run ---- */

#define MAX_ADDED 500
#define MAX_OUTAGES 150
#define MAX_FURTHER_PASSES 100000

static int64_t process_of(const struct dr_sentence *s) {
    if (s->form == PROCESS || s->form == CLOCK) {
        return s->args[1].n;
    }
    return s->form == FAULT && s->args[FAULT_PROCESS].given ? s->args[FAULT_PROCESS].n : 1;
}

/* What is wrong with one sentence beyond its words; NULL: nothing. */
static const char *mistake(struct dr_scenario_reader *reader, const struct dr_sentence *s, struct dr_err *err) {
    const struct dr_sentence_arg *a = s->args;
    struct dr_state state;
    if (process_of(s) >= DR_WORLD_MAX_PROCESSES || (s->form == PROCESS && process_of(s) == 0)) {
        return s->form == PROCESS ? "process: must be from 1 to 7" : "process: must be from 0 to 7";
    }
    int64_t span_ms = (s->form == PROCESS && a[3].given ? a[3].n : reader->scenario->lexicon.end_ms) - a[0].n;
    if (s->form == PROCESS && a[2].given && (a[2].n < DR_SECOND_MS || span_ms / a[2].n > MAX_FURTHER_PASSES)) {
        return "every: must be at least 1s, and at most 100000 passes";
    }
    if (s->form == SERIES && dr_str_is(a[1].text, "all")) {
        return "series: all: must be one signal";
    }
    if (s->form == ITEM && dr_state_decode(reader->arena, a[1].text, &state, err) < 0) {
        return err->text;
    }
    return NULL;
}

void dr_scenario_check_timeline(struct dr_scenario_reader *reader) {
    const struct dr_scenario *scenario = reader->scenario;
    size_t faults = 0;
    size_t outages = 0;
    size_t added = 0;
    for (size_t i = 0; i < scenario->timeline_n; i++) {
        const struct dr_sentence *s = &scenario->timeline[i];
        struct dr_err err;
        const char *what = mistake(reader, s, &err);
        faults += s->form == FAULT;
        added += s->form == ADD_WORKER;
        outages += s->form == OUTAGE || s->form == HANG || s->form == GAP;
        if (what != NULL) {
            dr_reports_add(reader->reports, s->line, s->column, "timeline: %s", what);
        }
    }
    if (faults > DR_SCENARIO_MAX_FAULTS || outages > MAX_OUTAGES || added > MAX_ADDED) {
        dr_reports_add(reader->reports, scenario->timeline[0].line, scenario->timeline[0].column,
                       "timeline: %zu faults, %zu outages, %zu added workers: at most %d, %d and %d", faults, outages, added,
                       DR_SCENARIO_MAX_FAULTS, MAX_OUTAGES, MAX_ADDED);
    }
}

/* ---- what happens ---- */

struct moment {
    struct dr_scenario_run *run;
    const struct dr_sentence *sentence;
};

static void process_ticks(struct dr_scenario_run *run, int process) {
    if (process > 0 && process < DR_WORLD_MAX_PROCESSES && !run->runner.processes[process].running) {
        (void)dr_runner_tick(&run->runner, process);
    }
}

static void tick_again(struct dr_world *world, void *arg) {
    const struct moment *m = arg;
    const struct dr_sentence_arg *a = m->sentence->args;
    int64_t until_ms = a[3].given ? a[3].n : m->run->scenario->lexicon.end_ms;
    int64_t at_ms = dr_world_now(world);
    if (a[2].given && a[2].n > 0 && at_ms + a[2].n <= until_ms) {
        dr_world_at(world, at_ms + a[2].n, tick_again, arg);
    }
    process_ticks(m->run, (int)a[1].n);
}

static void put_item(struct dr_scenario_run *run, const struct dr_sentence *s) {
    struct dr_state state;
    struct dr_err err;
    if (dr_state_decode(run->arena, s->args[1].text, &state, &err) < 0) {
        dr_world_trace(run->world, "the item of line %d cannot be read: %s", s->line, err.text);
        return;
    }
    state.exists = true;
    dr_world_put_item(run->world, &state);
}

static bool to_worker(struct dr_scenario_run *run, const struct dr_sentence *s) {
    const struct dr_sentence_arg *a = s->args;
    struct dr_world *w = run->world;
    bool second = s->form == CORDON;
    struct dr_str id = dr_scenario_worker(run, a[second || s->form == EVENT ? 2 : 1].text);
    switch ((enum verb)s->form) {
    case INTERRUPT:
        return dr_world_interrupt(w, id, a[3].given ? -1 : a[2].given ? a[2].n : DR_SECOND_MS);
    case REBALANCE:
        return dr_world_rebalance(w, id, a[2].given ? a[2].n : DR_SECOND_MS);
    case EVENT:
        dr_world_event(w, id, (enum dr_event_kind)a[1].n, dr_world_now(w));
        return true;
    case KILL:
        return dr_world_kill(w, id);
    case KUBELET:
        return dr_world_kubelet(w, id, a[2].n == 1);
    case PROTECT:
        return dr_world_protect(w, id, a[2].n == 0);
    case PROTECT_NODE:
        return dr_world_node_protect(w, id, a[2].n == 0);
    case CORDON:
        return dr_world_node_cordon(w, id, a[1].n == 0);
    case DELETE_NODE:
        return dr_world_node_delete(w, id);
    case BREAK_IDENTITY:
        return dr_world_node_break_identity(w, id);
    case TAINT: {
        struct dr_str text = a[2].text;
        size_t colon = dr_str_find(text, ':');
        struct dr_str key = dr_str_sub(text, 0, colon);
        size_t equals = dr_str_find(key, '=');
        struct dr_taint taint = {dr_str_sub(key, 0, equals), dr_str_sub(key, equals + 1, key.n), (enum dr_taint_effect)a[2].n};
        return dr_world_node_taint(w, id, &taint);
    }
    default:
        DR_ASSERT(s->form == INTERRUPT);
        return false;
    }
}

static void add_worker(struct dr_world *world, const struct dr_sentence_arg *a) {
    struct dr_world_worker worker = {.zone = a[1].given ? a[1].text : DR_STR_NONE,
                                     .market = a[2].given ? (enum dr_market)a[2].n : DR_MARKET_ON_DEMAND,
                                     .never_join = a[3].given,
                                     .booting = true};
    (void)dr_world_add_worker(world, &worker);
}

static void to_cloud(struct dr_world *w, const struct dr_sentence *s) {
    const struct dr_sentence_arg *a = s->args;
    switch ((enum verb)s->form) {
    case ADD_WORKER:
        add_worker(w, a);
        break;
    case CAPACITY:
        dr_world_set_capacity(w, a[2].text, a[3].text, a[4].given ? (int)a[4].n : -1, a[1].n);
        break;
    case PRICE:
        dr_world_set_price(w, a[2].text, a[3].text, a[4].given ? (int)a[4].n : -1, a[1].n);
        break;
    case QUOTA:
        dr_world_set_quota(w, a[1].n);
        break;
    case NEVER_JOIN:
        dr_world_never_join_next(w, a[1].n);
        break;
    case ZONE_IS:
        dr_world_zone_broken(w, a[1].text, a[2].n == 0);
        break;
    case BOOT:
        dr_world_set_boot(w, a[1].n, a[2].given ? a[2].n : -1, a[3].given ? a[3].n : -1);
        break;
    case DESCRIBE_LAG:
        dr_world_set_describe_lag(w, a[1].n);
        break;
    case LATENCY:
        dr_world_set_latency(w, a[2].given ? (int)a[2].n : DR_CALL_ANY, a[1].n);
        break;
    default:
        DR_ASSERT(s->form == CAPACITY);
    }
}

static void happens(struct dr_world *world, void *arg) {
    const struct moment *m = arg;
    const struct dr_sentence *s = m->sentence;
    const struct dr_sentence_arg *a = s->args;
    dr_world_trace(world, "timeline: %.*s", DR_FMT(dr_str_sub(s->text, 0, 150)));
    switch ((enum verb)s->form) {
    case SCALE:
        dr_world_set_replicas(world, dr_world_find_workload(world, a[1].text), a[2].n);
        break;
    case FIX:
        dr_world_fix(world, dr_world_find_workload(world, a[1].text));
        break;
    case VOLUME:
        dr_world_set_volume(world, dr_world_find_workload(world, a[1].text), a[2].n == 1);
        break;
    case DROP_BUDGET:
        (void)dr_world_remove_budget(world, a[1].text);
        break;
    case SLEEP:
        m->run->runner.next_ms = dr_max_i64(m->run->runner.next_ms, dr_world_now(world) + a[1].n);
        break;
    case PROCESS:
        tick_again(world, arg);
        break;
    case CLOCK:
        dr_world_set_clock_offset(world, (int)a[1].n % DR_WORLD_MAX_PROCESSES, a[2].n);
        break;
    case ITEM:
        put_item(m->run, s);
        break;
    case ADD_WORKER:
    case CAPACITY:
    case PRICE:
    case QUOTA:
    case NEVER_JOIN:
    case ZONE_IS:
    case BOOT:
    case DESCRIBE_LAG:
    case LATENCY:
        to_cloud(world, s);
        break;
    default:
        if (!to_worker(m->run, s)) {
            dr_world_trace(world, "timeline: line %d: there is no such worker now", s->line);
        }
    }
}

/* ---- what is known before the run ---- */

static struct dr_str signal_of(struct dr_str name) { return dr_str_is(name, "all") ? DR_STR_NONE : name; }

/* Series, demand and outages are functions of time: they are given to the world as a whole. */
static bool told_before(struct dr_world *world, const struct dr_sentence *s) {
    const struct dr_sentence_arg *a = s->args;
    switch ((enum verb)s->form) {
    case SERIES:
        dr_world_series(world, a[1].text, a[0].n, a[2].n);
        return true;
    case DEMAND_CPU:
        dr_world_demand_cpu(world, a[0].n, a[1].n);
        return true;
    case DEMAND_MEMORY:
        dr_world_demand_mem(world, a[0].n, a[1].n);
        return true;
    case OUTAGE:
        dr_world_outage(world, signal_of(a[1].text), DR_OUTAGE_UNKNOWN, a[0].n, a[0].n + a[2].n, a[3].given ? a[3].text : DR_STR_NONE);
        return true;
    case HANG:
        dr_world_outage(world, signal_of(a[1].text), DR_OUTAGE_HANG, a[0].n, a[0].n + a[2].n, DR_STR_NONE);
        return true;
    case GAP:
        dr_world_outage(world, signal_of(a[1].text), DR_OUTAGE_GAP, a[0].n, a[0].n + a[2].n, DR_STR_NONE);
        return true;
    case FAULT:
        return true;
    default:
        return false;
    }
}

void dr_scenario_schedule(struct dr_scenario_run *run) {
    const struct dr_scenario *scenario = run->scenario;
    for (size_t i = 0; i < scenario->timeline_n; i++) {
        const struct dr_sentence *s = &scenario->timeline[i];
        if (told_before(run->world, s)) {
            continue;
        }
        struct moment *m = DR_NEW(run->arena, struct moment);
        *m = (struct moment){run, s};
        if (s->args[0].n <= scenario->lexicon.start_ms) {
            happens(run->world, m); /* before the first pass */
        } else {
            dr_world_at(run->world, s->args[0].n, happens, m);
        }
    }
}
