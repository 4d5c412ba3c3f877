#include "plan/schedule.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ----------------------------------------------------------------------------- the ready nodes */

static void push(struct schedule *schedule, uint32_t node) {
    uint32_t *heap = schedule->ready;
    uint32_t at = schedule->ready_count++;
    for (; at > 0 && heap[(at - 1) / 2] > node; at = (at - 1) / 2) {
        heap[at] = heap[(at - 1) / 2];
    }
    heap[at] = node;
}

static uint32_t pop(struct schedule *schedule) {
    uint32_t *heap = schedule->ready;
    uint32_t first = heap[0];
    uint32_t last = heap[--schedule->ready_count];
    uint32_t at = 0;
    for (uint32_t child = 1; child < schedule->ready_count; child = 2 * at + 1) {
        child += child + 1 < schedule->ready_count && heap[child + 1] < heap[child];
        if (heap[child] >= last) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* -------------------------------------------------------------------------------------- states */

bool schedule_init(struct schedule *schedule, const struct graph *graph) {
    const size_t count = graph->count;
    *schedule = (struct schedule){.graph = graph,
                                  .states = calloc(count + 1, sizeof *schedule->states),
                                  .left = calloc(count + 1, sizeof *schedule->left),
                                  .ready = calloc(count + 1, sizeof *schedule->ready),
                                  .ends = calloc(count + 1, sizeof *schedule->ends)};
    if (schedule->states == NULL || schedule->left == NULL || schedule->ready == NULL ||
        schedule->ends == NULL) {
        schedule_finish(schedule);
        return false;
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        schedule->left[i] = graph->nodes[i].need_count;
        if (schedule->left[i] == 0) {
            schedule->states[i] = SCHEDULE_READY;
            push(schedule, i);
        }
    }
    return true;
}

void schedule_finish(struct schedule *schedule) {
    free(schedule->states);
    free(schedule->left);
    free(schedule->ready);
    free(schedule->ends);
    *schedule = (struct schedule){0};
}

bool schedule_next(struct schedule *schedule, uint32_t *ret) {
    while (schedule->ready_count > 0) {
        *ret = pop(schedule);
        if (schedule->states[*ret] == SCHEDULE_READY) {
            schedule->states[*ret] = SCHEDULE_RUNNING;
            schedule->running++;
            return true;
        }
    }
    return false;
}

/* Whether a node needs the result of one that has none. All its needs have ended. */
static bool lacks(const struct schedule *schedule, const struct graph_node *node) {
    for (uint32_t i = 0; i < node->need_count; i++) {
        if (node->needs[i].data && schedule->states[node->needs[i].node] != SCHEDULE_SUCCEEDED) {
            return true;
        }
    }
    return false;
}

/* Note that a node has ended, and what follows of that: what waited for it alone is ready, or is
 * skipped, which ends it too. A chain of skipped nodes may be long: no recursion. */
static void end(struct schedule *schedule, uint32_t first, enum schedule_state state) {
    uint32_t count = 1;
    schedule->states[first] = state;
    schedule->ends[0] = first;
    for (uint32_t at = 0; at < count; at++) {
        const struct graph_node *ended = &schedule->graph->nodes[schedule->ends[at]];
        for (uint32_t i = 0; i < ended->needed_by_count; i++) {
            uint32_t next = ended->needed_by[i].node;
            schedule->left[next]--;
            if (schedule->left[next] > 0 || schedule->states[next] != SCHEDULE_WAITING) {
                continue;
            }
            if (lacks(schedule, &schedule->graph->nodes[next])) {
                schedule->states[next] = SCHEDULE_SKIPPED;
                schedule->ends[count++] = next;
            } else {
                schedule->states[next] = SCHEDULE_READY;
                push(schedule, next);
            }
        }
    }
    schedule->end_count = count;
    schedule->ended += count;
}

void schedule_end(struct schedule *schedule, uint32_t node, enum schedule_state state) {
    assert(schedule->states[node] == SCHEDULE_RUNNING);
    schedule->running--;
    end(schedule, node, state);
}

void schedule_hold(struct schedule *schedule, uint32_t node) {
    assert(schedule->states[node] == SCHEDULE_RUNNING);
    schedule->running--;
    schedule->ended++;
    schedule->states[node] = SCHEDULE_FAILED;
    schedule->ends[0] = node;
    schedule->end_count = 1;
}

void schedule_resume(struct schedule *schedule, uint32_t node, enum schedule_state state) {
    assert(schedule->states[node] == SCHEDULE_READY || schedule->states[node] == SCHEDULE_WAITING);
    end(schedule, node, state); /* schedule_next() passes it over */
}

void schedule_stop(struct schedule *schedule) {
    schedule->ready_count = 0;
    for (uint32_t i = 0; i < schedule->graph->count; i++) {
        if (schedule->states[i] == SCHEDULE_WAITING || schedule->states[i] == SCHEDULE_READY) {
            schedule->states[i] = SCHEDULE_CANCELLED;
            schedule->ended++;
        }
    }
}

const char *schedule_state_name(enum schedule_state state) {
    static const char *const names[] = {"waiting", "ready",   "running",  "succeeded",
                                        "failed",  "skipped", "cancelled"};
    return names[state];
}
