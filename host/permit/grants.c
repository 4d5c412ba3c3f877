/* grant and revoke. */
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/object.h"
#include "permit/consent.h"
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
    const struct name_group *group =
            snapshot_find(snapshot, selected->name, strlen(selected->name));
    uint32_t count = group != NULL ? group->count : 0;
    selected->items = arena_alloc(&selected->arena, count * sizeof(struct toolrack_tool *));
    for (uint32_t i = 0; selected->items != NULL && i < count; i++) {
        struct toolrack_tool *tool = group->tools[i];
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
                 const struct store_shared_order *order, struct toolrack_error *err) {
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
                                      .granted_s = now_s,
                                      .order = order};
    code = consent_keep(permit, selected.items, selected.count, &grant, NULL, grant.who, err);
    if (code == 0) {
        note_granted(permit, &selected, seconds, grant.who);
    }
    return code;
}

/* Whether the configuration grants a tool of this name, in any version. */
static bool is_configured(const struct permit *permit, const char *name) {
    size_t length = strlen(name);
    const char *granted;
    for (size_t at = 0; (granted = config_grant(permit->options.config, at)) != NULL; at++) {
        if (strncmp(granted, name, length) == 0 &&
            (granted[length] == '\0' || granted[length] == '@')) {
            return true;
        }
    }
    return false;
}

/* Whether a host may remember an answer to a call of a selected tool. */
static bool may_be_asked_about(const struct selected *selected) {
    bool may = false;
    for (size_t i = 0; i < selected->count; i++) {
        may |= selected->items[i]->reg->spec->tool->permission == TR_CONFIRM;
    }
    return may;
}

/* What the configuration grants stays, and stays bound to the plugin that it was for: its pins are
 * not removed. Else the name would be bound anew to whatever has it now, as it is now. */
int permit_revoke(struct permit *permit, const char *name, const char *who,
                  const struct store_shared_order *order, struct toolrack_error *err) {
    CLEANUP(selected_finish) struct selected selected = {0};
    int code = select_tools(permit, name, &selected, err);
    bool configured = code == 0 && is_configured(permit, selected.name);
    if (code == 0) {
        code = consent_withdraw(permit, selected.selector, selected.name, configured, order, err);
    }
    if (code == TOOLRACK_E_NOT_FOUND && configured) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND,
                         "no person has granted '%s'; the configuration does, and only there it "
                         "can be taken back: remove it from \"grants\"",
                         name);
    }
    if (code == TOOLRACK_E_NOT_FOUND && may_be_asked_about(&selected)) {
        error_append(err, "calls that a person has allowed once, and that have more to ask, are "
                          "asked about again");
    }
    if (code == 0) {
        note(permit, &selected, "revoked", who, NULL);
    }
    return code;
}
