#include "store/libsqlite.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/library.h"

struct libsqlite sqlite;

int libsqlite_load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define SQLITE_SYMBOL(name) "sqlite3_" #name,
            SQLITE_FUNCTIONS(SQLITE_SYMBOL)
#undef SQLITE_SYMBOL
    };
    static const struct library library = {.name = "SQLite",
                                           .file = "libsqlite3.so.0",
                                           .package = "libsqlite3-0",
                                           .oldest = "3.37",
                                           .who_needs_it = "the store needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    /* Several hosts of one process may open their stores at once. */
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool is_loaded;
    (void)pthread_mutex_lock(&lock);
    int code = is_loaded ? 0 : library_load(&library, &sqlite, err);
    is_loaded = code == 0;
    (void)pthread_mutex_unlock(&lock);
    return code;
}
