/* clients.h - the clients that the server remembers, and what is told to them. */
#pragma once

#include "serve/mcp/client.h"

/** List it. @return false: there are too many sessions, and each is in use. */
bool client_list(struct client *client);
/** Take it out of the list: it is unknown from then on. @return false: it was not listed. */
bool client_unlist(struct client *client);

/** The session with this secret that belongs to the principal: a new reference, or NULL. */
struct client *client_find(struct mcp *mcp, const char *secret, const struct principal *principal);

/** Send what belongs to no request: through the way of a pipe, or the stream of a session; nothing
 * where there is none. */
void client_send(struct client *client, const struct buf *message);

/** Call a function for each client that has agreed on a revision. */
void clients_each(struct mcp *mcp, void (*function)(struct client *client, void *user), void *user);

/** Nothing will come from it any more: its questions are not answered. */
void client_gone(struct client *client);
