/* What this kernel can put into force, found out without doing it: the host must not change itself.
 * The answers do not change while it runs. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "worker/sandbox-kernel.h"
#include "worker/sandbox.h"

static struct {
    pthread_once_t once;
    int landlock;
    bool seccomp;
    bool listeners;
} kernel = {.once = PTHREAD_ONCE_INIT};

static struct {
    pthread_once_t once;
    bool possible;
} network_namespace = {.once = PTHREAD_ONCE_INIT}, mount_namespace = {.once = PTHREAD_ONCE_INIT};

/* The number in a file of /proc/sys; `otherwise` if there is none. */
static long setting(const char *path, long otherwise) {
    char text[32];
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length < 0) {
        return otherwise;
    }
    text[length] = '\0';
    return strtol(text, NULL, 10);
}

static bool may_administer(void) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    return syscall(SYS_capget, &header, data) == 0 &&
           (data[CAP_TO_INDEX(CAP_SYS_ADMIN)].effective & CAP_TO_MASK(CAP_SYS_ADMIN)) != 0;
}

/* Debian and Ubuntu have settings of their own that forbid users to create namespaces. */
static bool users_may_unshare(void) {
    return access("/proc/self/ns/user", F_OK) == 0 &&
           setting("/proc/sys/user/max_user_namespaces", 0) > 0 &&
           setting("/proc/sys/kernel/unprivileged_userns_clone", 1) != 0 &&
           setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 0;
}

static void ask_network_namespace(void) {
    network_namespace.possible = access("/proc/self/ns/net", F_OK) == 0 &&
                                 setting("/proc/sys/user/max_net_namespaces", 0) > 0 &&
                                 (may_administer() || users_may_unshare());
}

/* In a chroot that is no mount point, mounts cannot be kept from others, and no user namespace is
 * given. */
static bool is_root_mounted(void) {
    struct statx st;
    return statx(AT_FDCWD, "/", 0, 0, &st) == 0 && (st.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

/* Whether a process may have these namespaces. This one waits for it, and its end is signalled to
 * nobody. The kernel is asked without the C library's clone(), which runs handlers of fork() in the
 * child under ThreadSanitizer. */
static bool may_clone(int namespaces) {
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t child = (pid_t)syscall(SYS_clone, namespaces | CLONE_VFORK, NULL, NULL, NULL, 0);
    if (child == 0) {
        (void)syscall(SYS_exit_group, 0);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (child > 0 && waitpid(child, NULL, (int)__WCLONE) < 0 && errno == EINTR) {
    }
    return child > 0;
}

/* What the settings say is not enough: the filters of many containers refuse it all the same. It is
 * tried, once, and only by a host with a grant that needs it. */
static void ask_mount_namespace(void) {
    mount_namespace.possible =
            is_root_mounted() && (may_clone(CLONE_NEWNS) ||
                                  (users_may_unshare() && may_clone(CLONE_NEWUSER | CLONE_NEWNS)));
}

static void ask_kernel(void) {
    kernel.landlock = sandbox_landlock_version();
    kernel.seccomp = sandbox_has_seccomp();
    kernel.listeners = sandbox_has_listeners();
}

uint32_t sandbox_available(const struct sandbox_policy *policy) {
    (void)pthread_once(&kernel.once, ask_kernel);
    uint32_t layers = SANDBOX_NO_NEW_PRIVS | SANDBOX_CAPABILITIES | SANDBOX_LIMITS |
                      sandbox_landlock_layers(kernel.landlock, policy) |
                      (kernel.seccomp ? SANDBOX_SECCOMP : 0u) |
                      (kernel.listeners ? SANDBOX_THREADS : 0u);
    if (policy->network_namespace && !policy->network && !policy->udp) {
        (void)pthread_once(&network_namespace.once, ask_network_namespace);
        layers |= network_namespace.possible ? SANDBOX_NETWORK_NAMESPACE : 0u;
    }
    if (sandbox_needs_mounts(policy)) {
        (void)pthread_once(&mount_namespace.once, ask_mount_namespace);
        layers |= mount_namespace.possible ? SANDBOX_MOUNT_NAMESPACE : 0u;
    }
    return layers;
}

/* The port of a socket that listens; 0: none. */
static uint16_t listening_port(int fd) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    int listens = 0;
    socklen_t size = sizeof listens;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || listens == 0) {
        return 0;
    }
    size = sizeof address;
    if (getsockname(fd, &address.any, &size) < 0) {
        return 0;
    }
    return address.any.sa_family == AF_INET    ? ntohs(address.v4.sin_port)
           : address.any.sa_family == AF_INET6 ? ntohs(address.v6.sin6_port)
                                               : 0;
}

size_t sandbox_own_ports(uint16_t ret[SANDBOX_PORTS_MAX]) {
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        uint16_t port = listening_port((int)strtol(entry->d_name, NULL, 10));
        if (port != 0 && count < SANDBOX_PORTS_MAX) {
            ret[count++] = port;
        }
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return count;
}
