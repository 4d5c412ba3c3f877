/* sandbox.h - what the process of a plugin may do.
 *
 * Default deny: what is not granted here is refused by the kernel, with an errno that the plugin
 * sees. The host makes the policy from the capabilities that the plugin declares and the
 * administrator granted, and picks the system call filter for it, of those that were compiled from
 * the list in sandbox-filter.c when toolrack was built; the worker puts both into force before any
 * code of the plugin runs (sandbox.c).
 *
 * Layers. Each is put into force on its own; a layer that the kernel does not have is reported,
 * never left out silently:
 *
 *     no-new-privs, no capabilities   exec'd programs gain no rights; root's are dropped
 *     Landlock                        files below granted paths only; TCP to granted ports only;
 *                                     no signals and no abstract sockets to processes outside
 *     seccomp                         a list of allowed calls; fork, exec, sockets as granted
 *     threads                         each new thread or process is asked for at the host, which
 *                                     counts them; neither rlimits nor a filter alone can
 *     rlimits                         memory, open files, file size, processes, no core
 *     mount namespace                 only where a granted folder contains what stays the host's
 *     network namespace               only on request, as it costs 0.4 ms per start
 *
 * What no layer refuses: a plugin can learn that a file exists, its size and times, and the target
 * of a symbolic link, wherever the worker's user may. Landlock has rules for TCP
 * ports only: a grant of UDP, which name lookups need, is one of all hosts and ports. With spawn,
 * on a kernel whose Landlock has no scope, a plugin can signal other processes of its user. The
 * host limits CPU time, call by call (prlimit).
 *
 * Memory that no limit of the address space counts cannot be had: memfd_create(), anonymous shared
 * memory and larger pipes are refused, System V and POSIX shared memory too. What remains, and by
 * what it is bounded, is in host/README.md.
 *
 * What no grant allows: changing mode, owner, times or extended attributes of files, as Landlock
 * does not control these calls and they would reach files outside of the grants; local (Unix)
 * sockets, as daemons listen on them, but pairs of stream sockets, whose ends know only each other;
 * servers, and names for sockets; without network, sending descriptors; new process groups and
 * sessions, so that the worker's group contains every process that it started. */
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
    SANDBOX_NETWORK_NAMESPACE = 1 << 7,
    SANDBOX_THREADS = 1 << 8, /* kernel 5.5; not below another filter that has a listener */
    SANDBOX_MOUNT_NAMESPACE = 1 << 9
};

/** Limits of one worker process. 0 stands for the default, which is named at each field. */
struct sandbox_limits {
    uint64_t memory_bytes;    /* address space; SANDBOX_MEMORY_DEFAULT; UINT64_MAX: no limit */
    uint64_t file_size_bytes; /* of a written file, EFBIG above; SANDBOX_FILE_SIZE_DEFAULT */
    uint32_t cpu_s;           /* CPU time of one call, limited by the host; SANDBOX_CPU_DEFAULT_S */
    uint32_t files;           /* open descriptors; SANDBOX_FILES_DEFAULT */
    uint32_t processes;       /* processes and threads, with a grant to spawn and not as root, whose
                               * processes the kernel does not count; SANDBOX_PROCESSES_DEFAULT. The
                               * kernel counts per user, not per worker: a barrier to fork
                               * bombs, not an exact limit */
    uint32_t threads; /* of a worker, its own included; SANDBOX_THREADS_DEFAULT. With a grant
                       * to spawn: threads of all its processes, and `processes` more */
};
#define SANDBOX_MEMORY_DEFAULT    (UINT64_C(1024) * 1024 * 1024)
#define SANDBOX_FILE_SIZE_DEFAULT (UINT64_C(256) * 1024 * 1024)
#define SANDBOX_CPU_DEFAULT_S     60u
#define SANDBOX_FILES_DEFAULT     64u
#define SANDBOX_PROCESSES_DEFAULT 32u
#define SANDBOX_THREADS_DEFAULT   64u
/* Timers and signals that wait, of all processes of the user: each is memory of the kernel. */
#define SANDBOX_SIGNALS_MAX       4096u
/* For a plugin that declares TR_STARTS_THREADS. */
#define SANDBOX_THREADS_DECLARED  256u

/** Replace 0 by the defaults. [any-thread] */
void sandbox_fill_limits(struct sandbox_limits *limits);

/** What is granted. All borrowed. Paths are absolute and real, as realpath() gives them when the
 * grant is made: a plugin that may write above a granted path could replace it by a symbolic link,
 * and get the link's target granted at its next start. A path that does not exist grants nothing; a
 * path that contains a symbolic link makes sandbox_apply() fail. */
struct sandbox_policy {
    const char *plugin_id;         /* for messages of the worker; or NULL */
    const char *const *read_paths; /* files at and below them may be read */
    size_t read_path_count;
    const char *const *write_paths; /* ... read, written, created and removed */
    size_t write_path_count;
    const char *own_path;  /* the one of them that is the plugin's ${data}; NULL: none is */
    bool network;          /* TCP to others; never a server */
    bool udp;              /* UDP; the kernel has no rules for its hosts and ports */
    const uint16_t *ports; /* with network: TCP connections to these ports only; no ports: to all */
    size_t port_count;
    const uint16_t *own_ports; /* on which the host itself listens: never granted */
    size_t own_port_count;
    bool spawn;                  /* fork, and exec of programs in the system's program folders */
    const char *const *programs; /* with spawn: exec of these files only; none: of all programs */
    size_t program_count;
    /* What stays the host's in granted folders; each list sorted, so that what is above comes
     * first. Folders that look empty, but for what is granted below them; files that cannot be
     * written; folders on the way to those, which cannot be renamed or removed. */
    const char *const *hidden_paths;
    size_t hidden_path_count;
    const char *const *frozen_paths;
    size_t frozen_path_count;
    const char *const *kept_paths;
    size_t kept_path_count;
    bool network_namespace; /* without network and udp: also an empty network namespace */
    struct sandbox_limits limits;
};

/** Layers that this kernel and this process can put into force for a policy (host side). The
 * answers of the kernel are cached for the process's life. For the network namespace the result
 * only follows the system's settings, as a test would need a process; the worker's report is
 * reliable. [any-thread] */
uint32_t sandbox_available(const struct sandbox_policy *policy);

/** The layers that a policy needs to be fully enforced. Landlock's TCP is wanted if ports are
 * granted, its scope if spawn is granted; otherwise seccomp does the same, and they are put into
 * force in addition if the kernel has them. The administrator should be told which wanted layers
 * are not available. [any-thread] */
uint32_t sandbox_wanted(const struct sandbox_policy *policy);

/** Layers as text for people: "no-new-privs, capabilities, landlock (files, tcp, scope), seccomp,
 * limits, network namespace", or "none", appended to `out`. [any-thread] */
void sandbox_describe(uint32_t layers, struct buf *out);

/** The TCP ports on which this process listens now, SANDBOX_PORTS_MAX at most. (host side)
 * [any-thread] */
size_t sandbox_own_ports(uint16_t ret[SANDBOX_PORTS_MAX]);

/** Whether paths are granted: only then are there files to lock. [any-thread] */
bool sandbox_has_files(const struct sandbox_policy *policy);

/** The system call filter of a policy (host side), made while toolrack was built: an array of struct
 * sock_filter. It depends on network, udp, spawn, sandbox_has_files() and the kernel's Landlock
 * only. Static. [any-thread] */
const void *sandbox_filter(const struct sandbox_policy *policy, size_t *ret_size);

/** The folders and files that the loader and the C library read on behalf of any plugin: shared
 * libraries, time zones, locales. NULL-terminated, static. [any-thread] */
const char *const *sandbox_library_paths(void);

/** Put a policy into force on this process, which must be single-threaded. It cannot be undone.
 *
 * Open descriptors stay open and usable: the channel, its socket, standard output. The inherited
 * socket must be a stream or seqpacket socket, as a datagram socket could send to anyone.
 * Afterwards SIGXFSZ is ignored, the process leaves no core, and only root can read its memory or
 * its files in /proc; the crash handler must have opened those it needs. The signal of the parent's
 * death is kept. Afterwards _exit() is safe under every sanitizer, exit() is not.
 *
 * @param library_paths  NULL-terminated: folders and files that may be read in addition to the
 *                       grants of the policy, and executed with spawn: sandbox_library_paths() and
 *                       the plugin's own file; symbolic links are followed. Each costs about a
 *                       microsecond
 * @param filter         from sandbox_filter(); filter_size 0 leaves seccomp out
 * @param host_socket    over which the host is told of the layers (protocol_describe()), with the
 *                       descriptor that asks for each new thread (threads.h) where SANDBOX_THREADS
 *                       is in force; nothing can be sent over it afterwards; -1: threads are not
 *                       counted
 * @param ret_layers     receives the layers that are in force, also on failure
 * @return 0, also if the kernel lacks a layer; TOOLRACK_E_IO if a layer that the kernel has could
 *         not be put into force (the message names it and the errno): the process must end then.
 * [worker] */
int sandbox_apply(const struct sandbox_policy *policy, const char *const *library_paths,
                  const void *filter, size_t filter_size, int host_socket, uint32_t *ret_layers,
                  struct toolrack_error *err);
