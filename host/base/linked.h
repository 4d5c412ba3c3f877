/* linked.h - a list from which each member can take itself out.
 *
 *     struct job {
 *         struct job *next;
 *         struct job **link; // what leads to it; NULL: it is in no list
 *         ...
 *     };
 *
 * Whoever changes or reads the list holds its lock. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Put a member before the first of the list at `first`. */
#define LINKED_ADD(first, member)                   \
    do {                                            \
        (member)->next = *(first);                  \
        (member)->link = (first);                   \
        if ((member)->next != NULL) {               \
            (member)->next->link = &(member)->next; \
        }                                           \
        *(first) = (member);                        \
    } while (0)

/** Take a member out of its list; nothing if it is in none. */
#define LINKED_REMOVE(member)                          \
    do {                                               \
        if ((member)->link != NULL) {                  \
            *(member)->link = (member)->next;          \
            if ((member)->next != NULL) {              \
                (member)->next->link = (member)->link; \
            }                                          \
            (member)->link = NULL;                     \
        }                                              \
    } while (0)
