#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "app/command.h"

int main(int argc, char **argv) {
    /* A closed pipe is seen as a failed write, at the place that knows what it means. */
    signal(SIGPIPE, SIG_IGN);
    struct dr_arena arena;
    dr_arena_init(&arena, 0);
    struct dr_app app = {.out = stdout, .err = stderr, .env = (const char *const *)environ, .arena = &arena};
    app.terminal = isatty(STDOUT_FILENO) == 1;
    const char *term = dr_app_env(&app, "TERM");
    const char *no_colour = dr_app_env(&app, "NO_COLOR");
    app.colour = app.terminal && (no_colour == NULL || no_colour[0] == '\0') && (term == NULL || strcmp(term, "dumb") != 0);
    int code = dr_app_main(&app, argc, argv);
    dr_arena_deinit(&arena);
    return code;
}
