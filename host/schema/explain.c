/* Which reason to give.
 *
 * Outside anyOf and oneOf the first error ends the walk, so there is one reason. If all branches of
 * an anyOf or oneOf fail, each offers its own reason, and the reason of the branch that the caller
 * most likely meant is used:
 *
 *  (1) A branch that requires another type of value, or another constant, here or in a property one
 *      level down (which usually distinguishes the branches of a union), was not meant.
 *  (2) Among the others, the deepest error wins.
 *  (3) If every branch requires another type at the same place, the types are listed together;
 *      likewise for constants.
 *
 * The outermost union is compared first, then the innermost. */
#include "schema/explain.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/name.h"
#include "schema/keyword.h"

/* Most properties listed if an unknown one resembles none of them. */
#define KNOWN_SHOWN_MAX 8u

/* Most properties compared with an unknown one; each comparison takes microseconds. */
#define NEAREST_TRIED_MAX 512u

/* Weights in a rank: outer union, then inner union, then depth. */
#define RANK_OUTER 1000000L
#define RANK_INNER 10000L

void explain_enter_key(struct run *run, yyjson_val *key) {
    struct explain *explain = run->explain;
    explain->path[explain->path_length++] = (struct step){.key = key};
}

void explain_enter_index(struct run *run, size_t index) {
    struct explain *explain = run->explain;
    explain->path[explain->path_length++] = (struct step){.index = index};
}

void explain_leave(struct run *run) {
    run->explain->path_length--;
}

/* ------------------------------------------------------------------------------------ ranking */

/* A branch that requires another type here, or another constant up to one level down, was not
 * meant.
 */
static long weight(enum telling telling, size_t below) {
    return telling == TELLING_TYPE && below == 0     ? 1
           : telling == TELLING_CHOICE && below <= 1 ? 2
                                                     : 3;
}

static long rank_of(const struct explain *explain, enum telling telling) {
    size_t depth = explain->path_length;
    return !explain->alternatives
                   ? RANK_OUTER * 4
                   : weight(telling, depth - explain->outer) * RANK_OUTER +
                             weight(telling, depth - explain->inner) * RANK_INNER + (long)depth;
}

/* Begin a reason if it is better than the best so far; false if it is not. */
static bool begin(struct run *run, const char *keyword, enum telling telling, struct text *field,
                  struct text *reason) {
    struct explain *explain = run->explain;
    if (explain == NULL) {
        return false;
    }
    long rank = rank_of(explain, telling);
    if (rank <= explain->best) {
        return false;
    }
    struct schema_failure *failure = explain->failure;
    explain->best = rank;
    explain->merged_tags = 0;
    explain->merged_choices = 0;
    failure->keyword = keyword;
    *field = text_in(failure->field, sizeof failure->field);
    *reason = text_in(failure->reason, sizeof failure->reason);
    for (size_t i = 0; i < explain->path_length; i++) {
        const struct step *step = &explain->path[i];
        if (step->key != NULL) {
            text_add_key(field, unsafe_yyjson_get_str(step->key), unsafe_yyjson_get_len(step->key));
        } else {
            text_add_index(field, step->index);
        }
    }
    return true;
}

/* Whether the last reason offered has this kind and rank, so that the two may be merged. */
static bool merges(const struct run *run, enum telling telling) {
    const struct explain *explain = run->explain;
    return explain != NULL && explain->alternatives && rank_of(explain, telling) == explain->best;
}

/* --------------------------------------------------------------------------------------- types */

static void add_type_reason(struct text *reason, uint32_t tags, bool integer, yyjson_val *value) {
    static const struct {
        uint32_t tags;
        const char *name;
    } types[] = {
            {TAGS_OF_TYPE(YYJSON_TYPE_STR), "a string"},
            {TAGS_OF_TYPE(YYJSON_TYPE_NUM), "a number"},
            {TAGS_OF_TYPE(YYJSON_TYPE_BOOL), "a boolean"},
            {TAGS_OF_TYPE(YYJSON_TYPE_ARR), "an array"},
            {TAGS_OF_TYPE(YYJSON_TYPE_OBJ), "an object"},
            {TAGS_OF_TYPE(YYJSON_TYPE_NULL), "null"},
    };
    size_t left = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(types); i++) {
        left += (tags & types[i].tags) != 0;
    }
    text_printf(reason, "must be ");
    for (size_t i = 0, done = 0; i < ARRAY_LENGTH(types); i++) {
        if ((tags & types[i].tags) != 0) {
            bool is_integer = integer && types[i].tags == TAGS_OF_TYPE(YYJSON_TYPE_NUM);
            text_printf(reason, "%s%s",
                        done == 0          ? ""
                        : done + 1 == left ? " or "
                                           : ", ",
                        is_integer ? "an integer" : types[i].name);
            done++;
        }
    }
    text_printf(reason, ", not ");
    if (yyjson_is_real(value) && integer) {
        text_add_value(reason, value); /* the value 1.5 is more helpful than "a number" */
    } else {
        text_printf(reason, "%s", keyword_kind(value));
    }
}

bool explain_type(struct run *run, const struct node *node, yyjson_val *value) {
    if (run->explain == NULL) {
        return false;
    }
    struct explain *explain = run->explain;
    struct text field;
    struct text reason;
    if (node->tags == 0) {
        if (begin(run, "false schema", TELLING_TYPE, &field, &reason)) {
            text_printf(&reason, "is not allowed here");
        }
        return false;
    }
    bool merging = explain->merged_tags != 0 && merges(run, TELLING_TYPE);
    if (merging) {
        bool number_before = (explain->merged_tags & TAGS_OF_TYPE(YYJSON_TYPE_NUM)) != 0;
        bool number_now = (node->tags & TAGS_OF_TYPE(YYJSON_TYPE_NUM)) != 0;
        explain->merged_integer =
                (explain->merged_integer || !number_before) && (node->integer_too || !number_now);
        explain->merged_tags |= node->tags;
        reason = text_in(explain->failure->reason, sizeof explain->failure->reason);
        add_type_reason(&reason, explain->merged_tags, explain->merged_integer, value);
    } else if (begin(run, "type", TELLING_TYPE, &field, &reason)) {
        explain->merged_tags = node->tags;
        explain->merged_integer = node->integer_too;
        add_type_reason(&reason, node->tags, node->integer_too, value);
    }
    return false;
}

/* ------------------------------------------------------------------------------------- choices */

bool explain_choice(struct run *run, const struct choices *choices) {
    struct explain *explain = run->explain;
    struct text field;
    struct text reason;
    if (explain == NULL) {
        return false;
    }
    bool merging = explain->merged_choices > 0 && merges(run, TELLING_CHOICE);
    if (!merging && !begin(run, choices->keyword, TELLING_CHOICE, &field, &reason)) {
        return false;
    }
    unsigned before = merging ? explain->merged_choices : 0;
    size_t kept = merging ? strlen(explain->choices) : 0;
    struct text list = text_in(explain->choices + kept, sizeof explain->choices - kept);
    for (uint32_t i = 0; i < choices->count; i++) {
        if (list.length > list.room * 3 / 4) {
            text_printf(&list, ", and %u more", choices->count - i);
            break;
        }
        text_printf(&list, "%s", i + before > 0 ? ", " : "");
        text_add_value(&list, choices->values[i]);
    }
    explain->merged_choices = before + choices->count;
    reason = text_in(explain->failure->reason, sizeof explain->failure->reason);
    text_printf(&reason, explain->merged_choices > 1 ? "must be one of " : "must be ");
    text_add(&reason, explain->choices, strlen(explain->choices));
    return false;
}

/* -------------------------------------------------------------------------------- plain reasons */

bool explain(struct run *run, const char *keyword, const char *format, ...) {
    struct text field;
    struct text reason;
    if (begin(run, keyword, TELLING_OTHER, &field, &reason)) {
        va_list args;
        va_start(args, format);
        text_vprintf(&reason, format, args);
        va_end(args);
    }
    return false;
}

bool explain_count(struct run *run, const char *keyword, const char *relation, uint64_t bound,
                   const char *what, uint64_t actual) {
    struct text field;
    struct text reason;
    if (begin(run, keyword, TELLING_OTHER, &field, &reason)) {
        bool is_property = strcmp(what, "property") == 0;
        const char *plural = bound == 1 ? what : is_property ? "properties" : NULL;
        text_printf(&reason, "must have %s %llu %s%s, not %llu", relation,
                    (unsigned long long)bound, plural != NULL ? plural : what,
                    plural != NULL ? "" : "s", (unsigned long long)actual);
    }
    return false;
}

bool explain_bound(struct run *run, const char *keyword, const char *relation, yyjson_val *bound,
                   yyjson_val *value) {
    struct text field;
    struct text reason;
    if (begin(run, keyword, TELLING_OTHER, &field, &reason)) {
        text_printf(&reason, "%s ", relation);
        text_add_value(&reason, bound);
        text_printf(&reason, ", not ");
        text_add_value(&reason, value);
    }
    return false;
}

bool explain_missing(struct run *run, yyjson_val *name, yyjson_val *trigger_key) {
    struct text field;
    struct text reason;
    const char *keyword = trigger_key == NULL ? "required" : "dependentRequired";
    if (begin(run, keyword, TELLING_OTHER, &field, &reason)) {
        text_add_key(&field, unsafe_yyjson_get_str(name), unsafe_yyjson_get_len(name));
        text_printf(&reason, "required property ");
        text_add_value(&reason, name);
        text_printf(&reason, " is missing");
        if (trigger_key != NULL) {
            text_printf(&reason, "; ");
            text_add_value(&reason, trigger_key);
            text_printf(&reason, " requires it");
        }
    }
    return false;
}

/* ----------------------------------------------------------------------------- unknown property */

bool explain_unknown(struct run *run, const struct object_rules *rules, yyjson_val *key) {
    struct text field;
    struct text reason;
    if (!begin(run, "additionalProperties", TELLING_OTHER, &field, &reason)) {
        return false;
    }
    text_add_key(&field, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
    text_printf(&reason, "unknown property ");
    text_add_value(&reason, key);
    struct nearest nearest = nearest_to(unsafe_yyjson_get_str(key));
    for (uint32_t i = 0; i < rules->listed && i < NEAREST_TRIED_MAX; i++) {
        if (!rules->properties[i].node->never) {
            (void)nearest_try(&nearest, rules->properties[i].name);
        }
    }
    if (nearest.name != NULL) {
        text_printf(&reason, "; did you mean ");
        text_add_quoted(&reason, nearest.name, strlen(nearest.name));
        text_printf(&reason, "?");
    } else if (rules->pattern_count == 0) {
        text_printf(&reason, rules->listed == 0   ? "; no properties are allowed here"
                             : rules->listed == 1 ? "; the only known property is "
                                                  : "; the known properties are ");
        for (uint32_t i = 0; i < rules->listed && i < KNOWN_SHOWN_MAX; i++) {
            text_printf(&reason, "%s", i > 0 ? ", " : "");
            text_add_quoted(&reason, rules->properties[i].name, rules->properties[i].length);
        }
        if (rules->listed > KNOWN_SHOWN_MAX) {
            text_printf(&reason, " and %u more", rules->listed - KNOWN_SHOWN_MAX);
        }
    }
    return false;
}

/* -------------------------------------------------------------------------------------- limits */

void explain_limit(const struct run *run, struct schema_failure *failure) {
    struct text reason = text_in(failure->reason, sizeof failure->reason);
    failure->code = TOOLRACK_E_LIMIT_EXCEEDED;
    failure->keyword = "";
    failure->field[0] = '\0';
    switch (run->limit) {
    case LIMIT_RECURSION:
        text_printf(&reason,
                    "the value or its schema is nested deeper than SCHEMA_RECURSION_MAX "
                    "(%d)",
                    SCHEMA_RECURSION_MAX);
        break;
    case LIMIT_COMPARE:
        text_printf(&reason, "values to compare are nested deeper than JSON_EQUAL_DEPTH_MAX (%d)",
                    JSON_EQUAL_DEPTH_MAX);
        break;
    case LIMIT_MATCH:
        text_printf(&reason, "a regular expression took more than SCHEMA_MATCH_MAX (%d) backtracks",
                    SCHEMA_MATCH_MAX);
        break;
    case LIMIT_MEMORY:
        failure->code = TOOLRACK_E_NO_MEMORY;
        text_printf(&reason, "out of memory");
        break;
    case LIMIT_STEPS:
    case LIMIT_NONE:
        text_printf(&reason,
                    "checking took more than SCHEMA_STEPS_MAX (%lld) steps; give less at a time",
                    (long long)run->schema->steps_max);
        break;
    }
}
