/* What a running test calls: checks and small services. */
#include "harness/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/runner.h"

_Noreturn void dr_test_fail(const char *file, int line, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    fflush(stdout);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    va_end(args);
    fflush(NULL);
    dr_test_cleanup();
    _exit(1); /* without the leak check: a test that stops in the middle owns things */
}

void dr_test_eq_int(const char *file, int line, const char *what, int64_t actual, int64_t expected) {
    if (actual != expected) {
        dr_test_fail(file, line, "%s is %" PRId64 ", expected %" PRId64, what, actual, expected);
    }
}

void dr_test_eq_u64(const char *file, int line, const char *what, uint64_t actual, uint64_t expected) {
    if (actual != expected) {
        dr_test_fail(file, line, "%s is %" PRIu64 ", expected %" PRIu64, what, actual, expected);
    }
}

void dr_test_eq_str(const char *file, int line, const char *what, struct dr_str actual, const char *expected) {
    size_t n = strlen(expected);
    if (actual.n != n || (n > 0 && memcmp(actual.p, expected, n) != 0)) {
        dr_test_fail(file, line, "%s\n     is \"%.*s\"\nexpected \"%s\"", what, DR_FMT(actual), expected);
    }
}

void dr_test_eq_cstr(const char *file, int line, const char *what, const char *actual, const char *expected) {
    if (actual == NULL || strcmp(actual, expected) != 0) {
        dr_test_fail(file, line, "%s\n     is \"%s\"\nexpected \"%s\"", what, actual == NULL ? "(null)" : actual, expected);
    }
}

void dr_test_contains(const char *file, int line, const char *what, struct dr_str actual, const char *needle) {
    if (actual.n == 0 || memmem(actual.p, actual.n, needle, strlen(needle)) == NULL) {
        dr_test_fail(file, line, "%s\n     is \"%.*s\"\nwithout \"%s\"", what, DR_FMT(actual), needle);
    }
}

const struct dr_err *dr_test_err_of_ptr(const struct dr_err *err) { return err; }

const struct dr_err *dr_test_err_of_value(struct dr_err err) {
    static struct dr_err copy;
    copy = err;
    return &copy;
}

void dr_test_ok(const char *file, int line, const char *what, int64_t result, const struct dr_err *err) {
    if (result < 0) {
        dr_test_fail(file, line, "%s failed: code %d: %s", what, (int)err->code, err->text);
    }
}

void dr_test_fails(const char *file, int line, const char *what, int64_t result, const struct dr_err *err, enum dr_code code) {
    if (result >= 0) {
        dr_test_fail(file, line, "%s gave %" PRId64 ", expected error code %d", what, result, (int)code);
    }
    if (err->code != code) {
        dr_test_fail(file, line, "%s failed with code %d (%s), expected code %d", what, (int)err->code, err->text, (int)code);
    }
}

const char *dr_test_path(const char *relative) {
    static char ring[8][4096];
    static unsigned next;
    char *path = ring[next++ % 8];
    snprintf(path, sizeof ring[0], "%s/%s", DR_TEST_SOURCE_DIR, relative);
    return path;
}

const char *dr_test_program(void) {
#ifdef DR_TEST_PROGRAM
    return DR_TEST_PROGRAM;
#else
    return NULL;
#endif
}

static char tmpdir[256];
static pid_t tmpdir_owner;

const char *dr_test_tmpdir(void) {
    if (tmpdir[0] == '\0') {
        const char *base = getenv("TMPDIR");
        snprintf(tmpdir, sizeof tmpdir, "%s/drover-test-XXXXXX", base != NULL ? base : "/tmp");
        if (mkdtemp(tmpdir) == NULL) {
            FAIL("cannot make a temporary folder %s", tmpdir);
        }
        tmpdir_owner = getpid();
    }
    return tmpdir;
}

static void remove_tree(int parent_fd, const char *name) {
    if (unlinkat(parent_fd, name, 0) == 0) {
        return;
    }
    int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (dir == NULL) {
        return;
    }
    (void)fchmod(fd, 0700);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            remove_tree(fd, entry->d_name);
        }
    }
    closedir(dir);
    (void)unlinkat(parent_fd, name, AT_REMOVEDIR);
}

void dr_test_cleanup(void) {
    if (tmpdir[0] != '\0' && tmpdir_owner == getpid()) {
        remove_tree(AT_FDCWD, tmpdir);
        tmpdir[0] = '\0';
    }
}

char *dr_test_read_file(const char *path, size_t *ret_n) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        FAIL("cannot open %s", path);
    }
    size_t n = 0;
    size_t cap = 1 << 16;
    char *p = malloc(cap);
    while (p != NULL) {
        n += fread(p + n, 1, cap - n - 1, f);
        if (n < cap - 1) {
            break;
        }
        cap *= 2;
        p = realloc(p, cap);
    }
    if (p == NULL || ferror(f)) {
        FAIL("cannot read %s", path);
    }
    fclose(f);
    p[n] = '\0';
    if (ret_n != NULL) {
        *ret_n = n;
    }
    return p;
}

bool dr_test_dies(void (*fn)(void *), void *arg) {
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        FAIL("fork failed");
    }
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
        if (null >= 0) {
            dup2(null, STDOUT_FILENO);
            dup2(null, STDERR_FILENO);
        }
        fn(arg);
        _exit(0);
    }
    int status = 0;
    while (waitpid(pid, &status, 0) != pid) {}
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
