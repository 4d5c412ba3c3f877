/* approve.c - see approve.h. */
#include "serve/mcp/approve.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json-write.h"
#include "base/lock.h"
#include "base/text.h"
#include "serve/mcp/inputs.h"
#include "serve/mcp/mrtr.h"
#include "serve/mcp/question.h"
#include "serve/mcp/request.h"
#include "serve/mcp/shares.h"
#include "view/arguments.h"
#include "view/tool.h"

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

/* A question whose answer comes with another request; or, once it is answered (in
 * request->approval), what lets a call run, and then what lets the same call go on. Whatever takes
 * it out of the list has it alone: of two requests that bring the same answer or the same state, at
 * once or one after the other, one runs, and the other is asked anew. */
struct approval {
    struct approval *next;
    uint64_t expires_ns;
    unsigned char digest[DIGEST_SIZE];  /* of what it is about */
    bool goes_on;                       /* it was answered: a round of the call has ended */
    unsigned char mark[MRTR_MARK_SIZE]; /* of the state that this round ended with */
    char key[sizeof KEY_PREFIX + 2 * NONCE_SIZE];
    char party[]; /* who was asked */
};

struct approvals {
    struct shares *shares; /* how many each party has */
    struct lock lock;
    struct approval *first; /* the newest */
    size_t count;
};

struct approvals *approve_open(struct shares *shares) {
    struct approvals *approvals = calloc(1, sizeof *approvals);
    if (approvals != NULL) {
        approvals->shares = shares;
        lock_init(&approvals->lock);
    }
    return approvals;
}

/* Take one out of the list. Caller holds the lock. */
static struct approval *unlink_at(struct approvals *approvals, struct approval **at) {
    struct approval *approval = *at;
    *at = approval->next;
    approvals->count--;
    shares_give(approvals->shares, approval->party, SHARE_APPROVALS, 1);
    return approval;
}

void approve_close(struct approvals *approvals) {
    if (approvals != NULL) {
        while (approvals->first != NULL) {
            free(unlink_at(approvals, &approvals->first));
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
 * tool; and so is one that was disabled or revoked since. A plan has no tool of its own: its
 * version is a hash of all that it does. */
static void digest_call(const struct request *request,
                        const struct toolrack_approval_request *asked,
                        unsigned char ret[DIGEST_SIZE]) {
    uint64_t uid = request->tool != NULL ? toolrack_tool_uid(request->tool) : 0;
    CLEANUP(buf_finish) struct buf sorted = BUF_INIT;
    crypto_generichash_state state;
    json_add_sorted(&sorted, asked->arguments, strlen(asked->arguments));
    (void)crypto_generichash_init(&state, NULL, 0, DIGEST_SIZE);
    digest_part(&state, request->principal.id, strlen(request->principal.id));
    digest_part(&state, &uid, sizeof uid);
    if (request->tool == NULL) {
        digest_part(&state, asked->tool, strlen(asked->tool));
        digest_part(&state, asked->version, strlen(asked->version));
    }
    digest_part(&state, &asked->standing, sizeof asked->standing);
    digest_part(&state, sorted.failed ? asked->arguments : sorted.data,
                sorted.failed ? strlen(asked->arguments) : sorted.length);
    (void)crypto_generichash_final(&state, ret, DIGEST_SIZE);
}

/* The oldest question of the party that was asked most: who asks for much forgets its own. Caller
 * holds the lock. */
static struct approval **find_most(struct approvals *approvals) {
    struct approval **found = &approvals->first;
    size_t most = 0;
    const char *last = NULL; /* most questions are of who asks for much */
    size_t count = 0;
    for (struct approval **at = &approvals->first; *at != NULL; at = &(*at)->next) {
        if (last == NULL || strcmp(last, (*at)->party) != 0) {
            last = (*at)->party;
            count = shares_taken(approvals->shares, last, SHARE_APPROVALS);
        }
        if (count >= most) {
            found = at;
            most = count;
        }
    }
    return found;
}

/* Remember a question: taken. False: there is no memory to count it. */
static bool put(struct approvals *approvals, struct approval *approval) {
    LOCK_SCOPE(&approvals->lock);
    if (!shares_take(approvals->shares, approval->party, SHARE_APPROVALS, 1, SIZE_MAX)) {
        free(approval);
        return false;
    }
    approval->next = approvals->first;
    approvals->first = approval;
    if (++approvals->count > APPROVE_OPEN_MAX) {
        free(unlink_at(approvals, find_most(approvals)));
    }
    return true;
}

/* A new question to a party about a call; NULL when out of memory. */
static struct approval *create(const char *party, const unsigned char digest[DIGEST_SIZE]) {
    size_t size = strlen(party) + 1;
    struct approval *approval = calloc(1, sizeof *approval + size);
    unsigned char nonce[NONCE_SIZE];
    if (approval != NULL) {
        randombytes_buf(nonce, sizeof nonce);
        approval->expires_ns = clock_now_ns() + (uint64_t)MRTR_TTL_S * CLOCK_NS_PER_S;
        memcpy(approval->digest, digest, DIGEST_SIZE);
        memcpy(approval->key, KEY_PREFIX, strlen(KEY_PREFIX));
        (void)sodium_bin2hex(approval->key + strlen(KEY_PREFIX),
                             sizeof approval->key - strlen(KEY_PREFIX), nonce, sizeof nonce);
        memcpy(approval->party, party, size);
    }
    return approval;
}

/* Whether a request brings the answer to a question, or goes on with what that allowed: by the
 * state of the last round, and with something new. An answer that only its state has was used. */
static bool brings(const struct request *request, const struct approval *approval,
                   struct toolrack_input *input) {
    return approval->goes_on ? mrtr_goes_on(request, approval->mark)
                             : mrtr_answer_now(request, input);
}

/* Take the approval of a call, or the question whose answer the request brings; NULL: there is
 * none. Those that are too old go. */
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
        if (is_old || (memcmp(approval->digest, digest, DIGEST_SIZE) == 0 &&
                       brings(request, approval, input))) {
            answered = unlink_at(approvals, at);
        } else {
            at = &approval->next;
        }
        if (is_old) {
            free(STEAL(answered));
        }
    }
    return answered;
}

/* ----------------------------------------------------------------- asking */

/* What a person is shown: all that the answer is about. */
static void write_message(struct buf *out, const struct toolrack_approval_request *asked,
                          bool is_plan) {
    if (is_plan) {
        buf_add_text(out, "The server asks for approval: may ");
        text_add_line(out, asked->tool, strlen(asked->tool)); /* anybody named the plan */
        buf_add_text(out, " run once, with all these calls?\n");
    } else {
        buf_printf(out,
                   "The server asks for approval: may the tool %s (version %s, %s, plugin %s) run "
                   "once with these arguments?\n",
                   asked->tool, asked->version,
                   view_permission((enum toolrack_permission)asked->permission), asked->plugin);
    }
    /* All of them: a client has no way to show more. */
    CLEANUP(buf_finish) struct buf lines = BUF_INIT;
    const char *shown = asked->masked != NULL ? asked->masked : asked->arguments;
    (void)view_add_arguments(&lines, shown, SIZE_MAX);
    out->failed = out->failed || lines.failed;
    if (!lines.failed) {
        text_add_escaped(out, lines.data, lines.length);
    }
    buf_add_text(out, "Why: ");
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

/* Put the question. Where a thread waits for the answer, no other request can bring it.
 * @return enum toolrack_approval */
static int ask(struct request *request, const unsigned char digest[DIGEST_SIZE],
               struct toolrack_input *input, struct approval **ret) {
    struct approval *approval = create(request->principal.party, digest);
    if (approval == NULL) {
        return TOOLRACK_APPROVAL_ASK_LATER;
    }
    input->key = approval->key;
    if (question_ask(request, input, 1) == TOOLRACK_INPUT_LATER) {
        /* The client is told of it when the call has ended. */
        return put(request->mcp->approvals, approval) ? TOOLRACK_APPROVAL_INPUT_LATER
                                                      : TOOLRACK_APPROVAL_ASK_LATER;
    }
    *ret = approval;
    int answer = decide(input);
    return answer == TOOLRACK_APPROVAL_ASK_LATER && question_is_unwanted(request)
                   ? TOOLRACK_APPROVAL_UNWANTED
                   : answer;
}

int approve_call(void *user, const struct toolrack_approval_request *asked) {
    struct request *request = user;
    unsigned char digest[DIGEST_SIZE];
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    if (!may_ask(request, asked)) {
        return TOOLRACK_APPROVAL_ASK_LATER;
    }
    write_message(&message, asked, request->tool == NULL && strcmp(asked->plugin, "plan") == 0);
    struct toolrack_input input = {.size = sizeof input,
                                   .kind = TOOLRACK_INPUT_FORM,
                                   .message = message.data,
                                   .schema = SCHEMA};
    if (message.failed || (request->capabilities & inputs_capability(&input)) == 0) {
        return TOOLRACK_APPROVAL_ASK_LATER;
    }
    digest_call(request, asked, digest);
    struct approval *approval = take_answered(request, digest, &input);
    int answer = approval == NULL    ? ask(request, digest, &input, &approval)
                 : approval->goes_on ? TOOLRACK_APPROVAL_ALLOW_ONCE
                                     : decide(&input);
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
        approval->goes_on = true;
        mrtr_mark(request, approval->mark);
        (void)put(request->mcp->approvals, approval);
    } else {
        free(approval);
    }
}
