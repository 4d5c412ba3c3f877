#include "remote/mcp/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* -------------------------------------------------------------------- text */

void exchange_push(struct streamable *of, struct message *message, uint64_t number,
                   const struct toolrack_error *why) {
    struct item *item = calloc(1, sizeof *item);
    if (item == NULL) { /* whoever waits for it is told by its deadline */
        mcp_message_destroy(message);
        return;
    }
    item->message = message;
    item->number = number;
    if (why != NULL) {
        item->code = why->code;
        memcpy(item->why, why->message, sizeof item->why);
    }
    *(of->last != NULL ? &of->last->next : &of->first) = item;
    of->last = item;
}

/* A text that came in a response is a message, or told to be none. */
int exchange_take_text(void *user, const char *text, size_t length, struct toolrack_error *err) {
    struct exchange *exchange = user;
    struct message *message = NULL;
    struct toolrack_error bad;
    int code = mcp_message_read(text, length, &message, &bad);
    if (code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(err);
    }
    if (code < 0) {
        exchange_push(exchange->of, NULL, 0, &bad);
        return 0;
    }
    bool is_answer = message->kind == MESSAGE_RESULT || message->kind == MESSAGE_FAILURE;
    exchange->has_answer = exchange->has_answer || (is_answer && exchange->number != 0 &&
                                                    message->number == exchange->number);
    exchange->resumed = 0;
    exchange_push(exchange->of, message, 0, NULL);
    return 0;
}

/* ----------------------------------------------------------------- response */

const char *exchange_header(const struct exchange *exchange, const char *name) {
    struct curl_header *header = NULL;
    return curl.easy_header(exchange->easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK
                   ? header->value
                   : NULL;
}

static bool has_type(const char *value, const char *type) {
    size_t length = strlen(type);
    return value != NULL && strncasecmp(value, type, length) == 0 &&
           (value[length] == '\0' || value[length] == ';' || value[length] == ' ');
}

static size_t take_header(char *bytes, size_t size, size_t count, void *user) {
    struct exchange *exchange = user;
    (void)bytes;
    exchange->header_length += size * count;
    if (exchange->header_length > WEB_HEADER_MAX) {
        exchange->code =
                error_set(&exchange->why, TOOLRACK_E_LIMIT_EXCEEDED,
                          "MCP server '%s' sends a header of more than the %u bytes allowed",
                          exchange->of->options->name, WEB_HEADER_MAX);
        return CURL_WRITEFUNC_ERROR;
    }
    return size * count;
}

bool exchange_is_success(long status) {
    return status >= 200 && status < 300;
}

long exchange_status(const struct exchange *exchange) {
    long status = 0;
    (void)curl.easy_getinfo(exchange->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

static int take_bytes(struct exchange *exchange, const char *bytes, size_t length) {
    const struct sse_taker taker = {.take = exchange_take_text, .user = exchange};
    struct buf *text = &exchange->text;
    if (!exchange->is_typed) {
        const char *type = exchange_header(exchange, "Content-Type");
        bool is_good = exchange_is_success(exchange_status(exchange));
        exchange->is_typed = true;
        exchange->is_stream = is_good && has_type(type, "text/event-stream");
        exchange->is_json = has_type(type, "application/json");
    }
    if (exchange->is_stream) {
        return sse_feed(&exchange->sse, bytes, length, MCP_MESSAGE_MAX, &taker, &exchange->why);
    }
    if (!exchange->is_json) { /* nothing of it is used but a few words */
        length = length < STREAMABLE_EXCERPT_MAX - text->length
                         ? length
                         : STREAMABLE_EXCERPT_MAX - text->length;
    }
    buf_add(text, bytes, length);
    return text->failed ? error_oom(&exchange->why)
           : text->length > MCP_MESSAGE_MAX
                   ? error_set(&exchange->why, TOOLRACK_E_LIMIT_EXCEEDED,
                               "a message of more than the %u bytes allowed came", MCP_MESSAGE_MAX)
                   : 0;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *user) {
    struct exchange *exchange = user;
    exchange->code =
            exchange->is_dropped ? TOOLRACK_E_CANCELLED : take_bytes(exchange, bytes, size * count);
    return exchange->code == 0 ? size * count : CURL_WRITEFUNC_ERROR;
}

/* ------------------------------------------------------------------- request */

static bool add_line(struct exchange *exchange, const char *line) {
    struct curl_slist *longer = curl.slist_append(exchange->headers, line);
    exchange->headers = longer != NULL ? longer : exchange->headers;
    return longer != NULL;
}

static bool add_named(struct exchange *exchange, const char *name, const char *value) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    buf_printf(&line, "%s: %s", name, value);
    return value[0] == '\0' || (!line.failed && add_line(exchange, line.data));
}

static bool add_own_lines(struct exchange *exchange) {
    const char *at = exchange->lines.data;
    bool has_memory = !exchange->lines.failed;
    while (has_memory && at != NULL && *at != '\0') {
        size_t length = strcspn(at, "\r");
        CLEANUP(freep) char *line = strndup(at, length);
        if (line != NULL && length > 2 && strcmp(line + length - 2, ": ") == 0) {
            (void)memcpy(line + length - 2, ";", 2); /* libcurl's way to write an empty value */
        }
        has_memory = line != NULL && add_line(exchange, line);
        at += length + 2;
    }
    return has_memory;
}

static bool add_headers(struct exchange *exchange) {
    struct streamable *of = exchange->of;
    const char *const *given = of->options->headers;
    CLEANUP(buf_finish) struct buf token = BUF_INIT;
    bool is_post = exchange->kind != EXCHANGE_HEAR && !exchange->resumes;
    bool has_memory = add_line(exchange, is_post ? "Accept: application/json, text/event-stream"
                                                 : "Accept: text/event-stream") &&
                      (!is_post || add_line(exchange, "Content-Type: application/json")) &&
                      add_line(exchange, "Expect:") && add_own_lines(exchange);
    if (has_memory && !exchange->begins && !of->is_stateless) {
        has_memory = add_named(exchange, "MCP-Protocol-Version", of->revision) &&
                     add_named(exchange, "Mcp-Session-Id", of->session);
        exchange->had_session = of->session[0] != '\0';
    }
    if (has_memory && !is_post) {
        has_memory = add_named(exchange, "Last-Event-ID", exchange->sse.id);
    }
    for (size_t i = 0; has_memory && given[i] != NULL; i++) {
        has_memory = add_line(exchange, given[i]);
    }
    if (has_memory && of->options->oauth != NULL) {
        exchange->token = oauth_add_header(of->options->oauth, &token);
        has_memory = token.length == 0 || (!token.failed && add_line(exchange, token.data));
    }
    return has_memory;
}

static bool set_up(struct exchange *exchange) {
    CURL *easy = exchange->easy;
    const struct streamable_options *options = exchange->of->options;
    if (!add_headers(exchange) ||
        !web_set_up(easy, exchange->url.data, &options->rules, exchange->reason)) {
        return false;
    }
    CURLcode code = curl.easy_setopt(easy, CURLOPT_HTTPHEADER, exchange->headers);
#define SET(option, value) code = code != CURLE_OK ? code : curl.easy_setopt(easy, option, value)
    if (exchange->kind != EXCHANGE_HEAR && !exchange->resumes) {
        SET(CURLOPT_POST, 1L);
        SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)exchange->body.length);
        SET(CURLOPT_POSTFIELDS, exchange->body.data);
    }
    if (exchange->kind == EXCHANGE_NOTIFY) {
        SET(CURLOPT_TIMEOUT_MS, (long)STREAMABLE_NOTIFY_MS_MAX);
    }
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, exchange);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, exchange);
    SET(CURLOPT_PRIVATE, exchange);
#undef SET
    return code == CURLE_OK;
}

/* It is not under way any more. */
void exchange_stop(struct exchange *exchange) {
    if (exchange->easy != NULL) {
        (void)curl.multi_remove_handle(exchange->of->multi, exchange->easy);
        curl.easy_cleanup(exchange->easy);
        exchange->easy = NULL;
    }
    curl.slist_free_all(exchange->headers);
    exchange->headers = NULL;
    exchange->header_length = 0;
    exchange->is_typed = exchange->is_stream = exchange->is_json = false;
    exchange->code = 0;
    exchange->reason[0] = '\0';
    buf_clear(&exchange->text);
    sse_restart(&exchange->sse);
}

bool exchange_begin(struct exchange *exchange) {
    exchange->easy = curl.easy_init();
    bool has_begun = exchange->easy != NULL && set_up(exchange) &&
                     curl.multi_add_handle(exchange->of->multi, exchange->easy) == CURLM_OK;
    if (!has_begun) {
        exchange_stop(exchange);
    }
    return has_begun;
}

void exchange_destroy(struct exchange *exchange) {
    exchange_stop(exchange);
    buf_finish(&exchange->url);
    buf_finish(&exchange->body);
    buf_finish(&exchange->lines);
    buf_finish(&exchange->text);
    sse_finish(&exchange->sse);
    free(exchange);
}

struct exchange *exchange_create(struct streamable *of, enum exchange_kind kind) {
    struct exchange *exchange = calloc(1, sizeof *exchange);
    if (exchange != NULL) {
        exchange->of = of;
        exchange->kind = kind;
        buf_add_text(&exchange->url, of->options->url);
    }
    return exchange;
}

/* Put it in the list, at its end. */
int exchange_add(struct exchange *exchange, struct toolrack_error *err) {
    struct streamable *of = exchange->of;
    struct exchange **at = &of->exchanges;
    if (exchange->url.failed || exchange->body.failed || exchange->lines.failed) {
        exchange_destroy(exchange);
        return error_oom(err);
    }
    while (*at != NULL) {
        at = &(*at)->next;
    }
    *at = exchange;
    atomic_store(&of->due_ns, 0);
    (void)curl.multi_wakeup(of->multi);
    return 0;
}
