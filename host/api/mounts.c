#include "api/mounts.h"

#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/name.h"
#include "base/thread.h"
#include "life/guard.h"
#include "plugin/origin.h"
#include "registry/document.h"
#include "registry/tool.h"
#include "remote/mcp/mount.h"

/* How often somebody looks, while a server runs, whether one has said something unasked, is idle or
 * uses too much. */
#define LOOK_MS 1000u

#define RULE_SERVER "mcp-server"

/* One server: of "mcpServers", or of a tool of the configuration, which has no plugin of its own.
 */
struct server {
    struct server *next;
    struct mounts *mounts;
    const char *name;
    yyjson_val *of_tool; /* the implementation; NULL: it is of "mcpServers" */
    char *place;         /* of its value in the configuration, as the file of its plugin */
    char *where;         /* the same in words */
    struct mount *mount;
    struct plugin *plugin;   /* a reference to the one that is registered, or NULL */
    struct descriptor *desc; /* while it is opened; then the registry's */
    int code;
    struct toolrack_error why;
    pthread_t thread;
    bool has_thread;
};

struct mounts {
    struct toolrack *host;
    struct server *first; /* in order; none is added once the host is open */
    struct server **last;
    struct lock lock;  /* held while a server is asked for its tools */
    struct lock pause; /* guards what follows */
    pthread_cond_t changed;
    bool stops;
    bool runs; /* a server, perhaps */
    pthread_t thread;
    bool has_thread;
};

/* The servers of a host; NULL: no memory. */
static struct mounts *mounts_of(struct toolrack *host) {
    struct mounts *mounts = host->mounts != NULL ? host->mounts : calloc(1, sizeof *mounts);
    if (mounts != NULL && host->mounts == NULL) {
        mounts->host = host;
        mounts->last = &mounts->first;
        lock_init(&mounts->lock);
        lock_init(&mounts->pause);
        clock_cond_init(&mounts->changed);
        host->mounts = mounts;
    }
    return mounts;
}

static void take_notice(void *user, enum plugin_notice notice, const char *text) {
    const struct server *server = user;
    CLEANUP(buf_finish) struct buf id = BUF_INIT;
    buf_printf(&id, MOUNT_ID_PREFIX "%s", server->name);
    if (!id.failed && server->of_tool == NULL) {
        notices_add(server->mounts->host->notices, id.data, notice, text);
    }
}

static void take_start(void *user) {
    struct mounts *mounts = ((struct server *)user)->mounts;
    LOCK_SCOPE(&mounts->pause);
    mounts->runs = true;
    (void)pthread_cond_signal(&mounts->changed);
}

/* A foreign program has no mount namespace: what contains what is the host's is not granted. */
static int judge_path(void *user, const char *path, bool writes, struct toolrack_error *err) {
    const struct toolrack *host = ((struct server *)user)->mounts->host;
    CLEANUP(arena_finish) struct arena scratch;
    arena_init(&scratch, NULL, 0);
    struct guard guard = {.arena = &scratch,
                          .places = &host->places,
                          .worker_program = life_worker_program(host->life),
                          .config = host->config,
                          .no_mounts = true};
    const char *refusal = NULL;
    int code = guard_grant(&guard, path, writes, &refusal, err);
    return code == 0 && refusal != NULL ? error_set(err, TOOLRACK_E_REFUSED, "%s", refusal) : code;
}

/* @return NULL: no memory */
static struct server *add_server(struct mounts *mounts, const char *name, yyjson_val *value,
                                 bool is_of_tool) {
    struct toolrack *host = mounts->host;
    struct server *server = calloc(1, sizeof *server);
    CLEANUP(buf_finish) struct buf place = BUF_INIT;
    CLEANUP(buf_finish) struct buf where = BUF_INIT;
    if (server == NULL) {
        return NULL;
    }
    buf_printf(&place, "%s#/%s/%s", host->places.config_file, is_of_tool ? "tools" : "mcpServers",
               name);
    buf_printf(&where,
               is_of_tool ? "the implementation of \"%s\" in \"tools\""
                          : "\"%s\" in \"mcpServers\"",
               name);
    *server = (struct server){.mounts = mounts,
                              .name = name,
                              .of_tool = is_of_tool ? value : NULL,
                              .place = buf_steal(&place),
                              .where = buf_steal(&where)};
    *mounts->last = server;
    mounts->last = &server->next;
    if (server->place == NULL || server->where == NULL) {
        return NULL;
    }
    server->code = mount_create(&(struct mount_options){.name = name,
                                                        .where = server->where,
                                                        .value = value,
                                                        .launcher = life_worker_program(host->life),
                                                        .folder = host->places.kept_dir,
                                                        .log = &host->log,
                                                        .notice = take_notice,
                                                        .started = take_start,
                                                        .may_use = judge_path,
                                                        .user = server},
                                &server->mount, &server->why);
    return server;
}

/* ---------------------------------------------------------------- register */

static void refuse(struct server *server, const char *tool, const char *rule, const char *reason,
                   const char *fix) {
    struct toolrack *host = server->mounts->host;
    CLEANUP(buf_finish) struct buf id = BUF_INIT;
    buf_printf(&id, MOUNT_ID_PREFIX "%s", server->name);
    log_line(&host->log, LOG_ERROR, "mcp", "%s%s%s: %s", server->name,
             tool != NULL ? ", tool " : "", tool != NULL ? tool : "", reason);
    registry_refuse(host->registry, &(struct toolrack_refusal){.file = server->place,
                                                               .plugin = id.data,
                                                               .tool = tool,
                                                               .rule = rule,
                                                               .reason = reason,
                                                               .fix = fix});
}

/* A tool that cannot be registered is refused, and the others are not. */
static void refuse_findings(struct server *server, const struct descriptor *desc) {
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        if (finding->severity == FINDING_ERROR) {
            refuse(server, finding->tool, finding->rule, finding->cause, finding->fix);
        }
    }
}

static struct plugin *make_plugin(struct server *server, struct descriptor *desc) {
    struct toolrack *host = server->mounts->host;
    struct toolrack_error unheard;
    CLEANUP(plugin_unrefp)
    struct plugin *plugin =
            plugin_create(server->place, TRUST_COMMUNITY, ORIGIN_REMOTE, NULL, desc, &host->images);
    if (plugin == NULL) {
        return NULL;
    }
    struct config_policy policy;
    const struct config_settings *settings = config_settings(host->config);
    config_policy(host->config, desc->plugin->id, &policy);
    plugin->measures_all = policy.measure == MEASURE_ALL;
    plugin->priority_stated = mount_priority(server->mount) != 0;
    /* Its texts are a stranger's, who can change them at any time. */
    plugin->pin = policy.pin != PIN_UNSTATED      ? policy.pin
                  : settings->pin != PIN_UNSTATED ? settings->pin
                                                  : PIN_ENFORCE;
    /* A call waits on its own thread, and sees to its deadline itself. */
    plugin->service = (struct run_service){
            .run = mount_run, .user = server->mount, .returns = true, .waits = true};
    return plugin_adopt(plugin, desc->plugin, &unheard) == 0 ? STEAL(plugin) : NULL;
}

/* Put the tools in place of those that were registered before. */
static int exchange(struct server *server, struct descriptor *desc, struct toolrack_error *err) {
    struct toolrack *host = server->mounts->host;
    struct plugin *plugin = make_plugin(server, desc);
    if (plugin == NULL) {
        return error_oom(err);
    }
    const struct registry_swap swap = {.old = server->plugin, .new = plugin, .file = server->place};
    int code = registry_swap(host->registry, &swap, NULL, err);
    if (code < 0) {
        plugin_unref(plugin);
        return code;
    }
    plugin_unref(server->plugin);
    server->plugin = plugin;
    refuse_findings(server, desc);
    return 0;
}

/* -------------------------------------------------------------------- open */

static void *describe(void *user) {
    struct server *server = user;
    bool no_memory = false;
    bool is_same;
    const struct descriptor_options options = tool_descriptor_options(&no_memory);
    server->code =
            mount_describe(server->mount, false, &options, &server->desc, &is_same, &server->why);
    if (server->code == 0 && no_memory) {
        server->code = error_oom(&server->why);
    }
    return NULL;
}

static int open_one(struct server *server, struct toolrack_error *err) {
    if (server->has_thread) {
        (void)pthread_join(server->thread, NULL);
    }
    CLEANUP(descriptor_unrefp) struct descriptor *desc = STEAL(server->desc);
    if (server->code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(err);
    }
    if (server->code < 0) {
        refuse(server, NULL, RULE_SERVER, server->why.message,
               "correct what is said there and reload it, or write \"enabled\": false");
        return 0;
    }
    return exchange(server, desc, err);
}

/* Whether the id of a server's plugin is one, and has a name of the server in it. */
static bool is_name(const char *id) {
    return name_valid_id(id) && strcmp(id, MOUNT_ID_PREFIX) != 0;
}

static int refuse_name(const char *name, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_INVALID,
                     "\"%.100s\" is no name of an MCP server; give it one of 1 to 60 letters, "
                     "digits, '_', '.' and '-'",
                     name);
}

static bool is_off(yyjson_val *server) {
    return yyjson_is_false(yyjson_obj_get(server, "enabled")) ||
           yyjson_is_true(yyjson_obj_get(server, "disabled"));
}

/* @return 0; TOOLRACK_E_NO_MEMORY. What is wrong with the value refuses the server. */
static int add(struct mounts *mounts, const char *name, yyjson_val *value,
               struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf id = BUF_INIT;
    struct server *server = add_server(mounts, name, value, false);
    buf_printf(&id, MOUNT_ID_PREFIX "%s", name);
    if (server == NULL || id.failed) {
        return error_oom(err);
    }
    if (!is_name(id.data)) {
        server->code = refuse_name(name, &server->why);
    } else if (server->code == 0) {
        server->has_thread = thread_start(&server->thread, describe, server) == 0;
        if (!server->has_thread) {
            (void)describe(server);
        }
    }
    return 0;
}

static int open_all(struct mounts *mounts, yyjson_val *servers, struct toolrack_error *err) {
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_obj_foreach (servers, at, count, key, value) {
        if (code == 0 && !is_off(value)) {
            code = add(mounts, yyjson_get_str(key), value, err);
        }
    }
    for (struct server *server = mounts->first; server != NULL; server = server->next) {
        /* All threads are joined, whatever happens. */
        int opened = server->of_tool == NULL ? open_one(server, err) : 0;
        code = code < 0 ? code : opened;
    }
    return code;
}

int mounts_check(struct toolrack *host, void (*take)(void *user, const char *name, const char *why),
                 void *user, struct toolrack_error *err) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    yyjson_val *servers = config_mcp_servers(host->config);
    if (servers == NULL) {
        return 0; /* yyjson_obj_foreach() takes none */
    }
    yyjson_obj_foreach (servers, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        CLEANUP(buf_finish) struct buf id = BUF_INIT;
        CLEANUP(mount_destroyp) struct mount *mount = NULL;
        struct mounts mounts = {.host = host};
        struct server server = {.mounts = &mounts, .name = name};
        struct toolrack_error why;
        buf_printf(&id, MOUNT_ID_PREFIX "%s", name);
        int code = id.failed           ? TOOLRACK_E_NO_MEMORY
                   : !is_name(id.data) ? refuse_name(name, &why)
                   : is_off(value)
                           ? 0
                           : mount_create(&(struct mount_options){.name = name,
                                                                  .where = name,
                                                                  .value = value,
                                                                  .folder = host->places.kept_dir,
                                                                  .log = &host->log,
                                                                  .may_use = judge_path,
                                                                  .user = &server},
                                          &mount, &why);
        if (code == TOOLRACK_E_NO_MEMORY) {
            return error_oom(err);
        }
        if (code < 0) {
            take(user, name, why.message);
        }
    }
    return 0;
}

/* ---------------------------------------------------------- tools of the configuration */

/* In the arena of the configuration. */
struct remote_tool {
    struct toolrack *host;
    const char *server;   /* of "mcpServers"; NULL: */
    struct server *owned; /* its own */
    const char *remote;   /* its name at the server */
};

static struct server *find_server(struct mounts *mounts, const char *name) {
    struct server *server = mounts != NULL ? mounts->first : NULL;
    while (server != NULL && (server->of_tool != NULL || strcmp(server->name, name) != 0)) {
        server = server->next;
    }
    return server;
}

static tr_status run_remote_tool(struct tr_call *call, void *user) {
    const struct remote_tool *tool = user;
    struct server *server =
            tool->server != NULL ? find_server(tool->host->mounts, tool->server) : tool->owned;
    if (server == NULL || server->mount == NULL) {
        return tr_fail(call, TR_FAILED, NULL, "MCP server '%s' is not mounted: %s",
                       tool->server != NULL ? tool->server : run_of(call)->context.tool,
                       server != NULL ? server->why.message
                                      : "\"mcpServers\" has it, but not enabled");
    }
    return mount_call(server->mount, run_of(call), tool->remote);
}

/* The server that an implementation describes: one for all that describe the same. */
static struct server *owned_server(struct mounts *mounts, const char *name, yyjson_val *value) {
    for (struct server *server = mounts->first; server != NULL; server = server->next) {
        bool is_same = server->of_tool != NULL &&
                       yyjson_obj_size(server->of_tool) == yyjson_obj_size(value);
        yyjson_obj_iter each = yyjson_obj_iter_with(value);
        for (yyjson_val *key; is_same && (key = yyjson_obj_iter_next(&each)) != NULL;) {
            yyjson_val *other = yyjson_obj_get(server->of_tool, yyjson_get_str(key));
            is_same = json_has_text(key, "tool")
                              ? other != NULL
                              : other != NULL && yyjson_equals(yyjson_obj_iter_get_val(key), other);
        }
        if (is_same) {
            return server;
        }
    }
    return add_server(mounts, name, value, true);
}

int mounts_make_tool(struct toolrack *host, const struct config *config, const char *name,
                     yyjson_val *value, struct arena *arena, struct run_service *ret,
                     struct toolrack_error *err) {
    const char *named = yyjson_get_str(yyjson_obj_get(value, "server"));
    yyjson_val *remote = yyjson_obj_get(value, "tool");
    struct remote_tool *tool = arena_zalloc(arena, sizeof *tool);
    bool describes =
            yyjson_obj_get(value, "command") != NULL || yyjson_obj_get(value, "url") != NULL;
    if (tool == NULL) {
        return error_oom(err);
    }
    if ((named != NULL) == describes || (named != NULL && yyjson_obj_size(value) > 3)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "either \"server\" names one of \"mcpServers\", which describes it, or "
                         "\"command\" or \"url\" and what belongs to it describe one");
    }
    if (named != NULL && yyjson_obj_get(config_mcp_servers(config), named) == NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "there is no server \"%s\" in \"mcpServers\"",
                         named);
    }
    *tool = (struct remote_tool){.host = host,
                                 .server = named,
                                 .remote = remote != NULL ? yyjson_get_str(remote) : name};
    *ret = (struct run_service){
            .run = run_remote_tool, .user = tool, .returns = true, .waits = true};
    if (host == NULL || named != NULL) {
        return 0;
    }
    struct mounts *mounts = mounts_of(host);
    tool->owned = mounts != NULL ? owned_server(mounts, name, value) : NULL;
    if (tool->owned == NULL) {
        return error_oom(err);
    }
    if (tool->owned->code < 0) {
        *err = tool->owned->why;
    }
    return tool->owned->code;
}

/* -------------------------------------------------------------------- tend */

/* Ask a server anew. Caller holds the lock. */
static int refresh(struct server *server, struct toolrack_error *err) {
    bool no_memory = false;
    bool is_same;
    const struct descriptor_options options = tool_descriptor_options(&no_memory);
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    if (server->mount == NULL) {
        *err = server->why;
        return err->code;
    }
    int code = mount_describe(server->mount, true, &options, &desc, &is_same, err);
    if (code == 0 && no_memory) {
        code = error_oom(err);
    }
    return code < 0 || (is_same && server->plugin != NULL) ? code : exchange(server, desc, err);
}

/* @return whether it runs */
static bool tend(struct server *server) {
    struct toolrack_error why;
    bool has_changed;
    if (server->mount == NULL) {
        return false;
    }
    bool runs = mount_tend(server->mount, &has_changed);
    if (has_changed && server->of_tool == NULL && refresh(server, &why) < 0) {
        log_line(&server->mounts->host->log, LOG_WARNING, "mcp",
                 "%s: its tools have changed, and are not known: %s", server->name, why.message);
    }
    return runs;
}

/* Wait for the next look: while no server runs there is none. @return false: no more */
static bool await_look(struct mounts *mounts) {
    LOCK_SCOPE(&mounts->pause);
    while (!mounts->runs && !mounts->stops) {
        lock_wait(&mounts->pause, &mounts->changed);
    }
    const struct timespec look =
            clock_timespec(clock_now_ns() + (uint64_t)LOOK_MS * CLOCK_NS_PER_MS);
    bool is_due = false;
    while (!is_due && !mounts->stops) {
        is_due = !lock_wait_until(&mounts->pause, &mounts->changed, &look);
    }
    mounts->runs = false;
    return !mounts->stops;
}

static void *tend_all(void *user) {
    struct mounts *mounts = user;
    while (await_look(mounts)) {
        bool runs = false;
        lock_take(&mounts->lock);
        for (struct server *server = mounts->first; server != NULL; server = server->next) {
            runs = tend(server) || runs;
        }
        lock_release(&mounts->lock);
        lock_take(&mounts->pause);
        mounts->runs = mounts->runs || runs;
        lock_release(&mounts->pause);
    }
    return NULL;
}

/* ------------------------------------------------------------------- whole */

int mounts_open(struct toolrack *host, struct toolrack_error *err) {
    yyjson_val *servers = config_mcp_servers(host->config);
    if ((yyjson_obj_size(servers) == 0 && host->mounts == NULL) || host->options.safe_mode) {
        return 0;
    }
    struct mounts *mounts = mounts_of(host);
    if (mounts == NULL) {
        return error_oom(err);
    }
    int code = open_all(mounts, servers, err);
    mounts->has_thread = code == 0 && thread_start(&mounts->thread, tend_all, mounts) == 0;
    return code;
}

void mounts_stop(struct mounts *mounts) {
    if (mounts != NULL && mounts->has_thread) {
        lock_take(&mounts->pause);
        mounts->stops = true;
        (void)pthread_cond_signal(&mounts->changed);
        lock_release(&mounts->pause);
        (void)pthread_join(mounts->thread, NULL);
        mounts->has_thread = false;
    }
}

void mounts_destroy(struct mounts *mounts) {
    if (mounts == NULL) {
        return;
    }
    for (struct server *server = mounts->first; server != NULL;) {
        struct server *next = server->next;
        plugin_unref(server->plugin);
        mount_destroy(server->mount);
        free(server->place);
        free(server->where);
        free(server);
        server = next;
    }
    (void)pthread_cond_destroy(&mounts->changed);
    lock_finish(&mounts->pause);
    lock_finish(&mounts->lock);
    free(mounts);
}

static int write_report(const struct server *server, const char *outcome, const char *reason,
                        struct toolrack_text **ret, struct toolrack_error *err) {
    static const char *const absent[] = {"generation", "sha256", "old", "cause"};
    if (ret == NULL) {
        return 0;
    }
    yyjson_mut_val *rows;
    yyjson_mut_doc *doc = document_begin_list(&rows);
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, rows);
    CLEANUP(buf_finish) struct buf id = BUF_INIT;
    buf_printf(&id, MOUNT_ID_PREFIX "%s", server->name);
    document_add_text(doc, row, "file", server->place);
    document_add_text(doc, row, "plugin", id.data);
    document_add_text(doc, row, "outcome", outcome);
    document_add_text(doc, row, "reason", reason);
    for (size_t i = 0; i < ARRAY_LENGTH(absent); i++) {
        document_add_text(doc, row, absent[i], NULL);
    }
    return document_end(doc, ret, err);
}

/* Caller holds the lock. */
static int reload(struct server *server, struct toolrack_text **ret, struct toolrack_error *err) {
    struct toolrack_error why;
    const struct plugin *before = server->plugin;
    int code = refresh(server, &why);
    return code == TOOLRACK_E_NO_MEMORY ? error_oom(err)
           : code < 0                   ? write_report(server, "refused", why.message, ret, err)
                                        : write_report(server,
                                     before == NULL             ? "added"
                                                       : before == server->plugin ? "unchanged"
                                                                                  : "reloaded",
                                                       NULL, ret, err);
}

bool mounts_reload(struct mounts *mounts, const char *name, struct toolrack_text **ret_report,
                   int *ret_code, struct toolrack_error *err) {
    size_t before = strncmp(name, MOUNT_ID_PREFIX, strlen(MOUNT_ID_PREFIX)) == 0
                            ? strlen(MOUNT_ID_PREFIX)
                            : 0;
    if (mounts == NULL) {
        return false;
    }
    LOCK_SCOPE(&mounts->lock);
    struct server *server = find_server(mounts, name + before);
    if (server != NULL) {
        *ret_code = reload(server, ret_report, err);
    }
    return server != NULL;
}

void mounts_retry(struct mounts *mounts) {
    struct toolrack_error why;
    if (mounts == NULL) {
        return;
    }
    LOCK_SCOPE(&mounts->lock);
    for (struct server *server = mounts->first; server != NULL; server = server->next) {
        if (server->plugin == NULL && server->of_tool == NULL) {
            (void)reload(server, NULL, &why);
        }
    }
}
