/* What the processes of a session have used of CPU time, also of those that ended. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "patience.h"
#include "worker/tasks.h"

#include <cmocka.h>

/* CPU time of one burner, far more than what else a process uses here. */
#define BURNT_NS (300 * CLOCK_NS_PER_MS)

/* A process with a session of its own, which does what it is told. */
struct session {
    pid_t pid;
    int to;
    int from;
};

static void burn(void) {
    while (clock_cpu_ns() < BURNT_NS) {
    }
}

/* Fork a process that burns and stays; returns when it has burnt. `deep`: a child of it. */
static pid_t start_burner(bool deep) {
    int done[2];
    char byte = 'd';
    if (pipe(done) < 0) {
        _exit(1);
    }
    pid_t child = fork();
    if (child == 0 && deep) {
        pid_t grandchild = start_burner(false);
        (void)!write(done[1], &byte, 1);
        (void)!read(STDIN_FILENO, &byte, 1); /* until it is told to go on */
        (void)kill(grandchild, SIGKILL);
        (void)waitpid(grandchild, NULL, 0);
        _exit(0);
    }
    if (child == 0) {
        burn();
        (void)!write(done[1], &byte, 1);
        for (;;) {
            (void)pause();
        }
    }
    (void)!read(done[0], &byte, 1);
    (void)close(done[0]);
    (void)close(done[1]);
    return child;
}

static _Noreturn void serve(int in, int out) {
    int go_on[2];
    pid_t child = -1;
    char order;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setsid() < 0 || pipe(go_on) < 0 || dup2(go_on[0], STDIN_FILENO) < 0) {
        _exit(1);
    }
    while (read(in, &order, 1) == 1) {
        switch (order) {
        case 'b': child = start_burner(false); break;
        case 'd': child = start_burner(true); break;
        case 'i': (void)signal(SIGCHLD, SIG_IGN); break;
        case 'k':
            (void)kill(child, SIGKILL);
            (void)waitpid(child, NULL, 0);
            break;
        case 'w':
            (void)!write(go_on[1], "", 1);
            (void)waitpid(child, NULL, 0);
            break;
        default: break;
        }
        (void)!write(out, &order, 1);
    }
    (void)kill(0, SIGKILL);
    _exit(0);
}

static int set_up(void **state) {
    static struct session session;
    int to[2];
    int from[2];
    if (pipe(to) < 0 || pipe(from) < 0) {
        return -1;
    }
    session.pid = fork();
    if (session.pid == 0) {
        (void)close(to[1]);
        serve(to[0], from[1]);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    session.to = to[1];
    session.from = from[0];
    *state = &session;
    return session.pid < 0 ? -1 : 0;
}

static int tear_down(void **state) {
    const struct session *session = *state;
    int status;
    (void)close(session->to);
    (void)patience_child(session->pid, &status);
    (void)close(session->from);
    return 0;
}

static void tell(const struct session *session, const char *orders) {
    for (; *orders != '\0'; orders++) {
        char done = '\0';
        assert_int_equal(write(session->to, orders, 1), 1);
        assert_int_equal(read(session->from, &done, 1), 1);
        assert_int_equal(done, *orders);
    }
}

static uint64_t look(struct task_times *times, const struct session *session) {
    assert_true(tasks_look(times, session->pid));
    return times->used_ns;
}

/* Bounds that what is counted twice would exceed, and what is not would not reach; what was waited
 * for is known in ticks. */
static void assert_counted(uint64_t used_ns, uint64_t burners) {
    uint64_t all_ns = burners * BURNT_NS;
    assert_in_range(used_ns, all_ns - (burners > 0 ? BURNT_NS / 10 : 0), all_ns + BURNT_NS * 2 / 3);
}

static void what_ended_is_counted(void **state) {
    struct task_times times = {0};
    tell(*state, "n"); /* its session is made */
    assert_counted(look(&times, *state), 0);
    tell(*state, "bk");
    assert_counted(look(&times, *state), 1);
    tell(*state, "bkbk");
    assert_counted(look(&times, *state), 3);
    task_times_finish(&times);
}

static void what_was_counted_is_not_counted_at_its_end(void **state) {
    struct task_times times = {0};
    tell(*state, "b");
    assert_counted(look(&times, *state), 1);
    tell(*state, "k");
    assert_counted(look(&times, *state), 1);
    tell(*state, "d");
    assert_counted(look(&times, *state), 2);
    tell(*state, "w"); /* with the process that waited for it */
    assert_counted(look(&times, *state), 2);
    assert_counted(look(&times, *state), 2);
    task_times_finish(&times);
}

static void what_nobody_waits_for_counts_as_it_was_seen(void **state) {
    struct task_times times = {0};
    tell(*state, "ib");
    assert_counted(look(&times, *state), 1);
    tell(*state, "k");
    assert_counted(look(&times, *state), 1);
    tell(*state, "b"); /* as long as the one before: no more is used at once, and more was */
    assert_counted(look(&times, *state), 2);
    tell(*state, "k");
    task_times_finish(&times);
}

static void threads_of_a_session_are_counted(void **state) {
    const struct session *session = *state;
    uint32_t threads = 0;
    tell(session, "b");
    assert_true(tasks_count(session->pid, false, &threads));
    assert_int_equal(threads, 1);
    assert_true(tasks_count(session->pid, true, &threads));
    assert_int_equal(threads, 2);
    tell(session, "k");
    assert_true(tasks_count(session->pid, true, &threads));
    assert_int_equal(threads, 1);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
            TEST(what_ended_is_counted),
            TEST(what_was_counted_is_not_counted_at_its_end),
            TEST(what_nobody_waits_for_counts_as_it_was_seen),
            TEST(threads_of_a_session_are_counted),
    };
    return cmocka_run_group_tests_name("tasks", tests, NULL, NULL);
}
