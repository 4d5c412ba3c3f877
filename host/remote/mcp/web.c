#include "remote/mcp/web.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/network.h"
#include "net/download.h"

/* An address that is public: what leads from there to a private one leads inside. */
#define SOME_PUBLIC_ADDRESS "1.1.1.1"

/* --------------------------------------------------------------------- URLs */

static void url_finish(CURLU **url) {
    curl.url_cleanup(*url);
}

static CURLU *parse(const char *text) {
    CURLU *url = curl.url();
    if (url != NULL && curl.url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK) {
        curl.url_cleanup(url);
        url = NULL;
    }
    return url;
}

static bool add_part(CURLU *url, CURLUPart part, unsigned flags, struct buf *out) {
    char *text = NULL;
    bool is_there = curl.url_get(url, part, &text, flags) == CURLUE_OK;
    if (is_there) {
        buf_add_text(out, text);
    }
    curl.free(text);
    return is_there;
}

bool web_origin(const char *url, struct buf *out) {
    CLEANUP(url_finish) CURLU *parts = download_is_url(url) ? parse(url) : NULL;
    if (parts == NULL || !add_part(parts, CURLUPART_SCHEME, 0, out)) {
        return false;
    }
    buf_add_text(out, "://");
    bool has_host = add_part(parts, CURLUPART_HOST, 0, out);
    buf_add_char(out, ':');
    return add_part(parts, CURLUPART_PORT, CURLU_DEFAULT_PORT, out) && has_host && !out->failed;
}

bool web_is_same_origin(const char *a, const char *b) {
    CLEANUP(buf_finish) struct buf one = BUF_INIT;
    CLEANUP(buf_finish) struct buf other = BUF_INIT;
    return web_origin(a, &one) && web_origin(b, &other) && strcasecmp(one.data, other.data) == 0;
}

bool web_path(const char *url, struct buf *out) {
    CLEANUP(url_finish) CURLU *parts = parse(url);
    if (parts == NULL || !add_part(parts, CURLUPART_PATH, 0, out)) {
        return false;
    }
    while (out->length > 0 && out->data[out->length - 1] == '/') {
        buf_truncate(out, out->length - 1);
    }
    return !out->failed;
}

/* The host of a URL, without the brackets of an address of IPv6. */
static bool host_of(const char *url, struct buf *out) {
    CLEANUP(url_finish) CURLU *parts = parse(url);
    if (parts == NULL || !add_part(parts, CURLUPART_HOST, 0, out) || out->failed) {
        return false;
    }
    if (out->data[0] == '[') {
        memmove(out->data, out->data + 1, out->length - 1);
        buf_truncate(out, out->length - 2);
    }
    return true;
}

bool web_is_private(const char *url) {
    CLEANUP(buf_finish) struct buf host = BUF_INIT;
    struct network address;
    return host_of(url, &host) && (strcasecmp(host.data, "localhost") == 0 ||
                                   (network_read(host.data, &address) &&
                                    download_leads_inside(SOME_PUBLIC_ADDRESS, host.data)));
}

bool web_is_secret(const char *url) {
    CLEANUP(buf_finish) struct buf host = BUF_INIT;
    return strncasecmp(url, "https://", 8) == 0 ||
           (host_of(url, &host) &&
            (strcasecmp(host.data, "localhost") == 0 || strncmp(host.data, "127.", 4) == 0 ||
             strcmp(host.data, "::1") == 0));
}

/* ----------------------------------------------------------------- requests */

/* With a proxy all addresses are that of the proxy, which has rules of its own. */
static bool has_proxy(void) {
    static const char *const variables[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                            "ALL_PROXY"};
    for (size_t i = 0; i < ARRAY_LENGTH(variables); i++) {
        const char *proxy = getenv(variables[i]);
        if (proxy != NULL && proxy[0] != '\0') {
            return true;
        }
    }
    return false;
}

/* Called when a server is reached, and before anything is asked of it. */
static int meet_server(void *user, char *address, char *own, int port, int own_port) {
    (void)user;
    (void)own;
    (void)port;
    (void)own_port;
    return download_leads_inside(SOME_PUBLIC_ADDRESS, address) && !has_proxy()
                   ? CURL_PREREQFUNC_ABORT
                   : CURL_PREREQFUNC_OK;
}

bool web_set_up(CURL *easy, const char *url, const struct web_rules *rules, char *reason) {
    CURLcode code = curl.easy_setopt(easy, CURLOPT_URL, url);
#define SET(option, value) code = code != CURLE_OK ? code : curl.easy_setopt(easy, option, value)
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_USERAGENT, "toolrack/" TOOLRACK_VERSION);
    SET(CURLOPT_ACCEPT_ENCODING, "identity");
    SET(CURLOPT_ERRORBUFFER, reason);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)WEB_CONNECT_MS_MAX);
    if (rules->ca != NULL) {
        SET(CURLOPT_CAINFO, rules->ca);
    }
    if (!rules->allows_private) {
        SET(CURLOPT_PREREQFUNCTION, meet_server);
    }
#undef SET
    /* Who stops does not wait for a name server that does not answer. Before libcurl 7.87 there is
     * no such option. */
    (void)curl.easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    return code == CURLE_OK;
}

int web_explain(CURL *easy, CURLcode failure, const char *url, const struct web_rules *rules,
                const char *reason, struct toolrack_error *err) {
    if (failure == CURLE_OUT_OF_MEMORY) {
        return error_oom(err);
    }
    if (failure == CURLE_ABORTED_BY_CALLBACK && !rules->allows_private) {
        char *address = NULL;
        (void)curl.easy_getinfo(easy, CURLINFO_PRIMARY_IP, &address);
        return error_set(err, TOOLRACK_E_IO,
                         "MCP server '%s' is not asked: %s leads to the address %s, which is of "
                         "this machine or network; write that address in its place, or \"allow\": "
                         "[\"private\"], if that is meant",
                         rules->name, url, address != NULL ? address : "of no host");
    }
    bool is_certificate = failure == CURLE_PEER_FAILED_VERIFICATION;
    return error_set(err, TOOLRACK_E_IO, "MCP server '%s' cannot be reached: %s: %s%s%s%s",
                     rules->name, url, curl.easy_strerror(failure), reason[0] != '\0' ? ": " : "",
                     reason,
                     is_certificate ? "; a file with the certificate of its authority can be named "
                                      "as \"ca\""
                                    : "");
}

/* -------------------------------------------------------------------- fetch */

struct fetching {
    struct web_response *response;
    bool is_too_long;
    bool (*is_over)(void *user);
    void *user;
};

static size_t take_body(char *bytes, size_t size, size_t count, void *user) {
    struct fetching *of = user;
    buf_add(&of->response->body, bytes, size * count);
    of->is_too_long = of->response->body.length > WEB_BODY_MAX;
    return of->is_too_long || of->response->body.failed ? CURL_WRITEFUNC_ERROR : size * count;
}

static int look(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d) {
    const struct fetching *of = user;
    (void)a;
    (void)b;
    (void)c;
    (void)d;
    return of->is_over != NULL && of->is_over(of->user);
}

static void slist_freep(struct curl_slist **list) {
    curl.slist_free_all(*list);
}

static void easy_finish(CURL **easy) {
    curl.easy_cleanup(*easy);
}

static bool set_fetch(CURL *easy, const struct web_request *request, struct curl_slist *headers,
                      struct fetching *of) {
    CURLcode code = curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)WEB_FETCH_MS_MAX);
#define SET(option, value) code = code != CURLE_OK ? code : curl.easy_setopt(easy, option, value)
    SET(CURLOPT_HTTPHEADER, headers);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, of);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, look);
    SET(CURLOPT_XFERINFODATA, of);
    if (request->form != NULL) {
        SET(CURLOPT_POSTFIELDSIZE, (long)strlen(request->form));
        SET(CURLOPT_POSTFIELDS, request->form);
    }
#undef SET
    return code == CURLE_OK;
}

int web_fetch(const struct web_request *request, const struct web_rules *rules,
              bool (*is_over)(void *user), void *user, struct web_response *ret,
              struct toolrack_error *err) {
    char reason[CURL_ERROR_SIZE] = "";
    struct fetching of = {.response = ret, .is_over = is_over, .user = user};
    CLEANUP(easy_finish) CURL *easy = curl.easy_init();
    CLEANUP(slist_freep)
    struct curl_slist *headers = curl.slist_append(NULL, "Accept: application/json");
    if (headers == NULL ||
        (request->authorization != NULL &&
         curl.slist_append(headers, request->authorization) == NULL) ||
        easy == NULL || !web_set_up(easy, request->url, rules, reason) ||
        !set_fetch(easy, request, headers, &of)) {
        return error_oom(err);
    }
    *ret = (struct web_response){0};
    CURLcode result = curl.easy_perform(easy);
    if (result == CURLE_OK) {
        buf_add_char(&ret->body, '\0'); /* there is a text, if an empty one */
        (void)curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &ret->status);
        return ret->body.failed ? error_oom(err) : 0;
    }
    bool was_stopped = result == CURLE_ABORTED_BY_CALLBACK && look(&of, 0, 0, 0, 0);
    int code = ret->body.failed ? error_oom(err)
               : of.is_too_long
                       ? error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                                   "MCP server '%s': %s sends more than the %u bytes allowed",
                                   rules->name, request->url, WEB_BODY_MAX)
               : was_stopped ? error_set(err, TOOLRACK_E_CANCELLED,
                                         "MCP server '%s' did not answer in time", rules->name)
                             : web_explain(easy, result, request->url, rules, reason, err);
    web_response_finish(ret);
    *ret = (struct web_response){0};
    return code;
}
