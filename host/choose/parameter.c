#include "choose/parameter.h"

#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json.h"
#include "choose/values-parts.h"
#include "schema/secret.h"

/* What is read of a description, in bytes. */
#define DESCRIPTION_MAX 1200u

/* ------------------------------------------------------------------- names */

/* Whether a new word of a name begins at a byte: fileName, HTTPServer, page2. */
static bool begins_word(const char *name, size_t at) {
    if (at == 0) {
        return false;
    }
    bool hump = ascii_is_upper(name[at]) && !ascii_is_upper(name[at - 1]);
    bool acronym = ascii_is_upper(name[at]) && ascii_is_upper(name[at - 1]) &&
                   name[at + 1] != '\0' && ascii_is_letter(name[at + 1]) &&
                   !ascii_is_upper(name[at + 1]);
    bool digit = ascii_is_digit(name[at]) != ascii_is_digit(name[at - 1]);
    return (ascii_is_alnum(name[at]) && ascii_is_alnum(name[at - 1])) && (hump || acronym || digit);
}

/* The words of a name with spaces between them, in lower case. */
static size_t space_name(const char *name, char *to, size_t room) {
    size_t length = 0;
    for (size_t i = 0; name[i] != '\0' && length + 2 < room; i++) {
        if (begins_word(name, i)) {
            to[length++] = ' ';
        }
        bool joint = name[i] == '_' || name[i] == '-' || name[i] == '.';
        to[length++] = joint ? ' ' : ascii_lower(name[i]);
    }
    to[length] = '\0';
    return length;
}

static bool read_tokens(const char *name, const char *description, struct arena *arena,
                        char **ret_lower, struct token **ret, size_t *ret_name, size_t *ret_count) {
    struct token tokens[PARAMETER_TOKENS_MAX];
    size_t name_room = strlen(name) * 2 + 2;
    size_t length = strlen(description);
    length = length < DESCRIPTION_MAX ? length : DESCRIPTION_MAX;
    char *lower = arena_alloc(arena, name_room + length + 2);
    if (lower == NULL) {
        return false;
    }
    size_t name_length = space_name(name, lower, name_room);
    *ret_name = token_read(lower, lower, name_length, tokens, PARAMETER_NAME_MAX);
    lower[name_length] = '\n';
    ascii_copy_lower(lower + name_length + 1, description, length);
    char *rest = lower + name_length + 1;
    size_t more =
            token_read(rest, rest, length, tokens + *ret_name, PARAMETER_TOKENS_MAX - *ret_name);
    for (size_t i = *ret_name; i < *ret_name + more; i++) {
        tokens[i].start += (uint32_t)name_length + 1;
        tokens[i].end += (uint32_t)name_length + 1;
    }
    *ret_lower = lower;
    *ret_count = *ret_name + more;
    *ret = arena_alloc(arena, *ret_count * sizeof tokens[0]);
    if (*ret != NULL) {
        memcpy(*ret, tokens, *ret_count * sizeof tokens[0]);
    }
    return *ret != NULL;
}

/* ------------------------------------------------------------------- hints */

static const char *text_of(yyjson_val *object, const char *key) {
    const char *text = yyjson_get_str(yyjson_obj_get(object, key));
    return text != NULL ? text : "";
}

/* The hint of the last word that has one: in "start date" and "city name" the last says what it is;
 * a person's hint is the weakest, since "name" is behind everything that has one. */
static enum hint hint_of(const struct parameter *parameter, size_t from, size_t to) {
    enum hint hint = HINT_NONE;
    for (size_t i = from; i < to; i++) {
        size_t length;
        const struct lexeme *lexeme =
                token_lexeme(parameter->lower, parameter->tokens, to, i, LEXEME_HINTS, &length);
        if (lexeme == NULL) {
            continue;
        }
        bool name = lexeme->id == HINT_PERSON && length == 1 &&
                    memcmp(lexeme->text, "name", lexeme->length < 4 ? lexeme->length : 4) == 0;
        if (!name || hint == HINT_NONE || hint == HINT_PERSON) {
            hint = (enum hint)lexeme->id;
        }
        i += length - 1;
    }
    return hint;
}

static bool mentions(const struct parameter *parameter, const char *text) {
    return strstr(parameter->lower, text) != NULL;
}

static enum hint format_hint(const struct parameter *parameter) {
    static const struct {
        const char *format;
        enum hint hint;
    } formats[] = {{"date", HINT_DATE},   {"date-time", HINT_MOMENT}, {"time", HINT_TIME},
                   {"email", HINT_EMAIL}, {"uri", HINT_URL},          {"url", HINT_URL},
                   {"uuid", HINT_ID}};
    yyjson_val *items = yyjson_obj_get(parameter->schema, "items"); /* of an array: what is in it */
    const char *format = text_of(items != NULL ? items : parameter->schema, "format");
    for (size_t i = 0; i < ARRAY_LENGTH(formats); i++) {
        if (strcmp(format, formats[i].format) == 0) {
            return formats[i].hint;
        }
    }
    return HINT_NONE;
}

static void set_hint(struct parameter *parameter) {
    enum hint hint = format_hint(parameter);
    if (hint == HINT_NONE && parameter->pattern != NULL) {
        bool clock = memchr(parameter->pattern, ':', parameter->pattern_length) != NULL;
        bool day = memchr(parameter->pattern, 'd', parameter->pattern_length) != NULL;
        hint = clock && day ? HINT_MOMENT : clock ? HINT_TIME : HINT_DATE;
    }
    if (hint == HINT_NONE && (mentions(parameter, "iana") || mentions(parameter, "time zone") ||
                              mentions(parameter, "timezone") || mentions(parameter, "时区"))) {
        hint = HINT_ZONE;
    }
    bool currency = mentions(parameter, "currency code") || mentions(parameter, "iso 4217") ||
                    mentions(parameter, "货币代码");
    if (hint == HINT_NONE && currency &&
        strcmp(text_of(parameter->schema, "type"), "string") == 0) {
        hint = HINT_CURRENCY;
    }
    if (hint == HINT_NONE) {
        hint = hint_of(parameter, 0, parameter->name_count);
    }
    if (hint == HINT_NONE || (hint == HINT_PERSON && parameter->name_count == 1)) {
        enum hint by_text = hint_of(parameter, parameter->name_count,
                                    parameter->token_count < parameter->name_count + 8
                                            ? parameter->token_count
                                            : parameter->name_count + 8);
        hint = hint == HINT_NONE ? by_text : hint;
    }
    parameter->hint = (uint8_t)hint;
}

static void set_role(struct parameter *parameter) {
    for (size_t i = 0; i < parameter->name_count; i++) {
        size_t length;
        const struct lexeme *lexeme = token_lexeme(parameter->lower, parameter->tokens,
                                                   parameter->name_count, i, LEXEME_ROLES, &length);
        if (lexeme != NULL) {
            parameter->role = (uint8_t)lexeme->id;
            return;
        }
    }
}

/* The currency behind "in": "amount in US dollars". */
static void set_currency(struct parameter *parameter) {
    for (size_t i = 1; i < parameter->token_count; i++) {
        size_t length;
        const struct lexeme *currency =
                parameter->tokens[i - 1].cue == CUE_IN
                        ? token_lexeme(parameter->lower, parameter->tokens, parameter->token_count,
                                       i, LEXEME_CURRENCIES, &length)
                        : NULL;
        if (currency != NULL && lexeme_of(LEXEME_UNITS, currency->text, currency->length) == NULL) {
            parameter->currency = currency;
            return;
        }
    }
}

/* A unit in the name, or in the description. */
static void set_unit(struct parameter *parameter) {
    for (size_t i = 0; i < parameter->token_count; i++) {
        size_t length;
        const struct lexeme *unit = token_lexeme(parameter->lower, parameter->tokens,
                                                 parameter->token_count, i, LEXEME_UNITS, &length);
        bool in_name = i < parameter->name_count;
        size_t letters = unit != NULL ? unit->length : 0;
        /* "kg" and "km" are units behind "in" or a bracket */
        bool behind = i > 0 && (parameter->tokens[i - 1].cue == CUE_IN ||
                                parameter->tokens[i - 1].sign == '(');
        if (unit != NULL && letters > (in_name || behind ? 1u : 2u) &&
            strcmp(unit->first, "count") != 0) {
            parameter->unit = unit;
            return;
        }
    }
}

/* "YYYY-MM-DD", "MM/DD/YYYY", "HH:MM": the run of such letters in a description or pattern. */
static void set_pattern(struct parameter *parameter) {
    static const char *const starts[] = {"yyyy",  "mm/dd", "dd/mm", "dd-mm",
                                         "mm-dd", "hh:mm", "年月日"};
    const char *text = parameter->lower;
    const char *best = NULL;
    for (size_t i = 0; i < ARRAY_LENGTH(starts); i++) {
        const char *found = strstr(text, starts[i]);
        if (found != NULL && (best == NULL || found < best)) {
            best = found;
        }
    }
    if (best == NULL) {
        return;
    }
    size_t length = 0;
    while (length < 32) {
        size_t sign = strncmp(best + length, "年", 3) == 0 ||
                                      strncmp(best + length, "月", 3) == 0 ||
                                      strncmp(best + length, "日", 3) == 0
                              ? 3
                              : best[length] != '\0' && strchr("ymdhst-/:. ", best[length]) != NULL;
        if (sign == 0) {
            break;
        }
        length += sign;
    }
    while (length > 0 && strchr(" .:-/t", best[length - 1]) != NULL) {
        length--;
    }
    parameter->pattern = best;
    parameter->pattern_length = length;
}

/* ---------------------------------------------------------------- examples */

static void add_example(struct parameter *parameter, const char *text, size_t length) {
    while (length > 0 && (*text == ' ' || *text == '\'' || *text == '"' || *text == '`')) {
        text++;
        length--;
    }
    while (length > 0 && strchr(" '\"`.", text[length - 1]) != NULL) {
        length--;
    }
    if (length > 0 && length < 80 && parameter->example_count < PARAMETER_EXAMPLES_MAX) {
        parameter->examples[parameter->example_count++] = (struct parameter_text){text, length};
    }
}

/* Texts in quotes. */
static void add_quoted(struct parameter *parameter) {
    const char *text = parameter->description;
    for (const char *at = text; *at != '\0'; at++) {
        bool opens = (*at == '\'' && (at == text || !ascii_is_alnum(at[-1]))) || *at == '"';
        const char *close = opens ? strchr(at + 1, *at) : NULL;
        if (close != NULL && close - at < 80) {
            add_example(parameter, at + 1, (size_t)(close - at - 1));
            at = close;
        }
    }
}

static const char *find_any(const char *text, const char *const *words, size_t count,
                            size_t *ret_length) {
    const char *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const char *found = strstr(text, words[i]);
        if (found != NULL && (best == NULL || found < best)) {
            best = found;
            *ret_length = strlen(words[i]);
        }
    }
    return best;
}

/* The length of what ends an item of a list: a comma, "or", 、; 0: nothing ends here. */
static size_t item_end(const char *at) {
    static const char *const ends[] = {",", ";", "、", "，", "或", "和", "/", " or ", " and "};
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        size_t length = strlen(ends[i]);
        if (strncmp(at, ends[i], length) == 0) {
            return length;
        }
    }
    return 0;
}

static bool ends_list(const char *at) {
    static const char *const ends[] = {")", "）", "。", ". ", "等", "]", "}", "\n", ".\0"};
    if (*at == '\0' || (at[0] == '.' && at[1] == '\0')) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(ends) - 1; i++) {
        if (strncmp(at, ends[i], strlen(ends[i])) == 0) {
            return true;
        }
    }
    return false;
}

/* The items of a list in a text. */
static void add_listed(struct parameter *parameter, const char *text) {
    const char *start = text;
    for (const char *at = text; at - text < 400; at++) {
        size_t end = item_end(at);
        bool last = ends_list(at);
        if (end > 0 || last) {
            add_example(parameter, start, (size_t)(at - start));
            start = at + end;
        }
        if (last) {
            return;
        }
        at += end > 0 ? end - 1 : 0;
    }
}

static void set_examples(struct parameter *parameter) {
    static const char *const starts[] = {
            "e.g.,",  "e.g.", "e.g",  "such as", "for example,", "for example", "like",
            "例如：", "例如", "比如", "如",      "Example:",     "example:"};
    add_quoted(parameter);
    size_t length = 0;
    const char *found = find_any(parameter->description, starts, ARRAY_LENGTH(starts), &length);
    if (found != NULL && parameter->example_count == 0) {
        add_listed(parameter, found + length);
    }
    yyjson_val *example = yyjson_obj_get(parameter->schema, "example");
    if (yyjson_is_str(example)) {
        add_example(parameter, yyjson_get_str(example), yyjson_get_len(example));
    }
}

/* ----------------------------------------------------------------- choices */

static bool set_choices(struct parameter *parameter, yyjson_val *list, struct arena *arena) {
    size_t count = yyjson_arr_size(list);
    count = count < ARGUMENTS_CHOICES_MAX ? count : ARGUMENTS_CHOICES_MAX;
    parameter->choices = arena_zalloc(arena, (count + 1) * sizeof *parameter->choices);
    if (parameter->choices == NULL) {
        return false;
    }
    size_t at;
    size_t all;
    yyjson_val *value;
    yyjson_arr_foreach (list, at, all, value) {
        if (yyjson_is_str(value) && parameter->choice_count < count) {
            parameter->choices[parameter->choice_count++] =
                    (struct parameter_text){yyjson_get_str(value), yyjson_get_len(value)};
        }
    }
    return true;
}

/* A description that lists all choices: then its examples are them. */
static void set_described_choices(struct parameter *parameter) {
    static const char *const starts[] = {
            "可选值",      "取值为",          "one of", "possible values", "Possible values",
            "options are", "Options include", "can be", "Valid values",    "either"};
    size_t length = 0;
    const char *found = find_any(parameter->description, starts, ARRAY_LENGTH(starts), &length);
    if (found == NULL) {
        return;
    }
    if (parameter->example_count == 0) {
        const char *at = found + length;
        while (*at == ':' || *at == ' ' || strncmp(at, "：", 3) == 0) {
            at += *at == ':' || *at == ' ' ? 1 : 3;
        }
        if (strncmp(at, "are", 3) == 0 || strncmp(at, "is ", 3) == 0) {
            at += 3;
        }
        add_listed(parameter, at);
    }
    if (parameter->example_count > 1) {
        parameter->choices = parameter->examples;
        parameter->choice_count = parameter->example_count;
        parameter->type = PARAMETER_CHOICE;
    }
}

/* ------------------------------------------------------------------- types */

/* The type that is no null; of several the first. */
static const char *type_name(yyjson_val *schema) {
    yyjson_val *type = yyjson_obj_get(schema, "type");
    if (yyjson_is_str(type)) {
        return yyjson_get_str(type);
    }
    size_t at;
    size_t count;
    yyjson_val *each;
    yyjson_arr_foreach (type, at, count, each) {
        if (yyjson_is_str(each) && strcmp(yyjson_get_str(each), "null") != 0) {
            return yyjson_get_str(each);
        }
    }
    const char *const ways[] = {"anyOf", "oneOf"};
    for (size_t i = 0; i < ARRAY_LENGTH(ways); i++) {
        yyjson_arr_foreach (yyjson_obj_get(schema, ways[i]), at, count, each) {
            const char *name = text_of(each, "type");
            if (*name != '\0' && strcmp(name, "null") != 0) {
                return name;
            }
        }
    }
    return yyjson_obj_get(schema, "properties") != NULL ? "object" : "string";
}

/* The enumeration of a schema, or of the first way that has one. */
static yyjson_val *enumeration(yyjson_val *schema) {
    yyjson_val *list = yyjson_obj_get(schema, "enum");
    size_t at;
    size_t count;
    yyjson_val *each;
    yyjson_arr_foreach (yyjson_obj_get(schema, "anyOf"), at, count, each) {
        list = list == NULL ? yyjson_obj_get(each, "enum") : list;
    }
    return yyjson_is_arr(list) && yyjson_is_str(yyjson_arr_get_first(list)) ? list : NULL;
}

static bool set_array(struct parameter *parameter, struct arena *arena) {
    yyjson_val *items = yyjson_obj_get(parameter->schema, "items");
    const char *name = type_name(items);
    parameter->type = PARAMETER_ARRAY;
    if (enumeration(items) != NULL) {
        parameter->type = PARAMETER_CHOICES;
        return set_choices(parameter, enumeration(items), arena);
    }
    parameter->numbers = strcmp(name, "integer") == 0 || strcmp(name, "number") == 0;
    parameter->whole = strcmp(name, "integer") == 0;
    if (strcmp(name, "object") == 0 || strcmp(name, "array") == 0 || strcmp(name, "boolean") == 0) {
        parameter->type = PARAMETER_JSON;
    }
    return true;
}

static bool is_choice(const struct parameter *parameter, size_t index, const char *text) {
    return parameter->choices[index].length == strlen(text) &&
           memcmp(parameter->choices[index].text, text, strlen(text)) == 0;
}

/* Two choices that are yes and no are a boolean. */
static void set_truth(struct parameter *parameter) {
    static const char *const pairs[][2] = {
            {"是", "否"}, {"yes", "no"}, {"Yes", "No"}, {"true", "false"}};
    for (size_t i = 0; parameter->choice_count == 2 && i < ARRAY_LENGTH(pairs); i++) {
        bool forth = is_choice(parameter, 0, pairs[i][0]) && is_choice(parameter, 1, pairs[i][1]);
        bool back = is_choice(parameter, 0, pairs[i][1]) && is_choice(parameter, 1, pairs[i][0]);
        if (forth || back) {
            parameter->type = PARAMETER_BOOLEAN;
            parameter->yes_first = forth;
        }
    }
}

/* A regular expression that is a list of choices: ^(basic|full)$ */
static bool set_pattern_choices(struct parameter *parameter, struct arena *arena) {
    const char *pattern = text_of(parameter->schema, "pattern");
    size_t length = strlen(pattern);
    if (length < 6 || strncmp(pattern, "^(", 2) != 0 || strcmp(pattern + length - 2, ")$") != 0 ||
        strpbrk(pattern + 2, "[]{}*+?\\.^(") != NULL) {
        return true;
    }
    size_t most = 1;
    for (const char *bar = strchr(pattern, '|'); bar != NULL; bar = strchr(bar + 1, '|')) {
        most++;
    }
    most = most < ARGUMENTS_CHOICES_MAX ? most : ARGUMENTS_CHOICES_MAX;
    parameter->choices = arena_zalloc(arena, most * sizeof *parameter->choices);
    if (parameter->choices == NULL) {
        return false;
    }
    for (const char *at = pattern + 2; parameter->choice_count < most;) {
        size_t size = strcspn(at, "|)");
        parameter->choices[parameter->choice_count++] = (struct parameter_text){at, size};
        if (at[size] == ')') {
            break;
        }
        at += size + 1;
    }
    parameter->type = PARAMETER_CHOICE;
    return true;
}

static bool set_type(struct parameter *parameter, struct arena *arena) {
    const char *name = type_name(parameter->schema);
    if (enumeration(parameter->schema) != NULL && strcmp(name, "array") != 0) {
        parameter->type = PARAMETER_CHOICE;
        bool good = set_choices(parameter, enumeration(parameter->schema), arena);
        set_truth(parameter);
        return good;
    }
    if (strcmp(name, "integer") == 0 || strcmp(name, "number") == 0) {
        parameter->type = PARAMETER_NUMBER;
        parameter->whole = name[0] == 'i';
    } else if (strcmp(name, "boolean") == 0) {
        parameter->type = PARAMETER_BOOLEAN;
    } else if (strcmp(name, "array") == 0) {
        return set_array(parameter, arena);
    } else if (strcmp(name, "object") == 0) {
        parameter->type = PARAMETER_JSON;
    } else if (!set_pattern_choices(parameter, arena)) {
        return false;
    } else if (parameter->type == PARAMETER_STRING) {
        set_described_choices(parameter);
    }
    return true;
}

/* ------------------------------------------------------------------ walking */

struct walk {
    struct arena *arena;
    struct parameters *parameters;
    bool failed;
};

struct place {
    const char *pointer;
    const char *name;
    bool required;
    bool must;
    uint8_t depth;
    uint16_t array;
};

/* Examples are read into an array of the caller, since nobody knows before how many there are. */
static bool keep_examples(struct parameter *parameter, struct arena *arena) {
    size_t size = parameter->example_count * sizeof *parameter->examples;
    struct parameter_text *kept = arena_alloc(arena, size);
    if (kept == NULL) {
        return false;
    }
    memcpy(kept, parameter->examples, size);
    parameter->choices = parameter->choices == parameter->examples ? kept : parameter->choices;
    parameter->examples = kept;
    return true;
}

static void add_parameter(struct walk *walk, yyjson_val *schema, const struct place *place) {
    struct parameter *parameter = &walk->parameters->list[walk->parameters->count];
    *parameter = (struct parameter){.pointer = place->pointer,
                                    .name = place->name,
                                    .description = text_of(schema, "description"),
                                    .schema = schema,
                                    .required = place->required,
                                    .must = place->must,
                                    .depth = place->depth,
                                    .array = place->array,
                                    .standard = yyjson_obj_get(schema, "default")};
    if (*parameter->description == '\0') {
        parameter->description = text_of(schema, "title");
    }
    parameter->has_default = parameter->standard != NULL;
    struct parameter_text examples[PARAMETER_EXAMPLES_MAX];
    parameter->examples = examples;
    set_examples(parameter);
    walk->failed =
            !read_tokens(parameter->name, parameter->description, walk->arena, &parameter->lower,
                         &parameter->tokens, &parameter->name_count, &parameter->token_count) ||
            !set_type(parameter, walk->arena) || !keep_examples(parameter, walk->arena);
    if (walk->failed) {
        return;
    }
    set_pattern(parameter);
    set_hint(parameter);
    set_role(parameter);
    set_unit(parameter);
    set_currency(parameter);
    walk->parameters->count++;
}

static void walk_object(struct walk *walk, yyjson_val *schema, const struct place *outer) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *child;
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    json_obj_foreach (properties, at, count, key, child) {
        if (walk->failed || walk->parameters->count == ARGUMENTS_PARAMETERS_MAX) {
            return;
        }
        const char *name = yyjson_get_str(key);
        struct place place = {
                .name = name, .depth = (uint8_t)(outer->depth + 1), .array = outer->array};
        place.pointer = json_pointer_join(walk->arena, outer->pointer, name);
        place.required = json_has_text(yyjson_obj_get(schema, "required"), name);
        place.must = place.required && outer->must;
        if (place.pointer == NULL) {
            walk->failed = true;
            return;
        }
        if (strlen(place.pointer) >= ARGUMENTS_POINTER_MAX || strlen(name) != yyjson_get_len(key)) {
            continue;
        }
        yyjson_val *items = yyjson_obj_get(child, "items");
        bool deeper = outer->depth + 1u < ARGUMENTS_NESTING_MAX;
        if (deeper && strcmp(type_name(child), "object") == 0 &&
            yyjson_obj_size(yyjson_obj_get(child, "properties")) > 0) {
            walk_object(walk, child, &place);
        } else if (deeper && strcmp(type_name(child), "array") == 0 &&
                   yyjson_obj_size(yyjson_obj_get(items, "properties")) > 0) {
            place.array = place.array > 0 ? place.array : (uint16_t)strlen(place.pointer);
            place.pointer = json_pointer_join(walk->arena, place.pointer, "0");
            if (place.pointer == NULL) {
                walk->failed = true;
                return;
            }
            walk_object(walk, items, &place);
        } else {
            add_parameter(walk, child, &place);
        }
    }
}

/* No fewer than the parameters that are read: the members of a schema and of what is inside it. */
static size_t count_members(yyjson_val *schema, unsigned depth) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *child;
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    size_t all = yyjson_obj_size(properties);
    json_obj_foreach (properties, at, count, key, child) {
        if (all >= ARGUMENTS_PARAMETERS_MAX || depth == ARGUMENTS_NESTING_MAX) {
            break;
        }
        all += count_members(child, depth + 1);
        all += count_members(yyjson_obj_get(child, "items"), depth + 1);
    }
    return all < ARGUMENTS_PARAMETERS_MAX ? all : ARGUMENTS_PARAMETERS_MAX;
}

/* A "pattern" is one of file names as well: those have wildcards. */
static bool is_regex(const struct parameter *parameter) {
    bool named = mentions(parameter, "regex") || mentions(parameter, "regular expression") ||
                 mentions(parameter, "正则");
    bool pattern = strstr(parameter->name, "pattern") != NULL && !mentions(parameter, "glob") &&
                   !mentions(parameter, "wildcard") && !mentions(parameter, "通配");
    return parameter->type == PARAMETER_STRING && (named || pattern);
}

/* Whether the name of a parameter has one of some words. */
static bool has_word(const struct parameter *parameter, const char *const *names, size_t count) {
    for (size_t i = 0; i < parameter->name_count; i++) {
        const struct token *token = &parameter->tokens[i];
        size_t length = token->end - token->start;
        for (size_t k = 0; k < count; k++) {
            if (length == strlen(names[k]) &&
                memcmp(parameter->lower + token->start, names[k], length) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Which of the coordinates of a place a number is. */
static uint8_t coordinate_of(const struct parameter *parameter) {
    static const char *const latitudes[] = {"latitude", "lat"};
    static const char *const longitudes[] = {"longitude", "lon", "lng"};
    bool north = has_word(parameter, latitudes, ARRAY_LENGTH(latitudes)) ||
                 strstr(parameter->name, "纬度") != NULL;
    bool east = has_word(parameter, longitudes, ARRAY_LENGTH(longitudes)) ||
                strstr(parameter->name, "经度") != NULL;
    return north ? WAY_LATITUDE : east ? WAY_LONGITUDE : WAY_NONE;
}

/* Whether a number says how many are wanted: limit, count, top_k, max_results, num_lines, 数量. */
static bool is_count(const struct parameter *parameter) {
    static const char *const names[] = {"limit", "count", "top", "many", "n", "k"};
    if (has_word(parameter, names, ARRAY_LENGTH(names))) {
        return true;
    }
    bool most = false;
    bool things = false;
    for (size_t i = 0; i < parameter->name_count; i++) {
        const struct token *token = &parameter->tokens[i];
        const char *word = parameter->lower + token->start;
        size_t length = token->end - token->start;
        most = most ||
               (length >= 3 && (memcmp(word, "max", 3) == 0 || memcmp(word, "num", 3) == 0));
        things = i > 0 && length > 3 && word[length - 1] == 's';
    }
    return (most && things) || strstr(parameter->name, "数量") != NULL ||
           strstr(parameter->name, "条数") != NULL || strstr(parameter->name, "行数") != NULL;
}

/* "head", "last_lines": how many from which end; PICK_LIMIT: from none. */
static uint8_t side_of(const struct parameter *parameter) {
    static const struct {
        const char *word;
        enum value_side side;
    } sides[] = {
            {"head", PICK_HEAD}, {"first", PICK_HEAD}, {"tail", PICK_TAIL}, {"last", PICK_TAIL}};
    const struct token *token = parameter->tokens;
    for (size_t i = 0; parameter->name_count > 0 && i < ARRAY_LENGTH(sides); i++) {
        if (token->end - token->start == strlen(sides[i].word) &&
            memcmp(parameter->lower + token->start, sides[i].word, strlen(sides[i].word)) == 0) {
            return (uint8_t)sides[i].side;
        }
    }
    return PICK_LIMIT;
}

/* ------------------------------------------------------------------- pieces */

static const struct {
    const char *word; /* of a name */
    uint32_t piece;
    uint32_t described; /* instead, where the description has the sign */
    char sign;
} pieces[] = {{"owner", PIECE_OWNER, 0, 0},
              {"org", PIECE_OWNER, 0, 0},
              {"organization", PIECE_OWNER, 0, 0},
              {"repo", PIECE_REPOSITORY, 0, 0},
              {"repository", PIECE_REPOSITORY, 0, 0},
              {"project", PIECE_SLUG, 0, 0},
              {"issue", PIECE_NUMBER, 0, 0},
              {"pull", PIECE_NUMBER, 0, 0},
              {"pr", PIECE_NUMBER, 0, 0},
              {"iid", PIECE_NUMBER, 0, 0},
              {"sha", PIECE_REVISION, 0, 0},
              {"commit", PIECE_REVISION, 0, 0},
              {"ref", PIECE_REVISION, 0, 0},
              {"branch", PIECE_REVISION, 0, 0},
              {"channel", PIECE_CHANNEL, PIECE_CHANNEL_SIGN, '#'},
              {"user", PIECE_USER, PIECE_USER_SIGN, '@'},
              {"username", PIECE_USER, PIECE_USER_SIGN, '@'},
              {"login", PIECE_USER, PIECE_USER_SIGN, '@'},
              {"handle", PIECE_USER, PIECE_USER_SIGN, '@'},
              {"assignee", PIECE_USER, PIECE_USER_SIGN, '@'},
              {"assignees", PIECE_USER, PIECE_USER_SIGN, '@'},
              {"reviewer", PIECE_USER, PIECE_USER_SIGN, '@'},
              {"reviewers", PIECE_USER, PIECE_USER_SIGN, '@'},
              {"host", PIECE_HOST, 0, 0},
              {"hostname", PIECE_HOST, 0, 0},
              {"server", PIECE_HOST, 0, 0},
              {"port", PIECE_PORT, 0, 0},
              {"version", PIECE_VERSION, 0, 0},
              {"package", PIECE_PACKAGE, 0, 0},
              {"entity", PIECE_ENTITY, 0, 0},
              {"color", PIECE_COLOR, 0, 0},
              {"colour", PIECE_COLOR, 0, 0}};

/* Whether a description is of an e-mail address: the name may be "to" only. */
static bool is_email(const struct parameter *parameter) {
    static const char *const words[] = {"email address", "e-mail address", "emails",
                                        "邮箱地址",      "邮件地址",       "邮箱"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (mentions(parameter, words[i])) {
            return true;
        }
    }
    return parameter->hint == HINT_EMAIL;
}

/* By its schema, or by its name. */
static bool is_secret(const struct parameter *parameter) {
    static const char *const words[] = {"password", "passwd", "passphrase", "passcode",
                                        "pwd",      "密码",   "口令"};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (strstr(parameter->name, words[i]) != NULL) {
            return parameter->type == PARAMETER_STRING;
        }
    }
    return parameter->type == PARAMETER_STRING && schema_has_secrets(parameter->schema);
}

static uint32_t piece_of(const struct parameter *parameter) {
    if (is_secret(parameter)) {
        return PIECE_SECRET;
    }
    bool number = parameter->type == PARAMETER_NUMBER;
    bool text = (parameter->type == PARAMETER_STRING && parameter->hint != HINT_PATH) ||
                parameter->type == PARAMETER_ARRAY;
    for (size_t i = 0; i < parameter->name_count; i++) {
        const struct token *token = &parameter->tokens[i];
        for (size_t k = 0; k < ARRAY_LENGTH(pieces); k++) {
            bool digits = pieces[k].piece == PIECE_NUMBER || pieces[k].piece == PIECE_PORT;
            bool same = strlen(pieces[k].word) == token->end - token->start &&
                        memcmp(parameter->lower + token->start, pieces[k].word,
                               strlen(pieces[k].word)) == 0;
            if (same && (digits ? number || parameter->name_count > 1 : text)) {
                bool sign = pieces[k].sign != 0 &&
                            strchr(parameter->description, pieces[k].sign) != NULL;
                return sign ? pieces[k].described : pieces[k].piece;
            }
        }
    }
    return text && is_email(parameter) ? PIECE_EMAIL : PIECE_NONE;
}

/* A repository without a parameter for its owner is given with him. */
static void set_pieces(struct parameters *parameters) {
    bool owner = false;
    for (size_t p = 0; p < parameters->count; p++) {
        struct parameter *parameter = &parameters->list[p];
        parameter->piece = piece_of(parameter);
        owner = owner || parameter->piece == PIECE_OWNER;
    }
    for (size_t p = 0; p < parameters->count; p++) {
        struct parameter *parameter = &parameters->list[p];
        if (parameter->piece == PIECE_REPOSITORY && (!owner || mentions(parameter, "owner/repo"))) {
            parameter->piece = PIECE_SLUG;
        }
    }
}

static void set_counts(struct parameters *parameters) {
    for (size_t p = 0; p < parameters->count; p++) {
        struct parameter *parameter = &parameters->list[p];
        bool number = parameter->type == PARAMETER_NUMBER;
        parameter->counts = number && is_count(parameter);
        parameter->coordinate = number ? coordinate_of(parameter) : WAY_NONE;
        parameter->side = number ? side_of(parameter) : PICK_LIMIT;
    }
}

static void set_regexes(struct parameters *parameters) {
    bool pattern = false;
    for (size_t p = 0; p < parameters->count; p++) {
        struct parameter *parameter = &parameters->list[p];
        bool replacement = strstr(parameter->name, "replace") != NULL ||
                           strstr(parameter->name, "substitut") != NULL;
        parameter->regex = replacement           ? REGEX_REPLACEMENT
                           : is_regex(parameter) ? REGEX_PATTERN
                                                 : REGEX_NONE;
        pattern = pattern || parameter->regex == REGEX_PATTERN;
    }
    for (size_t p = 0; p < parameters->count && !pattern; p++) {
        parameters->list[p].regex = REGEX_NONE;
    }
}

int parameters_read(const struct arguments_tool *tool, struct arena *arena, struct parameters *ret,
                    struct toolrack_error *err) {
    *ret = (struct parameters){0};
    char *lower;
    ret->list = arena_alloc(arena, count_members(tool->parameters, 0) * sizeof *ret->list);
    if (ret->list == NULL ||
        !read_tokens(tool->name != NULL ? tool->name : "",
                     tool->description != NULL ? tool->description : "", arena, &lower,
                     &ret->tool_tokens, &ret->tool_name_count, &ret->tool_count)) {
        return error_oom(err);
    }
    struct walk walk = {.arena = arena, .parameters = ret};
    struct place root = {.pointer = "", .name = "", .required = true, .must = true};
    if (tool->parameters != NULL) {
        walk_object(&walk, tool->parameters, &root);
    }
    set_regexes(ret);
    set_counts(ret);
    set_pieces(ret);
    return walk.failed ? error_oom(err) : 0;
}
