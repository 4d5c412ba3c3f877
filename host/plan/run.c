#include "plan/run.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/object.h"
#include "base/spin.h"
#include "plan/listed.h"
#include "plan/reference.h"
#include "run/run.h"
#include "schema/secret.h"

#define PLAN_RUN_MAGIC 0x6e61726eu

/* As a caller who waits for a call (call/pool-calls.c). */
#define SPIN_NS_MAX 10000u

/* How often a run asks whether it is wanted. */
#define LOOK_EACH_MS 10u

/* Room that stays for the arguments of the next call. */
#define ARGUMENTS_KEPT 4096u

/* A call of a node, or the wait for its next attempt. */
struct flight {
    struct plan_run *run;
    uint32_t node;
    uint32_t item;     /* of for_each; else 0 */
    yyjson_val *value; /* that item; NULL: none */
    uint32_t attempt;
    bool is_fallback;
    bool unfilled; /* its arguments cannot be made: nor can those of another attempt */
    size_t held;   /* bytes of the arguments of the call that runs, if they are long */
    struct toolrack_call *call;
    uint64_t due_ns;                /* of the next attempt; 0: the call runs */
    struct flight *next;            /* among the flights of the run; or free ones */
    struct flight *previous;        /* among the flights of the run */
    struct flight *ended;           /* the next one that has ended */
    struct toolrack_result *result; /* owned; NULL: it failed */
    struct toolrack_error *err;     /* owned */
};

/* A node of the run. */
struct node_run {
    uint32_t uses;      /* nodes and results that still may refer to its result */
    uint32_t next_item; /* of for_each */
    yyjson_val *next_value;
    uint32_t item_count;
    uint32_t attempts; /* calls that were made */
    size_t held;       /* bytes of its results, those of its items too, as text and parsed */
    uint64_t began_ns;
    uint32_t items_running;          /* those that wait for another attempt too */
    bool failed;                     /* an item failed, and the node with it */
    bool waits;                      /* that was for want of an approval, with which it goes on */
    bool called;                     /* a call of it was not refused for that */
    bool told;                       /* that it has ended */
    struct toolrack_error *err;      /* owned; of that; NULL: as the run's */
    struct toolrack_error *replaced; /* owned; a failure in place of which a fallback stands */
    struct toolrack_result *result;  /* owned; of a call, until it is an array or another value */
    char *text;                      /* owned; the result otherwise */
    size_t length;
    yyjson_doc *doc;                  /* the result, read when it is referred to first */
    struct listed *lists;             /* owned; of its arrays */
    yyjson_doc *items;                /* of for_each */
    size_t items_held;                /* bytes of these */
    struct toolrack_result **results; /* of the items; NULL: null */
    struct toolrack_result *single;   /* what `results` is for one item */
};

struct plan_run {
    uint32_t magic;
    struct plan_run_options options;
    struct schedule schedule;
    struct node_run *nodes;
    struct listed *lists;   /* of the arrays of the inputs */
    uint32_t *begun;        /* the nodes that begin together; as many as may run at once */
    struct flight *flights; /* those that run or wait */
    struct flight *free;
    uint32_t flying;      /* how many these are */
    struct buf arguments; /* of the call that begins */
    struct plan_memory_share share;
    uint32_t working; /* nodes that run */
    uint64_t random;
    uint64_t deadline_ns; /* 0: none */
    bool kept;            /* once at least */
    bool stopped;
    bool waits; /* a node waits for an approval: the run stops when nothing runs any more */
    int code;   /* why it was stopped, or will be */
    struct toolrack_error *err;
    struct spin spin;
    atomic_uint wakes; /* how often an end or the cancellation was noted */
    struct lock lock;  /* guards what follows */
    pthread_cond_t woken;
    struct flight *ended; /* calls that have ended, the newest first */
    bool cancelled;
};

/* --------------------------------------------------------------------------- making and ending */

/* Who may refer to the result of a node. */
struct counting {
    const struct plan *plan;
    struct node_run *nodes;
};

static bool count_use(void *user, const struct reference *reference, const char *pointer) {
    const struct counting *counting = user;
    (void)pointer;
    if (reference->kind == REFERENCE_NODE) {
        counting->nodes[plan_find_node(counting->plan, reference->name, reference->name_length)]
                .uses++;
    }
    return true;
}

static void count_uses(const struct plan *plan, struct node_run *nodes) {
    char pointer[JSON_POINTER_MAX] = "";
    struct counting counting = {plan, nodes};
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        const struct graph_node *node = &plan->graph.nodes[i];
        for (uint32_t k = 0; k < node->need_count; k++) {
            nodes[node->needs[k].node].uses += node->needs[k].data;
        }
        nodes[i].uses += plan->result == NULL && node->needed_by_count == 0;
    }
    if (plan->result != NULL) {
        (void)references_each(plan->result, pointer, count_use, &counting);
    }
}

struct plan_run *plan_run_create(const struct plan_run_options *options) {
    const uint32_t count = options->plan->graph.count;
    struct plan_run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return NULL;
    }
    run->magic = PLAN_RUN_MAGIC;
    run->options = *options;
    run->random = options->seed;
    plan_memory_share_begin(&run->share, options->memory, options->party);
    spin_init(&run->spin, SPIN_NS_MAX);
    lock_init(&run->lock);
    clock_cond_init(&run->woken);
    run->err = toolrack_error_create();
    run->nodes = calloc(count + 1u, sizeof *run->nodes);
    run->begun = calloc(options->plan->parallel + 1u, sizeof *run->begun);
    if (run->err == NULL || run->nodes == NULL || run->begun == NULL ||
        !schedule_init(&run->schedule, &options->plan->graph)) {
        plan_run_destroy(run);
        return NULL;
    }
    count_uses(options->plan, run->nodes);
    return run;
}

static void drop_items(struct plan_run *run, struct node_run *node) {
    for (uint32_t i = 0; node->results != NULL && i < node->item_count; i++) {
        toolrack_result_free(node->results[i]);
    }
    free(node->results != &node->single ? node->results : NULL);
    node->results = NULL;
    yyjson_doc_free(STEAL(node->items));
    plan_memory_give(&run->share, node->items_held);
    node->items_held = 0;
    toolrack_error_free(STEAL(node->err));
    toolrack_error_free(STEAL(node->replaced));
}

static void drop_result(struct plan_run *run, struct node_run *node) {
    plan_memory_give(&run->share, node->held);
    node->held = 0;
    listed_free(STEAL(node->lists));
    yyjson_doc_free(STEAL(node->doc));
    toolrack_result_free(STEAL(node->result));
    free(STEAL(node->text));
}

void plan_run_destroy(struct plan_run *run) {
    if (run == NULL) {
        return;
    }
    for (uint32_t i = 0; run->nodes != NULL && i < run->options.plan->graph.count; i++) {
        drop_items(run, &run->nodes[i]);
        drop_result(run, &run->nodes[i]);
    }
    for (struct flight *flight = run->free, *next; flight != NULL; flight = next) {
        next = flight->next;
        toolrack_error_free(flight->err);
        free(flight);
    }
    plan_memory_share_end(&run->share);
    schedule_finish(&run->schedule);
    listed_free(run->lists);
    free(run->nodes);
    free(run->begun);
    buf_finish(&run->arguments);
    toolrack_error_free(run->err);
    (void)pthread_cond_destroy(&run->woken);
    lock_finish(&run->lock);
    OBJECT_WIPE(run, PLAN_RUN_MAGIC);
    free(run);
}

/* Caller holds the lock. */
static void wake(struct plan_run *run) {
    (void)atomic_fetch_add_explicit(&run->wakes, 1, memory_order_release);
    (void)pthread_cond_signal(&run->woken);
}

void plan_run_cancel(struct plan_run *run) {
    LOCK_SCOPE(&run->lock);
    run->cancelled = true;
    wake(run);
}

enum schedule_state plan_run_state(const struct plan_run *run, uint32_t node) {
    return run->schedule.states[node];
}

uint32_t plan_run_attempts(const struct plan_run *run, uint32_t node) {
    return run->nodes[node].attempts;
}

/* -------------------------------------------------------------------------------------- values */

/* Where the references of a template get their values. */
struct source {
    struct plan_run *run;
    yyjson_val *item;    /* NULL: none */
    bool may_be_skipped; /* the result of a node that has none is null */
    bool failed;         /* no memory */
    yyjson_val whole;    /* a result as it is */
    size_t counted;      /* bytes that are held for what is written, if it is long */
    bool refused;        /* the run may not hold as much */
    struct toolrack_error *err;
};

static const char *result_text(const struct node_run *node, size_t *ret_length) {
    *ret_length = node->length;
    return node->text != NULL     ? node->text
           : node->result != NULL ? toolrack_result_json(node->result, ret_length)
                                  : NULL;
}

/* A result that is written out as a whole is not parsed before; the value lives until the next one.
 */
static yyjson_val *result_as_it_is(struct source *source, uint32_t index) {
    size_t length;
    const char *text = result_text(&source->run->nodes[index], &length);
    if (text == NULL) {
        return NULL;
    }
    source->whole.tag = ((uint64_t)length << YYJSON_TAG_BIT) | YYJSON_TYPE_RAW;
    source->whole.uni.str = text;
    return &source->whole;
}

static yyjson_val *result_value(struct source *source, uint32_t index) {
    struct node_run *node = &source->run->nodes[index];
    size_t length;
    const char *text = result_text(node, &length);
    if (node->doc == NULL && text != NULL) {
        const size_t size = plan_memory_parsed_size(text, length);
        if (plan_memory_take(&source->run->share, size, source->err) < 0) {
            source->refused = true;
            return NULL;
        }
        node->held += size;
        node->doc = yyjson_read_opts((char *)(uintptr_t)text, length, YYJSON_READ_BIGNUM_AS_RAW,
                                     NULL, NULL);
        source->failed = source->failed || node->doc == NULL;
    }
    return yyjson_doc_get_root(node->doc);
}

static yyjson_val *find_in_result(struct source *source, const struct reference *reference) {
    static yyjson_val null = {.tag = YYJSON_TYPE_NULL};
    const struct plan *plan = source->run->options.plan;
    uint32_t index = plan_find_node(plan, reference->name, reference->name_length);
    if (source->may_be_skipped && source->run->schedule.states[index] != SCHEDULE_SUCCEEDED) {
        return &null;
    }
    if (reference->path_length == 0 && reference->text[0] == '#') {
        return result_as_it_is(source, index);
    }
    yyjson_val *value = result_value(source, index);
    return listed_find(&source->run->nodes[index].lists, value, reference->path,
                       reference->path_length);
}

static yyjson_val *find_value(void *user, const struct reference *reference) {
    struct source *source = user;
    const struct plan_run_options *options = &source->run->options;
    yyjson_val *from = NULL;
    switch (reference->kind) {
    case REFERENCE_NODE: return find_in_result(source, reference);
    case REFERENCE_INPUT:
        from = yyjson_obj_getn(options->inputs, reference->name, reference->name_length);
        return listed_find(&source->run->lists, from, reference->path, reference->path_length);
    case REFERENCE_ITEM: from = source->item; break;
    case REFERENCE_WRONG: break;
    }
    return reference->path_length > 0
                   ? yyjson_ptr_getn(from, reference->path, reference->path_length)
                   : from;
}

/* What is written is held like a result, unless it is short. */
static bool has_room(void *user, size_t length) {
    struct source *source = user;
    if (length <= ARGUMENTS_KEPT || length <= source->counted) {
        return true;
    }
    if (plan_memory_take(&source->run->share, length - source->counted, source->err) < 0) {
        source->refused = true;
        return false;
    }
    source->counted = length;
    return true;
}

static int fill_all(struct source *source, yyjson_val *template, struct buf *out,
                    struct toolrack_error *err) {
    struct reference_text missing;
    source->err = err;
    bool complete = template_fill(template, find_value, has_room, source, out, &missing);
    complete = complete && has_room(source, out->length);
    if (out->failed || source->failed) {
        return error_oom(err);
    }
    if (source->refused) {
        return toolrack_error_code(err);
    }
    if (!complete && missing.text == NULL) {
        return error_set(
                err, TOOLRACK_E_LIMIT_EXCEEDED,
                "with the values of its references it is longer than the %u bytes allowed; "
                "refer to less",
                TEMPLATE_FILLED_MAX);
    }
    return complete ? 0
                    : error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                                "%.*s has no value: what it refers to has no such part",
                                (int)missing.length, missing.text);
}

/* Write a template with its values. Of what is held for that, source->counted, the caller gives
 * back. */
static int fill(struct source *source, yyjson_val *template, struct buf *out,
                struct toolrack_error *err) {
    int code = fill_all(source, template, out, err);
    if (code < 0) {
        plan_memory_give(&source->run->share, source->counted);
        source->counted = 0;
    }
    return code;
}

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Fill a template and read it again.
 * @param ret_held  receives the bytes that are held for the document, to be given back */
static int fill_value(struct plan_run *run, yyjson_val *template, yyjson_doc **ret,
                      size_t *ret_held, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct source source = {.run = run};
    int code = fill(&source, template, &text, err);
    if (code < 0) {
        return code;
    }
    const size_t size = plan_memory_parsed_size(text.data, text.length);
    code = plan_memory_take(&run->share, size, err);
    if (code == 0) {
        *ret_held = size;
        *ret = yyjson_read_opts(text.data, text.length, YYJSON_READ_BIGNUM_AS_RAW, NULL, NULL);
        code = *ret != NULL ? 0 : error_oom(err);
    }
    plan_memory_give(&run->share, source.counted);
    return code;
}

/* ------------------------------------------------------------------------------- ends of nodes */

static void tell(struct plan_run *run, const struct plan_event *event) {
    run->nodes[event->node].told |= event->kind == PLAN_NODE_ENDED;
    if (run->options.event != NULL) {
        run->options.event(run->options.user, event);
    }
}

/* No node begins any more; `err` says why, unless that is known. */
static void stop(struct plan_run *run, const struct toolrack_error *err) {
    if (run->stopped) {
        return;
    }
    run->stopped = true;
    run->code = toolrack_error_code(err);
    toolrack_error_copy(run->err, err);
    schedule_stop(&run->schedule);
}

/* The run ends, or waits, for a node: its error says which, and of which tool. */
static void name_node(struct plan_run *run, uint32_t index, bool is_fallback) {
    const struct plan_node *node = &run->options.plan->nodes[index];
    CLEANUP(buf_finish) struct buf words = BUF_INIT;
    buf_printf(&words, "node '%s' (%s)", node->id,
               is_fallback && node->fallback_tool != NULL ? node->fallback_tool : node->tool);
    if (!words.failed) {
        error_prefix(run->err, words.data);
    }
}

/* The same for what a node failed of. */
static void stop_for(struct plan_run *run, uint32_t index, bool is_fallback,
                     const struct toolrack_error *err) {
    if (!run->stopped) {
        stop(run, err);
        name_node(run, index, is_fallback);
    }
}

/* A node waits for an approval, which may take hours: what does not need it goes on. */
static void wait_for_approval(struct plan_run *run, uint32_t index, bool is_fallback) {
    struct node_run *node = &run->nodes[index];
    node->waits = true;
    if (!run->waits) {
        run->waits = true;
        run->code = toolrack_error_code(node->err);
        toolrack_error_copy(run->err, node->err);
        name_node(run, index, is_fallback);
    }
}

/* The results that a node has referred to are not needed by it any more. */
static void release_needs(struct plan_run *run, uint32_t index) {
    const struct graph_node *node = &run->options.plan->graph.nodes[index];
    for (uint32_t i = 0; i < node->need_count; i++) {
        struct node_run *needed = &run->nodes[node->needs[i].node];
        if (node->needs[i].data && --needed->uses == 0) {
            drop_result(run, needed);
        }
    }
}

/* The last end of a node has skipped others: they are told, and need nothing any more. */
static void end_skipped(struct plan_run *run) {
    for (uint32_t i = 1; i < run->schedule.end_count; i++) {
        const uint32_t skipped = run->schedule.ends[i];
        tell(run, &(struct plan_event){.kind = PLAN_NODE_ENDED,
                                       .node = skipped,
                                       .state = SCHEDULE_SKIPPED,
                                       .attempt = run->nodes[skipped].attempts});
        release_needs(run, skipped);
    }
}

static void end_node(struct plan_run *run, uint32_t index, enum schedule_state state,
                     const struct toolrack_error *err) {
    struct node_run *node = &run->nodes[index];
    struct plan_event event = {.kind = PLAN_NODE_ENDED,
                               .node = index,
                               .state = state,
                               .attempt = node->attempts,
                               .duration_ns = clock_now_ns() - node->began_ns,
                               .err = err,
                               .waits = node->waits,
                               .called = node->called};
    if (state == SCHEDULE_SUCCEEDED) {
        event.result = result_text(node, &event.result_length);
        event.replaced = node->replaced;
    }
    run->working--;
    if (node->waits) {
        schedule_hold(&run->schedule, index);
    } else {
        schedule_end(&run->schedule, index, state);
    }
    tell(run, &event);
    drop_items(run, node);
    release_needs(run, index);
    if (node->uses == 0 || state != SCHEDULE_SUCCEEDED) {
        drop_result(run, node);
    }
    end_skipped(run);
}

/* The results of the items as one array. */
static bool join_items(struct node_run *node) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_char(&text, '[');
    for (uint32_t i = 0; i < node->item_count; i++) {
        size_t length = 4;
        const char *json =
                node->results[i] != NULL ? toolrack_result_json(node->results[i], &length) : "null";
        if (i > 0) {
            buf_add_char(&text, ',');
        }
        buf_add(&text, json, length);
        toolrack_result_free(STEAL(node->results[i]));
    }
    buf_add_char(&text, ']');
    node->length = text.length;
    node->text = buf_steal(&text);
    return node->text != NULL;
}

static void fail_for_memory(struct plan_run *run, uint32_t index) {
    struct toolrack_error err;
    (void)error_oom(&err);
    stop(run, &err);
    end_node(run, index, SCHEDULE_FAILED, &err);
}

/* --------------------------------------------------------------------------------------- calls */

static void done(void *user, struct toolrack_result *result, const struct toolrack_error *err) {
    struct flight *flight = user;
    struct plan_run *run = flight->run;
    flight->result = result;
    if (result == NULL) {
        toolrack_error_copy(flight->err, err);
    }
    LOCK_SCOPE(&run->lock);
    flight->ended = run->ended;
    run->ended = flight;
    wake(run);
}

static struct flight *new_flight(struct plan_run *run, uint32_t node, uint32_t item) {
    struct flight *flight = run->free != NULL ? run->free : calloc(1, sizeof *flight);
    if (flight != NULL && flight == run->free) {
        run->free = flight->next;
    }
    if (flight != NULL && flight->err == NULL) {
        flight->err = toolrack_error_create();
    }
    if (flight == NULL || flight->err == NULL) {
        free(flight);
        return NULL;
    }
    *flight = (struct flight){.run = run, .node = node, .item = item, .err = flight->err};
    flight->next = run->flights;
    if (run->flights != NULL) {
        run->flights->previous = flight;
    }
    run->flights = flight;
    run->flying++;
    return flight;
}

static void free_flight(struct plan_run *run, struct flight *flight) {
    if (flight->next != NULL) {
        flight->next->previous = flight->previous;
    }
    if (flight->previous != NULL) {
        flight->previous->next = flight->next;
    } else {
        run->flights = flight->next;
    }
    flight->next = run->free;
    run->free = flight;
    run->flying--;
}

/* A call has its arguments as text and parsed: long ones are held until it has ended. */
static int hold_arguments(struct plan_run *run, struct flight *flight, const struct source *source,
                          struct toolrack_error *err) {
    const struct buf *text = &run->arguments;
    size_t size =
            text->length > ARGUMENTS_KEPT ? plan_memory_parsed_size(text->data, text->length) : 0;
    flight->held = source->counted;
    int code = size > flight->held ? plan_memory_take(&run->share, size - flight->held, err) : 0;
    flight->held = code == 0 && size > flight->held ? size : flight->held;
    return code;
}

/* Make the call of a flight. */
static int begin_call(struct plan_run *run, struct flight *flight, struct toolrack_error *err) {
    const struct plan_node *node = &run->options.plan->nodes[flight->node];
    struct buf *text = &run->arguments;
    struct source source = {.run = run, .item = flight->value};
    yyjson_val *arguments = flight->is_fallback && node->fallback_arguments != NULL
                                    ? node->fallback_arguments
                                    : node->arguments;
    const struct plan_tools *tools = run->options.tools;
    buf_clear(text);
    /* Also one that cannot begin is an attempt: their number is limited. */
    flight->due_ns = 0;
    flight->attempt++;
    int code = arguments != NULL ? fill(&source, arguments, text, err) : 0;
    flight->unfilled = code < 0;
    code = code == 0 ? hold_arguments(run, flight, &source, err) : code;
    if (code < 0) {
        buf_finish(text);
        return code;
    }
    run->nodes[flight->node].attempts++;
    const struct plan_call call = {.node = flight->node,
                                   .is_fallback = flight->is_fallback,
                                   .tool = flight->is_fallback ? tools->fallbacks[flight->node]
                                                               : tools->tools[flight->node],
                                   .arguments = text->length > 0 ? text->data : "{}",
                                   .length = text->length > 0 ? text->length : 2,
                                   .deadline_ms = node->deadline_ms};
    code = run->options.submit(run->options.user, &call, done, flight, &flight->call, err);
    if (text->length > ARGUMENTS_KEPT) {
        buf_finish(text);
    }
    return code;
}

static void end_flight(struct plan_run *run, struct flight *flight);

/* Begin the call of a flight; what keeps it from that is how it has ended. */
static void begin_flight(struct plan_run *run, struct flight *flight) {
    struct toolrack_error err;
    if (begin_call(run, flight, &err) < 0) {
        toolrack_error_copy(flight->err, &err);
        end_flight(run, flight);
    }
}

/* -------------------------------------------------------------------------------- items of a node
 *
 * A node without for_each has one item. */

/* All items have a result, or may do without. */
static void finish_node(struct plan_run *run, uint32_t index) {
    struct node_run *node = &run->nodes[index];
    if (run->options.plan->nodes[index].items == NULL) {
        node->result = STEAL(node->results[0]);
    } else if (!join_items(node)) {
        fail_for_memory(run, index);
        return;
    }
    end_node(run, index, SCHEDULE_SUCCEEDED, NULL);
}

/* Many nodes with many items each would fill the queue of calls, which fails those that find no
 * room: then each node has one. */
static bool may_begin_item(const struct plan_run *run, const struct node_run *node,
                           uint32_t parallel) {
    return node->items_running == 0 ||
           (node->items_running < parallel && run->flying < PLAN_CALLS_MAX);
}

/* Go on with a node of which no call has just begun or ended: begin items, as many as may run at
 * once, or end it. */
static void go_on(struct plan_run *run, uint32_t index) {
    struct node_run *node = &run->nodes[index];
    const uint32_t parallel = run->options.plan->nodes[index].items_parallel;
    while (!run->stopped && !node->failed && node->next_item < node->item_count &&
           may_begin_item(run, node, parallel)) {
        struct flight *flight = new_flight(run, index, node->next_item);
        if (flight == NULL) {
            struct toolrack_error err;
            (void)error_oom(&err);
            node->failed = true;
            stop(run, &err);
            break;
        }
        flight->value = node->next_value;
        node->next_value = node->next_item + 1 < node->item_count
                                   ? unsafe_yyjson_get_next(node->next_value)
                                   : NULL;
        node->next_item++;
        node->items_running++;
        begin_flight(run, flight);
    }
    if (node->items_running > 0) {
        return;
    }
    if (node->failed) {
        end_node(run, index, SCHEDULE_FAILED, node->err != NULL ? node->err : run->err);
    } else if (run->stopped) {
        end_node(run, index, SCHEDULE_CANCELLED, NULL);
    } else {
        finish_node(run, index);
    }
}

/* Count a result among those that the run has in memory. False: they are too many. */
static bool hold(struct plan_run *run, struct node_run *node, const struct toolrack_result *result,
                 struct toolrack_error *err) {
    size_t length;
    (void)toolrack_result_json(result, &length);
    if (plan_memory_take(&run->share, length, err) < 0) {
        return false;
    }
    node->held += length;
    return true;
}

/* An item has ended. @param result  taken; NULL: it failed, with the error of the flight, which is
 * taken if it counts */
static void end_item(struct plan_run *run, struct flight *flight, struct toolrack_result *result) {
    const struct plan_node *plan = &run->options.plan->nodes[flight->node];
    struct node_run *node = &run->nodes[flight->node];
    bool may_fail = plan->on_error == PLAN_SKIP;
    if (result != NULL && !hold(run, node, result, flight->err)) {
        toolrack_result_free(STEAL(result));
    }
    node->items_running--;
    node->results[flight->item] = result;
    if (result != NULL && flight->is_fallback && node->replaced == NULL) {
        node->replaced = STEAL(flight->err);
    }
    if (result != NULL || (may_fail && plan->items != NULL) || node->failed || run->stopped) {
        return; /* of several failures the first counts */
    }
    node->failed = true;
    node->err = STEAL(flight->err);
    if (toolrack_error_code(node->err) == TOOLRACK_E_CONFIRMATION_REQUIRED && !may_fail) {
        wait_for_approval(run, flight->node, flight->is_fallback);
    } else if (!may_fail) {
        stop_for(run, flight->node, flight->is_fallback, node->err);
    }
}

/* ------------------------------------------------------------------------- attempts of an item */

static uint64_t next_random(struct plan_run *run) {
    run->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = run->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* The time before the next attempt: doubled each time, at most the longest; of its second half a
 * random part, so that many runs do not come back at once. */
static uint32_t delay_of(struct plan_run *run, const struct plan_retry *retry, uint32_t attempt) {
    uint64_t delay = retry->delay_ms;
    for (uint32_t i = 1; i < attempt && delay < retry->max_delay_ms; i++) {
        delay *= 2;
    }
    delay = delay < retry->max_delay_ms ? delay : retry->max_delay_ms;
    return (uint32_t)(delay - next_random(run) % (delay / 2 + 1));
}

/* Whether another attempt may succeed by itself. */
static bool may_retry(const struct plan_run *run, const struct flight *flight) {
    const struct plan_retry *retry = &run->options.plan->nodes[flight->node].retry;
    int code = toolrack_error_code(flight->err);
    return !flight->is_fallback && !flight->unfilled && flight->attempt < retry->attempts &&
           (code == TOOLRACK_E_EXECUTION_FAILED || code == TOOLRACK_E_TIMEOUT ||
            code == TOOLRACK_E_LIMIT_EXCEEDED) &&
           toolrack_error_is_recoverable(flight->err);
}

static void wait_for_retry(struct plan_run *run, struct flight *flight) {
    const struct plan_retry *retry = &run->options.plan->nodes[flight->node].retry;
    uint32_t delay = delay_of(run, retry, flight->attempt);
    flight->due_ns = clock_now_ns() + (uint64_t)delay * CLOCK_NS_PER_MS;
    tell(run, &(struct plan_event){.kind = PLAN_NODE_RETRIED,
                                   .node = flight->node,
                                   .state = SCHEDULE_RUNNING,
                                   .attempt = run->nodes[flight->node].attempts,
                                   .delay_ms = delay,
                                   .err = flight->err});
}

/* The fallback value in place of a result. */
static int take_fallback(struct plan_run *run, const struct flight *flight,
                         struct toolrack_result **ret, struct toolrack_error *err) {
    struct source source = {.run = run, .item = flight->value};
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    result_begin(&text);
    int code = fill(&source, run->options.plan->nodes[flight->node].fallback_value, &text, err);
    plan_memory_give(&run->share, source.counted); /* as a result it is held by hold() */
    return code < 0 ? code : result_end(&text, NULL, ret, err);
}

/* An item has failed for good: go another way, or end it. */
static void give_up(struct plan_run *run, struct flight *flight) {
    const struct plan_node *plan = &run->options.plan->nodes[flight->node];
    struct toolrack_result *result = NULL;
    if (!run->stopped && plan->fallback_tool != NULL && !flight->is_fallback) {
        flight->is_fallback = true;
        begin_flight(run, flight);
        return;
    }
    if (!run->stopped && plan->fallback_value != NULL) {
        flight->is_fallback = take_fallback(run, flight, &result, flight->err) == 0;
    }
    bool has_fallback = plan->fallback_tool != NULL || plan->fallback_value != NULL;
    if (result == NULL && has_fallback && !run->stopped &&
        toolrack_error_code(flight->err) != TOOLRACK_E_CONFIRMATION_REQUIRED) {
        error_prefix(flight->err, "its fallback failed too: ");
    }
    end_item(run, flight, result);
    free_flight(run, flight);
}

/* The call of a flight has ended, or could not begin: try again, go another way, or end the item.
 * The node is gone on with by the caller. */
static void end_flight(struct plan_run *run, struct flight *flight) {
    struct toolrack_result *result = STEAL(flight->result);
    plan_memory_give(&run->share, flight->held);
    flight->held = 0;
    if (result != NULL) {
        end_item(run, flight, result);
        free_flight(run, flight);
    } else if (!run->stopped && may_retry(run, flight)) {
        wait_for_retry(run, flight);
    } else {
        give_up(run, flight);
    }
}

/* --------------------------------------------------------------------------------------- nodes */

/* Whether the condition of a node holds; 0 or 1, or the code of what kept it from being known. */
static int holds(struct plan_run *run, const struct plan_node *node, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = NULL;
    size_t held = 0;
    int code = node->when != NULL ? fill_value(run, node->when, &doc, &held, err) : 0;
    plan_memory_give(&run->share, held); /* it goes with this function */
    if (code < 0 || node->when == NULL) {
        return code < 0 ? code : 1;
    }
    yyjson_val *value = yyjson_doc_get_root(doc);
    if (node->is == NULL) {
        return yyjson_is_true(value);
    }
    struct schema_failure failure = {0};
    if (schema_validate(node->is, value, &failure)) {
        return 1;
    }
    return failure.code == TOOLRACK_E_INVALID_ARGUMENTS
                   ? 0
                   : error_set(err, failure.code, "the condition: %s", failure.reason);
}

/* The items of a node; one without for_each has one. */
static int take_items(struct plan_run *run, uint32_t index, struct toolrack_error *err) {
    const struct plan_node *plan = &run->options.plan->nodes[index];
    struct node_run *node = &run->nodes[index];
    size_t count = 1;
    if (plan->items != NULL) {
        int code = fill_value(run, plan->items, &node->items, &node->items_held, err);
        if (code < 0) {
            return code;
        }
        yyjson_val *items = yyjson_doc_get_root(node->items);
        count = yyjson_arr_size(items);
        node->next_value = count > 0 ? unsafe_yyjson_get_first(items) : NULL;
        if (!yyjson_is_arr(items)) {
            return error_set(err, TOOLRACK_E_INVALID_ARGUMENTS,
                             "\"for_each\" wants an array, and the value is %s",
                             yyjson_get_type_desc(items));
        }
        if (count > plan->items_max) {
            return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                             "\"for_each\" has %zu items of the %u allowed; set \"max_items\"",
                             count, plan->items_max);
        }
    }
    node->item_count = (uint32_t)count;
    node->results = count == 1 ? &node->single : calloc(count + 1, sizeof *node->results);
    return node->results != NULL ? 0 : error_oom(err);
}

/* The condition or the items of a node are wrong. Its fallback stands in once, as of one item: so
 * the result of a for_each stays an array. */
static void fail_to_begin(struct plan_run *run, uint32_t index, const struct toolrack_error *err) {
    const struct plan_node *plan = &run->options.plan->nodes[index];
    struct node_run *node = &run->nodes[index];
    bool has_fallback = plan->fallback_tool != NULL || plan->fallback_value != NULL;
    struct flight *flight = has_fallback ? new_flight(run, index, 0) : NULL;
    if (flight == NULL) {
        if (plan->on_error != PLAN_SKIP) {
            stop_for(run, index, false, err);
        }
        end_node(run, index, SCHEDULE_FAILED, err);
        return;
    }
    node->item_count = node->next_item = node->items_running = 1;
    node->results = &node->single;
    toolrack_error_copy(flight->err, err);
    give_up(run, flight);
    go_on(run, index);
}

static void begin_node(struct plan_run *run, uint32_t index) {
    const struct plan_node *plan = &run->options.plan->nodes[index];
    struct toolrack_error err;
    run->nodes[index].began_ns = clock_now_ns();
    tell(run,
         &(struct plan_event){.kind = PLAN_NODE_BEGAN, .node = index, .state = SCHEDULE_RUNNING});
    int code = holds(run, plan, &err);
    if (code == 0) {
        end_node(run, index, SCHEDULE_SKIPPED, NULL);
        return;
    }
    code = code < 0 ? code : take_items(run, index, &err);
    if (code == 0) {
        go_on(run, index);
    } else {
        fail_to_begin(run, index, &err);
    }
}

/* ------------------------------------------------------------------------------------- the run */

/* Cancel what runs, and wait for no further attempt. */
static void cancel_flights(struct plan_run *run) {
    for (struct flight *flight = run->flights, *next; flight != NULL; flight = next) {
        next = flight->next;
        if (flight->due_ns == 0) {
            run->options.cancel(run->options.user, flight->call);
        } else {
            uint32_t node = flight->node;
            flight->due_ns = 0;
            end_flight(run, flight);
            go_on(run, node);
        }
    }
}

/* Have kept what has ended, and which nodes begin now. The ends of the last nodes are kept with
 * that of the run. */
static void keep(struct plan_run *run, uint32_t count) {
    struct toolrack_error err;
    bool is_last = run->kept && count == 0 && run->working == 0;
    run->kept = true;
    if (run->options.keep != NULL && !is_last &&
        run->options.keep(run->options.user, run->begun, count, &err) < 0) {
        stop(run, &err);
    }
}

/* Stop for a reason of the run's own, if there is one now. */
static void check_end(struct plan_run *run) {
    struct toolrack_error err;
    if (run->stopped || schedule_is_done(&run->schedule)) {
        return;
    }
    lock_take(&run->lock);
    bool cancelled = run->cancelled;
    lock_release(&run->lock);
    cancelled = cancelled ||
                (run->options.unwanted != NULL && run->options.unwanted(run->options.user));
    if (cancelled) {
        (void)error_set(&err, TOOLRACK_E_CANCELLED, "the run was cancelled");
        stop(run, &err);
    } else if (run->deadline_ns > 0 && clock_now_ns() >= run->deadline_ns) {
        (void)error_set(&err, TOOLRACK_E_TIMEOUT, "the run did not end within its %u ms",
                        run->options.plan->deadline_ms);
        stop(run, &err);
    }
}

/* Begin the nodes that are ready, as many as may run: together, so that they are kept at once. */
static void begin_nodes(struct plan_run *run) {
    uint32_t count;
    do {
        count = 0;
        check_end(run); /* whoever was told of an end may have cancelled it */
        while (!run->stopped && run->working < run->options.plan->parallel &&
               schedule_next(&run->schedule, &run->begun[count])) {
            run->working++;
            count++;
        }
        keep(run, count);
        for (uint32_t i = 0; i < count; i++) {
            if (run->stopped) {
                run->working--;
                schedule_end(&run->schedule, run->begun[i], SCHEDULE_CANCELLED);
            } else {
                begin_node(run, run->begun[i]);
            }
        }
    } while (count > 0);
}

/* Begin the attempts that are due; returns when the next one is, UINT64_MAX: there is none. */
static uint64_t begin_due(struct plan_run *run) {
    uint64_t now = clock_now_ns();
    for (struct flight *flight = run->flights, *next; flight != NULL; flight = next) {
        next = flight->next;
        if (!run->stopped && flight->due_ns != 0 && flight->due_ns <= now) {
            uint32_t node = flight->node;
            begin_flight(run, flight);
            go_on(run, node);
        }
    }
    /* Only now: one that could not begin waits anew. */
    uint64_t first = run->deadline_ns > 0 ? run->deadline_ns : UINT64_MAX;
    for (const struct flight *flight = run->flights; flight != NULL; flight = flight->next) {
        first = flight->due_ns != 0 && flight->due_ns < first ? flight->due_ns : first;
    }
    return first;
}

/* How long to wait at most, if whether the run is wanted has to be asked. */
static uint64_t until_look(const struct plan_run *run, uint64_t due_ns) {
    if (run->options.unwanted == NULL || run->stopped) {
        return due_ns;
    }
    uint64_t look_ns = clock_now_ns() + LOOK_EACH_MS * CLOCK_NS_PER_MS;
    return look_ns < due_ns ? look_ns : due_ns;
}

/* Caller holds the lock. */
static bool must_wait(const struct plan_run *run) {
    return run->ended == NULL && (!run->cancelled || run->stopped);
}

/* Most calls are short: to see an end is quicker than to be woken by it. */
static void spin_for_ends(struct plan_run *run) {
    lock_take(&run->lock);
    unsigned seen = atomic_load_explicit(&run->wakes, memory_order_relaxed);
    bool waits = must_wait(run);
    lock_release(&run->lock);
    if (waits && spin_worthwhile(&run->spin)) {
        (void)spin_while(&run->spin, &run->wakes, seen);
    }
}

/* Wait until calls have ended, until a time, or until the run is cancelled; the calls in the order
 * in which they ended. */
static struct flight *wait_for_ends(struct plan_run *run, uint64_t until_ns) {
    struct timespec until = clock_timespec(until_ns);
    spin_for_ends(run);
    LOCK_SCOPE(&run->lock);
    while (must_wait(run)) {
        if (until_ns == UINT64_MAX) {
            lock_wait(&run->lock, &run->woken);
        } else if (!lock_wait_until(&run->lock, &run->woken, &until)) {
            break;
        }
    }
    struct flight *first = NULL;
    for (struct flight *flight = STEAL(run->ended), *next; flight != NULL; flight = next) {
        next = flight->ended;
        flight->ended = first;
        first = flight;
    }
    return first;
}

static void take_ends(struct plan_run *run, struct flight *first) {
    for (struct flight *flight = first, *next; flight != NULL; flight = next) {
        uint32_t node = flight->node;
        next = flight->ended;
        run->options.release(run->options.user, STEAL(flight->call));
        if (flight->result != NULL ||
            toolrack_error_code(flight->err) != TOOLRACK_E_CONFIRMATION_REQUIRED) {
            run->nodes[node].called = true;
        }
        end_flight(run, flight);
        go_on(run, node);
    }
}

/* Tell of the nodes that did not begin before the run was stopped. */
static void tell_cancelled(struct plan_run *run) {
    for (uint32_t i = 0; i < run->options.plan->graph.count; i++) {
        if (!run->nodes[i].told) {
            tell(run, &(struct plan_event){.kind = PLAN_NODE_ENDED,
                                           .node = i,
                                           .state = run->schedule.states[i],
                                           .attempt = run->nodes[i].attempts});
        }
    }
}

static int write_result(struct plan_run *run, struct buf *ret, struct toolrack_error *err) {
    const struct plan *plan = run->options.plan;
    struct source source = {.run = run, .may_be_skipped = true};
    if (plan->result != NULL) {
        return fill(&source, plan->result, ret, err); /* held as long as the run is there */
    }
    bool first = true;
    buf_add_char(ret, '{');
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        if (plan->graph.nodes[i].needed_by_count > 0 ||
            run->schedule.states[i] != SCHEDULE_SUCCEEDED) {
            continue;
        }
        buf_add_text(ret, first ? "" : ",");
        buf_add_json_string(ret, plan->nodes[i].id, strlen(plan->nodes[i].id));
        buf_add_char(ret, ':');
        json_add_value(ret, result_as_it_is(&source, i));
        drop_result(run, &run->nodes[i]); /* nothing else needs it */
        first = false;
        source.err = err;
        if (!has_room(&source, ret->length)) {
            return toolrack_error_code(err);
        }
    }
    buf_add_char(ret, '}');
    return ret->failed || source.failed ? error_oom(err) : 0;
}

/* -------------------------------------------------------------------------- a run that goes on */

/* End a node as it ended before. */
static int restore_node(struct plan_run *run, uint32_t index, struct toolrack_error *err) {
    const struct plan_kept *kept = &run->options.kept[index];
    struct node_run *node = &run->nodes[index];
    if (kept->state == SCHEDULE_SUCCEEDED && kept->result != NULL && node->uses > 0) {
        int code = plan_memory_take(&run->share, kept->length, err);
        if (code < 0) {
            return code;
        }
        node->held = kept->length;
        node->text = strndup(kept->result, kept->length);
        node->length = kept->length;
        if (node->text == NULL) {
            return error_oom(err);
        }
    }
    schedule_resume(&run->schedule, index, kept->state);
    tell(run,
         &(struct plan_event){.kind = PLAN_NODE_ENDED,
                              .node = index,
                              .state = kept->state,
                              .attempt = kept->attempts,
                              .result = kept->state == SCHEDULE_SUCCEEDED ? kept->result : NULL,
                              .result_length = kept->length,
                              .err = kept->state == SCHEDULE_FAILED ? kept->err : NULL,
                              .replaced = kept->state == SCHEDULE_SUCCEEDED ? kept->err : NULL});
    release_needs(run, index);
    end_skipped(run);
    if (kept->state == SCHEDULE_FAILED && run->options.plan->nodes[index].on_error != PLAN_SKIP) {
        stop_for(run, index, false, kept->err);
    }
    return 0;
}

/* Those that a node needed come before it. */
static int restore_nodes(struct plan_run *run, struct toolrack_error *err) {
    const struct graph *graph = &run->options.plan->graph;
    CLEANUP(freep) uint32_t *order = graph_order(graph);
    if (order == NULL) {
        return error_oom(err);
    }
    for (uint32_t i = 0; i < graph->count; i++) {
        run->nodes[i].attempts = run->options.kept[i].attempts;
    }
    for (uint32_t i = 0; i < graph->count && !run->stopped; i++) {
        enum schedule_state state = run->schedule.states[order[i]];
        bool is_ended = state != SCHEDULE_WAITING && state != SCHEDULE_READY;
        int code = run->options.kept[order[i]].state != SCHEDULE_WAITING && !is_ended
                           ? restore_node(run, order[i], err)
                           : 0;
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* The results that are needed must be there. */
static int check_results(const struct plan_run *run, struct toolrack_error *err) {
    for (uint32_t i = 0; i < run->options.plan->graph.count; i++) {
        const struct node_run *node = &run->nodes[i];
        if (!run->stopped && run->schedule.states[i] == SCHEDULE_SUCCEEDED && node->uses > 0 &&
            node->text == NULL) {
            return error_set(err, TOOLRACK_E_REFUSED,
                             "the result of node '%s' is needed and was not kept; the node has to "
                             "be repeated",
                             run->options.plan->nodes[i].id);
        }
    }
    return 0;
}

static int restore(struct plan_run *run, struct toolrack_error *err) {
    int code = run->options.kept != NULL ? restore_nodes(run, err) : 0;
    return code == 0 && run->options.kept != NULL ? check_results(run, err) : code;
}

int plan_run(struct plan_run *run, struct buf *ret, struct toolrack_error *err) {
    OBJECT_CHECK(run, PLAN_RUN_MAGIC);
    int code = restore(run, err);
    if (code < 0) {
        return code;
    }
    const uint32_t deadline_ms = run->options.plan->deadline_ms;
    run->deadline_ns =
            deadline_ms > 0 ? clock_now_ns() + (uint64_t)deadline_ms * CLOCK_NS_PER_MS : 0;
    bool told = false;
    begin_nodes(run);
    while (run->working > 0) {
        if (run->stopped && !told) {
            told = true;
            cancel_flights(run);
            continue;
        }
        uint64_t due = run->stopped ? UINT64_MAX : begin_due(run);
        if (run->working == 0 || (run->stopped && !told)) {
            begin_nodes(run);
            continue;
        }
        take_ends(run, wait_for_ends(run, until_look(run, due)));
        begin_nodes(run);
    }
    if (run->waits && !run->stopped) {
        run->stopped = true;
        schedule_stop(&run->schedule);
    }
    if (run->stopped) {
        tell_cancelled(run);
        toolrack_error_copy(err, run->err);
        return run->code;
    }
    return write_result(run, ret, err);
}

/* -------------------------------------------------------------------------------------- inputs */

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

static int refuse_input(const char *name, const char *field, const char *reason,
                        struct toolrack_error *err) {
    char pointer[JSON_POINTER_MAX] = "";
    json_pointer_add(pointer, name);
    strncat(pointer, field, sizeof pointer - 1 - strlen(pointer));
    return error_set_field(err, TOOLRACK_E_INVALID_ARGUMENTS, pointer, "the input %s %s",
                           pointer + 1, reason);
}

/* A reason may quote the value that is wrong. */
static void hide_input(const struct plan_input *input, yyjson_val *value, char *reason) {
    CLEANUP(buf_finish) struct buf secrets = BUF_INIT;
    if (schema_has_secrets(input->described)) {
        schema_collect_secrets(input->described, value, &secrets);
        secrets_mask(&secrets, reason);
    }
}

int plan_take_inputs(const struct plan *plan, yyjson_val *given, yyjson_doc **ret,
                     struct toolrack_error *err) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    struct schema_failure failure;
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (given, at, count, key, value) {
        if (plan_find_input(plan, yyjson_get_str(key), yyjson_get_len(key)) == NULL) {
            return refuse_input(yyjson_get_str(key), "", "is none of the plan", err);
        }
    }
    for (size_t i = 0; i < plan->input_count; i++) {
        const struct plan_input *input = &plan->inputs[i];
        value = yyjson_obj_get(given, input->name);
        value = value != NULL ? value : input->otherwise;
        if (value == NULL) {
            return refuse_input(input->name, "", "is required", err);
        }
        if (!schema_validate(input->schema, value, &failure)) {
            hide_input(input, value, failure.reason);
            return refuse_input(input->name, failure.field, failure.reason, err);
        }
        (void)yyjson_mut_obj_add_val(doc, root, input->name, yyjson_val_mut_copy(doc, value));
    }
    yyjson_mut_doc_set_root(doc, root);
    *ret = json_doc_is_whole(doc) ? yyjson_mut_doc_imut_copy(doc, NULL) : NULL;
    return *ret != NULL ? 0 : error_oom(err);
}
