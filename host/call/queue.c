#include "call/queue.h"

#include <assert.h>

#include "base/clock.h"
#include "base/object.h"

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

/* How many jobs of a plugin could begin now. */
static uint32_t runnable_of(const struct plugin *plugin) {
    uint32_t room = plugin->calls_max - least(plugin->pool_running, plugin->calls_max);
    if (plugin->pool_running + plugin->pool_queued < plugin->calls_max) {
        return plugin->pool_queued; /* no party can have more than its share */
    }
    const struct plugin_party *parties =
            atomic_load_explicit(&plugin->pool_of, memory_order_acquire);
    uint32_t sum = 0;
    for (uint64_t waits = plugin->pool_waits; waits != 0 && sum < room; waits &= waits - 1) {
        unsigned number = (unsigned)__builtin_ctzll(waits);
        const struct plugin_party *party = &parties[number];
        uint32_t share = job_share(plugin, number);
        sum += least(party->queued, share - least(party->running, share));
    }
    return least(sum, room);
}

static void count_waiting(struct queue *queue, const struct job *job, int more) {
    queue->count += (uint32_t)more;
    queue->of[job->party] += (uint32_t)more;
}

/* Note a change in how many jobs of the plugin of one are queued and run. */
static void count_jobs(struct queue *queue, const struct job *job, int queued, int running) {
    struct plugin *plugin = job->tool->reg->plugin;
    struct plugin_party *party = job_party(job);
    uint64_t bit = UINT64_C(1) << job->party;
    queue->runnable -= runnable_of(plugin);
    party->queued += (uint32_t)queued;
    party->running += (uint32_t)running;
    plugin->pool_waits = party->queued > 0 ? plugin->pool_waits | bit : plugin->pool_waits & ~bit;
    plugin->pool_queued += (uint32_t)queued;
    plugin->pool_running += (uint32_t)running;
    queue->runnable += runnable_of(plugin);
    if (queued != 0) { /* else that line of the cache stays unwritten */
        count_waiting(queue, job, queued);
    }
}

static void add_own(struct queue_own *own, struct job *job) {
    job->own = own;
    job->own_next = NULL;
    job->own_prev = own->last;
    *(own->last != NULL ? &own->last->own_next : &own->first) = job;
    own->last = job;
}

static void remove_own(struct job *job) {
    struct queue_own *own = job->own;
    if (own != NULL) {
        *(job->own_prev != NULL ? &job->own_prev->own_next : &own->first) = job->own_next;
        *(job->own_next != NULL ? &job->own_next->own_prev : &own->last) = job->own_prev;
        job->own = NULL;
    }
}

void queue_disown(struct queue_own *own) {
    while (own->first != NULL) {
        remove_own(own->first);
    }
}

void queue_put(struct queue *queue, struct job *job, struct queue_own *own) {
    OBJECT_CHECK(job, JOB_MAGIC);
    job->queued_ns = clock_now_ns();
    job->thread = NULL;
    bool asks = job_asks_next(job);
    struct queue_line *line = asks ? &queue->asking : &queue->ready;
    job->queue_prev = line->last;
    *(line->last != NULL ? &line->last->queue_next : &line->first) = job;
    line->last = job;
    if (asks) {
        count_waiting(queue, job, +1);
        queue->runnable++;
        return;
    }
    count_jobs(queue, job, +1, 0);
    if (own != NULL) {
        add_own(own, job);
    }
}

/* Whether the next place of their plugin is for a job rather than for another one. */
static bool is_before(const struct job *job, const struct job *other) {
    const struct plugin_party *party = job_party(job);
    const struct plugin_party *others = job_party(other);
    return party->running < others->running ||
           (party->running == others->running && party->turn < others->turn);
}

/* Of a ready job and those of its plugin behind it the next by party; only the first one of each
 * party counts, so the look ends when each that waits was seen. */
static struct job *find_fair(struct job *first) {
    const struct plugin *plugin = first->tool->reg->plugin;
    uint64_t seen = UINT64_C(1) << first->party;
    struct job *found = first;
    struct job *last = first;
    while (seen != plugin->pool_waits && last->queue_next != NULL) {
        struct job *job = last->queue_next;
        if (job->tool->reg->plugin == plugin) {
            seen |= UINT64_C(1) << job->party;
            if (is_before(job, found)) {
                found = job;
            }
        }
        last = job;
    }
    return found;
}

/* The next job; NULL: there is none. */
static struct job *find_next(const struct queue *queue) {
    bool asks = queue->asking.first != NULL;
    struct job *job = queue->runnable == 0 ? NULL : asks ? queue->asking.first : queue->ready.first;
    while (job != NULL && !asks && !job_has_room(job)) {
        job = job->queue_next;
    }
    return job != NULL && !asks ? find_fair(job) : job;
}

const struct job *queue_first(const struct queue *queue) {
    return find_next(queue);
}

/* Whether a thread may take the first job that it brought in place of an older one: they are of the
 * same plugin and party, and the other one came just before. Otherwise a thread that always brings
 * more would leave the jobs of one that is busy for long. */
static bool may_take_own(const struct queue_own *own, const struct job *job) {
    return own != NULL && own->first != NULL && !job_asks_next(job) &&
           own->first->party == job->party &&
           own->first->tool->reg->plugin == job->tool->reg->plugin &&
           own->first->queued_ns - job->queued_ns < QUEUE_OVERTAKEN_NS;
}

struct job *queue_take(struct queue *queue, const struct queue_own *own) {
    struct job *job = find_next(queue);
    if (job == NULL) {
        return NULL;
    }
    if (may_take_own(own, job)) {
        job = own->first;
    }
    bool asks = queue->asking.first != NULL;
    struct queue_line *line = asks ? &queue->asking : &queue->ready;
    *(job->queue_prev != NULL ? &job->queue_prev->queue_next : &line->first) = job->queue_next;
    *(job->queue_next != NULL ? &job->queue_next->queue_prev : &line->last) = job->queue_prev;
    job->queue_next = job->queue_prev = NULL;
    remove_own(job);
    if (asks) {
        count_waiting(queue, job, -1);
        queue->runnable--;
    } else {
        job_party(job)->turn = ++job->tool->reg->plugin->pool_turns;
        count_jobs(queue, job, -1, +1);
    }
    return job;
}

void queue_pass(struct queue *queue, struct job *job) {
    assert(queue->runnable == 0 && job_has_room(job) && !job_asks_next(job));
    job->queued_ns = clock_now_ns();
    job_party(job)->turn = ++job->tool->reg->plugin->pool_turns;
    count_jobs(queue, job, 0, +1);
}

void queue_leave(struct queue *queue, const struct job *job) {
    count_jobs(queue, job, 0, -1);
}

#ifndef NDEBUG
/* How many jobs of a plugin are in a line, from one of them on. */
static uint32_t count_of(const struct job *job, const struct plugin *plugin) {
    uint32_t count = 0;
    for (; job != NULL; job = job->queue_next) {
        count += job->tool->reg->plugin == plugin;
    }
    return count;
}
#endif

void queue_check(const struct queue *queue) {
#ifndef NDEBUG
    enum { LOOKED_AT_MAX = 64 }; /* each plugin's jobs are counted once for each of its jobs */
    uint32_t count = 0;
    uint32_t runnable = 0;
    const struct job *last = NULL;
    for (const struct job *job = queue->asking.first; job != NULL; job = job->queue_next) {
        OBJECT_CHECK(job, JOB_MAGIC);
        assert(job_asks_next(job));
        count++;
        runnable++;
        last = job;
    }
    assert(queue->asking.first == NULL || queue->asking.last == last);
    if (queue->count > LOOKED_AT_MAX) {
        return;
    }
    last = NULL;
    for (const struct job *job = queue->ready.first; job != NULL; job = job->queue_next) {
        OBJECT_CHECK(job, JOB_MAGIC);
        const struct plugin *plugin = job->tool->reg->plugin;
        uint32_t queued = count_of(queue->ready.first, plugin);
        assert(!job_asks_next(job));
        assert(plugin->pool_queued == queued);
        assert(job->queue_prev == last);
        assert(job->own == NULL || job->own_prev != NULL || job->own->first == job);
        count++;
        if (count_of(job, plugin) == queued) { /* the first job of its plugin */
            runnable += runnable_of(plugin);
        }
        last = job;
    }
    assert(queue->ready.first == NULL || queue->ready.last == last);
    assert(queue->count == count);
    assert(queue->runnable == runnable);
#else
    (void)queue;
#endif
}
