#include "registry/setting.h"

#include "base/semver.h"
#include "registry/change.h"

bool setting_is_about(const struct selector *selector, const struct toolrack_tool *tool) {
    return tool_has_name(tool, selector->name, selector->name_length) &&
           (selector->version == NULL ||
            (semver_valid(selector->version) &&
             semver_compare(tool->reg->spec->version, selector->version) == 0));
}

void setting_apply(const struct registry_setting *setting, struct toolrack_tool *const *tools,
                   size_t count) {
    const struct selector *of = &setting->of;
    for (size_t i = change_find_name(tools, count, of->name, of->name_length);
         i < count && tool_has_name(tools[i], of->name, of->name_length); i++) {
        struct toolrack_tool *tool = tools[i];
        bool is_about = setting_is_about(of, tool);
        if (setting->has_default) {
            tool->is_set_default = is_about && of->version != NULL;
        }
        if (is_about && setting->has_enabled) {
            tool->enabled = setting->enabled;
        }
        if (is_about && setting->has_priority) {
            tool->priority = setting->priority;
        }
    }
}
