#include "worker/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/clock.h"

/* Fields of /proc/PID/stat, numbered as in proc(5). The name, field 2, may contain anything: it
 * ends at the last parenthesis. */
enum {
    FIELD_STATE = 3,
    FIELD_PARENT = 4,
    FIELD_SESSION = 6,
    FIELD_USER = 14,
    FIELD_SYSTEM = 15,
    FIELD_REAPED_USER = 16,
    FIELD_REAPED_SYSTEM = 17,
    FIELD_THREADS = 20,
    FIELD_BEGAN = 22
};

struct task {
    pid_t pid;
    pid_t parent;
    pid_t session;
    uint32_t threads;   /* zombies have none */
    uint64_t began;     /* with the pid, names a process */
    uint64_t own_ns;    /* CPU time of its threads, also of those that ended */
    uint64_t reaped_ns; /* that of the processes for which it has waited, in steps of a tick */
};

/* ------------------------------------------------------------------- reading */

static bool read_line(const char *text, struct task *ret) {
    long per_s = sysconf(_SC_CLK_TCK);
    const uint64_t tick_ns = CLOCK_NS_PER_S / (uint64_t)(per_s > 0 ? per_s : 100);
    const char *at = strrchr(text, ')');
    char state = '\0';
    *ret = (struct task){0};
    for (int field = FIELD_STATE; at != NULL && field <= FIELD_BEGAN; field++) {
        at = strchr(at, ' ');
        at = at != NULL ? at + 1 : NULL;
        uint64_t number = at != NULL ? strtoull(at, NULL, 10) : 0;
        switch (field) {
        case FIELD_STATE: state = at != NULL ? *at : '\0'; break;
        case FIELD_PARENT: ret->parent = (pid_t)number; break;
        case FIELD_SESSION: ret->session = (pid_t)number; break;
        case FIELD_USER:
        case FIELD_SYSTEM: ret->own_ns += number * tick_ns; break;
        case FIELD_REAPED_USER:
        case FIELD_REAPED_SYSTEM: ret->reaped_ns += number * tick_ns; break;
        case FIELD_THREADS: ret->threads = (uint32_t)number; break;
        case FIELD_BEGAN: ret->began = number; break;
        default: break;
        }
    }
    ret->threads = state == 'Z' || state == 'X' ? 0 : ret->threads;
    return at != NULL;
}

static bool read_process(int proc, const char *name, struct task *ret) {
    char path[64];
    char text[512]; /* enough for the first 22 fields */
    (void)snprintf(path, sizeof path, "%.20s/stat", name);
    CLEANUP(closep) int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length <= 0) {
        return false;
    }
    text[length] = '\0';
    bool done = read_line(text, ret);
    ret->pid = (pid_t)strtol(name, NULL, 10);
    return done;
}

/* Finer than ticks: a process that lives for less than one is seen. */
static void read_clock(struct task *task) {
    clockid_t clock;
    struct timespec used;
    if (clock_getcpuclockid(task->pid, &clock) == 0 && clock_gettime(clock, &used) == 0) {
        task->own_ns = (uint64_t)used.tv_sec * CLOCK_NS_PER_S + (uint64_t)used.tv_nsec;
    }
}

/* Those of the leader's session; the leader first. */
struct tasks {
    struct task *list;
    size_t count;
    size_t room;
};

static void tasks_finish(struct tasks *tasks) {
    free(tasks->list);
}

static bool tasks_add(struct tasks *tasks, const struct task *task) {
    if (tasks->count == tasks->room) {
        size_t room = tasks->room == 0 ? 16 : 2 * tasks->room;
        struct task *list = realloc(tasks->list, room * sizeof *list);
        if (list == NULL) {
            return false;
        }
        tasks->list = list;
        tasks->room = room;
    }
    tasks->list[tasks->count++] = *task;
    return true;
}

static bool read_tasks(pid_t leader, bool all, struct tasks *ret) {
    CLEANUP(closep) int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    char name[24];
    struct task task;
    (void)snprintf(name, sizeof name, "%d", (int)leader);
    if (proc < 0 || !read_process(proc, name, &task) || !tasks_add(ret, &task)) {
        return false;
    }
    DIR *dir = all ? fdopendir(proc) : NULL;
    if (dir == NULL) {
        return !all;
    }
    proc = -1; /* dir owns it */
    bool done = true;
    for (const struct dirent *one = readdir(dir); done && one != NULL; one = readdir(dir)) {
        if (ascii_is_digit(one->d_name[0]) && strcmp(one->d_name, name) != 0 &&
            read_process(dirfd(dir), one->d_name, &task) && task.session == leader) {
            done = tasks_add(ret, &task);
        }
    }
    (void)closedir(dir);
    return done;
}

bool tasks_count(pid_t leader, bool all, uint32_t *ret_threads) {
    CLEANUP(tasks_finish) struct tasks tasks = {0};
    *ret_threads = 0;
    if (!read_tasks(leader, all, &tasks)) {
        return false;
    }
    for (size_t i = 0; i < tasks.count; i++) {
        *ret_threads += tasks.list[i].threads;
    }
    return true;
}

/* ------------------------------------------------------------------- adding up */

static const struct task *find(const struct task *list, size_t count, pid_t pid) {
    for (size_t i = 0; i < count; i++) {
        if (list[i].pid == pid) {
            return &list[i];
        }
    }
    return NULL;
}

static bool is_same(const struct task *one, const struct task *other) {
    return one != NULL && other != NULL && one->pid == other->pid && one->began == other->began;
}

/* Who waited for a process that is gone: its parent, or if that is gone too, who waited for that.
 * NULL: nobody that lives. A process is younger than its parent, so this ends. */
static const struct task *find_waiter(const struct task_times *before, const struct tasks *now,
                                      const struct task *gone) {
    for (size_t i = 0; gone != NULL && i < before->count; i++) {
        const struct task *parent = find(now->list, now->count, gone->parent);
        const struct task *was = find(before->tasks, before->count, gone->parent);
        if (is_same(parent, was)) {
            return parent;
        }
        gone = was;
    }
    return NULL;
}

/* What was counted of processes while they lived, for which this one has waited since. */
static uint64_t counted_before(const struct task_times *before, const struct tasks *now,
                               const struct task *waiter) {
    uint64_t counted_ns = 0;
    for (size_t i = 0; i < before->count; i++) {
        const struct task *task = &before->tasks[i];
        if (!is_same(find(now->list, now->count, task->pid), task) &&
            find_waiter(before, now, task) == waiter) {
            counted_ns += task->own_ns + task->reaped_ns;
        }
    }
    return counted_ns;
}

static uint64_t above(uint64_t number, uint64_t other) {
    return number > other ? number - other : 0;
}

bool tasks_look(struct task_times *times, pid_t leader) {
    static const struct task none;
    CLEANUP(tasks_finish) struct tasks now = {0};
    if (!read_tasks(leader, true, &now)) {
        return false;
    }
    for (size_t i = 0; i < now.count; i++) {
        struct task *task = &now.list[i];
        const struct task *was = find(times->tasks, times->count, task->pid);
        was = is_same(was, task) ? was : &none;
        read_clock(task);
        times->used_ns += above(task->own_ns, was->own_ns);
        if (task->reaped_ns > was->reaped_ns) {
            times->used_ns +=
                    above(task->reaped_ns - was->reaped_ns, counted_before(times, &now, task));
        }
    }
    free(times->tasks);
    times->tasks = now.list;
    times->count = now.count;
    now.list = NULL;
    return true;
}

void task_times_finish(struct task_times *times) {
    free(times->tasks);
    *times = (struct task_times){0};
}
