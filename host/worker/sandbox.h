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
 *     rlimits                         memory, open files, file size, processes, no core
 *     network namespace               where asked for: costs 0.4 ms a start, so not by default
 *
 * What no layer refuses: a plugin can learn that a file exists, how large and how old
 * it is and where a symbolic link leads, wherever the user of the worker may. With
 * network, ports bind TCP alone: UDP has none of its own in Landlock and is needed for
 * names. With spawn on a kernel without the scope of Landlock it can signal other
 * processes of its user. CPU time is limited by the host, call by call (prlimit).
 *
 * What no grant allows: mode, owner, times and extended attributes of files are never
 * changed, for Landlock does not know these calls and they would reach files outside
 * of the grants; sockets of the local kind, as daemons listen there; servers; process
 * groups and sessions of its own, so that the group of the worker is all that it made. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

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
    uint64_t memory_bytes;    /* address space; SANDBOX_MEMORY_DEFAULT; UINT64_MAX: no limit */
    uint64_t file_size_bytes; /* of one file written, EFBIG above it; SANDBOX_FILE_SIZE_DEFAULT */
    uint32_t cpu_s;           /* CPU time of one call, the host's part; SANDBOX_CPU_DEFAULT_S */
    uint32_t files;           /* open descriptors; SANDBOX_FILES_DEFAULT */
    uint32_t processes;       /* processes and threads, with a grant to spawn and not as root, whom
                               * the kernel does not count; SANDBOX_PROCESSES_DEFAULT. It counts a
                               * user's, not a worker's: a barrier to fork bombs, no exact figure */
};
#define SANDBOX_MEMORY_DEFAULT    (UINT64_C(1024) * 1024 * 1024)
#define SANDBOX_FILE_SIZE_DEFAULT (UINT64_C(256) * 1024 * 1024)
#define SANDBOX_CPU_DEFAULT_S     60u
#define SANDBOX_FILES_DEFAULT     64u
#define SANDBOX_PROCESSES_DEFAULT 32u

/** Put the defaults in place of 0. [any-thread] */
void sandbox_fill_limits(struct sandbox_limits *limits);

/** What is granted. All borrowed. Paths are absolute and real, as realpath() gives them when the
 * grant is made: a plugin that may write above a granted path could put a symbolic link in its
 * place, and be granted what that leads to at its next start. One that does not exist grants
 * nothing; one that leads through a link fails sandbox_apply(). */
struct sandbox_policy {
    const char *const *read_paths; /* files at and below them may be read */
    size_t read_path_count;
    const char *const *write_paths; /* ... read, written, made and removed */
    size_t write_path_count;
    bool network;          /* TCP and UDP to others; never a server */
    const uint16_t *ports; /* with network: TCP connections to these ports only; none is all */
    size_t port_count;
    bool spawn;             /* fork, and exec of what is in the system's folders of programs */
    bool network_namespace; /* without network: an empty network of its own as well */
    struct sandbox_limits limits;
};

/** Layers that this kernel and this process can put into force for a policy (host side). What it
 * finds out is kept for the process's life. Of the network namespace it says what the system's
 * settings promise, for to try it would take a process; what the worker reports is certain.
 * [any-thread] */
uint32_t sandbox_available(const struct sandbox_policy *policy);

/** The layers that a policy wants: those without which one of its promises would not be kept.
 * Landlock's TCP is wanted where ports are granted and its scope where processes are; elsewhere
 * seccomp does the same, and they are put into force beside it where the kernel has them. Of what
 * is wanted, that which is not available is for the administrator to know. [any-thread] */
uint32_t sandbox_wanted(const struct sandbox_policy *policy);

/** Layers as words for people: "no-new-privs, capabilities, landlock (files, tcp, scope), seccomp,
 * limits, network namespace", or "none", appended to `out`. [any-thread] */
void sandbox_describe(uint32_t layers, struct buf *out);

/** Compile the system call filter of a policy (host side; libseccomp): an array of struct
 * sock_filter, appended to `out`. The filter depends on network and spawn alone, so callers may
 * keep it, and it holds nothing of this process.
 * @return 0; TOOLRACK_E_IO when libseccomp refuses; TOOLRACK_E_NO_MEMORY. [any-thread] */
int sandbox_filter(const struct sandbox_policy *policy, struct buf *out,
                   struct toolrack_error *err);

/** The folders and files that the loader and the C library read on behalf of any plugin: shared
 * libraries, time zones, locales. NULL-terminated, static. [any-thread] */
const char *const *sandbox_library_paths(void);

/** Put a policy into force on this process, which has one thread yet. There is no way back.
 *
 * What the process has open stays open and usable: the channel, its socket, standard output. The
 * inherited socket is of the stream or seqpacket kind, as a datagram socket would send to anyone.
 * Afterwards SIGXFSZ is ignored, the process leaves no core and nobody but root reads its memory
 * or its files in /proc; what a crash handler needs of those it has open. The signal that tells of
 * the parent's death is kept. To leave by _exit() is safe under every sanitizer, by exit() not.
 *
 * @param library_paths  NULL-terminated: folders and files that may be read beside what the policy
 *                       grants, and with spawn be executed: sandbox_library_paths() and the
 *                       plugin's own file; symbolic links among them are followed. Each costs
 *                       about a microsecond
 * @param filter         what sandbox_filter() made; filter_size 0 leaves seccomp out
 * @param ret_layers     receives the layers that are in force, also on failure
 * @return 0, also where the kernel lacks a layer; TOOLRACK_E_IO when a layer that it has could not
 *         be put into force (the message names it and the errno): the process must end then.
 * [worker] */
int sandbox_apply(const struct sandbox_policy *policy, const char *const *library_paths,
                  const void *filter, size_t filter_size, uint32_t *ret_layers,
                  struct toolrack_error *err);
