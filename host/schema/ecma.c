/* Translation of ECMA-262 regular expressions to pcre2's.
 *
 * JSON Schema's patterns are those of ECMA-262 in Unicode mode. pcre2's syntax is similar, but some
 * of it has another meaning (`\s`, `.`, `\v`), and much of it does not exist in ECMA-262
 * (`(*VERB)`, `(?P<`, possessive repeats, `\A`). So each pattern is parsed as ECMA-262 and
 * rewritten in the syntax that both share. Lone `]`, `{` and `}` and escaped punctuation are
 * accepted: strictly they are errors in Unicode mode, but they are common in real schemas.
 *
 * Many schemas are made by Python programs. What Python has beyond ECMA-262 is understood too:
 * `\A`, `\Z`, `(?P<name>...)`, `(?P=name)`, and the flags a, i, m and s in `(?i)` and `(?i:...)`.
 * Others do not read it, so ecma_standard() writes the same in ECMA-262, where that is possible. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "schema/regex.h"

#define GROUP_DEPTH_MAX 200
#define CODE_POINT_MAX  0x10ffffu
#define REPEAT_MAX      65535u

/* White space and line ends of ECMA-262, and their complement, as the contents of a class. */
#define SPACE_CLASS                                                                               \
    "\\x{9}-\\x{d}\\x{20}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}" \
    "\\x{3000}\\x{feff}"
#define NOT_SPACE_CLASS                                                              \
    "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{9f}\\x{a1}-\\x{167f}\\x{1681}-\\x{1fff}" \
    "\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}\\x{2060}-\\x{2fff}"   \
    "\\x{3001}-\\x{fefe}\\x{ff00}-\\x{10ffff}"
#define ANY              "[\\x{0}-\\x{10ffff}]"
#define ANY_BUT_LINE_END "[^\\n\\r\\x{2028}\\x{2029}]"

struct ecma {
    const char *start;
    const char *at;
    const char *end;
    struct buf out;
    bool takes_python;
    const char *flags_end; /* of the flags at the start */
    /* The pattern in strict ECMA-262: this, and the source from `copied` on. */
    struct buf standard;
    const char *copied;
    const char *no_standard;           /* why it cannot be written in ECMA-262; static string */
    bool has_reference;                /* `(?P=name)` */
    bool may_be_unset;                 /* some group may be left out of a match */
    bool dot_all[GROUP_DEPTH_MAX + 2]; /* the flag s, by depth */
    const char *reason;                /* static string; set once */
    bool can_repeat;                   /* the last item written may be repeated */
    unsigned depth;
    unsigned groups;     /* capturing, seen so far */
    unsigned max_number; /* largest back reference */
};

static bool refuse(struct ecma *e, const char *reason) {
    if (e->reason == NULL) {
        e->reason = reason;
    }
    return false;
}

static bool at_text(const struct ecma *e, const char *text) {
    size_t length = strlen(text);
    return (size_t)(e->end - e->at) >= length && memcmp(e->at, text, length) == 0;
}

static bool take(struct ecma *e, const char *text) {
    if (!at_text(e, text)) {
        return false;
    }
    e->at += strlen(text);
    return true;
}

/* What the source has from `from` up to here is written otherwise in strict ECMA-262. */
static void put_standard(struct ecma *e, const char *from, const char *text, size_t length) {
    buf_add(&e->standard, e->copied, (size_t)(from - e->copied));
    buf_add(&e->standard, text, length);
    e->copied = e->at;
}

static void put_standard_text(struct ecma *e, const char *from, const char *text) {
    put_standard(e, from, text, strlen(text));
}

static void put_code_point(struct ecma *e, uint32_t c) {
    buf_printf(&e->out, "\\x{%x}", c);
}

/* Exactly `count` hexadecimal digits. */
static bool take_hex(struct ecma *e, int count, uint32_t *ret) {
    uint32_t value = 0;
    for (int i = 0; i < count; i++) {
        int digit = e->at + i < e->end ? ascii_hex_value(e->at[i]) : -1;
        if (digit < 0) {
            return false;
        }
        value = value * 16 + (uint32_t)digit;
    }
    e->at += count;
    *ret = value;
    return true;
}

static bool is_high_surrogate(uint32_t c) {
    return c >= 0xd800 && c <= 0xdbff;
}

static bool is_low_surrogate(uint32_t c) {
    return c >= 0xdc00 && c <= 0xdfff;
}

/* After `\u`: four digits, two such escapes as a surrogate pair, or any number of digits in
 * braces. */
static bool take_unicode_escape(struct ecma *e, uint32_t *ret) {
    if (take(e, "{")) {
        const char *start = e->at;
        uint32_t value = 0;
        while (e->at < e->end && ascii_hex_value(*e->at) >= 0 && value <= CODE_POINT_MAX) {
            value = value * 16 + (uint32_t)ascii_hex_value(*e->at++);
        }
        *ret = value;
        return (e->at > start && value <= CODE_POINT_MAX && take(e, "}")) ||
               refuse(e, "a \\u{...} is not a code point");
    }
    if (!take_hex(e, 4, ret)) {
        return refuse(e, "\\u needs four hexadecimal digits");
    }
    const char *after = e->at;
    uint32_t low = 0;
    if (is_high_surrogate(*ret) && take(e, "\\u") && take_hex(e, 4, &low) &&
        is_low_surrogate(low)) {
        *ret = 0x10000 + ((*ret - 0xd800) << 10) + (low - 0xdc00);
    } else {
        e->at = after;
    }
    return true;
}

/* Escapes of one character, inside or outside of a class; `*ret_known` is false for other
 * escapes. */
static bool take_character_escape(struct ecma *e, bool in_class, uint32_t *ret, bool *ret_known) {
    const char *escape = e->at - 1;
    char c = *e->at;
    *ret_known = true;
    e->at++;
    switch (c) {
    case 't': *ret = '\t'; return true;
    case 'n': *ret = '\n'; return true;
    case 'v': *ret = '\v'; return true;
    case 'f': *ret = '\f'; return true;
    case 'r': *ret = '\r'; return true;
    case 'x': return take_hex(e, 2, ret) || refuse(e, "\\x needs two hexadecimal digits");
    case 'u': return take_unicode_escape(e, ret);
    case '0':
        *ret = 0;
        return e->at == e->end || !ascii_is_digit(*e->at) ||
               refuse(e, "octal escapes are not allowed");
    case 'c':
        if (e->at == e->end || !ascii_is_letter(*e->at)) {
            return refuse(e, "\\c needs a letter");
        }
        *ret = (uint32_t)*e->at++ & 31;
        return true;
    default: break;
    }
    if ((unsigned char)c < 0x80 && !ascii_is_alnum(c)) {
        if (strchr("^$\\.*+?()[]{}|/", c) == NULL && !(c == '-' && in_class)) {
            put_standard(e, escape, &c, 1); /* Unicode mode has no such escape */
        }
        *ret = (unsigned char)c;
        return true;
    }
    e->at--;
    *ret_known = false;
    return true;
}

/* Names of general categories in ECMA-262 and in pcre2. */
static const char *const categories[][2] = {
        {"Cased_Letter", "L&"},
        {"Close_Punctuation", "Pe"},
        {"Combining_Mark", "M"},
        {"Connector_Punctuation", "Pc"},
        {"Control", "Cc"},
        {"Currency_Symbol", "Sc"},
        {"Dash_Punctuation", "Pd"},
        {"Decimal_Number", "Nd"},
        {"Enclosing_Mark", "Me"},
        {"Final_Punctuation", "Pf"},
        {"Format", "Cf"},
        {"Initial_Punctuation", "Pi"},
        {"LC", "L&"},
        {"Letter", "L"},
        {"Letter_Number", "Nl"},
        {"Line_Separator", "Zl"},
        {"Lowercase_Letter", "Ll"},
        {"Mark", "M"},
        {"Math_Symbol", "Sm"},
        {"Modifier_Letter", "Lm"},
        {"Modifier_Symbol", "Sk"},
        {"Nonspacing_Mark", "Mn"},
        {"Number", "N"},
        {"Open_Punctuation", "Ps"},
        {"Other", "C"},
        {"Other_Letter", "Lo"},
        {"Other_Number", "No"},
        {"Other_Punctuation", "Po"},
        {"Other_Symbol", "So"},
        {"Paragraph_Separator", "Zp"},
        {"Private_Use", "Co"},
        {"Punctuation", "P"},
        {"Separator", "Z"},
        {"Space_Separator", "Zs"},
        {"Spacing_Mark", "Mc"},
        {"Surrogate", "Cs"},
        {"Symbol", "S"},
        {"Titlecase_Letter", "Lt"},
        {"Unassigned", "Cn"},
        {"Uppercase_Letter", "Lu"},
        {"cntrl", "Cc"},
        {"digit", "Nd"},
        {"punct", "P"},
};

/* After `\p` or `\P`. pcre2 checks whether the property exists. */
static bool translate_property(struct ecma *e, bool negated) {
    static const char *const prefixes[] = {"General_Category=", "gc="};
    if (!take(e, "{")) {
        return refuse(e, "\\p needs a name in braces");
    }
    const char *name = e->at;
    while (e->at < e->end && (ascii_is_word(*e->at) || *e->at == '=')) {
        e->at++;
    }
    size_t length = (size_t)(e->at - name);
    if (length == 0 || !take(e, "}")) {
        return refuse(e, "\\p needs a name in braces");
    }
    for (size_t i = 0; i < ARRAY_LENGTH(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        if (length > n && memcmp(name, prefixes[i], n) == 0) {
            name += n;
            length -= n;
        }
    }
    if (length == 8 && memcmp(name, "Assigned", 8) == 0) {
        negated = !negated;
        name = "Cn";
        length = 2;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(categories); i++) {
        if (strlen(categories[i][0]) == length && memcmp(categories[i][0], name, length) == 0) {
            name = categories[i][1];
            length = strlen(name);
            break;
        }
    }
    buf_add_text(&e->out, negated ? "\\P{" : "\\p{");
    buf_add(&e->out, name, length);
    buf_add_char(&e->out, '}');
    return true;
}

/* `\d \D \s \S \w \W \p \P`: sets of characters. False for other escapes. */
static bool translate_set_escape(struct ecma *e, bool in_class) {
    char c = *e->at;
    if (c == 'd' || c == 'D' || c == 'w' || c == 'W') {
        buf_printf(&e->out, "\\%c", c);
    } else if (c == 's' || c == 'S') {
        buf_add_text(&e->out, in_class ? "" : "[");
        buf_add_text(&e->out, c == 's' ? SPACE_CLASS : NOT_SPACE_CLASS);
        buf_add_text(&e->out, in_class ? "" : "]");
    } else if (c == 'p' || c == 'P') {
        e->at++;
        (void)translate_property(e, c == 'P');
        return true;
    } else {
        return false;
    }
    e->at++;
    return true;
}

/* `<name>`; copied as it is. Only ASCII names are accepted, as in pcre2. */
static bool translate_group_name(struct ecma *e) {
    const char *name = e->at;
    while (e->at < e->end && ascii_is_word(*e->at)) {
        e->at++;
    }
    size_t length = (size_t)(e->at - name);
    if (length == 0 || !ascii_is_word_start(*name) || !take(e, ">")) {
        return refuse(e, "a group's name must be a word in angle brackets");
    }
    buf_add_char(&e->out, '<');
    buf_add(&e->out, name, length);
    buf_add_char(&e->out, '>');
    return true;
}

/* `\A`, `\Z` and its later name `\z`: the beginning and the end of the text. */
static bool translate_python_anchor(struct ecma *e) {
    char c = *e->at;
    if (!e->takes_python || (c != 'A' && c != 'Z' && c != 'z')) {
        return false;
    }
    const char *escape = e->at++ - 1;
    put_standard_text(e, escape, c == 'A' ? "^" : "$"); /* not with the flag m: see take_flags() */
    buf_add_text(&e->out, c == 'A' ? "\\A" : "\\z");
    e->can_repeat = false;
    return true;
}

static bool translate_escape(struct ecma *e) {
    if (e->at == e->end) {
        return refuse(e, "it ends in a backslash");
    }
    if (translate_python_anchor(e)) {
        return true;
    }
    e->can_repeat = true;
    if (*e->at == 'b' || *e->at == 'B') {
        buf_printf(&e->out, "\\%c", *e->at++);
        e->can_repeat = false;
        return true;
    }
    if (ascii_is_digit(*e->at) && *e->at != '0') {
        unsigned number = 0;
        while (e->at < e->end && ascii_is_digit(*e->at) && number < REPEAT_MAX) {
            number = number * 10 + (unsigned)(*e->at++ - '0');
        }
        e->max_number = number > e->max_number ? number : e->max_number;
        buf_printf(&e->out, "\\g{%u}", number);
        return true;
    }
    if (take(e, "k<")) {
        buf_add_text(&e->out, "\\k");
        return translate_group_name(e);
    }
    if (translate_set_escape(e, false)) {
        return e->reason == NULL;
    }
    uint32_t c = 0;
    bool known = false;
    if (!take_character_escape(e, false, &c, &known)) {
        return false;
    }
    if (!known) {
        return refuse(e, "a backslash before a letter that has no meaning");
    }
    if (is_high_surrogate(c) || is_low_surrogate(c)) {
        buf_add_text(&e->out, "(?!)"); /* a lone surrogate never matches in well-formed text */
    } else {
        put_code_point(e, c);
    }
    return true;
}

/* One character of UTF-8; if the text is not well-formed, pcre2 reports it. */
static uint32_t take_utf8(struct ecma *e) {
    unsigned char first = (unsigned char)*e->at++;
    if (first < 0xc0) {
        return first;
    }
    int more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
    uint32_t c = first & (0x3fu >> more);
    for (; more > 0 && e->at < e->end; more--) {
        c = c << 6 | ((unsigned char)*e->at++ & 0x3f);
    }
    return c;
}

/* Take a character of a class, or a set (`*ret_set`), which is written immediately. */
static bool take_class_atom(struct ecma *e, uint32_t *ret, bool *ret_set) {
    *ret_set = false;
    if (*e->at != '\\') {
        *ret = take_utf8(e);
        return true;
    }
    e->at++;
    if (e->at == e->end) {
        return refuse(e, "it ends in a backslash");
    }
    if (take(e, "b")) {
        *ret = '\b';
        return true;
    }
    if (translate_set_escape(e, true)) {
        *ret_set = true;
        return e->reason == NULL;
    }
    bool known = false;
    if (!take_character_escape(e, true, ret, &known)) {
        return false;
    }
    return known || refuse(e, "a backslash before a letter that has no meaning");
}

static void put_class_range(struct ecma *e, uint32_t low, uint32_t high) {
    /* pcre2 refuses surrogates; a range that overlaps them is reduced to its part outside. */
    if (is_high_surrogate(low) || is_low_surrogate(low)) {
        low = 0xe000;
    }
    if (is_high_surrogate(high) || is_low_surrogate(high)) {
        high = 0xd7ff;
    }
    if (low > high) {
        return;
    }
    put_code_point(e, low);
    if (high > low) {
        buf_add_char(&e->out, '-');
        put_code_point(e, high);
    }
}

static bool translate_class_part(struct ecma *e) {
    uint32_t low = 0;
    uint32_t high = 0;
    bool low_is_set = false;
    bool high_is_set = false;
    if (!take_class_atom(e, &low, &low_is_set)) {
        return false;
    }
    if (low_is_set || !(at_text(e, "-") && e->at + 1 < e->end && e->at[1] != ']')) {
        if (!low_is_set) {
            put_class_range(e, low, low);
        } else if (at_text(e, "-")) {
            e->at++; /* a set cannot be the end of a range, so this is a literal hyphen */
            put_code_point(e, '-');
        }
        return true;
    }
    e->at++;
    if (!take_class_atom(e, &high, &high_is_set)) {
        return false;
    }
    if (high_is_set) {
        put_class_range(e, low, low);
        put_code_point(e, '-');
        return true;
    }
    if (low > high) {
        return refuse(e, "a range in brackets is in the wrong order");
    }
    put_class_range(e, low, high);
    return true;
}

static bool translate_class(struct ecma *e) {
    e->can_repeat = true;
    if (take(e, "^]")) {
        buf_add_text(&e->out, ANY);
        return true;
    }
    bool negated = take(e, "^");
    size_t start = e->out.length;
    buf_add_text(&e->out, negated ? "[^" : "[");
    size_t empty = e->out.length;
    while (!at_text(e, "]")) {
        if (e->at == e->end) {
            return refuse(e, "a bracket is not closed");
        }
        if (!translate_class_part(e)) {
            return false;
        }
    }
    e->at++;
    if (e->out.length == empty && !e->out.failed) { /* empty, or only lone surrogates */
        e->out.length = start;
        buf_add_text(&e->out, negated ? ANY : "(?!)");
        return true;
    }
    buf_add_char(&e->out, ']');
    return true;
}

static bool take_number(struct ecma *e, unsigned *ret) {
    const char *start = e->at;
    unsigned value = 0;
    while (e->at < e->end && ascii_is_digit(*e->at)) {
        value = value > REPEAT_MAX ? value : value * 10 + (unsigned)(*e->at - '0');
        e->at++;
    }
    *ret = value;
    return e->at > start;
}

/* Translate a repeat after a repeatable item. */
static bool translate_repeat(struct ecma *e) {
    const char *start = e->at;
    bool is_optional;
    if (take(e, "{")) { /* {2}, {2,} or {2,5}; anything else in braces is not a repeat */
        unsigned low = 0;
        unsigned high = 0;
        bool counts = take_number(e, &low);
        bool bounded = counts && take(e, ",") && take_number(e, &high);
        if (!counts || !take(e, "}")) {
            e->at = start + 1;
            put_standard_text(e, start, "\\{");
            buf_add_text(&e->out, "\\{");
            e->can_repeat = true;
            return true;
        }
        if (bounded && low > high) {
            return refuse(e, "a repeat in braces is in the wrong order");
        }
        is_optional = low == 0;
    } else {
        is_optional = *e->at++ != '+';
    }
    e->may_be_unset = e->may_be_unset || (is_optional && start > e->start && start[-1] == ')');
    if (!e->can_repeat) {
        return refuse(e, "there is nothing to repeat");
    }
    (void)take(e, "?");
    buf_add(&e->out, start, (size_t)(e->at - start));
    e->can_repeat = false;
    return true;
}

/* Whether a group of this name begins before this place. */
static bool has_group_before(const struct ecma *e, const char *name, size_t length) {
    for (const char *at = e->start; at + 4 + length < e->at; at++) {
        size_t skip = memcmp(at, "(?P<", 4) == 0 ? 4 : memcmp(at, "(?<", 3) == 0 ? 3 : 0;
        if (skip > 0 && memcmp(at + skip, name, length) == 0 && at[skip + length] == '>') {
            return true;
        }
    }
    return false;
}

/* After `(?P=`: a back reference that fails where the group has not matched; that of ECMA-262
 * matches the empty string then. */
static bool translate_python_reference(struct ecma *e, const char *open) {
    const char *name = e->at;
    while (e->at < e->end && ascii_is_word(*e->at)) {
        e->at++;
    }
    size_t length = (size_t)(e->at - name);
    if (length == 0 || !take(e, ")")) {
        return refuse(e, "(?P= must be followed by a group's name and )");
    }
    if (!has_group_before(e, name, length)) {
        return refuse(e, "(?P=name) names no group before it");
    }
    e->depth--;
    e->has_reference = true;
    e->may_be_unset = e->may_be_unset || e->depth > 0; /* perhaps within the group itself */
    e->can_repeat = true;
    put_standard_text(e, open, "\\k<");
    buf_add(&e->standard, name, length);
    buf_add_char(&e->standard, '>');
    buf_add_text(&e->out, "(?(<");
    buf_add(&e->out, name, length);
    buf_add_text(&e->out, ">)\\k<");
    buf_add(&e->out, name, length);
    buf_add_text(&e->out, ">|(?!))");
    return true;
}

/* The flags of `(?...)` or `(?...:`, whose first letter is next. */
static bool take_flags(struct ecma *e, const char *open) {
    bool is_first = open == e->flags_end;
    bool on = true;
    bool dot_all = e->dot_all[e->depth];
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    for (; e->at < e->end && *e->at != ')' && *e->at != ':'; e->at++) {
        switch (*e->at) {
        case 'a': break; /* \d and \w are about ASCII in ECMA-262 */
        case 's': dot_all = on; break;
        case 'i':
        case 'm':
            e->no_standard = *e->at == 'i' ? "the flag i, that case is ignored"
                                           : "the flag m, that ^ and $ are about lines";
            buf_add_char(&kept, *e->at);
            break;
        case '-':
            on = false;
            buf_add_char(&kept, '-');
            break;
        default: return refuse(e, "of flags in (?...), only a, i, m and s are known");
        }
    }
    bool is_group = take(e, ":");
    if (!is_group && !take(e, ")")) {
        return refuse(e, "a parenthesis is not closed");
    }
    if (!is_group && (!is_first || !on)) {
        return refuse(e, "flags such as (?i) must be at the start");
    }
    bool has_kept = kept.length > 0 && strcmp(kept.data, "-") != 0;
    e->out.failed = e->out.failed || kept.failed;
    if (is_group) {
        e->dot_all[e->depth] = dot_all;
        put_standard_text(e, open, "(?:");
        buf_printf(&e->out, "(?%s:", has_kept ? kept.data : "");
        return true;
    }
    e->depth--;
    e->dot_all[e->depth] = dot_all;
    e->flags_end = e->at;
    put_standard_text(e, open, "");
    if (has_kept) {
        buf_printf(&e->out, "(?%s)", kept.data);
    }
    return true;
}

/* After `(`. */
static bool translate_python_group(struct ecma *e, const char *open, bool *ret_is) {
    *ret_is = true;
    if (take(e, "?P<")) {
        e->groups++;
        put_standard_text(e, open, "(?<");
        buf_add_text(&e->out, "(?");
        return translate_group_name(e);
    }
    if (take(e, "?P=")) {
        return translate_python_reference(e, open);
    }
    if (e->end - e->at > 1 && (e->at[1] == '-' || ascii_is_letter(e->at[1]))) {
        e->at++;
        return take_flags(e, open);
    }
    *ret_is = false;
    return true;
}

static bool translate_group_start(struct ecma *e) {
    static const char *const plain[] = {"?:", "?=", "?!", "?<=", "?<!"};
    const char *open = e->at - 1;
    if (++e->depth > GROUP_DEPTH_MAX) {
        return refuse(e, "groups are nested too deeply");
    }
    e->dot_all[e->depth] = e->dot_all[e->depth - 1];
    e->can_repeat = false;
    if (!at_text(e, "?")) {
        e->groups++;
        buf_add_char(&e->out, '(');
        return true;
    }
    bool is_python = false;
    if (e->takes_python && (!translate_python_group(e, open, &is_python) || is_python)) {
        return e->reason == NULL;
    }
    buf_add_char(&e->out, '(');
    for (size_t i = 0; i < ARRAY_LENGTH(plain); i++) {
        if (take(e, plain[i])) {
            e->may_be_unset = e->may_be_unset || strchr(plain[i], '!') != NULL;
            buf_add_text(&e->out, plain[i]);
            return true;
        }
    }
    if (take(e, "?<")) {
        e->groups++;
        buf_add_char(&e->out, '?');
        return translate_group_name(e);
    }
    return refuse(e, "(? must be followed by :, =, !, <=, <! or <name>");
}

static bool translate_term(struct ecma *e) {
    char c = *e->at;
    switch (c) {
    case '\\': e->at++; return translate_escape(e);
    case '[': e->at++; return translate_class(e);
    case '(': e->at++; return translate_group_start(e);
    case ')':
        if (e->depth == 0) {
            return refuse(e, "a parenthesis is not opened");
        }
        e->at++;
        e->depth--;
        e->can_repeat = true;
        buf_add_char(&e->out, ')');
        return true;
    case '*':
    case '+':
    case '?':
    case '{': return translate_repeat(e);
    case '|':
    case '^':
    case '$':
        e->may_be_unset = e->may_be_unset || c == '|';
        buf_add_char(&e->out, c);
        e->at++;
        e->can_repeat = false;
        return true;
    case '.':
        e->at++;
        if (e->dot_all[e->depth]) {
            put_standard_text(e, e->at - 1, "[\\s\\S]");
        }
        buf_add_text(&e->out, e->dot_all[e->depth] ? ANY : ANY_BUT_LINE_END);
        e->can_repeat = true;
        return true;
    default: break;
    }
    e->can_repeat = true;
    e->at++;
    if (c == ']' || c == '}') {
        put_standard_text(e, e->at - 1, c == ']' ? "\\]" : "\\}");
    }
    if ((unsigned char)c < 0x80 && !ascii_is_alnum(c)) {
        put_code_point(e, (unsigned char)c);
    } else {
        buf_add_char(&e->out, c); /* bytes of UTF-8 are copied */
    }
    return true;
}

/* Parse all of it. */
static enum ecma_result read_pattern(struct ecma *e, const char *pattern, size_t length) {
    e->start = e->at = e->copied = e->flags_end = pattern;
    e->end = pattern + length;
    bool valid = true;
    while (valid && e->at < e->end) {
        valid = translate_term(e);
    }
    if (valid && e->depth > 0) {
        valid = refuse(e, "a parenthesis is not closed");
    }
    if (valid && e->max_number > e->groups) {
        valid = refuse(e, "a back reference names a group that does not exist");
    }
    return valid ? ECMA_OK : ECMA_INVALID;
}

/* Appends to a failed buffer do nothing. */
#define NOT_WANTED ((struct buf){.failed = true})

enum ecma_result ecma_check(const char *pattern, size_t length, const char **reason) {
    struct ecma e = {.out = NOT_WANTED, .standard = NOT_WANTED};
    enum ecma_result result = read_pattern(&e, pattern, length);
    *reason = e.reason;
    return result;
}

enum ecma_result ecma_translate(const char *pattern, size_t length, char **ret, size_t *ret_length,
                                const char **reason) {
    struct ecma e = {.out = BUF_INIT, .standard = NOT_WANTED, .takes_python = true};
    enum ecma_result result = read_pattern(&e, pattern, length);
    size_t out_length = e.out.length;
    CLEANUP(freep) char *text = buf_steal(&e.out);
    *reason = e.reason;
    if (result != ECMA_OK) {
        return result;
    }
    if (text == NULL) {
        return ECMA_NO_MEMORY;
    }
    *ret = STEAL(text);
    *ret_length = out_length;
    return ECMA_OK;
}

enum ecma_result ecma_standard(const char *pattern, size_t length, char **ret,
                               const char **reason) {
    struct ecma e = {.out = NOT_WANTED, .standard = BUF_INIT, .takes_python = true};
    enum ecma_result result = read_pattern(&e, pattern, length);
    if (result == ECMA_OK && e.no_standard == NULL && e.has_reference && e.may_be_unset) {
        e.no_standard = "(?P=name) for a group that may be left out of a match";
    }
    bool is_changed = e.copied != pattern;
    if (is_changed) {
        put_standard(&e, e.end, "", 0);
    }
    CLEANUP(freep) char *text = buf_steal(&e.standard);
    *reason = result == ECMA_OK ? e.no_standard : e.reason;
    if (result != ECMA_OK || e.no_standard != NULL) {
        return result != ECMA_OK ? result : ECMA_NO_STANDARD;
    }
    if (!is_changed) {
        return ECMA_OK;
    }
    if (text == NULL) {
        return ECMA_NO_MEMORY;
    }
    *ret = STEAL(text);
    return ECMA_REWRITTEN;
}
