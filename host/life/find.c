#include "life/find.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "files/folder.h"
#include "life/life.h"
#include "life/parts.h"
#include "registry/registry.h"

/* A plugin that the app registered is known by its tools only. */
struct search {
    const char *id;
    struct plugin *found; /* a reference */
};

static bool look(void *user, struct toolrack_tool *tool) {
    struct search *search = user;
    if (strcmp(toolrack_tool_plugin(tool), search->id) == 0) {
        search->found = plugin_ref(tool->reg->plugin);
    }
    return search->found == NULL;
}

struct plugin *life_find_plugin(struct life *life, const char *name, struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(life->options.registry, name);
    struct plugin *plugin = tool != NULL ? plugin_ref(tool->reg->plugin)
                                         : generations_hold_serving(&life->generations, name);
    struct search search = {.id = name};
    if (plugin == NULL) {
        registry_visit(life->options.registry, look, &search);
        plugin = search.found;
    }
    if (plugin == NULL) {
        (void)registry_not_found(life->options.registry, name, err);
    }
    return plugin;
}

static struct plugin_file *file_of_plugin(const struct plugin *plugin, struct toolrack_error *err) {
    const struct generation *generation = generation_of(plugin);
    if (generation == NULL && plugin->path != NULL) {
        (void)error_set(err, TOOLRACK_E_INVALID,
                        "'%s' is defined in %s, which is read at the start: start again",
                        plugin->desc->plugin->id, plugin->path);
        return NULL;
    }
    if (generation == NULL) {
        (void)error_set(err, TOOLRACK_E_INVALID,
                        "plugin '%s' was registered by the app and has no file to reload",
                        plugin->desc->plugin->id);
        return NULL;
    }
    if (generation->foreign != NULL) {
        (void)error_set(err, TOOLRACK_E_INVALID,
                        "'%s' is a function of an installed library and has no file to reload; its "
                        "workers open the library anew whenever one starts",
                        plugin->desc->plugin->id);
        return NULL;
    }
    return generation->file;
}

/* A refused file is found by the plugin or the tool that its row names. */
static struct plugin_file *file_of_refused(struct life *life, const char *name) {
    struct toolrack_refusals *refusals = registry_refusals(life->options.registry);
    struct plugin_file *file = NULL;
    for (size_t i = 0; refusals != NULL && file == NULL && i < toolrack_refusals_count(refusals);
         i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        bool named = (row->plugin != NULL && strcmp(row->plugin, name) == 0) ||
                     (row->tool != NULL && strcmp(row->tool, name) == 0);
        file = named && row->file != NULL ? files_find(&life->files, row->file) : NULL;
    }
    toolrack_refusals_free(refusals);
    return file;
}

/* The file at a path. A file of one of the folders is added if it is not known yet. */
static struct plugin_file *file_of_path(struct life *life, const char *path) {
    const char *slash = strrchr(path, '/');
    struct plugin_file *known = files_find(&life->files, path);
    if (known != NULL || slash == NULL || !folder_takes_name(slash + 1, strlen(slash + 1))) {
        return known;
    }
    size_t length = (size_t)(slash - path);
    for (size_t i = 0; i < life->options.places->folder_count; i++) {
        const struct scan_folder *folder = &life->options.places->folders[i];
        if (strlen(folder->path) == length && memcmp(folder->path, path, length) == 0) {
            return files_add(&life->files, path, folder);
        }
    }
    return NULL;
}

struct plugin_file *find_file(struct life *life, const char *name, struct toolrack_error *err) {
    CLEANUP(plugin_unrefp) struct plugin *plugin = life_find_plugin(life, name, err);
    if (plugin != NULL) {
        return file_of_plugin(plugin, err);
    }
    struct plugin_file *file = file_of_path(life, name);
    return file != NULL ? file : file_of_refused(life, name);
}
