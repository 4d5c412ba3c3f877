/* own-settings.h - which of their own tools plugins have enabled and disabled while they run. Not
 * kept, and below what an administrator has set. */
#pragma once

#include "registry/registry.h"

struct own_settings;

/** NULL when out of memory. */
struct own_settings *own_settings_create(void);
/** NULL is ignored. */
void own_settings_destroy(struct own_settings *settings);

/** Note one, of the plugin with this identity (plugin->identity_text). False: it is so already, or
 * there is no memory. [any-thread] */
bool own_settings_put(struct own_settings *settings, const char *identity, const char *tool,
                      bool enabled);
/** Forget those of a plugin by its id: another generation of it serves. Returns whether there was
 * one. [any-thread] */
bool own_settings_forget(struct own_settings *settings, const char *plugin_id);
/** Visit all, as registry_options.settings does. [any-thread] */
void own_settings_visit(struct own_settings *settings, registry_take_setting *take,
                        struct registry_views *views);
