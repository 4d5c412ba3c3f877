/* A line of an MCP server: it is refused, or it has the shape of the kind that it is said to be. */
#include <stdint.h>
#include <stdlib.h>

#include "remote/mcp/message.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    struct toolrack_error err = {0};
    CLEANUP(mcp_message_destroyp) struct message *message = NULL;
    int code = mcp_message_read((const char *)data, size, &message, &err);
    if (code < 0) {
        require(message == NULL && err.message[0] != '\0');
        return 0;
    }
    bool is_call = message->kind == MESSAGE_REQUEST || message->kind == MESSAGE_NOTIFICATION;
    require(is_call == (message->method != NULL));
    require((message->kind == MESSAGE_RESULT) == yyjson_is_obj(message->result));
    require((message->kind == MESSAGE_FAILURE) == (message->text != NULL));
    require(message->kind != MESSAGE_REQUEST || message->id != NULL);
    require(message->params == NULL || yyjson_is_obj(message->params));
    return 0;
}
