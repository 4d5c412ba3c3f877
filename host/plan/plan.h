/* plan.h - several calls as one graph.
 *
 * A plan is JSON: nodes, each a call of a tool with arguments that may refer to the results of
 * other nodes. toolrack-plan.schema.json describes it. It is read once and is immutable then:
 *
 *   read.c       from the text to nodes, and what is wrong with it by itself
 *   reference.c  values that a run gives
 *   listed.c     values of late items of long arrays, quickly
 *   mistaken.c   what is written for one, and is none
 *   graph.c      what needs what; cycles
 *   check.c      what is wrong with it beside the tools that there are
 *   schedule.c   which node is next, as a state machine without calls
 *   run.c        the calls
 *   memory.c     what all runs have in memory
 *
 * A plan runs no code while it is read and checked. */
#pragma once

#include <stdint.h>
#include <yyjson.h>

#include "config/problem.h"
#include "plan/graph.h"
#include "schema/schema.h"

/* Limits. A plan may have more than a person writes: programs and models write them too. */
#define PLAN_TEXT_MAX           (16u * 1024 * 1024)
#define PLAN_NODES_MAX          10000u
#define PLAN_PARALLEL           8u    /* nodes at the same time, where the plan does not say */
#define PLAN_ITEMS_MAX          1000u /* of for_each, where it does not say */
#define PLAN_ITEMS_LIMIT        100000u
#define PLAN_ITEMS_PARALLEL     4u
#define PLAN_PARALLEL_LIMIT     256u
#define PLAN_CALLS_MAX          1024u /* at the same time, of nodes with several items */
#define PLAN_RESULTS_MAX        (256u * 1024 * 1024) /* bytes that a run has at a time (memory.h) */
#define PLAN_RESULTS_ALL_MAX    (512u * 1024 * 1024) /* bytes that all runs of a host have */
#define PLAN_ATTEMPTS           3u                   /* of "on_error": "retry" without "retry" */
#define PLAN_RETRY_DELAY_MS     100u
#define PLAN_RETRY_DELAY_MAX_MS 10000u

enum plan_on_error {
    PLAN_STOP,     /* the run ends */
    PLAN_SKIP,     /* what needs the result is skipped */
    PLAN_FALLBACK, /* another value, or another tool's result, takes the place */
};

struct plan_retry {
    uint32_t attempts; /* calls in all */
    uint32_t delay_ms; /* before the second; doubled before each further one */
    uint32_t max_delay_ms;
    bool force; /* also a tool that is not idempotent */
};

/** A node. Values are of the plan's document; templates (reference.h) where noted. */
struct plan_node {
    const char *id;
    const char *tool;
    yyjson_val *arguments; /* template; NULL: {} */
    yyjson_val *when;      /* template of a value; NULL: always */
    struct schema *is;     /* what the value must match; NULL: it must be true */
    yyjson_val *wanted;    /* that as its JSON Schema */
    yyjson_val *items;     /* template of an array; NULL: once */
    uint32_t items_max;
    uint32_t items_parallel;
    enum plan_on_error on_error;
    yyjson_val *fallback_value;     /* template; NULL: a tool */
    const char *fallback_tool;      /* NULL: a value */
    yyjson_val *fallback_arguments; /* template; NULL: the node's */
    struct plan_retry retry;
    uint32_t deadline_ms; /* of one call; 0: the tool's */
};

/** An input. */
struct plan_input {
    const char *name;
    struct schema *schema;
    yyjson_val *described; /* its JSON Schema */
    yyjson_val *otherwise; /* its default; NULL: it is required */
};

struct plan {
    struct arena arena;
    char *text;
    size_t length;
    yyjson_doc *doc;
    const char *name;
    struct plan_input *inputs;
    size_t input_count;
    struct plan_node *nodes;
    struct graph graph; /* of the same indices */
    yyjson_val *result; /* template; NULL: of the nodes that no other needs */
    uint32_t parallel;
    uint32_t deadline_ms; /* 0: none */
    uint32_t *by_id;      /* the nodes in the order of their ids */
};

/** Read a plan.
 * @param text      copied
 * @param problems  receives all that is wrong with it by itself; its arena lives longer than the
 *                  plan
 * @param ret       receives the plan, to be released by plan_destroy(); NULL if no node of it can
 * be read. If a problem is an error it may be checked for more of them, and nothing else; if none
 * is, its graph has no cycle
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int plan_read(const char *text, size_t length, struct problems *problems, struct plan **ret,
              struct toolrack_error *err);
/** NULL is ignored. */
void plan_destroy(struct plan *plan);

/** The id of a node; NULL: it has none, in a plan with problems. */
static inline const char *plan_node_id(const struct plan *plan, uint32_t node) {
    return plan->nodes[node].id[0] != '\0' ? plan->nodes[node].id : NULL;
}

/** The index of a node; plan->graph.count: there is none. */
uint32_t plan_find_node(const struct plan *plan, const char *id, size_t length);
/** An input; NULL: there is none. */
const struct plan_input *plan_find_input(const struct plan *plan, const char *name, size_t length);
