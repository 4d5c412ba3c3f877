#include "net/http.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/tcp.h"
#include "net/libcurl.h"
#include "net/retry.h"
#include "toolrack/toolrack.h"

/* A single transfer runs in a multi handle, as only then its wait can include another descriptor,
 * so that a stop is noticed at once. */
struct http {
    CURLM *multi;
    CURL *easy; /* kept for its connection */
    int stop;
    struct tcp_meter meter; /* of the connections of all requests */
    bool has_sent;
    bool was_reset;
};

/* Shared by the callbacks of one transfer. */
struct transfer {
    CURL *easy;
    const struct http_sink *sink;
    struct http_response *response;
    size_t received;
    size_t most;
    size_t header_length;
    uint64_t read_before;         /* bytes read from the connection before this transfer */
    int code;                     /* negative: why the transfer was stopped */
    char reason[CURL_ERROR_SIZE]; /* libcurl's; "": it has none */
    struct toolrack_error *err;
};

/* Longest wait inside a transfer; curl has its own timers. */
#define POLL_MS_MAX 10000

static void slist_freep(struct curl_slist **list) {
    curl.slist_free_all(*list);
}

struct http *http_create(int stop) {
    struct http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        return NULL;
    }
    http->stop = stop;
    http->multi = curl.multi_init();
    http->easy = curl.easy_init();
    if (http->multi == NULL || http->easy == NULL) {
        http_destroy(http);
        return NULL;
    }
    return http;
}

void http_destroy(struct http *http) {
    if (http == NULL) {
        return;
    }
    curl.easy_cleanup(http->easy);
    (void)curl.multi_cleanup(http->multi);
    free(http);
}

void http_response_finish(struct http_response *response) {
    buf_finish(&response->text);
    *response = (struct http_response){0};
}

int http_timer(uint32_t ms) {
    const struct itimerspec after = {
            .it_value = {.tv_sec = ms / 1000,
                         .tv_nsec = ms > 0 ? (long)(ms % 1000) * 1000000 : 1}}; /* 0 is never */
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (fd >= 0 && timerfd_settime(fd, 0, &after, NULL) != 0) {
        int problem = errno;
        (void)close(fd);
        errno = problem;
        fd = -1;
    }
    return fd;
}

bool http_has_sent(const struct http *http) {
    return http->has_sent;
}

bool http_was_reset(const struct http *http) {
    return http->was_reset;
}

static int cancelled(struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_CANCELLED, "the conversation was interrupted");
}

int http_wait(const struct http *http, uint32_t ms, struct toolrack_error *err) {
    uint64_t until_ns = clock_now_ns() + (uint64_t)ms * CLOCK_NS_PER_MS;
    for (;;) {
        uint64_t now_ns = clock_now_ns();
        int left_ms = now_ns < until_ns ? (int)((until_ns - now_ns) / CLOCK_NS_PER_MS) + 1 : 0;
        struct pollfd fd = {.fd = http->stop, .events = POLLIN};
        int ready = poll(&fd, 1, left_ms);
        if (ready > 0) {
            return cancelled(err);
        }
        if (ready == 0) {
            return 0;
        }
    }
}

/* ---------------------------------------------------------------- transfer */

static size_t take_body(char *bytes, size_t size, size_t count, void *user) {
    struct transfer *transfer = user;
    struct http_response *response = transfer->response;
    size_t length = size * count;
    (void)curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &response->status);
    transfer->received += length;
    if (transfer->received > transfer->most) {
        transfer->code =
                error_set(transfer->err, TOOLRACK_E_LIMIT_EXCEEDED,
                          "the provider's response is longer than %zu bytes", transfer->most);
    } else if (response->status == 200) {
        transfer->code = transfer->sink->take(transfer->sink->user, bytes, length, transfer->err);
    } else if (response->text.length < HTTP_ERROR_MAX) {
        size_t room = HTTP_ERROR_MAX - response->text.length;
        buf_add(&response->text, bytes, length < room ? length : room);
    }
    return transfer->code == 0 ? length : CURL_WRITEFUNC_ERROR;
}

/* Not every libcurl bounds the lines of a header together, and it keeps all. */
static size_t take_header(char *bytes, size_t size, size_t count, void *user) {
    struct transfer *transfer = user;
    (void)bytes;
    transfer->header_length += size * count;
    if (transfer->header_length > HTTP_HEADER_MAX) {
        transfer->code = error_set(transfer->err, TOOLRACK_E_LIMIT_EXCEEDED,
                                   "the header of the provider's response is longer than %u bytes",
                                   HTTP_HEADER_MAX);
        return CURL_WRITEFUNC_ERROR;
    }
    return size * count;
}

/* ----------------------------------------------------------------- framing */

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    struct http *http = user;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    (void)purpose;
    if (fd >= 0) {
        tcp_meter_add(&http->meter, fd);
    }
    return fd >= 0 ? fd : CURL_SOCKET_BAD;
}

static int close_socket(void *user, curl_socket_t fd) {
    struct http *http = user;
    tcp_meter_remove(&http->meter, fd);
    return close(fd);
}

/* Bytes that libcurl read and that are neither header nor body. */
static uint64_t framing_of(const struct http *http, const struct transfer *transfer) {
    /* What arrives while the kernel is asked makes the sum less than it was. */
    const uint64_t passed_on = transfer->read_before + transfer->header_length + transfer->received;
    const uint64_t read = tcp_meter_read(&http->meter);
    return read > passed_on ? read - passed_on : 0;
}

static int check_framing(const struct http *http, const struct transfer *transfer,
                         struct toolrack_error *err) {
    return framing_of(http, transfer) <=
                           HTTP_FRAMING_MAX + transfer->header_length + transfer->received
                   ? 0
                   : error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "the provider sends more than %u bytes that are no part of its "
                               "response, such as extensions of chunks; is this the address of a "
                               "model?",
                               HTTP_FRAMING_MAX);
}

/* ----------------------------------------------------------------- request */

/* @return whether libcurl accepted every option. */
static bool set_up(struct http *http, const struct http_request *request,
                   struct curl_slist *headers, struct transfer *transfer) {
    CURL *easy = http->easy;
    curl.easy_reset(easy);
    CURLcode code = curl.easy_setopt(easy, CURLOPT_URL, request->url);
#define SET(option, value) code = code != CURLE_OK ? code : curl.easy_setopt(easy, option, value)
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_USERAGENT, "toolrack");
    SET(CURLOPT_HTTPHEADER, headers);
    /* A compressed stream would wait in buffers: none is asked for, and what comes is decoded. */
    SET(CURLOPT_ACCEPT_ENCODING, "identity");
    SET(CURLOPT_ERRORBUFFER, transfer->reason);
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->length);
    SET(CURLOPT_POSTFIELDS, request->body);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)HTTP_CONNECT_MS_MAX);
    SET(CURLOPT_LOW_SPEED_LIMIT, 1L);
    SET(CURLOPT_LOW_SPEED_TIME, (long)HTTP_SILENCE_S_MAX);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, transfer);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, transfer);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_OPENSOCKETDATA, http);
    SET(CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    SET(CURLOPT_CLOSESOCKETDATA, http);
#undef SET
    /* Who stops does not wait for a name server that does not answer: the thread that asks it ends
     * by itself. Before libcurl 7.87 there is no such option. */
    (void)curl.easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    return code == CURLE_OK;
}

/* Headers that curl would add itself are set here: an empty "Expect" sends the body at once. */
static bool add_headers(const struct http_request *request, struct curl_slist **list) {
    const char *const own[] = {"Content-Type: application/json",
                               request->accept != NULL
                                       ? request->accept
                                       : "Accept: text/event-stream, application/x-ndjson",
                               "Expect:"};
    for (size_t i = 0; i < ARRAY_LENGTH(own); i++) {
        struct curl_slist *longer = curl.slist_append(*list, own[i]);
        if (longer == NULL) {
            return false;
        }
        *list = longer;
    }
    for (size_t i = 0; request->headers[i] != NULL; i++) {
        struct curl_slist *longer = curl.slist_append(*list, request->headers[i]);
        if (longer == NULL) {
            return false;
        }
        *list = longer;
    }
    return true;
}

/* Run the transfer until it has ended or must stop. */
static int run(const struct http *http, const struct transfer *transfer, CURLcode *ret,
               struct toolrack_error *err) {
    int running = 1;
    while (running > 0) {
        CURLMcode code = curl.multi_perform(http->multi, &running);
        struct curl_waitfd stop = {.fd = http->stop, .events = CURL_WAIT_POLLIN};
        if (code == CURLM_OK && running > 0) {
            code = curl.multi_poll(http->multi, &stop, 1, POLL_MS_MAX, NULL);
        }
        if (code != CURLM_OK) {
            return error_set(err, TOOLRACK_E_IO, "the transfer failed: %s",
                             curl.multi_strerror(code));
        }
        if (stop.revents != 0) {
            return cancelled(err);
        }
        int over = check_framing(http, transfer, err);
        if (over < 0) {
            return over;
        }
    }
    int left = 0;
    CURLMsg *message;
    while ((message = curl.multi_info_read(http->multi, &left)) != NULL) {
        if (message->msg == CURLMSG_DONE) {
            *ret = message->data.result;
        }
    }
    return 0;
}

static bool has_begun(const struct transfer *transfer) {
    return transfer->received > 0 || transfer->header_length > 0;
}

static bool is_reset(CURLcode failure) {
    return failure == CURLE_GOT_NOTHING || failure == CURLE_RECV_ERROR ||
           failure == CURLE_SEND_ERROR;
}

/* The host and port of the proxy that a failed request went to, as the environment has it; NULL: it
 * went to none. libcurl's reason has the host that it tried. */
static const char *proxy_of(const struct transfer *transfer, const char *url,
                            const char **ret_variable, size_t *ret_length) {
    static const char *const variables[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                            "ALL_PROXY"};
    bool is_https = url != NULL && strncmp(url, "https:", 6) == 0;
    for (size_t i = is_https ? 1 : 0; i < ARRAY_LENGTH(variables); i++) {
        const char *proxy = is_https || i == 0 || i > 2 ? getenv(variables[i]) : NULL;
        if (proxy == NULL || proxy[0] == '\0') {
            continue;
        }
        const char *scheme = strstr(proxy, "://");
        const char *host = scheme != NULL ? scheme + 3 : proxy;
        const char *name = memrchr(host, '@', strcspn(host, "/")); /* without its password */
        host = name != NULL ? name + 1 : host;
        char tried[256];
        (void)snprintf(tried, sizeof tried, "%.*s", (int)strcspn(host, ":/]"),
                       host + (host[0] == '['));
        *ret_variable = variables[i];
        *ret_length = strcspn(host, "/");
        return strstr(transfer->reason, tried) != NULL ? host : NULL;
    }
    return NULL;
}

/* libcurl gathers a line of the header, up to a limit beyond which it says that it has no memory,
 * or newer ones what is the matter. */
#define LINE_MAX_OF_LIBCURL 102400u
#define TOO_LARGE           ((CURLcode)100) /* CURLE_TOO_LARGE, since libcurl 8.6 */

static int explain(const struct http *http, const struct transfer *transfer, CURLcode failure,
                   struct toolrack_error *err) {
    if (transfer->code < 0) {
        return transfer->code; /* take_body() set the message */
    }
    if ((failure == CURLE_OUT_OF_MEMORY || failure == TOO_LARGE) &&
        framing_of(http, transfer) >= LINE_MAX_OF_LIBCURL) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "a line in the header of the provider's response is longer than %u bytes; "
                         "is this the address of a model?",
                         LINE_MAX_OF_LIBCURL);
    }
    if (failure == CURLE_OUT_OF_MEMORY) {
        return error_oom(err);
    }
    const char *host = NULL;
    (void)curl.easy_getinfo(transfer->easy, CURLINFO_EFFECTIVE_URL, &host);
    if (failure == CURLE_OPERATION_TIMEDOUT) {
        return error_set(err, TOOLRACK_E_TIMEOUT,
                         "%s did not answer: the limits are %u s to connect and %u s of silence",
                         host, HTTP_CONNECT_MS_MAX / 1000u, HTTP_SILENCE_S_MAX);
    }
    if (failure == CURLE_UNSUPPORTED_PROTOCOL && http->has_sent) {
        return error_set(err, TOOLRACK_E_IO,
                         "%s does not answer in HTTP; is this the address of a model?", host);
    }
    const char *variable = NULL;
    size_t length = 0;
    const char *proxy = has_begun(transfer) ? NULL : proxy_of(transfer, host, &variable, &length);
    if (proxy != NULL) {
        return error_set(err, TOOLRACK_E_IO,
                         "%s cannot be reached through the proxy %.*s, which the environment "
                         "variable %s names: %s",
                         host, (int)length, proxy, variable, curl.easy_strerror(failure));
    }
    return error_set(err, TOOLRACK_E_IO, "%s: %s: %s%s",
                     has_begun(transfer) ? "the response broke off"
                     : is_reset(failure) ? "the provider closed the connection without an answer"
                                         : "the provider cannot be reached",
                     host, curl.easy_strerror(failure),
                     has_begun(transfer) && (is_reset(failure) || failure == CURLE_PARTIAL_FILE)
                             ? "; send the request again"
                             : "");
}

static bool read_header(CURL *easy, const char *name, const char **ret) {
    struct curl_header *header = NULL;
    bool is_there = curl.easy_header(easy, name, 0, CURLH_HEADER, -1, &header) == CURLHE_OK;
    *ret = is_there ? header->value : NULL;
    return is_there;
}

/* When and whether the provider wants to be asked again. */
static void read_retry(CURL *easy, struct http_response *response) {
    const char *value;
    if (read_header(easy, "Retry-After-Ms", &value)) {
        response->has_retry_after = retry_after_ms(value, &response->retry_after_ms);
    }
    if (!response->has_retry_after && read_header(easy, "Retry-After", &value)) {
        response->has_retry_after =
                retry_after(value, (time_t)clock_wall_s(), &response->retry_after_ms);
    }
    if (read_header(easy, "X-Should-Retry", &value)) {
        response->is_final = strcmp(value, "false") == 0;
        response->is_worth_retry = strcmp(value, "true") == 0;
    }
}

int http_post(struct http *http, const struct http_request *request, const struct http_sink *sink,
              struct http_response *ret, struct toolrack_error *err) {
    CLEANUP(http_response_finish) struct http_response response = {0};
    CLEANUP(slist_freep) struct curl_slist *headers = NULL;
    struct transfer transfer = {.easy = http->easy,
                                .sink = sink,
                                .response = &response,
                                .most = request->response_max != 0 ? request->response_max
                                                                   : HTTP_RESPONSE_MAX,
                                .read_before = tcp_meter_read(&http->meter),
                                .err = err};
    if (!add_headers(request, &headers) || !set_up(http, request, headers, &transfer)) {
        return error_oom(err);
    }
    CURLcode result = CURLE_OK;
    int code = curl.multi_add_handle(http->multi, http->easy) == CURLM_OK
                       ? run(http, &transfer, &result, err)
                       : error_oom(err);
    long sent = 0;
    (void)curl.easy_getinfo(http->easy, CURLINFO_REQUEST_SIZE, &sent);
    http->has_sent = http->has_sent || sent > 0;
    http->was_reset = code == 0 && is_reset(result) && !has_begun(&transfer);
    (void)curl.multi_remove_handle(http->multi, http->easy);
    if (code == 0 && result != CURLE_OK) {
        code = explain(http, &transfer, result, err);
    }
    if (code == 0) {
        (void)curl.easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &response.status);
        read_retry(http->easy, &response);
    }
    curl.easy_reset(http->easy); /* the handle is kept, but borrowed data are no longer valid */
    if (code == 0) {
        *ret = response;
        response = (struct http_response){0};
    }
    return code;
}
