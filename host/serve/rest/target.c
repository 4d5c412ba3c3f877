#include "serve/rest/target.h"

#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/utf8.h"

const char *target_path(const char *text) {
    size_t scheme = strncasecmp(text, "http://", 7) == 0    ? 7
                    : strncasecmp(text, "https://", 8) == 0 ? 8
                                                            : 0;
    return scheme > 0 ? text + scheme + strcspn(text + scheme, "/?") : text;
}

static int digit_of(char c) {
    return ascii_is_digit(c)      ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Decode a part into `*room`, which moves behind its zero.
 * @return the text; NULL: it cannot be read */
static const char *decode(const char *text, size_t length, bool is_query, char **room) {
    char *out = *room;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '%') {
            int high = i + 2 < length ? digit_of(text[i + 1]) : -1;
            int low = high >= 0 ? digit_of(text[i + 2]) : -1;
            if (low < 0) {
                return NULL;
            }
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && is_query) {
            c = ' ';
        }
        if ((unsigned char)c < ' ' || c == 0x7f) {
            return NULL;
        }
        *out++ = c;
    }
    *out = '\0';
    const char *decoded = *room;
    *room = out + 1;
    return utf8_valid(decoded, (size_t)(out - decoded)) ? decoded : NULL;
}

static const char *read_path(const char *path, size_t length, char **room, struct target *ret) {
    const char *at = path;
    const char *end = path + length;
    if (at == end || *at != '/') {
        return "the path of the URL does not begin with a slash";
    }
    while (at < end) {
        at++; /* the slash */
        const char *slash = memchr(at, '/', (size_t)(end - at));
        size_t part = (size_t)((slash != NULL ? slash : end) - at);
        if (ret->segment_count == TARGET_SEGMENTS_MAX) {
            return "the path of the URL has too many parts";
        }
        const char *segment = decode(at, part, false, room);
        if (segment == NULL) {
            return "the path of the URL has what cannot be read: a wrong %-sequence, a control "
                   "character or what is no UTF-8";
        }
        if (segment[0] == '\0' || strcmp(segment, ".") == 0 || strcmp(segment, "..") == 0) {
            return "the path of the URL has an empty part, or '.' or '..'";
        }
        ret->segments[ret->segment_count++] = segment;
        at += part;
    }
    return NULL;
}

static const char *read_query(const char *at, char **room, struct target *ret) {
    while (*at != '\0') {
        size_t length = strcspn(at, "&");
        size_t name_length = strcspn(at, "=&");
        const char *value = name_length < length ? at + name_length + 1 : at + length;
        if (length > 0) {
            struct target_parameter *parameter = &ret->parameters[ret->parameter_count];
            if (ret->parameter_count == TARGET_PARAMETERS_MAX) {
                return "the query of the URL has too many parameters";
            }
            parameter->name = decode(at, name_length, true, room);
            /* A text takes its zero from the room of the character behind it. */
            parameter->value = name_length < length
                                       ? decode(value, (size_t)(at + length - value), true, room)
                                       : "";
            if (parameter->name == NULL || parameter->value == NULL) {
                return "the query of the URL has what cannot be read: a wrong %-sequence, a "
                       "control character or what is no UTF-8";
            }
            if (target_value(ret, parameter->name) != NULL) {
                return "the query of the URL has a parameter twice";
            }
            ret->parameter_count++;
        }
        at += length + (at[length] == '&');
    }
    return NULL;
}

const char *target_read(const char *text, char *room, struct target *ret) {
    const char *path = target_path(text);
    size_t length = strcspn(path, "?#");
    ret->segment_count = ret->parameter_count = 0;
    const char *problem = read_path(path, length, &room, ret);
    if (problem == NULL && strchr(path + length, '#') != NULL) {
        problem = "the URL has a fragment, which is the client's own";
    }
    return problem != NULL || path[length] == '\0' ? problem
                                                   : read_query(path + length + 1, &room, ret);
}

const char *target_value(const struct target *target, const char *name) {
    for (size_t i = 0; i < target->parameter_count; i++) {
        if (strcmp(target->parameters[i].name, name) == 0) {
            return target->parameters[i].value;
        }
    }
    return NULL;
}
