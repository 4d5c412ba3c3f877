/* The words of the text are in the order of enum registration_change: description, schema,
 * permission, flags, capabilities. */
#include "permit/pin-text.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "permit/standing.h"

_Static_assert(REGISTRATION_DESCRIPTION == 1 && REGISTRATION_SCHEMA == 2 &&
                       REGISTRATION_PERMISSION == 4 && REGISTRATION_FLAGS == 8 &&
                       REGISTRATION_CAPABILITIES == 16,
               "the order of the words");
#define WORDS 5u

#define DIGITS_ROOM (2 * crypto_hash_sha256_BYTES + 1)

static const char *digits_of(const char *text, char ret[DIGITS_ROOM]) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    const char *hashed = text != NULL ? text : "";
    (void)crypto_hash_sha256(hash, (const unsigned char *)hashed, strlen(hashed));
    return sodium_bin2hex(ret, DIGITS_ROOM, hash, sizeof hash);
}

void pin_text_make(const struct registration *reg, char ret[PIN_TEXT_ROOM]) {
    struct store_pin pin;
    char description[DIGITS_ROOM];
    char schema[DIGITS_ROOM];
    char capabilities[DIGITS_ROOM];
    pin_make(reg, &pin);
    (void)snprintf(ret, PIN_TEXT_ROOM, "%s %s %d %x %s", digits_of(pin.description, description),
                   digits_of(pin.schema, schema), pin.permission, pin.flags,
                   digits_of(pin.capabilities, capabilities));
}

unsigned pin_text_compare(const char *then, const char *now) {
    unsigned changed = 0;
    for (unsigned word = 0; word < WORDS; word++) {
        size_t then_length = strcspn(then, " ");
        size_t now_length = strcspn(now, " ");
        if (then_length != now_length || memcmp(then, now, now_length) != 0) {
            changed |= 1u << word;
        }
        then += then_length + (then[then_length] == ' ');
        now += now_length + (now[now_length] == ' ');
    }
    return changed;
}
