/* tools-list.c - tools/list: a catalogue in pages.
 *
 * A cursor names the tool before the page, so that it stays good when the list changes. */
#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/catalogue.h"
#include "serve/mcp/request.h"
#include "serve/mcp/seal.h"
#include "serve/mcp/tools.h"

/* Most tools of a page, and most bytes unless one tool alone is longer. Large, since there are
 * clients that read only the first page. */
#define PAGE_TOOLS_MAX 250u
#define PAGE_BYTES_MAX (1024u * 1024)

/* What a cursor holds: the place of the next tool, and the name of the one before it. */
struct mark {
    uint32_t next;
    char name[128];
};

/* Where the page begins that a cursor names. @return false: it is no cursor of this list. */
static bool find_page(struct request *request, const struct catalogue *catalogue,
                      yyjson_val *params, size_t *ret_first) {
    yyjson_val *cursor = yyjson_obj_get(params, "cursor");
    *ret_first = 0;
    if (cursor == NULL || yyjson_is_null(cursor) || yyjson_equals_str(cursor, "")) {
        return true;
    }
    CLEANUP(buf_finish) struct buf opened = BUF_INIT;
    struct mark mark;
    if (!yyjson_is_str(cursor) ||
        !seal_open(request->mcp, SEAL_CURSOR, yyjson_get_str(cursor), yyjson_get_len(cursor),
                   &opened) ||
        opened.length != sizeof mark) {
        return false;
    }
    memcpy(&mark, opened.data, sizeof mark);
    mark.name[sizeof mark.name - 1] = '\0';
    *ret_first = mark.next < catalogue->listed ? mark.next : catalogue->listed;
    for (size_t i = 0; i < catalogue->listed; i++) {
        if (strcmp(catalogue->listing[i].name, mark.name) == 0) {
            *ret_first = i + 1;
        }
    }
    return true;
}

static void add_cursor(struct request *request, const struct catalogue *catalogue, size_t next,
                       struct buf *out) {
    struct mark mark = {.next = (uint32_t)next};
    (void)snprintf(mark.name, sizeof mark.name, "%s", catalogue->listing[next - 1].name);
    rpc_add_member(out, "nextCursor");
    buf_add_char(out, '"');
    seal_add(request->mcp, SEAL_CURSOR, &mark, sizeof mark, out);
    buf_add_char(out, '"');
}

void tools_list(struct request *request, yyjson_val *params) {
    struct catalogue *catalogue = catalogue_get(request->mcp, &request->principal);
    const struct entry *listing =
            catalogue != NULL ? catalogue_listing(request->mcp, catalogue, request->dialect) : NULL;
    if (listing == NULL) {
        if (catalogue != NULL) {
            catalogue_release(request->mcp, catalogue);
        }
        request_oom(request);
        return;
    }
    size_t first;
    if (!find_page(request, catalogue, params, &first)) {
        catalogue_release(request->mcp, catalogue);
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "the cursor is not one that this server gave; call tools/list without one");
        return;
    }
    struct buf *out = request_result(request);
    rpc_add_member(out, "tools");
    buf_add_char(out, '[');
    size_t start = out->length;
    size_t at = first;
    for (; at < catalogue->listed && at - first < PAGE_TOOLS_MAX; at++) {
        const struct entry *entry = &listing[at];
        if (at > first && out->length - start + entry->length > PAGE_BYTES_MAX) {
            break;
        }
        buf_add(out, ",", at > first);
        buf_add(out, entry->definition, entry->length);
    }
    buf_add_char(out, ']');
    if (at < catalogue->listed) {
        add_cursor(request, catalogue, at, out);
    }
    if ((request->dialect->traits & DIALECT_STATELESS) != 0) {
        /* A cache knows no limits of tokens: what came by one is for who has it. */
        bool is_public = catalogue->is_for_everyone && !principal_has_shown(&request->principal);
        buf_add_text(out, is_public ? ",\"ttlMs\":60000,\"cacheScope\":\"public\""
                                    : ",\"ttlMs\":60000,\"cacheScope\":\"private\"");
    }
    catalogue_release(request->mcp, catalogue);
    request_complete(request);
}
