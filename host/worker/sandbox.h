/* sandbox.h - what the process of a plugin may do.
 *
 * Default deny: what is not granted here is refused by the kernel, with an errno
 * that the plugin sees. The host makes the policy from the capabilities that the
 * plugin declares and the administrator granted, and compiles the system call
 * filter once a policy (sandbox-filter.c, with libseccomp); the worker puts both
 * into force before any code of the plugin runs (sandbox.c, without it).
 *
 * Layers. Each is put into force on its own; what the kernel does not have is
 * reported, never left out silently:
 *
 *     no-new-privs, no capabilities   nothing that is exec'd gains rights; root's are dropped
 *     Landlock                        files below granted paths only; TCP to granted ports only;
 *                                     no signals and no abstract sockets to processes outside
 *     seccomp                         a list of allowed calls; fork, exec, sockets as granted
 *     rlimits                         memory, CPU time, files, file size, processes, no core
 *     network namespace               where asked for: costs 0.4 ms a start, so not by default */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "toolrack/error.h"

/* Most paths of one kind, and ports, in one policy. */
#define SANDBOX_PATHS_MAX 64u
#define SANDBOX_PORTS_MAX 64u

enum sandbox_layer {
    SANDBOX_NO_NEW_PRIVS = 1 << 0,
    SANDBOX_CAPABILITIES = 1 << 1,
    SANDBOX_LANDLOCK_FILES = 1 << 2,
    SANDBOX_LANDLOCK_TCP = 1 << 3,   /* kernel 6.7 */
    SANDBOX_LANDLOCK_SCOPE = 1 << 4, /* kernel 6.12: signals and abstract sockets */
    SANDBOX_SECCOMP = 1 << 5,
    SANDBOX_LIMITS = 1 << 6,
    SANDBOX_NETWORK_NAMESPACE = 1 << 7
};

/** Limits of one worker process. 0 is the default of each, stated here. */
struct sandbox_limits {
    uint64_t memory_bytes;    /* address space; SANDBOX_MEMORY_DEFAULT */
    uint64_t file_size_bytes; /* of one file written; SANDBOX_FILE_SIZE_DEFAULT */
    uint32_t cpu_s;           /* CPU time of one call; SANDBOX_CPU_DEFAULT_S */
    uint32_t files;           /* open descriptors; SANDBOX_FILES_DEFAULT */
    uint32_t processes;       /* with a grant to spawn; SANDBOX_PROCESSES_DEFAULT */
};
#define SANDBOX_MEMORY_DEFAULT    (UINT64_C(1024) * 1024 * 1024)
#define SANDBOX_FILE_SIZE_DEFAULT (UINT64_C(256) * 1024 * 1024)
#define SANDBOX_CPU_DEFAULT_S     60u
#define SANDBOX_FILES_DEFAULT     64u
#define SANDBOX_PROCESSES_DEFAULT 32u

/** What is granted. All borrowed. Paths are absolute; one that does not exist grants nothing. */
struct sandbox_policy {
    const char *const *read_paths; /* files at and below them may be read */
    size_t read_path_count;
    const char *const *write_paths; /* ... read, written, made and removed */
    size_t write_path_count;
    bool network;          /* sockets of the internet families */
    const uint16_t *ports; /* with network: TCP connections to these ports only; none is all */
    size_t port_count;
    bool spawn;             /* fork and exec of programs */
    bool network_namespace; /* without network: an empty network of its own as well */
    struct sandbox_limits limits;
};

/** Layers that this kernel and this process can put into force for a policy (host side). What it
 * finds out is kept for the process's life. [any-thread] */
uint32_t sandbox_available(const struct sandbox_policy *policy);

/** The layers that a policy wants: all but those that its grants make pointless. [any-thread] */
uint32_t sandbox_wanted(const struct sandbox_policy *policy);

/** Layers as words for people: "no-new-privs, capabilities, landlock (files, tcp, scope), seccomp,
 * limits", into `out`. [any-thread] */
void sandbox_describe(uint32_t layers, struct buf *out);

/** Compile the system call filter of a policy (host side; libseccomp): an array of struct
 * sock_filter, appended to `out`. The filter depends on network and spawn alone, so callers may
 * keep it. @return 0; TOOLRACK_E_IO when libseccomp refuses; TOOLRACK_E_NO_MEMORY. [any-thread] */
int sandbox_filter(const struct sandbox_policy *policy, struct buf *out,
                   struct toolrack_error *err);

/** Put a policy into force on this process, which has one thread yet. There is no way back.
 *
 * @param library_paths  NULL-terminated: folders and files that the loader and the C library need,
 *                       readable beside what the policy grants (the plugin's own file among them)
 * @param filter         what sandbox_filter() made; filter_size 0 leaves seccomp out
 * @param ret_layers     receives the layers that are in force, also on failure
 * @return 0, also where the kernel lacks a layer; TOOLRACK_E_IO when a layer that it has could not
 *         be put into force (the message names it and the errno): the process must end then.
 * [worker] */
int sandbox_apply(const struct sandbox_policy *policy, const char *const *library_paths,
                  const void *filter, size_t filter_size, uint32_t *ret_layers,
                  struct toolrack_error *err);
