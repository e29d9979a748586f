/* drover completion bash: a script made from the tables of commands and options. */
#include <string.h>

#include "app/commands.h"

static const struct dr_option options[] = {DR_OPTION_END};

static void put_options(FILE *out, const struct dr_command *command) {
    fprintf(out, "    %s) words=\"--help", command->name);
    for (const struct dr_option *option = command->options; option->name != NULL; option++) {
        fprintf(out, " --%s", option->name);
        if (option->letter != 0) {
            fprintf(out, " -%c", option->letter);
        }
    }
    fputs("\" ;;\n", out);
}

/* "a|b" as the only answers to the word under the cursor. */
static void put_words(FILE *out, const char *words) {
    fputs(") COMPREPLY=($(compgen -W \"", out);
    for (const char *p = words; *p != '\0'; p++) {
        fputc(*p == '|' ? ' ' : *p, out);
    }
    fputs("\" -- \"$word\")); return ;;\n", out);
}

static void put_first_words(FILE *out, const struct dr_command *command) {
    if (command->first_words != NULL) {
        fprintf(out, "    %s:%s:[!-]*|%s:%s:", command->name, command->name, command->name, command->name);
        put_words(out, command->first_words);
    }
}

/* Values that are one of a few words. Files are left to bash. */
static void put_choices(FILE *out, const struct dr_command *command) {
    for (const struct dr_option *option = command->options; option->name != NULL; option++) {
        if (option->choices == NULL) {
            continue;
        }
        fprintf(out, "    %s:--%s", command->name, option->name);
        if (option->letter != 0) {
            fprintf(out, "|%s:-%c", command->name, option->letter);
        }
        put_words(out, option->choices);
    }
}

static int run(struct dr_app *app, const struct dr_args *args) {
    if (args->operand_n != 1) {
        return dr_app_fail(app, DR_EXIT_USAGE, "completion: name a shell: bash");
    }
    if (strcmp(args->operands[0], "bash") != 0) {
        return dr_app_fail(app, DR_EXIT_USAGE, "completion: %s: only bash is supported", args->operands[0]);
    }
    FILE *out = app->out;
    fputs("# bash completion for drover: eval \"$(drover completion bash)\"\n"
          "_drover() {\n"
          "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} words\n"
          "  COMPREPLY=()\n"
          "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n    COMPREPLY=($(compgen -W \"",
          out);
    for (size_t i = 0; dr_commands[i] != NULL; i++) {
        fprintf(out, "%s ", dr_commands[i]->name);
    }
    fputs("--help --version\" -- \"$word\"))\n    return\n  fi\n  case $command:$before in\n", out);
    for (size_t i = 0; dr_commands[i] != NULL; i++) {
        put_choices(out, dr_commands[i]);
    }
    fputs("  esac\n  case $command:$before:$word in\n", out);
    for (size_t i = 0; dr_commands[i] != NULL; i++) {
        put_first_words(out, dr_commands[i]);
    }
    fputs("  esac\n  case $command in\n", out);
    for (size_t i = 0; dr_commands[i] != NULL; i++) {
        put_options(out, dr_commands[i]);
    }
    fputs("    *) return ;;\n  esac\n"
          "  case $word in\n"
          "    -*) COMPREPLY=($(compgen -W \"$words\" -- \"$word\")) ;;\n"
          "    *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n"
          "  esac\n}\n"
          "complete -o filenames -F _drover drover\n",
          out);
    return DR_EXIT_OK;
}

const struct dr_command dr_cmd_completion = {
    .name = "completion",
    .summary = "a completion script for the shell: eval \"$(drover completion bash)\"",
    .operands = "bash",
    .first_words = "bash",
    .options = options,
    .operand_max = 1,
    .run = run,
};
