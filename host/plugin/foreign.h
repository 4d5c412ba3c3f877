/* foreign.h - a tool that is a function of any installed shared library, without a plugin.
 *
 * The author of such a tool states what a plugin's descriptor would: the C types of the function,
 * and the descriptions for the model. The types cannot be checked against the library, which does
 * not contain them: a wrong type is undefined behaviour. So the function runs in workers only, and
 * the host never opens the library, whose constructors would run in the host.
 *
 * The parameters and the result are those of a typed tool (toolrack/plugin.h), as far as functions
 * of C libraries use them: numbers, bool, strings, and bytes and arrays, which are a pointer and a
 * length in two C arguments. In a definition they are JSON:
 *
 *     {"library": "libz.so.1", "symbol": "crc32",
 *      "arguments": [
 *          {"name": "crc", "type": "uint64", "default": 0, "description": "..."},
 *          {"name": "data", "type": "bytes", "length_type": "uint32"}],
 *      "result": {"type": "uint64", "description": "..."},
 *      "capabilities": ["env:HOME"], "thread_safe": true}
 *
 * Types: "bool", "int8" to "int64", "uint8" to "uint64", "float32", "float64", "string" (const
 * char *), "json" (its text), "bytes", "array" (with "items", a type), "struct" (with "size" and
 * "fields", arguments with an "offset"), "enum" (with "size" and "choices", names with their
 * numbers), and for a result "none"; and some C names: "int", "unsigned int", "long", "unsigned
 * long", "size_t", "float", "double", "void". A type has "nullable", "optional" or "pointer" (the
 * flags of struct tr_type): numbers and structs are then passed as a pointer, strings as they are
 * or as NULL. The options of an argument are the keywords of JSON Schema: "description", "default",
 * "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength",
 * "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems".
 *
 * What a C function does with an argument may be more than to read it; the words for that make a
 * function that is not called plainly (struct foreign_argument):
 *
 *     {"library": "libz.so.1", "symbol": "compress",
 *      "arguments": [
 *          {"name": "dest", "type": "bytes", "direction": "out", "capacity": 65536,
 *           "capacity_argument": "dest_size"},
 *          {"name": "destLen", "type": "uint64", "direction": "inout", "length_of": "dest"},
 *          {"name": "source", "type": "bytes"},
 *          {"name": "sourceLen", "type": "uint64", "length_of": "source"}],
 *      "result": {"type": "int32"}, "error": {"when": "nonzero", "message": "zError"}}
 *
 * The caller gives `source` and perhaps `dest_size`, and gets `dest`.
 *
 * A member "decide" says that a person must choose (host/bind writes it): such a definition is
 * refused until it is gone.
 *
 * foreign_write() makes the same text for the worker that runs the tool. */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "plugin/descriptor.h"

/* Most bytes of the text that foreign_write() makes. */
#define FOREIGN_TEXT_MAX    (256u * 1024)
/* Longest library and symbol name, so that messages are not cut. */
#define FOREIGN_LIBRARY_MAX 255u
#define FOREIGN_SYMBOL_MAX  255u
/* The version of a tool that states none. */
#define FOREIGN_VERSION     "1.0.0"

/* Most bytes of room that a caller may ask for, for what a function writes. */
#define FOREIGN_ROOM_MAX (64u * 1024 * 1024)
/* No index. */
#define FOREIGN_NONE     UINT32_MAX

enum foreign_direction {
    FOREIGN_IN,   /* the function reads it */
    FOREIGN_OUT,  /* it gets a pointer to room for the value, which becomes a part of the result */
    FOREIGN_INOUT /* ... which has the caller's value before */
};

/** An argument of the C function. One with none of the words between `about` and `input` is a
 * parameter of the tool as it is. */
struct foreign_argument {
    struct tr_param about;
    uint32_t direction;            /* enum foreign_direction */
    bool is_alone;                 /* bytes or an array without a length: the pointer only */
    const char *length_of;         /* it is the length of that argument, or of "result" */
    const char *value_json;        /* it is always this */
    uint64_t capacity;             /* OUT: bytes or items of the room; 0: of bytes and strings, the
                                      function sets a pointer */
    const char *capacity_argument; /* the caller may state the room, by this name */
    const char *length;            /* OUT: how much was written: "result", or an argument of an
                                      integer type that the function writes */
    const char *release;           /* OUT: the function that frees what the pointer leads to */
    bool hides;                    /* of a result: not shown */
    /* Of these the reader makes: */
    uint32_t input;       /* index in `params`, or FOREIGN_NONE */
    uint32_t room_input;  /* index in `params` of the stated room */
    uint32_t output;      /* index in `outputs` */
    uint32_t length_at;   /* index of the argument that is its length */
    uint32_t length_from; /* of a length: index of the argument of which */
    uint32_t counted_by;  /* of a `length` that is an argument: its index */
};

/** A part of the tool's result: an argument, or with FOREIGN_NONE what the function returns. */
struct foreign_output {
    uint32_t argument;
    uint32_t offset; /* in the memory of the tool's result */
};

enum foreign_failure {
    FOREIGN_NEVER,
    FOREIGN_NEGATIVE,
    FOREIGN_NONZERO,
    FOREIGN_ZERO, /* also NULL */
    FOREIGN_EQUALS,
    FOREIGN_ERRNO /* errno, which was 0, is set */
};

/** When the function has failed, and what it says then. */
struct foreign_error {
    uint32_t when;       /* enum foreign_failure */
    int64_t value;       /* EQUALS */
    bool has_errno;      /* errno says why */
    const char *explain; /* a function of the library: const char *(int), of the result; or NULL */
};

/** A tool and its function. All pointers are borrowed. */
struct foreign {
    const char *name; /* of the tool, and its plugin id in policies and settings */
    const char *description;
    const char *version; /* SemVer; NULL: FOREIGN_VERSION. The next three may be NULL */
    const char *title;
    const char *category;
    const char *tags;    /* comma-separated */
    uint32_t flags;      /* enum tr_tool_flags */
    uint32_t permission; /* enum tr_permission */
    int32_t priority;
    uint32_t deadline_ms;   /* 0: the host's default */
    const char *deprecated; /* what to use instead, or NULL. The next two may be NULL */
    const char *purpose;
    const char *scenarios; /* comma-separated */

    /* The "implementation" of a definition. */
    const char *library; /* name for the loader to search ("libz.so.1"), or absolute path */
    const char *symbol;
    const struct foreign_argument *arguments; /* of the C function; NULL: `params` */
    uint32_t argument_count;
    const struct tr_type *returns; /* what it returns, where it is not plain; NULL: nothing */
    bool hides_result;             /* what it returns is no part of the tool's result */
    const char *release;           /* the function that frees what it returns; or NULL */
    uint32_t length_at;            /* index of the argument that is the length of that */
    struct foreign_error error;
    bool is_plain; /* the arguments are the parameters, and the result is the result */

    /* The tool's, made of these. */
    const struct tr_param *params;
    uint32_t param_count;
    const struct tr_type *result; /* NULL: none */
    const char *result_description;
    const struct foreign_output *outputs; /* where it is not plain */
    uint32_t output_count;
    const struct tr_capability *capabilities;
    uint32_t capability_count;
    bool thread_safe; /* a worker may run several of its calls at once */
};

/** Read the "implementation" of a definition. Its member "type" is ignored.
 *
 * @param arena  for everything that the lower part of *ret points to: `value` may be freed
 *               afterwards
 * @param ret    its upper part is not changed
 * @return 0; TOOLRACK_E_INVALID with the JSON Pointer of the error, relative to `value`, and the
 *         allowed values; TOOLRACK_E_NO_MEMORY. foreign_describe() reports inconsistencies (a
 *         default that does not fit its type, a name used twice).
 * [any-thread] */
int foreign_parse(yyjson_val *value, struct arena *arena, struct foreign *ret,
                  struct toolrack_error *err);

/** Say what the arguments are for the tool: set what is made of them, and the tool's members.
 * foreign_parse() does it.
 * @param arguments  those of `foreign`, which are changed
 * @return 0; TOOLRACK_E_INVALID with the JSON Pointer of what contradicts; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int foreign_resolve(struct foreign *foreign, struct foreign_argument *arguments,
                    struct arena *arena, struct toolrack_error *err);

/** Append the text that foreign_parse() reads back as the same.
 * @return 0; TOOLRACK_E_REFUSED for a type that a definition cannot express;
 *         TOOLRACK_E_LIMIT_EXCEEDED above FOREIGN_TEXT_MAX; TOOLRACK_E_NO_MEMORY. [any-thread] */
int foreign_write(const struct foreign *foreign, struct buf *out, struct toolrack_error *err);

/** The descriptor of a plugin with this one typed tool. Does not use the library.
 *
 * @param function  of the descriptor's tool; NULL in the host, which never calls it
 * @param options   as for descriptor_copy()
 * @return 0 with a new reference; TOOLRACK_E_REFUSED with the first error; TOOLRACK_E_NO_MEMORY.
 *         [any-thread] */
int foreign_describe(const struct foreign *foreign, void (*function)(void),
                     const struct descriptor_options *options, struct descriptor **ret,
                     struct toolrack_error *err);

/** Open the library and find a function in it, `symbol` or that of a release or an explanation.
 * Runs the library's constructors; it stays open.
 * @return 0; TOOLRACK_E_REFUSED with the loader's message. [worker] */
int foreign_find(const struct foreign *foreign, const char *symbol, void (**ret)(void),
                 struct toolrack_error *err);
