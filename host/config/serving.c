/* What the file says of serving, with its defaults, which are those of the schema. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/semver.h"
#include "config/parts.h"
#include "config/validate.h"
#include "schema/schema.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(struct schema, schema_destroy)

/* The members that are paths, which may be below the folder of the file. */
enum { SOCKET };
static const char *const paths[][3] = {[SOCKET] = {"serve", "socket"},
                                       {"serve", "tls", "certificate"},
                                       {"serve", "tls", "key"},
                                       {"serve", "oauth", "jwks_file"}};

/* A pattern that fits nothing would be believed to select something. */
static void check_patterns(yyjson_val *list, char *pointer, struct problems *problems) {
    size_t length = strlen(pointer);
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (list, at, count, item) {
        struct semver_range range;
        const char *version = strchr(yyjson_get_str(item), '@');
        if (version != NULL && !semver_range_parse(version + 1, &range)) {
            json_pointer_add_index(pointer, at);
            problems_add(problems,
                         &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                           .rule = "config-value",
                                           .pointer = pointer,
                                           .fix = "write a version or a range, such as "
                                                  "\"file_*@^1\", or the name alone"},
                         "\"%.100s\" has no version or range behind '@'", yyjson_get_str(item));
            pointer[length] = '\0';
        }
    }
}

static void check_tools(yyjson_val *serve, struct problems *problems) {
    char pointer[JSON_POINTER_MAX] = "/serve/pinned";
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *profile;
    check_patterns(yyjson_obj_get(serve, "pinned"), pointer, problems);
    json_obj_foreach (yyjson_obj_get(serve, "profiles"), at, count, name, profile) {
        (void)snprintf(pointer, sizeof pointer, "/serve/profiles");
        json_pointer_add(pointer, yyjson_get_str(name));
        json_pointer_add(pointer, "tools");
        check_patterns(yyjson_obj_get(profile, "tools"), pointer, problems);
    }
}

void config_check_serving(struct config *config, struct problems *problems) {
    const char *socket = NULL;
    check_tools(yyjson_obj_get(config->root, "serve"), problems);
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        char pointer[JSON_POINTER_MAX] = "";
        yyjson_val *value = config->root;
        for (size_t part = 0; part < ARRAY_LENGTH(paths[i]) && paths[i][part] != NULL; part++) {
            json_pointer_add(pointer, paths[i][part]);
            value = yyjson_obj_get(value, paths[i][part]);
        }
        const char *path = yyjson_is_str(value) ? config_resolve(config, yyjson_get_str(value),
                                                                 pointer, problems)
                                                : NULL;
        problems->failed = problems->failed || (yyjson_is_str(value) && path == NULL);
        socket = i == SOCKET ? path : socket;
    }
    config_check_serving_values(yyjson_obj_get(config->root, "serve"), socket, problems);
}

/* Write the paths from the root. False: out of memory. */
static bool resolve_paths(struct config *config, yyjson_mut_doc *doc) {
    struct problems unheard = {.arena = &config->arena}; /* the file was refused for such */
    for (size_t i = 0; i < ARRAY_LENGTH(paths); i++) {
        size_t parts = paths[i][2] != NULL ? 3 : 2;
        yyjson_mut_val *object = yyjson_mut_doc_get_root(doc);
        for (size_t part = 0; part + 1 < parts; part++) {
            object = yyjson_mut_obj_get(object, paths[i][part]);
        }
        yyjson_mut_val *value = yyjson_mut_obj_get(object, paths[i][parts - 1]);
        if (!yyjson_mut_is_str(value)) {
            continue;
        }
        const char *path = config_resolve(config, yyjson_mut_get_str(value), "", &unheard);
        if (path == NULL || !yyjson_mut_set_str(value, path)) {
            return false;
        }
    }
    return true;
}

/* {"serve": what the file has} with all defaults. NULL: out of memory. */
static yyjson_mut_doc *fill(yyjson_val *given) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *described = yyjson_read(config_schema, strlen(config_schema), 0);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    CLEANUP(schema_destroyp) struct schema *schema = NULL;
    struct toolrack_error err;
    yyjson_mut_val *root = yyjson_mut_obj(made);
    yyjson_mut_doc_set_root(made, root);
    if (given != NULL) {
        (void)yyjson_mut_obj_add_val(made, root, "serve", yyjson_val_mut_copy(made, given));
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_mut_doc_imut_copy(made, NULL);
    yyjson_val *filled = NULL;
    if (described == NULL || doc == NULL ||
        (given != NULL && yyjson_obj_get(yyjson_doc_get_root(doc), "serve") == NULL) ||
        schema_compile(yyjson_doc_get_root(described), NULL, &schema, &err) < 0 ||
        schema_fill_defaults(schema, yyjson_doc_get_root(doc), NULL, &filled, &err) < 0) {
        return NULL;
    }
    /* Its strings are those of the schema: so it is copied before that goes. */
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *value = copy != NULL ? yyjson_val_mut_copy(copy, filled) : NULL;
    yyjson_mut_doc_set_root(copy, value);
    if (filled != yyjson_doc_get_root(doc)) {
        free(filled);
    }
    return value != NULL ? STEAL(copy) : NULL;
}

yyjson_val *config_serving(struct config *config) {
    (void)pthread_mutex_lock(&config->lock);
    if (config->serving == NULL) {
        CLEANUP(yyjson_mut_doc_freep)
        yyjson_mut_doc *doc = fill(yyjson_obj_get(config->root, "serve"));
        if (doc != NULL && resolve_paths(config, doc)) {
            config->serving = yyjson_mut_doc_imut_copy(doc, NULL);
        }
    }
    yyjson_val *serve = yyjson_obj_get(yyjson_doc_get_root(config->serving), "serve");
    (void)pthread_mutex_unlock(&config->lock);
    return serve;
}

yyjson_val *config_profile(const struct config *config, const char *name) {
    yyjson_val *serve = yyjson_obj_get(config->root, "serve");
    return yyjson_obj_get(yyjson_obj_get(serve, "profiles"), name);
}
