#include "net/libcurl.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "base/library.h"

struct libcurl curl;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* Caller holds the lock. */
static int load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define CURL_FUNCTION(name) "curl_" #name,
            CURL_FUNCTIONS(CURL_FUNCTION)
#undef CURL_FUNCTION
    };
    static const struct library library = {.name = "libcurl",
                                           .file = "libcurl.so.4",
                                           .package = "libcurl4",
                                           .oldest = "7.85",
                                           .who_needs_it = "what speaks HTTP needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    struct libcurl found;
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

int libcurl_load(struct toolrack_error *err) {
    (void)pthread_mutex_lock(&loading);
    int code = load(err);
    (void)pthread_mutex_unlock(&loading);
    return code;
}
