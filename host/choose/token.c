#include "choose/token.h"

#include <string.h>

#include "base/ascii.h"
#include "base/utf8.h"

/* Most tokens of one lexeme. */
#define LEXEME_TOKENS_MAX 8u

/* ------------------------------------------------------------------ hashes */

uint32_t token_hash(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    }
    return hash == 0 ? 1 : hash;
}

static bool ends_with(const char *word, size_t length, const char *end) {
    size_t n = strlen(end);
    return length > n + 2 && memcmp(word + length - n, end, n) == 0;
}

static bool has_digit(const char *word, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (ascii_is_digit(word[i])) {
            return true;
        }
    }
    return false;
}

/* Words that are too short stay as they are, and so do those with digits: delta299 is not delta29.
 */
uint32_t token_stem(const char *word, size_t length) {
    if (has_digit(word, length)) {
        return token_hash(word, length);
    }
    if (ends_with(word, length, "'s")) {
        length -= 2;
    }
    if (ends_with(word, length, "ies") || ends_with(word, length, "ied")) {
        length -= 2;
    } else if (ends_with(word, length, "sses") || ends_with(word, length, "xes") ||
               ends_with(word, length, "ches") || ends_with(word, length, "shes")) {
        length -= 2;
    } else if (ends_with(word, length, "s") && word[length - 2] != 's' && word[length - 2] != 'u') {
        length -= 1;
    }
    if (ends_with(word, length, "ing") && length > 5) {
        length -= 3;
    } else if (ends_with(word, length, "ed") && length > 4) {
        length -= 2;
    }
    if (length > 3 && word[length - 1] == word[length - 2] && word[length - 1] != 's' &&
        word[length - 1] != 'l') {
        length--;
    }
    if (length > 3 && word[length - 1] == 'e') {
        length--;
    }
    if (length > 3 && word[length - 1] == 'y') {
        char copy[64];
        if (length <= sizeof copy) {
            memcpy(copy, word, length);
            copy[length - 1] = 'i';
            return token_hash(copy, length);
        }
    }
    return token_hash(word, length);
}

/* -------------------------------------------------------------- characters */

enum character { SPACE, LETTER, DIGIT, HAN, SIGN };

static enum character wide_kind(uint32_t point) {
    if (point == 0xa0 || point == 0x3000 || (point >= 0x2000 && point <= 0x200b) ||
        point == 0xfeff || point == 0x2028 || point == 0x2029) {
        return SPACE;
    }
    if ((point >= 0x3040 && point <= 0x30ff) || (point >= 0x3400 && point <= 0x9fff) ||
        (point >= 0xac00 && point <= 0xd7af) || (point >= 0xf900 && point <= 0xfaff) ||
        (point >= 0x20000 && point <= 0x3ffff) || point == 0x3005 || point == 0x3007) {
        return HAN;
    }
    if (point < 0xc0 || point == 0xd7 || point == 0xf7 || (point >= 0x2000 && point <= 0x2bff) ||
        (point >= 0x2e00 && point <= 0x33ff) || (point >= 0xe000 && point <= 0xf8ff) ||
        (point >= 0xfe00 && point <= 0xffef) || point >= 0x1f000) {
        return SIGN;
    }
    return LETTER;
}

/* A wide sign as the ASCII sign that means the same. */
static uint32_t plain_sign(uint32_t point) {
    switch (point) {
    case 0x2018:
    case 0x2019: return '\'';
    case 0x201c:
    case 0x201d:
    case 0xff02: return '"';
    case 0x3001: return ',';
    case 0x3002:
    case 0xff0e: return '.';
    case 0x2013:
    case 0x2014:
    case 0xff0d: return '-';
    case 0xff5e: return '~';
    default: return point >= 0xff01 && point <= 0xff5e ? point - 0xff01 + '!' : point;
    }
}

struct reader {
    const char *text;
    size_t length;
};

/* The character at a place; bytes that are not UTF-8 are signs of one byte. */
static enum character kind_at(const struct reader *reader, size_t at, size_t *ret_size,
                              uint32_t *ret_point) {
    unsigned char c = (unsigned char)reader->text[at];
    *ret_size = 1;
    *ret_point = c;
    if (c < 0x80) {
        return c <= ' '                               ? SPACE
               : ascii_is_digit((char)c)              ? DIGIT
               : ascii_is_letter((char)c) || c == '_' ? LETTER
                                                      : SIGN;
    }
    size_t size = utf8_decode(reader->text + at, reader->length - at, ret_point);
    if (size == 0) {
        return SIGN;
    }
    *ret_size = size;
    return wide_kind(*ret_point);
}

static enum character next_kind(const struct reader *reader, size_t at) {
    size_t size;
    uint32_t point;
    return at < reader->length ? kind_at(reader, at, &size, &point) : SPACE;
}

/* ------------------------------------------------------------------ tokens */

/* The bytes of a possessive "'s" at a place; 0: none. */
static size_t possessive(const struct reader *reader, size_t at) {
    size_t size;
    uint32_t point;
    if (at >= reader->length) {
        return 0;
    }
    (void)kind_at(reader, at, &size, &point);
    if ((point != '\'' && point != 0x2019) || at + size >= reader->length ||
        ascii_lower(reader->text[at + size]) != 's') {
        return 0;
    }
    enum character after = next_kind(reader, at + size + 1);
    return after == LETTER || after == DIGIT ? 0 : size + 1;
}

/* The end of a word; a hyphen or an apostrophe belongs to it if a letter or digit follows. */
static size_t word_end(const struct reader *reader, size_t at) {
    while (at < reader->length) {
        size_t size;
        uint32_t point;
        enum character kind = kind_at(reader, at, &size, &point);
        bool joins = point == '-' || point == '\'' || point == 0x2019;
        if (possessive(reader, at) > 0) {
            break;
        }
        if (kind != LETTER && kind != DIGIT) {
            enum character after = next_kind(reader, at + size);
            if (!joins || (after != LETTER && (after != DIGIT || point != '-'))) {
                break;
            }
        }
        at += size;
    }
    return at;
}

/* The end of a number: digits, and a point or comma between digits; a comma or an apostrophe only
 * before three digits that end there. */
static size_t number_end(const struct reader *reader, size_t at) {
    const char *text = reader->text;
    size_t end = reader->length;
    while (at < end && ascii_is_digit(text[at])) {
        at++;
        if (at + 1 < end && text[at] == '.' && ascii_is_digit(text[at + 1])) {
            at++;
        } else if (at + 3 < end && (text[at] == ',' || text[at] == '\'') &&
                   ascii_is_digit(text[at + 1]) && ascii_is_digit(text[at + 2]) &&
                   ascii_is_digit(text[at + 3]) &&
                   (at + 4 >= end || !ascii_is_digit(text[at + 4]))) {
            at++;
        }
    }
    return at;
}

static void set_word(const char *text, const char *lower, struct token *token) {
    const char *word = lower + token->start;
    size_t length = token->end - token->start;
    token->word = token_hash(word, length);
    token->stem = token_stem(word, length);
    token->capital = ascii_is_upper(text[token->start]);
    size_t letters = 0;
    token->capitals = true;
    for (size_t i = token->start; i < token->end; i++) {
        letters += ascii_is_letter(text[i]);
        token->capitals =
                token->capitals && !(ascii_is_letter(text[i]) && !ascii_is_upper(text[i]));
    }
    token->capitals = token->capitals && letters > 1;
}

static void link_pairs(const char *text, struct token *tokens, size_t count) {
    for (size_t i = 0; i + 1 < count; i++) {
        if (tokens[i].kind == TOKEN_HAN && tokens[i + 1].kind == TOKEN_HAN &&
            tokens[i].end == tokens[i + 1].start) {
            tokens[i].pair =
                    token_hash(text + tokens[i].start, tokens[i + 1].end - tokens[i].start);
        }
    }
}

/* ----------------------------------------------------------------- lexemes */

/* The bytes of the tokens from..to if one space at most is between them; 0: they are no lexeme. */
static size_t joined(const char *lower, const struct token *tokens, size_t from, size_t to) {
    for (size_t i = from + 1; i <= to; i++) {
        size_t gap = tokens[i].start - tokens[i - 1].end;
        if (gap > 1 || (gap == 1 && lower[tokens[i - 1].end] != ' ')) {
            return 0;
        }
    }
    return tokens[to].end - tokens[from].start;
}

/* How many tokens a lexeme that begins at a token has at most. */
static size_t reach(const char *lower, const struct token *tokens, size_t count, size_t at) {
    size_t most = count - at < LEXEME_TOKENS_MAX ? count - at : LEXEME_TOKENS_MAX;
    for (size_t n = 0; n < most; n++) {
        size_t length = joined(lower, tokens, at, at + n);
        if (length == 0 || !lexeme_begins(lower + tokens[at].start, length)) {
            return n;
        }
    }
    return most;
}

static const struct lexeme *pick(const struct lexeme *found, size_t count, enum lexeme_kind kind) {
    for (size_t i = 0; i < count; i++) {
        if (found[i].kind == kind) {
            return &found[i];
        }
    }
    return NULL;
}

const struct lexeme *token_lexeme(const char *lower, const struct token *tokens, size_t count,
                                  size_t at, enum lexeme_kind kind, size_t *ret_length) {
    for (size_t n = reach(lower, tokens, count, at); n > 0; n--) {
        size_t length = joined(lower, tokens, at, at + n - 1);
        size_t found_count;
        const struct lexeme *found = lexeme_find(lower + tokens[at].start, length, &found_count);
        found = pick(found, found_count, kind);
        if (found != NULL) {
            *ret_length = n;
            return found;
        }
    }
    *ret_length = 0;
    return NULL;
}

static void add_concepts(struct token *token, const struct lexeme *found, size_t count,
                         size_t length) {
    size_t used = 0;
    while (used < TOKEN_CONCEPTS_MAX && token->concepts[used] != 0) {
        used++;
    }
    for (size_t i = 0; i < count && used < TOKEN_CONCEPTS_MAX; i++) {
        if (found[i].kind == LEXEME_CONCEPTS) {
            token->concepts[used++] = found[i].id;
            if (length > token->concept_length) {
                token->concept_length = (uint8_t)length;
            }
        }
    }
}

/* A plural has the concepts of its singular. */
static void add_singular(const char *lower, struct token *token) {
    size_t length = token->end - token->start;
    if (token->kind == TOKEN_WORD && token->concepts[0] == 0 && length > 3 &&
        lower[token->end - 1] == 's') {
        size_t count;
        const struct lexeme *found = lexeme_find(lower + token->start, length - 1, &count);
        add_concepts(token, found, count, 1);
        if (count == 0 && length > 4 && lower[token->end - 2] == 'e') {
            found = lexeme_find(lower + token->start, length - 2, &count);
            add_concepts(token, found, count, 1);
        }
    }
}

static void add_lexemes(const char *lower, struct token *tokens, size_t count) {
    size_t cue_free = 0; /* the first token that no cue covers */
    for (size_t at = 0; at < count; at++) {
        bool is_sign = tokens[at].kind == TOKEN_SIGN;
        bool has_concept = false;
        for (size_t n = is_sign ? 0 : reach(lower, tokens, count, at); n > 0; n--) {
            size_t found_count;
            size_t length = joined(lower, tokens, at, at + n - 1);
            const struct lexeme *found =
                    lexeme_find(lower + tokens[at].start, length, &found_count);
            const struct lexeme *cue = pick(found, found_count, LEXEME_CUES);
            if (cue != NULL && at >= cue_free) {
                tokens[at].cue_length = cue->id != CUE_NONE ? (uint8_t)n : 0;
                for (size_t i = at; i < at + n; i++) {
                    tokens[i].cue = (uint8_t)cue->id;
                }
                cue_free = at + n;
            }
            if (!has_concept && pick(found, found_count, LEXEME_CONCEPTS) != NULL) {
                add_concepts(&tokens[at], found, found_count, n);
                has_concept = true;
            }
        }
        add_singular(lower, &tokens[at]);
    }
}

/* --------------------------------------------------------------- dialogues */

struct speaker {
    const char *text;
    bool user;
};
static const struct speaker speakers[] = {
        {"user:", true},    {"human:", true},      {"用户:", true},  {"用户：", true},
        {"system:", false}, {"assistant:", false}, {"助手:", false}, {"助手：", false},
        {"系统:", false},   {"系统：", false},     {"tool:", false}};

/* The speaker whose line begins at a place; NULL: none. */
static const struct speaker *speaker_at(const char *lower, size_t length, size_t at) {
    if (at > 0 && lower[at - 1] != '\n') {
        return NULL;
    }
    for (size_t i = 0; i < sizeof speakers / sizeof *speakers; i++) {
        size_t n = strlen(speakers[i].text);
        if (length - at >= n && memcmp(lower + at, speakers[i].text, n) == 0) {
            return &speakers[i];
        }
    }
    return NULL;
}

/* Count turns of the user from the last; the words before the first speaker are the user's. */
static void number_turns(struct token *tokens, size_t count) {
    bool said[UINT8_MAX + 1] = {false};
    uint8_t numbers[UINT8_MAX + 1] = {0};
    for (size_t i = 0; i < count; i++) {
        said[tokens[i].turn] = tokens[i].user;
    }
    uint8_t later = 0;
    for (size_t turn = count > 0 ? tokens[count - 1].turn + 1u : 0; turn-- > 0;) {
        numbers[turn] = later;
        later = (uint8_t)(later + (said[turn] && later < UINT8_MAX));
    }
    for (size_t i = 0; i < count; i++) {
        tokens[i].turn = numbers[tokens[i].turn];
    }
}

/* ----------------------------------------------------------------- reading */

size_t token_read(const char *text, const char *lower, size_t length, struct token *ret,
                  size_t room) {
    struct reader reader = {text, length};
    size_t count = 0;
    bool space = true;
    bool user = true;
    uint8_t turn = 0;
    for (size_t at = 0; at < length && count < room;) {
        const struct speaker *speaker = speaker_at(lower, length, at);
        if (speaker != NULL) {
            user = speaker->user;
            turn = turn < UINT8_MAX ? (uint8_t)(turn + 1) : turn;
            at += strlen(speaker->text);
            continue;
        }
        size_t size;
        uint32_t point;
        enum character kind = kind_at(&reader, at, &size, &point);
        if (kind == SPACE) {
            space = true;
            at += size;
            continue;
        }
        struct token *token = &ret[count++];
        *token = (struct token){.start = (uint32_t)at, .turn = turn, .user = user, .space = space};
        space = false;
        size_t owner = token->space || count < 2 || ret[count - 2].kind != TOKEN_WORD
                               ? 0
                               : possessive(&reader, at);
        if (owner > 0) {
            token->kind = TOKEN_WORD;
            at += owner;
        } else if (kind == LETTER) {
            token->kind = TOKEN_WORD;
            at = word_end(&reader, at);
        } else if (kind == DIGIT) {
            token->kind = TOKEN_NUMBER;
            at = number_end(&reader, at);
        } else {
            token->kind = kind == HAN ? TOKEN_HAN : TOKEN_SIGN;
            token->sign = kind == SIGN ? plain_sign(point) : point;
            at += size;
        }
        token->end = (uint32_t)at;
        set_word(text, lower, token);
    }
    link_pairs(text, ret, count);
    add_lexemes(lower, ret, count);
    number_turns(ret, count);
    return count;
}

int token_alike(const struct token *a, const struct token *b) {
    if (a->kind == TOKEN_SIGN || b->kind == TOKEN_SIGN) {
        return 0;
    }
    if (a->kind == TOKEN_HAN && b->kind == TOKEN_HAN && a->pair != 0 && a->pair == b->pair) {
        return 2;
    }
    if (a->kind != TOKEN_HAN && (a->word == b->word || a->stem == b->stem)) {
        return 2;
    }
    for (size_t i = 0; i < TOKEN_CONCEPTS_MAX && a->concepts[i] != 0; i++) {
        for (size_t k = 0; k < TOKEN_CONCEPTS_MAX && b->concepts[k] != 0; k++) {
            if (a->concepts[i] == b->concepts[k]) {
                return 1;
            }
        }
    }
    return 0;
}
