#ifndef DR_CORE_PLACE_H
#define DR_CORE_PLACE_H

/*
 * Placement: where the next instance goes. Least filled zone (ties by name), a subnet of it, market by the deterministic spot share; what was out of stock lately is left out.
 * After a refusal for capacity: the other market in the same zone, then other zones, then another type, then nothing.
 */

#include "core/fleet.h"

struct dr_place {
    struct dr_str type;
    struct dr_str zone;
    struct dr_str subnet;
    enum dr_market market;
};

struct dr_place_wish {
    bool
        only_market; /* this market and no other (replacement with `market: on_demand`); otherwise the spot share decides and the other market is the fall-back */
    enum dr_market market;
    struct dr_str type; /* only this type (dr_need); empty: the pool's, in their order */
    struct dr_str zone; /* only this zone (dr_need); empty: any */
};

/* Keys of the avoid list. */
struct dr_str dr_place_stock_key(struct dr_arena *arena, const struct dr_place *place); /* stock/<type>/<zone>/<market> */
struct dr_str dr_place_zone_key(struct dr_arena *arena, struct dr_str zone);            /* zone/<zone> */

/*
 * Counts in the fleet's zones must include what this action has already placed (zones[].planned does, once the attempt is in the state from which the fleet was built). False: every combination is out of stock or avoided; `ret`
 * untouched. Of several subnets in a zone the one with fewest workers is taken, ties by id. Spot is never a fall-back where spotPercent is 0.
 */
bool dr_place_next(struct dr_arena *arena, const struct dr_config *cfg, const struct dr_state *state, const struct dr_fleet *fleet,
                   const struct dr_place_wish *wish, int64_t now_epoch, struct dr_place *ret);

/* Spot share without randomness: the market that the next worker should have, given how many of each there are or are planned. After on_demand_base on-demand workers, spot whenever its share of the rest would otherwise
 * fall below spotPercent; so of any ten in a row with 70 % seven are spot. */
enum dr_market dr_place_market(const struct dr_config *cfg, int64_t on_demand_n, int64_t spot_n);

#endif
