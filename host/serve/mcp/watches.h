/* watches.h - which resources clients want to hear of.
 *
 * Each client of the handshake era, and each subscription of the stateless one, has a list. A
 * resource that is in no list any more is told to the plugins as one that nobody wants to hear of.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct mcp;
struct watched;

/* Most resources of one list, and longest URI, in bytes. */
#define WATCH_URIS_MAX  1024u
#define WATCH_URI_MAX   4096u
/* Most bytes of the URIs of one list, and of the memory of all lists; a party has a share of
 * that, see shares.h. What an entry takes beside its URI. */
#define WATCH_BYTES_MAX (64u << 10)
#define WATCH_ALL_MAX   ((size_t)32 << 20)
#define WATCH_ENTRY     64u

/** All zero: empty. Guarded by the lock of the watches. */
struct watch_list {
    struct watched **items;
    size_t count;
    size_t room;
    size_t bytes;      /* of the URIs */
    size_t taken;      /* of the share of the party */
    const char *owner; /* that party, whose text outlives the list; NULL: nothing is taken */
    bool ended;
};

enum watch_outcome {
    WATCH_DONE,
    WATCH_TOO_MANY,
    WATCH_TOO_LONG, /* all URIs of the list together */
    WATCH_NO_SHARE, /* the party has taken what it may */
    WATCH_NO_MEMORY
};

/** Put a resource into a list; nothing if it is there, or the list has ended. */
enum watch_outcome watches_add(struct mcp *mcp, struct watch_list *list, const char *party,
                               const char *uri);

/** Take of the party's share what is held beside the URIs until the list ends.
 * @return false: it has taken what it may */
bool watches_hold(struct mcp *mcp, struct watch_list *list, const char *party, size_t bytes);

/** Append the URIs as JSON strings, separated by commas. @return how many there are */
size_t watches_write(struct mcp *mcp, struct watch_list *list, struct buf *out);

/** A copy of the URIs, to be released by free(); NULL when out of memory. */
const char **watches_copy(struct mcp *mcp, struct watch_list *list, size_t *ret_count);

/** Take it out. @return whether it is in no list any more, and was in this one */
bool watches_remove(struct mcp *mcp, struct watch_list *list, const char *uri);

bool watches_has(struct mcp *mcp, const struct watch_list *list, const char *uri);

/** Empty it for ever; once or more often. */
void watches_end(struct mcp *mcp, struct watch_list *list);

struct watches;
struct watches *watches_create(void);
/** All lists have ended; NULL is ignored. */
void watches_destroy(struct watches *watches);
