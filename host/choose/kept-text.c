#include "choose/kept-text.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
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

/* ------------------------------------------------------------------------------ explanations */

/* Add the secrets of arguments that are short, with a zero behind each.
 * @param masked  the same arguments, secrets masked */
static void add_short(yyjson_val *value, yyjson_mut_val *masked, struct buf *out) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    CLEANUP(freep) char *number = yyjson_is_num(value) ? yyjson_val_write(value, 0, NULL) : NULL;
    const char *text = number != NULL ? number : yyjson_get_str(value);
    size_t length = text != NULL ? strlen(text) : 0;
    if (yyjson_mut_equals_str(masked, SECRET_MASK) && length > 0 && length < SECRET_LENGTH_MIN) {
        buf_add(out, text, length + 1);
    }
    yyjson_arr_foreach (value, at, count, part) {
        add_short(part, yyjson_mut_arr_get(masked, at), out);
    }
    json_obj_foreach (value, at, count, key, part) {
        add_short(part, yyjson_mut_obj_getn(masked, yyjson_get_str(key), yyjson_get_len(key)), out);
    }
}

/* The same of what the text says, by the form. */
static void add_short_of_text(const struct asked *asked, struct buf *out) {
    CLEANUP(freep) bool *hidden = calloc(asked->length + 1, sizeof *hidden);
    if (hidden == NULL) {
        out->failed = true;
        return;
    }
    (void)secret_form_find(asked->options.text, asked->length, hidden);
    for (size_t start = 0; start < asked->length;) {
        size_t end = start;
        while (hidden[end]) {
            end++;
        }
        if (end > start && end - start < SECRET_LENGTH_MIN) {
            buf_add(out, asked->options.text + start, end - start);
            buf_add_char(out, '\0');
        }
        start = end + 1;
    }
}

/* Whether a secret that stands at a place of a line is a value there, and not a part of a word or
 * of a number.
 * @param quoted  the place is inside of quotation marks */
static bool is_value_at(const char *line, size_t at, size_t length, bool quoted) {
    char before = at > 0 ? line[at - 1] : ' ';
    char behind = line[at + length];
    bool value = quoted || before == ':' || before == ',' || before == '[' ||
                 (at > 1 && before == ' ' && line[at - 2] == '=');
    bool point = behind == '.' && ascii_is_digit(line[at + length + 1]);
    return value && !is_of_word(before) && !is_of_word(behind) && before != '.' && !point;
}

/* Short secrets stand anywhere by chance: they are masked only where a value of the text does. */
static bool mask_short(const struct buf *secrets, struct buf *explanation) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    const char *line = explanation->data;
    bool quoted = false;
    for (const char *c = line; *c != '\0';) {
        size_t found = 0;
        for (size_t at = 0; at < secrets->length; at += strlen(secrets->data + at) + 1) {
            const char *secret = secrets->data + at;
            size_t length = strlen(secret);
            bool here = length > found && strncmp(c, secret, length) == 0 &&
                        is_value_at(line, (size_t)(c - line), length, quoted);
            found = here ? length : found;
        }
        quoted = *c != '\n' && quoted != (*c == '"' && (c == line || c[-1] != '\\'));
        line = *c == '\n' ? c + 1 : line;
        buf_add(&out, found > 0 ? SECRET_MASK : c, found > 0 ? strlen(SECRET_MASK) : 1);
        c += found > 0 ? found : 1;
    }
    buf_finish(explanation);
    *explanation = out;
    out = BUF_INIT;
    return !explanation->failed;
}

void kept_text_mask(const struct selecting *selecting, struct buf *explanation) {
    const struct asked *asked = &selecting->asked;
    const struct shortlisted *best = selecting_best(selecting);
    const struct arguments *arguments = selecting->arguments;
    CLEANUP(buf_finish) struct buf secrets = BUF_INIT;
    CLEANUP(buf_finish) struct buf small = BUF_INIT;
    secret_form_collect(asked->options.text, asked->length, &secrets);
    add_short_of_text(asked, &small);
    if (best != NULL && schema_has_secrets(schema_of(selecting, best))) {
        CLEANUP(yyjson_doc_freep)
        yyjson_doc *read =
                arguments != NULL ? yyjson_read(arguments->json, arguments->json_length, 0) : NULL;
        yyjson_val *said = selecting->given != NULL ? selecting->given : yyjson_doc_get_root(read);
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
        yyjson_mut_val *copy = yyjson_val_mut_copy(doc, said);
        schema_collect_secrets(schema_of(selecting, best), said, &secrets);
        add_short(said, copy != NULL ? schema_mask(schema_of(selecting, best), doc, copy) : NULL,
                  &small);
    }
    explanation->failed = explanation->failed || small.failed;
    if (!explanation->failed) {
        secrets_mask(&secrets, explanation->data);
    }
    if (!explanation->failed && small.length > 0) {
        explanation->failed = !mask_short(&small, explanation);
    }
}
