/* What the policies allow, beyond what a JSON Schema can say of it. */
#include "config/parts.h"

#include "base/json.h"
#include "plugin/capability.h"

static void check_items(yyjson_val *allow, const char *plugin_id, struct problems *problems) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (allow, at, count, item) {
        const char *text = yyjson_get_str(item);
        struct capability_fault fault;
        if (text == NULL || capability_check_allowance(text, &fault)) {
            continue; /* what is no string has been reported by the schema */
        }
        char pointer[JSON_POINTER_MAX] = "/policies";
        json_pointer_add(pointer, plugin_id);
        json_pointer_add(pointer, "allow");
        json_pointer_add_index(pointer, at);
        problems_add(problems,
                     &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                       .rule = "config-allow",
                                       .pointer = pointer,
                                       .fix = fault.fix},
                     "\"%s\" cannot be allowed to %s: %s", text, plugin_id, fault.cause);
    }
}

size_t config_allowance_line(const struct config *config, const char *plugin_id, size_t index,
                             size_t *ret_column) {
    char pointer[JSON_POINTER_MAX] = "/policies";
    size_t position;
    size_t line = 0;
    size_t column = 0;
    json_pointer_add(pointer, plugin_id);
    json_pointer_add(pointer, "allow");
    json_pointer_add_index(pointer, index);
    if (json_place_find(config->text.data, config->text.length, pointer, JSON_PLACE_VALUE,
                        &position)) {
        json_place_line(config->text.data, config->text.length, position, &line, &column);
    }
    if (ret_column != NULL) {
        *ret_column = column;
    }
    return line;
}

void config_check_allowances(yyjson_val *root, struct problems *problems) {
    size_t at;
    size_t count;
    yyjson_val *id;
    yyjson_val *policy;
    yyjson_val *policies = yyjson_obj_get(root, "policies");
    json_obj_foreach (policies, at, count, id, policy) {
        check_items(yyjson_obj_get(policy, "allow"), yyjson_get_str(id), problems);
    }
}
