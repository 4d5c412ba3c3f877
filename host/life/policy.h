/* policy.h - what one plugin may do: what it declares and the administrator allows.
 *
 * Isolation and pins: stated by its policy, else its folder, else the configuration, else the app.
 * Capabilities: those that the descriptor declares and the policy's "allow" names. A builtin
 * plugin, whose files came with toolrack, may read what it declares without being named there. An
 * allowance of a path in a declared one, there or by a person, grants that path. What stays the
 * host's is never granted (guard.h), and what the plugin may write decides nothing else
 * (policy-paths.h). */
#pragma once

#include "config/config.h"
#include "config/places.h"
#include "plugin/descriptor.h"
#include "store/capabilities.h"
#include "worker/crew.h"

/* A declared capability, and whether it is allowed. */
struct policy_capability {
    const struct tr_capability *declared;
    bool allowed;
    bool is_new;      /* a word of "allow" names its kind, but the plugin declared it later */
    bool is_given;    /* a person gave it, or a path in it */
    bool is_taken;    /* a person took it, and gave no path in it since */
    bool is_void;     /* refused, as its value grants nothing: its author's fault, or a placeholder
                       * that has no value */
    const char *path; /* for READ, WRITE and SPAWN: the real path that is granted, or would be; NULL
                       * where there is none */
    const char *declared_path;   /* the real path that is declared, for READ and WRITE; or NULL */
    const char *allowance;       /* what allows it, in the policy's "allow"; NULL: nothing there */
    size_t allowance_line;       /* 0: not known */
    const char *const *narrower; /* the items that grant paths in it, as no other grants the whole;
                                  * NULL-terminated */
    const char *refusal;         /* why it is not granted though it is allowed; NULL: it is */
    const char
            *obstacle; /* why it would not be granted if it were allowed; NULL: nothing is known */
};

struct policy {
    enum isolation isolation;
    bool isolation_is_own; /* stated for this plugin by its id */
    enum pin_policy pin;
    struct sandbox_policy sandbox;
    const char *const *environment; /* NULL-terminated */
    struct crew_limits limits;
    uint32_t keep;  /* how many earlier versions stay callable */
    bool goes_back; /* from a content that crashes in its first minute */
    bool measures_all;
    const struct policy_capability *capabilities;
    size_t capability_count;
    const bool *allowances_used; /* for each item of "allow": it names something that is declared */
};

/** "read", "write", "network", "spawn" or "env"; "unknown" for any other number. */
const char *policy_capability_name(uint32_t kind);

/* What the store has about the capabilities of a plugin (store/capabilities.h). */
struct policy_row {
    enum store_capability_kind kind;
    const char *word;
    const char *capability;
};

struct policy_options {
    const struct config *config; /* borrowed as long as the policy */
    const struct descriptor *desc;
    enum trust trust;
    enum isolation isolation; /* this and `pin`: stated by the folder */
    enum pin_policy pin;
    enum isolation app_isolation;
    const char *origin;          /* of the plugin (plugin/origin.h); NULL: no ${data} */
    const struct places *places; /* what is never granted; NULL: nothing (a test) */
    const char *worker_program;  /* likewise, or NULL */
    bool no_mounts;              /* as if this system had no mount namespaces (a test) */
    const struct policy_row *rows;
    size_t row_count;
    bool rows_unread; /* the store could not be read: no word of "allow" covers anything */
};

/** "read:/srv": kind and value of a capability, in the arena; NULL when out of memory. */
const char *policy_capability_text(struct arena *arena, const struct tr_capability *capability);
/** Whether an item of "allow" is a word, which covers more than one value. */
bool policy_is_word(const char *allowance);

/** Where an item of "allow" leads that grants less than a declared capability: a path in it, in the
 * arena. `ret_path` NULL: it is no such item. @return 0; TOOLRACK_E_NO_MEMORY. */
int policy_find_narrower(const struct policy_options *options, struct arena *arena,
                         const char *item, const struct tr_capability *declared,
                         const char **ret_path, struct toolrack_error *err);
/** Whether two policies of one plugin grant the same capabilities. */
bool policy_same_grants(const struct policy *policy, const struct policy *other);

/** Make a policy in the arena. @return 0; TOOLRACK_E_LIMIT_EXCEEDED for more paths or ports than a
 * sandbox takes; TOOLRACK_E_NO_MEMORY. */
int policy_make(const struct policy_options *options, struct arena *arena, struct policy *ret,
                struct toolrack_error *err);
