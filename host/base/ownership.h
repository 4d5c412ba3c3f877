/* ownership.h - whether other users could change a file, or exchange what a path leads to.
 *
 * Trusted are root, the user that runs the host, and the user's private group (private-group.h). So
 * a umask of 002 harms nobody. Where the mode lets the group write, an access control list may let
 * others do so (acl.h).
 *
 * A sticky folder, such as /tmp, may be on the way: only the owner of an entry can rename or remove
 * it, and the next name on the way is checked itself. A sticky folder is not good enough as the end
 * of a path: other users can add entries there. OpenSSH and sudo accept no folder that others may
 * write to, sticky or not; but they check paths below a home, and here build trees and tests below
 * /tmp are usual. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "toolrack/error.h"

/** Whether others than the owner, root and the user's private group may write, by the mode or by an
 * access control list. The one rule for this: whoever checks the mode alone refuses what the others
 * accept.
 * @param st           of `path`, which is no symbolic link
 * @param ret_by_list  that is because of a list [any-thread] */
bool ownership_lets_others_write(const struct stat *st, const char *path, bool *ret_by_list);

/** Check one folder or file.
 * @param st      of `path`, links not followed
 * @param is_end  `path` is what is used, not a folder on the way to it
 * @return 0; TOOLRACK_E_REFUSED with the cause and the fix. [any-thread] */
int ownership_judge(const struct stat *st, const char *path, bool is_end,
                    struct toolrack_error *err);

/** Check what a path leads to, and each folder and symbolic link on the way.
 * @return 0; TOOLRACK_E_REFUSED with the cause and the fix; TOOLRACK_E_NOT_FOUND without one: there
 *         is nothing there; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int ownership_check(const char *path, struct toolrack_error *err);

/** The same, but any user may own the file and the folders: for what whoever starts the host names,
 * and other services or the person at another machine have made, such as a certificate or the token
 * of a container. Who names it trusts its owner. In a folder in which others can make entries, such
 * as /tmp, nobody chose the owner: there it must be root or this user all the same.
 * @param path  from the root. [any-thread] */
int ownership_check_writers(const char *path, struct toolrack_error *err);
