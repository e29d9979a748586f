#include "app/story.h"

#include <string.h>

#include "app/status.h"
#include "base/time.h"

#define LINE_BYTES 4096
#define NOW_BYTES ((size_t)1024 * 1024)
#define OTHERS 5

void dr_story_init(struct dr_story *story, struct dr_arena *arena) {
    *story = (struct dr_story){.arena = arena};
    dr_buf_init(&story->now, NOW_BYTES);
}

void dr_story_deinit(struct dr_story *story) { dr_buf_deinit(&story->now); }

/* Takes the text over; the buffer is empty afterwards. */
static void add(struct dr_story *story, const struct dr_plan *plan, int64_t at_ms, struct dr_buf *text) {
    if (story->n == DR_STORY_MAX_LINES) {
        story->left_out++;
        dr_buf_clear(text);
        return;
    }
    struct dr_story_line *line = DR_NEW(story->arena, struct dr_story_line);
    line->at_ms = at_ms;
    line->request_id = dr_str_dup(story->arena, plan->request_id);
    line->text = dr_str_dup(story->arena, dr_buf_str(text));
    dr_buf_clear(text);
    if (story->last == NULL) {
        story->first = line;
    } else {
        story->last->next = line;
    }
    story->last = line;
    story->n++;
}

static void put_deed(const struct dr_deed *deed, struct dr_buf *buf) {
    dr_buf_puts(buf, deed->what);
    if (deed->target.n > 0) {
        dr_buf_fmt(buf, " %.*s", DR_FMT(deed->target));
    }
    if (deed->outcome.n > 0) {
        dr_buf_fmt(buf, ": %.*s", DR_FMT(deed->outcome));
    }
    if (deed->rule > 0) {
        dr_buf_fmt(buf, " (rule %d)", deed->rule);
    }
}

static bool name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '/' || c == '_';
}

/* Is the name in the text as a whole word? "i-1" is not in "i-12". */
static bool mentions(struct dr_str text, struct dr_str name) {
    for (size_t i = 0; name.n > 0 && i + name.n <= text.n; i++) {
        bool begins = i == 0 || !name_char(text.p[i - 1]);
        bool ends = i + name.n == text.n || !name_char(text.p[i + name.n]);
        if (begins && ends && dr_str_eq(dr_str_sub(text, i, i + name.n), name)) {
            return true;
        }
    }
    return false;
}

static bool about(const struct dr_deed *deed, struct dr_str name) { return mentions(deed->target, name) || mentions(deed->outcome, name); }

/* ---- action ---- */

static void remember_other(struct dr_story *story, struct dr_str *names, struct dr_str name) {
    if (name.n == 0 || dr_strs_has(story->others, name)) {
        return;
    }
    if (story->others.n == OTHERS) { /* the newest stay */
        for (size_t i = 1; i < OTHERS; i++) {
            names[i - 1] = names[i];
        }
        story->others.n--;
    }
    names[story->others.n++] = dr_str_dup(story->arena, name);
    story->others.v = names;
}

static void action_row(struct dr_story *story, const struct dr_plan *plan, struct dr_str id, struct dr_buf *text) {
    bool its_own = dr_str_eq(plan->action_id, id);
    bool decided = plan->decision.verdict == DR_VERDICT_SCALE_UP || plan->decision.verdict == DR_VERDICT_SCALE_DOWN;
    if (its_own && (decided || story->n == 0)) {
        dr_buf_puts(text, decided ? "decided: " : "first seen: ");
        dr_plan_text(plan, text);
        add(story, plan, plan->at_ms, text);
    }
    for (size_t i = 0; i < plan->deed_n; i++) {
        if (its_own || about(&plan->deeds[i], id)) {
            put_deed(&plan->deeds[i], text);
            add(story, plan, plan->deeds[i].at_ms, text);
        }
    }
}

int dr_story_of_action(struct dr_story *story, const struct dr_state_file *file, struct dr_str id, struct dr_err *err) {
    struct dr_history history;
    dr_history_init(&history, file);
    struct dr_buf text;
    dr_buf_init(&text, LINE_BYTES);
    struct dr_str *names = DR_NEW_N(story->arena, struct dr_str, OTHERS);
    const struct dr_journal_row *row;
    int more;
    while ((more = dr_history_next(&history, &row, err)) > 0) {
        action_row(story, &history.plan, id, &text);
        remember_other(story, names, history.plan.action_id);
    }
    const struct dr_state *state = &file->state;
    bool active = dr_str_eq(state->up_action_id, id) || dr_str_eq(state->down_action_id, id);
    if (active) {
        dr_buf_puts(&story->now, "it is under way: ");
        dr_status_action(state, &story->now);
    } else if (story->n > 0) {
        dr_buf_puts(&story->now, "it has ended\n");
    }
    dr_buf_deinit(&text);
    dr_history_deinit(&history);
    return more;
}

/* ---- node ---- */

/* Node name and instance id go together in the lists of candidates and where a node was cordoned; either one was given. */
struct identity {
    struct dr_str given;
    struct dr_str id;   /* empty until known */
    struct dr_str node; /* the same */
};

static void learn_pair(struct dr_story *story, struct identity *who, struct dr_str id, struct dr_str node) {
    if (who->id.n == 0 && (dr_str_eq(id, who->given) || dr_str_eq(node, who->given))) {
        who->id = dr_str_dup(story->arena, id);
        who->node = dr_str_dup(story->arena, node);
    }
}

static void learn(struct dr_story *story, const struct dr_plan *plan, struct identity *who) {
    for (size_t i = 0; i < plan->decision.victims.all_n; i++) {
        const struct dr_worker *worker = plan->decision.victims.all[i].worker;
        if (worker->node != NULL) {
            learn_pair(story, who, worker->id, worker->node->name);
        }
    }
    for (size_t i = 0; i < plan->deed_n; i++) {
        struct dr_str outcome = plan->deeds[i].outcome;
        if (dr_str_starts(outcome, DR_DEED_CORDONED)) {
            learn_pair(story, who, dr_str_sub(outcome, strlen(DR_DEED_CORDONED), outcome.n), plan->deeds[i].target);
        }
    }
}

static bool is_it(const struct identity *who, struct dr_str name) {
    return dr_str_eq(name, who->given) || (who->id.n > 0 && dr_str_eq(name, who->id)) || (who->node.n > 0 && dr_str_eq(name, who->node));
}

/* Whether it could go, when that changes: a reason that is repeated every two minutes is told once. */
static void node_candidate(struct dr_story *story, const struct dr_plan *plan, const struct identity *who, struct dr_str *last,
                           struct dr_buf *text) {
    const struct dr_victims *victims = &plan->decision.victims;
    for (size_t i = 0; i < victims->all_n; i++) {
        const struct dr_candidate *candidate = &victims->all[i];
        if (!is_it(who, candidate->worker->id) && !(candidate->worker->node != NULL && is_it(who, candidate->worker->node->name))) {
            continue;
        }
        if (dr_strs_has(victims->chosen, candidate->worker->id)) {
            dr_buf_puts(text, "chosen for removal: ");
            dr_plan_text(plan, text);
        } else if (candidate->verdict == DR_VICTIM_OK) {
            dr_buf_puts(text, "could have been removed, another one was chosen");
        } else {
            dr_buf_fmt(text, "could not be removed: %s", dr_victim_name(candidate->verdict));
            if (candidate->pod != NULL) {
                dr_buf_fmt(text, " because of pod %.*s/%.*s", DR_FMT(candidate->pod->ns), DR_FMT(candidate->pod->name));
            }
        }
        if (dr_str_eq(*last, dr_buf_str(text))) {
            dr_buf_clear(text);
            return;
        }
        *last = dr_str_dup(story->arena, dr_buf_str(text));
        add(story, plan, plan->at_ms, text);
    }
}

static void node_row(struct dr_story *story, const struct dr_plan *plan, const struct identity *who, struct dr_str *last,
                     struct dr_buf *text) {
    node_candidate(story, plan, who, last, text);
    for (size_t i = 0; i < plan->deed_n; i++) {
        const struct dr_deed *deed = &plan->deeds[i];
        if (about(deed, who->given) || about(deed, who->id) || about(deed, who->node)) {
            put_deed(deed, text);
            add(story, plan, deed->at_ms, text);
        }
    }
}

static void node_now(struct dr_story *story, const struct dr_state *state, struct dr_str id) {
    struct dr_buf *buf = &story->now;
    if (dr_state_marked(state, id)) {
        dr_buf_puts(buf, "it is marked: its termination only goes forward\n");
    } else if (dr_strs_has(state->down_targets, id)) {
        dr_buf_fmt(buf, "it is a target of scale-down %.*s\n", DR_FMT(state->down_action_id));
    }
    if (dr_strs_has(state->refused, id)) {
        dr_buf_puts(buf, "its termination was refused by termination protection\n");
    }
    if (dr_state_ended(state, id)) {
        dr_buf_puts(buf, "it has ended\n");
    }
    const struct dr_record *record = dr_state_record(state, id);
    if (record != NULL) {
        dr_buf_fmt(buf, "it has an interruption %s of ", dr_event_kind_name(record->kind));
        dr_time_put(buf, record->noticed_epoch * DR_SECOND_MS);
        dr_buf_puts(buf, record->action_id.n == 0 && record->returned_id.n == 0 ? "; its replacement is owed\n"
                                                                                : "; its replacement is on its way\n");
    }
    const struct dr_timed_id *quarantined = dr_state_quarantined(state, id);
    if (quarantined != NULL) {
        dr_buf_puts(buf, "it is quarantined until ");
        dr_time_put(buf, quarantined->epoch * DR_SECOND_MS);
        dr_buf_putc(buf, '\n');
    }
    struct dr_str key = dr_str_fmt(story->arena, "victim/%.*s", DR_FMT(id));
    const struct dr_avoid *avoid = dr_state_avoid(state, key);
    if (avoid != NULL) {
        dr_buf_puts(buf, "it is not chosen for removal until ");
        dr_time_put(buf, avoid->until_epoch * DR_SECOND_MS);
        dr_buf_fmt(buf, " (%lld failed drains)\n", (long long)avoid->count);
    }
    for (size_t i = 0; i < state->attempts.n; i++) {
        if (dr_str_eq(state->attempts.v[i].instance_id, id)) {
            dr_buf_fmt(buf, "it was launched by scale-up %.*s, which is under way\n", DR_FMT(state->up_action_id));
        }
    }
}

/* Two walks: deeds name the instance before any list says which node it is. */
int dr_story_of_node(struct dr_story *story, const struct dr_state_file *file, struct dr_str name, struct dr_err *err) {
    struct identity who = {.given = name};
    struct dr_str last = DR_STR_NONE;
    struct dr_buf text;
    dr_buf_init(&text, LINE_BYTES);
    int more = 0;
    for (int walk = 0; walk < 2 && more == 0; walk++) {
        struct dr_history history;
        dr_history_init(&history, file);
        const struct dr_journal_row *row;
        while ((more = dr_history_next(&history, &row, err)) > 0) {
            if (walk == 0) {
                learn(story, &history.plan, &who);
            } else {
                node_row(story, &history.plan, &who, &last, &text);
            }
        }
        dr_history_deinit(&history);
    }
    story->instance = who.id;
    node_now(story, &file->state, who.id.n > 0 ? who.id : name);
    dr_buf_deinit(&text);
    return more;
}

/* ---- pod ---- */

static bool is_pod(const struct dr_pod *pod, struct dr_str ns, struct dr_str name) {
    return pod != NULL && dr_str_eq(pod->ns, ns) && dr_str_eq(pod->name, name);
}

static void pod_waits(struct dr_story *story, const struct dr_plan *plan, const struct dr_waiting *waiting, struct dr_buf *text) {
    dr_buf_puts(text, "waited");
    if (waiting->since_ms > 0) {
        dr_buf_puts(text, " for ");
        dr_time_put_span(text, plan->at_ms - waiting->since_ms);
    }
    dr_buf_fmt(text, ", %s (%lld pods waited, a new worker would help %lld); decision: ",
               waiting->helpable ? "a new worker would help it" : "no new worker would help it", (long long)plan->pending.waiting,
               (long long)plan->pending.helpable);
    dr_plan_text(plan, text);
    add(story, plan, plan->at_ms, text);
}

static void pod_row(struct dr_story *story, const struct dr_plan *plan, struct dr_str ns, struct dr_str name, struct dr_buf *text) {
    for (size_t i = 0; i < plan->pending.pod_n; i++) {
        if (is_pod(plan->pending.pods[i].pod, ns, name)) {
            pod_waits(story, plan, &plan->pending.pods[i], text);
        }
    }
    for (size_t i = 0; i < plan->decision.victims.all_n; i++) {
        const struct dr_candidate *candidate = &plan->decision.victims.all[i];
        if (is_pod(candidate->pod, ns, name)) {
            dr_buf_fmt(text, "kept %.*s from being removed: %s", DR_FMT(candidate->worker->id), dr_victim_name(candidate->verdict));
            add(story, plan, plan->at_ms, text);
        }
    }
    struct dr_str full = dr_str_fmt(story->arena, "%.*s/%.*s", DR_FMT(ns), DR_FMT(name));
    for (size_t i = 0; i < plan->deed_n; i++) {
        if (about(&plan->deeds[i], full)) {
            put_deed(&plan->deeds[i], text);
            add(story, plan, plan->deeds[i].at_ms, text);
        }
    }
}

int dr_story_of_pod(struct dr_story *story, const struct dr_state_file *file, struct dr_str ns, struct dr_str name, struct dr_err *err) {
    struct dr_history history;
    dr_history_init(&history, file);
    struct dr_buf text;
    dr_buf_init(&text, LINE_BYTES);
    const struct dr_journal_row *row;
    int more;
    while ((more = dr_history_next(&history, &row, err)) > 0) {
        pod_row(story, &history.plan, ns, name, &text);
    }
    dr_buf_deinit(&text);
    dr_history_deinit(&history);
    return more;
}
