#include "api/generation.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "api/content.h"
#include "api/host.h"
#include "api/retire.h"
#include "base/clock.h"
#include "base/error.h"
#include "store/crashes.h"
#include "store/loading.h"
#include "store/quarantine.h"
#include "worker/crash-bundle.h"

struct generation *generation_of(const struct plugin *plugin) {
    return plugin->services != NULL ? plugin->context : NULL;
}

/* -------------------------------------------------------------------- list */

static void list_add(struct toolrack *host, struct generation *generation) {
    (void)pthread_mutex_lock(&host->generations_lock);
    generation->next = host->generations;
    if (host->generations != NULL) {
        host->generations->prev = generation;
    }
    host->generations = generation;
    (void)pthread_mutex_unlock(&host->generations_lock);
}

static void list_remove(struct toolrack *host, struct generation *generation) {
    (void)pthread_mutex_lock(&host->generations_lock);
    *(generation->prev != NULL ? &generation->prev->next : &host->generations) = generation->next;
    if (generation->next != NULL) {
        generation->next->prev = generation->prev;
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
}

void generation_destroy(struct generation *generation) {
    list_remove(generation->host, generation);
    descriptor_unref(generation->desc);
    if (generation->foreign != NULL) {
        files_destroy_apart(generation->file);
    }
    arena_finish(&generation->arena);
    (void)pthread_mutex_destroy(&generation->stage_lock);
    free(generation->image_path);
    free(generation);
}

/* The plugin while it has references, with one more; or NULL. */
static struct plugin *hold_plugin(struct generation *generation) {
    struct toolrack *host = generation->host;
    (void)pthread_mutex_lock(&host->generations_lock);
    struct plugin *plugin = generation->plugin;
    if (plugin != NULL && !plugin_ref_unless_gone(plugin)) {
        plugin = NULL;
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return plugin;
}

struct plugin *generations_hold(struct toolrack *host, const char *plugin_id, size_t index) {
    struct plugin *found = NULL;
    (void)pthread_mutex_lock(&host->generations_lock);
    for (struct generation *at = host->generations; at != NULL && found == NULL; at = at->next) {
        bool fits = at->plugin != NULL && strcmp(at->desc->plugin->id, plugin_id) == 0;
        if (fits && index-- == 0 && plugin_ref_unless_gone(at->plugin)) {
            found = at->plugin;
        }
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return found;
}

struct plugin *generations_hold_serving(struct toolrack *host, const char *plugin_id) {
    struct plugin *found = NULL;
    (void)pthread_mutex_lock(&host->generations_lock);
    for (struct generation *at = host->generations; at != NULL && found == NULL; at = at->next) {
        bool fits = at->file->serving == at && at->plugin != NULL &&
                    strcmp(at->desc->plugin->id, plugin_id) == 0;
        if (fits && plugin_ref_unless_gone(at->plugin)) {
            found = at->plugin;
        }
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return found;
}

/* ------------------------------------------------------------------- stage */

int generation_open_stage(struct toolrack *host, struct toolrack_error *err) {
    int code = 0;
    (void)pthread_mutex_lock(&host->stage_lock);
    if (host->stage == NULL) {
        code = host->stage_dir != NULL ? stage_open(host->stage_dir, &host->stage, err)
                                       : stage_open_temporary(&host->stage, err);
    }
    (void)pthread_mutex_unlock(&host->stage_lock);
    return code;
}

static int read_copy(const struct staged *staged, struct descriptor **ret,
                     struct toolrack_error *err) {
    CLEANUP(closep) int fd = open(staged->path, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? error_set(err, TOOLRACK_E_IO, "cannot open %s: %s", staged->path,
                              strerror(errno))
                  : descriptor_read(fd, &(struct descriptor_options){0}, ret, err);
}

/* What was read when the folder was scanned must be what is in the copy: nobody agreed to
 * anything else. */
static int check_copy(const struct plugin *plugin, const struct staged *staged,
                      struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *copy = NULL;
    int code = read_copy(staged, &copy, err);
    if (code < 0) {
        return code;
    }
    return descriptor_same(plugin->desc, copy)
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "%s has changed since it was read; reload it", plugin->path);
}

/* Whether the loader may give back the image of another generation for this path, with all that is
 * in its variables. Caller holds the lock. */
static bool is_path_taken(const struct toolrack *host, const struct plugin *plugin,
                          const char *path) {
    for (const struct generation *at = host->generations; at != NULL; at = at->next) {
        if (at != plugin->context && !at->is_isolated && at->image_path != NULL &&
            strcmp(at->image_path, path) == 0) {
            return true;
        }
    }
    return !plugin->isolated && image_is_mapped(path);
}

/* Have this path for the plugin's image. False: an image in this process has it; workers are each a
 * process of their own. */
static bool claim_path(struct toolrack *host, struct plugin *plugin, const struct staged *staged,
                       char **own_path) {
    struct generation *generation = plugin->context;
    (void)pthread_mutex_lock(&host->generations_lock);
    bool claimed = plugin->isolated || !is_path_taken(host, plugin, *own_path);
    if (claimed) {
        generation->image_path = STEAL(*own_path);
        memcpy(generation->sha256, staged->sha256, sizeof generation->sha256);
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return claimed;
}

int generation_set_copy(struct toolrack *host, struct plugin *plugin, const struct staged *staged,
                        struct toolrack_error *err) {
    CLEANUP(freep) char *own_path = strdup(staged->path);
    if (own_path == NULL) {
        return error_oom(err);
    }
    struct staged renewed;
    if (!claim_path(host, plugin, staged, &own_path)) {
        int code = stage_renew(host->stage, staged, &renewed, err);
        return code < 0 ? code : generation_set_copy(host, plugin, &renewed, err);
    }
    plugin->image_path = strdup(staged->path);
    if (plugin->image_path == NULL) {
        return error_oom(err);
    }
    plugin->image_identity = staged->identity;
    memcpy(plugin->sha256, staged->sha256, sizeof plugin->sha256);
    atomic_store(&plugin->staged, true);
    return 0;
}

static int stage_as_scanned(struct toolrack *host, struct plugin *plugin,
                            struct toolrack_error *err) {
    struct staged staged;
    int code = generation_open_stage(host, err);
    if (code < 0) {
        return code;
    }
    code = stage_copy(host->stage, plugin->path, &plugin->identity, STAGE_REUSE, &staged, err);
    if (code == STAGE_CHANGING) {
        return error_set(err, TOOLRACK_E_REFUSED, "%s has changed since it was read; reload it",
                         plugin->path);
    }
    if (code == 0) {
        code = check_copy(plugin, &staged, err);
    }
    return code < 0 ? code : generation_set_copy(host, plugin, &staged, err);
}

static int stage_unless_done(struct toolrack *host, struct plugin *plugin,
                             struct toolrack_error *err) {
    struct generation *generation = plugin->context;
    if (atomic_load(&plugin->staged)) {
        return 0;
    }
    (void)pthread_rwlock_rdlock(&host->stage_use);
    int code = stage_as_scanned(host, plugin, err);
    (void)pthread_rwlock_unlock(&host->stage_use);
    if (code == 0) {
        content_note(host, generation->file, plugin);
    }
    return code;
}

int generation_stage(struct toolrack *host, struct plugin *plugin, struct toolrack_error *err) {
    struct generation *generation = plugin->context;
    (void)pthread_mutex_lock(&generation->stage_lock);
    int code = stage_unless_done(host, plugin, err);
    (void)pthread_mutex_unlock(&generation->stage_lock);
    return code;
}

static int stage(void *user, struct plugin *plugin, struct toolrack_error *err) {
    return generation_stage(user, plugin, err);
}

/* ----------------------------------------------------------------- isolated */

static const char *worker_program(const struct toolrack *host) {
    const char *program = getenv("TOOLRACK_WORKER");
    return host->worker_program != NULL           ? host->worker_program
           : program != NULL && program[0] == '/' ? program
                                                  : TOOLRACK_WORKER_PROGRAM;
}

static void when_started(void *user, void *crew_user, int pid, uint32_t layers);
static void when_refused(void *user, void *crew_user, const char *reason);
static void when_died(void *user, void *crew_user, const struct crew_death *death);
static void when_quarantined(void *user, void *crew_user, const char *reason, unsigned crashes);

/* The last worker of a generation that nobody calls any more has ended. */
static void when_gone(void *user, void *crew_user) {
    retire_workers_gone(user, crew_user);
}

/* The supervisor is started with the first crew. */
static int start_supervisor(struct toolrack *host, struct toolrack_error *err) {
    (void)pthread_mutex_lock(&host->stage_lock);
    if (host->supervisor == NULL) {
        host->supervisor = supervisor_create(
                &(struct supervisor_options){.log = &host->log,
                                             .worker_program = worker_program(host),
                                             .user = host,
                                             .started = when_started,
                                             .refused = when_refused,
                                             .died = when_died,
                                             .quarantined = when_quarantined,
                                             .gone = when_gone},
                err);
    }
    int code = host->supervisor != NULL ? 0 : err->code;
    (void)pthread_mutex_unlock(&host->stage_lock);
    return code;
}

/* The settings of a plugin as one JSON object. */
static char *settings_text(struct toolrack *host, const char *plugin_id) {
    yyjson_val *settings = yyjson_obj_get(host->config.plugins, plugin_id);
    return settings != NULL ? yyjson_val_write(settings, YYJSON_WRITE_NOFLAG, NULL) : strdup("{}");
}

static int isolate(void *user, struct plugin *plugin, struct toolrack_error *err) {
    struct toolrack *host = user;
    struct generation *generation = plugin->context;
    CLEANUP(freep) char *settings = settings_text(host, plugin->desc->plugin->id);
    if (settings == NULL) {
        return error_oom(err);
    }
    int code = start_supervisor(host, err);
    if (code < 0) {
        return code;
    }
    char quarantined[ERROR_MESSAGE_MAX] = "";
    bool is_quarantined = quarantines_find(&host->quarantines, plugin, quarantined);
    uint64_t ago_ms[CREW_CRASHES_KEPT];
    uint32_t window_ms = generation->policy.limits.crashes_window_ms;
    size_t crashes = quarantines_recent_crashes(
            host, plugin, window_ms != 0 ? window_ms : CREW_CRASHES_WINDOW_MS, ago_ms);
    struct crew *crew = NULL;
    code = crew_create(host->supervisor,
                       &(struct crew_options){.desc = generation->desc,
                                              .path = plugin->image_path,
                                              .foreign = generation->foreign,
                                              .identity = plugin->image_identity,
                                              .settings = settings,
                                              .policy = generation->policy.sandbox,
                                              .environment = generation->policy.environment,
                                              .sandbox_required = host->require_sandbox,
                                              .limits = generation->policy.limits,
                                              .quarantined = is_quarantined ? quarantined : NULL,
                                              .crashes_ago_ms = ago_ms,
                                              .crashes_ago_count = crashes,
                                              .user = generation},
                       &crew, err);
    if (code < 0) {
        return code;
    }
    if (is_quarantined) {
        plugin_set_state(plugin, TOOLRACK_STATE_QUARANTINED, quarantined);
    }
    (void)pthread_mutex_lock(&host->generations_lock);
    generation->crew = crew;
    (void)pthread_mutex_unlock(&host->generations_lock);
    atomic_store(&plugin->crew, crew);
    return 0;
}

/* ------------------------------------------------------------------ news of it */

static void when_started(void *user, void *crew_user, int pid, uint32_t layers) {
    struct toolrack *host = user;
    CLEANUP(plugin_unrefp) struct plugin *plugin = hold_plugin(crew_user);
    if (plugin == NULL) {
        return;
    }
    const struct generation *generation = crew_user;
    uint32_t missing = sandbox_wanted(&generation->policy.sandbox) & ~layers;
    if (missing != 0) {
        CLEANUP(buf_finish) struct buf words = BUF_INIT;
        sandbox_describe(missing, &words);
        log_line(&host->log, LOG_WARNING, plugin->desc->plugin->id,
                 "worker %d runs with less than its sandbox: this system lacks %s", pid,
                 words.failed ? "a part of it" : words.data);
    }
    if (plugin_state(plugin) == TOOLRACK_STATE_LISTED) {
        host_plugin_event(host, TOOLRACK_EVENT_LOADED, plugin, NULL);
    }
    if (plugin_state(plugin) !=
        TOOLRACK_STATE_QUARANTINED) { /* by others, while this one started */
        plugin_set_state(plugin, TOOLRACK_STATE_LOADED, "");
    }
}

/* What a plugin may not do may be why it could not open, and it cannot say so itself. */
static void tell_not_allowed(const struct log *log, const struct generation *generation) {
    for (size_t i = 0; i < generation->policy.capability_count; i++) {
        const struct policy_capability *capability = &generation->policy.capabilities[i];
        const char *id = generation->desc->plugin->id;
        const char *kind = policy_capability_name(capability->declared->kind);
        if (!capability->allowed) {
            log_line(log, LOG_WARNING, id,
                     "it asks for '%s:%s', which is not allowed; \"policies\": {\"%s\": "
                     "{\"allow\": [\"%s\"]}} in the configuration would allow it",
                     kind, capability->declared->value, id, kind);
        }
    }
}

static void when_refused(void *user, void *crew_user, const char *reason) {
    CLEANUP(plugin_unrefp) struct plugin *plugin = hold_plugin(crew_user);
    if (plugin != NULL) {
        const struct toolrack *host = user;
        tell_not_allowed(&host->log, crew_user);
        if (plugin_state(plugin) != TOOLRACK_STATE_QUARANTINED) {
            plugin_set_state(plugin, TOOLRACK_STATE_FAILED, reason);
        }
        host_plugin_event(user, TOOLRACK_EVENT_FAILED, plugin, reason);
    }
}

static const char *tool_name(const struct descriptor *desc, uint32_t index) {
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        if (desc->tools[i].index == index) {
            return desc->tools[i].tool->name;
        }
    }
    return NULL;
}

static void write_bundle(const struct generation *generation, const struct crew_death *death,
                         int64_t time_s, struct buf *out) {
    const struct tr_plugin *about = generation->desc->plugin;
    char hash[CRASH_HASH_ROOM];
    struct crash_bundle bundle = {
            .plugin_id = about->id,
            .version = about->version,
            .tool = tool_name(generation->desc, death->tool),
            .signal = death->signal,
            .exit_status = death->exit_status,
            .reason = death->reason,
            .backtrace = death->backtrace,
            .generation = generation->number,
            .arguments_hash =
                    death->arguments == NULL
                            ? NULL
                            : crash_arguments_hash(death->arguments, death->arguments_length, hash),
            .time_s = time_s,
            .last_lines = death->last_lines,
            .last_line_count = death->last_line_count};
    if (generation->image_path != NULL) { /* which library a worker found, only that knew */
        CLEANUP(closep) int fd = open(generation->image_path, O_RDONLY | O_CLOEXEC);
        bundle.build_id_length = build_id_read(fd, bundle.build_id);
    }
    crash_bundle_write(&bundle, out);
}

static void keep_bundle(struct toolrack *host, const struct generation *generation,
                        const struct crew_death *death) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_error err;
    struct store_crash crash = {.plugin = generation->desc->plugin->id, .time_s = clock_wall_s()};
    write_bundle(generation, death, crash.time_s, &text);
    crash.bundle = text.data;
    int code = text.failed ? error_oom(&err) : store_crash_add(host->store, &crash, NULL, &err);
    if (code < 0) {
        log_line(&host->log, LOG_ERROR, "store", "a crash could not be kept: %s", err.message);
    }
}

/* A death is kept also when nobody holds the plugin any more: the host may be closing. */
static void when_died(void *user, void *crew_user, const struct crew_death *death) {
    struct toolrack *host = user;
    if (!death->crashed) {
        return;
    }
    keep_bundle(host, crew_user, death);
    CLEANUP(plugin_unrefp) struct plugin *plugin = hold_plugin(crew_user);
    if (plugin != NULL) {
        host_plugin_event(host, TOOLRACK_EVENT_CRASHED, plugin, death->reason);
    }
}

static void when_quarantined(void *user, void *crew_user, const char *reason, unsigned crashes) {
    struct toolrack *host = user;
    const struct generation *generation = crew_user;
    const char *id = generation->desc->plugin->id;
    struct toolrack_error err;
    if (quarantines_add(host, id, generation->sha256, reason, crashes, &err) < 0) {
        log_line(&host->log, LOG_ERROR, "store", "the quarantine of '%s' is not kept: %s", id,
                 err.message);
    }
    CLEANUP(plugin_unrefp) struct plugin *plugin = hold_plugin(crew_user);
    if (plugin != NULL) {
        plugin_set_state(plugin, TOOLRACK_STATE_QUARANTINED, reason);
        host_plugin_event(host, TOOLRACK_EVENT_QUARANTINED, plugin, reason);
    }
}

/* --------------------------------------------------------------- in process */

/* A process that dies between these two leaves the plugin out at its next start. */
static void loading(void *user, struct plugin *plugin, bool begins) {
    struct toolrack *host = user;
    struct generation *generation = plugin->context;
    struct toolrack_error err;
    int code = 0;
    if (begins) {
        code = store_loading_begin(host->store, plugin->path, clock_wall_s(), &generation->mark,
                                   &err);
        generation->marked = code == 0;
    } else if (generation->marked) {
        generation->marked = false;
        code = store_loading_end(host->store, generation->mark, &err);
    }
    if (code < 0) {
        log_line(&host->log, LOG_WARNING, "store",
                 "a crash while '%s' is loaded may go unnoticed: %s", plugin->desc->plugin->id,
                 err.message);
    }
}

/* --------------------------------------------------------------------- life */

/* The last reference on the plugin is gone: its workers end in their own time. */
static void release(void *user, struct plugin *plugin, struct image *image) {
    struct toolrack *host = user;
    struct generation *generation = plugin->context;
    (void)pthread_mutex_lock(&host->generations_lock);
    generation->plugin = NULL;
    if (generation->file->serving == generation) {
        generation->file->serving = NULL;
    }
    struct crew *crew = generation->crew;
    (void)pthread_mutex_unlock(&host->generations_lock);
    if (crew != NULL) {
        crew_unref(crew);
    } else {
        retire_end(host, generation, image);
    }
}

static const struct plugin_services services = {
        .stage = stage, .isolate = isolate, .loading = loading, .release = release};

static int make_policy(struct toolrack *host, const struct generation_source *source,
                       struct generation *generation, struct toolrack_error *err) {
    const struct scan_folder *folder = source->file->folder;
    const struct policy_options options = {.config = &host->config,
                                           .desc = source->desc,
                                           .trust = folder->trust,
                                           .isolation = folder->isolation,
                                           .pin = folder->pin,
                                           .app_isolation = host->isolation};
    arena_init(&generation->arena, NULL, 0);
    return policy_make(&options, &generation->arena, &generation->policy, err);
}

/* How many calls of it may hold a thread of the pool: as many as its crew can serve. */
static uint32_t calls_max(const struct generation *generation, bool serial) {
    uint32_t workers = generation->policy.limits.workers_max;
    workers = workers != 0 ? workers : CREW_WORKERS_DEFAULT;
    return serial ? workers : workers * CREW_LANES_MAX;
}

/* A plugin that was put in quarantine by an earlier process says so before anybody calls it.
 * Whether the file is still the one that crashed, its copy shows. */
static void recall_quarantine(struct toolrack *host, struct plugin *plugin) {
    char reason[ERROR_MESSAGE_MAX];
    struct toolrack_error err; /* a copy that fails fails again at the first call, which tells it */
    if (plugin->isolated && quarantines_has(&host->quarantines, plugin->desc->plugin->id) &&
        generation_stage(host, plugin, &err) == 0 &&
        quarantines_find(&host->quarantines, plugin, reason)) {
        plugin_set_state(plugin, TOOLRACK_STATE_QUARANTINED, reason);
    }
}

/* Give the generation its plugin, which keeps it from now on. */
static void join(struct toolrack *host, struct generation *generation, struct plugin *plugin,
                 const struct generation_source *source) {
    (void)pthread_mutex_init(&generation->stage_lock, NULL);
    generation->host = host;
    generation->file = source->file;
    generation->number = ++source->file->newest;
    generation->plugin = plugin;
    generation->desc = descriptor_ref(source->desc);
    plugin->generation = generation->number;
    plugin->isolated = source->isolated || generation->policy.isolation == ISOLATION_PROCESS;
    plugin->pin = generation->policy.pin;
    generation->is_isolated = plugin->isolated;
    plugin->calls_max =
            plugin->isolated ? calls_max(generation, plugin->serial) : plugin->calls_max;
    plugin->services = &services;
    plugin->services_user = host;
    plugin->context = generation;
    list_add(host, generation);
}

/* Of a function of a library there is nothing to copy: the library is the system's, and which file
 * it is, only the worker finds out. What a quarantine is about is then the definition. */
static bool set_foreign(struct generation *generation, struct plugin *plugin,
                        const struct generation_source *source) {
    size_t length = strlen(source->foreign_text);
    generation->foreign = arena_copy(&generation->arena, source->foreign_text, length);
    plugin->image_path = strdup(source->foreign->library);
    (void)crypto_hash_sha256(plugin->sha256, (const unsigned char *)source->foreign_text, length);
    memcpy(generation->sha256, plugin->sha256, sizeof generation->sha256);
    atomic_store(&plugin->staged, true);
    return generation->foreign != NULL && plugin->image_path != NULL;
}

int generation_create(struct toolrack *host, const struct generation_source *source,
                      struct plugin **ret, struct toolrack_error *err) {
    CLEANUP(freep) struct generation *generation = calloc(1, sizeof *generation);
    if (generation == NULL) {
        return error_oom(err);
    }
    int code = make_policy(host, source, generation, err);
    struct plugin *plugin = code < 0
                                    ? NULL
                                    : plugin_create(source->file->path, source->file->folder->trust,
                                                    &source->identity, source->desc, &host->images);
    if (plugin == NULL || (source->foreign != NULL && !set_foreign(generation, plugin, source))) {
        plugin_unref(plugin);
        arena_finish(&generation->arena);
        return code < 0 ? code : error_oom(err);
    }
    join(host, STEAL(generation), plugin, source);
    recall_quarantine(host, plugin);
    *ret = plugin;
    return 0;
}

/* Take one generation that was not ended yet from its plugin. One that the app still holds by a
 * tool or a list outlives the host; it is only text then. */
static struct generation *detach_one(struct toolrack *host) {
    (void)pthread_mutex_lock(&host->generations_lock);
    struct generation *generation = host->generations;
    while (generation != NULL && generation->plugin == NULL) {
        generation = generation->next; /* released before; its workers are ending */
    }
    if (generation != NULL) {
        generation->plugin->services = NULL;
        atomic_store(&generation->plugin->crew, NULL);
        generation->plugin = NULL;
    }
    (void)pthread_mutex_unlock(&host->generations_lock);
    return generation;
}

void generations_end(struct toolrack *host, bool quiet) {
    struct generation *generation;
    while (quiet && (generation = detach_one(host)) != NULL) {
        if (generation->crew != NULL) {
            crew_unref(generation->crew);
        } else {
            generation_destroy(generation);
        }
    }
    supervisor_destroy(host->supervisor); /* and with it all generations that had a crew */
    stage_close(host->stage);
}
