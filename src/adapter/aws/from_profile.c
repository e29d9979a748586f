/* The shared files: ~/.aws/credentials with [name], ~/.aws/config with [profile name]. Both may speak of a profile; the credentials file wins for keys. */
#include <string.h>

#include "adapter/aws/inner.h"

enum { MAX_FILE = 1 << 20 };

static void take(struct dr_aws_profile *profile, struct dr_str key, struct dr_str value) {
    struct {
        const char *name;
        struct dr_str *to;
    } keys[] = {
        {"aws_access_key_id", &profile->access_key},   {"aws_secret_access_key", &profile->secret_key},
        {"aws_session_token", &profile->token},        {"region", &profile->region},
        {"endpoint_url", &profile->endpoint_url},      {"role_arn", &profile->role_arn},
        {"role_session_name", &profile->session_name}, {"web_identity_token_file", &profile->web_identity_token_file},
    };
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (dr_str_is(key, keys[i].name) && keys[i].to->n == 0) {
            *keys[i].to = value;
        }
    }
    static const char *const others[] = {"credential_process", "source_profile", "credential_source", "sso_session", "sso_start_url"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (dr_str_is(key, others[i])) {
            profile->unsupported = dr_str_of(others[i]);
        }
    }
}

/* "[profile name]" -> "name"; "[default]" and "[name]" of the credentials file as they are. */
static bool names(struct dr_str line, struct dr_str profile, bool config_file) {
    struct dr_str name = dr_str_trim(dr_str_sub(line, 1, dr_str_find(line, ']')));
    if (config_file && dr_str_starts(name, "profile") && name.n > 7 && (name.p[7] == ' ' || name.p[7] == '\t')) {
        name = dr_str_trim(dr_str_sub(name, 7, name.n));
    } else if (config_file && !dr_str_is(name, "default")) {
        return false;
    }
    return dr_str_eq(name, profile);
}

static int parse(const char *path, struct dr_str text, struct dr_str wanted, bool config_file, struct dr_aws_profile *profile,
                 struct dr_err *err) {
    bool inside = false;
    int number = 0;
    while (text.n > 0) {
        size_t end = dr_str_find(text, '\n');
        struct dr_str raw = dr_str_sub(text, 0, end);
        struct dr_str line = dr_str_trim(raw);
        text = dr_str_sub(text, end + 1, text.n);
        number++;
        if (line.n == 0 || line.p[0] == '#' || line.p[0] == ';') {
            continue;
        }
        if (line.p[0] == '[') {
            if (dr_str_find(line, ']') == line.n) {
                return dr_fail(err, DR_E_INVALID, "%s:%d: a section must end with ]", path, number);
            }
            inside = names(line, wanted, config_file);
            profile->found = profile->found || inside;
            continue;
        }
        size_t equals = dr_str_find(line, '=');
        bool nested = raw.p[0] == ' ' || raw.p[0] == '\t'; /* settings of one service; none of ours */
        if (!inside || nested) {
            continue;
        }
        if (equals == line.n) {
            return dr_fail(err, DR_E_INVALID, "%s:%d: expected key = value", path, number);
        }
        take(profile, dr_str_trim(dr_str_sub(line, 0, equals)), dr_str_trim(dr_str_sub(line, equals + 1, line.n)));
    }
    return 0;
}

/* Path of a shared file: the variable, else under the home folder; empty without either. */
static struct dr_str shared_file(struct dr_aws *aws, struct dr_arena *arena, const char *variable, const char *name) {
    struct dr_str path = dr_aws_env(aws, variable);
    struct dr_str home = dr_aws_env(aws, "HOME");
    if (dr_str_starts(path, "~/") && home.n > 0) {
        return dr_str_fmt(arena, "%.*s%.*s", DR_FMT(home), DR_FMT(dr_str_sub(path, 1, path.n)));
    }
    return path.n > 0 || home.n == 0 ? path : dr_str_fmt(arena, "%.*s/.aws/%s", DR_FMT(home), name);
}

static struct dr_str profile_name(struct dr_aws *aws, bool *ret_asked_for) {
    struct dr_str name = aws->profile.n > 0 ? aws->profile : dr_aws_env(aws, "AWS_PROFILE");
    *ret_asked_for = name.n > 0;
    return name.n > 0 ? name : DR_STR("default");
}

int dr_aws_profile_read(struct dr_aws *aws, struct dr_arena *arena, struct dr_aws_profile *ret, struct dr_err *err) {
    bool asked_for = false;
    struct dr_str name = profile_name(aws, &asked_for);
    *ret = (struct dr_aws_profile){0};
    for (int config = 0; config <= 1; config++) {
        struct dr_str text;
        struct dr_err inner;
        struct dr_str path = config ? shared_file(aws, arena, "AWS_CONFIG_FILE", "config")
                                    : shared_file(aws, arena, "AWS_SHARED_CREDENTIALS_FILE", "credentials");
        if (path.n == 0) {
            continue;
        }
        if (dr_aws_read_file(path.p, MAX_FILE, arena, &text, &inner) < 0) {
            if (inner.code != DR_E_NOT_FOUND) {
                return dr_fail(err, inner.code, "%s", inner.text);
            }
        } else if (parse(path.p, text, name, config != 0, ret, err) < 0) {
            return -1;
        }
    }
    if (asked_for && !ret->found) {
        return dr_fail(err, DR_E_INVALID, "profile %.*s is in neither of the shared files (~/.aws/credentials, ~/.aws/config)",
                       DR_FMT(name));
    }
    return 0;
}

static int load(struct dr_aws *aws, const struct dr_aws_profile *profile, struct dr_arena *arena, struct dr_aws_credentials *ret,
                struct dr_err *err) {
    bool asked_for = false;
    struct dr_str name = profile_name(aws, &asked_for);
    if (profile->access_key.n > 0 || profile->secret_key.n > 0) {
        int r = dr_aws_credentials_set(ret, profile->access_key, profile->secret_key, profile->token, 0, err);
        return r < 0 ? dr_wrap(err, "profile %.*s", DR_FMT(name)) : 1;
    }
    if (profile->role_arn.n > 0 && profile->web_identity_token_file.n > 0) {
        struct dr_str file = dr_str_dup(arena, profile->web_identity_token_file);
        return dr_aws_assume_web_identity(aws, file.p, profile->role_arn, profile->session_name, ret, err) < 0 ? -1 : 1;
    }
    if (profile->unsupported.n > 0) {
        return dr_fail(err, DR_E_INVALID, "profile %.*s uses %.*s, which is not supported", DR_FMT(name), DR_FMT(profile->unsupported));
    }
    (void)dr_fail(err, DR_E_NOT_FOUND, "%s %.*s has no keys", profile->found ? "profile" : "no profile; profile", DR_FMT(name));
    return 0;
}

int dr_aws_from_profile(struct dr_aws *aws, struct dr_aws_credentials *ret, struct dr_err *err) {
    struct dr_aws_profile profile;
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    int r = dr_aws_profile_read(aws, &arena, &profile, err);
    if (r == 0) {
        r = load(aws, &profile, &arena, ret, err);
    }
    dr_arena_deinit(&arena);
    return r;
}
