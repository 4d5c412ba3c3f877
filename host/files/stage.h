/* stage.h - the host's copies of plugin files, which are loaded in place of the files.
 *
 * The author's file is never mapped. Overwriting or shortening a loaded file would change code
 * under running calls; and for a path or an inode that it knows, the loader returns the old
 * library. So a file is copied into a folder of the host and hashed meanwhile; the copy, <first
 * half of its SHA-256>-g<number>-<name>, has an inode and a path that no other copy ever had.
 *
 * Only the user and root may write to that folder and to the folders above it. Several processes of
 * one user may share it: each holds a lock on it while it has it open, and a process removes copies
 * only when no other has the folder open.
 *
 * Nothing is synced to disk. After a power failure a copy may be short or empty, but an old copy is
 * used only after its bytes were hashed, or compared with bytes that were hashed. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "plugin/identity.h"

struct stage;

#define STAGE_HASH_SIZE 32u

/* Most bytes of unused copies that are kept. */
#define STAGE_UNUSED_SIZE_MAX (4ull << 30)

/* Longest part of a file's name in the names of its copies: the end of a longer name. */
#define STAGE_NAME_MAX 160u

/* How long opening waits while another process removes copies. */
#define STAGE_LOCK_WAIT_MS_MAX 5000u

/* A file changed less than this before it is copied is read twice: two changes may get the same
 * time. */
#define STAGE_YOUNG_NS (20 * (int64_t)CLOCK_NS_PER_MS)

/** A copy. */
struct staged {
    char path[PATH_MAX]; /* absolute, without links */
    uint8_t sha256[STAGE_HASH_SIZE];
    struct file_identity identity; /* of the copy */
    struct file_identity source;   /* of the file that was copied; zero from stage_find() */
    bool is_old;                   /* found, not made */
};

/* Whether an existing copy may be used. For the path of an image that is still mapped the loader
 * returns that image, with the values of its variables. */
enum stage_mode {
    STAGE_NEW, /* always a new file, so that a new image is loaded */
    STAGE_REUSE
};

/** Result of stage_copy(): the file is being written; try again when it has settled. */
#define STAGE_CHANGING 1

/** Open the stage in a folder, which is created, with those above it, if missing.
 *
 * @return 0 with the stage, to be closed by stage_close(); TOOLRACK_E_REFUSED when others may write
 *         to the folder or one above it, or when files cannot be loaded from there; TOOLRACK_E_IO,
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int stage_open(const char *dir, struct stage **ret, struct toolrack_error *err);

/** Open a stage that exists until it is closed, for a host without a state folder: in the first
 * usable one of $XDG_RUNTIME_DIR, $TMPDIR and /tmp. Codes as above. [any-thread] */
int stage_open_temporary(struct stage **ret, struct toolrack_error *err);

/** Close it; NULL is ignored. A temporary stage is removed; images loaded from it stay valid. */
void stage_close(struct stage *stage);

/** The folder: absolute, without links. Valid as long as the stage. [any-thread] */
const char *stage_path(const struct stage *stage);

/** Make the copies that are being made end soon, with TOOLRACK_E_CANCELLED and without a file;
 * later ones are not made either. What was copied is still found. [any-thread] */
void stage_stop(struct stage *stage);

/** Copy a file.
 *
 * @param source_path  links are followed
 * @param expected     the identity that the file must have; NULL: any
 * @return 0; STAGE_CHANGING, with a message of code TOOLRACK_E_IO, when its identity is another or
 *         it changed while it was read; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_REFUSED when it is no
 *         regular file; TOOLRACK_E_LIMIT_EXCEEDED above DESCRIPTOR_FILE_SIZE_MAX; TOOLRACK_E_IO,
 *         TOOLRACK_E_NO_MEMORY; TOOLRACK_E_CANCELLED after stage_stop(). [any-thread] */
int stage_copy(struct stage *stage, const char *source_path, const struct file_identity *expected,
               enum stage_mode mode, struct staged *ret, struct toolrack_error *err);

/** Copy a copy: the same content and name in another file, which is loaded as another image.
 * @return 0; TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY, TOOLRACK_E_CANCELLED. [any-thread] */
int stage_renew(struct stage *stage, const struct staged *copy, struct staged *ret,
                struct toolrack_error *err);

/** The hash that a copy of a file would have, without a copy. No stage is needed.
 * @return as stage_copy(). [any-thread] */
int stage_hash(const char *source_path, const struct file_identity *expected,
               uint8_t ret_sha256[STAGE_HASH_SIZE], struct toolrack_error *err);

/** Find the newest undamaged copy of a content.
 *
 * @param name  of the original file, without folder; NULL: any
 * @return 0; TOOLRACK_E_NOT_FOUND, TOOLRACK_E_NO_MEMORY. [any-thread] */
int stage_find(struct stage *stage, const uint8_t sha256[STAGE_HASH_SIZE], const char *name,
               struct staged *ret, struct toolrack_error *err);

/** The name of the original file, from the name of a copy without its folder: it is the end of the
 * copy's name. Any other name is returned unchanged. [any-thread] */
const char *stage_original_name(const char *name);

/* The copies that must stay; borrowed. */
struct stage_needs {
    const char *const *in_use; /* paths of copies that are loaded or will be */
    size_t in_use_count;
    /* Contents that are to be found again, the most important first. The newest copy of each stays,
     * as long as these copies have no more than size_max bytes together. */
    const uint8_t (*contents)[STAGE_HASH_SIZE];
    size_t content_count;
    uint64_t size_max;
};

/** Remove all copies that are not needed. Nothing happens while another process has the stage open;
 * copies that cannot be removed stay.
 * @return how many were removed. [writer] */
size_t stage_collect(struct stage *stage, const struct stage_needs *needs);
