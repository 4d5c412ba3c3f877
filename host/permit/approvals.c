/* Calls that no person could confirm at once and that wait for an answer. */
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "permit/consent.h"
#include "permit/pin-text.h"
#include "registry/document.h"

/* -------------------------------------------------------------------- list */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
    const char *caller; /* "": none; NULL: all */
};

/* Add the arguments as a JSON value, and as their text: most readers of JSON keep no more of a
 * number than a double has, and a person must see what the tool gets. */
static void add_arguments(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *arguments) {
    yyjson_doc *read = yyjson_read(arguments, strlen(arguments), YYJSON_READ_NUMBER_AS_RAW);
    yyjson_mut_val *value = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
    if (value != NULL) {
        (void)yyjson_mut_obj_add_val(doc, row, "arguments", value);
    } else {
        document_add_text(doc, row, "arguments", arguments);
    }
    yyjson_doc_free(read);
    document_add_text(doc, row, "arguments_text", arguments);
}

static void add_pending(void *user, const struct store_pending *pending) {
    const struct listing *listing = user;
    const char *caller = pending->caller != NULL ? pending->caller : "";
    yyjson_mut_doc *doc = listing->doc;
    if (listing->caller != NULL && strcmp(listing->caller, caller) != 0) {
        return;
    }
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, listing->list);
    document_add_text(doc, row, "id", pending->id);
    document_add_text(doc, row, "tool", pending->tool);
    document_add_text(doc, row, "version", pending->version);
    add_arguments(doc, row, pending->arguments);
    document_add_text(doc, row, "caller", pending->caller);
    document_add_text(doc, row, "channel", pending->channel);
    document_add_text(doc, row, "conversation", pending->conversation);
    document_add_text(doc, row, "reason", pending->reason);
    document_add_identity(doc, row, pending->plugin != NULL ? pending->plugin : "");
    (void)yyjson_mut_obj_add_sint(doc, row, "since_s", pending->created_s);
    (void)yyjson_mut_obj_add_sint(doc, row, "expires_s", pending->expires_s);
}

int permit_pending(struct permit *permit, const struct toolrack_pending_filter *filter,
                   struct toolrack_text **ret, struct toolrack_error *err) {
    struct toolrack_pending_filter taken = {0};
    if (filter != NULL) {
        memcpy(&taken, filter, filter->size < sizeof taken ? filter->size : sizeof taken);
    }
    struct listing listing = {.caller = taken.caller};
    listing.doc = document_begin_list(&listing.list);
    int code =
            store_pending_read(permit->options.store, clock_wall_s(), add_pending, &listing, err);
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}

/* ----------------------------------------------------------------- resolve */

static bool take_answer(int approval, enum store_answer *ret) {
    switch (approval) {
    case TOOLRACK_APPROVAL_ALLOW_ONCE: *ret = STORE_ANSWER_ALLOW_ONCE; return true;
    case TOOLRACK_APPROVAL_ALLOW_CONVERSATION: *ret = STORE_ANSWER_ALLOW_CONVERSATION; return true;
    case TOOLRACK_APPROVAL_ALLOW_ALWAYS: *ret = STORE_ANSWER_ALLOW_ALWAYS; return true;
    case TOOLRACK_APPROVAL_DENY: *ret = STORE_ANSWER_DENY; return true;
    default: return false;
    }
}

static bool is_lasting(enum store_answer answer) {
    return answer == STORE_ANSWER_ALLOW_ALWAYS || answer == STORE_ANSWER_ALLOW_CONVERSATION;
}

/* The needed members of a call that can be answered. */
struct waiting {
    struct arena arena;
    const char *id;
    const char *tool;
    const char *version;
    const char *conversation;
    const char *caller;
    const char *pin;
    const char *identity; /* of its plugin: the tool may be of an app that runs elsewhere */
    const char *plugin;   /* the same as its id and its origin */
    const char *origin;
    bool failed; /* out of memory */
};

static void waiting_finish(struct waiting *waiting) {
    arena_finish(&waiting->arena);
}

static const char *keep(struct waiting *waiting, const char *text, size_t length) {
    const char *kept = arena_copy(&waiting->arena, text, length);
    waiting->failed = waiting->failed || kept == NULL;
    return kept;
}

static const char *keep_text(struct waiting *waiting, const char *text) {
    return text != NULL ? keep(waiting, text, strlen(text)) : NULL;
}

static void take_waiting(void *user, const struct store_pending *pending) {
    struct waiting *waiting = user;
    size_t length = pending->plugin != NULL ? identity_id_length(pending->plugin) : 0;
    waiting->tool = keep_text(waiting, pending->tool);
    waiting->version = keep_text(waiting, pending->version);
    waiting->conversation = keep_text(waiting, pending->conversation);
    waiting->caller = keep_text(waiting, pending->caller);
    waiting->pin = keep_text(waiting, pending->pin);
    waiting->identity = keep_text(waiting, pending->plugin);
    if (length > 0 && pending->plugin[length] != '\0') {
        waiting->plugin = keep(waiting, pending->plugin, length);
        waiting->origin = keep_text(waiting, pending->plugin + length + 1);
    }
}

/* The tool that has the name and the version of a call that waits. */
struct search {
    const struct waiting *waiting;
    struct toolrack_tool *tool; /* a reference; of the call's plugin, if that has it */
};

static bool is_of_plugin(const struct waiting *waiting, const struct toolrack_tool *tool) {
    return waiting->identity == NULL ||
           identity_is_of(waiting->identity, tool->reg->plugin->identity_text);
}

static void find_version(void *user, const struct snapshot *snapshot) {
    struct search *search = user;
    const struct waiting *waiting = search->waiting;
    const struct name_group *group = snapshot_find(snapshot, waiting->tool, strlen(waiting->tool));
    for (uint32_t i = 0; group != NULL && i < group->count; i++) {
        struct toolrack_tool *tool = group->tools[i];
        if (strcmp(waiting->version, toolrack_tool_version(tool)) == 0 &&
            (search->tool == NULL || is_of_plugin(waiting, tool))) {
            toolrack_tool_unref(search->tool);
            search->tool = toolrack_tool_ref(tool);
        }
    }
}

/* The answer is for the tool that the call found. */
static int check_same(const struct waiting *waiting, const struct toolrack_tool *tool,
                      struct toolrack_error *err) {
    char now[PIN_TEXT_ROOM];
    char words[REGISTRATION_WORDS_ROOM];
    if (!is_of_plugin(waiting, tool)) {
        return error_set(
                err, TOOLRACK_E_INVALID,
                "'%s@%s' is of another plugin now, '%s' from %s, than when this call began "
                "to wait; let it be called again",
                waiting->tool, waiting->version, toolrack_tool_plugin(tool),
                tool->reg->plugin->origin);
    }
    pin_text_make(tool->reg, now);
    unsigned changed = waiting->pin != NULL ? pin_text_compare(waiting->pin, now) : 0;
    if (changed == 0) {
        return 0;
    }
    CLEANUP(buf_finish) struct buf selector = BUF_INIT;
    buf_printf(&selector, "%s@%s", waiting->tool, waiting->version);
    return selector.failed
                   ? error_oom(err)
                   : error_set(
                             err, TOOLRACK_E_INVALID,
                             "'%s' is not what it was when this call began to wait: %s; let it be "
                             "called again; see what it is now: %s",
                             selector.data, registration_change_words(changed, words),
                             COMMAND("show", selector.data));
}

static int resolve(struct permit *permit, const struct waiting *waiting, enum store_answer answer,
                   const char *who, struct toolrack_error *err) {
    struct search search = {.waiting = waiting};
    registry_look(permit->options.registry, find_version, &search);
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = search.tool;
    /* A tool that is not here may be of an app that runs elsewhere: that compares it. */
    int code = answer != STORE_ANSWER_DENY && tool != NULL ? check_same(waiting, tool, err) : 0;
    if (code < 0) {
        return code;
    }
    if (!is_lasting(answer)) {
        return store_pending_resolve(permit->options.store, waiting->id, answer, who,
                                     clock_wall_s(), err);
    }
    if (waiting->identity != NULL && strcmp(waiting->identity, PLAN_PLUGIN) == 0) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s is a whole plan: allow this run, or deny it; only single tools are "
                         "approved for a conversation or for always",
                         waiting->tool);
    }
    if (tool == NULL) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "'%s@%s' is not here any more; allow the call once, or deny it",
                         waiting->tool, waiting->version);
    }
    const char *conversation = waiting->conversation != NULL ? waiting->conversation : "";
    return consent_approve(permit, tool, answer == STORE_ANSWER_ALLOW_ALWAYS ? NULL : conversation,
                           waiting->caller, waiting->id, who, err);
}

int permit_resolve(struct permit *permit, const char *id, enum toolrack_approval approval,
                   const char *who, struct toolrack_error *err) {
    CLEANUP(waiting_finish) struct waiting waiting = {.id = id};
    arena_init(&waiting.arena, NULL, 0);
    enum store_answer answer;
    if (!take_answer((int)approval, &answer)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "an approval is resolved by allowing or denying the call");
    }
    int code = store_pending_find(permit->options.store, id, answer, clock_wall_s(), take_waiting,
                                  &waiting, err);
    if (code == 0 && waiting.failed) {
        code = error_oom(err);
    }
    if (code == 0) {
        code = resolve(permit, &waiting, answer, who, err);
    }
    if (code == 0 && !is_lasting(answer)) {
        decisions_note(&permit->decisions,
                       &(struct store_decision){
                               .tool = waiting.tool,
                               .version = waiting.version,
                               .plugin = waiting.plugin,
                               .origin = waiting.origin,
                               .caller = waiting.caller,
                               .conversation = waiting.conversation,
                               .decision = answer == STORE_ANSWER_DENY ? "denied" : "approved",
                               .who = who,
                               .why = "the call that waited"});
    }
    return code;
}
