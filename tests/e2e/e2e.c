#include "e2e.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>
#include <yyjson.h>

#include <cmocka.h>

#include "patience.h"
#include "remove-tree.h"

#define ARGS_MAX 64

/* Of the terminal at which a person types. */
#define PERSON_COLUMNS 80

extern char **environ;

static const char *variable(const char *name) {
    const char *value = getenv(name);
    if (value == NULL) {
        fail_msg("%s is not set; run this through meson", name);
    }
    return value;
}

const char *e2e_plugins(void) {
    return variable("E2E_PLUGINS");
}

const char *e2e_broken(void) {
    return variable("E2E_BROKEN");
}

/* --------------------------------------------------------------- the folder */

int e2e_setup(void **state) {
    char *dir = strdup("/tmp/toolrack-e2e-XXXXXX");
    if (dir == NULL || mkdtemp(dir) == NULL || chdir(dir) != 0) {
        free(dir);
        return -1;
    }
    *state = dir;
    (void)unsetenv("TOOLRACK_TOKEN_FILE"); /* of the machine; empty is refused */
    return 0;
}

int e2e_teardown(void **state) {
    char *dir = *state;
    int code = chdir("/") | remove_tree(dir);
    free(dir);
    return code;
}

void e2e_write(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void e2e_copy(const char *from, const char *to, size_t length) {
    FILE *in = fopen(from, "re");
    FILE *out = fopen(to, "we");
    assert_non_null(in);
    assert_non_null(out);
    for (size_t n = 0; length == 0 || n < length; n++) {
        int c = getc(in);
        if (c == EOF) {
            break;
        }
        assert_int_equal(putc(c, out), c);
    }
    assert_int_equal(fclose(out) | fclose(in), 0);
}

/* ------------------------------------------------------------------ running */

/* A file in memory: no pipe that could fill up. */
static int memory(const char *text, size_t length) {
    int fd = memfd_create("e2e", MFD_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), length);
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

/* The kernel keeps no lock on the position in such a file: of two threads that write at once, one
 * would write over the other's line. */
static int appended(void) {
    int fd = memory("", 0);
    assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
    return fd;
}

static char *contents(int fd) {
    off_t length = lseek(fd, 0, SEEK_END);
    char *text = malloc((size_t)length + 1);
    assert_non_null(text);
    assert_int_equal(pread(fd, text, (size_t)length, 0), length);
    text[length] = '\0';
    return text;
}

/* A terminal of so many columns; `ret_inside` is the command's end of it. */
static int terminal(unsigned short columns, int *ret_inside) {
    int fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(fd >= 0 && grantpt(fd) == 0 && unlockpt(fd) == 0);
    int inside = open(ptsname(fd), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(inside >= 0);
    struct winsize size = {.ws_col = columns, .ws_row = 24};
    assert_int_equal(ioctl(inside, TIOCSWINSZ, &size), 0);
    struct termios modes;
    assert_int_equal(tcgetattr(inside, &modes), 0);
    modes.c_oflag &= ~(tcflag_t)OPOST; /* newlines stay as they are */
    modes.c_lflag &= ~(tcflag_t)ECHO;  /* what is typed is not what is shown */
    assert_int_equal(tcsetattr(inside, TCSANOW, &modes), 0);
    *ret_inside = inside;
    return fd;
}

/* Read until the other side is closed, and until `until` was seen when that is given. */
static void drain(int from, int to, const char *until) {
    char seen[4096];
    size_t length = 0;
    for (;;) {
        char piece[512];
        ssize_t n = patience_read(from, piece, sizeof piece);
        if (n <= 0) {
            return;
        }
        assert_int_equal(write(to, piece, (size_t)n), n);
        if (until != NULL && length + (size_t)n < sizeof seen) {
            memcpy(seen + length, piece, (size_t)n);
            length += (size_t)n;
            if (memmem(seen, length, until, strlen(until)) != NULL) {
                return;
            }
        }
    }
}

/* Type each line when a question stands at the end of what is shown. */
static void answer(int screen, int to, const char *typed, const char *meanwhile) {
    while (*typed != '\0') {
        char piece[512];
        ssize_t n = patience_read(screen, piece, sizeof piece);
        if (n <= 0) {
            return;
        }
        assert_int_equal(write(to, piece, (size_t)n), n);
        if (n > 1 && (memcmp(piece + n - 2, ": ", 2) == 0 || memcmp(piece + n - 2, "] ", 2) == 0)) {
            assert_int_equal(meanwhile != NULL ? system(meanwhile) : 0, 0);
            meanwhile = NULL;
            size_t length = strcspn(typed, "\n");
            length += typed[length] == '\n';
            assert_int_equal(write(screen, typed, length), length);
            typed += length;
        }
    }
}

static bool has_option(const char *const *args, const char *option) {
    for (; *args != NULL; args++) {
        if (strcmp(*args, option) == 0) {
            return true;
        }
    }
    return false;
}

/* --config and --state may be given once; --plugins adds up. */
static size_t add_defaults(const struct how *how, const char *const *args, const char **argv) {
    size_t count = 0;
    argv[count++] = variable("E2E_TOOLRACK");
    if (how->bare) {
        return count;
    }
    if (!has_option(args, "--config")) {
        argv[count++] = "--config";
        argv[count++] = "";
    }
    if (!has_option(args, "--state")) {
        argv[count++] = "--state";
        argv[count++] = "state";
    }
    argv[count++] = "--plugins";
    argv[count++] = how->plugins != NULL ? how->plugins : e2e_plugins();
    return count;
}

static pid_t start(const struct how *how, const char *const *args, int in, int out, int err) {
    const char *argv[ARGS_MAX] = {0};
    size_t count = add_defaults(how, args, argv);
    for (size_t i = 0; args[i] != NULL; i++) {
        assert_true(count + 1 < ARGS_MAX);
        argv[count++] = args[i];
    }
    posix_spawn_file_actions_t actions;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, in, 0), 0);
    assert_int_equal(posix_spawn_file_actions_adddup2(&actions, err, 2), 0);
    if (how->no_output) {
        assert_int_equal(posix_spawn_file_actions_addclose(&actions, 1), 0);
    } else {
        assert_int_equal(posix_spawn_file_actions_adddup2(&actions, out, 1), 0);
    }
    pid_t pid = -1;
    assert_int_equal(
            posix_spawn(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ), 0);
    assert_int_equal(posix_spawn_file_actions_destroy(&actions), 0);
    return pid;
}

struct run run_how(const struct how *how, const char *const *args) {
    const char *input = how->input != NULL ? how->input : "";
    int in = memory(input, how->input_length > 0 ? how->input_length : strlen(input));
    int out = appended();
    int err = appended();
    int inside = -1;
    int screen = how->columns > 0 && !how->is_one ? terminal(how->columns, &inside) : -1;
    int person_inside = -1;
    int person = how->typed != NULL
                         ? terminal(how->is_one ? how->columns : PERSON_COLUMNS, &person_inside)
                         : -1;
    int watch[2] = {person, person_inside};
    if (person < 0 && how->wait_for != NULL) {
        assert_int_equal(pipe2(watch, O_CLOEXEC), 0);
    }
    int stdout_fd = screen >= 0       ? inside
                    : how->is_one     ? person_inside
                    : how->output > 0 ? how->output
                                      : out;
    if (how->ahead != NULL) {
        assert_int_equal(write(person, how->ahead, strlen(how->ahead)), strlen(how->ahead));
    }
    pid_t pid = start(how, args, person >= 0 ? person_inside : in, stdout_fd,
                      watch[1] >= 0 ? watch[1] : err);
    if (screen >= 0) {
        (void)close(inside);
        drain(screen, out, NULL);
        (void)close(screen);
    }
    if (watch[0] >= 0) {
        (void)close(watch[1]);
        if (person >= 0) {
            answer(person, err, how->typed, how->meanwhile);
        }
        if (how->wait_for != NULL) {
            drain(watch[0], err, how->wait_for);
            assert_int_equal(kill(pid, how->send), 0);
        }
        drain(watch[0], err, NULL);
        (void)close(watch[0]);
    }
    int status = 0;
    assert_int_equal(patience_child(pid, &status), pid);
    struct run run = {.exit = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
                      .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
                      .out = contents(out),
                      .err = contents(err)};
    (void)close(in);
    (void)close(out);
    (void)close(err);
    return run;
}

void run_finish(struct run *run) {
    free(run->out);
    free(run->err);
    *run = (struct run){0};
}

/* ------------------------------------------------------------------ looking */

#define FAIL_AT(...)                        \
    do {                                    \
        (void)fprintf(stderr, __VA_ARGS__); \
        (void)fputc('\n', stderr);          \
        _fail(file, line);                  \
    } while (0)

/* "*" stands for anything, all else for itself. */
static bool matches(const char *pattern, const char *text) {
    const char *star = NULL;
    const char *retry = NULL;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = pattern++;
            retry = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star + 1;
            text = ++retry;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

void expect_match(const char *file, int line, const char *text, const char *pattern) {
    if (!matches(pattern, text)) {
        FAIL_AT("\"%s\" does not match \"%s\"", text, pattern);
    }
}

static void expect_exit(const char *file, int line, const struct run *run, int exit) {
    if (run->exit != exit) {
        FAIL_AT("exit code %d, signal %d instead of %d\nout: %s\nerr: %s", run->exit, run->signal,
                exit, run->out, run->err);
    }
}

void expect(const char *file, int line, struct run run, int exit, const char *out,
            const char *err) {
    expect_exit(file, line, &run, exit);
    if (out != NULL) {
        expect_match(file, line, run.out, out);
    }
    if (err != NULL) {
        expect_match(file, line, run.err, err);
    }
    run_finish(&run);
}

static void expect_member(const char *file, int line, yyjson_doc *doc, const char *pointer,
                          const char *expected) {
    yyjson_val *value = yyjson_doc_ptr_get(doc, pointer);
    char *text = value != NULL ? yyjson_val_write(value, 0, NULL) : strdup("");
    assert_non_null(text);
    if (!matches(expected, text)) {
        FAIL_AT("%s is %s, not %s", pointer, text, expected);
    }
    free(text);
}

void expect_json(const char *file, int line, struct run run, int exit, const char *const *pairs) {
    expect_exit(file, line, &run, exit);
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    if (doc == NULL) {
        FAIL_AT("no JSON: %s\nerr: %s", run.out, run.err);
    }
    for (size_t i = 0; pairs[i] != NULL; i += 2) {
        expect_member(file, line, doc, pairs[i], pairs[i + 1]);
    }
    yyjson_doc_free(doc);
    run_finish(&run);
}
