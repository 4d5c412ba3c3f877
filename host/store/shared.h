/* shared.h - decisions that the hosts of a group share (remote/nats/), and what of this host's own
 * decisions they were told.
 *
 * A host tells its group what people decide at it, in whichever process of the state folder. Nobody
 * writes down what is to be told: what is stored now is compared with what was stored when the
 * group was told last, the base. So nothing is missed, also not what was decided while no host ran.
 *
 * A decision of another host is carried out by the functions that store those of people here. They
 * are given an order, and store nothing if what is stored is not the base any more: then a person
 * has decided meanwhile, the group is told that first, and the decision is judged again. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/store.h"

/* The numbers are stored in files. */
enum store_shared_kind {
    STORE_SHARED_ENABLED,  /* "true", "false" */
    STORE_SHARED_PRIORITY, /* a number */
    STORE_SHARED_DEFAULT,  /* a version */
    STORE_SHARED_GRANT,    /* see store_shared_locals() */
    STORE_SHARED_LIST,     /* "blacklist", "whitelist" */
    STORE_SHARED_KINDS
};

/* ------------------------------------------------------------ own decisions */

/** What is stored about a name, and the base. */
struct store_shared_local {
    enum store_shared_kind kind;
    const char *selector; /**< "name" or "name@version" */
    const char *value; /**< as of its kind, with "#WORD" behind it, where WORD is another one after
                            each decision of a person; NULL: nothing is stored. Of a grant:
                            "UNTIL WORD", or "revoked WORD", where UNTIL is in seconds since
                            1970, 0 for ever, and WORD is another one after each revocation */
    bool has_base;
    const char *base;   /**< the value then, or NULL */
    const char *digest; /**< of the tool that the name meant then; "": none. NULL without a base */
};

/** Visit all that there is. A grant that has expired is none. @return see store.h. [any-thread] */
int store_shared_locals(struct store *store, const char *group, int64_t now_s,
                        void (*visit)(void *user, const struct store_shared_local *local),
                        void *user, struct toolrack_error *err);

/** Whether this state folder has told the group anything yet; and that it has from now on.
 * @return see store.h. [any-thread] */
int store_shared_has_begun(struct store *store, const char *group, bool *ret,
                           struct toolrack_error *err);
int store_shared_begin(struct store *store, const char *group, struct toolrack_error *err);

/* ------------------------------------------------------------- all decisions */

/** A decision of a host about a thing (remote/nats/decision.h): the latest of that host. */
struct store_shared_row {
    const char *thing;
    const char *host; /**< its public key */
    int64_t stamp;
    const char *value; /**< signed, as it is in the bucket */
    bool is_seen;      /**< it was judged here */
    bool is_done;      /**< it is in effect here */
};

/** Visit the decisions about a thing (NULL: all), ordered by thing and host. [any-thread] */
int store_shared_read(struct store *store, const char *group, const char *thing,
                      void (*visit)(void *user, const struct store_shared_row *row), void *user,
                      struct toolrack_error *err);

/** Keep a decision, if it is later than what there is of its host, by merge_later().
 * @return see store.h. [any-thread] */
int store_shared_take(struct store *store, const char *group, const struct store_shared_row *row,
                      bool *ret_taken, struct toolrack_error *err);

/** Keep a decision of this host and set the base of what was decided to it, together.
 * @param row  NULL: nothing is to be told; only the base is set
 * @return see store.h. [any-thread] */
int store_shared_tell(struct store *store, const char *group, const struct store_shared_row *row,
                      const struct store_shared_local *local, struct toolrack_error *err);

/** The decisions about a thing were judged, and that of a host is in effect. [any-thread] */
int store_shared_settle(struct store *store, const char *group, const char *thing, const char *host,
                        struct toolrack_error *err);

/** The highest stamp of a host; 0: it has none. [any-thread] */
int store_shared_last(struct store *store, const char *host, int64_t *ret,
                      struct toolrack_error *err);

/* ------------------------------------------------------------------- orders */

/** A decision of the group that is carried out: all borrowed. In the options of the functions that
 * store decisions, NULL is a person's decision at this host. */
struct store_shared_order {
    const char *group;
    const char *thing;
    const char *host; /**< whose decision it is */
    enum store_shared_kind kind;
    const char *selector;
    const char *digest;
    int64_t now_s;
};

/** Inside a transaction, before anything is stored. @return 0, also without an order;
 * TOOLRACK_E_UNAVAILABLE: what is stored is not the base */
int shared_check(struct store *store, const struct store_shared_order *order,
                 struct toolrack_error *err);
/** Inside a transaction, after all is stored: that is the base now. Without an order it is noted
 * that a person has decided, also if that is as it was. */
int shared_done(struct store *store, const struct store_shared_order *order,
                enum store_shared_kind kind, const char *selector, struct toolrack_error *err);
