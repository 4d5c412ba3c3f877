#include "api/own-settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "plugin/identity.h"
#include "plugin/origin.h"

struct own_setting {
    struct own_setting *next;
    bool enabled;
    const char *tool;
    char identity[];
};

struct own_settings {
    struct lock lock; /* guards the list */
    struct own_setting *first;
};

struct own_settings *own_settings_create(void) {
    struct own_settings *settings = calloc(1, sizeof *settings);
    if (settings != NULL) {
        lock_init(&settings->lock);
    }
    return settings;
}

void own_settings_destroy(struct own_settings *settings) {
    if (settings == NULL) {
        return;
    }
    while (settings->first != NULL) {
        struct own_setting *next = settings->first->next;
        free(settings->first);
        settings->first = next;
    }
    lock_finish(&settings->lock);
    free(settings);
}

bool own_settings_put(struct own_settings *settings, const char *identity, const char *tool,
                      bool enabled) {
    LOCK_SCOPE(&settings->lock);
    for (struct own_setting *at = settings->first; at != NULL; at = at->next) {
        if (strcmp(at->identity, identity) == 0 && strcmp(at->tool, tool) == 0) {
            bool is_new = at->enabled != enabled;
            at->enabled = enabled;
            return is_new;
        }
    }
    size_t identity_size = strlen(identity) + 1;
    struct own_setting *made = malloc(sizeof *made + identity_size + strlen(tool) + 1);
    if (made == NULL) {
        return false;
    }
    made->enabled = enabled;
    memcpy(made->identity, identity, identity_size);
    made->tool = strcpy(made->identity + identity_size, tool);
    made->next = settings->first;
    settings->first = made;
    return true;
}

bool own_settings_forget(struct own_settings *settings, const char *plugin_id) {
    LOCK_SCOPE(&settings->lock);
    size_t length = strlen(plugin_id);
    bool any = false;
    for (struct own_setting **at = &settings->first; *at != NULL;) {
        struct own_setting *one = *at;
        if (identity_id_length(one->identity) == length &&
            strncmp(one->identity, plugin_id, length) == 0) {
            *at = one->next;
            free(one);
            any = true;
        } else {
            at = &one->next;
        }
    }
    return any;
}

void own_settings_visit(struct own_settings *settings, registry_take_setting *take,
                        struct registry_views *views) {
    LOCK_SCOPE(&settings->lock);
    for (const struct own_setting *at = settings->first; at != NULL; at = at->next) {
        take(views,
             &(struct registry_setting){.plugin = at->identity,
                                        .of = {.name = at->tool, .name_length = strlen(at->tool)},
                                        .has_enabled = true,
                                        .enabled = at->enabled});
    }
}
