/*
 * The file of what is known about the pool, so that a process of one tick need not ask:
 *
 *     {"pool":"<what it depends on>","subnetsMs":1,"subnets":[{"id":"subnet-1","zone":"a"}],"typesMs":1,"types":[{"name":"t3.medium","vcpus":2,"memMib":4096,
 *      "arch":"amd64"}],"templateMs":1,"template":{"id":"lt-1","version":"3","type":"t3.medium","market":false,"network":false}}
 *
 * It saves calls and no more: whatever is wrong with it, the answer is to ask again.
 */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter/ec2/handle.h"
#include "base/json.h"
#include "base/json_write.h"

#define MAX_FILE_BYTES (1 << 20)

/* Everything that the answers depend on. Types are looked up by name, so they need not be here. */
static struct dr_str pool_key(const struct dr_ec2 *ec2, struct dr_arena *arena) {
    struct dr_buf buf;
    struct dr_err err;
    dr_buf_init(&buf, 0);
    dr_buf_fmt(&buf, "%.*s %.*s %.*s", DR_FMT(dr_aws_region(ec2->o.aws, &err)), DR_FMT(ec2->o.launch_template),
               DR_FMT(ec2->o.template_version));
    for (size_t i = 0; i < ec2->o.subnets.n; i++) {
        dr_buf_fmt(&buf, " %.*s", DR_FMT(ec2->o.subnets.v[i]));
    }
    for (size_t i = 0; ec2->o.subnets.n == 0 && i < ec2->o.subnet_tag_n; i++) {
        dr_buf_fmt(&buf, " %.*s=%.*s", DR_FMT(ec2->o.subnet_tags[i].key), DR_FMT(ec2->o.subnet_tags[i].value));
    }
    struct dr_str key = dr_str_dup(arena, dr_buf_str(&buf));
    dr_buf_deinit(&buf);
    return key;
}

/* ---- writing ---- */

static void put_known(const struct dr_ec2 *ec2, struct dr_jsonw *w, struct dr_str key) {
    const struct dr_ec2_known *known = &ec2->known;
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "pool", key);
    dr_jsonw_kv_i64(w, "subnetsMs", known->subnets_ms);
    dr_jsonw_key(w, "subnets");
    dr_jsonw_array(w);
    for (size_t i = 0; i < known->subnet_n; i++) {
        dr_jsonw_object(w);
        dr_jsonw_kv_str(w, "id", known->subnets[i].id);
        dr_jsonw_kv_str(w, "zone", known->subnets[i].zone);
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
    dr_jsonw_kv_i64(w, "typesMs", known->types_ms);
    dr_jsonw_key(w, "types");
    dr_jsonw_array(w);
    for (size_t i = 0; i < known->type_n; i++) {
        dr_jsonw_object(w);
        dr_jsonw_kv_str(w, "name", known->types[i].name);
        dr_jsonw_kv_i64(w, "vcpus", known->types[i].vcpus);
        dr_jsonw_kv_i64(w, "memMib", known->types[i].mem_mib);
        dr_jsonw_kv_str(w, "arch", known->types[i].arch);
        dr_jsonw_end(w);
    }
    dr_jsonw_end(w);
    dr_jsonw_kv_i64(w, "templateMs", known->template_ms);
    dr_jsonw_key(w, "template");
    dr_jsonw_object(w);
    dr_jsonw_kv_str(w, "id", known->template_.id);
    dr_jsonw_kv_str(w, "version", known->template_.version);
    dr_jsonw_kv_str(w, "type", known->template_.type);
    dr_jsonw_kv_bool(w, "market", known->template_.has_market);
    dr_jsonw_kv_bool(w, "network", known->template_.has_network);
    dr_jsonw_end(w);
    dr_jsonw_end(w);
}

/* Under another name first: readers see the old file or the new one. */
static void write_file(const char *path, struct dr_str text) {
    char fresh[4096];
    int n = snprintf(fresh, sizeof(fresh), "%s.%ld", path, (long)getpid());
    if (n < 0 || (size_t)n >= sizeof(fresh)) {
        return;
    }
    int fd = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) {
        return;
    }
    bool ok = write(fd, text.p, text.n) == (ssize_t)text.n;
    ok = close(fd) == 0 && ok;
    if (!ok || rename(fresh, path) != 0) {
        (void)unlink(fresh);
    }
}

void dr_ec2_cache_write(const struct dr_ec2 *ec2) {
    if (ec2->cache_path == NULL) {
        return;
    }
    struct dr_arena scratch;
    struct dr_buf buf;
    struct dr_jsonw w;
    dr_arena_init(&scratch, 0);
    dr_buf_init(&buf, MAX_FILE_BYTES);
    dr_jsonw_init(&w, &buf, 0);
    put_known(ec2, &w, pool_key(ec2, &scratch));
    if (!buf.truncated) {
        write_file(ec2->cache_path, dr_buf_str(&buf));
    }
    dr_buf_deinit(&buf);
    dr_arena_deinit(&scratch);
}

/* ---- reading ---- */

static struct dr_str read_file(const char *path, struct dr_arena *arena) {
    struct dr_str none = DR_STR_NONE;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return none;
    }
    char *text = dr_arena_alloc(arena, MAX_FILE_BYTES, 1);
    size_t n = 0;
    ssize_t got = 0;
    while (n < MAX_FILE_BYTES && (got = read(fd, text + n, MAX_FILE_BYTES - n)) > 0) {
        n += (size_t)got;
    }
    close(fd);
    return got == 0 && n < MAX_FILE_BYTES ? (struct dr_str){text, n} : none;
}

static int get_str(struct dr_json *j, struct dr_arena *arena, struct dr_str *ret, struct dr_err *err) {
    struct dr_str view;
    if (dr_json_str(j, arena, &view, err) < 0) {
        return -1;
    }
    *ret = dr_str_dup(arena, view);
    return 0;
}

static int get_subnets(struct dr_json *j, struct dr_ec2_known *known, struct dr_err *err) {
    struct dr_ec2_subnets list = {NULL, 0, 0, DR_STR_NONE};
    int r = dr_json_enter(j, DR_JSON_ARRAY, err);
    while (r >= 0 && (r = dr_json_next_element(j, err)) > 0) {
        struct dr_subnet *subnet = dr_ec2_append(&known->arena, &list.v, &list.n, &list.cap, sizeof(*subnet), DR_EC2_MAX_SUBNETS);
        struct dr_json_key key;
        r = subnet == NULL ? -1 : dr_json_enter(j, DR_JSON_OBJECT, err);
        while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
            r = dr_json_key_is(&key, "id")     ? get_str(j, &known->arena, &subnet->id, err)
                : dr_json_key_is(&key, "zone") ? get_str(j, &known->arena, &subnet->zone, err)
                                               : dr_json_skip(j, err);
        }
        r = r < 0 || subnet->id.n == 0 || subnet->zone.n == 0 ? -1 : r;
    }
    known->subnets = list.v;
    known->subnet_n = list.n;
    return r;
}

static int get_type(struct dr_json *j, struct dr_arena *arena, struct dr_ec2_type *type, struct dr_err *err) {
    struct dr_json_key key;
    struct dr_str arch = DR_STR_NONE;
    int r = dr_json_enter(j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        r = dr_json_key_is(&key, "name")     ? get_str(j, arena, &type->name, err)
            : dr_json_key_is(&key, "vcpus")  ? dr_json_i64(j, &type->vcpus, err)
            : dr_json_key_is(&key, "memMib") ? dr_json_i64(j, &type->mem_mib, err)
            : dr_json_key_is(&key, "arch")   ? get_str(j, arena, &arch, err)
                                             : dr_json_skip(j, err);
    }
    type->arch = dr_str_is(arch, "arm64") ? DR_STR("arm64") : DR_STR("amd64");
    bool ok = type->name.n > 0 && type->vcpus > 0 && type->vcpus <= 100000 && type->mem_mib > 0 && type->mem_mib <= INT64_C(1) << 32;
    return ok ? r : -1;
}

static int get_types(struct dr_json *j, struct dr_ec2_known *known, struct dr_err *err) {
    struct dr_ec2_types list = {NULL, 0, 0, DR_STR_NONE};
    int r = dr_json_enter(j, DR_JSON_ARRAY, err);
    while (r >= 0 && (r = dr_json_next_element(j, err)) > 0) {
        struct dr_ec2_type *type = dr_ec2_append(&known->arena, &list.v, &list.n, &list.cap, sizeof(*type), DR_EC2_MAX_TYPES);
        r = type == NULL ? -1 : get_type(j, &known->arena, type, err);
    }
    known->types = list.v;
    known->type_n = list.n;
    return r;
}

static int get_template(struct dr_json *j, struct dr_ec2_known *known, struct dr_err *err) {
    struct dr_ec2_template *t = &known->template_;
    struct dr_json_key key;
    int r = dr_json_enter(j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        r = dr_json_key_is(&key, "id")        ? get_str(j, &known->arena, &t->id, err)
            : dr_json_key_is(&key, "version") ? get_str(j, &known->arena, &t->version, err)
            : dr_json_key_is(&key, "type")    ? get_str(j, &known->arena, &t->type, err)
            : dr_json_key_is(&key, "market")  ? dr_json_bool(j, &t->has_market, err)
            : dr_json_key_is(&key, "network") ? dr_json_bool(j, &t->has_network, err)
                                              : dr_json_skip(j, err);
    }
    return r;
}

static int get_known(struct dr_json *j, struct dr_ec2_known *known, struct dr_str *ret_key, struct dr_err *err) {
    struct dr_json_key key;
    int r = dr_json_enter(j, DR_JSON_OBJECT, err);
    while (r >= 0 && (r = dr_json_next_key(j, &key, err)) > 0) {
        r = dr_json_key_is(&key, "pool")         ? get_str(j, &known->arena, ret_key, err)
            : dr_json_key_is(&key, "subnetsMs")  ? dr_json_i64(j, &known->subnets_ms, err)
            : dr_json_key_is(&key, "subnets")    ? get_subnets(j, known, err)
            : dr_json_key_is(&key, "typesMs")    ? dr_json_i64(j, &known->types_ms, err)
            : dr_json_key_is(&key, "types")      ? get_types(j, known, err)
            : dr_json_key_is(&key, "templateMs") ? dr_json_i64(j, &known->template_ms, err)
            : dr_json_key_is(&key, "template")   ? get_template(j, known, err)
                                                 : dr_json_skip(j, err);
    }
    return r < 0 ? -1 : dr_json_end(j, err);
}

void dr_ec2_cache_read(struct dr_ec2 *ec2) {
    struct dr_arena scratch;
    dr_arena_init(&scratch, 0);
    struct dr_str text = read_file(ec2->cache_path, &scratch);
    struct dr_ec2_known known = {.subnets_ms = 0};
    struct dr_str key = DR_STR_NONE;
    struct dr_err err;
    struct dr_json j;
    dr_arena_init(&known.arena, 0);
    dr_json_init(&j, text, 0);
    bool ok = text.n > 0 && get_known(&j, &known, &key, &err) == 0 && dr_str_eq(key, pool_key(ec2, &scratch));
    ok = ok && (known.template_ms == 0 || known.template_.version.n > 0);
    if (ok) {
        dr_arena_deinit(&ec2->known.arena);
        ec2->known = known;
    } else {
        dr_arena_deinit(&known.arena);
    }
    dr_arena_deinit(&scratch);
}
