/* inputs.c - see inputs.h. */
#include "serve/mcp/inputs.h"

#include <string.h>

#include "base/json-write.h"

unsigned inputs_capability(const struct toolrack_input *input) {
    switch (input->kind) {
    case TOOLRACK_INPUT_FORM: return CAPABILITY_FORM;
    case TOOLRACK_INPUT_URL: return CAPABILITY_URL;
    case TOOLRACK_INPUT_SAMPLE: return CAPABILITY_SAMPLING;
    case TOOLRACK_INPUT_ROOTS: return CAPABILITY_ROOTS;
    }
    return 0;
}

/* Forms have properties, also those that ask for consent alone. */
static void add_schema(struct buf *out, const char *schema) {
    yyjson_doc *doc =
            schema != NULL ? yyjson_read(schema, strlen(schema), YYJSON_READ_NUMBER_AS_RAW) : NULL;
    rpc_add_member(out, "requestedSchema");
    if (yyjson_is_obj(yyjson_obj_get(yyjson_doc_get_root(doc), "properties"))) {
        json_add_value(out, yyjson_doc_get_root(doc));
    } else {
        buf_add_text(out, "{\"type\":\"object\",\"properties\":{}}");
    }
    yyjson_doc_free(doc);
}

static void add_elicitation(struct buf *out, const struct dialect *dialect,
                            const struct toolrack_input *input, const char *id) {
    bool is_form = input->kind == TOOLRACK_INPUT_FORM;
    rpc_add_string(out, "method", "elicitation/create");
    rpc_add_member(out, "params");
    buf_add_char(out, '{');
    if ((dialect->traits & DIALECT_URL_MODE) != 0) {
        rpc_add_string(out, "mode", is_form ? "form" : "url");
    }
    rpc_add_string(out, "message", input->message != NULL ? input->message : "");
    if (is_form) {
        add_schema(out, input->schema);
    } else {
        rpc_add_string(out, "elicitationId", id);
        rpc_add_string(out, "url", input->request);
    }
    buf_add_char(out, '}');
}

void inputs_add(struct buf *out, const struct dialect *dialect, const struct toolrack_input *input,
                const char *id) {
    switch (input->kind) {
    case TOOLRACK_INPUT_FORM:
    case TOOLRACK_INPUT_URL: add_elicitation(out, dialect, input, id); break;
    case TOOLRACK_INPUT_SAMPLE:
        rpc_add_string(out, "method", "sampling/createMessage");
        rpc_add_member(out, "params");
        buf_add_text(out, input->request != NULL ? input->request : "{}");
        break;
    case TOOLRACK_INPUT_ROOTS:
        rpc_add_string(out, "method", "roots/list");
        rpc_add_member(out, "params");
        buf_add_text(out, "{}");
        break;
    }
}

/* ----------------------------------------------------------------- answers */

/* A copy of a value as JSON, in memory that the library frees. */
static char *copy_json(yyjson_val *value) {
    struct buf text = BUF_INIT;
    json_add_value(&text, value);
    char *copy = text.failed ? NULL : toolrack_alloc(text.length + 1);
    if (copy != NULL) {
        memcpy(copy, text.data, text.length + 1);
    }
    buf_finish(&text);
    return copy;
}

static bool accept(struct toolrack_input *input, yyjson_val *content) {
    input->content = copy_json(content);
    input->answer = input->content != NULL ? TOOLRACK_ANSWER_ACCEPTED : TOOLRACK_ANSWER_NOBODY;
    return true;
}

static bool take_elicitation(struct toolrack_input *input, yyjson_val *result) {
    const char *action = rpc_string(result, "action");
    yyjson_val *content = yyjson_obj_get(result, "content");
    if (action == NULL || (content != NULL && !yyjson_is_obj(content))) {
        return false;
    }
    if (strcmp(action, "accept") == 0) {
        input->answer = TOOLRACK_ANSWER_ACCEPTED;
        return content == NULL || accept(input, content);
    }
    input->answer =
            strcmp(action, "decline") == 0 ? TOOLRACK_ANSWER_DECLINED : TOOLRACK_ANSWER_DISMISSED;
    return input->answer == TOOLRACK_ANSWER_DECLINED || strcmp(action, "cancel") == 0;
}

bool inputs_take(struct toolrack_input *input, yyjson_val *result) {
    switch (input->kind) {
    case TOOLRACK_INPUT_FORM:
    case TOOLRACK_INPUT_URL: return take_elicitation(input, result);
    case TOOLRACK_INPUT_SAMPLE:
        return yyjson_get_type(yyjson_obj_get(result, "content")) != YYJSON_TYPE_NONE &&
               rpc_string(result, "role") != NULL && accept(input, result);
    case TOOLRACK_INPUT_ROOTS:
        return yyjson_is_arr(yyjson_obj_get(result, "roots")) && accept(input, result);
    }
    return false;
}
