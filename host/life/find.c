#include "life/find.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/error.h"
#include "base/name.h"
#include "base/utf8.h"
#include "files/folder.h"
#include "life/life.h"
#include "life/parts.h"
#include "registry/find.h"
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

struct suggestion {
    const char *typed;
    char id[NAME_LENGTH_MAX + 1];   /* the nearest id of a plugin, or "" */
    char tool[NAME_LENGTH_MAX + 1]; /* else the nearest name of a tool, or "" */
    bool is_tool;                   /* a tool has the name, in other versions */
};

static void suggest(void *user, const struct snapshot *snapshot) {
    struct suggestion *suggestion = user;
    struct nearest nearest = nearest_to(suggestion->typed);
    const struct toolrack_tool *one;
    for (struct snapshot_place at = {0}; (one = snapshot_next(snapshot, &at)) != NULL;) {
        (void)nearest_try(&nearest, toolrack_tool_plugin(one));
    }
    utf8_copy(suggestion->id, sizeof suggestion->id, nearest.name != NULL ? nearest.name : "");
    const char *tool = find_nearest(snapshot, suggestion->typed, false);
    utf8_copy(suggestion->tool, sizeof suggestion->tool, tool != NULL ? tool : "");
    size_t length = strcspn(suggestion->typed, "@");
    suggestion->is_tool = suggestion->typed[length] == '@' ||
                          snapshot_find(snapshot, suggestion->typed, length) != NULL;
}

/* Whether a file has that path or, without its folder, that name. */
static bool is_file(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    return strcmp(path, name) == 0 || (slash != NULL && strcmp(slash + 1, name) == 0);
}

/* Whether a plugin of that id, or the file of that name, was refused; then the error says why. */
static bool was_refused(struct life *life, const char *id, struct toolrack_error *err) {
    struct toolrack_refusals *refusals = registry_refusals(life->options.registry);
    bool found = false;
    for (size_t i = 0; refusals != NULL && !found && i < toolrack_refusals_count(refusals); i++) {
        const struct toolrack_refusal *row = toolrack_refusals_get(refusals, i);
        bool is_of_file = row->file != NULL && row->tool == NULL && is_file(row->file, id);
        found = is_of_file ||
                (row->plugin != NULL && row->file != NULL && strcmp(row->plugin, id) == 0);
        if (is_of_file) {
            (void)error_set(err, TOOLRACK_E_NOT_FOUND, "%s was refused: %s; %s", row->file,
                            row->reason, row->fix);
        } else if (found) {
            (void)error_set(err, TOOLRACK_E_NOT_FOUND, "Plugin '%s' of %s was refused: %s; %s", id,
                            row->file, row->reason, row->fix);
        }
    }
    toolrack_refusals_free(refusals);
    return found;
}

int life_not_found(struct life *life, const char *name, struct toolrack_error *err) {
    struct suggestion suggestion = {.typed = name};
    registry_look(life->options.registry, suggest, &suggestion);
    if (suggestion.is_tool) {
        return registry_not_found(life->options.registry, name, err);
    }
    if (was_refused(life, name, err)) {
        return TOOLRACK_E_NOT_FOUND;
    }
    if (suggestion.id[0] == '\0' && suggestion.tool[0] == '\0') {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "Plugin '%s' not found, nor a tool or a plugin file of that name; see "
                         "which plugins there are: %s",
                         name, COMMAND("plugins"));
    }
    bool is_plugin = suggestion.id[0] != '\0';
    return error_set(
            err, TOOLRACK_E_NOT_FOUND,
            "Plugin '%s' not found, nor a tool or a plugin file of that name; did you mean "
            "%s'%s'?",
            name, is_plugin ? "" : "the tool ", is_plugin ? suggestion.id : suggestion.tool);
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
        (void)life_not_found(life, name, err);
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

/* The file in a folder of plugins; added if it is not known yet. */
static struct plugin_file *file_in(struct life *life, const struct scan_folder *folder,
                                   const char *name) {
    CLEANUP(freep) char *path = NULL;
    if (asprintf(&path, "%s/%s", folder->path, name) < 0) {
        path = NULL;
        return NULL;
    }
    return files_add(&life->files, path, folder);
}

/* Whether two paths lead to the same folder. */
static bool same_folder(const char *a, const char *b) {
    struct stat x;
    struct stat y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* A known file that is, or is a symbolic link to, what the path leads to. */
static struct plugin_file *file_behind(struct life *life, const char *path) {
    struct stat wanted;
    struct stat st;
    struct plugin_file *at = NULL;
    if (stat(path, &wanted) < 0) {
        return NULL;
    }
    while ((at = files_next(&life->files, at)) != NULL &&
           !(stat(at->path, &st) == 0 && st.st_dev == wanted.st_dev &&
             st.st_ino == wanted.st_ino)) {
    }
    return at;
}

/* The file at a path, absolute or not. A file of one of the folders is added if it is not known
 * yet.
 */
static struct plugin_file *file_of_path(struct life *life, const char *path) {
    const struct places *places = life->options.places;
    const char *slash = strrchr(path, '/');
    struct plugin_file *known = files_find(&life->files, path);
    if (known != NULL || slash == NULL) {
        return known;
    }
    if (!folder_takes_name(slash + 1, strlen(slash + 1))) {
        return file_behind(life, path);
    }
    size_t length = (size_t)(slash - path);
    CLEANUP(freep) char *above = length > 0 ? strndup(path, length) : strdup("/");
    for (size_t i = 0; above != NULL && i < places->folder_count; i++) {
        if (same_folder(places->folders[i].path, above)) {
            return file_in(life, &places->folders[i], slash + 1);
        }
    }
    return file_behind(life, path);
}

/* The known file with this name, without its folder.
 * @return NULL with err set if several have it. */
static struct plugin_file *file_of_name(struct life *life, const char *name,
                                        struct toolrack_error *err) {
    struct plugin_file *found = NULL;
    for (struct plugin_file *at = NULL; (at = files_next(&life->files, at)) != NULL;) {
        const char *slash = strrchr(at->path, '/');
        if (slash == NULL || strcmp(slash + 1, name) != 0) {
            continue;
        }
        if (found != NULL) {
            (void)error_set(err, TOOLRACK_E_INVALID,
                            "two files are named %s: %s and %s; name one by its path", name,
                            found->path, at->path);
            return NULL;
        }
        found = at;
    }
    return found;
}

struct plugin_file *find_file(struct life *life, const char *name, struct toolrack_error *err) {
    CLEANUP(plugin_unrefp) struct plugin *plugin = life_find_plugin(life, name, err);
    if (plugin != NULL) {
        return file_of_plugin(plugin, err);
    }
    struct plugin_file *file = file_of_path(life, name);
    file = file != NULL ? file : file_of_name(life, name, err);
    bool is_ambiguous = file == NULL && err != NULL && err->code == TOOLRACK_E_INVALID;
    return file != NULL || is_ambiguous ? file : file_of_refused(life, name);
}

struct plugin *life_find_described(struct life *life, const char *name) {
    struct toolrack_error unheard;
    struct plugin *plugin = life_find_plugin(life, name, &unheard);
    struct plugin_file *file = plugin == NULL ? file_of_path(life, name) : NULL;
    if (plugin == NULL && file == NULL) {
        file = file_of_name(life, name, &unheard);
    }
    return file != NULL ? generations_serving(&life->generations, file) : plugin;
}
