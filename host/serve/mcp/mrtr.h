/* mrtr.h - what a tool asks the client for in the stateless era: a call that asks ends with its
 * questions, and is made again with the answers (multi round trip requests).
 *
 * The answers of all rounds travel in the state that the client brings back. It is sealed, and
 * bound to the principal, the method, what the request is about, and a time. A client may bring one
 * again, as after a lost connection: whatever may happen only once for a state is remembered by its
 * mark (approve.c). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "toolrack/toolrack.h"

struct request;

/* How long a client may take for one round. */
#define MRTR_TTL_S     3600u
#define MRTR_MARK_SIZE 16u

/** Take the answers that a request brings: its requestState and inputResponses. Nothing in the
 * handshake era.
 * @param method   of the request; static
 * @param subject  the name or address that the request is about
 * @param about    the other parameters that must be the same in each round, as text; both stay as
 *                 long as the request
 * @return false: the request is answered, as the state is not one of it */
bool mrtr_begin(struct request *request, yyjson_val *params, const char *method,
                const char *subject, const char *about, size_t length);

/** As options.input of a call. */
int mrtr_input(struct request *request, struct toolrack_input *inputs, size_t count);

/** Give the answer of a question, if the client has brought it. @return whether it has */
bool mrtr_answer(const struct request *request, struct toolrack_input *input);
/** The same of an answer that comes with this request, and not with its state. */
bool mrtr_answer_now(const struct request *request, struct toolrack_input *input);

/** Mark the state that the request will be answered with: no other one has this mark. */
void mrtr_mark(struct request *request, unsigned char ret[MRTR_MARK_SIZE]);

/** Whether a request goes on from the state with this mark: it brings that one, and an answer to
 * something that was asked with it. */
bool mrtr_goes_on(const struct request *request, const unsigned char mark[MRTR_MARK_SIZE]);

/** Answer a request whose call ended with TOOLRACK_E_INPUT_REQUIRED: by its questions. */
void mrtr_ask(struct request *request);

/** If the call asked for what the client cannot give: answer its failure by an error that says so.
 * @return whether it is answered */
bool mrtr_refuse(struct request *request);
