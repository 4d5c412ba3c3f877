#include "worker/due.h"

/* Each crew in the heap is due before those below it. `due_below` is the first of them, `due_next`
 * leads to the others, and `due_at` is the pointer that leads to the crew; NULL: it is not in the
 * heap. */

/* Of two crews that nothing leads to, the later one goes below the other. */
static struct crew *meld(struct crew *a, struct crew *b) {
    if (a == NULL || b == NULL) {
        return a != NULL ? a : b;
    }
    struct crew *first = b->due_ns < a->due_ns ? b : a;
    struct crew *later = first == a ? b : a;
    later->due_next = first->due_below;
    if (later->due_next != NULL) {
        later->due_next->due_at = &later->due_next;
    }
    later->due_at = &first->due_below;
    first->due_below = later;
    return first;
}

/* Of those below one crew, first in pairs and then all pairs: that makes the heap even. */
static struct crew *meld_all(struct crew *crew) {
    struct crew *pairs = NULL;
    struct crew *all = NULL;
    while (crew != NULL) {
        struct crew *other = crew->due_next;
        struct crew *next = other != NULL ? other->due_next : NULL;
        struct crew *pair = meld(crew, other);
        pair->due_next = pairs;
        pairs = pair;
        crew = next;
    }
    while (pairs != NULL) {
        struct crew *next = pairs->due_next;
        all = meld(all, pairs);
        pairs = next;
    }
    return all;
}

static void set_first(struct supervisor *supervisor, struct crew *crew) {
    supervisor->due = crew;
    if (crew != NULL) {
        crew->due_next = NULL;
        crew->due_at = &supervisor->due;
    }
}

void due_add(struct supervisor *supervisor, struct crew *crew) {
    assert(crew->due_at == NULL);
    if (crew->due_ns != 0) {
        crew->due_below = NULL;
        set_first(supervisor, meld(supervisor->due, crew));
    }
}

void due_remove(struct supervisor *supervisor, struct crew *crew) {
    if (crew->due_at == NULL) {
        return;
    }
    *crew->due_at = crew->due_next;
    if (crew->due_next != NULL) {
        crew->due_next->due_at = crew->due_at;
    }
    crew->due_at = NULL;
    set_first(supervisor, meld(supervisor->due, meld_all(crew->due_below)));
}

struct crew *due_take(struct supervisor *supervisor, uint64_t now_ns) {
    struct crew *taken = NULL;
    while (supervisor->due != NULL && supervisor->due->due_ns <= now_ns) {
        struct crew *crew = supervisor->due;
        due_remove(supervisor, crew);
        crew->due_next = taken;
        taken = crew;
    }
    return taken;
}
