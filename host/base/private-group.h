/* private-group.h - whether a group is that of one user alone.
 *
 * Many systems give each user a group of the same name and a umask of 002, so files that the group
 * may write are usual there. Such a group is private if the files /etc/group and /etc/passwd say
 * so: it has the user's name, no other group has its number, it lists nobody else, and it is the
 * primary group of nobody else. Primary groups are in no list of members: each user is looked at.
 *
 * Only these two files are read, and not through the C library's enumeration of users, which may
 * ask a server, leaves out whom the server does not enumerate, and has one position for the whole
 * process, which the app may be using. So users of a server are not seen: where nsswitch.conf names
 * another source of users or groups than "files" and "systemd" (whose users have groups of their
 * own), no group is private. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/** The paths of what is read. */
struct private_group_files {
    const char *users;
    const char *groups;
    const char *sources; /* nsswitch.conf; without it the first two are all there is */
};

/** Whether `gid` is the primary group of user `uid` alone, by these files. In doubt it is not.
 * [any-thread] */
bool private_group_in(const struct private_group_files *files, uid_t uid, gid_t gid);

/** Whether `gid` is the process's group, and that of its user alone, by the files of the system.
 * They are read again only when one of them has changed. [any-thread] */
bool private_group_is_own(gid_t gid);
