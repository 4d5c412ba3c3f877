/* selections.h - which tool was chosen for which text, by principal, and whether that was right.
 *
 * A text of a principal has one row: choosing for it again changes the row. A selection is not a
 * person's decision: it survives the end of the process, but may be lost by a power cut. What a
 * person says of it is a decision. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Most bytes of a text that are kept. */
#define STORE_SELECTION_TEXT_MAX          1024u
/* Most texts kept of one principal, and of all. Beyond, texts are removed, so many at once that it
 * is seldom done: of all, those of the principal that has the most, so that none pushes out what
 * others taught. Of a principal those are kept longest of which a person said which tool is right,
 * then those whose calls worked; of equal ones those longest not asked go first. */
#define STORE_SELECTIONS_OF_PRINCIPAL_MAX 10000
#define STORE_SELECTIONS_MAX              20000
#define STORE_SELECTIONS_REMOVED          100

/* Room for an id, with its final zero. */
#define STORE_SELECTION_ID_SIZE 17u

/* Bytes of the key by which ids are made. */
#define STORE_SELECTION_KEY_SIZE 32u

/** One text. */
struct store_selection {
    const char *id; /**< of principal and text, by the key; given by the caller */
    const char *principal;
    const char *text; /**< cut at the size above */
    /** That was chosen last; "": none. Where somebody said that none is right, the one that was
     * wrong stays until another is chosen. */
    const char *tool;
    const char *plugin; /**< its identity (identities.h) */
    int64_t time_ms;    /**< of the last selection or correction, since 1970 */
    uint64_t worked;    /**< calls of the tool that gave a result; of the tool chosen last */
    uint64_t failed;
    const char *right; /**< the tool that somebody said is right; "": none is; NULL: unsaid */
    const char *right_plugin;
    int64_t change; /**< grows with each change of any row; set when read */
};

/** The key of this store: random, and the same for all hosts that share it. An id that is made by
 * it does not tell its text to who has no key.
 * @param makes  write the store, if that was not done: then there is a key
 * @return see store.h; TOOLRACK_E_NOT_FOUND: there is no key yet. [any-thread] */
int store_selections_key(struct store *store, bool makes, unsigned char *ret,
                         struct toolrack_error *err);

/** Keep that a tool was chosen for a text: the members id to time_ms. Another tool than before
 * begins with no calls.
 * @return see store.h. [any-thread] */
int store_selection_put(struct store *store, const struct store_selection *selection,
                        struct toolrack_error *err);

/** Count a call of the tool that was chosen.
 * @param principal  whose row it must be; NULL: anybody's
 * @return see store.h; TOOLRACK_E_NOT_FOUND. [any-thread] */
int store_selection_called(struct store *store, const char *principal, const char *id, bool worked,
                           struct toolrack_error *err);

/** Keep which tool is right for a text; "": none.
 * @return as above. [any-thread] */
int store_selection_correct(struct store *store, const char *principal, const char *id,
                            const char *tool, const char *plugin, int64_t time_ms,
                            struct toolrack_error *err);

/** Remove the texts of a principal; NULL: of all.
 * @param ret_count  may be NULL
 * @return see store.h. [any-thread] */
int store_selections_forget(struct store *store, const char *principal, uint64_t *ret_count,
                            struct toolrack_error *err);

/** Visit the rows that changed after a change, in the order of their changes.
 * @param after      the `change` of a row; 0: visit all
 * @param ret_count  how many rows there are now: who keeps them and then has another number has
 *                   missed that rows were removed, which store_selections_left() tells
 * @return see store.h. [any-thread] */
int store_selections_read(struct store *store, int64_t after,
                          void (*visit)(void *user, const struct store_selection *selection),
                          void *user, uint64_t *ret_count, struct toolrack_error *err);

/** Visit the changes of all rows that there are, in their order: for less than reading the rows.
 * @return see store.h. [any-thread] */
int store_selections_left(struct store *store, void (*visit)(void *user, int64_t change),
                          void *user, struct toolrack_error *err);
