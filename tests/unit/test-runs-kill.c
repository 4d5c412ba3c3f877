/* A process that runs a plan is killed before, inside and after a commit of the journal, and inside
 * of a call; the run goes on in another one. Each call leaves a line outside the store: a tool that
 * is idempotent may leave two, the others one, unless a person says that it may be called again. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "patience.h"
#include "rounds.h"
#include "store/database.h"
#include "store/runs.h"
#include "toolrack/plan.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)
CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* ------------------------------------------------------------------ where a process is killed */

enum point {
    BEFORE_COMMIT, /* nothing of it is written */
    INSIDE_COMMIT, /* all rows are written, and not committed */
    AFTER_COMMIT,
    BEFORE_EFFECT, /* in the call of a tool */
    AFTER_EFFECT,
    POINTS
};
static const char *const point_names[POINTS] = {"before a commit", "inside a commit",
                                                "after a commit", "before an effect",
                                                "after an effect"};

/* In the child. */
static enum point wanted = POINTS;
static atomic_int left; /* how often the point is passed before */
static _Thread_local bool committing;
static unsigned commits;

static void pass(enum point point) {
    if (point == wanted && atomic_fetch_sub(&left, 1) == 0) {
        (void)kill(getpid(), SIGKILL);
    }
}

int __real_database_end(struct store *store, int code, struct toolrack_error *err);
int __wrap_database_end(struct store *store, int code, struct toolrack_error *err);

int __wrap_database_end(struct store *store, int code, struct toolrack_error *err) {
    if (committing) {
        pass(INSIDE_COMMIT);
    }
    return __real_database_end(store, code, err);
}

int __real_store_run_add(struct store *store, const struct store_run *run,
                         const struct store_run_node *nodes, size_t count,
                         const struct store_runs_others *others, struct toolrack_error *err);
int __wrap_store_run_add(struct store *store, const struct store_run *run,
                         const struct store_run_node *nodes, size_t count,
                         const struct store_runs_others *others, struct toolrack_error *err);

int __wrap_store_run_add(struct store *store, const struct store_run *run,
                         const struct store_run_node *nodes, size_t count,
                         const struct store_runs_others *others, struct toolrack_error *err) {
    commits++;
    pass(BEFORE_COMMIT);
    committing = true;
    int code = __real_store_run_add(store, run, nodes, count, others, err);
    committing = false;
    pass(AFTER_COMMIT);
    return code;
}

int __real_store_run_commit(struct store *store, const struct store_run *run,
                            const struct store_run_node *nodes, size_t count,
                            const struct store_runs_others *others, struct toolrack_error *err);
int __wrap_store_run_commit(struct store *store, const struct store_run *run,
                            const struct store_run_node *nodes, size_t count,
                            const struct store_runs_others *others, struct toolrack_error *err);

int __wrap_store_run_commit(struct store *store, const struct store_run *run,
                            const struct store_run_node *nodes, size_t count,
                            const struct store_runs_others *others, struct toolrack_error *err) {
    commits++;
    pass(BEFORE_COMMIT);
    committing = true;
    int code = __real_store_run_commit(store, run, nodes, count, others, err);
    committing = false;
    pass(AFTER_COMMIT);
    return code;
}

/* ---------------------------------------------------------------------------------- what runs */

static char dir[64];
static char effects_path[96];
static struct toolrack_error err;

/* The line is in the file when this returns, and stays when the process is killed. */
static void leave(const char *what, const char *node) {
    char line[64];
    int length = snprintf(line, sizeof line, "%s %s\n", what, node);
    int fd = open(effects_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, line, (size_t)length) != length) {
        abort();
    }
    (void)close(fd);
}

static tr_status act(struct tr_call *call) {
    pass(BEFORE_EFFECT);
    leave("ran", tr_get_string(call, "id", ""));
    pass(AFTER_EFFECT);
    return tr_reply_json(call, tr_arguments(call));
}

static tr_status again(struct tr_call *call) {
    return act(call);
}
TR_JSON_TOOL(again, ("What may be done again", .flags = TR_IDEMPOTENT),
             TR_SCHEMA({"type" : "object"}))
static tr_status once(struct tr_call *call) {
    return act(call);
}
TR_JSON_TOOL(once, ("What is done once"), TR_SCHEMA({"type" : "object"}))
TR_PLUGIN(("kills", .flags = TR_THREAD_SAFE), "1.0.0", again, once)

/* Two at once, of each kind some, with chains and a join. */
static const char plan_text[] =
        "{\"name\": \"killed\", \"parallel\": 2, \"nodes\": ["
        "{\"id\": \"a\", \"tool\": \"again\", \"arguments\": {\"id\": \"a\"}},"
        "{\"id\": \"b\", \"tool\": \"once\", \"arguments\": {\"id\": \"b\"}},"
        "{\"id\": \"c\", \"tool\": \"once\", \"arguments\": {\"id\": \"c\", \"of\": {\"$ref\": "
        "\"#/nodes/a/result/id\"}}},"
        "{\"id\": \"d\", \"tool\": \"again\", \"arguments\": {\"id\": \"d\", \"of\": {\"$ref\": "
        "\"#/nodes/b/result/id\"}}},"
        "{\"id\": \"e\", \"tool\": \"again\", \"arguments\": {\"id\": \"e\"}, \"depends_on\": "
        "[\"c\"]},"
        "{\"id\": \"f\", \"tool\": \"once\", \"arguments\": {\"id\": \"f\"}, \"depends_on\": "
        "[\"d\"]},"
        "{\"id\": \"g\", \"tool\": \"again\", \"arguments\": {\"id\": \"g\"}, \"depends_on\": "
        "[\"e\", \"f\"]},"
        "{\"id\": \"h\", \"tool\": \"once\", \"arguments\": {\"id\": \"h\"}, \"depends_on\": "
        "[\"e\", \"f\"]},"
        "{\"id\": \"i\", \"tool\": \"again\", \"arguments\": {\"id\": \"i\"}, \"depends_on\": "
        "[\"g\", \"h\"]},"
        "{\"id\": \"j\", \"tool\": \"once\", \"arguments\": {\"id\": \"j\"}, \"depends_on\": "
        "[\"i\"]}]}";
#define NODES "abcdefghij"
static bool is_idempotent(char node) {
    return strchr("adegi", node) != NULL;
}

/* A commit for each end of a node, of which at most two are together, and one before. */
#define COMMITS_MIN 6
#define CALLS_MIN   10

static int open_host(struct toolrack **ret) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = dir;
    options.no_scan = true;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    options.brief = 1;
    int code = toolrack_open(&options, ret, &err);
    return code == 0 ? toolrack_register(*ret, &toolrack_plugin, NULL, &err) : code;
}

static int run_plan(struct toolrack_plan *plan) {
    struct toolrack_text *result = NULL;
    int code = toolrack_plan_run(plan, NULL, &result, &err);
    toolrack_text_unref(result);
    return code;
}

static int begin(struct toolrack *host) {
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = NULL;
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    int code = toolrack_plan_open(host, plan_text, strlen(plan_text), &findings, &plan, &err);
    return code < 0 ? code : plan != NULL ? run_plan(plan) : TOOLRACK_E_INVALID;
}

/* The words for the nodes that need one; each is left beside the effects. */
static size_t find_words(yyjson_val *run, enum toolrack_run_word word,
                         struct toolrack_run_said *ret) {
    size_t at;
    size_t count;
    size_t said = 0;
    yyjson_val *node;
    yyjson_arr_foreach (yyjson_obj_get(run, "nodes"), at, count, node) {
        const char *id = yyjson_get_str(yyjson_obj_get(node, "id"));
        if (yyjson_equals_str(yyjson_obj_get(node, "word"), "needed")) {
            leave(word == TOOLRACK_RUN_REPEAT ? "repeat" : "skip", id);
            ret[said++] = (struct toolrack_run_said){id, word};
        }
    }
    return said;
}

static int go_on(struct toolrack *host, const char *id, enum toolrack_run_word word) {
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    struct toolrack_run_said said[sizeof NODES];
    int code = toolrack_run_reopen(host, NULL, id, NULL, 0, &plan, &err);
    if (code != 0 && code != TOOLRACK_E_INPUT_REQUIRED) {
        return code;
    }
    bool asked = code != 0;
    code = toolrack_run_get(host, NULL, id, &text, &err);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = code == 0 ? yyjson_read(toolrack_text_data(text, NULL),
                                              strlen(toolrack_text_data(text, NULL)), 0)
                                : NULL;
    if (asked) {
        size_t count = find_words(yyjson_doc_get_root(doc), word, said);
        code = count > 0 ? toolrack_run_reopen(host, NULL, id, said, count, &plan, &err)
                         : TOOLRACK_E_INVALID;
    }
    return code < 0 ? code : run_plan(plan);
}

/* Go on with the newest run, or begin one if it is not there. @return 0: it has succeeded */
static int finish(struct toolrack *host, enum toolrack_run_word word) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    int code = toolrack_runs(host, NULL, &text, &err);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = code == 0 ? yyjson_read(toolrack_text_data(text, NULL),
                                              strlen(toolrack_text_data(text, NULL)), 0)
                                : NULL;
    yyjson_val *run = yyjson_arr_get_first(yyjson_doc_get_root(doc));
    const char *state = yyjson_get_str(yyjson_obj_get(run, "state"));
    if (run == NULL) {
        leave("new", "-");
        return begin(host);
    }
    if (strcmp(state, "interrupted") == 0) {
        return go_on(host, yyjson_get_str(yyjson_obj_get(run, "id")), word);
    }
    return strcmp(state, "succeeded") == 0 ? 0 : TOOLRACK_E_INVALID;
}

static void remove_old(struct toolrack *host) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    int code = toolrack_runs(host, NULL, &text, &err);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = code == 0 ? yyjson_read(toolrack_text_data(text, NULL),
                                              strlen(toolrack_text_data(text, NULL)), 0)
                                : NULL;
    size_t at;
    size_t count;
    yyjson_val *run;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, run) {
        (void)toolrack_run_remove(host, NULL, yyjson_get_str(yyjson_obj_get(run, "id")), &err);
    }
}

/* Run in a child. @param word  < 0: begin, and be killed at the point. @return as waitpid() */
static int run_child(enum point point, int passes, int word) {
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct toolrack *host = NULL;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        int code = open_host(&host);
        if (code == 0 && word < 0) {
            remove_old(host);
            wanted = point;
            left = passes;
        }
        code = code < 0 ? code : word < 0 ? begin(host) : finish(host, (unsigned)word);
        if (code < 0) {
            (void)fprintf(stderr, "%s\n", err.message);
        }
        toolrack_close(host);
        _exit(code == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/* ------------------------------------------------------------------------------------ judging */

struct effects {
    unsigned ran[sizeof NODES];
    bool repeated[sizeof NODES];
    bool skipped[sizeof NODES];
    bool is_new;
};

static void read_effects(struct effects *ret) {
    char what[16];
    char node;
    *ret = (struct effects){0};
    FILE *file = fopen(effects_path, "r");
    while (file != NULL && fscanf(file, "%15s %c", what, &node) == 2) {
        const char *at = strchr(NODES, node);
        size_t i = at != NULL ? (size_t)(at - NODES) : 0;
        ret->is_new = ret->is_new || strcmp(what, "new") == 0;
        ret->ran[i] += strcmp(what, "ran") == 0;
        ret->repeated[i] = ret->repeated[i] || strcmp(what, "repeat") == 0;
        ret->skipped[i] = ret->skipped[i] || strcmp(what, "skip") == 0;
    }
    if (file != NULL) {
        (void)fclose(file);
    }
}

static void judge(const struct effects *effects, enum point point, int passes) {
    bool is_any_skipped = memchr(effects->skipped, true, sizeof effects->skipped) != NULL;
    for (size_t i = 0; NODES[i] != '\0'; i++) {
        bool may_repeat = is_idempotent(NODES[i]) || effects->repeated[i];
        unsigned most = may_repeat ? 2 : 1;
        unsigned least = is_any_skipped ? 0 : 1;
        if (effects->ran[i] > most || effects->ran[i] < least) {
            fail_msg("%s, passed %d times: node %c ran %u times, from %u to %u are right",
                     point_names[point], passes, NODES[i], effects->ran[i], least, most);
        }
        assert_false(is_idempotent(NODES[i]) && (effects->repeated[i] || effects->skipped[i]));
    }
}

static void what_has_ended_is_not_repeated(void **state) {
    const unsigned kills = test_rounds(200, 30);
    unsigned hit[POINTS] = {0};
    unsigned words = 0;
    unsigned begun_again = 0;
    (void)state;
    for (unsigned i = 0; i < kills; i++) {
        enum point point = (enum point)(i % POINTS);
        int passes = (int)(i / POINTS) % (point < BEFORE_EFFECT ? COMMITS_MIN : CALLS_MIN);
        enum toolrack_run_word word = i / POINTS % 2 == 0 ? TOOLRACK_RUN_REPEAT : TOOLRACK_RUN_SKIP;
        struct effects effects;
        (void)unlink(effects_path);
        int status = run_child(point, passes, -1);
        if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL) {
            fail_msg("%s, passed %d times: not killed: status %d", point_names[point], passes,
                     status);
        }
        hit[point]++;
        assert_int_equal(run_child(POINTS, 0, (int)word), 0);
        read_effects(&effects);
        judge(&effects, point, passes);
        begun_again += effects.is_new;
        words += memchr(effects.repeated, true, sizeof effects.repeated) != NULL ||
                 memchr(effects.skipped, true, sizeof effects.skipped) != NULL;
    }
    for (unsigned i = 0; i < POINTS; i++) {
        assert_true(hit[i] > 0);
        print_message("# %u times %s\n", hit[i], point_names[i]);
    }
    assert_true(words > 0 && begun_again > 0 && begun_again < kills);
    print_message("# %u kills: %u runs went on with a word, %u had not begun\n", kills, words,
                  begun_again);
}

/* One when the run begins, with its first nodes, and one for each end of a node. */
static void a_node_costs_one_commit(void **state) {
    struct toolrack *host = NULL;
    (void)state;
    assert_int_equal(open_host(&host), 0);
    commits = 0;
    assert_int_equal(begin(host), 0);
    toolrack_close(host);
    assert_true(commits >= 1 + (sizeof NODES - 1) / 2 && commits <= sizeof NODES);
}

static int make_folder(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "%s/toolrack-test-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(effects_path, sizeof effects_path, "%s/effects", dir);
    return 0;
}

static int remove_folder(void **state) {
    char command[96];
    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(what_has_ended_is_not_repeated, make_folder,
                                            remove_folder),
            cmocka_unit_test_setup_teardown(a_node_costs_one_commit, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
