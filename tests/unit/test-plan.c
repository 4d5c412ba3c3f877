/* Plans: what is wrong with one, what needs what, and runs against a scheduler of few lines. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "plan/graph.h"
#include "plan/plan.h"
#include "plan/reference.h"
#include "plan/run.h"
#include "rounds.h"
#include "run/run.h"

#include <cmocka.h>

/* ------------------------------------------------------------------------------------- reading */

struct read {
    struct arena arena;
    struct problems problems;
    struct plan *plan;
};

static void read_plan(struct read *read, const char *text) {
    struct toolrack_error err;
    *read = (struct read){0};
    arena_init(&read->arena, NULL, 0);
    read->problems.arena = &read->arena;
    assert_int_equal(plan_read(text, strlen(text), &read->problems, &read->plan, &err), 0);
}

static void finish(struct read *read) {
    plan_destroy(read->plan);
    arena_finish(&read->arena);
}

/* JSON with ' for ". */
static void add_json(struct buf *out, const char *text) {
    for (; *text != '\0'; text++) {
        buf_add_char(out, *text == '\'' ? '"' : *text);
    }
}

/* The rules that a plan breaks, in order, and the last place. */
static void expect_problems(const char *text, const char *rules, const char *pointer) {
    struct read read;
    CLEANUP(buf_finish) struct buf found = BUF_INIT;
    read_plan(&read, text);
    for (size_t i = 0; i < read.problems.count; i++) {
        buf_printf(&found, "%s%s", i > 0 ? " " : "", read.problems.items[i].rule);
        assert_non_null(read.problems.items[i].fix);
    }
    if (strcmp(found.data != NULL ? found.data : "", rules) != 0) {
        print_error("%s\n", text);
    }
    assert_string_equal(found.data != NULL ? found.data : "", rules);
    assert_true((read.problems.errors == 0) == (rules[0] == '\0'));
    if (pointer != NULL) {
        assert_string_equal(read.problems.items[read.problems.count - 1].pointer, pointer);
    }
    finish(&read);
}

static void test_problems(void **state) {
    static const struct {
        const char *text;
        const char *rules;
        const char *pointer;
    } cases[] = {
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\"}]}", "", NULL},
            {"// a comment\n{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\",}],}", "", NULL},
            {"{", "plan-syntax", NULL},
            {"[]", "plan-value", ""},
            {"{}", "plan-missing", ""},
            {"{\"nodes\": []}", "plan-value", "/nodes"},
            {"{\"nodes\": [{\"id\": \"a\"}]}", "plan-missing", "/nodes/0"},
            {"{\"nodes\": [{\"id\": \"a b\", \"tool\": \"t\"}]}", "plan-value", "/nodes/0/id"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"argument\": {}}]}", "plan-key",
             "/nodes/0/argument"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": \"a\", \"tool\": \"t\"}]}",
             "plan-node-twice", "/nodes/1/id"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"depends_on\": [\"b\"]}]}",
             "plan-depends", "/nodes/0/depends_on/0"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"depends_on\": [\"a\"]}]}",
             "plan-cycle", "/nodes/0"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"arguments\": {\"x\": {\"$ref\": "
             "\"#/nodes/b/result\"}}}, {\"id\": \"b\", \"tool\": \"t\", \"arguments\": {\"x\": "
             "[\"${"
             "nodes.a.result.y}\"]}}]}",
             "plan-cycle", "/nodes/0"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"arguments\": {\"x\": {\"$ref\": "
             "\"#/nodes/b\"}}}]}",
             "plan-reference", "/nodes/0/arguments/x"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"arguments\": {\"x\": "
             "\"${inputs.city} "
             "${item}\"}}]}",
             "plan-reference plan-reference", "/nodes/0/arguments/x"},
            /* No name has a zero byte: it is not compared beyond. */
            {"{\"nodes\": [{\"tool\": \"t\", \"arguments\": {\"x\": {\"$ref\": "
             "\"#/nodes/a\\u0000aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/result\"}}, \"id\": \"a\"}]}",
             "plan-reference", "/nodes/0/arguments/x"},
            /* What only looks like one is none. */
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"arguments\": {\"x\": \"${HOME} $ "
             "${\", "
             "\"y\": {\"$ref\": \"#/$defs/x\"}, \"z\": {\"$literal\": {\"$ref\": "
             "\"#/nodes/none/result\"}}}}]}",
             "", NULL},
            {"{\"inputs\": {\"n\": {\"type\": \"nothing\"}}, \"nodes\": [{\"id\": \"a\", \"tool\": "
             "\"t\"}]}",
             "plan-schema", "/inputs/n"},
            /* Once, whatever is wrong with it. */
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": \"b\", \"tool\": \"t\", "
             "\"for_each\": \"{{a.result}}\", \"arguments\": {\"x\": {\"$ref\": \"#/item\"}}}]}",
             "plan-value", "/nodes/1/for_each"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"for_each\": {\"items\": "
             "\"#/nodes/a/result\"}}]}",
             "plan-value", "/nodes/0/for_each/items"},
            {"{\"nodes\": [{\"name\": \"a\", \"function\": \"t\"}]}", "plan-key plan-key",
             "/nodes/0/function"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"on_error\": \"maybe\"}]}",
             "plan-value", "/nodes/0/on_error"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"on_error\": {\"fallback\": {}}}]}",
             "plan-fallback", "/nodes/0/on_error/fallback"},
            {"{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"when\": {\"is\": {}}}]}", "plan-when",
             "/nodes/0/when"},
            /* All at once. */
            {"{\"nodes\": [{\"id\": \"a\", \"tol\": \"t\", \"depends_on\": [\"c\"]}, {\"id\": "
             "\"b\", "
             "\"tool\": \"t\", \"depends_on\": [\"b\"]}], \"result\": {\"$ref\": "
             "\"#/nodes/d/result\"}}",
             "plan-key plan-missing plan-depends plan-reference plan-cycle", "/nodes/1"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        expect_problems(cases[i].text, cases[i].rules, cases[i].pointer);
    }
}

/* What is written for a reference and is none is told, with the reference that was meant: an error
 * where it is nothing else, and a warning where it may be text. */
static void test_mistaken_references(void **state) {
    static const struct {
        const char *value; /* with ' for " */
        const char *fix;   /* its begin; NULL: nothing is wrong */
        bool is_warning;
    } cases[] = {
            /* Objects. */
            {"{'$ref': 'nodes.a.result'}", "write {'$ref': '#/nodes/a/result'};", false},
            {"{'$ref': '$.nodes.a.result.x[0].y'}", "write {'$ref': '#/nodes/a/result/x/0/y'};",
             false},
            {"{'$ref': '#/steps/a/outputs/x'}", "write {'$ref': '#/nodes/a/result/x'};", false},
            {"{'$ref': 'a'}", "write {'$ref': '#/nodes/a/result'};", false},
            {"{'$ref': '${a.result}'}", "write {'$ref': '#/nodes/a/result'};", false},
            {"{'$ref': 'inputs.city'}", "write {'$ref': '#/inputs/city'};", false},
            {"{'$ref': '#/nodes/a/result', 'default': 0}",
             "write {'$ref': '#/nodes/a/result'}, without other members", false},
            {"{'$ref': '#/nodes/a/output/x'}", "write #/nodes/a/result/x;", false},
            {"{'$ref': '#/nodes/a/x'}", "write #/nodes/a/result/x;", false},
            {"{'$ref': '#/$defs/a'}", NULL, false},
            {"{'$ref': 'item'}", NULL, false}, /* without for_each nothing is an item */
            {"{'$ref': '#/definitions/x', 'title': 't'}", NULL, false},
            {"{'$literal': {'$ref': 'nodes.a.result'}}", NULL, false},
            /* Strings that are nothing else. */
            {"'{{a.result}}'", "write {'$ref': '#/nodes/a/result'};", false},
            {"'{{ a.result.x | upper }}'", "write {'$ref': '#/nodes/a/result/x'};", false},
            {"'${{ steps.a.outputs.x }}'", "write {'$ref': '#/nodes/a/result/x'};", false},
            {"'#/nodes/a/result/x'", "write {'$ref': '#/nodes/a/result/x'};", false},
            {"'{{city}}'", "write {'$ref': '#/inputs/city'};", false},
            {"'${nodes.a.output.x}'", "write ${nodes.a.result.x};", false},
            {"'$a'", "write {'$ref': '#/nodes/a/result'};", true},
            {"'a.result.x'", "write {'$ref': '#/nodes/a/result/x'};", true},
            /* Within a string. */
            {"'got ${a.result} and {{ a.x }}'", "write ${nodes.a.result};", true},
            {"'${nodes.a.result} {{ a.result.x }}'", "write ${nodes.a.result.x};", true},
            {"'twice $a.x.'", "write ${nodes.a.result.x};", true},
            {"'see #/nodes/a/result/x'", "write ${nodes.a.result.x};", true},
            {"'a$b.c #1.2 $.x $'", NULL, false},
            {"{'$literal': '{{a.result}}'}", NULL, false},
            /* Brackets that are not closed. */
            {"'${nodes.a.result.x'", "write {'$ref': '#/nodes/a/result/x'};", false},
            {"'n is ${nodes.a.result.x and'", "write ${nodes.a.result.x};", true},
            {"'{{a.result'", "write {'$ref': '#/nodes/a/result'};", false},
            {"'{{a.result}'", "write ${nodes.a.result};", true},
            {"'${HOME and {{x'", NULL, false},
            /* Of what the plan has not. */
            {"{'$ref': 'nodes.b.result'}", "name a node of the plan: a, z, fetch;", false},
            {"{'$ref': '$.nodes.fecth.result.x'}", "did you mean 'fetch'?;", false},
            {"{'$ref': 'b.result'}", "name a node of the plan: a, z, fetch;", false},
            {"{'$ref': '#/steps/b/outputs/x'}", "name a node of the plan", false},
            {"{'$ref': 'inputs.citty'}", "add it to 'inputs'", false},
            {"'{{b.result}}'", "name a node of the plan: a, z, fetch;", false},
            {"'${b.result}'", "name a node of the plan: a, z, fetch;", false},
            {"'${{ steps.b.outputs.x }}'", "name a node of the plan", false},
            {"'{{nodes.b}}'", "name a node of the plan", false},
            {"'{{inputs.citty}}'", "add it to 'inputs'", false},
            {"'#/nodes/b/result/x'", "name a node of the plan", false},
            {"'got {{b.result.x}}.'", "name a node of the plan", true},
            {"{'$ref': '#/definitions/result'}", NULL, false},
            {"{'$ref': 'schemas/output.json'}", NULL, false},
            {"'$.data.result'", NULL, false},
            {"'{{user.name}}'", NULL, false},
            {"'{{steps.name}}'", NULL, false},
            {"'search.results'", NULL, false},
            {"{'$literal': '{{b.result}}'}", NULL, false},
            {"'${a}'", NULL, false},
            {"'a.b'", NULL, false},
            {"'${nodes.a.result}'", NULL, false},
            {"'{{'", NULL, false},
            {"'{a.result}'", NULL, false},
            {"'$5 and ${HOME}'", NULL, false},
            {"'${a\\u0000.x} {{.}} {{}} ${'", NULL, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct read read;
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        CLEANUP(buf_finish) struct buf fix = BUF_INIT;
        add_json(&text, "{'inputs': {'city': {}}, 'nodes': [{'id': 'a', 'tool': 't'}, {'id': 'z', "
                        "'tool': 't', 'arguments': {'x': [");
        add_json(&text, cases[i].value);
        add_json(&text, "]}}, {'id': 'fetch', 'tool': 't'}]}");
        add_json(&fix, cases[i].fix != NULL ? cases[i].fix : "");
        read_plan(&read, text.data);
        const struct problem *found = read.problems.items;
        bool is_right = read.problems.count == (cases[i].fix != NULL) &&
                        (cases[i].fix == NULL || (read.problems.errors == !cases[i].is_warning &&
                                                  strncmp(found->fix, fix.data, fix.length) == 0));
        if (!is_right) {
            print_error("%s: %zu, %s\n", cases[i].value, read.problems.count,
                        read.problems.count > 0 ? found->fix : "");
        }
        assert_true(is_right);
        if (cases[i].fix != NULL) {
            assert_string_equal(found->rule, "plan-reference");
            assert_string_equal(found->pointer, "/nodes/1/arguments/x/0");
            assert_string_equal(found->tool, "z");
        }
        finish(&read);
    }
}

/* Plans as other programs have them: each finding says what to write instead. */
static void test_other_words(void **state) {
    static const struct {
        const char *plan;
        const char *pointer;
        const char *fix; /* its begin */
    } cases[] = {
            {"{'plan': {'nodes': []}}", "/plan", "write what it holds"},
            {"{'tool': 't', 'arguments': {}}", "", "put it into {'nodes': [...]}"},
            {"{'steps': []}", "/steps", "did you mean 'nodes'?"},
            {"{'steps': [{'id': 'a', 'tool': 't', 'args': {}}]}", "/steps/0/args",
             "did you mean 'arguments'?"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'arguments': '{}'}]}", "/nodes/0/arguments",
             "write for example 'arguments': {"},
            {"{'plan': []}", "/plan", "did you mean 'nodes'?"},
            {"{'nodes': [], 'edges': []}", "/edges", "write at each node what it waits for"},
            {"{'nodes': [], 'outputs': 1}", "/outputs", "did you mean 'result'?"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'args': {}}]}", "/nodes/0/args",
             "did you mean 'arguments'?"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'args': {}, 'arguments': {}}]}", "/nodes/0/args",
             "remove it"},
            {"{'nodes': [{'id': 'a', 'tool_name': 't'}]}", "/nodes/0/tool_name",
             "did you mean 'tool'?"},
            {"{'nodes': [{'id': 'a', 'name': 't'}]}", "/nodes/0/name", "did you mean 'tool'?"},
            {"{'nodes': [{'name': 'a', 'tool': 't'}]}", "/nodes/0/name", "did you mean 'id'?"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'name': 'n'}]}", "/nodes/0/name", "remove it"},
            {"{'nodes': [{'name': 'a', 'tool_name': 't'}]}", "/nodes/0/name", "did you mean 'id'?"},
            {"{'nodes': [{'name': 'a', 'function': 't'}]}", "/nodes/0/name", "did you mean 'id'?"},
            {"{'nodes': [{'name': 'a', 'function': {'name': 't'}}]}", "/nodes/0/function",
             "write 'tool': NAME"},
            {"{'nodes': [{'id': 'a', 'args': {}, 'params': {}, 'tool': 't'}]}", "/nodes/0/params",
             "did you mean 'arguments'?"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'needs': []}]}", "/nodes/0/needs",
             "did you mean 'depends_on'?"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'next': []}]}", "/nodes/0/next",
             "write it at the nodes that come after"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'timeout': 5}]}", "/nodes/0/timeout",
             "write 'deadline_ms'"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'for_each': {'in': []}}]}",
             "/nodes/0/for_each/in", "did you mean 'items'?"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'for_each': {'$ref': '#/inputs/i', 'max': 2}}]}",
             "/nodes/0/for_each/$ref", "write {'items':"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'when': {'value': 1, 'is': 'yes'}}]}",
             "/nodes/0/when/is", "write {'const': 'yes'}"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'when': {'value': 1, 'is': true}}]}",
             "/nodes/0/when/is", "write {'const': true}"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'when': {'value': 1, 'is': {'equals': 1}}}]}",
             "/nodes/0/when/is", "write a JSON Schema, such as {'const'"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'when': {'$ref': '#/item', 'is': {}}}]}",
             "/nodes/0/when", "write {'$ref': ...}, or {'value'"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'depends_on': ['nodes.a']}]}",
             "/nodes/0/depends_on/0", "write the id alone: 'a'"},
            {"{'nodes': [{'id': 'a', 'tool': 't', 'depends_on': ['else']}]}",
             "/nodes/0/depends_on/0", "name a node of the plan: a"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
        struct read read;
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        CLEANUP(buf_finish) struct buf fix = BUF_INIT;
        add_json(&text, cases[i].plan);
        add_json(&fix, cases[i].fix);
        read_plan(&read, text.data);
        assert_true(read.problems.errors > 0);
        bool found = false;
        for (size_t k = 0; k < read.problems.count; k++) {
            const struct problem *problem = &read.problems.items[k];
            found = found || (strcmp(problem->pointer, cases[i].pointer) == 0 &&
                              strncmp(problem->fix, fix.data, fix.length) == 0);
        }
        if (!found) {
            print_error("%s: %s\n", cases[i].plan, read.problems.items[0].fix);
        }
        assert_true(found);
        finish(&read);
    }
}

/* ----------------------------------------------------------------------------------------- runs
 *
 * A call gives its arguments, or fails, as the node says. Calls end on another thread, in an order
 * that a seed gives. */

struct pending {
    toolrack_done *done;
    void *user;
    char *arguments;
    bool fails;
    bool cancelled;
};

struct world {
    uint64_t seed;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct pending *pending[4096];
    size_t count;
    bool closed;
    pthread_t thread;
    const bool *fails; /* of each tool, which is its number + 1 */
    unsigned full;     /* so many calls cannot begin */
    size_t length;     /* that results pretend to have; 0: their own */
    uint32_t calls[4096];
    int held_most;                  /* results at the same time */
    enum schedule_state told[4096]; /* how each node has ended */
    struct buf log;
};

static uint64_t random_of(uint64_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Results that are held. */
static atomic_int held;

void __real_toolrack_result_free(struct toolrack_result *result);
void __wrap_toolrack_result_free(struct toolrack_result *result);

void __wrap_toolrack_result_free(struct toolrack_result *result) {
    atomic_fetch_sub(&held, result != NULL);
    __real_toolrack_result_free(result);
}

static struct toolrack_result *result_of(const char *json) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_result *result = NULL;
    struct toolrack_error err;
    result_begin(&text);
    buf_add_text(&text, json);
    assert_int_equal(result_end(&text, NULL, &result, &err), 0);
    atomic_fetch_add(&held, 1);
    return result;
}

static void *work(void *user) {
    struct world *world = user;
    for (;;) {
        (void)pthread_mutex_lock(&world->lock);
        while (world->count == 0 && !world->closed) {
            (void)pthread_cond_wait(&world->changed, &world->lock);
        }
        if (world->count == 0) {
            (void)pthread_mutex_unlock(&world->lock);
            return NULL;
        }
        size_t at = random_of(&world->seed) % world->count;
        struct pending *pending = world->pending[at];
        world->pending[at] = world->pending[--world->count];
        (void)pthread_mutex_unlock(&world->lock);
        struct toolrack_error err;
        if (pending->cancelled) {
            (void)error_set(&err, TOOLRACK_E_CANCELLED, "cancelled");
            pending->done(pending->user, NULL, &err);
        } else if (pending->fails) {
            (void)error_set(&err, TOOLRACK_E_EXECUTION_FAILED, "failed");
            pending->done(pending->user, NULL, &err);
        } else {
            struct toolrack_result *result = result_of(pending->arguments);
            result->json_length = world->length > 0 ? world->length : result->json_length;
            pending->done(pending->user, result, NULL);
        }
    }
}

static int submit(void *user, const struct plan_call *call, toolrack_done *done, void *done_user,
                  struct toolrack_call **ret, struct toolrack_error *err) {
    struct world *world = user;
    size_t number = (size_t)(uintptr_t)call->tool - 1;
    struct pending *pending = calloc(1, sizeof *pending);
    assert_non_null(pending);
    world->calls[number]++;
    if (world->full > 0) {
        world->full--;
        free(pending);
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "no room");
    }
    *pending = (struct pending){.done = done,
                                .user = done_user,
                                .arguments = strndup(call->arguments, call->length),
                                .fails = world->fails != NULL && world->fails[number]};
    *ret = (struct toolrack_call *)pending;
    (void)pthread_mutex_lock(&world->lock);
    world->pending[world->count++] = pending;
    (void)pthread_cond_signal(&world->changed);
    (void)pthread_mutex_unlock(&world->lock);
    return 0;
}

static void cancel(void *user, struct toolrack_call *call) {
    struct world *world = user;
    (void)pthread_mutex_lock(&world->lock);
    for (size_t i = 0; i < world->count; i++) {
        if (world->pending[i] == (struct pending *)call) {
            world->pending[i]->cancelled = true;
        }
    }
    (void)pthread_mutex_unlock(&world->lock);
}

static void release(void *user, struct toolrack_call *call) {
    struct pending *pending = (struct pending *)call;
    (void)user;
    free(pending->arguments);
    free(pending);
}

static void begin_world(struct world *world, uint64_t seed) {
    *world = (struct world){
            .seed = seed, .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    assert_int_equal(pthread_create(&world->thread, NULL, work, world), 0);
}

static void end_world(struct world *world) {
    (void)pthread_mutex_lock(&world->lock);
    world->closed = true;
    (void)pthread_cond_signal(&world->changed);
    (void)pthread_mutex_unlock(&world->lock);
    (void)pthread_join(world->thread, NULL);
}

/* Each node ends once, as it is told. */
static void take_event(void *user, const struct plan_event *event) {
    struct world *world = user;
    int now = atomic_load(&held);
    world->held_most = now > world->held_most ? now : world->held_most;
    if (event->kind == PLAN_NODE_ENDED) {
        assert_int_equal(world->told[event->node], SCHEDULE_WAITING);
        world->told[event->node] = event->state;
    }
}

/* Run a plan, whose tools are numbers from 1. */
static int run_plan(struct world *world, const struct plan *plan, enum schedule_state *states,
                    struct buf *ret, struct toolrack_error *err) {
    struct plan_tools tools = {.count = plan->graph.count,
                               .tools = calloc(plan->graph.count, sizeof(void *)),
                               .fallbacks = calloc(plan->graph.count, sizeof(void *))};
    yyjson_doc *inputs = NULL;
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        tools.tools[i] = (struct toolrack_tool *)(uintptr_t)(i + 1);
        tools.fallbacks[i] = (struct toolrack_tool *)(uintptr_t)(i + 1001);
    }
    assert_int_equal(plan_take_inputs(plan, NULL, &inputs, err), 0);
    struct plan_run *run =
            plan_run_create(&(struct plan_run_options){.plan = plan,
                                                       .tools = &tools,
                                                       .inputs = yyjson_doc_get_root(inputs),
                                                       .submit = submit,
                                                       .cancel = cancel,
                                                       .release = release,
                                                       .event = take_event,
                                                       .user = world});
    assert_non_null(run);
    int code = plan_run(run, ret, err);
    for (uint32_t i = 0; i < plan->graph.count; i++) {
        assert_int_equal(world->told[i], plan_run_state(run, i));
        if (states != NULL) {
            states[i] = plan_run_state(run, i);
        }
    }
    plan_run_destroy(run);
    yyjson_doc_free(inputs);
    free(tools.tools);
    free(tools.fallbacks);
    return code;
}

/* A result is released when the last node that refers to it has ended, whichever of the references
 * of that node it is. */
static void test_results_are_released(void **state) {
    struct world world;
    struct read read;
    struct toolrack_error err;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    (void)state;
    buf_add_text(&text, "{\"result\": 1, \"nodes\": [{\"id\": \"c0\", \"tool\": \"t\", "
                        "\"arguments\": {\"x\": 1}}");
    for (unsigned i = 1; i < 50; i++) {
        buf_printf(
                &text,
                ", {\"id\": \"a%u\", \"tool\": \"t\", \"arguments\": {\"x\": {\"$ref\": "
                "\"#/nodes/c%u/result/x\"}}}, {\"id\": \"b%u\", \"tool\": \"t\", \"depends_on\": "
                "[\"a%u\"]}, {\"id\": \"c%u\", \"tool\": \"t\", \"arguments\": {\"b\": "
                "{\"$ref\": \"#/nodes/b%u/result\"}, \"x\": {\"$ref\": \"#/nodes/a%u/result/x\"}}}",
                i, i - 1, i, i, i, i, i);
    }
    buf_add_text(&text, "]}");
    begin_world(&world, 1);
    atomic_store(&held, 0);
    read_plan(&read, text.data);
    assert_int_equal(run_plan(&world, read.plan, NULL, &out, &err), 0);
    assert_in_range(world.held_most, 1, 4);
    assert_int_equal(atomic_load(&held), 0);
    finish(&read);
    end_world(&world);
}

static void expect_run(const char *text, const bool *fails, int code, const char *result) {
    struct world world;
    struct read read;
    struct toolrack_error err;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    begin_world(&world, 1);
    world.fails = fails;
    read_plan(&read, text);
    if (read.plan == NULL) {
        print_error("%s: %s\n", text, read.problems.items[0].cause);
    }
    assert_non_null(read.plan);
    int got = run_plan(&world, read.plan, NULL, &out, &err);
    if (got != code) {
        print_error("%s\n%s\n", text, got < 0 ? err.message : out.data);
    }
    assert_int_equal(got, code);
    if (result != NULL) {
        assert_string_equal(out.data, result);
    }
    finish(&read);
    end_world(&world);
}

static void test_runs(void **state) {
    static const bool first_fails[2000] = {true};
    (void)state;
    expect_run("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\"}]}", NULL, 0, "{\"a\":{}}");
    expect_run(
            "{\"inputs\": {\"n\": {\"default\": 5}}, \"nodes\": [{\"id\": \"a\", \"tool\": \"t\", "
            "\"arguments\": {\"x\": {\"$ref\": \"#/inputs/n\"}}}, {\"id\": \"b\", \"tool\": "
            "\"t\", \"arguments\": {\"y\": \"<${nodes.a.result.x}>\", \"z\": {\"$ref\": "
            "\"#/nodes/a/result\"}, \"l\": {\"$literal\": \"${item}\"}}}]}",
            NULL, 0, "{\"b\":{\"y\":\"<5>\",\"z\":{\"x\":5},\"l\":\"${item}\"}}");
    expect_run("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"for_each\": [1, \"two\", null], "
               "\"arguments\": {\"i\": {\"$ref\": \"#/item\"}}}], \"result\": {\"$ref\": "
               "\"#/nodes/a/result/1/i\"}}",
               NULL, 0, "\"two\"");
    expect_run("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"for_each\": []}]}", NULL, 0,
               "{\"a\":[]}");
    expect_run("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"for_each\": {\"items\": [1, 2], "
               "\"max_items\": 1}}]}",
               NULL, TOOLRACK_E_LIMIT_EXCEEDED, NULL);
    expect_run("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"for_each\": {\"items\": {\"$ref\": "
               "\"#/nodes/b/result\"}}}, {\"id\": \"b\", \"tool\": \"t\"}]}",
               NULL, TOOLRACK_E_INVALID_ARGUMENTS, NULL);
    /* Conditions. */
    expect_run(
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"arguments\": {\"x\": 5}}, {\"id\": "
            "\"b\", \"tool\": \"t\", \"when\": {\"value\": {\"$ref\": \"#/nodes/a/result/x\"}, "
            "\"is\": {\"minimum\": 6}}}, {\"id\": \"c\", \"tool\": \"t\", \"arguments\": {\"b\": "
            "{\"$ref\": \"#/nodes/b/result\"}}}, {\"id\": \"d\", \"tool\": \"t\", "
            "\"depends_on\": [\"b\"]}]}",
            NULL, 0, "{\"d\":{}}");
    /* Failures. */
    expect_run("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": \"b\", \"tool\": \"t\"}]}",
               first_fails, TOOLRACK_E_EXECUTION_FAILED, NULL);
    expect_run("{\"on_error\": \"skip\", \"nodes\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": "
               "\"b\", \"tool\": \"t\"}, {\"id\": \"c\", \"tool\": \"t\", \"arguments\": {\"x\": "
               "\"${nodes.a.result}\"}}]}",
               first_fails, 0, "{\"b\":{}}");
    expect_run("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"on_error\": {\"fallback\": "
               "{\"value\": 7}}, \"retry\": {\"delay_ms\": 0}}]}",
               first_fails, 0, "{\"a\":7}");
    expect_run("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"arguments\": {\"x\": 1}, "
               "\"on_error\": {\"fallback\": {\"tool\": \"u\"}}}]}",
               first_fails, 0, "{\"a\":{\"x\":1}}");
    expect_run(
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"on_error\": \"skip\", \"for_each\": "
            "[1, 2]}]}",
            first_fails, 0, "{\"a\":[null,null]}");
    expect_run("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"arguments\": {\"x\": {\"$ref\": "
               "\"#/nodes/b/result/none\"}}}, {\"id\": \"b\", \"tool\": \"t\"}]}",
               NULL, TOOLRACK_E_INVALID_ARGUMENTS, NULL);
}

/* Run a plan in a world where so many calls cannot begin, or results are so long. */
static void expect_limit(const char *text, unsigned full, size_t length, int code,
                         const char *expected, unsigned attempts) {
    struct world world;
    struct read read;
    struct toolrack_error err;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    begin_world(&world, 1);
    world.full = full;
    world.length = length;
    read_plan(&read, text);
    assert_non_null(read.plan);
    int got = run_plan(&world, read.plan, NULL, &out, &err);
    if (got != code || strstr(got < 0 ? err.message : out.data, expected) == NULL) {
        fail_msg("%d: %s", got, got < 0 ? err.message : out.data);
    }
    assert_int_equal(world.calls[0], attempts);
    finish(&read);
    end_world(&world);
}

/* A call that cannot begin is an attempt, and is retried as one that fails. */
static void test_calls_that_cannot_begin(void **state) {
    static const char retried[] = "{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"retry\": "
                                  "{\"attempts\": 3, \"delay_ms\": "
                                  "0}}]}";
    static const char items[] =
            "{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"for_each\": {\"items\": "
            "[1, 2, 3], \"parallel\": 1}, \"on_error\": \"skip\"}]}";
    static const char instead[] = "{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"on_error\": "
                                  "{\"fallback\": {\"value\": 7}}}]}";
    (void)state;
    expect_limit("{\"nodes\": [{\"id\": \"a\", \"tool\": \"t\"}]}", 1, 0, TOOLRACK_E_LIMIT_EXCEEDED,
                 "no room", 1);
    expect_limit(retried, 2, 0, 0, "{\"a\":{}}", 3);
    expect_limit(retried, 3, 0, TOOLRACK_E_LIMIT_EXCEEDED, "no room", 3);
    expect_limit(items, 2, 0, 0, "{\"a\":[null,null,{}]}", 3);
    expect_limit(instead, 1, 0, 0, "{\"a\":7}", 1);
}

/* What a run has in memory is bounded: the results that are needed at a time, and a value that
 * references are written into. */
static void test_limits_of_values(void **state) {
    enum { LONG = 4 * 1024 * 1024, TIMES = TEMPLATE_FILLED_MAX / LONG + 1 };
    static const char two[] =
            "{\"parallel\": 1, \"nodes\": [{\"id\": \"a\", \"tool\": \"t\"}, {\"id\": \"b\", "
            "\"tool\": \"t\", \"depends_on\": [\"a\"]%s}], \"result\": %s}";
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    (void)state;
    buf_printf(&text, two, "", "[\"${nodes.a.result}\", \"${nodes.b.result}\"]");
    expect_limit(text.data, 0, PLAN_RESULTS_MAX / 2 + 1, TOOLRACK_E_LIMIT_EXCEEDED,
                 "the results that the run needs at a time", 1);
    /* The first is not needed any more when the second comes. */
    buf_clear(&text);
    buf_printf(&text, two, "", "1");
    expect_limit(text.data, 0, PLAN_RESULTS_MAX / 2 + 1, 0, "1", 1);
    buf_clear(&text);
    buf_printf(&text, two, ", \"on_error\": {\"fallback\": {\"value\": 0}}",
               "[\"${nodes.a.result}\", 2]");
    expect_limit(text.data, 0, PLAN_RESULTS_MAX + 1, TOOLRACK_E_LIMIT_EXCEEDED,
                 "the results that the run needs at a time", 1);
    buf_clear(&text);
    buf_add_text(&text, "{\"inputs\": {\"s\": {\"default\": \"");
    for (size_t i = 0; i < LONG / 16; i++) {
        buf_add_text(&text, "0123456789abcdef");
    }
    buf_add_text(&text,
                 "\"}}, \"nodes\": [{\"id\": \"a\", \"tool\": \"t\", \"retry\": {\"attempts\": "
                 "3, \"delay_ms\": 0}, \"arguments\": {");
    for (unsigned i = 0; i < TIMES; i++) {
        buf_printf(&text, "%s\"x%u\": {\"$ref\": \"#/inputs/s\"}", i > 0 ? ", " : "", i);
    }
    buf_add_text(&text, "}}]}");
    expect_limit(text.data, 0, 0, TOOLRACK_E_LIMIT_EXCEEDED, "longer than the 67108864 bytes", 0);
}

/* What is parsed of a result counts, and what calls in flight have as arguments. */
static void test_limits_of_parsed(void **state) {
    enum { ITEMS = 2 * 1024 * 1024 };
    static const char many[] = "{\"$ref\": \"#/nodes/z/result/x\"}";
    CLEANUP(buf_finish) struct buf first = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    (void)state;
    buf_add_text(&first, "{\"parallel\": 1, \"nodes\": [{\"id\": \"z\", \"tool\": \"t\", "
                         "\"arguments\": {\"x\": [1");
    for (size_t i = 1; i < ITEMS; i++) {
        buf_add_text(&first, ",1");
    }
    buf_add_text(&first, "]}}, ");
    /* Each item has two bytes as text, and 16 more parsed. */
    buf_printf(&text,
               "%s{\"id\": \"a\", \"tool\": \"t\", \"arguments\": {\"x\": [%s, %s, %s, %s, %s, "
               "%s, %s, %s]}}]}",
               first.data, many, many, many, many, many, many, many, many);
    expect_limit(text.data, 0, 0, TOOLRACK_E_LIMIT_EXCEEDED, "the arguments of its calls", 1);
    buf_clear(&text);
    buf_printf(&text,
               "%s{\"id\": \"a\", \"tool\": \"t\", \"arguments\": {\"x\": [%s, %s, %s, %s]}}, "
               "{\"id\": \"b\", \"tool\": \"t\", \"depends_on\": [\"a\"], \"arguments\": {\"x\": "
               "[%s, %s, %s, %s]}}], \"result\": \"${nodes.a.result.x.0.0}%%s\"}",
               first.data, many, many, many, many, many, many, many, many);
    char *both = strstr(text.data, "%s\"}");
    assert_non_null(both);
    memcpy(both, "!\"}", sizeof "!\"}"); /* of one it is not too much */
    expect_limit(text.data, 0, 0, 0, "\"1!\"", 1);
    both[0] = '\0';
    buf_clear(&first);
    buf_printf(&first, "%s${nodes.b.result.x.0.0}\"}", text.data);
    expect_limit(first.data, 0, 0, TOOLRACK_E_LIMIT_EXCEEDED, "parsed ones", 1);
}

static void expect_size(const char *text) {
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    size_t size = plan_memory_parsed_size(text, strlen(text));
    assert_non_null(doc);
    assert_true(size >= strlen(text) + yyjson_doc_get_val_count(doc) * sizeof(yyjson_val));
    /* A container without members is counted like one with a member, and a long text of no more. */
    assert_true(strlen(text) < 256 ||
                size <= strlen(text) + 2 * yyjson_doc_get_val_count(doc) * sizeof(yyjson_val));
    yyjson_doc_free(doc);
}

static void test_parsed_sizes(void **state) {
    static const char *const parts[] = {"1",
                                        "\"\"",
                                        "\"a,b:[{\\\"],[\"",
                                        "\"\\\\\"",
                                        "{\"a\":[],\"b,\":{}}",
                                        "[[],[1,2,{\"x\":null}]]"};
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    (void)state;
    for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
        expect_size(parts[i]);
        buf_clear(&text);
        buf_add_char(&text, '[');
        for (unsigned j = 0; j < 1000; j++) {
            buf_add_text(&text, parts[j % (i + 1)]);
            buf_add_char(&text, ',');
        }
        text.data[text.length - 1] = ']';
        expect_size(text.data);
    }
}

/* All runs of a host share what they have in memory, and no party has all of it. */
static void test_results_of_all_runs(void **state) {
    enum { MIB = 1024 * 1024 };
    struct plan_memory all;
    struct plan_memory_share shares[4];
    struct toolrack_error err;
    (void)state;
    plan_memory_init(&all);
    plan_memory_share_begin(&shares[0], &all, "p");
    plan_memory_share_begin(&shares[1], &all, "p");
    plan_memory_share_begin(&shares[2], &all, "q");
    plan_memory_share_begin(&shares[3], &all, NULL);
    assert_int_equal(plan_memory_take(&shares[0], 200 * MIB, &err), 0);
    assert_int_equal(plan_memory_take(&shares[0], 57 * MIB, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "the run needs at a time"));
    assert_int_equal(plan_memory_take(&shares[1], 57 * MIB, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "the runs of plans of 'p' hold"));
    assert_int_equal(plan_memory_take(&shares[1], 56 * MIB, &err), 0);
    assert_int_equal(plan_memory_take(&shares[2], 129 * MIB, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_int_equal(plan_memory_take(&shares[2], 128 * MIB, &err), 0);
    assert_int_equal(plan_memory_take(&shares[3], 129 * MIB, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "all of them may hold 536870912"));
    assert_int_equal(plan_memory_take(&shares[3], 128 * MIB, &err), 0);
    assert_int_equal(all.bytes, 512 * MIB);
    /* p has more than its share by now: it gets no more until it is below. */
    assert_int_equal(plan_memory_take(&shares[0], 1, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    plan_memory_share_end(&shares[2]);
    plan_memory_share_end(&shares[3]);
    plan_memory_give(&shares[0], 100 * MIB);
    assert_int_equal(plan_memory_take(&shares[1], 99 * MIB, &err), 0);
    plan_memory_share_end(&shares[0]);
    plan_memory_share_end(&shares[1]);
    assert_int_equal(all.bytes, 0);
    plan_memory_finish(&all);
}

/* ---------------------------------------------------------------------------- random plans
 *
 * Which nodes succeed, fail and are skipped does not depend on the order of ends, unless a failure
 * stops the run: then it is one of those that could fail first. */

#define NODES_MAX 12u

struct model {
    uint32_t count;
    bool needs[NODES_MAX][NODES_MAX];
    bool data[NODES_MAX][NODES_MAX];
    bool fails[2000];
    bool skips[NODES_MAX];
};

static void make_model(struct model *model, uint64_t *seed, struct buf *text) {
    *model = (struct model){.count = 1 + (uint32_t)(random_of(seed) % NODES_MAX)};
    /* Needs lead to nodes of a lower number in a random order of the numbers. */
    uint32_t order[NODES_MAX];
    for (uint32_t i = 0; i < model->count; i++) {
        uint32_t at = (uint32_t)(random_of(seed) % (i + 1));
        order[i] = order[at];
        order[at] = i;
    }
    buf_add_text(text, "{\"nodes\": [");
    for (uint32_t i = 0; i < model->count; i++) {
        bool any = false;
        model->fails[i] = random_of(seed) % 6 == 0;
        model->skips[i] = random_of(seed) % 4 != 0;
        buf_printf(text,
                   "%s{\"id\": \"n%u\", \"tool\": \"t\", \"on_error\": \"%s\", \"arguments\": {",
                   i > 0 ? ", " : "", i, model->skips[i] ? "skip" : "stop");
        for (uint32_t k = 0; k < model->count; k++) {
            model->needs[i][k] = order[k] < order[i] && random_of(seed) % 3 == 0;
            model->data[i][k] = model->needs[i][k] && random_of(seed) % 2 == 0;
            if (model->data[i][k]) {
                buf_printf(text, "%s\"a%u\": \"${nodes.n%u.result}\"", any ? ", " : "", k, k);
                any = true;
            }
        }
        buf_add_text(text, "}, \"depends_on\": [");
        any = false;
        for (uint32_t k = 0; k < model->count; k++) {
            if (model->needs[i][k] && !model->data[i][k]) {
                buf_printf(text, "%s\"n%u\"", any ? ", " : "", k);
                any = true;
            }
        }
        buf_add_text(text, "]}");
    }
    buf_add_text(text, "]}");
}

/* How each node ends if nothing stops the run; whether something could. */
static bool expect_ends(const struct model *model, enum schedule_state *ret) {
    bool stops = false;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < model->count; i++) {
        ret[i] = SCHEDULE_WAITING;
    }
    while (ended < model->count) {
        for (uint32_t i = 0; i < model->count; i++) {
            bool waits = ret[i] != SCHEDULE_WAITING;
            bool lacks = false;
            for (uint32_t k = 0; k < model->count; k++) {
                waits = waits || (model->needs[i][k] && ret[k] == SCHEDULE_WAITING);
                lacks = lacks || (model->data[i][k] && ret[k] != SCHEDULE_SUCCEEDED);
            }
            if (!waits) {
                ret[i] = lacks             ? SCHEDULE_SKIPPED
                         : model->fails[i] ? SCHEDULE_FAILED
                                           : SCHEDULE_SUCCEEDED;
                stops = stops || (ret[i] == SCHEDULE_FAILED && !model->skips[i]);
                ended++;
            }
        }
    }
    return stops;
}

static void test_random_plans(void **state) {
    const char *given = getenv("TEST_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : 20261128;
    (void)state;
    print_message("# seed %llu\n", (unsigned long long)seed);
    const unsigned plans = test_rounds(10000, 1000);
    for (unsigned round = 0; round < plans; round++) {
        struct model model;
        struct world world;
        struct read read;
        struct toolrack_error err;
        enum schedule_state expected[NODES_MAX];
        enum schedule_state got[NODES_MAX];
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        make_model(&model, &seed, &text);
        bool stops = expect_ends(&model, expected);
        begin_world(&world, seed);
        world.fails = model.fails;
        read_plan(&read, text.data);
        assert_non_null(read.plan);
        int code = run_plan(&world, read.plan, got, &out, &err);
        assert_int_equal(code, stops ? TOOLRACK_E_EXECUTION_FAILED : 0);
        for (uint32_t i = 0; i < model.count; i++) {
            bool as_expected = got[i] == expected[i] || (stops && got[i] == SCHEDULE_CANCELLED);
            if (!as_expected) {
                print_error("round %u, node %u is %s and should be %s\n%s\n", round, i,
                            schedule_state_name(got[i]), schedule_state_name(expected[i]),
                            text.data);
            }
            assert_true(as_expected);
            assert_int_equal(world.calls[i],
                             got[i] == SCHEDULE_SUCCEEDED || got[i] == SCHEDULE_FAILED ||
                                             (got[i] == SCHEDULE_CANCELLED && world.calls[i] > 0)
                                     ? 1
                                     : 0);
        }
        finish(&read);
        end_world(&world);
    }
}

/* A chain that is listed backwards, as deep as a plan may have nodes: each after what it needs. */
static void test_order(void **state) {
    enum { COUNT = 10000 };
    static struct graph_need needs[COUNT - 1];
    CLEANUP(arena_finish) struct arena arena;
    struct graph graph;
    (void)state;
    arena_init(&arena, NULL, 0);
    for (uint32_t i = 0; i < COUNT - 1; i++) {
        needs[i] = (struct graph_need){.node = i, .needs = i + 1, .data = true};
    }
    assert_true(graph_make(&arena, COUNT, needs, COUNT - 1, &graph));
    CLEANUP(freep) uint32_t *order = graph_order(&graph);
    assert_non_null(order);
    for (uint32_t i = 0; i < COUNT; i++) {
        assert_int_equal(order[i], COUNT - 1 - i);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(test_order),
            cmocka_unit_test(test_problems),
            cmocka_unit_test(test_mistaken_references),
            cmocka_unit_test(test_other_words),
            cmocka_unit_test(test_runs),
            cmocka_unit_test(test_calls_that_cannot_begin),
            cmocka_unit_test(test_limits_of_values),
            cmocka_unit_test(test_limits_of_parsed),
            cmocka_unit_test(test_parsed_sizes),
            cmocka_unit_test(test_results_of_all_runs),
            cmocka_unit_test(test_results_are_released),
            cmocka_unit_test(test_random_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
