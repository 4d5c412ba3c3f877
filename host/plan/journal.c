#include "plan/journal.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/json.h"
#include "permit/pin-text.h"
#include "plan/kept-plan.h"
#include "plan/key.h"
#include "registry/registry.h"
#include "schema/own-secrets.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* What is to be kept the next time of a node; its strings are owned. */
struct entry {
    struct store_run_node row;
    char *result;
    char *error;
};

struct journal {
    struct journal_options options;
    struct entry *entries;
    size_t count;
    size_t room;
    int64_t *began_ms; /* of each node; 0: it has not begun in this process */
    bool failed;       /* no memory for an event */
    bool kept;         /* the run is in the store */
    bool goes_on;      /* which says that it runs */
};

static void drop_entries(struct journal *journal) {
    for (size_t i = 0; i < journal->count; i++) {
        free(journal->entries[i].result);
        free(journal->entries[i].error);
    }
    journal->count = 0;
}

void journal_destroy(struct journal *journal) {
    if (journal != NULL) {
        drop_entries(journal);
        free(journal->entries);
        free(journal->began_ms);
        free(journal);
    }
}

struct journal *journal_create(const struct journal_options *options) {
    struct journal *journal = calloc(1, sizeof *journal);
    if (journal == NULL) {
        return NULL;
    }
    journal->options = *options;
    journal->kept = options->resumed;
    journal->began_ms = calloc(options->plan->graph.count + 1u, sizeof *journal->began_ms);
    if (journal->began_ms == NULL) {
        journal_destroy(journal);
        return NULL;
    }
    return journal;
}

bool journal_is_idempotent(const struct plan_tools *tools, uint32_t node) {
    const struct toolrack_tool *const both[] = {tools->tools[node], tools->fallbacks[node]};
    for (size_t i = 0; i < ARRAY_LENGTH(both); i++) {
        if (both[i] != NULL && !toolrack_tool_idempotent(both[i]) &&
            !toolrack_tool_read_only(both[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------------- secrets */

static bool is_masked_in(const struct buf *secrets, const char *text, size_t length) {
    CLEANUP(freep) char *copied = strndup(text, length);
    if (copied != NULL) {
        secrets_mask(secrets, copied);
        own_secrets_mask(copied);
    }
    return copied == NULL || strncmp(copied, text, length) != 0;
}

static bool has_secret_text(const struct buf *secrets, yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    if (yyjson_is_str(value)) {
        return is_masked_in(secrets, yyjson_get_str(value), yyjson_get_len(value));
    }
    json_obj_foreach (value, at, count, key, part) {
        if (has_secret_text(secrets, key) || has_secret_text(secrets, part)) {
            return true;
        }
    }
    yyjson_arr_foreach (value, at, count, part) {
        if (has_secret_text(secrets, part)) {
            return true;
        }
    }
    return false;
}

/* Whether a result has a secret of the inputs, of another result or of this process, as it is or
 * with escapes. */
static bool tells_secret(const struct journal *journal, const char *result, size_t length) {
    const struct buf *secrets = &journal->options.secrets->values;
    if (secrets->length == 0 && !secrets->failed && !own_secrets_are_known()) {
        return false;
    }
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(result, length, YYJSON_READ_BIGNUM_AS_RAW);
    return doc == NULL || is_masked_in(secrets, result, length) ||
           has_secret_text(secrets, yyjson_doc_get_root(doc));
}

/* The inputs as they are kept. */
static char *write_inputs(const struct plan *plan, yyjson_val *inputs) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, inputs);
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_obj_iter each = yyjson_mut_obj_iter_with(root); /* in the order of the plan's */
    for (size_t i = 0; root != NULL && i < plan->input_count; i++) {
        if (schema_has_secrets(plan->inputs[i].described)) {
            (void)yyjson_mut_set_str(yyjson_mut_obj_iter_get(&each, plan->inputs[i].name),
                                     SECRET_MASK);
        }
    }
    return json_doc_is_whole(doc) ? yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, NULL) : NULL;
}

/* ------------------------------------------------------------------------------------------- tools
 *
 * {"tools": [{"tool", "version", "plugin", "pin"}], "nodes": [index of its tool, of each node],
 * "fallbacks": [likewise, or -1], "masked": [nodes]}; `plugin` is an identity. */

/* The index of a tool in the list, to which it is added. */
static int64_t put_tool(yyjson_mut_doc *doc, yyjson_mut_val *list,
                        const struct toolrack_tool **known, size_t *count,
                        const struct toolrack_tool *tool) {
    char pin[PIN_TEXT_ROOM];
    if (tool == NULL) {
        return -1;
    }
    for (size_t i = *count; i > 0; i--) {
        if (known[i - 1] == tool) {
            return (int64_t)i - 1;
        }
    }
    pin_text_make(tool->reg, pin);
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
    (void)yyjson_mut_obj_add_strcpy(doc, row, "tool", toolrack_tool_name(tool));
    (void)yyjson_mut_obj_add_strcpy(doc, row, "version", toolrack_tool_version(tool));
    (void)yyjson_mut_obj_add_strcpy(doc, row, "plugin", tool->reg->plugin->identity_text);
    (void)yyjson_mut_obj_add_strcpy(doc, row, "pin", pin);
    known[*count] = tool;
    return (int64_t)(*count)++;
}

static char *write_tools(const struct plan_tools *tools, const bool *masked) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    CLEANUP(freep)
    const struct toolrack_tool **known = calloc(2u * tools->count + 1u, sizeof(*known));
    size_t count = 0;
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "tools");
    yyjson_mut_val *nodes = yyjson_mut_obj_add_arr(doc, root, "nodes");
    yyjson_mut_val *fallbacks = yyjson_mut_obj_add_arr(doc, root, "fallbacks");
    yyjson_mut_val *hidden = yyjson_mut_obj_add_arr(doc, root, "masked");
    if (known == NULL) {
        return NULL;
    }
    yyjson_mut_doc_set_root(doc, root);
    for (uint32_t i = 0; i < tools->count; i++) {
        (void)yyjson_mut_arr_add_sint(doc, nodes,
                                      put_tool(doc, list, known, &count, tools->tools[i]));
        (void)yyjson_mut_arr_add_sint(doc, fallbacks,
                                      put_tool(doc, list, known, &count, tools->fallbacks[i]));
        if (masked[i]) {
            (void)yyjson_mut_arr_add_uint(doc, hidden, i);
        }
    }
    return json_doc_is_whole(doc) ? yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, NULL) : NULL;
}

/* -------------------------------------------------------------------------------------- events */

static struct entry *new_entry(struct journal *journal, uint32_t node) {
    if (journal->count == journal->room) {
        size_t room = journal->room > 0 ? 2 * journal->room : 16;
        struct entry *entries = realloc(journal->entries, room * sizeof *entries);
        if (entries == NULL) {
            journal->failed = true;
            return NULL;
        }
        journal->entries = entries;
        journal->room = room;
    }
    struct entry *entry = &journal->entries[journal->count++];
    *entry = (struct entry){.row = {.node = node, .began_ms = journal->began_ms[node]}};
    return entry;
}

static void take_result(struct journal *journal, struct entry *entry,
                        const struct plan_event *event) {
    if (event->result_length > STORE_RUN_RESULT_MAX) {
        entry->row.unkept = "it is longer than 1 MiB";
    } else if (journal->options.secrets->nodes[event->node]) {
        entry->row.unkept = journal->options.plan->nodes[event->node].fallback_value == NULL
                                    ? "its tool says that it has secrets"
                                    : "it or its fallback has secrets";
    } else if (tells_secret(journal, event->result, event->result_length)) {
        entry->row.unkept = "a secret of another value is in it";
    } else {
        entry->result = strndup(event->result, event->result_length);
        journal->failed = journal->failed || entry->result == NULL;
        entry->row.result_size = event->result_length;
    }
}

void journal_note(struct journal *journal, const struct plan_event *event) {
    static const enum store_node_state states[] = {[SCHEDULE_SUCCEEDED] = STORE_NODE_SUCCEEDED,
                                                   [SCHEDULE_FAILED] = STORE_NODE_FAILED,
                                                   [SCHEDULE_SKIPPED] = STORE_NODE_SKIPPED};
    /* A call that was cancelled may have had its effect, and so have the other items of a node that
     * waits for an approval: the node stays as it was. */
    const struct plan_kept *kept = journal->options.kept;
    if (event->kind != PLAN_NODE_ENDED || event->state == SCHEDULE_CANCELLED ||
        (event->waits && event->called) ||
        (kept != NULL && kept[event->node].state != SCHEDULE_WAITING &&
         !kept[event->node].is_new)) {
        return;
    }
    struct entry *entry = new_entry(journal, event->node);
    if (entry == NULL) {
        return;
    }
    entry->row.state = states[event->state];
    entry->row.attempts = event->attempt;
    entry->row.ended_ms = clock_wall_ms();
    if (event->state == SCHEDULE_SUCCEEDED) {
        take_result(journal, entry, event);
    }
    const struct toolrack_error *err =
            event->state == SCHEDULE_FAILED ? event->err : event->replaced;
    if (err != NULL) {
        int code = toolrack_error_code(err);
        entry->error = strdup(toolrack_error_message(err));
        if (entry->error != NULL) {
            secrets_mask(&journal->options.secrets->values, entry->error);
            own_secrets_mask(entry->error);
        }
        entry->row.code = code;
        if (event->waits) {
            entry->row.state = STORE_NODE_WAITING; /* it was not called */
            entry->row.ended_ms = 0;
        }
        journal->failed = journal->failed || entry->error == NULL;
    }
}

/* ------------------------------------------------------------------------------------- commits */

/* The rows of the entries. */
static struct store_run_node *make_rows(const struct journal *journal) {
    struct store_run_node *rows = calloc(journal->count + 1, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < journal->count; i++) {
        rows[i] = journal->entries[i].row;
        rows[i].result = journal->entries[i].result;
        rows[i].error = journal->entries[i].error;
    }
    return rows;
}

static void hash_run(const char *plan, const char *inputs, const char *tools,
                     const unsigned char *key, unsigned char ret[STORE_SHA256_SIZE]) {
    const char *const texts[] = {plan, inputs, tools};
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, key, PLAN_KEY_SIZE, STORE_SHA256_SIZE);
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        (void)crypto_generichash_update(&state, (const unsigned char *)texts[i],
                                        strlen(texts[i]) + 1);
    }
    (void)crypto_generichash_final(&state, ret, STORE_SHA256_SIZE);
}

bool journal_hash(const struct plan *plan, const struct plan_tools *tools, yyjson_val *inputs,
                  const unsigned char *key, unsigned char ret[STORE_SHA256_SIZE]) {
    CLEANUP(freep) bool *masked = calloc(tools->count + 1u, sizeof *masked);
    CLEANUP(freep) char *list = masked != NULL ? write_tools(tools, masked) : NULL;
    CLEANUP(freep) char *given = yyjson_val_write(inputs, YYJSON_WRITE_NOFLAG, NULL);
    if (list == NULL || given == NULL) {
        return false;
    }
    hash_run(plan->text, given, list, key, ret);
    return true;
}

/* Most tools in the name of a run. */
#define NAMED_MAX 3u

/* What people know a run of a plan without a name by: the tools that it calls. */
static void add_name(struct buf *out, const struct plan *plan) {
    size_t distinct = 0;
    if (plan->name != NULL) {
        buf_add_text(out, plan->name);
        return;
    }
    for (uint32_t i = 0; i < plan->graph.count && distinct <= NAMED_MAX; i++) {
        bool is_new = true;
        for (uint32_t k = 0; k < i && is_new; k++) {
            is_new = strcmp(plan->nodes[k].tool, plan->nodes[i].tool) != 0;
        }
        if (is_new && distinct++ < NAMED_MAX) {
            buf_printf(out, "%s%s", distinct > 1 ? ", " : "", plan->nodes[i].tool);
        }
    }
    buf_add_text(out, distinct > NAMED_MAX ? ", ..." : "");
}

static int add_run(struct journal *journal, const struct store_run_node *rows,
                   struct toolrack_error *err) {
    const struct journal_options *options = &journal->options;
    CLEANUP(freep) bool *masked = calloc(options->tools->count + 1u, sizeof *masked);
    if (masked == NULL) {
        return error_oom(err);
    }
    CLEANUP(freep)
    char *plan =
            kept_plan_write(options->plan, options->tools, journal->options.secrets->nodes, masked);
    CLEANUP(freep) char *inputs = write_inputs(options->plan, options->inputs);
    CLEANUP(freep) char *tools = write_tools(options->tools, masked);
    unsigned char sha256[STORE_SHA256_SIZE];
    unsigned char key[PLAN_KEY_SIZE];
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    plan_key(options->store, key);
    add_name(&name, options->plan);
    if (name.failed || plan == NULL || inputs == NULL || tools == NULL ||
        !journal_hash(options->plan, options->tools, options->inputs, key, sha256)) {
        return error_oom(err);
    }
    struct store_run run = {.id = options->id,
                            .name = name.data,
                            .owner = options->owner,
                            .party = options->party,
                            .caller = options->caller,
                            .channel = options->channel,
                            .runner = options->runner,
                            .created_ms = clock_wall_ms(),
                            .seed = options->seed,
                            .node_count = options->plan->graph.count,
                            .plan = plan,
                            .inputs = inputs,
                            .tools = tools,
                            .agreed = options->agreed,
                            .agreed_count = options->agreed_count};
    memcpy(run.sha256, sha256, sizeof run.sha256);
    return store_run_add(options->store, &run, rows, journal->count, options->others, err);
}

int journal_keep(struct journal *journal, const uint32_t *begun, uint32_t count,
                 struct toolrack_error *err) {
    const struct journal_options *options = &journal->options;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = begun[i];
        journal->began_ms[node] = clock_wall_ms();
        struct entry *entry = new_entry(journal, node);
        if (entry != NULL) {
            entry->row.state = STORE_NODE_RUNNING;
            entry->row.attempts = (options->kept != NULL ? options->kept[node].attempts : 0) + 1;
        }
    }
    if (journal->goes_on && journal->count == 0) {
        return 0;
    }
    CLEANUP(freep) struct store_run_node *rows = make_rows(journal);
    if (rows == NULL || journal->failed) {
        return error_oom(err);
    }
    const struct store_run run = {.id = options->id,
                                  .runner = options->runner,
                                  .updated_ms = clock_wall_ms(),
                                  .agreed = options->agreed,
                                  .agreed_count = journal->goes_on ? 0 : options->agreed_count};
    int code = journal->kept ? store_run_commit(options->store, &run, rows, journal->count,
                                                options->others, err)
                             : add_run(journal, rows, err);
    if (code == 0) {
        journal->kept = true;
        journal->goes_on = true;
        drop_entries(journal);
    }
    return code;
}

/* Those that were cancelled, now that the run does not go on. */
static void note_cancelled(struct journal *journal, const struct plan_run *run) {
    for (uint32_t i = 0; i < journal->options.plan->graph.count; i++) {
        const struct plan_kept *kept = journal->options.kept;
        if (plan_run_state(run, i) != SCHEDULE_CANCELLED ||
            (kept != NULL && kept[i].state != SCHEDULE_WAITING)) {
            continue;
        }
        struct entry *entry = new_entry(journal, i);
        if (entry != NULL) {
            entry->row.state = STORE_NODE_CANCELLED;
            entry->row.ended_ms = clock_wall_ms();
            entry->row.attempts = plan_run_attempts(run, i);
        }
    }
}

static bool may_keep_result(const struct journal *journal, const char *result) {
    const struct plan *plan = journal->options.plan;
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        if (journal->options.secrets->nodes[i]) {
            return false;
        }
    }
    return strlen(result) <= STORE_RUN_RESULT_MAX &&
           !kept_plan_refers_to_secret(plan, journal->options.secrets->nodes, plan->result) &&
           !tells_secret(journal, result, strlen(result));
}

int journal_end(struct journal *journal, const struct plan_run *run, enum store_run_state state,
                const char *result, const struct toolrack_error *why, struct toolrack_error *err) {
    if (state != STORE_RUN_WAITING) {
        note_cancelled(journal, run);
    }
    CLEANUP(freep) struct store_run_node *rows = make_rows(journal);
    CLEANUP(freep) char *message = why != NULL ? strdup(toolrack_error_message(why)) : NULL;
    if (rows == NULL || journal->failed || (why != NULL && message == NULL)) {
        return error_oom(err);
    }
    if (message != NULL) {
        secrets_mask(&journal->options.secrets->values, message);
        own_secrets_mask(message);
    }
    bool is_kept = result != NULL && may_keep_result(journal, result);
    const struct store_run end = {.id = journal->options.id,
                                  .runner = journal->options.runner,
                                  .updated_ms = clock_wall_ms(),
                                  .state = state,
                                  .error = message,
                                  .code = why != NULL ? toolrack_error_code(why) : 0,
                                  .result = is_kept ? result : NULL};
    int code = store_run_commit(journal->options.store, &end, rows, journal->count,
                                journal->options.others, err);
    drop_entries(journal);
    return code;
}

/* ------------------------------------------------------------------------------------- reading */

static const char *copy(struct journal_kept *kept, const char *text, size_t length) {
    const char *copied = text != NULL ? arena_copy(&kept->arena, text, length) : NULL;
    kept->failed = kept->failed || (text != NULL && copied == NULL);
    return copied;
}

static const char *copy_text(struct journal_kept *kept, const char *text) {
    return text != NULL ? copy(kept, text, strlen(text)) : NULL;
}

static void take_run(void *user, const struct store_run *run) {
    struct journal_kept *kept = user;
    kept->run = *run;
    kept->run.id = copy_text(kept, run->id);
    kept->run.name = copy_text(kept, run->name);
    kept->run.owner = copy_text(kept, run->owner);
    kept->run.caller = copy_text(kept, run->caller);
    kept->run.channel = copy_text(kept, run->channel);
    kept->run.runner = copy_text(kept, run->runner);
    kept->run.error = copy_text(kept, run->error);
    kept->run.plan = copy_text(kept, run->plan);
    kept->run.inputs = copy_text(kept, run->inputs);
    kept->run.tools = copy_text(kept, run->tools);
    kept->run.result = copy_text(kept, run->result);
    /* A damaged row may say any number; it does not fit the plan then, see journal_check(). */
    size_t count = run->node_count <= PLAN_NODES_MAX ? run->node_count : 0;
    kept->nodes = arena_zalloc(&kept->arena, (count + 1) * sizeof *kept->nodes);
    kept->count = kept->nodes != NULL ? count : 0;
    kept->failed = kept->failed || kept->nodes == NULL;
    for (uint32_t i = 0; i < kept->count; i++) {
        kept->nodes[i].node = i;
    }
}

static void take_node(void *user, const struct store_run_node *node) {
    struct journal_kept *kept = user;
    if (node->node < kept->count) {
        struct store_run_node *own = &kept->nodes[node->node];
        *own = *node;
        own->result = copy(kept, node->result, node->result_size);
        own->unkept = copy_text(kept, node->unkept);
        own->error = copy_text(kept, node->error);
    }
}

static void take_agreed(void *user, const struct store_run_agreed *agreed) {
    struct journal_kept *kept = user;
    if (kept->agreed_count == kept->agreed_room) {
        size_t room = 2 * kept->agreed_room + 16;
        struct store_run_agreed *rows = arena_zalloc(&kept->arena, room * sizeof *rows);
        if (rows == NULL) {
            kept->failed = true;
            return;
        }
        if (kept->agreed_count > 0) {
            memcpy(rows, kept->agreed, kept->agreed_count * sizeof *rows);
        }
        kept->agreed = rows;
        kept->agreed_room = room;
    }
    struct store_run_agreed *own = &kept->agreed[kept->agreed_count++];
    *own = *agreed;
    own->tool = copy_text(kept, agreed->tool);
    own->version = copy_text(kept, agreed->version);
    own->who = copy_text(kept, agreed->who);
}

int journal_read(struct store *store, const char *owner, const char *id, struct journal_kept *ret,
                 struct toolrack_error *err) {
    *ret = (struct journal_kept){0};
    arena_init(&ret->arena, NULL, 0);
    int code = store_run_find(store, owner, id, take_run, take_node, ret, err);
    if (code == 0) {
        code = store_run_agreed_read(store, id, take_agreed, ret, err);
    }
    return code == 0 && ret->failed ? error_oom(err) : code;
}

void journal_kept_finish(struct journal_kept *kept) {
    arena_finish(&kept->arena);
}

/* A run whose rows do not fit together, as in a damaged file. */
static int refuse_damaged(const struct journal_kept *kept, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_IO,
                     "what was kept of run '%.64s' is not whole: its database is damaged; remove "
                     "the run: %s",
                     kept->run.id, COMMAND("runs remove", kept->run.id));
}

/* Read JSON that was kept. */
static int read_json(const struct journal_kept *kept, const char *text, size_t length,
                     yyjson_doc **ret, struct toolrack_error *err) {
    yyjson_read_err why;
    *ret = yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_BIGNUM_AS_RAW, NULL, &why);
    return *ret != NULL                                      ? 0
           : why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION ? error_oom(err)
                                                             : refuse_damaged(kept, err);
}

static int read_tools(const struct journal_kept *kept, yyjson_doc **ret,
                      struct toolrack_error *err) {
    return read_json(kept, kept->run.tools, strlen(kept->run.tools), ret, err);
}

static int check_json(const struct journal_kept *kept, const char *text, size_t length,
                      struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    return text != NULL ? read_json(kept, text, length, &doc, err) : 0;
}

/* Whether the nodes of a plan are as many as were kept, and have ids. */
static int check_nodes(const struct journal_kept *kept, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    int code = read_json(kept, kept->run.plan, strlen(kept->run.plan), &doc, err);
    yyjson_val *nodes = yyjson_obj_get(yyjson_doc_get_root(doc), "nodes");
    size_t at;
    size_t count;
    yyjson_val *node;
    bool are_whole = kept->count > 0 && yyjson_arr_size(nodes) == kept->count;
    yyjson_arr_foreach (nodes, at, count, node) {
        are_whole = are_whole && yyjson_is_str(yyjson_obj_get(node, "id"));
    }
    return code < 0 || are_whole ? code : refuse_damaged(kept, err);
}

int journal_check(const struct journal_kept *kept, struct toolrack_error *err) {
    const struct store_run *run = &kept->run;
    const char *const texts[] = {run->inputs, run->tools, run->result};
    int code = check_nodes(kept, err);
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(texts); i++) {
        code = check_json(kept, texts[i], texts[i] != NULL ? strlen(texts[i]) : 0, err);
    }
    for (size_t i = 0; code == 0 && i < kept->count; i++) {
        code = check_json(kept, kept->nodes[i].result, kept->nodes[i].result_size, err);
    }
    return code;
}

/* A tool that was pinned, if it is here as it was. @param ret  in the arena: NAME@VERSION */
static int find_pinned(const struct journal_kept *kept, yyjson_val *pinned, const char *node,
                       struct registry *registry, struct arena *arena, const char **ret,
                       struct toolrack_error *err) {
    const char *name = yyjson_get_str(yyjson_obj_get(pinned, "tool"));
    const char *version = yyjson_get_str(yyjson_obj_get(pinned, "version"));
    const char *plugin = yyjson_get_str(yyjson_obj_get(pinned, "plugin"));
    const char *pin = yyjson_get_str(yyjson_obj_get(pinned, "pin"));
    CLEANUP(buf_finish) struct buf selector = BUF_INIT;
    char now[PIN_TEXT_ROOM];
    if (name == NULL || version == NULL || plugin == NULL || pin == NULL) {
        return refuse_damaged(kept, err);
    }
    buf_printf(&selector, "%s@%s", name, version);
    *ret = selector.failed ? NULL : arena_copy(arena, selector.data, selector.length);
    if (*ret == NULL) {
        return error_oom(err);
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = registry_get(registry, *ret);
    if (tool == NULL || strcmp(tool->reg->plugin->identity_text, plugin) != 0) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "run '%.64s' cannot go on: '%s', which its node '%s' calls, is not here "
                         "any more%s; bring that plugin back, or begin a new run",
                         kept->run.id, *ret, node,
                         tool != NULL ? ", but another plugin's tool of that name" : "");
    }
    pin_text_make(tool->reg, now);
    unsigned changed = pin_text_compare(pin, now);
    char words[REGISTRATION_WORDS_ROOM];
    return changed == 0
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "run '%.64s' cannot go on: '%s', which its node '%s' calls, is not "
                               "what it was when the run began: %s; bring that version back, or "
                               "begin a new run",
                               kept->run.id, *ret, node, registration_change_words(changed, words));
}

yyjson_val **journal_tools(yyjson_val *tools, size_t *ret_count) {
    yyjson_val *list = yyjson_obj_get(tools, "tools");
    yyjson_val **ret = calloc(yyjson_arr_size(list) + 1, sizeof(*ret));
    size_t at;
    yyjson_val *tool;
    yyjson_arr_foreach (list, at, *ret_count, tool) {
        if (ret != NULL) {
            ret[at] = tool;
        }
    }
    return ret;
}

yyjson_val *journal_tool(yyjson_val *const *list, size_t count, yyjson_val *index) {
    return yyjson_is_uint(index) && yyjson_get_uint(index) < count ? list[yyjson_get_uint(index)]
                                                                   : NULL;
}

int journal_pin(const struct journal_kept *kept, struct plan *plan, struct registry *registry,
                bool *ret_masked, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    int code = read_tools(kept, &doc, err);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *nodes = yyjson_obj_get(root, "nodes");
    yyjson_val *fallbacks = yyjson_obj_get(root, "fallbacks");
    if (code < 0) {
        return code;
    }
    if (yyjson_arr_size(nodes) != plan->graph.count || kept->count != plan->graph.count ||
        yyjson_arr_size(fallbacks) != plan->graph.count) {
        return refuse_damaged(kept, err);
    }
    size_t count;
    CLEANUP(freep) yyjson_val **list = journal_tools(root, &count);
    yyjson_arr_iter own = yyjson_arr_iter_with(nodes);
    yyjson_arr_iter other = yyjson_arr_iter_with(fallbacks);
    code = list == NULL ? error_oom(err) : 0;
    *ret_masked = yyjson_arr_size(yyjson_obj_get(root, "masked")) > 0;
    for (uint32_t i = 0; code == 0 && i < plan->graph.count; i++) {
        struct plan_node *node = &plan->nodes[i];
        yyjson_val *pinned = journal_tool(list, count, yyjson_arr_iter_next(&own));
        yyjson_val *fallback = journal_tool(list, count, yyjson_arr_iter_next(&other));
        code = find_pinned(kept, pinned, node->id, registry, &plan->arena, &node->tool, err);
        if (code == 0 && node->fallback_tool != NULL) {
            code = find_pinned(kept, fallback, node->id, registry, &plan->arena,
                               &node->fallback_tool, err);
        }
    }
    return code;
}

/* ------------------------------------------------------------------------------------ going on */

/* Of each node, whether something of it was a secret, which is not kept. NULL: no memory. */
static bool *read_masked(const struct journal_kept *kept, yyjson_val *masked) {
    bool *ret = calloc(kept->count + 1, sizeof *ret);
    size_t at;
    size_t count;
    yyjson_val *node;
    yyjson_arr_foreach (masked, at, count, node) {
        if (ret != NULL && yyjson_get_uint(node) < kept->count) {
            ret[yyjson_get_uint(node)] = true;
        }
    }
    return ret;
}

static int refuse_silent(const struct journal_kept *kept, const char *node,
                         struct toolrack_error *err) {
    return error_set(
            err, TOOLRACK_E_INPUT_REQUIRED,
            "the run waits for a word about node '%.64s': it had begun and is not known to "
            "have ended, so it may have had its effect; say whether to repeat or to skip it: "
            "%s --repeat %.64s; or --skip %.64s",
            node, COMMAND("run --resume", kept->run.id), node, node);
}

static int refuse_stale(const struct journal_kept *kept, const char *node, const char *need,
                        struct toolrack_error *err) {
    return error_set(
            err, TOOLRACK_E_INPUT_REQUIRED,
            "the run waits for a word about node '%.64s': it has ended, with the result of "
            "'%.64s', which is to be called again; say whether to repeat or to skip it: "
            "%s --repeat %.64s; or --skip %.64s",
            node, need, COMMAND("run --resume", kept->run.id), node, node);
}

/* A run while it is found how its nodes go on, each after those that it needs. */
struct going_on {
    struct journal_kept *kept;
    const struct plan *plan;
    const struct plan_tools *tools;
    const unsigned char *words;
    struct plan_kept *nodes;
    bool *again; /* of each node: it had ended, and is called again */
};

/* A node has ended, with results of others: one that is skipped now takes it along; of one that is
 * called again it needs the new result. */
static int follow_needs(struct going_on *going_on, uint32_t index, struct toolrack_error *err) {
    const struct graph_node *node = &going_on->plan->graph.nodes[index];
    struct plan_kept *own = &going_on->nodes[index];
    for (uint32_t i = 0; i < node->need_count && own->state != SCHEDULE_WAITING; i++) {
        const uint32_t need = node->needs[i].node;
        const struct plan_kept *needed = &going_on->nodes[need];
        if (node->needs[i].data && needed->state == SCHEDULE_SKIPPED && needed->is_new) {
            own->state = SCHEDULE_SKIPPED;
            own->is_new = true;
        } else if (node->needs[i].data && going_on->again[need]) {
            if (own->attempts > 0 && !journal_is_idempotent(going_on->tools, index)) {
                return refuse_stale(going_on->kept, going_on->plan->nodes[index].id,
                                    going_on->plan->nodes[need].id, err);
            }
            own->state = SCHEDULE_WAITING;
            going_on->again[index] = true;
        }
    }
    return 0;
}

/* How a node goes on. */
static int go_on(struct going_on *going_on, uint32_t index, struct toolrack_error *err) {
    static const enum schedule_state states[] = {
            [STORE_NODE_WAITING] = SCHEDULE_WAITING,     [STORE_NODE_RUNNING] = SCHEDULE_WAITING,
            [STORE_NODE_SUCCEEDED] = SCHEDULE_SUCCEEDED, [STORE_NODE_FAILED] = SCHEDULE_FAILED,
            [STORE_NODE_SKIPPED] = SCHEDULE_SKIPPED,     [STORE_NODE_CANCELLED] = SCHEDULE_WAITING};
    struct journal_kept *kept = going_on->kept;
    struct plan_kept *ret = &going_on->nodes[index];
    const struct store_run_node *node = &kept->nodes[index];
    const enum journal_word word = (enum journal_word)going_on->words[index];
    *ret = (struct plan_kept){.state = states[node->state],
                              .attempts = node->attempts,
                              .result = node->unkept == NULL ? node->result : NULL,
                              .length = node->result_size};
    if (word == JOURNAL_SKIP) {
        ret->state = SCHEDULE_SKIPPED;
        ret->is_new = true;
    } else if (word == JOURNAL_REPEAT) {
        going_on->again[index] = ret->state != SCHEDULE_WAITING;
        ret->state = SCHEDULE_WAITING;
    } else if (node->state == STORE_NODE_RUNNING &&
               !journal_is_idempotent(going_on->tools, index)) {
        return refuse_silent(kept, going_on->plan->nodes[index].id, err);
    } else {
        int code = follow_needs(going_on, index, err);
        if (code < 0) {
            return code;
        }
    }
    if (ret->state == SCHEDULE_FAILED ||
        (ret->state == SCHEDULE_SUCCEEDED && node->error != NULL)) {
        struct toolrack_error *why = arena_zalloc(&kept->arena, sizeof *why);
        if (why == NULL) {
            return error_oom(err);
        }
        (void)error_set(why, node->code, "%s", node->error != NULL ? node->error : "it failed");
        ret->err = why;
    }
    return 0;
}

int journal_go_on(struct journal_kept *kept, const struct plan *plan,
                  const struct plan_tools *tools, const unsigned char *words,
                  const struct plan_kept **ret, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    struct plan_kept *nodes = arena_zalloc(&kept->arena, (kept->count + 1) * sizeof *nodes);
    CLEANUP(freep) bool *again = calloc(kept->count + 1, sizeof *again);
    CLEANUP(freep) uint32_t *order = graph_order(&plan->graph);
    struct going_on going_on = {kept, plan, tools, words, nodes, again};
    int code = nodes != NULL && again != NULL && order != NULL ? read_tools(kept, &doc, err)
                                                               : error_oom(err);
    CLEANUP(freep)
    bool *masked = read_masked(kept, yyjson_obj_get(yyjson_doc_get_root(doc), "masked"));
    code = code == 0 && masked == NULL ? error_oom(err) : code;
    for (uint32_t at = 0; code == 0 && at < kept->count; at++) {
        const uint32_t i = order[at];
        code = go_on(&going_on, i, err);
        if (code == 0 && nodes[i].state == SCHEDULE_WAITING && masked[i]) {
            code = error_set(err, TOOLRACK_E_REFUSED,
                             "run '%.64s' cannot go on: the plan had a secret in its node '%s', "
                             "and secrets are not kept; make it an input of the plan, which is "
                             "asked for again, and begin a new run",
                             kept->run.id, plan->nodes[i].id);
        }
    }
    *ret = nodes;
    return code;
}

int journal_inputs(const struct journal_kept *kept, const struct plan *plan, yyjson_val *given,
                   yyjson_doc **ret, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *had = NULL;
    int code = read_json(kept, kept->run.inputs, strlen(kept->run.inputs), &had, err);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(had));
    yyjson_mut_doc_set_root(doc, root);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (code < 0) {
        return code;
    }
    if (!json_doc_is_whole(doc)) {
        return error_oom(err);
    }
    if (!yyjson_mut_is_obj(root)) {
        return refuse_damaged(kept, err);
    }
    yyjson_obj_iter each = yyjson_obj_iter_with(given);
    for (size_t i = 0; i < plan->input_count; i++) {
        if (schema_has_secrets(plan->inputs[i].described)) {
            (void)yyjson_mut_obj_remove_key(root, plan->inputs[i].name);
            if (yyjson_obj_iter_get(&each, plan->inputs[i].name) == NULL) {
                return error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                                 "the input '%s' of run '%.64s' is a secret, which is not kept; "
                                 "give it again",
                                 plan->inputs[i].name, kept->run.id);
            }
        }
    }
    json_obj_foreach (given, at, count, key, value) {
        if (yyjson_mut_obj_getn(root, yyjson_get_str(key), yyjson_get_len(key)) != NULL) {
            return error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                             "the input '%s' of run '%.64s' is kept, and cannot be another one",
                             yyjson_get_str(key), kept->run.id);
        }
        (void)yyjson_mut_obj_add(root, yyjson_val_mut_copy(doc, key),
                                 yyjson_val_mut_copy(doc, value));
    }
    *ret = json_doc_is_whole(doc) ? yyjson_mut_doc_imut_copy(doc, NULL) : NULL;
    return *ret != NULL ? 0 : error_oom(err);
}
