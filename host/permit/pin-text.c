/* The words of the text are in the order of enum registration_change: the texts, permission, flags,
 * capabilities. */
#include "permit/pin-text.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "permit/pin.h"

_Static_assert(REGISTRATION_PERMISSION == 1 << PIN_TEXT_COUNT &&
                       REGISTRATION_FLAGS == 1 << (PIN_TEXT_COUNT + 1) &&
                       REGISTRATION_CAPABILITIES == 1 << (PIN_TEXT_COUNT + 2),
               "the order of the words");
#define WORDS (PIN_TEXT_COUNT + 3u)

#define DIGITS_ROOM (2 * crypto_hash_sha256_BYTES + 1)

static const char *digits_of(const char *text, char ret[DIGITS_ROOM]) {
    unsigned char hash[crypto_hash_sha256_BYTES];
    const char *hashed = text != NULL ? text : "";
    (void)crypto_hash_sha256(hash, (const unsigned char *)hashed, strlen(hashed));
    return sodium_bin2hex(ret, DIGITS_ROOM, hash, sizeof hash);
}

_Static_assert((PIN_TEXT_COUNT + 1) * DIGITS_ROOM + 32 <= PIN_TEXT_ROOM, "all words have room");

/* Without memory the texts from the one that needed it on are empty, which no tool's schema is:
 * then they differ. */
void pin_text_make(const struct registration *reg, char ret[PIN_TEXT_ROOM]) {
    struct store_pin pin;
    char digits[DIGITS_ROOM];
    size_t length = 0;
    CLEANUP(arena_finish) struct arena arena;
    arena_init(&arena, NULL, 0);
    (void)pin_make(reg, &arena, &pin);
    for (size_t i = 0; i < PIN_TEXT_COUNT; i++) {
        length += (size_t)snprintf(ret + length, PIN_TEXT_ROOM - length, "%s ",
                                   digits_of(pin.texts[i], digits));
    }
    (void)snprintf(ret + length, PIN_TEXT_ROOM - length, "%d %x %s", pin.permission, pin.flags,
                   digits_of(pin.capabilities, digits));
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
