/* Groups of all records that name the client are one; where none does, those of "*" are. The rule
 * with the longest pattern decides, "allow" if two are as long. */
#include "robots.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#define LINE_MAX_LENGTH 4096
#define STEPS_MAX       50000000U
#define PATH_SIZE       (3 * 4096 + 1) /* each byte may become %XX */

struct line {
    const char *key;
    size_t key_length;
    const char *value;
    size_t value_length;
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static void trim(const char **text, size_t *length) {
    while (*length > 0 && is_blank((*text)[0])) {
        (*text)++;
        (*length)--;
    }
    while (*length > 0 && is_blank((*text)[*length - 1])) {
        (*length)--;
    }
}

/* The next line with a key; false at the end. */
static bool next_line(const char **at, const char *end, struct line *ret) {
    while (*at < end) {
        const char *line = *at;
        const char *stop = line;
        while (stop < end && *stop != '\n' && *stop != '\r') {
            stop++;
        }
        *at = stop < end ? stop + 1 : end;
        const char *comment = memchr(line, '#', (size_t)(stop - line));
        stop = comment != NULL ? comment : stop;
        const char *colon = memchr(line, ':', (size_t)(stop - line));
        if (colon == NULL || stop - line > LINE_MAX_LENGTH) {
            continue;
        }
        *ret = (struct line){line, (size_t)(colon - line), colon + 1, (size_t)(stop - colon - 1)};
        trim(&ret->key, &ret->key_length);
        trim(&ret->value, &ret->value_length);
        return true;
    }
    return false;
}

static bool has_key(const struct line *line, const char *key) {
    return line->key_length == strlen(key) && strncasecmp(line->key, key, line->key_length) == 0;
}

/* A product token ends before what it may not have, such as "/" and a version. */
static bool is_for(const struct line *line, const char *agent) {
    size_t length = 0;
    while (length < line->value_length &&
           (isalpha((unsigned char)line->value[length]) || line->value[length] == '-' ||
            line->value[length] == '_')) {
        length++;
    }
    return length > 0 && length == strlen(agent) && strncasecmp(line->value, agent, length) == 0;
}

static bool is_for_all(const struct line *line) {
    return line->value_length >= 1 && line->value[0] == '*' &&
           (line->value_length == 1 || !isalpha((unsigned char)line->value[1]));
}

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : isxdigit((unsigned char)c) ? (c | 0x20) - 'a' + 10 : -1;
}

/* One form of each path: what needs no %XX has none, the rest has it in capitals. */
static size_t normalize(const char *path, size_t length, char ret[PATH_SIZE]) {
    static const char digits[] = "0123456789ABCDEF";
    size_t made = 0;
    for (size_t i = 0; i < length && made + 3 < PATH_SIZE; i++) {
        unsigned char byte = (unsigned char)path[i];
        bool is_coded =
                byte == '%' && i + 2 < length && hex(path[i + 1]) >= 0 && hex(path[i + 2]) >= 0;
        if (is_coded) {
            byte = (unsigned char)(hex(path[i + 1]) * 16 + hex(path[i + 2]));
            i += 2;
        }
        bool is_free = isalnum(byte) || (byte != '\0' && strchr("-._~", byte) != NULL);
        if (byte < 0x80 && (is_free || !is_coded)) {
            ret[made++] = (char)byte;
        } else {
            ret[made++] = '%';
            ret[made++] = digits[byte >> 4];
            ret[made++] = digits[byte & 15];
        }
    }
    ret[made] = '\0';
    return made;
}

/* A prefix of the path, where "*" is any text and "$" at the end is the end. A file of patterns
 * that take too many steps forbids what it has not said by then. */
static bool matches(const char *pattern, size_t length, const char *path, uint32_t *steps) {
    bool is_whole = length > 0 && pattern[length - 1] == '$';
    size_t end = length - is_whole;
    size_t star = SIZE_MAX; /* the last one that was met, and where its text ends for now */
    size_t mark = 0;
    size_t at = 0;
    size_t i = 0;
    for (;;) {
        if (*steps == 0) {
            return true;
        }
        (*steps)--;
        if (i < end && pattern[i] == '*') {
            star = i++;
            mark = at;
        } else if (i == end && (!is_whole || path[at] == '\0')) {
            return true;
        } else if (i < end && path[at] != '\0' && pattern[i] == path[at]) {
            i++;
            at++;
        } else if (star != SIZE_MAX && path[mark] != '\0') {
            i = star + 1;
            at = ++mark;
        } else {
            return false;
        }
    }
}

struct verdict {
    uint32_t steps; /* that are left */
    size_t longest; /* length of the pattern that decided, plus one; 0: none has */
    bool allows;
};

static void judge(struct verdict *verdict, const struct line *line, const char *path) {
    bool allows = has_key(line, "allow");
    char pattern[PATH_SIZE];
    if ((!allows && !has_key(line, "disallow")) || line->value_length == 0) {
        return;
    }
    size_t length = normalize(line->value, line->value_length, pattern);
    bool is_stronger = length + 1 > verdict->longest ||
                       (length + 1 == verdict->longest && allows && !verdict->allows);
    if (is_stronger && matches(pattern, length, path, &verdict->steps)) {
        verdict->longest = length + 1;
        verdict->allows = allows && verdict->steps > 0;
    }
}

bool robots_allow(const char *text, size_t length, const char *agent, const char *path) {
    struct verdict ours = {STEPS_MAX, 0, true};
    struct verdict all = {STEPS_MAX, 0, true};
    bool has_group = false;
    bool in_ours = false;
    bool in_all = false;
    bool in_names = false; /* of a group that begins */
    char wanted[PATH_SIZE];
    struct line line;
    (void)normalize(path, strlen(path), wanted);
    const char *end = text + (length < ROBOTS_SIZE_MAX ? length : ROBOTS_SIZE_MAX);
    if (end - text >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
    }
    while (next_line(&text, end, &line)) {
        if (has_key(&line, "user-agent")) {
            in_ours = is_for(&line, agent) || (in_names && in_ours);
            in_all = is_for_all(&line) || (in_names && in_all);
            has_group = has_group || in_ours;
            in_names = true;
            continue;
        }
        if (has_key(&line, "allow") || has_key(&line, "disallow")) {
            in_names = false;
        }
        if (in_ours) {
            judge(&ours, &line, wanted);
        }
        if (in_all) {
            judge(&all, &line, wanted);
        }
    }
    return has_group ? ours.allows : all.allows;
}
