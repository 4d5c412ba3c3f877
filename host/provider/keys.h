/* keys.h - the API key for a provider.
 *
 * The key is read from the environment and written to one header, nowhere else. Everything that
 * comes back passes key_redact() before anything is done with it: the provider may repeat the key,
 * the model may say it or call a tool with it, a tool may return it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "toolrack/format.h"

/* Longest key, and the shortest key that is treated as a secret. One of letters that is shorter
 * than KEY_WORDS_MIN is words, and one of few different characters is a row of them. */
#define KEY_LENGTH_MAX    4096u
#define KEY_SECRET_MIN    8u
#define KEY_WORDS_MIN     20u
#define KEY_DIFFERENT_MIN 6u

/* The ways in which JSON has a text: as it is, escaped, escaped in a string that is JSON itself,
 * and these with escaped slashes. */
#define KEY_FORMS_MAX 6u

/* A text that is a secret, in one of its forms. */
struct key_secret {
    char *text;
    size_t length;
};

struct key {
    char *value;          /**< owned; NULL: no key is set, and none is sent */
    char *header;         /**< owned: the whole header line; NULL without a key */
    const char *variable; /**< the variable that holds the key, or could; NULL: no key needed */
    struct key_secret *secrets; /**< owned; what else is overwritten than the value */
    size_t secret_count;
};

/** Read the key; release with key_finish().
 * @param variable  borrowed as long as the key: the variable that must hold it; NULL: one of the
 *                  format's, which need not be set
 * @return 0, also when no key is set; TOOLRACK_E_INVALID for a key that cannot be in a header, and
 *         for a variable that is not set; TOOLRACK_E_NO_MEMORY. On failure there is nothing to
 *         release. [any-thread] */
int key_read(enum toolrack_format format, const char *variable, struct key *ret,
             struct toolrack_error *err);

/** Take the values of headers that hold a key, such as Authorization, as secrets too.
 * @param lines  "NAME: VALUE", up to NULL; NULL: none
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int key_add_headers(struct key *key, const char *const *lines, struct toolrack_error *err);

/** Overwrite and release the key. */
void key_finish(struct key *key);

/** Overwrite, in place, each occurrence of the key in `length` bytes with asterisks. What stands in
 * for a key is not overwritten: for local servers people set "none", "lm-studio" or "sk-xxxxxxxx",
 * which occur in ordinary text, in paths and in the JSON around them. */
void key_redact(const struct key *key, char *text, size_t length);

/** The same in all that an error says, which may be cut off within a key: the beginning of one of
 * KEY_SECRET_MIN characters and more at its end is overwritten too. A place that names a key is
 * left out. */
void key_redact_error(const struct key *key, struct toolrack_error *err);

/** Text that comes in pieces: a key that is cut between two is overwritten as well. The end of what
 * came is held back as long as it may begin a key. The rest of a key of KEY_SECRET_MIN characters
 * and more with which the text begins is overwritten too: what the model thought may end with what
 * is before it. */
struct key_stream {
    struct buf held;
    bool has_begun; /* it is known whether the text begins with the rest of a key */
};

/** Pass on a piece to `give`. Without memory the text is dropped. */
void key_stream_feed(const struct key *key, struct key_stream *stream, const char *text,
                     size_t length, void (*give)(void *user, const char *text, size_t length),
                     void *user);
/** The text has ended: pass on the rest, and release it. The beginning of a key of KEY_SECRET_MIN
 * characters and more is overwritten. */
void key_stream_end(const struct key *key, struct key_stream *stream,
                    void (*give)(void *user, const char *text, size_t length), void *user);
