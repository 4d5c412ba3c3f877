#include "bind/comment.h"

#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/utf8.h"

/* Longest comment that is looked at. */
#define COMMENT_MAX 65536u

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static bool is_word(char c) {
    return c == '_' || ascii_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* --------------------------------------------------------------------- find */

struct span {
    const char *at;
    size_t length;
};

/* Lines between two places. */
static size_t count_lines(const char *from, const char *to) {
    size_t lines = 0;
    for (; from < to; from++) {
        lines += *from == '\n';
    }
    return lines;
}

/* Lines that begin with "//", directly above `line`. */
static struct span line_comment_above(const char *text, const char *line) {
    const char *begin = line;
    for (const char *end = line; end > text;) {
        const char *start = end - 1;
        while (start > text && start[-1] != '\n') {
            start--;
        }
        const char *first = start;
        while (first < end && is_space(*first)) {
            first++;
        }
        if (end - first < 2 || first[0] != '/' || first[1] != '/') {
            break;
        }
        begin = end = start;
    }
    return (struct span){begin, (size_t)(line - begin)};
}

/* The last comment before the declaration, if nothing but the declaration's own words is between.
 */
static struct span comment_above(const char *text, const char *name, size_t *ret_lines) {
    const char *at = name;
    const char *line = name;
    while (line > text && line[-1] != '\n') {
        line--;
    }
    struct span lines = line_comment_above(text, line);
    if (lines.length > 0) {
        *ret_lines = 1;
        return lines;
    }
    while (at > text + 1 && !(at[-1] == '/' && at[-2] == '*')) {
        at--;
        if (*at == ';' || *at == '}' || *at == '#') {
            return (struct span){0};
        }
    }
    if (at <= text + 1) {
        return (struct span){0};
    }
    const char *end = at;
    const char *first = end;
    while (first < name && is_space(*first)) {
        first++;
    }
    *ret_lines = count_lines(end, first);
    for (at -= 3; at > text && !(at[-1] == '/' && at[0] == '*'); at--) {
    }
    return at > text ? (struct span){at - 1, (size_t)(end - at + 1)} : (struct span){0};
}

static struct span comment_below(const char *name, const char *end, size_t *ret_lines) {
    const char *at = memchr(name, ';', (size_t)(end - name));
    if (at == NULL) {
        return (struct span){0};
    }
    const char *begin = ++at;
    while (begin < end && is_space(*begin)) {
        begin++;
    }
    *ret_lines = count_lines(at, begin);
    const char *stop = end - begin > 2 && begin[0] == '/' && begin[1] == '*'
                               ? memmem(begin + 2, (size_t)(end - begin - 2), "*/", 2)
                               : NULL;
    struct span comment = {0};
    if (stop != NULL) {
        comment = (struct span){begin, (size_t)(stop - begin) + 2};
    }
    return comment;
}

static bool mentions(struct span comment, const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i + length <= comment.length; i++) {
        if (memcmp(comment.at + i, name, length) == 0 && (i == 0 || !is_word(comment.at[i - 1])) &&
            (i + length == comment.length || !is_word(comment.at[i + length]))) {
            return true;
        }
    }
    return false;
}

const char *comment_find(struct arena *arena, const char *text, size_t length, size_t offset,
                         const char *name) {
    size_t lines_above = 0;
    size_t lines_below = 0;
    struct span above = comment_above(text, text + offset, &lines_above);
    struct span below = comment_below(text + offset, text + length, &lines_below);
    struct span chosen = above.length > 0 && lines_above <= 1   ? above
                         : below.length > 0 && lines_below <= 1 ? below
                         : mentions(above, name)                ? above
                                                                : (struct span){0};
    if (chosen.length == 0 || chosen.length > COMMENT_MAX ||
        !utf8_valid(chosen.at, chosen.length) || memchr(chosen.at, '\0', chosen.length) != NULL) {
        return NULL;
    }
    return arena_copy(arena, chosen.at, chosen.length);
}

/* --------------------------------------------------------------------- text */

/* Reads a comment word by word. A blank line, also one of marks only, is a word of no length. */
struct words {
    const char *at;
    bool at_line_start;
};

static bool is_mark(char c) {
    return c == '*' || c == '/' || c == '!' || c == '<';
}

static bool next_word(struct words *words, struct span *ret) {
    size_t lines = 0;
    for (;;) {
        while (*words->at != '\0' && is_space(*words->at)) {
            lines += *words->at == '\n';
            words->at_line_start |= *words->at == '\n';
            words->at++;
        }
        if (words->at_line_start) {
            words->at += strspn(words->at, "*/!<");
            words->at_line_start = false;
            if (is_space(*words->at)) {
                continue;
            }
        }
        break;
    }
    if (lines > 1 && *words->at != '\0') {
        *ret = (struct span){words->at, 0};
        return true;
    }
    const char *start = words->at;
    while (*words->at != '\0' && !is_space(*words->at)) {
        words->at++;
    }
    size_t length = (size_t)(words->at - start);
    while (length > 0 && *words->at == '\0' && is_mark(start[length - 1])) {
        length--; /* the end of the comment */
    }
    *ret = (struct span){start, length};
    return length > 0;
}

static struct words words_of(const char *comment) {
    return (struct words){.at = comment, .at_line_start = true};
}

static bool is_command(struct span word, const char *name) {
    size_t length = strlen(name);
    return word.length >= length + 1 && (word.at[0] == '@' || word.at[0] == '\\') &&
           memcmp(word.at + 1, name, length) == 0;
}

/* Append a word; control characters are left out. False: there is no more room. */
static bool add_word(struct buf *out, size_t start, struct span word) {
    size_t said = out->length - start;
    if (said + word.length + 1 > COMMENT_TEXT_MAX) {
        buf_add_text(out, said > 0 ? " ..." : "");
        return false;
    }
    if (said > 0) {
        buf_add_char(out, ' ');
    }
    for (size_t i = 0; i < word.length; i++) {
        if ((unsigned char)word.at[i] >= ' ' && word.at[i] != 0x7f) {
            buf_add_char(out, word.at[i]);
        }
    }
    return true;
}

void comment_add_description(struct buf *out, const char *comment) {
    struct words words = words_of(comment);
    size_t start = out->length;
    struct span word;
    while (next_word(&words, &word)) {
        if (word.length == 0) {
            if (out->length > start) {
                break;
            }
            continue;
        }
        if (is_command(word, "brief") || is_command(word, "short")) {
            continue;
        }
        if ((word.at[0] == '@' || word.at[0] == '\\') && word.length > 1) {
            if (out->length > start) {
                break;
            }
        }
        if (!add_word(out, start, word)) {
            break;
        }
    }
}

/* "@param", "@param[out]", "@param [in,out]" */
static enum comment_direction direction_of(struct span word) {
    const char *bracket = memchr(word.at, '[', word.length);
    size_t length = bracket != NULL ? word.length - (size_t)(bracket - word.at) : 0;
    bool reads = length > 0 && memmem(bracket, length, "in", 2) != NULL;
    bool writes = length > 0 && memmem(bracket, length, "out", 3) != NULL;
    return reads && writes ? COMMENT_INOUT
           : writes        ? COMMENT_OUT
           : reads         ? COMMENT_IN
                           : COMMENT_SAYS_NOTHING;
}

static void add_rest(struct buf *out, struct words *words) {
    size_t start = out->length;
    struct span word;
    struct words ahead = *words;
    while (next_word(&ahead, &word) && word.length > 0 && word.at[0] != '@' && word.at[0] != '\\') {
        if (!add_word(out, start, word)) {
            break;
        }
        *words = ahead;
    }
}

enum comment_direction comment_add_param(struct buf *out, const char *comment, const char *name) {
    struct words words = words_of(comment);
    struct span word;
    while (next_word(&words, &word)) {
        if (name == NULL && is_command(word, "return")) {
            add_rest(out, &words);
            return COMMENT_SAYS_NOTHING;
        }
        if (name == NULL || !is_command(word, "param")) {
            continue;
        }
        enum comment_direction direction = direction_of(word);
        if (!next_word(&words, &word)) {
            break;
        }
        if (word.length > 0 && word.at[0] == '[') {
            direction = direction_of(word);
            if (!next_word(&words, &word)) {
                break;
            }
        }
        if (word.length == strlen(name) && memcmp(word.at, name, word.length) == 0) {
            add_rest(out, &words);
            return direction;
        }
    }
    return COMMENT_SAYS_NOTHING;
}

bool comment_says(const char *comment, const char *sought) {
    CLEANUP(buf_finish) struct buf plain = BUF_INIT;
    struct words words = words_of(comment);
    struct span word;
    while (next_word(&words, &word)) {
        buf_add(&plain, word.at, word.length);
        buf_add_char(&plain, ' ');
    }
    return !plain.failed && plain.data != NULL && strcasestr(plain.data, sought) != NULL;
}
