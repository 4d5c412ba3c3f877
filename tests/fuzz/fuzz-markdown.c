/* A model's text for a terminal (cli/markdown.h): whatever it is, and wherever it is cut, what
 * comes out is UTF-8 without control characters; with colour its only sequences are those of
 * styles. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/markdown.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void show(const char *text, size_t length, size_t piece, bool color, struct buf *out) {
    struct markdown *markdown = markdown_create(color);
    require(markdown != NULL);
    for (size_t at = 0; at < length; at += piece) {
        size_t left = length - at;
        markdown_feed(markdown, text + at, left < piece ? left : piece, 20, out);
    }
    markdown_end(markdown, 20, out);
    require(markdown_pending(markdown) == NULL);
    markdown_destroy(markdown);
    require(!out->failed);
}

static void check(const struct buf *out, bool color) {
    require(out->length == 0 || utf8_valid(out->data, out->length));
    for (size_t i = 0; i < out->length; i++) {
        unsigned char c = (unsigned char)out->data[i];
        if (color && c == 0x1b) {
            size_t more = strspn(out->data + i + 1, "[0123456789;");
            require(strncmp(out->data + i + 1, "[0", 2) == 0 && out->data[i + 1 + more] == 'm');
        } else {
            require(c == '\n' || (c >= ' ' && c != 0x7f));
            require(c != 0xc2 || (unsigned char)out->data[i + 1] >= 0xa0);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    for (int color = 0; color < 2; color++) {
        struct buf whole = BUF_INIT;
        struct buf cut = BUF_INIT;
        show((const char *)data, size, size + 1, color, &whole);
        show((const char *)data, size, 1, color, &cut);
        check(&whole, color);
        require(whole.length == cut.length &&
                (whole.length == 0 || memcmp(whole.data, cut.data, whole.length) == 0));
        buf_finish(&whole);
        buf_finish(&cut);
    }
    return 0;
}
