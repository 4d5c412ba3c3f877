#include "life/trial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json-equal.h"
#include "base/thread.h"
#include "call/call.h"
#include "life/generation.h"
#include "permit/permit.h"
#include "registry/registry.h"
#include "store/loading.h"
#include "worker/crew.h"

CLEANUP_DEFINE(struct toolrack_result, toolrack_result_free)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Invariants:
 *
 *  (1) Two threads have a trial: the one that waits for its outcome, and the one that runs it. The
 *      last of the two releases it.
 *  (2) A trial is in the list as long as a thread waits for it.
 *  (3) The lock of the list comes before the lock of a trial. No lock is held while code of a
 *      plugin runs. */
struct trial {
    atomic_uint refs;
    struct trials *all;
    struct plugin *plugin; /* a reference */
    struct trial *next;    /* in the list of running trials */
    struct trial *prev;

    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t changed;
    uint64_t until_ns; /* deadline of the present step: then it is asked to end */
    bool over;
    bool given_up;           /* no thread waits for the outcome any more */
    bool stopped;            /* the host is closing */
    struct call *call;       /* the call that runs, or NULL */
    struct crew_call *start; /* of the worker, while the trial waits for it; or NULL */
    char doing[ERROR_FIELD_MAX];
    int code;
    struct toolrack_error error;
};

static void trial_unref(struct trial *trial) {
    if (atomic_fetch_sub(&trial->refs, 1) != 1) {
        return;
    }
    plugin_unref(trial->plugin);
    (void)pthread_cond_destroy(&trial->changed);
    (void)pthread_mutex_destroy(&trial->lock);
    free(trial);
}

void trials_init(struct trials *all, const struct life_options *options) {
    *all = (struct trials){.options = options};
    lock_init(&all->lock);
}

void trials_finish(struct trials *all) {
    lock_finish(&all->lock);
}

/* ----------------------------------------------------------------- examples */

/* Steps of comparing one result with that of its example. */
#define COMPARE_STEPS_MAX 1000000

/* A call that did not end at its deadline is asked to end this much later. */
#define TRIAL_SLACK_MS 100u

/* Most bytes of a result in a message. */
#define RESULT_SHOWN_MAX 120

/* A changed tool is not called before a person has seen the change: it is compared with its pin
 * first. */
static bool is_tried(const struct trials *all, struct toolrack_tool *tool) {
    struct toolrack_error unheard;
    return toolrack_tool_example_count(tool) > 0 && toolrack_tool_enabled(tool) &&
           toolrack_tool_permission(tool) == TOOLRACK_PERMISSION_SAFE &&
           !toolrack_tool_destructive(tool) && !toolrack_tool_open_world(tool) &&
           permit_registering(all->options->permit, &tool, 1, &unheard) == 0 &&
           atomic_load(&tool->reg->changed) == 0;
}

bool trial_has_examples(const struct trials *all, struct plugin *plugin) {
    for (uint32_t i = 0; i < plugin->desc->tool_count; i++) {
        if (plugin->desc->tools[i].tool->example_count > 0) {
            CLEANUP(toolrack_tool_unrefp)
            struct toolrack_tool *tool = registry_preview(all->options->registry, plugin, i);
            if (tool != NULL && is_tried(all, tool)) {
                return true;
            }
        }
    }
    return false;
}

/* Whether two strings are the same JSON value. */
static bool same_value(const char *wanted, const char *is, size_t length) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *a = yyjson_read(wanted, strlen(wanted), 0);
    CLEANUP(yyjson_doc_freep) yyjson_doc *b = yyjson_read(is, length, 0);
    struct budget budget = {.steps = COMPARE_STEPS_MAX};
    return a != NULL && b != NULL &&
           json_equal(yyjson_doc_get_root(a), yyjson_doc_get_root(b), &budget);
}

/* Set the present step of the trial, in words, and its deadline. False: the trial is to end. */
static bool begin(struct trial *trial, struct call *call, uint64_t until_ns, const char *words) {
    (void)pthread_mutex_lock(&trial->lock);
    bool goes_on = !trial->given_up && !trial->stopped;
    trial->call = goes_on ? call : NULL;
    trial->until_ns = until_ns;
    (void)snprintf(trial->doing, sizeof trial->doing, "%s", words);
    (void)pthread_cond_signal(&trial->changed);
    (void)pthread_mutex_unlock(&trial->lock);
    return goes_on;
}

static int cancelled(struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_CANCELLED, "the host is closing");
}

/* A call in a worker ends by its deadline; every call is asked to end a little later. False: the
 * trial is to end. */
static bool call_example(struct trial *trial, struct toolrack_tool *tool, size_t index,
                         uint64_t until_ns, struct toolrack_result **ret, int *ret_code,
                         struct toolrack_error *err) {
    const char *arguments = toolrack_tool_example_arguments(tool, index);
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    options.channel = "self-test";
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
    char words[ERROR_FIELD_MAX];
    struct call call;
    (void)snprintf(words, sizeof words, "example %zu of tool '%s'", index + 1,
                   toolrack_tool_name(tool));
    call_init(&call, trial->all->options->calls, tool, &options, memory, sizeof memory);
    call.crew_lock = &trial->lock;
    call.started_ns = clock_now_ns();
    call.run.deadline_ns = until_ns;
    if (begin(trial, &call, until_ns + (uint64_t)TRIAL_SLACK_MS * CLOCK_NS_PER_MS, words)) {
        *ret_code = call_run(&call, arguments, strlen(arguments), ret, err);
    }
    (void)pthread_mutex_lock(&trial->lock);
    trial->call = NULL;
    bool goes_on = !trial->given_up && !trial->stopped;
    (void)pthread_mutex_unlock(&trial->lock);
    call_finish(&call);
    return goes_on;
}

static int try_example(struct trial *trial, struct toolrack_tool *tool, size_t index,
                       uint64_t until_ns, struct toolrack_error *err) {
    CLEANUP(toolrack_result_freep) struct toolrack_result *result = NULL;
    struct toolrack_error why = {0};
    const char *name = toolrack_tool_name(tool);
    uint64_t own_ns =
            clock_now_ns() +
            (uint64_t)call_deadline_ms(trial->all->options->calls, tool, NULL) * CLOCK_NS_PER_MS;
    int code = 0;
    if (!call_example(trial, tool, index, own_ns < until_ns ? own_ns : until_ns, &result, &code,
                      &why)) {
        return cancelled(err);
    }
    if (code < 0 && why.code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(err);
    }
    if (code < 0) {
        code = error_set(err, TOOLRACK_E_REFUSED, "example %zu of tool '%s' failed: %s: %s",
                         index + 1, name, toolrack_code_name(why.code), why.message);
        error_set_tool(err, name);
        return code;
    }
    size_t length = 0;
    const char *wanted = toolrack_tool_example_result(tool, index);
    const char *is = toolrack_result_json(result, &length);
    if (wanted == NULL || same_value(wanted, is, length)) {
        return 0;
    }
    code = error_set(err, TOOLRACK_E_REFUSED,
                     "example %zu of tool '%s' gave %.*s%s instead of %.*s%s", index + 1, name,
                     RESULT_SHOWN_MAX, is, strlen(is) > RESULT_SHOWN_MAX ? "..." : "",
                     RESULT_SHOWN_MAX, wanted, strlen(wanted) > RESULT_SHOWN_MAX ? "..." : "");
    error_set_tool(err, name);
    return code;
}

static int try_tool(struct trial *trial, struct toolrack_tool *tool, uint64_t until_ns,
                    struct toolrack_error *err) {
    int code = 0;
    size_t count = is_tried(trial->all, tool) ? toolrack_tool_example_count(tool) : 0;
    for (size_t i = 0; code == 0 && i < count; i++) {
        code = try_example(trial, tool, i, until_ns, err);
    }
    return code;
}

static int try_tools(struct trial *trial, struct toolrack_error *err) {
    struct plugin *plugin = trial->plugin;
    uint64_t until_ns = clock_now_ns() + (uint64_t)TRIAL_EXAMPLES_MS_MAX * CLOCK_NS_PER_MS;
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < plugin->desc->tool_count; i++) {
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool = registry_preview(trial->all->options->registry, plugin, i);
        code = tool != NULL ? try_tool(trial, tool, until_ns, err) : error_oom(err);
    }
    return code;
}

/* --------------------------------------------------------------------- load */

/* The wait for the worker ends when the trial is given up. */
static int start_worker(struct trial *trial, uint64_t until_ns, struct toolrack_error *err) {
    struct crew_call start = {.deadline_ns = until_ns};
    (void)pthread_mutex_lock(&trial->lock);
    trial->start = &start;
    atomic_store(&start.interrupted, trial->stopped);
    (void)pthread_mutex_unlock(&trial->lock);
    int code = crew_start(atomic_load(&trial->plugin->crew), &start, err);
    (void)pthread_mutex_lock(&trial->lock);
    trial->start = NULL;
    (void)pthread_mutex_unlock(&trial->lock);
    return code;
}

static int load(struct trial *trial, struct toolrack_error *err) {
    const struct life_options *options = trial->all->options;
    struct plugin *plugin = trial->plugin;
    struct toolrack_error why = {0};
    bool loaded = false;
    uint64_t until_ns = clock_now_ns() + (uint64_t)TRIAL_LOAD_MS_MAX * CLOCK_NS_PER_MS;
    if (!begin(trial, NULL, until_ns, "its open()")) {
        return cancelled(err);
    }
    (void)pthread_mutex_lock(&plugin->lock);
    int code = plugin_load(plugin, &loaded, &why);
    (void)pthread_mutex_unlock(&plugin->lock);
    if (code == 0 && plugin->isolated) {
        code = start_worker(trial, until_ns, &why);
    } else if (loaded) {
        options->event(options->host, code == 0 ? TOOLRACK_EVENT_LOADED : TOOLRACK_EVENT_FAILED,
                       plugin->desc->plugin->id, code == 0 ? NULL : why.message);
    }
    if (code == TOOLRACK_E_NO_MEMORY) {
        return error_oom(err);
    }
    return code < 0 ? error_set(err, TOOLRACK_E_REFUSED, "it cannot be loaded: %s", why.message)
                    : 0;
}

static void *trial_main(void *argument) {
    struct trial *trial = argument;
    struct trials *all = trial->all;
    struct toolrack_error err = {0};
    int code = load(trial, &err);
    if (code == 0) {
        /* If the process dies during the trial, the next start leaves the plugin out. */
        struct store *store = all->options->store;
        uint64_t marker = 0;
        bool marked = !trial->plugin->isolated &&
                      store_loading_begin(store, generation_of(trial->plugin)->file->key,
                                          clock_wall_s(), &marker, NULL) == 0;
        code = try_tools(trial, &err);
        if (marked) {
            (void)store_loading_end(store, marker, NULL);
        }
    }
    (void)pthread_mutex_lock(&trial->lock);
    trial->over = true;
    trial->code = code;
    trial->error = err;
    bool was_given_up = trial->given_up;
    (void)pthread_cond_signal(&trial->changed);
    (void)pthread_mutex_unlock(&trial->lock);
    trial_unref(trial);
    if (was_given_up) {
        atomic_fetch_sub(&all->lost, 1);
    }
    return NULL;
}

/* --------------------------------------------------------------------- wait */

static int wait_for(struct trial *trial, bool *ret_lost, struct toolrack_error *err) {
    (void)pthread_mutex_lock(&trial->lock);
    /* Wait until the deadline of the present step; each step sets its own. */
    while (!trial->over && !trial->stopped && clock_now_ns() < trial->until_ns) {
        struct timespec until = clock_timespec(trial->until_ns);
        (void)pthread_cond_timedwait(&trial->changed, &trial->lock, &until);
    }
    /* Then ask the start or the call that runs to end, and wait a little for that. */
    if (!trial->over && trial->call != NULL) {
        atomic_store(&trial->call->cancelled, true);
        call_interrupt(trial->call);
    }
    if (!trial->over && trial->start != NULL) {
        crew_interrupt(atomic_load(&trial->plugin->crew), trial->start);
    }
    struct timespec until =
            clock_timespec(clock_now_ns() + (uint64_t)TRIAL_GRACE_MS * CLOCK_NS_PER_MS);
    int late = 0;
    while (!trial->over && late == 0) {
        late = pthread_cond_timedwait(&trial->changed, &trial->lock, &until);
    }
    int code = trial->code;
    if (trial->over && code < 0 && err != NULL) {
        *err = trial->error;
    } else if (!trial->over) {
        /* No thread waits for the trial any more; the trial's thread keeps the plugin until it
         * returns. */
        trial->given_up = true;
        atomic_fetch_add(&trial->all->lost, 1);
        code = trial->stopped ? cancelled(err)
                              : error_set(err, TOOLRACK_E_REFUSED, "%s did not return in time",
                                          trial->doing);
    }
    *ret_lost = !trial->over;
    (void)pthread_mutex_unlock(&trial->lock);
    return code;
}

int trial_run(struct trials *all, struct plugin *plugin, struct toolrack_error *err) {
    struct trial *trial = calloc(1, sizeof *trial);
    pthread_t thread;
    if (trial == NULL) {
        return error_oom(err);
    }
    atomic_init(&trial->refs, 2);
    trial->all = all;
    trial->plugin = plugin_ref(plugin);
    trial->until_ns = clock_now_ns() + (uint64_t)TRIAL_LOAD_MS_MAX * CLOCK_NS_PER_MS;
    (void)pthread_mutex_init(&trial->lock, NULL);
    clock_cond_init(&trial->changed);
    lock_take(&all->lock);
    bool listed = !all->stopping;
    if (listed) {
        trial->next = all->first;
        if (trial->next != NULL) {
            trial->next->prev = trial;
        }
        all->first = trial;
    }
    lock_release(&all->lock);
    if (!listed) {
        trial_unref(trial);
        trial_unref(trial);
        return cancelled(err);
    }
    int code;
    if (thread_start(&thread, trial_main, trial) == 0) {
        bool lost = false;
        code = wait_for(trial, &lost, err);
        /* The thread of a trial that is over only releases its references. */
        (void)(lost ? pthread_detach(thread) : pthread_join(thread, NULL));
    } else {
        trial_unref(trial);
        code = error_oom(err);
    }
    lock_take(&all->lock);
    *(trial->prev != NULL ? &trial->prev->next : &all->first) = trial->next;
    if (trial->next != NULL) {
        trial->next->prev = trial->prev;
    }
    lock_release(&all->lock);
    trial_unref(trial);
    return code;
}

void trials_stop(struct trials *all) {
    LOCK_SCOPE(&all->lock);
    all->stopping = true;
    for (struct trial *trial = all->first; trial != NULL; trial = trial->next) {
        (void)pthread_mutex_lock(&trial->lock);
        trial->stopped = true;
        (void)pthread_cond_signal(&trial->changed);
        (void)pthread_mutex_unlock(&trial->lock);
    }
}
