#include "registry/find.h"

#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/error.h"
#include "base/name.h"
#include "base/semver.h"
#include "registry/selector.h"

/* The first version, downwards, that is in the range and enabled; else the first in the range. */
static struct toolrack_tool *find_in_range(struct toolrack_tool *const *versions, uint32_t count,
                                           const char *text) {
    struct semver_range range;
    struct toolrack_tool *found = NULL;
    if (!semver_range_parse(text, &range)) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!semver_range_has(&range, versions[i]->reg->spec->version)) {
            continue;
        }
        if (versions[i]->enabled) {
            return versions[i];
        }
        found = found != NULL ? found : versions[i];
    }
    return found;
}

struct toolrack_tool *find_tool(const struct snapshot *snapshot, const char *text) {
    const struct selector selector = selector_parse(text);
    const struct name_slot *slot = snapshot_find(snapshot, selector.name, selector.name_length);
    if (slot == NULL || selector.version == NULL) {
        return slot != NULL ? slot->call : NULL;
    }
    struct toolrack_tool *const *versions = &snapshot->by_name[slot->first];
    if (!semver_valid(selector.version)) {
        return find_in_range(versions, slot->count, selector.version);
    }
    for (uint32_t i = 0; i < slot->count; i++) {
        if (semver_compare(versions[i]->reg->spec->version, selector.version) == 0) {
            return versions[i];
        }
    }
    return NULL;
}

/* Whether a call by the tool's name would run this version. */
static bool is_callable(const struct snapshot *snapshot, const struct toolrack_tool *tool) {
    const char *name = toolrack_tool_name(tool);
    const struct name_slot *slot = snapshot_find(snapshot, name, strlen(name));
    return slot != NULL && slot->call == tool && tool_may_run(tool);
}

const char *find_nearest(const struct snapshot *snapshot, const char *name, bool called) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < snapshot->count; i++) {
        const struct toolrack_tool *tool = snapshot->by_name[i];
        struct nearest before = nearest;
        if (nearest_try_tool(&nearest, toolrack_tool_name(tool)) && called &&
            !is_callable(snapshot, tool)) {
            nearest = before;
        }
    }
    return nearest.name;
}

/* The name is registered, but in no version that the selector asks for; NULL: it asks for none, and
 * all versions are kept ones. */
static int find_no_version(const struct snapshot *snapshot, const struct name_slot *slot,
                           const char *version, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf versions = BUF_INIT;
    struct semver_range range;
    for (uint32_t i = 0; i < slot->count; i++) {
        buf_printf(&versions, "%s%s", i > 0 ? ", " : "",
                   toolrack_tool_version(snapshot->by_name[slot->first + i]));
    }
    if (versions.failed) {
        return error_oom(err);
    }
    const char *name = slot->name;
    if (version == NULL) {
        const struct toolrack_tool *newest = snapshot->by_name[slot->first];
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "Tool '%s' is not in plugin %s any more; of its earlier versions there is "
                         "%s: call %s@%s, or go back: %s",
                         name, toolrack_tool_plugin(newest), versions.data, name,
                         toolrack_tool_version(newest),
                         COMMAND("rollback", toolrack_tool_plugin(newest)));
    }
    if (semver_valid(version)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' has no version '%s'; it has %s",
                         name, version, versions.data);
    }
    if (semver_range_parse(version, &range)) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "Tool '%s' has no version in the range '%s'; it has %s", name, version,
                         versions.data);
    }
    return error_set(err, TOOLRACK_E_NOT_FOUND,
                     "Tool '%s' has no version '%s', which is neither a version such as 1.2.0 nor "
                     "a range such as ^1; it has %s",
                     name, version, versions.data);
}

int find_nothing(const struct snapshot *snapshot, const char *text, bool called,
                 struct toolrack_error *err) {
    const struct selector selector = selector_parse(text);
    const struct name_slot *slot = snapshot_find(snapshot, selector.name, selector.name_length);
    char name[NAME_LENGTH_MAX + 1];
    int code;
    (void)snprintf(name, sizeof name, "%.*s",
                   (int)(selector.name_length < sizeof name ? selector.name_length : sizeof name),
                   selector.name);
    if (slot != NULL) {
        code = find_no_version(snapshot, slot, selector.version, err);
    } else if (name[strspn(name, " \t\r\n")] == '\0') {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '<unnamed>' not found");
    } else {
        const char *nearest = find_nearest(snapshot, name, called);
        code = nearest != NULL ? error_set(err, TOOLRACK_E_NOT_FOUND,
                                           "Tool '%s' not found; did you mean '%s'?", name, nearest)
                               : error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' not found", name);
    }
    error_set_tool(err, name);
    return code;
}
