/* explain.h - reasons of failures, as text. */
#pragma once

#include "schema/run.h"

/** Kind of a reason; its rank depends on this and on its place. */
enum telling {
    TELLING_TYPE,   /**< the value is of another type */
    TELLING_CHOICE, /**< it is not one of the choices */
    TELLING_OTHER,
};

/** One step of the path from the root: a property if `key` is set, else an item. */
struct step {
    yyjson_val *key;
    size_t index;
};

struct explain {
    struct schema_failure *failure;
    struct step path[SCHEMA_RECURSION_MAX + 1];
    size_t path_length;
    bool alternatives;    /**< inside anyOf or oneOf, all of whose branches fail */
    size_t outer;         /**< path_length at the outermost alternatives */
    size_t inner;         /**< path_length at the innermost alternatives */
    long best;            /**< rank of the reason in `failure`; 0: none */
    uint32_t merged_tags; /**< types that alternatives at one place require */
    bool merged_integer;
    unsigned merged_choices;
    char choices[SCHEMA_REASON_MAX];
};

/** Enter and leave a property or item. Only with run->explain set. */
void explain_enter_key(struct run *run, yyjson_val *key);
void explain_enter_index(struct run *run, size_t index);
void explain_leave(struct run *run);

/* Each of these offers a reason if run->explain is set, and always returns false. `rules` and
 * `value` are borrowed. */
bool explain_type(struct run *run, const struct node *node, yyjson_val *value);
bool explain_choice(struct run *run, const struct choices *choices);
bool explain_count(struct run *run, const char *keyword, const char *relation, uint64_t bound,
                   const char *what, uint64_t actual);
bool explain_bound(struct run *run, const char *keyword, const char *relation, yyjson_val *bound,
                   yyjson_val *value);
bool explain_missing(struct run *run, yyjson_val *name, yyjson_val *trigger_key);
bool explain_unknown(struct run *run, const struct object_rules *rules, yyjson_val *key);
bool explain(struct run *run, const char *keyword, const char *format, ...) TOOLRACK_PRINTF(3, 4);

/** A failure that is not about the value: a limit, or no memory. */
void explain_limit(const struct run *run, struct schema_failure *failure);
