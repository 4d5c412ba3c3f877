/* thread.h - threads of the library in the app's process. */
#pragma once

#include <pthread.h>

/** Start a thread that takes no signals: signals belong to the app and go to its own threads.
 * @return 0, or an errno. [any-thread] */
int thread_start(pthread_t *thread, void *(*function)(void *), void *argument);

/** The number of this thread, from 1: threads are numbered as they ask for it. [any-thread] */
unsigned thread_number(void);

/* As many threads at a time have a slot; each while it lives, from when it first asks. */
#define THREAD_SLOTS 64u

/** The slot of this thread, which no other thread has; THREAD_SLOTS: none. So what is there for
 * each slot is written without a locked operation. [any-thread] */
unsigned thread_slot(void);

/** How many CPUs this process may use; at least 1. [any-thread] */
unsigned thread_cpu_count(void);
