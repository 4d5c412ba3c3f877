#include "plan/kept-plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json-write.h"
#include "base/json.h"
#include "plan/known.h"
#include "plan/reference.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* -------------------------------------------------------------------------- what refers to one */

/* Whether a tool says that its results have secrets; true also when that cannot be known. */
static bool has_secret_result(const struct toolrack_tool *tool) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    return tool != NULL &&
           (!schema_read_secret(toolrack_tool_result_schema(tool), &doc) || doc != NULL);
}

struct looking {
    const struct plan *plan;
    const bool *secret;
};

static bool is_harmless(void *user, const struct reference *reference, const char *pointer) {
    const struct looking *looking = user;
    (void)pointer;
    if (reference->kind == REFERENCE_INPUT) {
        const struct plan_input *input =
                plan_find_input(looking->plan, reference->name, reference->name_length);
        return input == NULL || !schema_has_secrets(input->described);
    }
    if (reference->kind == REFERENCE_NODE) {
        uint32_t node = plan_find_node(looking->plan, reference->name, reference->name_length);
        return node == looking->plan->graph.count || !looking->secret[node];
    }
    return true;
}

bool kept_plan_refers_to_secret(const struct plan *plan, const bool *secret, yyjson_val *template) {
    char pointer[JSON_POINTER_MAX] = "";
    struct looking looking = {.plan = plan, .secret = secret};
    return template != NULL && !references_each(template, pointer, is_harmless, &looking);
}

bool *kept_plan_secret_nodes(const struct plan *plan, const struct plan_tools *tools) {
    CLEANUP(freep) bool *secret = calloc(plan->graph.count + 1u, sizeof *secret);
    CLEANUP(freep) uint32_t *order = graph_order(&plan->graph);
    if (secret == NULL || order == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        const uint32_t node = order[i];
        secret[node] = has_secret_result(tools->tools[node]) ||
                       has_secret_result(tools->fallbacks[node]) ||
                       kept_plan_refers_to_secret(plan, secret, plan->nodes[node].fallback_value);
    }
    return STEAL(secret);
}

/* ------------------------------------------------------------------------------ what is masked */

static bool is_mask(yyjson_mut_val *value) {
    return yyjson_mut_equals_str(value, SECRET_MASK);
}

/* A template and its masked copy are gone through in step, whatever their keys are: a mask takes
 * the place of a value, and no member is added, removed or moved. Where a value was masked as a
 * whole, its copy has no members, and these give NULL. */
static yyjson_mut_val *next_member(yyjson_mut_obj_iter *left) {
    yyjson_mut_val *key = yyjson_mut_obj_iter_next(left);
    return key != NULL ? yyjson_mut_obj_iter_get_val(key) : NULL;
}

/* Put the references of a template back into its masked copy: they are no secrets.
 * @param ret_masked  set to true where something else was masked */
static void restore_references(yyjson_mut_doc *doc, yyjson_val *template, yyjson_mut_val *masked,
                               bool *ret_masked) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (reference_is(template)) {
        (void)yyjson_mut_set_obj(masked);
        (void)yyjson_mut_obj_add_val(doc, masked, "$ref",
                                     yyjson_val_mut_copy(doc, yyjson_obj_get(template, "$ref")));
        return;
    }
    if (is_mask(masked)) {
        *ret_masked = *ret_masked || !yyjson_equals_str(template, SECRET_MASK);
        return;
    }
    yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(masked);
    yyjson_arr_foreach (template, at, count, value) {
        restore_references(doc, value, yyjson_mut_arr_iter_next(&items), ret_masked);
    }
    yyjson_mut_obj_iter members = yyjson_mut_obj_iter_with(masked);
    json_obj_foreach (template, at, count, key, value) {
        restore_references(doc, value, next_member(&members), ret_masked);
    }
}

/* Arguments of which the items of their node may be a part. */
struct itemised {
    yyjson_val *schema;
    yyjson_mut_doc *doc;
    char pointer[JSON_POINTER_MAX];
    bool is_masked; /* the value at the pointer */
};

/* Whether an item does not come to a secret place. A place of which not all is known may be one. */
static bool is_open_item(void *user, const struct reference *reference, const char *pointer) {
    const struct itemised *itemised = user;
    yyjson_val *part = NULL;
    return reference->kind != REFERENCE_ITEM ||
           (!itemised->is_masked &&
            known_part(itemised->schema, pointer, strlen(pointer), &part) == KNOWN_SCHEMA &&
            yyjson_obj_get(part, "$ref") == NULL && !schema_has_secrets(part));
}

/* Whether no item comes to a secret place of a template.
 * @param masked  its copy; NULL: a value that it is in was masked, or its place has no pointer */
static bool are_items_open(struct itemised *itemised, yyjson_val *template,
                           yyjson_mut_val *masked) {
    const size_t length = strlen(itemised->pointer);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    bool are_open = true;
    if (yyjson_is_str(template) || reference_is(template)) {
        yyjson_mut_val *was = yyjson_val_mut_copy(itemised->doc, template);
        itemised->is_masked = was == NULL || masked == NULL || !yyjson_mut_equals(was, masked);
        return references_each(template, itemised->pointer, is_open_item, itemised);
    }
    if (reference_literal(template) != NULL) {
        return true;
    }
    yyjson_mut_arr_iter items = yyjson_mut_arr_iter_with(masked);
    yyjson_arr_foreach (template, at, count, value) {
        json_pointer_add_index(itemised->pointer, at);
        are_open = are_open && are_items_open(itemised, value, yyjson_mut_arr_iter_next(&items));
        itemised->pointer[length] = '\0';
    }
    yyjson_mut_obj_iter members = yyjson_mut_obj_iter_with(masked);
    json_obj_foreach (template, at, count, key, value) {
        const char *name = yyjson_get_str(key);
        yyjson_mut_val *member = next_member(&members);
        bool has_pointer = strlen(name) == yyjson_get_len(key);
        json_pointer_add(itemised->pointer, name);
        are_open = are_open && are_items_open(itemised, value, has_pointer ? member : NULL);
        itemised->pointer[length] = '\0';
    }
    return are_open;
}

/* What is masked of a node. */
struct masking {
    yyjson_mut_doc *doc;
    bool something; /* at all */
    bool items;
};

/* Mask the member "arguments" of an object of the plan, which are for a tool, or for two.
 * @return false: no memory */
static bool mask_arguments(struct masking *masking, yyjson_mut_val *object, yyjson_val *template,
                           const struct toolrack_tool *const tools[2]) {
    yyjson_mut_val *masked = yyjson_val_mut_copy(masking->doc, template);
    for (size_t i = 0; template != NULL && i < 2; i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
        if (tools[i] == NULL) {
            continue;
        }
        if (masked == NULL || !schema_read_secret(toolrack_tool_schema(tools[i]), &schema)) {
            return false;
        }
        if (schema == NULL) {
            continue;
        }
        yyjson_val *root = yyjson_doc_get_root(schema);
        yyjson_mut_val *marked = yyjson_val_mut_copy(masking->doc, template);
        marked = marked != NULL ? schema_mask(root, masking->doc, marked) : NULL;
        struct itemised itemised = {.schema = root, .doc = masking->doc};
        masking->items = masking->items || !are_items_open(&itemised, template, marked);
        masked = schema_mask_arguments(root, masking->doc, masked);
    }
    if (template == NULL || reference_is(template)) {
        return true;
    }
    if (is_mask(masked)) {
        masking->something = true;
        masked = yyjson_mut_obj(masking->doc); /* arguments are an object */
    } else {
        restore_references(masking->doc, template, masked, &masking->something);
    }
    return masked != NULL &&
           yyjson_mut_obj_put(object, yyjson_mut_str(masking->doc, "arguments"), masked);
}

/* Replace a member of the plan. @return false: no memory */
static bool hide(struct masking *masking, yyjson_mut_val *object, const char *key,
                 yyjson_mut_val *value) {
    masking->something = true;
    return value != NULL && yyjson_mut_obj_put(object, yyjson_mut_str(masking->doc, key), value);
}

static bool mask_items(struct masking *masking, yyjson_mut_val *object,
                       const struct plan_node *node) {
    yyjson_mut_val *for_each = yyjson_mut_obj_get(object, "for_each");
    yyjson_mut_val *items = yyjson_mut_arr(masking->doc);
    if (!masking->items || node->items == NULL || reference_is(node->items)) {
        return true;
    }
    bool has_more = yyjson_mut_obj_get(for_each, "items") != NULL;
    /* None: of any other the check of the plan would ask what the node refers to. */
    return hide(masking, has_more ? for_each : object, has_more ? "items" : "for_each", items);
}

/* Whether a value is one that a secret cannot be. */
static bool is_empty(yyjson_val *value) {
    return yyjson_is_null(value) || yyjson_is_bool(value) ||
           (yyjson_is_ctn(value) && unsafe_yyjson_get_len(value) == 0);
}

static bool mask_node(struct masking *masking, const struct plan *plan,
                      const struct plan_tools *tools, const bool *secret, uint32_t index,
                      yyjson_mut_val *object) {
    const struct plan_node *node = &plan->nodes[index];
    const struct toolrack_tool *const own[2] = {
            tools->tools[index], node->fallback_arguments == NULL ? tools->fallbacks[index] : NULL};
    const struct toolrack_tool *const other[2] = {tools->fallbacks[index], NULL};
    yyjson_mut_val *fallback =
            yyjson_mut_obj_get(yyjson_mut_obj_get(object, "on_error"), "fallback");
    bool done = mask_arguments(masking, object, node->arguments, own) &&
                mask_arguments(masking, fallback, node->fallback_arguments, other) &&
                mask_items(masking, object, node);
    if (done && node->fallback_value != NULL && has_secret_result(tools->tools[index]) &&
        !reference_is(node->fallback_value) && !is_empty(node->fallback_value)) {
        done = hide(masking, fallback, "value", yyjson_mut_str(masking->doc, SECRET_MASK));
    }
    if (done && node->is != NULL && kept_plan_refers_to_secret(plan, secret, node->when)) {
        yyjson_mut_val *is = yyjson_mut_obj(masking->doc);
        done = yyjson_mut_obj_add_str(masking->doc, is, "const", SECRET_MASK) &&
               hide(masking, yyjson_mut_obj_get(object, "when"), "is", is);
    }
    return done;
}

char *kept_plan_write(const struct plan *plan, const struct plan_tools *tools, const bool *secret,
                      bool *ret_masked) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, yyjson_doc_get_root(plan->doc));
    yyjson_mut_doc_set_root(doc, root);
    yyjson_mut_val *nodes = yyjson_mut_obj_get(root, "nodes");
    yyjson_mut_val *inputs = yyjson_mut_obj_get(root, "inputs");
    yyjson_mut_arr_iter each = yyjson_mut_arr_iter_with(nodes);
    yyjson_mut_obj_iter described = yyjson_mut_obj_iter_with(inputs); /* as plan->inputs */
    for (uint32_t i = 0; root != NULL && i < plan->graph.count; i++) {
        struct masking masking = {.doc = doc};
        if (!mask_node(&masking, plan, tools, secret, i, yyjson_mut_arr_iter_next(&each))) {
            return NULL;
        }
        ret_masked[i] = masking.something;
    }
    for (size_t i = 0; root != NULL && i < plan->input_count; i++) {
        yyjson_mut_val *input = next_member(&described);
        if (plan->inputs[i].otherwise != NULL && schema_has_secrets(plan->inputs[i].described)) {
            (void)yyjson_mut_obj_remove_key(input, "default");
        }
    }
    return json_doc_is_whole(doc) ? yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, NULL) : NULL;
}
