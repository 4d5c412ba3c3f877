/* Messages of any bytes, a line each, to a server of the Model Context Protocol: at a pipe, or
 * (first byte odd) by POST; with the next bit set, to one whose lists hold tools for searching.
 * Each exchange is finished once, and what is sent is JSON of one line.
 */
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "serve/mcp/server.h"
#include "toolrack/plugin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *echo(const char *message) {
    return message;
}
TR_TOOL(echo, "Give a message back", TR_STRING, (TR_STRING, message, "message"))

static tr_status job(struct tr_call *call) {
    const char *answer = NULL;
    tr_status status = tr_ask(call, "What?", NULL, &answer);
    return status == TR_OK ? tr_reply_text(call, answer) : status;
}
TR_JSON_TOOL(job, ("A task that asks", .flags = TR_TASK_ALWAYS, .permission = TR_CONFIRM),
             "{\"type\":\"object\"}")
TR_PLUGIN(("fuzz", .flags = TR_THREAD_SAFE), "1.0.0", echo, job)

#define LINES_MAX 16u

struct line {
    struct exchange exchange;
    atomic_uint finished;
};

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_text(const char *text, size_t length) {
    yyjson_doc *doc = yyjson_read(text, length, 0);
    require(doc != NULL && yyjson_is_obj(yyjson_doc_get_root(doc)));
    require(memchr(text, '\n', length) == NULL);
    yyjson_doc_free(doc);
}

static void send_line(struct exchange *exchange, const char *event_id, const char *text,
                      size_t length) {
    (void)exchange;
    (void)event_id;
    if (length > 0) {
        check_text(text, length);
    }
}

static void finish_line(struct exchange *exchange, const struct exchange_answer *answer) {
    require(atomic_fetch_add(&((struct line *)exchange)->finished, 1) == 0);
    if (answer->text != NULL) {
        check_text(answer->text, answer->length);
    }
}

static void pause_line(struct exchange *exchange, uint32_t retry_ms) {
    (void)exchange;
    (void)retry_ms;
}

static const char *say_who(struct exchange *exchange) {
    (void)exchange;
    return "uid:1";
}

static const struct exchange_calls calls = {send_line, finish_line, pause_line, say_who};

static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = options.state_dir = "";
    options.no_scan = 1;
    require(toolrack_open(&options, &host, NULL) == 0 &&
            toolrack_register(host, &toolrack_plugin, NULL, NULL) == 0);
    return host;
}

static struct mcp *open_server(struct toolrack *host, bool searches) {
    struct mcp *mcp = NULL;
    struct mcp_options serving = {.host = host};
    require(mcp_create(&serving, &mcp, NULL) == 0);
    mcp->settings.search = searches;
    mcp->settings.approves = searches;
    return mcp;
}

/* A line of the input, with room behind it. */
static char *copy_line(const uint8_t *data, size_t length) {
    char *text = malloc(length + YYJSON_PADDING_SIZE);
    require(text != NULL);
    memcpy(text, data, length);
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct toolrack *host;
    static struct mcp *servers[2];
    static const struct principal principal = {.id = "fuzz", .permissions = ~0u};
    static const struct mcp_headers headers = {.version = "2026-07-28", .method = "tools/call"};
    if (host == NULL) {
        host = open_host();
        servers[0] = open_server(host, false);
        servers[1] = open_server(host, true);
    }
    struct mcp *mcp = servers[size > 0 && (data[0] & 2) != 0];
    struct line way = {.exchange = {.calls = &calls}};
    struct line lines[LINES_MAX] = {0};
    size_t count = 0;
    struct mcp_pipe *pipe = NULL;
    require(mcp_pipe_open(mcp, &principal, &way.exchange, &pipe, NULL) == 0);
    bool posts = size > 0 && (data[0] & 1) != 0;
    for (size_t at = size > 0; at < size && count < LINES_MAX; count++) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t length = end != NULL ? (size_t)(end - (data + at)) : size - at;
        char *text = copy_line(data + at, length);
        lines[count].exchange.calls = &calls;
        if (posts) {
            mcp_post(mcp, &principal, &headers, text, length, &lines[count].exchange);
        } else {
            mcp_pipe_receive(pipe, text, length, &lines[count].exchange);
        }
        free(text);
        at += length + 1;
    }
    mcp_pipe_close(pipe, true);
    mcp_cancel(mcp);
    for (size_t i = 0; i < count; i++) {
        while (atomic_load(&lines[i].finished) == 0) {
            (void)sched_yield(); /* a call of a POST ends on its own thread */
        }
    }
    require(atomic_load(&way.finished) == 1);
    return 0;
}
