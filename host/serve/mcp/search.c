/* search.c - search_tools and describe_tool: the tools of a principal, found and described.
 *
 * Both look at the catalogue of the principal, which is also what a call is checked by: what is
 * found can be called, and what cannot be called is not found. */
#include "serve/mcp/search.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "serve/mcp/catalogue.h"
#include "serve/mcp/later.h"
#include "serve/mcp/request.h"
#include "serve/mcp/result.h"

/* Most characters of a description of what was found. */
#define DESCRIPTION_LENGTH 300u

/* What a call asks for. In the arena of its request. */
struct search {
    const char *query;    /* or NULL */
    const char *category; /* or NULL */
    uint64_t limit;
};

static void refuse(struct request *request, const char *text) {
    struct buf *out = request_result(request);
    result_add_text(out, text, strlen(text));
    buf_add_text(out, ",\"isError\":true");
    request_complete(request);
}

/* ---------------------------------------------------------------- searching */

/* The ranking: tools for a task, the best first, as toolrack_recommend() gives them. */
static int rank(struct mcp *mcp, const char *task, struct toolrack_text **ret) {
    struct toolrack_recommend_options options = TOOLRACK_RECOMMEND_OPTIONS_INIT;
    options.task = task;
    options.limit = UINT64_MAX; /* some are left out later */
    return toolrack_recommend(mcp->host, &options, ret, NULL);
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

/* Whether a tool is one that was searched for. */
static bool fits(const struct request *request, const struct search *search,
                 const struct entry *entry) {
    return (request->principal.permissions & (1u << entry->permission)) != 0 &&
           (search->category == NULL || strcmp(search->category, entry->category) == 0);
}

/* The tools of a ranking that the principal may call, as members of an array. Versions of one name
 * are one tool. */
static void add_all_found(struct buf *out, const struct request *request,
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
            return;
        }
        if (entry != NULL && !told[place] && fits(request, search, entry)) {
            told[place] = true;
            buf_add(out, ",", found++ > 0);
            add_found(out, entry);
        }
    }
}

static void find(struct request *request) {
    const struct search *search = request->search;
    struct catalogue *catalogue = catalogue_get(request->mcp, &request->principal);
    struct toolrack_text *text = NULL;
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    size_t length = 0;
    if (catalogue == NULL || rank(request->mcp, search->query, &text) < 0) {
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
    add_all_found(&json, request, search, catalogue, yyjson_doc_get_root(doc));
    buf_add_text(&json, "]}");
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

/* @return what is wrong with the arguments, or NULL */
static const char *read_search(struct request *request, yyjson_val *arguments,
                               struct search *search) {
    yyjson_val *limit = yyjson_obj_get(arguments, "limit");
    const char *const keys[] = {"query", "category"};
    const char **const texts[] = {&search->query, &search->category};
    for (size_t i = 0; i < ARRAY_LENGTH(keys); i++) {
        const char *text = rpc_string(arguments, keys[i]);
        if (text == NULL && yyjson_obj_get(arguments, keys[i]) != NULL) {
            return "InvalidArguments: query and category must be strings.";
        }
        if (text != NULL && text[0] != '\0') {
            *texts[i] = arena_copy(&request->arena, text, strlen(text));
            if (*texts[i] == NULL) {
                return "OutOfMemory: the server is out of memory.";
            }
        }
    }
    search->limit = SEARCH_FOUND_DEFAULT;
    if (limit != NULL) { /* its text is the number as it was written */
        const char *digits = yyjson_get_raw(limit);
        char *end = NULL;
        search->limit = digits != NULL ? strtoull(digits, &end, 10) : 0;
        if (digits == NULL || *end != '\0' || search->limit < 1 ||
            search->limit > SEARCH_FOUND_MAX) {
            return "InvalidArguments: limit must be an integer from 1 to 50.";
        }
    }
    return NULL;
}

static void begin_search(struct request *request, yyjson_val *arguments) {
    request->search = arena_zalloc(&request->arena, sizeof *request->search);
    if (request->search == NULL) {
        request_oom(request);
        return;
    }
    const char *problem = read_search(request, arguments, request->search);
    if (problem != NULL) {
        refuse(request, problem);
    } else {
        later_run(request, find);
    }
}

/* --------------------------------------------------------------- describing */

static void describe(struct request *request, yyjson_val *arguments) {
    const char *name = rpc_string(arguments, "name");
    if (name == NULL) {
        refuse(request, "InvalidArguments: name must be a string.");
        return;
    }
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
    } else {
        refuse(request, "NotFound: there is no tool of that name; search_tools gives the names.");
    }
    catalogue_release(request->mcp, catalogue);
}

void search_call(struct request *request, enum search_tool tool, yyjson_val *arguments) {
    if (tool == SEARCH_SEARCH) {
        begin_search(request, arguments);
    } else {
        describe(request, arguments);
    }
}
