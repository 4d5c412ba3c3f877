#include "bind/libclang.h"

#include <dlfcn.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/library.h"

struct libclang libclang;

/* Versions that are tried: the interface is that of all of them. */
#define NEWEST 30
#define OLDEST 11

/* The file has the version in its name, and what follows differs between distributions. */
static const char *find_file(char *room, size_t size) {
    static const char *const forms[] = {"libclang-%d.so.1", "libclang-%d.so.13", "libclang-%d.so",
                                        "libclang.so.%d"};
    for (int version = NEWEST; version >= OLDEST; version--) {
        for (size_t i = 0; i < ARRAY_LENGTH(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            (void)snprintf(room, size, forms[i], version);
#pragma GCC diagnostic pop
            void *handle = dlopen(room, RTLD_NOW | RTLD_LOCAL);
            if (handle != NULL) {
                return room; /* and it stays, to be found by library_load() */
            }
        }
    }
    return "libclang.so.1";
}

int libclang_load(struct toolrack_error *err) {
    static const char *const functions[] = {
#define LIBCLANG_NAME(result, name, arguments) "clang_" #name,
            LIBCLANG_FUNCTIONS(LIBCLANG_NAME)
#undef LIBCLANG_NAME
    };
    char room[32];
    if (libclang.createIndex != NULL) {
        return 0;
    }
    const struct library library = {.name = "libclang",
                                    .file = find_file(room, sizeof room),
                                    .package = "clang",
                                    .oldest = "11",
                                    .who_needs_it = "reading a header needs",
                                    .functions = functions,
                                    .function_count = ARRAY_LENGTH(functions)};
    return library_load(&library, &libclang, err);
}
