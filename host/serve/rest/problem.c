#include "serve/rest/problem.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/rendering.h"
#include "view/json.h"

/* X(constant, status, title): each type of the error table as HTTP has it. A failed tool is a
 * failure of the server to its client; what waits for a person, or is switched off, is a state. See
 * problem_status() for a limit that ended a call. */
#define PROBLEMS(X)                                             \
    X(NOT_FOUND, 404, "Not found")                              \
    X(DISABLED, 409, "The tool is disabled")                    \
    X(INVALID_ARGUMENTS, 422, "The arguments are wrong")        \
    X(PERMISSION_DENIED, 403, "Permission denied")              \
    X(CONFIRMATION_REQUIRED, 409, "A person must approve that") \
    X(EXECUTION_FAILED, 500, "The tool failed")                 \
    X(TIMEOUT, 504, "The tool took too long")                   \
    X(CANCELLED, 503, "Cancelled")                              \
    X(LIMIT_EXCEEDED, 429, "A limit was exceeded")              \
    X(EXISTS, 409, "It exists already, or has ended")           \
    X(REFUSED, 409, "Refused")                                  \
    X(INVALID, 400, "The request is wrong")                     \
    X(IO, 500, "Reading or writing failed")                     \
    X(NO_MEMORY, 503, "Out of memory")                          \
    X(INPUT_REQUIRED, 409, "The tool asks for more")            \
    X(UNAVAILABLE, 503, "No host that has the tool can be reached")

static const struct problem {
    int code;
    unsigned status;
    const char *title;
} problems[] = {
#define PROBLEM(constant, status, title) {TOOLRACK_E_##constant, status, title},
        PROBLEMS(PROBLEM)
#undef PROBLEM
};

static const struct problem *find(int code) {
    for (size_t i = 0; i < ARRAY_LENGTH(problems); i++) {
        if (problems[i].code == code) {
            return &problems[i];
        }
    }
    return NULL;
}

unsigned problem_status(const struct toolrack_error *err) {
    const struct problem *problem = find(err->code);
    if (err->code == TOOLRACK_E_LIMIT_EXCEEDED && (err->begun || err->from_tool)) {
        return PROBLEM_LIMIT_OF_CALL;
    }
    return problem != NULL ? problem->status : 500;
}

int problem_code(unsigned status) {
    switch (status) {
    case 401:
    case 403: return TOOLRACK_E_PERMISSION_DENIED;
    case 404: return TOOLRACK_E_NOT_FOUND;
    case 413:
    case 414:
    case 429:
    case 431:
    case 503: return TOOLRACK_E_LIMIT_EXCEEDED;
    default: return TOOLRACK_E_INVALID;
    }
}

const char *problem_type(size_t index) {
    return index < ARRAY_LENGTH(problems) ? toolrack_code_name(problems[index].code) : NULL;
}

unsigned problem_status_of(const char *name, size_t length) {
    for (size_t i = 0; i < ARRAY_LENGTH(problems); i++) {
        const char *type = toolrack_code_name(problems[i].code);
        if (strlen(type) == length && memcmp(type, name, length) == 0) {
            return problems[i].status;
        }
    }
    return 0;
}

void problem_write(struct buf *out, unsigned status, const struct toolrack_error *err,
                   const char *detail, const char *near) {
    bool incomplete = false;
    const struct problem *problem = find(err->code);
    CLEANUP(buf_finish) struct buf type = BUF_INIT;
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_new(&incomplete);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    buf_printf(&type, PROBLEM_URI "%s", toolrack_code_name(err->code));
    json_add_text(doc, root, "type", type.data);
    json_add_text(doc, root, "title", problem != NULL ? problem->title : "It failed");
    (void)yyjson_mut_obj_add_uint(doc, root, "status", status);
    if (detail == NULL) { /* as the command says it */
        buf_printf(&message, "%s%s%s", err->field, err->field[0] != '\0' ? ": " : "", err->message);
        detail = message.data != NULL ? message.data : err->message;
    }
    json_add_text(doc, root, "detail", detail);
    (void)yyjson_mut_obj_add_val(doc, root, "error", error_object(doc, err, NULL));
    if (near != NULL) {
        yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "suggestions");
        (void)yyjson_mut_arr_add_strcpy(doc, list, near);
    }
    if (doc != NULL) {
        yyjson_mut_doc_set_root(doc, root);
    }
    CLEANUP(freep) char *text = incomplete ? NULL : json_write(doc, 0, NULL, NULL);
    buf_add_text(out, text != NULL ? text
                                   : "{\"type\":\"" PROBLEM_URI "OutOfMemory\",\"title\":\"Out of "
                                     "memory\",\"status\":503,\"detail\":\"out of memory\"}");
}

void problem_refuse(struct buf *out, unsigned status, const char *message) {
    struct toolrack_error err;
    (void)error_set(&err, problem_code(status), "%s", message);
    problem_write(out, status, &err, NULL, NULL);
}
