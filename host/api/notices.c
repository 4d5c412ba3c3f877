#include "api/notices.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/name.h"
#include "base/thread.h"
#include "run/run.h"

struct waiting_notice {
    struct waiting_notice *next;
    enum plugin_notice notice;
    const char *plugin_id;
    const char *text; /* or NULL */
    char strings[];
};

struct notices {
    struct notices_options options;
    struct lock lock; /* guards what follows */
    pthread_cond_t changed;
    pthread_t thread;
    bool has_thread;
    bool is_stopped;
    struct waiting_notice *first;
    struct waiting_notice **last; /* where the next one is linked */
    size_t count;
};

struct notices *notices_create(const struct notices_options *options) {
    struct notices *notices = calloc(1, sizeof *notices);
    if (notices != NULL) {
        notices->options = *options;
        lock_init(&notices->lock);
        clock_cond_init(&notices->changed);
        notices->last = &notices->first;
    }
    return notices;
}

static void drop_all(struct notices *notices) {
    while (notices->first != NULL) {
        struct waiting_notice *next = notices->first->next;
        free(notices->first);
        notices->first = next;
    }
    notices->last = &notices->first;
    notices->count = 0;
}

void notices_stop(struct notices *notices) {
    if (notices == NULL) {
        return;
    }
    lock_take(&notices->lock);
    notices->is_stopped = true;
    bool has_thread = notices->has_thread;
    notices->has_thread = false;
    (void)pthread_cond_signal(&notices->changed);
    lock_release(&notices->lock);
    if (has_thread) {
        (void)pthread_join(notices->thread, NULL);
    }
}

void notices_destroy(struct notices *notices) {
    if (notices != NULL) {
        drop_all(notices);
        (void)pthread_cond_destroy(&notices->changed);
        lock_finish(&notices->lock);
        free(notices);
    }
}

/* -------------------------------------------------------------------- tell */

static void *main_of_notices(void *argument) {
    struct notices *notices = argument;
    lock_take(&notices->lock);
    while (!notices->is_stopped) {
        if (notices->first == NULL) {
            lock_wait(&notices->lock, &notices->changed);
            continue;
        }
        struct waiting_notice *round = notices->first;
        notices->first = NULL;
        notices->last = &notices->first;
        notices->count = 0;
        lock_release(&notices->lock);
        while (round != NULL) {
            struct waiting_notice *next = round->next;
            notices->options.tell(notices->options.user, round->plugin_id, round->notice,
                                  round->text);
            free(round);
            round = next;
        }
        lock_take(&notices->lock);
        const struct timespec until =
                clock_timespec(clock_now_ns() + NOTICES_PAUSE_MS * CLOCK_NS_PER_MS);
        while (!notices->is_stopped && lock_wait_until(&notices->lock, &notices->changed, &until)) {
            /* something else was reported, for the next round */
        }
    }
    lock_release(&notices->lock);
    return NULL;
}

/* ------------------------------------------------------------------- report */

static bool is_switch(enum plugin_notice notice) {
    return notice == NOTICE_ENABLE || notice == NOTICE_DISABLE;
}

/* One that says the same, or (of a tool) the opposite. Caller holds the lock. */
static struct waiting_notice *find(struct notices *notices, const char *plugin_id,
                                   enum plugin_notice notice, const char *text,
                                   size_t *ret_updated) {
    LOCK_ASSERT_HELD(&notices->lock);
    *ret_updated = 0;
    for (struct waiting_notice *at = notices->first; at != NULL; at = at->next) {
        if (strcmp(at->plugin_id, plugin_id) != 0) {
            continue;
        }
        *ret_updated += at->notice == NOTICE_UPDATED;
        bool is_about = at->notice == notice || (is_switch(at->notice) && is_switch(notice));
        if (is_about && (text == NULL || strcmp(at->text, text) == 0)) {
            return at;
        }
    }
    return NULL;
}

/* Caller holds the lock. */
static void put(struct notices *notices, const char *plugin_id, enum plugin_notice notice,
                const char *text) {
    size_t updated;
    struct waiting_notice *known = find(notices, plugin_id, notice, text, &updated);
    if (known != NULL) {
        known->notice = notice; /* of a tool the last word counts */
        return;
    }
    if (notice == NOTICE_UPDATED && updated >= NOTICES_UPDATED_MAX) {
        put(notices, plugin_id, NOTICE_RESOURCES, NULL);
        return;
    }
    size_t id_size = strlen(plugin_id) + 1;
    size_t text_size = text != NULL ? strlen(text) + 1 : 0;
    struct waiting_notice *made =
            notices->count < NOTICES_MAX ? malloc(sizeof *made + id_size + text_size) : NULL;
    if (made == NULL) {
        return;
    }
    *made = (struct waiting_notice){.notice = notice};
    made->plugin_id = memcpy(made->strings, plugin_id, id_size);
    made->text = text != NULL ? memcpy(made->strings + id_size, text, text_size) : NULL;
    *notices->last = made;
    notices->last = &made->next;
    notices->count++;
}

/* Whether a plugin may say so. */
static bool is_sound(enum plugin_notice notice, const char *text) {
    switch (notice) {
    case NOTICE_UPDATED: {
        size_t length = text != NULL ? strnlen(text, NOTICE_TEXT_MAX + 1) : 0;
        return length > 0 && length <= NOTICE_TEXT_MAX && content_is_uri(text, length);
    }
    case NOTICE_ENABLE:
    case NOTICE_DISABLE: return text != NULL && name_valid(text);
    case NOTICE_RESOURCES:
    case NOTICE_PROMPTS:
    case NOTICE_COUNT: return true;
    }
    return false;
}

void notices_add(struct notices *notices, const char *plugin_id, enum plugin_notice notice,
                 const char *text) {
    bool is_with_text = notice == NOTICE_UPDATED || is_switch(notice);
    if (!is_sound(notice, text)) {
        return;
    }
    if (notice == NOTICE_COUNT) {
        log_line(notices->options.log, LOG_WARNING, plugin_id,
                 "it reports too many changes at once; some are dropped");
    }
    LOCK_SCOPE(&notices->lock);
    if (notices->is_stopped) {
        return;
    }
    if (notice == NOTICE_COUNT) {
        put(notices, plugin_id, NOTICE_RESOURCES, NULL);
        put(notices, plugin_id, NOTICE_PROMPTS, NULL);
    } else {
        put(notices, plugin_id, notice, is_with_text ? text : NULL);
    }
    if (!notices->has_thread) {
        notices->has_thread = thread_start(&notices->thread, main_of_notices, notices) == 0;
    }
    (void)pthread_cond_signal(&notices->changed);
}
