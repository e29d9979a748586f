/* What came out of a scenario, for people and for programs. */

#include "app/scenario.h"
#include "base/time.h"

static void put_forms(struct dr_buf *buf, const struct dr_sentence_form *forms) {
    for (; forms->pattern != NULL; forms++) {
        dr_buf_fmt(buf, "- `%s`\n  %s\n", forms->pattern, forms->help);
    }
}

void dr_scenario_put_reference(struct dr_buf *buf) {
    dr_buf_puts(buf, "## Reference\n\nMade by `drover simulate --reference` from the tables that the reader uses.\n");
    dr_scenario_put_fields(buf);
    dr_buf_puts(buf, "\n### `timeline`\n\n");
    put_forms(buf, dr_scenario_verbs);
    dr_buf_puts(buf, "\n### `expect`\n\n");
    put_forms(buf, dr_scenario_expectations);
    dr_buf_puts(buf, "\n### Words in capitals\n\n| word | what it may be |\n|---|---|\n");
    dr_sentence_put_kinds(buf);
}

static int64_t cost_micro(const struct dr_world_stats *s) { return s->cost_on_demand_micro_usd + s->cost_spot_micro_usd; }

static void put_figures(const struct dr_scenario_result *r, struct dr_buf *buf) {
    const struct dr_world_stats *s = &r->stats;
    dr_buf_puts(buf, "        cost $");
    dr_buf_put_micro(buf, cost_micro(s) / 100 * 100);
    dr_buf_puts(buf, " (fixed fleet $");
    dr_buf_put_micro(buf, s->cost_fixed_micro_usd / 100 * 100);
    dr_buf_puts(buf, "), ");
    dr_buf_put_micro(buf, s->node_ms / 3600 / 10 * 10000);
    dr_buf_fmt(buf, " node-hours, %lld pending pod-seconds, %lld launches, %lld terminations, %lld violations",
               (long long)(s->pending_pod_ms / DR_SECOND_MS), (long long)s->launches, (long long)s->terminations, (long long)s->violations);
    if (r->runs > 1) {
        dr_buf_fmt(buf, ", %lld runs", (long long)r->runs);
    }
    dr_buf_putc(buf, '\n');
}

void dr_scenario_put_text(const struct dr_scenario *scenario, const struct dr_scenario_result *result, bool colour, struct dr_buf *buf) {
    const char *on = !colour ? "" : result->held ? "\x1b[32m" : "\x1b[31m";
    dr_buf_fmt(buf, "%s%s%s  %.*s", on, result->held ? "held  " : "FAILED", colour ? "\x1b[0m" : "", DR_FMT(scenario->name));
    if (scenario->hazard > 0) {
        dr_buf_fmt(buf, " (hazard %lld)", (long long)scenario->hazard);
    }
    dr_buf_putc(buf, '\n');
    put_figures(result, buf);
    if (result->failed_call > 0) {
        dr_buf_fmt(buf, "        with %s at call %lld:\n", dr_fault_kind_text((enum dr_fault_kind)scenario->each),
                   (long long)result->failed_call);
    }
    for (size_t i = 0; i < result->failure_n; i++) {
        const struct dr_scenario_failure *f = &result->failures[i];
        dr_buf_fmt(buf, "    %s:%d:%d: expected: %.*s\n        seen: %.*s\n", scenario->file, f->line, f->column, DR_FMT(f->expected),
                   DR_FMT(f->seen));
    }
    if (result->failures_left_out > 0) {
        dr_buf_fmt(buf, "    and %zu more\n", result->failures_left_out);
    }
    if (result->violation != NULL) {
        dr_buf_fmt(buf, "    %s: promise broken: %s\n", scenario->file, result->violation);
    }
    if (!result->held) {
        dr_buf_puts(buf, "    the last lines of the trace:\n");
        for (struct dr_str rest = result->trace; rest.n > 0;) {
            size_t end = dr_str_find(rest, '\n');
            dr_buf_fmt(buf, "      %.*s\n", DR_FMT(dr_str_sub(rest, 0, end)));
            rest = dr_str_sub(rest, end + 1, rest.n);
        }
    }
}

static void put_failures(const struct dr_scenario_result *result, struct dr_jsonw *w) {
    dr_jsonw_key(w, "failures");
    dr_jsonw_array(w);
    for (size_t i = 0; i < result->failure_n; i++) {
        const struct dr_scenario_failure *f = &result->failures[i];
        dr_jsonw_object(w);
        dr_jsonw_kv_i64(w, "line", f->line);
        dr_jsonw_kv_i64(w, "column", f->column);
        dr_jsonw_kv_str(w, "expected", f->expected);
        dr_jsonw_kv_str(w, "seen", f->seen);
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
}

void dr_scenario_put_json(const struct dr_scenario *scenario, const struct dr_scenario_result *result, struct dr_jsonw *w) {
    const struct dr_world_stats *s = &result->stats;
    dr_jsonw_object(w);
    dr_jsonw_kv_cstr(w, "file", scenario->file);
    dr_jsonw_kv_str(w, "name", scenario->name);
    if (scenario->hazard > 0) {
        dr_jsonw_kv_i64(w, "hazard", scenario->hazard);
    }
    dr_jsonw_kv_i64(w, "seed", (int64_t)scenario->seed);
    dr_jsonw_kv_bool(w, "held", result->held);
    dr_jsonw_kv_i64(w, "runs", result->runs);
    if (result->failed_call > 0) {
        dr_jsonw_kv_i64(w, "failedCall", result->failed_call);
    }
    put_failures(result, w);
    if (result->violation != NULL) {
        dr_jsonw_kv_cstr(w, "violation", result->violation);
    }
    dr_jsonw_kv_micro(w, "costUsd", cost_micro(s));
    dr_jsonw_kv_micro(w, "costOnDemandUsd", s->cost_on_demand_micro_usd);
    dr_jsonw_kv_micro(w, "costSpotUsd", s->cost_spot_micro_usd);
    dr_jsonw_kv_micro(w, "costFixedUsd", s->cost_fixed_micro_usd);
    dr_jsonw_kv_micro(w, "nodeHours", s->node_ms * 1000 / 3600);
    dr_jsonw_kv_i64(w, "pendingPodSeconds", s->pending_pod_ms / DR_SECOND_MS);
    dr_jsonw_kv_i64(w, "launches", s->launches);
    dr_jsonw_kv_i64(w, "terminations", s->terminations);
    dr_jsonw_kv_i64(w, "interruptions", s->interruptions);
    dr_jsonw_kv_i64(w, "lostPods", s->lost_pods);
    dr_jsonw_kv_i64(w, "alerts", s->alerts);
    dr_jsonw_kv_i64(w, "violations", s->violations);
    dr_jsonw_kv_i64(w, "peakWorkers", s->peak_workers);
    dr_jsonw_kv_i64(w, "ticks", result->ticks);
    dr_jsonw_kv_i64(w, "workers", result->counts.machines);
    dr_jsonw_end(w);
}
