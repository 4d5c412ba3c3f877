/* subject.h - names as tokens of NATS subjects, and the subjects of a group of hosts.
 *
 * A subject is tokens with "." between them; "*", ">" and blanks mean something else. So a name is
 * written as one token: letters, digits, "-" and "_" as they are, each other byte as "=" and two
 * upper-case hexadecimal digits, and the empty name as "=". Each name has one token, and the reader
 * accepts no other. "1.2.0+x" is "1=2E2=2E0=2Bx".
 *
 * The subjects, where GROUP, NAME and VERSION are such tokens and INSTANCE is a number that a host
 * makes at its start, 16 hexadecimal digits:
 *
 *     toolrack.1.GROUP.hello                   all hosts of the group announce themselves
 *     toolrack.1.GROUP.announce.INSTANCE       who a host is, its load, a digest of its tools
 *     toolrack.1.GROUP.host.INSTANCE.tools     its tools, page by page
 *     toolrack.1.GROUP.host.INSTANCE.call      a call by another host
 *     toolrack.1.GROUP.host.INSTANCE.control   an answer to a question, or that a call is cancelled
 *     toolrack.1.GROUP.host.INSTANCE.probe     whether it is there
 *     toolrack.1.GROUP.host.INSTANCE.order     an order about packages
 *     toolrack.1.GROUP.tool.NAME.VERSION       a call by any client of NATS; a queue group */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* What all of them begin with. */
#define SUBJECT_BEGIN   "toolrack."
/* The version of everything that hosts say to each other; in each subject and each message. */
#define SUBJECT_VERSION 1

/* Longest name that has a token. */
#define SUBJECT_NAME_MAX  255u
#define SUBJECT_TOKEN_MAX (3u * SUBJECT_NAME_MAX)

/** Append a name as a token. The name is not longer than SUBJECT_NAME_MAX. [any-thread] */
void subject_add_token(struct buf *buf, const char *name, size_t length);

/** Read a token.
 * @param ret_name  room for SUBJECT_NAME_MAX + 1 bytes; zero-terminated
 * @return false for what is no token of a name, a name with U+0000, and one that is too long.
 * [any-thread] */
bool subject_read_token(const char *token, size_t length, char *ret_name, size_t *ret_length);
