/* forked.h - whether what another process made came here by fork().
 *
 * A child has the memory of its parent, but none of its threads; descriptors, workers and locks of
 * files are the parent's. A child that shares address space (vfork) is not told apart. */
#pragma once

/** A number that is another one in each child of fork(). Compare it with that of the time at which
 * something was made. The first call is to be made before the fork. [any-thread] */
unsigned forked_number(void);
