/* fuzz-turn.c - any text as a message of any format. What is taken has its calls
 * answered, by all kinds of outcomes in turn; the answer must be an array of JSON
 * in one line, and must not answer a message that calls nothing. The first byte chooses the format.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/utf8.h"
#include "format/turn.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static const struct toolrack_error failure = {.code = TOOLRACK_E_NOT_FOUND, .message = "gone"};

#define JSON(text) .json = (text), .length = sizeof(text) - 1
static const struct format_outcome outcomes[] = {
        {JSON("3.0")},
        {JSON("\"text \\u0000 \\n\"")},
        {JSON("{\"content\":[],\"a\":1}")},
        {.err = &failure},
        {JSON("{\"content\":[{\"type\":\"image\",\"data\":\"YQ==\",\"mimeType\":\"image/png\"},"
              "{\"type\":\"audio\"},{\"type\":\"resource\"},{\"type\":\"text\"},4],"
              "\"structuredContent\":[1]}"),
         .is_content = true},
};

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void check_call(const struct format_call *call) {
    require(call->name != NULL && utf8_valid(call->name, strlen(call->name)));
    yyjson_doc *doc =
            yyjson_read(call->arguments, call->arguments_length, YYJSON_READ_BIGNUM_AS_RAW);
    require(yyjson_is_obj(yyjson_doc_get_root(doc)));
    require(call->problem == NULL || call->problem->message[0] != '\0');
    yyjson_doc_free(doc);
}

static void answer(const struct format_message *message) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack_error err;
    struct format_outcome *all = calloc(message->count + 1, sizeof *all);
    require(all != NULL);
    for (size_t i = 0; i < message->count; i++) {
        check_call(&message->calls[i]);
        all[i] = outcomes[i % ARRAY_LENGTH(outcomes)];
    }
    require(format_write_results(message, all, &out, &err) == 0);
    require(memchr(out.data, '\n', out.length) == NULL);
    yyjson_doc *doc = yyjson_read(out.data, out.length, YYJSON_READ_BIGNUM_AS_RAW);
    require(yyjson_is_arr(yyjson_doc_get_root(doc)));
    require((yyjson_arr_size(yyjson_doc_get_root(doc)) == 0) == (message->count == 0));
    yyjson_doc_free(doc);
    free(all);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    struct format_message message;
    struct toolrack_error err;
    if (size == 0) {
        return 0;
    }
    enum toolrack_format format = (enum toolrack_format)(data[0] % TOOLRACK_FORMAT_COUNT);
    int code = format_read_message(format, (const char *)data + 1, size - 1, &message, &err);
    if (code == 0) {
        answer(&message);
        format_message_finish(&message);
    } else {
        require(code == TOOLRACK_E_INVALID || code == TOOLRACK_E_LIMIT_EXCEEDED);
        require(err.code == code && utf8_valid(err.message, strlen(err.message)));
    }
    return 0;
}
