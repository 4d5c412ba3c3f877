/* setting.h - what an administrator has set for the versions of a name, and its effect on the
 * views. */
#pragma once

#include "registry/selector.h"
#include "registry/tool.h"

/** One setting. Members without has_... stay unchanged. Strings are borrowed. */
struct registry_setting {
    struct selector of; /* a name alone: all its versions; replaces those of single versions */
    bool has_enabled;
    bool enabled;
    bool has_priority;
    int32_t priority;
    bool has_default; /* the version becomes the default of its name; without a version, the default
                         is cleared */
};

/** Whether a setting for a selector applies to a tool. */
bool setting_is_about(const struct selector *selector, const struct toolrack_tool *tool);

/** Apply a setting to views, which are not published yet.
 * @param tools  sorted by name; tools of other names are not changed */
void setting_apply(const struct registry_setting *setting, struct toolrack_tool *const *tools,
                   size_t count);
