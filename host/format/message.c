#include "format/message.h"

#include "base/cleanup.h"

yyjson_val *format_is_wrapped(yyjson_val *arguments, const char **ret_word) {
    static const char *const words[] = {"arguments", "parameters", "input"};
    for (size_t i = 0; yyjson_obj_size(arguments) == 1 && i < ARRAY_LENGTH(words); i++) {
        yyjson_val *value = yyjson_obj_get(arguments, words[i]);
        if (yyjson_is_obj(value) || yyjson_is_str(value)) {
            *ret_word = words[i];
            return value;
        }
    }
    return NULL;
}
