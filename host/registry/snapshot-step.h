/* snapshot-step.h - from one snapshot to the next: the writer's side of the shared leaves.
 *
 * A step is about names: it says which tools they had and which they have afterwards. The leaves of
 * these names, and of their tools in registry order, are made again; all others are those of the
 * snapshot before. Leaves are not counted: only the present snapshot is ever changed, so the leaves
 * that a step replaced are in no later snapshot, and are freed when the readers of the one before
 * have left. Nothing of this is more than one thread's at a time. */
#pragma once

#include "registry/snapshot.h"

struct snapshot_step {
    struct snapshot *next;
    struct snapshot_leaf *made;     /* leaves that only `next` has */
    struct snapshot_leaf *replaced; /* leaves that `next` does not have any more */
};

/** Make the snapshot after `old`. Both lists are sorted by tool_compare_names() and have each name
 * and version once. No reference is taken or released: the caller owns those to `before` when the
 * step was taken, and gives those to `after`.
 * @param before  all tools of the names concerned in `old`
 * @param after   all tools of these and further names in the next one
 * @return whether there was memory; without it the step is empty. [writer] */
bool snapshot_step_make(struct snapshot_step *step, const struct snapshot *old,
                        struct toolrack_tool *const *before, size_t before_count,
                        struct toolrack_tool *const *after, size_t after_count);

/** Give the next snapshot and its own leaves their number, before it is published. */
void snapshot_step_number(struct snapshot_step *step, uint64_t number);
/** The next snapshot is not published: free it and its own leaves. An empty step is ignored. */
void snapshot_step_drop(struct snapshot_step *step);
/** It was published instead of `old`, whose readers have left: free that and its own leaves. */
void snapshot_step_finish(struct snapshot_step *step, struct snapshot *old);
