#ifndef DR_APP_COMMAND_H
#define DR_APP_COMMAND_H

/*
 * A command is one file cmd_<name>.c with one `struct dr_command`, named in the table of commands.c. Options, help, completion and "did you mean" come from the
 * structure; the command gets them parsed.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/arena.h"
#include "base/str.h"

/* What the program returns to the shell. */
enum dr_exit {
    DR_EXIT_OK = 0,
    DR_EXIT_FAILED = 1,
    DR_EXIT_USAGE = 2,   /* wrong usage or configuration: nothing was touched */
    DR_EXIT_REFUSED = 3, /* refused for safety */
};

struct dr_option {
    const char *name;    /* "preset", given as --preset */
    char letter;         /* 'c' for -c; 0: none */
    const char *value;   /* placeholder in the help, "FILE"; NULL: a switch */
    const char *choices; /* "text|json": checked before the command runs; NULL: anything */
    const char *help;
};

#define DR_MAX_OPTIONS 16
#define DR_MAX_OPERANDS 64

struct dr_args {
    const struct dr_command *command;
    const char *values[DR_MAX_OPTIONS]; /* parallel to the command's options; a switch that was given has "" */
    const char *operands[DR_MAX_OPERANDS];
    size_t operand_n;
};

/* What a command may touch: everything of the process that it needs comes through here. */
struct dr_app {
    FILE *out;
    FILE *err;
    bool terminal; /* `out` is one: a live view is possible */
    bool colour;   /* a terminal that wants colours (NO_COLOR, TERM=dumb) */
    const char *const *env;
    struct dr_arena *arena; /* lives until the program ends */
};

struct dr_command {
    const char *name;
    const char *summary;             /* one line */
    const char *operands;            /* "FILE|DIR ...", "" */
    const char *first_words;         /* "action|node|pod": what completion offers as the first operand; NULL: files */
    const char *details;             /* further help, complete lines; NULL: none */
    const struct dr_option *options; /* ends with a NULL name */
    size_t operand_max;
    int (*run)(struct dr_app *app, const struct dr_args *args); /* gives an exit code */
};

/* All commands in the order of the help; ends with NULL. */
extern const struct dr_command *const dr_commands[];
const struct dr_command *dr_command_find(struct dr_str name); /* NULL: none */

/* For the option tables: what every command that prints a result has. */
#define DR_OPTION_OUTPUT                                                                                                                   \
    { "output", 'o', "FORMAT", "text|json", "text for people or json for programs" }
#define DR_OPTION_STATE                                                                                                                    \
    { "state", 's', "FILE", NULL, "state file (default: $DROVER_STATE, else drover.db)" }
#define DR_OPTION_CLUSTER                                                                                                                  \
    { "cluster", 0, "NAME", NULL, "cluster in a state file that holds several" }
#define DR_OPTION_END                                                                                                                      \
    { NULL, 0, NULL, NULL, NULL }

/* Value of an option, NULL if it was not given. Asking for one that the command does not have is our own mistake. */
const char *dr_args_get(const struct dr_args *args, const char *name);
bool dr_args_has(const struct dr_args *args, const char *name);
bool dr_args_json(const struct dr_args *args); /* -o json */

/*
 * Parses what follows the command's name. Problems go to app->err with a hint; -1 then, and the program ends with DR_EXIT_USAGE. 1: help was asked for and printed.
 */
int dr_args_parse(struct dr_app *app, const struct dr_command *command, int argc, char **argv, struct dr_args *ret);

/* Value of a variable in app->env, NULL: not set. */
const char *dr_app_env(const struct dr_app *app, const char *name);

/* "drover: text" (and ": see drover NAME --help" for usage errors) to app->err; returns the exit code given. */
__attribute__((format(printf, 3, 4))) int dr_app_fail(struct dr_app *app, enum dr_exit code, const char *fmt, ...);

/* Text from stored data to app->out: control characters other than the newline become '?', so that a file cannot drive the terminal. */
void dr_app_print(struct dr_app *app, struct dr_str text);

void dr_help_all(FILE *out);
void dr_help_command(FILE *out, const struct dr_command *command);

/* The whole program but for the process: what main calls, and tests. */
int dr_app_main(struct dr_app *app, int argc, char **argv);

#endif
