/* registry.h - which tools exist.
 *
 * Writers build a new snapshot and publish it by one pointer; readers follow the pointer, take
 * references to what they need and never wait. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "registry/owner.h"
#include "registry/setting.h"
#include "registry/snapshot.h"

struct registry;

/* Most tools registered at once; each version counts. */
#define REGISTRY_TOOLS_MAX 65536u

/* What happens when the same name and version are registered twice. */
enum registry_duplicates {
    REGISTRY_REJECT, /* the second is refused, with a free name suggested */
    REGISTRY_REPLACE /* the second replaces the first, with a warning */
};

/* Applies the decisions about tools: calls registration_set_changed(), and tool_set_grant() for the
 * views, which are not published yet and have no grant. A new decision is stored first. Called
 * under the lock of the writers: it must not call the registry. A negative result ends the change.
 */
typedef int registry_decide(void *user, struct toolrack_tool *const *tools, size_t count,
                            struct toolrack_error *err);

/* Views that a setting may apply to. */
struct registry_views;

/* Applies a setting, which is borrowed, to views. */
typedef void registry_take_setting(struct registry_views *views,
                                   const struct registry_setting *setting);

struct registry_options {
    enum registry_duplicates duplicates;
    const struct log *log;
    struct owner_rules owners; /* its `log` is not used */
    /* Called after a snapshot was published, before its events; on the writer's thread, no lock
     * held. May be NULL. */
    void (*published)(void *user);
    /* Called after a change took effect, once for each tool; on the writer's thread, no lock held.
     */
    void (*event)(void *user, enum toolrack_event_kind kind, const struct toolrack_tool *tool);
    /* Visit all settings: those for all versions of a name before those for one version. Called
     * under the lock of the writers. A negative result ends the change. May be NULL. */
    int (*settings)(void *user, registry_take_setting *take, struct registry_views *views,
                    struct toolrack_error *err);
    /* Called once for all new registrations of a change, before they can be called; may be NULL. */
    registry_decide *registering;
    /* A registration is not compatible with the version before it: its `succession` says how.
     * Returns whether that is news, and then it is logged as a warning. Called under the lock of
     * the writers; may be NULL: all is news. */
    bool (*incompatible)(void *user, const struct registration *reg);
    void *user;
};

/** NULL when out of memory. */
struct registry *registry_create(const struct registry_options *options);
/** Release it; NULL is ignored. No other thread may use it. */
void registry_destroy(struct registry *registry);

/** Store a setting, by `decide`, and change the tools it applies to. It may apply to tools that are
 * not registered.
 * @param decide  is called once, when all memory has been allocated
 * @return 0; TOOLRACK_E_NO_MEMORY or the code of `decide`: then nothing has changed. [any-thread]
 */
int registry_set(struct registry *registry, const struct registry_setting *setting,
                 registry_decide *decide, void *user, struct toolrack_error *err);

/** Repeat the decision about all versions of a name, registered or not, or with NULL about all
 * tools.
 * @return as above. [any-thread] */
int registry_review(struct registry *registry, const char *name, registry_decide *decide,
                    void *user, struct toolrack_error *err);

/** Read the settings of all tools again, and repeat the decision about all, as one change: another
 * process may have stored some. Tools that are set differently now are reported as
 * TOOLRACK_EVENT_CHANGED.
 * @return as above, and the codes of registry_options.settings. [any-thread] */
int registry_reread(struct registry *registry, registry_decide *decide, void *user,
                    struct toolrack_error *err);

/** The view of a registration in the present snapshot, with a reference; NULL when it has none.
 * [any-thread] */
struct toolrack_tool *registry_view(struct registry *registry, const struct registration *reg);

/** Register the tools of plugins, in their order, as one change. Tools that cannot be registered
 * are noted as refused.
 *
 * @param plugins  borrowed; a registration takes its own reference
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int registry_add(struct registry *registry, struct plugin *const *plugins, size_t count,
                 struct toolrack_error *err);

/** Register all tools of one plugin or none.
 * @param ret_uids  one for each of its tools; may be NULL
 * @return as above, and TOOLRACK_E_EXISTS if a name and version are taken, or a name has another
 *         owner. [any-thread] */
int registry_add_all(struct registry *registry, struct plugin *plugin, uint64_t *ret_uids,
                     struct toolrack_error *err);

/* An exchange of the tools of one file. */
struct registry_swap {
    struct plugin *old; /* its tools are removed, or kept; may be NULL */
    struct plugin *new; /* its tools are added; it had none before; may be NULL */
    bool keeps; /* tools of `old` stay as kept versions, unless `new` has their name and version */
    struct plugin *const *dropped; /* kept plugins whose tools are removed too */
    size_t dropped_count;
    const char *file;                        /* its refusals are replaced */
    const struct toolrack_refusal *refusals; /* by these, and by what the swap refuses */
    size_t refusal_count;
};

/** Exchange the tools of one generation for those of another, as one change: a reader sees all of
 * the old or all of the new. A tool that is in both gets a new registration, with another number,
 * and is reported as TOOLRACK_EVENT_CHANGED, as is a tool that becomes a kept version; old->kept is
 * set if there is one. Tools that cannot be registered are noted as refused.
 *
 * @param ret_removed  how many names and versions are free now; may be NULL
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int registry_swap(struct registry *registry, const struct registry_swap *swap, size_t *ret_removed,
                  struct toolrack_error *err);

/** Register those tools of a plugin that were refused because their name and version were taken, or
 * the name had another owner, and that is not so now. A tool that owns the name no longer is
 * refused instead. Nothing happens for a plugin that was exchanged meanwhile.
 * @return as above. [any-thread] */
int registry_complete(struct registry *registry, struct plugin *plugin, struct toolrack_error *err);

/** Say whether a plugin is a kept version.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int registry_set_kept(struct registry *registry, struct plugin *plugin, bool kept,
                      struct toolrack_error *err);

/** A tool of a plugin as it would be registered, but in no snapshot: for a trial. If the settings
 * cannot be read, the tool is disabled.
 * @return a reference; NULL when out of memory. [any-thread] */
struct toolrack_tool *registry_preview(struct registry *registry, struct plugin *plugin,
                                       uint32_t index);

/** Remove one registration, or all that a selector names.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_NO_MEMORY. [any-thread] */
int registry_remove(struct registry *registry, uint64_t uid, struct toolrack_error *err);
/** The same for one registration of a name that is known, without a search of all tools. */
int registry_remove_of_name(struct registry *registry, const char *name, uint64_t uid,
                            struct toolrack_error *err);

/** Set whether a tool of the app returns by itself; see registration.returns.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID for a tool that is not the app's.
 * [any-thread] */
int registry_set_returns(struct registry *registry, uint64_t uid, bool returns,
                         struct toolrack_error *err);
int registry_remove_name(struct registry *registry, const char *selector,
                         struct toolrack_error *err);

/** The number of the current snapshot: another one says that something has changed. [any-thread] */
uint64_t registry_number(struct registry *registry);

/** Find "name", "name@version" or "name@range", as for toolrack_get(); a reference, or NULL.
 * [any-thread] */
struct toolrack_tool *registry_get(struct registry *registry, const char *selector);

/** The same for a call: to be ended by tool_let_go().
 * @param here  as of shard_here() [any-thread] */
struct tool_hold registry_hold(struct registry *registry, const char *selector, unsigned here);

/** The registered name nearest to `name`, or NULL; to be freed. With `called` only names by which a
 * call may run a tool. [any-thread] */
char *registry_suggest(struct registry *registry, const char *name, bool called);

/** Check that a selector names no range: a setting for one version must not later apply to another.
 * @return 0; TOOLRACK_E_INVALID. [any-thread] */
int registry_check_exact(const char *selector, struct toolrack_error *err);

/** Set the error for a selector that registry_get() does not find: NotFound, with the nearest name
 * or the existing versions. The error names the tool. Returns its code. [any-thread] */
int registry_not_found(struct registry *registry, const char *selector, struct toolrack_error *err);

/** The same for a selector that was to be called: suggests only what may be called. [any-thread] */
int registry_not_called(struct registry *registry, const char *selector,
                        struct toolrack_error *err);

/** Call `visit` for each tool of the present snapshot in registry order, inside an RCU reader,
 * until it returns false. [any-thread] */
void registry_visit(struct registry *registry, bool (*visit)(void *user, struct toolrack_tool *),
                    void *user);

/** Call `look` once with the present snapshot, inside an RCU reader. [any-thread] */
void registry_look(struct registry *registry, void (*look)(void *user, const struct snapshot *),
                   void *user);

/** One of the texts of the present snapshot in one format, made by `define` at the first call; a
 * reference, or NULL when out of memory. [any-thread] */
struct toolrack_text *registry_snapshot_text(struct registry *registry, enum toolrack_format format,
                                             enum snapshot_text which, snapshot_define *define);

/** Add a refusal; all strings are copied. Without memory only the row is lost. [any-thread] */
void registry_refuse(struct registry *registry, const struct toolrack_refusal *refusal);
/** Remove the refusals of one rule about one tool of a file. [any-thread] */
void registry_forgive(struct registry *registry, const char *file, const char *rule,
                      const char *tool);
/** A copy of all refusals, to be released by toolrack_refusals_free(). NULL: out of memory. */
struct toolrack_refusals *registry_refusals(struct registry *registry);
