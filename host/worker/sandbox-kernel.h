/* sandbox-kernel.h - what of the sandbox the kernel has; asked on both sides.
 *
 * The host asks to say beforehand what can be put into force, the worker to do it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sandbox_policy;
struct toolrack_error;

/** Which version of Landlock the kernel has, at most SANDBOX_LANDLOCK_NEWEST; 0 where it has none.
 * [any-thread] */
int sandbox_landlock_version(void);
/* The newest version of Landlock of which all is used that it forbids. */
#define SANDBOX_LANDLOCK_NEWEST 7

/** The layers which that version puts into force for a policy. [any-thread] */
uint32_t sandbox_landlock_layers(int version, const struct sandbox_policy *policy);

/** Put them into force, on a kernel that has that version; see sandbox_apply(). [worker] */
int sandbox_landlock_apply(int version, const struct sandbox_policy *policy,
                           const char *const *library_paths, struct toolrack_error *err);

/** Whether the kernel takes filters of system calls. [any-thread] */
bool sandbox_has_seccomp(void);

/* Stands in a filter where the number of the worker's process belongs, which the host does not know
 * yet. No process has it, as it is above what the kernel gives (2^22): a filter in which it is left
 * refuses every signal. */
#define SANDBOX_FILTER_SELF 0x7f53454cu
