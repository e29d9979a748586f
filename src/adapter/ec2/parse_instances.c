/* DescribeInstances, RunInstances and TerminateInstances. */

#include <stdlib.h>
#include <string.h>

#include "adapter/ec2/parse.h"
#include "adapter/ec2/xml.h"
#include "base/time.h"

void *dr_ec2_append(struct dr_arena *arena, void *v, size_t *n, size_t *cap, size_t size, size_t max) {
    char *old;
    memcpy(&old, v, sizeof(old)); /* the list's pointer has a type of its own */
    if (*n == max) {
        return NULL;
    }
    if (*n == *cap) {
        size_t more = *cap == 0 ? 16 : *cap * 2;
        char *fresh = dr_arena_try(arena, more, size);
        if (fresh == NULL) {
            return NULL;
        }
        if (*n > 0) {
            memcpy(fresh, old, *n * size);
        }
        old = fresh;
        memcpy(v, &fresh, sizeof(fresh));
        *cap = more;
    }
    return old + size * (*n)++;
}

enum field {
    NEXT_TOKEN,
    INSTANCE,
    ID,
    TYPE,
    ZONE,
    SUBNET,
    ADDRESS,
    LIFECYCLE,
    STATE,
    LAUNCHED,
    TAG,
    TAG_KEY,
    TAG_VALUE,
};

#define ITEM "reservationSet/item/instancesSet/item"
static const struct dr_xml_rule rules[] = {
    {"nextToken", NEXT_TOKEN},
    {ITEM, INSTANCE},
    {ITEM "/instanceId", ID},
    {ITEM "/instanceType", TYPE},
    {ITEM "/placement/availabilityZone", ZONE},
    {ITEM "/subnetId", SUBNET},
    {ITEM "/privateIpAddress", ADDRESS},
    {ITEM "/instanceLifecycle", LIFECYCLE},
    {ITEM "/instanceState/name", STATE},
    {ITEM "/launchTime", LAUNCHED},
    {ITEM "/tagSet/item", TAG},
    {ITEM "/tagSet/item/key", TAG_KEY},
    {ITEM "/tagSet/item/value", TAG_VALUE},
};

static const struct {
    const char *name;
    enum dr_instance_state state;
} states[] = {
    {"pending", DR_INSTANCE_PENDING},
    {"running", DR_INSTANCE_RUNNING},
    {"stopping", DR_INSTANCE_STOPPING},
    {"stopped", DR_INSTANCE_STOPPED},
    {"shutting-down", DR_INSTANCE_SHUTTING_DOWN},
    {"terminated", DR_INSTANCE_TERMINATED},
};

enum { SEEN_STATE = 1, SEEN_LAUNCHED = 2, SEEN_INDEX = 4, MAX_TAG_KEY = 256 };

struct reader {
    struct dr_arena *arena;
    struct dr_ec2_instances *list;
    struct dr_instance *now; /* NULL outside of an instance */
    const struct dr_instance *last;
    unsigned seen;
    char key[MAX_TAG_KEY];
    size_t key_n;
    struct dr_str value;
};

static int begin(void *self, int field, struct dr_err *err) {
    struct reader *r = self;
    if (field == TAG) {
        r->key_n = 0;
        r->value = DR_STR_NONE;
    }
    if (field != INSTANCE) {
        return 0;
    }
    size_t before = r->list->n;
    r->now = dr_ec2_append(r->arena, &r->list->v, &r->list->n, &r->list->cap, sizeof(*r->now), DR_EC2_MAX_INSTANCES);
    if (r->now == NULL) {
        return dr_fail(err, DR_E_LIMIT, "more than %zu instances", before);
    }
    r->last = before > 0 ? &r->list->v[before - 1] : NULL;
    r->seen = 0;
    return 0;
}

static int take(struct reader *r, struct dr_str text, struct dr_str *ret, struct dr_err *err) {
    char *copy = dr_arena_try(r->arena, text.n + 1, 1);
    if (copy == NULL) {
        return dr_fail(err, DR_E_LIMIT, "more than fits in the memory set aside for it");
    }
    if (text.n > 0) {
        memcpy(copy, text.p, text.n);
    }
    *ret = (struct dr_str){copy, text.n};
    return 0;
}

/* Types, zones and subnets are few: the text of the instance before is shared where it is the same. */
static int share(struct reader *r, struct dr_str text, const struct dr_str *last, struct dr_str *ret, struct dr_err *err) {
    if (r->last != NULL && dr_str_eq(*last, text)) {
        *ret = *last;
        return 0;
    }
    return take(r, text, ret, err);
}

static int set_state(struct reader *r, struct dr_str text, struct dr_err *err) {
    for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
        if (dr_str_is(text, states[i].name)) {
            r->now->state = states[i].state;
            r->seen |= SEEN_STATE;
            return 0;
        }
    }
    return dr_fail(err, DR_E_INVALID, "\"%.*s\" is not a state of an instance", DR_FMT(dr_str_sub(text, 0, 40)));
}

/* Tags are a person's to change: an index that is none takes the instance out of our actions, which only ever means less is done to it. */
static int end_tag(struct reader *r, struct dr_err *err) {
    struct dr_str key = {r->key, r->key_n};
    if (dr_str_is(key, DR_EC2_TAG_ACTION)) {
        return take(r, r->value, &r->now->action_id, err);
    }
    if (dr_str_is(key, DR_EC2_TAG_INDEX) && dr_str_to_i64(r->value, &r->now->index) && r->now->index >= 0) {
        r->seen |= SEEN_INDEX;
    }
    return 0;
}

static int end_instance(struct reader *r, struct dr_err *err) {
    const char *missing = r->now->id.n == 0            ? "instanceId"
                          : !(r->seen & SEEN_STATE)    ? "instanceState/name"
                          : !(r->seen & SEEN_LAUNCHED) ? "launchTime"
                          : r->now->type.n == 0        ? "instanceType"
                          : r->now->zone.n == 0        ? "placement/availabilityZone"
                                                       : NULL;
    if (missing != NULL) {
        return dr_fail(err, DR_E_INVALID, "instance %.*s has no %s", DR_FMT(r->now->id.n == 0 ? DR_STR("?") : r->now->id), missing);
    }
    if (!(r->seen & SEEN_INDEX)) {
        r->now->action_id = DR_STR_NONE;
        r->now->index = 0;
    }
    r->now = NULL;
    return 0;
}

static int end_of_instance_field(struct reader *r, int field, struct dr_str text, struct dr_err *err) {
    switch ((enum field)field) {
    case ID:
        return take(r, text, &r->now->id, err);
    case TYPE:
        return share(r, text, r->last == NULL ? NULL : &r->last->type, &r->now->type, err);
    case ZONE:
        return share(r, text, r->last == NULL ? NULL : &r->last->zone, &r->now->zone, err);
    case SUBNET:
        return share(r, text, r->last == NULL ? NULL : &r->last->subnet, &r->now->subnet, err);
    case ADDRESS:
        return take(r, text, &r->now->private_ip, err);
    case LIFECYCLE:
        r->now->market = dr_str_is(text, "spot") ? DR_MARKET_SPOT : DR_MARKET_ON_DEMAND;
        return 0;
    case STATE:
        return set_state(r, text, err);
    case LAUNCHED:
        if (!dr_time_parse(text, &r->now->launched_ms)) {
            return dr_fail(err, DR_E_INVALID, "\"%.*s\" is not a time", DR_FMT(dr_str_sub(text, 0, 40)));
        }
        r->seen |= SEEN_LAUNCHED;
        return 0;
    case TAG_KEY: /* one that does not fit is none of ours */
        r->key_n = text.n <= sizeof(r->key) ? text.n : 0;
        memcpy(r->key, text.p, r->key_n);
        return 0;
    case TAG_VALUE:
        return take(r, text, &r->value, err);
    case TAG:
        return end_tag(r, err);
    case INSTANCE:
        return end_instance(r, err);
    case NEXT_TOKEN:
        break;
    }
    return 0;
}

static int end(void *self, int field, struct dr_str text, struct dr_err *err) {
    struct reader *r = self;
    if (field == NEXT_TOKEN) {
        return take(r, text, &r->list->next_token, err);
    }
    DR_ASSERT(r->now != NULL); /* every other path is below that of an instance */
    return end_of_instance_field(r, field, text, err);
}

int dr_ec2_parse_instances(struct dr_arena *arena, struct dr_str body, struct dr_ec2_instances *list, struct dr_err *err) {
    struct reader r = {.arena = arena, .list = list};
    const struct dr_xml_spec spec = {"DescribeInstances", rules, sizeof(rules) / sizeof(rules[0]), begin, end};
    list->next_token = DR_STR_NONE;
    return dr_xml_walk(body, &spec, &r, err);
}

static int by_id(const void *left, const void *right) {
    const struct dr_instance *a = left;
    const struct dr_instance *b = right;
    int order = dr_str_cmp(a->id, b->id);
    return order != 0 ? order : (a->index > b->index) - (a->index < b->index);
}

void dr_ec2_sort_instances(struct dr_ec2_instances *list) {
    if (list->n == 0) {
        return;
    }
    qsort(list->v, list->n, sizeof(list->v[0]), by_id);
    size_t kept = 1;
    for (size_t i = 1; i < list->n; i++) {
        if (dr_str_eq(list->v[i].id, list->v[kept - 1].id)) {
            /* Pages are moments: the state that is further on is the later one. */
            if (list->v[i].state > list->v[kept - 1].state) {
                list->v[kept - 1] = list->v[i];
            }
        } else {
            list->v[kept++] = list->v[i];
        }
    }
    list->n = kept;
}

/* ---- RunInstances, TerminateInstances ---- */

struct ids {
    struct dr_arena *arena; /* NULL: `wanted` is only looked for */
    struct dr_str wanted;
    struct dr_str found;
    size_t n;
};

static int end_id(void *self, int field, struct dr_str text, struct dr_err *err) {
    (void)field;
    struct ids *ids = self;
    if (!dr_str_starts(text, "i-") || text.n > 64) {
        return dr_fail(err, DR_E_INVALID, "\"%.*s\" is not an instance id", DR_FMT(dr_str_sub(text, 0, 40)));
    }
    ids->n += ids->arena != NULL || dr_str_eq(text, ids->wanted);
    if (ids->arena != NULL && ids->found.n == 0) {
        ids->found = dr_str_dup(ids->arena, text);
    }
    return 0;
}

static const struct dr_xml_rule id_rules[] = {{"instancesSet/item/instanceId", ID}};

int dr_ec2_parse_launch(struct dr_arena *arena, struct dr_str body, struct dr_str *ret_id, struct dr_err *err) {
    struct ids ids = {.arena = arena};
    const struct dr_xml_spec spec = {"RunInstances", id_rules, 1, NULL, end_id};
    if (dr_xml_walk(body, &spec, &ids, err) < 0) {
        return -1;
    }
    if (ids.n != 1) {
        return dr_fail(err, DR_E_INVALID, "ec2 RunInstances: instancesSet: %zu instances instead of 1", ids.n);
    }
    *ret_id = ids.found;
    return 0;
}

int dr_ec2_parse_terminate(struct dr_str body, struct dr_str id, struct dr_err *err) {
    struct ids ids = {.wanted = id};
    const struct dr_xml_spec spec = {"TerminateInstances", id_rules, 1, NULL, end_id};
    if (dr_xml_walk(body, &spec, &ids, err) < 0) {
        return -1;
    }
    return ids.n > 0 ? 0 : dr_fail(err, DR_E_INVALID, "ec2 TerminateInstances: instancesSet: nothing about %.*s", DR_FMT(id));
}
