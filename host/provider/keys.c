#include "provider/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* The variables that may hold the key, and its header. The first variable that is set is used. */
struct source {
    const char *variables[2];
    const char *header;
};

static const struct source sources[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] = {{"OPENAI_API_KEY"}, "Authorization: Bearer "},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = {{"OPENAI_API_KEY"}, "Authorization: Bearer "},
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

int key_read(enum toolrack_format format, struct key *ret, struct toolrack_error *err) {
    const struct source *source = &sources[format];
    struct key key = {0};
    const char *value = find(source, &key.variable);
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
    *ret = key;
    return 0;
}

static void wipe(char *text) {
    if (text != NULL) {
        explicit_bzero(text, strlen(text));
        free(text);
    }
}

void key_finish(struct key *key) {
    wipe(key->value);
    wipe(key->header);
    *key = (struct key){0};
}

void key_redact(const struct key *key, char *text, size_t length) {
    size_t key_length = key->value != NULL ? strlen(key->value) : 0;
    if (key_length < KEY_SECRET_MIN) {
        return;
    }
    char *end = text + length;
    char *at;
    while ((at = memmem(text, (size_t)(end - text), key->value, key_length)) != NULL) {
        memset(at, '*', key_length);
        text = at + key_length;
    }
}
