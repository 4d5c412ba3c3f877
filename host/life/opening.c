/* What opening a host does with the plugin files. */
#include "life/life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "life/parts.h"
#include "life/reload.h"
#include "registry/registry.h"
#include "store/generations.h"
#include "store/loading.h"
#include "store/quarantine.h"

/* ----------------------------------------------------------------- refused */

static void refuse_file(struct life *life, const struct scan_file *scanned) {
    size_t count = 0;
    struct toolrack_refusal *rows =
            scanned->descriptor->finding_count > 0
                    ? reload_refusals(scanned->path, scanned->descriptor, &count)
                    : NULL;
    for (size_t i = 0; i < count; i++) {
        registry_refuse(life->options.registry, &rows[i]);
    }
    free(rows);
}

static void tell_troubles(struct life *life, const struct scan *scan) {
    for (size_t i = 0; i < scan->trouble_count; i++) {
        const struct scan_trouble *trouble = &scan->troubles[i];
        log_line(life->options.log, LOG_WARNING, "scan", "%s: %s", trouble->path, trouble->reason);
    }
}

/* ---------------------------------------------------------------- left out */

static void describe(const struct store_unclean *unclean, const char *plugin_id, char *reason,
                     size_t room) {
    char moment[CLOCK_TEXT_ROOM];
    (void)snprintf(reason, room,
                   "process %lld ended at %s while it loaded plugin '%s', so it is left out; "
                   "'toolrack reload %s' or 'toolrack release %s' lets it run again",
                   (long long)unclean->pid, clock_wall_text(unclean->since_s, moment), plugin_id,
                   plugin_id, plugin_id);
}

/* Whether the file was changed after the mark was left: what is there now has not been tried. */
static bool is_another(const struct plugin *plugin, const struct store_unclean *unclean) {
    return plugin->identity.ctime_ns / (int64_t)CLOCK_NS_PER_S > unclean->since_s;
}

static void take_mark(void *user, const struct store_unclean *unclean) {
    struct life *life = user;
    struct plugin_file *file = files_find(&life->files, unclean->path);
    CLEANUP(plugin_unrefp)
    struct plugin *plugin = file != NULL ? generations_serving(&life->generations, file) : NULL;
    if (plugin == NULL || plugin->isolated) {
        return; /* a worker that dies takes nobody with it */
    }
    if (is_another(plugin, unclean)) {
        (void)store_loading_clear(life->options.store, unclean->path, NULL);
        return;
    }
    char reason[ERROR_MESSAGE_MAX];
    describe(unclean, plugin->desc->plugin->id, reason, sizeof reason);
    plugin_leave_out(plugin, reason);
    log_line(life->options.log, LOG_WARNING, plugin->desc->plugin->id, "%s", reason);
}

static void leave_out(struct life *life) {
    struct toolrack_error err;
    if (store_loading_read(life->options.store, take_mark, life, &err) < 0) {
        log_line(life->options.log, LOG_ERROR, "store",
                 "a plugin that has ended a process before may be loaded again: %s", err.message);
    }
}

/* ---------------------------------------------------------------- register */

/* What the store says of files, read once for all of them. */
struct opening {
    struct life *life;
    const struct scan *scan;
    bool *rolled_back; /* by the number of the file in the scan */
};

static void see_rollback(void *user, const struct store_rollback *kept) {
    const struct opening *opening = user;
    for (size_t i = 0; i < opening->scan->file_count; i++) {
        if (strcmp(opening->scan->files[i].path, kept->path) == 0) {
            opening->rolled_back[i] = true;
        }
    }
}

static void see_quarantine(void *user, const struct store_quarantine *kept) {
    struct life *life = ((const struct opening *)user)->life;
    struct plugin *held;
    for (size_t at = 0; (held = generations_hold(&life->generations, kept->plugin, at)) != NULL;
         at++) {
        isolate_recall(&life->isolate, held);
        plugin_unref(held);
    }
}

static int open_file(struct life *life, const struct scan_file *scanned, bool is_rolled_back,
                     int64_t now_ns, struct plugin **ret, struct toolrack_error *err) {
    struct plugin_file *file =
            files_add(&life->files, scanned->path, &life->options.places->folders[scanned->folder]);
    if (file == NULL) {
        return error_oom(err);
    }
    if (is_rolled_back) {
        struct reload_row row; /* the content that an administrator went back from is not used */
        (void)reload_file(life, file, RELOAD_OPENING, &row);
        reload_row_finish(&row);
        return 0;
    }
    refuse_file(life, scanned);
    file->exists = true;
    file->identity = scanned->identity;
    file->settled = now_ns - scanned->identity.ctime_ns > SCAN_SETTLE_NS;
    if (scanned->descriptor->plugin == NULL) {
        file->is_refused = true;
        return 0;
    }
    const struct generation_source source = {
            .file = file, .identity = scanned->identity, .desc = scanned->descriptor};
    int code = generation_create(&life->generations, &source, ret, err);
    if (code == 0) {
        generations_serve(&life->generations, file, *ret);
    }
    return code;
}

static int register_files(struct life *life, const struct scan *scan, struct toolrack_error *err) {
    int64_t now_ns = clock_wall_ns();
    struct plugin **plugins = calloc(scan->file_count + 1, sizeof(struct plugin *));
    size_t count = 0;
    struct toolrack_error unheard; /* the host has said that its store cannot be used */
    struct opening opening = {
            .life = life, .scan = scan, .rolled_back = calloc(scan->file_count + 1, sizeof(bool))};
    int code = plugins == NULL || opening.rolled_back == NULL ? error_oom(err) : 0;
    if (code == 0) {
        (void)store_rollback_read(life->options.store, see_rollback, &opening, &unheard);
    }
    for (size_t i = 0; code == 0 && i < scan->file_count; i++) {
        code = open_file(life, &scan->files[i], opening.rolled_back[i], now_ns, &plugins[count],
                         err);
        count += plugins[count] != NULL;
    }
    if (code == 0) {
        (void)store_quarantine_read(life->options.store, see_quarantine, &opening, &unheard);
        code = registry_add(life->options.registry, plugins, count, err);
    }
    if (code == 0) {
        leave_out(life);
    }
    for (size_t i = 0; i < count; i++) {
        plugin_unref(plugins[i]);
    }
    free(opening.rolled_back);
    free(plugins);
    return code;
}

int life_open_files(struct life *life, struct toolrack_error *err) {
    struct scan *scan = NULL;
    bool no_memory;
    const struct places *places = life->options.places;
    int code = scan_run(&(struct scan_options){.folders = places->folders,
                                               .folder_count = places->folder_count,
                                               .cache_path = places->cache_path,
                                               .descriptor = tool_descriptor_options(&no_memory),
                                               .log = life->options.log},
                        &scan, err);
    if (code == 0 && no_memory) {
        code = error_oom(err);
    }
    if (code == 0) {
        tell_troubles(life, scan);
        code = register_files(life, scan, err);
    }
    scan_destroy(scan);
    return code;
}
