/* Putting a policy into force, in the worker.
 *
 * The order follows from what each step needs:
 *
 *  (1) no-new-privs first: Landlock and seccomp require it for users other than root.
 *  (2) Limits while no layer can refuse to set them.
 *  (3) The namespaces before Landlock, as they write to /proc and mount, and before capabilities
 *      are dropped, as they may need one and give all of them in a new user namespace.
 *  (4) Landlock while files can still be opened.
 *  (5) Capabilities after the last step that needs them, together with access to the process's
 *      files in /proc.
 *  (6) seccomp, as it forbids all of the above.
 *  (7) The limit of open files after the host got the descriptor that seccomp made: the kernel
 *      compares this limit with all descriptors that are being sent by any process of the user. */
#include "worker/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "worker/protocol-fd.h"
#include "worker/sandbox-kernel.h"

/* Paths of various distributions. Each path costs time in Landlock, so paths below another one are
 * not listed. */
static const char *const library_paths_all[] = {
        "/usr/lib",       "/usr/lib64",          "/lib",
        "/lib64",         "/usr/local/lib",      "/etc/ld.so.cache",
        "/etc/localtime", "/usr/share/zoneinfo", NULL,
};

/* Newer than some headers. */
#define FLAG_WAIT_KILLABLE_RECV (1u << 5)

/* One sandbox_apply(). */
struct application {
    const struct sandbox_policy *policy;
    const char *const *library_paths;
    const void *filter;
    size_t filter_size;
    int host_socket; /* or -1 */
    int send_socket; /* the same socket; see prepare_sending() */
    int listener;    /* or -1 */
    uint64_t files;  /* limit of open files */
    int landlock;    /* version */
    uint32_t layers;
    struct toolrack_error *err;
};

const char *const *sandbox_library_paths(void) {
    return library_paths_all;
}

void sandbox_fill_limits(struct sandbox_limits *limits) {
    limits->memory_bytes =
            limits->memory_bytes != 0 ? limits->memory_bytes : SANDBOX_MEMORY_DEFAULT;
    limits->file_size_bytes =
            limits->file_size_bytes != 0 ? limits->file_size_bytes : SANDBOX_FILE_SIZE_DEFAULT;
    limits->cpu_s = limits->cpu_s != 0 ? limits->cpu_s : SANDBOX_CPU_DEFAULT_S;
    limits->files = limits->files != 0 ? limits->files : SANDBOX_FILES_DEFAULT;
    limits->processes = limits->processes != 0 ? limits->processes : SANDBOX_PROCESSES_DEFAULT;
    limits->threads = limits->threads != 0 ? limits->threads : SANDBOX_THREADS_DEFAULT;
}

/* ------------------------------------------------------------------ layers */

bool sandbox_needs_mounts(const struct sandbox_policy *policy) {
    return policy->hidden_path_count + policy->frozen_path_count + policy->kept_path_count > 0;
}

uint32_t sandbox_wanted(const struct sandbox_policy *policy) {
    uint32_t layers = SANDBOX_NO_NEW_PRIVS | SANDBOX_CAPABILITIES | SANDBOX_LANDLOCK_FILES |
                      SANDBOX_SECCOMP | SANDBOX_LIMITS | SANDBOX_THREADS;
    if (policy->network && policy->port_count + policy->own_port_count > 0) {
        layers |= SANDBOX_LANDLOCK_TCP;
    }
    if (policy->spawn) {
        layers |= SANDBOX_LANDLOCK_SCOPE;
    }
    if (policy->network_namespace && !policy->network && !policy->udp) {
        layers |= SANDBOX_NETWORK_NAMESPACE;
    }
    if (sandbox_needs_mounts(policy)) {
        layers |= SANDBOX_MOUNT_NAMESPACE;
    }
    return layers;
}

#define LANDLOCK_LAYERS (SANDBOX_LANDLOCK_FILES | SANDBOX_LANDLOCK_TCP | SANDBOX_LANDLOCK_SCOPE)

/* Landlock's layers are adjacent, so that one pair of parentheses encloses them. */
static const struct {
    uint32_t layer;
    const char *word;
} layer_words[] = {
        {SANDBOX_NO_NEW_PRIVS, "no-new-privs"},
        {SANDBOX_CAPABILITIES, "capabilities"},
        {SANDBOX_LANDLOCK_FILES, "files"},
        {SANDBOX_LANDLOCK_TCP, "tcp"},
        {SANDBOX_LANDLOCK_SCOPE, "scope"},
        {SANDBOX_SECCOMP, "seccomp"},
        {SANDBOX_LIMITS, "limits"},
        {SANDBOX_NETWORK_NAMESPACE, "network namespace"},
        {SANDBOX_THREADS, "threads"},
        {SANDBOX_MOUNT_NAMESPACE, "mount namespace"},
};

void sandbox_describe(uint32_t layers, struct buf *out) {
    const char *separator = "";
    bool in_landlock = false;
    for (size_t i = 0; i < ARRAY_LENGTH(layer_words); i++) {
        if ((layers & layer_words[i].layer) == 0) {
            continue;
        }
        bool is_landlock = (layer_words[i].layer & LANDLOCK_LAYERS) != 0;
        buf_add_text(out, in_landlock && !is_landlock ? ")" : "");
        buf_add_text(out, separator);
        buf_add_text(out, is_landlock && !in_landlock ? "landlock (" : "");
        buf_add_text(out, layer_words[i].word);
        in_landlock = is_landlock;
        separator = ", ";
    }
    buf_add_text(out, in_landlock ? ")" : "");
    buf_add_text(out, *separator == '\0' ? "none" : "");
}

/* ------------------------------------------------------------------- steps */

static int failed(const struct application *application, const char *what) {
    return error_set(application->err, TOOLRACK_E_IO, "cannot %s: %s; the plugin is not run", what,
                     strerror(errno));
}

static int forbid_new_privileges(struct application *application) {
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return failed(application, "set no-new-privs");
    }
    application->layers |= SANDBOX_NO_NEW_PRIVS;
    return 0;
}

/* Limits are lowered, never raised. */
static int limit(struct application *application) {
    bool may_spawn = application->policy->spawn;
    struct sandbox_limits limits = application->policy->limits;
    sandbox_fill_limits(&limits);
    /* The kernel compares the limit with all threads of the user, in other programs too. The
     * machine's total is at least that number, so the limit is added to the total: at least that
     * many can be started, and a bomb is still bounded where the host does not count. */
    struct sysinfo machine = {0};
    if (sysinfo(&machine) < 0) {
        return failed(application, "count what runs");
    }
    const struct {
        __rlimit_resource_t resource;
        uint64_t value;
        const char *what;
    } all[] = {
            {RLIMIT_CORE, 0, "forbid cores"},
            {RLIMIT_AS, limits.memory_bytes, "limit the memory"},
            {RLIMIT_FSIZE, limits.file_size_bytes, "limit the size of files"},
            {RLIMIT_SIGPENDING, SANDBOX_SIGNALS_MAX, "limit the timers"},
            {RLIMIT_NPROC, machine.procs + limits.threads + (may_spawn ? limits.processes : 0),
             "limit the threads and processes"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(all); i++) {
        struct rlimit limit;
        if (prlimit(0, all[i].resource, NULL, &limit) < 0) {
            return failed(application, all[i].what);
        }
        limit.rlim_max = all[i].value < limit.rlim_max ? all[i].value : limit.rlim_max;
        limit.rlim_cur = limit.rlim_max;
        if (prlimit(0, all[i].resource, &limit, NULL) < 0) {
            return failed(application, all[i].what);
        }
    }
    /* A file that grows too large gives the plugin an error and does not kill it. */
    (void)signal(SIGXFSZ, SIG_IGN);
    return 0;
}

/* The filter lets descriptors be sent from one number only, which is above the limit of open files:
 * no code of the plugin can have a socket there. */
static int prepare_sending(struct application *application) {
    struct sandbox_limits limits = application->policy->limits;
    sandbox_fill_limits(&limits);
    struct rlimit limit;
    if (prlimit(0, RLIMIT_NOFILE, NULL, &limit) < 0) {
        return failed(application, "limit the open files");
    }
    limit.rlim_cur = limit.rlim_max;
    application->files = limits.files < limit.rlim_max ? limits.files : limit.rlim_max - 1;
    if (prlimit(0, RLIMIT_NOFILE, &limit, NULL) < 0) {
        return failed(application, "limit the open files");
    }
    if (application->host_socket >= 0) {
        application->send_socket =
                fcntl(application->host_socket, F_DUPFD_CLOEXEC, (int)application->files);
        if (application->send_socket < 0) {
            return failed(application, "duplicate the socket to the host");
        }
    }
    return 0;
}

static int limit_files(struct application *application) {
    const struct rlimit limit = {.rlim_cur = application->files, .rlim_max = application->files};
    if (prlimit(0, RLIMIT_NOFILE, &limit, NULL) < 0) {
        return failed(application, "limit the open files");
    }
    application->layers |= SANDBOX_LIMITS;
    return 0;
}

static void write_file(const char *path, const char *text) {
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!write(fd, text, strlen(text));
    }
}

bool sandbox_enter_users(int other_namespaces) {
    uid_t user = geteuid();
    gid_t group = getegid();
    if (unshare(CLONE_NEWUSER | other_namespaces) < 0) {
        return false;
    }
    /* In a new user namespace every user is "nobody" until the maps are written. The maps affect
     * only the result of getuid(), not rights to files, so a failure here does not matter. */
    char text[40];
    (void)snprintf(text, sizeof text, "%u %u 1", user, user);
    write_file("/proc/self/uid_map", text);
    write_file("/proc/self/setgroups", "deny");
    (void)snprintf(text, sizeof text, "%u %u 1", group, group);
    write_file("/proc/self/gid_map", text);
    return true;
}

/* Many systems forbid this; then the layer is treated as one that the kernel does not have. */
static int isolate_network(struct application *application) {
    if (!application->policy->network_namespace || application->policy->network ||
        application->policy->udp) {
        return 0;
    }
    if (unshare(CLONE_NEWNET) == 0 || sandbox_enter_users(CLONE_NEWNET)) {
        application->layers |= SANDBOX_NETWORK_NAMESPACE;
    }
    return 0;
}

/* Unlike the layers that a system may lack: what is granted would be more than was agreed to. */
static int hide_files(struct application *application) {
    if (!sandbox_needs_mounts(application->policy)) {
        return 0;
    }
    int code =
            sandbox_mounts_apply(application->policy, application->library_paths, application->err);
    application->layers |= code == 0 ? SANDBOX_MOUNT_NAMESPACE : 0u;
    return code;
}

static int restrict_files(struct application *application) {
    if (application->landlock == 0) {
        return 0;
    }
    int code = sandbox_landlock_apply(application->landlock, application->policy,
                                      application->library_paths, application->err);
    if (code == 0) {
        application->layers |= sandbox_landlock_layers(application->landlock, application->policy);
    }
    return code;
}

bool sandbox_drop_capabilities(bool executes) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
    /* Also drop what root could regain by exec (40 system calls). A process that may not drop it is
     * not root, or gains nothing because of no-new-privs. */
    for (unsigned long capability = 0; executes && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0;
         capability++) {
    }
    /* The ambient set is a subset of the inheritable one and is dropped with it. */
    return syscall(SYS_capset, &header, none) == 0;
}

static int drop_capabilities(struct application *application) {
    if (!sandbox_drop_capabilities(application->policy->spawn)) {
        return failed(application, "drop the capabilities");
    }
    application->layers |= SANDBOX_CAPABILITIES;
    return 0;
}

/* No process of the same user may trace it, and no core is written: if cores go to a program such
 * as systemd-coredump, the limit of their size has no effect, and the host would have to wait for
 * that program at the end of the worker. */
static int hide_memory(struct application *application) {
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) {
        return failed(application, "forbid tracing");
    }
    return 0;
}

/* ----------------------------------------------------------------- filters */

static bool has_action(uint32_t action) {
    return syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

bool sandbox_has_seccomp(void) {
    return has_action(SECCOMP_RET_ERRNO);
}

bool sandbox_has_listeners(void) {
    return has_action(SECCOMP_RET_USER_NOTIF);
}

/* With a listener, if the kernel gives one: it does not below a filter that has one, as some
 * containers do. A thread that asks is then woken by a deadly signal only, or every signal would
 * make it ask again. Returns the descriptor, or -1. */
static int install_with_listener(const struct sock_fprog *program) {
    static const unsigned flags[] = {
            SECCOMP_FILTER_FLAG_NEW_LISTENER | FLAG_WAIT_KILLABLE_RECV,
            SECCOMP_FILTER_FLAG_NEW_LISTENER, /* before Linux 5.19 */
    };
    int fd = -1;
    for (size_t i = 0; fd < 0 && i < ARRAY_LENGTH(flags); i++) {
        fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags[i], program);
    }
    return fd;
}

/* Compare with what only this process knows. */
static void replace_compared(struct sock_filter *filter, size_t count, uint32_t from, int to) {
    for (size_t i = 0; i < count; i++) {
        if (filter[i].code == (BPF_JMP | BPF_JEQ | BPF_K) && filter[i].k == from) {
            filter[i].k = (uint32_t)to;
        }
    }
}

static void replace_return(struct sock_filter *filter, size_t count, uint32_t from, uint32_t to) {
    for (size_t i = 0; i < count; i++) {
        if (filter[i].code == (BPF_RET | BPF_K) && filter[i].k == from) {
            filter[i].k = to;
        }
    }
}

static int filter_calls(struct application *application) {
    const uint32_t counted = SECCOMP_RET_TRACE | SANDBOX_FILTER_COUNTED;
    size_t count = application->filter_size / sizeof(struct sock_filter);
    if (application->filter_size == 0 || !sandbox_has_seccomp()) {
        return 0;
    }
    if (count == 0 || count > BPF_MAXINSNS) {
        return error_set(application->err, TOOLRACK_E_IO,
                         "a system call filter has 1 to %d instructions, not %zu; the plugin is "
                         "not run",
                         BPF_MAXINSNS, count);
    }
    /* The process id is put into a copy of the host's filter, so that signals can be sent to no
     * other process. One filter costs a third less than two. */
    CLEANUP(freep) struct sock_filter *own = malloc(count * sizeof *own);
    if (own == NULL) {
        return error_oom(application->err);
    }
    memcpy(own, application->filter, count * sizeof *own);
    replace_compared(own, count, SANDBOX_FILTER_SELF, getpid());
    if (application->send_socket >= 0) {
        replace_compared(own, count, SANDBOX_FILTER_SENDER, application->send_socket);
    }
    struct sock_fprog program = {.len = (unsigned short)count, .filter = own};
    if (application->host_socket >= 0 && sandbox_has_listeners()) {
        replace_return(own, count, counted, SECCOMP_RET_USER_NOTIF);
        application->listener = install_with_listener(&program);
        if (application->listener >= 0) {
            application->layers |= SANDBOX_SECCOMP | SANDBOX_THREADS;
            return 0;
        }
        replace_return(own, count, SECCOMP_RET_USER_NOTIF, counted);
    }
    replace_return(own, count, counted, SECCOMP_RET_ALLOW);
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0) {
        return failed(application, "filter system calls");
    }
    application->layers |= SANDBOX_SECCOMP;
    return 0;
}

/* Tell the host, and let nothing follow: a descriptor that a plugin sent would be the host's to
 * close. So the plugin is loaded without waiting for the host: each start has a sleep and a wake-up
 * less, one of 16 that a start, a call and an end take together. */
static int describe(struct application *application) {
    if (application->send_socket < 0) {
        return 0;
    }
    if (!protocol_describe(application->send_socket, application->layers | SANDBOX_LIMITS,
                           application->listener)) {
        return failed(application, "ask the host to count threads");
    }
    return shutdown(application->send_socket, SHUT_WR) == 0
                   ? 0
                   : failed(application, "close the socket to the host");
}

/* ------------------------------------------------------------------- apply */

int sandbox_apply(const struct sandbox_policy *policy, const char *const *library_paths,
                  const void *filter, size_t filter_size, int host_socket, uint32_t *ret_layers,
                  struct toolrack_error *err) {
    static int (*const steps[])(struct application *) = {
            forbid_new_privileges,
            limit,
            prepare_sending,
            isolate_network,
            hide_files,
            restrict_files,
            drop_capabilities,
            hide_memory,
            filter_calls,
            describe,
            limit_files,
    };
    struct application application = {
            .policy = policy,
            .library_paths = library_paths,
            .filter = filter,
            .filter_size = filter_size,
            .host_socket = host_socket,
            .send_socket = -1,
            .listener = -1,
            .landlock = sandbox_landlock_version(),
            .err = err,
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < ARRAY_LENGTH(steps); i++) {
        code = steps[i](&application);
    }
    closep(&application.listener);
    closep(&application.send_socket);
    *ret_layers = application.layers;
    return code;
}
