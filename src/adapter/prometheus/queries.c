#include "adapter/prometheus/queries.h"

/* The preset's text is what a person sees and may replace; only that very text is ours to refine. */
static bool is_builtin(const struct dr_signal *signal, size_t at) {
    struct dr_config preset;
    dr_config_init(&preset, DR_PRESET_DEFAULT);
    return dr_str_eq(signal->query, preset.signals[at].query);
}

/* A host as a piece of a regular expression inside of a PromQL string: both have a backslash of their own. */
static void put_host(struct dr_buf *buf, struct dr_str host) {
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == ':';
        if (!plain) {
            dr_buf_puts(buf, "\\\\");
        }
        dr_buf_putc(buf, c);
    }
}

static void put_matchers(struct dr_buf *buf, const char *first, const struct dr_str *servers, size_t server_n) {
    dr_buf_putc(buf, '{');
    dr_buf_puts(buf, first);
    if (server_n > 0) {
        dr_buf_puts(buf, *first == '\0' ? "instance!~\"(" : ",instance!~\"(");
        for (size_t i = 0; i < server_n; i++) {
            if (i > 0) {
                dr_buf_putc(buf, '|');
            }
            put_host(buf, servers[i]);
        }
        dr_buf_puts(buf, ")(:[0-9]+)?\"");
    }
    dr_buf_putc(buf, '}');
}

/* Nodes in a server role, with their address. `max by` makes one of the series of several kube-state-metrics. */
#define SERVERS                                                                                                                            \
    "(max by (node, role) (kube_node_role{role=~\"control-plane|master|etcd\"}) * on (node) group_left (internal_ip) "                     \
    "max by (node, internal_ip) (kube_node_info))"

/* `inner`, without the series whose host is a server by address or by name. */
static void put_workers(struct dr_buf *buf, struct dr_str inner) {
    dr_buf_puts(buf, "(label_replace(");
    dr_buf_put_str(buf, inner);
    dr_buf_puts(buf, ", \"drover_host\", \"$1\", \"instance\", \"([^:]+)(?::[0-9]+)?\")");
    dr_buf_puts(buf, " unless on (drover_host) label_replace(" SERVERS ", \"drover_host\", \"$1\", \"internal_ip\", \"(.+)\")");
    dr_buf_puts(buf, " unless on (drover_host) label_replace(" SERVERS ", \"drover_host\", \"$1\", \"node\", \"(.+)\"))");
}

/* sum(<before><metric>{<first>}<after>) over workers. */
static void put_sum(struct dr_buf *buf, const char *before, const char *first, const char *after, const struct dr_str *servers,
                    size_t server_n) {
    struct dr_buf inner;
    dr_buf_init(&inner, 0);
    dr_buf_puts(&inner, before);
    put_matchers(&inner, first, servers, server_n);
    dr_buf_puts(&inner, after);
    dr_buf_puts(buf, "sum(");
    put_workers(buf, dr_buf_str(&inner));
    dr_buf_putc(buf, ')');
    dr_buf_deinit(&inner);
}

struct dr_str dr_prometheus_worker_query(struct dr_arena *arena, const struct dr_signal *signal, const struct dr_str *servers,
                                         size_t server_n) {
    struct dr_buf buf;
    dr_buf_init(&buf, 0);
    if (signal->kind == DR_SIGNAL_CPU && is_builtin(signal, DR_SIGNAL_AT_CPU)) {
        dr_buf_puts(&buf, "1 - ");
        put_sum(&buf, "rate(node_cpu_seconds_total", "mode=\"idle\"", "[5m])", servers, server_n);
        dr_buf_puts(&buf, " / ");
        put_sum(&buf, "rate(node_cpu_seconds_total", "", "[5m])", servers, server_n);
    } else if (signal->kind == DR_SIGNAL_MEMORY && is_builtin(signal, DR_SIGNAL_AT_MEMORY)) {
        dr_buf_puts(&buf, "1 - ");
        put_sum(&buf, "node_memory_MemAvailable_bytes", "", "", servers, server_n);
        dr_buf_puts(&buf, " / ");
        put_sum(&buf, "node_memory_MemTotal_bytes", "", "", servers, server_n);
    } else {
        dr_buf_put_str(&buf, signal->query);
    }
    struct dr_str query = dr_str_dup(arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return query;
}
