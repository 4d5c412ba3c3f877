#include "api/defaults.h"
#include "api/host.h"
#include "api/owners.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/builtin.h"
#include "api/choosing.h"
#include "api/follow.h"
#include "api/hosts.h"
#include "api/mounts.h"
#include "api/offer-plugins.h"
#include "api/plan-tool.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/forked.h"
#include "base/own-folder.h"
#include "base/ownership.h"
#include "base/sanitizer.h"
#include "config/elsewhere.h"
#include "permit/tokens.h"
#include "record/tasks.h"

#define DEADLINE_MS_DEFAULT 30000u

const char *toolrack_version(void) {
    return TOOLRACK_VERSION;
}

const char *toolrack_state_dir(const struct toolrack *host) {
    return host->places.state_dir;
}

int host_check_process(const struct toolrack *host, struct toolrack_error *err) {
    return host->forked == forked_number()
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the host was opened by another process, of which this is a fork; "
                               "open one in this process");
}

/* ------------------------------------------------------------------ events */

void host_tell(struct toolrack *host, const struct toolrack_event *event) {
    if (atomic_load(&host->closed)) {
        return;
    }
    (void)atomic_fetch_add_explicit(&host->told[event->kind], 1, memory_order_relaxed);
    if (host->options.event != NULL) {
        host->options.event(host->options.user, event);
    }
    listeners_tell(host->listeners, event);
}

/* What a plugin offers is another list when it comes, goes or is exchanged; when a tool of it only
 * changes, just if that lets it offer, or not any more. */
static void tell_offers_with(struct toolrack *host, enum toolrack_event_kind kind,
                             struct plugin *plugin) {
    if ((plugin->desc->plugin->flags & (TR_PLUGIN_RESOURCES | TR_PLUGIN_PROMPTS)) == 0 ||
        !atomic_load(&host->opened)) {
        return;
    }
    bool is_same = false;
    if (kind != TOOLRACK_EVENT_REMOVED) {
        bool offers = offer_plugins_has(host->registry, plugin);
        is_same = atomic_exchange(&plugin->offers, offers) == offers;
    }
    if (kind != TOOLRACK_EVENT_CHANGED || !is_same) {
        host_tell_offers(host, plugin);
    }
}

/* Once texts are looked up, the index follows the registry. */
static void follow_tools(void *user) {
    struct toolrack *host = user;
    if (host->choose != NULL) {
        choose_follow(host->choose);
    }
}

void host_tool_event(void *user, enum toolrack_event_kind kind, const struct toolrack_tool *tool) {
    char now[96];
    bool has_changed = kind == TOOLRACK_EVENT_CHANGED;
    if (has_changed) {
        (void)snprintf(now, sizeof now, "%s, priority %d%s",
                       toolrack_tool_enabled(tool) ? "enabled" : "disabled",
                       (int)toolrack_tool_priority(tool),
                       tool->is_set_default ? ", set as the default" : "");
    }
    host_tell(user, &(struct toolrack_event){.size = sizeof(struct toolrack_event),
                                             .kind = kind,
                                             .message = has_changed ? now : NULL,
                                             .tool = toolrack_tool_name(tool),
                                             .version = toolrack_tool_version(tool),
                                             .plugin = toolrack_tool_plugin(tool)});
    tell_offers_with(user, kind, tool->reg->plugin);
    bool may_be_new = kind == TOOLRACK_EVENT_ADDED || has_changed;
    if (may_be_new && !atomic_exchange(&tool->reg->announced, true)) {
        struct toolrack *host = user;
        permit_tell_changed(host->permit, tool);
        host_warn_headers(host, tool);
    }
    defaults_tell(user, kind, tool);
}

int toolrack_add_listener(struct toolrack *host, toolrack_listener *listener, void *user,
                          struct toolrack_error *err) {
    HOST_SCOPE(host);
    return listeners_add(host->listeners, listener, user, err);
}

void toolrack_remove_listener(struct toolrack *host, toolrack_listener *listener, void *user) {
    HOST_SCOPE(host);
    listeners_remove(host->listeners, listener, user);
}

static int level_of(enum toolrack_event_kind kind) {
    switch (kind) {
    case TOOLRACK_EVENT_FAILED:
    case TOOLRACK_EVENT_QUARANTINED: return LOG_ERROR;
    case TOOLRACK_EVENT_STUCK:
    case TOOLRACK_EVENT_CRASHED:
    case TOOLRACK_EVENT_STOPPED:
    case TOOLRACK_EVENT_REFUSED: return LOG_WARNING;
    case TOOLRACK_EVENT_RELOADED: return LOG_INFO;
    default: return LOG_DEBUG;
    }
}

/* The plugin offers something else now, or nothing any more. */
struct offering_plugin {
    struct toolrack *host;
    const char *id;
};

static bool tell_of_plugin(void *user, struct toolrack_tool *tool) {
    const struct offering_plugin *of = user;
    bool is_it = strcmp(toolrack_tool_plugin(tool), of->id) == 0;
    if (is_it) {
        host_tell_offers(of->host, tool->reg->plugin);
    }
    return !is_it;
}

static void tell_offers_of(struct toolrack *host, enum toolrack_event_kind kind, const char *id) {
    struct toolrack_error unheard;
    if (kind == TOOLRACK_EVENT_RELOADED && own_settings_forget(host->own, id)) {
        (void)permit_follow(host->permit, &unheard);
    }
    if (kind == TOOLRACK_EVENT_QUARANTINED || kind == TOOLRACK_EVENT_RELEASED ||
        kind == TOOLRACK_EVENT_FAILED || kind == TOOLRACK_EVENT_RELOADED) {
        /* A worker may die while the host is closed, on a thread that ends after the registry. */
        LOCK_SCOPE(&host->closing_lock);
        if (!host->closing) {
            registry_visit(host->registry, tell_of_plugin,
                           &(struct offering_plugin){.host = host, .id = id});
        }
    }
}

void host_event(struct toolrack *host, enum toolrack_event_kind kind, const char *plugin_id,
                const char *message) {
    log_line(&host->log, level_of(kind), plugin_id != NULL ? plugin_id : "reload", "%s%s",
             kind == TOOLRACK_EVENT_RELOADED   ? "reloaded: "
             : kind == TOOLRACK_EVENT_UNLOADED ? "unloaded: "
                                               : "",
             message != NULL                    ? message
             : kind == TOOLRACK_EVENT_LOADED    ? "loaded"
             : kind == TOOLRACK_EVENT_RELEASED  ? "released from quarantine"
             : kind == TOOLRACK_EVENT_RECOVERED ? "the last call that was given up has returned"
                                                : "");
    host_tell(host, &(struct toolrack_event){.size = sizeof(struct toolrack_event),
                                             .kind = kind,
                                             .plugin = plugin_id,
                                             .message = message});
    if (plugin_id != NULL) {
        tell_offers_of(host, kind, plugin_id);
    }
}

void host_plugin_event(void *user, enum toolrack_event_kind kind, struct plugin *plugin,
                       const char *message) {
    struct toolrack *host = user;
    host_event(host, kind, plugin->desc->plugin->id, message);
    if (kind == TOOLRACK_EVENT_FAILED) {
        life_note_failed(host->life, plugin);
    }
}

const char *host_who(const struct toolrack *host, const char *who) {
    return who != NULL && who[0] != '\0' ? who : host->options.who;
}

static void host_log(void *user, int level, const char *source, const char *line) {
    const struct toolrack *host = user;
    if (!atomic_load(&host->closed)) {
        host->options.log(host->options.user, (enum toolrack_log_level)level, source, line);
    }
}

/* ------------------------------------------------- what plugins report and offer */

static void host_notice(void *user, const char *plugin_id, enum plugin_notice notice,
                        const char *text) {
    struct toolrack *host = user;
    notices_add(host->notices, plugin_id, notice, text);
}

void host_tell_offers(struct toolrack *host, const struct plugin *plugin) {
    const struct tr_plugin *said = plugin->desc->plugin;
    if (!atomic_load(&host->opened)) {
        return;
    }
    if ((said->flags & TR_PLUGIN_RESOURCES) != 0) {
        notices_add(host->notices, said->id, NOTICE_RESOURCES, NULL);
    }
    if ((said->flags & TR_PLUGIN_PROMPTS) != 0) {
        notices_add(host->notices, said->id, NOTICE_PROMPTS, NULL);
    }
}

/* A plugin enables or disables a tool of its own: what was set of it is read again. */
struct own_tool {
    const char *plugin_id;
    const char *name;
    char *identity;
};

static bool find_own_tool(void *user, struct toolrack_tool *tool) {
    struct own_tool *own = user;
    if (tool_has_name(tool, own->name, strlen(own->name)) &&
        strcmp(toolrack_tool_plugin(tool), own->plugin_id) == 0) {
        own->identity = strdup(tool->reg->plugin->identity_text);
        return false;
    }
    return true;
}

static void set_own_tool(struct toolrack *host, const char *plugin_id, const char *name,
                         bool enabled) {
    struct toolrack_error err;
    struct own_tool own = {.plugin_id = plugin_id, .name = name};
    registry_visit(host->registry, find_own_tool, &own);
    if (own.identity != NULL && own_settings_put(host->own, own.identity, name, enabled) &&
        permit_follow(host->permit, &err) < 0) {
        log_line(&host->log, LOG_ERROR, plugin_id, "its tool '%s' cannot be %s: %s", name,
                 enabled ? "enabled" : "disabled", err.message);
    }
    free(own.identity);
}

static void tell_notice(void *user, const char *plugin_id, enum plugin_notice notice,
                        const char *text) {
    static const enum toolrack_event_kind kinds[] = {
            [NOTICE_RESOURCES] = TOOLRACK_EVENT_RESOURCES_CHANGED,
            [NOTICE_UPDATED] = TOOLRACK_EVENT_RESOURCE_UPDATED,
            [NOTICE_PROMPTS] = TOOLRACK_EVENT_PROMPTS_CHANGED};
    struct toolrack *host = user;
    if (notice == NOTICE_ENABLE || notice == NOTICE_DISABLE) {
        set_own_tool(host, plugin_id, text, notice == NOTICE_ENABLE);
        return;
    }
    if (notice != NOTICE_UPDATED) {
        offer_keys_changed(host->offered, plugin_id);
    }
    host_tell(host, &(struct toolrack_event){.size = sizeof(struct toolrack_event),
                                             .kind = kinds[notice],
                                             .plugin = plugin_id,
                                             .message = text});
}

static const char *host_plugin_setting(void *user, const char *plugin_id, const char *path) {
    struct toolrack *host = user;
    return config_plugin_setting(host->config, plugin_id, path);
}

/* What plugins offer when the host is opened is told before that returns, once for each: who
 * listens later hears of changes only. */
static void tell_offered(struct toolrack *host) {
    static const struct {
        enum offer offer;
        enum plugin_notice notice;
    } kinds[] = {{OFFER_RESOURCES, NOTICE_RESOURCES}, {OFFER_PROMPTS, NOTICE_PROMPTS}};
    atomic_store(&host->opened, true);
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        struct offer_plugins plugins;
        offer_plugins_find(host->registry, kinds[i].offer, NULL, &plugins);
        for (size_t j = 0; j < plugins.count; j++) {
            atomic_store(&plugins.items[j]->offers, true);
            tell_notice(host, plugins.items[j]->desc->plugin->id, kinds[i].notice, NULL);
        }
        offer_plugins_finish(&plugins);
    }
}

/* -------------------------------------------------------------------- open */

static struct toolrack *host_create(const struct toolrack_options *options) {
    struct toolrack *host = calloc(1, sizeof *host);
    if (host == NULL) {
        return NULL;
    }
    if (options != NULL) {
        memcpy(&host->options, options,
               options->size < sizeof host->options ? options->size : sizeof host->options);
    }
    host->forked = forked_number();
    arena_init(&host->arena, NULL, 0);
    lock_init(&host->closing_lock);
    runs_init(&host->runs);
    host->listeners = listeners_create();
    host->own = own_settings_create();
    host->offered = offer_keys_create();
    host->notices = notices_create(
            &(struct notices_options){.log = &host->log, .tell = tell_notice, .user = host});
    const char *who =
            host->options.who != NULL && host->options.who[0] != '\0' ? host->options.who : "api";
    host->options.who = arena_copy(&host->arena, who, strlen(who));
    if (host->options.who == NULL || host->listeners == NULL || host->own == NULL ||
        host->notices == NULL || host->offered == NULL) {
        notices_destroy(host->notices);
        offer_keys_destroy(host->offered);
        own_settings_destroy(host->own);
        listeners_destroy(host->listeners);
        runs_finish(&host->runs);
        arena_finish(&host->arena);
        free(host);
        return NULL;
    }
    host->log = (struct log){.write = host->options.log != NULL ? host_log : NULL,
                             .user = host,
                             .level_min = (int)host->options.log_level};
    host->images = (struct image_host){
            .log = &host->log, .config = host_plugin_setting, .notice = host_notice, .user = host};
    return host;
}

static int read_config(struct toolrack *host, struct toolrack_error *err) {
    int code = config_create(&(struct config_options){.path = host->places.config_file,
                                                      .optional = host->places.config_optional,
                                                      .host = host,
                                                      .builtins = builtins,
                                                      .builtin_count = builtin_count,
                                                      .check_schema = tool_check_schema,
                                                      .check_values = tool_check_values,
                                                      .make_plan = plan_tool_make,
                                                      .make_remote = mounts_make_tool},
                             &host->config, err);
    for (size_t i = 0; code == 0 && i < host->options.service_count; i++) {
        code = config_add_service(host->config, &host->options.services[i], err);
    }
    return code;
}

static int host_permit(void *user, struct toolrack_tool *tool,
                       const struct toolrack_call_options *options, const char *arguments,
                       size_t length, const atomic_bool *cancelled, struct toolrack_error *err) {
    const struct toolrack *host = user;
    return permit_check(host->permit, tool, options, arguments, length, cancelled, err);
}

static enum toolrack_tolerance host_tolerance(void *user, const struct toolrack_tool *tool,
                                              const struct toolrack_call_options *options) {
    const struct toolrack *host = user;
    unsigned of_tool = config_tolerance(host->config, "tools", toolrack_tool_name(tool));
    unsigned of_all = config_settings(host->config)->tolerance;
    return of_tool != TOOLRACK_TOLERANCE_UNSET ? (enum toolrack_tolerance)of_tool
           : options->tolerance != TOOLRACK_TOLERANCE_UNSET
                   ? (enum toolrack_tolerance)options->tolerance
                   : (enum toolrack_tolerance)of_all;
}

int toolrack_format_tolerance(struct toolrack *host, enum toolrack_format format) {
    HOST_SCOPE(host);
    const char *name = toolrack_format_name(format);
    unsigned of_format = name != NULL ? config_tolerance(host->config, "formats", name) : 0;
    unsigned of_all = config_settings(host->config)->tolerance;
    unsigned found = of_format != TOOLRACK_TOLERANCE_UNSET ? of_format : of_all;
    return found != TOOLRACK_TOLERANCE_UNSET ? (int)found : TOOLRACK_TOLERANCE_JSON_TEXT;
}

static int host_find(void *user, const char *name, struct toolrack_tool **ret,
                     struct toolrack_error *err) {
    const struct toolrack *host = user;
    struct toolrack_tool *tool = registry_get(host->registry, name);
    if (tool == NULL) {
        return registry_not_called(host->registry, name, err);
    }
    *ret = tool;
    return 0;
}

static int host_find_offer(void *user, const struct toolrack_tool *old, struct toolrack_tool **ret,
                           struct toolrack_error *err) {
    const struct toolrack *host = user;
    return offer_plugins_find_again(host->registry, old, ret, err);
}

static void host_record(void *user, const struct call_ending *ending) {
    const struct toolrack *host = user;
    record_note(host->record, ending);
}

static int host_registering(void *user, struct toolrack_tool *const *tools, size_t count,
                            struct toolrack_error *err) {
    const struct toolrack *host = user;
    return permit_registering(host->permit, tools, count, err);
}

static void tell_of_permit(struct toolrack *host, const struct toolrack_event *event) {
    host_tell(host, event);
}

static int ask_app(struct toolrack *host, const struct toolrack_approval_request *request) {
    return host->options.approve(host->options.user, request);
}

static int make_parts(struct toolrack *host, struct toolrack_error *err) {
    uint32_t deadline_ms = host->options.deadline_ms != 0
                                   ? host->options.deadline_ms
                                   : config_settings(host->config)->deadline_ms;
    host->calls =
            (struct call_host){.log = &host->log,
                               .deadline_ms = deadline_ms != 0 ? deadline_ms : DEADLINE_MS_DEFAULT,
                               .permit = host_permit,
                               .event = host_plugin_event,
                               .tolerance = host_tolerance,
                               .find = host_find,
                               .find_offer = host_find_offer,
                               .record = host_record,
                               .places = call_places_create(),
                               .user = host};
    if (host->calls.places == NULL) {
        return error_oom(err);
    }
    host->registry = registry_create(&(struct registry_options){
            .duplicates = config_settings(host->config)->replaces_duplicates ? REGISTRY_REPLACE
                                                                             : REGISTRY_REJECT,
            .log = &host->log,
            .owners = {.claims = owners_claims, .shadowed = owners_shadowed, .user = host},
            .published = follow_tools,
            .event = host_tool_event,
            .settings = host_settings,
            .registering = host_registering,
            .incompatible = owners_incompatible,
            .user = host});
    host->writer = store_writer_create();
    host->pool = pool_create(&host->calls, host->options.threads_max < UINT32_MAX
                                                   ? (uint32_t)host->options.threads_max
                                                   : UINT32_MAX);
    return host->registry == NULL || host->writer == NULL || host->pool == NULL ? error_oom(err)
                                                                                : 0;
}

/* Create the objects that keep decisions and records in the store. */
static int make_keepers(struct toolrack *host, const struct places *places,
                        struct toolrack_error *err) {
    host->permit = permit_create(
            &(struct permit_options){.log = &host->log,
                                     .store = host->store,
                                     .writer = host->writer,
                                     .registry = host->registry,
                                     .config = host->config,
                                     .host = host,
                                     .event = tell_of_permit,
                                     .approve = host->options.approve != NULL ? ask_app : NULL,
                                     .check_arguments = call_check_arguments});
    if (host->permit == NULL) {
        return error_oom(err);
    }
    host->record = record_create(
            &(struct record_options){.log = &host->log,
                                     .store = host->store,
                                     .writer = host->writer,
                                     .permit = host->permit,
                                     .registry = host->registry,
                                     .keeps_lines = places->state_dir != NULL,
                                     .days = config_settings(host->config)->log_days,
                                     .megabytes = config_settings(host->config)->log_megabytes,
                                     .per_second = config_settings(host->config)->log_per_second});
    if (host->record == NULL) {
        return error_oom(err);
    }
    struct scenes *scenes = NULL;
    int code = choosing_scenes(host->config, &scenes, err);
    if (code < 0) {
        return code;
    }
    struct assist assist;
    struct embed embed;
    choosing_assist(host, &assist);
    choosing_embed(host, &embed);
    host->choose = choose_create(&(struct choose_options){.log = &host->log,
                                                          .store = host->store,
                                                          .registry = host->registry,
                                                          .permit = host->permit,
                                                          .scenes = scenes,
                                                          .assist = assist,
                                                          .embed = embed,
                                                          .flush = record_flush,
                                                          .record = host->record});
    host->tokens = tokens_create(&(struct tokens_options){.log = &host->log,
                                                          .store = host->store,
                                                          .permit = host->permit,
                                                          .learns = serving_learns,
                                                          .user = host});
    host->runner = runner_create(places->kept_dir);
    host->tasks = tasks_create(&(struct tasks_options){.log = &host->log,
                                                       .store = host->store,
                                                       .runner = host->runner,
                                                       .cancelled = serving_cancelled,
                                                       .user = host});
    return host->choose != NULL && host->tokens != NULL && host->runner != NULL &&
                           host->tasks != NULL
                   ? 0
                   : error_oom(err);
}

static int make_life(struct toolrack *host, struct toolrack_error *err) {
    bool in_process = host->options.isolation == TOOLRACK_ISOLATION_NONE;
    host->life = life_create(&(struct life_options){
            .host = host,
            .log = &host->log,
            .config = host->config,
            .places = &host->places,
            .store = host->store,
            .permit = host->permit,
            .registry = host->registry,
            .calls = &host->calls,
            .images = &host->images,
            .worker_program = host->options.worker_program,
            .isolation = in_process ? ISOLATION_NONE : ISOLATION_PROCESS,
            .require_sandbox =
                    host->options.require_sandbox || config_settings(host->config)->require_sandbox,
            .keeps_spare_worker = config_settings(host->config)->keeps_spare_worker,
            .safe_mode = host->options.safe_mode,
            .watch_debounce_ms = host->options.watch_debounce_ms,
            .decided = follow_tell,
            .event = host_event});
    return host->life != NULL ? 0 : error_oom(err);
}

/* From now on decisions of other processes wait until start_following(). */
static int listen_to_hosts(struct toolrack *host, const struct places *places,
                           struct toolrack_error *err) {
    struct toolrack_error reason;
    host->hosts = hosts_create(&(struct hosts_options){.log = &host->log,
                                                       .state_dir = places->kept_dir,
                                                       .apply = follow_decisions,
                                                       .exchange = follow_contents,
                                                       .user = host});
    if (host->hosts == NULL) {
        return error_oom(err);
    }
    if (host->options.brief == 0 && hosts_listen(host->hosts, &reason) < 0) {
        log_line(&host->log, LOG_WARNING, "store",
                 "what other processes decide takes effect at the next start: %s", reason.message);
    }
    return 0;
}

static void start_following(struct toolrack *host) {
    struct toolrack_error reason;
    if (hosts_start(host->hosts, &reason) < 0) {
        log_line(&host->log, LOG_WARNING, "store",
                 "what other processes decide takes effect at the next start: %s", reason.message);
    }
}

/* A host whose store cannot be read runs without the settings, logs that, and refuses what they
 * might be about. */
static int open_store(struct toolrack *host, const struct places *places,
                      struct toolrack_error *err) {
    struct toolrack_error reason = {0};
    if (places->state_dir != NULL &&
        ownership_check(places->state_dir, NULL) == TOOLRACK_E_REFUSED) {
        host->places.kept_dir = NULL; /* nothing is left there either; the store says why */
        host->places.cache_path = NULL;
    }
    int listening = listen_to_hosts(host, places, err);
    if (listening < 0) {
        return listening;
    }
    if (places->state_dir != NULL && store_is_blank(places->state_dir)) {
        log_line(&host->log, LOG_WARNING, "store",
                 "toolrack.db in %s is empty and is begun anew: what was decided and stored in it, "
                 "if anything was, is lost; restore it from a copy if it was cut off",
                 places->state_dir);
    }
    host->store = host->options.brief != 0 ? store_open(places->state_dir, &reason)
                                           : store_open_to_write(places->state_dir, &reason);
    int code = host->store != NULL ? make_keepers(host, places, err) : error_oom(err);
    if (code == 0) {
        code = make_life(host, err);
    }
    if (code < 0) {
        return code;
    }
    atomic_store(&host->settings_unread, reason.code != 0 || defaults_open(host, &reason) < 0);
    if (reason.code == 0) {
        (void)permit_refresh(host->permit, &reason);
    }
    if (reason.code != 0) {
        log_line(&host->log, LOG_ERROR, "store", "settings made earlier are not in effect: %s",
                 reason.message);
        permit_withhold(host->permit, reason.message);
    }
    return 0;
}

/* So that other hosts of the user do not grant the places of this one. The state folder may not
 * exist before there is something to store. */
static void note_places(struct toolrack *host) {
    struct toolrack_error err;
    struct stat st;
    if (host->places.folders != NULL && elsewhere_note(&host->places, &err) < 0) {
        /* Where the user has no state folder, there is probably no host that would read it. */
        bool may_matter = stat(host->places.user_state, &st) == 0;
        log_line(&host->log, may_matter ? LOG_WARNING : LOG_INFO, "config",
                 "other hosts may grant the places of this one to plugins: %s", err.message);
    }
}

static void tell_of_packages(struct toolrack *host) {
    if (host->places.packages_failed != 0) {
        log_line(&host->log, LOG_WARNING, "scan", "nothing is read from %s: %s",
                 host->places.packages, own_folder_words(host->places.packages_failed));
    }
}

static int open_with(struct toolrack *host, struct toolrack_error *err) {
    int code = places_find(&host->options, &host->arena, &host->places, err);
    if (code == 0) {
        code = read_config(host, err);
    }
    if (code == 0) {
        code = make_parts(host, err);
    }
    if (code == 0) {
        code = open_store(host, &host->places, err);
    }
    if (code == 0) { /* first of all: no grant covers a plugin folder */
        code = places_add_folders(&host->options, host->config, &host->arena, &host->places, err);
    }
    if (code == 0) {
        note_places(host);
        tell_of_packages(host);
        code = life_open_definitions(host->life, err);
    }
    if (code < 0 || host->options.no_scan) {
        return code;
    }
    code = host->options.watch ? life_start_watch(host->life, err) : 0;
    if (code == 0) {
        code = life_open_files(host->life, err);
    }
    if (code == 0) { /* last: what is on this machine has its names first */
        code = mounts_open(host, err);
    }
    if (code == 0) {
        defaults_check(host);
        permit_check_configured(host->permit);
    }
    return code == 0 && host->options.watch ? life_watch(host->life, err) : code;
}

int toolrack_open(const struct toolrack_options *options, struct toolrack **ret,
                  struct toolrack_error *err) {
    struct toolrack *host = host_create(options);
    if (host == NULL) {
        return error_oom(err);
    }
    command_places_add(&host->stated, host->options.config_file, host->options.state_dir,
                       host->options.plugin_dirs);
    int code = open_with(host, err);
    if (code < 0) {
        toolrack_close(host);
        return code;
    }
    /* Borrowed from the caller only during this call. */
    host->options.config_file = NULL;
    host->options.state_dir = NULL;
    host->options.plugin_dirs = NULL;
    host->options.worker_program = NULL;
    host->options.services = NULL;
    host->options.service_count = 0;
    start_following(host);
    tell_offered(host);
    store_has_started(host->store);
    *ret = host;
    return 0;
}

/* Free the rest, when nothing uses it any more. */
static void host_free(struct toolrack *host) {
    command_places_remove(&host->stated);
    joined_destroy(atomic_load(&host->joined));
    config_destroy(host->config);
    listeners_destroy(host->listeners);
    notices_destroy(host->notices);
    offer_keys_destroy(host->offered);
    own_settings_destroy(host->own);
    lock_finish(&host->closing_lock);
    runs_finish(&host->runs);
    arena_finish(&host->arena);
    free(host->calls.places);
    free(host);
}

/* A registry_visit: whether the plugin runs, which is told, is found at the first that does. */
static bool look_for_running(void *user, struct toolrack_tool *tool) {
    bool *runs = user;
    *runs = plugin_is_up(tool->reg->plugin);
    return !*runs;
}

/* Whether any plugin runs or ran: it is to be unloaded, its worker to be ended. */
static bool has_run_plugins(struct toolrack *host) {
    bool runs = !life_has_run_none(host->life);
    if (!runs && host->registry != NULL) {
        registry_visit(host->registry, look_for_running, &runs);
    }
    return runs;
}

/* What is to be stored is, and the store is closed: a host that has written to it moves what is in
 * SQLite's log into the file. With `leaves`, which only a process that exits asks for, that is all:
 * to release each of 1,000 tools and plugins, on two threads, took 2.6 of the 23.4
 * million instructions of `toolrack list --json`. */
static void finish(struct toolrack *host, bool leaves) {
    choose_destroy(host->choose); /* its threads may store something */
    note_places(host);
    if (leaves) {
        store_close(host->store);
        return;
    }
    record_destroy(host->record);
    tasks_destroy(host->tasks);
    runner_destroy(host->runner);
    tokens_destroy(host->tokens);
    permit_destroy(host->permit);
    store_writer_destroy(host->writer);
    store_close(host->store);
    hosts_destroy(host->hosts);
    host_free(host);
}

/* ------------------------------------------------------------------- close */

/* How long close waits for what it has cancelled. */
#define CLOSE_GRACE_MS     1000u
/* And then for the callers whose calls were given up, to return. */
#define CLOSE_RETURN_MS    100u
/* Pauses between the looks whether others are still inside: they do not tell when they leave, since
 * the host may be gone by then. */
#define CLOSE_PAUSE_NS_MIN (CLOCK_NS_PER_MS / 8)
#define CLOSE_PAUSE_NS_MAX (16 * CLOCK_NS_PER_MS)

/* A registry_visit: the calls that wait for the turn of the plugin, or for its load, look again. */
static bool wake_plugin(void *user, struct toolrack_tool *tool) {
    (void)user;
    plugin_wake(tool->reg->plugin, NULL, false);
    return true;
}

/* Wait until no call runs and no thread is inside the host. Those on their callers' threads are
 * told at each look: one of them may just be about to wait. Returns whether nobody is inside. */
static bool await_callers(struct toolrack *host, uint64_t until_ns) {
    uint64_t pause_ns = CLOSE_PAUSE_NS_MIN;
    for (;;) {
        bool is_quiet = pool_await_quiet(host->pool, 0);
        bool is_empty = call_host_uses(&host->calls) == 0;
        uint64_t now_ns = clock_now_ns();
        if ((is_quiet && is_empty) || now_ns >= until_ns) {
            return is_empty;
        }
        life_interrupt(host->life);
        registry_visit(host->registry, wake_plugin, NULL);
        uint64_t look_ns = now_ns + pause_ns < until_ns ? now_ns + pause_ns : until_ns;
        if (pool_await_quiet(host->pool, look_ns) && !is_empty) {
            const struct timespec look = clock_timespec(look_ns);
            (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &look, NULL);
        }
        pause_ns = 2 * pause_ns < CLOSE_PAUSE_NS_MAX ? 2 * pause_ns : CLOSE_PAUSE_NS_MAX;
    }
}

/* Cancel all calls and wait for them.
 * @param ret_left  whether a thread of the app is still inside the host
 * @return whether no code of a plugin that was called still runs on a thread of the host */
static bool end_calls(struct toolrack *host, bool *ret_left) {
    const uint64_t until_ns = clock_now_ns() + CLOSE_GRACE_MS * CLOCK_NS_PER_MS;
    *ret_left = false;
    if (host->pool == NULL) {
        return true; /* it was not opened */
    }
    atomic_store(&host->calls.closing, true);
    pool_cancel_all(host->pool);
    (void)await_callers(host, until_ns);
    bool is_quiet = pool_stop(host->pool);
    *ret_left = !await_callers(host, clock_now_ns() + CLOSE_RETURN_MS * CLOCK_NS_PER_MS);
    if (is_quiet && !*ret_left) {
        pool_destroy(host->pool);
    }
    return is_quiet;
}

/* A host that is left to a thread which has not returned. It is never freed, which is no leak to be
 * reported. */
static void leave(struct toolrack *host) {
    static _Atomic(struct toolrack *) left;
    host->next_left = atomic_load(&left);
    while (!atomic_compare_exchange_weak(&left, &host->next_left, host)) {
    }
}

static void close_host(struct toolrack *host, bool exits) {
    if (host_check_process(host, NULL) < 0) {
        return; /* all that it has is its process's, and its threads are not here to be awaited */
    }
    toolrack_leave(host);
    notices_stop(host->notices);
    mounts_stop(host->mounts);
    runs_stop(&host->runs); /* while calls of theirs still run */
    life_stop(host->life);  /* a reload that another host's decision began ends sooner */
    hosts_stop(host->hosts);
    bool is_left;
    bool quiet = end_calls(host, &is_left);
    runner_end(host->runner); /* a call that has not returned will not end its task */
    quiet = life_is_quiet(host->life) && quiet && !is_left;
    permit_stop(host->permit);
    lock_take(&host->closing_lock);
    host->closing = true;
    lock_release(&host->closing_lock);
    bool leaves = exits && quiet && !has_run_plugins(host);
    if (!leaves && !is_left) {
        registry_destroy(host->registry);
    }
    if (!leaves) {
        life_end(host->life, quiet, is_left);
    }
    store_writer_stop(host->writer);
    record_stop(host->record); /* this may add decisions */
    if (host->permit != NULL) {
        permit_flush(host->permit);
    }
    atomic_store(&host->closed, true);
    if (quiet) {
        mounts_destroy(host->mounts);
        if (!leaves) {
            life_destroy(host->life);
        }
        finish(host, leaves);
    } else { /* a plugin that is still being loaded uses the host for settings and events */
        leave(host);
    }
}

void toolrack_close(struct toolrack *host) {
    if (host != NULL) {
        close_host(host, false);
    }
}

void toolrack_close_at_exit(struct toolrack *host) {
    if (host != NULL) {
        close_host(host, !SANITIZER_ADDRESS); /* which reports memory that is not released */
    }
}
