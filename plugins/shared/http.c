#include "http.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <toolrack/plugin.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_MS 10000L
#define HEADERS_MAX        ((size_t)256 << 10) /* bytes, of one answer */
/* Servers of other protocols, which may take lines of HTTP for their own, listen below this. */
#define PORT_FREE_MIN      1024

struct http {
    CURL *easy;
    struct tr_call *call;
    const struct http_policy *policy;
    struct http_reply *reply; /* of the request that runs */
    size_t capacity;          /* of its body */
    char refused[160];        /* the address that was refused last, and why; or "" */
    bool is_allowed;          /* another one of the name was allowed */
    size_t header_length;
    char curl_message[CURL_ERROR_SIZE];
};

/* ------------------------------------------------------------- callbacks */

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    struct http *http = user;
    char text[ADDRESS_TEXT_SIZE];
    (void)purpose;
    const char *kind = address_refused(&address->addr, &http->policy->allowed, text);
    if (kind != NULL) {
        (void)snprintf(http->refused, sizeof http->refused, "%s is %s", text, kind);
        return CURL_SOCKET_BAD;
    }
    http->is_allowed = true;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static size_t take_body(char *bytes, size_t size, size_t count, void *user) {
    struct http *http = user;
    struct http_reply *reply = http->reply;
    size_t more = size * count;
    if (more > http->policy->bytes_max - reply->length) {
        reply->fault = HTTP_TOO_LARGE;
        return 0;
    }
    if (reply->length + more + 1 > http->capacity) {
        size_t capacity = (reply->length + more + 1) * 2;
        char *body = realloc(reply->body, capacity);
        if (body == NULL) {
            return 0;
        }
        reply->body = body;
        http->capacity = capacity;
    }
    memcpy(reply->body + reply->length, bytes, more);
    reply->length += more;
    reply->body[reply->length] = '\0';
    return more;
}

/* libcurl limits one line only. */
static size_t take_header(char *bytes, size_t size, size_t count, void *user) {
    struct http *http = user;
    (void)bytes;
    http->header_length += size * count;
    return http->header_length > HEADERS_MAX ? 0 : size * count;
}

static int see_progress(void *user, curl_off_t total, curl_off_t now, curl_off_t up_total,
                        curl_off_t up_now) {
    struct http *http = user;
    (void)up_total;
    (void)up_now;
    if (now > 0) {
        tr_progress(http->call, (double)now, (double)total, NULL);
    }
    return tr_cancelled(http->call);
}

/* ---------------------------------------------------------------- URLs */

static bool url_part(CURLU *parts, CURLUPart part, unsigned flags, char *ret, size_t size) {
    char *value = NULL;
    if (curl_url_get(parts, part, &value, flags) != CURLUE_OK) {
        return false;
    }
    bool fits = (size_t)snprintf(ret, size, "%s", value) < size;
    curl_free(value);
    return fits;
}

/* NULL if it may be asked for, else why not. */
static const char *explain_url(const char *url, CURLU *parts) {
    char scheme[16];
    char text[HTTP_URL_SIZE];
    if (strlen(url) >= HTTP_URL_SIZE) {
        return "is longer than 4,095 bytes";
    }
    if (curl_url_set(parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) {
        return "is no URL; write it such as https://example.org/page";
    }
    if (!url_part(parts, CURLUPART_SCHEME, 0, scheme, sizeof scheme) ||
        (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0)) {
        return "is neither http: nor https:, which are the only ones";
    }
    if (!url_part(parts, CURLUPART_HOST, 0, text, sizeof text) || text[0] == '\0') {
        return "names no host";
    }
    if (url_part(parts, CURLUPART_USER, 0, text, sizeof text) ||
        url_part(parts, CURLUPART_PASSWORD, 0, text, sizeof text)) {
        return "has a name or password in it, which is not sent; leave it out";
    }
    if (url_part(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT, text, sizeof text)) {
        long port = strtol(text, NULL, 10);
        if (port != 80 && port != 443 && port < PORT_FREE_MIN) {
            return "has a port that is kept for other protocols; 80, 443 and those from 1024 are "
                   "allowed";
        }
    }
    return NULL;
}

bool http_url_at(const char *url, const char *path, char ret[HTTP_URL_SIZE]) {
    CURLU *parts = curl_url();
    bool done = parts != NULL &&
                curl_url_set(parts, CURLUPART_URL, url, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
                curl_url_set(parts, CURLUPART_PATH, path, 0) == CURLUE_OK &&
                curl_url_set(parts, CURLUPART_QUERY, NULL, 0) == CURLUE_OK &&
                curl_url_set(parts, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK &&
                url_part(parts, CURLUPART_URL, 0, ret, HTTP_URL_SIZE);
    curl_url_cleanup(parts);
    return done;
}

bool http_url_target(const char *url, char ret[HTTP_URL_SIZE]) {
    CURLU *parts = curl_url();
    bool done = parts != NULL && curl_url_set(parts, CURLUPART_URL, url, 0) == CURLUE_OK &&
                url_part(parts, CURLUPART_PATH, 0, ret, HTTP_URL_SIZE);
    size_t length = done ? strlen(ret) : 0;
    char query[HTTP_URL_SIZE];
    if (done && url_part(parts, CURLUPART_QUERY, 0, query, sizeof query)) {
        done = (size_t)snprintf(ret + length, HTTP_URL_SIZE - length, "?%s", query) <
               HTTP_URL_SIZE - length;
    }
    curl_url_cleanup(parts);
    return done;
}

/* -------------------------------------------------------------- requests */

struct http *http_create(struct tr_call *call, const struct http_policy *policy) {
    struct http *http = calloc(1, sizeof *http);
    if (http == NULL) {
        return NULL;
    }
    http->easy = curl_easy_init();
    http->call = call;
    http->policy = policy;
    if (http->easy == NULL) {
        http_destroy(http);
        return NULL;
    }
    return http;
}

void http_destroy(struct http *http) {
    if (http != NULL) {
        curl_easy_cleanup(http->easy);
        free(http);
    }
}

static long timeout_ms(const struct http *http) {
    uint64_t left = tr_time_left_ms(http->call);
    return left < (uint64_t)http->policy->timeout_ms ? (long)(left > 0 ? left : 1)
                                                     : http->policy->timeout_ms;
}

static bool set_options(struct http *http, const char *url, struct curl_slist *headers) {
    CURL *easy = http->easy;
    curl_easy_reset(easy);
    return curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROXY, "") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_USERAGENT, http->policy->user_agent) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_TIMEOUT_MS) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms(http)) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, http) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, http) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_HEADERDATA, http) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, see_progress) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_XFERINFODATA, http) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, http->curl_message) == CURLE_OK;
}

static bool fail(struct http_reply *reply, enum http_fault fault, const char *url,
                 const char *what) {
    reply->fault = fault;
    (void)snprintf(reply->message, sizeof reply->message, "%.300s %s", url, what);
    return false;
}

/* Names are looked up by UDP, which the sandbox may forbid; that libcurl does not know. */
static bool may_look_up(void) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool is_forbidden = fd < 0 && (errno == EACCES || errno == EPERM);
    if (fd >= 0) {
        (void)close(fd);
    }
    return !is_forbidden;
}

/* libcurl's code, in the words of who called. */
static bool explain(struct http *http, const char *url, CURLcode code) {
    struct http_reply *reply = http->reply;
    char what[300];
    if (http->refused[0] != '\0' && !http->is_allowed && code == CURLE_COULDNT_CONNECT) {
        (void)snprintf(what, sizeof what,
                       "is not fetched: %s, and only addresses of the public internet are allowed "
                       "(the setting allow_networks names others)",
                       http->refused);
        return fail(reply, HTTP_REFUSED, url, what);
    }
    if (reply->fault == HTTP_TOO_LARGE) {
        (void)snprintf(what, sizeof what, "has more than %llu bytes, the most that is fetched",
                       (unsigned long long)http->policy->bytes_max);
        return fail(reply, HTTP_TOO_LARGE, url, what);
    }
    if (http->header_length > HEADERS_MAX) {
        (void)snprintf(what, sizeof what, "has headers of more than %zu KiB, the most that is read",
                       HEADERS_MAX >> 10);
        return fail(reply, HTTP_TOO_LARGE, url, what);
    }
    if (code == CURLE_OUT_OF_MEMORY && http->is_allowed) { /* libcurl's name for both */
        return fail(reply, HTTP_FAILED, url,
                    "cannot be fetched: a line of its headers is too long, or no memory is left");
    }
    if (code == CURLE_ABORTED_BY_CALLBACK) {
        return fail(reply, HTTP_CANCELLED, url, "was cancelled");
    }
    bool is_lookup = code == CURLE_COULDNT_RESOLVE_HOST;
    (void)snprintf(what, sizeof what, "cannot be fetched: %.180s%s",
                   http->curl_message[0] != '\0' ? http->curl_message : curl_easy_strerror(code),
                   is_lookup && !may_look_up()
                           ? " (looking up names takes the capability network:udp)"
                           : "");
    return fail(reply, HTTP_FAILED, url, what);
}

static void note_answer(struct http *http) {
    struct http_reply *reply = http->reply;
    const char *type = NULL;
    const char *redirect = NULL;
    (void)curl_easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &reply->status);
    (void)curl_easy_getinfo(http->easy, CURLINFO_CONTENT_TYPE, &type);
    (void)curl_easy_getinfo(http->easy, CURLINFO_REDIRECT_URL, &redirect);
    (void)snprintf(reply->type, sizeof reply->type, "%s", type != NULL ? type : "");
    (void)snprintf(reply->redirect, sizeof reply->redirect, "%s", redirect != NULL ? redirect : "");
}

bool http_check(const char *url, struct http_reply *ret) {
    CURLU *parts = curl_url();
    const char *wrong =
            parts == NULL ? "cannot be read: no memory is left" : explain_url(url, parts);
    curl_url_cleanup(parts);
    return wrong == NULL || fail(ret, HTTP_BAD_URL, url, wrong);
}

bool http_get(struct http *http, const char *url, const char *accept, struct http_reply *ret) {
    *ret = (struct http_reply){.fault = HTTP_OK};
    http->reply = ret;
    http->capacity = 0;
    http->header_length = 0;
    http->refused[0] = '\0';
    http->is_allowed = false;
    http->curl_message[0] = '\0';
    if (!http_check(url, ret)) {
        return false;
    }
    char header[160];
    (void)snprintf(header, sizeof header, "Accept: %s", accept != NULL ? accept : "*/*");
    struct curl_slist *headers = curl_slist_append(NULL, header);
    CURLcode code = headers != NULL && set_options(http, url, headers)
                            ? curl_easy_perform(http->easy)
                            : CURLE_OUT_OF_MEMORY;
    curl_slist_free_all(headers);
    if (code != CURLE_OK) {
        return explain(http, url, code);
    }
    note_answer(http);
    return true;
}

void http_reply_finish(struct http_reply *reply) {
    free(reply->body);
    reply->body = NULL;
}
