/* answer.c - execute the calls of a model's message and write their results.
 *
 * The calls run in parallel: they are submitted, except one that runs on the caller's thread, which
 * would only wait otherwise. Passing a call to another thread takes longer than many tools need, so
 * tools that were quick so far run on the caller's thread one after the other, for a limited time.
 * A call that fails, or cannot be submitted, gives a result with the error, for the model.
 *
 * Of several calls that a person is asked about, each asks after those before it in the message
 * were answered, so that the questions come in the order of the calls.
 *
 * Somebody may watch the calls. What they report on their threads is kept in their struct, and the
 * thread that waits for them tells it: of progress only the last. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/answer.h"
#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-pointer.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/name.h"
#include "format/definitions.h"
#include "format/turn.h"
#include "permit/permit.h"
#include "registry/text.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* A tool with at least QUICK_CALLS_MIN calls, of QUICK_NS_MAX or less on average, is quick: another
 * thread would start it only after it could have ended here. */
#define QUICK_NS_MAX    50000u
#define QUICK_CALLS_MIN 8u
/* How long quick calls run here; calls that have not begun by then are submitted, since one was not
 * quick. */
#define HERE_NS_MAX     1000000u

/* Bytes of the stack for a message and its arguments, parsed: most fit. */
#define TURN_ROOM 16384u

/* One call of the turn. */
struct answer {
    struct turn *turn;
    const struct format_call *call;
    const char *name;               /* name of the tool to call: in the message, or its arena */
    const char *arguments;          /* likewise */
    struct toolrack_tool *tool;     /* a reference; NULL: not found */
    bool quick;                     /* the tool was quick so far */
    bool begun;                     /* or need not begin */
    struct toolrack_result *result; /* NULL: it failed, or is the conversation's own */
    struct buf own;                 /* result of a call of the conversation's own */
    struct toolrack_error err;
    size_t question;   /* which of the turn's questions it asks, from 1; 0: none */
    bool decided;      /* its question was answered */
    char *allower;     /* owned: who allowed all calls of its tool with that; or NULL */
    uint64_t standing; /* of that answer: see struct toolrack_approval_request */

    /* With a watch, under the lock of the turn. */
    struct toolrack_call_options options; /* those of the turn, by way of this call */
    uint64_t began_ns;                    /* 0: it did not begin */
    uint64_t duration_ns;
    bool ended;
    bool told; /* that it has ended */
    bool has_progress;
    double done;
    double total;
    char *said; /* owned, of the progress; or NULL */
};

struct turn {
    struct toolrack *host;
    struct format_message message;
    const struct toolrack_call_options *options;
    const struct agent_watch *watch;               /* NULL: nobody watches */
    const struct toolrack_export_options *offered; /* NULL: all */
    bool is_limited;                               /* no other tool may be called than in `names` */
    const struct answer_extra *extra;              /* or NULL */
    yyjson_val *names;                             /* see export_names(); NULL: not read yet */
    yyjson_doc *own_names;                         /* has them, if they are the turn's */
    uint64_t snapshot;                             /* in which the tools of calls are found */
    bool no_memory;                                /* for the names, or for the call at hand */
    struct answer *answers;                        /* one for each call, in their order */
    pthread_mutex_t lock;
    pthread_cond_t over;
    size_t running;   /* submitted and not ended */
    size_t questions; /* calls about which a person is asked, as foreseen */
};

static void turn_finish(struct turn *turn) {
    for (size_t i = 0; turn->answers != NULL && i < turn->message.count; i++) {
        toolrack_result_free(turn->answers[i].result);
        toolrack_tool_unref(turn->answers[i].tool);
        free(turn->answers[i].said);
        free(turn->answers[i].allower);
        buf_finish(&turn->answers[i].own);
    }
    free(turn->answers);
    yyjson_doc_free(turn->own_names);
    format_message_finish(&turn->message);
    (void)pthread_cond_destroy(&turn->over);
    (void)pthread_mutex_destroy(&turn->lock);
}

/* ------------------------------------------------------------------- names */

/* The names of the definitions that the model was given, else of an export now: a reference. */
static int take_names(const struct turn *turn, struct toolrack_text **ret,
                      struct toolrack_error *err) {
    const struct toolrack_text *given = turn->options->definitions;
    if (given == NULL) {
        return export_names(turn->host, turn->message.format, turn->offered, ret, err);
    }
    if (given->names == NULL || given->format != turn->message.format) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the definitions are none of the format '%s': give the text that "
                         "toolrack_export() gave for the model",
                         toolrack_format_name(turn->message.format));
    }
    *ret = text_ref(given->names);
    return 0;
}

/* How the definitions call tools and properties; NULL: no memory, or they are not to be had. */
static yyjson_val *turn_names(struct turn *turn, struct toolrack_error *err) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (turn->names == NULL && take_names(turn, &text, err) == 0) {
        size_t length = 0;
        const char *json = toolrack_text_data(text, &length);
        turn->own_names = yyjson_read(json, length, 0);
        turn->names = yyjson_doc_get_root(turn->own_names);
        if (turn->names == NULL) {
            (void)error_oom(err);
        }
    }
    turn->no_memory = turn->no_memory || turn->names == NULL;
    return turn->names;
}

/* A search for the tool that has another name in a format, among all tools. */
struct search {
    enum toolrack_format format;
    const char *wanted;
    struct turn *turn;
    const char *found; /* in the arena of the message */
};

static bool is_not_it(void *user, struct toolrack_tool *tool) {
    struct search *search = user;
    const char *name = toolrack_tool_name(tool);
    char wire[FORMAT_NAME_MAX + 1];
    if (format_wire_name(search->format, name, wire) && strcmp(wire, search->wanted) == 0) {
        search->found = arena_copy(&search->turn->message.arena, name, strlen(name));
        search->turn->no_memory = search->found == NULL;
        return false;
    }
    return true;
}

static bool is_quick(const struct toolrack_tool *tool) {
    struct toolrack_tool_statistics known = TOOLRACK_TOOL_STATISTICS_INIT;
    toolrack_tool_statistics(tool, &known);
    /* The longest call is left out: probably it loaded the plugin. */
    return call_is_free(tool) && known.calls >= QUICK_CALLS_MIN &&
           (known.total_ns - known.max_ns) / (known.calls - 1) <= QUICK_NS_MAX;
}

/* What a definition says of a tool, by the definition's name or the tool's own. */
static yyjson_val *find_names(const struct turn *turn, yyjson_val *names, const char *name) {
    char wire[FORMAT_NAME_MAX + 1];
    yyjson_val *found = yyjson_obj_get(names, name);
    if (found == NULL) {
        (void)format_wire_name(turn->message.format, name, wire);
        found = yyjson_obj_get(names, wire);
    }
    return found;
}

/* Whether there is a tool for a name that a model wrote: by this name, or by that of its
 * definition.
 * @param ret_own   its own name then, which lives as long as `name` and the turn
 * @param ret_tool  a reference, if it was looked up; else it stays */
static bool takes_name(struct turn *turn, const char *name, const char **ret_own,
                       struct toolrack_tool **ret_tool) {
    if (turn->is_limited) {
        yyjson_val *found = find_names(turn, turn_names(turn, NULL), name);
        yyjson_val *own = yyjson_obj_get(found, "name");
        *ret_own = own != NULL ? yyjson_get_str(own) : name;
        return found != NULL;
    }
    *ret_tool = registry_get(turn->host->registry, name);
    if (*ret_tool != NULL) {
        *ret_own = name;
        return true;
    }
    if (!format_looks_made(name, strlen(name))) {
        return false;
    }
    yyjson_val *own = yyjson_obj_get(yyjson_obj_get(turn_names(turn, NULL), name), "name");
    struct search search = {.format = turn->message.format, .wanted = name, .turn = turn};
    if (own == NULL) {
        /* Of a tool that is not exported the call says why it is refused. */
        registry_visit(turn->host->registry, is_not_it, &search);
    }
    *ret_own = own != NULL ? yyjson_get_str(own) : search.found;
    return *ret_own != NULL;
}

/* ---------------------------------------------------------------- prefixes
 *
 * Models write prefixes before names: words that mean any tool ("functions.add"), and the server
 * that a tool is of ("mcp__server__add"). What is behind one is called only where that is the one
 * thing that it can mean: whoever gets a model to say mcp__safe__delete must not reach the tool
 * `delete` of somebody else. */

/* Longest name that is looked at for a prefix. */
#define PREFIXED_MAX 256u

static const char server_prefix[] = "mcp__";

/* What a name with prefixes can mean. */
struct readings {
    struct turn *turn;
    size_t count;
    const char *name;           /* of the last: the tool's own */
    struct toolrack_tool *tool; /* of the last: a reference, or NULL */
};

/* A plugin that is looked for. */
struct owner {
    const char *id;
    size_t length; /* 0: anybody */
    bool found;
};

static bool is_of(const struct toolrack_tool *tool, const struct owner *owner) {
    const char *id = toolrack_tool_plugin(tool);
    return owner->length == 0 ||
           (strlen(id) == owner->length && memcmp(id, owner->id, owner->length) == 0);
}

static bool is_not_of(void *user, struct toolrack_tool *tool) {
    struct owner *owner = user;
    owner->found = owner->found || is_of(tool, owner);
    return !owner->found;
}

static void try_reading(struct readings *readings, const char *name, const struct owner *owner) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = NULL;
    const char *own;
    if (!takes_name(readings->turn, name, &own, &tool)) {
        return;
    }
    tool = tool != NULL ? tool : registry_get(readings->turn->host->registry, own);
    if (tool != NULL && is_of(tool, owner)) {
        readings->count++;
        readings->name = own;
        toolrack_tool_unref(readings->tool);
        readings->tool = STEAL(tool);
    }
}

/* The length of the word before a name that means any tool; 0: there is none. */
static size_t any_word(const char *name) {
    static const char *const words[] = {"functions", "function", "default_api", "tools"};
    size_t length = strcspn(name, ".:");
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (strlen(words[i]) == length && strncmp(words[i], name, length) == 0 &&
            name[length] != '\0' && name[length + 1] != '\0') {
            return length;
        }
    }
    return 0;
}

/* Whether a tool is called as the name with "_" behind its word: that may be what was meant. */
static bool is_with_underscore(struct turn *turn, const char *name, size_t word) {
    char joined[PREFIXED_MAX + 1];
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = NULL;
    const char *own;
    (void)strcpy(joined, name);
    joined[word] = '_';
    return takes_name(turn, joined, &own, &tool);
}

/* "functions.add": a word that is also the name of a plugin means tools of this plugin only. */
static void read_word(struct readings *readings, const char *name, size_t word) {
    struct owner owner = {.id = name, .length = word};
    registry_visit(readings->turn->host->registry, is_not_of, &owner);
    owner.length = owner.found ? word : 0;
    if (!is_with_underscore(readings->turn, name, word)) {
        try_reading(readings, name + word + 1, &owner);
    }
}

/* "mcp__server__add", as clients of MCP call tools: the server is the plugin of the tool. */
static void read_server(struct readings *readings, const char *name) {
    const char *server = name + strlen(server_prefix);
    for (const char *end = strstr(server, "__"); end != NULL; end = strstr(end + 1, "__")) {
        const struct owner owner = {.id = server, .length = (size_t)(end - server)};
        if (owner.length > 0 && end[2] != '\0') {
            try_reading(readings, end + 2, &owner);
        }
    }
}

/* Find the tool behind prefixes. @return whether the name means one tool */
static bool takes_prefixed(struct turn *turn, struct answer *answer) {
    struct readings readings = {.turn = turn};
    const char *name = answer->call->name;
    size_t word = strnlen(name, PREFIXED_MAX + 1) <= PREFIXED_MAX ? any_word(name) : 0;
    while (word > 0 && readings.count == 0) {
        read_word(&readings, name, word);
        name += word + 1;
        word = any_word(name);
    }
    if (readings.count == 0 && strnlen(name, PREFIXED_MAX + 1) <= PREFIXED_MAX &&
        strncmp(name, server_prefix, strlen(server_prefix)) == 0) {
        read_server(&readings, name);
    }
    if (readings.count != 1) {
        toolrack_tool_unref(readings.tool);
        return false;
    }
    answer->name = readings.name;
    answer->tool = readings.tool;
    log_line(&turn->host->log, LOG_INFO, "answer", "the model called %s as %s", answer->name,
             answer->call->name);
    return true;
}

static int refuse_not_offered(const struct turn *turn, struct answer *answer) {
    struct nearest nearest = nearest_to(answer->call->name);
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *said;
    json_obj_foreach (turn->names, at, count, name, said) {
        (void)nearest_try_tool(&nearest, yyjson_get_str(name));
    }
    int code = nearest.name != NULL
                       ? error_set(&answer->err, TOOLRACK_E_NOT_FOUND,
                                   "Tool '%s' not found; did you mean '%s'?", answer->call->name,
                                   nearest.name)
                       : error_set(&answer->err, TOOLRACK_E_NOT_FOUND,
                                   "Tool '%s' not found; it was not offered", answer->call->name);
    error_set_tool(&answer->err, answer->call->name);
    return code;
}

/* ------------------------------------------------------------------ arguments */

/* JSON of the turn, or of a tool; NULL: it is none, or there is no memory. */
static yyjson_doc *read_json(struct turn *turn, const char *text, size_t length) {
    yyjson_read_err why = {0};
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_BIGNUM_AS_RAW,
                                       NULL, &why);
    turn->no_memory = turn->no_memory || why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION;
    return doc;
}

/* What the definition calls the tool's properties, each with its own name; NULL: they have theirs.
 */
static yyjson_val *renamed_keys(struct turn *turn, const struct answer *answer) {
    yyjson_val *names = find_names(turn, turn_names(turn, NULL), answer->call->name);
    if (names == NULL) {
        names = find_names(turn, turn_names(turn, NULL), answer->name);
    }
    return yyjson_obj_get(names, "keys");
}

/* Call the properties of arguments by their own names. @return whether one was called otherwise. */
static bool rename_properties(struct turn *turn, const struct answer *answer, yyjson_mut_doc *doc) {
    yyjson_val *keys = renamed_keys(turn, answer);
    bool renamed = false;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(yyjson_mut_doc_get_root(doc), at, count, key, value) {
        yyjson_val *own = yyjson_obj_getn(keys, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        if (own != NULL) {
            renamed = yyjson_mut_set_strn(key, yyjson_get_str(own), yyjson_get_len(own)) || renamed;
        }
    }
    return renamed;
}

/* The text of arguments that call properties by their own names, in the arena; NULL: no memory.
 * @param ret_renamed  whether one was called otherwise */
static const char *write_arguments(struct turn *turn, const struct answer *answer,
                                   yyjson_val *arguments, bool *ret_renamed) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, arguments));
    *ret_renamed = rename_properties(turn, answer, doc);
    size_t length = 0;
    CLEANUP(freep)
    char *text =
            json_doc_is_whole(doc) ? yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, &length) : NULL;
    const char *kept = text != NULL ? arena_copy(&turn->message.arena, text, length) : NULL;
    turn->no_memory = turn->no_memory || kept == NULL;
    return turn->no_memory ? NULL : kept;
}

/* Whether a call would take these arguments. */
static bool fits(const struct turn *turn, struct toolrack_tool *tool, const char *arguments) {
    return call_takes_arguments(&turn->host->calls, tool, turn->options, arguments,
                                strlen(arguments));
}

/* Call properties by their own names, and take arguments out of what the model wrapped them in:
 * where the tool does not take them as they are, and does take what is in the wrapper. */
static void mend_arguments(struct turn *turn, struct answer *answer, struct toolrack_tool *tool) {
    const char *word = NULL;
    bool renamed = false;
    bool within_renamed;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = read_json(turn, answer->arguments, strlen(answer->arguments));
    CLEANUP(yyjson_doc_freep) yyjson_doc *inner = NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *wrapped = format_is_wrapped(root, &word);
    if (yyjson_is_str(wrapped)) {
        inner = read_json(turn, yyjson_get_str(wrapped), yyjson_get_len(wrapped));
        wrapped = yyjson_doc_get_root(inner);
    }
    const char *text = doc != NULL ? write_arguments(turn, answer, root, &renamed) : NULL;
    if (text == NULL) {
        turn->no_memory = true; /* they were read before */
        return;
    }
    if (yyjson_is_obj(wrapped) && !fits(turn, tool, text)) {
        const char *within = write_arguments(turn, answer, wrapped, &within_renamed);
        if (within != NULL && fits(turn, tool, within)) {
            log_line(&turn->host->log, LOG_INFO, "answer",
                     "%s: the model wrapped the arguments in \"%s\"; they are taken out of it",
                     answer->name, word);
            answer->arguments = within;
            return;
        }
    }
    answer->arguments = renamed ? text : answer->arguments;
}

/* Whether a name means a tool of the conversation's own, with a word before it or not. */
static bool is_own(struct turn *turn, const char *name) {
    const struct answer_extra *extra = turn->extra;
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = NULL;
    const char *unused;
    if (extra->has(extra->user, name)) {
        return true;
    }
    size_t word = strnlen(name, PREFIXED_MAX + 1) <= PREFIXED_MAX ? any_word(name) : 0;
    return word > 0 && extra->has(extra->user, name + word + 1) &&
           !takes_name(turn, name, &unused, &tool) && !is_with_underscore(turn, name, word);
}

/* Answer a call of the conversation's own. @return whether it is one */
static bool answer_own(struct turn *turn, struct answer *answer) {
    const struct answer_extra *extra = turn->extra;
    if (extra == NULL || !is_own(turn, answer->call->name)) {
        return false;
    }
    answer->begun = true;
    if (extra->call(extra->user, answer->call, &answer->own, &answer->err) < 0) {
        buf_finish(&answer->own);
    }
    return true;
}

/* Find the tool to call, and its arguments. A failure is that of the call. */
static void find_call(struct turn *turn, struct answer *answer) {
    const struct format_call *call = answer->call;
    bool found = takes_name(turn, call->name, &answer->name, &answer->tool) ||
                 takes_prefixed(turn, answer);
    if (!found && turn->is_limited) {
        answer->begun = true;
        (void)refuse_not_offered(turn, answer);
        return;
    }
    if (!found) {
        answer->name = call->name;
        return;
    }
    if (call->was_encoded) {
        log_line(&turn->host->log, LOG_INFO, "answer",
                 "%s: the arguments were JSON text within a JSON string", answer->name);
    }
    if (answer->tool == NULL) {
        answer->tool = registry_get(turn->host->registry, answer->name);
    }
    answer->quick = answer->tool != NULL && is_quick(answer->tool);
    if (answer->tool != NULL && call->is_odd) {
        mend_arguments(turn, answer, answer->tool);
    }
}

/* Without memory for that, it would be another call, or one without some of its arguments. */
static void prepare(struct turn *turn, struct answer *answer) {
    turn->no_memory = false;
    find_call(turn, answer);
    if (turn->no_memory) {
        answer->begun = true;
        (void)error_oom(&answer->err);
        error_set_tool(&answer->err, answer->call->name);
    }
}

/* ------------------------------------------------------------------- mistakes */

/* What the definition calls a property. */
static const char *known_as(void *keys, const char *name, size_t length) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *own;
    json_obj_foreach ((yyjson_val *)keys, at, count, key, own) {
        if (yyjson_equals_strn(own, name, length)) {
            return yyjson_get_str(key);
        }
    }
    return NULL;
}

/* The same in the field of an error, a JSON Pointer. */
static void rename_in_field(yyjson_val *keys, struct toolrack_error *err) {
    char name[ERROR_FIELD_MAX];
    char field[ERROR_FIELD_MAX];
    size_t step = err->field[0] == '/' ? strcspn(err->field + 1, "/") : 0;
    size_t length = step > 0 ? json_pointer_unescape(err->field + 1, step, name) : 0;
    const char *known = known_as(keys, name, length);
    if (step > 0 && known != NULL) {
        (void)snprintf(field, sizeof field, "/%s%s", known, err->field + 1 + step);
        (void)memcpy(err->field, field, sizeof field);
    }
}

/* A model knows properties only by the names that its definitions have. */
static void tell_by_names_given(struct turn *turn, struct answer *answer) {
    enum provider_keys accepted = provider_limits[turn->message.format].keys;
    if (answer->result != NULL || answer->own.length > 0 || answer->call->problem != NULL ||
        accepted == KEYS_ANY) {
        return;
    }
    turn->no_memory = false;
    yyjson_val *keys = renamed_keys(turn, answer);
    if (turn->no_memory) {
        (void)error_oom(&answer->err);
    }
    const struct schema_naming naming = {.known_as = known_as, .user = keys};
    if (keys == NULL) {
        return;
    }
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(turn->host->registry, answer->name);
    if (tool != NULL && answer->err.code == TOOLRACK_E_INVALID_ARGUMENTS &&
        !answer->err.from_tool) {
        call_explain_arguments(&turn->host->calls, tool, turn->options, &naming, answer->arguments,
                               strlen(answer->arguments), &answer->err);
    }
    rename_in_field(keys, &answer->err);
    call_rename_changes(&naming, &answer->err);
}

/* ------------------------------------------------------------------- calls */

/* The callbacks of a call that is watched: the app's, with the app's own argument. */
static void take_progress(void *user, double done, double total, const char *message) {
    struct answer *answer = user;
    const struct toolrack_call_options *app = answer->turn->options;
    char *said = message != NULL ? strdup(message) : NULL;
    (void)pthread_mutex_lock(&answer->turn->lock);
    char *before = answer->said;
    answer->has_progress = true;
    answer->done = done;
    answer->total = total;
    answer->said = said;
    (void)pthread_cond_broadcast(&answer->turn->over);
    (void)pthread_mutex_unlock(&answer->turn->lock);
    free(before);
    if (app->progress != NULL) {
        app->progress(app->user, done, total, message);
    }
}

static int ask(void *user, const char *message, const char *schema, char **ret_content) {
    const struct toolrack_call_options *app = ((const struct answer *)user)->turn->options;
    return app->ask(app->user, message, schema, ret_content);
}

static void take_log(void *user, enum toolrack_log_level level, const char *line) {
    const struct toolrack_call_options *app = ((const struct answer *)user)->turn->options;
    app->log(app->user, level, line);
}

/* ---------------------------------------------------------------- questions */

static bool may_be_asked_about(struct toolrack *host, struct toolrack_tool *tool,
                               const struct toolrack_call_options *options) {
    bool asks = false;
    struct toolrack_error unheard;
    return toolrack_tool_permission(tool) == TOOLRACK_PERMISSION_CONFIRM &&
           permit_foresee(host->permit, tool, options, &asks, &unheard) == 0 && asks;
}

/* Number the calls about which a person is asked. */
static void number_questions(struct turn *turn) {
    bool has_approver = turn->options->approve != NULL || turn->host->options.approve != NULL;
    for (size_t i = 0; has_approver && i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        if (!answer->begun && answer->tool != NULL &&
            may_be_asked_about(turn->host, answer->tool, turn->options)) {
            answer->question = ++turn->questions;
        }
    }
}

static bool asks_before(const struct answer *answer) {
    for (const struct answer *other = answer->turn->answers; other < answer; other++) {
        if (other->question > 0 && !other->decided && !other->ended) {
            return true;
        }
    }
    return false;
}

static void set_decided(struct answer *answer) {
    struct turn *turn = answer->turn;
    (void)pthread_mutex_lock(&turn->lock);
    answer->decided = true;
    (void)pthread_cond_broadcast(&turn->over);
    (void)pthread_mutex_unlock(&turn->lock);
}

static int ask_approver(const struct turn *turn, const struct toolrack_approval_request *request) {
    const struct toolrack_call_options *app = turn->options;
    const struct toolrack_options *host = &turn->host->options;
    return app->approve != NULL ? app->approve(app->user, request)
                                : host->approve(host->user, request);
}

/* An answer that was for all calls of the tool is kept for those of the turn that wait to be asked
 * about. */
static void keep_answer(struct answer *answer, const struct toolrack_approval_request *request,
                        int decision) {
    if ((decision == TOOLRACK_APPROVAL_ALLOW_ALWAYS ||
         decision == TOOLRACK_APPROVAL_ALLOW_CONVERSATION) &&
        request->permission == TOOLRACK_PERMISSION_CONFIRM) {
        answer->standing = request->standing;
        answer->allower = strdup(request->who); /* NULL: the others are asked about, too */
    }
}

/* Whether a question of the turn before this one was answered so, and by whom. */
static bool is_answered(const struct answer *answer,
                        const struct toolrack_approval_request *request) {
    for (const struct answer *other = answer->turn->answers; other < answer; other++) {
        if (other->allower != NULL && other->standing == request->standing &&
            toolrack_tool_uid(other->tool) == toolrack_tool_uid(answer->tool)) {
            (void)snprintf(request->who, request->who_room, "%s", other->allower);
            return true;
        }
    }
    return false;
}

/* The time in it does not count against the deadline of the call. */
static int approve(void *user, const struct toolrack_approval_request *request) {
    struct answer *answer = user;
    struct turn *turn = answer->turn;
    struct toolrack_approval_request numbered = *request;
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    if (turn->questions < 2 || answer->question == 0) {
        return ask_approver(turn, request);
    }
    buf_printf(&reason, "%s (question %zu of %zu)", request->reason, answer->question,
               turn->questions);
    numbered.reason = reason.failed ? request->reason : reason.data;
    (void)pthread_mutex_lock(&turn->lock);
    while (asks_before(answer)) {
        (void)pthread_cond_wait(&turn->over, &turn->lock);
    }
    (void)pthread_mutex_unlock(&turn->lock);
    int decision = TOOLRACK_APPROVAL_ALLOW_ONCE;
    if (!is_answered(answer, &numbered)) {
        decision = ask_approver(turn, &numbered);
        keep_answer(answer, &numbered, decision);
    }
    set_decided(answer);
    return decision;
}

/* ------------------------------------------------------------------ options */

static int ask_inputs(void *user, struct toolrack_input *inputs, size_t count) {
    const struct toolrack_call_options *app = ((const struct answer *)user)->turn->options;
    return app->input(app->user, inputs, count);
}

static const struct toolrack_call_options *options_of(struct answer *answer) {
    const struct toolrack_call_options *app = answer->turn->options;
    bool is_watched = answer->turn->watch != NULL;
    if (!is_watched && answer->turn->questions < 2) {
        return app;
    }
    answer->options = *app;
    answer->options.user = answer;
    answer->options.progress = is_watched || app->progress != NULL ? take_progress : NULL;
    answer->options.ask = app->ask != NULL ? ask : NULL;
    answer->options.log = app->log != NULL ? take_log : NULL;
    bool has_approver = app->approve != NULL || answer->turn->host->options.approve != NULL;
    answer->options.approve = has_approver ? approve : NULL;
    answer->options.input = app->input != NULL ? ask_inputs : NULL;
    answer->options.renewed = NULL; /* of calls by a tool's struct only */
    return &answer->options;
}

/* On a thread of the host. */
static void call_done(void *user, struct toolrack_result *result,
                      const struct toolrack_error *err) {
    struct answer *answer = user;
    struct turn *turn = answer->turn;
    answer->result = result;
    if (err != NULL) {
        answer->err = *err;
    }
    (void)pthread_mutex_lock(&turn->lock);
    answer->duration_ns = clock_now_ns() - answer->began_ns;
    answer->ended = true;
    turn->running--;
    (void)pthread_cond_broadcast(&turn->over);
    (void)pthread_mutex_unlock(&turn->lock);
}

static void submit(struct turn *turn, struct answer *answer) {
    answer->begun = true;
    answer->began_ns = clock_now_ns();
    (void)pthread_mutex_lock(&turn->lock);
    turn->running++;
    (void)pthread_mutex_unlock(&turn->lock);
    if (toolrack_submit(turn->host, answer->name, answer->arguments, options_of(answer), call_done,
                        answer, NULL, &answer->err) < 0) {
        (void)pthread_mutex_lock(&turn->lock);
        turn->running--;
        answer->ended = true;
        (void)pthread_cond_broadcast(&turn->over);
        (void)pthread_mutex_unlock(&turn->lock);
    }
}

/* With the tool as it was found and the arguments as they were read: both at most once a call. */
static void run_here(struct turn *turn, struct answer *answer) {
    const struct format_call *call = answer->call;
    bool is_as_written = answer->arguments == call->arguments;
    answer->begun = true;
    if (registry_number(turn->host->registry) != turn->snapshot) {
        /* A call before it may have disabled the tool, or reloaded it. */
        toolrack_tool_unref(answer->tool);
        answer->tool = registry_get(turn->host->registry, answer->name);
    }
    if (answer->tool == NULL) {
        (void)registry_not_called(turn->host->registry, answer->name, &answer->err);
        set_decided(answer);
        return;
    }
    (void)calls_make(turn->host, answer->name, answer->tool, answer->arguments,
                     is_as_written ? call->arguments_length : strlen(answer->arguments),
                     is_as_written ? call->parsed : NULL, options_of(answer), &answer->result,
                     &answer->err);
    if (answer->question > 0) {
        set_decided(answer);
    }
}

/* Content is told by its first text. */
static void tell_content(const struct turn *turn, size_t index, struct agent_call_end *end,
                         const char *json, size_t length) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const struct toolrack_result *result = turn->answers[index].result;
    bool is_content = result != NULL && toolrack_result_is_content(result);
    yyjson_val *text = is_content ? yyjson_ptr_get(root, "/content/0/text") : root;
    end->text = yyjson_is_str(text) ? yyjson_get_str(text) : json;
    end->length = yyjson_is_str(text) ? yyjson_get_len(text) : length;
    turn->watch->ended(turn->watch->user, index, end);
}

static void tell_end(const struct turn *turn, size_t index) {
    const struct answer *answer = &turn->answers[index];
    struct agent_call_end end = {.code = answer->result != NULL ? 0 : answer->err.code,
                                 .duration_ns = answer->duration_ns};
    CLEANUP(buf_finish) struct buf said = BUF_INIT;
    if (answer->own.length > 0) {
        end.code = 0;
        tell_content(turn, index, &end, answer->own.data, answer->own.length);
        return;
    }
    if (answer->result == NULL) {
        format_add_failure(&said, &answer->err);
        end.text = said.failed ? "" : said.data;
        end.length = said.failed ? 0 : said.length;
        turn->watch->ended(turn->watch->user, index, &end);
        return;
    }
    const char *json = toolrack_result_json(answer->result, &end.length);
    end.text = json;
    end.changed = toolrack_result_changed(answer->result, NULL);
    if (toolrack_result_is_content(answer->result) || json[0] == '"') {
        tell_content(turn, index, &end, json, end.length);
    } else {
        turn->watch->ended(turn->watch->user, index, &end);
    }
}

/* Tell what is new of a call, without the lock, which the caller holds. @return whether anything
 * is. */
static bool tell_news(struct turn *turn, size_t index) {
    struct answer *answer = &turn->answers[index];
    CLEANUP(freep) char *said = STEAL(answer->said);
    bool has_progress = answer->has_progress && !answer->told;
    bool has_ended = answer->ended && !answer->told;
    double done = answer->done;
    double total = answer->total;
    answer->has_progress = false;
    answer->told = answer->told || has_ended;
    if (!has_progress && !has_ended) {
        return false;
    }
    (void)pthread_mutex_unlock(&turn->lock);
    if (has_progress) {
        turn->watch->progress(turn->watch->user, index, done, total, said);
    }
    if (has_ended) {
        tell_end(turn, index);
    }
    (void)pthread_mutex_lock(&turn->lock);
    return true;
}

static void wait_for_all(struct turn *turn) {
    (void)pthread_mutex_lock(&turn->lock);
    for (;;) {
        bool any = false;
        for (size_t i = 0; turn->watch != NULL && i < turn->message.count; i++) {
            any = tell_news(turn, i) || any;
        }
        if (!any && turn->running == 0) {
            break;
        }
        if (!any) {
            (void)pthread_cond_wait(&turn->over, &turn->lock);
        }
    }
    (void)pthread_mutex_unlock(&turn->lock);
}

/* Submit the calls that are not quick; the last one runs here, after the others were submitted, if
 * no quick call runs here. In a conversation it is submitted too: toolrack_cancel_conversation()
 * must find it. */
static void begin_slow(struct turn *turn) {
    struct answer *last = NULL;
    bool any_quick = false;
    for (size_t i = 0; i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        any_quick = any_quick || (answer->quick && !answer->begun);
        if (!answer->begun && !answer->quick) {
            if (last != NULL) {
                submit(turn, last);
            }
            last = answer;
        }
    }
    bool is_cancellable = turn->options->conversation != NULL || turn->watch != NULL;
    if (last != NULL && (any_quick || is_cancellable)) {
        submit(turn, last);
    } else if (last != NULL) {
        run_here(turn, last);
    }
}

/* How long calls took that ran here is known from their results. */
static void run_quick(struct turn *turn) {
    uint64_t began_ns = 0;
    uint64_t took_ns = 0;
    for (size_t i = 0; i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        if (answer->begun) {
            continue;
        }
        began_ns = began_ns != 0 ? began_ns : clock_now_ns();
        if (took_ns >= HERE_NS_MAX) {
            submit(turn, answer);
            continue;
        }
        run_here(turn, answer);
        took_ns = answer->result != NULL ? took_ns + toolrack_result_duration_ns(answer->result)
                                         : clock_now_ns() - began_ns;
    }
}

static int write_all(struct turn *turn, struct toolrack_text **ret, struct toolrack_error *err) {
    size_t count = turn->message.count;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct format_outcome *outcomes =
            arena_zalloc(&turn->message.arena, (count + 1) * sizeof *outcomes);
    if (outcomes == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct answer *answer = &turn->answers[i];
        outcomes[i].err = &answer->err;
        if (answer->result != NULL) {
            outcomes[i].json = toolrack_result_json(answer->result, &outcomes[i].length);
            outcomes[i].is_content = toolrack_result_is_content(answer->result);
            outcomes[i].changed =
                    toolrack_result_changed(answer->result, &outcomes[i].changed_length);
            outcomes[i].keeping = turn->extra != NULL ? turn->extra->keeping : NULL;
        } else if (answer->own.length > 0) {
            outcomes[i].json = answer->own.data;
            outcomes[i].length = answer->own.length;
        }
    }
    int code = format_write_results(&turn->message, outcomes, &out, err);
    if (code < 0) {
        return code;
    }
    *ret = text_create(&out);
    return *ret != NULL ? 0 : error_oom(err);
}

static int make_answers(struct turn *turn, struct toolrack_error *err) {
    turn->answers = malloc((turn->message.count + 1) * sizeof *turn->answers);
    if (turn->answers == NULL) {
        return error_oom(err);
    }
    turn->snapshot = registry_number(turn->host->registry);
    for (size_t i = 0; i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        /* Members are set one by one: the error in the struct is large. */
        answer->turn = turn;
        answer->result = NULL;
        answer->tool = NULL;
        answer->own = BUF_INIT;
        answer->call = &turn->message.calls[i];
        answer->name = answer->call->name;
        answer->arguments = answer->call->arguments;
        answer->quick = false;
        answer->began_ns = answer->duration_ns = 0;
        answer->told = answer->has_progress = false;
        answer->said = NULL;
        answer->question = 0;
        answer->decided = false;
        answer->allower = NULL;
        answer->begun = answer->call->problem != NULL;
        if (answer->begun) {
            answer->err = *answer->call->problem;
        } else if (!answer_own(turn, answer)) {
            prepare(turn, answer);
        }
        answer->ended = answer->begun;
        answer->quick = answer->quick && turn->watch == NULL; /* what runs here tells too late */
    }
    return 0;
}

int answer_message(struct toolrack *host, enum toolrack_format format, const char *message,
                   size_t length, const struct toolrack_call_options *options,
                   const struct agent_watch *watch, const struct answer_extra *extra,
                   struct toolrack_text **ret, struct toolrack_error *err) {
    struct toolrack_call_options taken = TOOLRACK_CALL_OPTIONS_INIT;
    struct turn turn = {.host = host, .options = &taken, .watch = watch, .extra = extra};
    if (options != NULL) {
        memcpy(&taken, options, options->size < sizeof taken ? options->size : sizeof taken);
        taken.size = sizeof taken;
    }
    turn.offered = taken.offered;
    turn.names = extra != NULL ? extra->names : NULL;
    turn.is_limited = turn.offered != NULL || taken.definitions != NULL || turn.names != NULL;
    if (taken.tolerance == TOOLRACK_TOLERANCE_UNSET) {
        taken.tolerance = (uint64_t)toolrack_format_tolerance(host, format);
    }
    _Alignas(16) char memory[TURN_ROOM];
    int code = format_read_message_in(format, message, length, memory, sizeof memory, &turn.message,
                                      err);
    if (code < 0) {
        return code;
    }
    if (taken.model != NULL) {
        turn.message.model = taken.model;
    }
    if (turn.is_limited && turn.message.count > 0 && turn_names(&turn, err) == NULL) {
        code = err != NULL ? err->code : TOOLRACK_E_INVALID;
        yyjson_doc_free(turn.own_names);
        format_message_finish(&turn.message);
        return code;
    }
    (void)pthread_mutex_init(&turn.lock, NULL);
    (void)pthread_cond_init(&turn.over, NULL);
    code = make_answers(&turn, err);
    if (code == 0) {
        number_questions(&turn);
        begin_slow(&turn);
        run_quick(&turn);
        wait_for_all(&turn);
        for (size_t i = 0; i < turn.message.count; i++) {
            tell_by_names_given(&turn, &turn.answers[i]);
        }
        code = write_all(&turn, ret, err);
        if (code < 0) {
            error_set_begun(err, true); /* the calls were made */
        }
    }
    turn_finish(&turn);
    return code;
}

int toolrack_answer(struct toolrack *host, enum toolrack_format format, const char *message,
                    size_t length, const struct toolrack_call_options *options,
                    struct toolrack_text **ret, struct toolrack_error *err) {
    return answer_message(host, format, message, length, options, NULL, NULL, ret, err);
}
