#include "base/acl.h"

#include <errno.h>
#include <stdint.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/private-group.h"

/* The form of the attribute: a version, then entries of a tag, rights and an id, all little-endian
 * (the kernel's posix_acl_xattr.h). */
#define POSIX_NAME    "system.posix_acl_access"
#define POSIX_VERSION 2u
#define HEADER_SIZE   4u
#define ENTRY_SIZE    8u

/* The longest list that is read. File systems keep a few hundred entries at most. */
#define ENTRIES_MAX 1024u

#define RIGHT_WRITE 2u
#define RIGHTS_ALL  7u

enum tag {
    TAG_OWNER = 0x01,
    TAG_USER = 0x02,
    TAG_OWNING_GROUP = 0x04,
    TAG_GROUP = 0x08,
    TAG_MASK = 0x10,
    TAG_OTHER = 0x20,
};

struct entry {
    uint32_t tag;
    uint32_t rights;
    uint32_t id; /* of TAG_USER and TAG_GROUP */
};

static struct entry read_entry(const uint8_t *at) {
    return (struct entry){.tag = at[0] | (uint32_t)at[1] << 8,
                          .rights = at[2] | (uint32_t)at[3] << 8,
                          .id = at[4] | (uint32_t)at[5] << 8 | (uint32_t)at[6] << 16 |
                                (uint32_t)at[7] << 24};
}

/* Whether the one of an entry may be given what the entry says. The mask is for no one. */
static bool is_trusted(const struct entry *entry, gid_t group) {
    switch (entry->tag) {
    case TAG_OWNER: /* who was checked */
    case TAG_MASK: return true;
    case TAG_USER: return entry->id == 0 || entry->id == geteuid();
    case TAG_OWNING_GROUP: return private_group_is_own(group);
    case TAG_GROUP: return private_group_is_own(entry->id);
    default: return false;
    }
}

bool acl_posix_lets_others_write(const void *bytes, size_t size, gid_t group) {
    const uint8_t *at = bytes;
    if (size < HEADER_SIZE || (size - HEADER_SIZE) % ENTRY_SIZE != 0 || at[0] != POSIX_VERSION ||
        at[1] != 0 || at[2] != 0 || at[3] != 0) {
        return true;
    }
    uint32_t mask = RIGHTS_ALL;
    size_t masks = 0;
    for (size_t i = HEADER_SIZE; i < size; i += ENTRY_SIZE) {
        struct entry entry = read_entry(at + i);
        if (entry.tag == TAG_MASK) {
            mask = entry.rights;
            masks++;
        }
    }
    if (masks > 1) {
        return true;
    }
    for (size_t i = HEADER_SIZE; i < size; i += ENTRY_SIZE) {
        struct entry entry = read_entry(at + i);
        bool is_masked =
                entry.tag == TAG_USER || entry.tag == TAG_OWNING_GROUP || entry.tag == TAG_GROUP;
        uint32_t rights = is_masked ? entry.rights & mask : entry.rights;
        bool is_known = is_masked || entry.tag == TAG_OWNER || entry.tag == TAG_MASK ||
                        entry.tag == TAG_OTHER;
        if (!is_known || entry.rights > RIGHTS_ALL ||
            ((rights & RIGHT_WRITE) != 0 && !is_trusted(&entry, group))) {
            return true;
        }
    }
    return false;
}

/* Lists of other forms: what they say is not read. */
static bool has_another_list(const char *path) {
    static const char *const names[] = {"system.nfs4_acl", "system.nfs4acl_xdr", "system.richacl",
                                        "system.cifs_acl"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        if (lgetxattr(path, names[i], NULL, 0) >= 0 || (errno != ENODATA && errno != EOPNOTSUPP)) {
            return true;
        }
    }
    return false;
}

bool acl_lets_others_write(const char *path, gid_t group, bool *ret_by_list) {
    uint8_t bytes[HEADER_SIZE + ENTRIES_MAX * ENTRY_SIZE];
    ssize_t size = lgetxattr(path, POSIX_NAME, bytes, sizeof bytes);
    bool has_none = size < 0 && (errno == ENODATA || errno == EOPNOTSUPP);
    *ret_by_list = !has_none || has_another_list(path);
    return size >= 0      ? acl_posix_lets_others_write(bytes, (size_t)size, group)
           : *ret_by_list ? true
                          : !private_group_is_own(group);
}
