/* names.h - the names of all members of an archive, to find those that cannot be beside each other.
 *
 * An archive may have one name twice, or a file where others of it are in a folder of that name.
 * What comes of it depends on the program that extracts, so one that looks harmless to one reader
 * may be something else for another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct names_item {
    char *name; /* owned */
    bool is_folder;
};

struct names {
    struct names_item *items; /* owned */
    size_t count;
    size_t room;
};

/** Add where a member would be written; false: no memory. */
bool names_add(struct names *names, const char *name, bool is_folder);

/** The first name that is a file twice, or a file and a folder; NULL: there is none. A folder may
 * be there many times. Sorts the names. With `may_repeat`, a file may be too. */
const char *names_find_conflict(struct names *names, bool may_repeat, bool *ret_is_folder);

void names_finish(struct names *names);
