/* approve.c - see approve.h. */
#include "serve/mcp/approve.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/lock.h"
#include "base/text.h"
#include "serve/mcp/inputs.h"
#include "serve/mcp/mrtr.h"
#include "serve/mcp/question.h"
#include "serve/mcp/request.h"

#define DIGEST_SIZE 32u
#define NONCE_SIZE  16u
/* No key of a tool begins so, since it is a name. */
#define KEY_PREFIX  "toolrack:approval-"

/* The answers, as they stand in the schema. */
#define ALLOW "allow once"
#define DENY  "deny"
#define SCHEMA                                                                            \
    "{\"type\":\"object\",\"properties\":{\"decision\":{\"type\":\"string\",\"title\":"   \
    "\"Decision\",\"description\":\"Whether this call may run, once\",\"enum\":[\"" ALLOW \
    "\",\"" DENY "\"]}},\"required\":[\"decision\"]}"

/* A question that was put to a client, or (in request->approval) the answer that let a call run. */
struct approval {
    struct approval *next;
    uint64_t expires_ns;
    unsigned char digest[DIGEST_SIZE]; /* of what it is about */
    char key[sizeof KEY_PREFIX + 2 * NONCE_SIZE];
};

struct approvals {
    struct lock lock;
    struct approval *first; /* the newest */
    size_t count;
};

struct approvals *approve_open(void) {
    struct approvals *approvals = calloc(1, sizeof *approvals);
    if (approvals != NULL) {
        lock_init(&approvals->lock);
    }
    return approvals;
}

void approve_close(struct approvals *approvals) {
    if (approvals != NULL) {
        while (approvals->first != NULL) {
            struct approval *next = approvals->first->next;
            free(approvals->first);
            approvals->first = next;
        }
        lock_finish(&approvals->lock);
        free(approvals);
    }
}

/* --------------------------------------------------------- what was asked */

static void digest_part(crypto_generichash_state *state, const void *bytes, size_t length) {
    uint64_t size = length;
    (void)crypto_generichash_update(state, (const unsigned char *)&size, sizeof size);
    (void)crypto_generichash_update(state, bytes, length);
}

/* Who asks for what. Another registration of the tool, as after a change of its text, is another
 * tool. */
static void digest_call(const struct request *request,
                        const struct toolrack_approval_request *asked,
                        unsigned char ret[DIGEST_SIZE]) {
    uint64_t uid = toolrack_tool_uid(request->tool);
    crypto_generichash_state state;
    (void)crypto_generichash_init(&state, NULL, 0, DIGEST_SIZE);
    digest_part(&state, request->principal.id, strlen(request->principal.id));
    digest_part(&state, &uid, sizeof uid);
    digest_part(&state, asked->arguments, strlen(asked->arguments));
    (void)crypto_generichash_final(&state, ret, DIGEST_SIZE);
}

/* Take the last one out of the list. Caller holds the lock. */
static void forget_last(struct approvals *approvals) {
    struct approval **at = &approvals->first;
    while ((*at)->next != NULL) {
        at = &(*at)->next;
    }
    free(STEAL(*at));
    approvals->count--;
}

/* Remember a question: taken. */
static void put(struct approvals *approvals, struct approval *approval) {
    LOCK_SCOPE(&approvals->lock);
    approval->expires_ns = clock_now_ns() + (uint64_t)MRTR_TTL_S * CLOCK_NS_PER_S;
    approval->next = approvals->first;
    approvals->first = approval;
    if (++approvals->count > APPROVE_OPEN_MAX) {
        forget_last(approvals);
    }
}

/* A new question about a call; NULL when out of memory. */
static struct approval *create(const unsigned char digest[DIGEST_SIZE]) {
    struct approval *approval = calloc(1, sizeof *approval);
    unsigned char nonce[NONCE_SIZE];
    if (approval != NULL) {
        randombytes_buf(nonce, sizeof nonce);
        memcpy(approval->digest, digest, DIGEST_SIZE);
        memcpy(approval->key, KEY_PREFIX, strlen(KEY_PREFIX));
        (void)sodium_bin2hex(approval->key + strlen(KEY_PREFIX),
                             sizeof approval->key - strlen(KEY_PREFIX), nonce, sizeof nonce);
    }
    return approval;
}

/* Take the question about a call whose answer the request brings; NULL: it brings none. Questions
 * that are too old go. */
static struct approval *take_answered(const struct request *request,
                                      const unsigned char digest[DIGEST_SIZE],
                                      struct toolrack_input *input) {
    struct approvals *approvals = request->mcp->approvals;
    uint64_t now_ns = clock_now_ns();
    struct approval *answered = NULL;
    LOCK_SCOPE(&approvals->lock);
    for (struct approval **at = &approvals->first; *at != NULL && answered == NULL;) {
        struct approval *approval = *at;
        input->key = approval->key;
        bool is_old = approval->expires_ns < now_ns;
        if (is_old ||
            (memcmp(approval->digest, digest, DIGEST_SIZE) == 0 && mrtr_answer(request, input))) {
            *at = approval->next;
            approvals->count--;
            answered = is_old ? NULL : approval;
        } else {
            at = &approval->next;
        }
        if (is_old) {
            free(approval);
        }
    }
    return answered;
}

/* Take a question that was put; NULL: it was forgotten. */
static struct approval *take(struct approvals *approvals, const char *key) {
    LOCK_SCOPE(&approvals->lock);
    for (struct approval **at = &approvals->first; *at != NULL; at = &(*at)->next) {
        struct approval *approval = *at;
        if (strcmp(approval->key, key) == 0) {
            *at = approval->next;
            approvals->count--;
            return approval;
        }
    }
    return NULL;
}

/* ----------------------------------------------------------------- asking */

/* What a person is shown: all that the answer is about. */
static void write_message(struct buf *out, const struct toolrack_approval_request *asked) {
    buf_printf(out,
               "The server asks for approval: may the tool %s (version %s, plugin %s) run once "
               "with these arguments?\n",
               asked->tool, asked->version, asked->plugin);
    text_add_escaped(out, asked->arguments, strlen(asked->arguments));
    buf_add_text(out, "\nWhy: ");
    text_add_line(out, asked->reason, strlen(asked->reason));
}

/* What the client's answer decides. What is no clear answer decides nothing. */
static int decide(const struct toolrack_input *input) {
    if (input->answer == TOOLRACK_ANSWER_DECLINED) {
        return TOOLRACK_APPROVAL_DENY;
    }
    if (input->answer != TOOLRACK_ANSWER_ACCEPTED || input->content == NULL) {
        return TOOLRACK_APPROVAL_ASK_LATER;
    }
    yyjson_doc *doc = yyjson_read(input->content, strlen(input->content), 0);
    yyjson_val *decision = yyjson_obj_get(yyjson_doc_get_root(doc), "decision");
    int answer = yyjson_equals_str(decision, ALLOW)  ? TOOLRACK_APPROVAL_ALLOW_ONCE
                 : yyjson_equals_str(decision, DENY) ? TOOLRACK_APPROVAL_DENY
                                                     : TOOLRACK_APPROVAL_ASK_LATER;
    yyjson_doc_free(doc);
    return answer;
}

/* Whether the client is asked at all. */
static bool may_ask(const struct request *request, const struct toolrack_approval_request *asked) {
    return (request->mcp->settings.approves || request->principal.approves) &&
           asked->permission == TOOLRACK_PERMISSION_CONFIRM &&
           (request->capabilities & CAPABILITY_FORM) != 0 &&
           strlen(asked->arguments) <= APPROVE_ARGUMENTS_MAX;
}

/* Put the question. @return enum toolrack_approval */
static int ask(struct request *request, const unsigned char digest[DIGEST_SIZE],
               struct toolrack_input *input, struct approval **ret) {
    struct approvals *approvals = request->mcp->approvals;
    struct approval *approval = create(digest);
    if (approval == NULL) {
        return TOOLRACK_APPROVAL_ASK_LATER;
    }
    char key[sizeof approval->key];
    memcpy(key, approval->key, sizeof key);
    input->key = key; /* another thread may forget the question */
    put(approvals, approval);
    if (question_ask(request, input, 1) == TOOLRACK_INPUT_LATER) {
        return TOOLRACK_APPROVAL_INPUT_LATER;
    }
    *ret = take(approvals, key);
    return decide(input);
}

int approve_call(void *user, const struct toolrack_approval_request *asked) {
    struct request *request = user;
    unsigned char digest[DIGEST_SIZE];
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    if (!may_ask(request, asked)) {
        return TOOLRACK_APPROVAL_ASK_LATER;
    }
    write_message(&message, asked);
    struct toolrack_input input = {.size = sizeof input,
                                   .kind = TOOLRACK_INPUT_FORM,
                                   .message = message.data,
                                   .schema = SCHEMA};
    if (message.failed || (request->capabilities & inputs_capability(&input)) == 0) {
        return TOOLRACK_APPROVAL_ASK_LATER;
    }
    digest_call(request, asked, digest);
    struct approval *approval = take_answered(request, digest, &input);
    int answer = approval != NULL ? decide(&input) : ask(request, digest, &input, &approval);
    toolrack_free(input.content);
    (void)snprintf(asked->who, asked->who_room, "%s", request->principal.id);
    if (answer == TOOLRACK_APPROVAL_ALLOW_ONCE) {
        free(request->approval); /* a call is asked about once */
        request->approval = approval;
    } else {
        free(approval);
    }
    return answer;
}

void approve_end(struct request *request, bool goes_on) {
    struct approval *approval = STEAL(request->approval);
    if (goes_on && approval != NULL) {
        put(request->mcp->approvals, approval);
    } else {
        free(approval);
    }
}
