/* setting.h - what an administrator has set for the versions of a name, and its effect on the
 * views. */
#pragma once

#include "registry/selector.h"
#include "registry/tool.h"

/** One setting. Members without has_... stay unchanged. Strings are borrowed. */
struct registry_setting {
    const char *plugin; /* the identity whose tools are meant; NULL: whoever provides the name */
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

/** The identities of the plugins that provide the tools of a selector, each once.
 * @param ret_plugins  room for `count`; the strings belong to the plugins
 * @return how many they are */
size_t setting_plugins(const struct selector *selector, struct toolrack_tool *const *tools,
                       size_t count, const char **ret_plugins);

/** Apply a setting to views, which are not published yet.
 * @param tools  sorted by name; tools of other names are not changed */
void setting_apply(const struct registry_setting *setting, struct toolrack_tool *const *tools,
                   size_t count);
