#include "tool.h"

bool tool_place(struct tr_call *call, const char *field, struct place *ret) {
    struct place_fault fault;
    const char *given = tr_get_string(call, field, NULL);
    if (given == NULL) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, field, "must be a path without U+0000");
        return false;
    }
    if (!place_find(given, ret, &fault)) {
        (void)tool_fail(call, field, &fault);
        return false;
    }
    return true;
}

bool tool_text(struct tr_call *call, const char *field, struct text *ret) {
    const char *data;
    uint64_t length;
    if (call->api->get_string(call, field, &data, &length) != TR_OK) {
        return false;
    }
    text_add(ret, data, length);
    return true;
}

tr_status tool_fail(struct tr_call *call, const char *field, const struct place_fault *fault) {
    return tr_fail(call, fault->code, field, "%s", fault->message);
}

tr_status tool_fail_text(struct tr_call *call, const struct text *text, const char *advice) {
    return text->too_long ? tr_fail(call, TR_LIMIT_EXCEEDED, NULL,
                                    "the result would be longer than %zu MiB; %s",
                                    TEXT_SIZE_MAX >> 20, advice)
                          : tr_fail(call, TR_FAILED, NULL, "out of memory");
}

tr_status tool_reply(struct tr_call *call, struct text *text, const char *advice) {
    if (text->failed) {
        tr_status status = tool_fail_text(call, text, advice);
        text_finish(text);
        return status;
    }
    const char *data = text->length > 0 ? text->data : "";
    tr_status status = call->api->reply_text(call, data, text->length);
    if (status == TR_OK) {
        (void)tr_put_object(call, NULL);
        (void)call->api->put_string(call, "content", data, text->length);
        status = tr_put_end(call);
    }
    text_finish(text);
    return status;
}
