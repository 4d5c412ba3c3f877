/* due.h - the crews of a supervisor by the time at which they are to be tended: a pairing heap, of
 * which the crews are the nodes, so that nothing is allocated.
 *
 * A round looks at what is due and at nothing else: of 1,000 crews whose workers are called now and
 * then, each has a time, and one of them is always due soon. */
#pragma once

#include "worker/crew-parts.h"

/** Add a crew that is not in it, by its due_ns; not if that is 0. [supervisor] */
void due_add(struct supervisor *supervisor, struct crew *crew);
/** Take a crew out, if it is in it; before its due_ns changes. [supervisor] */
void due_remove(struct supervisor *supervisor, struct crew *crew);
/** Take out all that are due, as a list by due_next. [supervisor] */
struct crew *due_take(struct supervisor *supervisor, uint64_t now_ns);
