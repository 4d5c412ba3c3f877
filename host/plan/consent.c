#include "plan/consent.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/text.h"
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
    const struct store_run_agreed *agreed; /* before, unless all is asked about anew */
};

struct plan_consent {
    struct seen *seen; /* calls of tools that ask */
    struct toolrack_tool **tools;
    size_t count;
    bool is_new; /* a person was asked now: the next two are the answer */
    bool any;    /* with any arguments */
    char who[STORE_WHO_SIZE];
    unsigned char key[PLAN_KEY_SIZE];
    const struct store_run_agreed *given; /* before; borrowed */
    size_t given_count;
    bool *spent; /* of each: it has covered a call */
};

void plan_consent_destroy(struct plan_consent *consent) {
    if (consent != NULL) {
        free(consent->seen);
        free(consent->tools);
        free(consent->spent);
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

static bool take_reference(void *user, const struct reference *reference, const char *pointer) {
    (void)pointer;
    *(struct reference *)user = *reference;
    return false;
}

/* The most calls of a node with for_each: as many as it has items, where these are written in the
 * plan or are an input. */
static uint32_t count_items(const struct plan_node *node, yyjson_val *inputs) {
    char pointer[JSON_POINTER_MAX] = "";
    yyjson_val *literal = reference_literal(node->items);
    yyjson_val *items = literal != NULL ? literal : node->items;
    struct reference reference;
    if (literal == NULL && reference_is(items)) {
        (void)references_each(items, pointer, take_reference, &reference);
        items = find_input(inputs, &reference);
    }
    size_t count = yyjson_is_arr(items) ? yyjson_arr_size(items) : node->items_max;
    return count < node->items_max ? (uint32_t)count : node->items_max;
}

/* The arguments of a call as far as they are known before the run.
 * @param ret_open  set to whether they are not */
static void write_arguments(const struct plan_node *node, yyjson_val *template, yyjson_val *inputs,
                            struct buf *out, bool *ret_open) {
    struct reference_text missing;
    if (template == NULL) {
        buf_add_text(out, "{}");
    }
    *ret_open = template != NULL && !template_fill(template, find_input, NULL, inputs, out, &missing);
    if (*ret_open) {
        buf_clear(out);
        json_add_value(out, template);
    }
    *ret_open = *ret_open || node->items != NULL; /* how often is not known */
}

/* The same without secrets; "***" where that cannot be written. */
static void add_masked(const struct toolrack_tool *tool, const char *arguments,
                       const struct toolrack_call_options *options, struct buf *out,
                       bool *ret_masked) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *schema = NULL;
    const struct buf given = {.data = (char *)(uintptr_t)options->secrets,
                              .length = options->secrets_length};
    *ret_masked = *ret_masked || given.length > 0;
    if (schema_read_secret(toolrack_tool_schema(tool), &schema) && schema == NULL) {
        secrets_mask_json(&given, arguments, strlen(arguments), out);
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
    const char *masked = text != NULL ? text : "\"" SECRET_MASK "\"";
    secrets_mask_json(&given, masked, strlen(masked), out);
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
                    const struct plan_inside *inside, yyjson_val *inputs, bool asks,
                    bool is_fallback, bool is_open) {
    static const char *const permissions[] = {[TOOLRACK_PERMISSION_SAFE] = "safe",
                                              [TOOLRACK_PERMISSION_CONFIRM] = "confirm",
                                              [TOOLRACK_PERMISSION_DANGEROUS] = "dangerous"};
    buf_add_text(out, out->length > 0 ? ",{\"node\":" : "[{\"node\":");
    buf_add_json_string(out, node->id, strlen(node->id));
    buf_printf(out, ",\"tool\":\"%s\",\"version\":\"%s\",\"permission\":\"%s\"%s",
               toolrack_tool_name(tool), toolrack_tool_version(tool),
               permissions[toolrack_tool_permission(tool)], asks ? ",\"asks\":true" : "");
    if (inside != NULL) {
        buf_add_text(out, ",\"calls\":");
        buf_add_json_string(out, inside->calls, strlen(inside->calls));
    }
    buf_add_text(out, is_fallback ? ",\"fallback\":true" : "");
    buf_add_text(out, node->when != NULL ? ",\"when\":true" : "");
    if (node->items != NULL) {
        buf_printf(out, ",\"for_each\":true,\"max_items\":%u", count_items(node, inputs));
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

/* Whether a call was noted as one whose tool asks. */
static bool is_noted(const struct plan_consent *consent, const struct possible *call) {
    for (size_t i = 0; i < consent->count; i++) {
        if (consent->seen[i].node == call->node &&
            consent->seen[i].is_fallback == call->is_fallback) {
            return true;
        }
    }
    return false;
}

/* Write a call, whether its tool asks or not, for the person who is asked. */
static int write_call(struct asking *asking, const struct possible *call,
                      struct toolrack_error *err) {
    const struct plan_node *node = &asking->plan->nodes[call->node];
    CLEANUP(buf_finish) struct buf arguments = BUF_INIT;
    bool is_open;
    const bool asks = is_noted(asking->consent, call);
    write_arguments(node, call->arguments, asking->inputs, &arguments, &is_open);
    if (arguments.failed) {
        return error_oom(err);
    }
    const struct plan_inside *inside =
            plan_tools_inside(asking->tools, call->node, call->is_fallback);
    add_row(&asking->calls, node, call->tool, inside, asking->inputs, asks, call->is_fallback,
            is_open);
    buf_add(&asking->calls, arguments.data, arguments.length);
    buf_add_char(&asking->calls, '}');
    add_row(&asking->masked, node, call->tool, inside, asking->inputs, asks, call->is_fallback,
            is_open);
    add_masked(call->tool, arguments.data, asking->options, &asking->masked, &asking->has_secrets);
    buf_add_char(&asking->masked, '}');
    return 0;
}

/* ------------------------------------------------------------------------- what was agreed to */

struct store_run_agreed *plan_consent_rows(const struct plan_consent *consent, size_t *ret_count) {
    size_t count = consent != NULL && consent->is_new ? consent->count : 0;
    struct store_run_agreed *rows = calloc(count + 1, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < count; i++) {
        const struct seen *seen = &consent->seen[i];
        rows[i] = (struct store_run_agreed){.node = seen->node,
                                            .is_fallback = seen->is_fallback,
                                            .tool = toolrack_tool_name(seen->tool),
                                            .version = toolrack_tool_version(seen->tool),
                                            .standing = seen->standing_kept,
                                            .is_open = seen->is_open,
                                            .any = consent->any,
                                            .who = consent->who};
        memcpy(rows[i].hash, seen->hash, sizeof rows[i].hash);
    }
    *ret_count = count;
    return rows;
}

/* Whether something that was agreed to is about this call of the plan, and nothing was taken back
 * since. */
static bool is_of_call(const struct seen *seen, const struct store_run_agreed *row) {
    return row->node == seen->node && row->is_fallback == seen->is_fallback &&
           strcmp(row->tool, toolrack_tool_name(seen->tool)) == 0 &&
           strcmp(row->version, toolrack_tool_version(seen->tool)) == 0 &&
           row->standing == seen->standing_kept;
}

/* What says that a call was agreed to before: an open one as such, or with any arguments; NULL:
 * nothing does. */
static const struct store_run_agreed *find_agreed(const struct plan_consent *consent,
                                                  const struct seen *seen) {
    for (size_t i = consent->given_count; i > 0; i--) {
        const struct store_run_agreed *row = &consent->given[i - 1];
        bool is_same = row->is_open == seen->is_open &&
                       (seen->is_open || memcmp(row->hash, seen->hash, sizeof row->hash) == 0);
        if (is_of_call(seen, row) && (is_same || row->any)) {
            return row;
        }
    }
    return NULL;
}

/* Whether all that is left was agreed to. */
static bool take_agreed(struct plan_consent *consent) {
    for (size_t i = 0; i < consent->count; i++) {
        consent->seen[i].agreed = find_agreed(consent, &consent->seen[i]);
        if (consent->seen[i].agreed == NULL) {
            return false;
        }
    }
    return true;
}

/* What is asked about. */
static void add_subject(struct buf *out, const char *plan) {
    buf_add_text(out, plan != NULL ? "plan " : "plan without a name");
    if (plan != NULL) {
        text_add_in_quotes(out, plan, PERMIT_PLAN_NAME_MAX);
    }
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
    add_subject(&name, asking->plan->name);
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
                     const struct plan_kept *kept, const struct store_run_agreed *agreed,
                     size_t agreed_count, const struct toolrack_call_options *options,
                     struct plan_consent **ret, struct toolrack_error *err) {
    CLEANUP(plan_consent_destroyp) struct plan_consent *consent = calloc(1, sizeof *consent);
    if (consent == NULL) {
        return error_oom(err);
    }
    consent->seen = calloc(2u * plan->graph.count + 1u, sizeof *consent->seen);
    consent->tools = calloc(2u * plan->graph.count + 1u, sizeof(struct toolrack_tool *));
    consent->spent = calloc(agreed_count + 1, sizeof *consent->spent);
    consent->given = agreed;
    consent->given_count = agreed_count;
    if (consent->seen == NULL || consent->tools == NULL || consent->spent == NULL) {
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
    if (code == 0 && consent->count > 0 && !take_agreed(consent)) {
        consent->is_new = true;
        code = ask(&asking, err);
    }
    buf_finish(&asking.calls);
    buf_finish(&asking.masked);
    if (code == 0) {
        *ret = consent->count > 0 ? STEAL(consent) : NULL;
    }
    return code;
}

/* Who agreed to this very call of an open node, which is made again; NULL: nobody did. */
static const char *take_given(struct plan_consent *consent, const struct seen *seen,
                              const unsigned char hash[STORE_SHA256_SIZE]) {
    for (size_t i = 0; i < consent->given_count; i++) {
        const struct store_run_agreed *row = &consent->given[i];
        if (!consent->spent[i] && !row->is_open && is_of_call(seen, row) &&
            memcmp(row->hash, hash, sizeof row->hash) == 0) {
            consent->spent[i] = true;
            return row->who;
        }
    }
    return NULL;
}

/* What a person was shown of a call; NULL: nothing. */
static const struct seen *find_seen(const struct plan_consent *consent,
                                    const struct plan_call *call) {
    for (size_t i = 0; consent != NULL && i < consent->count; i++) {
        const struct seen *seen = &consent->seen[i];
        if (seen->node == call->node && seen->is_fallback == call->is_fallback &&
            seen->tool == call->tool) {
            return seen;
        }
    }
    return NULL;
}

const char *plan_consent_covers(struct plan_consent *consent, struct permit *permit,
                                const struct plan_call *call) {
    const struct seen *seen = find_seen(consent, call);
    uint64_t standing;
    unsigned char hash[STORE_SHA256_SIZE];
    struct toolrack_error unheard;
    if (seen == NULL || permit_standing(permit, call->tool, &standing, NULL, &unheard) < 0 ||
        standing != seen->standing) {
        return NULL;
    }
    const bool any = consent->is_new ? consent->any : seen->agreed->any;
    hash_arguments(consent, call->arguments, call->length, hash);
    if (any || (!seen->is_open && memcmp(seen->hash, hash, sizeof hash) == 0)) {
        return consent->is_new ? consent->who : seen->agreed->who;
    }
    return take_given(consent, seen, hash);
}

int plan_consent_of_call(struct permit *permit, struct store *store, const struct plan_call *call,
                         struct store_run_agreed *ret, struct toolrack_error *err) {
    struct plan_consent own;
    uint64_t standing;
    *ret = (struct store_run_agreed){.node = call->node,
                                     .is_fallback = call->is_fallback,
                                     .tool = toolrack_tool_name(call->tool),
                                     .version = toolrack_tool_version(call->tool)};
    plan_key(store, own.key);
    hash_arguments(&own, call->arguments, call->length, ret->hash);
    return permit_standing(permit, call->tool, &standing, &ret->standing, err);
}
