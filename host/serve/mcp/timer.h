/* timer.h - things to do later, on one thread.
 *
 * A line of timers has one delay for all of them: so the first of the line is the first that is
 * due, and adding and removing take constant time. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"

enum timer_line {
    TIMER_NOW,       /* as soon as the thread is free */
    TIMER_EXPECT,    /* ask whether a call is expected to take long */
    TIMER_TASK,      /* a call takes long */
    TIMER_STREAM,    /* begin the event stream of a request that takes long */
    TIMER_CHANGES,   /* tell clients of changes, after a burst of them */
    TIMER_GUARD,     /* look whether a token holds */
    TIMER_HEARTBEAT, /* a sign of life of a silent call */
    TIMER_LINES
};

/** A member of the object that it is about. All zero: not set. */
struct timer {
    struct timer *next;
    struct timer *prev;
    uint64_t due_ns;
    bool set;
    /* On the thread of the timers, without their lock; may set the timer again. */
    void (*run)(struct timer *timer);
};

struct timers {
    struct lock lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started;
    bool stopping;
    uint64_t delay_ms[TIMER_LINES];
    struct {
        struct timer *first;
        struct timer *last;
    } lines[TIMER_LINES];
};

/** `delay_ms` may be changed until a timer is set. */
void timers_init(struct timers *timers);
/** No timer may be set. */
void timers_finish(struct timers *timers);

/** Run a timer's function once, after the delay of its line; nothing if it is set already.
 * @return false: it is not set now,  as the thread could not be started, or is set already */
bool timer_set(struct timers *timers, enum timer_line line, struct timer *timer);

/** @return true: it was set, and will not run. false: it was not set, or its function runs now, or
 *          has run */
bool timer_clear(struct timers *timers, enum timer_line line, struct timer *timer);
