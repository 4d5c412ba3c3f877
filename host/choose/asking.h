/* asking.h - whether an endpoint may be asked now.
 *
 * A choice that asks an endpoint keeps its thread until the answer is there or is late. So only so
 * many may wait for one endpoint at a time, and of one principal no more than it leaves to others.
 * After failures in a row the endpoint rests: it is left alone, each time longer, and then one
 * choice alone tries it again. Who may not ask does without, at once, and says why. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Most choices that wait for one endpoint at a time. A principal may have as many as it leaves
 * free: alone a half, beside others less. */
#define ASKING_MAX 16u

/* How long an endpoint is left alone after a failure: doubled each time, from the first to the
 * largest. What the provider asks for is waited for, if it is longer. */
#define ASKING_REST_MS_FIRST 1000u
#define ASKING_REST_MS_MAX   300000u

/** After failures. Guarded by its owner. */
struct rest {
    unsigned failures;             /* since the last success */
    uint64_t until_ns;             /* 0: it does not rest */
    struct toolrack_error problem; /* the last one */
};

/** A failure, which begins a rest if there were `patience` in a row, or the provider wants one.
 * @param wait_ms  what the provider asks for; 0: nothing
 * @return how long it rests, in milliseconds; 0: it does not yet */
uint64_t rest_after(struct rest *rest, unsigned patience, uint32_t wait_ms,
                    const struct toolrack_error *problem);
/** A success. */
void rest_end(struct rest *rest);
/** @return 0; the code of the last problem, with a message that says how long it rests still */
int rest_check(const struct rest *rest, struct toolrack_error *err);

/** One endpoint. */
struct asking;

/** @param patience  so many failures in a row begin a rest; not 0
 * @return NULL when out of memory */
struct asking *asking_create(unsigned patience);
/** NULL is ignored; nobody may wait. */
void asking_destroy(struct asking *asking);

/** Begin to ask.
 * @param who  a principal, borrowed until asking_end(); NULL is one too
 * @return 0; why not: TOOLRACK_E_LIMIT_EXCEEDED, or what rest_check() says. [any-thread] */
int asking_begin(struct asking *asking, const char *who, struct toolrack_error *err);

/** The answer is there, or there is none.
 * @param who      the pointer that asking_begin() got
 * @param problem  NULL: it answered
 * @param wait_ms  see rest_after()
 * @return see rest_after(). [any-thread] */
uint64_t asking_end(struct asking *asking, const char *who, uint32_t wait_ms,
                    const struct toolrack_error *problem);
