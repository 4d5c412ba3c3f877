#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

yyjson_val *json_at(yyjson_val *root, const char *path) {
    if (path == NULL) {
        return NULL;
    }
    /* A path without these is the name of a member of the root, with nothing to unescape. */
    bool is_name = true;
    size_t length = 0;
    for (; path[length] != '\0'; length++) {
        if (length == JSON_PATH_LENGTH_MAX) {
            return NULL;
        }
        is_name = is_name && path[length] != '/' && path[length] != '~';
    }
    if (length == 0) {
        return root;
    }
    if (is_name) {
        return yyjson_obj_getn(root, path, length);
    }
    if (path[0] == '/') {
        return yyjson_ptr_getn(root, path, length);
    }
    char pointer[JSON_PATH_LENGTH_MAX + 2];
    pointer[0] = '/';
    memcpy(pointer + 1, path, length);
    return yyjson_ptr_getn(root, pointer, length + 1);
}

const char *json_setting(yyjson_val *root, const char *path, const yyjson_alc *alc) {
    yyjson_val *value = json_at(root, path);
    if (value == NULL || yyjson_is_null(value)) {
        return NULL;
    }
    return yyjson_is_str(value)
                   ? yyjson_get_str(value)
                   : yyjson_val_write_opts(value, YYJSON_WRITE_NOFLAG, alc, NULL, NULL);
}

bool json_has_text(yyjson_val *value, const char *text) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (value, at, count, item) {
        if (yyjson_equals_str(item, text)) {
            return true;
        }
    }
    return yyjson_equals_str(value, text);
}

bool json_mut_has_text(yyjson_mut_val *value, const char *text) {
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    yyjson_mut_arr_foreach(value, at, count, item) {
        if (yyjson_mut_equals_str(item, text)) {
            return true;
        }
    }
    return yyjson_mut_equals_str(value, text);
}

/* ----------------------------------------------------------- plain characters */

/* A word of eight bytes, each equal to `byte`. */
#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))

/* Sets the high bit of each byte that must be escaped, and possibly of bytes above the lowest of
 * them. Flipping 0x02 moves the quote right after the control characters; for bytes below 0x80,
 * both subtractions borrow only for the bytes searched for. */
static uint64_t special_bytes(uint64_t word) {
    uint64_t control_or_quote = (word ^ EACH(0x02)) - EACH(0x21);
    uint64_t backslash = (word ^ EACH('\\')) - EACH(1);
    return (control_or_quote | backslash) & ~word & EACH(0x80);
}

/* Eight bytes at a time, in long texts 32: byte by byte, a result of a few hundred bytes took a
 * quarter of its call here. */
size_t json_plain_run(const char *text, size_t length) {
    size_t at = 0;
    uint64_t words[4];
    for (; length - at >= sizeof words; at += sizeof words) {
        memcpy(words, text + at, sizeof words);
        if ((special_bytes(words[0]) | special_bytes(words[1]) | special_bytes(words[2]) |
             special_bytes(words[3])) != 0) {
            break;
        }
    }
    for (; length - at >= sizeof words[0]; at += sizeof words[0]) {
        memcpy(words, text + at, sizeof words[0]);
        uint64_t special = special_bytes(words[0]);
        if (special != 0) {
            return at + (size_t)__builtin_ctzll(special) / 8; /* the first byte is the lowest */
        }
    }
    while (at < length && (unsigned char)text[at] >= 0x20 && text[at] != '"' && text[at] != '\\') {
        at++;
    }
    return at;
}

/* The values of a parsed text are one array in the order of the text, and each array or object
 * knows where it ends. */
bool json_is_deeper(const yyjson_val *root, unsigned max) {
    const yyjson_val *ends[JSON_DEEPER_MAX];
    unsigned depth = 0;
    const yyjson_val *end = unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)root);
    if ((size_t)(end - root) <= max) {
        return false; /* not even as many values */
    }
    for (const yyjson_val *value = root; value < end; value++) {
        while (depth > 0 && value >= ends[depth - 1]) {
            depth--;
        }
        if (!unsafe_yyjson_is_ctn((void *)(uintptr_t)value)) {
            continue;
        }
        if (depth == max || depth == JSON_DEEPER_MAX) {
            return true;
        }
        ends[depth++] = unsafe_yyjson_get_next((yyjson_val *)(uintptr_t)value);
    }
    return false;
}
