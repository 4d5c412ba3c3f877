/* e2e.h - run the command and look at what it did.
 *
 * Each test gets an empty folder and runs in it: its state is in ./state, the
 * fixtures are the only plugins, and no configuration of the machine is read. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** What a run left. */
struct run {
    int exit;   /**< exit code, or -1 */
    int signal; /**< the signal it ended of, or 0 */
    char *out;
    char *err;
};

/** How to run it; start from {0}. */
struct how {
    const char *input;      /**< standard input; NULL is none */
    size_t input_length;    /**< 0 is strlen(input) */
    const char *plugins;    /**< folder of plugins; NULL is the good fixtures */
    bool bare;              /**< without --config, --state and --plugins */
    bool no_output;         /**< standard output is closed */
    int output;             /**< standard output; 0 is caught in `out` */
    unsigned short columns; /**< of a terminal as standard output; 0 is none */
    const char *typed;      /**< lines for a terminal as standard input and error, each typed when a
                             * question stands there; NULL is none */
    bool is_one;            /**< with `typed`: standard output is that terminal too, of `columns`;
                             * all is in `err` */
    const char *meanwhile;  /**< with `typed`: a shell command that is run, and must succeed, while
                             * the first question stands there */
    const char *ahead;      /**< with `typed`: typed there before the command begins */
    const char *wait_for;   /**< once this stands on standard error ... */
    int send;               /**< ... send this signal */
};

/** Run `toolrack` with arguments up to NULL. Release with run_finish(). */
struct run run_how(const struct how *how, const char *const *args);
void run_finish(struct run *run);

#define ARGS(...)        ((const char *const[]){__VA_ARGS__, NULL})
#define RUN(...)         run_how(&(struct how){0}, ARGS(__VA_ARGS__))
#define RUN_WITH(h, ...) run_how(&(struct how)h, ARGS(__VA_ARGS__))
#define HOW(...) \
    { __VA_ARGS__ }

/** Run, and fail the test unless exit code, output and errors are exactly these; NULL is any. The
 * run is released. */
void expect(const char *file, int line, struct run run, int exit, const char *out, const char *err);
#define EXPECT(run, exit, out, err) expect(__FILE__, __LINE__, run, exit, out, err)

/** Fail the test unless the output is JSON and has these values: pairs of a JSON Pointer and the
 * compact text of the value there ("" for nothing there), up to NULL. The run is released. */
void expect_json(const char *file, int line, struct run run, int exit, const char *const *pairs);
#define EXPECT_JSON(run, exit, ...) expect_json(__FILE__, __LINE__, run, exit, ARGS(__VA_ARGS__))

/** Fail the test unless `text` matches a pattern, where "*" stands for anything. */
void expect_match(const char *file, int line, const char *text, const char *pattern);
#define EXPECT_MATCH(text, pattern) expect_match(__FILE__, __LINE__, text, pattern)

/** cmocka's setup and teardown: into an empty folder of its own, and away. */
int e2e_setup(void **state);
int e2e_teardown(void **state);

/** Folders of the fixtures. */
const char *e2e_plugins(void);
const char *e2e_broken(void);

/** Write a file; with `from`, its first `length` bytes (0: all). Fails the test when it cannot. */
void e2e_write(const char *path, const char *text);
void e2e_copy(const char *from, const char *to, size_t length);
