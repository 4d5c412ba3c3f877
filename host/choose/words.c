#include "choose/words.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"
#include "choose/stem.h"

#define ITEMS_FIRST 32u

/* -------------------------------------------------------------- characters */

enum kind {
    KIND_SEPARATOR,
    KIND_IGNORED, /* accents that stand alone, invisible characters */
    KIND_LOWER,   /* letters without case too */
    KIND_UPPER,
    KIND_DIGIT,
    KIND_HAN,
};

struct character {
    uint32_t point; /* folded, in lower case */
    enum kind kind;
    size_t size; /* in the text, in bytes; 0: the end */
};

/* The letters from U+00C0 to U+017F without accents, in the case that they have; '*': no letter.
 * Of two letters (ß, æ) the first. */
static const char latin[] = "AAAAAAACEEEEIIIIDNOOOOO*OUUUUYTs"
                            "aaaaaaaceeeeiiiidnooooo*ouuuuyty"
                            "AaAaAaCcCcCcCcDdDdEeEeEeEeEeGgGg"
                            "GgGgHhHhIiIiIiIiIiIiJjKkkLlLlLlL"
                            "lLlNnNnNnnNnOoOoOoOoRrRrRrSsSsSs"
                            "SsTtTtTtUuUuUuUuUuUuWwYyYZzZzZzs";
#define LATIN_FIRST 0xc0u
#define LATIN_END   0x180u

struct range {
    uint32_t first;
    uint32_t last;
    enum kind kind;
};

/* What is not a letter without case, beyond U+017F. */
static const struct range ranges[] = {
        {0x0300, 0x036f, KIND_IGNORED},   {0x1100, 0x11ff, KIND_HAN},
        {0x200b, 0x200f, KIND_IGNORED},   {0x2060, 0x2064, KIND_IGNORED},
        {0x2000, 0x2bff, KIND_SEPARATOR}, {0x3005, 0x3007, KIND_HAN},
        {0x3000, 0x303f, KIND_SEPARATOR}, {0x3040, 0x312f, KIND_HAN},
        {0x31f0, 0x31ff, KIND_HAN},       {0x3200, 0x33ff, KIND_SEPARATOR},
        {0x3400, 0x4dbf, KIND_HAN},       {0x4e00, 0x9fff, KIND_HAN},
        {0xac00, 0xd7af, KIND_HAN},       {0xd800, 0xf8ff, KIND_SEPARATOR},
        {0xf900, 0xfaff, KIND_HAN},       {0xfe00, 0xfe0f, KIND_IGNORED},
        {0xfe10, 0xfe6f, KIND_SEPARATOR}, {0xfeff, 0xfeff, KIND_IGNORED},
        {0xffe0, 0xffff, KIND_SEPARATOR}, {0x1f000, 0x1faff, KIND_SEPARATOR},
        {0x20000, 0x3ffff, KIND_HAN},     {0xe0000, 0x10ffff, KIND_IGNORED},
};

static enum kind kind_beyond_latin(uint32_t point) {
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0]; i++) {
        if (point >= ranges[i].first && point <= ranges[i].last) {
            return ranges[i].kind;
        }
    }
    return KIND_LOWER;
}

static void classify_ascii(uint32_t point, struct character *ret) {
    char c = (char)point;
    ret->kind = ascii_is_digit(c)    ? KIND_DIGIT
                : ascii_is_upper(c)  ? KIND_UPPER
                : ascii_is_letter(c) ? KIND_LOWER
                                     : KIND_SEPARATOR;
    ret->point = (unsigned char)ascii_lower(c);
}

/* Greek and Cyrillic have two cases as well. */
static void classify_other(uint32_t point, struct character *ret) {
    bool greek = point >= 0x391 && point <= 0x3a9;
    bool cyrillic = point >= 0x410 && point <= 0x42f;
    ret->kind = greek || cyrillic ? KIND_UPPER : kind_beyond_latin(point);
    ret->point = greek || cyrillic ? point + 0x20 : point;
    if (ret->kind == KIND_HAN) {
        ret->point = lexicon_simplified(point);
    }
}

static struct character read_character(const char *text, size_t length) {
    struct character found = {0};
    uint32_t point = 0;
    if (length == 0) {
        return found;
    }
    found.size = utf8_decode(text, length, &point);
    if (found.size == 0) {
        found.size = 1; /* not UTF-8 */
    } else if (point >= 0xff01 && point <= 0xff5e) {
        classify_ascii(point - 0xff01 + '!', &found);
    } else if (point < 0x80) {
        classify_ascii(point, &found);
    } else if (point == 0xad) {
        found.kind = KIND_IGNORED;
    } else if (point >= LATIN_FIRST && point < LATIN_END) {
        classify_ascii((unsigned char)latin[point - LATIN_FIRST], &found);
    } else if (point >= LATIN_END) {
        classify_other(point, &found);
    }
    if (found.kind == KIND_SEPARATOR && found.size > 0) {
        found.point = point >= 0xff01 && point <= 0xff5e ? point - 0xff01 + '!' : point;
    }
    return found;
}

/* Write a character in UTF-8: how many bytes. */
static size_t write_character(uint32_t point, char ret[4]) {
    if (point < 0x80) {
        ret[0] = (char)point;
        return 1;
    }
    size_t size = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    static const unsigned first[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = size - 1; i > 0; i--) {
        ret[i] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    ret[0] = (char)(first[size] | point);
    return size;
}

/* ------------------------------------------------------------------ reading */

/* Signs that open quotes; most bytes inside them. */
#define QUOTES     4u
#define QUOTED_MAX 256u

struct reader {
    const char *text;
    size_t length;
    size_t at;
    struct words *words;
    size_t room;
    char *memory; /* the next free byte */
    char *end;
    char open[WORDS_WORD_MAX]; /* the word that is being read */
    size_t open_length;
    size_t open_start;
    size_t open_end;
    enum kind before; /* the character before, if it is of the same word */
    bool no_memory;
    bool in_quotes;
    size_t unclosed[QUOTES]; /* before it stands no sign that closes quotes of this kind */
};

static bool make_room(struct reader *reader) {
    struct words *words = reader->words;
    if (words->count < reader->room) {
        return true;
    }
    size_t room = reader->room == 0 ? ITEMS_FIRST : 2 * reader->room;
    struct word *grown = realloc(words->items, room * sizeof *grown);
    if (grown == NULL) {
        reader->no_memory = true;
        return false;
    }
    words->items = grown;
    reader->room = room;
    return true;
}

/* Whether only what joins the parts of a name stands between a word and the one before. */
static bool is_joined(const struct reader *reader, const struct word *word) {
    if (reader->words->count == 0) {
        return false;
    }
    size_t end = reader->words->items[reader->words->count - 1].end;
    return word->start == end ||
           (word->start == end + 1 && strchr("_-'", reader->text[end]) != NULL);
}

static void set_stem(struct reader *reader, struct word *word) {
    char stem[WORDS_WORD_MAX];
    const struct lexicon_row *form;
    word->stem = word->text;
    word->stem_length = word->text_length;
    if (word->kind != WORD_LETTERS) {
        return;
    }
    size_t length = stem_english(word->text, word->text_length, stem);
    if (lexicon_find(&lexicon_forms, stem, length, &form) > 0) {
        word->stem = lexicon_value(&lexicon_forms, form);
        word->stem_length = (uint8_t)strlen(word->stem);
    } else if (length != word->text_length || memcmp(stem, word->text, length) != 0) {
        memcpy(reader->memory, stem, length);
        word->stem = reader->memory;
        word->stem_length = (uint8_t)length;
        reader->memory += length;
    }
}

/* The word that is open has ended. */
static void end_word(struct reader *reader, enum word_kind kind) {
    struct words *words = reader->words;
    size_t length = reader->open_length;
    if (length == 0 || words->cut || !make_room(reader)) {
        return;
    }
    if (words->count == WORDS_MAX) {
        words->cut = true;
        return;
    }
    memcpy(reader->memory, reader->open, length);
    struct word word = {
            .start = (uint32_t)reader->open_start,
            .end = (uint32_t)reader->open_end,
            .text = reader->memory,
            .text_length = (uint8_t)length,
            .clause = (uint8_t)(words->clauses - 1),
            .part = (uint8_t)(words->parts - 1),
            .kind = kind,
            .quoted = reader->in_quotes,
    };
    reader->memory += length;
    word.joined = is_joined(reader, &word);
    set_stem(reader, &word);
    word.hash = lexicon_hash(LEXICON_HASH_EMPTY, word.stem, word.stem_length);
    words->items[words->count++] = word;
    reader->open_length = 0;
}

static void end_open_word(struct reader *reader) {
    end_word(reader, reader->before == KIND_DIGIT ? WORD_NUMBER : WORD_LETTERS);
}

/* Whether a word ends between two letters or digits: in "readFile", "mp3", and before the "S" of
 * "HTTPServer", but not in "IDs". */
static bool is_boundary(const struct reader *reader, enum kind kind, size_t size) {
    enum kind before = reader->before;
    if ((before == KIND_DIGIT) != (kind == KIND_DIGIT)) {
        return true;
    }
    if (kind != KIND_UPPER || before == KIND_LOWER) {
        return kind == KIND_UPPER;
    }
    size_t at = reader->at + size;
    struct character next = read_character(reader->text + at, reader->length - at);
    if (next.kind != KIND_LOWER) {
        return false;
    }
    at += next.size;
    struct character after = read_character(reader->text + at, reader->length - at);
    return next.point != 's' || after.kind == KIND_LOWER || after.kind == KIND_UPPER;
}

static void take_letter(struct reader *reader, const struct character *c) {
    if (reader->open_length > 0 && is_boundary(reader, c->kind, c->size)) {
        end_open_word(reader);
    }
    if (reader->open_length == 0) {
        reader->open_start = reader->at;
    }
    char bytes[4];
    size_t size = write_character(c->point, bytes);
    if (reader->open_length + size <= sizeof reader->open) {
        memcpy(reader->open + reader->open_length, bytes, size);
        reader->open_length += size;
    }
    reader->open_end = reader->at + c->size;
    reader->before = c->kind;
}

static void take_han(struct reader *reader, const struct character *c) {
    end_open_word(reader);
    reader->open_start = reader->at;
    reader->open_end = reader->at + c->size;
    reader->open_length = write_character(c->point, reader->open);
    end_word(reader, WORD_HAN);
}

/* ----------------------------------------------------------------- clauses */

/* "1.5" and "a.txt" go on. */
static bool is_full_stop(const struct reader *reader, const struct character *c) {
    size_t at = reader->at + c->size;
    return at >= reader->length || reader->text[at] == ' ' || reader->text[at] == '\n' ||
           reader->text[at] == '\r';
}

static bool ends_clause(const struct reader *reader, const struct character *c) {
    switch (c->point) {
    case '.': return is_full_stop(reader, c);
    case '!':
    case '?':
    case ';':
    case '\n':
    case 0x3002: /* 。 */ return true;
    default: return false;
    }
}

static bool ends_part(const struct reader *reader, const struct character *c) {
    switch (c->point) {
    case ',':
    case ':': return is_full_stop(reader, c) || c->size > 1;
    case 0x3001: /* 、 */
    case 0x2014: /* dash */ return true;
    default: return false;
    }
}

/* A quotation that does not end does not begin either. */
static bool opens_quotes(struct reader *reader, const struct character *c) {
    static const struct {
        uint32_t open;
        const char *close;
    } pairs[QUOTES] = {{'"', "\""},
                       {0x201c, "\xe2\x80\x9d"},
                       {0x300c, "\xe3\x80\x8d"},
                       {0x300a, "\xe3\x80\x8b"}};
    size_t from = reader->at + c->size;
    size_t rest = reader->length - from;
    size_t end = from + (rest < QUOTED_MAX ? rest : QUOTED_MAX);
    for (size_t i = 0; i < QUOTES; i++) {
        if (pairs[i].open == c->point) {
            /* What was looked at for a sign before has none of those that close this one. */
            size_t *seen = &reader->unclosed[i];
            size_t length = strlen(pairs[i].close);
            from = from > *seen ? from : *seen;
            bool closed = end > from &&
                          memmem(reader->text + from, end - from, pairs[i].close, length) != NULL;
            *seen = !closed && end > from + length - 1 ? end - length + 1 : *seen;
            return closed;
        }
    }
    return false;
}

static void take_separator(struct reader *reader, const struct character *c) {
    struct words *words = reader->words;
    end_open_word(reader);
    bool closes = c->point == '"' || c->point == 0x201d || c->point == 0x300d || c->point == 0x300b;
    if (reader->in_quotes) {
        reader->in_quotes = !closes;
        return;
    }
    reader->in_quotes = opens_quotes(reader, c);
    bool any = words->count > 0;
    bool clause = any && ends_clause(reader, c);
    bool part = any && (clause || ends_part(reader, c));
    const struct word *last = any ? &words->items[words->count - 1] : NULL;
    if (clause && last->clause == words->clauses - 1 && words->clauses < WORDS_CLAUSES_MAX) {
        words->clauses++;
    }
    if (part && last->part == words->parts - 1 && words->parts < WORDS_PARTS_MAX) {
        words->parts++;
    }
}

/* "then" begins a clause, "and" a part. */
static void split_at_connectives(struct words *words) {
    unsigned clauses = 0; /* how many began at connectives so far */
    unsigned parts = 0;
    for (size_t i = 0; i < words->count; i++) {
        const struct lexicon_row *row;
        size_t rows;
        struct word *word = &words->items[i];
        size_t length = i > 0 && !word->quoted
                                ? words_match(words, i, &lexicon_connectives, &row, &rows)
                                : 0;
        const struct word *before = i > 0 ? &words->items[i - 1] : word;
        if (length > 0) {
            bool clause = strcmp(lexicon_value(&lexicon_connectives, row), "part") != 0;
            parts += before->part == word->part + parts && words->parts + parts < WORDS_PARTS_MAX;
            clauses += clause && before->clause == word->clause + clauses &&
                       words->clauses + clauses < WORDS_CLAUSES_MAX;
        }
        word->clause = (uint8_t)(word->clause + clauses);
        word->part = (uint8_t)(word->part + parts);
    }
}

/* Most bytes of a path, a URL or an address. */
#define LITERAL_MAX 512u

static bool is_of_literal(char c) {
    return c > ' ' && c < 0x7f && strchr("\"'()<>[]{},;`|", c) == NULL;
}

/* Whether a run of signs and letters is a URL, an address or an absolute path: "https://a.org/b",
 * "me@a.org", "/tmp/b", "~/b", "./b", "C:\\b". */
static bool is_literal(const char *text, size_t length) {
    const char *at = memchr(text, '@', length);
    bool address = at != NULL && at > text && memchr(at, '.', length - (size_t)(at - text)) != NULL;
    const char *path = text + strspn(text, "~.");
    bool absolute = length >= 3 && path < text + length - 1 && *path == '/' &&
                    (ascii_is_alnum(path[1]) || path[1] == '.' || path[1] == '_');
    bool drive = length >= 4 && ascii_is_letter(text[0]) && text[1] == ':' && text[2] == '\\';
    return address || absolute || drive || memmem(text, length, "://", 3) != NULL;
}

/* Words of paths, URLs and addresses are values. */
static void mark_literals(const char *text, size_t length, struct words *words) {
    for (size_t i = 0; i < words->count;) {
        size_t start = words->items[i].start;
        size_t end = words->items[i].end;
        while (start > 0 && is_of_literal(text[start - 1]) && end - start < LITERAL_MAX) {
            start--;
        }
        while (end < length && is_of_literal(text[end]) && end - start < LITERAL_MAX) {
            end++;
        }
        bool literal = words->items[i].kind != WORD_HAN && is_literal(text + start, end - start);
        for (; i < words->count && words->items[i].start < end; i++) {
            words->items[i].literal = literal;
            words->items[i].quoted |= literal;
        }
    }
}

/* Whether the value of a carrier, "clause TAB ing", fits its first word. */
static bool is_carrier(const char *value, const struct word *first) {
    const char *ending = strchr(value, '\t');
    size_t length = ending != NULL ? strlen(++ending) : 0;
    return length == 0 || (first->text_length > length &&
                           memcmp(first->text + first->text_length - length, ending, length) == 0);
}

/* Behind "that says" and the like stands a text: mark its words, return how many. */
static size_t mark_carried_at(struct words *words, size_t at) {
    const struct lexicon_row *row;
    size_t rows;
    size_t length =
            words->items[at].quoted ? 0 : words_match(words, at, &lexicon_carriers, &row, &rows);
    if (length == 0 || !is_carrier(lexicon_value(&lexicon_carriers, row), &words->items[at])) {
        return 0;
    }
    bool clause = lexicon_value(&lexicon_carriers, row)[0] == 'c';
    const struct word *carrier = &words->items[at + length - 1];
    size_t end = at + length;
    for (; end < words->count && words->items[end].clause == carrier->clause &&
           (clause || words->items[end].part == carrier->part);
         end++) {
        words->items[end].literal = words->items[end].quoted = true;
    }
    return end - at;
}

static void mark_carried(struct words *words) {
    for (size_t i = 0; i < words->count;) {
        size_t length = mark_carried_at(words, i);
        i += length > 0 ? length : 1;
    }
}

static bool ends_here(const struct words *words, size_t at) {
    return at + 1 == words->count || words->items[at + 1].part != words->items[at].part;
}

/* "Turn the light on": at the end, such a word says something. */
static void mark_stop_words(struct words *words) {
    for (size_t i = 0; i < words->count;) {
        const struct lexicon_row *row;
        size_t rows;
        size_t length = words_match(words, i, &lexicon_stop_words, &row, &rows);
        bool particle = length == 1 && ends_here(words, i) &&
                        lexicon_value(&lexicon_stop_words, row)[0] != '\0';
        for (size_t k = 0; k < length; k++) {
            words->items[i + k].stop = !particle;
        }
        i += length > 0 ? length : 1;
    }
}

static void count_clauses(struct words *words) {
    const struct word *last = words->count > 0 ? &words->items[words->count - 1] : NULL;
    words->clauses = last != NULL ? last->clause + 1u : 0;
    words->parts = last != NULL ? last->part + 1u : 0;
}

/* ------------------------------------------------------------------- words */

static void read_all(struct reader *reader) {
    while (reader->at < reader->length && !reader->no_memory && !reader->words->cut) {
        struct character c = read_character(reader->text + reader->at, reader->length - reader->at);
        if (c.kind == KIND_HAN) {
            take_han(reader, &c);
        } else if (c.kind == KIND_SEPARATOR) {
            take_separator(reader, &c);
        } else if (c.kind != KIND_IGNORED) {
            take_letter(reader, &c);
        }
        reader->at += c.size;
    }
    end_open_word(reader);
}

int words_read(const char *text, size_t length, struct words *ret, struct toolrack_error *err) {
    struct words words = {.clauses = 1, .parts = 1};
    size_t most = (size_t)WORDS_MAX * WORDS_WORD_MAX;
    length = length < UINT32_MAX ? length : UINT32_MAX;
    /* A word and its stem take at most twice the bytes that it has in the text: what it is folded
     * to is not longer. */
    words.memory = malloc(2 * (length < most ? length : most) + 1);
    struct reader reader = {
            .text = text, .length = length, .words = &words, .memory = words.memory};
    reader.no_memory = words.memory == NULL;
    read_all(&reader);
    if (reader.no_memory) {
        words_finish(&words);
        return error_oom(err);
    }
    split_at_connectives(&words);
    mark_literals(text, length, &words);
    mark_carried(&words);
    mark_stop_words(&words);
    count_clauses(&words);
    *ret = words;
    return 0;
}

void words_finish(struct words *words) {
    free(words->items);
    free(words->memory);
    *words = (struct words){0};
}

/* -------------------------------------------------------------------- keys */

/* Add the next word to a key of some words: its new length; 0: it has no room. */
static size_t add_to_key(const struct words *words, size_t at, size_t count, char *key,
                         size_t length, size_t room) {
    const struct word *word = &words->items[at + count];
    bool space = count > 0 && (word->kind != WORD_HAN || word[-1].kind != WORD_HAN);
    if (length + space + word->stem_length > room) {
        return 0;
    }
    if (space) {
        key[length++] = ' ';
    }
    memcpy(key + length, word->stem, word->stem_length);
    return length + word->stem_length;
}

size_t words_key(const struct words *words, size_t at, size_t count, char *ret, size_t room) {
    size_t length = 0;
    for (size_t i = 0; i < count; i++) {
        length = add_to_key(words, at, i, ret, length, room);
        if (length == 0) {
            return 0;
        }
    }
    return length;
}

size_t words_match(const struct words *words, size_t at, const struct lexicon *lexicon,
                   const struct lexicon_row **ret_first, size_t *ret_rows) {
    if (!lexicon_may_begin(lexicon, words->items[at].hash)) {
        return 0;
    }
    char key[LEXICON_KEY_MAX];
    size_t lengths[LEXICON_KEY_MAX + 1]; /* of the first words as a key, and their hashes */
    uint32_t hashes[LEXICON_KEY_MAX + 1];
    size_t most = words->count - at < lexicon->words_max ? words->count - at : lexicon->words_max;
    size_t count = 0;
    lengths[0] = 0;
    hashes[0] = LEXICON_HASH_EMPTY;
    while (count < most && words->items[at + count].clause == words->items[at].clause) {
        size_t before = lengths[count];
        size_t length = add_to_key(words, at, count, key, before, sizeof key);
        if (length == 0) {
            break;
        }
        count++;
        lengths[count] = length;
        hashes[count] = lexicon_hash(hashes[count - 1], key + before, length - before);
    }
    for (; count > 0; count--) {
        size_t rows = lexicon_find_hashed(lexicon, key, lengths[count], hashes[count], ret_first);
        if (rows > 0) {
            *ret_rows = rows;
            return count;
        }
    }
    return 0;
}

bool word_is_one_of(const struct word *word, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) == word->text_length &&
            memcmp(list[i], word->text, word->text_length) == 0) {
            return true;
        }
    }
    return false;
}
