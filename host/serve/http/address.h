/* address.h - where a server listens, and who is at the other end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/network.h"

/* Room for an address and port as text, such as "[fe80::1]:8137". */
#define ADDRESS_TEXT_ROOM 64u

/** Read "127.0.0.1:8137", "[::1]:8137" or "localhost:8137"; the port 0 is any that is free.
 * @return 0; TOOLRACK_E_INVALID */
int address_read(const char *text, struct sockaddr_storage *ret, socklen_t *ret_size,
                 struct toolrack_error *err);

/** Whether only this machine can reach it. An IPv4 address in IPv6 counts as the former. */
bool address_is_loopback(const struct sockaddr_storage *address);

/** As text: "127.0.0.1:8137", "[::1]:8137". */
void address_text(const struct sockaddr_storage *address, char ret[static ADDRESS_TEXT_ROOM]);

/** Listen at a TCP address; `ret_bound` is the address with the port that was taken.
 * @return 0; TOOLRACK_E_IO */
int address_listen(const struct sockaddr_storage *address, socklen_t size, int *ret_fd,
                   struct sockaddr_storage *ret_bound, struct toolrack_error *err);

/** Which file a socket in the file system is: its name may be another one's later. */
struct socket_file {
    dev_t device;
    ino_t inode;
};

/** Listen at a socket in the file system that this user alone may connect to. One that no process
 * listens at any more is removed first.
 * @return 0; TOOLRACK_E_EXISTS: a process listens there, or it is another kind of file;
 *         TOOLRACK_E_INVALID: the path is too long; TOOLRACK_E_IO */
int address_listen_path(const char *path, int *ret_fd, struct socket_file *ret_file,
                        struct toolrack_error *err);

/** Remove that socket, while it is open. What took its place stays. */
void address_leave_path(const char *path, const struct socket_file *file);

/** The user at the other end of a socket in the file system. False: it cannot be told. */
bool address_peer(int fd, uint32_t *ret_user);

/** The user who has the other end of a TCP connection inside this machine. False: it cannot be
 * told: that end is closed, or in another network namespace. */
bool address_owner(int fd, uint32_t *ret_user);

/** The address without its port, as IPv6 has it: what limits for one address count by. Of an IPv6
 * address the first half, for one user has all of the other half. */
void address_key(const struct sockaddr_storage *address, unsigned char ret[static 16]);
