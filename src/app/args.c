/* Options from the command's table: --name value, --name=value, -n value, -nvalue, -- ends them. */
#include <stdarg.h>
#include <string.h>

#include "app/command.h"
#include "app/nearest.h"
#include "base/err.h"

static size_t option_count(const struct dr_command *command) {
    size_t n = 0;
    while (command->options[n].name != NULL) {
        n++;
    }
    DR_ASSERT(n <= DR_MAX_OPTIONS);
    return n;
}

static int option_index(const struct dr_command *command, struct dr_str name) {
    for (size_t i = 0; i < option_count(command); i++) {
        if (dr_str_is(name, command->options[i].name)) {
            return (int)i;
        }
    }
    return -1;
}

static int letter_index(const struct dr_command *command, char letter) {
    for (size_t i = 0; i < option_count(command); i++) {
        if (command->options[i].letter == letter && letter != 0) {
            return (int)i;
        }
    }
    return -1;
}

const char *dr_args_get(const struct dr_args *args, const char *name) {
    int i = option_index(args->command, dr_str_of(name));
    DR_ASSERT(i >= 0);
    return args->values[i];
}

bool dr_args_has(const struct dr_args *args, const char *name) { return dr_args_get(args, name) != NULL; }

bool dr_args_json(const struct dr_args *args) {
    const char *format = dr_args_get(args, "output");
    return format != NULL && strcmp(format, "json") == 0;
}

const char *dr_app_env(const struct dr_app *app, const char *name) {
    size_t n = strlen(name);
    for (const char *const *p = app->env; p != NULL && *p != NULL; p++) {
        if (strncmp(*p, name, n) == 0 && (*p)[n] == '=') {
            return *p + n + 1;
        }
    }
    return NULL;
}

int dr_app_fail(struct dr_app *app, enum dr_exit code, const char *fmt, ...) {
    char text[2048];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    DR_ASSERT(n >= 0);
    for (char *p = text; *p != '\0'; p++) {
        if (((unsigned char)*p < ' ' && *p != '\n') || *p == 0x7f) {
            *p = '?'; /* what a person typed or a file holds must not reach the terminal as control characters */
        }
    }
    fprintf(app->err, "drover: %s\n", text);
    return (int)code;
}

void dr_app_print(struct dr_app *app, struct dr_str text) {
    size_t start = 0;
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        if ((c < ' ' && c != '\n') || c == 0x7f) {
            fwrite(text.p + start, 1, i - start, app->out);
            fputc('?', app->out);
            start = i + 1;
        }
    }
    if (start < text.n) {
        fwrite(text.p + start, 1, text.n - start, app->out);
    }
}

static int fail(struct dr_app *app, const struct dr_command *command, const char *problem, struct dr_str what, const char *hint) {
    dr_app_fail(app, DR_EXIT_USAGE, "%s: %s: %.*s%s (see drover %s --help)", command->name, problem, DR_FMT(what), hint, command->name);
    return -1;
}

static int fail_unknown(struct dr_app *app, const struct dr_command *command, const char *typed) {
    struct dr_str name = dr_str_of(typed);
    name = dr_str_sub(name, 0, dr_str_find(name, '='));
    char hint[96] = "";
    if (dr_str_starts(name, "--")) {
        struct dr_nearest nearest;
        dr_nearest_init(&nearest, dr_str_sub(name, 2, name.n));
        for (size_t i = 0; i < option_count(command); i++) {
            dr_nearest_try(&nearest, dr_str_of(command->options[i].name));
        }
        dr_nearest_try(&nearest, DR_STR("help"));
        if (nearest.found) {
            snprintf(hint, sizeof(hint), "; did you mean --%.*s?", DR_FMT(nearest.best));
        }
    }
    return fail(app, command, "unknown option", name, hint);
}

static bool allowed(const char *choices, const char *value) {
    struct dr_str rest = dr_str_of(choices);
    while (rest.n > 0) {
        size_t end = dr_str_find(rest, '|');
        if (dr_str_is(dr_str_sub(rest, 0, end), value)) {
            return true;
        }
        rest = dr_str_sub(rest, end + 1, rest.n);
    }
    return false;
}

static int store(struct dr_app *app, struct dr_args *args, int index, const char *value) {
    const struct dr_option *option = &args->command->options[index];
    if (args->values[index] != NULL) {
        return fail(app, args->command, "given twice", dr_str_of(option->name), "");
    }
    if (option->choices != NULL && !allowed(option->choices, value)) {
        char problem[128];
        snprintf(problem, sizeof(problem), "--%s must be one of %s", option->name, option->choices);
        return fail(app, args->command, problem, dr_str_of(value), "");
    }
    args->values[index] = value;
    return 0;
}

/* An option with its value, which may be the next argument. Gives how many arguments it took, -1 on a mistake. */
static int take(struct dr_app *app, struct dr_args *args, int argc, char **argv, int at) {
    const char *typed = argv[at];
    bool is_long = typed[1] == '-';
    struct dr_str name = dr_str_of(typed + 2);
    const char *joined = is_long ? strchr(typed, '=') : NULL;
    if (joined != NULL) {
        name.n = (size_t)(joined - typed) - 2;
        joined++;
    }
    int index = is_long ? option_index(args->command, name) : letter_index(args->command, typed[1]);
    if (index < 0) {
        return fail_unknown(app, args->command, typed);
    }
    const struct dr_option *option = &args->command->options[index];
    if (!is_long && typed[2] != '\0') {
        joined = typed + 2;
    }
    if (option->value == NULL) {
        if (joined != NULL) {
            return fail(app, args->command, "takes no value", dr_str_of(typed), "");
        }
        return store(app, args, index, "") < 0 ? -1 : 1;
    }
    if (joined != NULL) {
        return store(app, args, index, joined) < 0 ? -1 : 1;
    }
    if (at + 1 >= argc) {
        return fail(app, args->command, "needs a value", dr_str_of(typed), "");
    }
    return store(app, args, index, argv[at + 1]) < 0 ? -1 : 2;
}

int dr_args_parse(struct dr_app *app, const struct dr_command *command, int argc, char **argv, struct dr_args *ret) {
    *ret = (struct dr_args){.command = command};
    bool options = true;
    for (int i = 0; i < argc;) {
        const char *typed = argv[i];
        if (options && strcmp(typed, "--") == 0) {
            options = false;
            i++;
        } else if (options && (strcmp(typed, "--help") == 0 || strcmp(typed, "-h") == 0)) {
            dr_help_command(app->out, command);
            return 1;
        } else if (options && typed[0] == '-' && typed[1] != '\0') {
            int taken = take(app, ret, argc, argv, i);
            if (taken < 0) {
                return -1;
            }
            i += taken;
        } else {
            if (ret->operand_n == command->operand_max || ret->operand_n == DR_MAX_OPERANDS) {
                return fail(app, command, "one argument too many", dr_str_of(typed), "");
            }
            ret->operands[ret->operand_n++] = typed;
            i++;
        }
    }
    return 0;
}
