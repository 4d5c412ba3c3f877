/* foreign.h - a tool that is a function of any installed shared library, without a plugin.
 *
 * Who writes such a tool states what a plugin's descriptor would: the C types of the
 * function, and what the model is told. Nobody can check the types against the library,
 * where they are not written down: a wrong one is undefined behaviour. So the function
 * runs in workers only, and the host never opens the library, whose constructors would
 * run in it.
 *
 * The parameters and the result are those of a typed tool (toolrack/plugin.h), as far as
 * the functions of C libraries have them: numbers, bool, texts, bytes and arrays, which
 * are a pointer and a length in two C arguments. In a definition they are JSON:
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
 * and what C calls some of them: "int", "unsigned int", "long", "unsigned long", "size_t",
 * "float", "double", "void". A type has "nullable", "optional" or "pointer" (the flags of struct
 * tr_type): numbers are then passed as a pointer to one, texts as they are or as NULL. The options
 * of an argument are the keywords of JSON Schema: "description", "default", "enum", "minimum",
 * "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength",
 * "pattern", "format", "minItems", "maxItems", "uniqueItems".
 *
 * The same text, made by foreign_write(), is what a worker is told to run. */
#pragma once

#include <yyjson.h>

#include "base/arena.h"
#include "base/buf.h"
#include "plugin/descriptor.h"

/* Of the text that foreign_write() makes. */
#define FOREIGN_TEXT_MAX    (256u * 1024)
/* Longest library and symbol, with which a message still says all. */
#define FOREIGN_LIBRARY_MAX 255u
#define FOREIGN_SYMBOL_MAX  255u
/* Where a tool does not say its version. */
#define FOREIGN_VERSION     "1.0.0"

/** A tool and the function behind it. All borrowed. */
struct foreign {
    const char *name; /* of the tool, and of the plugin as which policies and settings know it */
    const char *description;
    const char *version; /* SemVer; NULL is FOREIGN_VERSION. The next three may be NULL */
    const char *title;
    const char *category;
    const char *tags;    /* comma-separated */
    uint32_t flags;      /* enum tr_tool_flags */
    uint32_t permission; /* enum tr_permission */
    int32_t priority;
    uint32_t deadline_ms;   /* 0 is the host's default */
    const char *deprecated; /* what to use instead; NULL: it is not. The next two may be NULL */
    const char *purpose;
    const char *scenarios; /* comma-separated */

    /* What a definition's "implementation" says. */
    const char *library; /* name that the loader searches for ("libz.so.1"), or absolute path */
    const char *symbol;
    const struct tr_param *params;
    uint32_t param_count;
    const struct tr_type *result; /* NULL is none */
    const char *result_description;
    const struct tr_capability *capabilities;
    uint32_t capability_count;
    bool thread_safe; /* a worker may run several calls of it at once */
};

/** Read the "implementation" of a definition. Its member "type" is not looked at.
 *
 * @param arena  for all that the lower part of *ret points to: `value` may go afterwards
 * @param ret    its upper part stays as it is
 * @return 0; TOOLRACK_E_INVALID with the JSON Pointer of what is wrong, from `value` on, and what
 *         it can be; TOOLRACK_E_NO_MEMORY. What is wrong in itself (a default that its type does
 *         not have, a name twice) foreign_describe() says.
 * [any-thread] */
int foreign_parse(yyjson_val *value, struct arena *arena, struct foreign *ret,
                  struct toolrack_error *err);

/** Append the text of which foreign_parse() makes the same again.
 * @return 0; TOOLRACK_E_REFUSED for a type that a definition cannot say;
 *         TOOLRACK_E_LIMIT_EXCEEDED above FOREIGN_TEXT_MAX; TOOLRACK_E_NO_MEMORY. [any-thread] */
int foreign_write(const struct foreign *foreign, struct buf *out, struct toolrack_error *err);

/** The descriptor of a plugin with this one typed tool. Nothing of the library is touched.
 *
 * @param function  of the descriptor's tool; NULL in the host, which never calls it
 * @param options   as for descriptor_copy()
 * @return 0 with a new reference; TOOLRACK_E_REFUSED with the first thing that is wrong;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int foreign_describe(const struct foreign *foreign, void (*function)(void),
                     const struct descriptor_options *options, struct descriptor **ret,
                     struct toolrack_error *err);

/** Open the library and find the function. Runs the library's constructors; it stays open.
 * @return 0; TOOLRACK_E_REFUSED with what the loader says. [worker] */
int foreign_find(const struct foreign *foreign, void (**ret)(void), struct toolrack_error *err);
