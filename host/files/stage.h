/* stage.h - our own copies of plugin files: what is loaded in place of them.
 *
 * The author's file is never mapped. Whoever overwrites or shortens it while it is loaded would
 * change code under running calls, and the loader, asked for a path or an inode that it knows,
 * gives back the old library. So a file is copied into a folder of ours and hashed on the way;
 * the copy, <first half of its SHA-256>-g<number>-<name>, has an inode and a path that no
 * other copy ever had.
 *
 * Nobody but us and root may write to that folder nor to any above it. It may be shared by several
 * processes of one user: each holds a lock on it for as long as it has it open, and copies are
 * removed only by one that is alone.
 *
 * Nothing is synced to disk. After a power failure a copy may be short or empty, but an old copy
 * is believed only after its bytes have been hashed again. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plugin/identity.h"

struct stage;

#define STAGE_HASH_SIZE 32u

/* How many contents of one name are kept though nobody uses them: the present one, and the one
 * before it to go back to. */
#define STAGE_CONTENTS_KEPT 2u

/* Longest part of a file's name that its copies bear; of a longer one it is the end. */
#define STAGE_NAME_MAX 160u

/* How long opening waits for another process that is cleaning up. */
#define STAGE_LOCK_WAIT_MS_MAX 5000u

/* A file changed less than this before it is copied is read twice: the clock of its times may
 * stand still between two changes. */
#define STAGE_YOUNG_NS (20 * (int64_t)CLOCK_NS_PER_MS)

/** A copy. */
struct staged {
    char path[PATH_MAX]; /* absolute, without links */
    uint8_t sha256[STAGE_HASH_SIZE];
    struct file_identity identity; /* of the copy */
    struct file_identity source;   /* of what was copied; zero from stage_find() */
    bool is_old;                   /* found, not made */
};

/* Whether a copy may be one that is there already. An image that is still mapped is what the
 * loader gives back for its path, with all that is in its variables. */
enum stage_mode {
    STAGE_NEW, /* always another file, so that it becomes another image */
    STAGE_REUSE
};

/** Result of stage_copy(): the file is being written; wait for it to settle and try again. */
#define STAGE_CHANGING 1

/** Open the stage in a folder, which is made, with those above it, if it is missing.
 *
 * @return 0 with the stage, to be closed by stage_close(); TOOLRACK_E_REFUSED when others may
 *         write to the folder or one above it, or nothing may be loaded from there;
 *         TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. [any-thread] */
int stage_open(const char *dir, struct stage **ret, struct toolrack_error *err);

/** Open one that lasts until it is closed, for a host that has no place to keep anything: in
 * $XDG_RUNTIME_DIR, $TMPDIR or /tmp, the first that will do. Codes as above. [any-thread] */
int stage_open_temporary(struct stage **ret, struct toolrack_error *err);

/** Close it; NULL is ignored. A temporary one is removed, which does no harm to what is loaded
 * from it. */
void stage_close(struct stage *stage);

/** The folder: absolute, without links. Lives as long as the stage. [any-thread] */
const char *stage_path(const struct stage *stage);

/** Copy a file.
 *
 * @param source_path  links are followed
 * @param expected     what the file must be; NULL: whatever it is
 * @return 0; STAGE_CHANGING, with a message of code TOOLRACK_E_IO, when it is not as expected or
 *         changed while it was read; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_REFUSED when it is no
 *         regular file; TOOLRACK_E_LIMIT_EXCEEDED above DESCRIPTOR_FILE_SIZE_MAX; TOOLRACK_E_IO,
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int stage_copy(struct stage *stage, const char *source_path, const struct file_identity *expected,
               enum stage_mode mode, struct staged *ret, struct toolrack_error *err);

/** Copy a copy: the same content and name in another file, which becomes another image.
 * @return 0; TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. [any-thread] */
int stage_renew(struct stage *stage, const struct staged *copy, struct staged *ret,
                struct toolrack_error *err);

/** The hash that a copy of a file would have, without making one. No stage is needed.
 * @return as stage_copy(). [any-thread] */
int stage_hash(const char *source_path, const struct file_identity *expected,
               uint8_t ret_sha256[STAGE_HASH_SIZE], struct toolrack_error *err);

/** Find the newest sound copy of a content.
 *
 * @param name  of the file it was made of, without folder; NULL: of any
 * @return 0; TOOLRACK_E_NOT_FOUND, TOOLRACK_E_NO_MEMORY. [any-thread] */
int stage_find(struct stage *stage, const uint8_t sha256[STAGE_HASH_SIZE], const char *name,
               struct staged *ret, struct toolrack_error *err);

/** The name of the file that a copy was made of, given the name of the copy without its folder, of
 * which it is the end; any other name is given back as it is. [any-thread] */
const char *stage_original_name(const char *name);

/** Remove copies that are not needed: neither in use, nor among the last STAGE_CONTENTS_KEPT
 * contents of their name. Nothing happens while another process has the stage open; what cannot
 * be removed stays.
 *
 * @param in_use  paths of copies that are, or are about to be, loaded; borrowed
 * @return how many were removed. [writer] */
size_t stage_collect(struct stage *stage, const char *const *in_use, size_t count);
