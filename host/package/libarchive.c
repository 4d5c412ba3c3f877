#include "package/libarchive.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/library.h"

struct libarchive libarchive;

int libarchive_load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define ARCHIVE_SYMBOL(name) "archive_" #name,
            ARCHIVE_FUNCTIONS(ARCHIVE_SYMBOL)
#undef ARCHIVE_SYMBOL
                    "archive_errno",
    };
    static const struct library library = {.name = "libarchive",
                                           .file = "libarchive.so.13",
                                           .package = "libarchive13",
                                           .oldest = "3.4",
                                           .who_needs_it = "the package needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool is_loaded;
    (void)pthread_mutex_lock(&lock);
    int code = is_loaded ? 0 : library_load(&library, &libarchive, err);
    is_loaded = code == 0;
    (void)pthread_mutex_unlock(&lock);
    return code;
}
