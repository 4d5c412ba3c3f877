#include "serve/subset.h"

#include <string.h>

#include "toolrack/serving.h"

const char *subset_profile(const struct subset *subset, const struct principal *principal) {
    return principal->profile != NULL ? principal->profile : subset->profile;
}

bool subset_is_part(const struct subset *subset, const struct principal *principal) {
    return subset_profile(subset, principal) != NULL || principal->allow != NULL;
}

bool subset_has(const struct subset *subset, const struct principal *principal,
                const struct toolrack_tool *tool) {
    return toolrack_profile_has(subset->host, subset_profile(subset, principal), tool) &&
           toolrack_tools_have(principal->allow, toolrack_tool_name(tool),
                               toolrack_tool_version(tool));
}

/* The version of a name that the list names where it does not have the default. */
static struct toolrack_tool *find_version(const struct subset *subset,
                                          const struct principal *principal, const char *name,
                                          const char **ret_selector) {
    size_t length = strlen(name);
    for (size_t i = 0; principal->allow != NULL && principal->allow[i] != NULL; i++) {
        const char *item = principal->allow[i];
        if (strncmp(item, name, length) != 0 || item[length] != '@') {
            continue;
        }
        struct toolrack_tool *tool = toolrack_get(subset->host, item);
        if (tool != NULL && toolrack_tool_enabled(tool) && subset_has(subset, principal, tool)) {
            *ret_selector = item;
            return tool;
        }
        toolrack_tool_unref(tool);
    }
    return NULL;
}

struct toolrack_tool *subset_find(const struct subset *subset, const struct principal *principal,
                                  const char *name, const char **ret_selector) {
    const char *selector = name;
    struct toolrack_tool *tool = toolrack_get(subset->host, name);
    if (tool != NULL && !subset_has(subset, principal, tool)) {
        toolrack_tool_unref(tool);
        tool = find_version(subset, principal, name, &selector);
    }
    if (ret_selector != NULL) {
        *ret_selector = selector;
    }
    return tool;
}
