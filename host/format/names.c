/* names.c - names that a provider accepts: of tools, and of their properties.
 *
 * A name that the provider does not accept is changed: characters that it refuses become "_", the
 * beginning is cut when the name is too long, and a hash of the whole name is appended. Similar
 * names differ at the end ("server_files_read", "server_files_write"), so the end is kept.
 *
 *  (1) The changed name depends only on the name and the format.
 *  (2) A name that looks changed is never accepted as it is: otherwise a tool could have the
 *      changed name of another tool. */
#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "format/names.h"
#include "format/provider.h"

#define HASH_BYTES  6u
#define HASH_DIGITS (2 * HASH_BYTES)
/* Bytes of the cleaned name before "_" and the hash. */
#define KEPT_MAX    (FORMAT_NAME_MAX - HASH_DIGITS - 1)

/* What a name may contain. */
struct shape {
    size_t max; /* bytes; a changed name has FORMAT_NAME_MAX at most */
    bool has_hyphen;
    bool letter_first; /* it begins with a letter or _ */
    const char *extra; /* beside letters, digits and _ */
};

static bool is_taken(const struct shape *shape, char c) {
    return ascii_is_word(c) || (c == '-' && shape->has_hyphen) ||
           (c != '\0' && strchr(shape->extra, c) != NULL);
}

static bool looks_made(const char *name, size_t length) {
    if (length < HASH_DIGITS + 1 || name[length - HASH_DIGITS - 1] != '_') {
        return false;
    }
    for (size_t i = length - HASH_DIGITS; i < length; i++) {
        if (ascii_hex_value(name[i]) < 0 || ascii_is_upper(name[i])) {
            return false;
        }
    }
    return true;
}

static bool will_do(const struct shape *shape, const char *name, size_t length) {
    if (length == 0 || length > shape->max || looks_made(name, length) ||
        (shape->letter_first && !ascii_is_word_start(name[0]))) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!is_taken(shape, name[i])) {
            return false;
        }
    }
    return true;
}

/* Write the part of a name that is kept; a run of refused bytes becomes one "_". */
static size_t clean(const struct shape *shape, const char *name, size_t length,
                    char ret[KEPT_MAX + 1]) {
    char kept[KEPT_MAX];
    size_t count = 0;
    /* From the end, since the beginning is cut. */
    for (size_t i = length; i > 0 && count < KEPT_MAX; i--) {
        bool taken = is_taken(shape, name[i - 1]);
        if (taken || count == 0 || kept[count - 1] != '_') {
            kept[count++] = taken ? name[i - 1] : '_';
        }
    }
    if (count == 0 || (shape->letter_first && !ascii_is_word_start(kept[count - 1]))) {
        count -= count == KEPT_MAX;
        kept[count++] = '_';
    }
    for (size_t i = 0; i < count; i++) {
        ret[i] = kept[count - 1 - i];
    }
    ret[count] = '\0';
    return count;
}

static bool make(const struct shape *shape, const char *name, size_t length,
                 char ret[FORMAT_NAME_MAX + 1]) {
    if (will_do(shape, name, length)) {
        memcpy(ret, name, length);
        ret[length] = '\0';
        return false;
    }
    unsigned char hash[crypto_generichash_BYTES];
    char kept[KEPT_MAX + 1];
    char digits[HASH_DIGITS + 1];
    (void)crypto_generichash(hash, sizeof hash, (const unsigned char *)name, length, NULL, 0);
    (void)sodium_bin2hex(digits, sizeof digits, hash, HASH_BYTES);
    (void)clean(shape, name, length, kept);
    (void)snprintf(ret, FORMAT_NAME_MAX + 1, "%s_%s", kept, digits);
    return true;
}

bool format_wire_name(enum toolrack_format format, const char *name,
                      char ret[FORMAT_NAME_MAX + 1]) {
    const struct provider *provider = provider_of(format);
    if (provider == NULL) {
        (void)snprintf(ret, FORMAT_NAME_MAX + 1, "%s", name);
        return strcmp(ret, name) != 0;
    }
    const struct shape shape = {.max = provider->limits->name_max,
                                .has_hyphen = true,
                                .letter_first = provider->limits->name_letter_first,
                                .extra = provider->limits->name_extra};
    return make(&shape, name, strlen(name), ret);
}

_Static_assert(PROVIDER_KEY_MAX == FORMAT_NAME_MAX, "names and keys are made alike");

bool format_wire_key(enum provider_keys keys, const char *key, size_t length,
                     char ret[PROVIDER_KEY_MAX + 1]) {
    static const struct shape anthropic = {
            .max = PROVIDER_KEY_MAX, .has_hyphen = true, .extra = "."};
    static const struct shape identifier = {
            .max = PROVIDER_KEY_MAX, .letter_first = true, .extra = ""};
    return make(keys == KEYS_ANTHROPIC ? &anthropic : &identifier, key, length, ret);
}

bool format_looks_made(const char *name, size_t length) {
    return looks_made(name, length);
}
