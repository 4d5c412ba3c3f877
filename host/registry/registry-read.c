#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "registry/find.h"
#include "registry/rcu.h"
#include "registry/registry-parts.h"

uint64_t registry_number(struct registry *registry) {
    rcu_read_begin();
    uint64_t number = registry_current(registry)->number;
    rcu_read_end();
    return number;
}

struct toolrack_tool *registry_get(struct registry *registry, const char *selector) {
    rcu_read_begin();
    struct toolrack_tool *tool = find_tool(registry_current(registry), selector);
    if (tool != NULL) {
        (void)toolrack_tool_ref(tool);
    }
    rcu_read_end();
    return tool;
}

struct tool_hold registry_hold(struct registry *registry, const char *selector, unsigned here) {
    rcu_read_begin();
    struct toolrack_tool *tool = find_tool(registry_current(registry), selector);
    struct tool_hold hold = {0};
    if (tool != NULL) {
        hold = tool_hold(tool, here);
    }
    rcu_read_end();
    return hold;
}

struct toolrack_tool *registry_view(struct registry *registry, const struct registration *reg) {
    struct toolrack_tool *found = NULL;
    rcu_read_begin();
    const struct snapshot *snapshot = registry_current(registry);
    const struct name_group *group =
            snapshot_find(snapshot, reg->spec->tool->name, reg->name_length);
    for (uint32_t i = 0; group != NULL && found == NULL && i < group->count; i++) {
        found = group->tools[i]->reg == reg ? toolrack_tool_ref(group->tools[i]) : NULL;
    }
    rcu_read_end();
    return found;
}

void registry_visit(struct registry *registry, bool (*visit)(void *user, struct toolrack_tool *),
                    void *user) {
    rcu_read_begin();
    const struct snapshot *snapshot = registry_current(registry);
    struct snapshot_place at = {0};
    struct toolrack_tool *tool = snapshot_next(snapshot, &at);
    while (tool != NULL && visit(user, tool)) {
        tool = snapshot_next(snapshot, &at);
    }
    rcu_read_end();
}

void registry_look(struct registry *registry, void (*look)(void *user, const struct snapshot *),
                   void *user) {
    rcu_read_begin();
    look(user, registry_current(registry));
    rcu_read_end();
}

struct toolrack_text *registry_snapshot_text(struct registry *registry, enum toolrack_format format,
                                             enum snapshot_text which, snapshot_define *define) {
    rcu_read_begin();
    struct toolrack_text *text = snapshot_text(registry_current(registry), format, which, define);
    rcu_read_end();
    return text;
}

char *registry_suggest(struct registry *registry, const char *name, bool called) {
    rcu_read_begin();
    const char *nearest = find_nearest(registry_current(registry), name, called);
    char *found = nearest != NULL ? strdup(nearest) : NULL;
    rcu_read_end();
    return found;
}

int registry_check_exact(const char *text, struct toolrack_error *err) {
    const struct selector selector = selector_parse(text);
    return !selector_is_range(&selector)
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "'%s' is a range of versions, which can match another version "
                               "later; name one "
                               "version, such as %.*s@1.2.0, or all of them with the name alone",
                               text, (int)selector.name_length, text);
}

static int not_found(struct registry *registry, const char *selector, bool called,
                     struct toolrack_error *err) {
    rcu_read_begin();
    int code = find_nothing(registry_current(registry), selector, called, err);
    rcu_read_end();
    return code;
}

int registry_not_found(struct registry *registry, const char *selector,
                       struct toolrack_error *err) {
    return not_found(registry, selector, false, err);
}

int registry_not_called(struct registry *registry, const char *selector,
                        struct toolrack_error *err) {
    return not_found(registry, selector, true, err);
}
