#include "app/demo_view.h"

#include <stdio.h>
#include <string.h>

#include "app/status.h"
#include "base/num.h"
#include "base/time.h"

#define BAR_WIDTH 24
#define FILL_WIDTH 16
#define LINE_BYTES 1024

/* ---- the log ---- */

void dr_demo_log_put(struct dr_demo_log *log, const char *line) {
    snprintf(log->lines[log->next], DR_DEMO_LINE_MAX, "%s", line);
    log->next = (log->next + 1) % DR_DEMO_LINES;
    log->n = log->n < DR_DEMO_LINES ? log->n + 1 : DR_DEMO_LINES;
}

static const char *log_line(const struct dr_demo_log *log, size_t back) {
    return log->lines[(log->next + DR_DEMO_LINES - 1 - back) % DR_DEMO_LINES];
}

/* ---- a canvas of lines ---- */

struct canvas {
    const struct dr_demo_picture *picture;
    struct dr_buf *buf;
    int row;
    char line[LINE_BYTES];
    size_t n;
    int column; /* printable ones so far */
};

static void put(struct canvas *c, const char *text) {
    for (; *text != '\0' && c->column < c->picture->width && c->n + 1 < sizeof(c->line); text++) {
        c->line[c->n++] = *text;
        /* Continuation bytes of UTF-8 take no column. */
        c->column += ((unsigned char)*text & 0xc0) != 0x80 ? 1 : 0;
    }
}

__attribute__((format(printf, 2, 3))) static void put_fmt(struct canvas *c, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    put(c, text);
}

static void colour(struct canvas *c, const char *code) {
    if (c->picture->colour && c->n + 8 < sizeof(c->line)) {
        c->n += (size_t)snprintf(c->line + c->n, sizeof(c->line) - c->n, "\x1b[%sm", code);
    }
}

static void end_line(struct canvas *c) {
    colour(c, "0");
    if (c->row < c->picture->height) {
        if (c->row > 0) {
            dr_buf_putc(c->buf, '\n');
        }
        dr_buf_put(c->buf, c->line, c->n);
    }
    c->row++;
    c->n = 0;
    c->column = 0;
}

static void put_money(struct canvas *c, int64_t micro_usd) {
    put_fmt(c, "$%lld.%02lld", (long long)(micro_usd / 1000000), (long long)(micro_usd / 10000 % 100));
}

static void put_clock(struct canvas *c, int64_t ms) {
    struct dr_buf text;
    dr_buf_init(&text, 64);
    dr_time_put_clock(&text, ms);
    put(c, text.p);
    dr_buf_deinit(&text);
}

/* A bar of `width` cells; `marks` are thresholds in parts per million, drawn as '|'. */
static void put_bar(struct canvas *c, int64_t ppm, int width, const int64_t *marks, size_t mark_n) {
    int full = (int)dr_clamp_i64(ppm * width / 1000000, 0, width);
    put(c, "[");
    for (int i = 0; i < width; i++) {
        const char *cell = i < full ? "#" : ".";
        for (size_t k = 0; k < mark_n; k++) {
            cell = (int)(marks[k] * width / 1000000) == i ? "|" : cell;
        }
        put(c, cell);
    }
    put(c, "]");
}

/* ---- the parts ---- */

static void draw_head(struct canvas *c) {
    struct dr_world *world = c->picture->world;
    struct dr_world_stats stats = dr_world_stats(world);
    int64_t cost = stats.cost_on_demand_micro_usd + stats.cost_spot_micro_usd;
    colour(c, "1");
    put(c, "drover demo  ");
    put_clock(c, dr_world_now(world) / DR_MINUTE_MS * DR_MINUTE_MS);
    colour(c, "0");
    put_fmt(c, "   x%lld  seed %llu   cost ", (long long)c->picture->speed, (unsigned long long)c->picture->seed);
    put_money(c, cost);
    put(c, " (fixed fleet ");
    put_money(c, stats.cost_fixed_micro_usd);
    put_fmt(c, ", saved %lld %%)",
            (long long)(stats.cost_fixed_micro_usd > 0 ? (stats.cost_fixed_micro_usd - cost) * 100 / stats.cost_fixed_micro_usd : 0));
    end_line(c);
}

static void draw_counts(struct canvas *c) {
    struct dr_world_counts counts = dr_world_counts(c->picture->world);
    put_fmt(c, "workers %lld of %lld..%lld, ready %lld   pods %lld running", (long long)counts.machines,
            (long long)c->picture->cfg->min_workers, (long long)c->picture->cfg->max_workers, (long long)counts.ready,
            (long long)counts.running);
    if (counts.waiting > 0) {
        colour(c, "33");
    }
    put_fmt(c, ", %lld pending", (long long)counts.waiting);
    end_line(c);
}

static const struct dr_rule *rule_of(const struct dr_rule *rules, size_t n, size_t signal) {
    for (size_t i = 0; i < n; i++) {
        if (rules[i].kind == DR_RULE_SIGNAL && rules[i].signal == signal) {
            return &rules[i];
        }
    }
    return NULL;
}

static void draw_signal(struct canvas *c, size_t signal) {
    const struct dr_config *cfg = c->picture->cfg;
    bool known = false;
    int64_t value = dr_world_signal(c->picture->world, cfg->signals[signal].name, &known);
    int64_t marks[2];
    size_t mark_n = 0;
    const struct dr_rule *up = rule_of(cfg->up, cfg->up_n, signal);
    const struct dr_rule *down = rule_of(cfg->down, cfg->down_n, signal);
    put_fmt(c, "%-8.*s", DR_FMT(cfg->signals[signal].name));
    if (up != NULL) {
        marks[mark_n++] = up->threshold_micro;
    }
    if (down != NULL) {
        marks[mark_n++] = down->threshold_micro;
    }
    bool high = known && up != NULL && dr_compare_holds(up->compare, value, up->threshold_micro);
    colour(c, !known ? "35" : high ? "31" : "32");
    put_bar(c, known ? value : 0, BAR_WIDTH, marks, mark_n);
    colour(c, "0");
    if (known) {
        put_fmt(c, " %3lld %%", (long long)(value / 10000));
    } else {
        put(c, " unknown");
    }
    if (up != NULL) {
        put_fmt(c, "   up %s %lld %%", dr_compare_sign(up->compare), (long long)(up->threshold_micro / 10000));
    }
    if (down != NULL) {
        put_fmt(c, "   down %s %lld %%", dr_compare_sign(down->compare), (long long)(down->threshold_micro / 10000));
    }
    end_line(c);
}

static void draw_action(struct canvas *c) {
    struct dr_buf text;
    dr_buf_init(&text, 512);
    if (c->picture->state != NULL) {
        dr_status_action(c->picture->state, &text);
    }
    put(c, "action  ");
    if (text.n == 0) {
        put(c, "none");
    } else {
        colour(c, "36");
        /* The first line says what; the rest is for `drover status`. */
        text.p[strcspn(text.p, "\n")] = '\0';
        put(c, text.p);
    }
    dr_buf_deinit(&text);
    end_line(c);
}

static const struct dr_node *node_of(const struct dr_snapshot *snap, const struct dr_instance *instance) {
    for (size_t i = 0; i < snap->node_n; i++) {
        if (dr_str_eq(snap->nodes[i].internal_ip, instance->private_ip) && snap->nodes[i].created_ms >= instance->launched_ms) {
            return &snap->nodes[i];
        }
    }
    return NULL;
}

static const char *state_of(const struct dr_demo_picture *picture, const struct dr_instance *instance, const struct dr_node *node,
                            const char **ret_colour) {
    const struct dr_state *state = picture->state;
    const struct dr_record *record = state == NULL ? NULL : dr_state_record(state, instance->id);
    *ret_colour = "33";
    if (instance->state == DR_INSTANCE_SHUTTING_DOWN) {
        *ret_colour = "90";
        return "shutting down";
    }
    if (record != NULL && record->kind == DR_EVENT_WARNING) {
        *ret_colour = "31";
        return "interrupted";
    }
    if (state != NULL && dr_state_marked(state, instance->id)) {
        return "terminating";
    }
    if (node == NULL) {
        return instance->state == DR_INSTANCE_PENDING ? "booting" : "joining";
    }
    if (node->unschedulable) {
        return "draining";
    }
    if (node->ready != DR_READY_TRUE) {
        *ret_colour = "31";
        return "not ready";
    }
    *ret_colour = "32";
    return record != NULL ? "ready, rebalance hint" : "ready";
}

static void draw_machine(struct canvas *c, const struct dr_snapshot *snap, const struct dr_instance *instance) {
    const struct dr_node *node = node_of(snap, instance);
    int64_t used_milli = 0;
    int64_t pods = 0;
    for (size_t i = 0; node != NULL && i < snap->pod_n; i++) {
        const struct dr_pod *pod = &snap->pods[i];
        if (dr_str_eq(pod->node, node->name) && (pod->phase == DR_PHASE_RUNNING || pod->phase == DR_PHASE_PENDING)) {
            used_milli += pod->spec->cpu_milli;
            pods++;
        }
    }
    const char *state_colour;
    const char *state = state_of(c->picture, instance, node, &state_colour);
    put_fmt(c, "  %-14.*s %-11.*s %-10s ", DR_FMT(node != NULL ? node->name : instance->id), DR_FMT(instance->zone),
            dr_market_name(instance->market));
    put_bar(c, node != NULL && node->cpu_milli > 0 ? used_milli * 1000000 / node->cpu_milli : 0, FILL_WIDTH, NULL, 0);
    put_fmt(c, " %3lld pods  ", (long long)pods);
    colour(c, state_colour);
    put(c, state);
    end_line(c);
}

static void draw_machines(struct canvas *c, int rows) {
    struct dr_snapshot snap;
    dr_world_peek(c->picture->world, &snap);
    colour(c, "1");
    put_fmt(c, "  %-14s %-11s %-10s %-18s %8s  %s", "NODE", "ZONE", "MARKET", "CPU REQUESTED", "", "STATE");
    end_line(c);
    int drawn = 0;
    for (size_t i = 0; i < snap.instance_n && drawn < rows; i++) {
        if (snap.instances[i].state != DR_INSTANCE_TERMINATED) {
            draw_machine(c, &snap, &snap.instances[i]);
            drawn++;
        }
    }
    while (drawn++ < rows) {
        end_line(c);
    }
}

static void draw_log(struct canvas *c) {
    colour(c, "1");
    put(c, "WHAT HAPPENED");
    end_line(c);
    int rows = c->picture->height - c->row;
    for (int i = rows - 1; i >= 0; i--) {
        if ((size_t)i < c->picture->log->n) {
            put(c, "  ");
            put(c, log_line(c->picture->log, (size_t)i));
        }
        end_line(c);
    }
}

void dr_demo_draw(const struct dr_demo_picture *picture, struct dr_buf *buf) {
    struct canvas c = {.picture = picture, .buf = buf};
    draw_head(&c);
    draw_counts(&c);
    for (size_t i = 0; i < picture->cfg->signal_n && i < 3; i++) {
        draw_signal(&c, i);
    }
    draw_action(&c);
    int rows = picture->height - c.row - 8;
    draw_machines(&c, (int)dr_clamp_i64(rows, 1, picture->cfg->max_workers + 1));
    draw_log(&c);
}
