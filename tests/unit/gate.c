#include "gate.h"

#include <pthread.h>
#include <time.h>

#include "toolrack/plugin.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_open;
static unsigned come;
static unsigned cancelled;

bool gate_pass(struct tr_call *call) {
    (void)pthread_mutex_lock(&lock);
    come++;
    (void)pthread_cond_broadcast(&changed);
    while (!is_open && !tr_cancelled(call)) {
        struct timespec soon;
        (void)clock_gettime(CLOCK_REALTIME, &soon);
        soon.tv_nsec += 2000000;
        soon.tv_sec += soon.tv_nsec / 1000000000;
        soon.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&changed, &lock, &soon);
    }
    bool goes_on = !tr_cancelled(call);
    cancelled += !goes_on;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
    return goes_on;
}

void gate_open(void) {
    (void)pthread_mutex_lock(&lock);
    is_open = true;
    (void)pthread_cond_broadcast(&changed);
    (void)pthread_mutex_unlock(&lock);
}

void gate_reset(void) {
    (void)pthread_mutex_lock(&lock);
    is_open = false;
    come = cancelled = 0;
    (void)pthread_mutex_unlock(&lock);
}

static unsigned read_count(const unsigned *count) {
    (void)pthread_mutex_lock(&lock);
    unsigned value = *count;
    (void)pthread_mutex_unlock(&lock);
    return value;
}

unsigned gate_come(void) {
    return read_count(&come);
}

unsigned gate_cancelled(void) {
    return read_count(&cancelled);
}

static void await(const unsigned *count, unsigned least) {
    (void)pthread_mutex_lock(&lock);
    while (*count < least) {
        (void)pthread_cond_wait(&changed, &lock);
    }
    (void)pthread_mutex_unlock(&lock);
}

void gate_await_come(unsigned count) {
    await(&come, count);
}

void gate_await_cancelled(unsigned count) {
    await(&cancelled, count);
}
