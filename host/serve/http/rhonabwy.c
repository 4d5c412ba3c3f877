#include "serve/http/rhonabwy.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

struct rhonabwy rhonabwy;

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define RHONABWY_FUNCTION(name) {"r_" #name, offsetof(struct rhonabwy, name)},
        RHONABWY_FUNCTIONS(RHONABWY_FUNCTION)
#undef RHONABWY_FUNCTION
};

int rhonabwy_load(struct toolrack_error *err) {
    if (rhonabwy.jwt_init != NULL) {
        return 0;
    }
    void *library = dlopen("librhonabwy.so." RHONABWY_SONAME, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return error_set(err, TOOLRACK_E_IO,
                         "tokens of OAuth need librhonabwy, which cannot be loaded: %s; install "
                         "Debian's package librhonabwy" RHONABWY_SONAME,
                         dlerror());
    }
    struct rhonabwy found;
    for (size_t i = 0; i < ARRAY_LENGTH(functions); i++) {
        void *function = dlsym(library, functions[i].name);
        if (function == NULL) {
            (void)dlclose(library);
            return error_set(err, TOOLRACK_E_IO,
                             "librhonabwy has no %s: it is too old; install 1.1 or newer",
                             functions[i].name);
        }
        memcpy((char *)&found + functions[i].offset, &function, sizeof function);
    }
    if (found.global_init() != RHN_OK) {
        (void)dlclose(library);
        return error_set(err, TOOLRACK_E_IO, "librhonabwy cannot be set up");
    }
    rhonabwy = found;
    return 0;
}
