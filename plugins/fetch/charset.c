#include "charset.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unicode/ucnv.h>
#include <unicode/ustring.h>

#define META_RANGE 1024

/* What pages say and browsers take for something else, with the names of ICU: pages that say
 * ISO-8859-1 are in windows-1252, and so on (WHATWG's Encoding Standard). */
static const struct {
    const char *said;
    const char *meant;
} meant[] = {
        {"iso-8859-1", "windows-1252"},
        {"iso8859-1", "windows-1252"},
        {"latin1", "windows-1252"},
        {"latin-1", "windows-1252"},
        {"l1", "windows-1252"},
        {"ascii", "windows-1252"},
        {"us-ascii", "windows-1252"},
        {"x-cp1252", "windows-1252"},
        {"iso-8859-9", "windows-1254"},
        {"latin5", "windows-1254"},
        {"iso-8859-11", "windows-874"},
        {"tis-620", "windows-874"},
        {"gb2312", "gb18030"},
        {"gbk", "gb18030"},
        {"gb_2312-80", "gb18030"},
        {"x-gbk", "gb18030"},
        {"shift_jis", "ibm-943_P15A-2003"},
        {"shift-jis", "ibm-943_P15A-2003"},
        {"sjis", "ibm-943_P15A-2003"},
        {"x-sjis", "ibm-943_P15A-2003"},
        {"windows-31j", "ibm-943_P15A-2003"},
        {"euc-kr", "windows-949"},
        {"ks_c_5601-1987", "windows-949"},
        {"korean", "windows-949"},
        {"big5", "Big5-HKSCS"},
        {"x-x-big5", "Big5-HKSCS"},
        {"unicode", "UTF-16LE"},
        {"utf-16", "UTF-16LE"},
        {"utf8", "UTF-8"},
        {"unicode-1-1-utf-8", "UTF-8"},
};

static void take_label(const char *label, size_t length, char ret[CHARSET_NAME_SIZE]) {
    if (length == 0 || length >= CHARSET_NAME_SIZE) {
        ret[0] = '\0';
        return;
    }
    memcpy(ret, label, length);
    ret[length] = '\0';
    for (size_t i = 0; i < sizeof meant / sizeof meant[0]; i++) {
        if (strcasecmp(ret, meant[i].said) == 0) {
            (void)snprintf(ret, CHARSET_NAME_SIZE, "%s", meant[i].meant);
            return;
        }
    }
}

/* The value after "charset=" in a text of a given length, with or without quotes. */
static bool find_value(const char *text, size_t length, char ret[CHARSET_NAME_SIZE]) {
    static const char key[] = "charset";
    const char *end = text + length;
    for (const char *at = text; (size_t)(end - at) > sizeof key; at++) {
        if (strncasecmp(at, key, sizeof key - 1) != 0) {
            continue;
        }
        const char *value = at + sizeof key - 1;
        while (value < end && isspace((unsigned char)*value)) {
            value++;
        }
        if (value == end || *value != '=') {
            continue;
        }
        value++;
        while (value < end && (isspace((unsigned char)*value) || *value == '"' || *value == '\'')) {
            value++;
        }
        size_t count = 0;
        while (value + count < end && value[count] != '\0' &&
               strchr(" \t\r\n\f;\"'/>", value[count]) == NULL) {
            count++;
        }
        take_label(value, count, ret);
        return ret[0] != '\0';
    }
    return false;
}

/* In the first <meta> that has one; comments are passed over. */
static bool find_meta(const char *bytes, size_t length, char ret[CHARSET_NAME_SIZE]) {
    const char *end = bytes + (length < META_RANGE ? length : META_RANGE);
    for (const char *at = bytes; end - at > 6; at++) {
        if (memcmp(at, "<!--", 4) == 0) {
            const char *stop = memmem(at + 4, (size_t)(end - at - 4), "-->", 3);
            if (stop == NULL) {
                return false;
            }
            at = stop + 2;
            continue;
        }
        if (strncasecmp(at, "<meta", 5) != 0) {
            continue;
        }
        const char *stop = memchr(at, '>', (size_t)(end - at));
        stop = stop != NULL ? stop : end;
        if (find_value(at, (size_t)(stop - at), ret)) {
            /* What was read as ASCII so far is not in UTF-16. */
            if (strncasecmp(ret, "UTF-16", 6) == 0) {
                take_label("UTF-8", 5, ret);
            }
            return true;
        }
    }
    return false;
}

static bool is_utf8(const char *bytes, size_t length) {
    UErrorCode code = U_ZERO_ERROR;
    int32_t units;
    (void)u_strFromUTF8(NULL, 0, &units, bytes, (int32_t)length, &code);
    return code == U_BUFFER_OVERFLOW_ERROR || U_SUCCESS(code);
}

static bool is_known(const char *charset) {
    UErrorCode code = U_ZERO_ERROR;
    UConverter *converter = ucnv_open(charset, &code);
    ucnv_close(converter);
    return U_SUCCESS(code);
}

void charset_find(const char *bytes, size_t length, const char *content_type, bool is_html,
                  char ret[CHARSET_NAME_SIZE]) {
    bool is_found = true;
    if (length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0) {
        take_label("UTF-8", 5, ret);
    } else if (length >= 2 && memcmp(bytes, "\xfe\xff", 2) == 0) {
        take_label("UTF-16BE", 8, ret);
    } else if (length >= 2 && memcmp(bytes, "\xff\xfe", 2) == 0) {
        take_label("UTF-16LE", 8, ret);
    } else {
        is_found = (content_type != NULL && find_value(content_type, strlen(content_type), ret) &&
                    is_known(ret)) ||
                   (is_html && find_meta(bytes, length, ret) && is_known(ret));
    }
    if (!is_found) {
        take_label(is_utf8(bytes, length) ? "UTF-8" : "windows-1252",
                   is_utf8(bytes, length) ? 5 : 12, ret);
    }
}

/* To UTF-16 and from there to UTF-8, both in one go: a page is small. */
static UChar *to_units(const char *bytes, size_t length, const char *charset, int32_t *ret_count) {
    UErrorCode code = U_ZERO_ERROR;
    UConverter *converter = ucnv_open(charset, &code);
    if (U_FAILURE(code)) {
        return NULL;
    }
    int32_t room = (int32_t)length * 2 + 8; /* a byte makes at most two units */
    UChar *units = malloc(sizeof *units * (size_t)room);
    if (units != NULL) {
        *ret_count = ucnv_toUChars(converter, units, room, bytes, (int32_t)length, &code);
    }
    ucnv_close(converter);
    if (U_FAILURE(code)) {
        free(units);
        return NULL;
    }
    return units;
}

char *charset_decode(const char *bytes, size_t length, const char *charset, size_t *ret_length) {
    if (length > INT32_MAX / 8) {
        return NULL;
    }
    int32_t count = 0;
    UChar *units = to_units(bytes, length, charset, &count);
    if (units == NULL) {
        return NULL;
    }
    for (int32_t i = 0; i < count; i++) {
        units[i] = units[i] == 0 ? 0xfffd : units[i];
    }
    int32_t start = count > 0 && units[0] == 0xfeff;
    int32_t room = (count - start) * 3 + 1;
    int32_t made = 0;
    char *text = malloc((size_t)room);
    UErrorCode code = U_ZERO_ERROR;
    if (text != NULL) {
        (void)u_strToUTF8WithSub(text, room, &made, units + start, count - start, 0xfffd, NULL,
                                 &code);
    }
    free(units);
    if (text == NULL || U_FAILURE(code)) {
        free(text);
        return NULL;
    }
    text[made] = '\0';
    *ret_length = (size_t)made;
    return text;
}
