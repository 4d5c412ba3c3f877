/* grant, revoke, and lists of grants and approvals. */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "permit/consent.h"
#include "registry/document.h"
#include "registry/selector.h"

/* Longest validity: a hundred years; a longer one is refused, 0 means for ever. */
#define GRANT_SECONDS_MAX (UINT64_C(100) * 366 * 86400)

/* "name" or "name@version", with the version as the tool writes it. */
struct selected {
    struct arena arena;
    const char *name;
    const char *selector;
    struct toolrack_tool **items; /* the selected tools; a reference to each */
    size_t count;
    const struct registration *only; /* used during the search; NULL: all versions */
};

static void selected_finish(struct selected *selected) {
    for (size_t i = 0; i < selected->count; i++) {
        toolrack_tool_unref(selected->items[i]);
    }
    arena_finish(&selected->arena);
}

static void take_versions(void *user, const struct snapshot *snapshot) {
    struct selected *selected = user;
    const struct name_slot *slot = snapshot_find(snapshot, selected->name, strlen(selected->name));
    uint32_t count = slot != NULL ? slot->count : 0;
    selected->items = arena_alloc(&selected->arena, count * sizeof(struct toolrack_tool *));
    for (uint32_t i = 0; selected->items != NULL && i < count; i++) {
        struct toolrack_tool *tool = snapshot->by_name[slot->first + i];
        if (selected->only == NULL || selected->only == tool->reg) {
            selected->items[selected->count++] = toolrack_tool_ref(tool);
        }
    }
}

/* Find the registered tools that a selector selects. */
static int select_tools(struct permit *permit, const char *selector, struct selected *ret,
                        struct toolrack_error *err) {
    struct registry *registry = permit->options.registry;
    const struct selector parsed = selector_parse(selector);
    arena_init(&ret->arena, NULL, 0);
    int code = registry_check_exact(selector, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = NULL;
    ret->selector = selector;
    ret->name = arena_copy(&ret->arena, parsed.name, parsed.name_length);
    if (parsed.version != NULL && ret->name != NULL) {
        tool = registry_get(registry, selector);
        if (tool == NULL) {
            return 0;
        }
        ret->only = tool->reg;
        ret->selector = arena_printf(&ret->arena, "%s@%s", ret->name, toolrack_tool_version(tool));
    }
    if (ret->name == NULL || ret->selector == NULL) {
        return error_oom(err);
    }
    registry_look(registry, take_versions, ret);
    return ret->items != NULL ? 0 : error_oom(err);
}

/* ------------------------------------------------------------------- grant */

static void note(struct permit *permit, const struct selected *selected, const char *decision,
                 const char *who, const char *why) {
    decisions_note(
            &permit->decisions,
            &(struct store_decision){
                    .tool = selected->name,
                    .version = selector_parse(selected->selector).version,
                    .plugin = selected->count > 0 ? toolrack_tool_plugin(selected->items[0]) : NULL,
                    .origin = selected->count > 0 ? selected->items[0]->reg->plugin->origin : NULL,
                    .decision = decision,
                    .who = who,
                    .why = why});
}

static void note_granted(struct permit *permit, const struct selected *selected, uint64_t seconds,
                         const char *who) {
    char why[64];
    (void)snprintf(why, sizeof why, "for %llu s", (unsigned long long)seconds);
    note(permit, selected, "granted", who, seconds != 0 ? why : "until it is revoked");
    for (size_t i = 0; i < selected->count; i++) {
        decisions_note(
                &permit->decisions,
                &(struct store_decision){.tool = selected->name,
                                         .version = toolrack_tool_version(selected->items[i]),
                                         .plugin = toolrack_tool_plugin(selected->items[i]),
                                         .origin = selected->items[i]->reg->plugin->origin,
                                         .decision = "pinned",
                                         .who = who,
                                         .why = "granted as it is now"});
    }
}

int permit_grant(struct permit *permit, const char *name, uint64_t seconds, const char *who,
                 struct toolrack_error *err) {
    CLEANUP(selected_finish) struct selected selected = {0};
    int code = select_tools(permit, name, &selected, err);
    if (code < 0) {
        return code;
    }
    if (selected.count == 0) {
        return registry_not_found(permit->options.registry, name, err);
    }
    if (seconds > GRANT_SECONDS_MAX) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a grant lasts at most %llu seconds, or for ever with 0",
                         (unsigned long long)GRANT_SECONDS_MAX);
    }
    int64_t now_s = clock_wall_s();
    const struct store_grant grant = {.selector = selected.selector,
                                      .expires_s = seconds != 0 ? now_s + (int64_t)seconds : 0,
                                      .who = who,
                                      .granted_s = now_s};
    code = consent_keep(permit, selected.items, selected.count, &grant, NULL, grant.who, err);
    if (code == 0) {
        note_granted(permit, &selected, seconds, grant.who);
    }
    return code;
}

int permit_revoke(struct permit *permit, const char *name, const char *who,
                  struct toolrack_error *err) {
    CLEANUP(selected_finish) struct selected selected = {0};
    int code = select_tools(permit, name, &selected, err);
    if (code == 0) {
        code = consent_withdraw(permit, selected.selector, selected.name, err);
    }
    if (code == 0) {
        note(permit, &selected, "revoked", who, NULL);
    }
    return code;
}

/* ------------------------------------------------------------ configuration */

static void warn_of(struct permit *permit, const char *granted, const char *format, ...)
        TOOLRACK_PRINTF(3, 4);
static void warn_of(struct permit *permit, const char *granted, const char *format, ...) {
    char words[ERROR_MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(words, sizeof words, format, args);
    va_end(args);
    log_line(permit->options.log, LOG_WARNING, "permission", "the configuration grants '%s', %s",
             granted, words);
}

void permit_check_configured(struct permit *permit) {
    OBJECT_CHECK(permit, PERMIT_MAGIC);
    const char *granted;
    for (size_t at = 0; (granted = config_grant(permit->options.config, at)) != NULL; at++) {
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool = registry_get(permit->options.registry, granted);
        struct toolrack_error err;
        if (tool == NULL) {
            (void)registry_not_found(permit->options.registry, granted, &err);
            const char *hint = strstr(err.message, "did you mean");
            warn_of(permit, granted, "which no tool is called%s%s",
                    hint != NULL ? "; " : "; correct the name, or remove it",
                    hint != NULL ? hint : "");
        } else if (tool->granted_until_s == 0 &&
                   (atomic_load(&tool->reg->changed) & REGISTRATION_PERMISSION) != 0) {
            warn_of(permit, granted,
                    "which had another permission when it was first granted; 'toolrack why %s' "
                    "shows the change, and 'toolrack grant %s' grants it as it is now",
                    granted, granted);
        } else if (tool->granted_until_s == 0 && !atomic_load(&tool->reg->held)) {
            warn_of(permit, granted,
                    "which was a tool of another plugin when it was first granted; the tool of "
                    "plugin '%s' is not granted: 'toolrack grant %s' does that",
                    toolrack_tool_plugin(tool), granted);
        }
    }
}

/* -------------------------------------------------------------------- list */

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static yyjson_mut_val *add_row(const struct listing *listing, const char *kind, const char *tool,
                               size_t tool_length, const char *version) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(listing->doc, listing->list);
    document_add_text(listing->doc, row, "kind", kind);
    (void)yyjson_mut_obj_add_strncpy(listing->doc, row, "tool", tool, tool_length);
    document_add_text(listing->doc, row, "version", version);
    return row;
}

static void add_moment(const struct listing *listing, yyjson_mut_val *row, const char *key,
                       int64_t time_s) {
    if (time_s != 0) {
        (void)yyjson_mut_obj_add_sint(listing->doc, row, key, time_s);
    } else {
        (void)yyjson_mut_obj_add_null(listing->doc, row, key);
    }
}

static void add_grant(void *user, const struct store_grant *grant) {
    const struct listing *listing = user;
    const struct selector of = selector_parse(grant->selector);
    yyjson_mut_val *row = add_row(listing, "grant", of.name, of.name_length, of.version);
    document_add_text(listing->doc, row, "conversation", NULL);
    document_add_text(listing->doc, row, "who", grant->who);
    add_moment(listing, row, "since_s", grant->granted_s);
    add_moment(listing, row, "expires_s", grant->expires_s);
}

static void add_approval(void *user, const struct store_approval *approval) {
    const struct listing *listing = user;
    yyjson_mut_val *row =
            add_row(listing, "approval", approval->tool, strlen(approval->tool), approval->version);
    document_add_text(listing->doc, row, "conversation", approval->conversation);
    document_add_text(listing->doc, row, "who", approval->who);
    add_moment(listing, row, "since_s", approval->approved_s);
    add_moment(listing, row, "expires_s", 0);
}

static void add_configured(const struct listing *listing, const struct config *config) {
    const char *name;
    for (size_t at = 0; (name = config_grant(config, at)) != NULL; at++) {
        yyjson_mut_val *row = add_row(listing, "grant", name, strlen(name), NULL);
        document_add_text(listing->doc, row, "conversation", NULL);
        document_add_text(listing->doc, row, "who", "configuration");
        add_moment(listing, row, "since_s", 0);
        add_moment(listing, row, "expires_s", 0);
    }
}

int permit_grants(struct permit *permit, struct toolrack_text **ret, struct toolrack_error *err) {
    struct store *store = permit->options.store;
    struct listing listing;
    listing.doc = document_begin_list(&listing.list);
    add_configured(&listing, permit->options.config);
    int code = store_read_grants(store, clock_wall_s(), add_grant, &listing, err);
    if (code == 0) {
        code = store_approvals_read(store, add_approval, &listing, err);
    }
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}
