#include "provider/keys.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "schema/own-secrets.h"
#include "schema/secret.h"

/* The variables that may hold the key, and its header. The first variable that is set is used. */
struct source {
    const char *variables[2];
    const char *header;
};

#define BEARER "Authorization: Bearer "

static const struct source sources[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] = {{"OPENAI_API_KEY"}, BEARER},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = {{"OPENAI_API_KEY"}, BEARER},
        [TOOLRACK_FORMAT_ANTHROPIC] = {{"ANTHROPIC_API_KEY"}, "x-api-key: "},
        [TOOLRACK_FORMAT_GEMINI] = {{"GEMINI_API_KEY", "GOOGLE_API_KEY"}, "x-goog-api-key: "},
};

static const char *find(const struct source *source, const char **ret_variable) {
    *ret_variable = source->variables[0];
    for (size_t i = 0; i < 2 && source->variables[i] != NULL; i++) {
        const char *value = getenv(source->variables[i]);
        if (value != NULL && value[0] != '\0') {
            *ret_variable = source->variables[i];
            return value;
        }
    }
    return NULL;
}

/* Visible ASCII: other characters could end the header and begin another. */
static bool is_sound(const char *value) {
    size_t length = strnlen(value, KEY_LENGTH_MAX + 1);
    for (size_t i = 0; i < length; i++) {
        if (value[i] < '!' || value[i] > '~') {
            return false;
        }
    }
    return length <= KEY_LENGTH_MAX;
}

static void wipe(char *text) {
    if (text != NULL) {
        explicit_bzero(text, strlen(text));
        free(text);
    }
}

/* ------------------------------------------------------------------ secrets */

/* For a buffer that has a key. */
static void wipe_buf(struct buf *buf) {
    if (buf->data != NULL) {
        explicit_bzero(buf->data, buf->length);
    }
    buf_finish(buf);
}

/* Most keys have one form: nothing in them is escaped. */
static bool has_form(const struct key *key, const char *text) {
    for (size_t i = 0; i < key->secret_count; i++) {
        if (strcmp(key->secrets[i].text, text) == 0) {
            return true;
        }
    }
    return false;
}

/* Add a form to the list, in which the longest come first: one may begin with another. */
static bool add_form(struct key *key, const char *text, size_t length) {
    if (has_form(key, text)) {
        return true;
    }
    struct key_secret *more = realloc(key->secrets, (key->secret_count + 1) * sizeof *more);
    char *copy = strndup(text, length);
    key->secrets = more != NULL ? more : key->secrets;
    if (more == NULL || copy == NULL || (length < SECRETS_SIZE_MAX && !own_secrets_add(copy))) {
        wipe(copy);
        return false;
    }
    size_t at = key->secret_count++;
    for (; at > 0 && more[at - 1].length < length; at--) {
        more[at] = more[at - 1];
    }
    more[at] = (struct key_secret){.text = copy, .length = length};
    return true;
}

/* The text with escaped slashes. */
static void escape_slashes(struct buf *out, const char *text) {
    for (; *text != '\0'; text++) {
        buf_add(out, "\\/", *text == '/' ? 2 : 0);
        buf_add(out, text, *text == '/' ? 0 : 1);
    }
}

/* Whether it may be a secret. What stands in for a key is words, such as "not-needed", or a row of
 * characters, such as "sk-xxxxxxxxxxxx"; generated keys are neither. */
static bool is_secret(const char *text) {
    bool seen[UCHAR_MAX + 1] = {false};
    size_t different = 0;
    bool is_words = true; /* a capital only begins a word that has others behind it, or all are */
    bool has_small = false;
    for (const char *at = text; *at != '\0'; at++) {
        different += !seen[(unsigned char)*at];
        seen[(unsigned char)*at] = true;
        bool is_capital = *at >= 'A' && *at <= 'Z';
        bool is_small = *at >= 'a' && *at <= 'z';
        is_words = is_words && (is_small || is_capital || strchr("-_.", *at) != NULL) &&
                   !(is_capital && has_small);
        has_small = is_small || (has_small && is_capital);
    }
    size_t length = strlen(text);
    return length >= KEY_SECRET_MIN && different >= KEY_DIFFERENT_MIN &&
           !(is_words && length < KEY_WORDS_MIN);
}

/* Add a text in all its forms. Each form is that of the one before, escaped once more. */
static bool add_secret(struct key *key, const char *text) {
    CLEANUP(wipe_buf) struct buf form = BUF_INIT;
    bool is_added = true;
    buf_add_text(&form, text);
    for (size_t i = 0; i < KEY_FORMS_MAX / 2 && is_added && !form.failed; i++) {
        CLEANUP(wipe_buf) struct buf slashes = BUF_INIT;
        CLEANUP(wipe_buf) struct buf next = BUF_INIT;
        escape_slashes(&slashes, form.data);
        is_added = add_form(key, form.data, form.length) &&
                   (slashes.length == form.length ||
                    (!slashes.failed && add_form(key, slashes.data, slashes.length)));
        buf_add_json_string(&next, form.data, form.length);
        buf_clear(&form);
        if (!next.failed) {
            buf_add(&form, next.data + 1, next.length - 2); /* without the quotes */
        }
        form.failed = form.failed || next.failed;
    }
    return is_added && !form.failed;
}

/* Whether a header is one whose value is public: beginnings of their names. Any other may hold a
 * key: providers and gateways have names of their own. */
static bool is_public(const char *line) {
    static const char *const beginnings[] = {
            "Accept",   "Anthropic-Beta", "Anthropic-Version", "Cache-",      "Connection",
            "Content-", "Host",           "HTTP-Referer",      "OpenAI-Beta", "Origin",
            "Referer",  "Traceparent",    "Tracestate",        "User-Agent",  "X-Title",
    };
    for (size_t i = 0; i < ARRAY_LENGTH(beginnings); i++) {
        if (strncasecmp(line, beginnings[i], strlen(beginnings[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* A value whole, and each text of it that stands alone, as that of a cookie: "a=TEXT; b=TEXT". */
static bool add_value(struct key *key, const char *value) {
    bool is_added = !is_secret(value) || add_secret(key, value);
    for (const char *at = value; is_added && *at != '\0';) {
        at += strspn(at, " \t;,");
        size_t length = strcspn(at, " \t;,");
        size_t name = strcspn(at, "=");
        name = name + 1 < length && at[name + 1] != '=' ? name + 1 : 0;
        CLEANUP(wipe_buf) struct buf part = BUF_INIT;
        buf_add(&part, at + name, length - name);
        is_added = !part.failed && (!is_secret(part.data) || add_secret(key, part.data));
        at += length;
    }
    return is_added;
}

int key_add_headers(struct key *key, const char *const *lines, struct toolrack_error *err) {
    for (size_t i = 0; lines != NULL && lines[i] != NULL; i++) {
        const char *value = lines[i] + strcspn(lines[i], ":");
        value += strspn(value, ": \t");
        /* Of "Bearer KEY" the scheme is no secret. */
        size_t scheme = strcspn(value, " ;,=");
        value += value[scheme] == ' ' ? scheme + 1 : 0;
        if (!is_public(lines[i]) && !add_value(key, value)) {
            return error_oom(err);
        }
    }
    return 0;
}

int key_read(enum toolrack_format format, const char *variable, struct key *ret,
             struct toolrack_error *err) {
    const struct source own = {{variable},
                               sources[format].header != NULL ? sources[format].header : BEARER};
    const struct source *source = variable != NULL ? &own : &sources[format];
    struct key key = {0};
    const char *value = find(source, &key.variable);
    if (value == NULL && variable != NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the environment variable %s is not set, which \"key_env\" of the model "
                         "names: set it to the key",
                         variable);
    }
    if (value == NULL) {
        *ret = key;
        return 0;
    }
    if (!is_sound(value)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "%s must hold at most %u visible characters and nothing else: set it to "
                         "the key alone, without spaces or line ends",
                         key.variable, KEY_LENGTH_MAX);
    }
    key.value = strdup(value);
    if (key.value == NULL || asprintf(&key.header, "%s%s", source->header, value) < 0) {
        key.header = NULL;
        key_finish(&key);
        return error_oom(err);
    }
    if (is_secret(value) && !add_secret(&key, value)) {
        key_finish(&key);
        return error_oom(err);
    }
    *ret = key;
    return 0;
}

void key_finish(struct key *key) {
    for (size_t i = 0; i < key->secret_count; i++) {
        wipe(key->secrets[i].text);
    }
    free(key->secrets);
    wipe(key->value);
    wipe(key->header);
    *key = (struct key){0};
}

/* -------------------------------------------------------------- overwriting */

static void overwrite(const char *secret, size_t secret_length, char *text, size_t length) {
    char *end = text + length;
    char *at;
    while ((at = memmem(text, (size_t)(end - text), secret, secret_length)) != NULL) {
        memset(at, '*', secret_length);
        text = at + secret_length;
    }
}

void key_redact(const struct key *key, char *text, size_t length) {
    for (size_t i = 0; text != NULL && i < key->secret_count; i++) {
        overwrite(key->secrets[i].text, key->secrets[i].length, text, length);
    }
}

/* How many bytes at the end may begin a secret. */
static size_t beginning_length(const struct key *key, const struct buf *text) {
    size_t longest = 0;
    for (size_t i = 0; i < key->secret_count; i++) {
        const struct key_secret *secret = &key->secrets[i];
        size_t length = secret->length - 1 < text->length ? secret->length - 1 : text->length;
        while (length > longest &&
               memcmp(text->data + text->length - length, secret->text, length) != 0) {
            length--;
        }
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* What is behind the text that an error shows, where that is cut off. */
static size_t end_of_shown(const char *text) {
    static const char *const marks[] = {"\"", "\xe2\x80\xa6"};
    size_t length = strlen(text);
    for (size_t i = 0; i < ARRAY_LENGTH(marks); i++) {
        const size_t size = strlen(marks[i]);
        if (length >= size && memcmp(text + length - size, marks[i], size) == 0) {
            return length - size;
        }
    }
    return length;
}

/* Overwrite keys in a text that may be cut off within one. @return whether there was any */
static bool redact_cut(const struct key *key, char *text) {
    const struct buf shown = {.data = text, .length = end_of_shown(text)};
    const size_t begun = beginning_length(key, &shown);
    CLEANUP(freep) char *before = strdup(text);
    if (begun >= KEY_SECRET_MIN) {
        memset(text + shown.length - begun, '*', begun);
    }
    key_redact(key, text, strlen(text));
    return before == NULL || strcmp(before, text) != 0;
}

void key_redact_error(const struct key *key, struct toolrack_error *err) {
    char names[ERROR_FIELD_MAX]; /* of a JSON Pointer, as they are in the JSON */
    size_t length = 0;
    for (const char *at = err->field; *at != '\0'; at++) {
        const bool is_escape = at[0] == '~' && (at[1] == '0' || at[1] == '1');
        names[length++] = is_escape ? (at[1] == '0' ? '~' : '/') : *at;
        at += is_escape;
    }
    names[length] = '\0';
    if (redact_cut(key, names)) {
        err->field[0] = '\0';
    }
    (void)redact_cut(key, err->message);
    (void)redact_cut(key, err->tool);
    (void)redact_cut(key, err->trace);
}

/* Whether all of the text may be of a secret, and more of it may come. */
static bool is_within(const struct key *key, const struct buf *text) {
    for (size_t i = 0; i < key->secret_count; i++) {
        if (memmem(key->secrets[i].text, key->secrets[i].length, text->data, text->length) !=
            NULL) {
            return true;
        }
    }
    return false;
}

/* Overwrite the rest of a secret with which the text begins. */
static void redact_rest(const struct key *key, struct buf *text) {
    size_t longest = 0;
    for (size_t i = 0; i < key->secret_count; i++) {
        const struct key_secret *secret = &key->secrets[i];
        size_t length = secret->length < text->length ? secret->length : text->length;
        while (length > longest &&
               memcmp(text->data, secret->text + secret->length - length, length) != 0) {
            length--;
        }
        longest = length > longest ? length : longest;
    }
    if (longest >= KEY_SECRET_MIN) {
        memset(text->data, '*', longest);
    }
}

void key_stream_feed(const struct key *key, struct key_stream *stream, const char *text,
                     size_t length, void (*give)(void *user, const char *text, size_t length),
                     void *user) {
    struct buf *held = &stream->held;
    buf_add(held, text, length);
    if (held->failed) {
        return;
    }
    key_redact(key, held->data, held->length);
    if (!stream->has_begun) {
        if (held->length == 0 || is_within(key, held)) {
            return;
        }
        stream->has_begun = true;
        redact_rest(key, held);
    }
    size_t kept = beginning_length(key, held);
    size_t given = held->length - kept;
    if (given > 0) {
        give(user, held->data, given);
        memmove(held->data, held->data + given, kept);
        buf_truncate(held, kept);
    }
}

void key_stream_end(const struct key *key, struct key_stream *stream,
                    void (*give)(void *user, const char *text, size_t length), void *user) {
    struct buf *held = &stream->held;
    if (!held->failed && held->length > 0) {
        if (!stream->has_begun) {
            redact_rest(key, held);
        }
        size_t begun = beginning_length(key, held);
        if (begun >= KEY_SECRET_MIN) {
            memset(held->data + held->length - begun, '*', begun);
        }
        give(user, held->data, held->length);
    }
    wipe_buf(held);
    stream->has_begun = false;
}
