#include "provider/call-secrets.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-lenient.h"
#include "base/plan-words.h"
#include "provider/said.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Numbers stay as they are written. */
#define READ_FLAGS YYJSON_READ_NUMBER_AS_RAW

/* ------------------------------------------------------------------- texts */

/* Members of messages and results that are none of anybody's text. */
static bool is_structure(const char *name) {
    static const char *const names[] = {"id",   "tool_call_id", "call_id",   "tool_use_id",
                                        "role", "type",         "tool_name", "status"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* @return whether there is memory */
static bool mask_text(yyjson_mut_doc *doc, yyjson_mut_val *value, const struct buf *secrets) {
    const size_t length = yyjson_mut_get_len(value);
    CLEANUP(freep) char *copy = malloc(length + 1);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, yyjson_mut_get_str(value), length);
    copy[length] = '\0';
    for (char *zero; (zero = memchr(copy, '\0', length)) != NULL;) {
        *zero = ' '; /* which ends no secret either */
    }
    secrets_mask(secrets, copy);
    if (strlen(copy) == length && strchr(copy, '*') == NULL) {
        return true;
    }
    yyjson_mut_val *masked = yyjson_mut_strcpy(doc, copy);
    return masked != NULL &&
           yyjson_mut_set_strn(value, yyjson_mut_get_str(masked), yyjson_mut_get_len(masked));
}

/* Mask secrets in all texts and numbers. `is_data`: a tool's own value, in which any member may be
 * text. */
static bool mask_texts(yyjson_mut_doc *doc, yyjson_mut_val *value, const struct buf *secrets,
                       bool is_data) {
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_val *part;
    bool is_done = true;
    if (yyjson_mut_is_str(value)) {
        return mask_text(doc, value, secrets);
    }
    if (yyjson_mut_is_raw(value)) {
        CLEANUP(freep) char *number = strndup(yyjson_mut_get_raw(value), yyjson_mut_get_len(value));
        if (number == NULL) {
            return false;
        }
        secrets_mask(secrets, number);
        return strchr(number, '*') == NULL || yyjson_mut_set_str(value, SECRET_MASK);
    }
    yyjson_mut_arr_foreach(value, at, count, part) {
        is_done = mask_texts(doc, part, secrets, is_data) && is_done;
    }
    yyjson_mut_obj_foreach(value, at, count, name, part) {
        const char *key = yyjson_mut_get_str(name);
        const bool is_inside = is_data || strcmp(key, "response") == 0;
        if (!yyjson_mut_is_str(part) || is_inside || !is_structure(key)) {
            is_done = mask_texts(doc, part, secrets, is_inside) && is_done;
        }
    }
    return is_done;
}

static int write_to(const yyjson_mut_doc *doc, struct buf *ret, struct toolrack_error *err) {
    size_t length;
    CLEANUP(freep) char *text = yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, &length);
    if (text != NULL) {
        buf_add(ret, text, length);
    }
    return text == NULL || ret->failed ? error_oom(err) : 0;
}

/* ------------------------------------------------------------------- calls */

struct masking {
    yyjson_mut_doc *doc;
    call_secrets_schema *schema;
    void *user;
    struct buf *secrets;
    bool has_changed;
    bool failed;
};

/* Mask a value by a schema that has secrets. @return what takes its place; NULL: no memory */
static yyjson_mut_val *mask_by(struct masking *masking, yyjson_doc *schema, yyjson_mut_val *value) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *given = yyjson_mut_val_imut_copy(value, NULL);
    yyjson_val *root = yyjson_doc_get_root(schema);
    if (given != NULL) {
        schema_collect_arguments(root, yyjson_doc_get_root(given), masking->secrets);
    }
    yyjson_mut_val *masked =
            given != NULL ? schema_mask_arguments(root, masking->doc, value) : NULL;
    masking->has_changed = true;
    masking->failed = masking->failed || masked == NULL || masking->secrets->failed;
    return masked;
}

/* A node of a plan, or its fallback: it has a tool and arguments, and perhaps others inside. */
static void mask_node(struct masking *masking, yyjson_mut_val *node) {
    const char *tool = yyjson_mut_get_str(yyjson_mut_obj_get(node, "tool"));
    yyjson_mut_val *arguments = yyjson_mut_obj_get(node, "arguments");
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
    if (tool == NULL || arguments == NULL) {
        return;
    }
    masking->failed = masking->failed || !masking->schema(masking->user, tool, &schema);
    if (schema != NULL) {
        yyjson_mut_val *masked = mask_by(masking, schema, arguments);
        (void)yyjson_mut_obj_replace(node, yyjson_mut_str(masking->doc, "arguments"), masked);
    }
}

static void mask_nodes(struct masking *masking, yyjson_mut_val *value) {
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_val *part;
    yyjson_mut_arr_foreach(value, at, count, part) {
        mask_nodes(masking, part);
    }
    yyjson_mut_obj_foreach(value, at, count, name, part) {
        mask_nodes(masking, part);
    }
    if (yyjson_mut_is_obj(value)) {
        mask_node(masking, value);
    }
}

/* The arguments of a call, parsed if they are text. What cannot be parsed stays text, of which the
 * schema of an object masks all. */
static yyjson_mut_val *parse(struct masking *masking, yyjson_mut_val *arguments) {
    yyjson_read_err why;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read =
            yyjson_mut_is_str(arguments)
                    ? json_read_lenient(yyjson_mut_get_str(arguments),
                                        yyjson_mut_get_len(arguments), READ_FLAGS, NULL, &why)
                    : NULL;
    return read != NULL ? yyjson_val_mut_copy(masking->doc, yyjson_doc_get_root(read))
                        : yyjson_mut_val_mut_copy(masking->doc, arguments);
}

/* Set the arguments of a call to what takes their place: as text where they were text. */
static void put(struct masking *masking, const char *pointer, yyjson_mut_val *before,
                yyjson_mut_val *value) {
    yyjson_mut_val *written = value;
    if (yyjson_mut_is_str(before)) {
        CLEANUP(freep) char *json = yyjson_mut_val_write(value, YYJSON_WRITE_NOFLAG, NULL);
        written = json != NULL ? yyjson_mut_strcpy(masking->doc, json) : NULL;
    }
    masking->failed = masking->failed || written == NULL ||
                      !yyjson_mut_doc_ptr_set(masking->doc, pointer, written);
}

static void take_call(void *user, const char *name, const char *pointer) {
    struct masking *masking = user;
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
    yyjson_mut_val *arguments = yyjson_mut_doc_ptr_get(masking->doc, pointer);
    const bool is_plan = strcmp(name, PLAN_WORDS_TOOL) == 0;
    if (arguments == NULL) {
        return;
    }
    masking->failed = masking->failed || !masking->schema(masking->user, name, &schema);
    if (schema == NULL && !is_plan) {
        return;
    }
    yyjson_mut_val *value = parse(masking, arguments);
    const bool had_changed = masking->has_changed;
    masking->has_changed = false;
    if (value != NULL && schema != NULL) {
        value = mask_by(masking, schema, value);
    } else {
        mask_nodes(masking, value);
    }
    if (value == NULL || masking->has_changed) {
        put(masking, pointer, arguments, value);
    }
    masking->has_changed = masking->has_changed || had_changed;
}

/* --------------------------------------------------------------------- API */

int call_secrets_of_message(enum toolrack_format format, const char *message, size_t length,
                            call_secrets_schema *schema, void *user, struct buf *secrets,
                            struct buf *ret, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(message, length, READ_FLAGS);
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *doc = read != NULL ? yyjson_doc_mut_copy(read, NULL) : NULL;
    struct masking masking = {.doc = doc, .schema = schema, .user = user, .secrets = secrets};
    if (doc == NULL) {
        return error_oom(err); /* it was read before */
    }
    said_arguments(format, yyjson_doc_get_root(read), take_call, &masking);
    if (masking.failed) {
        return error_oom(err);
    }
    if (!masking.has_changed && secrets->length == 0) {
        buf_add(ret, message, length);
        return ret->failed ? error_oom(err) : 0;
    }
    return mask_texts(doc, yyjson_mut_doc_get_root(doc), secrets, false) ? write_to(doc, ret, err)
                                                                         : error_oom(err);
}

int call_secrets_of_results(const char *results, size_t length, const struct buf *secrets,
                            struct buf *ret, struct toolrack_error *err) {
    if (secrets->length == 0 && !secrets->failed) {
        buf_add(ret, results, length);
        return ret->failed ? error_oom(err) : 0;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(results, length, READ_FLAGS);
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *doc = read != NULL ? yyjson_doc_mut_copy(read, NULL) : NULL;
    return doc != NULL && mask_texts(doc, yyjson_mut_doc_get_root(doc), secrets, false)
                   ? write_to(doc, ret, err)
                   : error_oom(err);
}
