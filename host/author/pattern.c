#include "author/pattern.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Deepest nesting of groups, and most repetitions of one part. */
#define DEPTH_MAX  16u
#define REPEAT_MAX 20u
/* Of a repetition without an upper bound, most where strings are to be short. */
#define REPEAT_FEW 4u
#define LENGTH_MAX 65536u
/* Parts that are written: repetitions of nothing make no string long. */
#define STEPS_MAX  200000u
/* The characters that classes are made of. */
#define FIRST_CHAR ' '
#define LAST_CHAR  '~'
#define CHAR_COUNT (LAST_CHAR - FIRST_CHAR + 1)

struct writing {
    struct random *random;
    bool is_long;
    struct buf *out;
    unsigned depth;
    unsigned steps;
};

struct set {
    bool has[CHAR_COUNT];
};

static void set_add(struct set *set, int first, int last) {
    for (int c = first; c <= last; c++) {
        if (c >= FIRST_CHAR && c <= LAST_CHAR) {
            set->has[c - FIRST_CHAR] = true;
        }
    }
}

/* What a backslash and a letter stand for; false: the letter itself. */
static bool set_add_escape(struct set *set, char letter) {
    struct set one = {0};
    bool is_negated = letter == 'D' || letter == 'W' || letter == 'S';
    switch (letter) {
    case 'd':
    case 'D': set_add(&one, '0', '9'); break;
    case 'w':
    case 'W':
        set_add(&one, '0', '9');
        set_add(&one, 'A', 'Z');
        set_add(&one, 'a', 'z');
        set_add(&one, '_', '_');
        break;
    case 's':
    case 'S': set_add(&one, ' ', ' '); break;
    default: return false;
    }
    for (int i = 0; i < CHAR_COUNT; i++) {
        set->has[i] = set->has[i] || one.has[i] != is_negated;
    }
    return true;
}

static void write_one_of(struct writing *writing, const struct set *set) {
    unsigned count = 0;
    for (int i = 0; i < CHAR_COUNT; i++) {
        count += set->has[i];
    }
    if (count == 0) {
        return;
    }
    uint64_t nth = random_below(writing->random, count);
    for (int i = 0; i < CHAR_COUNT; i++) {
        if (set->has[i] && nth-- == 0) {
            buf_add_char(writing->out, (char)(FIRST_CHAR + i));
            return;
        }
    }
}

/* "[...]" at `at`; returns what follows it. */
static const char *read_class(const char *at, struct set *ret) {
    bool is_negated = *++at == '^';
    at += is_negated;
    for (bool is_first = true; *at != '\0' && (*at != ']' || is_first); is_first = false) {
        char first = *at++;
        if (first == '\\' && *at != '\0') {
            first = *at++;
            if (set_add_escape(ret, first)) {
                continue;
            }
        }
        char last = first;
        if (at[0] == '-' && at[1] != ']' && at[1] != '\0') {
            last = at[1];
            at += 2;
            last = last == '\\' && *at != '\0' ? *at++ : last;
        }
        set_add(ret, (unsigned char)first, (unsigned char)last);
    }
    for (int i = 0; i < CHAR_COUNT; i++) {
        ret->has[i] = ret->has[i] != is_negated;
    }
    return *at == ']' ? at + 1 : at;
}

/* The end of the part that begins at `at`: one character, class or group. */
static const char *part_end(const char *at) {
    struct set ignored = {0};
    if (*at == '\\' && at[1] != '\0') {
        return at + 2;
    }
    if (*at == '[') {
        return read_class(at, &ignored);
    }
    if (*at != '(') {
        return at + 1;
    }
    unsigned depth = 0;
    while (*at != '\0') {
        if (*at == '[') {
            at = read_class(at, &ignored);
            continue;
        }
        if (*at == '\\' && at[1] != '\0') {
            at += 2;
            continue;
        }
        depth += *at == '(';
        depth -= *at == ')';
        at++;
        if (depth == 0) {
            break;
        }
    }
    return at;
}

/* How often the part before `at` stands there; returns what follows. */
static const char *read_repeat(struct writing *writing, const char *at, uint64_t *ret) {
    uint64_t least = 1;
    uint64_t most = 1;
    if (*at == '*' || *at == '+' || *at == '?') {
        least = *at == '+';
        most = *at == '?' ? 1 : REPEAT_MAX;
        at++;
    } else if (*at == '{' && at[1] >= '0' && at[1] <= '9') {
        char *end = NULL;
        least = strtoull(at + 1, &end, 10);
        most = least;
        if (*end == ',') {
            most = end[1] == '}' ? least + REPEAT_MAX : strtoull(end + 1, &end, 10);
        }
        at += strcspn(at, "}");
        at += *at == '}';
        most = most > least + REPEAT_MAX ? least + REPEAT_MAX : most;
    } else {
        *ret = 1;
        return at;
    }
    at += *at == '?'; /* lazy */
    uint64_t few = most - least > REPEAT_FEW ? least + REPEAT_FEW : most;
    *ret = writing->is_long ? most : least + random_below(writing->random, few - least + 1);
    return at;
}

static void write_alternatives(struct writing *writing, const char *at, const char *end);

static void write_part(struct writing *writing, const char *at, const char *end) {
    struct set set = {0};
    writing->steps++;
    if (*at == '[') {
        (void)read_class(at, &set);
        write_one_of(writing, &set);
    } else if (*at == '.') {
        set_add(&set, 'a', 'z');
        write_one_of(writing, &set);
    } else if (*at == '\\' && at + 1 < end) {
        if (set_add_escape(&set, at[1])) {
            write_one_of(writing, &set);
        } else if (at[1] == 'n' || at[1] == 't') {
            buf_add_char(writing->out, at[1] == 'n' ? '\n' : '\t');
        } else if (at[1] != 'b' && at[1] != 'B') {
            buf_add_char(writing->out, at[1]);
        }
    } else if (*at == '(') {
        at += at[1] == '?' ? (at[2] == '<' ? strcspn(at, ">") + 1 : 3) : 1;
        write_alternatives(writing, at, end > at && end[-1] == ')' ? end - 1 : end);
    } else if (*at != '^' && *at != '$') {
        buf_add(writing->out, at, (size_t)(end - at));
    }
}

static void write_sequence(struct writing *writing, const char *at, const char *end) {
    while (at < end) {
        const char *part = at;
        const char *after = part_end(at);
        uint64_t times;
        after = after > end ? end : after;
        at = read_repeat(writing, after, &times);
        for (uint64_t i = 0;
             i < times && writing->out->length < LENGTH_MAX && writing->steps < STEPS_MAX; i++) {
            write_part(writing, part, after);
        }
    }
}

static void write_alternatives(struct writing *writing, const char *at, const char *end) {
    const char *starts[64] = {at};
    size_t count = 1;
    if (writing->depth == DEPTH_MAX) {
        return;
    }
    for (const char *c = at; c < end; c = part_end(c)) {
        if (*c == '|' && count < ARRAY_LENGTH(starts)) {
            starts[count++] = c + 1;
        }
    }
    size_t chosen = random_below(writing->random, count);
    writing->depth++;
    write_sequence(writing, starts[chosen], chosen + 1 < count ? starts[chosen + 1] - 1 : end);
    writing->depth--;
}

void pattern_write(const char *pattern, struct random *random, bool is_long, struct buf *out) {
    struct writing writing = {.random = random, .is_long = is_long, .out = out};
    write_alternatives(&writing, pattern, pattern + strlen(pattern));
}
