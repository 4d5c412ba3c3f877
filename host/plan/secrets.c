#include "plan/secrets.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "plan/kept-plan.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

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
