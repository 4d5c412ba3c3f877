/* A page from anywhere (plugins/fetch): its text becomes UTF-8, whatever encoding it claims, and
 * whatever HTML that is becomes Markdown that is UTF-8 too, without zero bytes, and the same each
 * time. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "charset.h"
#include "markdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static bool never(void *user) {
    (void)user;
    return false;
}

static char *simplify(const char *text, size_t length, size_t *ret_length) {
    char *markdown = NULL;
    enum markdown_fault fault = markdown_of_html(text, length, "https://example.org/a/b", never,
                                                 NULL, &markdown, ret_length);
    require(fault == MARKDOWN_OK && markdown != NULL);
    return markdown;
}

/* The first line is the header Content-Type. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *bytes = (const char *)data;
    const char *end = size > 0 ? memchr(bytes, '\n', size) : NULL;
    size_t head = end != NULL ? (size_t)(end - bytes) : 0;
    char type[200];
    char charset[CHARSET_NAME_SIZE];
    size_t length = 0;
    head = head < sizeof type ? head : sizeof type - 1;
    memcpy(type, bytes, head);
    type[head] = '\0';
    const char *body = bytes + head;
    charset_find(body, size - head, type, true, charset);
    require(memchr(charset, '\0', sizeof charset) != NULL);
    char *text = charset_decode(body, size - head, charset, &length);
    if (text == NULL) {
        return 0; /* an encoding that nobody knows */
    }
    require(utf8_valid(text, length) && strlen(text) == length);
    size_t once_length = 0;
    size_t again_length = 0;
    char *once = simplify(text, length, &once_length);
    char *again = simplify(text, length, &again_length);
    require(once_length == again_length && memcmp(once, again, once_length) == 0);
    require(utf8_valid(once, once_length) && strlen(once) == once_length);
    free(once);
    free(again);
    free(text);
    return 0;
}
