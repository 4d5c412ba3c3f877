/* mrtr.c - see mrtr.h. */
#include "serve/mcp/mrtr.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json-write.h"
#include "base/json.h"
#include "serve/mcp/inputs.h"
#include "serve/mcp/request.h"
#include "serve/mcp/seal.h"

#define DIGEST_SIZE 32u

/* In the arena of its request. */
struct mrtr {
    const char *method;
    const char *subject;
    const char *about;
    size_t about_length;
    yyjson_val *carried;                   /* the answers of earlier rounds, by key; or NULL */
    yyjson_val *open;                      /* what was asked last: kinds, by key; or NULL */
    yyjson_val *responses;                 /* the answers of this round; or NULL */
    unsigned char brought[MRTR_MARK_SIZE]; /* the mark of the state that was brought, or zeros */
    unsigned char mark[MRTR_MARK_SIZE];    /* that of the next one, or zeros: it needs none */
    const char *asked;                     /* the members of inputRequests; NULL: none */
    const char *kinds;                     /* the same as members of the state's `open` */
    bool no_memory;                        /* some are missing there */
    unsigned missing; /* capabilities that the client lacks for what was asked */
};

/* ------------------------------------------------------------------- state */

/* What the state of a request begins with: nobody but who got it can bring it back, and only with
 * the same request. [{answers by key}, {kinds of what is asked, by key}] follow as text. */
struct binding {
    int64_t expires_s;
    unsigned char digest[DIGEST_SIZE];
    unsigned char mark[MRTR_MARK_SIZE];
};

static void digest_part(crypto_generichash_state *state, const void *bytes, size_t length) {
    uint64_t size = length;
    (void)crypto_generichash_update(state, (const unsigned char *)&size, sizeof size);
    (void)crypto_generichash_update(state, bytes, length);
}

static void digest_request(const struct request *request, unsigned char digest[DIGEST_SIZE]) {
    const struct mrtr *mrtr = request->mrtr;
    CLEANUP(buf_finish) struct buf sorted = BUF_INIT;
    crypto_generichash_state state;
    json_add_sorted(&sorted, mrtr->about, mrtr->about_length);
    (void)crypto_generichash_init(&state, NULL, 0, DIGEST_SIZE);
    digest_part(&state, request->principal.id, strlen(request->principal.id));
    digest_part(&state, mrtr->method, strlen(mrtr->method));
    digest_part(&state, mrtr->subject, strlen(mrtr->subject));
    digest_part(&state, sorted.failed ? mrtr->about : sorted.data,
                sorted.failed ? mrtr->about_length : sorted.length);
    (void)crypto_generichash_final(&state, digest, DIGEST_SIZE);
}

/* Open a state: what it begins with, and the text after that. @return what is wrong, or NULL */
static const char *open_state(const struct request *request, yyjson_val *text,
                              struct binding *ret_binding, struct buf *ret) {
    unsigned char digest[DIGEST_SIZE];
    if (!yyjson_is_str(text) ||
        !seal_open(request->mcp, SEAL_STATE, yyjson_get_str(text), yyjson_get_len(text), ret) ||
        ret->length < sizeof *ret_binding) {
        return "params.requestState is not one that this server has given since it started; call "
               "again without it";
    }
    memcpy(ret_binding, ret->data, sizeof *ret_binding);
    digest_request(request, digest);
    if (sodium_memcmp(digest, ret_binding->digest, DIGEST_SIZE) != 0) {
        return "params.requestState belongs to another request; call again without it";
    }
    return ret_binding->expires_s < clock_wall_s()
                   ? "params.requestState has expired; call again without it"
                   : NULL;
}

/* A copy of a text as JSON, in the request's memory; NULL: there is none for it. */
static yyjson_val *read_copy(struct request *request, const char *text, size_t length) {
    yyjson_alc alc = arena_alc(&request->arena);
    char *copy = arena_copy(&request->arena, text, length);
    return copy != NULL ? yyjson_doc_get_root(yyjson_read_opts(
                                  copy, length, YYJSON_READ_NUMBER_AS_RAW, &alc, NULL))
                        : NULL;
}

bool mrtr_begin(struct request *request, yyjson_val *params, const char *method,
                const char *subject, const char *about, size_t length) {
    if ((request->dialect->traits & DIALECT_STATELESS) == 0) {
        return true;
    }
    struct mrtr *mrtr = arena_zalloc(&request->arena, sizeof *mrtr);
    if (mrtr == NULL) {
        request_oom(request);
        return false;
    }
    *mrtr = (struct mrtr){
            .method = method, .subject = subject, .about = about, .about_length = length};
    request->mrtr = mrtr;
    yyjson_val *state = yyjson_obj_get(params, "requestState");
    yyjson_val *responses = yyjson_obj_get(params, "inputResponses");
    struct binding binding;
    CLEANUP(buf_finish) struct buf opened = BUF_INIT;
    const char *problem = state != NULL ? open_state(request, state, &binding, &opened) : NULL;
    if (responses != NULL && !yyjson_is_obj(responses)) {
        problem = "params.inputResponses must be an object";
    }
    if (problem != NULL) {
        request_fail(request, 0, RPC_INVALID_PARAMS, NULL, "%s", problem);
        return false;
    }
    if (state != NULL) {
        yyjson_val *parts =
                read_copy(request, opened.data + sizeof binding, opened.length - sizeof binding);
        mrtr->carried = yyjson_arr_get(parts, 0);
        mrtr->open = yyjson_arr_get(parts, 1);
        memcpy(mrtr->brought, binding.mark, sizeof mrtr->brought);
    }
    if (responses != NULL) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        json_add_value(&text, responses);
        mrtr->responses = text.failed ? NULL : read_copy(request, text.data, text.length);
    }
    return true;
}

/* ----------------------------------------------------------------- the call */

/* Give the answer of a question that is one of these. */
static bool take(yyjson_val *answers, struct toolrack_input *input) {
    yyjson_val *answer = yyjson_obj_get(answers, input->key);
    return answer != NULL && inputs_take(input, answer);
}

static bool answer(const struct mrtr *mrtr, struct toolrack_input *input) {
    return take(mrtr->responses, input) || take(mrtr->carried, input);
}

bool mrtr_answer(const struct request *request, struct toolrack_input *input) {
    return request->mrtr != NULL && answer(request->mrtr, input);
}

bool mrtr_answer_now(const struct request *request, struct toolrack_input *input) {
    return request->mrtr != NULL && take(request->mrtr->responses, input);
}

void mrtr_mark(struct request *request, unsigned char ret[MRTR_MARK_SIZE]) {
    randombytes_buf(request->mrtr->mark, MRTR_MARK_SIZE);
    memcpy(ret, request->mrtr->mark, MRTR_MARK_SIZE);
}

/* Whether something is answered now that was asked with the state. What was asked had no answer:
 * this is one more. */
static bool brings_answer(const struct mrtr *mrtr) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *kind;
    json_obj_foreach (mrtr->open, at, count, key, kind) {
        struct toolrack_input input = {.size = sizeof input,
                                       .kind = (enum toolrack_input_kind)atoi(yyjson_get_raw(kind)),
                                       .key = yyjson_get_str(key)};
        bool is_answered = take(mrtr->responses, &input);
        toolrack_free(input.content);
        if (is_answered) {
            return true;
        }
    }
    return false;
}

bool mrtr_goes_on(const struct request *request, const unsigned char mark[MRTR_MARK_SIZE]) {
    const struct mrtr *mrtr = request->mrtr;
    return mrtr != NULL && memcmp(mrtr->brought, mark, MRTR_MARK_SIZE) == 0 && brings_answer(mrtr);
}

static void put(struct request *request, const struct toolrack_input *input) {
    struct mrtr *mrtr = request->mrtr;
    CLEANUP(buf_finish) struct buf asked = BUF_INIT;
    CLEANUP(buf_finish) struct buf kinds = BUF_INIT;
    buf_add_text(&kinds, mrtr->kinds != NULL ? mrtr->kinds : "");
    buf_add(&kinds, ",", kinds.length > 0);
    buf_add_json_string(&kinds, input->key, strlen(input->key));
    buf_printf(&kinds, ":%d", (int)input->kind);
    buf_add_text(&asked, mrtr->asked != NULL ? mrtr->asked : "");
    buf_add(&asked, ",", asked.length > 0);
    buf_add_json_string(&asked, input->key, strlen(input->key));
    buf_add_text(&asked, ":{");
    inputs_add(&asked, request->dialect, input, NULL);
    buf_add_char(&asked, '}');
    mrtr->asked = asked.failed ? NULL : arena_copy(&request->arena, asked.data, asked.length);
    mrtr->kinds = kinds.failed ? NULL : arena_copy(&request->arena, kinds.data, kinds.length);
    mrtr->no_memory = mrtr->no_memory || mrtr->asked == NULL || mrtr->kinds == NULL;
}

int mrtr_input(struct request *request, struct toolrack_input *inputs, size_t count) {
    struct mrtr *mrtr = request->mrtr;
    bool is_asked = false;
    for (size_t i = 0; i < count; i++) {
        unsigned capability = inputs_capability(&inputs[i]);
        if ((request->capabilities & capability) == 0) {
            mrtr->missing |= capability;
        } else if (!answer(mrtr, &inputs[i])) {
            put(request, &inputs[i]);
            is_asked = true;
        }
    }
    return is_asked ? TOOLRACK_INPUT_LATER : 0;
}

/* ------------------------------------------------------------------ answers */

/* Append the members of an object that `without` does not have. */
static void add_answers(struct buf *out, yyjson_val *answers, yyjson_val *without) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (answers, at, count, key, value) {
        if (yyjson_obj_getn(without, yyjson_get_str(key), yyjson_get_len(key)) == NULL) {
            buf_add(out, ",", out->data[out->length - 1] != '{');
            buf_add_json_string(out, yyjson_get_str(key), yyjson_get_len(key));
            buf_add_char(out, ':');
            json_add_value(out, value);
        }
    }
}

static void add_state(struct request *request, struct buf *out) {
    const struct mrtr *mrtr = request->mrtr;
    struct binding binding = {.expires_s = clock_wall_s() + MRTR_TTL_S};
    CLEANUP(buf_finish) struct buf state = BUF_INIT;
    digest_request(request, binding.digest);
    memcpy(binding.mark, mrtr->mark, sizeof binding.mark);
    buf_add(&state, &binding, sizeof binding);
    buf_add_text(&state, "[{");
    if (!state.failed) {
        add_answers(&state, mrtr->responses, NULL);
        add_answers(&state, mrtr->carried, mrtr->responses);
    }
    buf_printf(&state, "},{%s}]", mrtr->kinds != NULL ? mrtr->kinds : "");
    rpc_add_member(out, "requestState");
    buf_add_char(out, '"');
    if (state.failed) {
        out->failed = true;
    } else {
        seal_add(request->mcp, SEAL_STATE, state.data, state.length, out);
    }
    buf_add_char(out, '"');
}

void mrtr_ask(struct request *request) {
    const struct mrtr *mrtr = request->mrtr;
    struct buf *out = request_result_of(request, "input_required");
    rpc_add_member(out, "inputRequests");
    buf_add_char(out, '{');
    buf_add_text(out, mrtr->asked != NULL ? mrtr->asked : "");
    out->failed = out->failed || mrtr->no_memory;
    buf_add_char(out, '}');
    add_state(request, out);
    request_complete(request);
}

bool mrtr_refuse(struct request *request) {
    if (request->mrtr == NULL || request->mrtr->missing == 0) {
        return false;
    }
    request_refuse_capability(request, request->mrtr->missing);
    return true;
}
