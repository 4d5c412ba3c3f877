#include "net/download.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/network.h"
#include "net/libcurl.h"

struct downloading {
    CURL *easy;
    int fd;
    const char *url;
    const struct download_limits *limits;
    char first[INET6_ADDRSTRLEN]; /* the address of the first server */
    uint64_t size_max;
    uint64_t received;
    size_t header_length;
    int code; /* negative: why it was stopped */
    char reason[CURL_ERROR_SIZE];
    struct toolrack_error *err;
};

static void easy_finish(CURL **easy) {
    if (*easy != NULL) {
        curl.easy_cleanup(*easy);
    }
}

bool download_is_url(const char *text) {
    return strncasecmp(text, "https://", 8) == 0 || strncasecmp(text, "http://", 7) == 0;
}

/* ------------------------------------------------------------------ addresses */

/* An address that is translated to one of IPv4 leads there. */
static bool is_public(const char *address) {
    struct network one;
    unsigned char inner[16];
    return network_read(address, &one) &&
           network_special(network_translated(one.bytes, inner) ? inner : one.bytes) == NULL;
}

bool download_leads_inside(const char *from, const char *to) {
    return is_public(from) && !is_public(to);
}

const char *download_onward(const char *url) {
    return strncasecmp(url, "https:", 6) == 0 ? "https" : "http,https";
}

/* Called when a server is reached, and before anything is asked of it. With a proxy all addresses
 * are that of the proxy, which has rules of its own. */
static int meet_server(void *user, char *address, char *own, int port, int own_port) {
    struct downloading *of = user;
    (void)own;
    (void)port;
    (void)own_port;
    if (of->first[0] == '\0') {
        (void)snprintf(of->first, sizeof of->first, "%s", address);
    }
    if (!download_leads_inside(of->first, address)) {
        return CURL_PREREQFUNC_OK;
    }
    of->code = error_set(of->err, TOOLRACK_E_REFUSED,
                         "%s, at the public address %s, leads to %s, which is of this machine or "
                         "of a private network; if you want what is there, name its address",
                         of->url, of->first, address);
    return CURL_PREREQFUNC_ABORT;
}

/* ------------------------------------------------------------------- download */

static size_t take_body(char *bytes, size_t size, size_t count, void *user) {
    struct downloading *of = user;
    size_t length = size * count;
    long status = 0;
    (void)curl.easy_getinfo(of->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status != 200) {
        return length; /* the text of an error, or of a redirect */
    }
    of->received += length;
    if (of->received > of->size_max) {
        of->code = error_set(of->err, TOOLRACK_E_LIMIT_EXCEEDED, "%s is longer than %llu bytes",
                             of->url, (unsigned long long)of->size_max);
    } else {
        int why = write_all(of->fd, bytes, length);
        of->code = why < 0 ? error_set(of->err, TOOLRACK_E_IO, "cannot keep what %s has: %s",
                                       of->url, strerror(-why))
                           : 0;
    }
    return of->code == 0 ? length : CURL_WRITEFUNC_ERROR;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *user) {
    struct downloading *of = user;
    (void)bytes;
    of->header_length += size * count;
    if (of->header_length <= DOWNLOAD_HEADER_MAX) {
        return size * count;
    }
    of->code = error_set(of->err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the headers of the responses of %s are longer than %u bytes", of->url,
                         DOWNLOAD_HEADER_MAX);
    return CURL_WRITEFUNC_ERROR;
}

static bool set_up(struct downloading *of) {
    CURL *easy = of->easy;
    CURLcode code = curl.easy_setopt(easy, CURLOPT_URL, of->url);
#define SET(option, value) code = code != CURLE_OK ? code : curl.easy_setopt(easy, option, value)
    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_REDIR_PROTOCOLS_STR, download_onward(of->url));
    SET(CURLOPT_PREREQFUNCTION, meet_server);
    SET(CURLOPT_PREREQDATA, of);
    SET(CURLOPT_FOLLOWLOCATION, 1L);
    SET(CURLOPT_MAXREDIRS, (long)DOWNLOAD_REDIRECTS_MAX);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_USERAGENT, "toolrack");
    /* Nothing is decompressed before it is verified: none is asked for, and with that option alone
     * libcurl would decode what a server sends all the same. */
    SET(CURLOPT_ACCEPT_ENCODING, "identity");
    SET(CURLOPT_HTTP_CONTENT_DECODING, 0L);
    SET(CURLOPT_ERRORBUFFER, of->reason);
    SET(CURLOPT_CONNECTTIMEOUT_MS, (long)of->limits->connect_ms);
    SET(CURLOPT_LOW_SPEED_LIMIT, (long)DOWNLOAD_SLOW_BYTES_MIN);
    SET(CURLOPT_LOW_SPEED_TIME, (long)of->limits->slow_s);
    SET(CURLOPT_TIMEOUT, (long)of->limits->all_s);
    SET(CURLOPT_WRITEFUNCTION, take_body);
    SET(CURLOPT_WRITEDATA, of);
    SET(CURLOPT_HEADERFUNCTION, take_header);
    SET(CURLOPT_HEADERDATA, of);
#undef SET
    return code == CURLE_OK;
}

static int explain(const struct downloading *of, CURLcode failure, struct toolrack_error *err) {
    if (of->code < 0) {
        return of->code;
    }
    switch (failure) {
    case CURLE_OUT_OF_MEMORY: return error_oom(err);
    case CURLE_OPERATION_TIMEDOUT:
        return error_set(err, TOOLRACK_E_TIMEOUT,
                         "%s did not come in time: the limits are %u s to connect, %u s with less "
                         "than %u bytes each, and %u s in all",
                         of->url, of->limits->connect_ms / 1000u, of->limits->slow_s,
                         DOWNLOAD_SLOW_BYTES_MIN, of->limits->all_s);
    case CURLE_PARTIAL_FILE:
        return error_set(err, TOOLRACK_E_IO,
                         "%s was cut off: the server has sent less than it said (%s); try again",
                         of->url, of->reason);
    case CURLE_TOO_MANY_REDIRECTS:
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%s redirects more than %d times; name the address that it leads to",
                         of->url, DOWNLOAD_REDIRECTS_MAX);
    case CURLE_UNSUPPORTED_PROTOCOL: /* also of an answer: libcurl takes what is no head for 0.9 */
        if (strstr(of->reason, "HTTP/0.9") != NULL) {
            return error_set(err, TOOLRACK_E_IO,
                             "%s cannot be downloaded: what answers there is no HTTP server",
                             of->url);
        }
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s leads to an address that is neither https nor, unless it begins with "
                         "http itself, http",
                         of->url);
    default:
        return error_set(err, TOOLRACK_E_IO, "%s cannot be downloaded: %s", of->url,
                         of->reason[0] != '\0' ? of->reason : curl.easy_strerror(failure));
    }
}

int download(const char *url, int fd, uint64_t size_max, const struct download_limits *limits,
             struct toolrack_error *err) {
    int code = libcurl_load(err);
    if (code < 0) {
        return code;
    }
    CLEANUP(easy_finish) CURL *easy = curl.easy_init();
    struct downloading of = {
            .easy = easy, .fd = fd, .url = url, .limits = limits, .size_max = size_max, .err = err};
    if (easy == NULL || !set_up(&of)) {
        return error_oom(err);
    }
    CURLcode result = curl.easy_perform(easy);
    if (result != CURLE_OK) {
        return explain(&of, result, err);
    }
    long status = 0;
    (void)curl.easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    return status == 200 ? 0
           : status == 404 || status == 410
                   ? error_set(err, TOOLRACK_E_NOT_FOUND, "%s does not exist (HTTP status %ld)",
                               url, status)
                   : error_set(err, TOOLRACK_E_IO, "%s cannot be downloaded: HTTP status %ld", url,
                               status);
}
