/* setting.h - what an administrator has set for the versions of a name, and what that makes of the
 * tools as they are seen. */
#pragma once

#include "registry/selector.h"
#include "registry/tool.h"

/** One setting. What has_... leaves out stays as it was. Strings borrowed. */
struct registry_setting {
    struct selector of; /* a name: all its versions, in place of what was set for single ones */
    bool has_enabled;
    bool enabled;
    bool has_priority;
    int32_t priority;
    bool has_default; /* the version becomes what its name alone means; without one, none is */
};

/** Whether a setting of a selector is about a tool. */
bool setting_is_about(const struct selector *selector, const struct toolrack_tool *tool);

/** Make the views show a setting. Nobody else sees them yet.
 * @param tools  sorted by name; tools of other names are left as they are */
void setting_apply(const struct registry_setting *setting, struct toolrack_tool *const *tools,
                   size_t count);
