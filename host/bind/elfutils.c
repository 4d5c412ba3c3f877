#include "bind/elfutils.h"

#include "base/cleanup.h"
#include "base/library.h"

struct elfutils elfutils;

int elfutils_load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define ELFUTILS_NAME(name) #name,
            ELFUTILS_FUNCTIONS(ELFUTILS_NAME)
#undef ELFUTILS_NAME
    };
    static const struct library library = {.name = "elfutils' libdw",
                                           .file = "libdw.so.1",
                                           .package = "libdw1",
                                           .oldest = "0.188",
                                           .who_needs_it = "reading a library needs",
                                           .functions = functions,
                                           .function_count = ARRAY_LENGTH(functions)};
    int code = elfutils.elf_begin != NULL ? 0 : library_load(&library, &elfutils, err);
    if (code == 0) {
        (void)elfutils.elf_version(EV_CURRENT);
    }
    return code;
}
