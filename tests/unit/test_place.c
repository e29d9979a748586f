#include "core/place.h"
#include "unit/small_world.h"

static const struct dr_place_wish anything = {0};

static bool place(struct small_world *w, const struct dr_place_wish *wish, struct dr_place *ret) {
    return dr_place_next(&w->arena, &w->cfg, &w->state, sw_build(w), wish, SW_NOW_EPOCH, ret);
}

/* The zone and market of the next place as text. */
static struct dr_str next_place(struct small_world *w) {
    struct dr_place p;
    CHECK(place(w, &anything, &p));
    return dr_str_fmt(&w->arena, "%.*s %s", DR_FMT(p.zone), dr_market_name(p.market));
}

TEST(place, least_filled_zone_comes_first_and_ties_go_by_name) {
    struct small_world *w = sw_new();
    w->cfg.spot_percent = 0;
    CHECK_EQ_STR(next_place(w), "za on-demand");
    sw_worker(w, "i-1", "za");
    CHECK_EQ_STR(next_place(w), "zb on-demand");
    sw_worker(w, "i-2", "zb");
    sw_worker(w, "i-3", "zc");
    sw_worker(w, "i-4", "za");
    CHECK_EQ_STR(next_place(w), "zb on-demand");
}

TEST(place, zones_are_recounted_with_what_this_action_placed) {
    struct small_world *w = sw_new();
    w->cfg.spot_percent = 0;
    struct dr_attempt *attempts = sw_scale_up(w, 3, 2);
    attempts[0].zone = DR_STR("za");
    attempts[1].zone = DR_STR("zb");
    CHECK_EQ_STR(next_place(w), "zc on-demand");
}

TEST(place, place_names_type_and_a_subnet_of_the_zone) {
    struct small_world *w = sw_new();
    struct dr_place p;
    sw_worker(w, "i-1", "za");
    CHECK(place(w, &anything, &p));
    CHECK_EQ_STR(p.type, "medium");
    CHECK_EQ_STR(p.zone, "zb");
    CHECK_EQ_STR(p.subnet, "subnet-b");
}

TEST(place, subnet_with_fewest_workers_is_taken_and_ties_go_by_id) {
    struct small_world *w = sw_new();
    struct dr_place p;
    w->subnets[0] = (struct dr_subnet){DR_STR("subnet-2"), DR_STR("za")};
    w->subnets[1] = (struct dr_subnet){DR_STR("subnet-1"), DR_STR("za")};
    w->snap.pool.subnet_n = 2;
    CHECK(place(w, &anything, &p));
    CHECK_EQ_STR(p.subnet, "subnet-1");
    sw_worker(w, "i-1", "za");
    w->instances[0].subnet = DR_STR("subnet-1");
    CHECK(place(w, &anything, &p));
    CHECK_EQ_STR(p.subnet, "subnet-2");
    sw_scale_up(w, 2, 1)[0].subnet = DR_STR("subnet-2");
    CHECK(place(w, &anything, &p));
    CHECK_EQ_STR(p.subnet, "subnet-1");
}

TEST(place, zone_of_a_worker_without_subnet_of_the_pool_is_no_place) {
    struct small_world *w = sw_new();
    w->cfg.spot_percent = 0;
    sw_worker(w, "i-1", "aa");
    w->nodes[0].ready = DR_READY_FALSE; /* not live: its zone is the least filled of all */
    w->nodes[0].ready_changed_ms = 0;
    CHECK_EQ_STR(next_place(w), "za on-demand");
}

TEST(hazard_24, spot_out_of_stock_falls_back_to_on_demand_and_then_to_other_zones) {
    struct small_world *w = sw_new();
    w->cfg.spot_percent = 100;
    w->cfg.on_demand_base = 0;
    CHECK_EQ_STR(next_place(w), "za spot");
    sw_avoid(w, "stock/medium/za/spot", SW_NOW_EPOCH + 1);
    CHECK_EQ_STR(next_place(w), "za on-demand");
    sw_avoid(w, "stock/medium/za/on-demand", SW_NOW_EPOCH + 1);
    CHECK_EQ_STR(next_place(w), "zb spot");
    sw_avoid(w, "zone/zb", SW_NOW_EPOCH + 1);
    CHECK_EQ_STR(next_place(w), "zc spot");
    sw_avoid(w, "stock/medium/zc/spot", SW_NOW_EPOCH + 1);
    sw_avoid(w, "stock/medium/zc/on-demand", SW_NOW_EPOCH + 1);
    struct dr_place p = {.type = DR_STR("untouched")};
    CHECK(!place(w, &anything, &p));
    CHECK_EQ_STR(p.type, "untouched");
}

TEST(place, memory_of_stock_outs_expires) {
    struct small_world *w = sw_new();
    w->cfg.spot_percent = 100;
    w->cfg.on_demand_base = 0;
    sw_avoid(w, "stock/medium/za/spot", SW_NOW_EPOCH);
    sw_avoid(w, "zone/za", SW_NOW_EPOCH);
    CHECK_EQ_STR(next_place(w), "za spot");
}

TEST(place, on_demand_falls_back_to_spot_only_where_spot_is_wanted_at_all) {
    struct small_world *w = sw_new();
    w->cfg.spot_percent = 0;
    sw_avoid(w, "stock/medium/za/on-demand", SW_NOW_EPOCH + 1);
    CHECK_EQ_STR(next_place(w), "zb on-demand");
    w->cfg.spot_percent = 50;
    w->cfg.on_demand_base = 1;
    CHECK_EQ_STR(next_place(w), "za spot");
}

TEST(place, another_type_comes_after_all_zones) {
    struct small_world *w = sw_new();
    w->cfg.spot_percent = 0;
    w->types[1] = w->types[0];
    w->types[1].name = DR_STR("large");
    w->snap.pool.type_n = 2;
    w->snap.pool.subnet_n = 1;
    sw_avoid(w, "stock/medium/za/on-demand", SW_NOW_EPOCH + 1);
    struct dr_place p;
    CHECK(place(w, &anything, &p));
    CHECK_EQ_STR(p.type, "large");
    struct dr_place_wish medium = {.type = DR_STR("medium")};
    CHECK(!place(w, &medium, &p));
}

TEST(place, wish_for_market_and_zone_is_kept) {
    struct small_world *w = sw_new();
    struct dr_place p;
    w->cfg.spot_percent = 100;
    struct dr_place_wish wish = {.only_market = true, .market = DR_MARKET_ON_DEMAND, .zone = DR_STR("zc")};
    CHECK(place(w, &wish, &p));
    CHECK_EQ_STR(p.zone, "zc");
    CHECK_EQ_INT(p.market, DR_MARKET_ON_DEMAND);
    sw_avoid(w, "stock/medium/zc/on-demand", SW_NOW_EPOCH + 1);
    CHECK(!place(w, &wish, &p));
}

TEST(place, keys_of_the_avoid_list_are_those_of_the_state) {
    struct small_world *w = sw_new();
    struct dr_place p = {.type = DR_STR("medium"), .zone = DR_STR("za"), .market = DR_MARKET_SPOT};
    CHECK_EQ_STR(dr_place_stock_key(&w->arena, &p), "stock/medium/za/spot");
    CHECK_EQ_STR(dr_place_zone_key(&w->arena, DR_STR("za")), "zone/za");
}

TEST(place, spot_share_is_kept_at_every_size) {
    for (int64_t percent = 0; percent <= 100; percent += 5) {
        struct dr_config cfg = {.spot_percent = percent, .on_demand_base = 2};
        int64_t n[2] = {0, 0};
        for (int64_t total = 1; total <= 200; total++) {
            n[dr_place_market(&cfg, n[DR_MARKET_ON_DEMAND], n[DR_MARKET_SPOT])]++;
            int64_t beyond = total > 2 ? total - 2 : 0;
            CHECK(n[DR_MARKET_ON_DEMAND] >= (total < 2 ? total : 2));
            CHECK(n[DR_MARKET_SPOT] * 100 >= percent * beyond && n[DR_MARKET_SPOT] * 100 < percent * beyond + 100);
        }
    }
}

TEST(place, market_share_counts_live_and_coming_workers) {
    struct small_world *w = sw_new();
    w->cfg.spot_percent = 50;
    w->cfg.on_demand_base = 0;
    CHECK_EQ_STR(next_place(w), "za spot");
    sw_worker(w, "i-1", "za");
    w->instances[0].market = DR_MARKET_SPOT;
    CHECK_EQ_STR(next_place(w), "zb on-demand");
    sw_scale_up(w, 1, 1)[0].zone = DR_STR("zb");
    CHECK_EQ_STR(next_place(w), "zc spot");
    sw_record(w, "i-1", DR_EVENT_WARNING); /* going: the share is about what stays */
    CHECK_EQ_STR(next_place(w), "za spot");
}
