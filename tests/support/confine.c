/* confine UNIT PROGRAM [ARGUMENT...]: run a program as a unit of systemd would have it run, without
 * systemd: with its system call filter, its restrictions of namespaces, address families, memory
 * and privileges, without capabilities, and, if root starts it, as the user nobody who sees no
 * process of others.
 *
 * What it does not do: ProtectSystem=, ProtectHome= and the like (which make files read-only or
 * empty) and what belongs to control groups. A directive that it does not know and that would
 * restrict a sandbox is a failure: "restricts" below has all that it accepts. */
#include <errno.h>
#include <grp.h>
#include <linux/prctl.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef PR_SET_MDWE
#define PR_SET_MDWE              65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

#define NUMBERS_MAX 1024
#define NOBODY      65534

/* Of a new namespace, by the words of RestrictNamespaces=. */
static const struct {
    const char *word;
    unsigned flag;
} namespaces[] = {{"cgroup", CLONE_NEWCGROUP}, {"ipc", CLONE_NEWIPC}, {"mnt", CLONE_NEWNS},
                  {"net", CLONE_NEWNET},       {"pid", CLONE_NEWPID}, {"user", CLONE_NEWUSER},
                  {"uts", CLONE_NEWUTS},       {"time", 0x80}};

static const struct {
    const char *word;
    int family;
} families[] = {{"AF_UNIX", AF_UNIX},
                {"AF_INET", AF_INET},
                {"AF_INET6", AF_INET6},
                {"AF_NETLINK", AF_NETLINK}};

static struct {
    bool allowed[NUMBERS_MAX]; /* system calls */
    bool has_calls;
    unsigned allowed_namespaces;
    bool has_namespaces;
    bool allowed_families[AF_MAX];
    bool has_families;
    bool no_new_privileges;
    bool no_write_and_execute;
    bool no_capabilities;
    bool hides_processes;
} unit;

static void fail(const char *what) {
    (void)fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* ---------------------------------------------------------------- the unit */

/* A call, or the calls and groups of a group, as systemd-analyze lists them. */
static void set_calls(const char *name, bool allow) {
    if (name[0] != '@') {
        int number = seccomp_syscall_resolve_name(name);
        if (number >= 0 && number < NUMBERS_MAX) { /* below 0: of another architecture */
            unit.allowed[number] = allow;
        }
        return;
    }
    char command[128];
    char line[256];
    (void)snprintf(command, sizeof command, "systemd-analyze syscall-filter --no-pager %s", name);
    FILE *lines = popen(command, "r");
    while (lines != NULL && fgets(line, sizeof line, lines) != NULL) {
        char word[128];
        if (line[0] == ' ' && sscanf(line, " %127s", word) == 1 && word[0] != '#') {
            set_calls(word, allow);
        }
    }
    if (lines == NULL || pclose(lines) != 0) {
        errno = 0;
        fail(command);
    }
}

static void take_calls(char *words) {
    bool allow = words[0] != '~';
    words += !allow;
    if (!unit.has_calls) {
        unit.has_calls = true;
        set_calls("@default", true);
    }
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        set_calls(word, allow);
    }
}

static void take_namespaces(char *words) {
    unit.has_namespaces = true;
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++) {
            unit.allowed_namespaces |=
                    strcmp(word, namespaces[i].word) == 0 ? namespaces[i].flag : 0;
        }
    }
}

static void take_families(char *words) {
    unit.has_families = true;
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
            if (strcmp(word, families[i].word) == 0) {
                unit.allowed_families[families[i].family] = true;
            }
        }
    }
}

static void take_line(const char *key, char *value) {
    if (strcmp(key, "SystemCallFilter") == 0) {
        take_calls(value);
    } else if (strcmp(key, "RestrictNamespaces") == 0) {
        take_namespaces(value);
    } else if (strcmp(key, "RestrictAddressFamilies") == 0) {
        take_families(value);
    } else if (strcmp(key, "NoNewPrivileges") == 0) {
        unit.no_new_privileges = true;
    } else if (strcmp(key, "MemoryDenyWriteExecute") == 0) {
        unit.no_write_and_execute = true;
    } else if (strcmp(key, "CapabilityBoundingSet") == 0) {
        unit.no_capabilities = true;
    } else if (strcmp(key, "ProtectProc") == 0) {
        unit.hides_processes = true;
    } else if (strcmp(key, "PrivateUsers") == 0 || strcmp(key, "PrivateNetwork") == 0 ||
               strcmp(key, "ProcSubset") == 0 || strcmp(key, "SystemCallLog") == 0) {
        (void)fprintf(stderr, "confine: %s= is not known here\n", key);
        exit(1);
    }
}

static void read_unit(const char *path) {
    FILE *file = fopen(path, "r");
    char line[512];
    if (file == NULL) {
        fail(path);
    }
    while (fgets(line, sizeof line, file) != NULL) {
        char *equals = strchr(line, '=');
        line[strcspn(line, "\n")] = '\0';
        if (equals != NULL && line[0] != '#') {
            *equals = '\0';
            take_line(line, equals + 1);
        }
    }
    (void)fclose(file);
}

/* ---------------------------------------------------------------- into force */

static void check(int code, const char *what) {
    if (code < 0) {
        errno = errno != 0 ? errno : -code;
        fail(what);
    }
}

static void filter_calls(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    for (int i = 0; i < NUMBERS_MAX; i++) {
        if (unit.allowed[i]) {
            check(seccomp_rule_add(filter, SCMP_ACT_ALLOW, i, 0), "allow a call");
        }
    }
    check(seccomp_load(filter), "load the filter");
    seccomp_release(filter);
}

/* As systemd does it: what cannot be looked into is not there. */
static void filter_namespaces(scmp_filter_ctx filter) {
    check(seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0), "clone3");
    for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++) {
        unsigned flag = namespaces[i].flag;
        if ((unit.allowed_namespaces & flag) == 0) {
            check(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(unshare), 1,
                                   SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)),
                  "unshare");
            check(flag == 0x80 ? 0
                               : seccomp_rule_add(filter, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
                                                  SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag)),
                  "clone");
        }
    }
}

static void filter_arguments(void) {
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (unit.has_namespaces) {
        filter_namespaces(filter);
    }
    for (unsigned i = 0; unit.has_families && i < AF_MAX; i++) {
        if (!unit.allowed_families[i]) {
            check(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EAFNOSUPPORT), SCMP_SYS(socket), 1,
                                   SCMP_A0(SCMP_CMP_EQ, i)),
                  "socket");
        }
    }
    check(seccomp_load(filter), "load the filter");
    seccomp_release(filter);
}

static void become_nobody(void) {
    if (unit.hides_processes) {
        check(unshare(CLONE_NEWNS), "unshare");
        check(mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL), "make the mounts private");
        check(mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, "hidepid=invisible"),
              "hide processes");
    }
    for (unsigned long i = 0; unit.no_capabilities && prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0;
         i++) {
    }
    check(setgroups(0, NULL) | setresgid(NOBODY, NOBODY, NOBODY) |
                  setresuid(NOBODY, NOBODY, NOBODY),
          "become nobody");
}

int main(int argc, char **argv) {
    if (argc < 3) {
        (void)fprintf(stderr, "usage: confine UNIT PROGRAM [ARGUMENT...]\n");
        return 2;
    }
    read_unit(argv[1]);
    if (geteuid() == 0) {
        become_nobody();
    }
    if (unit.no_new_privileges) {
        check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges");
    }
    /* Since Linux 6.3; before, systemd does it by a filter. */
    if (unit.no_write_and_execute) {
        (void)prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0);
    }
    filter_arguments();
    if (unit.has_calls) {
        filter_calls();
    }
    (void)execv(argv[2], argv + 2);
    fail(argv[2]);
}
