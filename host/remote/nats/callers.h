/* callers.h - which calls of other hosts were taken, so that a request that comes twice runs once.
 *
 * A host wants the answer to each call at a subject of its own, whose last token nobody can know
 * before. Those of the last calls are remembered, each by a hash. What one message says of others
 * counts for nothing: whoever may publish can have his own call taken, and not keep out another.
 * Requests of other clients of NATS have no such subject, and are taken as they come. */
#pragma once

#include <stdbool.h>

/* So many of the last calls are remembered at least, and twice as many at most. */
#define CALLERS_MIN 32768u

struct callers;

/** NULL: out of memory. */
struct callers *callers_create(void);
void callers_destroy(struct callers *callers);

/** Whether a call with this subject for its answer was taken. [one thread at a time] */
bool callers_have(const struct callers *callers, const char *reply);

/** Take it. False: it was taken before. Without memory it is taken and not remembered. [one thread
 * at a time] */
bool callers_take(struct callers *callers, const char *reply);
