/* Models of providers that the file names, and what else of it names them. */
#include "base/cleanup.h"
#include "base/json.h"
#include "base/name.h"
#include "config/parts.h"

const char *config_package_index(const struct config *config, size_t index) {
    return yyjson_get_str(yyjson_arr_get(yyjson_ptr_get(config->root, "/packages/index"), index));
}

yyjson_val *config_mcp_servers(const struct config *config) {
    return yyjson_obj_get(config->root, "mcpServers");
}

yyjson_val *config_models(const struct config *config) {
    return yyjson_obj_get(config->root, "models");
}

const char *config_agent_model(const struct config *config) {
    return yyjson_get_str(yyjson_obj_get(yyjson_obj_get(config->root, "agent"), "model"));
}

uint64_t config_agent_result_bytes(const struct config *config) {
    uint64_t bytes =
            yyjson_get_uint(yyjson_obj_get(yyjson_obj_get(config->root, "agent"), "result_bytes"));
    return bytes != 0 ? bytes : CONFIG_RESULT_BYTES_DEFAULT;
}

/* The fix of a name that no model has. */
static void add_fix(struct buf *out, yyjson_val *models, const char *name, const char *otherwise) {
    struct nearest nearest = nearest_to(name);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *model;
    json_obj_foreach (models, at, count, key, model) {
        (void)nearest_try(&nearest, yyjson_get_str(key));
    }
    if (nearest.name != NULL) {
        buf_printf(out, "did you mean \"%s\"?", nearest.name);
    } else {
        buf_add_text(out, otherwise);
    }
}

static void check_name(yyjson_val *root, const char *member, const char *otherwise,
                       struct problems *problems) {
    yyjson_val *object = yyjson_obj_get(root, member);
    yyjson_val *models = yyjson_obj_get(root, "models");
    const char *name = yyjson_get_str(yyjson_obj_get(object, "model"));
    char pointer[JSON_POINTER_MAX] = "";
    CLEANUP(buf_finish) struct buf fix = BUF_INIT;
    if (name == NULL || yyjson_obj_get(object, "endpoint") != NULL ||
        yyjson_obj_get(models, name) != NULL) {
        return;
    }
    json_pointer_add(pointer, member);
    json_pointer_add(pointer, "model");
    add_fix(&fix, models, name, otherwise);
    problems->failed = problems->failed || fix.failed;
    if (!fix.failed) {
        problems_add(problems,
                     &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                       .rule = "config-model",
                                       .pointer = pointer,
                                       .fix = fix.data},
                     "\"models\" has no \"%.100s\"", name);
    }
}

void config_check_models(yyjson_val *root, struct problems *problems) {
    check_name(root, "agent", "add it there, or write the name of one of them", problems);
    check_name(root, "choose", "add it there, or write the \"endpoint\" of its provider", problems);
}
