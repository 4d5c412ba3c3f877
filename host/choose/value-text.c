/* Texts that are values as they stand: quoted ones, JSON, URLs, e-mail addresses, paths, codes. */
#include <string.h>

#include "base/ascii.h"
#include "choose/values-parts.h"

/* Most tokens inside quotes or brackets. */
#define QUOTED_TOKENS_MAX 400u
#define JSON_TOKENS_MAX   1500u

/* ------------------------------------------------------------------- quotes */

/* The sign that closes what `sign` opens; 0: it opens nothing. */
static uint32_t closing(uint32_t sign) {
    switch (sign) {
    case '"':
    case '\'':
    case '`': return sign;
    case 0x300c: return 0x300d;
    case 0x300e: return 0x300f;
    case 0x300a: return 0x300b;
    case 0x3010: return 0x3011;
    case 0xab: return 0xbb;
    default: return 0;
    }
}

/* An apostrophe opens only before a word, and closes only behind one: 'a day's work' is one text.
 */
static bool may_open(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    if (token->sign != '\'') {
        return true;
    }
    bool word_before = at > 0 && !token->space && values->tokens[at - 1].kind != TOKEN_SIGN &&
                       values->tokens[at - 1].kind != TOKEN_HAN;
    return !word_before;
}

static bool may_close(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    return token->sign != '\'' || at + 1 >= values->token_count || values->tokens[at + 1].space ||
           values->tokens[at + 1].kind == TOKEN_SIGN || values->tokens[at + 1].kind == TOKEN_HAN;
}

/* Find the end of a quoted text; 0: it has none. A text in single quotes has no line break. */
static size_t quote_end(const struct values *values, size_t open) {
    uint32_t sign = closing(values->tokens[open].sign);
    size_t end = values->token_count;
    if (end - open > QUOTED_TOKENS_MAX) {
        end = open + QUOTED_TOKENS_MAX;
    }
    for (size_t i = open + 1; i < end; i++) {
        if (values->tokens[i].turn != values->tokens[open].turn) {
            return 0;
        }
        if (values->tokens[i].kind == TOKEN_SIGN && values->tokens[i].sign == sign &&
            may_close(values, i)) {
            return i > open + 1 ? i : 0;
        }
    }
    return 0;
}

/* A text in quotes may end with white space that is no token. */
static void find_quotes(struct values *values) {
    for (size_t at = 0; at < values->token_count; at++) {
        if (values->tokens[at].kind != TOKEN_SIGN || closing(values->tokens[at].sign) == 0 ||
            !may_open(values, at) || value_covering(values, at, VALUE_BIT(VALUE_JSON)) != NULL) {
            continue;
        }
        size_t close = quote_end(values, at);
        if (close != 0) {
            struct value *value = value_add(values, VALUE_QUOTED, at + 1, close);
            if (value != NULL) {
                value->start = values->tokens[at].end;
                value->end = values->tokens[close].start;
                value->wrapped = true;
            }
            at = close;
        }
    }
}

/* --------------------------------------------------------------------- JSON */

static size_t bracket_end(const struct values *values, size_t open) {
    size_t depth = 0;
    size_t end = values->token_count;
    if (end - open > JSON_TOKENS_MAX) {
        end = open + JSON_TOKENS_MAX;
    }
    for (size_t i = open; i < end; i++) {
        uint32_t sign = values->tokens[i].kind == TOKEN_SIGN ? values->tokens[i].sign : 0;
        if (sign == '[' || sign == '{') {
            depth++;
        } else if (sign == ']' || sign == '}') {
            depth--;
            if (depth == 0) {
                return i + 1;
            }
        }
    }
    return 0;
}

/* Whether brackets hold a list or an object; whether it is JSON is seen when it is rendered. */
static void find_json(struct values *values) {
    for (size_t at = 0; at < values->token_count; at++) {
        uint32_t sign = values->tokens[at].kind == TOKEN_SIGN ? values->tokens[at].sign : 0;
        if (sign != '[' && sign != '{') {
            continue;
        }
        size_t end = bracket_end(values, at);
        bool called = at > 0 && !values->tokens[at].space &&
                      values->tokens[at - 1].kind == TOKEN_WORD; /* x[1] */
        if (end > at + 2 && !called) {
            (void)value_add(values, VALUE_JSON, at, end);
            at = end - 1;
        }
    }
}

/* ----------------------------------------------------------------- clusters */

/* Signs that may be inside a URL, path, address or code. */
static bool is_inner(uint32_t sign) {
    return sign < 0x80 && strchr("-_./:+#@%&=~\\?$*", (int)sign) != NULL && sign != 0;
}

/* The end of the tokens that follow each other without space and without Chinese. */
static size_t cluster_end(const struct values *values, size_t at) {
    size_t end = at + 1;
    while (end < values->token_count && !values->tokens[end].space &&
           values->tokens[end].kind != TOKEN_HAN &&
           (values->tokens[end].kind != TOKEN_SIGN || is_inner(values->tokens[end].sign))) {
        end++;
    }
    while (end > at + 1 && values->tokens[end - 1].kind == TOKEN_SIGN &&
           strchr(".:?-=&", (int)(values->tokens[end - 1].sign & 0x7f)) != NULL) {
        end--;
    }
    return end;
}

static bool starts_with(const char *text, size_t length, const char *start) {
    size_t n = strlen(start);
    return length > n && memcmp(text, start, n) == 0;
}

static bool is_url(const char *text, size_t length) {
    return starts_with(text, length, "http://") || starts_with(text, length, "https://") ||
           starts_with(text, length, "ftp://") || starts_with(text, length, "www.") ||
           starts_with(text, length, "file://") || starts_with(text, length, "s3://");
}

static const char *const domains[] = {".com", ".org", ".net", ".edu", ".gov", ".io",  ".cn",
                                      ".dev", ".ai",  ".app", ".uk",  ".de",  ".info"};

static bool is_domain(const char *text, size_t length) {
    if (memchr(text, '/', length) != NULL || memchr(text, ' ', length) != NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof domains / sizeof *domains; i++) {
        size_t n = strlen(domains[i]);
        if (length > n + 1 && memcmp(text + length - n, domains[i], n) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_email(const char *text, size_t length) {
    const char *at = memchr(text, '@', length);
    return at != NULL && at > text && at + 1 < text + length && memchr(text, ':', length) == NULL;
}

/* An IANA time zone. */
static bool is_zone(const char *text, size_t length) {
    static const char *const areas[] = {"africa/",   "america/", "antarctica/", "asia/",
                                        "atlantic/", "europe/",  "australia/",  "indian/",
                                        "pacific/",  "etc/"};
    for (size_t i = 0; i < sizeof areas / sizeof *areas; i++) {
        if (starts_with(text, length, areas[i])) {
            return true;
        }
    }
    return false;
}

/* "notes.txt": a name, a point, and one to four letters or digits of which one is a letter. */
static bool has_extension(const char *text, size_t length) {
    size_t dot = length;
    while (dot > 0 && text[dot - 1] != '.') {
        dot--;
    }
    size_t size = length - dot;
    if (dot < 2 || size < 1 || size > 5 || !ascii_is_alnum(text[dot - 2])) {
        return false;
    }
    bool letter = false;
    for (size_t i = dot; i < length; i++) {
        if (!ascii_is_alnum(text[i])) {
            return false;
        }
        letter = letter || ascii_is_letter(text[i]);
    }
    return letter && (size > 1 || text[dot] == 'c' || text[dot] == 'h');
}

static bool is_path(const char *text, size_t length) {
    bool rooted = (text[0] == '/' && length > 1 && text[1] != '/') ||
                  starts_with(text, length, "./") || starts_with(text, length, "../") ||
                  starts_with(text, length, "~/");
    bool drive = length > 2 && ascii_is_letter(text[0]) && text[1] == ':' && text[2] == '\\';
    if (rooted || drive) {
        return true;
    }
    return has_extension(text, length) && memchr(text, '@', length) == NULL &&
           memchr(text, ':', length) == NULL && !is_domain(text, length);
}

struct shape {
    size_t digits;
    size_t letters;
    size_t points;
    size_t dashes;
    size_t others;
};

static struct shape shape_of(const char *text, size_t length) {
    struct shape shape = {0};
    for (size_t i = 0; i < length; i++) {
        shape.digits += ascii_is_digit(text[i]);
        shape.letters += ascii_is_letter(text[i]) || (text[i] & 0x80) != 0;
        shape.points += text[i] == '.';
        shape.dashes += text[i] == '-' || text[i] == '+' || text[i] == '(' || text[i] == ')';
        shape.others += text[i] == '/' || text[i] == ':' || text[i] == '%' || text[i] == '*' ||
                        text[i] == '$' || text[i] == '=';
    }
    return shape;
}

/* A number and its unit ("100g", "5th", "9am") is no code. */
static bool is_measure(const struct values *values, size_t first, size_t last) {
    const struct token *tokens = values->tokens;
    if (last - first != 2 || tokens[first].kind != TOKEN_NUMBER) {
        return false;
    }
    const char *word = values->lower + tokens[first + 1].start;
    size_t length = tokens[first + 1].end - tokens[first + 1].start;
    static const char *const endings[] = {"st", "nd", "rd", "th", "am", "pm", "k", "m",
                                          "b",  "s",  "d",  "bn", "x",  "mm", "p"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (strlen(endings[i]) == length && memcmp(word, endings[i], length) == 0) {
            return true;
        }
    }
    return lexeme_of(LEXEME_UNITS, word, length) != NULL ||
           lexeme_of(LEXEME_CURRENCIES, word, length) != NULL;
}

/* What a cluster is; VALUE_KINDS: nothing. */
static enum value_kind cluster_kind(const struct values *values, size_t first, size_t last) {
    const char *text = values->lower + values->tokens[first].start;
    size_t length = values->tokens[last - 1].end - values->tokens[first].start;
    struct shape shape = shape_of(text, length);
    if (is_measure(values, first, last)) {
        return VALUE_KINDS; /* 2.5k is no file */
    }
    if (is_zone(text, length)) {
        return VALUE_ZONE;
    }
    if (is_url(text, length)) {
        return VALUE_URL;
    }
    if (is_email(text, length)) {
        return VALUE_EMAIL;
    }
    if (is_path(text, length)) {
        return VALUE_PATH;
    }
    if (is_domain(text, length)) {
        return VALUE_URL;
    }
    bool range = shape.points == 6 && shape.dashes == 1; /* of addresses */
    if ((range || (shape.points == 3 && shape.dashes == 0)) && shape.letters == 0 &&
        shape.digits >= 4) {
        return VALUE_IP;
    }
    if (shape.letters == 0 && shape.others == 0 && shape.points == 0 && shape.dashes > 0 &&
        shape.digits >= 7 && (shape.digits != 8 || text[4] != '-')) {
        return VALUE_PHONE;
    }
    if (shape.letters == 0 && shape.points >= 2 && shape.dashes + shape.others == 0) {
        return VALUE_CODE; /* version */
    }
    if (memchr(text, '=', length) != NULL) {
        return VALUE_KINDS; /* a=2 */
    }
    bool dash_date = shape.digits >= 4 && shape.letters == 1 && memchr(text, 't', length) != NULL;
    if (shape.digits > 0 && shape.letters > 0 && !dash_date && memchr(text, ':', length) == NULL) {
        return VALUE_CODE;
    }
    if (shape.letters > 2 && memchr(text, '_', length) != NULL) {
        return VALUE_CODE;
    }
    return VALUE_KINDS;
}

static void find_clusters(struct values *values) {
    for (size_t at = 0; at < values->token_count; at++) {
        const struct token *token = &values->tokens[at];
        bool opens =
                token->kind == TOKEN_WORD || token->kind == TOKEN_NUMBER ||
                (token->kind == TOKEN_SIGN && strchr("/.~+", (int)(token->sign & 0x7f)) != NULL &&
                 token->sign < 0x80 && token->sign != 0);
        if (!opens || value_covering(values, at, VALUE_BIT(VALUE_JSON)) != NULL) {
            continue;
        }
        size_t end = cluster_end(values, at);
        enum value_kind kind = cluster_kind(values, at, end);
        if (kind != VALUE_KINDS) {
            (void)value_add(values, kind, at, end);
        }
        at = end - 1;
    }
}

void value_find_texts(struct values *values) {
    find_json(values);
    find_quotes(values);
    find_clusters(values);
}
