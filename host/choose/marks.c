/* Feedback, blacklist and whitelist. Other processes change them too, so nothing is cached in
 * memory. */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "choose/inside.h"
#include "registry/document.h"
#include "registry/setting.h"
#include "registry/snapshot.h"
#include "store/calls.h"
#include "store/feedback.h"
#include "store/health-rules.h"
#include "store/marks.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* ---------------------------------------------------------------- feedback */

/* Check that the call of an opinion was a call of the tool. */
struct search {
    const struct toolrack_tool *tool;
    int code;
    struct toolrack_error *err;
};

static void look_at(void *user, const struct store_call *call) {
    struct search *search = user;
    const char *name = toolrack_tool_name(search->tool);
    const char *version = toolrack_tool_version(search->tool);
    if (strcmp(call->tool, name) != 0 || strcmp(call->version, version) != 0) {
        search->code = error_set(search->err, TOOLRACK_E_NOT_FOUND,
                                 "call %lld was of '%s@%s', not of '%s@%s'", (long long)call->id,
                                 call->tool, call->version, name, version);
    } else if (!identity_is_of(call->plugin, search->tool->reg->plugin->identity_text)) {
        search->code = error_set(search->err, TOOLRACK_E_NOT_FOUND,
                                 "call %lld was of '%s@%s' of plugin %s, which does not provide it "
                                 "any more",
                                 (long long)call->id, name, version, call->plugin);
    } else {
        search->code = 0;
    }
}

static int check_call(const struct choose *choose, const struct toolrack_tool *tool, uint64_t call,
                      struct toolrack_error *err) {
    (void)choose->options.flush(choose->options.record, NULL); /* failures are logged */
    struct search search = {.tool = tool, .err = err, .code = 1};
    int code = store_call_read(choose->options.store, call <= INT64_MAX ? (int64_t)call : 0,
                               look_at, &search, err);
    if (code < 0 || search.code <= 0) {
        return code < 0 ? code : search.code;
    }
    return error_set(err, TOOLRACK_E_NOT_FOUND, "there is no call %llu in the log",
                     (unsigned long long)call);
}

int choose_feedback(const struct choose *choose, const char *name, bool good, uint64_t call,
                    const char *who, struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(choose->options.registry, name);
    if (tool == NULL) {
        return registry_not_found(choose->options.registry, name, err);
    }
    const struct store_feedback feedback = {.tool = toolrack_tool_name(tool),
                                            .version = toolrack_tool_version(tool),
                                            .plugin = tool->reg->plugin->identity_text,
                                            .good = good,
                                            .call = call,
                                            .who = who,
                                            .time_ms = clock_wall_ms()};
    int code = call != 0 ? check_call(choose, tool, call, err) : 0;
    if (code < 0) {
        error_set_tool(err, feedback.tool);
        return code;
    }
    return store_feedback_add(choose->options.store, &feedback, err);
}

/* -------------------------------------------------------------------- mark */

static enum store_list list_of(enum toolrack_mark mark) {
    return mark == TOOLRACK_MARK_WHITELIST ? STORE_WHITELIST : STORE_BLACKLIST;
}

/* "name@version" with the version as the tool writes it, if `name` selects one existing version;
 * else `name`. NULL: out of memory. */
static const char *selector_of(const struct toolrack_tool *tool, const char *name,
                               struct arena *arena) {
    return tool == NULL || strchr(name, '@') == NULL
                   ? name
                   : arena_printf(arena, "%s@%s", toolrack_tool_name(tool),
                                  toolrack_tool_version(tool));
}

/* `tool` is NULL if nobody provides it any more. */
static void note_mark(const struct choose *choose, const struct store_mark *mark,
                      const struct toolrack_tool *tool, bool on) {
    const char *version = selector_parse(mark->selector).version;
    CLEANUP(freep)
    char *name = strndup(mark->selector, selector_parse(mark->selector).name_length);
    permit_note(choose->options.permit,
                &(struct store_decision){.tool = name != NULL ? name : mark->selector,
                                         .version = name != NULL ? version : NULL,
                                         .plugin = tool != NULL ? toolrack_tool_plugin(tool) : NULL,
                                         .origin = tool != NULL ? tool->reg->plugin->origin : NULL,
                                         .decision = !on ? "unlisted"
                                                     : mark->list == STORE_WHITELIST
                                                             ? "whitelisted"
                                                             : "blacklisted",
                                         .who = mark->who,
                                         .why = mark->why});
}

/* The plugins that provide a tool now; they are on the whitelist, and no later ones of the name. */
struct provided {
    struct selector of;
    struct arena *arena;
    const char **plugins; /* NULL: out of memory */
    size_t count;
};

static void look_for_plugins(void *user, const struct snapshot *snapshot) {
    struct provided *provided = user;
    const struct selector *of = &provided->of;
    const struct name_group *group = snapshot_find(snapshot, of->name, of->name_length);
    size_t count = group != NULL ? group->count : 0;
    const char **plugins = arena_alloc(provided->arena, (count + 1) * sizeof(const char *));
    if (plugins != NULL && group != NULL) {
        provided->count = setting_plugins(of, group->tools, count, plugins);
    }
    bool copied = plugins != NULL;
    for (size_t i = 0; copied && i < provided->count; i++) {
        plugins[i] = arena_printf(provided->arena, "%s", plugins[i]);
        copied = plugins[i] != NULL;
    }
    provided->plugins = copied ? plugins : NULL;
}

static int put_on_list(const struct choose *choose, const struct store_mark *mark,
                       struct arena *arena, struct toolrack_error *err) {
    struct provided provided = {.of = selector_parse(mark->selector), .arena = arena};
    registry_look(choose->options.registry, look_for_plugins, &provided);
    return provided.plugins == NULL ? error_oom(err)
           : provided.count == 0
                   ? registry_not_found(choose->options.registry, mark->selector, err)
                   : store_mark(choose->options.store, mark, provided.plugins, provided.count, err);
}

int choose_mark(const struct choose *choose, enum toolrack_mark mark, const char *name, bool on,
                const char *why, const char *who, const struct store_shared_order *order,
                struct toolrack_error *err) {
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    int code = registry_check_exact(name, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(choose->options.registry, name);
    if (tool == NULL && on) {
        return registry_not_found(choose->options.registry, name, err);
    }
    const struct store_mark new = {.selector = selector_of(tool, name, &arena),
                                   .list = list_of(mark),
                                   .since_ms = clock_wall_ms(),
                                   .who = who,
                                   .why = why,
                                   .order = order};
    code = new.selector == NULL ? error_oom(err)
           : on                 ? put_on_list(choose, &new, &arena, err)
                                : store_unmark(choose->options.store, new.list, new.selector, order,
                                               err);
    if (code == 0) {
        note_mark(choose, &new, tool, on);
    }
    return code;
}

/* ------------------------------------------------------------------ marked */

struct listing {
    enum store_list list;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
};

static yyjson_mut_val *add_row(const struct listing *listing, int64_t since_ms, const char *who,
                               const char *why) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(listing->doc, listing->rows);
    (void)yyjson_mut_obj_add_sint(listing->doc, row, "since_ms", since_ms);
    document_add_text(listing->doc, row, "who", who);
    document_add_text(listing->doc, row, "why", why);
    return row;
}

static void list_mark(void *user, const struct store_mark *mark) {
    const struct listing *listing = user;
    if (mark->list == listing->list) {
        yyjson_mut_val *row = add_row(listing, mark->since_ms, mark->who, mark->why);
        document_add_text(listing->doc, row, "tool", mark->selector);
        (void)yyjson_mut_obj_add_null(listing->doc, row, "retry_ms");
        document_add_identity(listing->doc, row, mark->plugin);
    }
}

static void list_resting(void *user, const char *tool, const char *version, const char *plugin,
                         const struct store_health *health) {
    const struct listing *listing = user;
    if (health->since_ms != 0) {
        yyjson_mut_val *row = add_row(listing, health->since_ms, HEALTH_WHO, HEALTH_WHY);
        CLEANUP(buf_finish) struct buf selector = BUF_INIT;
        buf_printf(&selector, "%s@%s", tool, version);
        document_add_text(listing->doc, row, "tool", selector.data);
        (void)yyjson_mut_obj_add_sint(listing->doc, row, "retry_ms", health->retry_ms);
        document_add_identity(listing->doc, row, plugin);
    }
}

int choose_marked(const struct choose *choose, enum toolrack_mark mark, struct toolrack_text **ret,
                  struct toolrack_error *err) {
    struct listing listing = {.list = list_of(mark)};
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = document_begin_list(&listing.rows);
    listing.doc = doc;
    int code = store_marks_read(choose->options.store, list_mark, &listing, err);
    if (code == 0 && listing.list == STORE_BLACKLIST) {
        code = store_health_read(choose->options.store, list_resting, &listing, err);
    }
    return code < 0 ? code : document_end(STEAL(doc), ret, err);
}
