/* Braces are expanded first, each result is cut at its slashes, and each part that has more than
 * plain characters becomes a regular expression. Parts are matched one by one, so that only PCRE2's
 * own work can grow, and that has a limit. */
#include "glob.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "text.h"

/* Steps of PCRE2 for one part of a path. */
#define STEPS_MAX 100000u
/* Braces in braces, parentheses in parentheses. */
#define DEPTH_MAX 20u

struct glob_part {
    enum { PART_PLAIN, PART_PATTERN, PART_ANY_FOLDERS } kind;
    char *text; /* owned; of PLAIN: what the part must be */
    size_t length;
    pcre2_code *code; /* owned; of PATTERN */
};

struct glob_branch {
    struct glob_part *parts; /* owned */
    size_t count;
};

/* ------------------------------------------------------------------ braces */

struct branches {
    char **items; /* owned, as are the strings */
    size_t count;
    size_t room;
    const char *fault; /* why there are not all; NULL: none */
};

static void take(struct branches *list, char *item) {
    if (item == NULL || list->fault != NULL) {
        list->fault = list->fault != NULL ? list->fault : "its braces stand for too long patterns";
        free(item);
        return;
    }
    if (list->count == GLOB_BRANCHES_MAX) {
        list->fault = "its braces stand for more than 1000 patterns";
        free(item);
        return;
    }
    if (list->count == list->room) {
        size_t room = list->room > 0 ? 2 * list->room : 8;
        char **items = realloc(list->items, room * sizeof *items);
        if (items == NULL) {
            list->fault = "there is no memory for it";
            free(item);
            return;
        }
        list->items = items;
        list->room = room;
    }
    list->items[list->count++] = item;
}

static void branches_finish(struct branches *list) {
    for (size_t i = 0; i < list->count; i++) {
        free(list->items[i]);
    }
    free(list->items);
    *list = (struct branches){0};
}

static size_t escaped_or_one(const char *at) {
    return *at == '\\' && at[1] != '\0' ? 2 : 1;
}

/* The brace that closes the one at `open`, or NULL. */
static const char *closing(const char *open) {
    size_t depth = 0;
    for (const char *at = open; *at != '\0'; at += escaped_or_one(at)) {
        depth += *at == '{';
        depth -= *at == '}';
        if (depth == 0) {
            return at;
        }
    }
    return NULL;
}

static char *joined(const char *one, size_t one_length, const char *two, size_t two_length,
                    const char *three) {
    size_t three_length = strlen(three);
    if (one_length + two_length + three_length > GLOB_SIZE_MAX) {
        return NULL;
    }
    char *text = malloc(one_length + two_length + three_length + 1);
    if (text != NULL) {
        memcpy(text, one, one_length);
        memcpy(text + one_length, two, two_length);
        memcpy(text + one_length + two_length, three, three_length + 1);
    }
    return text;
}

static void expand(const char *pattern, unsigned depth, struct branches *out);

/* Each way to write what precedes, a middle part, and what follows. */
static void combine(const char *before, size_t before_length, const struct branches *middle,
                    const struct branches *after, struct branches *out) {
    for (size_t i = 0; i < middle->count && out->fault == NULL; i++) {
        for (size_t j = 0; j < after->count && out->fault == NULL; j++) {
            take(out, joined(before, before_length, middle->items[i], strlen(middle->items[i]),
                             after->items[j]));
        }
    }
    out->fault = out->fault != NULL      ? out->fault
                 : middle->fault != NULL ? middle->fault
                                         : after->fault;
}

/* "1..5", "a..e", "01..10..2" between braces. False: it is no such. */
static bool expand_sequence(const char *body, size_t length, struct branches *out) {
    char text[64];
    if (length == 0 || length >= sizeof text) {
        return false;
    }
    memcpy(text, body, length);
    text[length] = '\0';
    int first;
    int last;
    int step = 1;
    int end = 0;
    char from;
    char to;
    bool is_number =
            (sscanf(text, "%d..%d%n", &first, &last, &end) == 2 && text[end] == '\0') ||
            (sscanf(text, "%d..%d..%d%n", &first, &last, &step, &end) == 3 && text[end] == '\0');
    bool is_letter =
            !is_number &&
            ((sscanf(text, "%c..%c%n", &from, &to, &end) == 2 && text[end] == '\0') ||
             (sscanf(text, "%c..%c..%d%n", &from, &to, &step, &end) == 3 && text[end] == '\0'));
    is_letter =
            is_letter &&
            (((from | 32) >= 'a' && (from | 32) <= 'z' && (to | 32) >= 'a' && (to | 32) <= 'z'));
    if (is_letter) {
        first = from;
        last = to;
    } else if (!is_number) {
        return false;
    }
    int64_t by = step < 0 ? -(int64_t)step : step;
    by = by == 0 ? 1 : by;
    bool is_padded = is_number &&
                     (text[strspn(text, "-")] == '0' || strstr(text, "..0") != NULL ||
                      strstr(text, "..-0") != NULL) &&
                     length > strlen("0..0");
    const char *dots = strstr(text, "..");
    size_t width = (size_t)(dots - text);
    const char *second = dots + 2;
    size_t second_width = strcspn(second, ".");
    width = is_padded ? (width > second_width ? width : second_width) : 0;
    for (int64_t i = first; out->fault == NULL && (first <= last ? i <= last : i >= last);
         i += first <= last ? by : -by) {
        char *item = NULL;
        int made = is_letter ? asprintf(&item, "%s%c", i == '\\' ? "\\" : "", (char)i)
                             : asprintf(&item, "%0*lld", (int)width, (long long)i);
        take(out, made < 0 ? NULL : item);
    }
    return true;
}

/* "a,b{c,d}" between braces. False: no comma is outside of inner braces. */
static bool expand_list(const char *body, size_t length, unsigned depth, struct branches *out) {
    const char *end = body + length;
    const char *begin = body;
    size_t inner = 0;
    bool has_comma = false;
    for (const char *at = body; at <= end && out->fault == NULL;
         at += at < end ? escaped_or_one(at) : 1) {
        bool is_end = at >= end;
        inner += !is_end && *at == '{';
        inner -= !is_end && *at == '}' && inner > 0;
        if (is_end ? has_comma : (*at == ',' && inner == 0)) {
            char *item = joined(begin, (size_t)(at - begin), "", 0, "");
            if (item == NULL) {
                out->fault = "it is longer than 4096 bytes";
                return true;
            }
            expand(item, depth + 1, out);
            free(item);
            begin = at + 1;
            has_comma = true;
        }
    }
    return has_comma;
}

static void expand(const char *pattern, unsigned depth, struct branches *out) {
    if (depth > DEPTH_MAX) {
        out->fault = "its braces are nested too deep";
        return;
    }
    for (const char *at = pattern; *at != '\0'; at += escaped_or_one(at)) {
        const char *close = *at == '{' && (at == pattern || at[-1] != '$') ? closing(at) : NULL;
        if (close == NULL) {
            continue;
        }
        struct branches middle = {0};
        size_t length = (size_t)(close - at) - 1;
        if (expand_list(at + 1, length, depth, &middle) ||
            expand_sequence(at + 1, length, &middle)) {
            struct branches after = {0};
            expand(close + 1, depth + 1, &after);
            combine(pattern, (size_t)(at - pattern), &middle, &after, out);
            branches_finish(&after);
            branches_finish(&middle);
            return;
        }
        branches_finish(&middle);
    }
    if (strlen(pattern) > GLOB_SIZE_MAX) {
        out->fault = "it is longer than 4096 bytes";
    } else {
        take(out, strdup(pattern));
    }
}

/* -------------------------------------------------------------------- part */

static void add_plain(struct text *out, const char *at, size_t length) {
    if (length == 1 && (unsigned char)*at < 0x80 &&
        strchr("\\^$.|?*+()[]{}-#/ \t\n\r\v\f", *at) != NULL) {
        text_add(out, "\\", 1);
    }
    text_add(out, at, length);
}

static size_t character_length(const char *at) {
    unsigned char first = (unsigned char)*at;
    size_t length = first < 0xc0 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    return strnlen(at, length);
}

static bool is_class_name(const char *at, const char *end, size_t *ret_length) {
    static const char *const names[] = {"alnum", "alpha", "ascii", "blank", "cntrl",
                                        "digit", "graph", "lower", "print", "punct",
                                        "space", "upper", "word",  "xdigit"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t length = strlen(names[i]);
        if ((size_t)(end - at) >= length + 4 && memcmp(at, "[:", 2) == 0 &&
            memcmp(at + 2, names[i], length) == 0 && memcmp(at + 2 + length, ":]", 2) == 0) {
            *ret_length = length + 4;
            return true;
        }
    }
    return false;
}

/* A class from its "[" on, of which `*at` is left behind the "]". False: it is not closed, so the
 * "[" is a character like others. */
static bool add_class(struct text *out, const char **at, const char *end) {
    struct text items = {0};
    const char *from = *at + 1;
    bool negates = from < end && (*from == '!' || *from == '^');
    from += negates;
    const char *first = from;
    const char *range = NULL; /* the character that one begins with */
    size_t range_length = 0;
    while (from < end && (*from != ']' || from == first)) {
        size_t length;
        if (is_class_name(from, end, &length)) {
            text_add(&items, from, length);
            from += length;
            continue;
        }
        from += *from == '\\' && from + 1 < end;
        length = character_length(from);
        if (range != NULL) {
            /* One whose end is before its beginning is left out. UTF-8 is in the order of its
             * characters. */
            size_t shorter = length < range_length ? length : range_length;
            int order = memcmp(range, from, shorter);
            if (order < 0 || (order == 0 && range_length <= length)) {
                add_plain(&items, range, range_length);
                text_add(&items, "-", 1);
                add_plain(&items, from, length);
            }
            range = NULL;
        } else if (from + length + 1 < end && from[length] == '-' && from[length + 1] != ']') {
            range = from;
            range_length = length;
            from++;
        } else {
            add_plain(&items, from, length);
        }
        from += length;
    }
    bool is_closed = from < end;
    if (is_closed && items.length == 0) {
        text_add_string(out, negates ? "." : "(?!)");
    } else if (is_closed) {
        text_add_string(out, negates ? "[^" : "[");
        text_add(out, items.data, items.length);
        text_add(out, "]", 1);
    }
    out->failed = out->failed || items.failed;
    text_finish(&items);
    *at = is_closed ? from + 1 : *at;
    return is_closed;
}

/* The parenthesis that closes the one at `open`, or NULL. */
static const char *closing_group(const char *open, const char *end) {
    size_t depth = 0;
    for (const char *at = open; at < end; at += escaped_or_one(at)) {
        depth += *at == '(';
        depth -= *at == ')';
        if (depth == 0) {
            return at;
        }
    }
    return NULL;
}

static void add_part(struct text *out, const char *at, const char *end, unsigned depth);

static void add_alternatives(struct text *out, const char *at, const char *end, unsigned depth) {
    const char *begin = at;
    size_t inner = 0;
    text_add_string(out, "(?:");
    for (; at < end; at += escaped_or_one(at)) {
        inner += *at == '(';
        inner -= *at == ')' && inner > 0;
        if (*at == '|' && inner == 0) {
            add_part(out, begin, at, depth + 1);
            text_add(out, "|", 1);
            begin = at + 1;
        }
    }
    add_part(out, begin, end, depth + 1);
    text_add(out, ")", 1);
}

/* +(a|b) and the like, from the sign on; `close` is its last parenthesis. What "!" leaves out
 * depends on what follows up to the end of the part. */
static void add_group(struct text *out, const char *at, const char *close, const char *end,
                      unsigned depth) {
    if (*at == '!') {
        text_add_string(out, "(?:(?!");
        add_alternatives(out, at + 2, close, depth);
        add_part(out, close + 1, end, depth + 1);
        text_add_string(out, "$).*)");
        return;
    }
    add_alternatives(out, at + 2, close, depth);
    if (*at != '@') {
        text_add(out, at, 1);
    }
}

/* A part, or a piece of one, as a regular expression. */
static void add_part(struct text *out, const char *at, const char *end, unsigned depth) {
    while (at < end) {
        const char *close =
                at + 1 < end && at[1] == '(' && strchr("?*+@!", *at) != NULL && depth < DEPTH_MAX
                        ? closing_group(at + 1, end)
                        : NULL;
        if (close != NULL) {
            add_group(out, at, close, end, depth);
            at = close + 1;
        } else if (*at == '*') {
            text_add_string(out, ".*");
            at++;
            while (at < end && *at == '*' && !(at + 1 < end && at[1] == '(')) {
                at++;
            }
        } else if (*at == '?') {
            text_add(out, ".", 1);
            at++;
        } else if (*at != '[' || !add_class(out, &at, end)) {
            at += *at == '\\' && at + 1 < end;
            size_t length = character_length(at);
            length = length < (size_t)(end - at) ? length : (size_t)(end - at);
            add_plain(out, at, length);
            at += length;
        }
    }
}

static bool is_plain(const char *at, size_t length) {
    return memchr(at, '*', length) == NULL && memchr(at, '?', length) == NULL &&
           memchr(at, '[', length) == NULL && memchr(at, '(', length) == NULL &&
           memchr(at, '\\', length) == NULL;
}

/* False, with the reason. */
static bool compile_part(const char *at, size_t length, struct glob_part *ret, const char **fault) {
    *ret = (struct glob_part){0};
    if (length == 2 && memcmp(at, "**", 2) == 0) {
        ret->kind = PART_ANY_FOLDERS;
        return true;
    }
    if (is_plain(at, length)) {
        ret->text = strndup(at, length);
        ret->length = length;
        return ret->text != NULL;
    }
    struct text pattern = {0};
    ret->kind = PART_PATTERN;
    if (strspn(at, "*") >= length) {
        text_add_string(&pattern, ".+");
    } else {
        add_part(&pattern, at, at + length, 0);
    }
    int number = 0;
    PCRE2_SIZE place;
    if (!pattern.failed) {
        ret->code = pcre2_compile((PCRE2_SPTR)pattern.data, pattern.length,
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_DOTALL | PCRE2_ANCHORED |
                                          PCRE2_ENDANCHORED,
                                  &number, &place, NULL);
    }
    *fault = pattern.failed ? "there is no memory for it" : "it is too large";
    text_finish(&pattern);
    return ret->code != NULL;
}

static bool part_matches(const struct glob_part *part, const char *name, size_t length,
                         pcre2_match_data *match, pcre2_match_context *context) {
    return part->kind == PART_PLAIN
                   ? part->length == length && memcmp(part->text, name, length) == 0
                   : pcre2_match(part->code, (PCRE2_SPTR)name, length, 0, 0, match, context) >= 0;
}

/* ------------------------------------------------------------------ branch */

/* "a/../b" is "b", and of several "**" in a row one is enough. */
static void drop(struct glob_branch *branch) {
    struct glob_part *part = &branch->parts[--branch->count];
    free(part->text);
    pcre2_code_free(part->code);
}

static bool is_text(const struct glob_part *part, const char *text) {
    return part->kind == PART_PLAIN && strcmp(part->text, text) == 0;
}

static void tidy(struct glob_branch *branch) {
    struct glob_part *last = &branch->parts[branch->count - 1];
    struct glob_part *prev = branch->count > 1 ? last - 1 : NULL;
    if (prev == NULL) {
        return;
    }
    bool goes_up = is_text(last, "..") && prev->kind != PART_ANY_FOLDERS && !is_text(prev, "") &&
                   !is_text(prev, ".") && !is_text(prev, "..");
    if (goes_up) {
        drop(branch);
        drop(branch);
    } else if (last->kind == PART_ANY_FOLDERS && prev->kind == PART_ANY_FOLDERS) {
        drop(branch);
    }
}

static bool compile_branch(const char *pattern, struct glob_branch *ret, const char **fault) {
    size_t slashes = 0;
    for (const char *at = pattern; *at != '\0'; at++) {
        slashes += *at == '/';
    }
    *ret = (struct glob_branch){.parts = calloc(slashes + 1, sizeof *ret->parts)};
    *fault = "there is no memory for it";
    for (const char *at = pattern; ret->parts != NULL;) {
        size_t length = strcspn(at, "/");
        if (!compile_part(at, length, &ret->parts[ret->count++], fault)) {
            return false;
        }
        tidy(ret);
        at += length;
        if (*at == '\0') {
            return true;
        }
        at += strspn(at, "/");
    }
    return false;
}

/* Of "**" only the last one that was met need be tried again: what the others before it took can
 * only be worse for what follows. A "**" at the end stands for one part at least. */
static bool branch_matches(const struct glob_branch *branch, const char *path,
                           pcre2_match_data *match, pcre2_match_context *context) {
    size_t part = 0;
    size_t again_part = SIZE_MAX; /* behind the last "**" */
    const char *again = NULL;     /* where that may take one name more */
    const char *at = path;
    while (*at != '\0') {
        size_t length = strcspn(at, "/");
        const char *next = at + length + (at[length] == '/');
        if (part < branch->count && branch->parts[part].kind == PART_ANY_FOLDERS) {
            again_part = ++part;
            again = at;
            if (part == branch->count) {
                return true;
            }
        } else if (part < branch->count &&
                   part_matches(&branch->parts[part], at, length, match, context)) {
            part++;
            at = next;
        } else if (again != NULL) {
            again += strcspn(again, "/");
            again += *again == '/';
            at = again;
            part = again_part;
        } else {
            return false;
        }
    }
    return part == branch->count;
}

/* -------------------------------------------------------------------- glob */

static bool compile_all(const struct branches *list, struct glob *glob, const char **fault) {
    glob->branches = calloc(list->count + 1, sizeof *glob->branches);
    glob->match = pcre2_match_data_create(1, NULL);
    glob->context = pcre2_match_context_create(NULL);
    *fault = "there is no memory for it";
    if (glob->match == NULL || glob->context == NULL) {
        return false;
    }
    (void)pcre2_set_match_limit(glob->context, STEPS_MAX);
    for (size_t i = 0; glob->branches != NULL && i < list->count; i++) {
        if (!compile_branch(list->items[i], &glob->branches[glob->count++], fault)) {
            return false;
        }
    }
    return glob->branches != NULL;
}

bool glob_compile(const char *pattern, struct glob *ret, char message[GLOB_MESSAGE_MAX]) {
    *ret = (struct glob){.is_empty = *pattern == '\0'};
    if (*pattern == '#' || *pattern == '\0') {
        return true;
    }
    for (; *pattern == '!'; pattern++) {
        ret->negates = !ret->negates;
    }
    struct branches list = {0};
    const char *fault = NULL;
    if (strlen(pattern) > GLOB_SIZE_MAX) {
        list.fault = "it is longer than 4096 bytes";
    } else {
        expand(pattern, 0, &list);
    }
    bool is_made = list.fault == NULL && compile_all(&list, ret, &fault);
    if (!is_made) {
        (void)snprintf(message, GLOB_MESSAGE_MAX,
                       "the pattern cannot be used: %s; use a simpler one",
                       list.fault != NULL ? list.fault : fault);
    }
    branches_finish(&list);
    return is_made;
}

void glob_finish(struct glob *glob) {
    for (size_t i = 0; i < glob->count; i++) {
        while (glob->branches[i].count > 0) {
            drop(&glob->branches[i]);
        }
        free(glob->branches[i].parts);
    }
    free(glob->branches);
    pcre2_match_context_free(glob->context);
    pcre2_match_data_free(glob->match);
    *glob = (struct glob){0};
}

bool glob_matches(const struct glob *glob, const char *path) {
    if (glob->is_empty) {
        return *path == '\0';
    }
    for (size_t i = 0; i < glob->count; i++) {
        if (branch_matches(&glob->branches[i], path, glob->match, glob->context)) {
            return !glob->negates;
        }
    }
    return glob->negates;
}
