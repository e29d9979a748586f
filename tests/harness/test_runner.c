/*
 * The runner: every test in a process of its own, as many at once as there are processors. Commands given with --external run as tests beside them, so that one
 * closing line counts everything.
 */
#include <errno.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/runner.h"
#include "harness/test.h"

enum { MAX_CASES = 8192, MAX_JOBS = 64, SHOWN_OUTPUT = 16384, DEFAULT_TIMEOUT_S = 120, EXTERNAL_TIMEOUT_S = 900 };

struct test_case {
    char name[240];
    const struct dr_test *test; /* NULL for an external command */
    const char *command;
};

struct job {
    pid_t pid;
    int output_fd;
    size_t case_index;
    int64_t started_ms;
    int64_t deadline_ms;
    bool timed_out;
};

struct options {
    const char *filter;
    unsigned jobs;
    unsigned timeout_s;
    bool list;
    bool verbose;
    bool in_process;
};

static struct dr_test *registered;
static uint64_t run_seed;
static struct test_case cases[MAX_CASES];
static size_t case_n;

void dr_test_register(struct dr_test *test) {
    test->next = registered;
    registered = test;
}

uint64_t dr_test_seed(void) { return run_seed; }

static int64_t now_ms(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

_Noreturn static void usage(int status) {
    fputs("usage: drover_tests [--filter TEXT] [--seed N] [--jobs N] [--timeout SECONDS] [--list] [--verbose] [--in-process] [--external "
          "NAME=COMMAND]...\n"
          "  --filter      tests whose suite.name contains TEXT, or matches it where it has a *; several separated by commas\n"
          "  --in-process  no fork, for a debugger\n",
          status == 0 ? stdout : stderr);
    exit(status);
}

static uint64_t parse_number(const char *text, const char *option, uint64_t max) {
    char *end = NULL;
    errno = 0;
    uint64_t v = text == NULL || *text == '-' ? 0 : strtoull(text, &end, 10);
    if (end == NULL || end == text || *end != '\0' || errno != 0 || v > max) {
        fprintf(stderr, "drover_tests: %s: \"%s\" is not a number from 0 to %" PRIu64 "\n", option, text == NULL ? "" : text, max);
        exit(2);
    }
    return v;
}

static void add_case(const char *name, const struct dr_test *test, const char *command) {
    if (case_n == MAX_CASES) {
        fputs("drover_tests: too many tests; raise MAX_CASES\n", stderr);
        exit(2);
    }
    struct test_case *c = &cases[case_n++];
    snprintf(c->name, sizeof c->name, "%s", name);
    c->test = test;
    c->command = command;
}

static void add_external(const char *text) {
    const char *eq = strchr(text, '=');
    if (eq == NULL || eq == text || eq[1] == '\0') {
        fprintf(stderr, "drover_tests: --external: \"%s\": NAME=COMMAND expected\n", text);
        exit(2);
    }
    char name[200];
    snprintf(name, sizeof name, "external.%.*s", (int)(eq - text), text);
    add_case(name, NULL, eq + 1);
}

static struct options parse_options(int argc, char **argv) {
    struct options o = {.timeout_s = DEFAULT_TIMEOUT_S};
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    o.jobs = cpus < 1 ? 1 : cpus > MAX_JOBS ? MAX_JOBS : (unsigned)cpus;
    if (getrandom(&run_seed, sizeof run_seed, 0) != (ssize_t)sizeof run_seed) {
        run_seed = (uint64_t)now_ms();
    }
    run_seed >>= 32; /* short enough to type again */
    for (int i = 1; i < argc; i++) {
        const char *arg = argv[i];
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(arg, "--list") == 0) {
            o.list = true;
        } else if (strcmp(arg, "--verbose") == 0) {
            o.verbose = true;
        } else if (strcmp(arg, "--in-process") == 0) {
            o.in_process = true;
        } else if (strcmp(arg, "--help") == 0) {
            usage(0);
        } else if (value == NULL) {
            usage(2);
        } else if (strcmp(arg, "--filter") == 0) {
            o.filter = value;
            i++;
        } else if (strcmp(arg, "--seed") == 0) {
            run_seed = parse_number(value, arg, UINT64_MAX);
            i++;
        } else if (strcmp(arg, "--jobs") == 0) {
            o.jobs = (unsigned)parse_number(value, arg, MAX_JOBS);
            i++;
        } else if (strcmp(arg, "--timeout") == 0) {
            o.timeout_s = (unsigned)parse_number(value, arg, 86400);
            i++;
        } else if (strcmp(arg, "--external") == 0) {
            add_external(value);
            i++;
        } else {
            usage(2);
        }
    }
    o.jobs = o.jobs == 0 ? 1 : o.jobs;
    return o;
}

static bool name_matches(const char *filter, const char *name) {
    while (filter != NULL && *filter != '\0') {
        char part[200];
        size_t n = strcspn(filter, ",");
        snprintf(part, sizeof part, "%.*s", (int)(n < sizeof part ? n : sizeof part - 1), filter);
        if (part[0] != '\0' && (strchr(part, '*') != NULL ? fnmatch(part, name, 0) == 0 : strstr(name, part) != NULL)) {
            return true;
        }
        filter += n + (filter[n] == ',');
    }
    return false;
}

static int compare_cases(const void *a, const void *b) {
    const struct test_case *x = a;
    const struct test_case *y = b;
    /* Commands first: they are the long ones. */
    if ((x->command != NULL) != (y->command != NULL)) {
        return x->command != NULL ? -1 : 1;
    }
    return strcmp(x->name, y->name);
}

static void collect(const struct options *o) {
    for (const struct dr_test *t = registered; t != NULL; t = t->next) {
        char name[240];
        snprintf(name, sizeof name, "%s.%s", t->suite, t->name);
        add_case(name, t, NULL);
    }
    qsort(cases, case_n, sizeof cases[0], compare_cases);
    for (size_t i = 1; i < case_n; i++) {
        if (strcmp(cases[i].name, cases[i - 1].name) == 0) {
            fprintf(stderr, "drover_tests: two tests are called %s\n", cases[i].name);
            exit(2);
        }
    }
    if (o->filter != NULL) {
        size_t kept = 0;
        for (size_t i = 0; i < case_n; i++) {
            if (name_matches(o->filter, cases[i].name)) {
                cases[kept++] = cases[i];
            }
        }
        case_n = kept;
    }
}

_Noreturn static void run_child(const struct test_case *c, int output_fd, const sigset_t *old_mask) {
    setpgid(0, 0);
    dup2(output_fd, STDOUT_FILENO);
    dup2(output_fd, STDERR_FILENO);
    sigprocmask(SIG_SETMASK, old_mask, NULL);
    if (c->command != NULL) {
        execl("/bin/sh", "sh", "-c", c->command, (char *)NULL);
        _exit(127);
    }
    c->test->run();
    dr_test_cleanup();
    exit(0); /* exit, not _exit: the leak check and the coverage counters run at the end */
}

static struct job start_job(size_t index, const struct options *o, const sigset_t *old_mask) {
    const struct test_case *c = &cases[index];
    unsigned timeout_s = c->command != NULL ? EXTERNAL_TIMEOUT_S : c->test->timeout_s != 0 ? c->test->timeout_s : o->timeout_s;
    struct job job = {.case_index = index, .started_ms = now_ms()};
    job.deadline_ms = job.started_ms + (int64_t)timeout_s * 1000;
    job.output_fd = memfd_create("test-output", MFD_CLOEXEC);
    fflush(NULL);
    job.pid = job.output_fd < 0 ? -1 : fork();
    if (job.pid < 0) {
        perror("drover_tests: cannot start a test");
        exit(2);
    }
    if (job.pid == 0) {
        run_child(c, job.output_fd, old_mask);
    }
    setpgid(job.pid, job.pid);
    return job;
}

static void show_output(int fd) {
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > SHOWN_OUTPUT ? size - SHOWN_OUTPUT : 0;
    if (from > 0) {
        printf("    ... %lld bytes before this\n", (long long)from);
    }
    static char text[SHOWN_OUTPUT + 1];
    ssize_t n = pread(fd, text, SHOWN_OUTPUT, from);
    for (char *line = text, *end = text + (n > 0 ? n : 0); line < end;) {
        char *nl = memchr(line, '\n', (size_t)(end - line));
        size_t len = (size_t)((nl != NULL ? nl : end) - line);
        printf("    %.*s\n", (int)len, line);
        line += len + 1;
    }
}

/* Prints the verdict; true if the test passed. */
static bool finish_job(const struct job *job, int status, const struct options *o) {
    const struct test_case *c = &cases[job->case_index];
    double seconds = (double)(now_ms() - job->started_ms) / 1000.0;
    bool passed = WIFEXITED(status) && WEXITSTATUS(status) == 0 && !job->timed_out;
    if (!passed) {
        printf("FAIL %s (%.1f s", c->name, seconds);
        if (c->test != NULL) {
            printf(", %s:%d", c->test->file, c->test->line);
        }
        if (job->timed_out) {
            printf(", stopped at the time limit");
        } else if (WIFSIGNALED(status)) {
            printf(", signal %d", WTERMSIG(status));
        } else {
            printf(", status %d", WEXITSTATUS(status));
        }
        printf(")\n");
        show_output(job->output_fd);
    } else if (o->verbose) {
        printf("ok   %s (%.2f s)\n", c->name, seconds);
        show_output(job->output_fd);
    }
    fflush(stdout);
    close(job->output_fd);
    return passed;
}

static void wait_for_change(const struct job *jobs, size_t job_n, const sigset_t *chld) {
    int64_t wait_ms = 1000;
    for (size_t i = 0; i < job_n; i++) {
        int64_t left = jobs[i].deadline_ms - now_ms();
        wait_ms = left < wait_ms ? (left < 0 ? 0 : left) : wait_ms;
    }
    struct timespec ts = {.tv_sec = wait_ms / 1000, .tv_nsec = (wait_ms % 1000) * 1000000};
    (void)sigtimedwait(chld, NULL, &ts);
}

static void run_all(const struct options *o, size_t *passed, size_t *failed) {
    sigset_t chld;
    sigset_t old_mask;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    sigprocmask(SIG_BLOCK, &chld, &old_mask);
    struct job jobs[MAX_JOBS];
    size_t job_n = 0;
    size_t next = 0;
    while (next < case_n || job_n > 0) {
        while (next < case_n && job_n < o->jobs) {
            jobs[job_n++] = start_job(next++, o, &old_mask);
        }
        wait_for_change(jobs, job_n, &chld);
        for (size_t i = 0; i < job_n;) {
            int status = 0;
            if (!jobs[i].timed_out && now_ms() >= jobs[i].deadline_ms) {
                jobs[i].timed_out = true;
                kill(-jobs[i].pid, SIGKILL);
            }
            if (waitpid(jobs[i].pid, &status, WNOHANG) != jobs[i].pid) {
                i++;
                continue;
            }
            kill(-jobs[i].pid, SIGKILL); /* what the test left running */
            *(finish_job(&jobs[i], status, o) ? passed : failed) += 1;
            jobs[i] = jobs[--job_n];
        }
    }
}

int main(int argc, char **argv) {
    struct options o = parse_options(argc, argv);
    collect(&o);
    if (o.list) {
        for (size_t i = 0; i < case_n; i++) {
            printf("%s\n", cases[i].name);
        }
        return 0;
    }
    if (case_n == 0) {
        fprintf(stderr, "drover_tests: no test matches \"%s\"\n", o.filter == NULL ? "" : o.filter);
        return 2;
    }
    printf("%zu tests, seed %" PRIu64 "\n", case_n, run_seed);
    if (o.in_process) {
        for (size_t i = 0; i < case_n; i++) {
            if (cases[i].test != NULL) {
                printf("%s\n", cases[i].name);
                cases[i].test->run();
            }
        }
        dr_test_cleanup();
        return 0;
    }
    size_t passed = 0;
    size_t failed = 0;
    run_all(&o, &passed, &failed);
    if (failed > 0) {
        printf("repeat with: --seed %" PRIu64 "\n", run_seed);
    }
    printf("%zu passed, %zu failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
