#include "plan/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static int compare_needs(const void *a, const void *b) {
    const struct graph_need *left = a;
    const struct graph_need *right = b;
    if (left->node != right->node) {
        return left->node < right->node ? -1 : 1;
    }
    if (left->needs != right->needs) {
        return left->needs < right->needs ? -1 : 1;
    }
    return (int)right->data - (int)left->data; /* the one for data comes first, and stays */
}

/* Remove what is there twice; returns how many are left. */
static size_t drop_twice(struct graph_need *needs, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || needs[kept - 1].node != needs[i].node ||
            needs[kept - 1].needs != needs[i].needs) {
            needs[kept++] = needs[i];
        }
    }
    return kept;
}

bool graph_make(struct arena *arena, uint32_t count, struct graph_need *needs, size_t need_count,
                struct graph *ret) {
    if (need_count > 0) {
        qsort(needs, need_count, sizeof *needs, compare_needs);
        need_count = drop_twice(needs, need_count);
    }
    struct graph_node *nodes = arena_zalloc(arena, (count + 1) * sizeof *nodes);
    struct graph_edge *edges = arena_zalloc(arena, (2 * need_count + 1) * sizeof *edges);
    *ret = (struct graph){.nodes = nodes, .count = count};
    if (nodes == NULL || edges == NULL) {
        return false;
    }
    for (size_t i = 0; i < need_count; i++) {
        nodes[needs[i].node].need_count++;
        nodes[needs[i].needs].needed_by_count++;
    }
    for (uint32_t i = 0; i < count; i++) {
        nodes[i].needs = edges;
        edges += nodes[i].need_count;
        nodes[i].needed_by = edges;
        edges += nodes[i].needed_by_count;
        nodes[i].need_count = 0;
        nodes[i].needed_by_count = 0;
    }
    for (size_t i = 0; i < need_count; i++) {
        struct graph_node *node = &nodes[needs[i].node];
        struct graph_node *before = &nodes[needs[i].needs];
        node->needs[node->need_count++] = (struct graph_edge){needs[i].needs, needs[i].data};
        before->needed_by[before->needed_by_count++] =
                (struct graph_edge){needs[i].node, needs[i].data};
    }
    return true;
}

/* How many needs of each node have not ended; NULL: no memory. */
static uint32_t *count_needs(const struct graph *graph) {
    uint32_t *left = calloc(graph->count + 1u, sizeof *left);
    for (uint32_t i = 0; left != NULL && i < graph->count; i++) {
        left[i] = graph->nodes[i].need_count;
    }
    return left;
}

/* End nodes whose needs have ended, as long as there are some: those of a cycle, and what needs
 * them, are left with a need. Their order is left in `order`; returns their number. */
static uint32_t end_all(const struct graph *graph, uint32_t *left, uint32_t *order) {
    uint32_t ended = 0;
    for (uint32_t i = 0; i < graph->count; i++) {
        if (left[i] == 0) {
            order[ended++] = i;
        }
    }
    for (uint32_t i = 0; i < ended; i++) {
        const struct graph_node *node = &graph->nodes[order[i]];
        for (uint32_t k = 0; k < node->needed_by_count; k++) {
            if (--left[node->needed_by[k].node] == 0) {
                order[ended++] = node->needed_by[k].node;
            }
        }
    }
    return ended;
}

/* The first need of a node that has not ended: one is there. */
static uint32_t open_need(const struct graph_node *node, const uint32_t *left) {
    uint32_t k = 0;
    while (k + 1 < node->need_count && left[node->needs[k].node] == 0) {
        k++;
    }
    return node->needs[k].node;
}

size_t graph_find_cycle(const struct graph *graph, struct arena *arena, uint32_t **ret,
                        bool *ret_failed) {
    CLEANUP(freep) uint32_t *left = count_needs(graph);
    CLEANUP(freep) uint32_t *seen = calloc(graph->count + 1u, sizeof *seen); /* the step, from 1 */
    uint32_t *path = arena_zalloc(arena, (graph->count + 1u) * sizeof *path);
    *ret_failed = left == NULL || seen == NULL || path == NULL;
    if (*ret_failed || end_all(graph, left, path) == graph->count) {
        return 0;
    }
    uint32_t at = 0;
    while (left[at] == 0) {
        at++;
    }
    /* Each node that is left needs one that is left: this comes round. */
    uint32_t step = 0;
    for (; seen[at] == 0; at = open_need(&graph->nodes[at], left)) {
        path[step] = at;
        seen[at] = ++step;
    }
    *ret = path + (seen[at] - 1);
    return step - (seen[at] - 1);
}

void graph_measure(const struct graph *graph, size_t *ret_depth, size_t *ret_width) {
    CLEANUP(freep) uint32_t *left = count_needs(graph);
    CLEANUP(freep) uint32_t *order = calloc(graph->count + 1u, sizeof *order);
    CLEANUP(freep) uint32_t *level = calloc(graph->count + 1u, sizeof *level);
    CLEANUP(freep) size_t *widths = calloc(graph->count + 1u, sizeof *widths);
    *ret_depth = 0;
    *ret_width = 0;
    if (left == NULL || order == NULL || level == NULL || widths == NULL) {
        return;
    }
    uint32_t ended = end_all(graph, left, order);
    for (uint32_t i = 0; i < ended; i++) {
        uint32_t node = order[i];
        const struct graph_node *known = &graph->nodes[node];
        size_t width = ++widths[level[node]];
        *ret_width = width > *ret_width ? width : *ret_width;
        *ret_depth = level[node] + 1u > *ret_depth ? level[node] + 1u : *ret_depth;
        for (uint32_t k = 0; k < known->needed_by_count; k++) {
            uint32_t next = known->needed_by[k].node;
            level[next] = level[node] + 1u > level[next] ? level[node] + 1u : level[next];
        }
    }
}

uint32_t *graph_order(const struct graph *graph) {
    CLEANUP(freep) uint32_t *left = count_needs(graph);
    uint32_t *order = left != NULL ? calloc(graph->count + 1u, sizeof *order) : NULL;
    if (order != NULL) {
        (void)end_all(graph, left, order);
    }
    return order;
}
