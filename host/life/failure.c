#include "life/failure.h"

#include <sodium.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "config/config.h"

static void add_text(crypto_hash_sha256_state *hash, const char *text) {
    const char *known = text != NULL ? text : "";
    (void)crypto_hash_sha256_update(hash, (const unsigned char *)known, strlen(known) + 1);
}

static void add_number(crypto_hash_sha256_state *hash, uint64_t number) {
    (void)crypto_hash_sha256_update(hash, (const unsigned char *)&number, sizeof number);
}

static void hash_conditions(const struct generation *generation,
                            unsigned char ret[STORE_SHA256_SIZE]) {
    const struct life_options *options = generation->all->options;
    const struct policy *policy = &generation->policy;
    const struct sandbox_limits *limits = &policy->sandbox.limits;
    yyjson_val *asked = config_plugin_settings(options->config, generation->desc->plugin->id);
    CLEANUP(freep)
    char *settings = asked != NULL ? yyjson_val_write(asked, YYJSON_WRITE_NOFLAG, NULL) : NULL;
    crypto_hash_sha256_state hash;
    (void)crypto_hash_sha256_init(&hash);
    add_text(&hash, TOOLRACK_VERSION);
    add_text(&hash, settings);
    add_number(&hash, generation->is_isolated);
    add_number(&hash, options->require_sandbox);
    add_number(&hash, limits->memory_bytes);
    add_number(&hash, limits->cpu_s);
    add_number(&hash, limits->files);
    add_number(&hash, limits->processes);
    for (size_t i = 0; i < policy->capability_count; i++) {
        const struct policy_capability *capability = &policy->capabilities[i];
        add_number(&hash, capability->declared->kind);
        add_number(&hash, capability->allowed);
        add_text(&hash, capability->declared->value);
        add_text(&hash, capability->path);
    }
    (void)crypto_hash_sha256_final(&hash, ret);
}

void failure_note(struct generation *generation, const char *reason) {
    const struct life_options *options = generation->all->options;
    struct store_failure failure = {
            .path = generation->file->key, .reason = reason, .since_s = clock_wall_s()};
    struct toolrack_error err;
    memcpy(failure.sha256, generation->sha256, sizeof failure.sha256);
    hash_conditions(generation, failure.conditions);
    if (store_failure_set(options->store, &failure, &err) < 0) {
        log_line(options->log, LOG_WARNING, "store",
                 "that %s could not be loaded is not known after a restart: %s", failure.path,
                 err.message);
        return;
    }
    atomic_store(&generation->file->has_failure, true);
}

void failure_end(struct generation *generation) {
    const struct life_options *options = generation->all->options;
    struct toolrack_error err;
    if (!atomic_exchange(&generation->file->has_failure, false)) {
        return;
    }
    int code =
            store_failure_remove(options->store, generation->file->key, generation->sha256, &err);
    if (code == 0) {
        options->decided(options->host, HOSTS_DECISION);
    } else {
        atomic_store(&generation->file->has_failure, true); /* of another content, or for later */
    }
}

bool failure_is_of(const struct store_failure *failure, const struct plugin *plugin) {
    const char *key = generation_of(plugin)->file->key;
    return key != NULL && strcmp(failure->path, key) == 0 &&
           memcmp(failure->sha256, plugin->sha256, sizeof failure->sha256) == 0;
}

void failure_recall(struct generation *generation, struct plugin *plugin,
                    const struct store_failure *failure) {
    unsigned char conditions[STORE_SHA256_SIZE];
    hash_conditions(generation, conditions);
    atomic_store(&generation->file->has_failure, true);
    if (memcmp(conditions, failure->conditions, sizeof conditions) == 0 &&
        failure_is_of(failure, plugin) && plugin_state(plugin) == TOOLRACK_STATE_LISTED) {
        plugin_set_state(plugin, TOOLRACK_STATE_FAILED, failure->reason);
        if (!plugin->isolated) {
            atomic_store(&plugin->failed, TOOLRACK_E_EXECUTION_FAILED);
        }
    }
}
