/* mrtr.h - what a tool asks the client for in the stateless era: a call that asks ends with its
 * questions, and is made again with the answers (multi round trip requests).
 *
 * The answers of all rounds travel in the state that the client brings back. It is sealed, and
 * bound to the principal, the method, what the request is about, and a time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <yyjson.h>

#include "toolrack/toolrack.h"

struct request;

/* How long a client may take for one round. */
#define MRTR_TTL_S 3600u

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

/** Give the answer of one of these, if the client has brought it. @return whether it has */
bool mrtr_answer(const struct request *request, struct toolrack_input *input);

/** Answer a request whose call ended with TOOLRACK_E_INPUT_REQUIRED: by its questions. */
void mrtr_ask(struct request *request);

/** If the call asked for what the client cannot give: answer its failure by an error that says so.
 * @return whether it is answered */
bool mrtr_refuse(struct request *request);
