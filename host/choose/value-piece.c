/* Pieces of what is written as one: owner and repository of octocat/hello-world and of the URL of
 * an issue, #general, @anna, host and port, package and version.
 *
 * Only a parameter that is named after a piece takes it (parameter.h), and takes nothing else then;
 * for all others the words stay what they are. */
#include <string.h>

#include "base/ascii.h"
#include "choose/values-parts.h"

/* Segments of a URL that are looked at. */
#define SEGMENTS_MAX 12u

static struct value *add_piece(struct values *values, enum value_piece piece, size_t first,
                               size_t last) {
    struct value *value = value_add(values, VALUE_PART, first, last);
    if (value != NULL) {
        value->piece = (uint32_t)piece;
        value->chunk_first = (uint16_t)first;
        value->chunk_last = (uint16_t)last;
    }
    return value;
}

/* A number of digits alone: an issue, a port. */
static bool add_number(struct values *values, enum value_piece piece, size_t at) {
    const struct token *token = &values->tokens[at];
    size_t length = token->end - token->start;
    double number = 0;
    for (size_t i = 0; i < length; i++) {
        char c = values->text[token->start + i];
        if (!ascii_is_digit(c) || length > 9) {
            return false;
        }
        number = number * 10 + (c - '0');
    }
    struct value *value = add_piece(values, piece, at, at + 1);
    if (value != NULL) {
        value->number = number;
        value->whole = true;
        value->item_first = (uint16_t)at;
        value->item_count = 1;
    }
    return value != NULL;
}

static bool is_word(const struct values *values, size_t at, const char *word) {
    const struct token *token = &values->tokens[at];
    return at < values->token_count && token->end - token->start == strlen(word) &&
           memcmp(values->lower + token->start, word, strlen(word)) == 0;
}

/* ------------------------------------------------------------------- names */

static bool is_part(const struct values *values, size_t at) {
    uint8_t kind = values->tokens[at].kind;
    return kind == TOKEN_WORD || kind == TOKEN_NUMBER;
}

/* The end of a name that begins at a token, without spaces: hello-world, next.js, @anna_b. */
static size_t name_end(const struct values *values, size_t at) {
    size_t end = at;
    while (end < values->token_count && (end == at || !values->tokens[end].space) &&
           (is_part(values, end) ||
            (end > at && (value_is_sign(values, end, '.') || value_is_sign(values, end, '-'))))) {
        end++;
    }
    while (end > at && values->tokens[end - 1].kind == TOKEN_SIGN) {
        end--; /* the full stop of the sentence */
    }
    return end;
}

/* Whether something without a space stands before a token, so that no name begins there. */
static bool goes_on(const struct values *values, size_t at) {
    const struct token *before = at > 0 ? &values->tokens[at - 1] : NULL;
    bool opening = before != NULL && before->kind == TOKEN_SIGN &&
                   (before->sign > 0x7f || strchr("([\"',;:", (int)before->sign) != NULL);
    return before != NULL && !values->tokens[at].space && before->kind != TOKEN_HAN && !opening;
}

/* ------------------------------------------------------------- repositories */

static bool has_letter(const struct values *values, size_t first, size_t last) {
    for (size_t i = values->tokens[first].start; i < values->tokens[last - 1].end; i++) {
        if (ascii_is_letter(values->text[i])) {
            return true;
        }
    }
    return false;
}

/* The end of the name of a repository, without ".git". */
static size_t without_ending(const struct values *values, size_t first, size_t last) {
    bool git = last > first + 2 && is_word(values, last - 1, "git") &&
               value_is_sign(values, last - 2, '.');
    return git ? last - 2 : last;
}

/* "and/or", "he/she": words of every text, unless "in" or the like stands before. A repository may
 * be called hello. */
static bool is_phrase(const struct values *values, size_t at, size_t second, size_t end) {
    uint8_t before = at > 0 ? values->tokens[at - 1].cue : CUE_NONE;
    uint8_t cue = values->tokens[second].cue;
    bool small = (second == at + 2 && values->tokens[at].cue != CUE_NONE) ||
                 (end == second + 1 && cue != CUE_NONE && cue != CUE_POLITE && cue != CUE_VERB);
    return small && before != CUE_IN && before != CUE_OF && before != CUE_FROM;
}

/* "octocat/hello-world", with "#12" of an issue; of more than two names, as of a file or of a group
 * in a group, only the whole. Returns the end; `at`: there is none. */
static size_t read_slug(struct values *values, size_t at) {
    size_t parts[5];
    size_t count = 0;
    size_t end = at;
    while (count < 4 && end < values->token_count && is_part(values, end)) {
        parts[count++] = end;
        end = name_end(values, end);
        bool more = value_is_sign(values, end, '/') && !values->tokens[end].space &&
                    end + 1 < values->token_count && !values->tokens[end + 1].space &&
                    is_part(values, end + 1);
        if (!more) {
            break;
        }
        end++;
    }
    if (count < 2 || value_is_sign(values, end, '/') || is_phrase(values, at, parts[1], end) ||
        !has_letter(values, at, parts[1] - 1) || !has_letter(values, parts[count - 1], end)) {
        return at;
    }
    size_t last = without_ending(values, parts[count - 1], end);
    (void)add_piece(values, PIECE_SLUG, at, last);
    if (count == 2) {
        (void)add_piece(values, PIECE_OWNER, at, parts[1] - 1);
        (void)add_piece(values, PIECE_REPOSITORY, parts[1], last);
    }
    bool issue = value_is_sign(values, end, '#') && !values->tokens[end].space &&
                 end + 1 < values->token_count && !values->tokens[end + 1].space;
    return issue && add_number(values, PIECE_NUMBER, end + 1) ? end + 2 : end;
}

/* Of a URL the segments behind the host: each with its first and its last token. */
struct segments {
    size_t first[SEGMENTS_MAX];
    size_t last[SEGMENTS_MAX];
    size_t count;
};

static void read_segments(const struct values *values, const struct value *url,
                          struct segments *ret) {
    size_t at = url->first;
    ret->count = 0;
    while (at < url->last && ret->count < SEGMENTS_MAX) {
        size_t end = at;
        while (end < url->last && !value_is_sign(values, end, '/') &&
               !value_is_sign(values, end, '?') && !value_is_sign(values, end, '#')) {
            end++;
        }
        if (end > at) {
            ret->first[ret->count] = at;
            ret->last[ret->count++] = end;
        }
        if (end < url->last && !value_is_sign(values, end, '/')) {
            break;
        }
        at = end + 1;
    }
}

/* What a segment says of the one behind it. */
static enum value_piece piece_behind(const struct values *values, size_t at) {
    static const struct {
        const char *word;
        enum value_piece piece;
    } words[] = {{"issues", PIECE_NUMBER},         {"pull", PIECE_NUMBER},
                 {"pulls", PIECE_NUMBER},          {"discussions", PIECE_NUMBER},
                 {"merge_requests", PIECE_NUMBER}, {"commit", PIECE_REVISION},
                 {"blob", PIECE_REVISION},         {"tree", PIECE_REVISION}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (is_word(values, at, words[i].word)) {
            return words[i].piece;
        }
    }
    return PIECE_NONE;
}

static bool is_forge(const struct values *values, const struct segments *segments, size_t host) {
    static const char *const forges[] = {"github",   "gitlab", "gitee",   "bitbucket",
                                         "codeberg", "gitea",  "forgejo", "git"};
    for (size_t t = segments->first[host]; t < segments->last[host]; t++) {
        for (size_t i = 0; i < sizeof forges / sizeof *forges; i++) {
            if (is_word(values, t, forges[i])) {
                return true;
            }
        }
    }
    return false;
}

/* https://github.com/o/r/issues/12, https://gitlab.com/group/project/-/issues/7. */
static void read_forge(struct values *values, const struct segments *segments, size_t host) {
    size_t first = host + 1;
    size_t end = first; /* of the repository's path */
    while (end < segments->count && !value_is_sign(values, segments->first[end], '-') &&
           piece_behind(values, segments->first[end]) == PIECE_NONE) {
        end++;
    }
    if (end < first + 2) {
        return;
    }
    /* Without a word that says more, two names are the repository. */
    end = end == segments->count && end > first + 2 ? first + 2 : end;
    size_t last = without_ending(values, segments->first[end - 1], segments->last[end - 1]);
    (void)add_piece(values, PIECE_SLUG, segments->first[first], last);
    (void)add_piece(values, PIECE_OWNER, segments->first[first], segments->last[end - 2]);
    (void)add_piece(values, PIECE_REPOSITORY, segments->first[end - 1], last);
    for (size_t i = end; i + 1 < segments->count; i++) {
        enum value_piece piece = piece_behind(values, segments->first[i]);
        if (piece == PIECE_NUMBER) {
            (void)add_number(values, piece, segments->first[i + 1]);
        } else if (piece != PIECE_NONE) {
            (void)add_piece(values, piece, segments->first[i + 1], segments->last[i + 1]);
        }
    }
}

/* -------------------------------------------------------------------- hosts */

static void add_host(struct values *values, size_t first, size_t last) {
    size_t end = last;
    bool port = last > first + 2 && value_is_sign(values, last - 2, ':');
    if (port && add_number(values, PIECE_PORT, last - 1)) {
        end = last - 2;
    }
    (void)add_piece(values, PIECE_HOST, first, end);
}

static void read_url(struct values *values, const struct value *url) {
    struct segments segments;
    read_segments(values, url, &segments);
    bool scheme = segments.count > 0 && segments.last[0] > segments.first[0] &&
                  value_is_sign(values, segments.last[0] - 1, ':');
    if (segments.count <= scheme) {
        return;
    }
    add_host(values, segments.first[scheme], segments.last[scheme]);
    if (is_forge(values, &segments, scheme)) {
        read_forge(values, &segments, scheme);
    }
}

/* "db.internal:5432", "localhost:3000", "10.0.0.1:22"; "12:30" is a time. */
static size_t read_host(struct values *values, size_t at) {
    size_t end = name_end(values, at);
    bool port = value_is_sign(values, end, ':') && !values->tokens[end].space &&
                end + 1 < values->token_count && !values->tokens[end + 1].space &&
                values->tokens[end + 1].kind == TOKEN_NUMBER &&
                !(value_is_sign(values, end + 2, ':') && !values->tokens[end + 2].space);
    const char *text = values->text + values->tokens[at].start;
    size_t points = 0;
    for (size_t i = 0; port && i < values->tokens[end - 1].end - values->tokens[at].start; i++) {
        points += text[i] == '.';
    }
    bool address = points == 3 && end == at + 1 && values->tokens[at].kind == TOKEN_NUMBER;
    if (!port || !(ascii_is_letter(text[0]) || address)) {
        return at;
    }
    add_host(values, at, end + 2);
    return end + 2;
}

/* ------------------------------------------------------- channels and people */

static size_t count_hex(const struct values *values, size_t first, size_t last) {
    size_t start = values->tokens[first].start;
    size_t length = values->tokens[last - 1].end - start;
    return strspn(values->lower + start, "0123456789abcdef") >= length ? length : 0;
}

/* #general, #产品, @anna, #ff8800: with the sign and without it. */
static size_t read_signed(struct values *values, size_t at) {
    bool channel = value_is_sign(values, at, '#');
    bool opens = channel || value_is_sign(values, at, '@');
    size_t first = at + 1;
    if (!opens || goes_on(values, at) || first >= values->token_count ||
        values->tokens[first].space || values->tokens[first].kind == TOKEN_SIGN) {
        return at;
    }
    size_t end = name_end(values, first);
    while (end < values->token_count && values->tokens[end].kind == TOKEN_HAN &&
           values->tokens[first].kind == TOKEN_HAN && !values->tokens[end].space &&
           values->tokens[end].cue == CUE_NONE && !value_is_sign(values, end, 0x9891)) {
        end++; /* until 频道 */
    }
    if (end == first) {
        return at;
    }
    size_t hex = channel ? count_hex(values, first, end) : 0;
    if (hex == 3 || hex == 4 || hex == 6 || hex == 8) {
        (void)add_piece(values, PIECE_COLOR, at, end);
    }
    if (values->tokens[first].kind != TOKEN_NUMBER) {
        (void)add_piece(values, channel ? PIECE_CHANNEL : PIECE_USER, first, end);
        (void)add_piece(values, channel ? PIECE_CHANNEL_SIGN : PIECE_USER_SIGN, at, end);
    }
    return end;
}

/* ----------------------------------------------------------------- entities */

/* "light.kitchen": two words and a point. */
static void read_entity(struct values *values, size_t at) {
    size_t end = name_end(values, at);
    bool words = end == at + 3 && values->tokens[at].kind == TOKEN_WORD &&
                 value_is_sign(values, at + 1, '.') && values->tokens[at + 2].kind == TOKEN_WORD;
    if (words) {
        (void)add_piece(values, PIECE_ENTITY, at, end);
    }
}

/* ----------------------------------------------------------------- versions */

/* "4.17.21", "v18.2.0-beta.1"; "1.26" only behind "version" or "v". */
static bool is_version(const struct values *values, size_t first, size_t last) {
    const char *text = values->lower + values->tokens[first].start;
    size_t length = values->tokens[last - 1].end - values->tokens[first].start;
    bool v = text[0] == 'v' && length > 1;
    bool said = first > 0 &&
                (is_word(values, first - 1, "version") || is_word(values, first - 1, "版本"));
    size_t points = 0;
    size_t i = v;
    while (i < length && (ascii_is_digit(text[i]) || text[i] == '.')) {
        points += text[i++] == '.';
    }
    bool ended = i == length || text[i] == '-' || text[i] == '+';
    return ended && i > v && ascii_is_digit(text[v]) && ascii_is_digit(text[i - 1]) &&
           points >= (v || said ? 1u : 2u) && points < 4;
}

/* "lodash@4.17.21". */
static size_t read_version(struct values *values, size_t at) {
    size_t end = name_end(values, at);
    if (is_version(values, at, end)) {
        (void)add_piece(values, PIECE_VERSION, at, end);
        return end;
    }
    size_t next = end + 1;
    bool joined = value_is_sign(values, end, '@') && !values->tokens[end].space &&
                  next < values->token_count && !values->tokens[next].space &&
                  is_part(values, next);
    size_t last = joined ? name_end(values, next) : at;
    if (!joined || !is_version(values, next, last)) {
        return at;
    }
    (void)add_piece(values, PIECE_PACKAGE, at, end);
    (void)add_piece(values, PIECE_VERSION, next, last);
    return last;
}

/* ----------------------------------------------------------------- together */

static bool is_of_repository(const struct value *value) {
    return value->piece == PIECE_SLUG || value->piece == PIECE_OWNER ||
           value->piece == PIECE_REPOSITORY;
}

/* Whether the text says that a name is that of a branch: "the branch feature/login". */
static bool is_revision(const struct values *values, const struct value *value) {
    size_t first = value->first;
    while (first > 0 && !values->tokens[first].space &&
           values->tokens[first - 1].kind != TOKEN_HAN) {
        first--;
    }
    return first > 0 &&
           (is_word(values, first - 1, "branch") || is_word(values, first - 1, "tag") ||
            is_word(values, first - 1, "revision"));
}

/* How much a name looks like a repository: a file in a folder does less, and least where no "of" or
 * "in" stands before it; a branch does not. */
static unsigned likeness(const struct values *values, const struct value *value) {
    const struct value *path = value_covering(values, value->first, VALUE_BIT(VALUE_PATH));
    size_t first = path != NULL ? path->first : value->first;
    uint8_t before = first > 0 ? values->tokens[first - 1].cue : CUE_NONE;
    bool in = before == CUE_IN || before == CUE_OF || before == CUE_FROM;
    return is_revision(values, value) ? 0 : path == NULL ? 2 : in;
}

static void drop_files(struct values *values, size_t from) {
    unsigned most = 0;
    for (size_t i = from; i < values->count; i++) {
        unsigned own = is_of_repository(&values->list[i]) ? likeness(values, &values->list[i]) : 0;
        most = own > most ? own : most;
    }
    for (size_t i = from; i < values->count; i++) {
        struct value *value = &values->list[i];
        if (is_of_repository(value) && likeness(values, value) < most) {
            bool branch = value->piece == PIECE_SLUG && is_revision(values, value);
            value->piece = branch ? PIECE_REVISION : PIECE_UNWANTED;
        }
    }
}

/* Whether a text is an e-mail address, in quotes or not. */
static bool is_address(const struct values *values, const struct value *value) {
    const struct value *address =
            value->kind == VALUE_QUOTED
                    ? value_covering(values, value->first, VALUE_BIT(VALUE_EMAIL))
                    : NULL;
    return value->kind == VALUE_EMAIL ||
           (address != NULL && address->first == value->first && address->last == value->last);
}

void value_find_pieces(struct values *values) {
    const uint32_t whole = VALUE_BIT(VALUE_URL) | VALUE_BIT(VALUE_EMAIL) | VALUE_BIT(VALUE_ZONE) |
                           VALUE_BIT(VALUE_JSON);
    size_t count = values->count;
    for (size_t i = 0; i < count; i++) {
        if (values->list[i].kind == VALUE_URL) {
            const struct value url = values->list[i];
            read_url(values, &url);
        }
        values->list[i].piece = is_address(values, &values->list[i]) ? PIECE_EMAIL : PIECE_NONE;
    }
    size_t from = values->count;
    for (size_t at = 0; at < values->token_count; at++) {
        const struct value *over = value_covering(values, at, whole);
        if (over != NULL) {
            at = over->last - 1u;
            continue;
        }
        size_t end = read_signed(values, at);
        bool begins = end == at && is_part(values, at) && !goes_on(values, at);
        end = begins ? read_slug(values, at) : end;
        if (begins && end == at) {
            read_entity(values, at);
        }
        end = begins && end == at ? read_host(values, at) : end;
        end = begins && end == at ? read_version(values, at) : end;
        at = end > at ? end - 1 : at;
    }
    drop_files(values, from);
}
