#include "api/answer-arguments.h"

#include <stdio.h>
#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-pointer.h"
#include "base/json-write.h"
#include "base/json.h"
#include "format/definitions.h"
#include "registry/text.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* JSON of the message, or of a tool; NULL: it is none, or there is no memory. */
static yyjson_doc *read_json(struct answer_names *names, const char *text, size_t length) {
    yyjson_read_err why = {0};
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_BIGNUM_AS_RAW,
                                       NULL, &why);
    names->no_memory = names->no_memory || why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION;
    return doc;
}

/* What the definition calls the tool's properties, each with its own name; NULL: they have theirs.
 */
static yyjson_val *renamed_keys(struct answer_names *names, const struct format_call *call,
                                const char *name) {
    yyjson_val *definition = answer_names_definition(names, call->name);
    if (definition == NULL) {
        definition = answer_names_definition(names, name);
    }
    return yyjson_obj_get(definition, "keys");
}

/* Call the properties of arguments by their own names. @return whether one was called otherwise. */
static bool rename_properties(yyjson_val *keys, yyjson_mut_doc *doc) {
    bool renamed = false;
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *value;
    yyjson_mut_obj_foreach(yyjson_mut_doc_get_root(doc), at, count, key, value) {
        yyjson_val *own = yyjson_obj_getn(keys, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        if (own != NULL) {
            renamed = yyjson_mut_set_strn(key, yyjson_get_str(own), yyjson_get_len(own)) || renamed;
        }
    }
    return renamed;
}

/* The text of arguments that call properties by their own names, in the arena; NULL: no memory.
 * @param ret_renamed  whether one was called otherwise */
static const char *write_arguments(struct answer_names *names, yyjson_val *keys,
                                   yyjson_val *arguments, bool *ret_renamed) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_doc_set_root(doc, yyjson_val_mut_copy(doc, arguments));
    *ret_renamed = rename_properties(keys, doc);
    size_t length = 0;
    CLEANUP(freep)
    char *text =
            json_doc_is_whole(doc) ? yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, &length) : NULL;
    const char *kept = text != NULL ? arena_copy(names->arena, text, length) : NULL;
    names->no_memory = names->no_memory || kept == NULL;
    return names->no_memory ? NULL : kept;
}

/* Whether a call would take these arguments. */
static bool fits(const struct answer_names *names, const struct toolrack_call_options *options,
                 struct toolrack_tool *tool, const char *arguments) {
    return call_takes_arguments(&names->host->calls, tool, options, arguments, strlen(arguments));
}

void answer_arguments_mend(struct answer_names *names, const struct toolrack_call_options *options,
                           const struct format_call *call, struct toolrack_tool *tool,
                           const char *name, const char **ret_arguments) {
    const char *word = NULL;
    bool renamed = false;
    bool within_renamed;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = read_json(names, call->arguments, strlen(call->arguments));
    CLEANUP(yyjson_doc_freep) yyjson_doc *inner = NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *wrapped = format_is_wrapped(root, &word);
    if (yyjson_is_str(wrapped)) {
        inner = read_json(names, yyjson_get_str(wrapped), yyjson_get_len(wrapped));
        wrapped = yyjson_doc_get_root(inner);
    }
    yyjson_val *keys = renamed_keys(names, call, name);
    const char *text = doc != NULL ? write_arguments(names, keys, root, &renamed) : NULL;
    if (text == NULL) {
        names->no_memory = true; /* they were read before */
        return;
    }
    if (yyjson_is_obj(wrapped) && !fits(names, options, tool, text)) {
        const char *within = write_arguments(names, keys, wrapped, &within_renamed);
        if (within != NULL && fits(names, options, tool, within)) {
            log_line(&names->host->log, LOG_INFO, "answer",
                     "%s: the model wrapped the arguments in \"%s\"; they are taken out of it",
                     name, word);
            *ret_arguments = within;
            return;
        }
    }
    *ret_arguments = renamed ? text : call->arguments;
}

/* ------------------------------------------------------------------- mistakes */

/* What the definition calls a property. */
static const char *known_as(void *keys, const char *name, size_t length) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *own;
    json_obj_foreach ((yyjson_val *)keys, at, count, key, own) {
        if (yyjson_equals_strn(own, name, length)) {
            return yyjson_get_str(key);
        }
    }
    return NULL;
}

/* The same in the field of an error, a JSON Pointer. */
static void rename_in_field(yyjson_val *keys, struct toolrack_error *err) {
    char name[ERROR_FIELD_MAX];
    char field[ERROR_FIELD_MAX];
    size_t step = err->field[0] == '/' ? strcspn(err->field + 1, "/") : 0;
    size_t length = step > 0 ? json_pointer_unescape(err->field + 1, step, name) : 0;
    const char *known = known_as(keys, name, length);
    if (step > 0 && known != NULL) {
        (void)snprintf(field, sizeof field, "/%s%s", known, err->field + 1 + step);
        (void)memcpy(err->field, field, sizeof field);
    }
}

void answer_arguments_explain(struct answer_names *names,
                              const struct toolrack_call_options *options,
                              const struct format_call *call, const char *name,
                              const char *arguments, struct toolrack_error *err) {
    if (provider_limits[names->format].keys == KEYS_ANY) {
        return;
    }
    names->no_memory = false;
    yyjson_val *keys = renamed_keys(names, call, name);
    if (names->no_memory) {
        (void)error_oom(err);
    }
    const struct schema_naming naming = {.known_as = known_as, .user = keys};
    if (keys == NULL) {
        return;
    }
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(names->host->registry, name);
    if (tool != NULL && err->code == TOOLRACK_E_INVALID_ARGUMENTS && !err->from_tool) {
        call_explain_arguments(&names->host->calls, tool, options, &naming, arguments,
                               strlen(arguments), err);
    }
    rename_in_field(keys, err);
    call_rename_changes(&naming, err);
}
