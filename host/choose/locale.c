#include "choose/locale.h"

#include <string.h>

#include "base/ascii.h"

/* Longest name that is read. */
#define LOCALE_MAX 48u

static bool is_joint(char c) {
    return c == '-' || c == '_';
}

/* The length of a name without its encoding: en_US of en_US.UTF-8. */
static size_t name_length(const char *text) {
    return strcspn(text, ".@");
}

bool locale_is(const char *text) {
    size_t length = name_length(text);
    size_t size = 0; /* of the part that is read */
    for (size_t i = 0; i <= length; i++) {
        if (i == length || is_joint(text[i])) {
            if (size == 0 || size > 8 || (i == size && size > 3 && length > 1)) {
                return false;
            }
            size = 0;
        } else if (!ascii_is_alnum(text[i])) {
            return false;
        } else {
            size++;
        }
    }
    return length > 1 && length < LOCALE_MAX && ascii_is_letter(text[0]);
}

/* The first name of a language with a code. */
static const struct lexeme *language_of(const char *code) {
    for (size_t i = 0; i < lexeme_count; i++) {
        if (lexemes[i].kind == LEXEME_LANGUAGES && strcmp(lexemes[i].first, code) == 0) {
            return &lexemes[i];
        }
    }
    return NULL;
}

/* The currency of a region that is written with a hyphen before it. */
static const struct lexeme *currency_of(const char *region) {
    const struct lexeme *row = lexeme_of(LEXEME_LOCALES, region, strlen(region));
    char code[8] = "";
    if (row == NULL || strlen(row->first) >= sizeof code) {
        return NULL;
    }
    ascii_copy_lower(code, row->first, strlen(row->first));
    return lexeme_of(LEXEME_CURRENCIES, code, strlen(row->first));
}

void locale_read(const char *text, struct locale *ret) {
    *ret = (struct locale){0};
    if (text == NULL || !locale_is(text)) {
        return;
    }
    char language[LOCALE_MAX] = "";
    char region[4] = "";
    size_t length = name_length(text);
    size_t size = strcspn(text, "-_.@");
    ascii_copy_lower(language, text, size);
    for (size_t at = size; at < length;) {
        size_t part = strcspn(text + at + 1, "-_.@");
        if (part == 2 && at > 0 && region[0] == '\0') {
            region[0] = '-';
            ascii_copy_lower(region + 1, text + at + 1, part);
        }
        at += part + 1;
    }
    ret->language = language_of(language);
    ret->currency = currency_of(region);
    ret->imperial = strcmp(region, "-us") == 0;
    memcpy(language + size, region, strlen(region) + 1);
    const struct lexeme *usual = lexeme_of(LEXEME_LOCALES, language, strlen(language));
    usual = usual == NULL ? lexeme_of(LEXEME_LOCALES, language, size) : usual;
    if (usual != NULL) {
        ret->day_first = strcmp(usual->first, "day") == 0;
        ret->decimal_comma = strcmp(usual->second, "comma") == 0;
    }
}
