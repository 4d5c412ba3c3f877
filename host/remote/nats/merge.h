/* merge.h - which of the decisions of several hosts about one thing is in effect.
 *
 * A host keeps of each host of the group the latest decision about a thing: that with the highest
 * stamp. A decision says which others its host had seen in effect when it was made. Of the latest
 * decisions those count that no other one has seen: they were made at the same time, as far as
 * their hosts could know. Of these the most careful one is in effect. So a denial holds against
 * everything that was decided without knowing of it, and ends by a decision that has seen it.
 *
 * All functions are pure. merge_later() is commutative, associative and idempotent, and what is in
 * effect depends on the set of the latest decisions alone: hosts that have the same decisions have
 * the same one in effect, whatever the order in which the decisions came, and however often
 * (tests/unit/test-merge.c explores all orders). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of a host: its decisions up to this stamp. */
struct merge_seen {
    const char *host;
    int64_t stamp;
};

struct merge_decision {
    const char *host; /* its public key */
    int64_t stamp;    /* greater than those of the earlier decisions of the host */
    int64_t care;     /* of two at the same time, the greater one is in effect */
    const struct merge_seen *seen;
    size_t seen_count;
    const char *text; /* all of it: a host that signs two with one stamp gets one of them */
};

/** Of two decisions of one host, the one that is kept. */
const struct merge_decision *merge_later(const struct merge_decision *a,
                                         const struct merge_decision *b);

/** Whether a decision was made after another one: by the same host, or by one that had seen it. */
bool merge_follows(const struct merge_decision *decision, const struct merge_decision *other);

/** Whether no other one was made after it. @param all  the latest one of each host */
bool merge_counts(const struct merge_decision *decision, const struct merge_decision *all,
                  size_t count);

/** The decision in effect; NULL: there is none. @param all  the latest one of each host, in any
 * order */
const struct merge_decision *merge_winner(const struct merge_decision *all, size_t count);
