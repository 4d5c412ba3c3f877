#include "remote/mcp/message.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

static int refuse(struct toolrack_error *err, const char *what) {
    return error_set(err, TOOLRACK_E_INVALID, "%s", what);
}

static int read_failure(struct message *message, yyjson_val *error, struct toolrack_error *err) {
    yyjson_val *code = yyjson_obj_get(error, "code");
    const char *text = yyjson_get_str(yyjson_obj_get(error, "message"));
    if (!yyjson_is_int(code) || text == NULL) {
        return refuse(err, "its \"error\" is no object with a whole number \"code\" and a string "
                           "\"message\"");
    }
    message->kind = MESSAGE_FAILURE;
    message->code = yyjson_get_sint(code);
    message->text = text;
    return 0;
}

/* An answer to a request of ours. */
static int read_answer(struct message *message, yyjson_val *root, struct toolrack_error *err) {
    yyjson_val *result = yyjson_obj_get(root, "result");
    yyjson_val *error = yyjson_obj_get(root, "error");
    if ((result != NULL) == (error != NULL)) {
        return refuse(err, "it has no \"method\", and not exactly one of \"result\" and \"error\"");
    }
    if (message->id == NULL && result != NULL) {
        return refuse(err, "it is a result without \"id\"");
    }
    if (message->id != NULL && !yyjson_is_uint(message->id)) {
        return refuse(err, "its \"id\" is none that a request had");
    }
    message->number = message->id != NULL ? yyjson_get_uint(message->id) : 0;
    if (error != NULL) {
        return read_failure(message, error, err);
    }
    if (!yyjson_is_obj(result)) {
        return refuse(err, "its \"result\" is no object");
    }
    message->kind = MESSAGE_RESULT;
    message->result = result;
    return 0;
}

static int read_call(struct message *message, yyjson_val *root, yyjson_val *method,
                     struct toolrack_error *err) {
    message->params = yyjson_obj_get(root, "params");
    if (!yyjson_is_str(method) || json_has_text(method, "")) {
        return refuse(err, "its \"method\" is no name");
    }
    if (message->params != NULL && !yyjson_is_obj(message->params)) {
        return refuse(err, "its \"params\" are no object");
    }
    message->method = yyjson_get_str(method);
    message->kind = message->id != NULL ? MESSAGE_REQUEST : MESSAGE_NOTIFICATION;
    return 0;
}

static int read_kind(struct message *message, struct toolrack_error *err) {
    yyjson_val *root = yyjson_doc_get_root(message->doc);
    yyjson_val *method = yyjson_obj_get(root, "method");
    if (!yyjson_is_obj(root)) {
        return refuse(err, "it is no JSON object");
    }
    if (json_is_deeper(root, MCP_MESSAGE_DEPTH_MAX)) {
        return error_set(err, TOOLRACK_E_INVALID, "it is nested more than %u levels deep",
                         MCP_MESSAGE_DEPTH_MAX);
    }
    if (!json_has_text(yyjson_obj_get(root, "jsonrpc"), "2.0")) {
        return refuse(err, "its \"jsonrpc\" is not \"2.0\"");
    }
    message->id = yyjson_obj_get(root, "id");
    message->id = yyjson_is_null(message->id) ? NULL : message->id;
    if (message->id != NULL && !yyjson_is_str(message->id) && !yyjson_is_num(message->id)) {
        return refuse(err, "its \"id\" is neither a string nor a number");
    }
    return method != NULL ? read_call(message, root, method, err) : read_answer(message, root, err);
}

/* Without the in-situ flag the text is not changed. */
static yyjson_doc *parse(const char *text, size_t length, yyjson_read_err *why) {
    return yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_NOFLAG, NULL, why);
}

/* The same where strings may have halves of characters. Only for what cannot be parsed otherwise,
 * as it takes a copy. */
static yyjson_doc *parse_mended(const char *text, size_t length, yyjson_read_err *why) {
    CLEANUP(buf_finish) struct buf copy = BUF_INIT;
    buf_add(&copy, text, length);
    if (copy.failed) {
        why->code = YYJSON_READ_ERROR_MEMORY_ALLOCATION;
        return NULL;
    }
    json_replace_lone_halves(copy.data, copy.length);
    return parse(copy.data, copy.length, why);
}

int mcp_message_read(const char *text, size_t length, struct message **ret,
                     struct toolrack_error *err) {
    yyjson_read_err why;
    CLEANUP(mcp_message_destroyp) struct message *message = calloc(1, sizeof *message);
    if (message == NULL) {
        return error_oom(err);
    }
    if (length > MCP_MESSAGE_MAX) {
        return error_set(err, TOOLRACK_E_INVALID, "it has more than %u bytes", MCP_MESSAGE_MAX);
    }
    message->doc = parse(text, length, &why);
    if (message->doc == NULL && why.code == YYJSON_READ_ERROR_INVALID_STRING) {
        message->doc = parse_mended(text, length, &why);
    }
    if (message->doc == NULL) {
        return why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                       ? error_oom(err)
                       : error_set(err, TOOLRACK_E_INVALID, "it is no JSON, at byte %zu: %s",
                                   why.pos, why.msg);
    }
    message->length = length;
    int code = read_kind(message, err);
    if (code == 0) {
        *ret = STEAL(message);
    }
    return code;
}

void mcp_message_destroy(struct message *message) {
    if (message != NULL) {
        yyjson_doc_free(message->doc);
        free(message);
    }
}
