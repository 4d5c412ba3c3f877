/* Filling in defaults.
 *
 * The instance is walked together with all nodes that always apply to each value: a node, the
 * target of its $ref and its allOf. The walk is done twice: first to count the missing cells, then,
 * if there are any, to write a copy into one block of the right size. An immutable yyjson value is
 * an array of cells, so values to which no node applies are copied as cells. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "schema/graph.h"
#include "schema/run.h"
#include "schema/value.h"

/* Most nodes that may apply to one value. */
#define FILL_NODES_MAX 24u

/* Deepest nesting of values that is filled; a default may contain more defaults. */
#define FILL_DEPTH_MAX 64u

struct nodes {
    uint32_t count;
    const struct node *list[FILL_NODES_MAX];
};

struct filler {
    struct budget budget;
    const struct schema *schema;
    yyjson_val *out; /* NULL while counting */
    size_t cells;    /* written, or to be written */
    size_t added;    /* properties that were missing */
    unsigned depth;
    bool too_many; /* too many nodes for one value, or too deep nesting */
};

static void fill_value(struct filler *filler, const struct nodes *nodes, yyjson_val *value);

static void add_node(struct filler *filler, struct nodes *nodes, const struct node *node) {
    for (uint32_t i = 0; i < nodes->count; i++) {
        if (nodes->list[i] == node) {
            return;
        }
    }
    if (node == NULL || nodes->count == FILL_NODES_MAX) {
        filler->too_many = filler->too_many || node != NULL;
        return;
    }
    nodes->list[nodes->count++] = node;
}

/* Add the nodes that each node applies to the same value, including those of added nodes. */
static void close_nodes(struct filler *filler, struct nodes *nodes) {
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct applicators *apply = nodes->list[i]->apply;
        if (apply == NULL) {
            continue;
        }
        add_node(filler, nodes, apply->reference);
        for (uint32_t k = 0; k < apply->all.count; k++) {
            add_node(filler, nodes, apply->all.nodes[k]);
        }
    }
}

/* Copy a value and all values below it unchanged. */
static void put_cells(struct filler *filler, yyjson_val *value, size_t count) {
    if (filler->out != NULL) {
        memcpy(filler->out + filler->cells, value, count * sizeof *value);
    }
    filler->cells += count;
}

/* Whether an earlier node has filled in this property already. */
static bool filled_before(const struct nodes *nodes, uint32_t before,
                          const struct property *property) {
    for (uint32_t i = 0; i < before; i++) {
        const struct object_rules *rules = nodes->list[i]->object;
        const struct property *other =
                rules == NULL ? NULL : run_find_property(rules, property->name, property->length);
        if (other != NULL && graph_default(other->node) != NULL) {
            return true;
        }
    }
    return false;
}

static size_t add_missing(struct filler *filler, const struct nodes *nodes, uint32_t which,
                          yyjson_val *object) {
    const struct object_rules *rules = nodes->list[which]->object;
    size_t added = 0;
    for (uint32_t i = 0; rules != NULL && i < rules->listed; i++) {
        const struct property *property = &rules->properties[i];
        yyjson_val *value = graph_default(property->node);
        if (value == NULL || !budget_spend(&filler->budget, 1 + yyjson_obj_size(object) / 4) ||
            yyjson_obj_getn(object, property->name, property->length) != NULL ||
            filled_before(nodes, which, property)) {
            continue;
        }
        struct nodes inner = {.count = 1, .list = {property->node}};
        if (filler->out != NULL) {
            filler->out[filler->cells] = (yyjson_val){
                    .tag = (uint64_t)property->length << YYJSON_TAG_BIT | YYJSON_TYPE_STR,
                    .uni.str = property->name};
        }
        filler->cells++;
        fill_value(filler, &inner, value);
        added++;
    }
    return added;
}

static void fill_value(struct filler *filler, const struct nodes *nodes, yyjson_val *value) {
    bool ended = !budget_spend(&filler->budget, 1) || filler->too_many;
    if (ended || nodes->count == 0 || !unsafe_yyjson_is_ctn(value)) {
        put_cells(filler, value, value_cells(value));
        return;
    }
    if (filler->depth == FILL_DEPTH_MAX) {
        filler->too_many = true;
        return;
    }
    struct nodes closed = *nodes;
    close_nodes(filler, &closed);
    filler->depth++;
    bool is_object = unsafe_yyjson_is_obj(value);
    size_t head = filler->cells; /* of the container, completed after its children */
    size_t count = unsafe_yyjson_get_len(value);
    yyjson_val *at = unsafe_yyjson_get_first(value);
    put_cells(filler, value, 1);
    for (size_t i = 0; i < count; i++) {
        struct nodes inner;
        inner.count = 0;
        for (uint32_t k = 0; k < closed.count; k++) {
            const struct object_rules *object = closed.list[k]->object;
            const struct array_rules *array = closed.list[k]->array;
            if (is_object && object != NULL) {
                const struct property *property = run_find_property(
                        object, unsafe_yyjson_get_str(at), unsafe_yyjson_get_len(at));
                add_node(filler, &inner, property != NULL ? property->node : NULL);
            } else if (!is_object && array != NULL) {
                add_node(filler, &inner,
                         i < array->prefix.count ? array->prefix.nodes[i] : array->rest);
            }
        }
        if (is_object) {
            put_cells(filler, at, 1);
            at++;
        }
        fill_value(filler, &inner, at);
        at = unsafe_yyjson_get_next(at);
    }
    for (uint32_t i = 0; is_object && i < closed.count; i++) {
        size_t added = add_missing(filler, &closed, i, value);
        filler->added += added;
        count += added;
    }
    if (filler->out != NULL) {
        yyjson_val *container = &filler->out[head];
        container->uni.ofs = (filler->cells - head) * sizeof *container;
        container->tag =
                (container->tag & ((1u << YYJSON_TAG_BIT) - 1)) | (uint64_t)count << YYJSON_TAG_BIT;
    }
    filler->depth--;
}

static void walk(struct filler *filler, const struct schema *schema, yyjson_val *instance,
                 yyjson_val *out) {
    struct nodes nodes = {.count = 1, .list = {schema->root}};
    *filler = (struct filler){.budget.steps = schema->steps_max, .schema = schema, .out = out};
    fill_value(filler, &nodes, instance);
}

int schema_fill_defaults(const struct schema *schema, yyjson_val *instance, const yyjson_alc *alc,
                         yyjson_val **ret, struct toolrack_error *err) {
    if (!schema->has_defaults) {
        *ret = instance;
        return 0;
    }
    struct filler filler;
    walk(&filler, schema, instance, NULL);
    if (filler.too_many) {
        return error_set(
                err, TOOLRACK_E_LIMIT_EXCEEDED,
                "filling in defaults went deeper than %u levels, or more than %u schemas apply "
                "to one value",
                FILL_DEPTH_MAX, FILL_NODES_MAX);
    }
    if (filler.budget.steps < 0) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "filling in defaults took more than %lld steps, the most that it may",
                         (long long)schema->steps_max);
    }
    if (filler.added == 0) {
        *ret = instance;
        return 0;
    }
    size_t size = filler.cells * sizeof(yyjson_val);
    yyjson_val *out = alc != NULL ? alc->malloc(alc->ctx, size) : malloc(size);
    if (out == NULL) {
        return error_oom(err);
    }
    walk(&filler, schema, instance, out);
    *ret = out;
    return 0;
}
