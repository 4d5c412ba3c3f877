#include "life/isolate.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/ownership.h"
#include "config/config.h"
#include "life/failure.h"
#include "life/generation.h"
#include "life/guard.h"
#include "life/quarantine.h"
#include "life/staging.h"
#include "permit/permit.h"
#include "plugin/build_id.h"
#include "store/crashes.h"
#include "worker/crash-bundle.h"
#include "worker/supervisor.h"

void isolate_init(struct isolate *isolate) {
    lock_init(&isolate->lock);
}

void isolate_finish(struct isolate *isolate) {
    lock_finish(&isolate->lock);
}

static void tell(const struct isolate *isolate, enum toolrack_event_kind kind,
                 const struct plugin *plugin, const char *message) {
    isolate->options->event(isolate->options->host, kind, plugin->desc->plugin->id, message);
}

/* ------------------------------------------------------------------ events of it */

static void when_started(void *user, void *crew_user, int pid, uint32_t layers) {
    const struct isolate *isolate = user;
    CLEANUP(plugin_unrefp) struct plugin *plugin = generation_hold(crew_user);
    if (plugin == NULL) {
        return;
    }
    const struct generation *generation = crew_user;
    uint32_t missing = sandbox_wanted(&generation->policy.sandbox) & ~layers;
    if (missing != 0) {
        CLEANUP(buf_finish) struct buf words = BUF_INIT;
        sandbox_describe(missing, &words);
        log_line(isolate->options->log, LOG_WARNING, plugin->desc->plugin->id,
                 "worker %d runs with less than its sandbox: this system lacks %s", pid,
                 words.failed ? "a part of it" : words.data);
    }
    if (plugin_state(plugin) == TOOLRACK_STATE_LISTED) {
        tell(isolate, TOOLRACK_EVENT_LOADED, plugin, NULL);
    }
    if (plugin_state(plugin) !=
        TOOLRACK_STATE_QUARANTINED) { /* by other workers, while this worker started */
        plugin_set_state(plugin, TOOLRACK_STATE_LOADED, "");
    }
    failure_end(crew_user);
}

static void when_refused(void *user, void *crew_user, const char *reason, bool is_lasting) {
    const struct isolate *isolate = user;
    struct generation *generation = crew_user;
    if (is_lasting) {
        failure_note(generation, reason);
    }
    CLEANUP(plugin_unrefp) struct plugin *plugin = generation_hold(crew_user);
    if (plugin == NULL) {
        return;
    }
    /* A capability that was not allowed may be the reason why the plugin could not open. */
    CLEANUP(buf_finish) struct buf missing = BUF_INIT;
    if (plugin->missing != NULL) {
        missing_explain(plugin->missing, reason, &missing);
    }
    if (missing.length > 0 && !missing.failed) {
        log_line(isolate->options->log, LOG_WARNING, plugin->desc->plugin->id, "%s", missing.data);
    }
    if (plugin_state(plugin) != TOOLRACK_STATE_QUARANTINED) {
        plugin_set_state(plugin, TOOLRACK_STATE_FAILED, reason);
    }
    tell(isolate, TOOLRACK_EVENT_FAILED, plugin, reason);
    isolate->failed(isolate->life, plugin);
}

static void keep_bundle(const struct isolate *isolate, const struct generation *generation,
                        const struct crew_death *death) {
    const struct descriptor *desc = generation->desc;
    int64_t time_ms = clock_wall_ms();
    char hash[CRASH_HASH_ROOM];
    struct crash_bundle bundle = {.plugin_id = desc->plugin->id,
                                  .version = desc->plugin->version,
                                  .signal = death->signal,
                                  .exit_status = death->exit_status,
                                  .reason = death->reason,
                                  .backtrace = death->backtrace,
                                  .generation = generation->number,
                                  .time_ms = time_ms,
                                  .stopped = death->stopped,
                                  .last_lines = death->last_lines,
                                  .last_line_count = death->last_line_count};
    for (uint32_t i = 0; i < desc->tool_count && bundle.tool == NULL; i++) {
        bundle.tool = desc->tools[i].index == death->tool ? desc->tools[i].tool->name : NULL;
    }
    if (offer_is(death->tool)) {
        bundle.tool = offer_tool((enum offer)(death->tool - OFFER_INDEX_FIRST), "").tool->name;
    }
    if (death->arguments != NULL) {
        bundle.arguments_hash =
                crash_arguments_hash(death->arguments, death->arguments_length, hash);
    }
    if (generation->image_path != NULL) { /* else only the worker knew the library */
        CLEANUP(closep) int fd = open(generation->image_path, O_RDONLY | O_CLOEXEC);
        bundle.build_id_length = build_id_read(fd, bundle.build_id);
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    crash_bundle_write(&bundle, &text);
    struct store_crash crash = {
            .plugin = generation->identity_text, .time_s = time_ms / 1000, .bundle = text.data};
    struct toolrack_error err;
    int code = text.failed ? error_oom(&err)
                           : store_crash_add(isolate->options->store, &crash, NULL, &err);
    if (code < 0) {
        log_line(isolate->options->log, LOG_ERROR, "store", "a crash could not be kept: %s",
                 err.message);
    }
}

/* What a worker was ended for is stored like a crash, which does not count. Both are stored also
 * when the last reference to the plugin is gone: the host may be closing. */
static void when_died(void *user, void *crew_user, const struct crew_death *death) {
    const struct isolate *isolate = user;
    if (!death->crashed && !death->stopped) {
        return;
    }
    keep_bundle(isolate, crew_user, death);
    CLEANUP(plugin_unrefp) struct plugin *plugin = generation_hold(crew_user);
    if (plugin != NULL) {
        tell(isolate, death->stopped ? TOOLRACK_EVENT_STOPPED : TOOLRACK_EVENT_CRASHED, plugin,
             death->reason);
    }
    if (!death->stopped) {
        isolate->crashed(isolate->life, crew_user, death->reason);
    }
}

/* Stored, and the plugin's state, before any caller learns of it: who asks then, or releases the
 * plugin, finds it in quarantine. */
static void when_quarantining(void *user, void *crew_user, const char *reason, unsigned crashes) {
    const struct isolate *isolate = user;
    struct generation *generation = crew_user;
    const char *id = generation->desc->plugin->id;
    struct toolrack_error err;
    int code = quarantine_add(isolate->options, generation->identity_text, generation->sha256,
                              reason, crashes, &err);
    atomic_store(&generation->is_quarantine_kept, code == 0);
    if (code < 0) {
        log_line(isolate->options->log, LOG_ERROR, "store",
                 "the quarantine of '%s' is not kept: %s", id, err.message);
    }
    permit_note(isolate->options->permit,
                &(struct store_decision){.version = generation->desc->plugin->version,
                                         .plugin = id,
                                         .origin = generation->file->folder->origin,
                                         .decision = "quarantined",
                                         .who = "host",
                                         .why = reason});
    CLEANUP(plugin_unrefp) struct plugin *plugin = generation_hold(crew_user);
    if (plugin != NULL) {
        plugin_set_state(plugin, TOOLRACK_STATE_QUARANTINED, reason);
    }
}

static void when_quarantined(void *user, void *crew_user, const char *reason) {
    const struct isolate *isolate = user;
    const struct generation *generation = crew_user;
    if (atomic_load(&generation->is_quarantine_kept)) {
        isolate->options->decided(isolate->options->host, HOSTS_DECISION);
    }
    CLEANUP(plugin_unrefp) struct plugin *plugin = generation_hold(crew_user);
    if (plugin != NULL) {
        tell(isolate, TOOLRACK_EVENT_QUARANTINED, plugin, reason);
    }
}

static void when_noticed(void *user, void *crew_user, enum plugin_notice notice, const char *text) {
    const struct isolate *isolate = user;
    const struct image_host *images = isolate->options->images;
    CLEANUP(plugin_unrefp) struct plugin *plugin = generation_hold(crew_user);
    if (plugin != NULL && images->notice != NULL) {
        images->notice(images->user, plugin->desc->plugin->id, notice, text);
    }
}

/* A generation gets no more calls, and its last worker has ended. */
static void when_gone(void *user, void *crew_user) {
    const struct isolate *isolate = user;
    isolate->gone(isolate->retirement, crew_user);
}

void isolate_count(struct isolate *isolate, struct supervisor_counts *ret) {
    LOCK_SCOPE(&isolate->lock);
    *ret = (struct supervisor_counts){0};
    if (isolate->supervisor != NULL) {
        supervisor_count(isolate->supervisor, ret);
    }
}

/* --------------------------------------------------------------------- the crew */

/* A worker begins with all that the host may do, so its program is judged as what is loaded into
 * the host is. Not the installed one: whoever may exchange it may exchange the host beside it. */
static int judge_worker_program(const char *program, struct toolrack_error *err) {
    struct toolrack_error why;
    if (strcmp(program, TOOLRACK_WORKER_PROGRAM) == 0 ||
        ownership_check(program, &why) != TOOLRACK_E_REFUSED) {
        return 0; /* what is missing is told when it is started */
    }
    int code = error_set(err, TOOLRACK_E_IO, "the worker program %s is not started: %s", program,
                         why.message);
    if (err != NULL) {
        err->lasting = true;
    }
    return code;
}

/* Caller holds the lock. */
static int start_supervisor(struct isolate *isolate, struct toolrack_error *err) {
    if (isolate->supervisor != NULL) {
        return 0;
    }
    int code = judge_worker_program(isolate->options->worker_program, err);
    if (code < 0) {
        return code;
    }
    isolate->supervisor = supervisor_create(
            &(struct supervisor_options){.log = isolate->options->log,
                                         .worker_program = isolate->options->worker_program,
                                         .keeps_spare = isolate->options->keeps_spare_worker,
                                         .user = isolate,
                                         .started = when_started,
                                         .refused = when_refused,
                                         .died = when_died,
                                         .quarantining = when_quarantining,
                                         .quarantined = when_quarantined,
                                         .noticed = when_noticed,
                                         .gone = when_gone},
            err);
    return isolate->supervisor != NULL ? 0 : err->code;
}

/* The supervisor is started with the first crew, and none after isolate_end(): a thread that was
 * left behind in the host may come here late. */
static int create_crew(struct isolate *isolate, const struct crew_options *options,
                       struct crew **ret, struct toolrack_error *err) {
    LOCK_SCOPE(&isolate->lock);
    if (isolate->is_ended) {
        return error_set(err, TOOLRACK_E_CANCELLED, "the host is being closed");
    }
    int code = start_supervisor(isolate, err);
    return code < 0 ? code : crew_create(isolate->supervisor, options, ret, err);
}

void isolate_prepare(struct isolate *isolate, const struct generation *generation) {
    const struct policy *policy = &generation->policy;
    bool has_environment = policy->environment != NULL && policy->environment[0] != NULL;
    if (has_environment || policy->sandbox.spawn ||
        (sandbox_available(&policy->sandbox) & SANDBOX_SECCOMP) == 0) {
        return; /* it would not fit: spare_fits() */
    }
    struct toolrack_error unheard;
    LOCK_SCOPE(&isolate->lock);
    if (!isolate->is_ended && isolate->supervisor == NULL &&
        start_supervisor(isolate, &unheard) == 0) {
        supervisor_prepare(isolate->supervisor);
    }
}

/* The copies of other plugins lie beside that of this one. */
static int hide_image(struct generation *generation, const char *image,
                      struct toolrack_error *err) {
    const char *slash = generation->foreign == NULL ? strrchr(image, '/') : NULL;
    const char *folder =
            slash == NULL ? NULL : arena_copy(&generation->arena, image, (size_t)(slash - image));
    return slash == NULL    ? 0
           : folder == NULL ? error_oom(err)
           : folder[0] == 0
                   ? 0
                   : guard_hide_also(&generation->arena, folder, &generation->policy.sandbox, err);
}

int isolate_plugin(struct isolate *isolate, struct plugin *plugin, struct toolrack_error *err) {
    const struct life_options *options = isolate->options;
    struct generation *generation = generation_of(plugin);
    yyjson_val *asked = config_plugin_settings(options->config, plugin->desc->plugin->id);
    CLEANUP(freep)
    char *settings =
            asked != NULL ? yyjson_val_write(asked, YYJSON_WRITE_NOFLAG, NULL) : strdup("{}");
    if (settings == NULL) {
        return error_oom(err);
    }
    struct quarantine quarantine;
    bool is_quarantined =
            quarantine_read(options, plugin, &quarantine) && quarantine_is_of(&quarantine, plugin);
    uint64_t ago_ms[CREW_CRASHES_KEPT];
    uint32_t window_ms = generation->policy.limits.crashes_window_ms;
    size_t crashes = quarantine_recent_crashes(
            options, plugin, window_ms != 0 ? window_ms : CREW_CRASHES_WINDOW_MS, ago_ms);
    struct crew *crew = NULL;
    int code = hide_image(generation, plugin->image_path, err);
    if (code < 0) {
        return code;
    }
    code = create_crew(
            isolate,
            &(struct crew_options){.desc = generation->desc,
                                   .path = plugin->image_path,
                                   .file = plugin->path,
                                   .foreign = generation->foreign,
                                   .identity = plugin->image_identity,
                                   .settings = settings,
                                   .policy = generation->policy.sandbox,
                                   .environment = generation->policy.environment,
                                   .sandbox_required = options->require_sandbox,
                                   .limits = generation->policy.limits,
                                   .measures_all = plugin->measures_all,
                                   .quarantined = is_quarantined ? quarantine.reason : NULL,
                                   .crashes_ago_ms = ago_ms,
                                   .crashes_ago_count = crashes,
                                   .user = generation},
            &crew, err);
    if (code < 0) {
        return code;
    }
    if (is_quarantined) {
        atomic_store(&generation->is_quarantine_kept, true);
        plugin_set_state(plugin, TOOLRACK_STATE_QUARANTINED, quarantine.reason);
    }
    generation_set_crew(generation, crew);
    return 0;
}

bool isolate_is_unused(struct isolate *isolate) {
    LOCK_SCOPE(&isolate->lock);
    return isolate->supervisor == NULL;
}

void isolate_interrupt(struct isolate *isolate) {
    LOCK_SCOPE(&isolate->lock);
    if (isolate->supervisor != NULL) {
        supervisor_interrupt(isolate->supervisor);
    }
}

void isolate_end(struct isolate *isolate) {
    lock_take(&isolate->lock);
    struct supervisor *supervisor = isolate->supervisor;
    isolate->supervisor = NULL;
    isolate->is_ended = true;
    lock_release(&isolate->lock);
    supervisor_destroy(supervisor);
}

void isolate_recall(struct isolate *isolate, struct plugin *plugin) {
    struct quarantine quarantine;
    struct toolrack_error err; /* a copy that fails is reported at the first call, which retries */
    if (plugin->isolated && quarantine_read(isolate->options, plugin, &quarantine) &&
        staging_copy(isolate->staging, plugin, &err) == 0 &&
        quarantine_read(isolate->options, plugin, &quarantine) && /* now its content is known */
        quarantine_is_of(&quarantine, plugin)) {
        atomic_store(&generation_of(plugin)->is_quarantine_kept, true);
        plugin_set_state(plugin, TOOLRACK_STATE_QUARANTINED, quarantine.reason);
    }
}
