#include "remote/mcp/streamable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "remote/mcp/exchange.h"
#include "remote/mcp/mirror.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* ----------------------------------------------------------------------- send */

/* The headers of the stateless era repeat what the message says. */
static void add_standard(struct exchange *exchange, yyjson_val *root) {
    yyjson_val *params = yyjson_obj_get(root, "params");
    yyjson_val *meta = yyjson_obj_get(params, "_meta");
    const char *method = yyjson_get_str(yyjson_obj_get(root, "method"));
    const char *revision =
            yyjson_get_str(yyjson_obj_get(meta, "io.modelcontextprotocol/protocolVersion"));
    yyjson_val *name = yyjson_obj_get(params, "name");
    name = yyjson_is_str(name) ? name : yyjson_obj_get(params, "uri");
    exchange->begins = method != NULL && strcmp(method, "initialize") == 0;
    if (revision == NULL || method == NULL) {
        return;
    }
    buf_printf(&exchange->lines, "MCP-Protocol-Version: %s\r\nMcp-Method: %s\r\n", revision,
               method);
    if (yyjson_is_str(name)) {
        buf_add_text(&exchange->lines, "Mcp-Name: ");
        mirror_add_value(&exchange->lines, yyjson_get_str(name), yyjson_get_len(name));
        buf_add_text(&exchange->lines, "\r\n");
    }
}

static int post(struct transport *transport, const struct outgoing *out,
                struct toolrack_error *err) {
    struct streamable *of = (struct streamable *)transport;
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(out->text->data, out->text->length, 0);
    struct exchange *exchange =
            doc != NULL ? exchange_create(of, out->number != 0 ? EXCHANGE_ASK : EXCHANGE_NOTIFY)
                        : NULL;
    if (exchange == NULL) {
        return error_oom(err);
    }
    exchange->number = out->number;
    exchange->listens = out->listens;
    buf_add(&exchange->body, out->text->data, out->text->length);
    add_standard(exchange, yyjson_doc_get_root(doc));
    if (exchange->lines.length > 0) {
        buf_add_text(&exchange->lines, out->mirrored != NULL ? out->mirrored : "");
    }
    return exchange_add(exchange, err);
}

static bool drop(struct transport *transport, uint64_t number) {
    struct streamable *of = (struct streamable *)transport;
    bool is_told = of->is_stateless;
    for (struct exchange *each = of->exchanges; each != NULL; each = each->next) {
        if (each->number == number && !each->is_dropped) {
            each->is_dropped = true;
            is_told = is_told || each->lines.length > 0; /* of the stateless era */
            atomic_store(&of->due_ns, 0);
            (void)curl.multi_wakeup(of->multi);
        }
    }
    return is_told;
}

static void agree(struct transport *transport, const char *revision) {
    struct streamable *of = (struct streamable *)transport;
    utf8_copy(of->revision, sizeof of->revision, revision);
    of->is_stateless = strcmp(revision, "2026-07-28") >= 0;
}

static void listen_unasked(struct transport *transport) {
    struct toolrack_error unheard;
    struct exchange *exchange = exchange_create((struct streamable *)transport, EXCHANGE_HEAR);
    if (exchange != NULL) {
        (void)exchange_add(exchange, &unheard); /* without memory nothing is heard */
    }
}

static bool is_settled(const struct transport *transport) {
    const struct streamable *of = (const struct streamable *)transport;
    const struct exchange *each = of->exchanges;
    while (each != NULL && each->kind != EXCHANGE_NOTIFY) {
        each = each->next;
    }
    return each == NULL;
}

/* ------------------------------------------------------------------------- end */

static void fail(struct exchange *exchange, const struct toolrack_error *why) {
    struct streamable *of = exchange->of;
    if (exchange->kind == EXCHANGE_ASK && !exchange->listens) {
        exchange_push(of, NULL, exchange->number, why);
    } else if (exchange->kind == EXCHANGE_NOTIFY) {
        log_line(of->options->log, LOG_WARNING, "mcp", "%s: a notification did not arrive: %s",
                 of->options->name, why->message);
    }
}

/* Try once more, in so many milliseconds. @return true, for the callers' convenience */
static bool again(struct exchange *exchange, uint32_t ms) {
    exchange_stop(exchange);
    exchange->at_ns = clock_now_ns() + (uint64_t)ms * CLOCK_NS_PER_MS;
    return true;
}

static uint32_t wait_of(const struct exchange *exchange) {
    return exchange->sse.has_retry ? exchange->sse.retry_ms : STREAMABLE_RETRY_MS;
}

/* What the server says unasked is asked for again and again. */
static bool hear_again(struct exchange *exchange, bool was_stream) {
    unsigned doublings = exchange->resumed < 6 ? exchange->resumed : 6;
    uint32_t ms = was_stream ? wait_of(exchange) : STREAMABLE_RETRY_MS << doublings;
    exchange->resumed = was_stream ? 0 : exchange->resumed + 1;
    return again(exchange, ms < STREAMABLE_RETRY_MS_MAX ? ms : STREAMABLE_RETRY_MS_MAX);
}

/* A stream has ended before the answer came. @return whether it is resumed */
static bool resume(struct exchange *exchange) {
    if (exchange->of->is_stateless || exchange->sse.id[0] == '\0' ||
        exchange->resumed == STREAMABLE_RESUMED_MAX) {
        return false;
    }
    exchange->resumed++;
    exchange->resumes = true;
    buf_clear(&exchange->lines);
    return again(exchange, wait_of(exchange));
}

static void note_session(struct exchange *exchange) {
    struct streamable *of = exchange->of;
    const char *id = exchange_header(exchange, "Mcp-Session-Id");
    bool is_usable = id != NULL && strlen(id) <= SESSION_ID_MAX;
    for (size_t i = 0; is_usable && id[i] != '\0'; i++) {
        is_usable = id[i] > 0x20 && id[i] < 0x7f;
    }
    if (exchange->begins && is_usable) {
        utf8_copy(of->session, sizeof of->session, id);
    }
}

/* 307 and 308 repeat the request elsewhere. @return whether it is repeated */
static bool redirect(struct exchange *exchange, long status, struct toolrack_error *why) {
    struct streamable *of = exchange->of;
    char *url = NULL;
    (void)curl.easy_getinfo(exchange->easy, CURLINFO_REDIRECT_URL, &url);
    bool is_same = url != NULL && web_is_same_origin(url, exchange->url.data);
    if (is_same && (status == 307 || status == 308) && exchange->redirects < WEB_REDIRECTS_MAX) {
        CLEANUP(buf_finish) struct buf copy = BUF_INIT;
        buf_add_text(&copy, url);
        buf_clear(&exchange->url);
        buf_add(&exchange->url, copy.data, copy.length);
        exchange->redirects++;
        return !copy.failed && again(exchange, 0);
    }
    (void)error_set(why, TOOLRACK_E_IO,
                    "MCP server '%s' redirects %s to %.500s (HTTP status %ld), which is not "
                    "followed; write the right address as \"url\", if that is it",
                    of->options->name, of->options->shown_url, url != NULL ? url : "nowhere",
                    status);
    return false;
}

/* A response whose status says that the request failed. */
static void explain_status(const struct exchange *exchange, long status,
                           struct toolrack_error *why) {
    const struct streamable_options *options = exchange->of->options;
    char words[STREAMABLE_EXCERPT_MAX + 1] = "";
    if (exchange->text.length > 0) {
        utf8_copy(words, sizeof words, exchange->text.data);
        utf8_make_line(words);
    }
    (void)error_set(why, TOOLRACK_E_EXECUTION_FAILED,
                    "MCP server '%s' answers with HTTP status %ld%s%s%s", options->name, status,
                    words[0] != '\0' ? ": " : "", words,
                    status == 405 || (status == 404 && !exchange->had_session)
                            ? "; is \"url\" the address of its MCP endpoint?"
                            : "");
}

/* The failure that a response with such a status has as its body, with the id that it belongs to or
 * without any. @return whether it has one */
static bool take_failure(struct exchange *exchange, struct toolrack_error *why) {
    CLEANUP(mcp_message_destroyp) struct message *message = NULL;
    struct toolrack_error bad;
    if (!exchange->is_json || exchange->number == 0 ||
        mcp_message_read(exchange->text.data, exchange->text.length, &message, &bad) < 0 ||
        message->kind != MESSAGE_FAILURE) {
        return false;
    }
    if (message->number == 0 || message->number == exchange->number) {
        message->number = exchange->number;
        exchange->has_answer = true;
        exchange_push(exchange->of, STEAL(message), 0, NULL);
        return true;
    }
    (void)why;
    return false;
}

static void refuse_credentials(struct exchange *exchange, long status, struct toolrack_error *why) {
    struct oauth *oauth = exchange->of->options->oauth;
    const char *challenge = exchange_header(exchange, "WWW-Authenticate");
    char error[64] = "";
    bool wants_scope = status == 403 && challenge != NULL &&
                       oauth_challenge_value(challenge, "error", error, sizeof error) &&
                       strcmp(error, "insufficient_scope") == 0;
    explain_status(exchange, status, why);
    if (status == 401 || wants_scope) {
        why->code = TOOLRACK_E_PERMISSION_DENIED;
        if (oauth != NULL) {
            oauth_note_refusal(oauth, exchange->token, status, challenge);
        } else {
            error_append(why, "it wants a token: write it in \"headers\", or how to get one in "
                              "\"auth\"");
        }
    }
}

/* @return whether the exchange goes on */
static bool take_bad_status(struct exchange *exchange, long status) {
    struct streamable *of = exchange->of;
    struct toolrack_error why;
    bool lost = status == 404 && exchange->had_session;
    if (status >= 300 && status < 400) {
        if (redirect(exchange, status, &why)) {
            return true;
        }
    } else if (exchange->kind == EXCHANGE_HEAR) {
        bool is_final = status >= 400 && status < 500;
        return !is_final && hear_again(exchange, false);
    } else if (lost) {
        of->is_over = true;
        (void)error_set(&why, TOOLRACK_E_UNAVAILABLE,
                        "MCP server '%s' does not know the session any more", of->options->name);
    } else if (status == 401 || status == 403) {
        refuse_credentials(exchange, status, &why);
    } else if (take_failure(exchange, &why)) {
        return false;
    } else {
        explain_status(exchange, status, &why);
    }
    fail(exchange, &why);
    return false;
}

static void explain_no_answer(const struct exchange *exchange, bool was_stream, bool was_json,
                              struct toolrack_error *why) {
    const char *name = exchange->of->options->name;
    const char *type = exchange_header(exchange, "Content-Type");
    (void)error_set(why, TOOLRACK_E_EXECUTION_FAILED, "MCP server '%s' %s%.100s%s", name,
                    was_stream     ? "ended the stream before the answer"
                    : was_json     ? "answered, but not this request"
                    : type != NULL ? "answers with the content type "
                                   : "answers without content",
                    !was_stream && !was_json && type != NULL ? type : "",
                    !was_stream && !was_json ? "; is \"url\" the address of its MCP endpoint?"
                                             : "");
}

/* @return whether the exchange goes on */
static bool take_end(struct exchange *exchange, CURLcode result) {
    struct streamable *of = exchange->of;
    struct toolrack_error why;
    long status = exchange_status(exchange);
    bool was_stream = exchange->is_stream;
    bool was_json = exchange->is_json;
    if (exchange->is_dropped) {
        return false;
    }
    if (result == CURLE_OK && !exchange_is_success(status)) {
        return take_bad_status(exchange, status);
    }
    if (result == CURLE_OK) {
        note_session(exchange);
    }
    if (result == CURLE_OK && was_json && exchange->text.length > 0 &&
        exchange->kind != EXCHANGE_NOTIFY) {
        (void)exchange_take_text(exchange, exchange->text.data, exchange->text.length, &why);
    }
    if (exchange->listens) {
        return exchange->code == 0 && was_stream && hear_again(exchange, !exchange->has_answer);
    }
    bool is_done = exchange->has_answer || exchange->kind == EXCHANGE_NOTIFY;
    if (exchange->kind == EXCHANGE_HEAR) {
        return exchange->code == 0 && hear_again(exchange, was_stream);
    }
    if (is_done && (result == CURLE_OK || exchange->has_answer)) {
        return false;
    }
    if (exchange->code == 0 && was_stream && resume(exchange)) {
        return true;
    }
    if (exchange->code < 0) {
        why = exchange->why;
        error_prefix(&why, of->options->name);
    } else if (result != CURLE_OK) {
        (void)web_explain(exchange->easy, result, of->options->shown_url, &of->options->rules,
                          exchange->reason, &why);
    } else {
        explain_no_answer(exchange, was_stream, was_json, &why);
    }
    fail(exchange, &why);
    return false;
}

/* ---------------------------------------------------------------------- receive */

/* Begin what is due, remove what nobody waits for, and note when to look again. */
static void begin_due(struct streamable *of) {
    uint64_t now_ns = clock_now_ns();
    uint64_t due_ns = UINT64_MAX;
    for (struct exchange **at = &of->exchanges; *at != NULL;) {
        struct exchange *exchange = *at;
        bool is_due = exchange->easy == NULL && exchange->at_ns <= now_ns;
        bool is_gone = exchange->is_dropped;
        if (!is_gone && is_due && !exchange_begin(exchange)) {
            struct toolrack_error why;
            (void)error_oom(&why);
            fail(exchange, &why);
            is_gone = true;
        }
        if (is_gone) {
            *at = exchange->next;
            exchange_destroy(exchange);
            continue;
        }
        if (exchange->easy == NULL && exchange->at_ns < due_ns) {
            due_ns = exchange->at_ns;
        }
        at = &exchange->next;
    }
    atomic_store(&of->due_ns, due_ns);
}

static void take_ends(struct streamable *of) {
    CURLMsg *message;
    int left;
    while ((message = curl.multi_info_read(of->multi, &left)) != NULL) {
        CURLcode result = message->data.result;
        char *user = NULL;
        if (message->msg != CURLMSG_DONE) {
            continue;
        }
        (void)curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &user);
        struct exchange *exchange = (struct exchange *)(void *)user;
        if (!take_end(exchange, result)) {
            exchange->is_dropped = true;
            exchange_stop(exchange);
        }
    }
}

static int receive(struct transport *transport, struct toolrack_error *err) {
    struct streamable *of = (struct streamable *)transport;
    int running;
    begin_due(of);
    CURLMcode code = curl.multi_perform(of->multi, &running);
    take_ends(of);
    begin_due(of);
    if (code != CURLM_OK) {
        return error_set(err, TOOLRACK_E_IO, "MCP server '%s' cannot be asked: %s",
                         of->options->name, curl.multi_strerror(code));
    }
    return of->is_over ? error_set(err, TOOLRACK_E_IO, "MCP server '%s' has ended the session",
                                   of->options->name)
                       : 0;
}

static bool next(struct transport *transport, struct incoming *ret) {
    struct streamable *of = (struct streamable *)transport;
    struct item *item = of->first;
    if (item == NULL) {
        return false;
    }
    of->first = item->next;
    of->last = of->first != NULL ? of->last : NULL;
    ret->message = item->message;
    ret->number = item->number;
    if (item->code < 0) {
        (void)error_set(&ret->why, item->code, "%s", item->why);
    }
    free(item);
    return true;
}

static void wait_for_any(struct transport *transport, int ms) {
    struct streamable *of = (struct streamable *)transport;
    uint64_t now_ns = clock_now_ns();
    uint64_t due_ns = atomic_load(&of->due_ns);
    uint64_t until_ns = now_ns + (uint64_t)ms * CLOCK_NS_PER_MS;
    until_ns = due_ns < until_ns ? due_ns : until_ns;
    if (until_ns > now_ns) {
        int left = (int)((until_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS);
        (void)curl.multi_poll(of->multi, NULL, 0, left, NULL);
    }
}

static int authorize(struct transport *transport, uint64_t number, const struct session_wait *wait,
                     struct toolrack_error *err) {
    struct streamable *of = (struct streamable *)transport;
    (void)number;
    return of->options->oauth != NULL ? oauth_renew(of->options->oauth, wait, err) : err->code;
}

/* ------------------------------------------------------------------------ whole */

/* Tell the server that the session has ended, as far as it takes that. */
static void end_session(struct streamable *of) {
    struct exchange *exchange = exchange_create(of, EXCHANGE_HEAR);
    uint64_t until_ns = clock_now_ns() + (uint64_t)STREAMABLE_END_MS_MAX * CLOCK_NS_PER_MS;
    int running = 1;
    if (exchange != NULL && exchange_begin(exchange)) {
        (void)curl.easy_setopt(exchange->easy, CURLOPT_CUSTOMREQUEST, "DELETE");
        while (running > 0 && clock_now_ns() < until_ns &&
               curl.multi_perform(of->multi, &running) == CURLM_OK && running > 0) {
            (void)curl.multi_poll(of->multi, NULL, 0, 50, NULL);
        }
    }
    if (exchange != NULL) {
        exchange_destroy(exchange);
    }
}

static void end(struct transport *transport) {
    struct streamable *of = (struct streamable *)transport;
    struct incoming left;
    while (of->exchanges != NULL) {
        struct exchange *exchange = of->exchanges;
        of->exchanges = exchange->next;
        exchange_destroy(exchange);
    }
    if (of->session[0] != '\0' && !of->is_over) {
        end_session(of);
    }
    while (next(transport, &left)) {
        mcp_message_destroy(left.message);
    }
    if (of->multi != NULL) {
        (void)curl.multi_cleanup(of->multi);
    }
    free(of);
}

static const struct transport_calls calls = {.send = post,
                                             .drop = drop,
                                             .agree = agree,
                                             .listen = listen_unasked,
                                             .is_settled = is_settled,
                                             .wait = wait_for_any,
                                             .receive = receive,
                                             .next = next,
                                             .authorize = authorize,
                                             .end = end};

int streamable_open(const void *options, struct transport **ret, struct toolrack_error *err) {
    int code = libcurl_load(err);
    struct streamable *of = code == 0 ? calloc(1, sizeof *of) : NULL;
    if (of == NULL) {
        return code < 0 ? code : error_oom(err);
    }
    of->base.calls = &calls;
    of->options = options;
    of->multi = curl.multi_init();
    atomic_init(&of->due_ns, UINT64_MAX);
    if (of->multi == NULL) {
        end(&of->base);
        return error_oom(err);
    }
    *ret = &of->base;
    return 0;
}
