#include "app/kubeconfig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "app/yaml.h"

enum { MAX_FILES = 16, MAX_FILE_BYTES = 1 << 20 };

struct file {
    const char *path;
    const struct dr_yaml *root;
};

struct loading {
    struct dr_arena *arena;
    struct file files[MAX_FILES];
    size_t n;
    struct dr_err *err;
};

static int read_file(struct dr_arena *arena, const char *path, struct dr_str *ret, struct dr_err *err) {
    FILE *f = fopen(path, "re");
    if (f == NULL) {
        enum dr_code code = errno == ENOENT ? DR_E_NOT_FOUND : DR_E_DENIED;
        return dr_fail(err, code, "%s: %s", path, strerror(errno)); /* NOLINT(concurrency-mt-unsafe) */
    }
    char *text = dr_arena_alloc(arena, MAX_FILE_BYTES + 1, 1);
    size_t n = fread(text, 1, MAX_FILE_BYTES + 1, f);
    bool failed = ferror(f) != 0;
    (void)fclose(f);
    if (failed || n > MAX_FILE_BYTES) {
        return dr_fail(err, failed ? DR_E_UNAVAILABLE : DR_E_LIMIT, "%s: %s", path, failed ? "cannot be read" : "larger than 1 MiB");
    }
    *ret = (struct dr_str){text, n};
    return 0;
}

static int load_file(struct loading *l, const char *path, bool optional) {
    struct dr_reports *reports = DR_NEW(l->arena, struct dr_reports);
    struct dr_str text = DR_STR_NONE;
    struct dr_err err = {.code = DR_OK};
    if (read_file(l->arena, path, &text, &err) < 0) {
        if (optional && err.code == DR_E_NOT_FOUND) {
            return 0;
        }
        return dr_fail(l->err, err.code, "kubeconfig %s", err.text);
    }
    dr_reports_init(reports, l->arena, path);
    const struct dr_yaml *root = NULL;
    if (dr_yaml_parse(l->arena, text, reports, &root) < 0) {
        const struct dr_report *first = &reports->v[0];
        return dr_fail(l->err, DR_E_INVALID, "kubeconfig %s:%d:%d: %.*s", path, first->line, first->column, DR_FMT(first->text));
    }
    l->files[l->n++] = (struct file){path, root};
    return 0;
}

static int load_files(struct loading *l, const char *paths) {
    bool several = strchr(paths, ':') != NULL;
    struct dr_str rest = dr_str_of(paths);
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, ':');
        struct dr_str path = dr_str_sub(rest, 0, end);
        rest = dr_str_sub(rest, end + 1, rest.n);
        if (path.n == 0) {
            continue;
        }
        if (l->n == MAX_FILES) {
            return dr_fail(l->err, DR_E_LIMIT, "kubeconfig: more than %d files", MAX_FILES);
        }
        if (load_file(l, dr_str_dup(l->arena, path).p, several) < 0) {
            return -1;
        }
    }
    return l->n > 0 ? 0 : dr_fail(l->err, DR_E_NOT_FOUND, "kubeconfig: no file at %s", paths);
}

/* The text of a key, empty if there is none. */
static struct dr_str text_of(const struct dr_yaml *node, const char *key) {
    const struct dr_yaml *value = dr_yaml_get(node, key);
    return value == NULL || value->kind != DR_YAML_SCALAR || dr_yaml_null(value) ? DR_STR_NONE : value->text;
}

static bool given(const struct dr_yaml *node, const char *key) {
    const struct dr_yaml *value = dr_yaml_get(node, key);
    return value != NULL && !dr_yaml_null(value);
}

/* The entry of a name in the lists "contexts", "clusters" or "users", and the file it stands in. */
static const struct dr_yaml *find(const struct loading *l, const char *list, const char *inner, struct dr_str name,
                                  const struct file **ret_file) {
    for (size_t i = 0; i < l->n; i++) {
        const struct dr_yaml *entries = dr_yaml_get(l->files[i].root, list);
        const struct dr_yaml *entry = entries == NULL || entries->kind != DR_YAML_SEQUENCE ? NULL : entries->child;
        for (; entry != NULL; entry = entry->next) {
            if (dr_str_eq(text_of(entry, "name"), name)) {
                *ret_file = &l->files[i];
                return dr_yaml_get(entry, inner);
            }
        }
    }
    return NULL;
}

static int value_of(unsigned char c) {
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* White space is passed over: people fold long lines. */
static bool decode_base64(struct dr_arena *arena, struct dr_str text, struct dr_str *ret) {
    char *out = dr_arena_alloc(arena, text.n + 1, 1);
    size_t n = 0;
    unsigned bits = 0;
    unsigned held = 0;
    size_t digits = 0;
    size_t padding = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            continue;
        }
        if (c == '=') {
            padding++;
            continue;
        }
        int v = value_of(c);
        if (v < 0 || padding > 0) {
            return false;
        }
        held = held << 6 | (unsigned)v;
        bits += 6;
        digits++;
        if (bits >= 8) {
            bits -= 8;
            out[n++] = (char)(held >> bits & 0xFF);
        }
    }
    *ret = (struct dr_str){out, n};
    return padding <= 2 && (digits + padding) % 4 == 0 && digits > 0;
}

static const char *beside(struct dr_arena *arena, const struct file *file, struct dr_str path) {
    const char *slash = strrchr(file->path, '/');
    if (path.p[0] == '/' || slash == NULL) {
        return dr_str_dup(arena, path).p;
    }
    return dr_str_fmt(arena, "%.*s/%.*s", (int)(slash - file->path), file->path, DR_FMT(path)).p;
}

/* PEM under `<key>-data` in base64, or in the file that `<key>` names. The data win, as with kubectl. */
static int read_pem(struct loading *l, const struct file *file, const struct dr_yaml *node, const char *key, struct dr_str *ret) {
    struct dr_str data = text_of(node, dr_str_fmt(l->arena, "%s-data", key).p);
    struct dr_str path = text_of(node, key);
    if (data.n > 0) {
        if (!decode_base64(l->arena, data, ret)) {
            return dr_fail(l->err, DR_E_INVALID, "kubeconfig %s: %s-data is not base64", file->path, key);
        }
    } else if (path.n > 0) {
        if (read_file(l->arena, beside(l->arena, file, path), ret, l->err) < 0) {
            return dr_wrap(l->err, "kubeconfig %s: %s", file->path, key);
        }
    } else {
        return 0;
    }
    if (ret->n == 0 || strstr(dr_str_dup(l->arena, *ret).p, "-----BEGIN") == NULL) {
        return dr_fail(l->err, DR_E_INVALID, "kubeconfig %s: %s is not in PEM form", file->path, key);
    }
    return 0;
}

static int refuse(struct loading *l, const struct file *file, const struct dr_yaml *node, const char *key, const char *remedy) {
    const struct dr_yaml *value = dr_yaml_get(node, key);
    if (value == NULL || dr_yaml_null(value)) {
        return 0;
    }
    return dr_fail(l->err, DR_E_INVALID, "kubeconfig %s:%d:%d: %s is not supported: %s", file->path, value->line, value->column, key,
                   remedy);
}

static int read_cluster(struct loading *l, struct dr_str name, struct dr_kubernetes_options *ret) {
    const struct file *file = NULL;
    const struct dr_yaml *cluster = find(l, "clusters", "cluster", name, &file);
    if (cluster == NULL) {
        return dr_fail(l->err, DR_E_INVALID, "kubeconfig: no cluster \"%.*s\"", DR_FMT(name));
    }
    if (dr_str_is(text_of(cluster, "insecure-skip-tls-verify"), "true")) {
        return dr_fail(l->err, DR_E_INVALID,
                       "kubeconfig %s: insecure-skip-tls-verify is refused: give the cluster's authority in certificate-authority",
                       file->path);
    }
    if (refuse(l, file, cluster, "proxy-url", "set HTTPS_PROXY instead") < 0 ||
        refuse(l, file, cluster, "tls-server-name", "use an address that is in the server's certificate") < 0) {
        return -1;
    }
    ret->server = text_of(cluster, "server");
    if (ret->server.n == 0) {
        return dr_fail(l->err, DR_E_INVALID, "kubeconfig %s: cluster \"%.*s\" has no server", file->path, DR_FMT(name));
    }
    return read_pem(l, file, cluster, "certificate-authority", &ret->ca_pem);
}

static int read_user(struct loading *l, struct dr_str name, struct dr_kubernetes_options *ret) {
    const struct file *file = NULL;
    if (name.n == 0) {
        return 0;
    }
    const struct dr_yaml *user = find(l, "users", "user", name, &file);
    if (user == NULL) {
        return dr_fail(l->err, DR_E_INVALID, "kubeconfig: no user \"%.*s\"", DR_FMT(name));
    }
    if (refuse(l, file, user, "exec", "plugins are not run; use a certificate, a token, or a service account's token file") < 0 ||
        refuse(l, file, user, "auth-provider", "plugins are not run; use a certificate, a token, or a service account's token file") < 0 ||
        refuse(l, file, user, "username", "API servers no longer take passwords; use a certificate or a token") < 0) {
        return -1;
    }
    struct dr_str token_file = text_of(user, "tokenFile");
    ret->token = text_of(user, "token");
    /* kubectl prefers the file as well. */
    ret->token_file = token_file.n == 0 ? NULL : beside(l->arena, file, token_file);
    if (read_pem(l, file, user, "client-certificate", &ret->cert_pem) < 0 || read_pem(l, file, user, "client-key", &ret->key_pem) < 0) {
        return -1;
    }
    if ((ret->cert_pem.n > 0) != (ret->key_pem.n > 0)) {
        return dr_fail(l->err, DR_E_INVALID, "kubeconfig %s: user \"%.*s\": client-certificate and client-key belong together", file->path,
                       DR_FMT(name));
    }
    return 0;
}

static struct dr_str current_context(const struct loading *l) {
    for (size_t i = 0; i < l->n; i++) {
        struct dr_str name = text_of(l->files[i].root, "current-context");
        if (name.n > 0) {
            return name;
        }
    }
    return DR_STR_NONE;
}

int dr_kubeconfig_load(struct dr_arena *arena, const char *paths, struct dr_str context, struct dr_kubernetes_options *ret,
                       struct dr_err *err) {
    struct loading l = {.arena = arena, .err = err};
    const struct file *file = NULL;
    if (load_files(&l, paths) < 0) {
        return -1;
    }
    struct dr_str name = context.n > 0 ? context : current_context(&l);
    if (name.n == 0) {
        return dr_fail(err, DR_E_INVALID, "kubeconfig %s: no current-context; name a context", paths);
    }
    const struct dr_yaml *found = find(&l, "contexts", "context", name, &file);
    if (found == NULL || !given(found, "cluster")) {
        return dr_fail(err, DR_E_INVALID, "kubeconfig %s: no context \"%.*s\", or it names no cluster", paths, DR_FMT(name));
    }
    return read_cluster(&l, text_of(found, "cluster"), ret) < 0 ? -1 : read_user(&l, text_of(found, "user"), ret);
}

int dr_kubeconfig_in_cluster(struct dr_arena *arena, const char *dir, const char *host, const char *port, struct dr_kubernetes_options *ret,
                             struct dr_err *err) {
    if (host == NULL || *host == '\0' || port == NULL || *port == '\0') {
        return dr_fail(err, DR_E_NOT_FOUND, "not inside of a cluster: KUBERNETES_SERVICE_HOST and _PORT are not set");
    }
    struct dr_str token;
    const char *token_file = dr_str_fmt(arena, "%s/token", dir).p;
    if (read_file(arena, token_file, &token, err) < 0 || read_file(arena, dr_str_fmt(arena, "%s/ca.crt", dir).p, &ret->ca_pem, err) < 0) {
        return dr_wrap(err, "service account");
    }
    bool v6 = strchr(host, ':') != NULL;
    ret->server = dr_str_fmt(arena, "https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", port);
    ret->token_file = token_file;
    return 0;
}
