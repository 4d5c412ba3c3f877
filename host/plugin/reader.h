/* reader.h - the descriptor reader: what its parts share during one reading.
 *
 * The parts in calling order: descriptor.c (the plugin), tool.c (one tool),
 * type.c (parameters and types), value.c (JSON texts against types), derive.c
 * (the schema of a typed tool), lint.c (the schema of a JSON tool), example.c
 * (examples of a tool). */
#pragma once

#include <yyjson.h>

#include "base/buf.h"
#include "plugin/descriptor-data.h"
#include "plugin/source.h"

/* Longest chain of names to a field: a parameter and its nested types. */
#define READER_PATH_MAX (DESCRIPTOR_TYPE_DEPTH_MAX + 2)

/* Deepest JSON that is accepted; functions that recurse over a value rely on it. */
#define READER_JSON_DEPTH_MAX 64u

/* First memory for parsing one text. */
#define READER_SCRATCH_SIZE 8192u

/* Part of DESCRIPTOR_MEMORY_MAX that is reserved for the findings. */
#define READER_RESERVE (256u * 1024u)

struct reader {
    struct source source;
    const struct descriptor_options *options; /* borrowed */
    struct arena *arena;                      /* the descriptor's */
    struct findings *findings;
    int64_t steps; /* of validation that are left for the defaults and examples */
    int failure;   /* ends the reading: TOOLRACK_E_REFUSED with a finding, _IO, _NO_MEMORY */

    uint32_t tool_place; /* index of the tool in its table, from 1; 0: the plugin */
    const char *tool;    /* its name for findings; NULL: not known, or no tool */
    const char *place;   /* "parameter", "result" or "example"; NULL: the record itself */
    const char *path[READER_PATH_MAX]; /* names from there on; NULL: an array's items */
    uint32_t depth;

    struct arena scratch; /* for one parse at a time */
    struct buf derived;   /* for one schema at a time */
    _Alignas(max_align_t) char scratch_room[READER_SCRATCH_SIZE];
};

void reader_init(struct reader *reader, struct source source, struct arena *arena,
                 struct findings *findings, const struct descriptor_options *options);
void reader_finish(struct reader *reader);

/** Add a finding at the present tool and place. */
void reader_report(struct reader *reader, enum finding_rule rule, const char *cause, ...)
        TOOLRACK_PRINTF(3, 4);

/** Enter and leave a parameter, field or (name NULL) an array's items, for the findings. */
void reader_enter(struct reader *reader, const char *name);
void reader_leave(struct reader *reader);

/** Zeroed memory of the descriptor; NULL, with `failure` set, when it is used up. */
void *reader_alloc(struct reader *reader, size_t size);

/* A struct of the ABI while it is read: a copy in the descriptor's memory, in which addresses are
 * replaced by pointers, field by field. */
struct record {
    void *copy;
    struct elf_marks marks;
    const char *what; /* such as "tool", for findings */
};

/* How a struct of the ABI is read. Sizes are those of version 1.0 and of this host. */
struct record_shape {
    const char *what;
    uint32_t size_min;
    uint32_t size;
    uint64_t pointers; /* bit n: the word at offset 8 n is a pointer */
};

/** The word of a field, for record_shape.pointers. */
#define RECORD_WORD(type, field)    (UINT64_C(1) << (offsetof(type, field) / 8))
/** Size up to the end of the last field of version 1.0. */
#define RECORD_SIZE_MIN(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/** Whether a plugin may state this size for a struct. */
bool record_size_valid(const struct record_shape *shape, uint32_t stated);

/** Read a struct whose size the plugin states: the members that both know, the rest zero. `to` has
 * shape->size bytes. False with a finding of `rule`, or with `failure`. */
bool reader_record(struct reader *reader, const struct record_shape *shape, uint64_t address,
                   uint32_t stated, enum finding_rule rule, void *to, struct record *ret);
/** Likewise for a struct that begins with its size. False with a finding of `rule` when there is no
 * struct at the address, of `size_rule` when the size is invalid, or with `failure`. */
bool reader_sized_record(struct reader *reader, const struct record_shape *shape, uint64_t address,
                         enum finding_rule rule, enum finding_rule size_rule, void *to,
                         struct record *ret);

enum pointer {
    POINTER_NULL,
    POINTER_HERE,      /* to data or code of the source */
    POINTER_ELSEWHERE, /* to another file */
    POINTER_BAD        /* a number that the loader does not relocate */
};

/** The kind of the pointer at `offset` of a record; its address if HERE. */
enum pointer record_pointer(const struct record *record, size_t offset, uint64_t *ret_address);

/** The address in a field that points to data, or 0 for NULL. False with a finding when the field
 * is neither. */
bool reader_address(struct reader *reader, const struct record *record, size_t offset,
                    const char *field, uint64_t *ret);

/** Set *ret_set if a field points to a function. False with a finding of `rule`. The copy keeps the
 * pointer only if the source is live. */
bool reader_function(struct reader *reader, const struct record *record, size_t offset,
                     const char *field, enum finding_rule rule, bool *ret_set);

/* What a string may contain besides printable UTF-8. */
enum text_kind {
    TEXT_LINE, /* nothing */
    TEXT_FREE  /* tabs and line ends */
};

struct text_field {
    size_t offset;
    const char *name;
    enum text_kind kind;
};
#define TEXT_FIELD(type, field, kind) \
    { offsetof(type, field), #field, kind }

/** Replace the addresses in these fields by copies of the strings. An invalid string becomes NULL,
 * with a finding, and is not reported as missing besides. There are 32 fields at most.
 * @return the invalid ones, the first as bit 0. */
unsigned reader_texts(struct reader *reader, const struct record *record,
                      const struct text_field *fields, size_t count);

/** Parse a JSON text. The document is valid until reader_scratch_reset(). NULL with one line in
 * `reason`. */
yyjson_doc *reader_json(struct reader *reader, const char *text, char *reason, size_t room);
void reader_scratch_reset(struct reader *reader);
#define READER_REASON_MAX 160

/** A name that occurs twice; NULL when all differ. No document may be in use. */
const char *reader_duplicate(struct reader *reader, const char *const *names, uint32_t count);

/* tool.c */

/** Read one tool into `ret`. False when it is refused, with findings, or `failure` is set. */
bool tool_read(struct reader *reader, uint64_t address, const char *plugin_version,
               struct descriptor_tool *ret);

/* type.c */

/** Parameters of a typed tool: `count` of them, `stride` bytes apart. */
bool params_read(struct reader *reader, uint64_t address, uint32_t count, uint32_t stride,
                 const struct tr_param **ret);
/** Type of a result. */
bool result_type_read(struct reader *reader, uint64_t address, const struct tr_type **ret);
/** Whether values of a kind are integers; are numbers (integers included). */
bool kind_is_integer(uint32_t kind);
bool kind_is_number(uint32_t kind);
/** Whether JSON null is a value of the type. */
bool type_takes_null(const struct tr_type *type);

/* value.c */

/** Check the options of a parameter against its type and each other. */
bool values_check(struct reader *reader, const struct tr_param *param);
/** Range of an integer kind. */
bool kind_range(uint32_t kind, long double *ret_min, long double *ret_max);

/* derive.c */

/** Append the JSON Schema of the arguments, or of the result (nothing, if there is no schema). */
void derive_arguments(struct buf *to, const struct tr_param *params, uint32_t count);
void derive_result(struct buf *to, const struct tr_type *type, const char *description);

/* lint.c */

/** Check a stated schema: JSON, an object, for arguments with `type: object` at its root; then add
 * remarks on what strict providers refuse. */
bool lint_schema(struct reader *reader, const char *schema, bool is_result);
/** Report hidden characters that a schema, which is JSON, has in the form of escapes. */
void lint_hidden(struct reader *reader, const char *schema, bool is_result);

/* icon.c */

/** The icons of a tool on one line, in the descriptor's memory. NULL: there are none, they are
 * wrong and left out, with a finding, or `failure` is set. */
const char *icons_read(struct reader *reader, const char *text);

/* example.c */

/** Read the examples of a tool whose schemas are known, from the table at `address`, and keep those
 * without errors in the record. False when the tool is refused, with a finding, or `failure` is
 * set. */
bool examples_read(struct reader *reader, uint64_t address, struct tr_tool *tool,
                   const struct descriptor_tool *spec);
