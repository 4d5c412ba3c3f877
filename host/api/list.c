#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "ffi/prototype.h"
#include "registry/document.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

struct toolrack_tools {
    struct toolrack_filter filter; /* used only while the list is filled */
    size_t count;
    size_t room;
    bool failed;
    struct toolrack_tool **items; /* a reference on each */
};

static bool same_or_any(const char *wanted, const char *is) {
    return wanted == NULL || (is != NULL && strcasecmp(wanted, is) == 0);
}

/* Whether a text contains `wanted`, ignoring the case of ASCII letters; NULL: any text. */
static bool contains_or_any(const char *wanted, const char *text) {
    return wanted == NULL || (text != NULL && strcasestr(text, wanted) != NULL);
}

static bool passes(const struct toolrack_filter *filter, const struct toolrack_tool *tool) {
    return (filter->all || toolrack_tool_enabled(tool)) &&
           (filter->name == NULL || strcmp(filter->name, toolrack_tool_name(tool)) == 0) &&
           (filter->tag == NULL || toolrack_tool_has_tag(tool, filter->tag)) &&
           same_or_any(filter->category, toolrack_tool_category(tool)) &&
           contains_or_any(filter->purpose, toolrack_tool_purpose(tool)) &&
           (filter->scenario == NULL || toolrack_tool_has_scenario(tool, filter->scenario));
}

#define LIST_FIRST_ROOM 64u

static bool take(void *user, struct toolrack_tool *tool) {
    struct toolrack_tools *tools = user;
    if (!passes(&tools->filter, tool)) {
        return true;
    }
    if (tools->count == tools->room) {
        size_t room = tools->room == 0 ? LIST_FIRST_ROOM : 2 * tools->room;
        struct toolrack_tool **grown = realloc(tools->items, room * sizeof *grown);
        if (grown == NULL) {
            tools->failed = true;
            return false;
        }
        tools->items = grown;
        tools->room = room;
    }
    tools->items[tools->count++] = toolrack_tool_ref(tool);
    return true;
}

int toolrack_list(struct toolrack *host, const struct toolrack_filter *filter,
                  struct toolrack_tools **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct toolrack_tools *tools = calloc(1, sizeof *tools);
    if (tools == NULL) {
        return error_oom(err);
    }
    if (filter != NULL) {
        memcpy(&tools->filter, filter,
               filter->size < sizeof tools->filter ? filter->size : sizeof tools->filter);
    }
    registry_visit(host->registry, take, tools);
    if (tools->failed) {
        toolrack_tools_free(tools);
        return error_oom(err);
    }
    *ret = tools;
    return 0;
}

void tools_keep(struct toolrack_tools *tools, bool (*is_kept)(const struct toolrack_tool *tool)) {
    size_t kept = 0;
    for (size_t i = 0; i < tools->count; i++) {
        if (is_kept(tools->items[i])) {
            tools->items[kept++] = tools->items[i];
        } else {
            toolrack_tool_unref(tools->items[i]);
        }
    }
    tools->count = kept;
}

size_t toolrack_tools_count(const struct toolrack_tools *tools) {
    return tools->count;
}

struct toolrack_tool *toolrack_tools_get(const struct toolrack_tools *tools, size_t index) {
    return index < tools->count ? tools->items[index] : NULL;
}

void toolrack_tools_free(struct toolrack_tools *tools) {
    if (tools != NULL) {
        for (size_t i = 0; i < tools->count; i++) {
            toolrack_tool_unref(tools->items[i]);
        }
        free(tools->items);
        free(tools);
    }
}

int toolrack_list_info(struct toolrack *host, const struct toolrack_filter *filter,
                       struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct toolrack_filter all = {0};
    if (filter != NULL) {
        memcpy(&all, filter, filter->size < sizeof all ? filter->size : sizeof all);
    }
    all.size = sizeof all;
    all.all = true;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    int code = toolrack_list(host, &all, &tools, err);
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *list = NULL;
    yyjson_mut_doc *doc = document_begin_list(&list);
    for (size_t i = 0; i < tools->count; i++) {
        const struct toolrack_tool *tool = tools->items[i];
        if (tool_is_kept_back(tool)) { /* models get this too */
            continue;
        }
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        document_add_text(doc, row, "id", toolrack_tool_name(tool));
        document_add_text(doc, row, "name", toolrack_tool_name(tool));
        document_add_text(doc, row, "version", toolrack_tool_version(tool));
        document_add_text(doc, row, "description", toolrack_tool_description(tool));
        document_add_text(doc, row, "category", toolrack_tool_category(tool));
        (void)yyjson_mut_obj_add_bool(doc, row, "enabled", toolrack_tool_enabled(tool));
        (void)yyjson_mut_obj_add_int(doc, row, "priority", toolrack_tool_priority(tool));
    }
    return document_end(doc, ret, err);
}

struct toolrack_tool *toolrack_get(struct toolrack *host, const char *name) {
    HOST_SCOPE(host);
    return registry_get(host->registry, name);
}

char *toolrack_suggest(struct toolrack *host, const char *name) {
    HOST_SCOPE(host);
    return registry_suggest(host->registry, name, false);
}

char *toolrack_suggest_call(struct toolrack *host, const char *name) {
    HOST_SCOPE(host);
    return registry_suggest(host->registry, name, true);
}

int toolrack_refused(struct toolrack *host, struct toolrack_refusals **ret,
                     struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct toolrack_refusals *list = registry_refusals(host->registry);
    if (list == NULL) {
        return error_oom(err);
    }
    *ret = list;
    return 0;
}

int toolrack_tool_prototype(const struct toolrack_tool *tool, struct toolrack_text **ret,
                            struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (!tool->reg->spec->typed) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "Tool '%s' is not typed: it has no prototype",
                         toolrack_tool_name(tool));
    }
    prototype_add(&text, tool->reg->spec->tool);
    *ret = text.failed ? NULL : text_create(&text);
    return *ret != NULL ? 0 : error_oom(err);
}
