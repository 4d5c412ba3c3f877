/* search-tools.c - see search-tools.h. */
#include "serve/mcp/search-tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/name.h"
#include "base/plan-words.h"
#include "base/text.h"
#include "serve/mcp/rpc.h"

/* Of the summary: categories, names of each, and characters of a category. */
#define CATEGORIES_MAX  24u
#define NAMES_MAX       4u
#define CATEGORY_LENGTH 40u

static const char *const names[SEARCH_TOOLS] = {
        [SEARCH_SEARCH] = "search_tools",    [SEARCH_SELECT] = "select_tool",
        [SEARCH_DESCRIBE] = "describe_tool", [SEARCH_CALL] = "call_tool",
        [SEARCH_RUN] = "run_plan",
};

enum search_tool search_tools_find(const char *name) {
    for (unsigned i = 0; i < SEARCH_TOOLS; i++) {
        if (strcmp(names[i], name) == 0) {
            return (enum search_tool)i;
        }
    }
    return SEARCH_NONE;
}

/* ----------------------------------------------------------------- summary */

/* The entries of one category: a part of a sorted array. */
struct group {
    const struct entry **first;
    size_t count;
};

/* By category, then as the registry has them. */
static int compare_entries(const void *a, const void *b) {
    const struct entry *const *one = a;
    const struct entry *const *other = b;
    int order = strcmp(entry_category(*one), entry_category(*other));
    return order != 0 ? order : (*one > *other) - (*one < *other);
}

/* The largest first; those without a category last. */
static int compare_groups(const void *a, const void *b) {
    const struct group *one = a;
    const struct group *other = b;
    bool is_none = strcmp(entry_category(*one->first), ENTRY_NO_CATEGORY) == 0;
    bool is_other_none = strcmp(entry_category(*other->first), ENTRY_NO_CATEGORY) == 0;
    if (is_none != is_other_none) {
        return is_none ? 1 : -1;
    }
    if (one->count != other->count) {
        return one->count < other->count ? 1 : -1;
    }
    return strcmp(entry_category(*one->first), entry_category(*other->first));
}

static void add_group(struct buf *out, const struct group *group) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    const char *category = entry_category(*group->first);
    text_add_line(&line, category, strlen(category));
    text_add_cut(out, line.data != NULL ? line.data : "", line.length, CATEGORY_LENGTH);
    buf_printf(out, " (%zu: ", group->count);
    for (size_t i = 0; i < group->count && i < NAMES_MAX; i++) {
        buf_printf(out, "%s%s", i > 0 ? ", " : "", group->first[i]->name);
    }
    buf_add_text(out, group->count > NAMES_MAX ? ", ...)" : ")");
}

/* Find the groups of sorted entries. */
static size_t find_groups(const struct entry **sorted, size_t count, struct group *groups) {
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(entry_category(sorted[i]), entry_category(sorted[i - 1])) != 0) {
            groups[found++] = (struct group){.first = &sorted[i]};
        }
        groups[found - 1].count++;
    }
    qsort(groups, found, sizeof *groups, compare_groups);
    return found;
}

static void add_summary(struct buf *out, const struct entry *entries, size_t count,
                        uint32_t permissions) {
    CLEANUP(freep) const struct entry **sorted = calloc(count + 1, sizeof *sorted);
    CLEANUP(freep) struct group *groups = calloc(count + 1, sizeof *groups);
    size_t shown = 0;
    if (sorted == NULL || groups == NULL) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if ((permissions & (1u << entries[i].permission)) != 0) {
            sorted[shown++] = &entries[i];
        }
    }
    qsort(sorted, shown, sizeof(struct entry *), compare_entries);
    size_t found = find_groups(sorted, shown, groups);
    buf_printf(out, "This server has %zu tool%s", shown, text_plural(shown));
    for (size_t i = 0; i < found && i < CATEGORIES_MAX; i++) {
        buf_add_text(out, i == 0 ? ", by category: " : "; ");
        add_group(out, &groups[i]);
    }
    if (found > CATEGORIES_MAX) {
        buf_printf(out, "; and %zu more categories", found - CATEGORIES_MAX);
    }
    buf_add_text(out, ".");
}

/* --------------------------------------------------------------- parameters */

enum parameter_type { PARAMETER_STRING, PARAMETER_LIMIT, PARAMETER_OBJECT, PARAMETER_FLAG };

/* An argument of a tool: what the definition states, and arguments are checked by. */
struct parameter {
    const char *name;
    enum parameter_type type;
    bool required;
    const char *description;
    const char *members; /* of the schema of an object, more than its type; NULL: none. They tell
                          * a model what to write: who takes the object checks it */
};

#define PARAMETERS_MAX 4u
#define NAME_OF_TOOL   "Name of the tool, as search_tools gives it"

static const struct parameter parameters[SEARCH_TOOLS][PARAMETERS_MAX] = {
        [SEARCH_SEARCH] = {{.name = "text",
                            .description = "What is to be done, in words; without it, the tools "
                                           "that are called most successfully"},
                           {.name = "query", .description = "The same as text"},
                           {.name = "category", .description = "Only tools of this category"},
                           {.name = "limit",
                            .type = PARAMETER_LIMIT,
                            .description = "At most so many tools"}},
        [SEARCH_SELECT] = {{.name = "text",
                            .required = true,
                            .description = "What is to be done, as a person says it, with the "
                                           "values that it is to be done with"},
                           {.name = "context",
                            .type = PARAMETER_OBJECT,
                            .description = "What the text is said in: now (RFC 3339), time_zone "
                                           "(IANA), locale, folder, results (of earlier calls)"},
                           {.name = "limit",
                            .type = PARAMETER_LIMIT,
                            .description = "At most so many candidates"},
                           {.name = "explain",
                            .type = PARAMETER_FLAG,
                            .description = "Whether to tell the five steps and their reasons"}},
        [SEARCH_DESCRIBE] = {{.name = "name", .required = true, .description = NAME_OF_TOOL}},
        [SEARCH_CALL] = {{.name = "name", .required = true, .description = NAME_OF_TOOL},
                         {.name = "arguments",
                          .type = PARAMETER_OBJECT,
                          .description = "Arguments of the tool, by the schema that describe_tool "
                                         "gives"},
                         {.name = "choice",
                          .description = "The id that select_tool gave with this tool: later texts "
                                         "like that one learn whether the call worked"}},
        [SEARCH_RUN] = {{.name = "plan",
                         .type = PARAMETER_OBJECT,
                         .required = true,
                         .description = "The plan",
                         .members = PLAN_WORDS_MEMBERS},
                        {.name = "inputs",
                         .type = PARAMETER_OBJECT,
                         .description = PLAN_WORDS_INPUTS}},
};

static size_t parameter_count(enum search_tool tool) {
    size_t count = 0;
    while (count < PARAMETERS_MAX && parameters[tool][count].name != NULL) {
        count++;
    }
    return count;
}

/* How many tools it gives unless it is told. */
static unsigned default_limit(enum search_tool tool) {
    return tool == SEARCH_SELECT ? SEARCH_RIVALS_DEFAULT : SEARCH_FOUND_DEFAULT;
}

static void add_schema(struct buf *out, enum search_tool tool) {
    size_t count = parameter_count(tool);
    bool is_first = true;
    buf_add_text(out, "\"inputSchema\":{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < count; i++) {
        const struct parameter *parameter = &parameters[tool][i];
        static const char *const types[] = {[PARAMETER_STRING] = "string",
                                            [PARAMETER_LIMIT] = "integer",
                                            [PARAMETER_OBJECT] = "object",
                                            [PARAMETER_FLAG] = "boolean"};
        buf_printf(out, "%s\"%s\":{\"type\":\"%s\",", i > 0 ? "," : "", parameter->name,
                   types[parameter->type]);
        if (parameter->type == PARAMETER_LIMIT) {
            buf_printf(out, "\"minimum\":1,\"maximum\":%u,\"default\":%u,", SEARCH_FOUND_MAX,
                       default_limit(tool));
        }
        buf_add_text(out, parameter->members != NULL ? parameter->members : "");
        buf_printf(out, "\"description\":\"%s\"}", parameter->description);
    }
    buf_add_char(out, '}');
    for (size_t i = 0; i < count; i++) {
        if (parameters[tool][i].required) {
            buf_printf(out, "%s\"%s\"", is_first ? ",\"required\":[" : ",",
                       parameters[tool][i].name);
            is_first = false;
        }
    }
    buf_add_text(out, is_first ? "" : "]");
    buf_add_text(out, ",\"additionalProperties\":false}");
}

/* "text", "category" and "limit" */
static void add_names(struct buf *out, enum search_tool tool) {
    size_t count = parameter_count(tool);
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s\"%s\"",
                   i == 0          ? ""
                   : i + 1 < count ? ", "
                                   : " and ",
                   parameters[tool][i].name);
    }
}

static const struct parameter *find_parameter(enum search_tool tool, const char *name,
                                              size_t length) {
    for (size_t i = 0; i < parameter_count(tool); i++) {
        const struct parameter *parameter = &parameters[tool][i];
        if (strlen(parameter->name) == length && memcmp(parameter->name, name, length) == 0) {
            return parameter;
        }
    }
    return NULL;
}

/* An argument that the tool does not have: most are those of the tool that is to be called, or have
 * another name. */
static void explain_unknown(struct buf *problem, enum search_tool tool, const char *name) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < parameter_count(tool); i++) {
        (void)nearest_try(&nearest, parameters[tool][i].name);
    }
    buf_printf(problem, "%.64s: %s has no such argument; ", name, names[tool]);
    if (nearest.name != NULL) {
        buf_printf(problem, "did you mean \"%s\"? ", nearest.name);
    }
    buf_add_text(problem, nearest.name != NULL ? "It has " : "it has ");
    add_names(problem, tool);
    buf_add_text(problem,
                 tool == SEARCH_CALL ? "; put the tool's own arguments into \"arguments\"" : "");
}

/* The number of tools; 0: it is none that a search can give. Its text is as it was written. */
static uint64_t read_limit(yyjson_val *value) {
    const char *digits = yyjson_get_raw(value);
    char *end = NULL;
    double number = digits != NULL ? strtod(digits, &end) : 0;
    bool fits = digits != NULL && *end == '\0' && number >= 1 && number <= SEARCH_FOUND_MAX;
    uint64_t whole = fits ? (uint64_t)number : 0;
    return fits && (double)whole >= number ? whole : 0;
}

static void check_value(struct buf *problem, const struct parameter *parameter, yyjson_val *value,
                        const yyjson_alc *alc) {
    switch (parameter->type) {
    case PARAMETER_STRING:
        if (!yyjson_is_str(value)) {
            buf_printf(problem, "%s: must be a string", parameter->name);
        }
        break;
    case PARAMETER_LIMIT:
        if (read_limit(value) == 0) {
            buf_printf(problem, "%s: must be an integer from 1 to %u", parameter->name,
                       SEARCH_FOUND_MAX);
        }
        break;
    case PARAMETER_OBJECT:
        /* Clients write none as null and "" too. */
        if (!yyjson_is_obj(rpc_object(value, alc)) && !yyjson_is_null(value) &&
            !yyjson_equals_str(value, "")) {
            buf_printf(problem, "%s: must be an object", parameter->name);
        }
        break;
    case PARAMETER_FLAG:
        if (!yyjson_is_bool(value)) {
            buf_printf(problem, "%s: must be true or false", parameter->name);
        }
        break;
    }
}

bool search_tools_check(enum search_tool tool, yyjson_val *arguments, const yyjson_alc *alc,
                        struct buf *problem) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    bool is_none =
            arguments == NULL || yyjson_is_null(arguments) || yyjson_equals_str(arguments, "");
    if (!is_none && !yyjson_is_obj(arguments)) {
        buf_printf(problem, "the arguments of %s must be an object", names[tool]);
        return false;
    }
    json_obj_foreach (arguments, at, count, key, value) {
        const struct parameter *parameter =
                find_parameter(tool, yyjson_get_str(key), yyjson_get_len(key));
        if (parameter == NULL) {
            explain_unknown(problem, tool, yyjson_get_str(key));
        } else {
            check_value(problem, parameter, value, alc);
        }
        if (problem->length > 0 || problem->failed) {
            return false;
        }
    }
    for (size_t i = 0; i < parameter_count(tool); i++) {
        const struct parameter *parameter = &parameters[tool][i];
        if (parameter->required && yyjson_obj_get(arguments, parameter->name) == NULL) {
            buf_printf(problem, "%s: %s needs this argument (%s)", parameter->name, names[tool],
                       parameter->description);
            return false;
        }
    }
    return true;
}

uint64_t search_tools_limit(enum search_tool tool, yyjson_val *arguments) {
    yyjson_val *limit = yyjson_obj_get(arguments, "limit");
    return limit != NULL ? read_limit(limit) : default_limit(tool);
}

/* -------------------------------------------------------------- definitions */

#define READS                                                     \
    "\"annotations\":{\"readOnlyHint\":true,\"destructiveHint\":" \
    "false,\"idempotentHint\":true,\"openWorldHint\":false}}"
/* What it calls may do anything. */
#define DOES_ANYTHING                                              \
    "\"annotations\":{\"readOnlyHint\":false,\"destructiveHint\":" \
    "true,\"idempotentHint\":false,\"openWorldHint\":true}}"

static void define_search(struct buf *out, const struct buf *summary) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "Find tools for a task, in words. The tools of this server are not in the "
                        "list of tools: search for one, read how it is called with describe_tool, "
                        "and call it with call_tool. ");
    buf_add(&text, summary->data, summary->length);
    buf_add_text(out, "{\"name\":\"search_tools\",\"title\":\"Search tools\",\"description\":");
    buf_add_json_string(out, text.data != NULL ? text.data : "", text.length);
    out->failed = out->failed || text.failed;
    buf_add_char(out, ',');
    add_schema(out, SEARCH_SEARCH);
    buf_add_text(
            out,
            ",\"outputSchema\":{\"type\":\"object\",\"properties\":{\"tools\":{\"type\":\"array\","
            "\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
            "\"title\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"},"
            "\"category\":{\"type\":\"string\"},\"permission\":{\"type\":\"string\","
            "\"enum\":[\"safe\",\"confirm\",\"dangerous\"]}},"
            "\"required\":[\"name\",\"permission\"]}},\"advice\":{\"type\":\"string\","
            "\"description\":\"What to do when nothing was "
            "found\"}},\"required\":[\"tools\"]}," READS);
}

static void define_select(struct buf *out) {
    buf_add_text(
            out,
            "{\"name\":\"select_tool\",\"title\":\"Select a tool\",\"description\":"
            "\"Choose the one tool that does what a sentence says, in English or Chinese, and fill "
            "its arguments from it. It calls nothing. When no tool fits well enough, tool is null "
            "and question says what to find out; when arguments are missing, or an administrator "
            "must grant the tool first, ready is false. Otherwise give tool and arguments to "
            "call_tool, with id as choice; assumed names those that the sentence does not say.\",");
    add_schema(out, SEARCH_SELECT);
    buf_add_text(
            out,
            ",\"outputSchema\":{\"type\":\"object\",\"properties\":{"
            "\"id\":{\"type\":[\"string\",\"null\"]},\"tool\":{\"type\":[\"string\",\"null\"]},"
            "\"arguments\":{\"type\":\"object\"},"
            "\"assumed\":{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"description\":"
            "\"Arguments that nothing says: the default of the schema\"},"
            "\"ready\":{\"type\":\"boolean\",\"description\":\"Whether the call can be made as it "
            "is\"},\"confidence\":{\"type\":\"number\"},\"abstained\":{\"type\":\"boolean\"},"
            "\"missing\":{\"type\":\"array\"},\"invalid\":{\"type\":\"array\"},\"question\":{"
            "\"type\":[\"string\",\"null\"]},\"candidates\":{\"type\":\"array\"}},\"required\":["
            "\"tool\",\"arguments\",\"assumed\",\"ready\",\"confidence\",\"abstained\",\"missing\","
            "\"invalid\",\"question\",\"candidates\"]}," READS);
}

static void define_describe(struct buf *out) {
    buf_add_text(out, "{\"name\":\"describe_tool\",\"title\":\"Describe a tool\",\"description\":"
                      "\"Read the definition of a tool: what it does, and the JSON Schema of its "
                      "arguments.\",");
    add_schema(out, SEARCH_DESCRIBE);
    buf_add_text(out, "," READS);
}

static void define_call(struct buf *out) {
    buf_add_text(out,
                 "{\"name\":\"call_tool\",\"title\":\"Call a tool\",\"description\":"
                 "\"Call a tool of this server by its name. The result is that of the tool. The "
                 "tool decides what it changes: describe_tool says whether it only reads.\",");
    add_schema(out, SEARCH_CALL);
    buf_add_text(out, "," DOES_ANYTHING);
}

static void define_run(struct buf *out) {
    static const char text[] =
            "Run several tools of this server in one call, as a plan of nodes. Each node calls a "
            "tool that search_tools gives, with arguments that describe_tool "
            "describes. " PLAN_WORDS_REFERENCES;
    buf_add_text(out, "{\"name\":\"run_plan\",\"title\":\"Run a plan\",\"description\":");
    buf_add_json_string(out, text, sizeof text - 1);
    buf_add_char(out, ',');
    add_schema(out, SEARCH_RUN);
    buf_add_text(out, "," DOES_ANYTHING);
}

bool search_tools_define(const struct entry *entries, size_t count, uint32_t permissions,
                         struct buf *memory, struct entry *ret) {
    CLEANUP(buf_finish) struct buf summary = BUF_INIT;
    size_t starts[SEARCH_TOOLS];
    add_summary(&summary, entries, count, permissions);
    for (unsigned i = 0; i < SEARCH_TOOLS; i++) {
        starts[i] = memory->length;
        switch ((enum search_tool)i) {
        case SEARCH_SEARCH: define_search(memory, &summary); break;
        case SEARCH_SELECT: define_select(memory); break;
        case SEARCH_DESCRIBE: define_describe(memory); break;
        case SEARCH_RUN: define_run(memory); break;
        default: define_call(memory); break;
        }
        ret[i].length = memory->length - starts[i];
        buf_add_char(memory, '\0');
    }
    for (unsigned i = 0; i < SEARCH_TOOLS && !memory->failed; i++) {
        ret[i].name = ret[i].selector = names[i];
        ret[i].definition = memory->data + starts[i];
        ret[i].category = "";
        ret[i].permission = TOOLRACK_PERMISSION_SAFE;
    }
    return !memory->failed && !summary.failed;
}
