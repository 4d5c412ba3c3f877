/* What to tell.
 *
 * Outside of unions each mistake is told, so that all can be corrected at once. If all branches of
 * an anyOf or oneOf fail, each would tell its own; only those of the branch are told that was most
 * likely meant:
 *
 *  (1) A branch that requires another type of value, or another constant, here or in a property one
 *      level down (which usually distinguishes the branches of a union), was not meant.
 *  (2) Among the others, the one whose deepest mistake is deepest; then the one with fewest.
 *  (3) If every branch requires another type at the same place, the types are told together;
 *      likewise for constants, and for properties of which one must be there.
 *
 * So a branch is walked twice: to weigh it, and to tell what is wrong with it. */
#include "schema/explain.h"

#include <stdarg.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "schema/keyword.h"
#include "schema/misplaced.h"

/* Most properties listed if an unknown one resembles none of them. */
#define KNOWN_SHOWN_MAX 8u

/* Most names listed that belong into an object, and most members of an object that are tried. */
#define NAMES_SHOWN_MAX 6u
#define NAMES_TRIED_MAX 256u

/* Longest text that is read as the JSON that was meant. */
#define MEANT_TEXT_MAX 65536u

/* Values that stand for what was sent are entered so deep at most: text in text in text. */
#define MEANT_DEPTH_MAX 3u

enum weight { WEIGHT_NONE, WEIGHT_TYPE, WEIGHT_CHOICE, WEIGHT_MEANT };

struct weighing {
    size_t place;       /* path_length at the union */
    enum weight weight; /* of the mistake that says most that it was not meant */
    size_t choice;      /* how deep the mistake of a choice is */
    size_t deepest;
    unsigned count;
    unsigned missing; /* properties that are missing here */
    uint32_t tags;    /* types that are required here */
    bool integer;
};

struct merging {
    enum telling what; /* TELLING_CHOICE or TELLING_MISSING */
    size_t deepest;    /* path_length beyond which nothing is gathered */
    struct text list;
    unsigned count;
    unsigned more; /* of them, that are not in the list */
    const char *keyword;
    /* Of the first that was gathered. */
    char field[SCHEMA_FIELD_MAX];
    const struct step *step; /* to the value; NULL: it is the root */
    size_t depth;
    yyjson_val *value; /* which is none of the choices; NULL: nothing was gathered yet */
    bool is_optional;
    struct nearest nearest;
    char room[SCHEMA_REASON_MAX];
};

void explain_init(struct explain *explain, struct schema_mistakes *ret) {
    ret->code = TOOLRACK_E_INVALID_ARGUMENTS;
    ret->count = 0;
    ret->told = 0;
    explain->mistakes = ret;
    explain->path_length = 0;
    explain->meant = 0;
    explain->naming = NULL;
    explain->tolerating = NULL;
    explain->weighing = NULL;
    explain->merging = NULL;
}

static void enter_name(struct explain *explain, const struct object_rules *rules,
                       yyjson_val *object, const char *name, size_t length) {
    explain->path[explain->path_length++] =
            (struct step){.name = name, .length = length, .rules = rules, .object = object};
}

void explain_enter_member(struct run *run, const struct object_rules *rules, yyjson_val *object,
                          yyjson_val *key) {
    enter_name(run->explain, rules, object, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
}

void explain_enter_index(struct run *run, size_t index) {
    struct explain *explain = run->explain;
    explain->path[explain->path_length++] = (struct step){.index = index};
}

void explain_leave(struct run *run) {
    run->explain->path_length--;
}

/* ------------------------------------------------------------------------------------- weighing */

static enum weight weight_of(enum telling telling, size_t below) {
    return telling == TELLING_TYPE && below == 0     ? WEIGHT_TYPE
           : telling == TELLING_CHOICE && below <= 1 ? WEIGHT_CHOICE
                                                     : WEIGHT_MEANT;
}

static void weigh(struct weighing *weighing, enum telling telling, size_t depth) {
    enum weight weight = weight_of(telling, depth - weighing->place);
    if (weighing->count == 0 || weight < weighing->weight) {
        weighing->weight = weight;
        weighing->choice = depth;
    }
    weighing->deepest = depth > weighing->deepest ? depth : weighing->deepest;
    weighing->missing += telling == TELLING_MISSING && depth == weighing->place;
    weighing->count++;
}

/* A real number is allowed if one of them allows it. */
static void merge_types(struct weighing *types, uint32_t tags, bool integer) {
    bool number_before = (types->tags & TAGS_OF_TYPE(YYJSON_TYPE_NUM)) != 0;
    bool number_now = (tags & TAGS_OF_TYPE(YYJSON_TYPE_NUM)) != 0;
    types->integer = (types->integer || !number_before) && (integer || !number_now);
    types->tags |= tags;
}

static void weigh_type(struct explain *explain, uint32_t tags, bool integer) {
    if (explain->path_length == explain->weighing->place) {
        merge_types(explain->weighing, tags, integer);
    }
    weigh(explain->weighing, TELLING_TYPE, explain->path_length);
}

static bool is_better(const struct weighing *a, const struct weighing *b) {
    return a->weight != b->weight     ? a->weight > b->weight
           : a->deepest != b->deepest ? a->deepest > b->deepest
                                      : a->count < b->count;
}

/* ---------------------------------------------------------------------------------------- names */

/* What a property is called, for who is told: `*name` is its own name, and `level` how many steps
 * lead to the object that has it. */
static void take_known_name(const struct explain *explain, size_t level, const char **name,
                            size_t *length) {
    const struct schema_naming *naming = level == 0 ? explain->naming : NULL;
    const char *known = naming != NULL ? naming->known_as(naming->user, *name, *length) : NULL;
    if (known != NULL) {
        *name = known;
        *length = strlen(known);
    }
}

static void add_name(struct text *text, const struct explain *explain, size_t level,
                     const char *name, size_t length) {
    take_known_name(explain, level, &name, &length);
    text_add_quoted(text, name, length);
}

/* The same of the object that is being checked. */
static void add_name_here(struct text *text, const struct explain *explain, yyjson_val *name) {
    add_name(text, explain, explain->path_length, unsafe_yyjson_get_str(name),
             unsafe_yyjson_get_len(name));
}

/* A step of a JSON Pointer. */
static void add_key(struct text *text, const struct explain *explain, size_t level,
                    const char *name, size_t length) {
    take_known_name(explain, level, &name, &length);
    text_add_key(text, name, length);
}

/* -------------------------------------------------------------------------------------- telling */

static void add_path(struct text *field, const struct explain *explain, size_t length) {
    for (size_t i = 0; i < length; i++) {
        const struct step *step = &explain->path[i];
        if (step->name != NULL) {
            add_key(field, explain, i, step->name, step->length);
        } else {
            text_add_index(field, step->index);
        }
    }
}

/* Begin a mistake; false if none is told now: what a limit has kept from being known is none. The
 * next functions write it, end() ends it. */
static bool begin(struct run *run, const char *keyword, enum telling telling) {
    struct explain *explain = run->explain;
    if (explain == NULL || explain->merging != NULL || run->limit != LIMIT_NONE) {
        return false;
    }
    if (explain->weighing != NULL) {
        weigh(explain->weighing, telling, explain->path_length);
        return false;
    }
    struct schema_mistake *mistake = &explain->mistakes->list[SCHEMA_MISTAKES_MAX];
    mistake->keyword = keyword;
    explain->depth = explain->path_length;
    explain->field = text_in(mistake->field, sizeof mistake->field);
    explain->reason = text_in(mistake->reason, sizeof mistake->reason);
    add_path(&explain->field, explain, explain->path_length);
    return true;
}

/* The mistake is about a member of the value. */
static void add_member(struct explain *explain, const char *name, size_t length) {
    add_key(&explain->field, explain, explain->path_length, name, length);
    explain->depth++;
}

static bool is_told(const struct schema_mistakes *mistakes, const struct schema_mistake *mistake) {
    for (uint32_t i = 0; i < mistakes->told; i++) {
        if (strcmp(mistakes->list[i].field, mistake->field) == 0 &&
            strcmp(mistakes->list[i].reason, mistake->reason) == 0) {
            return true;
        }
    }
    return false;
}

/* Sort the mistake in, by depth; of equal depth in the order in which they were found. */
static void end(struct run *run) {
    struct schema_mistakes *mistakes = run->explain->mistakes;
    struct schema_mistake *written = &mistakes->list[SCHEMA_MISTAKES_MAX];
    for (char *c = written->reason; *c != '\0'; c++) { /* a pattern may contain line ends */
        *c = (unsigned char)*c < 0x20 || *c == 0x7f ? ' ' : *c;
    }
    if (is_told(mistakes, written)) { /* two schemas of an allOf say the same */
        return;
    }
    written->depth = run->explain->depth;
    mistakes->count++;
    uint32_t at = mistakes->told;
    while (at > 0 && mistakes->list[at - 1].depth > written->depth) {
        at--;
    }
    if (at == SCHEMA_MISTAKES_MAX) {
        return;
    }
    struct schema_mistake moved = *written;
    uint32_t last = mistakes->told < SCHEMA_MISTAKES_MAX ? mistakes->told++ : mistakes->told - 1;
    memmove(&mistakes->list[at + 1], &mistakes->list[at], (last - at) * sizeof moved);
    mistakes->list[at] = moved;
}

/* --------------------------------------------------------------------------------------- meant */

/* What a value of a wrong type was probably meant as. */
enum meant_how {
    MEANT_UNKNOWN,
    MEANT_ABSENT,    /* null for a property that may be left out */
    MEANT_JSON,      /* a text is the JSON of it */
    MEANT_SCALAR,    /* likewise, of a number or literal */
    MEANT_QUOTED,    /* a number or literal for text */
    MEANT_ONLY_ITEM, /* an array of one for its item */
    MEANT_AN_ITEM,   /* a value for an array of it */
    MEANT_INNER,     /* an object around an array, for the array */
    MEANT_PARTS,     /* text for an array of its parts */
    MEANT_WRITTEN    /* text in brackets: an array or object, written otherwise than in JSON */
};

struct meant {
    enum meant_how how;
    yyjson_doc *doc;   /* of the value, if it is not a part of what was sent */
    yyjson_val *value; /* NULL: not known, or no mistake can be in it */
};

static bool allows(uint32_t tags, yyjson_val *value) {
    return value != NULL && (tags & TAG_BIT(unsafe_yyjson_get_tag(value))) != 0;
}

/* Whether the value is that of a property that may be left out. */
static bool is_optional(const struct explain *explain) {
    const struct step *step =
            explain->path_length > 0 ? &explain->path[explain->path_length - 1] : NULL;
    return step != NULL && step->rules != NULL &&
           !misplaced_requires(step->rules, step->name, step->length);
}

/* A text that is the JSON of a wanted type; Python writes True and False. */
static struct meant meant_by_text(uint32_t tags, const char *text, size_t length) {
    struct meant meant = {.how = MEANT_UNKNOWN};
    const char *json = strcmp(text, "True") == 0    ? "true"
                       : strcmp(text, "False") == 0 ? "false"
                                                    : text;
    if (length == 0 || length > MEANT_TEXT_MAX) {
        return meant;
    }
    meant.doc = yyjson_read(json, json == text ? length : strlen(json), YYJSON_READ_NOFLAG);
    meant.value = yyjson_doc_get_root(meant.doc);
    if (allows(tags, meant.value) && !json_is_deeper(meant.value, JSON_DEEPER_MAX)) {
        meant.how = unsafe_yyjson_is_ctn(meant.value) ? MEANT_JSON : MEANT_SCALAR;
    } else {
        yyjson_doc_free(meant.doc);
        meant = (struct meant){.how = MEANT_UNKNOWN};
    }
    return meant;
}

/* Whether a text is in brackets: as Python writes a list, or JSON text of JSON text. */
static bool is_in(const char *text, size_t length, char first, char last) {
    static const char around[] = " \t\r\n\"\\";
    size_t start = strspn(text, around);
    while (length > 0 && strchr(around, text[length - 1]) != NULL) {
        length--;
    }
    return start + 1 < length && text[start] == first && text[length - 1] == last;
}

static bool is_written(uint32_t tags, yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    return text != NULL &&
           (((tags & TAGS_OF_TYPE(YYJSON_TYPE_ARR)) != 0 && is_in(text, length, '[', ']')) ||
            ((tags & TAGS_OF_TYPE(YYJSON_TYPE_OBJ)) != 0 && is_in(text, length, '{', '}')));
}

static struct meant meant_by_scalar(yyjson_val *value) {
    char json[NUMBER_SCRATCH_SIZE];
    struct text text = text_in(json, sizeof json);
    text_printf(&text, "\"");
    text_add_value(&text, value);
    text_printf(&text, "\"");
    yyjson_doc *doc = yyjson_read(json, text.length, YYJSON_READ_NOFLAG);
    return (struct meant){.how = MEANT_QUOTED, .doc = doc, .value = yyjson_doc_get_root(doc)};
}

static const struct node *first_item(const struct node *node) {
    const struct array_rules *rules = node != NULL ? node->array : NULL;
    return rules == NULL ? NULL : rules->prefix.count > 0 ? rules->prefix.nodes[0] : rules->rest;
}

/* The array that is the only member of an object, as XML becomes JSON: {"item": [...]}. NULL: there
 * is none, or the object may be an item itself. */
static yyjson_val *inner_array(const struct node *node, yyjson_val *value) {
    const struct node *item = first_item(node);
    yyjson_val *key = yyjson_obj_size(value) == 1 ? unsafe_yyjson_get_first(value) : NULL;
    if (item == NULL || key == NULL || !yyjson_is_arr(key + 1)) {
        return NULL;
    }
    const struct object_rules *rules = misplaced_rules(item);
    bool may_be_item = rules != NULL ? run_find_property(rules, unsafe_yyjson_get_str(key),
                                                         unsafe_yyjson_get_len(key)) != NULL
                                     : (item->tags & TAGS_OF_TYPE(YYJSON_TYPE_OBJ)) != 0;
    return may_be_item ? NULL : key + 1;
}

static struct meant meant_by(const struct explain *explain, const struct node *node, uint32_t tags,
                             yyjson_val *value) {
    struct meant meant = {.how = MEANT_UNKNOWN};
    if (yyjson_is_null(value)) {
        meant.how = is_optional(explain) ? MEANT_ABSENT : MEANT_UNKNOWN;
        return meant;
    }
    if (yyjson_is_str(value)) {
        meant = meant_by_text(tags, yyjson_get_str(value), yyjson_get_len(value));
    } else if (tags == TAGS_OF_TYPE(YYJSON_TYPE_STR) && !unsafe_yyjson_is_ctn(value)) {
        return meant_by_scalar(value);
    } else if (yyjson_arr_size(value) == 1 && allows(tags, yyjson_arr_get_first(value))) {
        return (struct meant){.how = MEANT_ONLY_ITEM, .value = yyjson_arr_get_first(value)};
    }
    if (meant.how == MEANT_UNKNOWN && is_written(tags, value)) {
        return (struct meant){.how = MEANT_WRITTEN};
    }
    bool wants_array = (tags & TAGS_OF_TYPE(YYJSON_TYPE_ARR)) != 0;
    yyjson_val *inner = wants_array ? inner_array(node, value) : NULL;
    if (inner != NULL) {
        return (struct meant){.how = MEANT_INNER, .value = inner};
    }
    if (meant.how == MEANT_UNKNOWN && wants_array && !yyjson_is_arr(value)) {
        bool parts = yyjson_is_str(value) && strchr(yyjson_get_str(value), ',') != NULL;
        return parts ? (struct meant){.how = MEANT_PARTS}
                     : (struct meant){.how = MEANT_AN_ITEM, .value = value};
    }
    return meant;
}

static void add_hint(struct text *reason, const struct meant *meant, yyjson_val *value) {
    switch (meant->how) {
    case MEANT_UNKNOWN: break;
    case MEANT_ABSENT: text_printf(reason, "; leave it out"); break;
    case MEANT_JSON:
        text_printf(reason, "; give the %s itself, not its JSON text",
                    yyjson_is_arr(meant->value) ? "array" : "object");
        break;
    case MEANT_SCALAR:
        text_printf(reason, "; write ");
        text_add_value(reason, meant->value);
        text_printf(reason, " without quotes");
        break;
    case MEANT_QUOTED: text_printf(reason, "; write it in quotes"); break;
    case MEANT_ONLY_ITEM: text_printf(reason, "; give its only item without the array"); break;
    case MEANT_AN_ITEM: text_printf(reason, "; give an array that has it as its only item"); break;
    case MEANT_INNER:
        text_printf(reason, "; give the array that is inside it, in ");
        text_add_value(reason, unsafe_yyjson_get_first(value));
        text_printf(reason, ", in its place");
        break;
    case MEANT_WRITTEN:
        text_printf(reason, "; give the %s itself, not text",
                    strcspn(yyjson_get_str(value), "[") < strcspn(yyjson_get_str(value), "{")
                            ? "array"
                            : "object");
        break;
    case MEANT_PARTS: text_printf(reason, "; give an array with each part of it as an item"); break;
    }
}

/* Tell what is wrong with the value that was meant, too: else it would be told after the next
 * try. */
static void explain_meant(struct run *run, const struct node *node,
                          const struct node_list *branches, const struct meant *meant) {
    struct explain *explain = run->explain;
    if (meant->value == NULL || explain->meant == MEANT_DEPTH_MAX) {
        return;
    }
    explain->meant++;
    if (meant->how == MEANT_AN_ITEM) {
        const struct node *item = first_item(node);
        if (item != NULL) {
            explain_enter_index(run, 0);
            (void)run_check(run, item, meant->value);
            explain_leave(run);
        }
    } else if (node != NULL) {
        (void)run_check(run, node, meant->value);
    } else {
        bool valid = false;
        for (uint32_t i = 0; !valid && i < branches->count; i++) {
            valid = run_check_quietly(run, branches->nodes[i], meant->value);
        }
        if (!valid && run->limit == LIMIT_NONE) {
            (void)explain_branches(run, branches, meant->value);
        }
    }
    explain->meant--;
}

/* --------------------------------------------------------------------------------------- types */

static void add_types(struct text *reason, uint32_t tags, bool integer) {
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
}

/* Another type is required, by a node or by all branches of a union. */
static bool explain_tags(struct run *run, const struct node *node, const struct node_list *branches,
                         uint32_t tags, bool integer, yyjson_val *value) {
    struct explain *explain = run->explain;
    if (explain->weighing != NULL) {
        weigh_type(explain, tags, integer);
        return false;
    }
    if (!begin(run, tags == 0 ? "false schema" : "type", TELLING_TYPE)) {
        return false;
    }
    struct text *reason = &explain->reason;
    if (tags == 0) {
        text_printf(reason, "is not allowed here");
        end(run);
        return false;
    }
    struct meant meant = meant_by(explain, node, tags, value);
    text_printf(reason, "must be ");
    add_types(reason, tags, integer);
    text_printf(reason, ", not ");
    if (yyjson_is_real(value) && integer) {
        text_add_value(reason, value); /* the value 1.5 is more helpful than "a number" */
    } else {
        text_printf(reason, "%s", keyword_kind(value));
    }
    add_hint(reason, &meant, value);
    if (explain->tolerating != NULL && explain->meant == 0) {
        tolerate_type(explain->tolerating, explain->field.data, tags, value);
    }
    end(run);
    explain_meant(run, node, branches, &meant);
    yyjson_doc_free(meant.doc);
    return false;
}

bool explain_type(struct run *run, const struct node *node, yyjson_val *value) {
    if (run->explain == NULL) {
        return false;
    }
    /* The choices say the type too. */
    const struct choices *choices = node->choices != NULL ? node->choices : node->constant;
    if (choices != NULL && !unsafe_yyjson_is_ctn(value)) {
        return explain_choice(run, choices, value);
    }
    return explain_tags(run, node, NULL, node->tags, node->integer_too, value);
}

/* ------------------------------------------------------------------------------------- choices */

static void gather_choices(struct merging *merging, const struct choices *choices) {
    for (uint32_t i = 0; i < choices->count; i++) {
        if (yyjson_is_str(choices->values[i])) {
            (void)nearest_try(&merging->nearest, yyjson_get_str(choices->values[i]));
        }
        if (merging->list.length > merging->list.room * 3 / 4) {
            merging->more++;
        } else {
            text_printf(&merging->list, "%s", merging->count > 0 ? ", " : "");
            text_add_value(&merging->list, choices->values[i]);
        }
        merging->count++;
    }
}

static void add_choices(struct text *reason, const struct merging *merging) {
    if (merging->count == 0) {
        text_printf(reason, "no value is allowed here: the enum of the schema is empty");
        return;
    }
    text_printf(reason, merging->count > 1 ? "must be one of " : "must be ");
    text_add(reason, merging->list.data, merging->list.length);
    if (merging->more > 0) {
        text_printf(reason, ", and %u more", merging->more);
    }
    text_printf(reason, ", not ");
    text_add_value(reason, merging->value);
    if (merging->nearest.name != NULL && merging->count > 1) {
        text_printf(reason, "; did you mean ");
        text_add_quoted(reason, merging->nearest.name, strlen(merging->nearest.name));
        text_printf(reason, "?");
    } else if (yyjson_is_null(merging->value) && merging->is_optional) {
        text_printf(reason, "; leave it out");
    }
}

static void begin_merging(struct merging *merging, const struct explain *explain,
                          const char *keyword, yyjson_val *value) {
    struct text field = text_in(merging->field, sizeof merging->field);
    add_path(&field, explain, explain->path_length);
    merging->keyword = keyword;
    merging->step = explain->path_length > 0 ? &explain->path[explain->path_length - 1] : NULL;
    merging->depth = explain->path_length;
    merging->value = value;
    merging->is_optional = is_optional(explain);
    merging->nearest = nearest_to(yyjson_is_str(value) ? yyjson_get_str(value) : "");
}

bool explain_choice(struct run *run, const struct choices *choices, yyjson_val *value) {
    struct explain *explain = run->explain;
    if (explain == NULL) {
        return false;
    }
    struct merging *gathered = explain->merging;
    if (gathered != NULL) {
        if (gathered->what == TELLING_CHOICE && explain->path_length <= gathered->deepest) {
            if (gathered->value == NULL) {
                begin_merging(gathered, explain, choices->keyword, value);
            }
            if (gathered->value == value) { /* else it is of another property */
                gather_choices(gathered, choices);
            }
        }
    } else if (begin(run, choices->keyword, TELLING_CHOICE)) {
        struct merging merging = {.count = 0};
        merging.list = text_in(merging.room, sizeof merging.room);
        begin_merging(&merging, explain, choices->keyword, value);
        gather_choices(&merging, choices);
        add_choices(&explain->reason, &merging);
        if (explain->tolerating != NULL && explain->meant == 0) {
            tolerate_choice(explain->tolerating, explain->field.data, choices, value);
        }
        end(run);
    }
    return false;
}

/* -------------------------------------------------------------------------------- plain reasons */

bool explain(struct run *run, const char *keyword, const char *format, ...) {
    if (begin(run, keyword, TELLING_OTHER)) {
        va_list args;
        va_start(args, format);
        text_vprintf(&run->explain->reason, format, args);
        va_end(args);
        end(run);
    }
    return false;
}

bool explain_text(struct run *run, const char *keyword, yyjson_val *value, const char *format,
                  ...) {
    if (begin(run, keyword, TELLING_OTHER)) {
        va_list args;
        va_start(args, format);
        text_vprintf(&run->explain->reason, format, args);
        va_end(args);
        text_printf(&run->explain->reason, ", not ");
        text_add_value(&run->explain->reason, value);
        end(run);
    }
    return false;
}

bool explain_count(struct run *run, const char *keyword, const char *relation, uint64_t bound,
                   const char *what, uint64_t actual) {
    if (begin(run, keyword, TELLING_OTHER)) {
        bool is_property = strcmp(what, "property") == 0;
        const char *plural = bound == 1 ? what : is_property ? "properties" : NULL;
        text_printf(&run->explain->reason, "must have %s %llu %s%s, not %llu", relation,
                    (unsigned long long)bound, plural != NULL ? plural : what,
                    plural != NULL ? "" : "s", (unsigned long long)actual);
        end(run);
    }
    return false;
}

bool explain_bound(struct run *run, const char *keyword, const char *relation, yyjson_val *bound,
                   yyjson_val *value) {
    if (begin(run, keyword, TELLING_OTHER)) {
        struct text *reason = &run->explain->reason;
        text_printf(reason, "%s ", relation);
        text_add_value(reason, bound);
        text_printf(reason, ", not ");
        text_add_value(reason, value);
        end(run);
    }
    return false;
}

/* ------------------------------------------------------------------ missing and unknown property
 */

static struct path path_of(const struct run *run) {
    return (struct path){.steps = run->explain->path, .length = run->explain->path_length};
}

/* Check the value of a member as that of another property of the object. */
static void check_as(struct run *run, const struct object_rules *rules, yyjson_val *object,
                     const struct property *property, yyjson_val *value) {
    struct explain *explain = run->explain;
    if (explain->meant < MEANT_DEPTH_MAX) {
        explain->meant++;
        enter_name(explain, rules, object, property->name, property->length);
        (void)run_check(run, property->node, value);
        explain_leave(run);
        explain->meant--;
    }
}

static bool is_inside(struct run *run, const struct object_rules *rules, yyjson_val *object,
                      yyjson_val *key, const struct property *property) {
    struct misplaced misplaced = {.kind = MISPLACED_NOT};
    if (run_find_property(rules, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key)) == NULL) {
        misplaced = misplaced_find(run, path_of(run), rules, object, key);
    }
    return misplaced.kind == MISPLACED_INSIDE && misplaced.property == property;
}

/* "put "id" and "count" inside "order"", with what is wrong there then. */
static void tell_inside(struct run *run, const struct object_rules *rules, yyjson_val *object,
                        const struct property *property, bool is_named) {
    struct explain *explain = run->explain;
    struct text *reason = &explain->reason;
    const struct object_rules *inner = misplaced_rules(property->node);
    yyjson_val *moved[NAMES_SHOWN_MAX];
    unsigned count = 0;
    unsigned more = 0;
    yyjson_val *key = unsafe_yyjson_get_first(object);
    size_t left = unsafe_yyjson_get_len(object);
    for (left = left < NAMES_TRIED_MAX ? left : NAMES_TRIED_MAX; left > 0; left--) {
        if (is_inside(run, rules, object, key, property)) {
            if (count < NAMES_SHOWN_MAX) {
                moved[count++] = key;
            } else {
                more++;
            }
        }
        key = unsafe_yyjson_get_next(key + 1);
    }
    text_printf(reason, "; put ");
    for (unsigned i = 0; i < count; i++) {
        text_printf(reason, "%s", i == 0 ? "" : i + 1 == count && more == 0 ? " and " : ", ");
        add_name_here(reason, explain, moved[i]);
    }
    if (more > 0) {
        text_printf(reason, " and %u more", more);
    }
    text_printf(reason, is_named ? " inside it" : " inside ");
    if (!is_named) {
        add_name(reason, explain, explain->path_length, property->name, property->length);
    }
    end(run);
    bool is_there = yyjson_obj_getn(object, property->name, property->length) != NULL;
    enter_name(explain, rules, object, property->name, property->length);
    for (unsigned i = 0; i < count; i++) {
        const struct property *to = misplaced_property(inner, unsafe_yyjson_get_str(moved[i]),
                                                       unsafe_yyjson_get_len(moved[i]));
        check_as(run, inner, object, to, moved[i] + 1);
    }
    for (uint32_t i = 0; !is_there && i < inner->required_count; i++) {
        yyjson_val *name = inner->required_names[i];
        if (yyjson_obj_getn(object, unsafe_yyjson_get_str(name), unsafe_yyjson_get_len(name)) ==
            NULL) {
            (void)explain_missing(run, inner, object, name, NULL);
        }
    }
    explain_leave(run);
}

/* Check the members of an object that belong beside it. */
static void check_members_of(struct run *run, const struct object_rules *rules,
                             yyjson_val *wrapper) {
    yyjson_val *key = unsafe_yyjson_get_first(wrapper);
    size_t left = unsafe_yyjson_get_len(wrapper);
    struct explain *explain = run->explain;
    for (left = left < NAMES_TRIED_MAX ? left : NAMES_TRIED_MAX; left > 0; left--) {
        const struct property *property =
                misplaced_property(rules, unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
        if (property != NULL) {
            check_as(run, rules, wrapper, property, key + 1);
        } else if (rules->closed && explain->meant < MEANT_DEPTH_MAX) {
            explain->meant++;
            (void)explain_unknown(run, rules, wrapper, key);
            explain->meant--;
        }
        key = unsafe_yyjson_get_next(key + 1);
    }
}

static void tell_known(const struct explain *explain, struct text *reason,
                       const struct object_rules *rules) {
    if (rules->pattern_count > 0) {
        return;
    }
    text_printf(reason, rules->listed == 0   ? "; no properties are allowed here"
                        : rules->listed == 1 ? "; the only known property is "
                                             : "; the known properties are ");
    for (uint32_t i = 0; i < rules->listed && i < KNOWN_SHOWN_MAX; i++) {
        text_printf(reason, "%s", i > 0 ? ", " : "");
        add_name(reason, explain, explain->path_length, rules->properties[i].name,
                 rules->properties[i].length);
    }
    if (rules->listed > KNOWN_SHOWN_MAX) {
        text_printf(reason, " and %u more", rules->listed - KNOWN_SHOWN_MAX);
    }
}

/* The place that is meant by a path as the name of a member, "opts.mode" or "opts[mode]". @return
 * whether it was told. */
static bool tell_path(const struct explain *explain, struct text *reason,
                      const struct object_rules *rules, const char *name, size_t length) {
    size_t outer = strcspn(name, ".[");
    if (outer + 1 >= length) {
        return false;
    }
    const char *inside = name + outer + 1;
    size_t left = length - outer - 1;
    left -= name[outer] == '[' && inside[left - 1] == ']';
    const struct property *property = misplaced_property(rules, name, outer);
    const struct object_rules *inner = property != NULL ? misplaced_rules(property->node) : NULL;
    if (inner == NULL || misplaced_property(inner, inside, left) == NULL) {
        return false;
    }
    text_printf(reason, "; put it at ");
    add_path(reason, explain, explain->path_length);
    add_key(reason, explain, explain->path_length, name, outer);
    text_add_key(reason, inside, left);
    return true;
}

/* The first member that belongs inside a property speaks for all of them. */
static bool is_spoken_for(struct run *run, const struct object_rules *rules, yyjson_val *object,
                          yyjson_val *key, const struct misplaced *misplaced) {
    struct misplaced first;
    return misplaced->kind == MISPLACED_INSIDE &&
           misplaced_source(run, path_of(run), rules, object, misplaced->property->name,
                            misplaced->property->length, &first) != key;
}

bool explain_unknown(struct run *run, const struct object_rules *rules, yyjson_val *object,
                     yyjson_val *key) {
    struct explain *explain = run->explain;
    if (explain == NULL || explain->weighing != NULL || explain->merging != NULL) {
        (void)begin(run, "additionalProperties", TELLING_OTHER);
        return false;
    }
    struct misplaced misplaced = misplaced_find(run, path_of(run), rules, object, key);
    if (is_spoken_for(run, rules, object, key, &misplaced) ||
        !begin(run, "additionalProperties", TELLING_OTHER)) {
        return false;
    }
    struct text *reason = &explain->reason;
    const char *name = unsafe_yyjson_get_str(key);
    size_t length = unsafe_yyjson_get_len(key);
    add_member(explain, name, length);
    text_printf(reason, "unknown property ");
    add_name_here(reason, explain, key);
    if ((misplaced.kind == MISPLACED_NOT || misplaced.kind == MISPLACED_NAME) &&
        tell_path(explain, reason, rules, name, length)) {
        end(run);
        return false;
    }
    switch (misplaced.kind) {
    case MISPLACED_NAME:
        text_printf(reason, "; did you mean ");
        add_name(reason, explain, explain->path_length, misplaced.property->name,
                 misplaced.property->length);
        text_printf(reason, "?");
        end(run);
        if (yyjson_obj_getn(object, misplaced.property->name, misplaced.property->length) == NULL) {
            check_as(run, rules, object, misplaced.property, key + 1);
        }
        return false;
    case MISPLACED_INSIDE: tell_inside(run, rules, object, misplaced.property, false); return false;
    case MISPLACED_OUT:
        text_printf(reason, "; put what is inside it here, in its place");
        end(run);
        check_members_of(run, rules, key + 1);
        return false;
    case MISPLACED_ABOVE:
        text_printf(reason, "; put it at ");
        add_path(reason, explain, misplaced.level);
        add_key(reason, explain, misplaced.level, name, length);
        break;
    case MISPLACED_NOT: tell_known(explain, reason, rules); break;
    }
    end(run);
    return false;
}

bool explain_unevaluated(struct run *run, yyjson_val *object, yyjson_val *key) {
    explain_enter_member(run, NULL, object, key);
    if (begin(run, "unevaluatedProperties", TELLING_OTHER)) {
        text_printf(&run->explain->reason, "unknown property ");
        add_name(&run->explain->reason, run->explain, run->explain->path_length - 1,
                 unsafe_yyjson_get_str(key), unsafe_yyjson_get_len(key));
        end(run);
    }
    explain_leave(run);
    return false;
}

/* A missing property is told together with the member that stands for it, if that is told. */
static void tell_source(struct run *run, const struct object_rules *rules, yyjson_val *object,
                        const struct misplaced *misplaced, yyjson_val *key, const char *name,
                        size_t length) {
    struct text *reason = &run->explain->reason;
    const struct property *property = misplaced_property(rules, name, length);
    if (misplaced->kind == MISPLACED_INSIDE) {
        tell_inside(run, rules, object, property, true);
        return;
    }
    yyjson_val *value = key + 1;
    if (misplaced->kind == MISPLACED_NAME) {
        text_printf(reason, "; did you mean it by ");
        add_name_here(reason, run->explain, key);
        text_printf(reason, "?");
    } else {
        text_printf(reason, "; put it here, not inside ");
        add_name_here(reason, run->explain, key);
        value = yyjson_obj_getn(value, name, length);
    }
    end(run);
    check_as(run, rules, object, property, value);
}

bool explain_missing(struct run *run, const struct object_rules *rules, yyjson_val *object,
                     yyjson_val *name, yyjson_val *trigger_key) {
    struct explain *explain = run->explain;
    const char *text = unsafe_yyjson_get_str(name);
    size_t length = unsafe_yyjson_get_len(name);
    if (explain == NULL) {
        return false;
    }
    struct merging *merging = explain->merging;
    if (merging != NULL) {
        if (merging->what == TELLING_MISSING && explain->path_length == merging->deepest) {
            if (merging->count == 0) {
                struct text field = text_in(merging->field, sizeof merging->field);
                add_path(&field, explain, explain->path_length);
                add_key(&field, explain, explain->path_length, text, length);
                merging->depth = explain->path_length + 1;
            }
            text_printf(&merging->list, merging->count > 0 ? " or " : "");
            add_name_here(&merging->list, explain, name);
            merging->count++;
        }
        return false;
    }
    struct misplaced misplaced = {.kind = MISPLACED_NOT};
    yyjson_val *source = NULL;
    if (explain->weighing == NULL) {
        source = misplaced_source(run, path_of(run), rules, object, text, length, &misplaced);
        if (source != NULL && rules->closed && trigger_key == NULL) {
            return false;
        }
    }
    if (!begin(run, trigger_key == NULL ? "required" : "dependentRequired", TELLING_MISSING)) {
        return false;
    }
    add_member(explain, text, length);
    text_printf(&explain->reason, "required property ");
    add_name_here(&explain->reason, explain, name);
    text_printf(&explain->reason, " is missing");
    if (trigger_key != NULL) {
        text_printf(&explain->reason, "; ");
        add_name_here(&explain->reason, explain, trigger_key);
        text_printf(&explain->reason, " requires it");
    } else if (source != NULL) {
        tell_source(run, rules, object, &misplaced, source, text, length);
        return false;
    }
    end(run);
    return false;
}

/* ------------------------------------------------------------------------------------- unions */

static struct weighing weigh_branch(struct run *run, const struct node *node, yyjson_val *value) {
    struct explain *explain = run->explain;
    struct weighing *outer = explain->weighing;
    struct weighing weighing = {.place = explain->path_length};
    explain->weighing = &weighing;
    (void)run_check(run, node, value);
    explain->weighing = outer;
    return weighing;
}

/* The property by which branches are told apart: what each needs beside it, since all of that is
 * missing too. */
static void tell_needs(const struct explain *explain, struct text *reason,
                       const struct node_list *branches, const struct step *by) {
    bool any = false;
    for (uint32_t i = 0; i < branches->count && i < NAMES_SHOWN_MAX; i++) {
        const struct object_rules *rules = misplaced_rules(branches->nodes[i]);
        const struct property *property =
                rules != NULL ? misplaced_property(rules, by->name, by->length) : NULL;
        const struct choices *choices = property == NULL ? NULL
                                        : property->node->constant != NULL
                                                ? property->node->constant
                                                : property->node->choices;
        unsigned needed = 0;
        for (uint32_t k = 0; choices != NULL && k < rules->required_count; k++) {
            yyjson_val *required = rules->required_names[k];
            if (needed < NAMES_SHOWN_MAX && !yyjson_equals_strn(required, by->name, by->length)) {
                text_printf(reason, needed > 0 ? ", " : any ? ", and " : "; ");
                if (needed++ == 0) {
                    text_add_value(reason, choices->values[0]);
                    text_printf(reason, " needs ");
                }
                add_name_here(reason, explain, required);
                any = true;
            }
        }
    }
}

/* Tell together what several branches allow at one place. */
static void explain_merged(struct run *run, const struct node_list *branches, enum telling what,
                           yyjson_val *value) {
    struct explain *explain = run->explain;
    struct merging merging = {.what = what,
                              .keyword = "required",
                              .deepest = explain->path_length + (what == TELLING_CHOICE)};
    merging.list = text_in(merging.room, sizeof merging.room);
    explain->merging = &merging;
    for (uint32_t i = 0; i < branches->count && run->limit == LIMIT_NONE; i++) {
        (void)run_check(run, branches->nodes[i], value);
    }
    explain->merging = NULL;
    if (merging.count == 0 || !begin(run, merging.keyword, what)) {
        return;
    }
    explain->field.length = 0;
    text_add(&explain->field, merging.field, strlen(merging.field));
    explain->depth = merging.depth;
    if (what == TELLING_CHOICE) {
        add_choices(&explain->reason, &merging);
        if (merging.depth > explain->path_length) {
            tell_needs(explain, &explain->reason, branches, merging.step);
        }
    } else {
        text_printf(&explain->reason, "required property ");
        text_add(&explain->reason, merging.list.data, merging.list.length);
        text_printf(&explain->reason, " is missing");
    }
    end(run);
}

/* What the branches say as a whole is one mistake of an enclosing union's branch. */
static void weigh_union(struct explain *explain, const struct weighing *best, uint32_t tags,
                        bool integer) {
    switch (best->weight) {
    case WEIGHT_TYPE: weigh_type(explain, tags, integer); break;
    case WEIGHT_CHOICE: weigh(explain->weighing, TELLING_CHOICE, best->choice); break;
    case WEIGHT_NONE:
    case WEIGHT_MEANT: weigh(explain->weighing, TELLING_OTHER, best->deepest); break;
    }
}

bool explain_branches(struct run *run, const struct node_list *branches, yyjson_val *value) {
    struct explain *explain = run->explain;
    struct weighing best = {.weight = WEIGHT_NONE};
    struct weighing types = {.place = 0};
    uint32_t which = 0;
    unsigned missing = 0;
    if (explain == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < branches->count && run->limit == LIMIT_NONE; i++) {
        if (explain->merging != NULL) {
            (void)run_check(run, branches->nodes[i], value);
            continue;
        }
        struct weighing weighing = weigh_branch(run, branches->nodes[i], value);
        merge_types(&types, weighing.tags, weighing.integer);
        missing += weighing.count == 1 && weighing.missing == 1;
        if (weighing.count > 0 && is_better(&weighing, &best)) {
            best = weighing;
            which = i;
        }
    }
    if (run->limit != LIMIT_NONE || best.weight == WEIGHT_NONE) {
        return false;
    }
    if (explain->weighing != NULL) {
        weigh_union(explain, &best, types.tags, types.integer);
    } else if (best.weight == WEIGHT_TYPE) {
        (void)explain_tags(run, NULL, branches, types.tags, types.integer, value);
    } else if (best.weight == WEIGHT_CHOICE) {
        explain_merged(run, branches, TELLING_CHOICE, value);
    } else if (missing == branches->count) {
        explain_merged(run, branches, TELLING_MISSING, value);
    } else {
        (void)run_check(run, branches->nodes[which], value);
    }
    return false;
}

/* The first property that one branch requires and the other does not. */
static yyjson_val *required_only_by(const struct node *one, const struct node *other) {
    const struct object_rules *rules = one->object;
    for (uint32_t i = 0; rules != NULL && i < rules->required_count; i++) {
        yyjson_val *name = rules->required_names[i];
        if (other->object == NULL || !misplaced_requires(other->object, unsafe_yyjson_get_str(name),
                                                         unsafe_yyjson_get_len(name))) {
            return name;
        }
    }
    return NULL;
}

bool explain_both(struct run *run, const struct node_list *branches, uint32_t one, uint32_t other) {
    if (!begin(run, "oneOf", TELLING_OTHER)) {
        return false;
    }
    struct text *reason = &run->explain->reason;
    yyjson_val *first = required_only_by(branches->nodes[one], branches->nodes[other]);
    yyjson_val *second = required_only_by(branches->nodes[other], branches->nodes[one]);
    text_printf(reason,
                "must match exactly one of %u alternatives, but matches number %u and number %u",
                branches->count, one + 1, other + 1);
    if (first != NULL && second != NULL) {
        text_printf(reason, "; leave out ");
        add_name_here(reason, run->explain, first);
        text_printf(reason, " or ");
        add_name_here(reason, run->explain, second);
    }
    end(run);
    return false;
}

/* -------------------------------------------------------------------------------------- limits */

void explain_limit(const struct run *run, struct schema_mistakes *ret) {
    struct schema_mistake *mistake = &ret->list[0];
    struct text reason = text_in(mistake->reason, sizeof mistake->reason);
    ret->code = TOOLRACK_E_LIMIT_EXCEEDED;
    ret->count = 1;
    ret->told = 1;
    mistake->keyword = "";
    mistake->depth = 0;
    mistake->field[0] = '\0';
    switch (run->limit) {
    case LIMIT_RECURSION:
        text_printf(&reason,
                    "the value or its schema is nested deeper than %d levels, the most that are "
                    "checked",
                    SCHEMA_RECURSION_MAX);
        break;
    case LIMIT_COMPARE:
        text_printf(
                &reason,
                "values to compare are nested deeper than %d levels, the most that are compared",
                JSON_EQUAL_DEPTH_MAX);
        break;
    case LIMIT_MATCH:
        text_printf(&reason,
                    "a regular expression (pattern) of the schema backtracked more than %d times; "
                    "give a shorter text, or a pattern without repetitions in repetitions such as "
                    "(a+)+",
                    SCHEMA_MATCH_MAX);
        break;
    case LIMIT_MEMORY:
        ret->code = TOOLRACK_E_NO_MEMORY;
        text_printf(&reason, "out of memory");
        break;
    case LIMIT_STEPS:
    case LIMIT_NONE:
        text_printf(&reason,
                    "checking took more than %lld steps, the most that it may; give less at a time",
                    (long long)run->schema->steps_max);
        break;
    }
}
