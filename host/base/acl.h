/* acl.h - whether an access control list lets others write.
 *
 * A file or folder on Linux may have a list of further users and groups with their rights. Its mode
 * then shows the list's mask in place of the group's rights: a mode by which the group may write
 * can stand for any user. A mode by which it may not says that the list lets nobody write but the
 * owner. So lists need to be read only in the first case.
 *
 * The default list of a folder gives no right to the folder: it becomes the list of what is made in
 * there later, which is checked when it is used. What the host itself makes has mode 0600 or 0700,
 * which is then the mask: nobody else gets a right by it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/** Where the mode lets the group write: whether that may be anybody but the owner, root and the
 * user's private group. In doubt it is: a list that cannot be read or understood, or of a form that
 * is only recognized (NFSv4, CIFS).
 * @param path         no symbolic link
 * @param group        of the file or folder
 * @param ret_by_list  that is because of a list [any-thread] */
bool acl_lets_others_write(const char *path, gid_t group, bool *ret_by_list);

/** The same for the bytes of a list as the kernel gives them (POSIX). [any-thread] */
bool acl_posix_lets_others_write(const void *bytes, size_t size, gid_t group);
