/* Opening a host: what happens with the plugin files. */
#include "life/absent.h"
#include "life/life.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/name.h"
#include "life/back.h"
#include "life/failure.h"
#include "life/identities.h"
#include "life/parts.h"
#include "life/past.h"
#include "life/reload.h"
#include "permit/permit.h"
#include "registry/registry.h"
#include "store/generations.h"
#include "store/loading.h"
#include "store/quarantine.h"

/* ---------------------------------------------------------------- left out */

static void take_marker(void *user, const struct store_unclean *unclean) {
    struct life *life = user;
    struct plugin_file *file = files_find_key(&life->files, unclean->path);
    CLEANUP(plugin_unrefp)
    struct plugin *plugin = file != NULL ? generations_serving(&life->generations, file) : NULL;
    if (plugin == NULL || plugin->isolated) {
        return; /* a worker that crashes ends only itself */
    }
    if (plugin->identity.ctime_ns / (int64_t)CLOCK_NS_PER_S > unclean->since_s) {
        /* The file was changed after the loading marker was set: its present content was not
         * loaded. */
        (void)store_loading_clear(life->options.store, unclean->path, NULL);
        return;
    }
    if (back_from_crash(life, file, unclean->since_s)) {
        (void)store_loading_clear(life->options.store, unclean->path, NULL);
        return;
    }
    const char *id = plugin->desc->plugin->id;
    char reason[ERROR_MESSAGE_MAX];
    char moment[CLOCK_TEXT_ROOM];
    (void)snprintf(reason, sizeof reason,
                   "process %lld ended at %s while it loaded plugin '%s', so it is left out; "
                   "let it run again: %s; or try its file anew: %s",
                   (long long)unclean->pid, clock_wall_text(unclean->since_s, moment), id,
                   COMMAND("release", id), COMMAND("reload", id));
    plugin_leave_out(plugin, reason);
    log_line(life->options.log, LOG_WARNING, id, "%s", reason);
}

/* ---------------------------------------------------------------- register */

/* What the store has about files, read once for all files. */
struct opening {
    struct life *life;
    const struct scan *scan;
    bool *rolled_back; /* by the number of the file in the scan */
    struct identity_claim *claims;
    size_t claim_count;
};

/* Whether the store knows a file of a folder by a key. */
static bool has_key(const struct scan_folder *folder, const char *path, const char *key) {
    size_t length = strlen(folder->real);
    return strncmp(folder->real, key, length) == 0 && strcmp(strrchr(path, '/'), key + length) == 0;
}

static void see_rollback(void *user, const struct store_rollback *kept) {
    const struct opening *opening = user;
    const struct places *places = opening->life->options.places;
    for (size_t i = 0; i < opening->scan->file_count; i++) {
        const struct scan_file *scanned = &opening->scan->files[i];
        if (has_key(&places->folders[scanned->folder], scanned->path, kept->path)) {
            opening->rolled_back[i] = true;
        }
    }
}

static void see_quarantine(void *user, const struct store_quarantine *kept) {
    struct life *life = ((const struct opening *)user)->life;
    char id[NAME_LENGTH_MAX + 1];
    struct plugin *held;
    (void)snprintf(id, sizeof id, "%.*s", (int)identity_id_length(kept->plugin), kept->plugin);
    for (size_t at = 0; (held = generations_hold(&life->generations, id, at)) != NULL; at++) {
        isolate_recall(&life->isolate, held);
        plugin_unref(held);
    }
}

/* A function of a library, which has no file, has its identity as key. */
static struct plugin *hold_foreign(struct life *life, const char *identity) {
    char id[NAME_LENGTH_MAX + 1];
    struct plugin *held;
    (void)snprintf(id, sizeof id, "%.*s", (int)identity_id_length(identity), identity);
    for (size_t at = 0; (held = generations_hold(&life->generations, id, at)) != NULL; at++) {
        if (generation_of(held)->foreign != NULL && strcmp(held->identity_text, identity) == 0) {
            return held;
        }
        plugin_unref(held);
    }
    return NULL;
}

/* The copy of the file shows whether it still has the content that failed. */
static void take_failure(void *user, const struct store_failure *kept) {
    struct life *life = ((const struct opening *)user)->life;
    struct plugin_file *file = files_find_key(&life->files, kept->path);
    CLEANUP(plugin_unrefp)
    struct plugin *plugin = file != NULL           ? generations_serving(&life->generations, file)
                            : kept->path[0] != '/' ? hold_foreign(life, kept->path)
                                                   : NULL;
    struct toolrack_error err; /* a copy that fails is reported at the first call */
    if (plugin != NULL && staging_copy(&life->staging, plugin, &err) == 0) {
        failure_recall(generation_of(plugin), plugin, kept);
    }
}

/* The file as a whole. */
static void tell_refused(struct life *life, struct plugin_file *file,
                         const struct toolrack_refusal *refusal) {
    struct toolrack_error words; /* cuts between characters, makes it one line */
    (void)error_set(&words, TOOLRACK_E_REFUSED, "%s is refused: %s%s%s", file->path,
                    refusal->reason, refusal->fix != NULL ? "; " : "",
                    refusal->fix != NULL ? refusal->fix : "");
    (void)reload_tell_refused(life, file, refusal->plugin, words.message, true);
}

static void refuse(struct life *life, struct plugin_file *file,
                   const struct toolrack_refusal *refusal) {
    file->is_refused = true;
    registry_refuse(life->options.registry, refusal);
    tell_refused(life, file, refusal);
}

/* What a person reads first of a file that is no plugin; notes and warnings refuse nothing. */
static const struct finding *first_error(const struct descriptor *desc) {
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        if (desc->findings[i].severity == FINDING_ERROR) {
            return &desc->findings[i];
        }
    }
    return NULL;
}

/* A tool that its own file makes impossible. */
static void say_refused(const struct life *life, const struct toolrack_refusal *refusal) {
    struct toolrack_error words;
    (void)error_set(&words, TOOLRACK_E_REFUSED, "%s%s%s%s is refused: %s%s%s", refusal->file,
                    refusal->tool != NULL ? ": tool '" : "",
                    refusal->tool != NULL ? refusal->tool : "", refusal->tool != NULL ? "'" : "",
                    refusal->reason, refusal->fix != NULL ? "; " : "",
                    refusal->fix != NULL ? refusal->fix : "");
    log_line(life->options.log, LOG_WARNING, refusal->plugin != NULL ? refusal->plugin : "scan",
             "%s", words.message);
}

/* What the scan has refused of a file: rows, and a line for each. The file as a whole has one line,
 * unless its last good content serves, which is told with the reason. */
static int open_refused(struct life *life, struct plugin_file *file,
                        const struct scan_file *scanned, struct plugin **ret,
                        struct toolrack_error *err) {
    const struct finding *first = first_error(scanned->descriptor);
    bool is_whole = scanned->descriptor->plugin == NULL;
    if (first == NULL && !is_whole) {
        return 0;
    }
    size_t count = 0;
    int code = 0;
    struct toolrack_refusal *rows = reload_refusals(scanned->path, scanned->descriptor, &count);
    for (size_t i = 0; i < count; i++) {
        registry_refuse(life->options.registry, &rows[i]);
        if (!is_whole) {
            say_refused(life, &rows[i]);
        }
    }
    if (is_whole) {
        file->is_refused = true;
        code = past_serve_last_good(life, file, first != NULL ? first->cause : "it is no plugin",
                                    ret, err);
    }
    if (is_whole && code == 0 && *ret == NULL && count > 0) {
        tell_refused(life, file, &rows[0]);
    }
    free(rows);
    return code;
}

static void refuse_claim(struct life *life, struct plugin_file *file,
                         const struct identity_claim *claim) {
    refuse(life, file,
           &(struct toolrack_refusal){.file = file->path,
                                      .plugin = claim->desc->plugin->id,
                                      .rule = claim->rule,
                                      .reason = claim->reason,
                                      .fix = claim->fix});
    identities_note_refused(&life->options, claim);
}

static int open_file(struct life *life, const struct scan_file *scanned, bool is_rolled_back,
                     const struct identity_claim *claim, int64_t now_ns, struct plugin **ret,
                     struct toolrack_error *err) {
    struct plugin_file *file =
            files_add(&life->files, scanned->path, &life->options.places->folders[scanned->folder]);
    if (file == NULL) {
        return error_oom(err);
    }
    if (is_rolled_back) {
        struct reload_row row; /* a content that was gone back from is not used */
        enum reload_outcome outcome = reload_file(life, file, RELOAD_OPENING, &row);
        int code =
                outcome == RELOAD_REFUSED && row.generation == 0 /* the file is another one now */
                        ? past_serve_last_good(life, file, row.reason, ret, err)
                        : 0;
        reload_row_finish(&row);
        return code;
    }
    file->exists = true;
    file->identity = scanned->identity;
    file->settled = now_ns - scanned->identity.ctime_ns > SCAN_SETTLE_NS;
    int refused = open_refused(life, file, scanned, ret, err);
    if (refused < 0 || scanned->descriptor->plugin == NULL) {
        return refused;
    }
    if (claim != NULL && claim->verdict == IDENTITY_REFUSED) {
        refuse_claim(life, file, claim);
        return 0;
    }
    const struct generation_source source = {.file = file,
                                             .identity = scanned->identity,
                                             .desc = scanned->descriptor,
                                             .kept = claim != NULL &&
                                                     claim->verdict == IDENTITY_KEPT,
                                             .exposure = scanned->exposure};
    struct toolrack_error why;
    int code = generation_create(&life->generations, &source, ret, &why);
    if (code == 0) {
        atomic_store(&generation_of(*ret)->is_unused, true);
        generations_serve(&life->generations, file, *ret);
    } else if (code == TOOLRACK_E_REFUSED) {
        bool is_exposed = source.exposure != NULL;
        refuse(life, file,
               &(struct toolrack_refusal){
                       .file = file->path,
                       .plugin = scanned->descriptor->plugin->id,
                       .rule = is_exposed ? GENERATION_RULE_EXPOSED : GENERATION_RULE_SANDBOX,
                       .reason = why.message,
                       .fix = is_exposed ? GENERATION_FIX_EXPOSED : GENERATION_FIX_SANDBOX});
        return 0;
    } else if (err != NULL) {
        *err = why;
    }
    return code;
}

/* What a file says about its id counts unless the file is refused anyway. */
static bool claims_id(const struct scan_file *scanned) {
    return scanned->descriptor->plugin != NULL &&
           (scanned->exposure == NULL || scanned->trust == TRUST_COMMUNITY);
}

static void collect_claims(struct opening *opening) {
    const struct scan *scan = opening->scan;
    const struct places *places = opening->life->options.places;
    for (size_t i = 0; i < scan->file_count; i++) {
        const struct scan_file *scanned = &scan->files[i];
        if (claims_id(scanned)) {
            opening->claims[opening->claim_count++] =
                    (struct identity_claim){.path = scanned->path,
                                            .folder = &places->folders[scanned->folder],
                                            .identity = scanned->identity,
                                            .desc = scanned->descriptor};
        }
    }
}

static int open_all(struct opening *opening, struct plugin **plugins, size_t *ret_count,
                    struct toolrack_error *err) {
    const struct scan *scan = opening->scan;
    const struct identity_claim *claim = opening->claims;
    int64_t now_ns = clock_wall_ns();
    size_t count = 0;
    int code = 0;
    for (size_t i = 0; code == 0 && i < scan->file_count; i++) {
        const struct scan_file *scanned = &scan->files[i];
        code = open_file(opening->life, scanned, opening->rolled_back[i],
                         claims_id(scanned) ? claim++ : NULL, now_ns, &plugins[count], err);
        count += plugins[count] != NULL;
    }
    *ret_count = count;
    return code;
}

/* Without what was decided no plugin that somebody else brought runs. */
static void need_read(const struct life *life, int code, const struct toolrack_error *why) {
    if (code < 0 && !permit_withholds(life->options.permit)) {
        log_line(life->options.log, LOG_ERROR, "store",
                 "what was decided about plugins cannot be read; only builtin plugins, the "
                 "configuration's and the app's serve: %s",
                 why->message);
        permit_withhold(life->options.permit, why->message);
    }
}

static int register_files(struct life *life, const struct scan *scan, struct toolrack_error *err) {
    struct plugin **plugins = calloc(scan->file_count + 1, sizeof(struct plugin *));
    struct identities identities = {0};
    size_t count = 0;
    struct toolrack_error why;
    struct opening opening = {.life = life,
                              .scan = scan,
                              .rolled_back = calloc(scan->file_count + 1, sizeof(bool)),
                              .claims =
                                      calloc(scan->file_count + 1, sizeof(struct identity_claim))};
    int code = plugins == NULL || opening.rolled_back == NULL || opening.claims == NULL
                       ? error_oom(err)
                       : 0;
    if (code == 0) {
        collect_claims(&opening);
        code = identities_judge(&identities, &life->options, opening.claims, opening.claim_count,
                                true, err);
    }
    if (code == 0) {
        identities_record(&identities);
        need_read(life, store_rollback_read(life->options.store, see_rollback, &opening, &why),
                  &why);
        code = open_all(&opening, plugins, &count, err);
    }
    if (code == 0) {
        need_read(life, store_quarantine_read(life->options.store, see_quarantine, &opening, &why),
                  &why);
        (void)store_failures_read(life->options.store, take_failure, &opening, &why);
        code = registry_add(life->options.registry, plugins, count, err);
    }
    if (code == 0) {
        code = past_open_kept(life, err); /* after all that files have themselves */
    }
    if (code == 0 && store_loading_read(life->options.store, take_marker, life, &why) < 0) {
        log_line(life->options.log, LOG_ERROR, "store",
                 "a plugin that has ended a process before may be loaded again: %s", why.message);
    }
    for (size_t i = 0; i < count; i++) {
        plugin_unref(plugins[i]);
    }
    identities_finish(&identities);
    free(opening.claims);
    free(opening.rolled_back);
    free(plugins);
    return code;
}

/* What an earlier version stored under a path with symbolic links in it. */
static void rename_folders(struct life *life) {
    const struct places *places = life->options.places;
    for (size_t i = 0; i < places->folder_count; i++) {
        const struct scan_folder *folder = &places->folders[i];
        struct toolrack_error err;
        if (strcmp(folder->real, folder->path) != 0 &&
            store_contents_rename(life->options.store, folder->path, folder->real, &err) < 0) {
            log_line(life->options.log, LOG_WARNING, "store",
                     "what is known of earlier contents of plugins in %s is not used: %s",
                     folder->path, err.message);
        }
    }
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
    for (size_t i = 0; code == 0 && i < scan->trouble_count; i++) {
        const struct scan_trouble *trouble = &scan->troubles[i];
        log_line(life->options.log, LOG_WARNING, "scan", "%s: %s", trouble->path, trouble->reason);
    }
    if (code == 0) {
        rename_folders(life);
        code = register_files(life, scan, err);
        absent_note(life);
    }
    scan_destroy(scan);
    return code;
}
