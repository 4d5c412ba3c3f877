/* problem.h - failures as problem+json (RFC 9457). */
#pragma once

#include "base/buf.h"
#include "base/error.h"

#define PROBLEM_TYPE "application/problem+json"
/* Before the name of a type of the error table. */
#define PROBLEM_URI  "urn:toolrack:error:"

/** The status of HTTP for a code. */
unsigned problem_status(int code);
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
