/* search-tools.c - see search-tools.h. */
#include "serve/mcp/search-tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

/* Of the summary: categories, names of each, and characters of a category. */
#define CATEGORIES_MAX  24u
#define NAMES_MAX       4u
#define CATEGORY_LENGTH 40u

static const char *const names[SEARCH_TOOLS] = {
        [SEARCH_SEARCH] = "search_tools",
        [SEARCH_DESCRIBE] = "describe_tool",
        [SEARCH_CALL] = "call_tool",
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
    int order = strcmp((*one)->category, (*other)->category);
    return order != 0 ? order : (*one > *other) - (*one < *other);
}

/* The largest first; those without a category last. */
static int compare_groups(const void *a, const void *b) {
    const struct group *one = a;
    const struct group *other = b;
    bool is_none = (*one->first)->category[0] == '\0';
    bool is_other_none = (*other->first)->category[0] == '\0';
    if (is_none != is_other_none) {
        return is_none ? 1 : -1;
    }
    if (one->count != other->count) {
        return one->count < other->count ? 1 : -1;
    }
    return strcmp((*one->first)->category, (*other->first)->category);
}

static void add_group(struct buf *out, const struct group *group) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    const char *category = (*group->first)->category;
    text_add_line(&line, category[0] != '\0' ? category : "other",
                  category[0] != '\0' ? strlen(category) : 5);
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
        if (i == 0 || strcmp(sorted[i]->category, sorted[i - 1]->category) != 0) {
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
    buf_add_text(
            out,
            ",\"inputSchema\":{\"type\":\"object\",\"properties\":{"
            "\"query\":{\"type\":\"string\",\"description\":\"What is to be done, in words; "
            "without it, the tools that are called most successfully\"},"
            "\"category\":{\"type\":\"string\",\"description\":\"Only tools of this category\"},"
            "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":50,\"default\":10,"
            "\"description\":\"At most so many tools\"}},\"additionalProperties\":false},"
            "\"outputSchema\":{\"type\":\"object\",\"properties\":{\"tools\":{\"type\":\"array\","
            "\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
            "\"title\":{\"type\":\"string\"},\"description\":{\"type\":\"string\"},"
            "\"category\":{\"type\":\"string\"},\"permission\":{\"type\":\"string\","
            "\"enum\":[\"safe\",\"confirm\",\"dangerous\"]}},"
            "\"required\":[\"name\",\"permission\"]}}},\"required\":[\"tools\"]}," READS);
}

static void define_describe(struct buf *out) {
    buf_add_text(out, "{\"name\":\"describe_tool\",\"title\":\"Describe a tool\",\"description\":"
                      "\"Read the definition of a tool: what it does, and the JSON Schema of its "
                      "arguments.\","
                      "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
                      "\"string\",\"description\":\"Name of the tool, as search_tools gives it\"}},"
                      "\"required\":[\"name\"],\"additionalProperties\":false}," READS);
}

static void define_call(struct buf *out) {
    buf_add_text(out,
                 "{\"name\":\"call_tool\",\"title\":\"Call a tool\",\"description\":"
                 "\"Call a tool of this server by its name. The result is that of the tool. The "
                 "tool decides what it changes: describe_tool says whether it only reads.\","
                 "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":"
                 "\"string\",\"description\":\"Name of the tool, as search_tools gives it\"},"
                 "\"arguments\":{\"type\":\"object\",\"description\":\"Arguments of the tool, by "
                 "the schema that describe_tool gives\"}},\"required\":[\"name\"],"
                 "\"additionalProperties\":false}," DOES_ANYTHING);
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
        case SEARCH_DESCRIBE: define_describe(memory); break;
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
