#include "plugin/imports.h"

#include <elf.h>
#include <gnu/libc-version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "plugin/elf-dynamic.h"

/* The oldest C library of the systems for which toolrack is built: Debian 12. */
#define GLIBC_MAJOR  2u
#define GLIBC_MINOR  36u
/* Most symbols, and needed versions, that are looked at. */
#define SYMBOLS_MAX  (1u << 20)
#define VERSIONS_MAX 1024u
/* Functions named in one finding. */
#define NAMED_MAX    4u

/* ------------------------------------------------------------------- functions */

/* The functions have a space before and behind each. */
static const struct group {
    enum finding_rule rule;
    const char *functions;
    const char *what; /* they are: "the file uses functions WHAT (NAMES)STATED" */
    const char *stated;
} groups[] = {
        {FINDING_IMPORT_NETWORK,
         " socket connect getaddrinfo gethostbyname gethostbyname2 gethostbyname_r "
         "gethostbyname2_r gethostbyaddr getnameinfo sendto sendmsg sendmmsg res_query "
         "__res_query curl_easy_perform curl_multi_perform SSL_connect gnutls_handshake ",
         "of the network", ", and declares no TR_CONNECTS"},
        {FINDING_IMPORT_SPAWN,
         " execl execle execlp execv execve execvp execvpe execveat fexecve posix_spawn "
         "posix_spawnp system popen fork vfork forkpty wordexp ",
         "that start programs", ", and declares no TR_SPAWNS"},
        {FINDING_IMPORT_WRITE,
         " creat creat64 mkdir mkdirat mkstemp mkstemp64 mkostemp mkostemp64 mkdtemp rename "
         "renameat renameat2 unlink unlinkat rmdir remove truncate truncate64 link linkat symlink "
         "symlinkat mkfifo mknod tmpfile tmpfile64 ",
         "that change files", ", and declares no TR_WRITES"},
        {FINDING_IMPORT_READ,
         " open open64 __open_2 __open64_2 openat openat64 fopen fopen64 freopen freopen64 "
         "opendir scandir scandir64 glob glob64 ftw ftw64 nftw nftw64 ",
         "that open files", ", and declares no TR_READS or TR_WRITES"},
        {FINDING_IMPORT_ENV, " getenv secure_getenv __secure_getenv environ __environ ",
         "that read the environment", ", and declares no TR_READS_ENV"},
        {FINDING_IMPORT_REFUSED,
         " bind listen accept accept4 chmod fchmod fchmodat lchmod chown fchown lchown fchownat "
         "utime utimes utimensat futimens futimes setxattr lsetxattr fsetxattr memfd_create "
         "shm_open shmget shmat mount umount umount2 ptrace setuid setgid seteuid setegid setreuid "
         "setresuid setgroups chroot unshare setns kill killpg ",
         "that workers refuse", ""},
        {FINDING_IMPORT_EXIT, " exit _exit _Exit quick_exit ", "that end the process", ""},
        {FINDING_IMPORT_STATE,
         " chdir fchdir umask setlocale setenv unsetenv putenv clearenv signal sigaction sigset "
         "__sysv_signal bsd_signal setrlimit setrlimit64 nice setpriority alarm setitimer daemon ",
         "that change the state of the whole process", ""},
        {FINDING_IMPORT_THREADS,
         " pthread_create thrd_create _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14"
         "default_deleteIS1_EEPFvvE timer_create ",
         "that start threads", ", and does not set TR_STARTS_THREADS"},
        {FINDING_IMPORT_UNSAFE,
         " strtok localtime gmtime ctime asctime getpwnam getpwuid getgrnam getgrgid getpwent "
         "gethostbyname gethostbyname2 gethostbyaddr getservbyname getservbyport getprotobyname "
         "strsignal ttyname ptsname crypt hcreate hsearch hdestroy drand48 lrand48 mrand48 srand48 "
         "inet_ntoa ecvt fcvt getlogin tmpnam ",
         "that are not thread safe", ", and sets TR_THREAD_SAFE"},
        {FINDING_IMPORT_PRINTS,
         " printf vprintf puts putchar putchar_unlocked perror psignal __printf_chk __vprintf_chk "
         "stdout _ZSt4cout ",
         "that print", ""},
};

/* What was found of one group. */
struct found {
    const char *names[NAMED_MAX];
    unsigned count;
};

static bool has_function(const char *functions, const char *name, size_t length) {
    const char *at = functions + 1; /* behind the first space: a name may begin with one */
    while ((at = strstr(at, name)) != NULL) {
        if (at[-1] == ' ' && at[length] == ' ') {
            return true;
        }
        at += length;
    }
    return false;
}

static bool declares(const struct tr_plugin *plugin, uint32_t kind) {
    for (uint32_t i = 0; i < plugin->capability_count; i++) {
        if (plugin->capabilities[i].kind == kind) {
            return true;
        }
    }
    return false;
}

/* Whether what a plugin states makes functions of a group what is to be expected. */
static bool is_stated(const struct tr_plugin *plugin, enum finding_rule rule) {
    switch (rule) {
    case FINDING_IMPORT_NETWORK: return declares(plugin, TR_CAP_NETWORK);
    case FINDING_IMPORT_SPAWN: return declares(plugin, TR_CAP_SPAWN);
    case FINDING_IMPORT_WRITE: return declares(plugin, TR_CAP_WRITE);
    case FINDING_IMPORT_READ:
        return declares(plugin, TR_CAP_READ) || declares(plugin, TR_CAP_WRITE);
    case FINDING_IMPORT_ENV: return declares(plugin, TR_CAP_ENV);
    case FINDING_IMPORT_THREADS: return (plugin->flags & TR_STARTS_THREADS) != 0;
    case FINDING_IMPORT_UNSAFE: return (plugin->flags & TR_THREAD_SAFE) == 0;
    default: return false;
    }
}

/* The standard library of Rust is a part of each of its plugins, reads a variable, opens files and
 * has a constructor, all for backtraces of panics. */
static bool is_of_runtime(enum finding_rule rule) {
    return rule == FINDING_IMPORT_READ || rule == FINDING_IMPORT_ENV;
}

static void report(const struct group *group, const struct found *found,
                   struct findings *findings) {
    char list[NAMED_MAX * (FINDING_SHOWN_MAX + 2) + 32] = "";
    size_t length = 0;
    for (unsigned i = 0; i < found->count && i < NAMED_MAX; i++) {
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%.*s", i > 0 ? ", " : "",
                                   FINDING_SHOWN_MAX, found->names[i]);
    }
    if (found->count > NAMED_MAX) {
        (void)snprintf(list + length, sizeof list - length, " and %u more",
                       found->count - NAMED_MAX);
    }
    findings_add(findings, group->rule, NULL, "the file uses functions %s (%s)%s", group->what,
                 list, group->stated);
}

static void check_functions(struct elf *elf, const struct tr_plugin *plugin,
                            struct findings *findings, bool *ret_has_runtime) {
    struct found found[ARRAY_LENGTH(groups)] = {0};
    uint32_t count = elf_count_symbols(elf, SYMBOLS_MAX);
    bool backtraces = false;
    bool iterates = false;
    for (uint32_t i = 1; i < count; i++) {
        const char *name = elf_undefined(elf, i);
        size_t length = name != NULL ? strlen(name) : 0;
        backtraces = backtraces || (name != NULL && strcmp(name, "_Unwind_Backtrace") == 0);
        iterates = iterates || (name != NULL && strcmp(name, "dl_iterate_phdr") == 0);
        for (size_t j = 0; name != NULL && j < ARRAY_LENGTH(groups); j++) {
            if (has_function(groups[j].functions, name, length) &&
                !is_stated(plugin, groups[j].rule)) {
                if (found[j].count < NAMED_MAX) {
                    found[j].names[found[j].count] = name;
                }
                found[j].count++;
            }
        }
    }
    *ret_has_runtime = backtraces && iterates;
    for (size_t j = 0; j < ARRAY_LENGTH(groups); j++) {
        if (found[j].count > 0 && !(*ret_has_runtime && is_of_runtime(groups[j].rule))) {
            report(&groups[j], &found[j], findings);
        }
    }
}

/* -------------------------------------------------------------------- versions */

static bool read_at(struct elf *elf, uint64_t address, void *ret, size_t size) {
    const void *bytes = elf_at(elf, address, size);
    if (bytes != NULL) {
        memcpy(ret, bytes, size);
    }
    return bytes != NULL;
}

/* "GLIBC_2.34"; names such as GLIBC_PRIVATE are no number. */
static bool read_version(struct elf *elf, uint32_t offset, unsigned *ret_major,
                         unsigned *ret_minor) {
    static const char prefix[] = "GLIBC_";
    const char *name;
    size_t length;
    if (offset >= elf->dynamic.strings_size ||
        elf_text(elf, elf->dynamic.strings + offset, FINDING_SHOWN_MAX, &name, &length) != ELF_OK ||
        strncmp(name, prefix, sizeof prefix - 1) != 0) {
        return false;
    }
    char *end;
    unsigned long major = strtoul(name + sizeof prefix - 1, &end, 10);
    unsigned long minor = *end == '.' ? strtoul(end + 1, &end, 10) : 0;
    *ret_major = (unsigned)major;
    *ret_minor = (unsigned)minor;
    return major > 0 && major < 1000 && minor < 1000;
}

/* Chains of records, each with the distance to the next one: numbers of the file, so the steps are
 * limited. */
bool imports_glibc(struct elf *elf, unsigned *ret_major, unsigned *ret_minor) {
    uint64_t at = elf_number(elf, DT_VERNEED);
    uint64_t files = elf_number(elf, DT_VERNEEDNUM);
    unsigned steps = 0;
    Elf64_Verneed file;
    *ret_major = *ret_minor = 0;
    for (; at != 0 && files > 0 && steps < VERSIONS_MAX; files--, steps++) {
        if (at > ELF_EXTENT_MAX || !read_at(elf, at, &file, sizeof file)) {
            break;
        }
        uint64_t next = at + file.vn_aux;
        Elf64_Vernaux one;
        for (unsigned i = 0; i < file.vn_cnt && steps < VERSIONS_MAX; i++, steps++) {
            unsigned major;
            unsigned minor;
            if (next > ELF_EXTENT_MAX || !read_at(elf, next, &one, sizeof one)) {
                break;
            }
            if (read_version(elf, one.vna_name, &major, &minor) &&
                (major > *ret_major || (major == *ret_major && minor > *ret_minor))) {
                *ret_major = major;
                *ret_minor = minor;
            }
            if (one.vna_next == 0) {
                break;
            }
            next += one.vna_next;
        }
        if (file.vn_next == 0) {
            break;
        }
        at += file.vn_next;
    }
    return *ret_major > 0;
}

static void check_glibc(struct elf *elf, struct findings *findings) {
    unsigned major;
    unsigned minor;
    unsigned here_major = 0;
    unsigned here_minor = 0;
    if (!imports_glibc(elf, &major, &minor)) {
        return;
    }
    bool is_known = !elf_is_foreign(elf) &&
                    sscanf(gnu_get_libc_version(), "%u.%u", &here_major, &here_minor) == 2;
    if (is_known && (major > here_major || (major == here_major && minor > here_minor))) {
        findings_add(findings, FINDING_ELF_GLIBC_MISSING, NULL,
                     "the file needs glibc %u.%u, this system has %u.%u", major, minor, here_major,
                     here_minor);
    } else if (major > GLIBC_MAJOR || (major == GLIBC_MAJOR && minor > GLIBC_MINOR)) {
        findings_add(findings, FINDING_ELF_GLIBC_NEW, NULL,
                     "the file needs glibc %u.%u, which Debian 12 (%u.%u) does not have", major,
                     minor, GLIBC_MAJOR, GLIBC_MINOR);
    }
}

/* Compilers put one constructor of their own into each file, Rust one more. */
static void check_constructors(struct elf *elf, bool has_runtime, struct findings *findings) {
    uint64_t count = elf_number(elf, DT_INIT_ARRAYSZ) / sizeof(uint64_t);
    uint64_t own = has_runtime ? 2 : 1;
    if (count > own) {
        findings_add(findings, FINDING_ELF_CONSTRUCTORS, NULL,
                     "%llu constructor%s of the file run%s when it is loaded",
                     (unsigned long long)(count - own), count - own == 1 ? "" : "s",
                     count - own == 1 ? "s" : "");
    }
}

static int check(struct elf *elf, const struct descriptor *desc, struct findings *findings) {
    bool has_runtime = false;
    check_functions(elf, desc->plugin, findings, &has_runtime);
    check_glibc(elf, findings);
    check_constructors(elf, has_runtime, findings);
    return findings->failed ? TOOLRACK_E_NO_MEMORY : 0;
}

int imports_check(int fd, const struct descriptor *desc, struct findings *findings) {
    CLEANUP(arena_finish) struct arena arena;
    struct findings unused;
    struct elf elf;
    arena_init(&arena, NULL, 0);
    findings_init(&unused, &arena);
    int code = elf_init_any(&elf, fd, &unused);
    code = code == 0 ? elf_read_dynamic(&elf) : code;
    code = code == 0 ? check(&elf, desc, findings) : code;
    bool no_memory = code == TOOLRACK_E_NO_MEMORY || elf.failure == TOOLRACK_E_NO_MEMORY;
    elf_finish(&elf);
    return no_memory ? TOOLRACK_E_NO_MEMORY : 0;
}
