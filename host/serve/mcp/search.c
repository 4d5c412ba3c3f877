/* search.c - search_tools, select_tool and describe_tool: the tools of a principal, found, chosen
 * and described.
 *
 * All look at the catalogue of the principal, which is also what a call is checked by: what is
 * found can be called, and what cannot be called is not found. */
#include "serve/mcp/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/name.h"
#include "base/text.h"
#include "serve/mcp/catalogue.h"
#include "serve/mcp/later.h"
#include "serve/mcp/request.h"
#include "serve/mcp/result.h"
#include "serve/mcp/unknown.h"
#include "toolrack/choose.h"

/* Most characters of a description of what was found. */
#define DESCRIPTION_LENGTH 300u
/* Most categories that are named when nothing was found. */
#define CATEGORIES_TOLD    24u

/* What a call asks for. In the arena of its request. */
struct search {
    const char *query;    /* or NULL */
    const char *category; /* or NULL */
    const char *context;  /* of a choice: the text of a JSON object; or NULL */
    bool explains;        /* likewise */
    uint64_t limit;
};

static void refuse(struct request *request, const char *text) {
    struct buf *out = request_result(request);
    result_add_text(out, text, strlen(text));
    buf_add_text(out, ",\"isError\":true");
    request_complete(request);
}

static void run_later(struct request *request, void (*run)(struct request *request)) {
    if (!later_choose(request, run)) {
        refuse(request, "Too many of your texts are looked up at once; send this one again later.");
    }
}

/* ---------------------------------------------------------------- searching */

static bool may_call(const struct request *request, const struct entry *entry) {
    return (request->principal.permissions & (1u << entry->permission)) != 0;
}

/* Whether a tool is one that was searched for. */
static bool fits(const struct request *request, const struct search *search,
                 const struct entry *entry) {
    return may_call(request, entry) &&
           (search->category == NULL || strcmp(search->category, entry_category(entry)) == 0);
}

/* What is looked for, and where. */
struct ranking {
    const struct request *request;
    const struct search *search;
    const struct catalogue *catalogue;
};

static bool is_searched(void *user, const struct toolrack_tool *tool) {
    const struct ranking *ranking = user;
    const struct entry *entry = catalogue_find(ranking->catalogue, toolrack_tool_name(tool));
    return entry != NULL && fits(ranking->request, ranking->search, entry);
}

/* The tools for a task, the best first; without a task those with the best records. */
static int rank(struct ranking *ranking, struct toolrack_text **ret) {
    struct toolrack *host = ranking->request->mcp->host;
    const struct search *search = ranking->search;
    if (search->query != NULL && search->query[strspn(search->query, " \t\r\n")] != '\0') {
        struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
        options.text = search->query;
        options.limit = search->limit;
        options.shows = is_searched;
        options.user = ranking;
        return toolrack_search(host, &options, ret, NULL);
    }
    struct toolrack_recommend_options options = TOOLRACK_RECOMMEND_OPTIONS_INIT;
    options.limit = UINT64_MAX; /* some are left out later */
    return toolrack_recommend(host, &options, ret, NULL);
}

static const char *permission_name(enum toolrack_permission permission) {
    switch (permission) {
    case TOOLRACK_PERMISSION_SAFE: return "safe";
    case TOOLRACK_PERMISSION_CONFIRM: return "confirm";
    case TOOLRACK_PERMISSION_DANGEROUS: break;
    }
    return "dangerous";
}

/* What is told of a tool: less than its definition. */
static void add_found(struct buf *out, const struct entry *entry) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf cut = BUF_INIT;
    yyjson_doc *doc = yyjson_read(entry->definition, entry->length, YYJSON_READ_NUMBER_AS_RAW);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *description = rpc_string(root, "description");
    buf_add_char(out, '{');
    rpc_add_string(out, "name", entry->name);
    rpc_add_string(out, "title", rpc_string(root, "title"));
    if (description != NULL) {
        text_add_line(&line, description, strlen(description));
        text_add_cut(&cut, line.data != NULL ? line.data : "", line.length, DESCRIPTION_LENGTH);
        rpc_add_string(out, "description", cut.data != NULL ? cut.data : "");
    }
    if (entry->category[0] != '\0') {
        rpc_add_string(out, "category", entry->category);
    }
    rpc_add_string(out, "permission", permission_name(entry->permission));
    buf_add_char(out, '}');
    out->failed = out->failed || root == NULL;
    yyjson_doc_free(doc);
}

/* The tools of a ranking that the principal may call, as members of an array. Versions of one name
 * are one tool. */
static uint64_t add_all_found(struct buf *out, const struct request *request,
                              const struct search *search, const struct catalogue *catalogue,
                              yyjson_val *ranking) {
    CLEANUP(freep) bool *told = calloc(catalogue->count + 1, sizeof *told);
    uint64_t found = 0;
    size_t at;
    size_t count;
    yyjson_val *row;
    out->failed = out->failed || told == NULL;
    yyjson_arr_foreach (ranking, at, count, row) {
        const char *name = rpc_string(row, "tool");
        const struct entry *entry = name != NULL ? catalogue_find(catalogue, name) : NULL;
        size_t place = entry != NULL ? (size_t)(entry - catalogue->entries) : 0;
        if (out->failed || found == search->limit) {
            break;
        }
        if (entry != NULL && !told[place] && fits(request, search, entry)) {
            told[place] = true;
            buf_add(out, ",", found++ > 0);
            add_found(out, entry);
        }
    }
    return found;
}

/* The categories of what the principal may call, each once. */
static void add_categories(struct buf *out, const struct request *request,
                           const struct catalogue *catalogue, struct nearest *nearest) {
    unsigned told = 0;
    for (size_t i = 0; i < catalogue->count && told < CATEGORIES_TOLD; i++) {
        const struct entry *entry = &catalogue->entries[i];
        size_t before = 0;
        const char *category = entry_category(entry);
        if (!may_call(request, entry)) {
            continue;
        }
        while (before < i && (!may_call(request, &catalogue->entries[before]) ||
                              strcmp(entry_category(&catalogue->entries[before]), category) != 0)) {
            before++;
        }
        if (before == i) {
            buf_printf(out, "%s%s", told++ > 0 ? ", " : "", category);
            (void)nearest_try(nearest, category);
        }
    }
}

static bool has_category(const struct request *request, const struct catalogue *catalogue,
                         const char *category) {
    for (size_t i = 0; i < catalogue->count; i++) {
        const struct entry *entry = &catalogue->entries[i];
        if (may_call(request, entry) && strcmp(entry_category(entry), category) == 0) {
            return true;
        }
    }
    return false;
}

/* What to do when nothing was found, as a member of the result. */
static void add_advice(struct buf *out, const struct request *request, const struct search *search,
                       const struct catalogue *catalogue) {
    CLEANUP(buf_finish) struct buf categories = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    struct nearest nearest = nearest_to(search->category != NULL ? search->category : "");
    add_categories(&categories, request, catalogue, &nearest);
    const char *list = categories.length > 0 ? categories.data : "none";
    if (search->category != NULL && !has_category(request, catalogue, search->category)) {
        buf_printf(&text, "there is no category %.64s; ", search->category);
        if (nearest.name != NULL) {
            buf_printf(&text, "did you mean %s? ", nearest.name);
        }
        buf_printf(&text, "%s categories are: %s", nearest.name != NULL ? "The" : "the", list);
    } else {
        buf_printf(&text,
                   "no tool was found; search with other words, %s, or without a query for the "
                   "tools that are called most successfully. The categories are: %s",
                   search->category != NULL ? "without the category" : "by a category", list);
    }
    text_add_line(&line, text.data != NULL ? text.data : "", text.length);
    rpc_add_string(out, "advice", line.data != NULL ? line.data : "");
    out->failed = out->failed || categories.failed || text.failed || line.failed;
}

static void find(struct request *request) {
    const struct search *search = request->search;
    struct catalogue *catalogue = catalogue_get(request->mcp, &request->principal);
    struct toolrack_text *text = NULL;
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    size_t length = 0;
    struct ranking ranked = {.request = request, .search = search, .catalogue = catalogue};
    if (catalogue == NULL || rank(&ranked, &text) < 0) {
        if (catalogue != NULL) {
            catalogue_release(request->mcp, catalogue);
        }
        refuse(request, "The tools cannot be ranked now, as their records cannot be read; try "
                        "again later.");
        return;
    }
    const char *ranking = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(ranking, length, 0);
    buf_add_text(&json, "{\"tools\":[");
    uint64_t found = add_all_found(&json, request, search, catalogue, yyjson_doc_get_root(doc));
    buf_add_char(&json, ']');
    if (found == 0) {
        add_advice(&json, request, search, catalogue);
    }
    buf_add_char(&json, '}');
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    catalogue_release(request->mcp, catalogue);
    if (json.failed) {
        request_oom(request);
        return;
    }
    result_add_value(request_result(request), request->dialect, json.data, json.length);
    request_complete(request);
}

/* A string of the arguments in the arena; NULL: none. @return false: no memory */
static bool read_text(struct request *request, yyjson_val *arguments, const char *key,
                      const char **ret) {
    const char *text = rpc_string(arguments, key);
    *ret = NULL;
    if (text != NULL && text[0] != '\0') {
        *ret = arena_copy(&request->arena, text, strlen(text));
        return *ret != NULL;
    }
    return true;
}

static void begin_search(struct request *request, yyjson_val *arguments) {
    struct search *search = arena_zalloc(&request->arena, sizeof *search);
    request->search = search;
    if (search == NULL || !read_text(request, arguments, "text", &search->query) ||
        (search->query == NULL && !read_text(request, arguments, "query", &search->query)) ||
        !read_text(request, arguments, "category", &search->category)) {
        request_oom(request);
        return;
    }
    search->limit = search_tools_limit(SEARCH_SEARCH, arguments);
    run_later(request, find);
}

/* ------------------------------------------------------------------ choosing */

/* The steps and the explanation are many times as long as the rest: who wants them says so. */
static void add_choice(struct buf *out, yyjson_val *choice, bool explains) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    buf_add_char(out, '{');
    json_obj_foreach (choice, at, count, key, value) {
        size_t length = 0;
        bool is_reason = yyjson_equals_str(key, "steps") || yyjson_equals_str(key, "explanation");
        if (explains || !is_reason) {
            char *json = yyjson_val_write(value, YYJSON_WRITE_NOFLAG, &length);
            buf_printf(out, "%s\"%s\":", at > 0 ? "," : "", yyjson_get_str(key));
            buf_add(out, json, json != NULL ? length : 0);
            out->failed = out->failed || json == NULL;
            free(json);
        }
    }
    buf_add_char(out, '}');
}

static void answer_choice(struct request *request, const struct toolrack_text *text) {
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    size_t length = 0;
    const char *choice = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(choice, length, YYJSON_READ_NUMBER_AS_RAW);
    add_choice(&json, yyjson_doc_get_root(doc), request->search->explains);
    json.failed = json.failed || doc == NULL;
    yyjson_doc_free(doc);
    if (json.failed) {
        request_oom(request);
        return;
    }
    result_add_value(request_result(request), request->dialect, json.data, json.length);
    request_complete(request);
}

static void refuse_choice(struct request *request, const struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    result_add_reason(&text, &request->principal, err);
    if (text.failed) {
        request_oom(request);
    } else {
        refuse(request, text.data);
    }
}

static void choose(struct request *request) {
    const struct search *search = request->search;
    struct catalogue *catalogue = catalogue_get(request->mcp, &request->principal);
    struct toolrack_select_options options = TOOLRACK_SELECT_OPTIONS_INIT;
    struct ranking ranking = {.request = request, .search = search, .catalogue = catalogue};
    struct toolrack_text *text = NULL;
    struct toolrack_error err;
    if (catalogue == NULL) {
        request_oom(request);
        return;
    }
    options.text = search->query;
    options.context = search->context;
    options.limit = search->limit;
    options.explain = search->explains;
    options.principal = principal_comes_again(&request->principal) ? request->principal.id : NULL;
    options.shows = is_searched;
    options.user = &ranking;
    int code = toolrack_select(request->mcp->host, &options, &text, &err);
    catalogue_release(request->mcp, catalogue);
    if (code < 0) {
        refuse_choice(request, &err);
    } else {
        answer_choice(request, text);
        toolrack_text_unref(text);
    }
}

/* The context as text in the arena; absent, null and "" are none. @return false: no memory */
static bool read_context(struct request *request, yyjson_val *given, const char **ret) {
    const yyjson_alc alc = arena_alc(&request->arena);
    yyjson_val *context = rpc_object(given, &alc);
    *ret = NULL;
    if (!yyjson_is_obj(context)) {
        return true;
    }
    *ret = yyjson_val_write_opts(context, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
    return *ret != NULL;
}

static void begin_choice(struct request *request, yyjson_val *arguments) {
    struct search *search = arena_zalloc(&request->arena, sizeof *search);
    request->search = search;
    if (search == NULL || !read_text(request, arguments, "text", &search->query) ||
        !read_context(request, yyjson_obj_get(arguments, "context"), &search->context)) {
        request_oom(request);
        return;
    }
    search->explains = yyjson_is_true(yyjson_obj_get(arguments, "explain"));
    search->limit = search_tools_limit(SEARCH_SELECT, arguments);
    run_later(request, choose);
}

/* --------------------------------------------------------------- describing */

static void refuse_unknown(struct request *request, const char *name) {
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    buf_add_text(&why, "NotFound: ");
    unknown_tool_explain(request, name, "search_tools", &why);
    if (why.failed) {
        request_oom(request);
    } else {
        refuse(request, why.data);
    }
}

static void describe(struct request *request, yyjson_val *arguments) {
    const char *name = rpc_string(arguments, "name");
    struct catalogue *catalogue = catalogue_get(request->mcp, &request->principal);
    const struct entry *entry = catalogue != NULL ? catalogue_find(catalogue, name) : NULL;
    if (catalogue == NULL) {
        request_oom(request);
        return;
    }
    if (entry != NULL) {
        result_add_value(request_result(request), request->dialect, entry->definition,
                         entry->length);
        request_complete(request);
    }
    catalogue_release(request->mcp, catalogue);
    if (entry == NULL) {
        refuse_unknown(request, name);
    }
}

void search_call(struct request *request, enum search_tool tool, yyjson_val *arguments) {
    CLEANUP(buf_finish) struct buf problem = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    const yyjson_alc alc = arena_alc(&request->arena);
    if (search_tools_check(tool, arguments, &alc, &problem)) {
        switch (tool) {
        case SEARCH_SEARCH: begin_search(request, arguments); break;
        case SEARCH_SELECT: begin_choice(request, arguments); break;
        default: describe(request, arguments); break;
        }
        return;
    }
    buf_printf(&text, "InvalidArguments: %s.", problem.failed ? "" : problem.data);
    if (problem.failed || text.failed) {
        request_oom(request);
    } else {
        refuse(request, text.data);
    }
}
