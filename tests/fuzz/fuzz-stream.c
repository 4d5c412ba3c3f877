/* fuzz-stream.c - any bytes as a stream of any format, fed whole and in pieces: both
 * ways must come to the same, and a message that comes out must be one to who
 * reads messages. The first byte chooses the format, the second the size of the pieces. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "format/turn.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

CLEANUP_DEFINE(struct toolrack_stream, toolrack_stream_free)

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void take_text(void *user, const char *text, size_t length) {
    require(length > 0 && utf8_valid(text, length));
    *(size_t *)user += length;
}

/* How a stream ended. */
struct end {
    int code;
    char *message; /* owned; NULL: none */
    size_t shown;  /* bytes of text */
};

static struct end feed(enum toolrack_format format, const char *bytes, size_t size, size_t piece) {
    CLEANUP(toolrack_stream_freep) struct toolrack_stream *stream = NULL;
    struct toolrack_error err = {0};
    struct end end = {0};
    const char *message = NULL;
    size_t length = 0;
    require(toolrack_stream_new(format, take_text, &end.shown, &stream, &err) == 0);
    for (size_t at = 0; at < size && end.code == 0; at += piece) {
        end.code = toolrack_stream_feed(stream, bytes + at, size - at < piece ? size - at : piece,
                                        &err);
    }
    int code = toolrack_stream_end(stream, &message, &length, &err);
    require(end.code == 0 || code == end.code);
    end.code = code;
    require(code == 0 || (err.code == code && utf8_valid(err.message, strlen(err.message))));
    if (code == 0) {
        require(strlen(message) == length);
        end.message = strdup(message);
        require(end.message != NULL);
    }
    return end;
}

static void check_message(enum toolrack_format format, const char *text) {
    struct format_message message;
    struct toolrack_error err;
    int code = format_read_message(format, text, strlen(text), &message, &err);
    /* What a server adds to a message without calls may be the calls of another format. */
    bool is_odd = code == TOOLRACK_E_INVALID && strstr(err.message, "it looks like") != NULL;
    require(code == 0 || code == TOOLRACK_E_LIMIT_EXCEEDED || code == TOOLRACK_E_REFUSED || is_odd);
    if (code == 0) {
        format_message_finish(&message);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    enum toolrack_format format = (enum toolrack_format)(data[0] % TOOLRACK_FORMAT_MCP);
    const char *bytes = (const char *)data + 2;
    struct end whole = feed(format, bytes, size - 2, size);
    struct end cut = feed(format, bytes, size - 2, (size_t)data[1] % 64 + 1);
    require(whole.code == cut.code && whole.shown == cut.shown);
    require((whole.message == NULL) == (cut.message == NULL));
    if (whole.message != NULL) {
        require(strcmp(whole.message, cut.message) == 0);
        check_message(format, whole.message);
    }
    free(whole.message);
    free(cut.message);
    return 0;
}
