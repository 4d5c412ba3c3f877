/* GET /api/tools. What a client asks for again and again is kept: of each of the two who may see
 * all, administrators and callers, the text with its ETag. */
#include "serve/rest/listing.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/json-write.h"
#include "serve/rest/handlers.h"
#include "serve/rest/kept.h"
#include "serve/rest/request.h"
#include "toolrack/serving.h"
#include "view/tool.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

/* The list of one state. */
struct listed {
    uint64_t state;
    struct toolrack_text *definitions; /* of that state of the registry */
    struct kept *kept;                 /* NULL: there is none yet */
};

struct listing {
    struct lock lock;
    struct listed listed[2]; /* of callers, of administrators */
};

struct listing *listing_create(void) {
    struct listing *listing = calloc(1, sizeof *listing);
    if (listing != NULL) {
        lock_init(&listing->lock);
    }
    return listing;
}

static void finish(struct listed *listed) {
    toolrack_text_unref(listed->definitions);
    kept_unref(listed->kept);
}

void listing_destroy(struct listing *listing) {
    if (listing != NULL) {
        finish(&listing->listed[0]);
        finish(&listing->listed[1]);
        lock_finish(&listing->lock);
        free(listing);
    }
}

/* ----------------------------------------------------------------- which tools */

static bool fits(const char *wanted, const char *value) {
    return wanted == NULL || (value != NULL && strcmp(wanted, value) == 0);
}

static bool is_wanted(const struct rest_request *request, const struct toolrack_tool *tool) {
    const char *enabled = rest_query(request, "enabled");
    const char *name = rest_query(request, "name");
    const char *const names[] = {name, NULL};
    return toolrack_tools_have(name != NULL ? names : NULL, toolrack_tool_name(tool),
                               toolrack_tool_version(tool)) &&
           (enabled == NULL || toolrack_tool_enabled(tool) == (strcmp(enabled, "true") == 0)) &&
           fits(rest_query(request, "plugin"), toolrack_tool_plugin(tool)) &&
           fits(rest_query(request, "state"), toolrack_tool_state_name(tool)) &&
           fits(rest_query(request, "permission"), view_permission(toolrack_tool_permission(tool)));
}

/* The list as text, to be released by free(). NULL: out of memory. */
static char *make(struct rest_request *request, size_t *ret_length) {
    struct toolrack_filter filter = TOOLRACK_FILTER_INIT;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    filter.all = true;
    filter.tag = rest_query(request, "tag");
    filter.category = rest_query(request, "category");
    filter.purpose = rest_query(request, "purpose");
    filter.scenario = rest_query(request, "scenario");
    if (toolrack_list(request->rest->host, &filter, &tools, NULL) < 0) {
        return NULL;
    }
    yyjson_mut_val *root = rest_object(request);
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(request->doc, root, "tools");
    CLEANUP(buf_finish) struct buf row = BUF_INIT;
    for (size_t i = 0; i < toolrack_tools_count(tools); i++) {
        const struct toolrack_tool *tool = toolrack_tools_get(tools, i);
        if (is_wanted(request, tool) && rest_shows(request, tool)) {
            buf_clear(&row);
            view_write_tool(&row, tool);
            request->incomplete = request->incomplete || row.failed;
            (void)yyjson_mut_arr_add_val(array,
                                         yyjson_mut_rawncpy(request->doc, row.data, row.length));
        }
    }
    if (request->doc == NULL || array == NULL || request->incomplete) {
        return NULL;
    }
    yyjson_mut_doc_set_root(request->doc, root);
    CLEANUP(freep) char *text = json_write(request->doc, 0, NULL, ret_length);
    if (text == NULL || request->principal.admin) {
        return STEAL(text);
    }
    CLEANUP(buf_finish) struct buf told = BUF_INIT; /* what is kept is for all callers */
    command_add_placeless(&told, text, *ret_length);
    *ret_length = told.length;
    return told.failed ? NULL : buf_steal(&told);
}

/* --------------------------------------------------------------------- keeping */

/* The list of all, of the state that the host has now: a reference. NULL: out of memory. */
static struct kept *get(struct rest_request *request) {
    struct rest *rest = request->rest;
    struct listing *listing = rest->listing;
    struct toolrack_text *definitions = NULL;
    uint64_t state = atomic_load(&rest->state); /* before it is looked at */
    if (toolrack_definitions(rest->host, &definitions, NULL) < 0) {
        return NULL;
    }
    LOCK_SCOPE(&listing->lock);
    struct listed *at = &listing->listed[request->principal.admin];
    if (at->kept != NULL && at->state == state && at->definitions == definitions) {
        toolrack_text_unref(definitions);
        return kept_ref(at->kept);
    }
    size_t length = 0;
    char *text = make(request, &length);
    struct kept *made = kept_create(text, length);
    if (made == NULL) {
        toolrack_text_unref(definitions);
        return NULL;
    }
    finish(at);
    *at = (struct listed){.state = state, .definitions = definitions, .kept = made};
    return kept_ref(made);
}

void listing_answer(struct rest_request *request) {
    bool is_whole = request->target.parameter_count == 0 &&
                    !subset_is_part(&request->rest->subset, &request->principal);
    size_t length = 0;
    if (is_whole) {
        rest_answer_kept(request, get(request));
        return;
    }
    CLEANUP(freep) char *text = make(request, &length);
    if (text == NULL) {
        rest_oom(request);
    } else {
        rest_answer_json(request, 200, text, length, NULL, NULL);
    }
}
