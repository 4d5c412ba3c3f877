/* run-cases - call the tools of one plugin as its cases.json says, through the CLI.
 *
 *     run-cases TOOLRACK PLUGIN_DIR cases.json
 *
 * Each case is one `toolrack --plugins PLUGIN_DIR call TOOL ARGUMENTS --json` in a process of its
 * own, with empty XDG folders, so that nothing of the user's gets in. A case is an object with
 *
 *     about       what it shows; optional, for the output
 *     tool        name
 *     arguments   object
 *     config      the host's configuration for this call; optional
 *     confirmed   true: a person has agreed (--yes)
 * and one of
 *     result      the whole result; 1 and 1.0 are the same number
 *     matches     part of the result: members that are not named may be anything, and a string is
 *                 a regular expression (PCRE2) that the whole of the result's string must match;
 *                 null: any result
 *     error       object with `type`, and optionally `field` and `message_contains`
 *
 * The examples that each tool of the cases states are cases too: `toolrack show` gives them, with
 * `arguments` and perhaps `result`. A tool must have one, unless its plugin declares capabilities:
 * what comes of a call then depends on what is granted.
 *
 * The file is an array of cases, or an object with `cases` and a `config` for those that state none
 * and for examples.
 *
 * In arguments, config and what is expected, ${cases} stands for the folder of cases.json, and
 * ${work} for a folder that is empty at first and the same for all cases. Output is TAP. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/cleanup.h"

#define CASE_TIMEOUT_MS_MAX 30000
#define OUTPUT_MAX          ((size_t)16 << 20)
#define DEPTH_MAX           64

extern char **environ;

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* One run of the CLI. */
struct outcome {
    struct buf output;
    int exit_code; /**< -1 when it did not exit by itself */
};

struct runner {
    const char *toolrack;
    const char *plugin_dir;
    char *cases_dir;    /**< owned */
    char home[64];      /**< temporary folder */
    char work[80];      /**< in it */
    yyjson_val *config; /**< of cases that state none; or NULL */
    unsigned count;
    unsigned failed;
};

/* ------------------------------------------------------------ running the CLI */

static int64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Read all until the end, the deadline or OUTPUT_MAX. */
static bool read_output(int fd, struct buf *output) {
    int64_t deadline = now_ms() + CASE_TIMEOUT_MS_MAX;
    for (;;) {
        int64_t left = deadline - now_ms();
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (left <= 0 || poll(&wait, 1, (int)left) == 0) {
            return false;
        }
        char block[4096];
        ssize_t got = read(fd, block, sizeof block);
        if (got == 0) {
            return true;
        }
        if (got > 0) {
            buf_add(output, block, (size_t)got);
        } else if (errno != EINTR) {
            return false;
        }
        if (output->length > OUTPUT_MAX) {
            return false;
        }
    }
}

static int spawn_cli(char *const argv[], int out_fd, pid_t *ret_pid) {
    posix_spawn_file_actions_t actions;
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0) {
        return rc;
    }
    rc = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (rc == 0) {
        rc = posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
    }
    if (rc == 0) {
        rc = posix_spawnp(ret_pid, argv[0], &actions, NULL, argv, environ);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return rc;
}

static bool run_cli(char *const argv[], struct outcome *ret) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return false;
    }
    CLEANUP(closep) int read_fd = fds[0];
    pid_t pid;
    int rc = spawn_cli(argv, fds[1], &pid);
    (void)close(fds[1]);
    if (rc != 0) {
        printf("# cannot run %s: %s\n", argv[0], strerror(rc));
        return false;
    }
    if (!read_output(read_fd, &ret->output)) {
        (void)kill(pid, SIGKILL);
    }
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    ret->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return true;
}

/* ------------------------------------------------------------ comparing */

static bool same_number(yyjson_val *a, yyjson_val *b) {
    if (yyjson_is_int(a) && yyjson_is_int(b)) {
        return yyjson_equals(a, b);
    }
    double x = yyjson_get_num(a);
    double y = yyjson_get_num(b);
    return !(x < y) && !(x > y);
}

static bool string_matches(const char *pattern, yyjson_val *actual) {
    int code;
    PCRE2_SIZE offset;
    pcre2_code *regex =
            pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                          PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED, &code, &offset, NULL);
    pcre2_match_data *match =
            regex == NULL ? NULL : pcre2_match_data_create_from_pattern(regex, NULL);
    bool found = match != NULL && pcre2_match(regex, (PCRE2_SPTR)yyjson_get_str(actual),
                                              yyjson_get_len(actual), 0, 0, match, NULL) > 0;
    pcre2_match_data_free(match);
    pcre2_code_free(regex);
    return found;
}

/* Whether `actual` is what is expected; `part` as the file comment says of `matches`. */
static bool agrees(yyjson_val *expected, yyjson_val *actual, bool part, int depth) {
    if (actual == NULL || depth > DEPTH_MAX ||
        yyjson_get_type(expected) != yyjson_get_type(actual)) {
        return false;
    }
    size_t i;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    switch (yyjson_get_type(expected)) {
    case YYJSON_TYPE_NUM: return same_number(expected, actual);
    case YYJSON_TYPE_STR:
        return part ? string_matches(yyjson_get_str(expected), actual)
                    : yyjson_equals(expected, actual);
    case YYJSON_TYPE_ARR:
        if (yyjson_arr_size(expected) != yyjson_arr_size(actual)) {
            return false;
        }
        yyjson_arr_foreach (expected, i, count, value) {
            if (!agrees(value, yyjson_arr_get(actual, i), part, depth + 1)) {
                return false;
            }
        }
        return true;
    case YYJSON_TYPE_OBJ:
        if (!part && yyjson_obj_size(expected) != yyjson_obj_size(actual)) {
            return false;
        }
        yyjson_obj_foreach (expected, i, count, key, value) {
            yyjson_val *other = yyjson_obj_getn(actual, yyjson_get_str(key), yyjson_get_len(key));
            if (!agrees(value, other, part, depth + 1)) {
                return false;
            }
        }
        return true;
    default: return yyjson_equals(expected, actual);
    }
}

/* A field is a path with or without its first slash. */
static const char *field_of(yyjson_val *error) {
    const char *field = yyjson_get_str(yyjson_obj_get(error, "field"));
    return field == NULL ? "" : field + (field[0] == '/');
}

static int exit_code_for(const char *type) {
    static const struct {
        const char *type;
        int exit_code;
    } table[] = {
            {"NotFound", 3},
            {"InvalidArguments", 4},
            {"Disabled", 5},
            {"PermissionDenied", 5},
            {"ConfirmationRequired", 5},
            {"Timeout", 6},
            {"LimitExceeded", 1},
            {"Cancelled", 1},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(table); i++) {
        if (strcmp(table[i].type, type) == 0) {
            return table[i].exit_code;
        }
    }
    return 7;
}

static bool error_agrees(yyjson_val *expected, yyjson_val *actual) {
    const char *type = yyjson_get_str(yyjson_obj_get(expected, "type"));
    const char *part = yyjson_get_str(yyjson_obj_get(expected, "message_contains"));
    const char *message = yyjson_get_str(yyjson_obj_get(actual, "message"));
    if (type == NULL || message == NULL ||
        !yyjson_equals_str(yyjson_obj_get(actual, "type"), type)) {
        return false;
    }
    if (yyjson_obj_get(expected, "field") != NULL &&
        strcmp(field_of(expected), field_of(actual)) != 0) {
        return false;
    }
    return part == NULL || strstr(message, part) != NULL;
}

/* NULL when the outcome is the expected one, else what is wrong with it. */
static const char *judge(yyjson_val *test, const struct outcome *outcome) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = outcome->output.length == 0
                              ? NULL
                              : yyjson_read(outcome->output.data, outcome->output.length, 0);
    yyjson_val *actual = yyjson_doc_get_root(doc);
    if (actual == NULL) {
        return "the output is not one JSON value";
    }
    yyjson_val *error = yyjson_obj_get(test, "error");
    if (error != NULL) {
        if (!error_agrees(error, yyjson_obj_get(actual, "error"))) {
            return "not the expected error";
        }
        const char *type = yyjson_get_str(yyjson_obj_get(error, "type"));
        return outcome->exit_code == exit_code_for(type) ? NULL : "wrong exit code";
    }
    yyjson_val *part = yyjson_obj_get(test, "matches");
    yyjson_val *whole = yyjson_obj_get(test, "result");
    if (part == NULL && whole == NULL) {
        return "the case has neither result nor matches nor error";
    }
    if ((whole != NULL && !agrees(whole, actual, false, 0)) ||
        (part != NULL && !yyjson_is_null(part) && !agrees(part, actual, true, 0))) {
        return "not the expected result";
    }
    return outcome->exit_code == 0 ? NULL : "wrong exit code";
}

/* ------------------------------------------------------------ the cases */

/* The text of a value with ${cases} and ${work} replaced; NULL out of memory. Release with free().
 */
static char *text_of(const struct runner *runner, yyjson_val *value) {
    static const char *const marks[] = {"${cases}", "${work}"};
    const char *const folders[] = {runner->cases_dir, runner->work};
    char *text = value == NULL ? strdup("{}") : yyjson_val_write(value, 0, NULL);
    for (size_t i = 0; text != NULL && i < ARRAY_LENGTH(marks); i++) {
        CLEANUP(freep) char *before = text;
        struct buf after = BUF_INIT;
        const char *rest = before;
        for (const char *at; (at = strstr(rest, marks[i])) != NULL; rest = at + strlen(marks[i])) {
            buf_add(&after, rest, (size_t)(at - rest));
            buf_add_text(&after, folders[i]);
        }
        buf_add_text(&after, rest);
        text = buf_steal(&after);
    }
    return text;
}

static bool write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    if (file == NULL) {
        return false;
    }
    bool written = fputs(text, file) >= 0;
    return fclose(file) == 0 && written;
}

static const char *run_case(const struct runner *runner, yyjson_val *test, struct outcome *ret) {
    yyjson_val *own_config = yyjson_obj_get(test, "config");
    yyjson_val *used_config = own_config != NULL ? own_config : runner->config;
    CLEANUP(freep) char *tool = strdup(yyjson_get_str(yyjson_obj_get(test, "tool")));
    CLEANUP(freep) char *arguments = text_of(runner, yyjson_obj_get(test, "arguments"));
    CLEANUP(freep) char *config = text_of(runner, used_config);
    CLEANUP(freep) char *config_path = NULL;
    if (tool == NULL || arguments == NULL || config == NULL ||
        asprintf(&config_path, "%s/config.json", runner->home) < 0) {
        return "out of memory";
    }
    if (!write_file(config_path, config)) {
        return "cannot write the configuration";
    }
    char *argv[] = {(char *)(uintptr_t)runner->toolrack,
                    (char *)(uintptr_t) "--config",
                    config_path,
                    (char *)(uintptr_t) "--plugins",
                    (char *)(uintptr_t)runner->plugin_dir,
                    (char *)(uintptr_t) "call",
                    tool,
                    arguments,
                    (char *)(uintptr_t) "--json",
                    yyjson_get_bool(yyjson_obj_get(test, "confirmed")) ? (char *)(uintptr_t) "--yes"
                                                                       : NULL,
                    NULL};
    size_t skip = 0;
    if (used_config == NULL) {
        skip = 2; /* no --config: the case is about the defaults */
        argv[2] = argv[0];
    }
    CLEANUP(freep) char *expected = text_of(runner, test);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = expected != NULL ? yyjson_read(expected, strlen(expected), 0) : NULL;
    const char *wrong = doc == NULL                 ? "out of memory"
                        : run_cli(argv + skip, ret) ? judge(yyjson_doc_get_root(doc), ret)
                                                    : "cannot run the command";
    (void)unlink(config_path);
    return wrong;
}

static void report(struct runner *runner, yyjson_val *test) {
    runner->count++;
    const char *about = yyjson_get_str(yyjson_obj_get(test, "about"));
    const char *tool = yyjson_get_str(yyjson_obj_get(test, "tool"));
    struct outcome outcome = {.output = BUF_INIT, .exit_code = -1};
    const char *wrong = tool == NULL ? "the case names no tool" : run_case(runner, test, &outcome);
    printf("%sok %u - %s: %s\n", wrong == NULL ? "" : "not ", runner->count,
           tool == NULL ? "?" : tool, about == NULL ? "" : about);
    if (wrong != NULL) {
        CLEANUP(freep) char *text = yyjson_val_write(test, 0, NULL);
        printf("# %s (exit code %d)\n# case: %s\n# output: %s\n", wrong, outcome.exit_code,
               text == NULL ? "" : text, outcome.output.data == NULL ? "" : outcome.output.data);
        runner->failed++;
    }
    (void)fflush(stdout);
    buf_finish(&outcome.output);
}

/* An example as a case: of one that any result will do for, whatever object it gives. */
static void report_example(struct runner *runner, yyjson_val *tool, yyjson_val *example) {
    yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_val_mut_copy(made, example);
    yyjson_mut_doc_set_root(made, root);
    bool any = yyjson_obj_get(example, "result") == NULL;
    (void)(yyjson_mut_obj_add_str(made, root, "about", "an example of its own") &&
           yyjson_mut_obj_add_str(made, root, "tool", yyjson_get_str(tool)) &&
           (!any || yyjson_mut_obj_add_null(made, root, "matches")));
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_mut_doc_imut_copy(made, NULL);
    yyjson_mut_doc_free(made);
    report(runner, yyjson_doc_get_root(doc));
}

static void report_examples(struct runner *runner, yyjson_val *tool) {
    const char *argv[] = {
            runner->toolrack, "--plugins", runner->plugin_dir, "show", yyjson_get_str(tool),
            "--json",         NULL};
    struct outcome outcome = {.output = BUF_INIT, .exit_code = -1};
    (void)run_cli((char *const *)(uintptr_t)argv, &outcome);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = outcome.output.length == 0
                              ? NULL
                              : yyjson_read(outcome.output.data, outcome.output.length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *examples = yyjson_obj_get(root, "examples");
    bool is_pure = yyjson_arr_size(yyjson_ptr_get(root, "/isolation/capabilities")) == 0;
    size_t i;
    size_t count;
    yyjson_val *example;
    yyjson_arr_foreach (examples, i, count, example) {
        report_example(runner, tool, example);
    }
    if (yyjson_arr_size(examples) == 0 && is_pure) {
        printf("not ok %u - %s: has an example\n", ++runner->count, yyjson_get_str(tool));
        runner->failed++;
    }
    buf_finish(&outcome.output);
}

/* Whether the tool of a case is that of one before it. */
static bool seen_before(yyjson_val *cases, size_t index, yyjson_val *tool) {
    for (size_t i = 0; i < index; i++) {
        if (yyjson_equals(yyjson_obj_get(yyjson_arr_get(cases, i), "tool"), tool)) {
            return true;
        }
    }
    return false;
}

/* A folder of our own for configuration and state; none of the user's settings apply. */
static bool prepare_home(struct runner *runner) {
    (void)snprintf(runner->home, sizeof runner->home, "/tmp/toolrack-cases-XXXXXX");
    if (mkdtemp(runner->home) == NULL) {
        return false;
    }
    (void)snprintf(runner->work, sizeof runner->work, "%s/work", runner->home);
    /* The private folders of plugins are not in the state folder, of which nothing is granted. */
    char data[sizeof runner->work];
    (void)snprintf(data, sizeof data, "%s/data", runner->home);
    return mkdir(runner->work, 0700) == 0 && setenv("HOME", runner->home, 1) == 0 &&
           setenv("XDG_CONFIG_HOME", runner->home, 1) == 0 &&
           setenv("XDG_STATE_HOME", runner->home, 1) == 0 &&
           setenv("XDG_CACHE_HOME", runner->home, 1) == 0 &&
           setenv("XDG_DATA_HOME", data, 1) == 0 && setenv("XDG_RUNTIME_DIR", runner->home, 1) == 0;
}

/* What the CLI leaves behind is a tree of unknown shape, and rm knows trees. */
static void remove_home(const struct runner *runner) {
    char *argv[] = {(char *)(uintptr_t) "rm", (char *)(uintptr_t) "-rf", (char *)(uintptr_t) "--",
                    (char *)(uintptr_t)runner->home, NULL};
    pid_t pid;
    if (posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0) {
        (void)waitpid(pid, NULL, 0);
    }
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fprintf(stderr, "usage: run-cases TOOLRACK PLUGIN_DIR cases.json\n");
        return 2;
    }
    yyjson_read_err err;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_file(argv[3], YYJSON_READ_ALLOW_COMMENTS, NULL, &err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *cases = yyjson_is_obj(root) ? yyjson_obj_get(root, "cases") : root;
    if (!yyjson_is_arr(cases)) {
        printf("Bail out! %s: %s\n", argv[3], doc == NULL ? err.msg : "has no array of cases");
        return 1;
    }
    struct runner runner = {.toolrack = argv[1],
                            .plugin_dir = argv[2],
                            .config = yyjson_obj_get(root, "config")};
    CLEANUP(freep) char *path = realpath(argv[3], NULL);
    char *slash = path == NULL ? NULL : strrchr(path, '/');
    if (slash == NULL || !prepare_home(&runner)) {
        printf("Bail out! %s\n", strerror(errno));
        return 1;
    }
    *slash = '\0';
    runner.cases_dir = path;
    size_t i;
    size_t count;
    yyjson_val *test;
    yyjson_arr_foreach (cases, i, count, test) {
        report(&runner, test);
        yyjson_val *tool = yyjson_obj_get(test, "tool");
        if (yyjson_is_str(tool) && !seen_before(cases, i, tool)) {
            report_examples(&runner, tool);
        }
    }
    printf("1..%u\n", runner.count);
    remove_home(&runner);
    return runner.failed == 0 ? 0 : 1;
}
