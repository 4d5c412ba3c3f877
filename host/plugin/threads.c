#include "plugin/threads.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* From the kernel's headers: the thread is exiting. It is set before pthread_join() can return. */
#define PF_EXITING 0x4u

#define STACK_PIECE 16384u

/* The present time of the clock of thread starts, in its ticks. */
uint64_t threads_moment(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    uint64_t ns = (uint64_t)now.tv_sec * CLOCK_NS_PER_S + (uint64_t)now.tv_nsec;
    return ns / (CLOCK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* Read a file of a thread; "" when the thread is gone. */
static void read_text(int tasks, const char *thread, const char *name, char *to, size_t room) {
    char path[64];
    (void)snprintf(path, sizeof path, "%s/%s", thread, name);
    CLEANUP(closep) int fd = openat(tasks, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, to, room - 1);
    to[got > 0 ? got : 0] = '\0';
}

/* Whether the thread is alive and was started since then. */
static bool is_candidate(int tasks, const char *thread, uint64_t since) {
    char text[512];
    read_text(tasks, thread, "stat", text, sizeof text);
    const char *rest = strrchr(text, ')'); /* the name before it may contain anything */
    unsigned flags;
    unsigned long long start;
    return rest != NULL &&
           sscanf(rest,
                  ") %*s %*s %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
                  "%*s %llu",
                  &flags, &start) == 2 &&
           (flags & PF_EXITING) == 0 && start >= since;
}

enum where { WHERE_GONE, WHERE_RUNNING, WHERE_AT };

/* The present stack pointer of a thread. */
static enum where stack_of(int tasks, const char *thread, uintptr_t *ret_at) {
    char text[256];
    read_text(tasks, thread, "syscall", text, sizeof text);
    if (strncmp(text, "running", 7) == 0) {
        return WHERE_RUNNING;
    }
    /* The last two numbers are the stack pointer and the instruction pointer; the number of values
     * before them varies. */
    const char *last = strrchr(text, ' ');
    if (last == NULL) {
        return WHERE_GONE;
    }
    while (last > text && last[-1] != ' ') {
        last--;
    }
    *ret_at = (uintptr_t)strtoull(last, NULL, 16);
    return *ret_at != 0 ? WHERE_AT : WHERE_GONE;
}

/* End of the mapping that an address is in; 0 when it is in none. */
static uintptr_t mapping_end(uintptr_t at) {
    FILE *maps = fopen("/proc/self/maps", "re");
    uintptr_t end = 0;
    char line[512];
    while (maps != NULL && end == 0 && fgets(line, sizeof line, maps) != NULL) {
        unsigned long long first;
        unsigned long long behind;
        if (sscanf(line, "%llx-%llx ", &first, &behind) == 2 && at >= first && at < behind) {
            end = (uintptr_t)behind;
        }
    }
    if (maps != NULL) {
        (void)fclose(maps);
    }
    return end;
}

/* The stack is read through /proc/self/mem, since it may change or be unmapped at any time. */
static bool stack_holds(uintptr_t at, uintptr_t begin, uintptr_t end) {
    CLEANUP(closep) int memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
    uintptr_t words[STACK_PIECE / sizeof(uintptr_t)];
    at &= ~(uintptr_t)(sizeof *words - 1);
    uintptr_t stop = mapping_end(at);
    stop = stop > at && stop - at > THREADS_STACK_MAX ? at + THREADS_STACK_MAX : stop;
    while (memory >= 0 && at < stop) {
        size_t piece = stop - at < sizeof words ? stop - at : sizeof words;
        ssize_t got = pread(memory, words, piece, (off_t)at);
        if (got <= 0) {
            return false;
        }
        for (size_t i = 0; i < (size_t)got / sizeof *words; i++) {
            if (words[i] >= begin && words[i] < end) {
                return true;
            }
        }
        at += (uintptr_t)got;
    }
    return false;
}

static bool runs_in(int tasks, const char *thread, uintptr_t begin, uintptr_t end, uint64_t since) {
    for (unsigned looks = 0; looks < THREADS_LOOKS_MAX; looks++) {
        uintptr_t at;
        if (!is_candidate(tasks, thread, since)) {
            return false;
        }
        switch (stack_of(tasks, thread, &at)) {
        case WHERE_GONE: return false;
        case WHERE_AT: return stack_holds(at, begin, end);
        case WHERE_RUNNING: break;
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = CLOCK_NS_PER_MS}, NULL);
    }
    return true;
}

enum threads_answer threads_in(uintptr_t begin, uintptr_t end, uint64_t since) {
    DIR *tasks = opendir("/proc/self/task");
    if (tasks == NULL) {
        return THREADS_UNKNOWN;
    }
    char self[16];
    (void)snprintf(self, sizeof self, "%d", (int)gettid());
    bool found = false;
    const struct dirent *entry;
    while (!found && (entry = readdir(tasks)) != NULL) {
        found = entry->d_name[0] != '.' && strcmp(entry->d_name, self) != 0 &&
                runs_in(dirfd(tasks), entry->d_name, begin, end, since);
    }
    (void)closedir(tasks);
    return found ? THREADS_SOME : THREADS_NONE;
}
