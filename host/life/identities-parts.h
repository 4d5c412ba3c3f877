/* identities-parts.h - claims to one id under judgement; for the identities*.c only. */
#pragma once

#include "life/identities.h"
#include "store/identities.h"

/* A row of the store. */
struct record {
    struct store_identity row; /* its strings are in the arena */
};

/* The records that are needed, by id. */
struct records {
    struct arena *arena;
    struct record *items;
    size_t count;
    size_t room;
    bool failed;
};

struct judging {
    struct identities *identities;
    const struct toolrack_error *unread; /* why the records cannot be read; NULL: they were */
    struct identity_claim **claims;      /* of one id, in the order of the folders */
    size_t count;
    struct records records; /* of that id */
};

/** What is recorded about the identity of this origin; NULL: nothing. */
const struct store_identity *identities_record_of(const struct records *records,
                                                  const char *origin);

/** Refuse a claim; the texts are in the arena. @return 0; TOOLRACK_E_NO_MEMORY. */
int identities_refuse(struct identity_claim *claim, const char *rule, const char *reason,
                      const char *fix);

/** Judge the files of one origin: the highest version serves, and of one version the file that was
 * there first stays. @return 0; TOOLRACK_E_NO_MEMORY. */
int identities_judge_versions(const struct judging *judging, const char *origin);
