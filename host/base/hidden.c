#include "base/hidden.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"

struct range {
    uint32_t first;
    uint32_t last;
};

/* What has no shape: Default_Ignorable_Code_Point of Unicode 16, the separators of lines and
 * paragraphs, and the annotation characters; ascending. */
static const struct range shapeless[] = {
        {0x00ad, 0x00ad},   {0x034f, 0x034f}, {0x061c, 0x061c},   {0x115f, 0x1160},
        {0x17b4, 0x17b5},   {0x180b, 0x180f}, {0x200b, 0x200f},   {0x2028, 0x202e},
        {0x2060, 0x206f},   {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},   {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff},
};

/* Scripts whose letters a joiner joins or parts: Arabic, Syriac, N'Ko and their supplements, the
 * scripts of India and Sri Lanka, Tibetan, Myanmar, Khmer, Mongolian, and those of Java and Bali.
 */
static const struct range joining[] = {
        {0x0620, 0x06ff}, {0x0710, 0x08ff}, {0x0900, 0x0dff}, {0x0f00, 0x0fff}, {0x1000, 0x109f},
        {0x1780, 0x17b3}, {0x17b6, 0x17dd}, {0x1820, 0x18aa}, {0x1b00, 0x1b7f}, {0xa840, 0xa8ff},
        {0xa980, 0xa9df}, {0xaa60, 0xaa7f}, {0xfb50, 0xfdff}, {0xfe70, 0xfefc}, {0x11000, 0x11fff},
};

/* Scripts without spaces between words: Thai, Lao, Tibetan, Myanmar, Khmer. */
static const struct range unspaced[] = {
        {0x0e01, 0x0eff}, {0x0f00, 0x0fff}, {0x1000, 0x109f}, {0x1780, 0x17b3}, {0x17b6, 0x17dd},
};

/* Characters with a form as text and one as emoji. */
static const struct range pictured[] = {
        {0x0023, 0x0023}, {0x002a, 0x002a}, {0x0030, 0x0039},   {0x00a9, 0x00a9},
        {0x00ae, 0x00ae}, {0x203c, 0x203c}, {0x2049, 0x2049},   {0x2100, 0x2bff},
        {0x3030, 0x303d}, {0x3297, 0x3299}, {0x1f000, 0x1faff},
};

/* Emoji that U+200D may join, the skin tones among them. */
static const struct range emoji[] = {
        {0x2194, 0x2bff},
        {0x1f300, 0x1faff},
};

/* Characters with variants that are no emoji: mathematical signs, ideographs and their
 * punctuation, Myanmar, Phags-pa. */
static const struct range varied[] = {
        {0x0030, 0x0030}, {0x1000, 0x109f}, {0x2205, 0x22ff}, {0x2a00, 0x2aff}, {0x3001, 0x3002},
        {0x3400, 0x9fff}, {0xa840, 0xa87f}, {0xf900, 0xfaff}, {0xff01, 0xff1f}, {0x20000, 0x3ffff},
};

static const struct range ideographs[] = {
        {0x3400, 0x9fff},
        {0xf900, 0xfaff},
        {0x20000, 0x3ffff},
};

static const struct range mongolian[] = {{0x1820, 0x18aa}};

#define ZERO_WIDTH_SPACE 0x200bu
#define NON_JOINER       0x200cu
#define JOINER           0x200du
#define TEXT_STYLE       0xfe0eu
#define EMOJI_STYLE      0xfe0fu
#define BLACK_FLAG       0x1f3f4u
#define TAG_FIRST        0xe0000u

static bool is_in(uint32_t point, const struct range *ranges, size_t count) {
    for (size_t i = 0; i < count && ranges[i].first <= point; i++) {
        if (point <= ranges[i].last) {
            return true;
        }
    }
    return false;
}
#define IS_IN(point, ranges) is_in(point, ranges, ARRAY_LENGTH(ranges))

/* Bytes of the tags at the start of `text` that make a flag of the black flag before them. */
static size_t flag_tags(const char *text, size_t length) {
    static const char *const regions[] = {"gbeng", "gbsct", "gbwls"};
    for (size_t i = 0; i < ARRAY_LENGTH(regions); i++) {
        size_t at = 0;
        size_t letters = 0;
        for (bool same = true; same && letters <= strlen(regions[i]); letters += same) {
            /* The last tag is that of U+007F. */
            uint32_t want =
                    letters < strlen(regions[i]) ? (unsigned char)regions[i][letters] : 0x7f;
            uint32_t point;
            size_t n = utf8_decode(text + at, length - at, &point);
            same = n > 0 && point == TAG_FIRST + want;
            at += same ? n : 0;
        }
        if (letters > strlen(regions[i])) {
            return at;
        }
    }
    return 0;
}

static bool is_of_word(uint32_t point) {
    return (point >= '0' && point <= '9') || ((point | 0x20) >= 'a' && (point | 0x20) <= 'z') ||
           (point >= 0xc0 && point < 0x300);
}

/* Whether a shapeless character is needed where it stands. `before` is the code point before it, 0
 * if there is none, and `text` what follows. A suffix of a joining script may be parted from a word
 * of another one. */
static bool is_needed(uint32_t point, uint32_t before, const char *text, size_t length) {
    uint32_t next = 0;
    switch (point) {
    case NON_JOINER:
        return IS_IN(before, joining) ||
               (is_of_word(before) && utf8_decode(text, length, &next) > 0 && IS_IN(next, joining));
    case JOINER:
        return IS_IN(before, joining) ||
               ((before == EMOJI_STYLE || IS_IN(before, emoji)) &&
                utf8_decode(text, length, &next) > 0 && IS_IN(next, emoji));
    case ZERO_WIDTH_SPACE: return IS_IN(before, unspaced);
    case TEXT_STYLE:
    case EMOJI_STYLE: return IS_IN(before, pictured);
    default: break;
    }
    if (point >= 0xfe00 && point < TEXT_STYLE) {
        return IS_IN(before, varied);
    }
    if (point >= 0xe0100 && point <= 0xe01ef) {
        return IS_IN(before, ideographs);
    }
    return point >= 0x180b && point <= 0x180f && IS_IN(before, mongolian);
}

size_t hidden_find(const char *text, size_t length, size_t *ret_size, uint32_t *ret_point) {
    uint32_t before = 0;
    for (size_t at = 0; at < length;) {
        uint64_t word;
        for (; length - at >= sizeof word; at += sizeof word) { /* most text is ASCII */
            memcpy(&word, text + at, sizeof word);
            if ((word & UINT64_C(0x8080808080808080)) != 0) {
                break;
            }
            before = (unsigned char)text[at + sizeof word - 1];
        }
        if (at == length) {
            break;
        }
        if ((unsigned char)text[at] < 0x80) {
            before = (unsigned char)text[at++];
            continue;
        }
        uint32_t point = 0;
        size_t n = utf8_decode(text + at, length - at, &point);
        size_t end = at + (n > 0 ? n : 1);
        if (point == BLACK_FLAG) {
            end += flag_tags(text + end, length - end);
        } else if (n > 0 && IS_IN(point, shapeless) &&
                   !is_needed(point, before, text + end, length - end)) {
            if (ret_size != NULL) {
                *ret_size = n;
            }
            if (ret_point != NULL) {
                *ret_point = point;
            }
            return at;
        }
        before = point;
        at = end;
    }
    return length;
}

bool hidden_has(const char *text, size_t length) {
    return hidden_find(text, length, NULL, NULL) < length;
}

void hidden_add_escape(struct buf *out, uint32_t point) {
    if (point < 0x10000) {
        buf_printf(out, "\\u%04x", point);
    } else {
        buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((point - 0x10000) >> 10),
                   0xdc00 + ((point - 0x10000) & 0x3ff));
    }
}

void hidden_add_parts(struct buf *out, const char *text, size_t length, hidden_add_part *add) {
    size_t at = 0;
    while (at < length) {
        size_t size = 0;
        uint32_t point = 0;
        size_t found = at + hidden_find(text + at, length - at, &size, &point);
        add(out, text + at, found - at);
        if (found < length) {
            hidden_add_escape(out, point);
        }
        at = found + size;
    }
}

static void add_unchanged(struct buf *out, const char *text, size_t length) {
    buf_add(out, text, length);
}

void hidden_add_visible(struct buf *out, const char *text, size_t length) {
    hidden_add_parts(out, text, length, add_unchanged);
}
