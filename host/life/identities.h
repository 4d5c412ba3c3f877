/* identities.h - which file may use a plugin id.
 *
 * An id is what a file says of itself, so of several files with one id only one origin
 * (plugin/origin.h) serves: that of the highest trust, then the one that owns the id, then the one
 * that was seen first, then the first in the order of the folders. The files of all other origins
 * are refused. Of several files of that origin the one with the highest version serves, and the
 * others are kept versions. That is an update of the plugin, as one in place, and is told with both
 * files. Of the same version the file stays that served before, and the other is refused.
 *
 * The origin that serves owns the id: what the configuration says about the id applies to it. If
 * the owner is absent, a file from another origin becomes the owner when
 *
 *   - its trust is higher, or
 *   - nothing is bound to the owner: no policy or settings of the configuration, no pin, no default
 *     and no quarantine. It inherits nothing;
 *
 * otherwise, even with the content that the owner had, since whoever can read a file can copy it,
 * it is refused until 'toolrack adopt' says that it is the same plugin. */
#pragma once

#include <string.h>

#include "base/arena.h"
#include "files/scan.h"
#include "life/options.h"

/* The rules of refusals. */
#define IDENTITY_RULE_TAKEN  "plugin-exists" /* another file has the id */
#define IDENTITY_RULE_BOUND  "plugin-bound"  /* decisions are bound to an owner that is absent */
/* The configuration mentions the id, and to which owner that is bound cannot be read. */
#define IDENTITY_RULE_UNREAD "plugin-unread"

enum identity_verdict { IDENTITY_SERVES, IDENTITY_KEPT, IDENTITY_REFUSED };

/* A file that uses an id. */
struct identity_claim {
    const char *path;
    const struct scan_folder *folder;
    struct file_identity identity; /* when it was read */
    const struct descriptor *desc; /* with a plugin */
    bool came_before;              /* it serves already */

    /* The verdict. */
    enum identity_verdict verdict;
    bool owns;
    const char *rule; /* this and the next two: of a refusal, in the arena */
    const char *reason;
    const char *fix;
    const char *owner; /* IDENTITY_RULE_BOUND: the identity of the owner, which is absent */
};

/* An id gets another owner. */
struct identity_move {
    struct identity_move *next;
    const struct identity_claim *to;
    const char *from; /* the identity of the owner until now */
    bool is_known;    /* `to` was recorded before */
};

/* An id is served by another file of the folder, which has a higher version. */
struct identity_update {
    struct identity_update *next;
    const struct identity_claim *to;
    const struct identity_claim *from; /* it served until now, and is a kept version */
};

struct identities {
    const struct life_options *options;
    struct arena arena;
    struct identity_claim *claims;
    size_t count;
    uint8_t set[32]; /* what is recorded when all of them are: zero for a part of the files */
    bool is_recorded;
    struct identity_move *moves; /* ids that get another owner */
    struct identity_update *updates;
};

/** The id that a claim is to. */
static inline const char *identity_claim_id(const struct identity_claim *claim) {
    return claim->desc->plugin->id;
}

/** The name of its file in the folder. */
static inline const char *identity_claim_file(const struct identity_claim *claim) {
    const char *slash = strrchr(claim->path, '/');
    return slash != NULL ? slash + 1 : claim->path;
}

/** Without a state folder there is nothing to compare with, and nothing to be kept. */
static inline bool identities_keeps(const struct identities *identities) {
    return identities->options->places->state_dir != NULL;
}

/** Judge claims, which are borrowed until identities_finish(): the files that are there, in the
 * order of the folders.
 * @param whole  all files of the host: if the same were recorded before, nothing else is read
 * @return 0; TOOLRACK_E_NO_MEMORY; identities_finish() must follow. [any-thread] */
int identities_judge(struct identities *identities, const struct life_options *options,
                     struct identity_claim *claims, size_t count, bool whole,
                     struct toolrack_error *err);
/** Record the files that are not refused, log what was decided and add it to the decisions. A
 * failure of the store is logged. [any-thread] */
void identities_record(struct identities *identities);
void identities_finish(struct identities *identities);

/** Add the refusal of a plugin, by its identity, to the decisions, unless it was the last one of
 * this identity. [any-thread] */
void identities_note_refused(const struct life_options *options,
                             const struct identity_claim *claim);

/** Let the plugin of a claim that was refused by IDENTITY_RULE_BOUND own its id: what is bound to
 * the owner is bound to it. It is noted as a decision.
 * @return 0; a code of the store; TOOLRACK_E_NO_MEMORY. [any-thread] */
int identities_adopt(const struct life_options *options, const struct identity_claim *claim,
                     const char *who, struct toolrack_error *err);
