/* libcurl.h - libcurl, loaded when a conversation begins, or something is downloaded.
 *
 * With the thirty libraries that it depends on it takes 7 ms to load, three times as long as all
 * other work of a short verb; few verbs need it. */
#pragma once

#include <curl/curl.h>

#include "base/error.h"

/** X(name), for curl_<name>. */
#define CURL_FUNCTIONS(X)  \
    X(easy_cleanup)        \
    X(easy_escape)         \
    X(easy_getinfo)        \
    X(easy_header)         \
    X(easy_init)           \
    X(easy_perform)        \
    X(easy_reset)          \
    X(easy_setopt)         \
    X(easy_strerror)       \
    X(free)                \
    X(getdate)             \
    X(global_init)         \
    X(multi_add_handle)    \
    X(multi_cleanup)       \
    X(multi_info_read)     \
    X(multi_init)          \
    X(multi_perform)       \
    X(multi_poll)          \
    X(multi_remove_handle) \
    X(multi_strerror)      \
    X(multi_wakeup)        \
    X(slist_append)        \
    X(slist_free_all)      \
    X(url)                 \
    X(url_cleanup)         \
    X(url_get)             \
    X(url_set)             \
    X(url_strerror)

struct libcurl {
#define CURL_MEMBER(name) __typeof__(&curl_##name) name;
    CURL_FUNCTIONS(CURL_MEMBER)
#undef CURL_MEMBER
};

/** The functions of libcurl, valid for a thread after its libcurl_load(). */
extern struct libcurl curl;

/** Load it, unless it is loaded already.
 * @return 0; TOOLRACK_E_IO: the message names what is missing. [any-thread] */
int libcurl_load(struct toolrack_error *err);
