/* graph.h - the nodes of a plan and what they need of each other.
 *
 * Nodes are numbers from 0. A need is an edge from a node to one that must have ended before; it is
 * for data where the result is referenced, else for order alone. The graph is immutable once it is
 * complete. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/** An edge, seen from either end. */
struct graph_edge {
    uint32_t node; /* the other one */
    bool data;     /* its result is needed, not only its end */
};

struct graph_node {
    struct graph_edge *needs; /* each node once, in ascending order */
    uint32_t need_count;
    struct graph_edge *needed_by; /* likewise */
    uint32_t needed_by_count;
};

struct graph {
    struct graph_node *nodes;
    uint32_t count;
};

/** An edge while a graph is made. */
struct graph_need {
    uint32_t node;
    uint32_t needs;
    bool data;
};

/** Make the graph of edges, which are sorted by this; twice the same is one. Memory is the arena's.
 * @return false: no memory. [any-thread] */
bool graph_make(struct arena *arena, uint32_t count, struct graph_need *needs, size_t need_count,
                struct graph *ret);

/** Find a cycle.
 * @param ret  receives its nodes, each of which needs the next, and the last one the first; in the
 *             arena
 * @return their number; 0: there is none, or no memory (then `ret_failed` is true). [any-thread] */
size_t graph_find_cycle(const struct graph *graph, struct arena *arena, uint32_t **ret,
                        bool *ret_failed);

/** The longest chain of nodes that need each other, and the most nodes at one distance from the
 * beginning; of a graph without a cycle. Both 0 when out of memory. [any-thread] */
void graph_measure(const struct graph *graph, size_t *ret_depth, size_t *ret_width);

/** The nodes of a graph without a cycle, each after those that it needs; to be released with
 * free(). NULL: no memory. [any-thread] */
uint32_t *graph_order(const struct graph *graph);
