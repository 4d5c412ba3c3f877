#include "plan/memory.h"

#include <stdint.h>
#include <string.h>
#include <yyjson.h>

#include "plan/plan.h"

/* A share takes at least as much at once, and gives back what it has beyond the double of it. */
#define STEP (64u * 1024)

/* A shorter text is not looked at: of its values each has two bytes or more. */
#define LOOK_MIN 256u

void plan_memory_init(struct plan_memory *all) {
    *all = (struct plan_memory){0};
    lock_init(&all->lock);
}

void plan_memory_finish(struct plan_memory *all) {
    lock_finish(&all->lock);
}

void plan_memory_share_begin(struct plan_memory_share *share, struct plan_memory *all,
                             const char *party) {
    *share = (struct plan_memory_share){.all = all, .party = party};
    if (all != NULL) {
        LOCK_SCOPE(&all->lock);
        share->next = all->first;
        if (all->first != NULL) {
            all->first->previous = share;
        }
        all->first = share;
    }
}

void plan_memory_share_end(struct plan_memory_share *share) {
    struct plan_memory *all = share->all;
    if (all == NULL) {
        return;
    }
    LOCK_SCOPE(&all->lock);
    all->bytes -= share->taken;
    if (share->next != NULL) {
        share->next->previous = share->previous;
    }
    if (share->previous != NULL) {
        share->previous->next = share->next;
    } else {
        all->first = share->next;
    }
    *share = (struct plan_memory_share){0};
}

/* What the runs of a party may hold together now, and what they do. Caller holds the lock. */
static size_t most_of_party(const struct plan_memory_share *share, size_t *ret_own) {
    const struct plan_memory *all = share->all;
    *ret_own = 0;
    for (const struct plan_memory_share *at = all->first; at != NULL; at = at->next) {
        bool is_own = at == share || (share->party != NULL && at->party != NULL &&
                                      strcmp(at->party, share->party) == 0);
        *ret_own += is_own ? at->taken : 0;
    }
    const size_t others = all->bytes - *ret_own;
    const size_t left = PLAN_RESULTS_ALL_MAX - others;
    return share->party != NULL ? left / 2 : left;
}

/* Take bytes from the whole; false: there are not so many for it. Caller holds the lock. */
static bool take_step(struct plan_memory_share *share, size_t more) {
    size_t own;
    const size_t most = most_of_party(share, &own);
    if (own > most || more > most - own) {
        return false;
    }
    share->taken += more;
    share->all->bytes += more;
    return true;
}

static int refuse(struct plan_memory_share *share, size_t more, struct toolrack_error *err) {
    size_t own;
    const size_t most = most_of_party(share, &own);
    if (share->party == NULL) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the runs of plans hold %zu bytes of results and arguments, %zu more are "
                         "needed, and all of them may hold %u; run the plan again when another run "
                         "has ended, or let it refer to less",
                         share->all->bytes, more, PLAN_RESULTS_ALL_MAX);
    }
    return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "the runs of plans of '%.64s' hold %zu bytes of results and arguments, %zu "
                     "more are needed, and %zu are the most (half of what others leave free of the "
                     "%u of all runs); run the plan again when another run has ended, or let it "
                     "refer to less",
                     share->party, own, more, most, PLAN_RESULTS_ALL_MAX);
}

int plan_memory_take(struct plan_memory_share *share, size_t more, struct toolrack_error *err) {
    if (more > PLAN_RESULTS_MAX - share->used) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the results that the run needs at a time, parsed ones and the arguments "
                         "of its calls have more than the %u bytes allowed; refer to less, or "
                         "split the plan",
                         PLAN_RESULTS_MAX);
    }
    if (share->all != NULL && share->used + more > share->taken) {
        const size_t needed = share->used + more - share->taken;
        LOCK_SCOPE(&share->all->lock);
        bool done = needed < STEP && take_step(share, STEP);
        if (!done && !take_step(share, needed)) {
            return refuse(share, more, err);
        }
    }
    share->used += more;
    return 0;
}

void plan_memory_give(struct plan_memory_share *share, size_t less) {
    share->used -= less;
    if (share->all != NULL && share->taken - share->used > 2 * STEP) {
        const size_t back = share->taken - share->used - STEP;
        LOCK_SCOPE(&share->all->lock);
        share->taken -= back;
        share->all->bytes -= back;
    }
}

size_t plan_memory_parsed_size(const char *text, size_t length) {
    size_t values = 1;
    bool inside = false;
    if (length < LOOK_MIN) {
        return length + (length / 2 + 1) * sizeof(yyjson_val);
    }
    for (size_t i = 0; i < length; i++) {
        if (inside) {
            const char *end = memchr(text + i, '"', length - i);
            size_t slashes = 0;
            if (end == NULL) {
                break;
            }
            i = (size_t)(end - text);
            while (text[i - 1 - slashes] == '\\') { /* its first quote is before them */
                slashes++;
            }
            inside = slashes % 2 != 0;
            continue;
        }
        switch (text[i]) {
        case '"': inside = true; break;
        case ',':
        case ':':
        case '[':
        case '{': values++; break;
        default: break;
        }
    }
    return length + values * sizeof(yyjson_val);
}
