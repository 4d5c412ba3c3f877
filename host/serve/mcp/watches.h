/* watches.h - which resources clients want to hear of.
 *
 * Each client of the handshake era, and each subscription of the stateless one, has a list. A
 * resource that is in no list any more is told to the plugins as one that nobody wants to hear of.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct mcp;
struct watched;

/* Most resources of one list, and longest URI, in bytes. */
#define WATCH_URIS_MAX 1024u
#define WATCH_URI_MAX  4096u

/** All zero: empty. Guarded by the lock of the watches. */
struct watch_list {
    struct watched **items;
    size_t count;
    size_t room;
    bool ended;
};

enum watch_outcome { WATCH_DONE, WATCH_TOO_MANY, WATCH_NO_MEMORY };

/** Put a resource into a list; nothing if it is there, or the list has ended. */
enum watch_outcome watches_add(struct mcp *mcp, struct watch_list *list, const char *uri);

/** Take it out. @return whether it is in no list any more, and was in this one */
bool watches_remove(struct mcp *mcp, struct watch_list *list, const char *uri);

bool watches_has(struct mcp *mcp, const struct watch_list *list, const char *uri);

/** Empty it for ever; once or more often. */
void watches_end(struct mcp *mcp, struct watch_list *list);

struct watches;
struct watches *watches_create(void);
/** All lists have ended; NULL is ignored. */
void watches_destroy(struct watches *watches);
