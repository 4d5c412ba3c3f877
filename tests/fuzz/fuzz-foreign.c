/* What a definition, or a start frame, says of a function of a library: it is refused with a
 * message, or it makes a tool, and what is written of it makes the same again. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plugin/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static int parse(const void *text, size_t size, struct arena *arena, struct foreign *ret,
                 struct toolrack_error *err) {
    yyjson_doc *doc = yyjson_read(text, size, 0);
    int code = doc == NULL ? TOOLRACK_E_NO_MEMORY
                           : foreign_parse(yyjson_doc_get_root(doc), arena, ret, err);
    yyjson_doc_free(doc); /* nothing of it is used any more */
    return code;
}

static void check_again(const struct foreign *foreign, const struct descriptor *desc,
                        struct arena *arena) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf same = BUF_INIT;
    CLEANUP(descriptor_unrefp) struct descriptor *other = NULL;
    struct foreign again = {.name = foreign->name, .description = foreign->description};
    if (foreign_write(foreign, &text, NULL) == TOOLRACK_E_LIMIT_EXCEEDED) {
        return;
    }
    require(text.data != NULL && parse(text.data, text.length, arena, &again, NULL) == 0);
    require(foreign_write(&again, &same, NULL) == 0 && strcmp(text.data, same.data) == 0);
    require(foreign_describe(&again, NULL, &(struct descriptor_options){0}, &other, NULL) == 0);
    require(descriptor_same(desc, other));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct foreign foreign = {.name = "tool", .description = "Does it"};
    struct toolrack_error err = {0};
    struct arena arena;
    arena_init(&arena, NULL, 0);
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    int code = parse(data, size, &arena, &foreign, &err);
    if (code == 0) {
        code = foreign_describe(&foreign, NULL, &(struct descriptor_options){0}, &desc, &err);
    }
    require(code == 0 || code == TOOLRACK_E_NO_MEMORY || (err.code == code && err.message[0] != 0));
    if (code == 0) {
        require(desc->tool_count == 1 && desc->tools[0].typed);
        check_again(&foreign, desc, &arena);
    }
    arena_finish(&arena);
    return 0;
}
