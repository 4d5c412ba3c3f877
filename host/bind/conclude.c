/* What each argument of a function is, as far as its type, its name and the comment about it say.
 *
 * What is certain becomes a member of the definition. Where several things may be meant the
 * argument has "decide" with a choice for each, unless a decision was given. A wrong guess would be
 * a wrong call, so a guess is made only where all that can be meant are called alike. */
#include "bind/conclude.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/name.h"
#include "bind/comment.h"
#include "bind/failure.h"
#include "bind/parts.h"
#include "bind/write.h"

/* Room for what a function writes, where its caller tells the function how much there is. */
#define BYTES_ROOM 65536u
#define ITEMS_ROOM 1024u

#define NO_PARAM UINT32_MAX

static void refuse(struct work *work, const char *what, const char *why) {
    if (work->reason == NULL) {
        const char *text = arena_printf(work->concluding->model->arena, "%s %s", what, why);
        work->reason = text != NULL ? text : work_keep(work, NULL);
    }
}

/* Why a value of the type cannot be given or taken. */
static const char *explain_type(const struct model_type *type) {
    bool is_struct = type->kind == MODEL_STRUCT;
    return type->is_union ? "a union, of which nothing says what it holds"
           : is_struct && type->is_packed
                   ? "a struct with bit-fields, or of C++ with a copy of its own, which only its "
                     "compiler can pass by value"
           : is_struct && write_is_handle(type)
                   ? "a struct with pointers that are no texts, for which JSON has no values"
           : is_struct       ? "a struct with members that JSON cannot say, or that is packed"
           : type->size > 8  ? "a number of more than 64 bits, or larger than what is read"
           : type->size == 0 ? "a type that is not defined there, or a function"
                             : "of no kind that JSON can say";
}

static void refuse_type(struct work *work, const char *what, const struct model_type *type) {
    const char *why = arena_printf(work->concluding->model->arena,
                                   "is of a type that no definition can state: %s is %s",
                                   type->spelling, explain_type(type));
    refuse(work, what, why != NULL ? why : work_keep(work, NULL));
}

/* ----------------------------------------------------------------- parameters */

static const struct model_type *param_type(const struct work *work, uint32_t index) {
    return work->types[index];
}

/* A pointer to a struct that is nothing but bytes, as ids and keys are, is one to these bytes. */
static const struct model_type *see_bytes(struct work *work, const struct model_type *type) {
    const struct model_type *to = type->target;
    const struct model_type *bytes = to != NULL && type->kind == MODEL_POINTER &&
                                                     to->kind == MODEL_STRUCT && !to->is_packed &&
                                                     to->field_count == 1
                                             ? to->fields[0].type
                                             : NULL;
    if (bytes == NULL || bytes->kind != MODEL_ARRAY || bytes->target == NULL ||
        bytes->target->kind != MODEL_INTEGER || bytes->target->size != 1 ||
        bytes->count != to->size) {
        return type;
    }
    struct model_type *seen = arena_zalloc(work->concluding->model->arena, 2 * sizeof *seen);
    if (seen == NULL) {
        work->code = error_oom(work->err);
        return type;
    }
    seen[1] = *bytes->target;
    seen[1].is_character = false;
    seen[1].is_const = to->is_const;
    seen[0] = *bytes;
    seen[0].target = &seen[1];
    seen[0].spelling = type->spelling;
    return seen;
}

static bool is_byte(const struct model_type *type) {
    return type->kind == MODEL_VOID || (type->kind == MODEL_INTEGER && type->size == 1);
}

static bool is_number(const struct model_type *type) {
    return type->kind == MODEL_INTEGER || type->kind == MODEL_FLOAT || type->kind == MODEL_ENUM ||
           type->kind == MODEL_BOOL;
}

/* Whether a pointer may be to several. */
static bool is_buffer(const struct model_type *type) {
    return model_is_address(type) &&
           (is_byte(type->target) || is_number(type->target) ||
            (type->target->kind == MODEL_STRUCT && !write_is_handle(type->target)));
}

/* Names are those of arguments in JSON: those of glibc have underscores in front. */
static void name_params(struct work *work) {
    for (uint32_t i = 0; i < work->function->param_count; i++) {
        const char *name = work->function->params[i].name;
        name = name != NULL ? name + strspn(name, "_") : NULL;
        bool is_good = name != NULL && name_valid(name) && strcmp(name, "result") != 0;
        for (uint32_t k = 0; k < i && is_good; k++) {
            is_good = strcmp(work->names[k], name) != 0;
        }
        work->types[i] = see_bytes(work, work->function->params[i].type);
        if (is_good) {
            work->names[i] = name;
        } else {
            const char *number = arena_printf(work->concluding->model->arena, "arg%u", i + 1);
            work->names[i] = number != NULL ? number : work_keep(work, NULL);
        }
    }
}

static bool says_length(const char *name) {
    static const char *const parts[] = {"len", "size",  "count", "cnt",
                                        "num", "bytes", "nel",   "siz"};
    static const char *const whole[] = {"n", "l", "sz", "nb", "cb", "nbyte"};
    char lower[64];
    size_t length = strlen(name);
    if (length >= sizeof lower) {
        return false;
    }
    for (size_t i = 0; i <= length; i++) {
        lower[i] = (char)tolower((unsigned char)name[i]);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        if (strstr(lower, parts[i]) != NULL) {
            return true;
        }
    }
    for (size_t i = 0; i < ARRAY_LENGTH(whole); i++) {
        if (strcmp(lower, whole[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_length(const struct work *work, uint32_t index) {
    const struct model_type *type = param_type(work, index);
    const struct model_type *number =
            type->kind == MODEL_POINTER && type->target != NULL && !type->target->is_const
                    ? type->target
                    : type;
    return work->function->params[index].name != NULL && number->kind == MODEL_INTEGER &&
           number->size >= 2 && says_length(work->names[index]);
}

static void pair(struct work *work, uint32_t buffer, uint32_t length) {
    work->length_at[buffer] = length;
    work->length_of[length] = buffer;
}

/* "FUNCTION.SIZE=length_of_BUFFER", where neither name nor place says so. */
static void pair_decided(struct work *work, uint32_t index) {
    static const char prefix[] = "length_of_";
    const struct decisions *decisions = work->concluding->decisions;
    size_t at = decisions->count;
    struct decision decision;
    bool is_number = param_type(work, index)->kind == MODEL_INTEGER;
    while (is_number &&
           decisions_before(decisions, &at, work->function->name, work->names[index], &decision)) {
        bool is_length = strncmp(decision.choice, prefix, sizeof prefix - 1) == 0;
        for (uint32_t i = 0; is_length && i < work->function->param_count; i++) {
            if (strcmp(work->names[i], decision.choice + sizeof prefix - 1) == 0 &&
                is_buffer(param_type(work, i)) && work->length_at[i] == NO_PARAM) {
                pair(work, i, index);
                decisions->used[at] = true;
                return;
            }
        }
    }
}

/* A length follows its buffer, or is before it; one behind its buffer counts first. */
static void pair_lengths(struct work *work) {
    uint32_t count = work->function->param_count;
    for (uint32_t i = 0; i < count; i++) {
        work->length_at[i] = work->length_of[i] = NO_PARAM;
    }
    for (uint32_t i = 0; i < count; i++) {
        pair_decided(work, i);
    }
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (work->length_of[i] == NO_PARAM && work->length_at[i] == NO_PARAM &&
            work->length_of[i + 1] == NO_PARAM && is_buffer(param_type(work, i)) &&
            is_length(work, i + 1)) {
            pair(work, i, i + 1);
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        const struct model_type *type = param_type(work, i);
        if (work->length_at[i] == NO_PARAM && work->length_of[i] == NO_PARAM && is_buffer(type) &&
            !type->target->is_character && work->length_of[i - 1] == NO_PARAM &&
            param_type(work, i - 1)->kind == MODEL_INTEGER && is_length(work, i - 1)) {
            pair(work, i, i - 1);
        }
    }
}

static bool has_moving_length(const struct work *work, uint32_t index) {
    return work->length_at[index] != NO_PARAM &&
           param_type(work, work->length_at[index])->kind == MODEL_POINTER;
}

/* ------------------------------------------------------------------- choices */

/* Add the type of what a buffer has. */
static bool add_items(struct work *work, yyjson_mut_val *object, const struct model_type *item,
                      bool as_text) {
    if (is_byte(item)) {
        return yyjson_mut_obj_add_str(work->doc, object, "type", as_text ? "string" : "bytes");
    }
    yyjson_mut_val *items = yyjson_mut_obj(work->doc);
    return yyjson_mut_obj_add_str(work->doc, object, "type", "array") &&
           write_value_type(work->doc, items, item) &&
           yyjson_mut_obj_add_val(work->doc, object, "items", items);
}

/* A buffer that is read. */
static void add_read(struct choosing *choosing, const char *name, uint32_t index, bool as_text) {
    struct work *work = choosing->work;
    const struct model_type *type = param_type(work, index);
    yyjson_mut_val *choice = choosing_add(choosing, name);
    (void)add_items(work, choice, type->target, as_text);
    if (as_text) {
        return;
    }
    if (work->length_at[index] == NO_PARAM) {
        (void)yyjson_mut_obj_add_bool(work->doc, choice, "alone", true);
    }
    if (type->count > 0) {
        bool is_bytes = is_byte(type->target);
        (void)yyjson_mut_obj_add_uint(work->doc, choice, is_bytes ? "minLength" : "minItems",
                                      type->count);
        (void)yyjson_mut_obj_add_uint(work->doc, choice, is_bytes ? "maxLength" : "maxItems",
                                      type->count);
    }
}

/* A buffer that is written. Without a length beside it, its room is the person's to say. */
static yyjson_mut_val *add_written(struct choosing *choosing, const char *name, uint32_t index,
                                   const char *direction, bool as_text) {
    struct work *work = choosing->work;
    const struct model_type *type = param_type(work, index);
    bool has_length = work->length_at[index] != NO_PARAM;
    uint64_t room = type->count > 0         ? type->count
                    : !has_length           ? 0
                    : is_byte(type->target) ? BYTES_ROOM
                                            : ITEMS_ROOM;
    yyjson_mut_val *choice = choosing_add(choosing, name);
    (void)add_items(work, choice, type->target, as_text);
    (void)yyjson_mut_obj_add_str(work->doc, choice, "direction", direction);
    (void)yyjson_mut_obj_add_uint(work->doc, choice, "capacity", room);
    if (has_length && type->count == 0) {
        const char *argument =
                arena_printf(work->concluding->model->arena, "%s_room", work->names[index]);
        (void)yyjson_mut_obj_add_str(work->doc, choice, "capacity_argument",
                                     argument != NULL ? argument : work_keep(work, NULL));
    }
    return choice;
}

/* One value behind a pointer. */
static bool add_value(struct choosing *choosing, const char *name, const struct model_type *value,
                      const char *direction) {
    struct work *work = choosing->work;
    yyjson_mut_val *choice = yyjson_mut_obj(work->doc);
    if (!write_value_type(work->doc, choice, value)) {
        return false;
    }
    if (direction != NULL) {
        (void)yyjson_mut_obj_add_str(work->doc, choice, "direction", direction);
    } else {
        (void)yyjson_mut_obj_add_bool(work->doc, choice, "pointer", true);
    }
    return yyjson_mut_obj_add_val(work->doc, choosing->choices, name, choice);
}

static void add_null(struct choosing *choosing) {
    yyjson_mut_val *choice = choosing_add(choosing, "null");
    (void)yyjson_mut_obj_add_str(choosing->work->doc, choice, "type", "pointer");
    (void)yyjson_mut_obj_add_null(choosing->work->doc, choice, "value");
}

/* A pointer to const: what may be meant is read. */
static void choose_read(struct choosing *choosing, uint32_t index) {
    struct work *work = choosing->work;
    const struct model_type *type = param_type(work, index);
    const struct model_type *item = type->target;
    bool has_length = work->length_at[index] != NO_PARAM || type->count > 0;
    if (is_byte(item)) {
        bool is_text = item->is_character;
        if (is_text) {
            add_read(choosing, "text", index, true);
        }
        add_read(choosing, "bytes", index, false);
        if (!is_text && !has_length) {
            add_read(choosing, "text", index, true);
        }
        add_null(choosing);
        choosing->certain = is_text ? "text" : has_length ? "bytes" : NULL;
        return;
    }
    (void)add_value(choosing, "value", item, NULL);
    add_read(choosing, "array", index, false);
    add_null(choosing);
    choosing->certain = has_length ? "array" : item->kind == MODEL_STRUCT ? "value" : NULL;
}

/* What is written may be counted by another argument: "out, size_t *out_pos, out_size". */
static void add_counted(struct choosing *choosing, uint32_t index) {
    struct work *work = choosing->work;
    for (uint32_t i = 0; i < work->function->param_count; i++) {
        const struct model_type *type = param_type(work, i);
        const char *name = NULL;
        if (i != index && work->length_of[i] == NO_PARAM && type->kind == MODEL_POINTER &&
            type->target != NULL && !type->target->is_const &&
            type->target->kind == MODEL_INTEGER && type->target->size >= 4) {
            name = arena_printf(work->concluding->model->arena, "out_counted_by_%s",
                                work->names[i]);
        }
        if (name != NULL) {
            (void)yyjson_mut_obj_add_str(work->doc,
                                         add_written(choosing, name, index, "out", false), "length",
                                         work->names[i]);
        }
    }
}

static void choose_written(struct choosing *choosing, uint32_t index,
                           enum comment_direction direction) {
    struct work *work = choosing->work;
    const struct model_type *type = param_type(work, index);
    const struct model_type *item = type->target;
    bool has_length = work->length_at[index] != NO_PARAM;
    bool is_many = is_byte(item) || has_length || type->count > 0;
    bool counts = work->function->result != NULL && work->function->result->kind == MODEL_INTEGER &&
                  work->function->result->size >= 4;
    work->writes = true;
    if (is_many) {
        (void)add_written(choosing, "out", index, "out", false);
        if (item->is_character) {
            (void)add_written(choosing, "out_text", index, "out", true);
        }
        if (counts && has_length && !has_moving_length(work, index)) {
            (void)yyjson_mut_obj_add_str(work->doc,
                                         add_written(choosing, "out_counted", index, "out", false),
                                         "length", "result");
        }
        add_counted(choosing, index);
        add_read(choosing, "in", index, false);
        (void)add_written(choosing, "inout", index, "inout", false);
    } else {
        (void)add_value(choosing, "out", item, "out");
        (void)add_value(choosing, "inout", item, "inout");
        (void)add_value(choosing, "in", item, NULL);
        add_read(choosing, "array", index, false);
    }
    add_null(choosing);
    bool has_room = !is_many || has_length || type->count > 0;
    choosing->certain = direction == COMMENT_IN && (has_length || !is_many) ? "in"
                        : direction == COMMENT_INOUT && has_room            ? "inout"
                        : direction == COMMENT_OUT && has_room              ? "out"
                        : has_moving_length(work, index)                    ? "out"
                                                                            : NULL;
}

/* char **, or what JSON cannot say: a handle, a function. */
static void choose_handle(struct choosing *choosing, uint32_t index) {
    struct work *work = choosing->work;
    const struct model_type *to = param_type(work, index)->target;
    if (model_is_address(to) && to->target->is_character) {
        yyjson_mut_val *choice = choosing_add(choosing, "out_text");
        (void)yyjson_mut_obj_add_str(work->doc, choice, "type", "string");
        (void)yyjson_mut_obj_add_str(work->doc, choice, "direction", "out");
        (void)yyjson_mut_obj_add_bool(work->doc, choice, "nullable", true);
        work->writes = true;
    }
    add_null(choosing);
}

static bool can_be_said(const struct model_type *type) {
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    bool is_said = doc != NULL && !write_is_handle(type) &&
                   write_value_type(doc, yyjson_mut_obj(doc), type);
    yyjson_mut_doc_free(doc);
    return is_said;
}

/* What only NULL can be passed for. */
static const char *ask_of_handle(const struct model_type *to) {
    return to->is_union               ? "it leads to a union, of which nothing says what it "
                                        "holds: can NULL be passed"
           : model_is_address(to)     ? "it leads to a pointer, for which JSON has no value: "
                                        "can NULL be passed"
           : to->kind == MODEL_STRUCT ? "it leads to a handle, a struct with pointers that only "
                                        "the library makes, and that lives no longer than a "
                                        "worker: can NULL be passed"
           : strchr(to->spelling, '(') != NULL || strcmp(to->spelling, "a function") == 0
                   ? "it leads to a function, which JSON has not: can NULL be passed"
                   : "it leads to a handle, whose type is the library's own and which lives no "
                     "longer "
                     "than a worker: can NULL be passed";
}

static void conclude_pointer(struct work *work, uint32_t index, yyjson_mut_val *object,
                             enum comment_direction direction) {
    const struct model_type *type = param_type(work, index);
    struct choosing choosing = choosing_begin(work, work->names[index], object);
    const char *question;
    bool is_said = is_byte(type->target) || can_be_said(type->target);
    if (!is_said) {
        choose_handle(&choosing, index);
        question = yyjson_mut_obj_get(choosing.choices, "out_text") != NULL
                           ? "does the function set it to a text, or can only NULL be passed"
                           : ask_of_handle(type->target);
    } else if (type->target->is_const) {
        choose_read(&choosing, index);
        question = "what does the pointer lead to";
    } else {
        choose_written(&choosing, index, direction);
        question = "does the function read or write what the pointer leads to";
    }
    const char *text =
            arena_printf(work->concluding->model->arena, "%s: %s", type->spelling, question);
    choosing_end(&choosing, text != NULL ? text : question);
}

static void conclude_length(struct work *work, uint32_t index, yyjson_mut_val *object) {
    const struct model_type *type = param_type(work, index);
    bool moves = type->kind == MODEL_POINTER;
    (void)write_value_type(work->doc, object, moves ? type->target : type);
    (void)yyjson_mut_obj_add_str(work->doc, object, "length_of",
                                 work->names[work->length_of[index]]);
    if (moves) {
        (void)yyjson_mut_obj_add_str(work->doc, object, "direction", "inout");
    }
}

static yyjson_mut_val *conclude_param(struct work *work, uint32_t index) {
    const struct model_type *type = param_type(work, index);
    yyjson_mut_val *object = yyjson_mut_obj(work->doc);
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    enum comment_direction direction =
            work->function->comment != NULL && work->function->params[index].name != NULL
                    ? comment_add_param(&words, work->function->comment,
                                        work->function->params[index].name)
                    : COMMENT_SAYS_NOTHING;
    (void)yyjson_mut_obj_add_str(work->doc, object, "name", work->names[index]);
    if (work->length_of[index] != NO_PARAM) {
        conclude_length(work, index, object);
    } else if (model_is_address(type)) {
        conclude_pointer(work, index, object, direction);
    } else if (!write_value_type(work->doc, object, type) ||
               (type->kind == MODEL_STRUCT && !write_is_whole(type))) {
        refuse_type(work, work->names[index], type);
    }
    if (words.length > 0 && work->length_of[index] == NO_PARAM) {
        (void)yyjson_mut_obj_add_str(work->doc, object, "description", work_keep(work, words.data));
    }
    return object;
}

/* -------------------------------------------------------------------- result */

/* Functions of the library that free a pointer: void (void *), or to text. */
static void add_releases(struct choosing *choosing) {
    const struct model *model = choosing->work->concluding->model;
    yyjson_mut_val *choice = choosing_add(choosing, "free");
    (void)yyjson_mut_obj_add_str(choosing->work->doc, choice, "free", "free");
    for (size_t i = 0; i < model->symbol_count; i++) {
        const struct model_function *function = &model->symbols[i].function;
        if (function->rank == 0 || function->param_count != 1 || function->result == NULL ||
            function->result->kind != MODEL_VOID || !model_is_address(function->params[0].type) ||
            !is_byte(function->params[0].type->target) || strstr(function->name, "free") == NULL ||
            strcmp(function->name, "free") == 0) {
            continue;
        }
        choice = choosing_add(choosing, function->name);
        (void)yyjson_mut_obj_add_str(choosing->work->doc, choice, "free", function->name);
    }
}

static void conclude_pointer_result(struct work *work, yyjson_mut_val *object) {
    const struct model_type *target = work->function->result->target;
    struct choosing choosing = choosing_begin(work, "result", object);
    if (target->is_character) {
        (void)yyjson_mut_obj_add_str(work->doc, object, "type", "string");
        (void)yyjson_mut_obj_add_bool(work->doc, object, "nullable", true);
        if (!target->is_const) {
            (void)choosing_add(&choosing, "borrowed");
            add_releases(&choosing);
            (void)yyjson_mut_obj_add_bool(work->doc, choosing_add(&choosing, "hidden"), "hidden",
                                          true);
            choosing_end(&choosing, "the text that it returns: is it the library's (borrowed), or "
                                    "must it be freed, by which function");
        }
    } else if (target->kind == MODEL_STRUCT && !write_is_handle(target) &&
               write_value_type(work->doc, object, target)) {
        (void)yyjson_mut_obj_add_bool(work->doc, object, "nullable", true);
    } else {
        yyjson_mut_val *choice = choosing_add(&choosing, "hidden");
        (void)yyjson_mut_obj_add_str(work->doc, choice, "type", "uint64");
        (void)yyjson_mut_obj_add_bool(work->doc, choice, "hidden", true);
        choosing_end(&choosing, "it returns a pointer that JSON cannot say: is it of no use");
    }
}

static yyjson_mut_val *conclude_result(struct work *work) {
    const struct model_type *type = work->function->result;
    if (type == NULL || type->kind == MODEL_VOID) {
        return NULL;
    }
    yyjson_mut_val *object = yyjson_mut_obj(work->doc);
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    if (work->function->comment != NULL) {
        (void)comment_add_param(&words, work->function->comment, NULL);
    }
    if (model_is_address(type)) {
        conclude_pointer_result(work, object);
    } else if (!write_value_type(work->doc, object, type) ||
               (type->kind == MODEL_STRUCT && !write_is_whole(type))) {
        refuse_type(work, "the result", type);
    }
    if (words.length > 0) {
        (void)yyjson_mut_obj_add_str(work->doc, object, "description", work_keep(work, words.data));
    }
    return object;
}

/* ---------------------------------------------------------------------- tool */

static yyjson_mut_val *make_implementation(struct work *work) {
    yyjson_mut_doc *doc = work->doc;
    yyjson_mut_val *implementation = yyjson_mut_obj(doc);
    yyjson_mut_val *arguments = yyjson_mut_arr(doc);
    (void)yyjson_mut_obj_add_str(doc, implementation, "type", "native");
    (void)yyjson_mut_obj_add_str(doc, implementation, "library", work->concluding->model->library);
    (void)yyjson_mut_obj_add_str(doc, implementation, "symbol", work->function->name);
    (void)yyjson_mut_obj_add_val(doc, implementation, "arguments", arguments);
    for (uint32_t i = 0; i < work->function->param_count; i++) {
        (void)yyjson_mut_arr_append(arguments, conclude_param(work, i));
    }
    yyjson_mut_val *result = conclude_result(work);
    if (result != NULL) {
        (void)yyjson_mut_obj_add_val(doc, implementation, "result", result);
    }
    failure_conclude(work, implementation);
    return implementation;
}

/* The comment's words, and the prototype, which a model understands too. */
static const char *describe(struct work *work) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (work->function->comment != NULL) {
        comment_add_description(&text, work->function->comment);
    }
    buf_add_text(&text, text.length > 0 ? " C: " : "The C function ");
    write_prototype(&text, work->function);
    return work_keep(work, text.failed ? NULL : text.data);
}

static void check_function(struct work *work) {
    const struct model_function *function = work->function;
    if (function->rank == 0) {
        refuse(work, "nothing", "says what it takes");
    } else if (function->is_variadic) {
        refuse(work, "it", "takes a variable number of arguments");
    }
    for (uint32_t i = 0; i < function->param_count && work->reason == NULL; i++) {
        if (function->params[i].type == NULL) {
            refuse(work, "an argument", "has no type");
        }
    }
}

int conclude(const struct concluding *concluding, const struct model_function *function,
             yyjson_mut_val **ret, const char **ret_reason, size_t *ret_undecided,
             struct toolrack_error *err) {
    struct work work = {
            .concluding = concluding, .doc = concluding->doc, .function = function, .err = err};
    check_function(&work);
    yyjson_mut_val *tool = yyjson_mut_obj(work.doc);
    if (work.reason == NULL) {
        name_params(&work);
        pair_lengths(&work);
        (void)yyjson_mut_obj_add_str(work.doc, tool, "name", function->name);
        (void)yyjson_mut_obj_add_str(work.doc, tool, "description", describe(&work));
        (void)yyjson_mut_obj_add_str(work.doc, tool, "type", "function");
        if (!yyjson_mut_obj_add_val(work.doc, tool, "implementation", make_implementation(&work))) {
            return error_oom(err);
        }
    }
    *ret = work.reason == NULL ? tool : NULL;
    *ret_reason = work.reason;
    *ret_undecided = work.undecided;
    return work.code;
}
