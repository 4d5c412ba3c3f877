/* input.c - what a tool asks for while it runs: answers of a person, of the client's model, of the
 * client.
 *
 * What the tool passes is not trusted, nor are the answers: a wrong one fails the call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "run/run.h"

_Static_assert((int)TR_INPUT_FORM == (int)TOOLRACK_INPUT_FORM &&
                       (int)TR_INPUT_URL == (int)TOOLRACK_INPUT_URL &&
                       (int)TR_INPUT_SAMPLE == (int)TOOLRACK_INPUT_SAMPLE &&
                       (int)TR_INPUT_ROOTS == (int)TOOLRACK_INPUT_ROOTS,
               "both sides number the kinds alike");
_Static_assert((int)TR_ANSWER_NOBODY == (int)TOOLRACK_ANSWER_NOBODY &&
                       (int)TR_ANSWER_ACCEPTED == (int)TOOLRACK_ANSWER_ACCEPTED &&
                       (int)TR_ANSWER_DECLINED == (int)TOOLRACK_ANSWER_DECLINED &&
                       (int)TR_ANSWER_DISMISSED == (int)TOOLRACK_ANSWER_DISMISSED,
               "and the answers");

#define KEY_LENGTH_MAX 64u

/* A key that was used in a run. */
struct run_key {
    struct run_key *next;
    const char *key;
};

static tr_status bad_question(struct run *run, const char *what) {
    return run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                    "the tool's question cannot be asked: %s", what);
}

/* Whether a string is one JSON object. If memory is out, the run has also failed. */
static bool is_object(struct run *run, const char *text) {
    yyjson_read_err why;
    yyjson_doc *doc = run_read_json(run, text, strlen(text), &why);
    if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        (void)run_no_memory(run);
    }
    return yyjson_is_obj(yyjson_doc_get_root(doc));
}

static bool is_type(yyjson_val *schema, const char *name) {
    return yyjson_equals_str(yyjson_obj_get(schema, "type"), name);
}

/* Whether a property of a form is what MCP has for one: a string, a number, a boolean, or a list of
 * strings of an enum. */
static bool is_flat_property(yyjson_val *property) {
    yyjson_val *items = yyjson_obj_get(property, "items");
    return is_type(property, "string") || is_type(property, "number") ||
           is_type(property, "integer") || is_type(property, "boolean") ||
           (is_type(property, "array") && (yyjson_is_arr(yyjson_obj_get(items, "enum")) ||
                                           yyjson_is_arr(yyjson_obj_get(items, "anyOf"))));
}

/* Clients of MCP make a form of the schema, and one that is nested would be none to them. */
static tr_status check_form(struct run *run, const char *schema) {
    yyjson_read_err why;
    yyjson_doc *doc = run_read_json(run, schema, strlen(schema), &why);
    yyjson_val *root = yyjson_doc_get_root(doc);
    if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return run_no_memory(run);
    }
    if (!yyjson_is_obj(root)) {
        return bad_question(run, "its schema is not a JSON object");
    }
    if (yyjson_obj_get(root, "type") != NULL && !is_type(root, "object")) {
        return bad_question(run, "its schema is not one of an object");
    }
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *property;
    json_obj_foreach (yyjson_obj_get(root, "properties"), at, count, key, property) {
        if (!is_flat_property(property)) {
            char what[256];
            (void)snprintf(
                    what, sizeof what,
                    "its schema is not flat: property \"%.64s\" has no type, or another one "
                    "than string, number, integer, boolean or an array of strings of an enum",
                    yyjson_get_str(key));
            return bad_question(run, what);
        }
    }
    return TR_OK;
}

static bool is_key(const char *key) {
    size_t length = strnlen(key, KEY_LENGTH_MAX + 1);
    bool is_key = length > 0 && length <= KEY_LENGTH_MAX && ascii_is_word_start(key[0]);
    for (size_t i = 1; i < length; i++) {
        is_key = is_key && (ascii_is_word(key[i]) || key[i] == '.' || key[i] == '-');
    }
    return is_key;
}

/* The name of an input: the tool's, or by its number in the call, which is the same when the call
 * is run again. */
static tr_status take_key(struct run *run, const struct tr_input *input,
                          struct toolrack_input *ret) {
    static const char *const words[] = {"ask", "ask", "sample", "roots"};
    run->inputs++;
    if (input->key != NULL && !is_key(input->key)) {
        return bad_question(run, "its key is no name such as \"branch\", of at most 64 characters");
    }
    const char *key = input->key != NULL
                              ? arena_copy(&run->arena, input->key, strlen(input->key))
                              : arena_printf(&run->arena, "%s-%u", words[input->kind], run->inputs);
    struct run_key *used = arena_alloc(&run->arena, sizeof *used);
    if (key == NULL || used == NULL) {
        return run_no_memory(run);
    }
    for (const struct run_key *at = run->keys; at != NULL; at = at->next) {
        if (strcmp(at->key, key) == 0) {
            return bad_question(run, "its key is that of an earlier question of the call");
        }
    }
    *used = (struct run_key){.next = run->keys, .key = key};
    run->keys = used;
    ret->key = key;
    return TR_OK;
}

static tr_status too_long(struct run *run) {
    return run_fail(run, TOOLRACK_E_LIMIT_EXCEEDED, TR_LIMIT_EXCEEDED, NULL,
                    "the tool's question cannot be asked: its message or schema has more than the "
                    "%u bytes allowed, or its request more than the %u",
                    RUN_QUESTION_MAX, RUN_REQUEST_MAX);
}

static bool is_url(const char *text) {
    size_t length = strnlen(text, RUN_QUESTION_MAX + 1);
    bool is_web = strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0;
    for (size_t i = 0; i < length; i++) {
        is_web = is_web && text[i] > ' ' && text[i] < 0x7f;
    }
    return is_web && length <= RUN_QUESTION_MAX;
}

/* A text for a person, and the schema of the answers. */
static tr_status check_texts(struct run *run, const struct toolrack_input *input) {
    if (input->message == NULL || input->message[0] == '\0') {
        return bad_question(run, "it has no message");
    }
    size_t length = strnlen(input->message, RUN_QUESTION_MAX + 1);
    if (length > RUN_QUESTION_MAX ||
        (input->schema != NULL &&
         strnlen(input->schema, RUN_QUESTION_MAX + 1) > RUN_QUESTION_MAX)) {
        return too_long(run);
    }
    if (!utf8_valid(input->message, length)) {
        return bad_question(run, "its message is not UTF-8");
    }
    return input->schema != NULL ? check_form(run, input->schema) : TR_OK;
}

static tr_status check_input(struct run *run, const struct tr_input *from,
                             struct toolrack_input *ret) {
    *ret = (struct toolrack_input){.size = sizeof *ret,
                                   .kind = (enum toolrack_input_kind)from->kind,
                                   .answer = TOOLRACK_ANSWER_NOBODY};
    switch (from->kind) {
    case TR_INPUT_FORM:
        ret->message = from->message;
        ret->schema =
                from->schema != NULL ? from->schema : "{\"type\":\"object\",\"properties\":{}}";
        break;
    case TR_INPUT_URL:
        ret->message = from->message;
        ret->request = from->request;
        if (ret->request == NULL || !is_url(ret->request)) {
            return bad_question(run, "its address is no https: or http: URL");
        }
        break;
    case TR_INPUT_SAMPLE:
        ret->request = from->request;
        if (ret->request == NULL) {
            return bad_question(run, "it has no request for the model");
        }
        if (strnlen(ret->request, RUN_REQUEST_MAX + 1) > RUN_REQUEST_MAX) {
            return too_long(run);
        }
        if (!is_object(run, ret->request)) {
            return bad_question(run, "its request for the model is not a JSON object");
        }
        break;
    case TR_INPUT_ROOTS: break;
    default: return bad_question(run, "it asks for something that this host does not know");
    }
    bool is_for_person = from->kind == TR_INPUT_FORM || from->kind == TR_INPUT_URL;
    tr_status status = is_for_person ? check_texts(run, ret) : TR_OK;
    return status == TR_OK ? take_key(run, from, ret) : status;
}

/* Copy an answer into the run, and free it. */
static tr_status take_answer(struct run *run, struct toolrack_input *from, struct tr_input *ret) {
    CLEANUP(freep) char *content = from->content;
    bool needs_content = from->kind == TOOLRACK_INPUT_SAMPLE || from->kind == TOOLRACK_INPUT_ROOTS;
    ret->answer = from->answer;
    ret->content = NULL;
    from->content = NULL;
    if (from->answer != TOOLRACK_ANSWER_ACCEPTED) {
        return TR_OK;
    }
    if ((content == NULL && needs_content) || (content != NULL && !is_object(run, content))) {
        return run_fail(run, TOOLRACK_E_EXECUTION_FAILED, TR_FAILED, NULL,
                        "the answer to the tool's question is not a JSON object");
    }
    ret->content = content != NULL ? arena_copy(&run->arena, content, strlen(content)) : "{}";
    return ret->content != NULL ? TR_OK : run_no_memory(run);
}

static struct tr_input *input_at(struct tr_input *inputs, size_t stride, uint32_t i) {
    return (struct tr_input *)(void *)((char *)inputs + i * stride);
}

tr_status run_ask(struct run *run, struct tr_input *inputs, uint32_t count) {
    struct toolrack_input asked[RUN_INPUTS_MAX];
    size_t stride = inputs != NULL ? inputs->size : 0;
    bool any = false;
    tr_status status = TR_OK;
    if (count == 0 || count > RUN_INPUTS_MAX || stride < sizeof *inputs ||
        stride % _Alignof(struct tr_input) != 0) {
        return bad_question(run, "it is none, more than 16 at once, or does not state its size");
    }
    for (uint32_t i = 0; status == TR_OK && i < count; i++) {
        status = check_input(run, input_at(inputs, stride, i), &asked[i]);
    }
    if (status != TR_OK) {
        return status;
    }
    if (run->base.api->cancelled(&run->base)) {
        return TR_CANCELLED;
    }
    run->is_unanswered = run->host->input(run, asked, count) == TOOLRACK_INPUT_LATER;
    bool is_over = run->base.api->cancelled(&run->base); /* then the answers come too late */
    for (uint32_t i = 0; i < count; i++) {
        tr_status taken = take_answer(run, &asked[i], input_at(inputs, stride, i));
        any = any || asked[i].answer != TOOLRACK_ANSWER_NOBODY;
        status = status == TR_OK ? taken : status;
    }
    return is_over ? TR_CANCELLED : status != TR_OK ? status : any ? TR_OK : TR_ABSENT;
}

tr_status run_ask_person(struct run *run, const char *message, const char *schema,
                         const char **ret_content) {
    struct tr_input input = {
            .size = sizeof input, .kind = TR_INPUT_FORM, .message = message, .schema = schema};
    tr_status status = run_ask(run, &input, 1);
    if (status != TR_OK) {
        return status;
    }
    switch (input.answer) {
    case TR_ANSWER_ACCEPTED: break;
    case TR_ANSWER_DECLINED: return TR_PERMISSION_DENIED;
    default: return TR_CANCELLED;
    }
    if (ret_content != NULL) {
        *ret_content = input.content;
    }
    return TR_OK;
}
