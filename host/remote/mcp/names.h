/* names.h - what things of an MCP server are called here: PREFIX_NAME, of characters that each
 * provider takes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "remote/mcp/mirror.h"

struct name_pair {
    const char *name;   /* here */
    const char *remote; /* at the server */
    struct mirrors mirrors;
};

struct names {
    struct arena arena; /* of the texts */
    struct name_pair *items;
    size_t count;
    size_t room;
};

void names_init(struct names *names);
void names_finish(struct names *names);
/** Add one.
 * @param prefix  before it, with a '_' between; "": none
 * @return its name here, as long as the names; NULL: no memory */
const char *names_add(struct names *names, const char *prefix, const char *remote);
/** Arguments of the one that was added last, in the arena of the names. */
void names_set_mirrors(struct names *names, const struct mirrors *mirrors);
/** Those of one, by its name at the server; NULL: it is not there. */
const struct mirrors *names_mirrors(const struct names *names, const char *remote);
/** All are added: names_remote() finds them from now on. */
void names_sort(struct names *names);
/** @return the name at the server; NULL: there is none */
const char *names_remote(const struct names *names, const char *name);
