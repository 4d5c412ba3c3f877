/* headers.c - see headers.h. */
#include "serve/mcp/headers.h"

#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/param-header.h"
#include "base/utf8.h"
#include "serve/mcp/request.h"

#define BASE64_PREFIX "=?base64?"
#define BASE64_SUFFIX "?="

/* A value without the white space that HTTP allows around it. */
static const char *trim(const char *value, size_t *ret_length) {
    while (*value == ' ' || *value == '\t') {
        value++;
    }
    size_t length = strlen(value);
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t')) {
        length--;
    }
    *ret_length = length;
    return value;
}

/* What a value means: part of it, or in `room`, which is empty, where it was encoded. NULL: it has
 * characters that it must not have, or there is no memory. */
static const char *decode(const char *value, struct buf *room, size_t *ret_length) {
    size_t length = 0;
    value = trim(value, &length);
    size_t frame = strlen(BASE64_PREFIX BASE64_SUFFIX);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)value[i];
        if ((c < 0x20 && c != '\t') || c > 0x7e) {
            return NULL;
        }
    }
    if (length < frame || memcmp(value, BASE64_PREFIX, strlen(BASE64_PREFIX)) != 0 ||
        memcmp(value + length - strlen(BASE64_SUFFIX), BASE64_SUFFIX, strlen(BASE64_SUFFIX)) != 0) {
        *ret_length = length;
        return value;
    }
    size_t size = 0;
    buf_reserve(room, base64_decoded_size_max(length - frame));
    if (room->failed ||
        base64_decode(value + strlen(BASE64_PREFIX), length - frame, room->data, &size) != NULL) {
        return NULL;
    }
    room->length = *ret_length = size;
    room->data[size] = '\0';
    return utf8_valid(room->data, size) ? room->data : NULL;
}

bool headers_decode(const char *value, struct buf *ret) {
    size_t length = 0;
    const char *text = decode(value, ret, &length);
    if (text != NULL && text != ret->data) {
        buf_add(ret, text, length);
    }
    return text != NULL && !ret->failed;
}

static bool refuse(struct request *request, const char *header, const char *problem) {
    request_fail(request, 400, RPC_HEADER_MISMATCH, NULL, "header mismatch: %s %s", header,
                 problem);
    return false;
}

bool headers_match(struct request *request, const struct rpc_message *message,
                   const struct method *method) {
    const struct mcp_headers *headers = request->headers;
    if (headers->method == NULL) {
        return refuse(request, "Mcp-Method", "is missing");
    }
    size_t length = 0;
    const char *named = trim(headers->method, &length);
    if (length != message->method_length || memcmp(named, message->method, length) != 0) {
        return refuse(request, "Mcp-Method", "differs from the method of the message");
    }
    if (method == NULL || method->subject == NULL) {
        return true;
    }
    yyjson_val *subject = yyjson_obj_get(message->params, method->subject);
    if (!yyjson_is_str(subject)) {
        return true; /* the method refuses that itself */
    }
    if (headers->name == NULL) {
        return refuse(request, "Mcp-Name", "is missing");
    }
    CLEANUP(buf_finish) struct buf room = BUF_INIT;
    const char *name = decode(headers->name, &room, &length);
    if (name == NULL) {
        return refuse(request, "Mcp-Name", "has characters that a header must not have");
    }
    return yyjson_equals_strn(subject, name, length) ||
           refuse(request, "Mcp-Name", "differs from the name in the message");
}

/* ------------------------------------------------------ headers of arguments */

/* Whether the value of a header means the value of an argument. */
static bool is_same(yyjson_val *value, const struct buf *header) {
    if (yyjson_is_str(value)) {
        return yyjson_equals_strn(value, header->data, header->length);
    }
    if (yyjson_is_bool(value)) {
        return strcmp(header->data, yyjson_get_bool(value) ? "true" : "false") == 0;
    }
    const char *raw = yyjson_get_raw(value);
    char *end = NULL;
    if (raw == NULL || header->length == 0 || header->length > 64) {
        return false;
    }
    CLEANUP(freep) char *own = strndup(raw, yyjson_get_len(value));
    if (own == NULL || strspn(header->data, "+-.0123456789eE") != header->length) {
        return false;
    }
    if (strcmp(own, header->data) == 0) {
        return true;
    }
    double number = strtod(header->data, &end);
    return *end == '\0' && number == strtod(own, NULL);
}

static bool check_argument(struct request *request, const char *name, yyjson_val *value) {
    const struct mcp_headers *headers = request->headers;
    char header[160];
    (void)snprintf(header, sizeof header, "Mcp-Param-%s", name);
    bool more = false;
    const char *text = headers->parameter != NULL ? headers->parameter(headers, name, &more) : NULL;
    bool is_absent = value == NULL || yyjson_is_null(value);
    if (text == NULL) {
        return is_absent || refuse(request, header, "is missing, and the argument is there");
    }
    if (more) {
        return refuse(request, header, "is there more than once");
    }
    CLEANUP(buf_finish) struct buf decoded = BUF_INIT;
    if (!headers_decode(text, &decoded)) {
        return refuse(request, header, "has characters that a header must not have");
    }
    if (is_absent) {
        return refuse(request, header, "is there, and the argument is not");
    }
    return is_same(value, &decoded) || refuse(request, header, "differs from the argument");
}

static bool check_properties(struct request *request, yyjson_mut_val *schema, yyjson_val *arguments,
                             unsigned level) {
    yyjson_mut_val *properties = yyjson_mut_obj_get(schema, "properties");
    size_t at;
    size_t count;
    yyjson_mut_val *key;
    yyjson_mut_val *property;
    yyjson_mut_obj_foreach(properties, at, count, key, property) {
        yyjson_val *value =
                yyjson_obj_getn(arguments, yyjson_mut_get_str(key), yyjson_mut_get_len(key));
        const char *name = yyjson_mut_get_str(yyjson_mut_obj_get(property, PARAM_HEADER_KEYWORD));
        if (name != NULL && !check_argument(request, name, value)) {
            return false;
        }
        if (level < PARAM_HEADER_DEPTH_MAX &&
            !check_properties(request, property, value, level + 1)) {
            return false;
        }
    }
    return true;
}

bool headers_check_arguments(struct request *request, const char *schema, yyjson_val *arguments) {
    if (request->headers == NULL || (request->dialect->traits & DIALECT_STATELESS) == 0 ||
        !param_header_may_be_in(schema)) {
        return true;
    }
    yyjson_doc *doc = yyjson_read(schema, strlen(schema), 0);
    yyjson_mut_doc *listed = doc != NULL ? yyjson_doc_mut_copy(doc, NULL) : NULL;
    yyjson_doc_free(doc);
    if (listed == NULL) {
        request_oom(request);
        return false;
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(listed);
    (void)param_header_clean(root, NULL, NULL);
    bool fits = check_properties(request, root, arguments, 1);
    yyjson_mut_doc_free(listed);
    return fits;
}
