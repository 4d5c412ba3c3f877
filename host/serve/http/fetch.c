#include "serve/http/fetch.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <curl/curl.h>

#include "base/authority.h"
#include "base/cleanup.h"
#include "base/library.h"
#include "base/tcp.h"

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
    struct tcp_meter meter;
    bool too_much;
};

static curl_socket_t open_socket(void *user, curlsocktype purpose, struct curl_sockaddr *address) {
    struct taking *taking = user;
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    (void)purpose;
    if (fd >= 0) {
        tcp_meter_add(&taking->meter, fd);
    }
    return fd >= 0 ? fd : CURL_SOCKET_BAD;
}

static int close_socket(void *user, curl_socket_t fd) {
    struct taking *taking = user;
    tcp_meter_remove(&taking->meter, fd);
    return close(fd);
}

/* Called all the time: also while nothing comes that take() gets. */
static int check_all(void *user, curl_off_t download_total, curl_off_t downloaded,
                     curl_off_t upload_total, curl_off_t uploaded) {
    struct taking *taking = user;
    (void)download_total;
    (void)downloaded;
    (void)upload_total;
    (void)uploaded;
    taking->too_much =
            taking->too_much || tcp_meter_read(&taking->meter) > taking->bytes_max + FETCH_MORE_MAX;
    return taking->too_much;
}

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

static void set_up(CURL *handle, const char *url, uint32_t seconds, struct taking *taking) {
    (void)curl.easy_setopt(handle, CURLOPT_URL, url);
    (void)curl.easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    (void)curl.easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
    (void)curl.easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    (void)curl.easy_setopt(handle, CURLOPT_TIMEOUT, (long)seconds);
    (void)curl.easy_setopt(handle, CURLOPT_USERAGENT, "toolrack");
    (void)curl.easy_setopt(handle, CURLOPT_WRITEFUNCTION, take);
    (void)curl.easy_setopt(handle, CURLOPT_WRITEDATA, taking);
    (void)curl.easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    (void)curl.easy_setopt(handle, CURLOPT_OPENSOCKETDATA, taking);
    (void)curl.easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, close_socket);
    (void)curl.easy_setopt(handle, CURLOPT_CLOSESOCKETDATA, taking);
    (void)curl.easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    (void)curl.easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, check_all);
    (void)curl.easy_setopt(handle, CURLOPT_XFERINFODATA, taking);
}

int fetch(const char *url, size_t bytes_max, uint32_t seconds, struct buf *ret,
          struct toolrack_error *err) {
    /* What is fetched decides who may call tools. */
    if (!authority_is_safe(url)) {
        return error_set(err, TOOLRACK_E_INVALID, "%s is not fetched: its address must be https",
                         url);
    }
    struct taking taking = {.text = ret, .bytes_max = bytes_max}; /* outlives the connection */
    CLEANUP(curl_cleanp) CURL *handle = curl.easy_init();
    long status = 0;
    if (handle == NULL) {
        return error_oom(err);
    }
    set_up(handle, url, seconds, &taking);
    CURLcode code = curl.easy_perform(handle);
    (void)curl.easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    if (taking.too_much) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "%s has more than %zu bytes, or more than %u beside them", url, bytes_max,
                         FETCH_MORE_MAX);
    }
    if (code != CURLE_OK) {
        return error_set(err, TOOLRACK_E_IO, "cannot fetch %s: %s", url, curl.easy_strerror(code));
    }
    return status == 200
                   ? 0
                   : error_set(err, TOOLRACK_E_IO, "cannot fetch %s: status %ld", url, status);
}
