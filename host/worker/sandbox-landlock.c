/* Landlock: files below granted paths, TCP to granted ports, and nothing to processes outside.
 *
 * A ruleset names the rights that it handles; what is handled is denied unless a rule grants it. So
 * all rights that the kernel knows are handled, and each grant is a rule. A rule belongs to the
 * inode to which the path resolves now, not to the name. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "worker/sandbox-kernel.h"
#include "worker/sandbox.h"

/* Copied from the kernel's interface, as the installed headers may be older than the kernel. The
 * struct is the newest: an older kernel accepts it if the fields that it does not know are zero. */
struct landlock_ruleset {
    uint64_t files;
    uint64_t tcp;
    uint64_t scope;
};
struct landlock_path {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));
struct landlock_port {
    uint64_t rights;
    uint64_t port;
};
enum { RULE_PATH = 1, RULE_PORT = 2 };
#define CREATE_VERSION 1u

#define FILE_EXECUTE    (UINT64_C(1) << 0)
#define FILE_WRITE      (UINT64_C(1) << 1)
#define FILE_READ       (UINT64_C(1) << 2)
#define FILE_READ_DIR   (UINT64_C(1) << 3)
#define FILE_REMOVE_DIR (UINT64_C(1) << 4)
#define FILE_REMOVE     (UINT64_C(1) << 5)
#define FILE_MAKE_DIR   (UINT64_C(1) << 7)
#define FILE_MAKE       (UINT64_C(1) << 8)
#define FILE_MAKE_LINK  (UINT64_C(1) << 12)
#define FILE_FIRST      ((UINT64_C(1) << 13) - 1) /* all of version 1 */
#define FILE_REFER      (UINT64_C(1) << 13)       /* version 2: move between folders */
#define FILE_TRUNCATE   (UINT64_C(1) << 14)       /* version 3 */
#define FILE_IOCTL      (UINT64_C(1) << 15)       /* version 5: of devices; never granted */
#define TCP_BIND        (UINT64_C(1) << 0)        /* version 4 */
#define TCP_CONNECT     (UINT64_C(1) << 1)
#define SCOPE_ABSTRACT  (UINT64_C(1) << 0) /* version 6 */
#define SCOPE_SIGNAL    (UINT64_C(1) << 1)

#define GRANT_READ    (FILE_READ | FILE_READ_DIR)
#define GRANT_EXECUTE (GRANT_READ | FILE_EXECUTE)
/* No devices, fifos or sockets; written files cannot be executed. */
#define GRANT_WRITE                                                                         \
    (GRANT_READ | FILE_WRITE | FILE_TRUNCATE | FILE_MAKE | FILE_MAKE_DIR | FILE_MAKE_LINK | \
     FILE_REMOVE | FILE_REMOVE_DIR | FILE_REFER)
/* Rights that a rule may have if its path is not a folder. */
#define GRANTS_OF_FILE (FILE_EXECUTE | FILE_WRITE | FILE_READ | FILE_TRUNCATE | FILE_IOCTL)

/* Devices that every plugin may use, as programs fail without them. */
static const char *const devices[] = {"/dev/null", "/dev/urandom", "/dev/random", "/dev/zero",
                                      NULL};
static const char *const *const devices_read = devices + 1;
static const char *const devices_written[] = {"/dev/null", NULL};

const char *const *sandbox_device_paths(void) {
    return devices;
}

/* Files that the resolver and TLS libraries read. */
static const char *const network_paths[] = {
        "/etc/resolv.conf",
        "/etc/hosts",
        "/etc/nsswitch.conf",
        "/etc/host.conf",
        "/etc/gai.conf",
        "/etc/services",
        "/etc/protocols",
        "/etc/ssl",
        "/etc/pki",
        "/etc/ca-certificates",
        "/usr/share/ca-certificates",
        "/run/systemd/resolve",
        NULL,
};

/* Folders of programs. */
static const char *const program_paths[] = {"/usr/bin", "/bin", "/usr/local/bin", NULL};

/* Rights at and below some paths. Many system paths are symbolic links; in a granted path, the
 * plugin may have made the link. */
struct grant {
    bool is_wanted;
    uint64_t rights;
    bool follows_links;
    bool are_programs; /* files that may be executed, and nothing else */
    const char *const *paths;
    size_t count; /* at most; a NULL ends the paths earlier */
};

int sandbox_landlock_version(void) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);
    if (version < 0) {
        return 0; /* not compiled in, not enabled at boot, or refused by a container */
    }
    return version < SANDBOX_LANDLOCK_NEWEST ? (int)version : SANDBOX_LANDLOCK_NEWEST;
}

static struct landlock_ruleset handled(int version, const struct sandbox_policy *policy) {
    struct landlock_ruleset ret = {.files = FILE_FIRST};
    ret.files |= version >= 2 ? FILE_REFER : 0;
    ret.files |= version >= 3 ? FILE_TRUNCATE : 0;
    if (version >= 4) { /* no port is granted for a server; without ports, all are for a client */
        bool all_ports = policy->network && policy->port_count + policy->own_port_count == 0;
        ret.tcp = all_ports ? TCP_BIND : TCP_BIND | TCP_CONNECT;
    }
    ret.files |= version >= 5 ? FILE_IOCTL : 0;
    ret.scope = version >= 6 ? SCOPE_ABSTRACT | SCOPE_SIGNAL : 0;
    return ret;
}

uint32_t sandbox_landlock_layers(int version, const struct sandbox_policy *policy) {
    if (version == 0) {
        return 0;
    }
    struct landlock_ruleset handles = handled(version, policy);
    return SANDBOX_LANDLOCK_FILES | (handles.tcp != 0 ? SANDBOX_LANDLOCK_TCP : 0u) |
           (handles.scope != 0 ? SANDBOX_LANDLOCK_SCOPE : 0u);
}

static int refuse_path(const char *path, int number, struct toolrack_error *err) {
    if (number == ELOOP) {
        return error_set(
                err, TOOLRACK_E_IO,
                "cannot grant %s to the plugin: the path leads through a symbolic link, which "
                "somebody may have put there since; grant the folder that it leads to",
                path);
    }
    return error_set(err, TOOLRACK_E_IO, "cannot grant %s to the plugin: %s", path,
                     strerror(number));
}

static int grant_paths(int ruleset, const struct landlock_ruleset *handles,
                       const struct grant *grant, struct toolrack_error *err) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                           .resolve = grant->follows_links ? 0 : RESOLVE_NO_SYMLINKS};
    for (size_t i = 0; i < grant->count && grant->paths[i] != NULL; i++) {
        const char *path = grant->paths[i];
        CLEANUP(closep) int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
        if (fd < 0 && (errno == ENOENT || errno == ENOTDIR || errno == EACCES)) {
            continue; /* a path that this user cannot open grants nothing */
        }
        struct stat st;
        if (fd < 0 || fstat(fd, &st) < 0) {
            return refuse_path(path, errno, err);
        }
        if (grant->are_programs && (!S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0)) {
            return error_set(err, TOOLRACK_E_IO,
                             "cannot grant %s to the plugin: it is no program any more, but a "
                             "folder, or a file that may not be executed; see what replaced it, "
                             "and reload the plugin",
                             path);
        }
        struct landlock_path rule = {.rights = grant->rights & handles->files, .fd = fd};
        if (!S_ISDIR(st.st_mode)) {
            rule.rights &= GRANTS_OF_FILE;
        }
        if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &rule, 0) < 0) {
            return refuse_path(path, errno, err);
        }
    }
    return 0;
}

static bool is_own_port(const struct sandbox_policy *policy, uint16_t port) {
    bool is_own = false;
    for (size_t i = 0; i < policy->own_port_count; i++) {
        is_own = is_own || policy->own_ports[i] == port;
    }
    return is_own;
}

static int grant_port(int ruleset, const struct sandbox_policy *policy, uint16_t port,
                      struct toolrack_error *err) {
    struct landlock_port rule = {.rights = TCP_CONNECT, .port = port};
    if (is_own_port(policy, port) ||
        syscall(SYS_landlock_add_rule, ruleset, RULE_PORT, &rule, 0) == 0) {
        return 0;
    }
    return error_set(err, TOOLRACK_E_IO, "cannot grant port %u to the plugin: %s", port,
                     strerror(errno));
}

/* There is no rule for "all but these": where all are granted and the host listens, each of the
 * others gets a rule, which takes some 30 ms. */
static int grant_ports(int ruleset, const struct sandbox_policy *policy,
                       struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < policy->port_count; i++) {
        code = grant_port(ruleset, policy, policy->ports[i], err);
    }
    for (uint32_t port = 1; code == 0 && policy->port_count == 0 && port <= UINT16_MAX; port++) {
        code = grant_port(ruleset, policy, (uint16_t)port, err);
    }
    return code;
}

int sandbox_landlock_apply(int version, const struct sandbox_policy *policy,
                           const char *const *library_paths, struct toolrack_error *err) {
    assert(policy->read_path_count <= SANDBOX_PATHS_MAX &&
           policy->write_path_count <= SANDBOX_PATHS_MAX &&
           policy->program_count <= SANDBOX_PATHS_MAX &&
           policy->own_port_count <= SANDBOX_PORTS_MAX && policy->port_count <= SANDBOX_PORTS_MAX);
    struct landlock_ruleset handles = handled(version, policy);
    CLEANUP(closep)
    int fd = (int)syscall(SYS_landlock_create_ruleset, &handles, sizeof handles, 0);
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO,
                         "cannot make Landlock rules: %s; the plugin is not run", strerror(errno));
    }
    bool all_programs = policy->spawn && policy->program_count == 0;
    const struct grant grants[] = {
            {true, all_programs ? GRANT_EXECUTE : GRANT_READ, true, false, library_paths, SIZE_MAX},
            {true, GRANT_READ, true, false, devices_read, SIZE_MAX},
            {true, GRANT_READ | FILE_WRITE, true, false, devices_written, SIZE_MAX},
            {policy->network || policy->udp, GRANT_READ, true, false, network_paths, SIZE_MAX},
            {all_programs, GRANT_EXECUTE, true, false, program_paths, SIZE_MAX},
            {policy->spawn, GRANT_EXECUTE, false, true, policy->programs, policy->program_count},
            {true, GRANT_READ, false, false, policy->read_paths, policy->read_path_count},
            {true, GRANT_WRITE, false, false, policy->write_paths, policy->write_path_count},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(grants); i++) {
        int failed = grants[i].is_wanted ? grant_paths(fd, &handles, &grants[i], err) : 0;
        if (failed < 0) {
            return failed;
        }
    }
    int code =
            policy->network && (handles.tcp & TCP_CONNECT) != 0 ? grant_ports(fd, policy, err) : 0;
    if (code < 0) {
        return code;
    }
    if (syscall(SYS_landlock_restrict_self, fd, 0) < 0) {
        return error_set(err, TOOLRACK_E_IO,
                         "cannot put Landlock into force: %s; the plugin is not run",
                         strerror(errno));
    }
    return 0;
}
