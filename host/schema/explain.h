/* explain.h - what is wrong with a value, as text. */
#pragma once

#include "schema/misplaced.h"
#include "schema/run.h"

/** Kind of a mistake; what it says of a branch of a union depends on this and on its place. */
enum telling {
    TELLING_TYPE,    /**< the value is of another type */
    TELLING_CHOICE,  /**< it is not one of the choices */
    TELLING_MISSING, /**< a property is missing */
    TELLING_OTHER,
};

struct tolerating; /* tolerate.c */
struct weighing;   /* of the branch of a union */
struct merging;    /* of what several branches of a union allow */

struct explain {
    struct schema_mistakes *mistakes;
    struct step path[SCHEMA_RECURSION_MAX + 4]; /**< the walk's, and what was meant below it */
    size_t path_length;
    struct text field, reason; /**< of the mistake that is being written */
    size_t depth;
    unsigned meant;                     /**< values entered that stand for what was sent */
    const struct schema_naming *naming; /**< NULL: properties have their own names */
    struct tolerating *tolerating;      /**< not NULL: it may put mistakes right */
    struct weighing *weighing;          /**< not NULL: mistakes are weighed, not told */
    struct merging *merging;            /**< not NULL: what is allowed is gathered, not told */
};

void explain_init(struct explain *explain, struct schema_mistakes *ret);

/** As schema_explain(), for who puts mistakes right. */
void schema_explain_to(const struct schema *schema, yyjson_val *instance,
                       struct tolerating *tolerating, struct schema_mistakes *ret);

/** Put a value right that is told to be of a wrong type, or none of the choices, if that can be.
 * Strings and values are borrowed. */
void tolerate_type(struct tolerating *with, const char *field, uint32_t tags, yyjson_val *value);
void tolerate_choice(struct tolerating *with, const char *field, const struct choices *choices,
                     yyjson_val *value);

/** Enter and leave a property or item. Only with run->explain set. */
void explain_enter_member(struct run *run, const struct object_rules *rules, yyjson_val *object,
                          yyjson_val *key);
void explain_enter_index(struct run *run, size_t index);
void explain_leave(struct run *run);

/* Each of these tells a mistake if run->explain is set, and always returns false. Pointers are
 * borrowed. */
bool explain_type(struct run *run, const struct node *node, yyjson_val *value);
bool explain_choice(struct run *run, const struct choices *choices, yyjson_val *value);
bool explain_count(struct run *run, const char *keyword, const char *relation, uint64_t bound,
                   const char *what, uint64_t actual);
bool explain_bound(struct run *run, const char *keyword, const char *relation, yyjson_val *bound,
                   yyjson_val *value);
/** @param trigger_key  of the member that requires it, or NULL */
bool explain_missing(struct run *run, const struct object_rules *rules, yyjson_val *object,
                     yyjson_val *name, yyjson_val *trigger_key);
bool explain_unknown(struct run *run, const struct object_rules *rules, yyjson_val *object,
                     yyjson_val *key);
/** A member that no schema has evaluated and none may have. */
bool explain_unevaluated(struct run *run, yyjson_val *object, yyjson_val *key);
/** A string that is not as it must be. */
bool explain_text(struct run *run, const char *keyword, yyjson_val *value, const char *format, ...)
        TOOLRACK_PRINTF(4, 5);
bool explain(struct run *run, const char *keyword, const char *format, ...) TOOLRACK_PRINTF(3, 4);
/** Every branch of a union has failed. */
bool explain_branches(struct run *run, const struct node_list *branches, yyjson_val *value);
/** Two branches hold of which one may. */
bool explain_both(struct run *run, const struct node_list *branches, uint32_t one, uint32_t other);

/** A failure that is not about the value: a limit, or no memory. */
void explain_limit(const struct run *run, struct schema_mistakes *ret);
