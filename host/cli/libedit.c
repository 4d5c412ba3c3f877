#include "cli/libedit.h"

#include "base/cleanup.h"
#include "base/library.h"

struct libedit libedit;

int libedit_load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define LIBEDIT_NAME(name) #name,
            LIBEDIT_FUNCTIONS(LIBEDIT_NAME)
#undef LIBEDIT_NAME
    };
    static const struct library library = {.name = "libedit",
                                           .file = "libedit.so.2",
                                           .package = "libedit2",
                                           .oldest = "3.1",
                                           .who_needs_it = "the chat needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    return libedit.el_init != NULL ? 0 : library_load(&library, &libedit, err);
}
