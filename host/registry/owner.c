#include "registry/owner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "base/name.h"

/* ------------------------------------------------------------------- names */

static size_t end_of_name(const struct change *change, size_t first) {
    const struct registration *reg = change->tools[first]->reg;
    size_t end = first + 1;
    while (end < change->count &&
           tool_has_name(change->tools[end], reg->spec->tool->name, reg->name_length)) {
        end++;
    }
    return end;
}

static bool same_origin(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    const struct plugin *x = a->reg->plugin;
    const struct plugin *y = b->reg->plugin;
    return x == y || strcmp(x->origin, y->origin) == 0;
}

static bool has_origins(const struct change *change, size_t first, size_t end) {
    for (size_t i = first + 1; i < end; i++) {
        if (!same_origin(change->tools[first], change->tools[i])) {
            return true;
        }
    }
    return false;
}

static enum trust rank_of(const struct toolrack_tool *tool) {
    const struct plugin *plugin = tool->reg->plugin;
    return strcmp(plugin->origin, ORIGIN_CONFIGURATION) == 0 ? TRUST_BUILTIN : plugin->trust;
}

/* A tool that runs elsewhere has no name that one has which runs nearer, whoever was there first,
 * unless an administrator says so. */
static bool is_before(const struct toolrack_tool *a, const struct owner_claim *x,
                      const struct toolrack_tool *b, const struct owner_claim *y) {
    bool recorded = x->order != INT64_MAX && y->order != INT64_MAX;
    enum plugin_distance of_a = plugin_distance(a->reg->plugin);
    enum plugin_distance of_b = plugin_distance(b->reg->plugin);
    return x->chosen != y->chosen             ? x->chosen
           : of_a != of_b                     ? of_a < of_b
           : rank_of(a) != rank_of(b)         ? rank_of(a) > rank_of(b)
           : recorded && x->order != y->order ? x->order < y->order
                                              : a->reg->uid < b->reg->uid;
}

/* Find the first tool of the origin that owns a name. @return 0; TOOLRACK_E_NO_MEMORY. */
static int find_owner(const struct change *change, const struct owner_rules *rules, size_t first,
                      size_t end, struct toolrack_tool **ret) {
    struct toolrack_tool *const *tools = &change->tools[first];
    size_t count = end - first;
    size_t best = 0;
    CLEANUP(freep) struct owner_claim *claims = calloc(count, sizeof *claims);
    if (claims == NULL) {
        return TOOLRACK_E_NO_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        claims[i] = (struct owner_claim){.identity = tools[i]->reg->plugin->identity_text,
                                         .order = INT64_MAX};
    }
    if (rules->claims != NULL) {
        rules->claims(rules->user, toolrack_tool_name(tools[0]), claims, count);
    }
    for (size_t i = 1; i < count; i++) {
        best = is_before(tools[i], &claims[i], tools[best], &claims[best]) ? i : best;
    }
    size_t at = 0;
    while (!same_origin(tools[at], tools[best])) {
        at++;
    }
    *ret = tools[at];
    return 0;
}

/* ------------------------------------------------------------------- words */

struct words {
    char reason[896];
    char fix[512];
};

static const char *file_of(const struct toolrack_tool *tool) {
    const char *file = toolrack_tool_file(tool);
    return file != NULL ? file : "the app";
}

static void describe(const struct change *change, const struct toolrack_tool *owner,
                     const struct toolrack_tool *other, struct words *ret) {
    char name[NAME_LENGTH_MAX + 1];
    change_free_name(change, toolrack_tool_name(other), name);
    (void)snprintf(
            ret->reason, sizeof ret->reason,
            "Tool already exists: %s %s, from plugin %s (%s), of trust %s; that of "
            "plugin %s %s (%s), of trust %s, is left out",
            toolrack_tool_name(other), toolrack_tool_version(owner), toolrack_tool_plugin(owner),
            file_of(owner), trust_name(owner->reg->plugin->trust), toolrack_tool_plugin(other),
            toolrack_tool_version(other), file_of(other), trust_name(other->reg->plugin->trust));
    if (tool_is_of_app(other)) {
        (void)snprintf(ret->fix, sizeof ret->fix, "name it %s in the app", name);
        return;
    }
    (void)snprintf(ret->fix, sizeof ret->fix, "name it %s, or give it the name: %s", name,
                   COMMAND("default --plugin", toolrack_tool_plugin(other),
                           toolrack_tool_name(other), toolrack_tool_version(other)));
}

/* The version that the file of a kept version has now, which got no name either; NULL: the file has
 * no such tool any more. */
static const char *own_version(const struct change *change, const struct toolrack_tool *kept,
                               const struct toolrack_refusal *row,
                               const struct toolrack_refusals *refusals) {
    for (size_t i = 0; i < change->count; i++) {
        const struct toolrack_tool *tool = change->tools[i];
        if (!tool->kept && tool_has_name(tool, row->tool, kept->reg->name_length) &&
            strcmp(tool->reg->plugin->identity_text, kept->reg->plugin->identity_text) == 0) {
            return toolrack_tool_version(tool);
        }
    }
    const struct toolrack_refusal *own = refusals_find_own(refusals, row);
    return own != NULL ? own->version : NULL;
}

/* A kept version has a name only with its plugin: the fix names the version that can be chosen. */
static void describe_fix_of_kept(const struct toolrack_tool *kept, const char *own,
                                 struct words *ret) {
    if (own == NULL) {
        (void)snprintf(ret->fix, sizeof ret->fix,
                       "nothing to do: it is an earlier version of plugin %s, which has no such "
                       "tool any more",
                       toolrack_tool_plugin(kept));
        return;
    }
    (void)snprintf(
            ret->fix, sizeof ret->fix,
            "it is an earlier version, and has the name when its plugin has it: %s",
            COMMAND("default --plugin", toolrack_tool_plugin(kept), toolrack_tool_name(kept), own));
}

/* ----------------------------------------------------------------- resolve */

static void shadow(const struct change *change, const struct owner_rules *rules,
                   const struct toolrack_tool *owner, const struct toolrack_tool *other,
                   struct toolrack_refusals *refusals) {
    struct words words = {0};
    describe(change, owner, other, &words);
    const struct toolrack_refusal row = {.file = toolrack_tool_file(other),
                                         .plugin = toolrack_tool_plugin(other),
                                         .tool = toolrack_tool_name(other),
                                         .rule = REFUSAL_TOOL_EXISTS,
                                         .reason = words.reason,
                                         .fix = words.fix,
                                         .version = toolrack_tool_version(other),
                                         .kept = other->kept};
    if (row.kept) {
        describe_fix_of_kept(other, own_version(change, other, &row, refusals), &words);
    }
    if (refusals_have(refusals, &row)) {
        return; /* it has waited for the name and does not get it */
    }
    if (row.file != NULL) {
        refusals_remove_version(refusals, row.file, row.rule, row.tool, row.version);
    }
    refusals_note(refusals, &row, rules->log);
    log_line(rules->log, LOG_WARNING, row.plugin, "%s; %s", words.reason, words.fix);
    if (rules->shadowed != NULL) {
        rules->shadowed(rules->user, owner, other, words.reason);
    }
}

/* All rows are written before a tool is dropped: the search for a free name looks at every tool. */
int owners_resolve(struct change *change, const struct owner_rules *rules,
                   struct toolrack_refusals *refusals, struct toolrack_error *err) {
    CLEANUP(freep) bool *dropped = NULL;
    for (size_t first = 0, end; first < change->count; first = end) {
        struct toolrack_tool *owner = NULL;
        end = end_of_name(change, first);
        if (!has_origins(change, first, end)) {
            continue;
        }
        dropped = dropped != NULL ? dropped : calloc(change->count, sizeof *dropped);
        if (dropped == NULL || find_owner(change, rules, first, end, &owner) < 0) {
            return error_oom(err);
        }
        for (size_t i = first; i < end; i++) {
            dropped[i] = !same_origin(change->tools[i], owner);
            if (dropped[i]) {
                shadow(change, rules, owner, change->tools[i], refusals);
            }
        }
    }
    size_t kept = 0;
    for (size_t i = 0; dropped != NULL && i < change->count; i++) {
        struct toolrack_tool *tool = change->tools[i];
        if (!dropped[i]) {
            change->tools[kept++] = tool;
            continue;
        }
        if (tool->reg->uid <= change->uid_old) {
            change_note(change, TOOLRACK_EVENT_REMOVED, tool);
        }
        toolrack_tool_unref(tool);
    }
    change->count = dropped != NULL ? kept : change->count;
    return 0;
}

int owners_check(const struct change *change, const struct owner_rules *rules,
                 struct toolrack_error *err) {
    for (size_t first = 0, end; first < change->count; first = end) {
        struct toolrack_tool *owner = NULL;
        end = end_of_name(change, first);
        if (!has_origins(change, first, end)) {
            continue;
        }
        if (find_owner(change, rules, first, end, &owner) < 0) {
            return error_oom(err);
        }
        for (size_t i = first; i < end; i++) {
            const struct toolrack_tool *tool = change->tools[i];
            if (tool->reg->uid > change->uid_old && !same_origin(tool, owner)) {
                struct words words = {0};
                describe(change, owner, tool, &words);
                int code = error_set(err, TOOLRACK_E_EXISTS, "%s; %s", words.reason, words.fix);
                error_set_tool(err, toolrack_tool_name(tool));
                return code;
            }
        }
    }
    return 0;
}

/* ------------------------------------------------------------------ shared */

static bool same_plugin(const struct toolrack_tool *a, const struct toolrack_tool *b) {
    return a->reg->plugin == b->reg->plugin ||
           strcmp(toolrack_tool_plugin(a), toolrack_tool_plugin(b)) == 0;
}

static void note_shared(const struct change *change, const struct owner_rules *rules,
                        const struct toolrack_tool *chosen, const struct toolrack_tool *other,
                        struct toolrack_refusals *refusals) {
    struct words words = {0};
    const char *name = toolrack_tool_name(other);
    (void)snprintf(words.reason, sizeof words.reason,
                   "Tool %s is provided by two plugins: a call by its name alone runs %s of plugin "
                   "%s (%s), and %s@%s this one of plugin %s",
                   name, toolrack_tool_version(chosen), toolrack_tool_plugin(chosen),
                   file_of(chosen), name, toolrack_tool_version(other),
                   toolrack_tool_plugin(other));
    if (other->kept) {
        (void)snprintf(words.fix, sizeof words.fix,
                       "name one of them otherwise; an earlier version is never the default");
    } else {
        (void)snprintf(words.fix, sizeof words.fix,
                       "name one of them otherwise, or choose this one: %s",
                       COMMAND("default", name, toolrack_tool_version(other)));
    }
    refusals_note(refusals,
                  &(struct toolrack_refusal){.file = toolrack_tool_file(other),
                                             .plugin = toolrack_tool_plugin(other),
                                             .tool = name,
                                             .rule = OWNER_RULE_SHARED,
                                             .reason = words.reason,
                                             .fix = words.fix,
                                             .version = toolrack_tool_version(other),
                                             .kept = other->kept},
                  rules->log);
    if (chosen->reg->uid > change->uid_old || other->reg->uid > change->uid_old) {
        log_line(rules->log, LOG_INFO, toolrack_tool_plugin(other), "%s; %s", words.reason,
                 words.fix);
        if (rules->shadowed != NULL) {
            rules->shadowed(rules->user, chosen, other, words.reason);
        }
    }
}

static bool is_of_change(const void *user, const struct toolrack_refusal *row) {
    return strcmp(row->rule, OWNER_RULE_SHARED) == 0 && change_is_about(user, row->tool);
}

void owners_note_shared(const struct change *change, const struct owner_rules *rules,
                        struct toolrack_refusals *refusals) {
    refusals_remove_if(refusals, is_of_change, change);
    for (size_t first = 0, end; first < change->count; first = end) {
        end = end_of_name(change, first);
        struct toolrack_tool *chosen =
                end - first > 1 ? snapshot_choose(&change->tools[first], (uint32_t)(end - first))
                                : NULL;
        for (size_t i = first; chosen != NULL && i < end; i++) {
            if (!same_plugin(change->tools[i], chosen)) {
                note_shared(change, rules, chosen, change->tools[i], refusals);
            }
        }
    }
}
