/* Functions of any types, with any names and comments, make definitions: JSON that says what a
 * person must decide, or that is read as the definition of a tool. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "bind/comment.h"
#include "bind/conclude.h"
#include "bind/decisions.h"
#include "plugin/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PARAMS_MAX 8u
#define FIELDS_MAX 4u
#define DEPTH_MAX  5u

struct input {
    const uint8_t *data;
    size_t size;
    struct arena *arena;
};

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static unsigned take(struct input *input) {
    if (input->size == 0) {
        return 0;
    }
    input->size--;
    return *input->data++;
}

/* A name as it may stand in debug information: any text without a zero, or none. */
static const char *take_name(struct input *input) {
    static const char *const names[] = {"len",  "data",      "out",  "n",     "buf",
                                        "__x",  "result",    "size", "count", "error",
                                        "free", "num_bytes", "a b",  ""};
    unsigned kind = take(input);
    return kind % 16 < ARRAY_LENGTH(names) ? names[kind % 16] : NULL;
}

static const struct model_type *take_type(struct input *input, unsigned depth) {
    struct model_type *type = arena_zalloc(input->arena, sizeof *type);
    require(type != NULL);
    unsigned kind = take(input);
    unsigned flags = take(input);
    type->kind = depth == DEPTH_MAX ? MODEL_OTHER : (enum model_kind)(kind % (MODEL_OTHER + 1));
    type->is_const = (flags & 1) != 0;
    type->is_signed = (flags & 2) != 0;
    type->is_packed = (flags & 4) != 0;
    type->size = 1u << (flags >> 3 & 3);
    type->spelling = "T *";
    switch (type->kind) {
    case MODEL_INTEGER: type->is_character = type->size == 1 && (flags & 32) != 0; break;
    case MODEL_FLOAT: type->size = type->size < 4 ? 4 : type->size; break;
    case MODEL_POINTER:
    case MODEL_ARRAY:
        type->count = type->kind == MODEL_ARRAY ? take(input) : 0;
        type->target = take_type(input, depth + 1);
        break;
    case MODEL_ENUM: {
        struct model_choice *choices = arena_zalloc(input->arena, FIELDS_MAX * sizeof *choices);
        type->choice_count = flags % FIELDS_MAX + 1;
        for (uint32_t i = 0; i < type->choice_count; i++) {
            const char *name = take_name(input);
            choices[i] = (struct model_choice){name != NULL ? name : "RED", (int8_t)take(input)};
        }
        type->choices = choices;
        break;
    }
    case MODEL_STRUCT: {
        struct model_field *fields = arena_zalloc(input->arena, FIELDS_MAX * sizeof *fields);
        type->size = 8 * (take(input) + 1);
        type->field_count = flags % (FIELDS_MAX + 1);
        for (uint32_t i = 0; i < type->field_count; i++) {
            const char *name = take_name(input);
            fields[i].name = name != NULL ? name : "f";
            fields[i].offset = take(input);
            fields[i].type = take_type(input, depth + 1);
        }
        type->fields = fields;
        break;
    }
    default: break;
    }
    return type;
}

static void take_function(struct input *input, struct model_function *ret) {
    struct model_param *params = arena_zalloc(input->arena, PARAMS_MAX * sizeof *params);
    ret->rank = 1;
    ret->name = "function";
    ret->result = take_type(input, 0);
    ret->param_count = take(input) % (PARAMS_MAX + 1);
    for (uint32_t i = 0; i < ret->param_count; i++) {
        params[i].name = take_name(input);
        params[i].type = take_type(input, 0);
    }
    ret->params = params;
    ret->comment = comment_find(input->arena, (const char *)input->data, input->size,
                                input->size / 2, "function");
}

/* What was written is the definition of a tool, or says what must be decided, or what is wrong with
 * it: a struct that no compiler makes. */
static void check_definition(yyjson_mut_val *tool, struct arena *arena) {
    CLEANUP(freep) char *text = yyjson_mut_val_write(tool, 0, NULL);
    require(text != NULL);
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    require(doc != NULL);
    yyjson_mut_val *implementation = yyjson_mut_obj_get(tool, "implementation");
    (void)yyjson_mut_obj_remove_key(implementation, "type");
    CLEANUP(freep) char *own = yyjson_mut_val_write(implementation, 0, NULL);
    yyjson_doc_free(doc);
    doc = yyjson_read(own, strlen(own), 0);
    struct foreign foreign = {.name = "tool", .description = "Does it"};
    struct toolrack_error err = {0};
    int code = foreign_parse(yyjson_doc_get_root(doc), arena, &foreign, &err);
    require(code == 0 || (code == TOOLRACK_E_INVALID && err.message[0] != '\0'));
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    if (code == 0) {
        code = foreign_describe(&foreign, NULL, &(struct descriptor_options){0}, &desc, &err);
        require(code == 0 || code == TOOLRACK_E_REFUSED || code == TOOLRACK_E_NO_MEMORY);
    }
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const texts[] = {"f*.*=out:16", "*.result=hidden", "*.error=nonzero"};
    bool used[ARRAY_LENGTH(texts)] = {false};
    struct arena arena;
    struct toolrack_error err = {0};
    arena_init(&arena, NULL, 0);
    struct input input = {.data = data, .size = size, .arena = &arena};
    const struct decisions decisions = {
            .texts = texts, .count = take(&input) % (ARRAY_LENGTH(texts) + 1), .used = used};
    struct model_symbol symbol = {.name = "function"};
    take_function(&input, &symbol.function);
    const struct model model = {
            .arena = &arena, .library = "libx.so.1", .symbols = &symbol, .symbol_count = 1};
    yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    const struct concluding concluding = {
            .model = &model, .decisions = &decisions, .doc = doc, .explain = "explain"};
    yyjson_mut_val *tool = NULL;
    const char *reason = NULL;
    size_t undecided = 0;
    require(doc != NULL && decisions_check(&decisions, &err) == 0);
    int code = conclude(&concluding, &symbol.function, &tool, &reason, &undecided, &err);
    require(code == 0 || (code == TOOLRACK_E_INVALID && err.message[0] != '\0'));
    require(code < 0 || (tool != NULL) == (reason == NULL));
    if (code == 0 && tool != NULL) {
        check_definition(tool, &arena);
    }
    yyjson_mut_doc_free(doc);
    arena_finish(&arena);
    return 0;
}
