/* secrets.h - what a configuration of an MCP server names and must not be shown.
 *
 * `${env:NAME}` in a text is the value of a variable of the host, and `${file:PATH}` what a file
 * has that only its user can read, so that no secret is in the configuration. What was put in is
 * hidden in log lines and errors, into which a server may copy what it was sent. */
#pragma once

#include <stddef.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"

/* Longest secret, and shortest one that is hidden: a shorter one would hide words. */
#define SECRETS_LENGTH_MAX 65536u
#define SECRETS_HIDDEN_MIN 6u
/* Most that are hidden; the oldest of later ones, such as tokens, are replaced. */
#define SECRETS_COUNT_MAX  64u

struct secrets;

/** NULL: no memory. */
struct secrets *mount_secrets_create(void);
void mount_secrets_destroy(struct secrets *secrets);
CLEANUP_DEFINE(struct secrets, mount_secrets_destroy)

/** Append a text in which those are replaced.
 * @param secrets  NULL: nothing is hidden
 * @param server  the name of the server, for messages
 * @return 0; TOOLRACK_E_INVALID: a variable is not set, a file cannot be used, or there
 *         is a placeholder of other clients; what to do;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int mount_secrets_expand(struct secrets *secrets, const char *server, const char *text,
                         struct buf *out, struct toolrack_error *err);
/** Refuse a text in which nothing is replaced, such as an argument, that has a placeholder.
 * @return 0; TOOLRACK_E_INVALID. [any-thread] */
int mount_secrets_refuse(const char *server, const char *text, struct toolrack_error *err);
/** Hide one more; copied. [any-thread] */
void mount_secrets_add(struct secrets *secrets, const char *text, size_t length);
/** Put '*' in place of each character of those in a text. NULL secrets: there are none.
 * [any-thread] */
void mount_secrets_hide(struct secrets *secrets, char *text);
