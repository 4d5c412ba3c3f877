#include "serve/http/microhttpd.h"

#include "base/cleanup.h"
#include "base/library.h"

struct microhttpd mhd;

int microhttpd_load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define MHD_FUNCTION(name) "MHD_" #name,
            MHD_FUNCTIONS(MHD_FUNCTION)
#undef MHD_FUNCTION
    };
    static const struct library library = {.name = "libmicrohttpd",
                                           .file = "libmicrohttpd.so.12",
                                           .package = "libmicrohttpd12",
                                           .oldest = "0.9.75",
                                           .who_needs_it = "serving over HTTP needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    return mhd.start_daemon != NULL ? 0 : library_load(&library, &mhd, err);
}
