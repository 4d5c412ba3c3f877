#include "provider/secret-name.h"

#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "schema/secret.h"

/* A word of a name: "api", "Key" and "ID" of "api_KeyID". */
struct word {
    const char *text;
    size_t length;
};

static bool is_one_of(struct word word, const char *const *list, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) == word.length && strncasecmp(list[i], word.text, word.length) == 0) {
            return true;
        }
    }
    return false;
}
#define IS_ONE_OF(word, ...)                            \
    is_one_of(word, (const char *const[]){__VA_ARGS__}, \
              sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* The word that ends before `end`, without the rest of what separates it from the one behind it. */
static struct word word_before(const char *name, const char *end) {
    while (end > name && !ascii_is_alnum(end[-1])) {
        end--;
    }
    const char *begin = end;
    while (begin > name && ascii_is_alnum(begin[-1]) &&
           !(begin < end && ascii_is_upper(begin[0]) && !ascii_is_upper(begin[-1]))) {
        begin--;
    }
    return (struct word){begin, (size_t)(end - begin)};
}

bool secret_name(const char *name, size_t length) {
    struct word behind = {"", 0};
    for (const char *end = name + length; end > name;) {
        const struct word word = word_before(name, end);
        const struct word before = word_before(name, word.text);
        const bool is_last = behind.length == 0;
        if (IS_ONE_OF(word, "password", "passwd", "passphrase", "secret", "secrets", "credential",
                      "credentials", "signature", "sig", "apikey", "accesskey", "authtoken",
                      "accesstoken", "authorization")) {
            return true;
        }
        if (is_last && IS_ONE_OF(word, "key", "keys") &&
            !IS_ONE_OF(before, "cache", "sort", "partition", "routing", "top")) {
            return true;
        }
        if (is_last && IS_ONE_OF(word, "token") &&
            !IS_ONE_OF(before, "bos", "eos", "pad", "unk", "sep", "cls", "mask", "stop", "start",
                       "end", "per")) {
            return true;
        }
        behind = word;
        end = word.text;
    }
    return false;
}

/* A schema, such as that of a response's format, has objects under the names of members. */
static bool has_secret(yyjson_val *key, yyjson_val *value) {
    return (yyjson_is_str(value) || yyjson_is_num(value) || yyjson_is_raw(value)) &&
           secret_name(yyjson_get_str(key), yyjson_get_len(key));
}

const char *secret_name_in(yyjson_val *value) {
    const char *found = NULL;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *part;
    yyjson_arr_foreach (value, at, count, part) {
        found = found != NULL ? found : secret_name_in(part);
    }
    json_obj_foreach (value, at, count, key, part) {
        found = found != NULL           ? found
                : has_secret(key, part) ? yyjson_get_str(key)
                                        : secret_name_in(part);
    }
    return found;
}

bool secret_names_mask(yyjson_mut_val *value) {
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *part;
    bool is_done = true;
    yyjson_mut_arr_foreach(value, at, count, part) {
        is_done = secret_names_mask(part) && is_done;
    }
    yyjson_mut_obj_foreach(value, at, count, key, part) {
        const bool is_one = !yyjson_mut_is_ctn(part) &&
                            secret_name(yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        is_done = (is_one ? yyjson_mut_set_str(part, SECRET_MASK) : secret_names_mask(part)) &&
                  is_done;
    }
    return is_done;
}
