/* mistaken.h - what is written where a reference is meant, and is none (reference.h).
 *
 * People and models know references of other programs: {{a.result}}, $.nodes.a.result,
 * steps.a.outputs.text, #/nodes/a/output. A text is taken for one if it names a node, an input or
 * the item of this plan; and, where it has brackets or is a "$ref", also if it says that it means
 * the result of a node or an input, of which the plan has none: {{b.result}}. */
#pragma once

#include "plan/plan.h"

/** Where it stands. */
enum mistaken_kind {
    MISTAKEN_OBJECT, /* as the "$ref" of an object */
    MISTAKEN_MORE,   /* the same beside other members: a reference, if it were alone */
    MISTAKEN_WHOLE,  /* a string that is nothing else */
    MISTAKEN_LIKELY, /* the same without brackets or "#/": it may also be text */
    MISTAKEN_INSIDE, /* within a string */
};

struct mistaken {
    enum mistaken_kind kind;
    const char *text; /* as it was written; borrowed from the template */
    size_t length;
    char meant[JSON_POINTER_MAX]; /* the text of the reference: "#/nodes/a/result/text" */
    const char *unknown; /* the id that no node has, or the name that no input has; borrowed
                          * likewise. NULL: there is one, and `meant` is set */
    size_t unknown_length;
    bool is_input; /* that is the name of an input */
};

/** Gets one. @param pointer  the place of the value that it is in */
typedef void mistaken_visit(void *user, const struct mistaken *mistaken, const char *pointer);

/** Call `visit` for each of a template, of a string for the first.
 * @param has_item  its node has an item
 * @param pointer   the place of the template, with room for JSON_POINTER_MAX bytes; the same
 *                  afterwards. [any-thread] */
void mistaken_each(const struct plan *plan, yyjson_val *template, bool has_item, char *pointer,
                   mistaken_visit *visit, void *user);

/** The reference that a path is meant to be, whatever its separators, brackets and words are.
 * @param least  parts that a path has at least that begins with the id of a node
 * @param ret    receives its text
 * @return false: it names nothing of the plan. [any-thread] */
bool mistaken_path(const struct plan *plan, const char *text, size_t length, size_t least,
                   bool has_item, char ret[JSON_POINTER_MAX]);
