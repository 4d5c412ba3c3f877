/* problem.h - failures as problem+json (RFC 9457). */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define PROBLEM_TYPE "application/problem+json"
/* Before the name of a type of the error table. */
#define PROBLEM_URI  "urn:toolrack:error:"

/** The status of HTTP for a failure. 429 asks the client to send the request again: it is for a
 * limit that kept a call from running. A limit that ended a call which had begun, or of which the
 * tool speaks, has another status: the tool would do its work twice. */
#define PROBLEM_LIMIT_OF_CALL 422u
unsigned problem_status(const struct toolrack_error *err);
/** The code for a status that a transport gives. */
int problem_code(unsigned status);

/** Write a failure.
 * @param detail   what the member says; NULL: the message of the error
 * @param near     the name that was meant perhaps, or NULL */
void problem_write(struct buf *out, unsigned status, const struct toolrack_error *err,
                   const char *detail, const char *near);
/** Write a refusal of a request that came to no route. */
void problem_refuse(struct buf *out, unsigned status, const char *message);

/** The status of a type of the error table, by its name; 0: there is none. */
unsigned problem_status_of(const char *name, size_t length);
/** The i-th type of the error table; NULL from their number on. */
const char *problem_type(size_t index);
