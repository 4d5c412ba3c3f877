#include "plan/secrets.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"
#include "plan/kept-plan.h"
#include "plan/reference.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* --------------------------------------------------------------------- what the text has as it is
 */

static bool is_item(void *user, const struct reference *reference, const char *pointer) {
    (void)user;
    (void)pointer;
    return reference->kind == REFERENCE_ITEM;
}

/* A template without what the run gives: null in place of a value that refers to anything but the
 * item. */
static yyjson_mut_val *without_references(yyjson_mut_doc *doc, yyjson_val *template) {
    char pointer[JSON_POINTER_MAX] = "";
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    if (yyjson_is_str(template) || reference_is(template)) {
        return references_each(template, pointer, is_item, NULL)
                       ? yyjson_val_mut_copy(doc, template)
                       : yyjson_mut_null(doc);
    }
    if (!yyjson_is_ctn(template) || reference_literal(template) != NULL) {
        return yyjson_val_mut_copy(doc, template);
    }
    yyjson_mut_val *copy = yyjson_is_obj(template) ? yyjson_mut_obj(doc) : yyjson_mut_arr(doc);
    json_obj_foreach (template, at, count, key, value) {
        (void)yyjson_mut_obj_add(copy, yyjson_val_mut_copy(doc, key),
                                 without_references(doc, value));
    }
    yyjson_arr_foreach (template, at, count, value) {
        (void)yyjson_mut_arr_append(copy, without_references(doc, value));
    }
    return copy;
}

static yyjson_val *find_item(void *user, const struct reference *reference) {
    static yyjson_val null = {.tag = YYJSON_TYPE_NULL};
    yyjson_val *value = reference->path_length > 0
                                ? yyjson_ptr_getn(user, reference->path, reference->path_length)
                                : user;
    return value != NULL ? value : &null;
}

/* The secrets of the arguments of a call, with an item. */
static void collect_call(struct buf *ret, yyjson_val *schema, yyjson_val *template,
                         yyjson_val *item) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct reference_text missing;
    bool is_whole = template_fill(template, find_item, NULL, item, &text, &missing);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = is_whole && !text.failed
                              ? yyjson_read(text.data, text.length, YYJSON_READ_BIGNUM_AS_RAW)
                              : NULL;
    ret->failed = ret->failed || doc == NULL;
    if (doc != NULL) {
        schema_collect_arguments(schema, yyjson_doc_get_root(doc), ret);
    }
}

/* What a plan has as it is for parameters of a tool that are marked, also as items. */
static void collect_literals(struct buf *ret, const struct toolrack_tool *tool,
                             const struct plan_node *node, yyjson_val *arguments) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
    if (tool == NULL || arguments == NULL) {
        return;
    }
    if (!schema_read_secret(toolrack_tool_schema(tool), &schema)) {
        ret->failed = true;
    }
    if (schema == NULL) {
        return;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_doc_set_root(doc, without_references(doc, arguments));
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *known = json_doc_is_whole(doc) ? yyjson_mut_doc_imut_copy(doc, NULL) : NULL;
    yyjson_val *literal = reference_literal(node->items);
    yyjson_val *items = literal != NULL ? literal : node->items;
    yyjson_val *root = yyjson_doc_get_root(schema);
    yyjson_val *item;
    size_t at;
    size_t count;
    ret->failed = ret->failed || known == NULL;
    if (known != NULL && !yyjson_is_arr(items)) {
        collect_call(ret, root, yyjson_doc_get_root(known), NULL);
    }
    yyjson_arr_foreach (known != NULL ? items : NULL, at, count, item) {
        if (ret->failed || (ret->length > 0 && ret->data[0] == '\0')) {
            break; /* all is secret by now */
        }
        collect_call(ret, root, yyjson_doc_get_root(known), item);
    }
}

bool plan_secrets_init(struct plan_secrets *secrets, const struct plan *plan,
                       const struct plan_tools *tools, yyjson_val *inputs,
                       const struct toolrack_call_options *call) {
    *secrets = (struct plan_secrets){
            .plan = plan, .tools = tools, .nodes = kept_plan_secret_nodes(plan, tools)};
    yyjson_obj_iter each = yyjson_obj_iter_with(inputs); /* in the order of the plan's */
    for (size_t i = 0; i < plan->input_count; i++) {
        const struct plan_input *input = &plan->inputs[i];
        yyjson_val *value = yyjson_obj_iter_get(&each, input->name);
        if (value != NULL && schema_has_secrets(input->described)) {
            schema_collect_secrets(input->described, value, &secrets->values);
        }
    }
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        const struct plan_node *node = &plan->nodes[i];
        collect_literals(&secrets->values, tools->tools[i], node, node->arguments);
        collect_literals(&secrets->values, tools->fallbacks[i], node,
                         node->fallback_arguments != NULL ? node->fallback_arguments
                                                          : node->arguments);
    }
    secrets_add(&secrets->values, call->secrets, call->secrets_length);
    return secrets->nodes != NULL;
}

void plan_secrets_finish(struct plan_secrets *secrets) {
    free(secrets->nodes);
    buf_finish(&secrets->values);
}

void plan_secrets_note(struct plan_secrets *secrets, const struct plan_event *event) {
    if (event->result == NULL || !secrets->nodes[event->node]) {
        return;
    }
    const struct plan_tools *tools = secrets->tools;
    const struct toolrack_tool *const both[] = {tools->tools[event->node],
                                                tools->fallbacks[event->node]};
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read(event->result, event->result_length, YYJSON_READ_BIGNUM_AS_RAW);
    yyjson_val *result = yyjson_doc_get_root(doc);
    secrets->values.failed = secrets->values.failed || doc == NULL; /* any text may have one */
    const bool is_each = secrets->plan->nodes[event->node].items != NULL;
    size_t count = is_each ? yyjson_arr_size(result) : 1;
    for (size_t i = 0; result != NULL && i < ARRAY_LENGTH(both); i++) {
        CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
        if (both[i] != NULL && !schema_read_secret(toolrack_tool_result_schema(both[i]), &schema)) {
            secrets->values.failed = true;
        }
        if (schema == NULL) {
            continue;
        }
        yyjson_val *item = is_each ? yyjson_arr_get_first(result) : result;
        for (size_t j = 0; j < count; j++, item = unsafe_yyjson_get_next(item)) {
            schema_collect_secrets(yyjson_doc_get_root(schema), item, &secrets->values);
        }
    }
}

void plan_secrets_give(const struct plan_secrets *secrets, struct toolrack_call_options *ret) {
    const struct buf *values = &secrets->values;
    ret->secrets = values->failed ? "" : values->length > 0 ? values->data : NULL;
    ret->secrets_length = values->failed ? 1 : values->length;
}
