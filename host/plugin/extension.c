#include "plugin/extension.h"

#include <stdlib.h>
#include <string.h>

#include "toolrack/ext/paths.h"
#include "toolrack/ext/prompts.h"
#include "toolrack/ext/resources.h"
#include "toolrack/ext/tools.h"

struct extensions {
    struct image_host host;
    struct tr_resources_host resources;
    struct tr_prompts_host prompts;
    struct tr_tools_host tools;
    struct tr_paths_host paths;
    size_t path_count;
    char plugin_id[];
};

static void tell(void *plugin, enum plugin_notice notice, const char *text) {
    struct extensions *extensions = plugin;
    if (extensions != NULL && extensions->host.notice != NULL) {
        extensions->host.notice(extensions->host.user, extensions->plugin_id, notice, text);
    }
}

static void resources_changed(void *plugin) {
    tell(plugin, NOTICE_RESOURCES, NULL);
}

static void resource_updated(void *plugin, const char *uri) {
    tell(plugin, NOTICE_UPDATED, uri);
}

static void prompts_changed(void *plugin) {
    tell(plugin, NOTICE_PROMPTS, NULL);
}

static void set_enabled(void *plugin, const char *tool, bool enabled) {
    tell(plugin, enabled ? NOTICE_ENABLE : NOTICE_DISABLE, tool);
}

static bool get_path(void *plugin, uint64_t index, struct tr_path *ret) {
    const struct extensions *extensions = plugin;
    if (index >= extensions->path_count || ret == NULL || ret->size < sizeof *ret) {
        return false;
    }
    const struct image_path *path = &extensions->host.paths[index];
    ret->flags = (path->writes ? (uint32_t)TR_PATH_WRITES : 0) |
                 (path->is_own ? (uint32_t)TR_PATH_OWN : 0);
    ret->path = path->path;
    return true;
}

struct extensions *extensions_create(const struct image_host *host, const char *plugin_id) {
    struct extensions *made = malloc(sizeof *made + strlen(plugin_id) + 1);
    if (made == NULL) {
        return NULL;
    }
    *made = (struct extensions){.host = *host};
    made->resources = (struct tr_resources_host){.size = sizeof made->resources,
                                                 .plugin = made,
                                                 .changed = resources_changed,
                                                 .updated = resource_updated};
    made->prompts = (struct tr_prompts_host){
            .size = sizeof made->prompts, .plugin = made, .changed = prompts_changed};
    made->tools = (struct tr_tools_host){
            .size = sizeof made->tools, .plugin = made, .set_enabled = set_enabled};
    made->paths =
            (struct tr_paths_host){.size = sizeof made->paths, .plugin = made, .get = get_path};
    while (host->paths != NULL && host->paths[made->path_count].path != NULL) {
        made->path_count++;
    }
    (void)stpcpy(made->plugin_id, plugin_id);
    return made;
}

void extensions_destroy(struct extensions *extensions) {
    free(extensions);
}

const void *extensions_get(struct extensions *extensions, const char *id) {
    if (id == NULL) {
        return NULL;
    }
    return strcmp(id, TR_EXT_RESOURCES) == 0 ? (const void *)&extensions->resources
           : strcmp(id, TR_EXT_PROMPTS) == 0 ? (const void *)&extensions->prompts
           : strcmp(id, TR_EXT_TOOLS) == 0   ? (const void *)&extensions->tools
           : strcmp(id, TR_EXT_PATHS) == 0   ? (const void *)&extensions->paths
                                             : NULL;
}
