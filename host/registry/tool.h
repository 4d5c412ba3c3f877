/* tool.h - a registration, and the tool as it looks in one snapshot.
 *
 * A registration is one version of one tool of one plugin. Callers hold a `struct toolrack_tool`:
 * an immutable view of the registration, with the enabled flag and the priority of one snapshot. A
 * change of either makes another view of the same registration. */
#pragma once

#include <stdatomic.h>
#include <string.h>

#include "base/shard.h"
#include "ffi/signature.h"
#include "registry/note.h"
#include "registry/plugin.h"
#include "schema/schema.h"

/* What a call needs, made once at the first call. Immutable. */
struct prepared {
    struct schema *schema;
    struct schema *result_schema; /* of a JSON tool that has one; else NULL */
    yyjson_doc *secret_schema;    /* of the arguments, if any of them is a secret; else NULL */
    struct signature *signature;  /* of a typed tool in this process; else NULL */
    size_t slot_count;            /* typed: values that come from the arguments */
    void (*function)(void);
    tr_status (*run)(struct tr_call *call);
};

/* What has changed in a tool since it was approved. */
enum registration_change {
    /* The first bits are texts. */
    REGISTRATION_PERMISSION = 1 << PIN_TEXT_COUNT,        /* it asks for less care */
    REGISTRATION_FLAGS = 1 << (PIN_TEXT_COUNT + 1),       /* they promise more: read only, not
                                                              destructive ... */
    REGISTRATION_CAPABILITIES = 1 << (PIN_TEXT_COUNT + 2) /* its plugin asks for more */
};
/* The bit of an enum pin_text. */
#define REGISTRATION_TEXT(text) (1u << (text))

/* So many short runs let expect another one. A long one, which may be the machine's fault, halves
 * their number, of which so many are remembered. */
#define REGISTRATION_QUICK_RUNS     4u
#define REGISTRATION_QUICK_RUNS_MAX 64u

struct succession;
struct subject; /* of host/record; opaque here */

/* What is counted of its calls, for each CPU. */
struct registration_counts {
    _Alignas(SHARD_ALIGN) struct shard_hold hold;
    atomic_uint_fast64_t calls;
    atomic_uint_fast64_t failures;
    atomic_uint_fast64_t total_ns;
    atomic_uint_fast64_t max_ns;
};

struct registration {
    void *block; /* in which it lies */
    atomic_uint refs;
    atomic_bool asks;       /* each call must be permitted: the tool is not safe, held or unread */
    atomic_bool held;       /* it does not run until the change is approved */
    atomic_bool unread;     /* nor while what was decided about it cannot be read */
    atomic_uint changed;    /* enum registration_change, together */
    atomic_bool announced;  /* its first event has been reported */
    atomic_uint disabled;   /* so often an enabled view of it was followed by a disabled one */
    atomic_bool returns;    /* it always returns by itself: its calls with a deadline run on their
                               callers' threads */
    atomic_bool warned;     /* it is deprecated, and its first call has logged that */
    atomic_bool is_long;    /* its last call that was measured here took much CPU time */
    atomic_uint quick_runs; /* its last runs that were short, see REGISTRATION_QUICK_RUNS */
    uint64_t uid;
    uint32_t name_hash;
    uint32_t name_length;
    struct plugin *plugin;              /* a reference */
    const struct descriptor_tool *spec; /* of plugin->desc */
    _Atomic(struct prepared *) prepared;
    _Atomic(struct succession *) succession; /* owned; NULL: compatible with the version before it.
                                      Set before it is published; not changed afterwards */
    _Atomic(struct subject *) subject; /* data of the record, which owns it; NULL: not called yet */

    struct shards shards;              /* of the next */
    struct registration_counts counts; /* the first of them */
};

/* Bytes of the name of who granted a tool, with the terminating zero; a longer name is cut. */
#define TOOL_WHO_SIZE 128u

/* Set in the references of a tool once the last one that was counted is being given up; what is
 * noted of it (note.h) is counted from then on. */
#define TOOL_ENDS 0x80000000u

struct toolrack_tool {
    atomic_uint refs;
    bool enabled;
    bool is_set_default; /* an administrator set it as the default of its name */
    bool kept; /* an earlier version, kept beside the one that its file has now: it answers to its
                * version only */
    int32_t priority;
    struct registration *reg; /* a reference */
    int64_t granted_until_s;  /* since 1970: its calls are granted before then; 0: never, as for a
                               * safe tool; INT64_MAX: for ever */
    char granted_by[];        /* TOOL_WHO_SIZE bytes; none for a safe tool */
};

/** A new registration of plugin->desc->tools[index]. NULL when out of memory. [writer] */
struct registration *registration_create(struct plugin *plugin, uint32_t index, uint64_t uid);
void registration_unref(struct registration *reg);
CLEANUP_DEFINE(struct registration, registration_unref)

/** A view of it with the values from its descriptor and no grant; takes a reference to it. NULL
 * when out of memory. [writer] */
struct toolrack_tool *tool_create(struct registration *reg);
/** What a plugin offers beside its tools, as a tool that is in no snapshot. NULL when out of
 * memory. [any-thread] */
struct toolrack_tool *tool_create_offer(struct plugin *plugin, enum offer offer);
/** A copy of a view. NULL when out of memory. [writer] */
struct toolrack_tool *tool_copy(const struct toolrack_tool *tool);
CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

/* A tool that a call uses; `tool` is NULL if there is none. */
struct tool_hold {
    struct toolrack_tool *tool;
    struct note *note; /* NULL: it is a reference */
};
/** Hold a tool, inside an RCU reader of a snapshot that has it.
 * @param here  as of shard_here() [any-thread] */
struct tool_hold tool_hold(struct toolrack_tool *tool, unsigned here);
void tool_let_go(struct tool_hold *hold);

/** Set until when a view is granted and by whom, while no other thread has it. Nothing happens to a
 * safe tool, which needs no grant. [writer] */
void tool_set_grant(struct toolrack_tool *tool, int64_t until_s, const char *who);

/** Whether no decision lets a call of it run: it is held or unread, or dangerous without a grant.
 * [any-thread] */
bool tool_is_withheld(const struct toolrack_tool *tool);

/** Whether the app registered it: no other process knows it, so no command decides about it. */
bool tool_is_of_app(const struct toolrack_tool *tool);

/** Whether it is not as it was approved, and waits for that: nobody agreed to its texts.
 * [any-thread] */
static inline bool tool_is_held(const struct toolrack_tool *tool) {
    return atomic_load_explicit(&tool->reg->held, memory_order_relaxed);
}

/** Whether its plugin lacks a capability without which it is of no use. [any-thread] */
bool tool_has_needs(const struct toolrack_tool *tool);
/** Whether models are not told of it: it is held, or has needs. [any-thread] */
static inline bool tool_is_kept_back(const struct toolrack_tool *tool) {
    return tool_is_held(tool) || tool_has_needs(tool);
}

/** Whether a call of it may be of use, perhaps after a person agreed: it is enabled, not withheld,
 * and its plugin has not failed, is not in quarantine, was not left out and has what it needs.
 * [any-thread] */
bool tool_may_run(const struct toolrack_tool *tool);

/** Set the error of a call of a tool that is disabled. @return its code. [any-thread] */
int tool_refuse_disabled(const struct toolrack_tool *tool, struct toolrack_error *err);

/** Whether it has this name. [any-thread] */
static inline bool tool_has_name(const struct toolrack_tool *tool, const char *name,
                                 size_t length) {
    const struct registration *reg = tool->reg;
    return reg->name_length == length && memcmp(reg->spec->tool->name, name, length) == 0;
}

/** What registration_prepare() has made, or NULL. [any-thread] */
static inline const struct prepared *registration_prepared(struct registration *reg) {
    return atomic_load_explicit(&reg->prepared, memory_order_acquire);
}

/** Load the plugin and compile the schema and the signature, unless that is done.
 * @param ret_loaded  set to true if this call loaded the plugin, or failed to
 * @return 0; TOOLRACK_E_EXECUTION_FAILED; TOOLRACK_E_NO_MEMORY. [call-thread] */
int registration_prepare(struct registration *reg, const struct prepared **ret, bool *ret_loaded,
                         struct toolrack_error *err);

/** Compile the schema of its parameters, without its plugin.
 * @param ret  to be released by schema_destroy()
 * @return 0; TOOLRACK_E_EXECUTION_FAILED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int registration_compile(const struct registration *reg, struct schema **ret,
                         struct toolrack_error *err);

/** Set what has changed since it was approved, and whether that keeps it from running. [any-thread]
 */
void registration_set_changed(struct registration *reg, unsigned changed, bool held);

/** Set whether what was decided about it could not be read. Nothing happens to a tool of a builtin
 * plugin, of the configuration or of the app: nobody else can have taken their names, and a host
 * must be of use when its store is damaged. [writer] */
void registration_set_unread(struct registration *reg, bool unread);

#define REGISTRATION_WORDS_ROOM 256u
/** What changed, in words such as "its description changed"; returns `ret`. */
const char *registration_change_words(unsigned changed, char ret[REGISTRATION_WORDS_ROOM]);

/** Whether its calls run without being permitted one by one. [any-thread] */
static inline bool registration_is_free(const struct registration *reg) {
    return !atomic_load_explicit(&reg->asks, memory_order_relaxed);
}

/** Count a finished call.
 * @param here  as of shard_here() [any-thread] */
static inline void registration_record(struct registration *reg, unsigned here, bool failed,
                                       uint64_t ns) {
    struct registration_counts *counts =
            shards_hold(&reg->shards, here, &reg->counts, sizeof *counts);
    shard_add(&counts->calls, 1);
    shard_add(&counts->total_ns, ns);
    shard_add(&counts->failures, failed);
    shard_raise(&counts->max_ns, ns);
    shard_release(&counts->hold);
}

/** Note whether a run was short. [any-thread] */
static inline void registration_note_run(struct registration *reg, bool is_quick) {
    unsigned runs = atomic_load_explicit(&reg->quick_runs, memory_order_relaxed);
    unsigned more = !is_quick ? runs / 2 : runs < REGISTRATION_QUICK_RUNS_MAX ? runs + 1 : runs;
    if (more != runs) {
        atomic_store_explicit(&reg->quick_runs, more, memory_order_relaxed);
    }
}

/** Whether its next run will probably be short. [any-thread] */
static inline bool registration_is_quick(const struct registration *reg) {
    return atomic_load_explicit(&reg->quick_runs, memory_order_relaxed) >= REGISTRATION_QUICK_RUNS;
}

/** "listed", "loaded" etc. */
const char *tool_state_name(enum toolrack_tool_state state);

/** Whether a string is a schema that a tool may have; for the descriptor reader. `user` is a bool
 * that is set when memory ran out, or NULL. [any-thread] */
descriptor_schema_check tool_check_schema;
/** Likewise, whether the values of its examples fit it. [any-thread] */
descriptor_values_check tool_check_values;
/** The options to read a descriptor with both checks. `no_memory` is set when a tool was refused
 * because memory ran out. [any-thread] */
struct descriptor_options tool_descriptor_options(bool *no_memory);
