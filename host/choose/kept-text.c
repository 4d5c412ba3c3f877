#include "choose/kept-text.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/utf8.h"
#include "choose/secret-form.h"
#include "schema/secret.h"
#include "store/selections.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

struct keeping {
    const char *text;
    size_t length;
    bool *hidden;  /* by byte */
    size_t kept;   /* bytes at the beginning, of which nothing behind is kept */
    size_t looked; /* bytes behind them that were looked at for single secrets */
};

/* A text of which more must be looked at for its secrets is not kept. */
#define LOOKED_MAX (64u << 20)

/* Bytes of a text in which secrets are masked; the store keeps fewer. What is masked is shorter
 * than it was, so of a text with long secrets less than the store has room for may be kept. */
#define KEPT_MAX (4u * STORE_SELECTION_TEXT_MAX)

static void hide(const struct keeping *keeping, size_t start, size_t end) {
    for (size_t i = start; i < end && i < keeping->length; i++) {
        keeping->hidden[i] = true;
    }
}

/* Wherever a secret stands in what is kept, or begins there. */
static bool hide_all(const struct keeping *keeping, const char *secret, size_t length) {
    size_t left = keeping->length - keeping->kept;
    const char *end = keeping->text + keeping->kept + (length < left ? length : left);
    const char *at = length > 0 ? keeping->text : NULL;
    bool found = false;
    while (at != NULL && (at = memmem(at, (size_t)(end - at), secret, length)) != NULL) {
        hide(keeping, (size_t)(at - keeping->text), (size_t)(at - keeping->text) + length);
        found = true;
        at += length;
    }
    return found;
}

/* Whether a secret stands in what is not kept. */
static bool is_behind(struct keeping *keeping, const char *secret, size_t length) {
    size_t left = keeping->length - keeping->kept;
    keeping->looked += left;
    return keeping->looked <= LOOKED_MAX &&
           memmem(keeping->text + keeping->kept, left, secret, length) != NULL;
}

/* Hide the secrets among arguments by what they are. With `all` each must be there, of whose place
 * nothing else is known; else short ones, which stand anywhere by chance, are left. */
static bool hide_values(struct keeping *keeping, yyjson_val *schema, yyjson_val *arguments,
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
        if ((all || length >= SECRET_LENGTH_MIN) && !hide_all(keeping, secret, length) && all &&
            !is_behind(keeping, secret, length)) {
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
static bool hide_spans(struct keeping *keeping, yyjson_val *schema,
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

static yyjson_val *schema_of(const struct selecting *selecting, const struct shortlisted *found) {
    return profile_schema(selecting->profiles[found - selecting->shortlist.items]);
}

/* Hide what is certain to be a secret of the tool that fits best, and nothing more of it than the
 * rules took. False: the text may say a secret in a place that is not known. */
static bool hide_of_best(struct keeping *keeping, const struct selecting *selecting) {
    const struct shortlisted *best = selecting_best(selecting);
    yyjson_val *schema = best != NULL ? schema_of(selecting, best) : NULL;
    if (!schema_has_secrets(schema)) {
        return true;
    }
    if (selecting->arguments == NULL ||
        (selecting->given != NULL && !hide_values(keeping, schema, selecting->given, true))) {
        return false;
    }
    return hide_spans(keeping, schema, selecting->arguments);
}

/* Hide what the rules take for secrets of a tool that was not chosen. */
static void hide_of_other(const struct keeping *keeping, yyjson_val *schema,
                          const struct arguments *arguments) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = yyjson_read(arguments->json, arguments->json_length, 0);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_doc_mut_copy(read, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    yyjson_mut_val *masked = root != NULL ? schema_mask(schema, doc, root) : NULL;
    for (size_t i = 0; masked != NULL && i < arguments->value_count; i++) {
        const struct arguments_value *value = &arguments->values[i];
        for (size_t j = 0; j < value->span_count && is_secret(masked, value->pointer); j++) {
            hide(keeping, value->spans[j].start, value->spans[j].end);
        }
    }
}

static void hide_of_others(const struct keeping *keeping, const struct selecting *selecting) {
    const struct evaluation *evaluation = &selecting->evaluation;
    for (size_t i = 1; i < evaluation->count; i++) {
        const struct shortlisted *found = &selecting->shortlist.items[evaluation->items[i].index];
        yyjson_val *schema = schema_of(selecting, found);
        struct arguments *arguments = NULL;
        struct toolrack_error problem;
        if (schema_has_secrets(schema) &&
            selecting_fill(selecting, found, &arguments, &problem) == 0) {
            hide_of_other(keeping, schema, arguments);
        }
        arguments_destroy(arguments);
    }
}

char *kept_text(const struct selecting *selecting) {
    const struct asked *asked = &selecting->asked;
    CLEANUP(freep) bool *hidden = calloc(asked->length + 1, sizeof *hidden);
    struct keeping keeping = {.text = asked->options.text,
                              .length = asked->length,
                              .hidden = hidden,
                              .kept = asked->length < KEPT_MAX
                                              ? asked->length
                                              : utf8_cut(asked->options.text, KEPT_MAX)};
    size_t length = 0;
    if (hidden == NULL) {
        return NULL;
    }
    (void)secret_form_find(asked->options.text, asked->length, hidden);
    hide_of_others(&keeping, selecting);
    if (!hide_of_best(&keeping, selecting)) {
        return NULL;
    }
    hide_words(&keeping);
    return secret_form_write(asked->options.text, keeping.kept, hidden, &length);
}

void kept_text_mask(const struct selecting *selecting, struct buf *explanation) {
    const struct asked *asked = &selecting->asked;
    const struct shortlisted *best = selecting_best(selecting);
    const struct arguments *arguments = selecting->arguments;
    CLEANUP(buf_finish) struct buf secrets = BUF_INIT;
    secret_form_collect(asked->options.text, asked->length, &secrets);
    if (best != NULL && schema_has_secrets(schema_of(selecting, best))) {
        CLEANUP(yyjson_doc_freep)
        yyjson_doc *read =
                arguments != NULL ? yyjson_read(arguments->json, arguments->json_length, 0) : NULL;
        schema_collect_secrets(
                schema_of(selecting, best),
                selecting->given != NULL ? selecting->given : yyjson_doc_get_root(read), &secrets);
    }
    if (!explanation->failed) {
        secrets_mask(&secrets, explanation->data);
    }
}
