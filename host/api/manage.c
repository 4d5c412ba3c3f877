#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/defaults.h"
#include "api/follow.h"
#include "api/host.h"
#include "api/mounts.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "store/defaults.h"

/* --------------------------------------------------------------- settings */

struct reading {
    registry_take_setting *take;
    struct registry_views *views;
};

static void take_setting(void *user, const struct store_setting *kept) {
    const struct reading *reading = user;
    reading->take(reading->views, &(struct registry_setting){
                                          .plugin = kept->plugin[0] != '\0' ? kept->plugin : NULL,
                                          .of = selector_parse(kept->selector),
                                          .has_enabled = kept->has_enabled,
                                          .enabled = kept->enabled,
                                          .has_priority = kept->has_priority,
                                          .priority = kept->priority});
}

static void take_default(void *user, const struct store_default *kept) {
    const struct reading *reading = user;
    const struct selector of = {
            .name = kept->tool, .name_length = strlen(kept->tool), .version = kept->version};
    reading->take(reading->views, &(struct registry_setting){.of = of, .has_default = true});
}

int host_settings(void *user, registry_take_setting *take, struct registry_views *views,
                  struct toolrack_error *err) {
    const struct toolrack *host = user;
    struct reading reading = {.take = take, .views = views};
    if (atomic_load(&host->settings_unread)) {
        return 0;
    }
    own_settings_visit(host->own, take, views); /* below what an administrator has set */
    int code = store_read_settings(host->store, take_setting, &reading, err);
    return code < 0 ? code : store_defaults_read(host->store, take_default, &reading, err);
}

/* A setting is stored before it takes effect, so that an acknowledged setting survives. What
 * favours a tool is stored for the plugins that provide it now, and for no later ones of that name.
 */
struct keeping {
    struct store *store;
    struct store_setting setting;
};

static int keep(void *user, struct toolrack_tool *const *tools, size_t count,
                struct toolrack_error *err) {
    const struct keeping *keeping = user;
    const struct store_setting *setting = &keeping->setting;
    const struct selector of = selector_parse(setting->selector);
    CLEANUP(freep) const char **plugins = calloc(count + 1, sizeof(const char *));
    if (plugins == NULL) {
        return error_oom(err);
    }
    size_t plugin_count = setting_plugins(&of, tools, count, plugins);
    return plugin_count == 0
                   ? error_set(err, TOOLRACK_E_NOT_FOUND, "'%s' is not registered any more",
                               setting->selector)
                   : store_keep_setting(keeping->store, setting, plugins, plugin_count, err);
}

static void note_setting(struct toolrack *host, const struct toolrack_tool *tool,
                         const struct store_setting *setting, const char *who) {
    char why[32];
    (void)snprintf(why, sizeof why, "priority %d", setting->priority);
    permit_note(host->permit,
                &(struct store_decision){.tool = toolrack_tool_name(tool),
                                         .version = strchr(setting->selector, '@') != NULL
                                                            ? toolrack_tool_version(tool)
                                                            : NULL,
                                         .plugin = toolrack_tool_plugin(tool),
                                         .origin = tool->reg->plugin->origin,
                                         .decision = setting->has_priority ? "prioritized"
                                                     : setting->enabled    ? "enabled"
                                                                           : "disabled",
                                         .who = host_who(host, who),
                                         .why = setting->has_priority ? why : NULL});
}

/* Nothing is set for this selector any more. */
static int clear(struct toolrack *host, const struct store_setting *setting,
                 struct toolrack_error *err) {
    int code = store_keep_setting(host->store, setting, NULL, 0, err);
    return code < 0 ? code : permit_follow(host->permit, err);
}

int host_set(struct toolrack *host, const struct store_setting *setting, const char *who,
             struct toolrack_error *err) {
    int code = registry_check_exact(setting->selector, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(host->registry, setting->selector);
    if (tool == NULL) {
        return follow_not_found(host, registry_not_found(host->registry, setting->selector, err),
                                err);
    }
    struct keeping keeping = {.store = host->store, .setting = *setting};
    struct hosts_telling telling;
    follow_begin(host, &telling);
    code = setting->clears ? clear(host, setting, err)
                           : registry_set(host->registry,
                                          &(struct registry_setting){
                                                  .of = selector_parse(setting->selector),
                                                  .has_enabled = setting->has_enabled,
                                                  .enabled = setting->enabled,
                                                  .has_priority = setting->has_priority,
                                                  .priority = setting->priority},
                                          keep, &keeping, err);
    if (code == 0 && !setting->clears) {
        note_setting(host, tool, setting, who);
    }
    return follow_end(host, &telling, HOSTS_DECISION, code);
}

int toolrack_set_enabled(struct toolrack *host, const char *name, bool enabled, const char *who,
                         struct toolrack_error *err) {
    HOST_SCOPE(host);
    return host_set(
            host,
            &(struct store_setting){.selector = name, .has_enabled = true, .enabled = enabled}, who,
            err);
}

int toolrack_set_priority(struct toolrack *host, const char *name, int priority, const char *who,
                          struct toolrack_error *err) {
    HOST_SCOPE(host);
    return host_set(
            host,
            &(struct store_setting){.selector = name, .has_priority = true, .priority = priority},
            who, err);
}

/* ---------------------------------------------------------------- register */

/* All tools of the app's descriptor must be valid. */
static int check_sound(const struct descriptor *desc, struct toolrack_error *err) {
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        if (finding->severity == FINDING_ERROR) {
            int code = error_set(err, TOOLRACK_E_REFUSED, "%s (%s): %s", finding->cause,
                                 finding->rule, finding->fix);
            error_set_tool(finding->tool != NULL ? err : NULL, finding->tool);
            return code;
        }
    }
    return 0;
}

static int make_plugin(struct toolrack *host, const struct host_registering *registering,
                       struct plugin **ret, struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    bool no_memory;
    struct descriptor_options options = tool_descriptor_options(&no_memory);
    int code = descriptor_copy(registering->plugin, &options, &desc, err);
    if (code == 0 && no_memory) {
        code = error_oom(err);
    }
    if (code == 0) {
        code = check_sound(desc, err);
    }
    if (code < 0) {
        return code;
    }
    struct plugin *plugin =
            plugin_create(NULL, registering->trust, registering->origin, NULL, desc, &host->images);
    if (plugin == NULL) {
        return error_oom(err);
    }
    struct config_policy policy;
    config_policy(host->config, desc->plugin->id, &policy);
    plugin->measures_all = policy.measure == MEASURE_ALL;
    plugin->pin = config_settings(host->config)->pin != PIN_UNSTATED
                          ? config_settings(host->config)->pin
                          : PIN_WARN;
    *ret = plugin;
    return 0;
}

int host_register(struct toolrack *host, const struct host_registering *registering,
                  uint64_t *ret_uids, struct toolrack_error *err) {
    CLEANUP(plugin_unrefp) struct plugin *plugin = NULL;
    const struct run_service *service = registering->service;
    int code = make_plugin(host, registering, &plugin, err);
    if (code < 0) {
        if (service != NULL && service->release != NULL) {
            service->release(service->user);
        }
        return code;
    }
    if (service != NULL) {
        plugin->service = *service;
    }
    return registry_add_all(host->registry, plugin, ret_uids, err);
}

int toolrack_register(struct toolrack *host, const struct tr_plugin *source, uint64_t *ret_uids,
                      struct toolrack_error *err) {
    HOST_SCOPE(host);
    return host_register(host,
                         &(struct host_registering){
                                 .plugin = source, .trust = TRUST_BUILTIN, .origin = ORIGIN_APP},
                         ret_uids, err);
}

int toolrack_set_returns(struct toolrack *host, uint64_t uid, bool returns,
                         struct toolrack_error *err) {
    HOST_SCOPE(host);
    return registry_set_returns(host->registry, uid, returns, err);
}

int toolrack_unregister(struct toolrack *host, uint64_t uid, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return registry_remove(host->registry, uid, err);
}

int toolrack_unregister_name(struct toolrack *host, const char *name, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return registry_remove_name(host->registry, name, err);
}

int toolrack_add_service(struct toolrack *host, const struct toolrack_service *service,
                         struct toolrack_error *err) {
    HOST_SCOPE(host);
    return life_add_service(host->life, service, err);
}

/* ------------------------------------------------------------ reload and release */

int toolrack_reload(struct toolrack *host, const char *name, struct toolrack_text **ret_report,
                    struct toolrack_error *err) {
    HOST_SCOPE(host);
    int code;
    if (name != NULL && mounts_reload(host->mounts, name, ret_report, &code, err)) {
        return code;
    }
    if (name == NULL) {
        mounts_retry(host->mounts);
    }
    return life_reload(host->life, name, ret_report, err);
}

int toolrack_rollback(struct toolrack *host, const char *name, const char *who,
                      struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    return follow_end(host, &telling, HOSTS_CONTENT,
                      life_rollback(host->life, name, host_who(host, who), err));
}

int toolrack_adopt(struct toolrack *host, const char *name, const char *who,
                   struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    return follow_end(host, &telling, HOSTS_DECISION,
                      life_adopt(host->life, name, host_who(host, who), err));
}

int toolrack_release(struct toolrack *host, const char *name, const char *who,
                     struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    return follow_end(host, &telling, HOSTS_DECISION,
                      life_release(host->life, name, host_who(host, who), err));
}
