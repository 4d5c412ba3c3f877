#include "provider/call-secrets.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-lenient.h"
#include "provider/said.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Numbers stay as they are written. */
#define READ_FLAGS YYJSON_READ_NUMBER_AS_RAW

/* ------------------------------------------------------------------- texts */

/* Members of messages and results that are none of anybody's text. */
static bool is_structure(const char *name) {
    static const char *const names[] = {"id",   "tool_call_id", "call_id",   "tool_use_id", "role",
                                        "type", "name",         "tool_name", "status"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (strcmp(name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Members that hold arguments or a result, as values of a tool. */
static bool is_tools_own(const char *name) {
    static const char *const names[] = {"response", "input", "args", "arguments"};
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
        const bool is_inside = is_data || is_tools_own(key);
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

/* Deepest nesting of a plan's values that is looked through, and of texts in texts. */
#define DEPTH_MAX 64u
#define TEXTS_MAX 8u

struct masking {
    yyjson_mut_doc *doc;
    call_secrets_look *look;
    void *user;
    struct buf *secrets;
    yyjson_mut_val *inputs; /* of a plan: their schemas */
    yyjson_val *schema;     /* of the values of these, together */
    bool has_changed;
    bool failed;
};

/* Mask a value by a schema that has secrets. They are collected where the call may run, so that a
 * result may repeat them. @return what takes its place; NULL: no memory */
static yyjson_mut_val *mask_by(struct masking *masking, yyjson_val *schema, yyjson_mut_val *value,
                               bool may_run) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *given = yyjson_mut_val_imut_copy(value, NULL);
    if (given != NULL && may_run) {
        schema_collect_arguments(schema, yyjson_doc_get_root(given), masking->secrets);
    }
    yyjson_mut_val *masked =
            given != NULL ? schema_mask_arguments(schema, masking->doc, value) : NULL;
    masking->has_changed = true;
    masking->failed = masking->failed || masked == NULL || masking->secrets->failed;
    return masked;
}

/* Mask all but the names of members. */
static yyjson_mut_val *mask_all(struct masking *masking, yyjson_mut_val *value, bool may_run) {
    static const char schema[] =
            "{\"additionalProperties\":{\"writeOnly\":true},\"items\":{\"writeOnly\":true}}";
    CLEANUP(yyjson_doc_freep) yyjson_doc *all = yyjson_read(schema, sizeof schema - 1, 0);
    masking->failed = masking->failed || all == NULL;
    return all != NULL ? mask_by(masking, yyjson_doc_get_root(all), value, may_run) : NULL;
}

/* The JSON that a text is, perhaps as text in a text. What cannot be parsed, and what is no text,
 * is given back. NULL: no memory */
static yyjson_mut_val *parse(struct masking *masking, yyjson_mut_val *value) {
    for (unsigned i = 0; i < TEXTS_MAX && yyjson_mut_is_str(value); i++) {
        yyjson_read_err why;
        CLEANUP(yyjson_doc_freep)
        yyjson_doc *read = json_read_lenient(yyjson_mut_get_str(value), yyjson_mut_get_len(value),
                                             READ_FLAGS, NULL, &why);
        if (read == NULL) {
            break;
        }
        value = yyjson_val_mut_copy(masking->doc, yyjson_doc_get_root(read));
    }
    masking->failed = masking->failed || value == NULL;
    return value;
}

/* Write a value as text, in the place of one. */
static void write_text(struct masking *masking, yyjson_mut_val *text, yyjson_mut_val *value) {
    size_t length = 0;
    CLEANUP(freep) char *json = yyjson_mut_val_write(value, YYJSON_WRITE_NOFLAG, &length);
    yyjson_mut_val *copy = json != NULL ? yyjson_mut_strncpy(masking->doc, json, length) : NULL;
    masking->failed = masking->failed || copy == NULL ||
                      !yyjson_mut_set_strn(text, yyjson_mut_get_str(copy), length);
}

/* ------------------------------------------------------------------- plans */

typedef void take_object(struct masking *masking, yyjson_mut_val *object);

/* Pass all objects to `take`, those inside others first, and those in texts too. */
static void visit(struct masking *masking, yyjson_mut_val *value, unsigned depth,
                  take_object *take) {
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_val *part;
    if (depth == DEPTH_MAX) {
        masking->failed = true; /* of what is deeper no plan is made */
        return;
    }
    if (yyjson_mut_is_str(value)) {
        yyjson_mut_val *meant = parse(masking, value);
        const bool had_changed = masking->has_changed;
        masking->has_changed = false;
        if (yyjson_mut_is_ctn(meant)) {
            visit(masking, meant, depth + 1, take);
        }
        if (masking->has_changed) {
            write_text(masking, value, meant);
        }
        masking->has_changed = masking->has_changed || had_changed;
    }
    yyjson_mut_arr_foreach(value, at, count, part) {
        visit(masking, part, depth + 1, take);
    }
    yyjson_mut_obj_foreach(value, at, count, name, part) {
        visit(masking, part, depth + 1, take);
    }
    if (yyjson_mut_is_obj(value)) {
        take(masking, value);
    }
}

static void replace(struct masking *masking, yyjson_mut_val *object, const char *name,
                    yyjson_mut_val *value) {
    masking->failed = masking->failed || value == NULL ||
                      !yyjson_mut_obj_replace(object, yyjson_mut_str(masking->doc, name), value);
}

/* What a plan says of its inputs. */
static void find_inputs(struct masking *masking, yyjson_mut_val *plan) {
    yyjson_mut_val *inputs = yyjson_mut_obj_get(plan, "inputs");
    size_t at;
    size_t count;
    yyjson_mut_val *name;
    yyjson_mut_val *part;
    if (inputs == NULL || yyjson_mut_obj_get(plan, "nodes") == NULL) {
        return;
    }
    yyjson_mut_obj_foreach(parse(masking, inputs), at, count, name, part) {
        masking->failed =
                !yyjson_mut_obj_add(masking->inputs, yyjson_mut_val_mut_copy(masking->doc, name),
                                    yyjson_mut_val_mut_copy(masking->doc, part)) ||
                masking->failed;
    }
}

/* The values of a plan's inputs stand beside it. Where some are secret, so may be what has another
 * name than the plan has for any. */
static void mask_inputs(struct masking *masking, yyjson_mut_val *object) {
    yyjson_mut_val *inputs = yyjson_mut_obj_get(object, "inputs");
    if (inputs != NULL && yyjson_mut_obj_get(object, "nodes") == NULL) {
        replace(masking, object, "inputs", mask_by(masking, masking->schema, inputs, true));
    }
}

/* A node of a plan, or its fallback: it has a tool and arguments, and perhaps others inside. What
 * it is run for each of may come to any of its parameters. */
static void mask_node(struct masking *masking, yyjson_mut_val *node) {
    const char *tool = yyjson_mut_get_str(yyjson_mut_obj_get(node, "tool"));
    yyjson_mut_val *arguments = yyjson_mut_obj_get(node, "arguments");
    yyjson_mut_val *items = yyjson_mut_obj_get(node, "for_each");
    enum call_secrets what = CALL_SECRETS_NONE;
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
    if (tool == NULL || arguments == NULL) {
        return;
    }
    masking->failed = masking->failed || !masking->look(masking->user, tool, &what, &schema);
    if (what == CALL_SECRETS_MARKED && schema != NULL) {
        replace(masking, node, "arguments",
                mask_by(masking, yyjson_doc_get_root(schema), arguments, true));
    } else if (what == CALL_SECRETS_ANY) {
        replace(masking, node, "arguments", mask_all(masking, arguments, false));
    }
    if (what != CALL_SECRETS_NONE && yyjson_mut_is_arr(items)) {
        replace(masking, node, "for_each", mask_all(masking, items, what == CALL_SECRETS_MARKED));
    }
}

static void mask_plan(struct masking *masking, yyjson_mut_val *plan) {
    masking->inputs = yyjson_mut_obj(masking->doc);
    visit(masking, plan, 0, find_inputs);
    visit(masking, plan, 0, mask_node);
    yyjson_mut_val *schema = yyjson_mut_obj(masking->doc);
    (void)yyjson_mut_obj_add_val(masking->doc, schema, "properties", masking->inputs);
    CLEANUP(yyjson_doc_freep) yyjson_doc *inputs = yyjson_mut_val_imut_copy(schema, NULL);
    CLEANUP(yyjson_doc_freep) yyjson_doc *none = yyjson_read("{}", 2, 0);
    masking->schema = yyjson_doc_get_root(inputs);
    masking->failed = masking->failed || inputs == NULL || none == NULL;
    if (!masking->failed && schema_has_secrets(masking->schema)) {
        schema_collect_arguments(masking->schema, yyjson_doc_get_root(none), masking->secrets);
        visit(masking, plan, 0, mask_inputs);
    }
}

/* ------------------------------------------------------------------- a call */

/* Set the arguments of a call to what takes their place: as text where they were text. */
static void put(struct masking *masking, const char *pointer, yyjson_mut_val *before,
                yyjson_mut_val *value) {
    if (value == NULL) {
        masking->failed = true;
    } else if (yyjson_mut_is_str(before)) {
        write_text(masking, before, value);
    } else {
        masking->failed = masking->failed || !yyjson_mut_doc_ptr_set(masking->doc, pointer, value);
    }
}

static void take_call(void *user, const char *name, const char *pointer) {
    struct masking *masking = user;
    enum call_secrets what = CALL_SECRETS_NONE;
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
    yyjson_mut_val *arguments = yyjson_mut_doc_ptr_get(masking->doc, pointer);
    if (arguments == NULL) {
        return;
    }
    masking->failed = masking->failed || !masking->look(masking->user, name, &what, &schema);
    yyjson_mut_val *value =
            parse(masking, yyjson_mut_is_str(arguments)
                                   ? arguments
                                   : yyjson_mut_val_mut_copy(masking->doc, arguments));
    const bool had_changed = masking->has_changed;
    masking->has_changed = false;
    if (value != NULL && what == CALL_SECRETS_MARKED && schema != NULL) {
        value = mask_by(masking, yyjson_doc_get_root(schema), value, true);
    } else if (value != NULL && what == CALL_SECRETS_ANY) {
        value = mask_all(masking, value, false);
    } else if (value != NULL && what == CALL_SECRETS_PLAN) {
        mask_plan(masking, value);
    }
    if (masking->has_changed) {
        put(masking, pointer, arguments, value);
    }
    masking->has_changed = masking->has_changed || had_changed;
}

/* --------------------------------------------------------------------- API */

int call_secrets_of_message(enum toolrack_format format, const char *message, size_t length,
                            call_secrets_look *look, void *user, struct buf *secrets,
                            struct buf *ret, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(message, length, READ_FLAGS);
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *doc = read != NULL ? yyjson_doc_mut_copy(read, NULL) : NULL;
    struct masking masking = {.doc = doc, .look = look, .user = user, .secrets = secrets};
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
