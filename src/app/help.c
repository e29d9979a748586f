/* Help from the tables. */
#include <string.h>

#include "app/command.h"

static void put_line(FILE *out, const char *left, size_t width, const char *right) {
    fprintf(out, "  %-*s  %s\n", (int)width, left, right);
}

void dr_help_all(FILE *out) {
    fputs("drover keeps the number of worker nodes of a K3s cluster right.\n\nusage: drover COMMAND [options]\n\n", out);
    for (size_t i = 0; dr_commands[i] != NULL; i++) {
        put_line(out, dr_commands[i]->name, 12, dr_commands[i]->summary);
    }
    fputs("\n", out);
    put_line(out, "--help", 12, "this text; drover COMMAND --help says more about one");
    put_line(out, "--version", 12, "the version");
    fputs("\nexit codes: 0 done, 1 failed, 2 wrong usage or configuration, 3 refused for safety\n", out);
}

static void option_text(const struct dr_option *option, char *text, size_t size) {
    char letter[8] = "    ";
    if (option->letter != 0) {
        snprintf(letter, sizeof(letter), "-%c, ", option->letter);
    }
    snprintf(text, size, "%s--%s%s%s", letter, option->name, option->value == NULL ? "" : " ", option->value == NULL ? "" : option->value);
}

void dr_help_command(FILE *out, const struct dr_command *command) {
    fprintf(out, "usage: drover %s%s%s%s\n\n%s\n", command->name, command->options[0].name == NULL ? "" : " [options]",
            command->operands[0] == '\0' ? "" : " ", command->operands, command->summary);
    if (command->details != NULL) {
        fprintf(out, "\n%s", command->details);
    }
    fputs("\noptions:\n", out);
    for (const struct dr_option *option = command->options; option->name != NULL; option++) {
        char text[96];
        option_text(option, text, sizeof(text));
        put_line(out, text, 22, option->help);
    }
    put_line(out, "-h, --help", 22, "this text");
}
