/* The reader of plans, and the check of what it has read beside no tools at all: any text has a
 * plan or says what is wrong with it, and a plan that was read has a graph without a cycle, whose
 * nodes all come to an end. */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "plan/check.h"
#include "plan/plan.h"
#include "plan/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each node ends, in some order that the schedule finds. */
static void end_all(const struct plan *plan) {
    struct schedule schedule;
    uint32_t node;
    if (!schedule_init(&schedule, &plan->graph)) {
        abort();
    }
    while (schedule_next(&schedule, &node)) {
        schedule_end(&schedule, node, node % 3 == 2 ? SCHEDULE_FAILED : SCHEDULE_SUCCEEDED);
    }
    if (!schedule_is_done(&schedule)) {
        abort();
    }
    schedule_finish(&schedule);
}

static void check(const struct plan *plan, struct problems *problems) {
    static struct registry *registry;
    static const struct log log;
    struct plan_tools tools;
    struct toolrack_error err;
    if (registry == NULL) {
        registry = registry_create(&(struct registry_options){.log = &log});
    }
    const size_t errors = problems->errors;
    if (registry == NULL ||
        plan_check(plan, &(struct plan_finder){.registry = registry}, problems, &tools, &err) < 0) {
        abort();
    }
    if (errors == 0 && problems->errors < plan->graph.count) {
        abort(); /* each names a tool that is not there */
    }
    plan_tools_finish(&tools);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena arena;
    struct plan *plan = NULL;
    struct toolrack_error err;
    arena_init(&arena, NULL, 0);
    struct problems problems = {.arena = &arena};
    if (plan_read((const char *)data, size, &problems, &plan, &err) < 0) {
        abort();
    }
    if (problems.errors == 0) {
        if (plan == NULL) {
            abort();
        }
        end_all(plan);
    }
    if (plan != NULL) {
        check(plan, &problems);
    }
    problems_end(&problems);
    for (size_t i = 0; i < problems.count; i++) {
        size_t line;
        size_t column;
        problem_line(&problems.items[i], (const char *)data, size, &line, &column);
        if (problems.items[i].fix == NULL || line == 0) {
            abort();
        }
    }
    plan_destroy(plan);
    arena_finish(&arena);
    return 0;
}
