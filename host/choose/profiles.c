#include "choose/profiles.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "base/object.h"

#define CHAINS 4096u /* a power of two */

/* A profile that is kept. */
struct kept {
    uint64_t uid;
    struct profile *profile; /* a reference */
    struct kept *next;       /* of its chain */
    struct kept *newer;      /* asked for after it; NULL: it is the newest */
    struct kept *older;
};

struct profiles {
    uint32_t magic; /* PROFILES_MAGIC */
    const struct scenes *scenes;
    size_t size_max;
    struct lock lock; /* guards what follows */
    size_t count;
    size_t size; /* of the profiles and of what keeps them */
    struct kept *newest;
    struct kept *oldest;
    struct kept *chains[CHAINS];
};
#define PROFILES_MAGIC 0x666f7270u

struct profiles *profiles_create(const struct scenes *scenes, size_t size_max) {
    struct profiles *profiles = calloc(1, sizeof *profiles);
    if (profiles != NULL) {
        profiles->magic = PROFILES_MAGIC;
        profiles->scenes = scenes;
        profiles->size_max = size_max;
        lock_init(&profiles->lock);
    }
    return profiles;
}

static void kept_free(struct kept *kept) {
    profile_unref(kept->profile);
    free(kept);
}

void profiles_destroy(struct profiles *profiles) {
    if (profiles == NULL) {
        return;
    }
    OBJECT_WIPE(profiles, PROFILES_MAGIC);
    for (struct kept *kept = profiles->newest, *older; kept != NULL; kept = older) {
        older = kept->older;
        kept_free(kept);
    }
    lock_finish(&profiles->lock);
    free(profiles);
}

static size_t size_of(const struct kept *kept) {
    return sizeof *kept + profile_size(kept->profile);
}

/* Where a uid is, or would be: uids are counted up, so their last bits tell them apart. */
static struct kept **find(struct profiles *profiles, uint64_t uid) {
    struct kept **at = &profiles->chains[uid & (CHAINS - 1)];
    while (*at != NULL && (*at)->uid != uid) {
        at = &(*at)->next;
    }
    return at;
}

/* Take it out of the order of age. */
static void unlink_kept(struct profiles *profiles, struct kept *kept) {
    *(kept->newer != NULL ? &kept->newer->older : &profiles->newest) = kept->older;
    *(kept->older != NULL ? &kept->older->newer : &profiles->oldest) = kept->newer;
    kept->newer = kept->older = NULL;
}

static void make_newest(struct profiles *profiles, struct kept *kept) {
    kept->older = profiles->newest;
    *(profiles->newest != NULL ? &profiles->newest->newer : &profiles->oldest) = kept;
    profiles->newest = kept;
}

/* Remove the one at a place of a chain; the caller frees it without the lock. */
static struct kept *remove_at(struct profiles *profiles, struct kept **at) {
    LOCK_ASSERT_HELD(&profiles->lock);
    struct kept *kept = *at;
    *at = kept->next;
    unlink_kept(profiles, kept);
    profiles->count--;
    profiles->size -= size_of(kept);
    kept->next = NULL;
    return kept;
}

static struct profile *take(struct profiles *profiles, uint64_t uid) {
    lock_take(&profiles->lock);
    struct kept *kept = *find(profiles, uid);
    struct profile *profile = NULL;
    if (kept != NULL) {
        unlink_kept(profiles, kept);
        make_newest(profiles, kept);
        profile = profile_ref(kept->profile);
    }
    lock_release(&profiles->lock);
    return profile;
}

/* Keep a profile, and no longer the oldest ones, where there is no room for all. */
static void keep(struct profiles *profiles, uint64_t uid, struct profile *profile) {
    struct kept *gone = NULL;
    struct kept *kept = calloc(1, sizeof *kept);
    if (kept == NULL) {
        return; /* it is read again next time */
    }
    *kept = (struct kept){.uid = uid, .profile = profile_ref(profile)};
    lock_take(&profiles->lock);
    struct kept **at = find(profiles, uid);
    if (*at == NULL && size_of(kept) <= profiles->size_max) {
        *at = kept;
        make_newest(profiles, kept);
        profiles->count++;
        profiles->size += size_of(kept);
        kept = NULL;
    }
    while (profiles->size > profiles->size_max) {
        struct kept *oldest = remove_at(profiles, find(profiles, profiles->oldest->uid));
        oldest->next = gone;
        gone = oldest;
    }
    lock_release(&profiles->lock);
    if (kept != NULL) {
        kept_free(kept); /* another thread was faster, or it is too large */
    }
    for (struct kept *next; gone != NULL; gone = next) {
        next = gone->next;
        kept_free(gone);
    }
}

int profiles_get(struct profiles *profiles, uint64_t uid, const struct index_document *texts,
                 struct profile **ret, struct toolrack_error *err) {
    OBJECT_CHECK(profiles, PROFILES_MAGIC);
    *ret = take(profiles, uid);
    if (*ret != NULL) {
        return 0;
    }
    int code = profile_create(texts, profiles->scenes, ret, err);
    if (code == 0) {
        keep(profiles, uid, *ret);
    }
    return code;
}

void profiles_forget(struct profiles *profiles, uint64_t uid) {
    OBJECT_CHECK(profiles, PROFILES_MAGIC);
    lock_take(&profiles->lock);
    struct kept **at = find(profiles, uid);
    struct kept *gone = *at != NULL ? remove_at(profiles, at) : NULL;
    lock_release(&profiles->lock);
    if (gone != NULL) {
        kept_free(gone);
    }
}

void profiles_measure(struct profiles *profiles, size_t *ret_count, size_t *ret_bytes) {
    OBJECT_CHECK(profiles, PROFILES_MAGIC);
    lock_take(&profiles->lock);
    *ret_count = profiles->count;
    *ret_bytes = profiles->size;
    lock_release(&profiles->lock);
}
