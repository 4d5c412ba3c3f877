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
 * char *), "json" (its text), "bytes", "array" (with "items", a type), and for a result "none";
 * and some C names: "int", "unsigned int", "long", "unsigned long", "size_t", "float", "double",
 * "void". A type has "nullable", "optional" or "pointer" (the flags of struct tr_type): numbers
 * are then passed as a pointer to a number, strings as they are or as NULL. The options of an
 * argument are the keywords of JSON Schema: "description", "default", "enum", "minimum",
 * "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
 * "pattern", "format", "minItems", "maxItems", "uniqueItems".
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
    const struct tr_param *params;
    uint32_t param_count;
    const struct tr_type *result; /* NULL: none */
    const char *result_description;
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

/** Open the library and find the function. Runs the library's constructors; it stays open.
 * @return 0; TOOLRACK_E_REFUSED with the loader's message. [worker] */
int foreign_find(const struct foreign *foreign, void (**ret)(void), struct toolrack_error *err);
