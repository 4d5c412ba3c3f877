#include "name.h"

#include <stdint.h>
#include <string.h>

#define PART_MAX  255
#define DEPTH_MAX 64

/* The bytes of the character that begins here, and whether it may stand in a name. 0: no UTF-8. */
static size_t character(const unsigned char *at, bool *ret_is_plain) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = at[0] < 0x80       ? 1
                    : at[0] >> 5 == 6  ? 2
                    : at[0] >> 4 == 14 ? 3
                    : at[0] >> 3 == 30 ? 4
                                       : 0;
    uint32_t code = length < 2 ? at[0] : at[0] & (0x7fU >> length);
    for (size_t i = 1; i < length; i++) {
        if (at[i] >> 6 != 2) {
            return 0;
        }
        code = code << 6 | (at[i] & 0x3f);
    }
    if (length == 0 || code < least[length] || code > 0x10ffff || (code >> 11) == 27) {
        return 0;
    }
    /* Controls, and what turns the direction of text so that a name looks like another one. */
    *ret_is_plain = code >= 0x20 && (code < 0x7f || code > 0x9f) &&
                    (code < 0x202a || code > 0x202e) && (code < 0x2066 || code > 0x2069);
    return length;
}

static bool is_separator(char c) {
    return c == '/' || c == '\\';
}

/* One name of the path, with what must not be in it as "_"; its length, or 0: too long. */
static size_t clean_part(const char *part, size_t length, char *out) {
    size_t made = 0;
    for (size_t i = 0; i < length;) {
        bool is_plain = false;
        size_t bytes = character((const unsigned char *)part + i, &is_plain);
        size_t kept = bytes > 0 && is_plain ? bytes : 1;
        if (made + kept > PART_MAX) {
            return 0;
        }
        if (bytes > 0 && is_plain) {
            memcpy(out + made, part + i, bytes);
        } else {
            out[made] = '_';
        }
        made += kept;
        i += bytes > 0 ? bytes : 1;
    }
    return made;
}

enum name_fault name_clean(const char *name, char ret[NAME_SIZE_MAX]) {
    bool has_drive = ((name[0] >= 'A' && name[0] <= 'Z') || (name[0] >= 'a' && name[0] <= 'z')) &&
                     name[1] == ':' && is_separator(name[2]);
    if (is_separator(name[0]) || has_drive) {
        return NAME_ABSOLUTE;
    }
    size_t made = 0;
    unsigned depth = 0;
    for (const char *at = name; *at != '\0';) {
        size_t length = strcspn(at, "/\\");
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            return NAME_UPWARDS;
        }
        if (length > 0 && !(length == 1 && at[0] == '.')) {
            char part[PART_MAX];
            size_t kept = clean_part(at, length, part);
            if (kept == 0 || made + kept + 2 > NAME_SIZE_MAX) {
                return NAME_TOO_LONG;
            }
            if (++depth > DEPTH_MAX) {
                return NAME_TOO_DEEP;
            }
            if (made > 0) {
                ret[made++] = '/';
            }
            memcpy(ret + made, part, kept);
            made += kept;
        }
        at += length;
        at += *at != '\0';
    }
    if (made == 0) {
        return NAME_EMPTY;
    }
    ret[made] = '\0';
    /* A folder ends with a slash in most archives, and all begin with "./" in some: no change. */
    name += strncmp(name, "./", 2) == 0 ? 2 : 0;
    size_t given = strlen(name);
    given -= given > 0 && name[given - 1] == '/';
    bool is_same = given == made && memcmp(name, ret, made) == 0;
    return is_same ? NAME_OK : NAME_CHANGED;
}

const char *name_explain(enum name_fault fault) {
    switch (fault) {
    case NAME_ABSOLUTE: return "its name is an absolute path";
    case NAME_UPWARDS: return "its name leads out of the destination by \"..\"";
    case NAME_TOO_LONG: return "its name is longer than 4,095 bytes, or a part of it than 255";
    case NAME_TOO_DEEP: return "its name has more than 64 folders";
    case NAME_EMPTY: return "its name is empty";
    default: return "its name is fine";
    }
}
