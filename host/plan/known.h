/* known.h - what the JSON Schema of a value says about a part of it, before the value is there.
 *
 * Only what is certain counts: a part that the schema leaves open is unknown, and may be
 * anything. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

/** JSON types, as bits. */
enum known_type {
    KNOWN_NULL = 1,
    KNOWN_BOOLEAN = 2,
    KNOWN_INTEGER = 4,
    KNOWN_NUMBER = 8, /* with a fraction */
    KNOWN_STRING = 16,
    KNOWN_ARRAY = 32,
    KNOWN_OBJECT = 64,
    KNOWN_ANY = 127,
};

enum known {
    KNOWN_OPEN,   /* nothing is known of it */
    KNOWN_SCHEMA, /* its schema */
    KNOWN_ABSENT, /* it is certain that there is no such part */
};

/** Find the schema of a part.
 * @param schema  of the value; NULL: unknown
 * @param path    JSON Pointer of the part, `length` bytes
 * @param ret     receives the schema, of KNOWN_SCHEMA [any-thread] */
enum known known_part(yyjson_val *schema, const char *path, size_t length, yyjson_val **ret);

/** The schema of each item of an array of a schema; NULL: unknown. [any-thread] */
yyjson_val *known_items(yyjson_val *schema);

/** Most members of an object of a template that are described; one with more may be anything. */
#define KNOWN_MEMBERS_MAX 64u

/** Write the schema of a template (reference.h), in which what a run gives is left open.
 * @return a document to be freed; NULL: no memory, which `ret_failed` is set to. [any-thread] */
yyjson_doc *known_describe(yyjson_val *template, bool *ret_failed);
/** The same of all items of one that is an array: of what any of them may be. */
yyjson_doc *known_describe_items(yyjson_val *template, bool *ret_failed);
/** The same of an array with items of a schema; NULL: unknown ones. */
yyjson_doc *known_describe_array(yyjson_val *items, bool *ret_failed);

/** The types that a schema allows; KNOWN_ANY where it does not say. [any-thread] */
unsigned known_types(yyjson_val *schema);

/** The type of a value. [any-thread] */
unsigned known_type_of(yyjson_val *value);

/** Whether a value of one of the first types can be one of the second. [any-thread] */
bool known_types_meet(unsigned given, unsigned wanted);

/** "a string", "an integer or null" ... into `ret`, which is returned. [any-thread] */
#define KNOWN_WORDS_ROOM 128u
const char *known_words(unsigned types, char ret[KNOWN_WORDS_ROOM]);
