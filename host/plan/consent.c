#include "plan/consent.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "plan/journal.h"
#include "plan/key.h"
#include "plan/reference.h"
#include "schema/secret.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)
CLEANUP_DEFINE(struct plan_consent, plan_consent_destroy)

/* A call that a person has seen. */
struct seen {
    uint32_t node;
    bool is_fallback;
    bool is_open; /* its arguments were not known */
    struct toolrack_tool *tool;
    unsigned char hash[STORE_SHA256_SIZE]; /* of its arguments, by the key */
    uint64_t standing;                     /* of the tool, before the person was asked */
    uint64_t standing_kept;                /* the part that outlives the process */
};

struct plan_consent {
    struct seen *seen; /* calls of tools that ask */
    struct toolrack_tool **tools;
    size_t count;
    bool any; /* with any arguments */
    unsigned char key[PLAN_KEY_SIZE];
    char who[STORE_WHO_SIZE];
};

void plan_consent_destroy(struct plan_consent *consent) {
    if (consent != NULL) {
        free(consent->seen);
        free(consent->tools);
        free(consent);
    }
}

/* ----------------------------------------------------------------------------------- arguments */

static yyjson_val *find_input(void *user, const struct reference *reference) {
    yyjson_val *from = reference->kind == REFERENCE_INPUT
                               ? yyjson_obj_getn(user, reference->name, reference->name_length)
                               : NULL;
    return reference->path_length > 0
                   ? yyjson_ptr_getn(from, reference->path, reference->path_length)
                   : from;
}

/* The arguments of a call as far as they are known before the run.
 * @param ret_open  set to whether they are not */
static void write_arguments(const struct plan_node *node, yyjson_val *template, yyjson_val *inputs,
                            struct buf *out, bool *ret_open) {
    struct reference_text missing;
    if (template == NULL) {
        buf_add_text(out, "{}");
    }
    *ret_open = template != NULL && !template_fill(template, find_input, inputs, out, &missing);
    if (*ret_open) {
        buf_clear(out);
        json_add_value(out, template);
    }
    *ret_open = *ret_open || node->items != NULL; /* how often is not known */
}

/* The same without secrets; "***" where that cannot be written. */
static void add_masked(const struct toolrack_tool *tool, const char *arguments, struct buf *out,
                       bool *ret_masked) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
    if (schema_read_secret(toolrack_tool_schema(tool), &schema) && schema == NULL) {
        buf_add_text(out, arguments);
        return;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(arguments, strlen(arguments), 0);
    CLEANUP(yyjson_mut_doc_freep)
    yyjson_mut_doc *changed = doc != NULL ? yyjson_doc_mut_copy(doc, NULL) : NULL;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(changed);
    root = root != NULL && schema != NULL
                   ? schema_mask_arguments(yyjson_doc_get_root(schema), changed, root)
                   : NULL;
    CLEANUP(freep) char *text = root != NULL ? yyjson_mut_val_write(root, 0, NULL) : NULL;
    buf_add_text(out, text != NULL ? text : "\"" SECRET_MASK "\"");
    *ret_masked = true;
}

/* -------------------------------------------------------------------------------------- asking */

struct asking {
    struct permit *permit;
    struct store *store;
    const struct plan *plan;
    const struct plan_tools *tools;
    const struct plan_kept *kept; /* of a run that goes on; else NULL */
    yyjson_val *inputs;
    const struct toolrack_call_options *options;
    struct plan_consent *consent;
    struct buf calls;  /* JSON */
    struct buf masked; /* the same without secrets */
    bool has_secrets;
};

static void add_row(struct buf *out, const struct plan_node *node, const struct toolrack_tool *tool,
                    bool is_fallback, bool is_open) {
    static const char *const permissions[] = {[TOOLRACK_PERMISSION_SAFE] = "safe",
                                              [TOOLRACK_PERMISSION_CONFIRM] = "confirm",
                                              [TOOLRACK_PERMISSION_DANGEROUS] = "dangerous"};
    buf_add_text(out, out->length > 0 ? ",{\"node\":" : "[{\"node\":");
    buf_add_json_string(out, node->id, strlen(node->id));
    buf_printf(out, ",\"tool\":\"%s\",\"version\":\"%s\",\"permission\":\"%s\"",
               toolrack_tool_name(tool), toolrack_tool_version(tool),
               permissions[toolrack_tool_permission(tool)]);
    buf_add_text(out, is_fallback ? ",\"fallback\":true" : "");
    buf_add_text(out, node->when != NULL ? ",\"when\":true" : "");
    if (node->items != NULL) {
        buf_printf(out, ",\"for_each\":true,\"max_items\":%u", node->items_max);
    }
    if (!is_fallback && node->retry.attempts > 1) { /* a fallback is tried once */
        buf_printf(out, ",\"attempts\":%u%s", node->retry.attempts,
                   node->retry.force ? ",\"force\":true" : "");
    }
    buf_printf(out, ",\"open\":%s,\"arguments\":", is_open ? "true" : "false");
}

static void hash_arguments(const struct plan_consent *consent, const char *arguments, size_t length,
                           unsigned char ret[STORE_SHA256_SIZE]) {
    (void)crypto_generichash(ret, STORE_SHA256_SIZE, (const unsigned char *)arguments, length,
                             consent->key, sizeof consent->key);
}

/* A call that may be made in the run. */
struct possible {
    uint32_t node;
    bool is_fallback;
    struct toolrack_tool *tool;
    yyjson_val *arguments; /* as the plan has them; NULL: none */
};

/* Each call that is left of the plan, until one fails. */
static int each_call(struct asking *asking,
                     int (*take)(struct asking *asking, const struct possible *call,
                                 struct toolrack_error *err),
                     struct toolrack_error *err) {
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < asking->plan->graph.count; i++) {
        const struct plan_node *node = &asking->plan->nodes[i];
        struct possible call = {
                .node = i, .tool = asking->tools->tools[i], .arguments = node->arguments};
        if (asking->kept != NULL && asking->kept[i].state != SCHEDULE_WAITING) {
            continue;
        }
        code = take(asking, &call, err);
        if (code == 0 && asking->tools->fallbacks[i] != NULL) {
            call.is_fallback = true;
            call.tool = asking->tools->fallbacks[i];
            call.arguments =
                    node->fallback_arguments != NULL ? node->fallback_arguments : node->arguments;
            code = take(asking, &call, err);
        }
    }
    return code;
}

/* Note a call if its tool asks. */
static int note_call(struct asking *asking, const struct possible *call,
                     struct toolrack_error *err) {
    struct plan_consent *consent = asking->consent;
    CLEANUP(buf_finish) struct buf arguments = BUF_INIT;
    struct seen *seen = &consent->seen[consent->count];
    bool asks;
    int code = permit_foresee(asking->permit, call->tool, asking->options, &asks, err);
    if (code < 0 || !asks) {
        return code;
    }
    *seen = (struct seen){.node = call->node, .is_fallback = call->is_fallback, .tool = call->tool};
    write_arguments(&asking->plan->nodes[call->node], call->arguments, asking->inputs, &arguments,
                    &seen->is_open);
    if (arguments.failed) {
        return error_oom(err);
    }
    if (consent->count == 0) {
        plan_key(asking->store, consent->key); /* which may write the store: not for nothing */
    }
    hash_arguments(consent, arguments.data, arguments.length, seen->hash);
    consent->tools[consent->count++] = call->tool;
    return permit_standing(asking->permit, call->tool, &seen->standing, &seen->standing_kept, err);
}

/* Write a call, whether its tool asks or not, for the person who is asked. */
static int write_call(struct asking *asking, const struct possible *call,
                      struct toolrack_error *err) {
    const struct plan_node *node = &asking->plan->nodes[call->node];
    CLEANUP(buf_finish) struct buf arguments = BUF_INIT;
    bool is_open;
    write_arguments(node, call->arguments, asking->inputs, &arguments, &is_open);
    if (arguments.failed) {
        return error_oom(err);
    }
    add_row(&asking->calls, node, call->tool, call->is_fallback, is_open);
    buf_add(&asking->calls, arguments.data, arguments.length);
    buf_add_char(&asking->calls, '}');
    add_row(&asking->masked, node, call->tool, call->is_fallback, is_open);
    add_masked(call->tool, arguments.data, &asking->masked, &asking->has_secrets);
    buf_add_char(&asking->masked, '}');
    return 0;
}

/* ---------------------------------------------------------------------------- what was agreed to
 *
 * {"who", "any", "calls": [{"node": its index, "fallback", "tool", "version", "standing", "hash"
 * (unless it was open)}]} */

char *plan_consent_write(const struct plan_consent *consent) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    (void)yyjson_mut_obj_add_strcpy(doc, root, "who", consent->who);
    (void)yyjson_mut_obj_add_bool(doc, root, "any", consent->any);
    yyjson_mut_val *calls = yyjson_mut_obj_add_arr(doc, root, "calls");
    for (size_t i = 0; i < consent->count; i++) {
        const struct seen *seen = &consent->seen[i];
        char digits[2 * STORE_SHA256_SIZE + 1];
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, calls);
        (void)sodium_bin2hex(digits, sizeof digits, seen->hash, sizeof seen->hash);
        (void)yyjson_mut_obj_add_uint(doc, row, "node", seen->node);
        (void)yyjson_mut_obj_add_bool(doc, row, "fallback", seen->is_fallback);
        (void)yyjson_mut_obj_add_strcpy(doc, row, "tool", toolrack_tool_name(seen->tool));
        (void)yyjson_mut_obj_add_strcpy(doc, row, "version", toolrack_tool_version(seen->tool));
        (void)yyjson_mut_obj_add_uint(doc, row, "standing", seen->standing_kept);
        if (!seen->is_open) {
            (void)yyjson_mut_obj_add_strcpy(doc, row, "hash", digits);
        }
    }
    return json_doc_is_whole(doc) ? yyjson_mut_write(doc, YYJSON_WRITE_NOFLAG, NULL) : NULL;
}

/* Whether a row is about this call of the plan. One that was written without a node, by an earlier
 * version, is about none. */
static bool is_of_call(const struct seen *seen, yyjson_val *row) {
    yyjson_val *node = yyjson_obj_get(row, "node");
    return yyjson_is_uint(node) && yyjson_get_uint(node) == seen->node &&
           yyjson_is_true(yyjson_obj_get(row, "fallback")) == seen->is_fallback &&
           yyjson_equals_str(yyjson_obj_get(row, "tool"), toolrack_tool_name(seen->tool)) &&
           yyjson_equals_str(yyjson_obj_get(row, "version"), toolrack_tool_version(seen->tool));
}

/* Whether a call was agreed to when the run began, and nothing was taken back since: an open one as
 * such, or with any arguments. */
static bool was_agreed(const struct seen *seen, yyjson_val *agreed) {
    char digits[2 * STORE_SHA256_SIZE + 1];
    size_t at;
    size_t count;
    yyjson_val *row;
    (void)sodium_bin2hex(digits, sizeof digits, seen->hash, sizeof seen->hash);
    yyjson_arr_foreach (yyjson_obj_get(agreed, "calls"), at, count, row) {
        yyjson_val *hash = yyjson_obj_get(row, "hash");
        bool is_same = seen->is_open ? hash == NULL : yyjson_equals_str(hash, digits);
        if (is_of_call(seen, row) &&
            yyjson_get_uint(yyjson_obj_get(row, "standing")) == seen->standing_kept &&
            (is_same || yyjson_is_true(yyjson_obj_get(agreed, "any")))) {
            return true;
        }
    }
    return false;
}

/* Whether all that is left was agreed to. */
static bool take_agreed(struct plan_consent *consent, yyjson_val *agreed) {
    for (size_t i = 0; i < consent->count; i++) {
        if (!was_agreed(&consent->seen[i], agreed)) {
            return false;
        }
    }
    consent->any = yyjson_is_true(yyjson_obj_get(agreed, "any"));
    return true;
}

static int ask(struct asking *asking, struct toolrack_error *err) {
    struct plan_consent *consent = asking->consent;
    unsigned char sha256[STORE_SHA256_SIZE];
    char digits[2 * STORE_SHA256_SIZE + 1];
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    size_t open = 0;
    for (size_t i = 0; i < consent->count; i++) {
        open += consent->seen[i].is_open;
    }
    buf_printf(&name, "plan %s",
               asking->plan->name != NULL ? asking->plan->name : "without a name");
    buf_printf(&reason, "%zu of its calls need%s approval", consent->count,
               consent->count == 1 ? "s" : "");
    if (open > 0) {
        buf_printf(&reason, "; the arguments of %zu are not known yet: each asks again", open);
    }
    int code = each_call(asking, write_call, err);
    if (code < 0) {
        return code;
    }
    buf_add_char(&asking->calls, ']');
    buf_add_char(&asking->masked, ']');
    if (name.failed || reason.failed || asking->calls.failed || asking->masked.failed ||
        !journal_hash(asking->plan, asking->tools, asking->inputs, consent->key, sha256)) {
        return error_oom(err);
    }
    (void)sodium_bin2hex(digits, sizeof digits, sha256, sizeof sha256);
    return permit_ask_plan(
            asking->permit,
            &(struct permit_plan){.name = name.data,
                                  .sha256 = digits,
                                  .reason = reason.data,
                                  .calls = asking->calls.data,
                                  .masked = asking->has_secrets ? asking->masked.data : NULL,
                                  .tools = consent->tools,
                                  .count = consent->count},
            asking->options, &consent->any, consent->who, err);
}

int plan_consent_ask(struct permit *permit, struct store *store, const struct plan *plan,
                     const struct plan_tools *tools, yyjson_val *inputs,
                     const struct plan_kept *kept, yyjson_val *agreed,
                     const struct toolrack_call_options *options, struct plan_consent **ret,
                     struct toolrack_error *err) {
    CLEANUP(plan_consent_destroyp) struct plan_consent *consent = calloc(1, sizeof *consent);
    if (consent == NULL) {
        return error_oom(err);
    }
    consent->seen = calloc(2u * plan->graph.count + 1u, sizeof *consent->seen);
    consent->tools = calloc(2u * plan->graph.count + 1u, sizeof(struct toolrack_tool *));
    if (consent->seen == NULL || consent->tools == NULL) {
        return error_oom(err);
    }
    struct asking asking = {.permit = permit,
                            .store = store,
                            .plan = plan,
                            .tools = tools,
                            .kept = kept,
                            .inputs = inputs,
                            .options = options,
                            .consent = consent};
    int code = each_call(&asking, note_call, err);
    if (code == 0 && consent->count > 0 && !take_agreed(consent, agreed)) {
        code = ask(&asking, err);
    }
    buf_finish(&asking.calls);
    buf_finish(&asking.masked);
    if (code == 0) {
        *ret = consent->count > 0 ? STEAL(consent) : NULL;
    }
    return code;
}

bool plan_consent_covers(const struct plan_consent *consent, struct permit *permit,
                         const struct plan_call *call) {
    uint64_t standing;
    unsigned char hash[STORE_SHA256_SIZE];
    struct toolrack_error unheard;
    if (consent == NULL) {
        return false;
    }
    hash_arguments(consent, call->arguments, call->length, hash);
    for (size_t i = 0; i < consent->count; i++) {
        const struct seen *seen = &consent->seen[i];
        if (seen->node == call->node && seen->is_fallback == call->is_fallback &&
            seen->tool == call->tool &&
            (consent->any || (!seen->is_open && memcmp(seen->hash, hash, sizeof hash) == 0))) {
            return permit_standing(permit, call->tool, &standing, NULL, &unheard) == 0 &&
                   standing == seen->standing;
        }
    }
    return false;
}
