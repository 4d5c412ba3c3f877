#include "serve/http/microhttpd.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

struct microhttpd mhd;

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define MHD_FUNCTION(name) {"MHD_" #name, offsetof(struct microhttpd, name)},
        MHD_FUNCTIONS(MHD_FUNCTION)
#undef MHD_FUNCTION
};

int microhttpd_load(struct toolrack_error *err) {
    if (mhd.start_daemon != NULL) {
        return 0;
    }
    void *library = dlopen("libmicrohttpd.so.12", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return error_set(err, TOOLRACK_E_IO,
                         "serving over HTTP needs libmicrohttpd, which cannot be loaded: %s",
                         dlerror());
    }
    struct microhttpd found;
    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++) {
        void *function = dlsym(library, functions[i].name);
        if (function == NULL) {
            (void)dlclose(library);
            return error_set(err, TOOLRACK_E_IO,
                             "libmicrohttpd has no %s: it is too old; install 0.9.75 or newer",
                             functions[i].name);
        }
        memcpy((char *)&found + functions[i].offset, &function, sizeof function);
    }
    mhd = found;
    return 0;
}
