#include <assert.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "api/host.h"

static_assert(STORE_SHA256_SIZE == crypto_hash_sha256_BYTES, "what libsodium makes");

static const char *or_empty(const char *text) {
    return text != NULL ? text : "";
}

/* Each text with its final zero: so that no two triples run together to the same bytes. */
static void add_text(crypto_hash_sha256_state *hash, const char *text) {
    (void)crypto_hash_sha256_update(hash, (const unsigned char *)text, strlen(text) + 1);
}

void pin_make(const struct registration *reg, struct store_pin *ret) {
    *ret = (struct store_pin){.plugin = reg->plugin->desc->plugin->id,
                              .tool = reg->spec->tool->name,
                              .version = reg->spec->version,
                              .description = or_empty(reg->spec->tool->description),
                              .schema = reg->spec->schema};
    crypto_hash_sha256_state hash;
    (void)crypto_hash_sha256_init(&hash);
    add_text(&hash, ret->tool);
    add_text(&hash, ret->description);
    add_text(&hash, ret->schema);
    (void)crypto_hash_sha256_final(&hash, ret->sha256);
}

/* ------------------------------------------------------------------- check */

/* Caller holds the lock of the consents. */
static unsigned compare(const struct consents *consents, const struct registration *reg) {
    const struct store_pin *pin = consent_find_pin(consents, reg);
    struct store_pin now;
    if (pin == NULL) {
        return 0;
    }
    pin_make(reg, &now);
    if (memcmp(pin->sha256, now.sha256, sizeof now.sha256) == 0) {
        return 0;
    }
    unsigned changed =
            (strcmp(pin->description, now.description) != 0 ? REGISTRATION_DESCRIPTION : 0u) |
            (strcmp(pin->schema, now.schema) != 0 ? REGISTRATION_SCHEMA : 0u);
    /* A hash without the texts it was made of: whatever it was, it is not this. */
    return changed != 0 ? changed : REGISTRATION_DESCRIPTION | REGISTRATION_SCHEMA;
}

/* The flags are set under the lock too: who compared last has the last word. */
void pins_check(void *user, struct registration *reg) {
    struct toolrack *host = user;
    enum pin_policy policy = reg->plugin->pin;
    (void)pthread_mutex_lock(&host->consents.lock);
    unsigned changed = policy == PIN_OFF ? 0 : compare(&host->consents, reg);
    registration_set_changed(reg, changed, changed != 0 && policy == PIN_ENFORCE);
    (void)pthread_mutex_unlock(&host->consents.lock);
}

void pins_tell(struct toolrack *host, const struct toolrack_tool *tool) {
    unsigned changed = atomic_load(&tool->reg->changed);
    if (changed == 0) {
        return;
    }
    bool held = atomic_load(&tool->reg->held);
    char message[TOOLRACK_ERROR_MESSAGE_MAX];
    (void)snprintf(message, sizeof message, "Tool '%s' is not what was approved: %s; %s",
                   toolrack_tool_name(tool), registration_change_words(changed),
                   held ? "it does not run until it is approved again" : "it runs all the same");
    log_line(&host->log, LOG_WARNING, toolrack_tool_plugin(tool), "%s", message);
    decisions_note(host, &(struct store_decision){.tool = toolrack_tool_name(tool),
                                                  .version = toolrack_tool_version(tool),
                                                  .plugin = toolrack_tool_plugin(tool),
                                                  .decision = "changed",
                                                  .who = "pin",
                                                  .why = message});
    host_tell(host, &(struct toolrack_event){.kind = TOOLRACK_EVENT_CHANGED_TEXT,
                                             .tool = toolrack_tool_name(tool),
                                             .version = toolrack_tool_version(tool),
                                             .plugin = toolrack_tool_plugin(tool),
                                             .message = message});
}

struct checking {
    struct toolrack *host;
    const char *name;
};

static bool check_named(void *user, struct toolrack_tool *tool) {
    const struct checking *checking = user;
    if (strcmp(toolrack_tool_name(tool), checking->name) == 0) {
        pins_check(checking->host, tool->reg);
    }
    return true;
}

void pins_check_name(struct toolrack *host, const char *name) {
    struct checking checking = {.host = host, .name = name};
    registry_visit(host->registry, check_named, &checking);
}
