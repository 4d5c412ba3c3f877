#include "permit/pins.h"

#include <assert.h>
#include <sodium.h>
#include <string.h>

static_assert(STORE_SHA256_SIZE == crypto_hash_sha256_BYTES, "what libsodium makes");

/* Each string with its final zero: so that no two triples run together to the same bytes. */
static void add_string(crypto_hash_sha256_state *hash, const char *string) {
    (void)crypto_hash_sha256_update(hash, (const unsigned char *)string, strlen(string) + 1);
}

void pin_make(const struct registration *reg, struct store_pin *ret) {
    const char *description = reg->spec->tool->description;
    *ret = (struct store_pin){.plugin = reg->plugin->desc->plugin->id,
                              .tool = reg->spec->tool->name,
                              .version = reg->spec->version,
                              .description = description != NULL ? description : "",
                              .schema = reg->spec->schema};
    crypto_hash_sha256_state hash;
    (void)crypto_hash_sha256_init(&hash);
    add_string(&hash, ret->tool);
    add_string(&hash, ret->description);
    add_string(&hash, ret->schema);
    (void)crypto_hash_sha256_final(&hash, ret->sha256);
}

bool pin_is_of(const struct store_pin *pin, const struct registration *reg) {
    return strcmp(pin->tool, reg->spec->tool->name) == 0 &&
           strcmp(pin->plugin, reg->plugin->desc->plugin->id) == 0;
}

const struct store_pin *pin_find(const struct store_pin *pins, size_t count,
                                 const struct registration *reg) {
    const struct store_pin *found = NULL;
    struct store_pin now = {0};
    bool is_made = false;
    for (size_t i = 0; i < count; i++) {
        const struct store_pin *pin = &pins[i];
        if (!pin_is_of(pin, reg)) {
            continue;
        }
        if (strcmp(pin->version, reg->spec->version) == 0) {
            return pin;
        }
        if (!is_made) {
            pin_make(reg, &now);
            is_made = true;
        }
        bool equals = memcmp(pin->sha256, now.sha256, sizeof now.sha256) == 0;
        bool found_equals =
                found != NULL && memcmp(found->sha256, now.sha256, sizeof now.sha256) == 0;
        if (found == NULL || (equals && !found_equals) ||
            (equals == found_equals && pin->approved_s > found->approved_s)) {
            found = pin;
        }
    }
    return found;
}

unsigned pin_compare(const struct store_pin *pin, const struct registration *reg) {
    struct store_pin now;
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
