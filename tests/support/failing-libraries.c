/* What the JSON library allocates by itself, and copies of strings, count among the allocations of
 * failing-malloc.h: they are of shared libraries, whose malloc() is not that of the test program.
 */
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t size);

char *__wrap_strdup(const char *text) {
    return __wrap_strndup(text, strlen(text));
}

char *__wrap_strndup(const char *text, size_t size) {
    size_t length = strnlen(text, size);
    char *copy = malloc(length + 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
        copy[length] = '\0';
    }
    return copy;
}

static void *take(void *context, size_t size) {
    (void)context;
    return malloc(size);
}

static void *grow(void *context, void *memory, size_t old_size, size_t size) {
    (void)context;
    (void)old_size;
    return realloc(memory, size);
}

static void release(void *context, void *memory) {
    (void)context;
    free(memory);
}

static const yyjson_alc counted = {.malloc = take, .realloc = grow, .free = release};

/* The functions that take an allocator, or none. */
#define WRAP(type, name, parameters, arguments) \
    type __real_##name parameters;              \
    type __wrap_##name parameters;              \
    type __wrap_##name parameters {             \
        alc = alc != NULL ? alc : &counted;     \
        return __real_##name arguments;         \
    }

WRAP(yyjson_mut_doc *, yyjson_mut_doc_new, (const yyjson_alc *alc), (alc))
WRAP(yyjson_mut_doc *, yyjson_doc_mut_copy, (yyjson_doc * doc, const yyjson_alc *alc), (doc, alc))
WRAP(yyjson_doc *, yyjson_mut_doc_imut_copy, (yyjson_mut_doc * doc, const yyjson_alc *alc),
     (doc, alc))
WRAP(yyjson_doc *, yyjson_read_opts,
     (char *text, size_t length, yyjson_read_flag flags, const yyjson_alc *alc,
      yyjson_read_err *err),
     (text, length, flags, alc, err))
WRAP(char *, yyjson_val_write_opts,
     (const yyjson_val *value, yyjson_write_flag flags, const yyjson_alc *alc, size_t *ret,
      yyjson_write_err *err),
     (value, flags, alc, ret, err))
WRAP(char *, yyjson_mut_val_write_opts,
     (const yyjson_mut_val *value, yyjson_write_flag flags, const yyjson_alc *alc, size_t *ret,
      yyjson_write_err *err),
     (value, flags, alc, ret, err))
WRAP(char *, yyjson_mut_write_opts,
     (const yyjson_mut_doc *doc, yyjson_write_flag flags, const yyjson_alc *alc, size_t *ret,
      yyjson_write_err *err),
     (doc, flags, alc, ret, err))
