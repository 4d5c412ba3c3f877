#include "registry/setting.h"

#include "base/semver.h"
#include "registry/change.h"

bool setting_is_about(const struct selector *selector, const struct toolrack_tool *tool) {
    return tool_has_name(tool, selector->name, selector->name_length) &&
           (selector->version == NULL ||
            (semver_valid(selector->version) &&
             semver_compare(tool->reg->spec->version, selector->version) == 0));
}

static bool has(const char *const *plugins, size_t count, const char *plugin) {
    for (size_t i = 0; i < count; i++) {
        if (strcmp(plugins[i], plugin) == 0) {
            return true;
        }
    }
    return false;
}

size_t setting_plugins(const struct selector *selector, struct toolrack_tool *const *tools,
                       size_t count, const char **ret_plugins) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        const char *plugin = tools[i]->reg->plugin->identity_text;
        if (setting_is_about(selector, tools[i]) && !has(ret_plugins, found, plugin)) {
            ret_plugins[found++] = plugin;
        }
    }
    return found;
}

void setting_apply(const struct registry_setting *setting, struct toolrack_tool *const *tools,
                   size_t count) {
    const struct selector *of = &setting->of;
    for (size_t i = change_find_name(tools, count, of->name, of->name_length);
         i < count && tool_has_name(tools[i], of->name, of->name_length); i++) {
        struct toolrack_tool *tool = tools[i];
        bool is_about = setting_is_about(of, tool) &&
                        (setting->plugin == NULL ||
                         strcmp(setting->plugin, tool->reg->plugin->identity_text) == 0);
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
