#include "cli/daemon-places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/xdg.h"
#include "view/json.h"

char *daemon_absolute(const char *path) {
    char *full = NULL;
    if (path == NULL || path[0] == '\0' || path[0] == '/') {
        return path != NULL ? strdup(path) : NULL;
    }
    CLEANUP(freep) char *here = getcwd(NULL, 0);
    return here != NULL && asprintf(&full, "%s/%s", here, path) >= 0 ? full : NULL;
}

char *daemon_folder(const struct options *options) {
    const char *given = options->state_dir;
    if (given == NULL) {
        return xdg_path("XDG_STATE_HOME", ".local/state", "toolrack");
    }
    return given[0] != '\0' ? daemon_absolute(given) : NULL;
}

/* The configuration that the environment names; NULL: none, or no memory. */
static char *config_of_environment(void) {
    return xdg_path("XDG_CONFIG_HOME", ".config", "toolrack/toolrack.json");
}

static void mark(const char *path, char ret[static DAEMON_MARK_ROOM]) {
    struct stat st;
    if (path == NULL || path[0] == '\0' || stat(path, &st) < 0) {
        (void)snprintf(ret, DAEMON_MARK_ROOM, "none");
        return;
    }
    (void)snprintf(ret, DAEMON_MARK_ROOM, "%lld.%09ld %lld %llu", (long long)st.st_mtim.tv_sec,
                   st.st_mtim.tv_nsec, (long long)st.st_size, (unsigned long long)st.st_ino);
}

void daemon_mark_config(const struct options *options, char ret[static DAEMON_MARK_ROOM]) {
    CLEANUP(freep) char *usual = options->config_file == NULL ? config_of_environment() : NULL;
    mark(options->config_file != NULL ? options->config_file : usual, ret);
}

char *daemon_differing_config(const struct options *options, const char *config_mark) {
    char now[DAEMON_MARK_ROOM];
    daemon_mark_config(options, now);
    return strcmp(now, config_mark) == 0  ? NULL
           : options->config_file != NULL ? daemon_absolute(options->config_file)
                                          : config_of_environment();
}

const char *daemon_changed_config(const struct daemon_found *found) {
    yyjson_val *given = yyjson_obj_get(found->options, "config");
    yyjson_val *path =
            yyjson_is_str(given) ? given : yyjson_obj_get(found->options, "usual_config");
    const char *before = yyjson_get_str(yyjson_obj_get(found->options, "config_mark"));
    char now[DAEMON_MARK_ROOM];
    mark(yyjson_get_str(path), now);
    return before != NULL && strcmp(before, now) != 0 ? yyjson_get_str(path) : NULL;
}

static void add_folder(struct buf *out, char *path) {
    buf_add_text(out, path != NULL ? path : "");
    buf_add_char(out, ':');
    free(path);
}

/* The folders of plugins that the environment names, as config/places.c has them. */
static void add_folders_of_environment(struct buf *out) {
    const char *given = getenv("TOOLRACK_PLUGIN_PATH");
    const char *bundled = getenv("TOOLRACK_BUILTIN_DIR");
    CLEANUP(freep) char *parts = strdup(given != NULL ? given : "");
    char *rest = NULL;
    for (char *part = parts != NULL ? strtok_r(parts, ":", &rest) : NULL; part != NULL;
         part = strtok_r(NULL, ":", &rest)) {
        add_folder(out, daemon_absolute(part));
    }
    add_folder(out, xdg_path("XDG_DATA_HOME", ".local/share", "toolrack/plugins"));
    add_folder(out, strdup(bundled != NULL ? bundled : ""));
}

void daemon_add_options(yyjson_mut_doc *doc, yyjson_mut_val *root, const struct options *options,
                        const char *config_mark) {
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "options");
    CLEANUP(freep) char *config = daemon_absolute(options->config_file);
    const char *zone = getenv("TZ");
    json_add_text(doc, object, "config", config);
    json_add_text(doc, object, "config_mark", config_mark);
    json_add_text(doc, object, "zone", zone != NULL ? zone : "");
    CLEANUP(freep) char *usual = config_of_environment();
    CLEANUP(buf_finish) struct buf folders = BUF_INIT;
    add_folders_of_environment(&folders);
    json_add_text(doc, object, "usual_config", usual != NULL ? usual : "");
    json_add_text(doc, object, "usual_plugins", folders.failed ? NULL : folders.data);
    yyjson_mut_val *plugins = yyjson_mut_obj_add_arr(doc, object, "plugins");
    for (size_t i = 0; i < options->plugin_dirs.count; i++) {
        CLEANUP(freep) char *path = daemon_absolute(options->plugin_dirs.items[i]);
        (void)yyjson_mut_arr_add_strcpy(doc, plugins, path);
    }
}

/* What neither command line says is said by the environments. */
static bool is_same_environment(const struct daemon_found *found, const struct options *options) {
    CLEANUP(freep) char *config = config_of_environment();
    CLEANUP(buf_finish) struct buf folders = BUF_INIT;
    yyjson_val *given = found->options;
    bool says_config =
            options->config_file != NULL || yyjson_is_str(yyjson_obj_get(given, "config"));
    bool says_plugins =
            options->plugin_dirs.count > 0 || yyjson_arr_size(yyjson_obj_get(given, "plugins")) > 0;
    add_folders_of_environment(&folders);
    return (says_config || yyjson_equals_str(yyjson_obj_get(given, "usual_config"),
                                             config != NULL ? config : "")) &&
           (says_plugins ||
            (!folders.failed &&
             yyjson_equals_str(yyjson_obj_get(given, "usual_plugins"), folders.data)));
}

static bool is_path(yyjson_val *value, const char *path) {
    CLEANUP(freep) char *full = daemon_absolute(path);
    return full != NULL && yyjson_equals_str(value, full);
}

bool daemon_is_same(const struct daemon_found *found, const struct options *options) {
    yyjson_val *plugins = yyjson_obj_get(found->options, "plugins");
    const char *zone = getenv("TZ");
    /* Times are shown in the zone of who reads them. */
    bool same = yyjson_equals_str(yyjson_obj_get(found->options, "zone"), zone != NULL ? zone : "");
    if (options->config_file != NULL) {
        same = same && is_path(yyjson_obj_get(found->options, "config"), options->config_file);
    }
    if (options->plugin_dirs.count > 0) {
        same = same && yyjson_arr_size(plugins) == options->plugin_dirs.count;
    }
    for (size_t i = 0; same && i < options->plugin_dirs.count; i++) {
        same = is_path(yyjson_arr_get(plugins, i), options->plugin_dirs.items[i]);
    }
    return same && is_same_environment(found, options);
}
