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
    const struct name_group *group = snapshot_find(snapshot, selector.name, selector.name_length);
    if (group == NULL || selector.version == NULL) {
        return group != NULL ? group->call : NULL;
    }
    if (!semver_valid(selector.version)) {
        return find_in_range(group->tools, group->count, selector.version);
    }
    for (uint32_t i = 0; i < group->count; i++) {
        if (semver_compare(group->tools[i]->reg->spec->version, selector.version) == 0) {
            return group->tools[i];
        }
    }
    return NULL;
}

/* Whether a name may be suggested: for a call only if a call by it may run. */
static bool is_wanted(const struct name_group *group, bool called) {
    return !called || (group->call != NULL && tool_may_run(group->call));
}

/* The longest name that stands within what a model wrote around it, or NULL. */
static const char *find_within(const struct snapshot *snapshot, const char *written, bool called) {
    const struct name_group *found = NULL;
    size_t at = 0;
    size_t length = 0;
    while (nearest_part(written, &at, &length)) {
        const struct name_group *group = snapshot_find(snapshot, written + at, length);
        bool is_better = group != NULL && is_wanted(group, called) &&
                         (found == NULL || group->length > found->length ||
                          (group->length == found->length && strcmp(group->name, found->name) < 0));
        found = is_better ? group : found;
    }
    return found != NULL ? found->name : NULL;
}

/* The name that is the fewest edits away, and of these the first, if they are at most `edits`; or
 * NULL. */
static const char *find_edited(const struct snapshot *snapshot, const char *typed, unsigned edits,
                               bool called) {
    const uint64_t letters = name_letters(typed);
    const char *found = NULL;
    for (size_t i = 0; i < (size_t)1 << snapshot->name_bits; i++) {
        const struct name_leaf *leaf = snapshot->names[i];
        for (uint32_t k = 0; k < leaf->count; k++) {
            const struct name_group *group = &leaf->groups[k];
            struct nearest trial = {.typed = typed, .edits_end = edits + 1};
            if (nearest_may_be(letters, group->letters, edits) &&
                nearest_try(&trial, group->name) &&
                (found == NULL || trial.edits_end < edits || strcmp(group->name, found) < 0) &&
                is_wanted(group, called)) {
                found = group->name;
                edits = trial.edits_end;
            }
        }
    }
    return found;
}

/* Most of what is mistyped has one wrong letter: names with that are looked for first, since the
 * letters of a name leave out the more of the others the fewer edits there may be. Among 65,000
 * names that takes 1 ms; the distance to each of them took 35 ms. */
const char *find_nearest(const struct snapshot *snapshot, const char *name, bool called) {
    const struct nearest nearest = nearest_to(name);
    const char *found = find_within(snapshot, name, called);
    found = found != NULL ? found : find_edited(snapshot, name, 1, called);
    return found != NULL ? found : find_edited(snapshot, name, nearest.edits_end - 1, called);
}

/* The name is registered, but in no version that the selector asks for; NULL: it asks for none, and
 * all versions are kept ones. */
static int find_no_version(const struct name_group *group, const char *version,
                           struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf versions = BUF_INIT;
    struct semver_range range;
    for (uint32_t i = 0; i < group->count; i++) {
        buf_printf(&versions, "%s%s", i > 0 ? ", " : "", toolrack_tool_version(group->tools[i]));
    }
    if (versions.failed) {
        return error_oom(err);
    }
    const char *name = group->name;
    if (version == NULL) {
        const struct toolrack_tool *newest = group->tools[0];
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
    const struct name_group *group = snapshot_find(snapshot, selector.name, selector.name_length);
    char name[NAME_LENGTH_MAX + 1];
    int code;
    (void)snprintf(name, sizeof name, "%.*s",
                   (int)(selector.name_length < sizeof name ? selector.name_length : sizeof name),
                   selector.name);
    if (group != NULL) {
        code = find_no_version(group, selector.version, err);
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
