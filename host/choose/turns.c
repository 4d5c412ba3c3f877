#include "choose/turns.h"

#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

/* What a wish counts that was fulfilled before the last. */
#define WEIGHT_FULFILLED 80u

/* Who speaks at the beginning of a line: the length of the name with its colon, or 0. */
static size_t read_speaker(const char *line, size_t length, bool *ret_asked) {
    static const struct {
        const char *name;
        bool asked;
    } speakers[] = {
            {"user:", true},    {"human:", true},      {"用户:", true},  {"用户：", true},
            {"system:", false}, {"assistant:", false}, {"助手:", false}, {"助手：", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(speakers); i++) {
        size_t size = strlen(speakers[i].name);
        if (length >= size && strncasecmp(line, speakers[i].name, size) == 0) {
            *ret_asked = speakers[i].asked;
            return size;
        }
    }
    return 0;
}

/* "For which day?", or "please say for which day". */
static bool is_question(const char *text, size_t length) {
    static const char *const signs[] = {"?", "？", "请", "請"};
    /* Who offers more has done what was wanted. */
    static const char *const offers[] = {"nything else", "还有什么", "还需要", "别的"};
    for (size_t i = 0; i < ARRAY_LENGTH(offers); i++) {
        if (memmem(text, length, offers[i], strlen(offers[i])) != NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(signs); i++) {
        if (memmem(text, length, signs[i], strlen(signs[i])) != NULL) {
            return true;
        }
    }
    return false;
}

static void weigh(const char *text, struct turns *turns) {
    bool open = true; /* what follows has not fulfilled the wish before */
    for (size_t i = turns->count; i-- > 0;) {
        struct turn *turn = &turns->items[i];
        if (turn->asked) {
            turn->weight = open ? TURNS_ONE : WEIGHT_FULFILLED;
            open = false;
        } else {
            turn->weight = 0;
            open = is_question(text + turn->start, turn->end - turn->start);
        }
    }
}

void turns_read(const char *text, size_t length, struct turns *ret) {
    ret->count = 0;
    for (size_t at = 0; at < length;) {
        const char *newline = memchr(text + at, '\n', length - at);
        size_t end = newline != NULL ? (size_t)(newline - text) : length;
        bool asked = false;
        size_t speaker = read_speaker(text + at, end - at, &asked);
        if (speaker > 0 && ret->count < TURNS_MAX) {
            ret->items[ret->count++] = (struct turn){.start = at + speaker, .asked = asked};
        } else if (ret->count == 0) {
            return;
        }
        ret->items[ret->count - 1].end = end;
        at = end + 1;
    }
    weigh(text, ret);
}

uint32_t turns_weight(const struct turns *turns, size_t at) {
    for (size_t i = 0; i < turns->count; i++) {
        if (at >= turns->items[i].start && at < turns->items[i].end) {
            return turns->items[i].weight;
        }
    }
    return turns->count > 0 ? 0 : TURNS_ONE;
}
