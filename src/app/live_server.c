/* {server} in an address: a machine of the control plane, found by its tags. */
#include <string.h>

#include "app/live.h"

#define FIND_MS 10000
#define ADDRESS_MAX 1200

static int find_servers(struct dr_live *live, struct dr_strs *ret, struct dr_err *err) {
    const struct dr_settings *settings = live->settings;
    const struct dr_label own[] = {{DR_STR(DR_EC2_TAG_CLUSTER), settings->cfg.cluster}, {DR_STR(DR_EC2_TAG_ROLE), DR_STR("server")}};
    bool given = settings->live.server_tags.n > 0;
    const struct dr_label *tags = given ? dr_live_labels(&live->arena, settings->live.server_tags) : own;
    size_t n = given ? settings->live.server_tags.n : 2;
    if (dr_live_aws(live, err) < 0) {
        return -1;
    }
    return dr_ec2_servers(live->aws, &live->arena, tags, n, dr_process_now_ms(live->process) + FIND_MS, ret, err);
}

static int find_server(struct dr_live *live, const char *key, struct dr_err *err) {
    struct dr_strs servers;
    if (find_servers(live, &servers, err) < 0) {
        return dr_wrap(err, "%s", key);
    }
    if (servers.n == 0) {
        return dr_fail(err, DR_E_NOT_FOUND, "%s: no running instance has the tags of a server (%s)", key,
                       live->settings->live.server_tags.n > 0 ? "kubernetes.serverTags"
                                                              : "drover.dev/cluster=<cluster>, drover.dev/role=server");
    }
    /* Any of several, another the next time: one that is down is not asked for ever. */
    live->server = servers.v[live->seed % servers.n];
    return 0;
}

int dr_live_address(struct dr_live *live, const char *key, struct dr_str url, struct dr_str *ret, struct dr_err *err) {
    *ret = url;
    if (!dr_live_names_server(url)) {
        return 0;
    }
    if (live->server.n == 0 && find_server(live, key, err) < 0) {
        return -1;
    }
    struct dr_buf text;
    dr_buf_init(&text, ADDRESS_MAX);
    while (url.n > 0) {
        bool here = dr_str_starts(url, DR_LIVE_SERVER);
        dr_buf_put_str(&text, here ? live->server : dr_str_sub(url, 0, 1));
        url = dr_str_sub(url, here ? strlen(DR_LIVE_SERVER) : 1, url.n);
    }
    *ret = dr_str_dup(&live->arena, dr_buf_str(&text));
    dr_buf_deinit(&text);
    return 0;
}

bool dr_live_server_outdated(struct dr_live *live, bool unreachable) {
    struct dr_strs servers;
    struct dr_err err;
    if (live->server.n == 0 || find_servers(live, &servers, &err) < 0 || servers.n == 0) {
        return false;
    }
    return !dr_strs_has(servers, live->server) || (unreachable && servers.n > 1);
}
