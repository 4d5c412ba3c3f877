/* access-list.h - the access control list of a file or folder, written as the kernel takes it: a
 * test needs no program for that. /tmp is on a file system that keeps such lists (ext4, xfs, btrfs,
 * tmpfs and overlayfs do). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/xattr.h>

#define ACCESS_LIST  "system.posix_acl_access"
#define DEFAULT_LIST "system.posix_acl_default"

#define ACCESS_SIZE(entries) (4 + 8 * (entries))
#define ACCESS_MOST          8u

enum {
    ACCESS_OWNER = 1,
    ACCESS_USER = 2,
    ACCESS_OWNING_GROUP = 4,
    ACCESS_GROUP = 8,
    ACCESS_MASK = 16,
    ACCESS_OTHER = 32
};

struct access_entry {
    uint16_t tag;
    uint16_t rights;
    uint32_t id;
};

/** The bytes of a list of at most ACCESS_MOST entries; their number. */
static inline size_t access_list_bytes(uint32_t version, const struct access_entry *entries,
                                       size_t count, uint8_t *ret) {
    uint8_t *at = ret;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        *at++ = (uint8_t)(version >> shift);
    }
    for (size_t i = 0; i < count; i++) {
        *at++ = (uint8_t)entries[i].tag;
        *at++ = (uint8_t)(entries[i].tag >> 8);
        *at++ = (uint8_t)entries[i].rights;
        *at++ = (uint8_t)(entries[i].rights >> 8);
        for (unsigned shift = 0; shift < 32; shift += 8) {
            *at++ = (uint8_t)(entries[i].id >> shift);
        }
    }
    return (size_t)(at - ret);
}

/** Give a user rights by a list of a file or folder (`name`: which of its two lists). The owner has
 * all, its group and others read. 0, or -1 with errno. */
static inline int access_list_give(const char *path, const char *name, uint32_t user,
                                   uint16_t rights, uint16_t mask) {
    uint8_t bytes[ACCESS_SIZE(ACCESS_MOST)];
    const struct access_entry entries[] = {{ACCESS_OWNER, 7, UINT32_MAX},
                                           {ACCESS_USER, rights, user},
                                           {ACCESS_OWNING_GROUP, 5, UINT32_MAX},
                                           {ACCESS_MASK, mask, UINT32_MAX},
                                           {ACCESS_OTHER, 5, UINT32_MAX}};
    size_t size = access_list_bytes(2, entries, sizeof entries / sizeof entries[0], bytes);
    return setxattr(path, name, bytes, size, 0);
}
