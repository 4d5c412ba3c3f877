/* identities.h - which plugins were seen, by id and origin, and who owns an id or a tool's name.
 *
 * An identity is written as plugin/origin.h says: "currency community:/opt/tools". Pins, crashes,
 * quarantines and calls name it in this form. A database of schema 3 has ids alone in these tables:
 * such a row is bound to the first identity that is recorded as the owner of the id. Statistics,
 * health, feedback, the whitelist, priorities and what enables a tool had no identity in schema 3:
 * such a row is bound to the first owner of the tool's name, and applies to whoever provides the
 * name until then.
 *
 * What was only seen may be lost by a power cut, since it will be seen again. A change of an owner
 * is durable. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/* Most sets of plugins that are remembered as recorded; beyond, the oldest are forgotten. */
#define STORE_SETS_MAX 64

struct store_identity {
    const char *plugin; /**< the id */
    const char *origin;
    int trust;     /**< enum trust; the origin says the same in words */
    int64_t order; /**< smaller than that of all identities recorded later */
    int64_t seen_s;
    bool owns; /**< the configuration's members of the id apply to it; one identity of an id */
    const char *file; /**< the name of the file that served last, in its folder; NULL: not known */
    const char *version; /**< that it had then; NULL with `file` */
};

/** Visit the identities of an id (NULL: of all), in the order of the id, then as they were
 * recorded. [any-thread] */
int store_identities_read(struct store *store, const char *plugin,
                          void (*visit)(void *user, const struct store_identity *identity),
                          void *user, struct toolrack_error *err);

/** A plugin that was seen. */
struct store_sighting {
    const char *plugin;
    const char *origin;
    int trust;
    bool owns;           /**< it owns its id from now on */
    const char *file;    /**< the name of the file, which serves; NULL: it does not */
    const char *version; /**< of the plugin; NULL with `file` */
    const char *const *tools;
    size_t tool_count;
};

/** Record plugins and the names of their tools, in this order; those that are recorded keep their
 * place.
 *
 * @param set      what the rows were made of, as a hash; NULL: not to be remembered
 * @param durable  an owner changes
 * @return see store.h. [any-thread] */
int store_identities_record(struct store *store, const struct store_sighting *rows, size_t count,
                            int64_t now_s, const unsigned char set[STORE_SHA256_SIZE], bool durable,
                            struct toolrack_error *err);

/** Whether a set was recorded, and no owner has changed since. [any-thread] */
int store_set_is_recorded(struct store *store, const unsigned char set[STORE_SHA256_SIZE],
                          bool *ret_recorded, struct toolrack_error *err);

/** Whether the store has anything that a person decided about an identity, or its quarantine.
 * [any-thread] */
int store_identity_is_bound(struct store *store, const char *identity, bool *ret_bound,
                            struct toolrack_error *err);

/** Bind to one identity what is bound to another one of the same id, and let it own the id; both
 * must be recorded.
 * @return see store.h. [any-thread] */
int store_identity_adopt(struct store *store, const char *from, const char *to,
                         struct toolrack_error *err);

/** Who has provided a tool of this name. */
struct store_name {
    const char *tool;
    const char *identity;
    int64_t order; /**< smaller: earlier */
};

/** Visit those who provide a name, the first first. [any-thread] */
int store_names_read(struct store *store, const char *tool,
                     void (*visit)(void *user, const struct store_name *name), void *user,
                     struct toolrack_error *err);

/** Remember what was last said about a subject, so that the same is not said at each start.
 * @param ret_new  whether something else, or nothing, was said about it before
 * @return see store.h. [any-thread] */
int store_tell_once(struct store *store, const char *subject, const char *what, bool *ret_new,
                    struct toolrack_error *err);
