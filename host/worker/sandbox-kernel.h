/* sandbox-kernel.h - which parts of the sandbox the kernel has; used on both sides.
 *
 * The host uses it to report in advance what can be put into force, the worker to put it into
 * force. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sandbox_policy;
struct toolrack_error;

/** The kernel's version of Landlock, at most SANDBOX_LANDLOCK_NEWEST; 0 without Landlock.
 * [any-thread] */
int sandbox_landlock_version(void);
/* The newest version of Landlock whose restrictions are all used. */
#define SANDBOX_LANDLOCK_NEWEST 7

/** The layers which that version puts into force for a policy. [any-thread] */
uint32_t sandbox_landlock_layers(int version, const struct sandbox_policy *policy);

/** Put these layers into force, on a kernel with that version; see sandbox_apply(). [worker] */
int sandbox_landlock_apply(int version, const struct sandbox_policy *policy,
                           const char *const *library_paths, struct toolrack_error *err);

/** Give up what root has beyond other users, for this process and what it executes; `executes`:
 * whether it does. False with errno. [worker] */
bool sandbox_drop_capabilities(bool executes);

/** The devices that every plugin may use. NULL-terminated, static. [any-thread] */
const char *const *sandbox_device_paths(void);

/** Whether a policy needs a mount namespace. [any-thread] */
bool sandbox_needs_mounts(const struct sandbox_policy *policy);

/** Enter the mount namespace that a policy needs, and mount what it hides. [worker] */
int sandbox_mounts_apply(const struct sandbox_policy *policy, const char *const *library_paths,
                         struct toolrack_error *err);

/** Enter a user namespace, with all capabilities in it, and other new namespaces. False with errno.
 * [worker] */
bool sandbox_enter_users(int other_namespaces);

/* Longest path below a hidden folder that stays visible. */
#define PROTECTED_PATH_MAX 4096u

/** Whether the kernel accepts system call filters. [any-thread] */
bool sandbox_has_seccomp(void);

/* Placeholder in a filter for the worker's process id, which the host does not know yet. It is
 * above the kernel's largest process id (2^22), so a filter in which it was not replaced refuses
 * every signal. */
#define SANDBOX_FILTER_SELF 0x7f53454cu

/* Placeholder for the descriptor from which the worker sends one to the host. No process has as
 * many descriptors, so a filter in which it was not replaced refuses to send any. */
#define SANDBOX_FILTER_SENDER 0x7f53454eu

/** Whether the kernel lets another process decide about a system call. [any-thread] */
bool sandbox_has_listeners(void);

/* Placeholder in a filter for "ask the host", if the worker can have a listener, else for "allow".
 * As it is, a tracer would decide, which a worker has not: the call is refused. */
#define SANDBOX_FILTER_COUNTED 0x7468u
