/* callers.h - which calls of other hosts were taken, so that a request that comes twice runs once.
 *
 * A host numbers its calls, and the number is the last token of the subject that it wants the
 * answer at. Of each host the highest number is remembered, and which of those just before it were
 * taken. Requests of other clients of NATS have no such subject, and are taken as they come. */
#pragma once

#include <stdbool.h>

/* So many numbers before the highest are remembered; what is older is held for a repetition. */
#define CALLERS_WINDOW 4096u
/* Most hosts that are remembered; then the one that called longest ago is forgotten. */
#define CALLERS_MAX    4096u

struct callers;

/** NULL: out of memory. */
struct callers *callers_create(void);
void callers_destroy(struct callers *callers);

/** Whether a call with this subject for its answer was taken. [one thread at a time] */
bool callers_have(const struct callers *callers, const char *reply);

/** Take it. False: it was taken before. Without memory for a new host it is taken and not
 * remembered. [one thread at a time] */
bool callers_take(struct callers *callers, const char *reply);
