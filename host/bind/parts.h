/* parts.h - what the files share that conclude what a function is.
 *
 *   conclude.c  arguments, result, the whole definition
 *   failure.c   by which result it fails
 *   choose.c    the choices that there are, and decisions among them */
#pragma once

#include <yyjson.h>

#include "bind/decisions.h"
#include "bind/model.h"

/* What the definitions of a library are made of. */
struct concluding {
    const struct model *model;
    const struct decisions *decisions;
    yyjson_mut_doc *doc;
    const char *explain; /* the function of the library that explains a code; NULL: none */
};

struct work {
    const struct concluding *concluding;
    yyjson_mut_doc *doc;
    const struct model_function *function;
    const char *names[MODEL_PARAMS_MAX];
    const struct model_type *types[MODEL_PARAMS_MAX]; /* of the parameters, as they are seen here */
    uint32_t length_at[MODEL_PARAMS_MAX]; /* of a buffer: the parameter that is its length */
    uint32_t length_of[MODEL_PARAMS_MAX];
    bool writes; /* an argument is, or may be, written */
    size_t undecided;
    const char *reason; /* why the function cannot be a tool */
    struct toolrack_error *err;
    int code;
};

/* What something may be. */
struct choosing {
    struct work *work;
    const char *about;       /* the argument, or "result" or "error" */
    yyjson_mut_val *object;  /* that gets the members */
    yyjson_mut_val *choices; /* an object of members for each name */
    const char *certain;     /* the choice that is certain; NULL: none */
};

/** A copy of a text in the model's arena. NULL or no memory: "", and the work has failed. */
const char *work_keep(struct work *work, const char *text);

struct choosing choosing_begin(struct work *work, const char *about, yyjson_mut_val *object);
/** One more choice; its members are the caller's to add. */
yyjson_mut_val *choosing_add(struct choosing *choosing, const char *name);
/** Add the members of the choice that was decided or is certain to the object, else "decide". */
void choosing_end(struct choosing *choosing, const char *question);
