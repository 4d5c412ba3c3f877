/* Functions and types from a header, as clang reads it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "bind/comment.h"
#include "bind/libclang.h"
#include "bind/model.h"

#define RANK_HEADER  5u
/* Most bytes of a header whose comments are read. */
#define HEADER_MAX   (16u * 1024 * 1024)
/* Most folders of headers. */
#define INCLUDES_MAX 64u

struct reading {
    struct model *model;
    bool failed;     /* out of memory */
    struct buf text; /* of the header that the last function was in */
    const char *text_file;
};

static void *allocate(struct reading *reading, size_t size) {
    void *memory = arena_zalloc(reading->model->arena, size);
    reading->failed = reading->failed || memory == NULL;
    return memory;
}

/* Takes the string. */
static const char *keep(struct reading *reading, struct clang_string string) {
    const char *text = libclang.getCString(string);
    const char *kept = model_keep(reading->model, text != NULL ? text : "");
    libclang.disposeString(string);
    reading->failed = reading->failed || kept == NULL;
    return kept != NULL ? kept : "";
}

/* -------------------------------------------------------------------- types */

static const struct model_type *read_type(struct reading *reading, struct clang_type given,
                                          unsigned depth);

/* The members of a struct or the names of an enumeration, while they are visited. */
struct parts {
    struct reading *reading;
    struct model_type *type;
    struct model_field *fields;
    struct model_choice *choices;
    unsigned depth;
    bool is_other;
};

static enum clang_visit visit_part(struct clang_cursor cursor, struct clang_cursor parent,
                                   void *user) {
    struct parts *parts = user;
    struct model_type *type = parts->type;
    int kind = libclang.getCursorKind(cursor);
    (void)parent;
    if (kind == CLANG_ENUM_NAME && type->choice_count < MODEL_NAMES_MAX) {
        struct model_choice *choice = &parts->choices[type->choice_count++];
        choice->name = keep(parts->reading, libclang.getCursorSpelling(cursor));
        choice->value = libclang.getEnumConstantDeclValue(cursor);
    } else if (kind == CLANG_FIELD) {
        long long bits = libclang.Cursor_getOffsetOfField(cursor);
        if (type->field_count == MODEL_FIELDS_MAX) {
            parts->is_other = true;
            return CLANG_BREAK;
        }
        struct model_field *field = &parts->fields[type->field_count];
        field->name = keep(parts->reading, libclang.getCursorSpelling(cursor));
        if (libclang.Cursor_isBitField(cursor) != 0 || bits < 0 || bits % 8 != 0 ||
            field->name[0] == '\0') {
            type->is_packed = true;
            return CLANG_CONTINUE;
        }
        field->offset = (uint64_t)bits / 8;
        field->type = read_type(parts->reading, libclang.getCursorType(cursor), parts->depth + 1);
        type->field_count++;
    }
    return CLANG_CONTINUE;
}

static void read_parts(struct reading *reading, struct clang_type canonical,
                       struct model_type *type, unsigned depth) {
    struct clang_cursor declaration = libclang.getTypeDeclaration(canonical);
    struct parts parts = {.reading = reading, .type = type, .depth = depth};
    int kind = libclang.getCursorKind(declaration);
    type->is_union = kind == CLANG_UNION;
    parts.fields = allocate(reading, MODEL_FIELDS_MAX * sizeof *parts.fields);
    parts.choices = allocate(reading, MODEL_NAMES_MAX * sizeof *parts.choices);
    if (reading->failed || (kind != CLANG_STRUCT && kind != CLANG_ENUM) ||
        (kind == CLANG_STRUCT && depth >= MODEL_DEPTH_SHALLOW)) {
        return;
    }
    (void)libclang.visitChildren(declaration, visit_part, &parts);
    type->fields = parts.fields;
    type->choices = parts.choices;
    if (kind == CLANG_ENUM && type->choice_count > 0) {
        type->kind = MODEL_ENUM;
    } else if (kind == CLANG_STRUCT && type->size > 0 && !parts.is_other) {
        type->kind = MODEL_STRUCT;
    }
}

static void read_number(int kind, struct model_type *type) {
    type->is_signed = kind >= CLANG_TYPE_CHAR_S && kind <= CLANG_TYPE_LONG_LONG;
    type->is_character = kind == CLANG_TYPE_CHAR_S || kind == CLANG_TYPE_CHAR_U;
    if (kind >= CLANG_TYPE_CHAR_U && kind <= CLANG_TYPE_LONG_LONG && type->size <= 8 &&
        type->size > 0) {
        type->kind = MODEL_INTEGER;
    } else if (kind == CLANG_TYPE_FLOAT || kind == CLANG_TYPE_DOUBLE) {
        type->kind = MODEL_FLOAT;
    }
}

static const struct model_type *read_type(struct reading *reading, struct clang_type given,
                                          unsigned depth) {
    struct clang_type canonical = libclang.getCanonicalType(given);
    struct model_type *type = allocate(reading, sizeof *type);
    if (type == NULL) {
        return NULL;
    }
    long long size = libclang.Type_getSizeOf(canonical);
    type->kind = MODEL_OTHER;
    type->spelling = keep(reading, libclang.getTypeSpelling(given));
    type->is_const = libclang.isConstQualifiedType(canonical) != 0;
    type->size = size > 0 && size <= INT32_MAX ? (uint32_t)size : 0;
    if (depth > MODEL_DEPTH_MAX || reading->failed) {
        return type;
    }
    switch (canonical.kind) {
    case CLANG_TYPE_VOID: type->kind = MODEL_VOID; break;
    case CLANG_TYPE_BOOL: type->kind = MODEL_BOOL; break;
    case CLANG_TYPE_POINTER:
        type->kind = MODEL_POINTER;
        type->target =
                read_type(reading, libclang.getPointeeType(canonical), model_depth_below(depth));
        break;
    case CLANG_TYPE_ARRAY:
    case CLANG_TYPE_OPEN_ARRAY:
        type->kind = MODEL_ARRAY;
        type->count =
                canonical.kind == CLANG_TYPE_ARRAY ? (uint64_t)libclang.getArraySize(canonical) : 0;
        type->target = read_type(reading, libclang.getArrayElementType(canonical), depth + 1);
        if (type->is_const && type->target != NULL) { /* as of a typedef of an array */
            struct model_type *item = allocate(reading, sizeof *item);
            if (item != NULL) {
                *item = *type->target;
                item->is_const = true;
                type->target = item;
            }
        }
        break;
    case CLANG_TYPE_RECORD:
    case CLANG_TYPE_ENUM: read_parts(reading, canonical, type, depth); break;
    default: read_number(canonical.kind, type); break;
    }
    return type;
}

/* ---------------------------------------------------------------- functions */

static bool read_text(const char *file, struct buf *out) {
    char block[16384];
    FILE *stream = fopen(file, "re");
    size_t count = 0;
    while (stream != NULL && out->length < HEADER_MAX &&
           (count = fread(block, 1, sizeof block, stream)) > 0) {
        buf_add(out, block, count);
    }
    bool is_read = stream != NULL && ferror(stream) == 0 && !out->failed;
    if (stream != NULL) {
        (void)fclose(stream);
    }
    return is_read;
}

/* The comment about a function, by where its name stands in its file. */
static void read_comment(struct reading *reading, struct clang_cursor cursor,
                         struct model_function *ret) {
    clang_file file = NULL;
    unsigned offset = 0;
    libclang.getExpansionLocation(libclang.getCursorLocation(cursor), &file, NULL, NULL, &offset);
    const char *name = keep(reading, libclang.getFileName(file));
    if (reading->text_file == NULL || strcmp(reading->text_file, name) != 0) {
        buf_clear(&reading->text);
        reading->text_file = name;
        if (!read_text(name, &reading->text)) {
            buf_clear(&reading->text);
        }
    }
    if (offset < reading->text.length) {
        ret->comment = comment_find(reading->model->arena, reading->text.data, reading->text.length,
                                    offset, ret->name);
    }
}

static void read_function(struct reading *reading, struct clang_cursor cursor,
                          struct model_function *ret) {
    struct clang_type type = libclang.getCursorType(cursor);
    int count = libclang.Cursor_getNumArguments(cursor);
    ret->rank = RANK_HEADER;
    ret->is_variadic = libclang.isFunctionTypeVariadic(type) != 0 || count > (int)MODEL_PARAMS_MAX;
    ret->result = read_type(reading, libclang.getResultType(type), 0);
    struct model_param *params = allocate(reading, MODEL_PARAMS_MAX * sizeof *params);
    for (int i = 0; i < count && i < (int)MODEL_PARAMS_MAX && params != NULL; i++) {
        struct clang_cursor argument = libclang.Cursor_getArgument(cursor, (unsigned)i);
        const char *name = keep(reading, libclang.getCursorSpelling(argument));
        params[i].name = name[0] != '\0' ? name : NULL;
        params[i].type = read_type(reading, libclang.getCursorType(argument), 0);
    }
    ret->params = params;
    ret->param_count = count > 0 && params != NULL && !ret->is_variadic ? (uint32_t)count : 0;
    read_comment(reading, cursor, ret);
}

static enum clang_visit visit(struct clang_cursor cursor, struct clang_cursor parent, void *user) {
    struct reading *reading = user;
    (void)parent;
    if (reading->failed) {
        return CLANG_BREAK;
    }
    int kind = libclang.getCursorKind(cursor);
    if (kind == CLANG_LINKAGE) {
        return CLANG_RECURSE;
    }
    if (kind == CLANG_FUNCTION) {
        struct clang_string spelling = libclang.getCursorSpelling(cursor);
        struct model_symbol *symbol = model_find(reading->model, libclang.getCString(spelling));
        libclang.disposeString(spelling);
        /* Of several declarations the last: those before may be without parameters. */
        if (symbol != NULL && symbol->is_read) {
            read_function(reading, cursor, &symbol->function);
        }
    }
    return CLANG_CONTINUE;
}

/* --------------------------------------------------------------------- unit */

static int tell_errors(clang_unit unit, const char *header, struct toolrack_error *err) {
    for (unsigned i = 0; i < libclang.getNumDiagnostics(unit); i++) {
        clang_diagnostic diagnostic = libclang.getDiagnostic(unit, i);
        int code = 0;
        if (libclang.getDiagnosticSeverity(diagnostic) >= CLANG_ERROR) {
            struct clang_string text = libclang.formatDiagnostic(diagnostic, 1);
            code = error_set(
                    err, TOOLRACK_E_INVALID,
                    "%s cannot be read: %s; give the folders that it needs with --include, "
                    "or a header of your own that includes it",
                    header, libclang.getCString(text));
            libclang.disposeString(text);
        }
        libclang.disposeDiagnostic(diagnostic);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

int header_read(struct model *model, const char *header, const char *const *includes,
                size_t include_count, struct toolrack_error *err) {
    const char *arguments[2 * INCLUDES_MAX + 8] = {"-x", "c", "-ferror-limit=1"};
    int count = 3;
    clang_unit unit = NULL;
    if (include_count > INCLUDES_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "more than %u folders of headers",
                         INCLUDES_MAX);
    }
    for (size_t i = 0; i < include_count; i++) {
        arguments[count++] = "-I";
        arguments[count++] = includes[i];
    }
    int code = libclang_load(err);
    if (code < 0) {
        return code;
    }
    struct stat about;
    bool is_there = stat(header, &about) == 0 && access(header, R_OK) == 0;
    if (!is_there || !S_ISREG(about.st_mode)) { /* a pipe or a device would not end */
        return error_set(err, TOOLRACK_E_NOT_FOUND, "cannot read %s: %s", header,
                         is_there ? "it is no file" : strerror(errno));
    }
    clang_index index = libclang.createIndex(0, 0);
    if (libclang.parseTranslationUnit2(index, header, arguments, count, NULL, 0, 0, &unit) != 0) {
        code = error_set(err, TOOLRACK_E_INVALID, "%s cannot be read as a header of C", header);
    }
    if (code == 0) {
        code = tell_errors(unit, header, err);
    }
    struct reading reading = {.model = model};
    if (code == 0) {
        (void)libclang.visitChildren(libclang.getTranslationUnitCursor(unit), visit, &reading);
        code = reading.failed ? error_oom(err) : 0;
    }
    buf_finish(&reading.text);
    if (unit != NULL) {
        libclang.disposeTranslationUnit(unit);
    }
    libclang.disposeIndex(index);
    return code;
}
