/* prompts.c - see prompts.h.
 *
 * A prompt says in the list which arguments it requires: so the list is asked for before it. */
#include "serve/mcp/prompts.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/name.h"
#include "serve/mcp/mrtr.h"
#include "serve/mcp/offers.h"
#include "serve/mcp/page.h"
#include "serve/mcp/request.h"

/* How long a plugin may take to say what its prompts require; then its prompts check that
 * themselves. */
#define PROMPTS_CHECK_MS 5000u

void prompts_list(struct request *request, yyjson_val *params) {
    static const struct page_kind kind = {TOOLRACK_OFFER_PROMPTS, "prompts", "name"};
    page_list(request, params, &kind);
}

/* What a prompt is asked with, as text in the request's memory. @return NULL: it is answered */
static const char *write_arguments(struct request *request, const char *name,
                                   yyjson_val *arguments) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    bool is_none = arguments == NULL || yyjson_is_null(arguments);
    if (!is_none && !yyjson_is_obj(arguments)) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "params.arguments must be an object");
        return NULL;
    }
    json_obj_foreach (arguments, at, count, key, value) {
        if (!yyjson_is_str(value)) {
            request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                         "params.arguments: %s must be a string, as all arguments of prompts",
                         yyjson_get_str(key));
            return NULL;
        }
    }
    buf_add_char(&text, '{');
    rpc_add_string(&text, "name", name);
    rpc_add_member(&text, "arguments");
    if (is_none) {
        buf_add_text(&text, "{}");
    } else {
        json_add_value(&text, arguments);
    }
    buf_add_char(&text, '}');
    const char *copy = text.failed ? NULL : arena_copy(&request->arena, text.data, text.length);
    if (copy == NULL) {
        request_oom(request);
    }
    return copy;
}

static void end_get(struct request *request, const struct toolrack_result *result) {
    (void)request_result(request);
    offers_add(request, result);
    request_complete(request);
}

/* Ask for the prompt itself, with what is there. */
static void ask_prompt_near(struct request *request, const char *near) {
    offers_ask(request, &(struct offers){.what = TOOLRACK_OFFER_PROMPT,
                                         .arguments = request->arguments,
                                         .subject = request->offers->subject,
                                         .near = near,
                                         .asks = true,
                                         .end = end_get});
}

static void ask_prompt(struct request *request) {
    ask_prompt_near(request, NULL);
}

/* The first argument that a prompt of the list requires and a request does not have; NULL: none. */
static const char *find_missing(yyjson_val *prompts, const char *name, yyjson_val *arguments) {
    size_t at;
    size_t count;
    yyjson_val *prompt;
    yyjson_val *argument;
    yyjson_arr_foreach (prompts, at, count, prompt) {
        if (yyjson_equals_str(yyjson_obj_get(prompt, "name"), name)) {
            yyjson_val *list = yyjson_obj_get(prompt, "arguments");
            yyjson_arr_foreach (list, at, count, argument) {
                yyjson_val *needed = yyjson_obj_get(argument, "name");
                if (yyjson_get_bool(yyjson_obj_get(argument, "required")) &&
                    yyjson_obj_getn(arguments, yyjson_get_str(needed), yyjson_get_len(needed)) ==
                            NULL) {
                    return yyjson_get_str(needed);
                }
            }
            break;
        }
    }
    return NULL;
}

/* The nearest prompt of the list, for a name that is not in it: in the arena, or NULL. */
static const char *find_near(struct request *request, yyjson_val *prompts, const char *name) {
    struct nearest nearest = nearest_to(name);
    size_t at;
    size_t count;
    yyjson_val *prompt;
    yyjson_arr_foreach (prompts, at, count, prompt) {
        const char *other = rpc_string(prompt, "name");
        if (other != NULL && strcmp(other, name) == 0) {
            return NULL;
        }
        (void)nearest_try(&nearest, other != NULL ? other : "");
    }
    return nearest.name != NULL ? arena_copy(&request->arena, nearest.name, strlen(nearest.name))
                                : NULL;
}

static void end_check(struct request *request, const struct toolrack_result *result) {
    const struct offers *offers = request->offers;
    size_t length = 0;
    const char *json = toolrack_result_json(result, &length);
    yyjson_doc *list = yyjson_read(json, length, YYJSON_READ_NUMBER_AS_RAW);
    yyjson_doc *asked = yyjson_read(request->arguments, strlen(request->arguments), 0);
    const char *missing =
            find_missing(yyjson_obj_get(yyjson_doc_get_root(list), "prompts"), offers->subject,
                         yyjson_obj_get(yyjson_doc_get_root(asked), "arguments"));
    if (missing != NULL) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL,
                     "params.arguments: the prompt %s needs the argument %s", offers->subject,
                     missing);
    } else {
        ask_prompt_near(request,
                        find_near(request, yyjson_obj_get(yyjson_doc_get_root(list), "prompts"),
                                  offers->subject));
    }
    yyjson_doc_free(list);
    yyjson_doc_free(asked);
}

void prompts_get(struct request *request, yyjson_val *params) {
    const char *name = rpc_string(params, "name");
    if (name == NULL) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "params.name %s",
                     rpc_string_fault(params, "name"));
        return;
    }
    if (!offers_check_scope(request, "the prompt")) {
        return;
    }
    const char *arguments = write_arguments(request, name, yyjson_obj_get(params, "arguments"));
    name = arena_copy(&request->arena, name, strlen(name));
    if (arguments == NULL) {
        return;
    }
    if (name == NULL) {
        request_oom(request);
    } else if (mrtr_begin(request, params, "prompts/get", name, arguments, strlen(arguments))) {
        request->arguments = arguments;
        offers_ask(request, &(struct offers){.what = TOOLRACK_OFFER_PROMPTS,
                                             .subject = name,
                                             .deadline_ms = PROMPTS_CHECK_MS,
                                             .end = end_check,
                                             .fail = ask_prompt});
    }
}

/* --------------------------------------------------------------- completion */

void completion_complete(struct request *request, yyjson_val *params) {
    static const char *const members[] = {"ref", "argument", "context"};
    if (!offers_check_scope(request, "completion")) {
        return;
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_char(&text, '{');
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        yyjson_val *value = yyjson_obj_get(params, members[i]);
        if (value != NULL) {
            rpc_add_member(&text, members[i]);
            json_add_value(&text, value);
        }
    }
    buf_add_char(&text, '}');
    const char *arguments =
            text.failed ? NULL : arena_copy(&request->arena, text.data, text.length);
    if (arguments == NULL) {
        request_oom(request);
        return;
    }
    offers_ask(request, &(struct offers){.what = TOOLRACK_OFFER_COMPLETE,
                                         .arguments = arguments,
                                         .end = end_get});
}
