#include "registry/duplicate.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

/* Why the second of two tools is refused, and what to do. */
struct words {
    char reason[512];
    char fix[512];
};

static void describe(const struct change *change, const struct toolrack_tool *first,
                     const struct toolrack_tool *second, struct words *ret) {
    const char *name = toolrack_tool_name(second);
    char other[NAME_LENGTH_MAX + 1];
    change_free_name(change, name, other);
    const char *file = toolrack_tool_file(first);
    const char *own = toolrack_tool_file(second);
    (void)snprintf(ret->reason, sizeof ret->reason,
                   "Tool already exists: %s %s, from plugin %s%s%s%s; that of %s is left out", name,
                   toolrack_tool_version(second), toolrack_tool_plugin(first),
                   file != NULL ? " (" : "", file != NULL ? file : "", file != NULL ? ")" : "",
                   own != NULL ? own : "the second");
    (void)snprintf(ret->fix, sizeof ret->fix,
                   "name it %s, give it another version, or remove the first one", other);
}

/* What a tool is: the plugin's own; a kept version that a file has; one that no file has any more.
 */
static unsigned kept_how(const struct toolrack_tool *tool) {
    return !tool->kept ? 0 : tool->reg->plugin->replaced ? 2 : 1;
}

/* Whether the second of two tools with the same name and version stays, not the first. A kept
 * version gives way to what a file has, unless that is of a plugin less trusted; and a tool that
 * runs elsewhere to one that runs nearer. */
static bool second_stays(const struct toolrack_tool *first, const struct toolrack_tool *second,
                         bool replaces) {
    if (kept_how(first) != kept_how(second)) {
        return kept_how(first) > kept_how(second) &&
               second->reg->plugin->trust >= first->reg->plugin->trust;
    }
    if (plugin_distance(first->reg->plugin) != plugin_distance(second->reg->plugin)) {
        return plugin_distance(first->reg->plugin) > plugin_distance(second->reg->plugin);
    }
    return replaces;
}

static void refuse(const struct change *change, const struct toolrack_tool *first,
                   const struct toolrack_tool *second, struct toolrack_refusals *refusals,
                   const struct owner_rules *rules) {
    const struct log *log = rules->log;
    struct words words = {0};
    describe(change, first, second, &words);
    if (rules->shadowed != NULL) {
        rules->shadowed(rules->user, first, second, words.reason);
    }
    log_line(log, LOG_WARNING, toolrack_tool_plugin(second), "%s; %s", words.reason, words.fix);
    refusals_note(refusals,
                  &(struct toolrack_refusal){.file = toolrack_tool_file(second),
                                             .plugin = toolrack_tool_plugin(second),
                                             .tool = toolrack_tool_name(second),
                                             .rule = REFUSAL_TOOL_EXISTS,
                                             .reason = words.reason,
                                             .fix = words.fix,
                                             .version = toolrack_tool_version(second),
                                             .kept = second->kept},
                  log);
}

/* All refusals are described before a tool is dropped: the search for a free name looks at every
 * tool. */
void duplicates_resolve(struct change *change, bool replaces, struct toolrack_refusals *refusals,
                        const struct owner_rules *rules) {
    const struct log *log = rules->log;
    size_t first_at = 0;
    for (size_t i = 1; i < change->count; i++) {
        struct toolrack_tool *first = change->tools[first_at];
        const struct toolrack_tool *second = change->tools[i];
        bool same = tool_compare_names(first, second) == 0;
        bool is_first = same && !second_stays(first, second, replaces);
        if (is_first && kept_how(second) > kept_how(first)) {
            log_line(log, LOG_INFO, toolrack_tool_plugin(second),
                     "%s %s is not kept: plugin %s has it", toolrack_tool_name(second),
                     toolrack_tool_version(second), toolrack_tool_plugin(first));
        } else if (is_first) {
            refuse(change, first, second, refusals, rules);
        } else if (same) {
            log_line(log,
                     first->kept || plugin_distance(first->reg->plugin) != PLUGIN_HERE
                             ? LOG_INFO
                             : LOG_WARNING,
                     toolrack_tool_plugin(second), "%s %s replaces the one of plugin %s",
                     toolrack_tool_name(second), toolrack_tool_version(second),
                     toolrack_tool_plugin(first));
            if (first->reg->uid <= change->uid_old) {
                change_note(change, TOOLRACK_EVENT_REMOVED, first);
            }
        }
        first_at = is_first ? first_at : i;
    }
    size_t kept = 0;
    for (size_t i = 0; i < change->count; i++) {
        struct toolrack_tool *tool = change->tools[i];
        if (kept == 0 || tool_compare_names(change->tools[kept - 1], tool) != 0) {
            change->tools[kept++] = tool;
        } else if (second_stays(change->tools[kept - 1], tool, replaces)) {
            toolrack_tool_unref(change->tools[kept - 1]);
            change->tools[kept - 1] = tool;
        } else {
            toolrack_tool_unref(tool);
        }
    }
    change->count = kept;
}

int duplicates_check(const struct change *change, struct toolrack_error *err) {
    for (size_t i = 1; i < change->count; i++) {
        const struct toolrack_tool *second = change->tools[i];
        const struct toolrack_tool *first = change->tools[i - 1];
        if (tool_compare_names(first, second) == 0 && !second_stays(first, second, false)) {
            struct words words = {0};
            describe(change, first, second, &words);
            int code = error_set(err, TOOLRACK_E_EXISTS, "%s; %s", words.reason, words.fix);
            error_set_tool(err, toolrack_tool_name(second));
            return code;
        }
    }
    return 0;
}
