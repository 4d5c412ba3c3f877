/* Calls that no person could confirm at once and that wait for an answer. */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "permit/consent.h"
#include "registry/document.h"

/* -------------------------------------------------------------------- list */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

/* Add the arguments as a JSON value, not as a string. */
static void add_arguments(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *arguments) {
    yyjson_doc *read = yyjson_read(arguments, strlen(arguments), YYJSON_READ_NUMBER_AS_RAW);
    yyjson_mut_val *value = yyjson_val_mut_copy(doc, yyjson_doc_get_root(read));
    if (value != NULL) {
        (void)yyjson_mut_obj_add_val(doc, row, "arguments", value);
    } else {
        document_add_text(doc, row, "arguments", arguments);
    }
    yyjson_doc_free(read);
}

static void add_pending(void *user, const struct store_pending *pending) {
    const struct listing *listing = user;
    yyjson_mut_doc *doc = listing->doc;
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

int permit_pending(struct permit *permit, struct toolrack_text **ret, struct toolrack_error *err) {
    struct listing listing;
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

/* The needed members of a call that waits. */
struct waiting {
    const char *id;
    struct arena arena;
    const char *tool; /* NULL: no call with that id waits */
    const char *version;
    const char *conversation;
    const char *plugin; /* its id and its origin: the tool may be of an app that runs elsewhere */
    const char *origin;
};

static void waiting_finish(struct waiting *waiting) {
    arena_finish(&waiting->arena);
}

/* NULL also when out of memory: then the call counts as unknown. */
static const char *keep_text(struct waiting *waiting, const char *text) {
    return text != NULL ? arena_copy(&waiting->arena, text, strlen(text)) : NULL;
}

static void find_waiting(void *user, const struct store_pending *pending) {
    struct waiting *waiting = user;
    if (strcmp(pending->id, waiting->id) == 0) {
        waiting->tool = keep_text(waiting, pending->tool);
        waiting->version = keep_text(waiting, pending->version);
        waiting->conversation = keep_text(waiting, pending->conversation);
        size_t length = pending->plugin != NULL ? identity_id_length(pending->plugin) : 0;
        if (length > 0 && pending->plugin[length] != '\0') {
            waiting->plugin = arena_copy(&waiting->arena, pending->plugin, length);
            waiting->origin = keep_text(waiting, pending->plugin + length + 1);
        }
    }
}

/* The version of the tool that the call waits for, or NULL. */
static struct toolrack_tool *get_version(struct permit *permit, const struct waiting *waiting) {
    CLEANUP(buf_finish) struct buf selector = BUF_INIT;
    if (waiting->tool == NULL || waiting->version == NULL) {
        return NULL;
    }
    buf_printf(&selector, "%s@%s", waiting->tool, waiting->version);
    return selector.failed ? NULL : registry_get(permit->options.registry, selector.data);
}

static bool is_lasting(enum store_answer answer) {
    return answer == STORE_ANSWER_ALLOW_ALWAYS || answer == STORE_ANSWER_ALLOW_CONVERSATION;
}

static int resolve(struct permit *permit, struct waiting *waiting, enum store_answer answer,
                   const char *who, struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = get_version(permit, waiting);
    if (waiting->tool != NULL && tool == NULL && is_lasting(answer)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "'%s@%s' is not here any more; allow the call once, or deny it",
                         waiting->tool, waiting->version != NULL ? waiting->version : "");
    }
    int code = store_pending_resolve(permit->options.store, waiting->id, answer, who,
                                     clock_wall_s(), err);
    if (code == 0 && is_lasting(answer) && tool != NULL) {
        /* An answer for more than this call is an approval of the tool as it is now. */
        code = consent_approve(permit, tool,
                               answer == STORE_ANSWER_ALLOW_ALWAYS ? NULL : waiting->conversation,
                               who, err);
    }
    return code;
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
    int code =
            store_pending_read(permit->options.store, clock_wall_s(), find_waiting, &waiting, err);
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
                               .conversation = waiting.conversation,
                               .decision = answer == STORE_ANSWER_DENY ? "denied" : "approved",
                               .who = who,
                               .why = "the call that waited"});
    }
    return code;
}
