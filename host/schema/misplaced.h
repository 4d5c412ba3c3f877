/* misplaced.h - members that a schema does not know, and what they were probably meant as.
 *
 * Whoever writes arguments from memory gives a property another name, puts it beside the object
 * that it belongs into, or wraps an object around all of them. An object whose schema describes its
 * other members (`patternProperties`, a schema in `additionalProperties`) may have any: of it
 * nothing is said. */
#pragma once

#include "base/name.h"
#include "schema/run.h"

/** One step of the path from the root: a property if `name` is set, else an item. */
struct step {
    const char *name;
    size_t length;
    size_t index;
    const struct object_rules *rules; /**< of the object that has the property; NULL: not known */
    yyjson_val *object;
};

/** The steps that lead to an object. */
struct path {
    const struct step *steps;
    size_t length;
};

enum misplaced_kind {
    MISPLACED_NOT,    /**< it resembles nothing */
    MISPLACED_NAME,   /**< `property` by another name */
    MISPLACED_INSIDE, /**< it belongs inside `property`, an object */
    MISPLACED_OUT,    /**< an object, whose members belong beside it */
    MISPLACED_ABOVE   /**< it belongs into an object further up */
};

struct misplaced {
    enum misplaced_kind kind;
    const struct property *property;
    size_t level; /**< MISPLACED_ABOVE: how many steps of the path lead to that object */
};

/** The rules for objects of a node: its own, or those of a reference, an allOf or a union. NULL:
 * there are none. */
const struct object_rules *misplaced_rules(const struct node *node);

/** The property of the rules that has a name and a schema; NULL: there is none. */
const struct property *misplaced_property(const struct object_rules *rules, const char *name,
                                          size_t length);

/** What a member was meant as that the rules do not know. */
struct misplaced misplaced_find(struct run *run, struct path path, const struct object_rules *rules,
                                yyjson_val *object, yyjson_val *key);

/** The key of the first member that stands for a missing property; NULL: none does. */
yyjson_val *misplaced_source(struct run *run, struct path path, const struct object_rules *rules,
                             yyjson_val *object, const char *name, size_t length,
                             struct misplaced *ret);

/** Whether the rules require a property. */
bool misplaced_requires(const struct object_rules *rules, const char *name, size_t length);
