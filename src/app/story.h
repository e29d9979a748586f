#ifndef DR_APP_STORY_H
#define DR_APP_STORY_H

/* What the journal and the item tell about one action, node or pod: sentences with their time, in order. */

#include "app/state_file.h"

struct dr_story_line {
    int64_t at_ms;
    struct dr_str request_id; /* of the pass that recorded it */
    struct dr_str text;
    struct dr_story_line *next;
};

#define DR_STORY_MAX_LINES 2000

struct dr_story {
    struct dr_arena *arena;
    struct dr_story_line *first;
    struct dr_story_line *last;
    size_t n;
    size_t left_out;
    struct dr_buf now;      /* sentences about the present, from the item; complete lines */
    struct dr_str instance; /* of a node, where it is known */
    struct dr_strs others;  /* when nothing was found: names of the same kind that are there */
};

void dr_story_init(struct dr_story *story, struct dr_arena *arena);
void dr_story_deinit(struct dr_story *story);

/* Each reads the whole journal once. 0, or -1 with an error; a story without lines and without `now`: nothing is known about it. */
int dr_story_of_action(struct dr_story *story, const struct dr_state_file *file, struct dr_str id, struct dr_err *err);
int dr_story_of_node(struct dr_story *story, const struct dr_state_file *file, struct dr_str name, struct dr_err *err);
int dr_story_of_pod(struct dr_story *story, const struct dr_state_file *file, struct dr_str ns, struct dr_str name, struct dr_err *err);

#endif
