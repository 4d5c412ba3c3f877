/* bind.h - the functions of a shared library, as definitions of native tools.
 *
 * What a function takes is read from the library's debug information or from a header; the library
 * is never loaded. What neither says, such as whether a pointer is read or written, a person
 * decides: the definition has a member "decide" there, with the choices, and is refused until it is
 * decided (plugin/foreign.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/error.h"

/* Most functions that are bound at once. */
#define BIND_FUNCTIONS_MAX 10000u

/** All borrowed. */
struct bind_options {
    const char *library;         /* a path, or a name that is looked for where the loader does */
    const char *header;          /* NULL: the debug information is read */
    const char *const *patterns; /* of names of functions, as fnmatch() has them; none: all */
    size_t pattern_count;
    const char *const *decisions; /* "FUNCTION.ARGUMENT=CHOICE", with patterns on the left */
    size_t decision_count;
    const char *const *includes; /* folders of headers that the header includes */
    size_t include_count;
    bool asks_debuginfod; /* else debug information is looked for on this machine only */
};

/** What was bound. */
struct bind_summary {
    size_t bound;
    size_t undecided; /* of these, those that need a person */
    size_t left_out;
};

/** Make the definitions.
 *
 * @param doc  in which *ret_tools, an array of definitions, and *ret_left_out, an array of objects
 *             with "name" and "reason", are made
 * @return 0; TOOLRACK_E_NOT_FOUND for a file or function that is not there; TOOLRACK_E_INVALID for
 *         what cannot be read, or a decision that fits nothing; TOOLRACK_E_IO where libdw or
 *         libclang is missing; TOOLRACK_E_NO_MEMORY.
 * Changes DEBUGINFOD_URLS of the environment unless asks_debuginfod. [any-thread, one at a time] */
int bind_library(const struct bind_options *options, yyjson_mut_doc *doc,
                 yyjson_mut_val **ret_tools, yyjson_mut_val **ret_left_out,
                 struct bind_summary *ret_summary, struct toolrack_error *err);
