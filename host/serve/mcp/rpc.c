/* rpc.c - see rpc.h. */
#include "serve/mcp/rpc.h"

#include <stdint.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/json-lenient.h"
#include "base/json-twice.h"
#include "base/json.h"
#include "base/text.h"

#define LITERAL(text) text, sizeof(text) - 1

const char *rpc_string(yyjson_val *object, const char *key) {
    yyjson_val *value = yyjson_obj_get(object, key);
    const char *text = yyjson_get_str(value);
    return text != NULL && strlen(text) == yyjson_get_len(value) ? text : NULL;
}

const char *rpc_string_fault(yyjson_val *object, const char *key) {
    return yyjson_is_str(yyjson_obj_get(object, key))
                   ? "has a zero character (\\u0000) in it; leave it out"
                   : "must be a string";
}

/* Whether the text of a number is one of an integer: 12, -3, 1.0. */
static bool is_integer(const char *text, size_t length) {
    size_t at = length > 0 && text[0] == '-';
    size_t digits = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++) {
        digits++;
    }
    if (at < length && text[at] == '.') {
        for (at++; at < length && text[at] == '0'; at++) {
        }
    }
    return digits > 0 && at == length;
}

const char *rpc_scalar(yyjson_val *value, const yyjson_alc *alc, size_t *ret_length) {
    if (yyjson_is_raw(value)) {
        size_t length = yyjson_get_len(value);
        const char *raw = yyjson_get_raw(value);
        if (!is_integer(raw, length)) {
            return NULL;
        }
        char *text = alc->malloc(alc->ctx, length + 1);
        if (text != NULL) {
            memcpy(text, raw, length);
            text[length] = '\0';
            *ret_length = length;
        }
        return text;
    }
    return yyjson_is_str(value) ? yyjson_val_write_opts(value, 0, alc, ret_length, NULL) : NULL;
}

static void set_broken(struct rpc_message *message, enum rpc_code code, const char *problem) {
    message->kind = RPC_BROKEN;
    message->code = code;
    message->problem = problem;
}

/* The id, as far as it is one: an error about the rest of a message carries it. */
static void read_id(struct rpc_message *message, yyjson_val *id, const yyjson_alc *alc) {
    size_t length = 0;
    const char *text = rpc_scalar(id, alc, &length);
    if (text == NULL) {
        set_broken(message, RPC_INVALID_REQUEST, "the id must be a string or an integer");
    } else if (length > RPC_ID_MAX) {
        set_broken(message, RPC_INVALID_REQUEST, "the id is longer than 1024 bytes");
    } else {
        message->id = text;
        message->id_length = length;
    }
}

/* What has no method is an answer, and answers are never answered, however they are written: a peer
 * that does the same would send its own errors back for ever. One whose id is none belongs to no
 * question. */
static void read_response(struct rpc_message *message, yyjson_val *root, const yyjson_alc *alc) {
    yyjson_val *id = yyjson_obj_get(root, "id");
    message->result = yyjson_obj_get(root, "result");
    message->error = yyjson_obj_get(root, "error");
    if (id != NULL) {
        read_id(message, id, alc);
    }
    if (message->result != NULL || message->error != NULL) {
        message->kind = RPC_RESPONSE;
    } else if (message->kind != RPC_BROKEN) {
        set_broken(message, RPC_INVALID_REQUEST,
                   "a message must have a \"method\", a \"result\" or an \"error\"");
    }
}

#define DEEP "the message is nested deeper than 128 levels"

/* Of a message that is too deep what stands at its root is read, so that the error has its id. A
 * response is never answered: it counts as one that is no answer. */
static void refuse_deep(struct rpc_message *message) {
    if (message->kind == RPC_RESPONSE) {
        message->result = message->error = NULL;
    } else if (message->kind != RPC_BROKEN) {
        set_broken(message, RPC_INVALID_REQUEST, DEEP);
    }
}

static void classify(struct rpc_message *message, yyjson_val *root, const yyjson_alc *alc) {
    if (yyjson_is_arr(root)) {
        set_broken(message, RPC_INVALID_REQUEST,
                   "toolrack takes no batches; send each message alone");
        return;
    }
    if (!yyjson_is_obj(root)) {
        set_broken(message, RPC_INVALID_REQUEST, "a message must be a JSON object");
        return;
    }
    yyjson_val *id = yyjson_obj_get(root, "id");
    yyjson_val *method = yyjson_obj_get(root, "method");
    if (method == NULL) {
        read_response(message, root, alc);
        return;
    }
    if (id != NULL) {
        read_id(message, id, alc);
        if (message->kind == RPC_BROKEN) {
            return;
        }
    }
    if (!yyjson_equals_str(yyjson_obj_get(root, "jsonrpc"), "2.0")) {
        set_broken(message, RPC_INVALID_REQUEST, "the member \"jsonrpc\" must be \"2.0\"");
        return;
    }
    message->method = rpc_string(root, "method");
    message->method_length = yyjson_get_len(method);
    message->params = yyjson_obj_get(root, "params");
    if (message->method == NULL) {
        set_broken(message, RPC_INVALID_REQUEST,
                   yyjson_is_str(method) ? "the member \"method\" has a zero character in it"
                                         : "the member \"method\" must be a string");
    } else if (yyjson_is_null(message->params)) {
        message->params = NULL; /* some clients write null for none */
    } else if (message->params != NULL && !yyjson_is_obj(message->params)) {
        set_broken(message, RPC_INVALID_PARAMS, "the member \"params\" must be an object");
    }
    if (message->kind != RPC_BROKEN) {
        message->kind = id != NULL ? RPC_REQUEST : RPC_NOTIFICATION;
    }
}

#define TWICE "the message gives a member twice; give it once: "

/* Of two members of one name a gateway reads another one than this server. False: out of memory. */
static bool refuse_twice(struct rpc_message *message, yyjson_val *root, const yyjson_alc *alc) {
    char pointer[JSON_POINTER_MAX];
    enum json_twice twice = json_find_twice(root, pointer);
    if (twice == JSON_TWICE_NONE || message->kind == RPC_BROKEN) {
        return twice != JSON_TWICE_NO_MEMORY;
    }
    if (message->kind == RPC_RESPONSE) { /* never answered: it counts as one that is no answer */
        message->result = NULL;
        return twice != JSON_TWICE_NO_MEMORY;
    }
    size_t length = strlen(pointer);
    char *problem = alc->malloc(alc->ctx, sizeof TWICE + length);
    if (twice == JSON_TWICE_NO_MEMORY || problem == NULL) {
        return false;
    }
    memcpy(problem, TWICE, sizeof TWICE - 1);
    memcpy(problem + sizeof TWICE - 1, pointer, length + 1);
    set_broken(message, RPC_INVALID_REQUEST, problem);
    return true;
}

yyjson_val *rpc_object(yyjson_val *value, const yyjson_alc *alc) {
    char pointer[JSON_POINTER_MAX];
    yyjson_read_err why;
    if (!yyjson_is_str(value) || yyjson_get_len(value) == 0) {
        return value;
    }
    yyjson_val *read = yyjson_doc_get_root(json_read_lenient(
            yyjson_get_str(value), yyjson_get_len(value), YYJSON_READ_NUMBER_AS_RAW, alc, &why));
    bool is_object = yyjson_is_obj(read) && !json_is_deeper(read, RPC_DEPTH_MAX) &&
                     json_find_twice(read, pointer) == JSON_TWICE_NONE;
    return is_object ? read : value;
}

bool rpc_read(char *text, size_t length, const yyjson_alc *alc, struct rpc_message *ret) {
    *ret = (struct rpc_message){.kind = RPC_NOTIFICATION};
    json_replace_lone_halves(text, length);
    memset(text + length, 0, YYJSON_PADDING_SIZE);
    yyjson_read_err problem = {0};
    yyjson_doc *doc = yyjson_read_opts(text, length, YYJSON_READ_INSITU | YYJSON_READ_NUMBER_AS_RAW,
                                       alc, &problem);
    if (doc == NULL) {
        set_broken(ret, RPC_PARSE_ERROR, problem.msg != NULL ? problem.msg : "not JSON");
        return problem.code != YYJSON_READ_ERROR_MEMORY_ALLOCATION;
    }
    yyjson_val *root = yyjson_doc_get_root(doc);
    classify(ret, root, alc);
    if (json_is_deeper(root, RPC_DEPTH_MAX)) {
        refuse_deep(ret);
        return true;
    }
    return refuse_twice(ret, root, alc);
}

/* ----------------------------------------------------------------- writing */

void rpc_add_member(struct buf *out, const char *name) {
    if (out->length > 0 && out->data[out->length - 1] != '{') {
        buf_add_char(out, ',');
    }
    buf_add_char(out, '"');
    buf_add_text(out, name);
    buf_add(out, LITERAL("\":"));
}

void rpc_add_string(struct buf *out, const char *name, const char *text) {
    if (text != NULL) {
        rpc_add_member(out, name);
        buf_add_json_string(out, text, strlen(text));
    }
}

void rpc_add_error(struct buf *out, const char *id, int code, const char *message,
                   const char *data) {
    buf_add(out, LITERAL("{\"jsonrpc\":\"2.0\""));
    if (id != NULL) {
        buf_add(out, LITERAL(",\"id\":"));
        buf_add_text(out, id);
    }
    buf_add(out, LITERAL(",\"error\":{\"code\":"));
    buf_add_json_int(out, code);
    buf_add(out, LITERAL(",\"message\":"));
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    text_add_line(&line, message, strlen(message));
    buf_add_json_string(out, line.data != NULL ? line.data : "", line.length);
    if (data != NULL) {
        buf_add(out, LITERAL(",\"data\":"));
        buf_add_text(out, data);
    }
    buf_add(out, LITERAL("}}"));
}
