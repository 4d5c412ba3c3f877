/* Runs of plans that are kept, and runs on threads of their own.
 *
 * The lock of `struct runs` is taken before that of a plan, and after that of the store. */
#include "api/plan-parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "api/plan-tool.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/linked.h"
#include "base/object.h"
#include "base/thread.h"
#include "plan/check.h"
#include "registry/document.h"

CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

_Static_assert(STORE_RUN_ID_SIZE == TOOLRACK_RUN_ID_ROOM &&
                       STORE_RUNS_ENDED_MAX == TOOLRACK_RUNS_KEPT &&
                       STORE_RUNS_OPEN_MAX == TOOLRACK_RUNS_OPEN_MAX &&
                       STORE_RUNS_OPEN_PARTY_MAX == TOOLRACK_RUNS_OPEN_PARTY_MAX &&
                       STORE_RUNS_BYTES_MAX == TOOLRACK_RUNS_BYTES_MAX &&
                       STORE_RUNS_BYTES_PARTY_MAX == TOOLRACK_RUNS_BYTES_PARTY_MAX &&
                       STORE_RUN_RESULT_MAX == TOOLRACK_RUN_RESULT_MAX,
               "the limits of the API are those of the store");

/* ------------------------------------------------------------------------ which runs there are */

void runs_init(struct runs *runs) {
    *runs = (struct runs){0};
    lock_init(&runs->lock);
    plan_memory_init(&runs->memory);
    (void)pthread_cond_init(&runs->ended, NULL);
}

void runs_finish(struct runs *runs) {
    (void)pthread_cond_destroy(&runs->ended);
    plan_memory_finish(&runs->memory);
    lock_finish(&runs->lock);
}

static struct toolrack_plan *find(const struct runs *runs, const char *id) {
    struct toolrack_plan *at = runs->at;
    while (at != NULL && strcmp(at->id, id) != 0) {
        at = at->next;
    }
    return at;
}

bool runs_add(struct runs *runs, struct toolrack_plan *plan) {
    LOCK_SCOPE(&runs->lock);
    if (find(runs, plan->id) != NULL) {
        return false;
    }
    plan->next = runs->at;
    runs->at = plan;
    return true;
}

void runs_remove(struct runs *runs, struct toolrack_plan *plan) {
    LOCK_SCOPE(&runs->lock);
    for (struct toolrack_plan **at = &runs->at; *at != NULL; at = &(*at)->next) {
        if (*at == plan) {
            *at = plan->next;
            return;
        }
    }
}

void runs_begin(struct runs *runs, struct toolrack_plan *plan) {
    LOCK_SCOPE(&runs->lock);
    plan->reopened = false;
}

void runs_count_begin(struct runs *runs) {
    LOCK_SCOPE(&runs->lock);
    runs->running++;
}

void runs_count_end(struct runs *runs, enum store_run_state state) {
    LOCK_SCOPE(&runs->lock);
    runs->running--;
    runs->over[state]++;
}

bool runs_are_closing(struct runs *runs) {
    LOCK_SCOPE(&runs->lock);
    return runs->closing;
}

void runs_stop(struct runs *runs) {
    LOCK_SCOPE(&runs->lock);
    runs->closing = true;
    for (struct toolrack_plan *at = runs->at; at != NULL; at = at->next) {
        toolrack_plan_cancel(at);
    }
    while (runs->started != NULL) {
        lock_wait(&runs->lock, &runs->ended);
    }
}

/* Whether a runner runs a run: this host knows its own. */
static bool lives(void *user, const char *id, const char *runner) {
    struct toolrack *host = user;
    char own[RUNNER_NAME_ROOM];
    struct toolrack_error unheard;
    if (runner_begin(host->runner, own, &unheard) == 0 && strcmp(own, runner) == 0) {
        LOCK_SCOPE(&host->runs.lock);
        return find(&host->runs, id) != NULL;
    }
    return runner_lives(host->runner, runner);
}

static void tell_removed(void *user, const char *id) {
    const struct toolrack *host = user;
    log_line(&host->log, LOG_WARNING, "store",
             "run %s, which was interrupted, is removed, as the oldest one: other runs need the "
             "room",
             id);
}

struct store_runs_others runs_others(struct toolrack *host) {
    return (struct store_runs_others){.lives = lives, .removed = tell_removed, .user = host};
}

/* ---------------------------------------------------------------------------------------- JSON */

static const char *const node_states[] = {"waiting", "running", "succeeded",
                                          "failed",  "skipped", "cancelled"};

/* Whether nobody runs a run as it was read. It may have ended since: what is read after that is
 * how it is, and if that still says RUNNING, it is interrupted. */
static bool is_left(struct toolrack *host, const struct store_run *run) {
    return run->state == STORE_RUN_RUNNING &&
           (run->runner[0] == '\0' || !lives(host, run->id, run->runner));
}

/* @param was_left  before it was read */
static const char *state_of(const struct store_run *run, bool was_left) {
    static const char *const states[] = {"running", "waiting", "succeeded", "failed", "cancelled"};
    return run->state == STORE_RUN_RUNNING && was_left ? "interrupted" : states[run->state];
}

static void add_time(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *key, int64_t time_ms) {
    if (time_ms > 0) {
        (void)yyjson_mut_obj_add_sint(doc, row, key, time_ms);
    } else {
        (void)yyjson_mut_obj_add_null(doc, row, key);
    }
}

static void add_run(yyjson_mut_doc *doc, yyjson_mut_val *row, const struct store_run *run,
                    bool was_left) {
    uint32_t rest = run->node_count;
    document_add_text(doc, row, "id", run->id);
    document_add_text(doc, row, "name", run->name);
    document_add_text(doc, row, "state", state_of(run, was_left));
    document_add_text(doc, row, "owner", run->owner);
    document_add_text(doc, row, "caller", run->caller);
    document_add_text(doc, row, "channel", run->channel);
    add_time(doc, row, "created_ms", run->created_ms);
    add_time(doc, row, "updated_ms", run->updated_ms);
    add_time(doc, row, "ended_ms", run->ended_ms);
    (void)yyjson_mut_obj_add_uint(doc, row, "nodes", run->node_count);
    for (size_t i = STORE_NODE_RUNNING; i < STORE_NODE_STATES; i++) {
        (void)yyjson_mut_obj_add_uint(doc, row, node_states[i], run->counts[i]);
        rest -= run->counts[i] < rest ? run->counts[i] : rest;
    }
    (void)yyjson_mut_obj_add_uint(doc, row, "waiting", rest);
    document_add_text(doc, row, "error", run->error);
}

struct listing {
    struct toolrack *host;
    struct buf left; /* the ids of those that nobody runs, each with its zero */
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static void note_left(void *user, const struct store_run *run) {
    struct listing *listing = user;
    if (is_left(listing->host, run)) {
        buf_add(&listing->left, run->id, strlen(run->id) + 1);
    }
}

static void add_row(void *user, const struct store_run *run) {
    const struct listing *listing = user;
    const char *at = listing->left.data;
    const char *end = at != NULL ? at + listing->left.length : NULL;
    while (at < end && strcmp(at, run->id) != 0) {
        at += strlen(at) + 1;
    }
    add_run(listing->doc, yyjson_mut_arr_add_obj(listing->doc, listing->list), run, at < end);
}

int toolrack_runs(struct toolrack *host, const char *owner, struct toolrack_text **ret,
                  struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct listing listing = {.host = host};
    listing.doc = document_begin_list(&listing.list);
    int code = store_runs_read(host->store, owner, note_left, &listing, err);
    code = code == 0 && listing.left.failed ? error_oom(err) : code;
    code = code == 0 ? store_runs_read(host->store, owner, add_row, &listing, err) : code;
    buf_finish(&listing.left);
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}

static void add_json(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *key, const char *json) {
    (void)yyjson_mut_obj_add_val(
            doc, row, key, json != NULL ? yyjson_mut_rawcpy(doc, json) : yyjson_mut_null(doc));
}

/* What is kept of the tools of nodes. */
struct kept_tools {
    yyjson_val **list;
    size_t count;
    yyjson_arr_iter indices; /* in the list, of the nodes that come next */
    yyjson_arr_iter nodes;   /* of the plan */
};

static void add_error(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *key, int code,
                      const char *message) {
    yyjson_mut_val *error = yyjson_mut_obj_add_obj(doc, row, key);
    document_add_text(doc, error, "code", toolrack_code_name(code));
    document_add_text(doc, error, "message", message);
}

/* Longer than any name with its version. */
#define SELECTOR_ROOM 512u

/* Whether a tool as it was pinned is idempotent; a tool that is gone is not known to be. */
static bool is_idempotent(struct toolrack *host, const char *tool, const char *version) {
    char selector[SELECTOR_ROOM];
    (void)snprintf(selector, sizeof selector, "%s@%s", tool != NULL ? tool : "",
                   version != NULL ? version : "");
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *found = registry_get(host->registry, selector);
    return found != NULL && (toolrack_tool_idempotent(found) || toolrack_tool_read_only(found));
}

/* @return whether it needs a word */
static bool add_node(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *row,
                     struct kept_tools *tools, const struct store_run_node *node,
                     bool is_interrupted, const char **ret_id) {
    yyjson_val *tool =
            journal_tool(tools->list, tools->count, yyjson_arr_iter_next(&tools->indices));
    const char *name = yyjson_get_str(yyjson_obj_get(tool, "tool"));
    const char *version = yyjson_get_str(yyjson_obj_get(tool, "version"));
    bool idempotent = is_idempotent(host, name, version);
    bool needs_word = is_interrupted && node->state == STORE_NODE_RUNNING && !idempotent;
    *ret_id = yyjson_get_str(yyjson_obj_get(yyjson_arr_iter_next(&tools->nodes), "id"));
    document_add_text(doc, row, "id", *ret_id);
    document_add_text(doc, row, "tool", name);
    document_add_text(doc, row, "version", version);
    document_add_text(doc, row, "state", node_states[node->state]);
    (void)yyjson_mut_obj_add_uint(doc, row, "attempts", node->attempts);
    add_time(doc, row, "began_ms", node->began_ms);
    add_time(doc, row, "ended_ms", node->ended_ms);
    (void)yyjson_mut_obj_add_bool(doc, row, "idempotent", idempotent);
    document_add_text(doc, row, "word", needs_word ? "needed" : NULL);
    if (node->result != NULL) {
        add_json(doc, row, "result", node->result);
    }
    if (node->unkept != NULL) {
        document_add_text(doc, row, "unkept", node->unkept);
    }
    if (node->error != NULL) {
        add_error(doc, row, node->state == STORE_NODE_SUCCEEDED ? "fallback" : "error", node->code,
                  node->error);
    }
    return needs_word;
}

/* The commands that let a run go on. @return false: no memory */
static bool add_commands(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *id,
                         const char *const *nodes, size_t count) {
    static const char *const words[] = {"--repeat", "--skip"};
    for (size_t way = 0; way < (count > 0 ? ARRAY_LENGTH(words) : 1); way++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        buf_printf(&text, "%s", COMMAND("run --resume", id));
        for (size_t i = 0; i < count; i++) {
            buf_printf(&text, " %s %s", words[way], nodes[i]);
        }
        if (text.failed) {
            return false;
        }
        (void)yyjson_mut_arr_add_strncpy(doc, list, text.data, text.length);
    }
    return true;
}

/* Parse what was kept; NULL is left where that is damaged. @return false: no memory */
static bool read_kept(const char *text, yyjson_doc **ret) {
    yyjson_read_err why = {0};
    *ret = yyjson_read_opts((char *)(uintptr_t)text, strlen(text), YYJSON_READ_BIGNUM_AS_RAW, NULL,
                            &why);
    return *ret != NULL || why.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION;
}

/* @return false: no memory */
static bool describe(struct toolrack *host, const struct journal_kept *kept, bool was_left,
                     yyjson_mut_doc *doc, yyjson_mut_val *root) {
    const struct store_run *run = &kept->run;
    CLEANUP(yyjson_doc_freep) yyjson_doc *pinned = NULL;
    CLEANUP(yyjson_doc_freep) yyjson_doc *plan = NULL;
    CLEANUP(freep) const char **silent = calloc(kept->count + 1, sizeof(*silent));
    if (silent == NULL || !read_kept(run->tools, &pinned) || !read_kept(run->plan, &plan)) {
        return false;
    }
    yyjson_val *kept_of_tools = yyjson_doc_get_root(pinned);
    struct kept_tools tools = {
            .indices = yyjson_arr_iter_with(yyjson_obj_get(kept_of_tools, "nodes")),
            .nodes = yyjson_arr_iter_with(yyjson_obj_get(yyjson_doc_get_root(plan), "nodes"))};
    CLEANUP(freep) yyjson_val **list = journal_tools(kept_of_tools, &tools.count);
    tools.list = list;
    if (list == NULL) {
        return false;
    }
    bool is_interrupted = run->state == STORE_RUN_RUNNING && was_left;
    bool resumes = is_interrupted || run->state == STORE_RUN_WAITING;
    size_t count = 0;
    add_run(doc, root, run, was_left);
    add_json(doc, root, "result", run->result);
    yyjson_mut_val *commands = yyjson_mut_obj_add_arr(doc, root, "resume");
    add_json(doc, root, "inputs", run->inputs);
    add_json(doc, root, "plan", run->plan);
    (void)yyjson_mut_obj_remove_key(root, "nodes");
    yyjson_mut_val *nodes = yyjson_mut_obj_add_arr(doc, root, "nodes");
    for (size_t i = 0; i < kept->count; i++) {
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, nodes);
        count += add_node(host, doc, row, &tools, &kept->nodes[i], resumes, &silent[count]);
    }
    return !resumes || add_commands(doc, commands, run->id, silent, count);
}

int toolrack_run_get(struct toolrack *host, const char *owner, const char *id,
                     struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(journal_kept_finish) struct journal_kept kept;
    int code = journal_read(host->store, owner, id, &kept, err);
    bool was_left = code == 0 && is_left(host, &kept.run);
    if (was_left) {
        journal_kept_finish(&kept);
        code = journal_read(host->store, owner, id, &kept, err);
    }
    code = code == 0 ? journal_check(&kept, err) : code;
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    if (!describe(host, &kept, was_left, doc, root)) {
        yyjson_mut_doc_free(doc);
        return error_oom(err);
    }
    return document_end(doc, ret, err);
}

/* ------------------------------------------------------------------------------ cancel, remove */

static bool cancel_own(struct runs *runs, const char *owner, const char *id) {
    LOCK_SCOPE(&runs->lock);
    struct toolrack_plan *plan = find(runs, id);
    if (plan == NULL || plan->reopened ||
        (owner != NULL && (plan->owner == NULL || strcmp(plan->owner, owner) != 0))) {
        return false;
    }
    toolrack_plan_cancel(plan);
    return true;
}

static int check_owner(struct toolrack *host, const char *owner, const char *id, bool *ret_ended,
                       struct toolrack_error *err) {
    CLEANUP(journal_kept_finish) struct journal_kept kept;
    int code = journal_read(host->store, owner, id, &kept, err);
    *ret_ended = code == 0 && kept.run.state >= STORE_RUN_SUCCEEDED;
    return code;
}

int toolrack_run_cancel(struct toolrack *host, const char *owner, const char *id,
                        struct toolrack_error *err) {
    HOST_SCOPE(host);
    /* One that has ended may be among those that run here for another moment. */
    bool has_ended;
    int code = check_owner(host, owner, id, &has_ended, err);
    if (!has_ended && cancel_own(&host->runs, owner, id)) {
        return 0;
    }
    return code < 0 ? code : store_run_cancel(host->store, id, clock_wall_ms(), lives, host, err);
}

int toolrack_run_remove(struct toolrack *host, const char *owner, const char *id,
                        struct toolrack_error *err) {
    HOST_SCOPE(host);
    bool has_ended;
    int code = check_owner(host, owner, id, &has_ended, err);
    return code < 0 ? code : store_run_remove(host->store, id, lives, host, err);
}

/* -------------------------------------------------------------------------------------- reopen */

void runs_release(struct toolrack_plan *plan) {
    char runner[RUNNER_NAME_ROOM];
    struct toolrack_error err;
    int code = runner_begin(plan->host->runner, runner, &err);
    if (code == 0) {
        code = store_run_release(plan->host->store, plan->id, runner, &err);
    }
    if (code < 0) {
        log_line(&plan->host->log, LOG_WARNING, "store",
                 "run %s is given back when this process ends: %s", plan->id, err.message);
    }
    runs_remove(&plan->host->runs, plan);
    plan->reopened = false;
}

/* Whether another host runs a run that this one takes, and so knows as its own. */
static bool lives_elsewhere(void *user, const char *id, const char *runner) {
    struct toolrack *host = user;
    char own[RUNNER_NAME_ROOM];
    struct toolrack_error unheard;
    bool is_own = runner_begin(host->runner, own, &unheard) == 0 && strcmp(own, runner) == 0;
    (void)id;
    return !is_own && runner_lives(host->runner, runner);
}

static int take_run(struct toolrack_plan *plan, struct toolrack_error *err) {
    char runner[RUNNER_NAME_ROOM];
    struct toolrack *host = plan->host;
    int code = runner_begin(host->runner, runner, err);
    if (code < 0) {
        return code;
    }
    plan->reopened = true;
    if (!runs_add(&host->runs, plan)) {
        plan->reopened = false;
        return error_set(err, TOOLRACK_E_REFUSED, "run '%.64s' runs, in this process", plan->id);
    }
    code = store_run_take(host->store, plan->id, runner, lives_elsewhere, host, err);
    if (code < 0) {
        plan->reopened = false;
        runs_remove(&host->runs, plan);
    }
    return code;
}

/* The first error of those that were found. */
static int refuse_problems(const struct toolrack_plan *plan, const struct problems *problems,
                           struct toolrack_error *err) {
    for (size_t i = 0; i < problems->count; i++) {
        const struct problem *problem = &problems->items[i];
        if (problem->severity == TOOLRACK_SEVERITY_ERROR) {
            return error_set(err, TOOLRACK_E_REFUSED, "run '%.64s' cannot go on: %s%s%s; %s",
                             plan->id, problem->tool != NULL ? problem->tool : "",
                             problem->tool != NULL ? ": " : "", problem->cause, problem->fix);
        }
    }
    return 0;
}

static bool has_all_tools(const struct toolrack_plan *plan) {
    bool has_all = true;
    for (uint32_t i = 0; i < plan->plan->graph.count; i++) {
        has_all = has_all && plan->tools.tools[i] != NULL &&
                  (plan->plan->nodes[i].fallback_tool == NULL || plan->tools.fallbacks[i] != NULL);
    }
    return has_all;
}

/* The plan of a run that was read, with its tools. */
static int open_again(struct toolrack_plan *plan, struct toolrack_error *err) {
    const char *text = plan->kept.run.plan;
    struct problems problems = {.arena = &plan->kept.arena};
    bool was_masked = false;
    int code = plan_read(text, strlen(text), &problems, &plan->plan, err);
    code = code == 0 ? refuse_problems(plan, &problems, err) : code;
    if (code == 0) {
        code = journal_pin(&plan->kept, plan->plan, plan->host->registry, &was_masked, err);
    }
    if (code == 0) {
        const struct plan_finder finder = {.registry = plan->host->registry};
        code = plan_check(plan->plan, &finder, &problems, &plan->tools, err);
        code = code == 0 ? plan_tools_look_inside(&plan->tools, err) : code;
    }
    return code == 0 && !(was_masked && has_all_tools(plan)) ? refuse_problems(plan, &problems, err)
                                                             : code;
}

static int take_words(const struct toolrack_plan *plan, const struct toolrack_run_said *said,
                      size_t count, unsigned char *ret, struct toolrack_error *err) {
    for (size_t i = 0; i < count; i++) {
        uint32_t node = plan_find_node(plan->plan, said[i].node, strlen(said[i].node));
        if (node == plan->plan->graph.count) {
            return error_set(err, TOOLRACK_E_INVALID, "run '%.64s' has no node '%.128s'", plan->id,
                             said[i].node);
        }
        const enum journal_word word =
                said[i].word == TOOLRACK_RUN_SKIP ? JOURNAL_SKIP : JOURNAL_REPEAT;
        if (ret[node] != 0 && ret[node] != word) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "node '%.64s' cannot be repeated and skipped; say one of them",
                             said[i].node);
        }
        ret[node] = (unsigned char)word;
    }
    return 0;
}

static int go_on(struct toolrack_plan *plan, const struct toolrack_run_said *said, size_t count,
                 struct toolrack_error *err) {
    CLEANUP(freep) unsigned char *words = calloc(plan->plan->graph.count + 1u, 1);
    if (words == NULL) {
        return error_oom(err);
    }
    int code = take_words(plan, said, count, words, err);
    return code < 0 ? code
                    : journal_go_on(&plan->kept, plan->plan, &plan->tools, words, &plan->ago, err);
}

int toolrack_run_reopen(struct toolrack *host, const char *owner, const char *id,
                        const struct toolrack_run_said *said, size_t count,
                        struct toolrack_plan **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        return error_oom(err);
    }
    *plan = (struct toolrack_plan){.magic = PLAN_MAGIC, .host = host};
    lock_init(&plan->lock);
    int code = journal_read(host->store, owner, id, &plan->kept, err);
    if (code == TOOLRACK_E_NOT_FOUND) {
        return error_set(err, code,
                         "there is no run '%.64s'; if there was, it was removed: those that have "
                         "ended, and then those that were interrupted, make room for others, the "
                         "oldest first; see which there are: %s",
                         id, COMMAND("runs"));
    }
    if (code < 0) {
        return code;
    }
    memcpy(plan->id, plan->kept.run.id, strnlen(plan->kept.run.id, sizeof plan->id - 1));
    plan->owner = plan->kept.run.owner;
    code = take_run(plan, err);
    if (code == 0) { /* what another host may have kept meanwhile counts */
        journal_kept_finish(&plan->kept);
        code = journal_read(host->store, owner, id, &plan->kept, err);
        plan->owner = plan->kept.run.owner;
    }
    code = code == 0 ? journal_check(&plan->kept, err) : code;
    code = code == 0 ? open_again(plan, err) : code;
    code = code == 0 ? go_on(plan, said, count, err) : code;
    if (code < 0) {
        return code;
    }
    *ret = STEAL(plan);
    return 0;
}

/* ------------------------------------------------------------------------------------- threads */

/* A run on a thread of its own. */
struct started {
    struct started *next; /* of those of the host; guarded by its lock, as is the next */
    struct started **link;
    struct toolrack_plan *plan;
    struct toolrack_plan_options options;
    struct toolrack_call_options call;
    struct arena arena; /* of the strings of both */
    toolrack_run_ended *ended;
    void *user;
    struct lock lock; /* guards what follows */
    pthread_cond_t changed;
    bool begun; /* then the thread releases it, when the starter has seen that */
    bool seen;
    bool over; /* it could not begin: the starter releases it */
    char id[STORE_RUN_ID_SIZE];
    int code;
    struct toolrack_error *err;
};

static void started_destroy(struct started *started) {
    if (started != NULL) {
        (void)pthread_cond_destroy(&started->changed);
        lock_finish(&started->lock);
        arena_finish(&started->arena);
        toolrack_error_free(started->err);
        free(started);
    }
}

CLEANUP_DEFINE(struct started, started_destroy)

static void tell_begun(void *user) {
    struct started *started = user;
    LOCK_SCOPE(&started->lock);
    started->begun = true;
    memcpy(started->id, started->plan->id, sizeof started->id);
    (void)pthread_cond_signal(&started->changed);
    while (!started->seen) {
        lock_wait(&started->lock, &started->changed);
    }
}

static void leave(struct runs *runs, struct started *started) {
    LOCK_SCOPE(&runs->lock);
    LINKED_REMOVE(started);
    (void)pthread_cond_broadcast(&runs->ended);
}

static void *run_started(void *user) {
    struct started *started = user;
    struct runs *runs = &started->plan->host->runs;
    struct toolrack_text *result = NULL;
    started->code = plan_run_all(started->plan, &started->options, tell_begun, started, &result,
                                 started->err);
    const bool begun = started->begun; /* as this thread has set it */
    if (!begun) {
        leave(runs, started); /* then the starter releases it */
    }
    lock_take(&started->lock);
    started->over = true;
    (void)pthread_cond_signal(&started->changed);
    lock_release(&started->lock);
    if (begun) {
        if (started->ended != NULL) {
            started->ended(started->user, started->id, started->code, result, started->err);
        }
        toolrack_text_unref(result);
        toolrack_plan_close(started->plan);
        leave(runs, started); /* the last use of the host */
        started_destroy(started);
    }
    return NULL;
}

static const char *keep_text(struct started *started, const char *text, bool *ret_failed) {
    const char *kept = text != NULL ? arena_copy(&started->arena, text, strlen(text)) : NULL;
    *ret_failed = *ret_failed || (text != NULL && kept == NULL);
    return kept;
}

/* Copy the options, with their strings. @return false: no memory */
static bool keep_options(struct started *started, const struct toolrack_plan_options *options) {
    bool failed = false;
    started->options = (struct toolrack_plan_options)TOOLRACK_PLAN_OPTIONS_INIT;
    started->call = (struct toolrack_call_options)TOOLRACK_CALL_OPTIONS_INIT;
    if (options != NULL) {
        memcpy(&started->options, options,
               options->size < sizeof *options ? options->size : sizeof *options);
        started->options.size = sizeof started->options;
    }
    const struct toolrack_call_options *call = started->options.call;
    if (call != NULL) {
        memcpy(&started->call, call, call->size < sizeof *call ? call->size : sizeof *call);
        started->call.size = sizeof started->call;
    }
    started->options.call = &started->call;
    const char **const texts[] = {
            &started->options.inputs, &started->options.owner,     &started->call.caller,
            &started->call.channel,   &started->call.conversation, &started->call.trace,
            &started->call.party,     &started->call.run,          &started->call.confirmed_by};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        *texts[i] = keep_text(started, *texts[i], &failed);
    }
    if (started->call.secrets != NULL) {
        started->call.secrets =
                arena_copy(&started->arena, started->call.secrets, started->call.secrets_length);
        failed = failed || started->call.secrets == NULL;
    }
    started->call.plugins = NULL; /* of resources and prompts */
    return !failed;
}

static const char *party_of(const struct started *started) {
    return runs_party(&started->options, &started->call);
}

/* A party has as many runs as it leaves to others. */
static int enter(struct runs *runs, struct started *started, struct toolrack_error *err) {
    const char *party = party_of(started);
    size_t own = 0;
    size_t all = 0;
    LOCK_SCOPE(&runs->lock);
    if (runs->closing) {
        return error_set(err, TOOLRACK_E_CANCELLED, "the host is closing");
    }
    for (const struct started *at = runs->started; at != NULL; at = at->next) {
        const char *other = party_of(at);
        own += party != NULL && other != NULL && strcmp(other, party) == 0;
        all++;
    }
    if (all >= TOOLRACK_RUNS_STARTED_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%u runs of plans run, which is the most; try again when one has ended",
                         TOOLRACK_RUNS_STARTED_MAX);
    }
    if (own > 0 && own + all >= TOOLRACK_RUNS_STARTED_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%zu of the %zu runs of plans that run are of '%.64s', which is the most "
                         "that leaves others their share; try again when one has ended",
                         own, all, party);
    }
    LINKED_ADD(&runs->started, started);
    return 0;
}

int toolrack_run_start(struct toolrack_plan *plan, const struct toolrack_plan_options *options,
                       toolrack_run_ended *ended, void *user, char ret_id[TOOLRACK_RUN_ID_ROOM],
                       struct toolrack_error *err) {
    HOST_SCOPE(plan->host);
    OBJECT_CHECK(plan, PLAN_MAGIC);
    struct runs *runs = &plan->host->runs;
    pthread_t thread;
    CLEANUP(started_destroyp) struct started *started = calloc(1, sizeof *started);
    if (started == NULL) {
        return error_oom(err);
    }
    arena_init(&started->arena, NULL, 0);
    lock_init(&started->lock);
    (void)pthread_cond_init(&started->changed, NULL);
    started->plan = plan;
    started->ended = ended;
    started->user = user;
    started->err = toolrack_error_create();
    if (started->err == NULL || !keep_options(started, options)) {
        return error_oom(err);
    }
    int code = enter(runs, started, err);
    if (code < 0) {
        return code;
    }
    int failed = thread_start(&thread, run_started, started);
    if (failed != 0) {
        leave(runs, started);
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "cannot start a thread: %s",
                         strerror(failed));
    }
    (void)pthread_detach(thread);
    lock_take(&started->lock);
    while (!started->begun && !started->over) {
        lock_wait(&started->lock, &started->changed);
    }
    bool begun = started->begun;
    memcpy(ret_id, started->id, STORE_RUN_ID_SIZE);
    started->seen = true;
    (void)pthread_cond_signal(&started->changed);
    lock_release(&started->lock);
    if (begun) {
        (void)STEAL(started); /* the thread's, which may have released it */
        return 0;
    }
    toolrack_error_copy(err, started->err);
    return started->code;
}
