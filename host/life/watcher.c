#include "life/watcher.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "files/watch.h"
#include "life/parts.h"
#include "life/reload.h"
#include "life/rescan.h"

/* Invariants:
 *
 *  (1) A file is in the queue if `queued` is set; the thread that takes it out has taken the file.
 *      A file that changes while a thread looks at it is queued again.
 *  (2) threads[0..thread_count) are to be joined; `idle` of them are waiting.
 *  (3) The lock of the files guards all of struct watcher except the watch thread's own members. No
 *      thread waits for a plugin while it holds that lock. */
struct watcher {
    struct life *life;
    struct watch *watch;                /* of the watch thread */
    const struct scan_folder **folders; /* by the watch's number; of the watch thread too */
    int wake;                           /* an eventfd, readable when the threads are to end */
    pthread_t watch_thread;
    bool watching; /* the thread was started */
    bool added;    /* it has added the folders, with these results */
    int code;
    struct toolrack_error why;
    bool begun; /* it may look at files */
    bool stopping;
    pthread_t threads[WATCHER_THREADS_MAX];
    unsigned thread_count;
    unsigned idle;
};

#define CHANGES_ROOM 64u

/* The first look at all files, which copies those that were never called, waits this long for a
 * change: it would take the CPUs from the first calls. */
#define FIRST_LOOK_MS 50

/* ------------------------------------------------------------------ the queue */

static void *look_main(void *argument);

/* Start a thread for what is queued, unless a thread is idle. Caller holds the lock. */
static void have_thread(struct watcher *watcher) {
    if (watcher->idle == 0 && watcher->thread_count < WATCHER_THREADS_MAX && !watcher->stopping &&
        thread_start(&watcher->threads[watcher->thread_count], look_main, watcher) == 0) {
        watcher->thread_count++;
    }
}

/* Caller holds the lock. */
static void queue(struct watcher *watcher, struct plugin_file *file, uint64_t due_ns) {
    file->queued = true;
    file->due_ns = due_ns;
    have_thread(watcher);
    (void)pthread_cond_broadcast(&watcher->life->files.changed);
}

static void queue_now(void *user, struct plugin_file *file) {
    struct watcher *watcher = user;
    lock_take(&watcher->life->files.lock);
    queue(watcher, file, 0);
    lock_release(&watcher->life->files.lock);
}

/* The file that is due first and not taken; *ret_due_ns is when the next file is due. */
static struct plugin_file *next_file(const struct watcher *watcher, uint64_t now_ns,
                                     uint64_t *ret_due_ns) {
    *ret_due_ns = UINT64_MAX;
    for (struct plugin_file *file = watcher->life->files.first; file != NULL; file = file->next) {
        if (!file->queued || file->taken) {
            continue;
        }
        if (file->due_ns <= now_ns) {
            return file;
        }
        *ret_due_ns = file->due_ns < *ret_due_ns ? file->due_ns : *ret_due_ns;
    }
    return NULL;
}

static void *look_main(void *argument) {
    struct watcher *watcher = argument;
    struct plugin_files *files = &watcher->life->files;
    lock_take(&files->lock);
    while (!watcher->stopping) {
        uint64_t due_ns;
        uint64_t now_ns = clock_now_ns();
        struct plugin_file *file = next_file(watcher, now_ns, &due_ns);
        if (file == NULL) {
            struct timespec until = clock_timespec(due_ns);
            watcher->idle++;
            if (due_ns == UINT64_MAX) {
                lock_wait(&files->lock, &files->changed);
            } else {
                (void)lock_wait_until(&files->lock, &files->changed, &until);
            }
            watcher->idle--;
            continue;
        }
        file->queued = false;
        file->taken = true;
        file->taker = pthread_self();
        if (next_file(watcher, now_ns, &due_ns) != NULL) {
            have_thread(watcher); /* several files may be queued before one thread wakes */
        }
        lock_release(&files->lock);
        struct reload_row row;
        enum reload_how how = file->tries < WATCHER_TRIES_MAX ? RELOAD_AND_KEEP : RELOAD_LAST_TRY;
        bool changing = reload_file(watcher->life, file, how, &row) == RELOAD_CHANGING;
        reload_row_finish(&row);
        lock_take(&files->lock);
        file->taken = false;
        file->tries = changing ? file->tries + 1 : 0;
        if (changing && !file->queued) {
            queue(watcher, file, clock_now_ns() + (uint64_t)WATCHER_RETRY_MS * CLOCK_NS_PER_MS);
        }
        (void)pthread_cond_broadcast(&files->changed);
    }
    lock_release(&files->lock);
    return NULL;
}

/* ------------------------------------------------------------------ the watch */

static void rescan(struct watcher *watcher, const struct scan_folder *folder) {
    struct toolrack_error err;
    if (rescan_folder(watcher->life, folder, queue_now, watcher, &err) < 0) {
        log_line(watcher->life->options.log, LOG_WARNING, "watch", "%s", err.message);
    }
}

static void take_change(struct watcher *watcher, const struct watch_change *change) {
    const struct scan_folder *folder = watcher->folders[change->folder];
    if (change->trouble != NULL) {
        log_line(watcher->life->options.log, LOG_WARNING, "watch", "%s: %s", change->path,
                 change->trouble);
    }
    if (change->kind == WATCH_RESCAN) {
        rescan(watcher, folder);
        return;
    }
    if (rescan_is_repeated(watcher->life, folder)) {
        return; /* the watch reports it under the folder's first name too */
    }
    struct plugin_file *file = files_add(&watcher->life->files, change->path, folder);
    if (file != NULL) {
        queue_now(watcher, file);
    } else {
        log_line(watcher->life->options.log, LOG_ERROR, "watch",
                 "out of memory: a change of %s is not seen", change->path);
    }
}

static bool is_stopping(struct watcher *watcher) {
    lock_take(&watcher->life->files.lock);
    bool stopping = watcher->stopping;
    lock_release(&watcher->life->files.lock);
    return stopping;
}

/* Milliseconds until a time, rounded up, for poll(). */
static int poll_ms(uint64_t until_ns) {
    uint64_t now_ns = clock_now_ns();
    if (until_ns == WATCH_NEVER) {
        return -1;
    }
    uint64_t ms = until_ns <= now_ns ? 0 : (until_ns - now_ns) / CLOCK_NS_PER_MS + 1;
    return ms < INT32_MAX ? (int)ms : INT32_MAX;
}

static int add_folders(struct watcher *watcher, struct toolrack_error *err) {
    const struct places *places = watcher->life->options.places;
    int code = 0;
    for (size_t i = 0; code == 0 && i < places->folder_count; i++) {
        uint32_t number = 0;
        code = watch_add(watcher->watch, places->folders[i].path, &number, err);
        if (code == 0) {
            watcher->folders[number] = &places->folders[i];
        }
    }
    return code;
}

/* Add the folders while another thread reads what is in them, and wait for its watcher_begin().
 * False: the host is closed before. */
static bool is_begun(struct watcher *watcher) {
    struct plugin_files *files = &watcher->life->files;
    struct toolrack_error why = {0};
    int code = add_folders(watcher, &why);
    LOCK_SCOPE(&files->lock);
    watcher->code = code;
    watcher->why = why;
    watcher->added = true;
    (void)pthread_cond_broadcast(&files->changed);
    while (!watcher->begun && !watcher->stopping) {
        lock_wait(&files->lock, &files->changed);
    }
    return watcher->begun;
}

static void *watch_main(void *argument) {
    struct watcher *watcher = argument;
    struct watch_change changes[CHANGES_ROOM];
    if (!is_begun(watcher)) {
        return NULL;
    }
    struct pollfd fds[] = {{.fd = watch_fd(watcher->watch), .events = POLLIN},
                           {.fd = watcher->wake, .events = POLLIN}};
    (void)poll(fds, ARRAY_LENGTH(fds), FIRST_LOOK_MS);
    for (size_t i = 0; i < watcher->life->options.places->folder_count && !is_stopping(watcher);
         i++) {
        rescan(watcher, &watcher->life->options.places->folders[i]);
    }
    while (!is_stopping(watcher)) {
        (void)poll(fds, ARRAY_LENGTH(fds), poll_ms(watch_next_ns(watcher->watch)));
        size_t count = watch_read(watcher->watch, clock_now_ns(), changes, ARRAY_LENGTH(changes));
        for (size_t i = 0; i < count; i++) {
            take_change(watcher, &changes[i]);
        }
    }
    return NULL;
}

/* ------------------------------------------------------------- start and stop */

int watcher_start(struct life *life, struct toolrack_error *err) {
    const struct places *places = life->options.places;
    struct watcher *watcher = calloc(1, sizeof *watcher);
    if (watcher == NULL) {
        return error_oom(err);
    }
    watcher->life = life;
    watcher->wake = -1;
    life->watcher = watcher; /* stopped when the host is closed; a failure closes it */
    int code = watch_create(&watcher->watch, err);
    if (code < 0) {
        return code;
    }
    if (life->options.watch_debounce_ms != 0) {
        watch_set_debounce(watcher->watch, life->options.watch_debounce_ms);
    }
    watcher->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (watcher->wake < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot make an eventfd: %s", strerror(errno));
    }
    watcher->folders = calloc(places->folder_count + 1, sizeof(const struct scan_folder *));
    if (watcher->folders == NULL) {
        return error_oom(err);
    }
    if (thread_start(&watcher->watch_thread, watch_main, watcher) != 0) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "cannot start the thread of the watch");
    }
    watcher->watching = true;
    return 0;
}

int watcher_begin(struct watcher *watcher, struct toolrack_error *err) {
    struct plugin_files *files = &watcher->life->files;
    LOCK_SCOPE(&files->lock);
    while (!watcher->added) {
        lock_wait(&files->lock, &files->changed);
    }
    if (watcher->code < 0) {
        if (err != NULL) {
            *err = watcher->why;
        }
        return watcher->code;
    }
    watcher->begun = true;
    (void)pthread_cond_broadcast(&files->changed);
    return 0;
}

void watcher_stop(struct watcher *watcher) {
    if (watcher == NULL) {
        return;
    }
    struct plugin_files *files = &watcher->life->files;
    lock_take(&files->lock);
    watcher->stopping = true;
    (void)pthread_cond_broadcast(&files->changed);
    lock_release(&files->lock);
    if (watcher->watching) {
        (void)eventfd_write(watcher->wake, 1);
        (void)pthread_join(watcher->watch_thread, NULL);
    }
    for (unsigned i = 0; i < watcher->thread_count; i++) {
        (void)pthread_join(watcher->threads[i], NULL);
    }
    watch_destroy(watcher->watch);
    closep(&watcher->wake);
    free(watcher->folders);
    free(watcher);
}
