/* oauth.h - the token that an MCP server of the web wants, without a person at hand.
 *
 * Either the host is a client with credentials of its own (client_credentials), or somebody has
 * agreed elsewhere, and the tokens are in a file, which is written anew when they are (stored).
 * Where tokens come from the server's metadata say (RFC 9728), and those of its authorization
 * server (RFC 8414, or OpenID Connect Discovery). The caller's own token has no part in it. */
#pragma once

#include "remote/mcp/oauth-options.h"

struct oauth;
struct session_wait;

/** NULL: no memory. */
struct oauth *oauth_create(const struct oauth_options *options);
void oauth_destroy(struct oauth *oauth);
CLEANUP_DEFINE(struct oauth, oauth_destroy)

/** Append the header line with the token, if there is one.
 * @return which token it is, for oauth_note_refusal(). [any-thread] */
unsigned oauth_add_header(struct oauth *oauth, struct buf *out);
/** A request with this token was refused.
 * @param status     401 or 403
 * @param challenge  the value of WWW-Authenticate, or NULL. [any-thread] */
void oauth_note_refusal(struct oauth *oauth, unsigned token, long status, const char *challenge);
/** Get another token than the one that was refused, unless another thread has got it.
 * @return 0; TOOLRACK_E_CANCELLED; TOOLRACK_E_PERMISSION_DENIED: why there is none;
 *         TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int oauth_renew(struct oauth *oauth, const struct session_wait *wait, struct toolrack_error *err);

/** The value of a parameter of a challenge for a Bearer token; "" if it has none.
 * @return whether it has one that fits in `room`. [any-thread] */
bool oauth_challenge_value(const char *challenge, const char *name, char *ret, size_t room);
