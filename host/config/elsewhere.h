/* elsewhere.h - the places of the user's other hosts, which this one would not know.
 *
 * A host that was given other places than the user's own (--state, --config, --plugins, the
 * folders of its configuration) notes them in `elsewhere` of the user's state folder, a file for
 * each set of places, so that the other hosts of the user do not grant them. A host that starts
 * repairs its note. The notes of state folders that are gone are removed when another one is made,
 * and when there are too many. */
#pragma once

#include "config/places.h"

/* Most notes that are read. */
#define ELSEWHERE_NOTES_MAX 1024u

/* A place of another host: its state folder, its configuration, a plugin folder. */
enum elsewhere_kind { ELSEWHERE_STATE = 's', ELSEWHERE_CONFIG = 'c', ELSEWHERE_PLUGINS = 'p' };

struct elsewhere {
    enum elsewhere_kind kind;
    const char *path; /* real when it was noted */
};

/* Places of other hosts, and why they may not be all: then nothing is granted in which one that is
 * not known could be. */
struct elsewhere_list {
    struct elsewhere *places; /* may be NULL if there are none */
    size_t count;
    const char *unknown; /* which note cannot be read, and what to do; NULL: all are known */
};

/** Note the places of a host whose state folder exists; nothing if they are the user's own, or the
 * user has no home.
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_LIMIT_EXCEEDED: the paths are too long together;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int elsewhere_note(const struct places *places, struct toolrack_error *err);

/** The noted places, with all strings in the arena.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int elsewhere_read(const struct places *places, struct arena *arena, struct elsewhere_list *ret,
                   struct toolrack_error *err);
