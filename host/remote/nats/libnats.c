#include "remote/nats/libnats.h"

#include <pthread.h>

#include "base/cleanup.h"
#include "base/library.h"

struct libnats nats;

static pthread_mutex_t loading = PTHREAD_MUTEX_INITIALIZER;

/* Caller holds the lock. */
static int load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define NATS_FUNCTION(name) "nats" #name,
            NATS_FUNCTIONS(NATS_FUNCTION)
#undef NATS_FUNCTION
#define NATS_NAMED_FUNCTION(name) #name,
                    NATS_NAMED_FUNCTIONS(NATS_NAMED_FUNCTION)
#undef NATS_NAMED_FUNCTION
    };
    static const struct library library = {.name = "libnats",
                                           .file = "libnats.so." NATS_SONAME,
                                           .package = "libnats" NATS_SONAME,
                                           .oldest = "3.4",
                                           .who_needs_it = "a host that joins others needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    struct libnats found;
    if (nats.nats_Open != NULL) {
        return 0;
    }
    int code = library_load(&library, &found, err);
    if (code < 0) {
        return code;
    }
    if (found.nats_Open(-1) != NATS_OK) {
        return error_set(err, TOOLRACK_E_IO, "libnats cannot be set up");
    }
    nats = found;
    return 0;
}

int libnats_load(struct toolrack_error *err) {
    (void)pthread_mutex_lock(&loading);
    int code = load(err);
    (void)pthread_mutex_unlock(&loading);
    return code;
}
