/* The demo as people meet it: on a pipe, on a terminal, and looked at from outside while it runs. */
#include <pty.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "harness/test.h"

#define MAX_OUTPUT (4 << 20)
#define ROWS 12

/* What `drover ARGUMENTS` prints on both outputs; `ret_code`: how it ended. */
static struct dr_buf output_of(const char *arguments, int *ret_code) {
    char command[1400];
    snprintf(command, sizeof(command), "'%s' %s 2>&1", dr_test_program(), arguments);
    FILE *pipe = popen(command, "r");
    CHECK(pipe != NULL);
    struct dr_buf out;
    dr_buf_init(&out, MAX_OUTPUT);
    char bytes[4096];
    for (size_t n = 0; (n = fread(bytes, 1, sizeof(bytes), pipe)) > 0;) {
        dr_buf_put(&out, bytes, n);
    }
    int status = pclose(pipe);
    *ret_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return out;
}

static int ended(pid_t child) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(demo, pipe_gets_the_day_line_by_line_and_a_summary) {
    static const char *const story[] = {
        "flash sale",   "scale_up +",         "EC2 reclaims a spot machine", "scale_up +1 replacement", "quiet night",
        "scale_down -", "never join",         "1d of virtual time",          "2 reclaimed by EC2",      "pods       ",
        "cost       $", "promises   all held"};
    int code = -1;
    struct dr_buf out = output_of("demo --seed 2", &code);
    CHECK_EQ_INT(code, 0);
    for (size_t i = 0; i < sizeof(story) / sizeof(story[0]); i++) {
        CHECK_CONTAINS(dr_buf_str(&out), story[i]);
    }
    CHECK(strchr(out.p, '\x1b') == NULL);
    dr_buf_deinit(&out);
}

/* The instance alone is named where it was interrupted, the node alone where it was emptied: either name gives both. */
TEST(demo, explained_machine_has_what_was_done_to_its_node) {
    char state[600];
    char command[700];
    int code = -1;
    snprintf(state, sizeof(state), "%s/story.db", dr_test_tmpdir());
    snprintf(command, sizeof(command), "demo --seed 2 --state '%s'", state);
    struct dr_buf out = output_of(command, &code);
    CHECK_EQ_INT(code, 0);
    dr_buf_deinit(&out);
    snprintf(command, sizeof(command), "history --state '%s'", state);
    out = output_of(command, &code);
    const char *record = strstr(out.p, "record interruption ");
    CHECK(record != NULL);
    char id[64];
    CHECK_EQ_INT(sscanf(record, "record interruption %63[-i0-9a-f]", id), 1);
    dr_buf_deinit(&out);
    snprintf(command, sizeof(command), "explain %s --state '%s'", id, state);
    out = output_of(command, &code);
    CHECK_EQ_INT(code, 0);
    CHECK_CONTAINS(dr_buf_str(&out), "record interruption");
    CHECK_CONTAINS(dr_buf_str(&out), "cordon ip-");
    CHECK_CONTAINS(dr_buf_str(&out), "accepted, leaves ip-");
    dr_buf_deinit(&out);
}

TEST(demo, one_seed_is_one_story) {
    int code = -1;
    struct dr_buf first = output_of("demo --seed 7", &code);
    struct dr_buf again = output_of("demo --seed 7", &code);
    struct dr_buf other = output_of("demo --seed 8", &code);
    CHECK_EQ_CSTR(again.p, first.p);
    CHECK(strcmp(other.p, first.p) != 0);
    dr_buf_deinit(&first);
    dr_buf_deinit(&again);
    dr_buf_deinit(&other);
}

/* Reads what the terminal shows until `text` is there or the other side is gone. */
static bool read_until(int terminal, const char *text, struct dr_buf *seen) {
    while (text == NULL || strstr(seen->p == NULL ? "" : seen->p, text) == NULL) {
        char bytes[4096];
        ssize_t n = read(terminal, bytes, sizeof(bytes));
        if (n <= 0) {
            return false;
        }
        dr_buf_put(seen, bytes, (size_t)n);
    }
    return true;
}

static pid_t start_on_terminal(const char *state, int *ret_terminal) {
    struct winsize size = {.ws_row = ROWS, .ws_col = 60};
    fflush(NULL);
    pid_t child = forkpty(ret_terminal, NULL, NULL, &size);
    CHECK(child >= 0);
    if (child == 0) {
        execl(dr_test_program(), "drover", "demo", "--speed", "3600", "--state", state, (char *)NULL);
        _exit(127);
    }
    return child;
}

TEST(demo, terminal_gets_a_picture_that_fits_and_ctrl_c_ends_with_the_summary) {
    char state[600];
    snprintf(state, sizeof(state), "%s/demo.db", dr_test_tmpdir());
    int terminal = -1;
    pid_t child = start_on_terminal(state, &terminal);
    struct dr_buf seen;
    dr_buf_init(&seen, MAX_OUTPUT);
    CHECK(read_until(terminal, "complete scale-up", &seen));
    CHECK_CONTAINS(dr_buf_str(&seen), "MARKET");

    /* From outside, while it runs. */
    char command[700];
    int code = -1;
    snprintf(command, sizeof(command), "status --state '%s'", state);
    struct dr_buf status = output_of(command, &code);
    CHECK_EQ_INT(code, 0);
    CHECK_CONTAINS(dr_buf_str(&status), "cluster demo: ");
    snprintf(command, sizeof(command), "explain --at '2026-03-02 19:04' --state '%s'", state);
    struct dr_buf why = output_of(command, &code);
    CHECK_EQ_INT(code, 0);
    CHECK_CONTAINS(dr_buf_str(&why), "scale_up +1: 2 pods pending for 4m");
    CHECK_EQ_INT(waitpid(child, NULL, WNOHANG), 0);

    CHECK_EQ_INT(write(terminal, "\x03", 1), 1);
    (void)read_until(terminal, NULL, &seen);
    CHECK_EQ_INT(ended(child), 0);
    CHECK_CONTAINS(dr_buf_str(&seen), "of virtual time");
    CHECK_CONTAINS(dr_buf_str(&seen), "promises   all held");

    /* Between two returns to the corner there are no more lines than the terminal has. */
    size_t frames = 0;
    const char *frame = strstr(seen.p, "\x1b[H");
    for (const char *next = NULL; frame != NULL && (next = strstr(frame + 1, "\x1b[H")) != NULL; frame = next) {
        int lines = 1;
        for (const char *p = frame; p < next; p++) {
            lines += *p == '\n' ? 1 : 0;
        }
        CHECK(lines <= ROWS);
        frames++;
    }
    CHECK(frames > 0);
    dr_buf_deinit(&seen);
    dr_buf_deinit(&status);
    dr_buf_deinit(&why);
    close(terminal);
}
