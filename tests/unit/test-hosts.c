/* The hosts of a state folder tell each other of decisions: all that run learn of each, whatever
 * happens to the one that tells, or to one that listens. */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "patience.h"
#include "store/hosts.h"

static char dir[256];
static char folder[300];
static char logged[512];
static pthread_mutex_t logged_lock = PTHREAD_MUTEX_INITIALIZER; /* several hosts log */
static atomic_bool lost; /* it was logged that the state folder is gone */

static int make_dir(void **state) {
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/toolrack-test-XXXXXX");
    logged[0] = '\0';
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    (void)snprintf(folder, sizeof folder, "%s/hosts", dir);
    return 0;
}

static int remove_dir(void **state) {
    (void)state;
    char command[300];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command);
}

static bool has_logged(const char *text) {
    (void)pthread_mutex_lock(&logged_lock);
    bool found = strstr(logged, text) != NULL;
    (void)pthread_mutex_unlock(&logged_lock);
    return found;
}

static void take_line(void *user, int level, const char *source, const char *line) {
    (void)user;
    (void)level;
    (void)source;
    (void)pthread_mutex_lock(&logged_lock);
    (void)snprintf(logged, sizeof logged, "%s", line);
    (void)pthread_mutex_unlock(&logged_lock);
    if (strstr(line, "was removed or replaced") != NULL) {
        atomic_store(&lost, true);
    }
}
static const struct log own_log = {.write = take_line};

/* What was decided so far; a host that applies takes over the number. */
static atomic_uint decided;

struct party {
    struct hosts *hosts;
    atomic_uint applied; /* how often */
    atomic_uint exchanged;
    atomic_uint seen; /* the last decision that is in effect */
    atomic_bool fails;
    bool decides; /* apply() itself decides something */
};

static bool apply(void *user) {
    struct party *party = user;
    atomic_store(&party->seen, atomic_load(&decided));
    atomic_fetch_add(&party->applied, 1);
    if (party->decides) {
        struct hosts_telling telling;
        hosts_begin(party->hosts, &telling);
        atomic_fetch_add(&decided, 1);
        hosts_end(party->hosts, &telling, HOSTS_DECISION);
    }
    return !atomic_load(&party->fails);
}

static bool exchange(void *user) {
    struct party *party = user;
    atomic_fetch_add(&party->exchanged, 1);
    return true;
}

static int open_party(struct party *party, bool listens) {
    struct toolrack_error err;
    *party = (struct party){0};
    party->hosts = hosts_create(&(struct hosts_options){.log = &own_log,
                                                        .state_dir = dir,
                                                        .apply = apply,
                                                        .exchange = exchange,
                                                        .user = party});
    return party->hosts == NULL ? -1
           : listens && (hosts_listen(party->hosts, &err) < 0 ||
                         hosts_start(party->hosts, &err) < 0)
                   ? -1
                   : 0;
}

/* Decide something; how many hosts have applied it, and how many have not. */
static struct hosts_count decide(struct party *party, enum hosts_change change) {
    struct hosts_telling telling;
    struct hosts_count count;
    hosts_begin(party->hosts, &telling);
    atomic_fetch_add(&decided, 1);
    hosts_end(party->hosts, &telling, change);
    hosts_last(party->hosts, &count);
    return count;
}

static unsigned count_sockets(void) {
    unsigned count = 0;
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && (entry = readdir(entries)) != NULL) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    if (entries != NULL) {
        (void)closedir(entries);
    }
    return count;
}

/* ------------------------------------------------------------------- told */

static void all_that_listen_are_told(void **state) {
    (void)state;
    struct party a;
    struct party b;
    struct party command;
    struct stat st;
    assert_int_equal(open_party(&command, false), 0);
    assert_int_equal(count_sockets(), 0); /* who does not listen makes nothing */
    assert_int_equal(decide(&command, HOSTS_DECISION).applied, 0);
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&b, true), 0);
    assert_int_equal(stat(folder, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    struct hosts_count count = decide(&command, HOSTS_DECISION);
    assert_int_equal(count.applied, 2);
    assert_int_equal(count.silent, 0);
    assert_int_equal(atomic_load(&a.applied), 1);
    assert_int_equal(atomic_load(&b.seen), atomic_load(&decided));
    assert_int_equal(atomic_load(&b.exchanged), 0);
    count = decide(&a, HOSTS_CONTENT); /* not to itself */
    assert_int_equal(count.applied, 1);
    assert_int_equal(atomic_load(&a.applied), 1);
    assert_int_equal(atomic_load(&b.applied), 2);
    assert_int_equal(atomic_load(&b.exchanged), 1);
    hosts_destroy(a.hosts);
    assert_int_equal(decide(&command, HOSTS_DECISION).applied, 1);
    hosts_destroy(b.hosts);
    assert_int_equal(count_sockets(), 0);
    hosts_destroy(command.hosts);
}

static void nobody_is_told_of_what_was_not_stored(void **state) {
    (void)state;
    struct party a;
    struct party command;
    struct hosts_telling telling;
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&command, false), 0);
    hosts_begin(command.hosts, &telling);
    hosts_cancel(&telling);
    assert_int_equal(decide(&command, HOSTS_DECISION).applied, 1);
    assert_int_equal(atomic_load(&a.applied), 1);
    hosts_destroy(a.hosts);
    hosts_destroy(command.hosts);
}

static void a_host_that_cannot_apply_is_silent(void **state) {
    (void)state;
    struct party a;
    struct party command;
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&command, false), 0);
    atomic_store(&a.fails, true);
    struct hosts_count count = decide(&command, HOSTS_CONTENT);
    assert_int_equal(count.applied, 0);
    assert_int_equal(count.silent, 1);
    assert_int_equal(atomic_load(&a.exchanged), 0);
    atomic_store(&a.fails, false);
    assert_int_equal(decide(&command, HOSTS_CONTENT).applied, 1);
    hosts_destroy(a.hosts);
    hosts_destroy(command.hosts);
}

/* What comes between hosts_listen() and hosts_start() is applied then. */
static void a_host_that_opens_misses_nothing(void **state) {
    (void)state;
    struct party a;
    struct party command;
    struct toolrack_error err;
    assert_int_equal(open_party(&a, false), 0);
    assert_int_equal(open_party(&command, false), 0);
    assert_int_equal(hosts_listen(a.hosts, &err), 0);
    atomic_fetch_add(&decided, 1);
    hosts_tell(command.hosts, HOSTS_DECISION);
    assert_int_equal(hosts_start(a.hosts, &err), 0);
    AWAIT(atomic_load(&a.seen) == atomic_load(&decided));
    hosts_destroy(a.hosts);
    hosts_destroy(command.hosts);
}

static void without_a_state_folder_there_is_nobody(void **state) {
    (void)state;
    struct toolrack_error err;
    struct hosts_telling telling;
    struct hosts_count count;
    struct hosts *alone = hosts_create(&(struct hosts_options){.log = &own_log});
    assert_int_equal(hosts_listen(alone, &err), 0);
    assert_int_equal(hosts_start(alone, &err), 0);
    hosts_begin(alone, &telling);
    hosts_end(alone, &telling, HOSTS_CONTENT);
    hosts_last(alone, &count);
    assert_int_equal(count.applied + count.silent, 0);
    hosts_destroy(alone);
}

/* ----------------------------------------------------------------- many */

static void a_thousand_decisions_in_a_row(void **state) {
    (void)state;
    struct party a;
    struct party command;
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&command, false), 0);
    for (unsigned i = 0; i < 1000; i++) {
        if (decide(&command, HOSTS_DECISION).applied == 1) {
            assert_int_equal(atomic_load(&a.seen), atomic_load(&decided));
        }
    }
    AWAIT(atomic_load(&a.seen) == atomic_load(&decided));
    hosts_destroy(a.hosts);
    hosts_destroy(command.hosts);
}

static void *decide_often(void *argument) {
    for (unsigned i = 0; i < 200; i++) {
        (void)decide(argument, i % 10 == 0 ? HOSTS_CONTENT : HOSTS_DECISION);
    }
    return NULL;
}

/* Each waits for the other's answer, and none for ever. */
static void two_hosts_decide_at_once(void **state) {
    (void)state;
    struct party a;
    struct party b;
    pthread_t threads[2];
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&b, true), 0);
    assert_int_equal(pthread_create(&threads[0], NULL, decide_often, &a), 0);
    assert_int_equal(pthread_create(&threads[1], NULL, decide_often, &b), 0);
    assert_int_equal(pthread_join(threads[0], NULL), 0);
    assert_int_equal(pthread_join(threads[1], NULL), 0);
    (void)decide(&a, HOSTS_DECISION);
    AWAIT(atomic_load(&b.seen) == atomic_load(&decided));
    (void)decide(&b, HOSTS_DECISION);
    AWAIT(atomic_load(&a.seen) == atomic_load(&decided));
    hosts_destroy(a.hosts);
    hosts_destroy(b.hosts);
}

/* An event's callback may decide something. */
static void a_decision_within_apply_does_not_wait(void **state) {
    (void)state;
    struct party a;
    struct party b;
    struct party command;
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&b, true), 0);
    assert_int_equal(open_party(&command, false), 0);
    a.decides = true;
    assert_int_equal(decide(&command, HOSTS_DECISION).applied, 2);
    AWAIT(atomic_load(&b.seen) == atomic_load(&decided));
    hosts_destroy(a.hosts);
    hosts_destroy(b.hosts);
    hosts_destroy(command.hosts);
}

static void more_deciding_processes_than_places(void **state) {
    (void)state;
    struct party a;
    struct party command;
    struct hosts_telling waiting[HOSTS_CONNECTIONS_MAX + 8];
    struct hosts_count count;
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&command, false), 0);
    for (size_t i = 0; i < HOSTS_CONNECTIONS_MAX + 8; i++) {
        hosts_begin(command.hosts, &waiting[i]);
    }
    assert_int_equal(decide(&command, HOSTS_DECISION).applied, 1);
    for (size_t i = 0; i < HOSTS_CONNECTIONS_MAX + 8; i++) {
        atomic_fetch_add(&decided, 1);
        hosts_end(command.hosts, &waiting[i], HOSTS_DECISION);
        hosts_last(command.hosts, &count);
        assert_int_equal(count.applied, 1); /* also where the connection was dropped */
        assert_int_equal(atomic_load(&a.seen), atomic_load(&decided));
    }
    hosts_destroy(a.hosts);
    hosts_destroy(command.hosts);
}

/* ---------------------------------------------------------------- processes */

/* Another process that listens, and writes a byte for itself and for each apply(). */
static pid_t start_listener(int *ret_out) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct party own;
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)close(ends[0]);
        if (open_party(&own, true) < 0) {
            _exit(1);
        }
        unsigned told = 0;
        if (write(ends[1], "r", 1) != 1) {
            _exit(1);
        }
        for (;;) {
            for (; told < atomic_load(&own.applied); told++) {
                (void)!write(ends[1], "a", 1);
            }
            (void)usleep(1000);
        }
    }
    (void)close(ends[1]);
    *ret_out = ends[0];
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    return child;
}

static void end_child(pid_t child) {
    int status;
    (void)kill(child, SIGKILL);
    (void)kill(child, SIGCONT);
    assert_int_equal(patience_child(child, &status), child);
}

static void a_killed_host_does_not_count(void **state) {
    (void)state;
    struct party a;
    int out;
    pid_t child = start_listener(&out);
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(decide(&a, HOSTS_DECISION).applied, 1);
    end_child(child);
    assert_int_equal(count_sockets(), 2);
    struct hosts_count count = decide(&a, HOSTS_DECISION);
    assert_int_equal(count.applied + count.silent, 0);
    assert_int_equal(count_sockets(), 1);
    (void)close(out);
    hosts_destroy(a.hosts);
}

/* Its socket is still open in a process that it has forked. */
static void a_killed_host_with_a_child_does_not_count(void **state) {
    (void)state;
    struct party a;
    int ends[2];
    pid_t heir = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct party own;
        if (open_party(&own, true) < 0) {
            _exit(1);
        }
        pid_t own_heir = fork();
        if (own_heir == 0) {
            for (;;) {
                (void)pause();
            }
        }
        (void)!write(ends[1], &own_heir, sizeof own_heir);
        for (;;) {
            (void)pause();
        }
    }
    assert_int_equal(read(ends[0], &heir, sizeof heir), sizeof heir);
    assert_int_equal(open_party(&a, false), 0);
    end_child(child);
    struct hosts_count count = decide(&a, HOSTS_DECISION);
    assert_int_equal(count.applied + count.silent, 0);
    (void)kill(heir, SIGKILL);
    (void)close(ends[0]);
    (void)close(ends[1]);
    hosts_destroy(a.hosts);
}

static void a_suspended_host_applies_when_it_goes_on(void **state) {
    (void)state;
    struct party a;
    int out;
    char byte;
    pid_t child = start_listener(&out);
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(kill(child, SIGSTOP), 0);
    int status;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    struct hosts_count count = decide(&a, HOSTS_DECISION);
    assert_int_equal(count.applied, 0);
    assert_int_equal(count.silent, 1);
    assert_int_equal(kill(child, SIGCONT), 0);
    assert_int_equal(read(out, &byte, 1), 1);
    assert_int_equal(byte, 'a');
    end_child(child);
    (void)close(out);
    hosts_destroy(a.hosts);
}

/* Killed after it has stored, before it could tell. */
static void a_decision_whose_process_was_killed_is_applied(void **state) {
    (void)state;
    struct party a;
    assert_int_equal(open_party(&a, true), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct party own;
        struct hosts_telling telling;
        if (open_party(&own, false) == 0) {
            hosts_begin(own.hosts, &telling);
        }
        (void)raise(SIGKILL);
    }
    int status;
    assert_int_equal(patience_child(child, &status), child);
    AWAIT(atomic_load(&a.applied) == 1 && atomic_load(&a.exchanged) == 1);
    hosts_destroy(a.hosts);
}

/* -------------------------------------------------------------------- folder */

static void a_folder_that_others_may_write_to_is_not_used(void **state) {
    (void)state;
    struct party a;
    struct party command;
    struct toolrack_error err;
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&command, false), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    struct hosts_count count = decide(&command, HOSTS_DECISION);
    assert_int_equal(count.applied + count.silent, 0);
    assert_true(has_logged("no running host learns of this"));
    assert_int_equal(hosts_listen(command.hosts, &err), TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "no other may write to it"));
    hosts_destroy(a.hosts);
    hosts_destroy(command.hosts);
}

static void a_file_in_place_of_the_folder_is_reported(void **state) {
    (void)state;
    struct party command;
    struct toolrack_error err;
    assert_int_equal(open_party(&command, false), 0);
    FILE *file = fopen(folder, "w");
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(hosts_listen(command.hosts, &err), TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, folder));
    assert_int_equal(decide(&command, HOSTS_DECISION).applied, 0);
    hosts_destroy(command.hosts);
}

/* A file stands in place of the folder: those that open have no socket. */
static void take_folder(void) {
    FILE *file = fopen(folder, "w");
    assert_non_null(file);
    (void)fclose(file);
}

static void a_host_without_a_socket_is_counted(void **state) {
    (void)state;
    struct party command;
    struct party deaf[3];
    take_folder();
    assert_int_equal(open_party(&command, false), 0);
    assert_int_equal(decide(&command, HOSTS_DECISION).unreachable, 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(open_party(&deaf[i], true), -1);
        assert_int_equal(decide(&command, HOSTS_DECISION).unreachable, i + 1);
    }
    assert_int_equal(decide(&deaf[0], HOSTS_DECISION).unreachable, 2); /* not itself */
    assert_int_equal(decide(&command, HOSTS_DECISION).unreachable, 3);
    for (size_t i = 3; i-- > 0;) {
        hosts_destroy(deaf[i].hosts);
        assert_int_equal(decide(&command, HOSTS_DECISION).unreachable, i);
    }
    hosts_destroy(command.hosts);
}

static void a_killed_host_without_a_socket_does_not_count(void **state) {
    (void)state;
    struct party command;
    struct party deaf;
    int ready[2];
    take_folder();
    assert_int_equal(open_party(&command, false), 0);
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)open_party(&deaf, true);
        (void)!write(ready[1], "", 1);
        for (;;) {
            (void)pause();
        }
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(decide(&command, HOSTS_DECISION).unreachable, 1);
    end_child(child);
    assert_int_equal(decide(&command, HOSTS_DECISION).unreachable, 0);
    (void)close(ready[0]);
    (void)close(ready[1]);
    hosts_destroy(command.hosts);
}

/* Who may only read the state folder holds as many locks as there are hosts that are counted. */
static void locks_of_other_users_do_not_count(void **state) {
    (void)state;
    enum { LOCKS = 64 };
    struct party command;
    struct party deaf;
    struct stat st;
    char marks[300];
    int held[LOCKS];
    take_folder();
    assert_int_equal(chmod(dir, 0755), 0);
    for (int i = 0; i < LOCKS; i++) {
        struct flock byte = {.l_type = F_RDLCK, .l_start = 1000 * i + 5, .l_len = 1};
        held[i] = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(held[i] >= 0);
        assert_int_equal(fcntl(held[i], F_OFD_SETLK, &byte), 0);
    }
    assert_int_equal(open_party(&command, false), 0);
    assert_int_equal(decide(&command, HOSTS_DECISION).unreachable, 0);
    assert_int_equal(open_party(&deaf, true), -1);
    assert_int_equal(decide(&command, HOSTS_DECISION).unreachable, 1);
    /* Nobody else opens what does count. */
    (void)snprintf(marks, sizeof marks, "%s/unreachable", dir);
    assert_int_equal(stat(marks, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    for (int i = 0; i < LOCKS; i++) {
        (void)close(held[i]);
    }
    hosts_destroy(deaf.hosts);
    hosts_destroy(command.hosts);
}

/* Root decides for itself as any user does. */
static void the_folder_of_another_user_is_not_used(void **state) {
    (void)state;
    struct party command;
    struct toolrack_error err;
    if (geteuid() != 0) {
        print_message("# skipped: only root gives folders away\n");
        skip();
    }
    assert_int_equal(mkdir(folder, 0700) | chown(folder, 12345, 0), 0);
    assert_int_equal(open_party(&command, false), 0);
    (void)decide(&command, HOSTS_DECISION);
    assert_true(has_logged("must belong to this user"));
    assert_int_equal(hosts_listen(command.hosts, &err), TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "must belong to this user"));
    hosts_destroy(command.hosts);
}

/* ---------------------------------------------------------------------- lost */

/* A command for the shell, with the state folder as $dir. */
static void run_in(const char *command) {
    assert_int_equal(setenv("dir", dir, 1), 0);
    assert_int_equal(system(command), 0);
}

/* Whatever was decided while nobody found them is in effect, and both are found again. */
static void expect_found_again(const char *command) {
    struct party a;
    struct party b;
    struct party teller;
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&b, true), 0);
    assert_int_equal(open_party(&teller, false), 0);
    atomic_fetch_add(&decided, 1); /* nobody is told */
    run_in(command);
    AWAIT(atomic_load(&a.seen) == atomic_load(&decided));
    AWAIT(atomic_load(&b.seen) == atomic_load(&decided));
    AWAIT(atomic_load(&a.exchanged) > 0 && atomic_load(&b.exchanged) > 0);
    AWAIT(decide(&teller, HOSTS_DECISION).applied == 2);     /* it may have been removed twice */
    assert_int_equal(decide(&a, HOSTS_DECISION).applied, 1); /* not to itself */
    hosts_destroy(a.hosts);
    hosts_destroy(b.hosts);
    hosts_destroy(teller.hosts);
    assert_int_equal(count_sockets(), 0);
}

static void a_removed_socket_is_made_again(void **state) {
    (void)state;
    expect_found_again("rm \"$dir\"/hosts/*");
    assert_true(has_logged("is made again"));
}

static void a_removed_folder_is_made_again(void **state) {
    (void)state;
    expect_found_again("mv \"$dir/hosts\" \"$dir/away\"");
}

/* It is made again while it is removed: whoever removes it may have to try more than once. */
static void a_folder_is_removed_with_its_sockets(void **state) {
    (void)state;
    expect_found_again("rm -rf \"$dir/hosts\" || rm -rf \"$dir/hosts\" || true");
}

static bool has_inotify(void) {
    bool found = false;
    DIR *fds = opendir("/proc/self/fd");
    const struct dirent *entry;
    while (fds != NULL && (entry = readdir(fds)) != NULL) {
        char target[64];
        ssize_t length = readlinkat(dirfd(fds), entry->d_name, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        found = found || strcmp(target, "anon_inode:inotify") == 0;
    }
    assert_non_null(fds);
    (void)closedir(fds);
    return found;
}

/* A command that ends at once has no watch to close, which takes longer than all else it does. */
static void a_host_that_stays_begins_to_watch(void **state) {
    (void)state;
    struct party a;
    struct toolrack_error err;
    assert_int_equal(open_party(&a, false), 0);
    assert_int_equal(hosts_listen(a.hosts, &err), 0);
    assert_false(has_inotify());
    assert_false(hosts_learns(a.hosts));
    assert_int_equal(hosts_start(a.hosts, &err), 0);
    AWAIT(hosts_learns(a.hosts));
    assert_true(has_inotify());
    hosts_destroy(a.hosts);
    assert_false(has_inotify());
}

/* Decisions are in another database from then on. */
static void a_removed_state_folder_is_told(void **state) {
    (void)state;
    struct party a;
    struct party command;
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&command, false), 0);
    run_in("mv \"$dir\" \"$dir-away\"");
    run_in("rm -rf \"$dir-away\"");
    AWAIT(atomic_load(&lost));
    assert_int_equal(decide(&command, HOSTS_DECISION).applied, 0);
    assert_int_equal(access(dir, F_OK), -1); /* nothing is made there */
    hosts_destroy(a.hosts);
    hosts_destroy(command.hosts);
}

/* Longer than the address of a socket may be. */
static void a_long_path(void **state) {
    (void)state;
    struct party a;
    struct party command;
    char first[sizeof dir];
    memcpy(first, dir, sizeof first);
    (void)snprintf(dir + strlen(dir), sizeof dir - strlen(dir), "/%0150d", 7);
    assert_int_equal(open_party(&a, true), 0);
    assert_int_equal(open_party(&command, false), 0);
    assert_int_equal(decide(&command, HOSTS_DECISION).applied, 1);
    hosts_destroy(a.hosts);
    hosts_destroy(command.hosts);
    memcpy(dir, first, sizeof first);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, make_dir, remove_dir)

int main(void) {
    const struct CMUnitTest tests[] = {
            CASE(all_that_listen_are_told),
            CASE(nobody_is_told_of_what_was_not_stored),
            CASE(a_host_that_cannot_apply_is_silent),
            CASE(a_host_that_opens_misses_nothing),
            CASE(without_a_state_folder_there_is_nobody),
            CASE(a_thousand_decisions_in_a_row),
            CASE(two_hosts_decide_at_once),
            CASE(a_decision_within_apply_does_not_wait),
            CASE(more_deciding_processes_than_places),
            CASE(a_killed_host_does_not_count),
            CASE(a_killed_host_with_a_child_does_not_count),
            CASE(a_suspended_host_applies_when_it_goes_on),
            CASE(a_decision_whose_process_was_killed_is_applied),
            CASE(a_folder_that_others_may_write_to_is_not_used),
            CASE(a_file_in_place_of_the_folder_is_reported),
            CASE(a_host_without_a_socket_is_counted),
            CASE(a_killed_host_without_a_socket_does_not_count),
            CASE(locks_of_other_users_do_not_count),
            CASE(the_folder_of_another_user_is_not_used),
            CASE(a_long_path),
            CASE(a_host_that_stays_begins_to_watch),
            CASE(a_removed_socket_is_made_again),
            CASE(a_removed_folder_is_made_again),
            CASE(a_folder_is_removed_with_its_sockets),
            CASE(a_removed_state_folder_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
