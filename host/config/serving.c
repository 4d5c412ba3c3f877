/* What the file says of serving, with its defaults, which are those of the schema. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/semver.h"
#include "config/parts.h"
#include "config/validate.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

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

/* Add the members that a part of the schema has defaults for and the value lacks, and those in its
 * members. In the schema of serving, defaults are behind "properties" only. */
static bool add_defaults(yyjson_mut_doc *doc, yyjson_val *described, yyjson_mut_val *value) {
    bool added = true;
    size_t at;
    size_t count;
    yyjson_val *name;
    yyjson_val *member;
    if (!yyjson_mut_is_obj(value)) {
        return true;
    }
    json_obj_foreach (yyjson_obj_get(described, "properties"), at, count, name, member) {
        const char *key = yyjson_get_str(name);
        yyjson_val *missing = yyjson_obj_get(member, "default");
        if (missing != NULL && yyjson_mut_obj_get(value, key) == NULL) {
            yyjson_mut_val *key_copy = yyjson_mut_strcpy(doc, key);
            added = added && yyjson_mut_obj_add(value, key_copy, yyjson_val_mut_copy(doc, missing));
        }
        added = added && add_defaults(doc, member, yyjson_mut_obj_get(value, key));
    }
    return added;
}

/* {"serve": what the file has} with all defaults. NULL: out of memory. */
static yyjson_mut_doc *fill(yyjson_val *given) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *described = yyjson_read(config_schema, strlen(config_schema), 0);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *made = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(made);
    yyjson_mut_doc_set_root(made, root);
    yyjson_mut_val *serve = given != NULL ? yyjson_val_mut_copy(made, given) : yyjson_mut_obj(made);
    yyjson_val *serving = yyjson_ptr_get(yyjson_doc_get_root(described), "/properties/serve");
    return serving != NULL && yyjson_mut_obj_add_val(made, root, "serve", serve) &&
                           add_defaults(made, serving, serve)
                   ? STEAL(made)
                   : NULL;
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

yyjson_val *config_nats(const struct config *config) {
    return yyjson_obj_get(config->root, "nats");
}
