/* member.h - reading an archive, and what is refused in it.
 *
 * An archive is read twice, from one descriptor: first to find all that is wrong with it, so that
 * nothing is written of one that is refused, then to write. The second time everything is checked
 * again, since a file may change meanwhile. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "name.h"

/* What one archive may have and unpack to. A ratio counts above MEMBER_RATIO_FROM bytes only. */
#define MEMBER_COUNT_MAX  10000
#define MEMBER_TOTAL_MAX  (UINT64_C(512) << 20)
#define MEMBER_RATIO_MAX  200
#define MEMBER_RATIO_FROM (UINT64_C(1) << 20)

#define MEMBER_MESSAGE_SIZE 768

struct archive;
struct archive_entry;

enum member_type { MEMBER_FILE, MEMBER_FOLDER, MEMBER_LINK, MEMBER_HARD_LINK, MEMBER_OTHER };

struct member {
    enum member_type type;
    char raw[NAME_SIZE_MAX];  /**< the name as the archive has it, as UTF-8 */
    char name[NAME_SIZE_MAX]; /**< where it would be written; only if `refused` is NULL */
    const char *link;         /**< where a link leads; borrowed until the next member */
    const char *refused;      /**< why it is not extracted; NULL: it is. Constant */
    bool is_renamed;          /**< `name` is not what the archive has */
    bool is_whole;            /**< it is the destination itself: nothing to create */
    bool is_program;          /**< may be executed by its owner */
    bool has_size;
    uint64_t size;
    int64_t modified; /**< seconds since 1970; INT64_MIN: unknown */
};

struct members {
    struct archive *archive;
    struct archive_entry *entry; /**< of the member that was read last; borrowed */
    uint64_t file_size;
    uint64_t unpacked; /**< bytes of members so far, by what they say and what came */
    uint32_t count;
    char message[MEMBER_MESSAGE_SIZE]; /**< why reading failed */
    bool is_limit;                     /**< it failed because of a limit */
};

/** Begin to read an archive from its start. The descriptor stays the caller's. False with a
 * message; members_finish() is to be called all the same. */
bool members_init(struct members *members, int fd);
void members_finish(struct members *members);

/** The next member: 1, 0 at the end, -1 with a message. */
int members_next(struct members *members, struct member *ret);

/** The next bytes of the member, which live until the next call: 1, 0 at the end, -1 with a
 * message. A sparse file's holes are in it as zeros: `ret_at` is where the bytes are to be. */
int members_read(struct members *members, const void **ret_bytes, uint64_t *ret_size,
                 int64_t *ret_at);

/** The name of the format and of its compression, such as "GNU tar format, gzip". */
void members_format(const struct members *members, char *ret, uint64_t size);

const char *member_type_name(enum member_type type);
