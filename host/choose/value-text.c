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

static bool is_separator(const struct values *values, size_t at) {
    return value_is_sign(values, at, '/') || value_is_sign(values, at, '\\');
}

/* Whether tokens begin a path at a root: "/a", "./a", "~/a", "C:\a". */
static bool is_rooted(const struct values *values, size_t at) {
    const struct token *token = &values->tokens[at];
    bool drive = token->kind == TOKEN_WORD && token->end - token->start == 1 &&
                 value_is_sign(values, at + 1, ':') && value_is_sign(values, at + 2, '\\');
    size_t dots = 0;
    while (value_is_sign(values, at + dots, '.') || value_is_sign(values, at + dots, '~')) {
        dots++;
    }
    return drive || (dots < 3 && value_is_sign(values, at + dots, '/'));
}

/* Whether a name with its extension ends before a token: "a.txt". */
static bool has_ended(const struct values *values, size_t at) {
    return at >= 2 && values->tokens[at - 1].kind == TOKEN_WORD &&
           value_is_sign(values, at - 2, '.') && !values->tokens[at - 1].space;
}

/* Words that stand between two paths in a text without spaces: 到, 和, 为... */
static bool is_joint(const struct token *token) {
    static const uint32_t joints[] = {0x5230, 0x548c, 0x4e0e, 0x53ca, 0x6216, 0x81f3,
                                      0x4e3a, 0x79fb, 0x590d, 0x62f7, 0x6539, 0x91cc};
    for (size_t i = 0; i < sizeof joints / sizeof *joints; i++) {
        if (token->sign == joints[i]) {
            return true;
        }
    }
    return false;
}

/* The end of a run of characters of a script without spaces that is part of a path: it begins a
 * name (/数据), or more of the name or of the path follows it; "a.txt" before it has ended.
 * Returns `at`: they are words of the text. */
static size_t han_end(const struct values *values, size_t at) {
    size_t end = at;
    bool joint = false;
    while (end < values->token_count && values->tokens[end].kind == TOKEN_HAN &&
           !(end > at && values->tokens[end].space)) {
        joint = joint || is_joint(&values->tokens[end]);
        end++;
    }
    bool goes_on = end + 1 < values->token_count && !values->tokens[end].space &&
                   !values->tokens[end + 1].space &&
                   values->tokens[end].end - values->tokens[end].start == 1 &&
                   (is_separator(values, end) || value_is_sign(values, end, '.') ||
                    value_is_sign(values, end, '-') || values->tokens[end].kind != TOKEN_SIGN);
    if (is_separator(values, at - 1)) {
        return end;
    }
    return goes_on && !joint && !has_ended(values, at) ? end : at;
}

/* The end of brackets without spaces in a path, as in "a(1).txt"; `at`: there are none. */
static size_t bracketed_end(const struct values *values, size_t at) {
    uint32_t close = value_is_sign(values, at, '(')   ? ')'
                     : value_is_sign(values, at, '[') ? ']'
                                                      : 0;
    for (size_t i = at + 1; close != 0 && i < values->token_count && !values->tokens[i].space;
         i++) {
        if (value_is_sign(values, i, close)) {
            return i + 1;
        }
    }
    return at;
}

/* The end of the tokens that follow each other without space; Chinese and brackets belong to a path
 * only. */
static size_t cluster_end(const struct values *values, size_t at) {
    bool rooted = is_rooted(values, at);
    size_t end = at + 1;
    while (end < values->token_count && !values->tokens[end].space) {
        const struct token *token = &values->tokens[end];
        size_t next = token->kind == TOKEN_HAN    ? (rooted ? han_end(values, end) : end)
                      : token->kind != TOKEN_SIGN ? end + 1
                      : is_inner(token->sign)     ? end + 1
                      : rooted                    ? bracketed_end(values, end)
                                                  : end;
        if (next == end) {
            break;
        }
        end = next;
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
    size_t letters = 0; /* of the last label: lodash@4.17.21 has none */
    while (letters < length && ascii_is_letter(text[length - letters - 1])) {
        letters++;
    }
    return at != NULL && at > text && at + 1 < text + length && letters > 1 &&
           memchr(text, ':', length) == NULL;
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
    bool named = dot >= 2 && (ascii_is_alnum(text[dot - 2]) || text[dot - 2] == ')' ||
                              (text[dot - 2] & 0x80) != 0);
    if (!named || size < 1 || size > 5) {
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

/* The pattern of the names of files: "*.py", "src/a*.c". */
static bool is_glob(const char *text, size_t length) {
    bool part = memchr(text, '.', length) != NULL || memchr(text, '/', length) != NULL;
    bool star = part && text[0] == '*';
    for (size_t i = 1; i < length; i++) {
        star = star || (text[i] == '*' && text[i - 1] == '/');
    }
    for (size_t i = 0; star && i < length; i++) {
        if (!ascii_is_alnum(text[i]) && (text[i] & 0x80) == 0 &&
            strchr("*?._-/", text[i]) == NULL) {
            return false;
        }
    }
    return star;
}

/* A text in quotes may end with white space that is no token. */
static void add_quoted(struct values *values, enum value_kind kind, size_t open, size_t close) {
    struct value *value = value_add(values, kind, open + 1, close);
    if (value != NULL) {
        value->start = values->tokens[open].end;
        value->end = values->tokens[close].start;
        value->wrapped = true;
    }
}

/* A path in quotes is whole, with its spaces and signs. */
static bool is_quoted_path(const struct values *values, size_t open, size_t close) {
    const char *text = values->lower + values->tokens[open].end;
    size_t length = values->tokens[close].start - values->tokens[open].end;
    bool command = strchr("/.~", text[0]) == NULL && memchr(text, ' ', length) != NULL &&
                   memchr(text, '/', length) != NULL;
    return !command && memchr(text, '\n', length) == NULL && is_path(text, length);
}

static void find_quotes(struct values *values) {
    for (size_t at = 0; at < values->token_count; at++) {
        if (values->tokens[at].kind != TOKEN_SIGN || closing(values->tokens[at].sign) == 0 ||
            !may_open(values, at) || value_covering(values, at, VALUE_BIT(VALUE_JSON)) != NULL) {
            continue;
        }
        size_t close = quote_end(values, at);
        if (close != 0) {
            add_quoted(values, VALUE_QUOTED, at, close);
            if (is_quoted_path(values, at, close)) {
                add_quoted(values, VALUE_PATH, at, close);
            }
            at = close;
        }
    }
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

/* A number and its unit ("100g", "5th", "9am", "HK$20") is no code. */
static bool is_measure(const struct values *values, size_t first, size_t last) {
    const struct token *tokens = values->tokens;
    if (last - first == 3 && value_is_sign(values, first + 1, '$') &&
        tokens[first + 2].kind == TOKEN_NUMBER) {
        return true;
    }
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
    const char *slash = memchr(text, '/', length);
    bool addressed = slash != NULL && is_domain(text, (size_t)(slash - text));
    if (is_path(text, length) && !addressed) {
        return VALUE_PATH;
    }
    if (addressed || is_domain(text, length)) {
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
    if (shape.letters > 0 && is_glob(text, length)) {
        return VALUE_CODE;
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

/* Where the name of a file begins whose digits or extension are at a token: 打开报告2024.docx has
 * 报告 behind a verb. */
static size_t name_begin(const struct values *values, size_t at, size_t end) {
    size_t first = at;
    bool inner = values->tokens[at].kind == TOKEN_NUMBER || value_is_sign(values, at, '.');
    while (inner && first > 0 && !values->tokens[first].space &&
           values->tokens[first - 1].kind == TOKEN_HAN &&
           values->tokens[first - 1].cue == CUE_NONE) {
        first--;
    }
    return first < at && cluster_kind(values, first, end) == VALUE_PATH ? first : at;
}

static void find_clusters(struct values *values) {
    for (size_t at = 0; at < values->token_count; at++) {
        const struct token *token = &values->tokens[at];
        bool opens =
                token->kind == TOKEN_WORD || token->kind == TOKEN_NUMBER ||
                (token->kind == TOKEN_SIGN && strchr("/.~+*", (int)(token->sign & 0x7f)) != NULL &&
                 token->sign < 0x80 && token->sign != 0);
        if (!opens ||
            value_covering(values, at, VALUE_BIT(VALUE_JSON) | VALUE_BIT(VALUE_PATH)) != NULL) {
            continue;
        }
        size_t end = cluster_end(values, at);
        size_t first = name_begin(values, at, end);
        enum value_kind kind = cluster_kind(values, first, end);
        if (kind != VALUE_KINDS) {
            (void)value_add(values, kind, first, end);
        }
        at = end - 1;
    }
}

void value_find_texts(struct values *values) {
    find_json(values);
    find_quotes(values);
    find_clusters(values);
}
