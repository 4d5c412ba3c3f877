#include "package/candidates.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/sort.h"

struct candidate {
    const struct source_index *index;
    const struct index_entry *entry;
    bool is_behind; /* a pre-release, where releases are first */
};

struct candidates {
    struct candidate *items; /* of the first index first, the highest of each first */
    size_t count;
    size_t room;
};

static void candidates_free(struct candidates *candidates) {
    free(candidates->items);
}

void candidates_finish(struct source_index *fetched) {
    for (size_t i = 0; i < SOURCE_INDEXES_MAX; i++) {
        source_index_finish(&fetched[i]);
    }
}

static bool add(struct candidates *to, const struct candidate *one) {
    if (to->count == to->room) {
        size_t room = to->room == 0 ? 16 : 2 * to->room;
        struct candidate *items = realloc(to->items, room * sizeof *items);
        if (items == NULL) {
            return false;
        }
        to->items = items;
        to->room = room;
    }
    to->items[to->count++] = *one;
    return true;
}

static bool add_all(struct candidates *to, const struct source_index *index,
                    const struct candidates_wanted *wanted) {
    bool has_room = true;
    for (size_t i = 0; has_room && i < index->index.count; i++) {
        const struct index_entry *entry = &index->index.entries[i];
        if (strcmp(entry->id, wanted->id) == 0 && wanted->takes(wanted->user, entry->version)) {
            bool is_behind = wanted->releases_first && semver_is_prerelease(entry->version);
            has_room = add(to, &(struct candidate){index, entry, is_behind});
        }
    }
    return has_room;
}

/* Those of the first index are first in memory: `fetched` is one array. */
static int compare(const void *a, const void *b) {
    const struct candidate *one = a;
    const struct candidate *other = b;
    int order = (int)one->is_behind - (int)other->is_behind;
    order = order != 0 ? order : semver_compare(other->entry->version, one->entry->version);
    return order != 0 ? order : (one->index > other->index) - (one->index < other->index);
}

/* Whether a signature says that it is of a key that may be taken; whether it is, is verified when
 * the package is there. */
static bool is_allowed(const struct source_judge *judge, const struct candidate *candidate,
                       const struct candidates_wanted *wanted) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct signature_text signature;
    struct toolrack_error unheard;
    if (source_read_signature(candidate->index, candidate->entry, &text, &unheard) < 0 ||
        signature_parse(text.data != NULL ? text.data : "", text.length, &signature, &unheard) <
                0) {
        return false;
    }
    const struct keyring_key *key = keyring_find(judge->ring, signature.number);
    return key != NULL && keyring_key_signs(key, wanted->id) &&
           (wanted->follows[0] == '\0' || keyring_key_follows(key, wanted->follows));
}

static const struct candidate *choose(const struct source_judge *judge,
                                      const struct candidates *candidates,
                                      const struct candidates_wanted *wanted) {
    for (size_t i = 0; candidates->count > 1 && i < candidates->count && i < CANDIDATES_TRIED_MAX;
         i++) {
        if (is_allowed(judge, &candidates->items[i], wanted)) {
            return &candidates->items[i];
        }
    }
    return &candidates->items[0];
}

int candidates_open(const struct source_judge *judge, const char *const *indexes,
                    struct source_index *fetched, const struct candidates_wanted *wanted,
                    struct source *ret, bool *ret_found, struct toolrack_error *err) {
    CLEANUP(candidates_free) struct candidates all = {.items = NULL};
    int failed = 0; /* of the first index that cannot be used */
    for (size_t i = 0; i < SOURCE_INDEXES_MAX && indexes[i] != NULL; i++) {
        struct toolrack_error why;
        int code = fetched[i].location == NULL
                           ? source_index_open(judge, indexes[i], &fetched[i], &why)
                           : 0;
        if (code < 0) {
            source_index_finish(&fetched[i]); /* the next request tries again */
            failed = failed < 0 ? failed : error_set(err, why.code, "%s", why.message);
        } else if (!add_all(&all, &fetched[i], wanted)) {
            return error_oom(err);
        }
    }
    *ret_found = all.count > 0;
    if (all.count == 0) {
        return failed;
    }
    sort(all.items, all.count, sizeof *all.items, compare);
    const struct candidate *chosen = choose(judge, &all, wanted);
    return source_open_entry(chosen->index, chosen->entry, ret, err);
}
