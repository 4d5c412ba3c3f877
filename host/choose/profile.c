#include "choose/profile.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

struct profile {
    atomic_uint refs;
    yyjson_doc *schema; /* NULL: none */
    struct fit_tool *fit;
    struct parameters parameters; /* of the arena, and of the schema */
    struct arena arena;
};

static void profile_free(struct profile *profile) {
    fit_tool_destroy(profile->fit);
    arena_finish(&profile->arena);
    yyjson_doc_free(profile->schema);
    free(profile);
}

struct profile *profile_ref(struct profile *profile) {
    (void)atomic_fetch_add_explicit(&profile->refs, 1, memory_order_relaxed);
    return profile;
}

void profile_unref(struct profile *profile) {
    if (profile != NULL &&
        atomic_fetch_sub_explicit(&profile->refs, 1, memory_order_acq_rel) == 1) {
        profile_free(profile);
    }
}
CLEANUP_DEFINE(struct profile, profile_unref)

static int read_parameters(struct profile *profile, const struct index_document *texts,
                           struct toolrack_error *err) {
    const struct arguments_tool tool = {.name = texts->name,
                                        .description = texts->description,
                                        .parameters = profile_schema(profile)};
    return parameters_read(&tool, &profile->arena, &profile->parameters, err);
}

int profile_create(const struct index_document *texts, const struct scenes *scenes,
                   struct profile **ret, struct toolrack_error *err) {
    CLEANUP(profile_unrefp) struct profile *profile = calloc(1, sizeof *profile);
    if (profile == NULL) {
        return error_oom(err);
    }
    atomic_init(&profile->refs, 1);
    arena_init(&profile->arena, NULL, 0);
    if (texts->schema_json != NULL) {
        yyjson_read_err problem;
        /* The reader does not change the text without YYJSON_READ_INSITU. */
        char *text = (char *)(uintptr_t)texts->schema_json;
        profile->schema = yyjson_read_opts(text, strlen(text), 0, NULL, &problem);
        if (profile->schema == NULL && problem.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
            return error_oom(err);
        }
    }
    int code = fit_tool_create(texts, profile_schema(profile), scenes, &profile->fit, err);
    code = code < 0 ? code : read_parameters(profile, texts, err);
    if (code == 0) {
        *ret = STEAL(profile);
    }
    return code;
}

yyjson_val *profile_schema(const struct profile *profile) {
    return yyjson_doc_get_root(profile->schema);
}

const struct fit_tool *profile_fit(const struct profile *profile) {
    return profile->fit;
}

const struct parameters *profile_parameters(const struct profile *profile) {
    return &profile->parameters;
}

size_t profile_size(const struct profile *profile) {
    size_t schema = 0;
    if (profile->schema != NULL) {
        schema = yyjson_doc_get_read_size(profile->schema) +
                 yyjson_doc_get_val_count(profile->schema) * sizeof(yyjson_val);
    }
    return sizeof *profile + fit_tool_size(profile->fit) + profile->arena.size + schema;
}
