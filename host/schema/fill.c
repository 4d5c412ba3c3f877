/* Filling in defaults.
 *
 * The instance is walked together with all nodes that surely apply to each value: a node, what it
 * refers to and its allOf. The walk is made twice, first to count the cells that are missing, then,
 * if there are any, to write a copy into one block of the right size: an immutable yyjson value is
 * a row of cells, so whatever no node looks into is copied as it stands. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "schema/graph.h"
#include "schema/run.h"
#include "schema/value.h"

/* Nodes that may apply to one value. */
#define FILL_NODES_MAX 24u

/* Values inside each other that filling looks into; a default may hold more defaults. */
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
    bool too_many; /* nodes at one value, or values inside each other */
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

/* Add what each node leads to at the same value; those are looked at in turn. */
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

static void nodes_of_member(struct filler *filler, const struct nodes *nodes, yyjson_val *key,
                            struct nodes *ret) {
    ret->count = 0;
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct object_rules *rules = nodes->list[i]->object;
        const struct property *property =
                rules == NULL ? NULL
                              : run_find_property(rules, unsafe_yyjson_get_str(key),
                                                  unsafe_yyjson_get_len(key));
        if (property != NULL) {
            add_node(filler, ret, property->node);
        }
    }
}

static void nodes_of_item(struct filler *filler, const struct nodes *nodes, size_t index,
                          struct nodes *ret) {
    ret->count = 0;
    for (uint32_t i = 0; i < nodes->count; i++) {
        const struct array_rules *rules = nodes->list[i]->array;
        if (rules != NULL) {
            bool in_prefix = index < rules->prefix.count;
            add_node(filler, ret, in_prefix ? rules->prefix.nodes[index] : rules->rest);
        }
    }
}

/* Copy a value, and all below it, as it is. */
static void put_cells(struct filler *filler, yyjson_val *value, size_t count) {
    if (filler->out != NULL) {
        memcpy(filler->out + filler->cells, value, count * sizeof *value);
    }
    filler->cells += count;
}

/* The head of a container; close_container() sets its size when its children are written. */
static size_t open_container(struct filler *filler, yyjson_val *value) {
    put_cells(filler, value, 1);
    return filler->cells - 1;
}

static void close_container(struct filler *filler, size_t head, size_t count) {
    if (filler->out != NULL) {
        yyjson_val *value = &filler->out[head];
        value->uni.ofs = (filler->cells - head) * sizeof *value;
        value->tag = (value->tag & ((1u << YYJSON_TAG_BIT) - 1)) | (uint64_t)count
                                                                           << YYJSON_TAG_BIT;
    }
}

static void put_name(struct filler *filler, const struct property *property) {
    if (filler->out != NULL) {
        filler->out[filler->cells] =
                (yyjson_val){.tag = (uint64_t)property->length << YYJSON_TAG_BIT | YYJSON_TYPE_STR,
                             .uni.str = property->name};
    }
    filler->cells++;
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
        put_name(filler, property);
        fill_value(filler, &inner, value);
        added++;
    }
    return added;
}

static void fill_object(struct filler *filler, const struct nodes *nodes, yyjson_val *object) {
    size_t head = open_container(filler, object);
    size_t count = unsafe_yyjson_get_len(object);
    yyjson_val *key = unsafe_yyjson_get_first(object);
    for (size_t i = 0; i < count; i++) {
        struct nodes inner;
        nodes_of_member(filler, nodes, key, &inner);
        put_cells(filler, key, 1);
        fill_value(filler, &inner, key + 1);
        key = unsafe_yyjson_get_next(key + 1);
    }
    size_t added = 0;
    for (uint32_t i = 0; i < nodes->count; i++) {
        added += add_missing(filler, nodes, i, object);
    }
    filler->added += added;
    close_container(filler, head, count + added);
}

static void fill_array(struct filler *filler, const struct nodes *nodes, yyjson_val *array) {
    size_t head = open_container(filler, array);
    size_t count = unsafe_yyjson_get_len(array);
    yyjson_val *item = unsafe_yyjson_get_first(array);
    for (size_t i = 0; i < count; i++) {
        struct nodes inner;
        nodes_of_item(filler, nodes, i, &inner);
        fill_value(filler, &inner, item);
        item = unsafe_yyjson_get_next(item);
    }
    close_container(filler, head, count);
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
    if (unsafe_yyjson_is_obj(value)) {
        fill_object(filler, &closed, value);
    } else {
        fill_array(filler, &closed, value);
    }
    filler->depth--;
}

static void walk(struct filler *filler, const struct schema *schema, yyjson_val *instance,
                 yyjson_val *out) {
    struct nodes nodes = {.count = 1, .list = {schema->root}};
    *filler = (struct filler){.budget.steps = schema->steps_max, .schema = schema, .out = out};
    fill_value(filler, &nodes, instance);
}

static int refuse(const struct filler *filler, struct toolrack_error *err) {
    if (filler->too_many) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "filling in defaults went deeper than FILL_DEPTH_MAX (%u), or more than "
                         "FILL_NODES_MAX (%u) schemas apply to one value",
                         FILL_DEPTH_MAX, FILL_NODES_MAX);
    }
    return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                     "filling in defaults took more than SCHEMA_STEPS_MAX (%lld) steps",
                     (long long)filler->schema->steps_max);
}

int schema_fill_defaults(const struct schema *schema, yyjson_val *instance, const yyjson_alc *alc,
                         yyjson_val **ret, struct toolrack_error *err) {
    if (!schema->has_defaults) {
        *ret = instance;
        return 0;
    }
    struct filler filler;
    walk(&filler, schema, instance, NULL);
    if (filler.too_many || filler.budget.steps < 0) {
        return refuse(&filler, err);
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
