#include "choose/kept-text.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

struct keeping {
    const char *text;
    size_t length;
    bool *hidden; /* by byte */
};

static void hide(const struct keeping *keeping, size_t start, size_t end) {
    for (size_t i = start; i < end && i < keeping->length; i++) {
        keeping->hidden[i] = true;
    }
}

/* Wherever a secret stands. */
static bool hide_all(const struct keeping *keeping, const char *secret, size_t length) {
    bool found = false;
    for (size_t at = 0; length > 0 && at + length <= keeping->length; at++) {
        if (memcmp(keeping->text + at, secret, length) == 0) {
            hide(keeping, at, at + length);
            found = true;
        }
    }
    return found;
}

/* Hide the secrets among arguments by what they are. With `all` each must be there, of whose place
 * nothing else is known; else short ones, which stand anywhere by chance, are left. */
static bool hide_values(const struct keeping *keeping, yyjson_val *schema, yyjson_val *arguments,
                        bool all) {
    CLEANUP(buf_finish) struct buf secrets = BUF_INIT;
    schema_collect_secrets(schema, arguments, &secrets);
    if (secrets.failed) {
        return false;
    }
    for (size_t at = 0; at < secrets.length;) {
        const char *secret = secrets.data + at;
        size_t length = strlen(secret);
        if (length == 0) {
            return false; /* any text */
        }
        if ((all || length >= SECRET_LENGTH_MIN) && !hide_all(keeping, secret, length) && all) {
            return false;
        }
        at += length + 1;
    }
    return true;
}

/* Whether a place, or what it is in, was masked. */
static bool is_secret(yyjson_mut_val *masked, const char *pointer) {
    bool secret = yyjson_mut_equals_str(masked, SECRET_MASK);
    for (size_t end = 1; !secret && end <= strlen(pointer); end++) {
        if (pointer[end] == '/' || pointer[end] == '\0') {
            secret = yyjson_mut_equals_str(yyjson_mut_ptr_getn(masked, pointer, end), SECRET_MASK);
        }
    }
    return secret;
}

/* Hide what the rules took from the text, for any parameter: they may have given the secret to
 * another. False: the place of a secret is not known, or a secret
 * that the tool needs was not found, which the text may say all the same. */
static bool hide_spans(const struct keeping *keeping, yyjson_val *schema,
                       const struct arguments *arguments) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = yyjson_read(arguments->json, arguments->json_length, 0);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_doc_mut_copy(read, NULL);
    for (size_t i = 0; i < arguments->missing_count; i++) {
        (void)yyjson_mut_doc_ptr_set(doc, arguments->missing[i].pointer, yyjson_mut_str(doc, "?"));
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    yyjson_mut_val *masked = root != NULL ? schema_mask(schema, doc, root) : NULL;
    if (masked == NULL) {
        return false;
    }
    for (size_t i = 0; i < arguments->missing_count; i++) {
        if (is_secret(masked, arguments->missing[i].pointer)) {
            return false;
        }
    }
    for (size_t i = 0; i < arguments->value_count; i++) {
        const struct arguments_value *value = &arguments->values[i];
        bool secret = is_secret(masked, value->pointer);
        if (secret && value->source == ARGUMENTS_FROM_TEXT && value->span_count == 0) {
            return false;
        }
        for (size_t j = 0; j < value->span_count; j++) {
            hide(keeping, value->spans[j].start, value->spans[j].end);
        }
    }
    return hide_values(keeping, schema, yyjson_doc_get_root(read), false);
}

static bool is_of_word(char byte) {
    return ascii_is_word(byte) || (unsigned char)byte >= 0x80;
}

/* Hide the words that are hidden wherever else they stand. */
static void hide_words(const struct keeping *keeping) {
    for (size_t start = 0; start < keeping->length;) {
        size_t end = start;
        while (end < keeping->length && keeping->hidden[end] && is_of_word(keeping->text[end])) {
            end++;
        }
        if (end - start >= SECRET_LENGTH_MIN) {
            (void)hide_all(keeping, keeping->text + start, end - start);
        }
        start = end > start ? end : start + 1;
    }
}

static char *write_masked(const struct keeping *keeping) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    for (size_t i = 0; i < keeping->length; i++) {
        if (!keeping->hidden[i]) {
            buf_add_char(&out, keeping->text[i]);
        } else if (i == 0 || !keeping->hidden[i - 1]) {
            buf_add_text(&out, SECRET_MASK);
        }
    }
    return out.failed ? NULL : strndup(out.data, out.length);
}

char *kept_text(const struct selecting *selecting) {
    const struct asked *asked = &selecting->asked;
    const struct shortlisted *best = selecting_best(selecting);
    yyjson_val *schema =
            best != NULL ? profile_schema(selecting->profiles[best - selecting->shortlist.items])
                         : NULL;
    if (!schema_has_secrets(schema)) {
        return strdup(asked->options.text);
    }
    CLEANUP(freep) bool *hidden = calloc(asked->length + 1, sizeof *hidden);
    const struct keeping keeping = {asked->options.text, asked->length, hidden};
    bool may = hidden != NULL && selecting->arguments != NULL;
    if (may && selecting->given != NULL) {
        may = hide_values(&keeping, schema, selecting->given, true);
    }
    if (!may || !hide_spans(&keeping, schema, selecting->arguments)) {
        return NULL;
    }
    hide_words(&keeping);
    return write_masked(&keeping);
}
