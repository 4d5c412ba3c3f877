#include "choose/secret-form.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "schema/secret.h"

/* A text, and what was found in it. */
struct finding {
    const char *text;
    size_t length;
    bool *hidden;
    bool found;
    size_t key_end;   /* of the run of characters of keys that was read last, and of the value: */
    size_t value_end; /* so each run is read once */
};

/* What begins with one of these, with no letter or digit before it, and has some more characters
 * and a digit, is a key of a service: as their documents say. */
static const char *const beginnings[] = {
        "sk-",   "sk_live_", "sk_test_", "rk_live_", "ghp_",        "gho_",  "ghu_",  "ghs_",
        "ghr_",  "glpat-",   "AKIA",     "ASIA",     "github_pat_", "xoxb-", "xoxp-", "xoxa-",
        "xoxr-", "xoxs-",    "xapp-",    "AIza",     "ya29.",       "eyJ",   "hf_",   "npm_",
        "pypi-", "dop_v1_",  "shpat_",   "whsec_",   "trk_",        "SG."};

static const char address_sign[] = "://";
static const char private_key_sign[] = "-----BEGIN ";

/* Least characters of a key behind its beginning, and of what stands behind "password" alone. */
#define KEY_LENGTH_MIN    8u
#define VALUE_LENGTH_MIN  4u
/* Least characters of what stands behind "bearer" and has no digit. */
#define BEARER_LENGTH_MIN 16u
/* Most bytes of a value in quotation marks. */
#define QUOTED_MAX        256u
/* Characters of a key or a value in which its first digit stands. */
#define DIGIT_WITHIN      256u

/* What stands behind one of these up to white space or the next part of a URL is a secret. */
static const char *const parts[] = {"?sig=",
                                    "&sig=",
                                    "?key=",
                                    "&key=",
                                    "?signature=",
                                    "&signature=",
                                    "?token=",
                                    "&token=",
                                    "?access_token=",
                                    "&access_token=",
                                    "#access_token=",
                                    "?x-amz-signature=",
                                    "&x-amz-signature="};

/* What is called a secret. What is weak is also said of much else: "the token is expired". */
static const struct cue {
    const char *word; /* in lower case */
    bool weak;
} cues[] = {{"password", false},     {"passwort", false},   {"passwd", false},
            {"passcode", false},     {"passphrase", false}, {"pwd", false},
            {"api key", false},      {"api-key", false},    {"api_key", false},
            {"apikey", false},       {"access key", false}, {"access_key", false},
            {"secret key", false},   {"secret_key", false}, {"private key", false},
            {"credentials", true},   {"secret", true},      {"token", true},
            {"pin", true},           {"otp", true},         {"contraseña", false},
            {"mot de passe", false}, {"密码", false},       {"口令", false},
            {"密钥", false},         {"秘钥", false},       {"令牌", false},
            {"验证码", true}};

/* What may stand between that and the secret: the longer ones first. */
static const char *const links[] = {
        "设置为", "设为", "设成", "改为", "改成", "应该是",  "是",        "为", "：", "“",  "「",
        "\"",     "'",    "`",    ":",    "=",    "will be", "should be", "is", "to", "was"};

/* What ends it, beside white space, if it stands in no quotation marks. */
static const char *const ends[] = {"。", "，", "、", "；", "！", "？", "”", "」", "）",
                                   "\"", "'",  "`",  ",",  ";",  ")",  "}", "]"};

static void hide(struct finding *finding, size_t start, size_t end) {
    for (size_t i = start; i < end; i++) {
        finding->hidden[i] = true;
        finding->found = true;
    }
}

static bool is_space(char byte) {
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static bool is_of_key(char byte) {
    return ascii_is_word(byte) || byte == '-' || byte == '.' || byte == '+' || byte == '/' ||
           byte == '=' || byte == '~';
}

static bool has_at(const struct finding *finding, size_t at, const char *word) {
    if (at >= finding->length || finding->text[at] != word[0]) {
        return false;
    }
    size_t length = strlen(word);
    return length <= finding->length - at && memcmp(finding->text + at, word, length) == 0;
}

/* The same without regard to case; the word is in lower case. */
static bool says_at(const struct finding *finding, size_t at, const char *word) {
    for (size_t i = 0; word[i] != '\0'; i++) {
        if (at + i >= finding->length || ascii_lower(finding->text[at + i]) != word[i]) {
            return false;
        }
    }
    return true;
}

/* Whether a word may begin, or have ended, between a byte and the next: one of Chinese always. */
static bool is_edge(const struct finding *finding, size_t at) {
    return at == 0 || at >= finding->length || !ascii_is_alnum(finding->text[at - 1]) ||
           !ascii_is_alnum(finding->text[at]);
}

static bool has_digit(const struct finding *finding, size_t start, size_t end) {
    for (size_t i = start; i < end && i - start < DIGIT_WITHIN; i++) {
        if (ascii_is_digit(finding->text[i])) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------ by how they look */

static size_t end_of_key(struct finding *finding, size_t at) {
    while (at >= finding->key_end && at < finding->length && is_of_key(finding->text[at])) {
        at++;
    }
    finding->key_end = at > finding->key_end ? at : finding->key_end;
    return finding->key_end;
}

/* A key that begins here. */
static void find_key(struct finding *finding, size_t at) {
    for (size_t i = 0; i < ARRAY_LENGTH(beginnings); i++) {
        if (has_at(finding, at, beginnings[i])) {
            size_t length = strlen(beginnings[i]);
            size_t end = end_of_key(finding, at + length);
            if (end - at >= length + KEY_LENGTH_MIN && has_digit(finding, at + length, end)) {
                hide(finding, at, end);
            }
            return;
        }
    }
}

/* The password of an address: "://user:password@". */
static void find_in_address(struct finding *finding, size_t at) {
    if (!has_at(finding, at, address_sign)) {
        return;
    }
    size_t colon = 0;
    for (size_t i = at + 3;
         i < finding->length && !is_space(finding->text[i]) && finding->text[i] != '/'; i++) {
        if (finding->text[i] == ':' && colon == 0) {
            colon = i;
        } else if (finding->text[i] == '@' && colon != 0) {
            hide(finding, colon + 1, i);
            return;
        }
    }
}

/* A private key, to its end or that of the text. */
static void find_private_key(struct finding *finding, size_t at) {
    if (!has_at(finding, at, private_key_sign)) {
        return;
    }
    const char *rest = finding->text + at;
    size_t left = finding->length - at;
    const char *key = memmem(rest, left < 64 ? left : 64, "PRIVATE KEY", 11);
    const char *end = key != NULL ? memmem(key, left - (size_t)(key - rest), "-----END ", 9) : NULL;
    if (key != NULL) {
        hide(finding, at, end != NULL ? (size_t)(end - finding->text) : finding->length);
    }
}

/* -------------------------------------------------------------------- by how they are called */

static size_t skip_spaces(const struct finding *finding, size_t at) {
    while (at < finding->length && is_space(finding->text[at])) {
        at++;
    }
    return at;
}

/* Behind a link at a place; the place: there is none. */
static size_t skip_link(const struct finding *finding, size_t at) {
    for (size_t i = 0; i < ARRAY_LENGTH(links); i++) {
        if (!says_at(finding, at, links[i])) {
            continue;
        }
        size_t end = at + strlen(links[i]);
        if (!ascii_is_alnum(links[i][0]) || is_edge(finding, end)) {
            return end;
        }
    }
    return at;
}

/* Behind all links, with the white space between them. */
static size_t skip_links(const struct finding *finding, size_t at) {
    size_t before;
    do {
        before = at;
        at = skip_link(finding, skip_spaces(finding, at));
    } while (at > skip_spaces(finding, before));
    return skip_spaces(finding, at);
}

static bool ends_value(const struct finding *finding, size_t at) {
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        if (has_at(finding, at, ends[i])) {
            return true;
        }
    }
    return at >= finding->length || is_space(finding->text[at]);
}

/* What is a sign of the value itself, since it goes on behind it: a password has any. */
static bool goes_on(const struct finding *finding, size_t at) {
    static const char signs[] = ";,)}]'`\"";
    size_t next = at + 1;
    return at < finding->length && strchr(signs, finding->text[at]) != NULL &&
           finding->text[at] != '\0' && next < finding->length &&
           ascii_is_alnum(finding->text[next]);
}

static size_t end_of_value(struct finding *finding, size_t at) {
    while (at >= finding->value_end && (!ends_value(finding, at) || goes_on(finding, at))) {
        at++;
    }
    finding->value_end = at > finding->value_end ? at : finding->value_end;
    return finding->value_end;
}

/* The end of a value that begins behind a quotation mark: at the closing one, if that is near. */
static size_t end_of_quoted(const struct finding *finding, size_t start) {
    static const struct {
        const char *open;
        const char *close;
    } marks[] = {{"\"", "\""}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"「", "」"}};
    size_t left = finding->length - start;
    for (size_t i = 0; i < ARRAY_LENGTH(marks); i++) {
        size_t length = strlen(marks[i].open);
        if (start >= length && has_at(finding, start - length, marks[i].open)) {
            const char *close = memmem(finding->text + start, left < QUOTED_MAX ? left : QUOTED_MAX,
                                       marks[i].close, strlen(marks[i].close));
            return close != NULL ? (size_t)(close - finding->text) : start;
        }
    }
    return start;
}

/* Whether what stands behind a cue is a secret: what is linked to a strong cue always, else what no
 * word is. */
static bool is_secret(const struct finding *finding, const struct cue *cue, bool linked,
                      size_t start, size_t end) {
    if (end <= start || (linked && !cue->weak)) {
        return end > start;
    }
    return has_digit(finding, start, end) &&
           (linked || (end - start >= VALUE_LENGTH_MIN && (finding->text[start] & 0x80) == 0));
}

/* Whether "authorization:" stands before a place. */
static bool is_authorization(const struct finding *finding, size_t at) {
    static const char word[] = "authorization";
    while (at > 0 && (is_space(finding->text[at - 1]) || strchr(":='\"", finding->text[at - 1]))) {
        at--;
    }
    return at >= sizeof word - 1 && says_at(finding, at - (sizeof word - 1), word);
}

/* What stands in a URL for a right. */
static void find_in_url(struct finding *finding, size_t at) {
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        if (says_at(finding, at, parts[i])) {
            size_t start = at + strlen(parts[i]);
            size_t end = start;
            while (end < finding->length && !is_space(finding->text[end]) &&
                   strchr("&#\"'<>)", finding->text[end]) == NULL) {
                end++;
            }
            hide(finding, start, end);
            return;
        }
    }
}

/* What a header of HTTP authorizes with: "Bearer X", "Authorization: Basic X", "Cookie: a=X". */
static void find_in_header(struct finding *finding, size_t at) {
    static const struct {
        const char *word;
        bool header; /* only behind "authorization" */
        bool named;  /* only what is behind "=" */
    } rows[] = {{"bearer", false, false}, {"basic", true, false}, {"cookie", false, true}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        size_t behind = at + strlen(rows[i].word);
        if (!says_at(finding, at, rows[i].word) || !is_edge(finding, behind) ||
            (rows[i].header && !is_authorization(finding, at))) {
            continue;
        }
        size_t start = skip_links(finding, behind);
        size_t end = end_of_value(finding, start);
        const char *sign = rows[i].named && end > start
                                   ? memchr(finding->text + start, '=',
                                            end - start < QUOTED_MAX ? end - start : QUOTED_MAX)
                                   : NULL;
        start = sign != NULL ? (size_t)(sign - finding->text) + 1 : start;
        bool known = sign != NULL || rows[i].header ||
                     (!rows[i].named &&
                      (has_digit(finding, start, end) || end - start >= BEARER_LENGTH_MIN)) ||
                     (!rows[i].named && is_authorization(finding, at));
        if (known && end > start) {
            hide(finding, start, end);
        }
        return;
    }
}

/* "mysql -pX". */
static void find_option(struct finding *finding, size_t at) {
    static const char *const programs[] = {"mysql", "mysqldump", "mysqladmin", "mariadb"};
    for (size_t i = 0; i < ARRAY_LENGTH(programs); i++) {
        size_t end = at + strlen(programs[i]);
        if (!says_at(finding, at, programs[i]) || end >= finding->length ||
            !is_space(finding->text[end])) {
            continue;
        }
        for (size_t j = end; j + 3 < finding->length && j - end < QUOTED_MAX; j++) {
            if (is_space(finding->text[j]) && has_at(finding, j + 1, "-p") &&
                !is_space(finding->text[j + 3])) {
                hide(finding, j + 3, end_of_value(finding, j + 3));
                return;
            }
        }
    }
}

static void find_called(struct finding *finding, size_t at) {
    for (size_t i = 0; i < ARRAY_LENGTH(cues); i++) {
        if (!says_at(finding, at, cues[i].word)) {
            continue;
        }
        size_t behind = at + strlen(cues[i].word);
        if (is_edge(finding, behind)) {
            size_t start = skip_links(finding, behind);
            size_t quoted = end_of_quoted(finding, start);
            size_t end = quoted > start ? quoted : end_of_value(finding, start);
            bool linked = start > skip_spaces(finding, behind);
            if (is_secret(finding, &cues[i], linked, start, end)) {
                hide(finding, start, end);
            }
            return;
        }
    }
}

/* --------------------------------------------------------------------------------- together */

/* The bytes that something begins with, letters in lower case. */
static void find_firsts(bool ret[UCHAR_MAX + 1]) {
    memset(ret, 0, (UCHAR_MAX + 1) * sizeof *ret);
    ret[(unsigned char)address_sign[0]] = ret[(unsigned char)private_key_sign[0]] = true;
    ret['?'] = ret['&'] = ret['#'] = ret['b'] = ret['c'] = ret['m'] = true;
    for (size_t i = 0; i < ARRAY_LENGTH(beginnings); i++) {
        ret[(unsigned char)ascii_lower(beginnings[i][0])] = true;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(cues); i++) {
        ret[(unsigned char)cues[i].word[0]] = true;
    }
}

bool secret_form_find(const char *text, size_t length, bool *hidden) {
    struct finding finding = {.text = text, .length = length, .hidden = hidden};
    bool firsts[UCHAR_MAX + 1];
    find_firsts(firsts);
    for (size_t at = 0; at < length; at++) {
        bool begins = firsts[(unsigned char)ascii_lower(text[at])];
        if (!begins || hidden[at] || !is_edge(&finding, at)) {
            continue;
        }
        find_key(&finding, at);
        find_in_address(&finding, at);
        find_private_key(&finding, at);
        find_called(&finding, at);
        find_in_url(&finding, at);
        find_in_header(&finding, at);
        find_option(&finding, at);
    }
    return finding.found;
}

void secret_form_collect(const char *text, size_t length, struct buf *ret) {
    CLEANUP(freep) bool *hidden = calloc(length + 1, sizeof *hidden);
    if (hidden == NULL) {
        ret->failed = true;
        return;
    }
    (void)secret_form_find(text, length, hidden);
    for (size_t start = 0; start < length;) {
        size_t end = start;
        while (hidden[end]) {
            end++;
        }
        if (end - start >= SECRET_LENGTH_MIN) {
            buf_add(ret, text + start, end - start);
            buf_add_char(ret, '\0');
        }
        start = end + 1;
    }
}

char *secret_form_write(const char *text, size_t length, const bool *hidden, size_t *ret_length) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    for (size_t i = 0; i < length; i++) {
        if (!hidden[i]) {
            buf_add_char(&out, text[i]);
        } else if (i == 0 || !hidden[i - 1]) {
            buf_add_text(&out, SECRET_MASK);
        }
    }
    *ret_length = out.length;
    return length == 0 ? strdup("") : buf_steal(&out);
}

char *secret_form_mask(const char *text, size_t length, size_t *ret_length) {
    CLEANUP(freep) bool *hidden = calloc(length + 1, sizeof *hidden);
    if (hidden == NULL) {
        return NULL;
    }
    (void)secret_form_find(text, length, hidden);
    return secret_form_write(text, length, hidden, ret_length);
}
