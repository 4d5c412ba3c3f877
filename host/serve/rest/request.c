/* A request: its memory, what it says, and whether that is as its route demands. */
#include "serve/rest/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/object.h"
#include "serve/rest/receive.h"
#include "toolrack/serving.h"

struct rest_request *rest_request_ref(struct rest_request *request) {
    OBJECT_CHECK(request, REST_REQUEST_MAGIC);
    (void)atomic_fetch_add_explicit(&request->refs, 1, memory_order_relaxed);
    return request;
}

void rest_request_unref(struct rest_request *request) {
    if (atomic_fetch_sub_explicit(&request->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    struct rest *rest = request->rest;
    toolrack_tool_unref(request->tool);
    toolrack_token_grant_unref(request->grant);
    toolrack_call_unref(request->call);
    toolrack_error_free(request->err);
    yyjson_mut_doc_free(request->doc);
    buf_finish(&request->out);
    arena_finish(&request->arena);
    lock_finish(&request->lock);
    OBJECT_WIPE(request, REST_REQUEST_MAGIC);
    free(request);
    LOCK_SCOPE(&rest->lock);
    if (--rest->used == 0) {
        (void)pthread_cond_broadcast(&rest->quiet);
    }
}

struct toolrack_error *rest_err(struct rest_request *request) {
    if (request->err == NULL) {
        request->err = toolrack_error_create();
    }
    return request->err;
}

/* ------------------------------------------------------------ what it says */

const char *rest_part(const struct rest_request *request, const char *name) {
    return route_part(request->route, &request->target, name);
}

const char *rest_query(const struct rest_request *request, const char *name) {
    return target_value(&request->target, name);
}

uint64_t rest_query_number(const struct rest_request *request, const char *name) {
    const char *text = rest_query(request, name);
    return text != NULL ? strtoull(text, NULL, 10) : 0;
}

bool rest_query_true(const struct rest_request *request, const char *name) {
    const char *text = rest_query(request, name);
    return text != NULL && strcmp(text, "true") == 0;
}

const char *rest_text(const struct rest_request *request, const char *name) {
    return yyjson_get_str(yyjson_obj_get(request->json, name));
}

/* JSON has one kind of numbers: 1.0 is 1. */
static bool read_whole(yyjson_val *value, uint64_t *ret) {
    double real = yyjson_get_real(value);
    *ret = yyjson_is_real(value) && real >= 0 && real <= (double)FIELD_NUMBER_MAX
                   ? (uint64_t)real
                   : yyjson_get_uint(value);
    return yyjson_is_uint(value) || (yyjson_is_real(value) && (double)*ret == real);
}

uint64_t rest_number(const struct rest_request *request, const char *name) {
    uint64_t number = 0;
    (void)read_whole(yyjson_obj_get(request->json, name), &number);
    return number;
}

const char *rest_who(struct rest_request *request) {
    const struct principal *principal = &request->principal;
    return principal->grant != NULL ? arena_printf(&request->arena, "token %s",
                                                   toolrack_token_grant_name(principal->grant))
                                    : principal->id;
}

/* ------------------------------------------------------ query and body, checked */

static const struct field *find_field(const struct field *fields, const char *name) {
    for (; fields != NULL && fields->name != NULL; fields++) {
        if (strcmp(fields->name, name) == 0) {
            return fields;
        }
    }
    return NULL;
}

static void add_names(struct buf *out, const struct field *fields) {
    const char *before = "";
    for (; fields != NULL && fields->name != NULL; fields++) {
        buf_printf(out, "%s%s", before, fields->name);
        before = ", ";
    }
    buf_add_text(out, before[0] == '\0' ? "none" : "");
}

static bool refuse_unknown(struct rest_request *request, const char *what, const char *name,
                           const struct field *fields) {
    CLEANUP(buf_finish) struct buf known = BUF_INIT;
    add_names(&known, fields);
    rest_refuse(request, TOOLRACK_E_INVALID, "there is no %s '%.64s'; those of this route are: %s",
                what, name, known.failed ? "" : known.data);
    return false;
}

static bool is_choice(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (const char *at = choices; at != NULL;) {
        size_t one = strcspn(at, "|");
        if (one == length && memcmp(at, text, length) == 0) {
            return true;
        }
        at = at[one] == '|' ? at + one + 1 : NULL;
    }
    return false;
}

static bool is_within(const struct field *field, uint64_t number) {
    return number >= field->least && number <= field_most(field);
}

static bool is_number(const struct field *field, const char *text) {
    size_t length = strspn(text, "0123456789");
    return length > 0 && length < 19 && text[length] == '\0' &&
           is_within(field, strtoull(text, NULL, 10));
}

/* Room for what wanted_of() writes. */
#define WANTED_ROOM 80u

static const char *wanted_of(const struct field *field, char room[static WANTED_ROOM]) {
    switch (field->type) {
    case FIELD_BOOLEAN: return "true or false";
    case FIELD_INTEGER:
        (void)snprintf(room, WANTED_ROOM, "a whole number from %llu to %llu",
                       (unsigned long long)field->least, (unsigned long long)field_most(field));
        return room;
    case FIELD_SIGNED: return "a whole number of 32 bits";
    case FIELD_STRINGS: return "an array of strings";
    case FIELD_OBJECT: return "an object";
    case FIELD_STRING: break;
    }
    return field->choices != NULL ? field->choices : "a string";
}

static bool check_text(struct rest_request *request, const struct field *field, const char *text) {
    bool fits = field->type == FIELD_BOOLEAN ? is_choice("true|false", text)
                : field->type == FIELD_INTEGER
                        ? is_number(field, text)
                        : field->choices == NULL || is_choice(field->choices, text);
    if (!fits) {
        char room[WANTED_ROOM];
        rest_refuse(request, TOOLRACK_E_INVALID, "the parameter '%s' must be %s, not '%.64s'",
                    field->name, wanted_of(field, room), text);
    }
    return fits;
}

static bool check_query(struct rest_request *request) {
    const struct target *target = &request->target;
    const struct field *fields = request->route->query;
    char room[WANTED_ROOM];
    for (size_t i = 0; i < target->parameter_count; i++) {
        const struct target_parameter *parameter = &target->parameters[i];
        const struct field *field = find_field(fields, parameter->name);
        if (field == NULL) {
            return refuse_unknown(request, "parameter", parameter->name, fields);
        }
        if (!check_text(request, field, parameter->value)) {
            return false;
        }
    }
    for (const struct field *field = fields; field != NULL && field->name != NULL; field++) {
        if (field->required && target_value(target, field->name) == NULL) {
            rest_refuse(request, TOOLRACK_E_INVALID,
                        "the query of the URL lacks '%s' (?%s=...), which is %s", field->name,
                        field->name, wanted_of(field, room));
            return false;
        }
    }
    return true;
}

static bool has_zero(yyjson_val *string) {
    return yyjson_is_str(string) && strlen(yyjson_get_str(string)) != yyjson_get_len(string);
}

static bool has_type(const struct field *field, yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *item;
    uint64_t number;
    switch (field->type) {
    case FIELD_STRING:
        return yyjson_is_str(value) && !has_zero(value) &&
               (field->choices == NULL || is_choice(field->choices, yyjson_get_str(value)));
    case FIELD_BOOLEAN: return yyjson_is_bool(value);
    case FIELD_INTEGER: return read_whole(value, &number) && is_within(field, number);
    case FIELD_SIGNED:
        return yyjson_is_int(value) &&
               (!yyjson_is_uint(value) || yyjson_get_uint(value) <= INT32_MAX) &&
               yyjson_get_sint(value) >= INT32_MIN;
    case FIELD_OBJECT: return yyjson_is_obj(value) || yyjson_is_null(value); /* null is none */
    case FIELD_STRINGS: break;
    }
    yyjson_arr_foreach (value, at, count, item) {
        if (!yyjson_is_str(item) || has_zero(item)) {
            return false;
        }
    }
    return yyjson_is_arr(value);
}

static bool check_members(struct rest_request *request) {
    const struct field *fields = request->route->body;
    char room[WANTED_ROOM];
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (request->json, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        const struct field *field =
                strlen(name) == yyjson_get_len(key) ? find_field(fields, name) : NULL;
        if (field == NULL) {
            return refuse_unknown(request, "member", name, fields);
        }
        if (yyjson_obj_get(request->json, name) != value) { /* which of the two is meant? */
            rest_refuse(request, TOOLRACK_E_INVALID, "the member '%s' is there twice; send it once",
                        name);
            return false;
        }
        if (!has_type(field, value)) {
            rest_refuse(request, TOOLRACK_E_INVALID, "the member '%s' must be %s%s", field->name,
                        wanted_of(field, room),
                        has_zero(value) ? ", without the character U+0000" : "");
            return false;
        }
    }
    for (const struct field *field = fields; field != NULL && field->name != NULL; field++) {
        if (field->required && yyjson_obj_get(request->json, field->name) == NULL) {
            rest_refuse(request, TOOLRACK_E_INVALID, "the member '%s' is missing; it is %s",
                        field->name, wanted_of(field, room));
            return false;
        }
    }
    return true;
}

/* Take the body apart. A route without members takes an empty object, or nothing. */
static bool read_body(struct rest_request *request, const struct front_request *from) {
    yyjson_alc alc = arena_alc(&request->arena);
    yyjson_read_err err;
    yyjson_read_flag flags =
            (request->route->flags & ROUTE_EXACT) != 0 ? YYJSON_READ_NUMBER_AS_RAW : 0;
    yyjson_doc *doc =
            from->length > 0 ? yyjson_read_opts(from->body, from->length, flags, &alc, &err) : NULL;
    request->json = yyjson_doc_get_root(doc);
    if (from->length > 0 && doc == NULL && err.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        rest_oom(request);
        return false;
    }
    if (from->length > 0 && !yyjson_is_obj(request->json)) {
        rest_refuse(request, TOOLRACK_E_INVALID, "the body is no JSON object%s%s",
                    doc == NULL ? ": " : "", doc == NULL ? err.msg : "");
        return false;
    }
    if (doc != NULL && json_is_deeper(request->json, JSON_DEEPER_MAX)) {
        rest_refuse(request, TOOLRACK_E_INVALID, "the body is nested deeper than %u levels",
                    JSON_DEEPER_MAX);
        return false;
    }
    return check_members(request);
}

bool rest_request_check(struct rest_request *request, const struct front_request *from) {
    unsigned flags = request->route->flags;
    if (!check_query(request)) {
        return false;
    }
    if (strcmp(request->route->method, "GET") == 0 ||
        strcmp(request->route->method, "DELETE") == 0) {
        return true;
    }
    if ((flags & ROUTE_ANY_BODY) == 0) {
        return read_body(request, from);
    }
    bool outlasts = (flags & (ROUTE_WAITS | ROUTE_CHOOSES | ROUTE_LONG)) != 0;
    request->body =
            outlasts ? arena_copy(&request->arena, from->length > 0 ? from->body : "", from->length)
                     : from->body;
    request->body_length = from->length;
    if (outlasts && request->body == NULL) {
        rest_oom(request);
        return false;
    }
    return true;
}
