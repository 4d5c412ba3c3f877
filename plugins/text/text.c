/* text - searching, replacing, counting and cutting of text.
 *
 * All tools are typed; results are built in memory of the call. Time and results of a call are
 * limited: a model that asks for every match of "a" in a book gets only the first ones, and a note
 * about that; a result beyond RESULT_SIZE_MAX is an error that says what to do. */
#include <toolrack/plugin.h>

#include <stdlib.h>
#include <string.h>

#include "finder.h"
#include "utf8.h"

/* Bytes that one call may copy into its result. */
#define RESULT_SIZE_MAX ((size_t)8 << 20)

/* These numbers are repeated in the schemas below, which cannot contain macros. */
#define MATCHES_MAX 1000

static void fail_size(struct tr_call *call, const char *advice) {
    (void)tr_fail(call, TR_LIMIT_EXCEEDED, NULL, "the result is larger than %zu bytes; %s",
                  RESULT_SIZE_MAX, advice);
}

/* A zero-terminated copy that lives as long as the call; NULL fails the call. */
static const char *copy(struct tr_call *call, const char *text, size_t length) {
    char *memory = tr_alloc(call, length + 1);
    if (memory != NULL) {
        memcpy(memory, text, length);
        memory[length] = '\0';
    }
    return memory;
}

static unsigned flags_of(bool ignore_case, bool literal) {
    return (ignore_case ? (unsigned)FINDER_IGNORE_CASE : 0U) |
           (literal ? (unsigned)FINDER_LITERAL : 0U);
}

/* ------------------------------------------------------------ text_search */

struct match {
    const char *text;
    uint64_t line;
    uint64_t column;
    struct tr_array groups;
};
TR_DEFINE_STRUCT(match, struct match, (TR_STRING, text, "What matched"),
                 (TR_U64, line, "Line of its beginning, from 1"),
                 (TR_U64, column, "Character in that line, from 1"),
                 (TR_ARRAY(TR_NULLABLE(TR_STRING)), groups,
                  "What the groups of the pattern matched, the first group first; null where a "
                  "group took no part"))

struct search {
    uint64_t count;
    bool truncated;
    struct tr_array matches;
};
TR_DEFINE_STRUCT(search, struct search, (TR_U64, count, "Matches in this result"),
                 (TR_BOOL, truncated, "There are more, which max_matches cut off"),
                 (TR_ARRAY(TR_STRUCT(match)), matches, "The matches from the beginning"))

/* A place in the text; it only moves forward, so counting takes linear time. */
struct place {
    size_t offset;
    uint64_t line;
    uint64_t column;
};

static void move(struct place *place, const char *text, size_t offset) {
    for (; place->offset < offset; place->offset++) {
        if (text[place->offset] == '\n') {
            place->line++;
            place->column = 1;
        } else if (utf8_begins(text[place->offset])) {
            place->column++;
        }
    }
    /* The loop counts a character at its first byte, so here `column` is the one at `offset`. */
}

/* Bytes that are copied to describe the match. */
static size_t size_of_match(const struct finder *finder) {
    const PCRE2_SIZE *ranges = pcre2_get_ovector_pointer(finder->match);
    uint32_t count = pcre2_get_ovector_count(finder->match);
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool set = ranges[2 * i] != PCRE2_UNSET && ranges[2 * i + 1] >= ranges[2 * i];
        size += sizeof(char *) + (set ? ranges[2 * i + 1] - ranges[2 * i] + 1 : 0);
    }
    return size;
}

static bool describe(struct tr_call *call, const struct finder *finder, struct match *ret) {
    const PCRE2_SIZE *ranges = pcre2_get_ovector_pointer(finder->match);
    uint32_t count = pcre2_get_ovector_count(finder->match);
    ret->text = copy(call, finder->text + ranges[0], ranges[1] - ranges[0]);
    if (ret->text == NULL) {
        return false;
    }
    const char **groups = NULL;
    if (count > 1) {
        groups = tr_alloc(call, (count - 1) * sizeof *groups);
        if (groups == NULL) {
            return false;
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        size_t from = ranges[2 * i];
        size_t to = ranges[2 * i + 1];
        bool set = from != PCRE2_UNSET && to >= from;
        groups[i - 1] = set ? copy(call, finder->text + from, to - from) : NULL;
        if (set && groups[i - 1] == NULL) {
            return false;
        }
    }
    ret->groups = (struct tr_array){groups, count - 1};
    return true;
}

static struct search search_with(struct tr_call *call, struct finder *finder,
                                 uint32_t max_matches) {
    struct search result = {0};
    struct match *matches = tr_alloc(call, max_matches * sizeof *matches);
    if (matches == NULL) {
        return result;
    }
    struct place place = {.offset = 0, .line = 1, .column = 1};
    size_t size = 0;
    while (finder_next(finder)) {
        if (result.count == max_matches) {
            result.truncated = true;
            break;
        }
        size += size_of_match(finder);
        if (size > RESULT_SIZE_MAX) {
            fail_size(call, "ask for fewer matches or make the pattern match less");
            break;
        }
        struct match *match = &matches[result.count];
        move(&place, finder->text, pcre2_get_ovector_pointer(finder->match)[0]);
        match->line = place.line;
        match->column = place.column;
        if (!describe(call, finder, match)) {
            break;
        }
        result.count++;
    }
    result.matches = (struct tr_array){matches, result.count};
    return result;
}

static struct search text_search(struct tr_call *call, const char *text, const char *pattern,
                                 bool ignore_case, bool literal, uint32_t max_matches) {
    struct search result = {0};
    if (max_matches < 1 || max_matches > MATCHES_MAX) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "max_matches", "must be from 1 to %d",
                      MATCHES_MAX);
        return result;
    }
    struct finder finder;
    if (finder_init(&finder, call, text, pattern, flags_of(ignore_case, literal))) {
        result = search_with(call, &finder, max_matches);
    }
    finder_finish(&finder);
    return result;
}

/* ------------------------------------------------------------ text_replace */

struct replacement {
    const char *text;
    uint64_t count;
};
TR_DEFINE_STRUCT(replacement, struct replacement, (TR_STRING, text, "The text after replacing"),
                 (TR_U64, count, "How many matches were replaced"))

/* Output that grows up to RESULT_SIZE_MAX. */
struct output {
    struct tr_call *call;
    char *data; /**< owned */
    size_t length;
    size_t room;
    bool failed; /**< the call has been failed */
};

static bool reserve(struct output *output, size_t more) {
    if (output->failed || output->room - output->length >= more) {
        return !output->failed;
    }
    size_t need = output->length + more;
    if (need > RESULT_SIZE_MAX) {
        output->failed = true;
        fail_size(output->call, "replace in a part of the text, or by something shorter");
        return false;
    }
    size_t room = need < RESULT_SIZE_MAX / 2 ? need * 2 : RESULT_SIZE_MAX;
    char *data = realloc(output->data, room);
    if (data == NULL) {
        output->failed = true;
        (void)tr_fail(output->call, TR_FAILED, NULL, "out of memory");
        return false;
    }
    output->data = data;
    output->room = room;
    return true;
}

static bool add(struct output *output, const char *text, size_t length) {
    if (!reserve(output, length)) {
        return false;
    }
    if (length > 0) {
        memcpy(output->data + output->length, text, length);
        output->length += length;
    }
    return true;
}

static void fail_replacement(struct output *output, int code) {
    output->failed = true;
    if (code == PCRE2_ERROR_NOSUBSTRING) {
        (void)tr_fail(output->call, TR_INVALID_ARGUMENTS, "replacement",
                      "refers to a group that the pattern does not have; write $$ for a dollar");
        return;
    }
    PCRE2_UCHAR message[256];
    if (pcre2_get_error_message(code, message, sizeof message) < 0) {
        message[0] = '\0';
    }
    (void)tr_fail(output->call, TR_INVALID_ARGUMENTS, "replacement", "%s; write $$ for a dollar",
                  (const char *)message);
}

/* Append the replacement of the current match, in pcre2's replacement syntax. */
static bool add_replacement(struct output *output, struct finder *finder, const char *replacement,
                            bool literal) {
    uint32_t options = PCRE2_SUBSTITUTE_MATCHED | PCRE2_SUBSTITUTE_REPLACEMENT_ONLY |
                       PCRE2_SUBSTITUTE_OVERFLOW_LENGTH | PCRE2_SUBSTITUTE_UNSET_EMPTY |
                       PCRE2_NO_UTF_CHECK | (literal ? PCRE2_SUBSTITUTE_LITERAL : 0U);
    size_t start = pcre2_get_ovector_pointer(finder->match)[0];
    size_t need = 256;
    for (int attempt = 0; attempt < 2; attempt++) {
        if (!reserve(output, need)) {
            return false;
        }
        PCRE2_SIZE size = output->room - output->length;
        int code = pcre2_substitute(finder->code, (PCRE2_SPTR)finder->text, finder->length, start,
                                    options, finder->match, finder->context,
                                    (PCRE2_SPTR)replacement, PCRE2_ZERO_TERMINATED,
                                    (PCRE2_UCHAR *)output->data + output->length, &size);
        if (code >= 0) {
            output->length += size;
            return true;
        }
        if (code != PCRE2_ERROR_NOMEMORY) {
            fail_replacement(output, code);
            return false;
        }
        need = size; /* the size that is needed, with the final zero */
    }
    fail_replacement(output, PCRE2_ERROR_NOMEMORY);
    return false;
}

static uint64_t replace_with(struct output *output, struct finder *finder, const char *replacement,
                             bool literal, uint32_t max_replacements) {
    uint64_t count = 0;
    size_t copied = 0;
    while ((max_replacements == 0 || count < max_replacements) && finder_next(finder)) {
        const PCRE2_SIZE *range = pcre2_get_ovector_pointer(finder->match);
        if (!add(output, finder->text + copied, range[0] - copied) ||
            !add_replacement(output, finder, replacement, literal)) {
            return count;
        }
        copied = range[1];
        count++;
    }
    if (!finder->failed) {
        (void)add(output, finder->text + copied, finder->length - copied);
    }
    return count;
}

static struct replacement text_replace(struct tr_call *call, const char *text, const char *pattern,
                                       const char *replacement, bool ignore_case, bool literal,
                                       uint32_t max_replacements) {
    struct replacement result = {0};
    struct output output = {.call = call};
    struct finder finder;
    if (finder_init(&finder, call, text, pattern, flags_of(ignore_case, literal))) {
        result.count = replace_with(&output, &finder, replacement, literal, max_replacements);
        if (!finder.failed && !output.failed) {
            result.text = copy(call, output.data == NULL ? "" : output.data, output.length);
        }
    }
    finder_finish(&finder);
    free(output.data);
    return result;
}

/* ------------------------------------------------------------ text_statistics */

struct statistics {
    uint64_t bytes;
    uint64_t characters;
    uint64_t words;
    uint64_t lines;
    uint64_t blank_lines;
    uint64_t longest_line;
};
TR_DEFINE_STRUCT(statistics, struct statistics, (TR_U64, bytes, "Size in UTF-8"),
                 (TR_U64, characters, "Unicode characters, line ends included"),
                 (TR_U64, words, "Runs of anything but white space"),
                 (TR_U64, lines, "Lines; the last one counts with or without a line end"),
                 (TR_U64, blank_lines, "Lines of nothing but white space"),
                 (TR_U64, longest_line, "Characters of the longest line"))

static struct statistics text_statistics(const char *text) {
    struct statistics result = {.bytes = strlen(text)};
    bool in_word = false;
    bool blank = true;
    uint64_t width = 0;
    for (const char *at = text; *at != '\0';) {
        uint32_t character = utf8_next(&at);
        result.characters++;
        bool space = utf8_is_space(character);
        result.words += !space && !in_word;
        in_word = !space;
        blank = blank && space;
        bool line_end = character == '\n';
        width += !line_end && !(character == '\r' && *at == '\n');
        if (line_end || *at == '\0') {
            result.lines++;
            result.blank_lines += blank;
            result.longest_line = width > result.longest_line ? width : result.longest_line;
            blank = true;
            width = 0;
        }
    }
    return result;
}

/* ------------------------------------------------------------ text_lines */

enum part { PART_ALL, PART_HEAD, PART_TAIL };
TR_DEFINE_ENUM(part, enum part, (PART_ALL, "all"), (PART_HEAD, "head"), (PART_TAIL, "tail"))

struct lines {
    uint64_t total;
    uint64_t first_line;
    struct tr_array lines;
};
TR_DEFINE_STRUCT(lines, struct lines, (TR_U64, total, "Lines of the whole text"),
                 (TR_U64, first_line, "Number of the first line returned, from 1; 0 if none"),
                 (TR_ARRAY(TR_STRING), lines, "The lines without their ends"))

static uint64_t count_lines(const char *text) {
    uint64_t count = 0;
    const char *at = text;
    for (const char *end; (end = strchr(at, '\n')) != NULL; at = end + 1) {
        count++;
    }
    return count + (*at != '\0');
}

/* Cut a text, which is modified, into lines; return `count` lines from `first` on. */
static void cut_lines(char *text, const char **lines, uint64_t first, uint64_t count) {
    uint64_t number = 0;
    for (char *at = text; number < first + count; number++) {
        char *end = strchr(at, '\n');
        if (end != NULL) {
            *end = '\0';
            if (end > at && end[-1] == '\r') {
                end[-1] = '\0';
            }
        }
        if (number >= first) {
            lines[number - first] = at;
        }
        at = end == NULL ? at : end + 1;
    }
}

static struct lines text_lines(struct tr_call *call, const char *text, enum part part,
                               uint32_t count) {
    uint64_t total = count_lines(text);
    uint64_t shown = part == PART_ALL || count > total ? total : count;
    uint64_t first = part == PART_TAIL ? total - shown : 0;
    struct lines result = {.total = total, .first_line = shown == 0 ? 0 : first + 1};
    size_t length = strlen(text);
    char *memory = tr_alloc(call, length + 1);
    const char **lines = tr_alloc(call, shown * sizeof *lines + 1);
    if (memory == NULL || lines == NULL) {
        return result;
    }
    memcpy(memory, text, length + 1);
    cut_lines(memory, lines, first, shown);
    result.lines = (struct tr_array){lines, shown};
    return result;
}

/* clang-format off */
TR_TOOL(text_search,
    ("Find all matches of a regular expression in a text, with line, column and groups. Use it to "
     "extract or locate parts of a text exactly. ^ and $ match at every line; characters are Unicode.",
     .title = "Search text", .category = "text", .tags = "text,search,find,regex,grep,extract",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"text": "one\ntwo\nthree", "pattern": "^t\\w+$"}),
                    TR_SCHEMA({"count": 2, "truncated": false, "matches": [
                        {"text": "two", "line": 2, "column": 1, "groups": []},
                        {"text": "three", "line": 3, "column": 1, "groups": []}]})),
         TR_EXAMPLE(TR_SCHEMA({"text": "a.b (c)", "pattern": "(c)", "literal": true}),
                    TR_SCHEMA({"count": 1, "truncated": false, "matches": [
                        {"text": "(c)", "line": 1, "column": 5, "groups": []}]})))),
    TR_STRUCT(search), TR_CALL,
    (TR_STRING, text, "The text to search", .max_length = 1000000),
    (TR_STRING, pattern, "Regular expression (Perl syntax), or plain text with literal",
     .min_length = 1, .max_length = 1000),
    (TR_BOOL, ignore_case, "Capitals and small letters are the same", TR_DEFAULT(false)),
    (TR_BOOL, literal, "Take the pattern as plain text", TR_DEFAULT(false)),
    (TR_U32, max_matches, "Return at most so many matches",
     TR_DEFAULT(100), TR_MINIMUM(1), TR_MAXIMUM(1000)))

TR_TOOL(text_replace,
    ("Replace the matches of a regular expression in a text and return the new text. Use it for "
     "exact edits instead of rewriting a text. ^ and $ match at every line; characters are Unicode.",
     .title = "Replace in text", .category = "text", .tags = "text,replace,substitute,regex,sed",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"text": "John Smith", "pattern": "(\\w+) (\\w+)",
                               "replacement": "$2, $1"}),
                    TR_SCHEMA({"text": "Smith, John", "count": 1})),
         TR_EXAMPLE(TR_SCHEMA({"text": "a-b-c", "pattern": "-", "replacement": ""}),
                    TR_SCHEMA({"text": "abc", "count": 2})))),
    TR_STRUCT(replacement), TR_CALL,
    (TR_STRING, text, "The text to replace in", .max_length = 1000000),
    (TR_STRING, pattern, "Regular expression (Perl syntax), or plain text with literal",
     .min_length = 1, .max_length = 1000),
    (TR_STRING, replacement, "What each match becomes: $1 or ${name} is a group, $0 the match, $$ a "
     "dollar; with literal it is plain text", .max_length = 100000),
    (TR_BOOL, ignore_case, "Capitals and small letters are the same", TR_DEFAULT(false)),
    (TR_BOOL, literal, "Take pattern and replacement as plain text", TR_DEFAULT(false)),
    (TR_U32, max_replacements, "Replace at most so many, from the beginning; 0 is all",
     TR_DEFAULT(0)))

TR_TOOL(text_statistics,
    ("Count the bytes, characters, words and lines of a text. Use it instead of counting yourself.",
     .title = "Count text", .category = "text", .tags = "text,count,words,lines,characters,wc",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"text": "a\nbb"}),
                    TR_SCHEMA({"bytes": 4, "characters": 4, "words": 2, "lines": 2,
                               "blank_lines": 0, "longest_line": 2})))),
    TR_STRUCT(statistics),
    (TR_STRING, text, "The text to count", .max_length = 1000000))

TR_TOOL(text_lines,
    ("Split a text into lines and return all of them, the first or the last ones.",
     .title = "Lines of a text", .category = "text", .tags = "text,lines,split,head,tail",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     TR_EXAMPLES(
         TR_EXAMPLE(TR_SCHEMA({"text": "a\nb\nc\n", "part": "head", "count": 2}),
                    TR_SCHEMA({"total": 3, "first_line": 1, "lines": ["a", "b"]})),
         TR_EXAMPLE(TR_SCHEMA({"text": "a\nb", "part": "tail", "count": 5}),
                    TR_SCHEMA({"total": 2, "first_line": 1, "lines": ["a", "b"]})))),
    TR_STRUCT(lines), TR_CALL,
    (TR_STRING, text, "The text to split; lines end with LF or CR LF", .max_length = 1000000),
    (TR_ENUM(part), part, "Which lines: all, or the first (head) or last (tail) `count`",
     TR_DEFAULT("all")),
    (TR_U32, count, "How many lines head and tail return", TR_DEFAULT(10), TR_MINIMUM(1)))

TR_PLUGIN(("text", .description = "Searches, replaces, counts and cuts text", .vendor = "toolrack",
           .license = "MIT", .flags = TR_THREAD_SAFE),
          "1.0.0", text_search, text_replace, text_statistics, text_lines)
