/* What an MCP server of the web sends: events are the same in one piece and in many, a challenge
 * has values that fit, and a schema mirrors only what can stand in a header. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "remote/mcp/mirror.h"
#include "remote/mcp/oauth.h"
#include "remote/mcp/sse.h"

#define EVENT_MAX 4096u

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static int take(void *user, const char *data, size_t length, struct toolrack_error *err) {
    struct buf *all = user;
    (void)err;
    require(length > 0 && length <= EVENT_MAX);
    buf_add(all, data, length);
    buf_add_char(all, '\0');
    return 0;
}

/* @return the code; what was taken is in `all` */
static int feed(const char *text, size_t size, size_t piece, struct buf *all, struct sse *sse) {
    const struct sse_taker taker = {.take = take, .user = all};
    struct toolrack_error err;
    int code = 0;
    for (size_t at = 0; code == 0 && at < size; at += piece) {
        code = sse_feed(sse, text + at, size - at < piece ? size - at : piece, EVENT_MAX, &taker,
                        &err);
    }
    return code;
}

static void check_events(const char *text, size_t size) {
    struct sse whole = {0};
    struct sse pieces = {0};
    CLEANUP(buf_finish) struct buf one = BUF_INIT;
    CLEANUP(buf_finish) struct buf other = BUF_INIT;
    int code = feed(text, size, size + 1, &one, &whole);
    require(code == feed(text, size, 1, &other, &pieces));
    require(one.length == other.length &&
            (one.length == 0 || memcmp(one.data, other.data, one.length) == 0));
    require(strcmp(whole.id, pieces.id) == 0 && strpbrk(whole.id, "\r\n") == NULL);
    sse_finish(&whole);
    sse_finish(&pieces);
}

static void check_challenge(const char *text) {
    char value[64];
    bool has = oauth_challenge_value(text, "scope", value, sizeof value);
    require(strlen(value) < sizeof value && (has || value[0] == '\0'));
}

static void check_schema(const char *text, size_t size) {
    struct arena arena;
    struct mirrors mirrors;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    yyjson_doc *doc = yyjson_read(text, size, 0);
    arena_init(&arena, NULL, 0);
    const char *wrong = mirrors_read(yyjson_doc_get_root(doc), &arena, &mirrors);
    require(wrong == NULL || mirrors.count == 0);
    mirrors_write(&mirrors, yyjson_doc_get_root(doc), &out);
    for (const char *at = out.data; at != NULL && at < out.data + out.length; at += 2) {
        at = memchr(at, '\r', (size_t)(out.data + out.length - at));
        require(at != NULL && at[1] == '\n');
    }
    arena_finish(&arena);
    yyjson_doc_free(doc);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    check_events(text, size);
    check_challenge(text);
    check_schema(text, size);
    free(text);
    return 0;
}
