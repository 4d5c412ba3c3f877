#include "api/offer-request.h"

#include <string.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/error.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static int wrong(struct toolrack_error *err, const char *field, const char *what) {
    return error_set_field(err, TOOLRACK_E_INVALID_ARGUMENTS, field, "%s", what);
}

static int need_string(yyjson_val *arguments, const char *pointer, struct toolrack_error *err) {
    return yyjson_is_str(yyjson_ptr_get(arguments, pointer))
                   ? 0
                   : wrong(err, pointer, "must be a text");
}

static int check_completion(yyjson_val *arguments, enum offer *ret, struct toolrack_error *err) {
    yyjson_val *type = yyjson_ptr_get(arguments, "/ref/type");
    bool is_prompt = yyjson_equals_str(type, "ref/prompt");
    if (!is_prompt && !yyjson_equals_str(type, "ref/resource")) {
        return wrong(err, "/ref/type", "must be ref/prompt or ref/resource");
    }
    *ret = is_prompt ? OFFER_COMPLETE_PROMPT : OFFER_COMPLETE_RESOURCE;
    int code = need_string(arguments, is_prompt ? "/ref/name" : "/ref/uri", err);
    code = code < 0 ? code : need_string(arguments, "/argument/name", err);
    return code < 0 ? code : need_string(arguments, "/argument/value", err);
}

int offer_request_check(enum toolrack_offer what, const char *arguments, enum offer *ret,
                        struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(arguments, strlen(arguments), YYJSON_READ_NOFLAG);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (!yyjson_is_obj(root)) {
        return wrong(err, "", "the arguments must be one JSON object");
    }
    switch (what) {
    case TOOLRACK_OFFER_RESOURCES: *ret = OFFER_RESOURCES; return 0;
    case TOOLRACK_OFFER_TEMPLATES: *ret = OFFER_TEMPLATES; return 0;
    case TOOLRACK_OFFER_PROMPTS: *ret = OFFER_PROMPTS; return 0;
    case TOOLRACK_OFFER_READ: *ret = OFFER_READ; return need_string(root, "/uri", err);
    case TOOLRACK_OFFER_SUBSCRIBE: *ret = OFFER_SUBSCRIBE; return need_string(root, "/uri", err);
    case TOOLRACK_OFFER_UNSUBSCRIBE:
        *ret = OFFER_UNSUBSCRIBE;
        return need_string(root, "/uri", err);
    case TOOLRACK_OFFER_PROMPT: *ret = OFFER_PROMPT; return need_string(root, "/name", err);
    case TOOLRACK_OFFER_COMPLETE: return check_completion(root, ret, err);
    }
    return wrong(err, "", "this library does not know what is asked for");
}
