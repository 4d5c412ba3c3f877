/* What a client brings back, of any bytes: cursors and states. Only what was sealed is opened, and
 * only as what it was sealed for; what was sealed comes out as it went in. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "serve/mcp/seal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static bool opens(const struct mcp *mcp, enum seal_kind kind, const char *text, size_t length) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    return seal_open(mcp, kind, text, length, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct mcp mcp = {.key = {1, 2, 3}};
    CLEANUP(buf_finish) struct buf sealed = BUF_INIT;
    CLEANUP(buf_finish) struct buf opened = BUF_INIT;
    CLEANUP(freep) char *text = malloc(size + 1);
    require(text != NULL);
    if (size > 0) {
        memcpy(text, data, size);
    }
    require(!opens(&mcp, SEAL_CURSOR, text, size) && !opens(&mcp, SEAL_STATE, text, size));
    seal_add(&mcp, SEAL_STATE, data, size, &sealed);
    require(!sealed.failed && seal_open(&mcp, SEAL_STATE, sealed.data, sealed.length, &opened));
    require(opened.length == size && (size == 0 || memcmp(opened.data, data, size) == 0));
    require(!opens(&mcp, SEAL_CURSOR, sealed.data, sealed.length));
    if (size > 1) {
        /* Changed, cut or extended it is refused. */
        size_t at = (data[0] * 256u + data[1]) % sealed.length;
        char was = sealed.data[at];
        sealed.data[at] = was == 'A' ? 'B' : 'A';
        require(!opens(&mcp, SEAL_STATE, sealed.data, sealed.length));
        sealed.data[at] = was;
        require(!opens(&mcp, SEAL_STATE, sealed.data, at));
        buf_add_char(&sealed, 'A');
        require(!opens(&mcp, SEAL_STATE, sealed.data, sealed.length));
    }
    return 0;
}
