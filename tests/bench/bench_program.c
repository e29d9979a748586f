/* The program as a person meets it: size, memory of the demo, time to the first output. */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/bench.h"

/* Starts the program with its output in a pipe; *ret_first_ns is the time until something came. Returns the child's peak memory in bytes. */
static int64_t run_program(const char *command, int64_t *ret_first_ns) {
    int fds[2];
    if (pipe(fds) != 0) {
        abort();
    }
    int64_t start_ns = dr_bench_now_ns();
    pid_t pid = fork();
    if (pid < 0) {
        abort();
    }
    if (pid == 0) {
        (void)dup2(fds[1], STDOUT_FILENO);
        (void)close(fds[0]);
        (void)close(fds[1]);
        execl(DR_BENCH_PROGRAM, "drover", command, (char *)NULL);
        _exit(127);
    }
    (void)close(fds[1]);
    char bytes[4096];
    ssize_t n = read(fds[0], bytes, sizeof(bytes));
    *ret_first_ns = dr_bench_now_ns() - start_ns;
    while (n > 0) {
        n = read(fds[0], bytes, sizeof(bytes));
    }
    (void)close(fds[0]);
    int status = 0;
    struct rusage usage = {0};
    if (wait4(pid, &status, 0, &usage) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        abort();
    }
    return (int64_t)usage.ru_maxrss * 1024;
}

BENCH(program) {
    struct stat about;
    int64_t first_ns = 0;
    if (stat(DR_BENCH_PROGRAM, &about) == 0) {
        dr_bench_put("program.size", (double)about.st_size / 1024, "KiB", "");
    }
    (void)run_program("--version", &first_ns);
    (void)run_program("--version", &first_ns);
    dr_bench_put("program.first_output", (double)first_ns / 1e6, "ms", "");
    dr_bench_put("demo.peak_memory", (double)run_program("demo", &first_ns) / (1024 * 1024), "MiB", "<= 16");
}
