#include "base/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

int library_load(const struct library *library, void *ret, struct toolrack_error *err) {
    CLEANUP(freep) void **found = calloc(library->function_count, sizeof *found);
    if (found == NULL) {
        return error_oom(err);
    }
    void *handle = dlopen(library->file, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        return error_set(err, TOOLRACK_E_IO,
                         "%s %s, which cannot be loaded: %s; install Debian's package %s",
                         library->who_needs_it, library->name, dlerror(), library->package);
    }
    for (size_t i = 0; i < library->function_count; i++) {
        found[i] = dlsym(handle, library->functions[i]);
        if (found[i] == NULL) {
            (void)dlclose(handle);
            return error_set(err, TOOLRACK_E_IO, "%s has no %s: it is too old; install %s or newer",
                             library->name, library->functions[i], library->oldest);
        }
    }
    memcpy(ret, found, library->function_count * sizeof *found);
    return 0;
}
