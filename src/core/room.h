#ifndef DR_CORE_ROOM_H
#define DR_CORE_ROOM_H

/* Room: what is left on a worker, in whole milli-cores, bytes and pods, and how classes of equal pods take it. */

#include "core/fleet.h"

/* Host ports taken on one machine. */
struct dr_port_use {
    const struct dr_pod_spec *spec;
    const struct dr_port_use *next;
};

struct dr_room {
    const struct dr_node *node;        /* its rules hold; NULL: an empty worker of `type` */
    const struct dr_worker_type *type; /* of an empty worker */
    uint64_t zones;                    /* of an empty worker: bit per fleet zone in which it may still turn out to be */
    int64_t cpu_milli;                 /* left; below 0 where a machine is overcommitted */
    int64_t mem_bytes;
    int64_t pods;
    const struct dr_port_use *ports;
};

/* What DaemonSets take on a new worker: the most that they take on any ready worker today, each quantity by itself, and every host port that one of them holds. Without a ready worker nothing is known and it is zero. */
struct dr_overhead {
    int64_t cpu_milli;
    int64_t mem_bytes;
    int64_t pods;
    const struct dr_port_use *ports;
};

/* The pods must be indexed for the next two. */
void dr_overhead_work_out(struct dr_arena *arena, const struct dr_fleet *fleet, struct dr_overhead *ret);
/* Allocatable less the requests of every pod that is bound there and not finished, those being deleted included. The worker must have a Node. */
void dr_room_of_worker(struct dr_arena *arena, const struct dr_fleet *fleet, const struct dr_worker *worker, struct dr_room *ret);
void dr_room_of_type(const struct dr_worker_type *type, uint64_t zones, const struct dr_overhead *overhead, struct dr_room *ret);

/* How many of `count` equal pods there is room for; 0 where a host port is taken, 1 at most where the pods hold one. A request of 0 fits whatever is left, as for the scheduler. Rules are not looked at. */
int64_t dr_room_holds(const struct dr_room *room, const struct dr_pod_spec *spec, int64_t count);
/* Takes the room for `count` pods, which dr_room_holds granted. */
void dr_room_take(struct dr_arena *arena, struct dr_room *room, const struct dr_pod_spec *spec, int64_t count);

/* Pods of one kind. */
struct dr_pod_group {
    const struct dr_pod_spec *spec;
    const struct dr_pod **pods;
    int64_t count;
    int64_t size_ppm; /* larger of its shares of the measure's cpu and memory */
};
struct dr_pod_groups {
    struct dr_pod_group *v;
    size_t n;
};

/* Groups pods with equal specs, largest first; a total order, so that the order of the pods does not matter. `measure` is what shares are taken of. The list of pods is sorted in place. */
void dr_room_groups(struct dr_arena *arena, const struct dr_pod **pods, size_t n, const struct dr_room *measure, struct dr_pod_groups *ret);

#endif
