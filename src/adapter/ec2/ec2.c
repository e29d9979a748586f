/* The handle and the compute port over it. */

#include "adapter/ec2/ec2.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/ec2/handle.h"
#include "base/time.h"

static const struct dr_aws_service service = {"ec2", DR_AWS_QUERY, "2016-11-15", NULL};

enum { PAGE_SIZE = 1000, MAX_BODY = 64 << 20, MAX_TAG_KEY = 127, MAX_TAG_VALUE = 256 };

struct dr_aws_request dr_ec2_request(const char *action, const struct dr_ec2_params *params, int64_t deadline_ms) {
    return (struct dr_aws_request){
        .service = &service,
        .action = action,
        .params = params->v,
        .param_n = params->n,
        .deadline_ms = deadline_ms,
        .repeatable = true, /* reads; launches carry a token; ending or tagging twice is as good as once */
        .max_body = MAX_BODY,
    };
}

/* ---- options ---- */

static int check_tags(const char *what, const struct dr_label *tags, size_t n, struct dr_err *err) {
    if (n > DR_EC2_MAX_TAGS) {
        return dr_fail(err, DR_E_INVALID, "ec2: %s: %zu tags, at most %d are allowed", what, n, DR_EC2_MAX_TAGS);
    }
    for (size_t i = 0; i < n; i++) {
        if (tags[i].key.n == 0 || tags[i].key.n > MAX_TAG_KEY || tags[i].value.n > MAX_TAG_VALUE || dr_str_starts(tags[i].key, "aws:")) {
            return dr_fail(err, DR_E_INVALID,
                           "ec2: %s: tag \"%.*s\": a key has 1 to %d characters and does not begin with aws:, a value up to %d", what,
                           DR_FMT(dr_str_sub(tags[i].key, 0, 64)), MAX_TAG_KEY, MAX_TAG_VALUE);
        }
    }
    return 0;
}

static int check_version(struct dr_str version, struct dr_err *err) {
    int64_t number = 0;
    if (version.n == 0 || dr_str_is(version, "$Latest") || dr_str_is(version, "$Default") ||
        (dr_str_to_i64(version, &number) && number > 0)) {
        return 0;
    }
    return dr_fail(err, DR_E_INVALID, "ec2: template version \"%.*s\": a number, $Latest or $Default", DR_FMT(version));
}

static int check_options(const struct dr_ec2_options *o, struct dr_err *err) {
    DR_ASSERT(o->aws != NULL && o->now_ms != NULL);
    if (o->cluster.n == 0 && (o->pool_tag_n == 0 || o->name.n == 0)) {
        return dr_fail(err, DR_E_INVALID, "ec2: no cluster name");
    }
    if (check_tags("pool tags", o->pool_tags, o->pool_tag_n, err) < 0 || check_tags("extra tags", o->extra_tags, o->extra_tag_n, err) < 0 ||
        check_tags("subnet tags", o->subnet_tags, o->subnet_tag_n, err) < 0 || check_version(o->template_version, err) < 0) {
        return -1;
    }
    if (o->launch_template.n == 0 && o->machine.image_id.n == 0) {
        return dr_fail(err, DR_E_INVALID, "ec2: neither a launch template nor an image is named");
    }
    if (o->launch_template.n == 0 && o->type_n == 0) {
        return dr_fail(err, DR_E_INVALID, "ec2: no instance type is named");
    }
    if (o->subnets.n == 0 && o->subnet_tag_n == 0) {
        return dr_fail(err, DR_E_INVALID, "ec2: neither subnets nor tags of subnets are named");
    }
    if (o->type_n > DR_EC2_MAX_TYPES || o->subnets.n > DR_EC2_MAX_SUBNETS || o->security_groups.n > 16 || o->extra_param_n > 256) {
        return dr_fail(err, DR_E_INVALID, "ec2: more than %d types, %d subnets, 16 security groups or 256 further parameters",
                       DR_EC2_MAX_TYPES, DR_EC2_MAX_SUBNETS);
    }
    if (o->machine.user_data.n > 16384) {
        return dr_fail(err, DR_E_INVALID, "ec2: user data of %zu bytes, EC2 takes 16384", o->machine.user_data.n);
    }
    return 0;
}

struct dr_ec2 *dr_ec2_new(const struct dr_ec2_options *options, struct dr_err *err) {
    if (check_options(options, err) < 0) {
        return NULL;
    }
    struct dr_ec2 *ec2 = calloc(1, sizeof(*ec2));
    if (ec2 == NULL) {
        (void)dr_fail(err, DR_E_INTERNAL, "ec2: no memory");
        return NULL;
    }
    ec2->o = *options;
    dr_arena_init(&ec2->own, 0);
    dr_arena_init(&ec2->sent, 0);
    dr_arena_init(&ec2->known.arena, 0);
    if (options->pool_tag_n == 0) {
        ec2->default_tags[0] = (struct dr_label){DR_STR(DR_EC2_TAG_CLUSTER), options->cluster};
        ec2->default_tags[1] = (struct dr_label){DR_STR(DR_EC2_TAG_ROLE), DR_STR("worker")};
        ec2->o.pool_tags = ec2->default_tags;
        ec2->o.pool_tag_n = 2;
    }
    ec2->name = options->name.n > 0 ? options->name : dr_str_fmt(&ec2->own, "%.*s-worker", DR_FMT(options->cluster));
    if (options->state_dir != NULL) {
        struct dr_str path =
            dr_str_fmt(&ec2->own, "%s/ec2-%016llx.json", options->state_dir, (unsigned long long)dr_str_hash(options->cluster));
        ec2->cache_path = dr_arena_alloc(&ec2->own, path.n + 1, 1);
        memcpy(ec2->cache_path, path.p, path.n);
        dr_ec2_cache_read(ec2);
    }
    return ec2;
}

static void end_calls(struct dr_ec2 *ec2) {
    dr_aws_call_free(ec2->instances);
    ec2->instances = NULL;
    for (int i = 0; i < DR_EC2_PART_N; i++) {
        dr_aws_call_free(ec2->parts[i]);
        ec2->parts[i] = NULL;
    }
    dr_arena_reset(&ec2->sent);
}

void dr_ec2_free(struct dr_ec2 *ec2) {
    if (ec2 == NULL) {
        return;
    }
    end_calls(ec2);
    dr_arena_deinit(&ec2->known.arena);
    dr_arena_deinit(&ec2->sent);
    dr_arena_deinit(&ec2->own);
    free(ec2);
}

/* ---- observation ---- */

static void start_instances(struct dr_ec2 *ec2, struct dr_str next_token, int64_t deadline_ms) {
    struct dr_ec2_params params = {.arena = &ec2->sent};
    dr_ec2_put_tag_filters(&params, ec2->o.pool_tags, ec2->o.pool_tag_n);
    dr_ec2_put(&params, DR_STR("MaxResults"), dr_str_fmt(&ec2->sent, "%d", PAGE_SIZE));
    if (next_token.n > 0) {
        dr_ec2_put(&params, DR_STR("NextToken"), dr_str_dup(&ec2->sent, next_token));
    }
    struct dr_aws_request request = dr_ec2_request("DescribeInstances", &params, deadline_ms);
    ec2->instances = dr_aws_start(ec2->o.aws, &request);
}

static void request(void *self, int64_t deadline_ms) {
    struct dr_ec2 *ec2 = self;
    end_calls(ec2);
    start_instances(ec2, DR_STR_NONE, deadline_ms);
    dr_ec2_pool_request(ec2, deadline_ms);
}

static int read_instances(struct dr_ec2 *ec2, struct dr_arena *arena, int64_t deadline_ms, struct dr_ec2_instances *list,
                          struct dr_err *err) {
    for (int page = 0; ec2->instances != NULL; page++) {
        struct dr_str body;
        int result = dr_aws_wait(ec2->o.aws, ec2->instances, &body, err);
        if (result == 0) {
            result = dr_ec2_parse_instances(arena, body, list, err);
        }
        dr_aws_call_free(ec2->instances);
        ec2->instances = NULL;
        if (result < 0) {
            return -1;
        }
        if (list->next_token.n > 0 && page == DR_EC2_MAX_PAGES) {
            return dr_fail(err, DR_E_LIMIT, "ec2 DescribeInstances: more than %d pages", DR_EC2_MAX_PAGES);
        }
        if (list->next_token.n > 0) {
            start_instances(ec2, list->next_token, deadline_ms);
        }
    }
    dr_ec2_sort_instances(list);
    return 0;
}

static void observe(void *self, struct dr_arena *arena, int64_t deadline_ms, struct dr_snapshot *ret) {
    struct dr_ec2 *ec2 = self;
    struct dr_ec2_instances list = {NULL, 0, 0, DR_STR_NONE};
    struct dr_err err = {.code = DR_OK};
    if (ec2->instances == NULL) {
        request(self, deadline_ms);
    }
    if (read_instances(ec2, arena, deadline_ms, &list, &err) == 0) {
        ret->instances_part = (struct dr_part){.known = true};
        ret->instances = list.v;
        ret->instance_n = list.n;
    } else {
        ret->instances_part = (struct dr_part){false, dr_str_dup(arena, dr_str_of(err.text))};
        ret->instances = NULL;
        ret->instance_n = 0;
    }
    dr_ec2_pool_collect(ec2, deadline_ms);
    dr_ec2_pool_view(ec2, arena, &ret->pool);
    end_calls(ec2);
}

/* ---- effects ---- */

typedef enum dr_code code_fn(struct dr_str error_code, enum dr_code code);

/* One call to its end. The call is the caller's to free, also after a failure. */
static int perform(struct dr_ec2 *ec2, const char *action, const struct dr_ec2_params *params, int64_t deadline_ms, code_fn *code_of,
                   struct dr_aws_call **ret_call, struct dr_str *ret_body, struct dr_err *err) {
    struct dr_aws_request call = dr_ec2_request(action, params, deadline_ms);
    *ret_call = dr_aws_start(ec2->o.aws, &call);
    int result = dr_aws_wait(ec2->o.aws, *ret_call, ret_body, err);
    if (result < 0) {
        err->code = code_of(dr_aws_error_code(*ret_call), err->code);
    }
    return result;
}

/* It said success, so something may have happened: the outcome is unknown until it is asked again. */
static int unreadable(struct dr_err *err) {
    err->code = DR_E_UNAVAILABLE;
    return -1;
}

static int check_launch(const struct dr_launch *l, struct dr_err *err) {
    if (l->token.n == 0 || l->token.n > DR_TOKEN_MAX) {
        return dr_fail(err, DR_E_INVALID, "ec2 RunInstances: ClientToken: %zu characters, 1 to %d are allowed", l->token.n, DR_TOKEN_MAX);
    }
    if (l->type.n == 0 || l->subnet.n == 0) {
        return dr_fail(err, DR_E_INVALID, "ec2 RunInstances: no instance type or no subnet");
    }
    return 0;
}

static int launch(void *self, struct dr_arena *arena, const struct dr_launch *l, int64_t deadline_ms, struct dr_str *ret_id,
                  struct dr_err *err) {
    struct dr_ec2 *ec2 = self;
    struct dr_err own;
    err = err == NULL ? &own : err;
    if (check_launch(l, err) < 0) {
        return -1;
    }
    struct dr_arena scratch;
    dr_arena_init(&scratch, 0);
    struct dr_ec2_params params = {.arena = &scratch};
    dr_ec2_launch_params(ec2, l, &params);
    struct dr_aws_call *call = NULL;
    struct dr_str body;
    int result = perform(ec2, "RunInstances", &params, deadline_ms, dr_ec2_launch_code, &call, &body, err);
    if (result == 0 && dr_ec2_parse_launch(arena, body, ret_id, err) < 0) {
        result = unreadable(err);
    }
    dr_aws_call_free(call);
    dr_arena_deinit(&scratch);
    return result;
}

/*
 * The policy that we ship ends only what carries our tag. A machine that is gone carries none, so that EC2 denies the call instead of saying so; whether it is gone, Describe
 * says, which needs no tag. Without this a mark on a machine that vanished while nobody looked would stay for ever.
 */
static bool is_gone(struct dr_ec2 *ec2, struct dr_str id, int64_t deadline_ms) {
    struct dr_aws_param param = {DR_STR("InstanceId.1"), id};
    struct dr_ec2_params params = {.v = &param, .n = 1, .cap = 1};
    struct dr_aws_call *call = NULL;
    struct dr_str body;
    struct dr_err err;
    bool gone = perform(ec2, "DescribeInstances", &params, deadline_ms, dr_ec2_terminate_code, &call, &body, &err) < 0 &&
                err.code == DR_E_NOT_FOUND;
    dr_aws_call_free(call);
    return gone;
}

static int terminate(void *self, struct dr_str id, int64_t deadline_ms, struct dr_err *err) {
    struct dr_ec2 *ec2 = self;
    struct dr_err own;
    err = err == NULL ? &own : err;
    struct dr_aws_param param = {DR_STR("InstanceId.1"), id};
    struct dr_ec2_params params = {.v = &param, .n = 1, .cap = 1};
    struct dr_aws_call *call = NULL;
    struct dr_str body;
    int result = perform(ec2, "TerminateInstances", &params, deadline_ms, dr_ec2_terminate_code, &call, &body, err);
    if (result == 0 && dr_ec2_parse_terminate(body, id, err) < 0) {
        result = unreadable(err);
    }
    dr_aws_call_free(call);
    if (result < 0 && err->code == DR_E_DENIED && is_gone(ec2, id, deadline_ms)) {
        return dr_fail(err, DR_E_NOT_FOUND, "ec2 TerminateInstances: %.*s does not exist", DR_FMT(id));
    }
    return result;
}

static const struct dr_compute_ops ops = {.request = request, .observe = observe, .launch = launch, .terminate = terminate};

struct dr_compute dr_ec2_compute(struct dr_ec2 *ec2) {
    return (struct dr_compute){&ops, ec2};
}

/* ---- beside the port ---- */

static int try_call(struct dr_ec2 *ec2, const char *action, struct dr_ec2_params *params, int64_t deadline_ms, code_fn *code_of,
                    struct dr_err *err) {
    struct dr_err own;
    err = err == NULL ? &own : err;
    struct dr_aws_call *call = NULL;
    struct dr_str body;
    dr_ec2_put(params, DR_STR("DryRun"), DR_STR("true"));
    int result = perform(ec2, action, params, deadline_ms, code_of, &call, &body, err);
    if (result < 0 && dr_str_is(dr_aws_error_code(call), "DryRunOperation")) { /* "would have succeeded" comes as an error */
        err->code = DR_OK;
        result = 0;
    }
    dr_aws_call_free(call);
    return result;
}

int dr_ec2_try_launch(struct dr_ec2 *ec2, const struct dr_launch *l, int64_t deadline_ms, struct dr_err *err) {
    if (check_launch(l, err) < 0) {
        return -1;
    }
    struct dr_arena scratch;
    dr_arena_init(&scratch, 0);
    struct dr_ec2_params params = {.arena = &scratch};
    dr_ec2_launch_params(ec2, l, &params);
    int result = try_call(ec2, "RunInstances", &params, deadline_ms, dr_ec2_launch_code, err);
    dr_arena_deinit(&scratch);
    return result;
}

int dr_ec2_try_terminate(struct dr_ec2 *ec2, struct dr_str id, int64_t deadline_ms, struct dr_err *err) {
    struct dr_arena scratch;
    dr_arena_init(&scratch, 0);
    struct dr_ec2_params params = {.arena = &scratch};
    dr_ec2_put(&params, DR_STR("InstanceId.1"), id);
    int result = try_call(ec2, "TerminateInstances", &params, deadline_ms, dr_ec2_terminate_code, err);
    dr_arena_deinit(&scratch);
    return result;
}

int dr_ec2_tag(struct dr_ec2 *ec2, struct dr_str id, const struct dr_label *tags, size_t n, int64_t deadline_ms, struct dr_err *err) {
    if (check_tags("CreateTags", tags, n, err) < 0) {
        return -1;
    }
    struct dr_arena scratch;
    dr_arena_init(&scratch, 0);
    struct dr_ec2_params params = {.arena = &scratch};
    dr_ec2_put(&params, DR_STR("ResourceId.1"), id);
    for (size_t i = 0; i < n; i++) {
        dr_ec2_putf(&params, tags[i].key, "Tag.%zu.Key", i + 1);
        dr_ec2_putf(&params, tags[i].value, "Tag.%zu.Value", i + 1);
    }
    struct dr_aws_request call = dr_ec2_request("CreateTags", &params, deadline_ms);
    struct dr_str body;
    int result = dr_aws_do(ec2->o.aws, &call, &scratch, &body, err);
    dr_arena_deinit(&scratch);
    return result;
}
