#include "choose/wording.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"

/* What an arithmetic expression stands for. */
static const char expression_words[] = " calculate arithmetic expression";

/* Bytes of a text in which signs are looked for. */
#define LOOKED_MAX 65536u

/* A part of a text that is read from its begin. */
struct reader {
    const char *text;
    size_t length;
    size_t at;
};

static void skip_blanks(struct reader *reader) {
    while (reader->at < reader->length && reader->text[reader->at] == ' ') {
        reader->at++;
    }
}

static bool takes(struct reader *reader, const char *sign) {
    size_t length = strlen(sign);
    bool is_there = reader->length - reader->at >= length &&
                    memcmp(reader->text + reader->at, sign, length) == 0;
    reader->at += is_there ? length : 0;
    return is_there;
}

/* "17", "2.5", "1,000", with brackets around it. */
static bool take_number(struct reader *reader) {
    size_t begin;
    while (takes(reader, "(")) {
        skip_blanks(reader);
    }
    (void)takes(reader, "-");
    begin = reader->at;
    while (reader->at < reader->length &&
           (ascii_is_digit(reader->text[reader->at]) ||
            (reader->at > begin && strchr(".,", reader->text[reader->at]) != NULL &&
             reader->text[reader->at] != '\0' && reader->at + 1 < reader->length &&
             ascii_is_digit(reader->text[reader->at + 1])))) {
        reader->at++;
    }
    if (reader->at == begin) {
        return false;
    }
    while (takes(reader, ")")) {
    }
    return true;
}

/* Signs that a date, a range, a path and a size have too mean a calculation only with blanks around
 * them. */
static bool take_operator(struct reader *reader) {
    static const char *const always[] = {"**", "*", "+", "^", "\xc3\x97", "\xc3\xb7"};
    static const char *const apart[] = {"-", "/", "%", "x"};
    size_t before = reader->at;
    skip_blanks(reader);
    bool is_apart = reader->at > before;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) {
        if (takes(reader, always[i])) {
            skip_blanks(reader);
            return true;
        }
    }
    for (size_t i = 0; is_apart && i < sizeof apart / sizeof apart[0]; i++) {
        if (takes(reader, apart[i])) {
            size_t after = reader->at;
            skip_blanks(reader);
            return reader->at > after;
        }
    }
    return false;
}

/* The first calculation of a text: two numbers and more, with operators between them. */
static bool find_expression(const char *text, size_t length, size_t *ret_start, size_t *ret_end) {
    size_t at = 0;
    while (at < length) {
        struct reader reader = {text, length, at};
        if (!ascii_is_digit(text[at]) || !take_number(&reader)) {
            at++;
            continue;
        }
        size_t end = reader.at;
        unsigned operators = 0;
        while (take_operator(&reader) && take_number(&reader)) {
            operators++;
            end = reader.at;
        }
        if (operators > 0) {
            *ret_start = at;
            *ret_end = end;
            return true;
        }
        at = end;
    }
    return false;
}

/* Without the signs that end a sentence: what is added belongs to it. */
static size_t trimmed(const char *text, size_t length) {
    while (length > 0 && strchr(" \t\r\n.?!=", text[length - 1]) != NULL) {
        length--;
    }
    return length;
}

int wording_make(const char *text, size_t length, struct wording *ret, struct toolrack_error *err) {
    *ret = (struct wording){.text = text, .length = length, .said = length};
    size_t looked = length < LOOKED_MAX ? length : LOOKED_MAX;
    if (!find_expression(text, looked, &ret->start, &ret->end)) {
        return 0;
    }
    size_t said = trimmed(text, length);
    char *memory = malloc(said + sizeof expression_words);
    if (memory == NULL) {
        return error_oom(err);
    }
    memcpy(memory, text, said);
    memcpy(memory + said, expression_words, sizeof expression_words);
    ret->memory = memory;
    ret->text = memory;
    ret->said = said;
    ret->length = said + sizeof expression_words - 1;
    return 0;
}

void wording_finish(struct wording *wording) {
    free(wording->memory);
    *wording = (struct wording){0};
}

void wording_place(const struct wording *wording, size_t *start, size_t *end) {
    if (*end > wording->said) {
        *start = wording->start;
        *end = wording->end;
    }
}
