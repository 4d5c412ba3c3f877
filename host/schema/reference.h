/* reference.h - the documents of one compilation: the places of schemas, and the targets of
 * references. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <yyjson.h>

#include "base/arena.h"
#include "base/error.h"
#include "schema/keyword.h"
#include "schema/program.h"
#include "schema/uri.h"

struct anchor {
    const char *name; /* "" for `$recursiveAnchor` */
    size_t length;
    bool dynamic;
    struct place *place;
    struct anchor *next;
};

/** A schema with its own URI: the root of a document, or one with `$id`. */
struct schema_resource {
    struct resource run;   /* in the schema's arena, like the whole struct */
    const char *uri;       /* without fragment; "" if the root has none */
    const char *uri_asked; /* the URI by which it was looked up, or NULL */
    yyjson_val *root;
    struct dialect dialect;
    struct anchor *anchors;
    struct schema_resource *next;
};

/** The place of one schema, identified by the address of its value. */
struct place {
    yyjson_val *value;
    struct schema_resource *resource;
    struct node *node; /* set by the compiler on its first visit */
    struct place *next_pending;
};

struct document {
    const char *uri;
    yyjson_val *root;
};

/** Invariants:
 *  (1) Each value of a document in the position of a schema has been checked and has a place.
 *  (2) The values and resources live in the schema's arena, the tables in `scratch`. */
struct library {
    struct arena *arena;
    struct arena scratch;
    const struct schema_options *options;
    struct toolrack_error *err;
    struct schema_resource *resources;
    size_t resource_count;
    size_t anchor_count;
    struct document documents[SCHEMA_DOCUMENTS_MAX];
    size_t document_count;
    size_t value_count;
    struct place **places; /* hash table by address, open addressing */
    size_t place_count;
    size_t place_room;
};

void library_init(struct library *library, struct arena *arena,
                  const struct schema_options *options, struct toolrack_error *err);
void library_finish(struct library *library);

/** Copy a document, check its schemas and note its resources and anchors. */
int library_add(struct library *library, const char *uri, yyjson_val *root,
                struct place **ret_root);

/** The place of a schema inside a known place; it exists by invariant (1). */
struct place *library_place(const struct library *library, yyjson_val *value);

/** Resolve a reference. `*ret_anchor` is the anchor by which it was found, or NULL. */
int library_resolve(struct library *library, const struct schema_resource *base,
                    yyjson_val *reference, struct place **ret, const struct anchor **ret_anchor);

/** Set the error "<pointer>: <message>", with the pointer of `at` as the field. Returns `code`. */
int library_fail(const struct library *library, int code, yyjson_val *at, const char *format, ...)
        TOOLRACK_PRINTF(4, 5);

/** Refuse a schema: library_fail() with TOOLRACK_E_INVALID. */
#define library_refuse(library, at, ...) library_fail(library, TOOLRACK_E_INVALID, at, __VA_ARGS__)
