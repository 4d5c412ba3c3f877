/* model.h - C functions and types, as read from debug information or a header. All memory is in the
 * arena of whoever reads. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* Deepest type; structs are not looked into from MODEL_DEPTH_SHALLOW on. */
#define MODEL_DEPTH_MAX     16u
#define MODEL_DEPTH_SHALLOW 12u
/* Most memory of what is read. */
#define MODEL_MEMORY_MAX    (1024u * 1024u * 1024u)
/* Most fields of a struct, names of an enumeration and parameters that are read. */
#define MODEL_FIELDS_MAX    256u
#define MODEL_NAMES_MAX     1024u
#define MODEL_PARAMS_MAX    64u

enum model_kind {
    MODEL_VOID,
    MODEL_BOOL,
    MODEL_INTEGER,
    MODEL_FLOAT,
    MODEL_ENUM,
    MODEL_STRUCT,
    MODEL_POINTER,
    MODEL_ARRAY,
    MODEL_OTHER /* a union, a function, a number of more than 64 bits, a struct that is not defined
                 */
};

struct model_choice {
    const char *name;
    int64_t value;
};

struct model_field {
    const char *name;
    const struct model_type *type;
    uint64_t offset;
};

struct model_type {
    enum model_kind kind;
    bool is_const;
    bool is_signed;
    bool is_character; /* char, whatever its sign */
    bool is_packed;    /* STRUCT: a member is a bit-field or unaligned: not as C passes it by value;
                        * or C++ passes its address */
    bool is_union;     /* OTHER, of a union */
    uint32_t size;     /* bytes */
    uint64_t count;    /* ARRAY; 0: not stated */
    const char *spelling;
    const struct model_type *target; /* POINTER, ARRAY */
    const struct model_field *fields;
    uint32_t field_count;
    const struct model_choice *choices;
    uint32_t choice_count;
};

struct model_param {
    const char *name; /* NULL: none */
    const struct model_type *type;
};

struct model_function {
    const char *name; /* of the exported symbol */
    const struct model_type *result;
    const struct model_param *params;
    uint32_t param_count;
    bool is_variadic;
    const char *comment; /* as in the header; NULL: none */
    unsigned rank;       /* how sure it is that this is the symbol's; 0: nothing was found */
};

/** An exported function of the library. */
struct model_symbol {
    const char *name;
    uint64_t address;
    bool is_read;                   /* what it takes is of interest */
    bool is_chosen;                 /* the address is of what chooses among several (IFUNC) */
    struct model_function function; /* filled by a reader */
};

struct model {
    struct arena *arena;
    const char *file;             /* of the library */
    const char *library;          /* for the definitions */
    struct model_symbol *symbols; /* by name */
    size_t symbol_count;
};

/** The depth of what a pointer leads to: a struct that a pointer in a struct leads to is not looked
 * into, for it may be the struct itself. */
static inline unsigned model_depth_below(unsigned depth) {
    unsigned below = depth + MODEL_DEPTH_SHALLOW / 2;
    return depth >= MODEL_DEPTH_SHALLOW   ? depth + 1
           : below >= MODEL_DEPTH_SHALLOW ? MODEL_DEPTH_SHALLOW
                                          : below;
}

static inline bool model_is_address(const struct model_type *type) {
    return (type->kind == MODEL_POINTER || type->kind == MODEL_ARRAY) && type->target != NULL;
}

/** A copy of a text that a stranger wrote, as one line of UTF-8; NULL: no memory. */
const char *model_keep(struct model *model, const char *text);

/** The symbol of that name, or NULL. */
struct model_symbol *model_find(const struct model *model, const char *name);

/** Read the debug information of model->file into the symbols. */
int dwarf_read(struct model *model, struct toolrack_error *err);

/** Read a header into the symbols. */
int header_read(struct model *model, const char *header, const char *const *includes,
                size_t include_count, struct toolrack_error *err);

/** Find the library, and make the model of its exported functions. */
int library_file_read(struct model *model, const char *library, struct toolrack_error *err);
