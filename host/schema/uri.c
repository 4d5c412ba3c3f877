#include "schema/uri.h"

#include <string.h>

#include "base/ascii.h"

static struct uri_part part(const char *data, size_t length) {
    return (struct uri_part){data, length};
}

/* Cut `*rest` at the first of `stops`; returns the part before it. */
static struct uri_part take_until(struct uri_part *rest, const char *stops) {
    size_t n = 0;
    while (n < rest->length && (rest->data[n] == '\0' || strchr(stops, rest->data[n]) == NULL)) {
        n++;
    }
    struct uri_part taken = part(rest->data, n);
    *rest = part(rest->data + n, rest->length - n);
    return taken;
}

static bool starts_with(struct uri_part rest, const char *prefix) {
    size_t length = strlen(prefix);
    return rest.length >= length && memcmp(rest.data, prefix, length) == 0;
}

static bool is_scheme(struct uri_part name) {
    for (size_t i = 0; i < name.length; i++) {
        char c = name.data[i];
        bool other = ascii_is_digit(c) || c == '+' || c == '-' || c == '.';
        if (!ascii_is_letter(c) && (i == 0 || !other)) {
            return false;
        }
    }
    return name.length > 0;
}

struct uri uri_split(const char *text, size_t length) {
    struct uri uri = {0};
    struct uri_part rest = part(text, length);
    struct uri_part first = take_until(&rest, ":/?#");
    if (starts_with(rest, ":") && is_scheme(first)) {
        uri.scheme = first;
        rest = part(rest.data + 1, rest.length - 1);
    } else {
        rest = part(text, length);
    }
    if (starts_with(rest, "//")) {
        rest = part(rest.data + 2, rest.length - 2);
        uri.authority = take_until(&rest, "/?#");
    }
    uri.path = take_until(&rest, "?#");
    if (starts_with(rest, "?")) {
        rest = part(rest.data + 1, rest.length - 1);
        uri.query = take_until(&rest, "#");
    }
    if (starts_with(rest, "#")) {
        uri.fragment = part(rest.data + 1, rest.length - 1);
    }
    return uri;
}

/* The position of the last slash in path[0..length); 0 if there is none. */
static size_t last_slash(const char *path, size_t length) {
    while (length > 0 && path[length - 1] != '/') {
        length--;
    }
    return length > 0 ? length - 1 : 0;
}

/* Resolve "." and ".." in place; returns the new length. Reads and writes go in one direction. */
static size_t remove_dot_segments(char *path, size_t length) {
    size_t out = 0;
    size_t at = 0;
    while (at < length) {
        size_t end = at + (path[at] == '/');
        while (end < length && path[end] != '/') {
            end++;
        }
        size_t name = at + (path[at] == '/');
        size_t n = end - name;
        bool dot = n == 1 && path[name] == '.';
        bool dots = n == 2 && path[name] == '.' && path[name + 1] == '.';
        bool last = end == length;
        if (!dot && !dots) {
            memmove(path + out, path + at, end - at);
            out += end - at;
        } else {
            if (dots) {
                out = last_slash(path, out);
            }
            if (last && path[at] == '/') {
                path[out++] = '/';
            }
        }
        at = end;
    }
    return out;
}

/* The base's path up to its last slash, then the reference's. */
static size_t merge_paths(char *to, const struct uri *base, struct uri_part path) {
    size_t kept = 0;
    if (base->authority.data != NULL && base->path.length == 0) {
        to[kept++] = '/';
    } else {
        kept = base->path.length;
        while (kept > 0 && base->path.data[kept - 1] != '/') {
            kept--;
        }
        memcpy(to, base->path.data, kept);
    }
    memcpy(to + kept, path.data, path.length);
    return kept + path.length;
}

static char *put(char *to, const char *before, struct uri_part piece, const char *after) {
    if (piece.data != NULL) {
        to = stpcpy(to, before);
        memcpy(to, piece.data, piece.length);
        to = stpcpy(to + piece.length, after);
    }
    return to;
}

char *uri_resolve(struct arena *arena, const char *base_text, const struct uri *reference) {
    struct uri base = uri_split(base_text, strlen(base_text));
    struct uri target = *reference;
    size_t room = base.path.length + reference->path.length + 2;
    char *path = arena_alloc(arena, room);
    if (path == NULL) {
        return NULL;
    }
    size_t length = reference->path.length;
    memcpy(path, reference->path.data, length);
    bool normalise = true;
    if (reference->scheme.data == NULL) {
        target.scheme = base.scheme;
        if (reference->authority.data == NULL) {
            target.authority = base.authority;
            if (length == 0) {
                length = base.path.length;
                memcpy(path, base.path.data, length);
                normalise = false;
                target.query = reference->query.data != NULL ? reference->query : base.query;
            } else if (path[0] != '/') {
                length = merge_paths(path, &base, reference->path);
            }
        }
    }
    /* Dots have no meaning in an opaque path such as that of a URN. */
    if (normalise && length > 0 && (path[0] == '/' || base_text[0] != '\0')) {
        length = remove_dot_segments(path, length);
    }
    char *text = arena_alloc(arena, target.scheme.length + target.authority.length + length +
                                            target.query.length + sizeof "://?#");
    if (text != NULL) {
        char *end = put(text, "", target.scheme, ":");
        end = put(end, "//", target.authority, "");
        end = put(end, "", part(path, length), "");
        end = put(end, "?", target.query, "");
        *end = '\0';
    }
    return text;
}

char *uri_decode(struct arena *arena, struct uri_part encoded, size_t *ret_length) {
    char *text = arena_copy(arena, encoded.data, encoded.length);
    if (text == NULL) {
        return NULL;
    }
    size_t out = 0;
    for (size_t i = 0; i < encoded.length; i++) {
        int high = text[i] == '%' && i + 2 < encoded.length ? ascii_hex_value(text[i + 1]) : -1;
        int low = high >= 0 ? ascii_hex_value(text[i + 2]) : -1;
        if (low >= 0) {
            text[out++] = (char)(high * 16 + low);
            i += 2;
        } else {
            text[out++] = text[i];
        }
    }
    text[out] = '\0';
    *ret_length = out;
    return text;
}
