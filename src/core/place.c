#include "core/place.h"

#include "base/num.h"
#include "core/sort.h"

struct dr_str dr_place_stock_key(struct dr_arena *arena, const struct dr_place *place) {
    return dr_str_fmt(arena, "stock/%.*s/%.*s/%s", DR_FMT(place->type), DR_FMT(place->zone), dr_market_name(place->market));
}

struct dr_str dr_place_zone_key(struct dr_arena *arena, struct dr_str zone) {
    return dr_str_fmt(arena, "zone/%.*s", DR_FMT(zone));
}

enum dr_market dr_place_market(const struct dr_config *cfg, int64_t on_demand_n, int64_t spot_n) {
    if (on_demand_n < cfg->on_demand_base) {
        return DR_MARKET_ON_DEMAND;
    }
    int64_t beyond_base = on_demand_n - cfg->on_demand_base + spot_n;
    return spot_n * 100 < cfg->spot_percent * (beyond_base + 1) ? DR_MARKET_SPOT : DR_MARKET_ON_DEMAND;
}

static enum dr_market wanted_market(const struct dr_config *cfg, const struct dr_fleet *fleet) {
    int64_t n[2] = {0, 0};
    for (size_t i = 0; i < fleet->worker_n; i++) {
        const struct dr_worker *worker = &fleet->workers[i];
        if (worker->live && worker->instance != NULL) {
            n[worker->instance->market]++;
        }
    }
    for (size_t i = 0; i < fleet->coming_n; i++) {
        if (fleet->coming[i].attempt != NULL) {
            n[fleet->coming[i].attempt->market]++;
        }
    }
    return dr_place_market(cfg, n[DR_MARKET_ON_DEMAND], n[DR_MARKET_SPOT]);
}

static int64_t count_in_subnet(const struct dr_fleet *fleet, struct dr_str subnet) {
    int64_t n = 0;
    for (size_t i = 0; i < fleet->worker_n; i++) {
        n += fleet->workers[i].live && fleet->workers[i].instance != NULL && dr_str_eq(fleet->workers[i].instance->subnet, subnet);
    }
    for (size_t i = 0; i < fleet->coming_n; i++) {
        n += fleet->coming[i].attempt != NULL && dr_str_eq(fleet->coming[i].attempt->subnet, subnet);
    }
    return n;
}

/* Empty: the zone has no subnet of the pool. */
static struct dr_str pick_subnet(const struct dr_fleet *fleet, struct dr_str zone) {
    const struct dr_pool *pool = &fleet->snap->pool;
    struct dr_str best = DR_STR_NONE;
    int64_t best_n = 0;
    for (size_t i = 0; i < pool->subnet_n; i++) {
        if (!dr_str_eq(pool->subnets[i].zone, zone)) {
            continue;
        }
        int64_t n = count_in_subnet(fleet, pool->subnets[i].id);
        if (best.n == 0 || n < best_n || (n == best_n && dr_str_cmp(pool->subnets[i].id, best) < 0)) {
            best = pool->subnets[i].id;
            best_n = n;
        }
    }
    return best;
}

/* The fleet's zones are sorted by name, and sorting is stable: ties stay in that order. */
static int compare_filled(const void *a, const void *b, const void *ctx) {
    (void)ctx;
    int64_t x = ((const struct dr_zone *)a)->planned;
    int64_t y = ((const struct dr_zone *)b)->planned;
    return (x > y) - (x < y);
}

struct search {
    struct dr_arena *arena;
    const struct dr_config *cfg;
    const struct dr_state *state;
    const struct dr_fleet *fleet;
    const struct dr_place_wish *wish;
    int64_t now_epoch;
    enum dr_market market;
};

static bool is_avoided(const struct search *s, struct dr_str key) {
    const struct dr_avoid *avoid = dr_state_avoid(s->state, key);
    return avoid != NULL && avoid->until_epoch > s->now_epoch;
}

/* Both markets of one type in one zone, the wanted one first. */
static bool try_zone(const struct search *s, struct dr_str type, struct dr_str zone, struct dr_place *ret) {
    if ((s->wish->zone.n > 0 && !dr_str_eq(s->wish->zone, zone)) || is_avoided(s, dr_place_zone_key(s->arena, zone))) {
        return false;
    }
    struct dr_place place = {.type = type, .zone = zone, .subnet = pick_subnet(s->fleet, zone), .market = s->market};
    if (place.subnet.n == 0) {
        return false;
    }
    bool found = !is_avoided(s, dr_place_stock_key(s->arena, &place));
    if (!found && !s->wish->only_market) {
        place.market = s->market == DR_MARKET_SPOT ? DR_MARKET_ON_DEMAND : DR_MARKET_SPOT;
        bool allowed = place.market == DR_MARKET_ON_DEMAND || s->cfg->spot_percent > 0;
        found = allowed && !is_avoided(s, dr_place_stock_key(s->arena, &place));
    }
    if (found) {
        *ret = place;
    }
    return found;
}

bool dr_place_next(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, const struct dr_fleet *fleet,
                   const struct dr_place_wish *wish, int64_t now_epoch, struct dr_place *ret) {
    struct search s = {arena, cfg, state, fleet, wish, now_epoch, wish->only_market ? wish->market : wanted_market(cfg, fleet)};
    const struct dr_pool *pool = &fleet->snap->pool;
    const void **zones = DR_NEW_N(arena, const void *, fleet->zone_n);
    for (size_t i = 0; i < fleet->zone_n; i++) {
        zones[i] = &fleet->zones[i];
    }
    dr_sort(arena, zones, fleet->zone_n, compare_filled, NULL);
    for (size_t t = 0; t < pool->type_n; t++) {
        bool wanted = wish->type.n == 0 || dr_str_eq(wish->type, pool->types[t].name);
        for (size_t z = 0; wanted && z < fleet->zone_n; z++) {
            if (try_zone(&s, pool->types[t].name, ((const struct dr_zone *)zones[z])->name, ret)) {
                return true;
            }
        }
    }
    return false;
}
