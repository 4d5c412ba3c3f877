#include "plan/kept-plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json-pointer.h"
#include "base/json-write.h"
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

static bool is_reference(yyjson_val *value) {
    return yyjson_obj_get(value, "$ref") != NULL && yyjson_obj_size(value) == 1;
}

static bool is_mask(yyjson_mut_val *value) {
    return yyjson_mut_equals_str(value, SECRET_MASK);
}

/* Put the references of a template back into its masked copy: they are no secrets.
 * @param ret_masked  set to true where something else was masked */
static void restore_references(yyjson_mut_doc *doc, yyjson_val *template, yyjson_mut_val *masked,
                               bool *ret_masked) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (yyjson_is_arr(template) && yyjson_mut_is_arr(masked)) {
        yyjson_arr_foreach (template, at, count, value) {
            yyjson_mut_val *now = yyjson_mut_arr_get(masked, at);
            if (is_reference(value)) {
                (void)yyjson_mut_arr_replace(masked, at, yyjson_val_mut_copy(doc, value));
            } else if (is_mask(now) && !yyjson_equals_str(value, SECRET_MASK)) {
                *ret_masked = true;
            } else {
                restore_references(doc, value, now, ret_masked);
            }
        }
    }
    if (!yyjson_is_obj(template) || !yyjson_mut_is_obj(masked)) {
        return;
    }
    yyjson_obj_foreach (template, at, count, key, value) {
        yyjson_mut_val *now = yyjson_mut_obj_get(masked, yyjson_get_str(key));
        if (is_reference(value)) {
            (void)yyjson_mut_obj_put(masked, yyjson_mut_str(doc, yyjson_get_str(key)),
                                     yyjson_val_mut_copy(doc, value));
        } else if (is_mask(now) && !yyjson_equals_str(value, SECRET_MASK)) {
            *ret_masked = true;
        } else {
            restore_references(doc, value, now, ret_masked);
        }
    }
}

/* Arguments of which the items of their node may be a part. */
struct itemised {
    yyjson_val *template;
    yyjson_val *schema;
    yyjson_mut_doc *doc;
    yyjson_mut_val *masked;
};

/* Whether an item does not come to a secret place. A place of which not all is known may be one. */
static bool is_open_item(void *user, const struct reference *reference, const char *pointer) {
    const struct itemised *itemised = user;
    yyjson_val *part = NULL;
    if (reference->kind != REFERENCE_ITEM) {
        return true;
    }
    yyjson_mut_val *was =
            yyjson_val_mut_copy(itemised->doc, yyjson_ptr_get(itemised->template, pointer));
    yyjson_mut_val *now = yyjson_mut_ptr_get(itemised->masked, pointer);
    return was != NULL && now != NULL && yyjson_mut_equals(was, now) &&
           known_part(itemised->schema, pointer, strlen(pointer), &part) == KNOWN_SCHEMA &&
           yyjson_obj_get(part, "$ref") == NULL && !schema_has_secrets(part);
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
    char pointer[JSON_POINTER_MAX] = "";
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
        struct itemised itemised = {template, root, masking->doc, marked};
        masking->items =
                masking->items || !references_each(template, pointer, is_open_item, &itemised);
        masked = schema_mask_arguments(root, masking->doc, masked);
    }
    if (template == NULL || is_reference(template)) {
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
    if (!masking->items || node->items == NULL || is_reference(node->items)) {
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
        !is_reference(node->fallback_value) && !is_empty(node->fallback_value)) {
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
    yyjson_mut_arr_iter each;
    (void)yyjson_mut_arr_iter_init(nodes, &each);
    for (uint32_t i = 0; root != NULL && i < plan->graph.count; i++) {
        struct masking masking = {.doc = doc};
        if (!mask_node(&masking, plan, tools, secret, i, yyjson_mut_arr_iter_next(&each))) {
            return NULL;
        }
        ret_masked[i] = masking.something;
    }
    for (size_t i = 0; root != NULL && i < plan->input_count; i++) {
        yyjson_mut_val *input = yyjson_mut_obj_get(inputs, plan->inputs[i].name);
        if (plan->inputs[i].otherwise != NULL && schema_has_secrets(plan->inputs[i].described)) {
            (void)yyjson_mut_obj_remove_key(input, "default");
        }
    }
    return json_doc_is_whole(doc) ? yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, NULL) : NULL;
}
