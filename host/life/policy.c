#include "life/policy.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "plugin/capability.h"

const char *policy_capability_name(uint32_t kind) {
    return capability_kind_name(kind);
}

/* A policy under construction. */
struct making {
    const struct policy_options *options;
    const struct config_policy *asked;
    struct arena *arena;
    struct policy *policy;
    /* The arrays that the sandbox and the environment will point to, large enough for all
     * capabilities. */
    const char **read_paths;
    const char **write_paths;
    uint16_t *ports;
    bool all_ports;
    const char **environment;
    size_t environment_count;
};

/* ------------------------------------------------------------------ allowed */

static bool is_allowed(const struct making *making, const struct tr_capability *capability) {
    size_t at;
    size_t count;
    yyjson_val *allowance;
    yyjson_arr_foreach (making->asked->allow, at, count, allowance) {
        if (capability_is_allowed(yyjson_get_str(allowance), capability->kind, capability->value)) {
            return true;
        }
    }
    return making->options->trust == TRUST_BUILTIN && capability->kind == TR_CAP_READ;
}

/* ------------------------------------------------------------- placeholders */

#define SETTING_PREFIX "setting:"

/* ${workspace}, ${home}: folders that the administrator set. ${setting:rates_file}: the value of
 * the plugin's own setting, also written by the administrator. */
static const char *placeholder(const struct making *making, const char *name, size_t length) {
    const struct config *config = making->options->config;
    size_t prefix = strlen(SETTING_PREFIX);
    if (length <= prefix || memcmp(name, SETTING_PREFIX, prefix) != 0) {
        return config_placeholder(config, name, length);
    }
    const char *key = arena_copy(making->arena, name + prefix, length - prefix);
    yyjson_val *settings = config_plugin_settings(config, making->options->desc->plugin->id);
    return yyjson_get_str(json_at(settings, key));
}

static bool expand(const struct making *making, const char *text, struct buf *out) {
    while (*text != '\0') {
        const char *end = strncmp(text, "${", 2) == 0 ? strchr(text, '}') : NULL;
        if (end == NULL) {
            buf_add(out, text++, 1);
            continue;
        }
        const char *path = placeholder(making, text + 2, (size_t)(end - text) - 2);
        if (path == NULL) {
            return false;
        }
        buf_add_text(out, path);
        text = end + 1;
    }
    return true;
}

/* The real path, in the arena; NULL where there is none, or when out of memory: then *ret_failed is
 * set. */
static const char *real_path(const struct making *making, const char *text, bool *ret_failed) {
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    bool known = expand(making, text, &path);
    *ret_failed = path.failed;
    if (path.failed || !known || path.length == 0 || path.data[0] != '/') {
        return NULL;
    }
    /* Symbolic links are resolved: otherwise a user who may change a link would decide what is
     * granted. A path that does not exist grants nothing. */
    CLEANUP(freep) char *resolved = realpath(path.data, NULL);
    const char *found = resolved != NULL ? resolved : path.data;
    const char *kept = arena_copy(making->arena, found, strlen(found));
    *ret_failed = kept == NULL;
    return kept;
}

/* ------------------------------------------------------------------- grants */

static int too_many(const struct making *making, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "plugin '%s' is allowed more paths or ports than the %u and %u of a sandbox",
                     making->options->desc->plugin->id, SANDBOX_PATHS_MAX, SANDBOX_PORTS_MAX);
}

/* Let the sandbox do what an allowed capability says. */
static int grant(struct making *making, const struct policy_capability *capability,
                 struct toolrack_error *err) {
    struct sandbox_policy *sandbox = &making->policy->sandbox;
    const char *value = capability->declared->value;
    switch (capability->declared->kind) {
    case TR_CAP_READ:
    case TR_CAP_WRITE: {
        bool reads = capability->declared->kind == TR_CAP_READ;
        size_t *count = reads ? &sandbox->read_path_count : &sandbox->write_path_count;
        if (capability->path == NULL) {
            return 0; /* it is shown as allowed and without a folder */
        }
        if (*count == SANDBOX_PATHS_MAX) {
            return too_many(making, err);
        }
        (reads ? making->read_paths : making->write_paths)[(*count)++] = capability->path;
        return 0;
    }
    case TR_CAP_NETWORK: {
        struct capability_network network;
        struct capability_fault unused;
        if (!capability_read_network(value, &network, &unused)) {
            return 0; /* a descriptor that an app registers is not refused for it */
        }
        sandbox->udp = sandbox->udp || network.is_udp;
        sandbox->network = sandbox->network || !network.is_udp;
        if (network.is_udp || network.port == 0) {
            making->all_ports = making->all_ports || !network.is_udp;
            return 0;
        }
        if (sandbox->port_count == SANDBOX_PORTS_MAX) {
            return too_many(making, err);
        }
        making->ports[sandbox->port_count++] = network.port;
        return 0;
    }
    case TR_CAP_SPAWN: sandbox->spawn = true; return 0;
    case TR_CAP_ENV: {
        struct capability_fault unused;
        const char *found = getenv(value);
        if (found == NULL || !capability_check(TR_CAP_ENV, value, &unused)) {
            return 0;
        }
        const char *entry = arena_printf(making->arena, "%s=%s", value, found);
        making->environment[making->environment_count++] = entry;
        return entry != NULL ? 0 : error_oom(err);
    }
    default: return 0;
    }
}

static int add_capability(struct making *making, const struct tr_capability *declared,
                          struct policy_capability *ret, struct toolrack_error *err) {
    *ret = (struct policy_capability){.declared = declared,
                                      .allowed = is_allowed(making, declared)};
    if (declared->kind == TR_CAP_READ || declared->kind == TR_CAP_WRITE) {
        bool failed;
        ret->path = real_path(making, declared->value, &failed);
        if (failed) {
            return error_oom(err);
        }
    }
    return ret->allowed ? grant(making, ret, err) : 0;
}

static int add_capabilities(struct making *making, struct toolrack_error *err) {
    const struct tr_plugin *plugin = making->options->desc->plugin;
    uint32_t count = plugin->capability_count;
    struct policy_capability *capabilities =
            arena_zalloc(making->arena, (count + 1) * sizeof *capabilities);
    making->read_paths = arena_alloc(making->arena, SANDBOX_PATHS_MAX * sizeof(char *));
    making->write_paths = arena_alloc(making->arena, SANDBOX_PATHS_MAX * sizeof(char *));
    making->ports = arena_alloc(making->arena, SANDBOX_PORTS_MAX * sizeof *making->ports);
    making->environment = arena_zalloc(making->arena, (count + 1) * sizeof(char *));
    if (capabilities == NULL || making->read_paths == NULL || making->write_paths == NULL ||
        making->ports == NULL || making->environment == NULL) {
        return error_oom(err);
    }
    making->policy->capabilities = capabilities;
    making->policy->capability_count = count;
    for (uint32_t i = 0; i < count; i++) {
        int code = add_capability(making, &plugin->capabilities[i], &capabilities[i], err);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* -------------------------------------------------------------------- whole */

static enum isolation choose_isolation(const struct policy_options *options,
                                       const struct config_policy *asked) {
    return asked->isolation != ISOLATION_UNSTATED     ? asked->isolation
           : options->isolation != ISOLATION_UNSTATED ? options->isolation
           : config_settings(options->config)->isolation != ISOLATION_UNSTATED
                   ? config_settings(options->config)->isolation
           : options->app_isolation != ISOLATION_UNSTATED ? options->app_isolation
                                                          : ISOLATION_PROCESS;
}

static enum pin_policy choose_pin(const struct policy_options *options,
                                  const struct config_policy *asked) {
    return asked->pin != PIN_UNSTATED     ? asked->pin
           : options->pin != PIN_UNSTATED ? options->pin
           : config_settings(options->config)->pin != PIN_UNSTATED
                   ? config_settings(options->config)->pin
           : options->trust == TRUST_COMMUNITY ? PIN_ENFORCE
                                               : PIN_WARN;
}

/* A plugin that declares threads gets more of them where the administrator states no number. */
static uint32_t choose_threads(const struct policy_options *options,
                               const struct config_policy *asked) {
    bool declares = (options->desc->plugin->flags & TR_STARTS_THREADS) != 0;
    return asked->threads != 0 ? asked->threads
           : declares          ? SANDBOX_THREADS_DECLARED
                               : SANDBOX_THREADS_DEFAULT;
}

int policy_make(const struct policy_options *options, struct arena *arena, struct policy *ret,
                struct toolrack_error *err) {
    struct config_policy asked;
    config_policy(options->config, options->desc->plugin->id, &asked);
    *ret = (struct policy){.isolation = choose_isolation(options, &asked),
                           .pin = choose_pin(options, &asked),
                           .keep = asked.keep,
                           .limits = {.workers_max = asked.workers,
                                      .queue_max = asked.queue,
                                      .start_ms = asked.start_ms,
                                      .idle_ms = asked.idle_ms,
                                      .grace_ms = asked.grace_ms,
                                      .backoff_ms = asked.backoff_ms,
                                      .backoff_ms_max = asked.backoff_max_ms,
                                      .crashes_max = asked.crashes,
                                      .crashes_window_ms = asked.crashes_window_ms},
                           .sandbox.network_namespace = asked.network_namespace,
                           .sandbox.limits = {.memory_bytes = (uint64_t)asked.memory_mb << 20,
                                              .file_size_bytes = (uint64_t)asked.file_mb << 20,
                                              .cpu_s = asked.cpu_s,
                                              .files = asked.files,
                                              .processes = asked.processes,
                                              .threads = choose_threads(options, &asked)}};
    struct making making = {.options = options, .asked = &asked, .arena = arena, .policy = ret};
    int code = add_capabilities(&making, err);
    if (code < 0) {
        return code;
    }
    ret->sandbox.read_paths = making.read_paths;
    ret->sandbox.write_paths = making.write_paths;
    ret->sandbox.ports = making.ports;
    if (making.all_ports) {
        ret->sandbox.port_count = 0;
    }
    ret->environment = making.environment;
    return 0;
}
