#include "base/command.h"

#include <stdio.h>
#include <string.h>

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

const char *command_write(struct command_text *ret, const char *const words[]) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "toolrack %s", words[0]);
    bool is_good = true;
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
