#include "schema/graph.h"

/* Marks of a node: not visited, on the current path, done. */
enum mark { MARK_NEW, MARK_OPEN, MARK_DONE, MARK_FILL };

/* Longest chain of `$ref` when searching for a default. */
#define DEFAULT_HOPS_MAX 16

struct frame {
    struct node *node;
    uint32_t next; /* edge to follow next */
};

/* The graph is const for runs; marks are written while it is being built. */
static struct node *writable(const struct library *library, const struct node *node) {
    return node == NULL ? NULL : library_place(library, node->source)->node;
}

/* Edge `i` to the nodes that always apply to the same value. */
static const struct node *sure_edge(const struct node *node, uint32_t i, bool *ret_end) {
    const struct applicators *apply = node->apply;
    *ret_end = apply == NULL || i >= apply->all.count + 2;
    if (*ret_end) {
        return NULL;
    }
    if (i < apply->all.count) {
        return apply->all.nodes[i];
    }
    if (i == apply->all.count) {
        return apply->reference;
    }
    return apply->dynamic_name == DYNAMIC_NONE ? apply->dynamic : NULL;
}

static int refuse_cycle_from(struct library *library, struct frame *stack, struct node *start) {
    size_t depth = 0;
    stack[depth++] = (struct frame){.node = start};
    start->mark = MARK_OPEN;
    while (depth > 0) {
        struct frame *top = &stack[depth - 1];
        bool end = false;
        struct node *next = writable(library, sure_edge(top->node, top->next++, &end));
        if (end) {
            top->node->mark = MARK_DONE;
            depth--;
        } else if (next != NULL && next->mark == MARK_OPEN) {
            return library_refuse(library, top->node->source,
                                  "refers to itself endlessly; a cycle of $ref must pass through "
                                  "a property or an item");
        } else if (next != NULL && next->mark == MARK_NEW) {
            next->mark = MARK_OPEN;
            stack[depth++] = (struct frame){.node = next};
        }
    }
    return 0;
}

static int refuse_cycles(struct library *library, struct frame *stack) {
    for (size_t i = 0; i < library->place_room; i++) {
        struct place *place = library->places[i];
        bool begin = place != NULL && place->node != NULL && place->node->mark == MARK_NEW;
        int code = begin ? refuse_cycle_from(library, stack, place->node) : 0;
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

yyjson_val *graph_default(const struct node *node) {
    for (int hops = 0; node != NULL && hops < DEFAULT_HOPS_MAX; hops++) {
        if (node->default_value != NULL) {
            return node->default_value;
        }
        node = node->apply != NULL ? node->apply->reference : NULL;
    }
    return NULL;
}

static bool has_default_property(const struct node *node) {
    const struct object_rules *object = node->object;
    for (uint32_t i = 0; object != NULL && i < object->listed; i++) {
        if (graph_default(object->properties[i].node) != NULL) {
            return true;
        }
    }
    return false;
}

/* Edge `i` of those that filling follows; NULL also if an edge is missing. */
static const struct node *fill_edge(const struct node *node, uint32_t i, bool *ret_end) {
    uint32_t listed = node->object != NULL ? node->object->listed : 0;
    *ret_end = false;
    if (i < listed) {
        return node->object->properties[i].node;
    }
    i -= listed;
    uint32_t prefix = node->array != NULL ? node->array->prefix.count : 0;
    if (i < prefix) {
        return node->array->prefix.nodes[i];
    }
    i -= prefix;
    if (i == 0) {
        return node->array != NULL ? node->array->rest : NULL;
    }
    return sure_edge(node, i - 1, ret_end);
}

static bool finds_default(struct library *library, struct frame *stack, struct node *root) {
    size_t depth = 0;
    stack[depth++] = (struct frame){.node = root};
    root->mark = MARK_FILL;
    while (depth > 0) {
        struct frame *top = &stack[depth - 1];
        if (top->next == 0 && has_default_property(top->node)) {
            return true;
        }
        bool end = false;
        struct node *next = writable(library, fill_edge(top->node, top->next++, &end));
        if (end) {
            depth--;
        } else if (next != NULL && next->mark != MARK_FILL) {
            next->mark = MARK_FILL;
            stack[depth++] = (struct frame){.node = next};
        }
    }
    return false;
}

int graph_finish(struct library *library, struct schema *schema, const struct place *root) {
    /* A node is on the stack at most once. */
    struct frame *stack =
            arena_alloc(&library->scratch, (library->place_count + 1) * sizeof *stack);
    if (stack == NULL) {
        return error_oom(library->err);
    }
    int code = refuse_cycles(library, stack);
    if (code == 0) {
        schema->has_defaults = finds_default(library, stack, root->node);
    }
    return code;
}
