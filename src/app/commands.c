/* The table of commands and the program around it. A new command: its cmd_<name>.c, a line here, a line in commands.h. */
#include "app/commands.h"

#include <errno.h>
#include <string.h>

#include "app/nearest.h"

const struct dr_command *const dr_commands[] = {
    &dr_cmd_demo,    &dr_cmd_simulate, &dr_cmd_run,   &dr_cmd_tick,   &dr_cmd_plan,       &dr_cmd_status,
    &dr_cmd_history, &dr_cmd_explain,  &dr_cmd_check, &dr_cmd_config, &dr_cmd_completion, NULL,
};

const struct dr_command *dr_command_find(struct dr_str name) {
    for (size_t i = 0; dr_commands[i] != NULL; i++) {
        if (dr_str_is(name, dr_commands[i]->name)) {
            return dr_commands[i];
        }
    }
    return NULL;
}

static int unknown_command(struct dr_app *app, const char *typed) {
    struct dr_nearest nearest;
    dr_nearest_init(&nearest, dr_str_of(typed));
    for (size_t i = 0; dr_commands[i] != NULL; i++) {
        dr_nearest_try(&nearest, dr_str_of(dr_commands[i]->name));
    }
    const char *kind = typed[0] == '-' ? "option" : "command";
    if (nearest.found) {
        return dr_app_fail(app, DR_EXIT_USAGE, "unknown %s: %s; did you mean %.*s? (see drover --help)", kind, typed, DR_FMT(nearest.best));
    }
    return dr_app_fail(app, DR_EXIT_USAGE, "unknown %s: %s (see drover --help)", kind, typed);
}

static int dispatch(struct dr_app *app, int argc, char **argv) {
    if (argc < 2) {
        dr_help_all(app->err);
        return DR_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        const struct dr_command *about = argc > 2 ? dr_command_find(dr_str_of(argv[2])) : NULL;
        if (argc > 2 && about == NULL) {
            return unknown_command(app, argv[2]);
        }
        if (about == NULL) {
            dr_help_all(app->out);
        } else {
            dr_help_command(app->out, about);
        }
        return DR_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0) {
        fprintf(app->out, "drover %s\n", DR_VERSION);
        return DR_EXIT_OK;
    }
    const struct dr_command *command = dr_command_find(dr_str_of(argv[1]));
    if (command == NULL) {
        return unknown_command(app, argv[1]);
    }
    struct dr_args args;
    int parsed = dr_args_parse(app, command, argc - 2, argv + 2, &args);
    if (parsed != 0) {
        return parsed < 0 ? DR_EXIT_USAGE : DR_EXIT_OK;
    }
    return command->run(app, &args);
}

int dr_app_main(struct dr_app *app, int argc, char **argv) {
    int code = dispatch(app, argc, argv);
    errno = 0;
    bool broken = fflush(app->out) != 0 || ferror(app->out);
    if (broken && errno == 0) {
        /* An earlier write failed and its reason is gone: ask again. */
        clearerr(app->out);
        fputc('\n', app->out);
        fflush(app->out);
    }
    /* A reader that has seen enough (head) is no failure; a full disk is. SIGPIPE is ignored, so it shows here. */
    if (broken && errno != EPIPE) {
        return dr_app_fail(app, DR_EXIT_FAILED, "output: %s", errno == 0 ? "a write failed" : strerror(errno));
    }
    return code;
}
