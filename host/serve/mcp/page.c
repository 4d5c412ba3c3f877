/* page.c - see page.h. */
#include "serve/mcp/page.h"

#include <sodium.h>
#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/catalogue.h"
#include "serve/mcp/offers.h"
#include "serve/mcp/request.h"
#include "serve/mcp/seal.h"
#include "serve/mcp/shape.h"

#define DIGEST_SIZE crypto_generichash_BYTES_MIN

/* What a cursor holds: the list, the place of the next item, and the digest of the one before it.
 */
struct mark {
    uint32_t what;
    uint32_t next;
    unsigned char before[DIGEST_SIZE];
};

/* In the arena of its request. */
struct page {
    const struct page_kind *kind;
    bool goes_on;
    struct mark mark; /* where it goes on */
};

static void digest(yyjson_val *item, const struct page *page, unsigned char ret[DIGEST_SIZE]) {
    yyjson_val *key = yyjson_obj_get(item, page->kind->key);
    (void)crypto_generichash(ret, DIGEST_SIZE, (const unsigned char *)yyjson_get_str(key),
                             yyjson_get_len(key), NULL, 0);
}

/* @return false: it is no cursor of this list */
static bool read_cursor(struct request *request, yyjson_val *params, struct page *page) {
    yyjson_val *cursor = yyjson_obj_get(params, "cursor");
    if (cursor == NULL || yyjson_is_null(cursor) || yyjson_equals_str(cursor, "")) {
        return true;
    }
    CLEANUP(buf_finish) struct buf opened = BUF_INIT;
    if (!yyjson_is_str(cursor) ||
        !seal_open(request->mcp, SEAL_CURSOR, yyjson_get_str(cursor), yyjson_get_len(cursor),
                   &opened) ||
        opened.length != sizeof page->mark) {
        return false;
    }
    memcpy(&page->mark, opened.data, sizeof page->mark);
    page->goes_on = true;
    return page->mark.what == (uint32_t)page->kind->what;
}

static size_t find_first(const struct page *page, yyjson_val *items) {
    size_t first = page->goes_on ? page->mark.next : 0;
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (items, at, count, item) {
        unsigned char own[DIGEST_SIZE];
        if (page->goes_on) {
            digest(item, page, own);
            if (memcmp(own, page->mark.before, sizeof own) == 0) {
                return at + 1;
            }
        }
    }
    return first < count ? first : count;
}

static void add_cursor(struct request *request, const struct page *page, size_t next,
                       yyjson_val *before, struct buf *out) {
    struct mark mark = {.what = (uint32_t)page->kind->what, .next = (uint32_t)next};
    digest(before, page, mark.before);
    rpc_add_member(out, "nextCursor");
    buf_add_char(out, '"');
    seal_add(request->mcp, SEAL_CURSOR, &mark, sizeof mark, out);
    buf_add_char(out, '"');
}

/* Append the items of a page. */
static void add_page(struct request *request, const struct page *page, yyjson_val *items) {
    struct buf *out = request_result(request);
    size_t first = find_first(page, items);
    rpc_add_member(out, page->kind->member);
    buf_add_char(out, '[');
    size_t start = out->length;
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_val *before = NULL;
    yyjson_arr_foreach (items, at, count, item) {
        size_t length = out->length;
        if (at < first) {
            continue;
        }
        if (at - first >= PAGE_ITEMS_MAX) {
            break;
        }
        buf_add(out, ",", at > first);
        shape_add(out, request->dialect, item);
        if (at > first && out->length - start > PAGE_BYTES_MAX) {
            buf_truncate(out, length);
            break;
        }
        before = item;
    }
    buf_add_char(out, ']');
    if (at < count) {
        add_cursor(request, page, at, before, out);
    }
}

static void end(struct request *request, const struct toolrack_result *result) {
    const struct page *page = request->page;
    size_t length = 0;
    const char *json = toolrack_result_json(result, &length);
    yyjson_doc *doc = yyjson_read(json, length, YYJSON_READ_NUMBER_AS_RAW);
    if (doc == NULL) {
        request_oom(request);
        return;
    }
    add_page(request, page, yyjson_obj_get(yyjson_doc_get_root(doc), page->kind->member));
    yyjson_doc_free(doc);
    if ((request->dialect->traits & DIALECT_STATELESS) != 0) {
        bool is_public = !catalogue_is_part(request->mcp, &request->principal) &&
                         !principal_has_shown(&request->principal);
        buf_add_text(&request->out, is_public ? ",\"ttlMs\":60000,\"cacheScope\":\"public\""
                                              : ",\"ttlMs\":60000,\"cacheScope\":\"private\"");
    }
    request_complete(request);
}

void page_list(struct request *request, yyjson_val *params, const struct page_kind *kind) {
    struct page *page = arena_zalloc(&request->arena, sizeof *page);
    if (page == NULL) {
        request_oom(request);
        return;
    }
    page->kind = kind;
    request->page = page;
    if (read_cursor(request, params, page)) {
        offers_ask(request, &(struct offers){.what = kind->what, .end = end});
    } else {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "the cursor is not one that this server gave for this list; ask for the list "
                     "without one");
    }
}
