/* builds.h - a plugin folder, its state, and hosts on them, for tests that exchange plugin files.
 *
 * The files are builds of plugins/build.c: the tool 'build' answers with the number of its build,
 * which put() writes into the file. */
#pragma once

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "build.h"
#include "plain-commands.h"
#include "remove-tree.h"
#include "toolrack/toolrack.h"

/* A test that would wait for ever ends here. */
#define BUILDS_BLOCKED_AFTER_S 120

struct builds {
    char root[64];
    char plugins[96];
    char state[96];
    char file[128]; /* plugins/build.so */
    char config[128];
    struct toolrack *host;
    char warnings[16384]; /* log lines of level warning and above, of all hosts; guarded by
                             builds_lock, as any thread of a host may log */
};

static pthread_mutex_t builds_lock = PTHREAD_MUTEX_INITIALIZER;

static inline bool builds_warned(struct builds *builds, const char *text) {
    (void)pthread_mutex_lock(&builds_lock);
    bool found = strstr(builds->warnings, text) != NULL;
    (void)pthread_mutex_unlock(&builds_lock);
    return found;
}

static inline bool builds_warned_at_all(struct builds *builds) {
    (void)pthread_mutex_lock(&builds_lock);
    bool any = builds->warnings[0] != '\0';
    (void)pthread_mutex_unlock(&builds_lock);
    return any;
}

static inline void builds_forget_warnings(struct builds *builds) {
    (void)pthread_mutex_lock(&builds_lock);
    builds->warnings[0] = '\0';
    (void)pthread_mutex_unlock(&builds_lock);
}

static inline void builds_log(void *user, enum toolrack_log_level level, const char *source,
                              const char *line) {
    struct builds *builds = user;
    (void)pthread_mutex_lock(&builds_lock);
    size_t length = strlen(builds->warnings);
    if (level >= TOOLRACK_LOG_WARNING && length < sizeof builds->warnings) {
        (void)snprintf(builds->warnings + length, sizeof builds->warnings - length, "%s: %s\n",
                       source, line);
    }
    (void)pthread_mutex_unlock(&builds_lock);
    if (getenv("TEST_BUILDS_LOG") != NULL) {
        (void)fprintf(stderr, "# %d %s: %s\n", level, source, line);
    }
}

static inline int builds_setup(void **state) {
    struct builds *builds = calloc(1, sizeof *builds);
    if (builds == NULL) {
        return -1;
    }
    strcpy(builds->root, "/tmp/toolrack-builds-XXXXXX");
    if (mkdtemp(builds->root) == NULL) {
        return -1;
    }
    (void)snprintf(builds->plugins, sizeof builds->plugins, "%s/plugins", builds->root);
    (void)snprintf(builds->state, sizeof builds->state, "%s/state", builds->root);
    (void)snprintf(builds->file, sizeof builds->file, "%s/build.so", builds->plugins);
    *state = builds;
    (void)alarm(BUILDS_BLOCKED_AFTER_S);
    return mkdir(builds->plugins, 0700);
}

static inline int builds_teardown(void **state) {
    struct builds *builds = *state;
    toolrack_close(builds->host);
    (void)alarm(0);
    int code = remove_tree(builds->root);
    free(builds);
    return code;
}

/* Open another host on the folder and the state. */
static inline struct toolrack *builds_another(struct builds *builds,
                                              enum toolrack_isolation isolation) {
    const char *const dirs[] = {builds->plugins, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err;
    struct toolrack *host = NULL;
    options.config_file = builds->config;
    options.state_dir = builds->state;
    options.plugin_dirs = dirs;
    options.isolation = isolation;
    options.log = builds_log;
    options.user = builds;
    if (toolrack_open(&options, &host, &err) < 0) {
        fail_msg("%s", err.message);
    }
    return host;
}

static inline void builds_open(struct builds *builds) {
    builds_forget_warnings(builds);
    builds->host = builds_another(builds, TOOLRACK_ISOLATION_PROCESS);
}

static inline void builds_close(struct builds *builds) {
    toolrack_close(builds->host);
    builds->host = NULL;
}

static inline void builds_reopen(struct builds *builds) {
    builds_close(builds);
    builds_open(builds);
}

static inline void builds_configure(struct builds *builds, const char *json) {
    (void)snprintf(builds->config, sizeof builds->config, "%s/toolrack.json", builds->root);
    FILE *file = fopen(builds->config, "w");
    assert_non_null(file);
    assert_true(fputs(json, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* ------------------------------------------------------------------- files */

/* Put a build of a fixture there under a name, as one should: by rename. */
static inline void builds_put_as(const struct builds *builds, const char *name, const char *fixture,
                                 unsigned number) {
    char from[256];
    char aside[160];
    char path[160];
    char digits[BUILD_DIGITS + 1];
    struct stat st;
    (void)snprintf(from, sizeof from, TEST_PLUGINS "/%s.so", fixture);
    (void)snprintf(aside, sizeof aside, "%s/aside", builds->root);
    (void)snprintf(path, sizeof path, "%s/%s.so", builds->plugins, name);
    (void)snprintf(digits, sizeof digits, "%06u", number);
    CLEANUP(closep) int in = open(from, O_RDONLY | O_CLOEXEC);
    assert_true(in >= 0 && fstat(in, &st) == 0);
    size_t size = (size_t)st.st_size;
    CLEANUP(freep) char *data = malloc(size);
    assert_non_null(data);
    assert_int_equal(read(in, data, size), size);
    char *at = data;
    while ((at = memmem(at, size - (size_t)(at - data), BUILD_MARK "000001",
                        strlen(BUILD_MARK "000001"))) != NULL) {
        at += strlen(BUILD_MARK);
        memcpy(at, digits, BUILD_DIGITS);
    }
    CLEANUP(closep) int out = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    assert_true(out >= 0);
    assert_int_equal(write(out, data, size), size);
    assert_int_equal(rename(aside, path), 0);
}

static inline void builds_put(const struct builds *builds, const char *fixture, unsigned number) {
    builds_put_as(builds, "build", fixture, number);
}

/* Overwrite the file in place. */
static inline void builds_spoil(const struct builds *builds, const char *text) {
    CLEANUP(closep) int fd = open(builds->file, O_WRONLY | O_TRUNC | O_CREAT | O_CLOEXEC, 0755);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static inline void builds_truncate(const struct builds *builds, off_t size) {
    assert_int_equal(truncate(builds->file, size), 0);
}

/* ------------------------------------------------------------------- calls */

/* The number that a tool answers with; a negative code of a failure. */
static inline long builds_call(struct toolrack *host, const char *tool,
                               struct toolrack_error *err) {
    struct toolrack_result *result = NULL;
    int code = toolrack_call(host, tool, NULL, NULL, &result, err);
    long number = code < 0 ? code : strtol(toolrack_result_json(result, NULL), NULL, 10);
    toolrack_result_free(result);
    return number;
}

static inline void builds_expect(struct toolrack *host, const char *tool, long wanted) {
    struct toolrack_error err = {0};
    long is = builds_call(host, tool, &err);
    if (is != wanted) {
        fail_msg("%s gave %ld instead of %ld: %s", tool, is, wanted, err.message);
    }
}

/* Reload the file; what the report says of its outcome must be this. */
static inline void builds_reload(struct toolrack *host, const char *name, const char *outcome) {
    struct toolrack_text *report = NULL;
    struct toolrack_error err;
    if (toolrack_reload(host, name, &report, &err) < 0) {
        fail_msg("%s", err.message);
    }
    size_t length = 0;
    const char *json = toolrack_text_data(report, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    const char *is = yyjson_get_str(yyjson_ptr_get(yyjson_doc_get_root(doc), "/0/outcome"));
    if (is == NULL || strcmp(is, outcome) != 0) {
        fail_msg("%s instead of %s: %s", is != NULL ? is : "nothing", outcome, json);
    }
    yyjson_doc_free(doc);
    toolrack_text_unref(report);
}

/* 'why' as JSON, to be freed with yyjson_doc_free(). */
static inline yyjson_doc *builds_why(struct toolrack *host, const char *name) {
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    if (toolrack_why(host, name, &text, &err) < 0) {
        fail_msg("why %s: %s", name, err.message);
    }
    size_t length = 0;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    assert_non_null(doc);
    toolrack_text_unref(text);
    return doc;
}

static inline void builds_expect_why(struct toolrack *host, const char *name, const char *pointer,
                                     const char *part) {
    yyjson_doc *doc = builds_why(host, name);
    yyjson_val *value = yyjson_ptr_get(yyjson_doc_get_root(doc), pointer);
    char *text = value != NULL ? yyjson_val_write(value, 0, NULL) : NULL;
    if (text == NULL || strstr(plain_commands(text), part) == NULL) {
        char *whole = yyjson_write(doc, 0, NULL);
        fail_msg("why %s: %s is %s, without %s: %s", name, pointer, text != NULL ? text : "absent",
                 part, whole);
    }
    free(text);
    yyjson_doc_free(doc);
}
