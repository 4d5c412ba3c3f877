#include "serve/http/rhonabwy.h"

#include "base/cleanup.h"
#include "base/library.h"

struct rhonabwy rhonabwy;

int rhonabwy_load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define RHONABWY_FUNCTION(name) "r_" #name,
            RHONABWY_FUNCTIONS(RHONABWY_FUNCTION)
#undef RHONABWY_FUNCTION
    };
    static const struct library library = {.name = "librhonabwy",
                                           .file = "librhonabwy.so." RHONABWY_SONAME,
                                           .package = "librhonabwy" RHONABWY_SONAME,
                                           .oldest = "1.1",
                                           .who_needs_it = "tokens of OAuth need",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    struct rhonabwy found;
    if (rhonabwy.jwt_init != NULL) {
        return 0;
    }
    int code = library_load(&library, &found, err);
    if (code < 0) {
        return code;
    }
    if (found.global_init() != RHN_OK) {
        return error_set(err, TOOLRACK_E_IO, "librhonabwy cannot be set up");
    }
    rhonabwy = found;
    return 0;
}
