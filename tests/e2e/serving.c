#include "serving.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "e2e.h"
#include "patience.h"

#define WORDS_MAX 24

static struct serving start(const char *const *words) {
    struct serving serving = {0};
    int ends[2];
    assert_int_equal(0, pipe(ends));
    serving.pid = fork();
    assert_true(serving.pid >= 0);
    if (serving.pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves it behind */
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)close(ends[0]);
        (void)close(ends[1]);
        (void)execv(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    (void)close(ends[1]);
    serving.out = ends[0];
    size_t length = 0;
    while (length < sizeof serving.line - 1 && (length == 0 || serving.line[length - 1] != '\n')) {
        ssize_t got = patience_read(serving.out, serving.line + length, 1);
        assert_int_equal(1, got);
        length++;
    }
    serving.line[length - 1] = '\0';
    return serving;
}

static void add(const char **words, size_t count, const char *const *more) {
    for (; *more != NULL; more++) {
        assert_true(count + 1 < WORDS_MAX);
        words[count++] = *more;
    }
}

struct serving serving_start(const char *const *more) {
    const char *words[WORDS_MAX] = {
            getenv("E2E_TOOLRACK"), "--config", "", "--state", "state", "--plugins",
            e2e_plugins(),          "serve"};
    add(words, 8, more);
    return start(words);
}

struct serving serving_start_bare(const char *const *more) {
    const char *words[WORDS_MAX] = {getenv("E2E_TOOLRACK"), "serve"};
    add(words, 2, more);
    return start(words);
}

unsigned serving_port(const struct serving *serving) {
    unsigned port = 0;
    assert_int_equal(1, sscanf(serving->line, "listening on http://127.0.0.1:%u", &port));
    return port;
}

int serving_end(struct serving *serving, int number) {
    int status = -1;
    (void)kill(serving->pid, number);
    assert_int_equal(serving->pid, patience_child(serving->pid, &status));
    (void)close(serving->out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
