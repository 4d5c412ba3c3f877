/* reference.h - values of a plan that a run gives.
 *
 * An object with the one member "$ref" stands for a value where its text begins
 *
 *     #/nodes/ID/result...   a JSON Pointer into the result of a node
 *     #/inputs/NAME...       an input of the run
 *     #/item...              the item of a node with for_each
 *
 * and so does, inside of a string, ${nodes.ID.result...}, ${inputs.NAME...} and ${item...}, with
 * dots between the parts: a string takes its place as it is, any other value as JSON. What comes
 * into a string so is not looked at again. An object with the one member "$literal" stands for the
 * value of that, in which nothing is a reference.
 *
 * A value with references is a template. All functions take templates of at most JSON_DEEPER_MAX
 * levels. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/json-pointer.h"

enum reference_kind {
    REFERENCE_NODE,
    REFERENCE_INPUT,
    REFERENCE_ITEM,
    REFERENCE_WRONG, /* it begins as one, and is none */
};

/** A reference; its strings are borrowed from the template, or from `path_text`: it is not copied.
 */
struct reference {
    enum reference_kind kind;
    const char *name; /* of the node or the input; of an item "" */
    size_t name_length;
    const char *path; /* JSON Pointer from there; "" for all of it */
    size_t path_length;
    const char *text; /* as it was written */
    size_t text_length;
    char path_text[JSON_POINTER_MAX]; /* of one inside a string */
};

/** Gets each reference of a template, in order. @param pointer  the place of the value that it is
 * in. @return false: no more */
typedef bool reference_visit(void *user, const struct reference *reference, const char *pointer);

/** Call `visit` for each reference. @param pointer  the place of the template, with room for
 * JSON_POINTER_MAX bytes; the same afterwards. @return false if `visit` did. [any-thread] */
bool references_each(yyjson_val *template, char *pointer, reference_visit *visit, void *user);

/** Whether a value is a reference, also one that refers to nothing. [any-thread] */
bool reference_is(yyjson_val *value);
/** Whether a text begins with a reference as it stands inside of a string, likewise. [any-thread]
 */
bool reference_begins(const char *text, size_t length);
/** What an object with "$literal" alone stands for; NULL: it is none. [any-thread] */
yyjson_val *reference_literal(yyjson_val *value);

/** Append the text of a reference, "#/nodes/a/result/x", as it is written inside of a string. */
void reference_add_inside(struct buf *out, const char *text);

/** A reference as it was written; borrowed from its template. */
struct reference_text {
    const char *text;
    size_t length;
};

/** The value of a reference; NULL: there is none. */
typedef yyjson_val *reference_find(void *user, const struct reference *reference);

/** Whether there is room for so long a text. */
typedef bool template_room(void *user, size_t length);

/** Longest text that is written of a template, beside the value that goes beyond it. */
#define TEMPLATE_FILLED_MAX (64u * 1024 * 1024)

/** Append a template with the values of its references, as JSON.
 * @param room         is asked, with `user`, before a string is written in place of a reference and
 *                     after any other value is; NULL: there is
 * @param ret_missing  receives the reference without a value; its text is NULL where what was
 *                     written is longer than TEMPLATE_FILLED_MAX, or there is no room for it
 * @return false: a reference has no value, or it is too long. Out of memory is noted in `out`.
 * [any-thread] */
bool template_fill(yyjson_val *template, reference_find *find, template_room *room, void *user,
                   struct buf *out, struct reference_text *ret_missing);
