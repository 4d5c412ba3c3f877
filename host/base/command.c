#include "base/command.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hidden.h"
#include "base/utf8.h"

/* What no POSIX shell, nor zsh, gives a meaning inside a word. At its begin '=' has one. */
#define BARE_BYTES "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@+=:,./-"

static bool has_control(const char *text, size_t length) {
    for (size_t at = 0; at < length;) {
        uint32_t point;
        at += utf8_decode(text + at, length - at, &point);
        if (point < 0x20 || (point >= 0x7f && point < 0xa0)) {
            return true;
        }
    }
    return false;
}

static bool can_be_copied(const char *word, size_t length) {
    return length > 0 && word[0] != '-' && utf8_valid(word, length) && !has_control(word, length) &&
           !hidden_has(word, length);
}

bool command_add_word(struct buf *out, const char *word) {
    size_t length = strlen(word);
    if (!can_be_copied(word, length)) {
        return false;
    }
    buf_add_char(out, ' ');
    if (word[0] != '=' && strspn(word, BARE_BYTES) == length) {
        buf_add(out, word, length);
        return true;
    }
    buf_add_char(out, '\'');
    for (size_t at = 0; at < length; at++) {
        if (word[at] == '\'') {
            buf_add_text(out, "'\\''");
        } else {
            buf_add_char(out, word[at]);
        }
    }
    buf_add_char(out, '\'');
    return true;
}

/* ------------------------------------------------------------------ places */

static pthread_mutex_t places_lock = PTHREAD_MUTEX_INITIALIZER;
static struct command_places *all_places;      /* guarded by it */
static const char ellipsis[] = "\xe2\x80\xa6"; /* where a message was cut (error.h) */

/* The shell in which a command is executed has another working folder. */
static bool add_place(struct buf *out, const char *option, const char *path) {
    if (path == NULL || path[0] == '\0') {
        return true;
    }
    CLEANUP(freep) char *full = path[0] == '/' ? strdup(path) : realpath(path, NULL);
    if (full == NULL) { /* it is not there yet */
        CLEANUP(freep) char *folder = getcwd(NULL, 0);
        if (folder == NULL || asprintf(&full, "%s/%s", folder, path) < 0) {
            full = NULL;
        }
    }
    buf_printf(out, " %s", option);
    return full != NULL && command_add_word(out, full);
}

void command_places_add(struct command_places *ret, const char *config, const char *state,
                        const char *const *plugin_dirs) {
    CLEANUP(buf_finish) struct buf options = BUF_INIT;
    *ret = (struct command_places){0};
    if (state != NULL && state[0] == '\0') {
        return;
    }
    buf_add_text(&options, "");
    bool is_good = add_place(&options, "--config", config) && add_place(&options, "--state", state);
    for (size_t i = 0; plugin_dirs != NULL && plugin_dirs[i] != NULL; i++) {
        is_good = is_good && add_place(&options, "--plugins", plugin_dirs[i]);
    }
    const char *text = options.data != NULL ? options.data : "";
    command_places_take(ret, is_good && !options.failed ? text : NULL);
}

void command_places_take(struct command_places *ret, const char *text) {
    ret->options = text != NULL ? strdup(text) : NULL;
    (void)pthread_mutex_lock(&places_lock);
    ret->next = all_places;
    all_places = ret;
    (void)pthread_mutex_unlock(&places_lock);
}

void command_places_remove(struct command_places *places) {
    (void)pthread_mutex_lock(&places_lock);
    struct command_places **at = &all_places;
    while (*at != NULL && *at != places) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        *at = places->next;
    }
    (void)pthread_mutex_unlock(&places_lock);
    free(places->options);
    *places = (struct command_places){0};
}

/* Append the options of all that are there. False: they differ, or cannot be copied. */
static bool add_places(struct buf *out) {
    (void)pthread_mutex_lock(&places_lock);
    const char *options = all_places != NULL ? all_places->options : "";
    bool is_good = options != NULL;
    for (const struct command_places *at = all_places; is_good && at != NULL; at = at->next) {
        is_good = at->options != NULL && strcmp(at->options, options) == 0;
    }
    if (is_good) {
        buf_add_text(out, options);
    }
    (void)pthread_mutex_unlock(&places_lock);
    return is_good;
}

char *command_places_text(void) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "");
    bool is_good = add_places(&text) && !text.failed && text.length < COMMAND_ROOM;
    return is_good ? strdup(text.data != NULL ? text.data : "") : NULL;
}

bool command_begin(struct buf *out, const char *verb) {
    size_t begin = out->length;
    buf_add_text(out, "toolrack");
    bool has_places = strncmp(verb, "help", 4) != 0 && strcmp(verb, "check") != 0 &&
                      strncmp(verb, "test", 4) != 0;
    bool is_good = !has_places || add_places(out);
    if (!is_good) {
        buf_truncate(out, begin);
        return false;
    }
    buf_printf(out, " %s", verb);
    return true;
}

/* How much of a text is the places of a host: all of them, or as many as a cut left there. */
static size_t places_length(const char *text, size_t length) {
    size_t longest = 0;
    (void)pthread_mutex_lock(&places_lock);
    for (const struct command_places *at = all_places; at != NULL; at = at->next) {
        size_t same = 0;
        while (at->options != NULL && at->options[same] != '\0' && same < length &&
               at->options[same] == text[same]) {
            same++;
        }
        bool is_whole = at->options != NULL && at->options[same] == '\0';
        bool is_cut = same == length || (length - same >= strlen(ellipsis) &&
                                         memcmp(text + same, ellipsis, strlen(ellipsis)) == 0);
        longest = same > longest && (is_whole || is_cut) ? same : longest;
    }
    (void)pthread_mutex_unlock(&places_lock);
    return longest;
}

void command_add_placeless(struct buf *out, const char *message, size_t length) {
    static const char name[] = "toolrack";
    const char *at = message;
    const char *end = message + length;
    const char *found;
    while ((found = memmem(at, (size_t)(end - at), name, strlen(name))) != NULL) {
        found += strlen(name);
        buf_add(out, at, (size_t)(found - at));
        at = found + places_length(found, (size_t)(end - found));
    }
    buf_add(out, at, (size_t)(end - at));
}

/* ---------------------------------------------------------------- commands */

const char *command_write(struct command_text *ret, const char *const words[]) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    bool is_good = command_begin(&text, words[0]);
    for (size_t i = 1; is_good && words[i] != NULL; i++) {
        is_good = command_add_word(&text, words[i]);
    }
    if (!is_good || text.failed || text.length >= sizeof ret->text) {
        int verb_length = (int)strcspn(words[0], " ");
        (void)snprintf(ret->text, sizeof ret->text, "toolrack help %.*s", verb_length, words[0]);
    } else {
        memcpy(ret->text, text.data, text.length + 1);
    }
    return ret->text;
}
