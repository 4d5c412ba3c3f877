/* daemon-socket.h - where users of this machine reach a daemon, and where it takes commands. */
#pragma once

#include <stdbool.h>

#include "toolrack/toolrack.h"

/* The state folder of a daemon that is no user's, as its service has it; and of its socket. */
#define DAEMON_SYSTEM_STATE  "/var/lib/toolrack"
#define DAEMON_SYSTEM_SOCKET "/run/toolrack"

/** Whether nobody but this user and root can put another file in the place of the lock and the
 * sockets of a state folder.
 * @return 0; TOOLRACK_E_REFUSED; TOOLRACK_E_IO. */
int daemon_check_state(const char *state, struct toolrack_error *err);

/** Whether a socket is one that this user made, in such a folder. Who listens there is known from
 * the connection.
 * @return 0; TOOLRACK_E_REFUSED with the reason; TOOLRACK_E_IO: it is gone; TOOLRACK_E_NO_MEMORY.
 */
int daemon_check_commands(const char *path, struct toolrack_error *err);

/** Find the paths of both sockets, and make the folder of the first.
 *
 * @param state         the state folder, from the root, which was checked
 * @param is_usual      it is the user's own: no option names it
 * @param ret_socket    receives the path where it serves, to be freed
 * @param ret_commands  and that where it takes commands
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_INVALID for a path that is too long; TOOLRACK_E_REFUSED for
 *         a folder that others may write; TOOLRACK_E_NO_MEMORY. Both may be set on failure. */
int daemon_find_sockets(const char *state, bool is_usual, char **ret_socket, char **ret_commands,
                        struct toolrack_error *err);
