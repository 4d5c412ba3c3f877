#include "net/libcurl.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

struct libcurl curl;

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define CURL_FUNCTION(name) {"curl_" #name, offsetof(struct libcurl, name)},
        CURL_FUNCTIONS(CURL_FUNCTION)
#undef CURL_FUNCTION
};

int libcurl_load(struct toolrack_error *err) {
    if (curl.global_init != NULL) {
        return 0;
    }
    void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return error_set(err, TOOLRACK_E_IO,
                         "the conversation needs libcurl, which cannot be loaded: %s", dlerror());
    }
    struct libcurl found;
    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++) {
        void *function = dlsym(library, functions[i].name);
        if (function == NULL) {
            (void)dlclose(library);
            return error_set(err, TOOLRACK_E_IO,
                             "libcurl has no %s: it is too old; install 7.85 or newer",
                             functions[i].name);
        }
        memcpy((char *)&found + functions[i].offset, &function, sizeof function);
    }
    if (found.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        (void)dlclose(library);
        return error_set(err, TOOLRACK_E_IO, "libcurl cannot be set up");
    }
    curl = found;
    return 0;
}
