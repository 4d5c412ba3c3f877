#include "serve/http/fetch.h"

#include <string.h>

#include <curl/curl.h>

#include "base/authority.h"
#include "base/cleanup.h"
#include "base/library.h"

/** X(name), for curl_<name>. */
#define CURL_FUNCTIONS(X) \
    X(easy_cleanup)       \
    X(easy_getinfo)       \
    X(easy_init)          \
    X(easy_perform)       \
    X(easy_setopt)        \
    X(easy_strerror)      \
    X(global_init)

static struct {
#define CURL_MEMBER(name) __typeof__(&curl_##name) name;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
} curl;

int fetch_load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define CURL_FUNCTION(name) "curl_" #name,
            CURL_FUNCTIONS(CURL_FUNCTION)
#undef CURL_FUNCTION
    };
    static const struct library library = {.name = "libcurl",
                                           .file = "libcurl.so.4",
                                           .package = "libcurl4",
                                           .oldest = "7.85",
                                           .who_needs_it = "\"jwks_url\" needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    __typeof__(curl) found;
    if (curl.global_init != NULL) {
        return 0;
    }
    int code = library_load(&library, &found, err);
    if (code < 0) {
        return code;
    }
    if (found.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return error_set(err, TOOLRACK_E_IO, "libcurl cannot be set up");
    }
    curl = found;
    return 0;
}

struct taking {
    struct buf *text;
    size_t bytes_max;
    bool too_much;
};

static size_t take(char *bytes, size_t size, size_t count, void *user) {
    struct taking *taking = user;
    taking->too_much = taking->text->length + size * count > taking->bytes_max;
    if (taking->too_much) {
        return 0;
    }
    buf_add(taking->text, bytes, size * count);
    return taking->text->failed ? 0 : size * count;
}

static void curl_cleanp(CURL **handle) {
    if (*handle != NULL) {
        curl.easy_cleanup(*handle);
    }
}

int fetch(const char *url, size_t bytes_max, uint32_t seconds, struct buf *ret,
          struct toolrack_error *err) {
    /* What is fetched decides who may call tools. */
    if (!authority_is_safe(url)) {
        return error_set(err, TOOLRACK_E_INVALID, "%s is not fetched: its address must be https",
                         url);
    }
    CLEANUP(curl_cleanp) CURL *handle = curl.easy_init();
    struct taking taking = {.text = ret, .bytes_max = bytes_max};
    long status = 0;
    if (handle == NULL) {
        return error_oom(err);
    }
    (void)curl.easy_setopt(handle, CURLOPT_URL, url);
    (void)curl.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl.easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    (void)curl.easy_setopt(handle, CURLOPT_TIMEOUT, (long)seconds);
    (void)curl.easy_setopt(handle, CURLOPT_USERAGENT, "toolrack");
    (void)curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
    (void)curl.easy_setopt(handle, CURLOPT_WRITEDATA, &taking);
    CURLcode code = curl.easy_perform(handle);
    (void)curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (taking.too_much) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "%s has more than %zu bytes", url,
                         bytes_max);
    }
    if (code != CURLE_OK) {
        return error_set(err, TOOLRACK_E_IO, "cannot fetch %s: %s", url, curl.easy_strerror(code));
    }
    return status == 200
                   ? 0
                   : error_set(err, TOOLRACK_E_IO, "cannot fetch %s: status %ld", url, status);
}
