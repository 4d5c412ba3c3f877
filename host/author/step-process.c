/* Reloads, several threads, deadlines, and memory that is not there, in the host's process. It ends
 * after each: the host is closed, and so the plugin unloaded, only where reloads are the subject.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <yyjson.h>

#include "author/bench.h"
#include "author/image.h"
#include "author/steps.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/thread.h"
#include "toolrack/plugin.h"

#define RELOADS         100u
/* How often, and how long, what drains is waited for. */
#define DRAIN_NAP_MS    2u
#define DRAIN_MS        500u
/* Threads that call at once, for how long at least and at most, and how often in the first case. */
#define CALLERS         8u
#define PARALLEL_MS     50u
#define PARALLEL_MS_MAX 1000u
#define PARALLEL_CALLS  2000u
/* How long a tool may take to end when it was asked to. */
#define GRACE_MS        1000u
#define DEADLINE_MS_MIN 10u
/* Allocations of one call that fail, one at a time. */
#define FAILURES_MAX    200u

static const struct sample *first_sample(const struct session *session, size_t tool) {
    for (size_t i = 0; i < session->sample_count; i++) {
        if (session->samples[i].tool == tool && bench_is_sound(session, &session->samples[i])) {
            return &session->samples[i];
        }
    }
    return NULL;
}

static const struct sample *any_sample(const struct session *session) {
    for (size_t i = 0; i < session->tool_count; i++) {
        const struct sample *sample = first_sample(session, i);
        if (sample != NULL) {
            return sample;
        }
    }
    return NULL;
}

/* -------------------------------------------------------------------- reload */

/* What became of the generation before; NULL: it drains still, or nothing is known. */
static bool reload_once(struct bench *bench, const char *plugin, char *ret_old, size_t room,
                        char *ret_cause, size_t cause_room) {
    struct toolrack_text *report = NULL;
    if (toolrack_reload(bench->host, plugin, &report, bench->err) < 0) {
        (void)snprintf(ret_cause, cause_room, "%s", toolrack_error_message(bench->err));
        return false;
    }
    const char *text = toolrack_text_data(report, NULL);
    yyjson_doc *doc = yyjson_read(text, strlen(text), 0);
    yyjson_val *row = yyjson_arr_get_first(yyjson_doc_get_root(doc));
    const char *outcome = yyjson_get_str(yyjson_obj_get(row, "outcome"));
    const char *reason = yyjson_get_str(yyjson_obj_get(row, "reason"));
    const char *old = yyjson_get_str(yyjson_obj_get(row, "old"));
    const char *cause = yyjson_get_str(yyjson_obj_get(row, "cause"));
    bool done = outcome != NULL && strcmp(outcome, "refused") != 0;
    (void)snprintf(ret_old, room, "%s", old != NULL ? old : "");
    (void)snprintf(ret_cause, cause_room, "%s",
                   !done && reason != NULL ? reason
                   : cause != NULL         ? cause
                                           : "");
    yyjson_doc_free(doc);
    toolrack_text_unref(report);
    return done;
}

/* Call the tool of a name as it is registered now: each reload registers it again. */
static void call_again(struct bench *bench, const struct sample *sample) {
    toolrack_tool_unref(bench->tools[sample->tool]);
    bench->tools[sample->tool] =
            toolrack_get(bench->host, bench->session->tools[sample->tool].name);
    struct answer answer;
    bench_call(bench, sample->tool, sample->arguments, TOOLRACK_NO_DEADLINE, &answer);
    answer_finish(&answer);
}

void step_reload(struct child *child, struct session *session) {
    const struct sample *sample = any_sample(session);
    struct bench bench;
    if (child_first(child) > 0 || !bench_open(&bench, child, session, true)) {
        return;
    }
    if (sample == NULL) {
        child_skip(child, RULE_RELOAD, NULL, "no call of it can be made");
        bench_close(&bench);
        return;
    }
    call_again(&bench, sample);
    for (unsigned i = 0; i < RELOADS; i++) {
        char old[32];
        char cause[512];
        char came[640];
        /* A reference to a tool keeps its image. */
        for (size_t k = 0; k < session->tool_count; k++) {
            toolrack_tool_unref(bench.tools[k]);
            bench.tools[k] = NULL;
        }
        child_at(child, session->tool_count, NULL, "during a reload");
        if (!reload_once(&bench, session->plugin, old, sizeof old, cause, sizeof cause)) {
            if (session->outcomes[RULE_EXAMPLES].failed ||
                session->outcomes[RULE_REPEATABLE].failed) {
                child_skip(child, RULE_RELOAD, NULL, "it is refused while an example of it fails");
                break;
            }
            (void)snprintf(came, sizeof came, "reload %u was refused: %s", i + 1, cause);
            child_find(child, RULE_RELOAD, false, NULL, NULL, came);
            break;
        }
        if (strcmp(old, "resident") == 0 || strcmp(old, "pending") == 0) {
            (void)snprintf(came, sizeof came, "reload %u: the image before is %s: %s", i + 1, old,
                           cause);
            child_find(child, RULE_RELOAD, true, NULL, NULL, came);
            break;
        }
        call_again(&bench, sample);
        child_count(child, RULE_RELOAD, 1);
    }
    child_at(child, session->tool_count, NULL, "while the plugin was closed");
    bench_close(&bench);
}

/* ------------------------------------------------------------------ parallel */

struct caller {
    struct bench bench; /* with an error of its own */
    pthread_t thread;
    unsigned number;
    const struct answer *alone;
    atomic_bool *begins; /* all threads are there */
    atomic_bool *ends;
    size_t wrong; /* a sample that gave another result, or SIZE_MAX */
    char *result;
};

static bool goes_on(unsigned calls, uint64_t since_ns) {
    uint64_t ms = (clock_now_ns() - since_ns) / CLOCK_NS_PER_MS;
    return ms < PARALLEL_MS || (calls < PARALLEL_CALLS && ms < PARALLEL_MS_MAX);
}

static void *call_in_parallel(void *argument) {
    struct caller *caller = argument;
    const struct session *session = caller->bench.session;
    struct toolrack_call_options options = bench_options(&caller->bench, TOOLRACK_NO_DEADLINE);
    while (!atomic_load(caller->begins)) {
        (void)sched_yield();
    }
    uint64_t since_ns = clock_now_ns();
    for (unsigned i = 0; !atomic_load(caller->ends) && goes_on(i, since_ns); i++) {
        size_t index = (i * 7u + caller->number * 3u) % session->sample_count;
        const struct sample *sample = &session->samples[index];
        struct toolrack_result *result = NULL;
        if (!bench_is_sound(session, sample) || sample->is_loose ||
            caller->alone[index].result == NULL || caller->bench.tools[sample->tool] == NULL) {
            continue;
        }
        int code = toolrack_tool_call(caller->bench.host, caller->bench.tools[sample->tool],
                                      sample->arguments, strlen(sample->arguments), &options,
                                      &result, caller->bench.err);
        const char *text = code == 0 ? toolrack_result_json(result, NULL)
                                     : toolrack_error_message(caller->bench.err);
        if (code != 0 || !bench_same(caller->alone[index].result, text)) {
            caller->wrong = index;
            caller->result = strdup(text);
            atomic_store(caller->ends, true);
        }
        toolrack_result_free(result);
    }
    return NULL;
}

static void tell_wrong(struct child *child, const struct session *session,
                       const struct caller *caller) {
    const struct sample *sample = &session->samples[caller->wrong];
    CLEANUP(buf_finish) struct buf came = BUF_INIT;
    buf_printf(&came, "%.200s with calls on %u threads at once, alone ",
               caller->result != NULL ? caller->result : "", CALLERS);
    answer_describe(&caller->alone[caller->wrong], &came);
    child_find(child, RULE_PARALLEL, false, session->tools[sample->tool].name, sample->arguments,
               came.failed ? "" : came.data);
}

/* Whether a call gives something else alone now, as it may by the time of the day: then it is not
 * judged. */
static bool has_changed(struct bench *bench, size_t index, const struct answer *alone) {
    struct sample *sample = &bench->session->samples[index];
    struct answer now;
    bench_call(bench, sample->tool, sample->arguments, TOOLRACK_NO_DEADLINE, &now);
    sample->is_loose = !bench_same(alone[index].result, now.result);
    answer_finish(&now);
    return sample->is_loose;
}

/* @return whether it has to be done again: what differed differs alone, too */
static bool call_together(struct bench *bench, const struct answer *alone) {
    struct caller callers[CALLERS];
    atomic_bool begins = false;
    atomic_bool ends = false;
    unsigned started = 0;
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.bench = *bench,
                                     .number = i,
                                     .alone = alone,
                                     .begins = &begins,
                                     .ends = &ends,
                                     .wrong = SIZE_MAX};
        callers[i].bench.err = toolrack_error_create();
        if (thread_start(&callers[i].thread, call_in_parallel, &callers[i]) != 0) {
            toolrack_error_free(callers[i].bench.err);
            break;
        }
        started++;
    }
    atomic_store(&begins, true);
    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(callers[i].thread, NULL);
    }
    bool is_told = false;
    bool again = false;
    for (unsigned i = 0; i < started; i++) {
        if (callers[i].wrong != SIZE_MAX && !is_told) {
            bool changed = has_changed(bench, callers[i].wrong, alone);
            again = again || changed;
            is_told = !changed;
            if (is_told) {
                tell_wrong(bench->child, bench->session, &callers[i]);
            }
        }
        free(callers[i].result);
        toolrack_error_free(callers[i].bench.err);
    }
    child_count(bench->child, RULE_PARALLEL, started);
    return again && !is_told;
}

void step_parallel(struct child *child, struct session *session) {
    struct answer *alone = calloc(session->sample_count + 1, sizeof *alone);
    struct bench bench;
    uint32_t flags = 0;
    unsigned made = 0;
    if (alone == NULL || child_first(child) > 0 || !bench_open(&bench, child, session, true)) {
        free(alone);
        return;
    }
    for (size_t i = 0; i < session->sample_count; i++) {
        if (bench_is_sound(session, &session->samples[i])) {
            bench_call(&bench, session->samples[i].tool, session->samples[i].arguments,
                       TOOLRACK_NO_DEADLINE, &alone[i]);
            made++;
        }
    }
    if (made == 0) {
        child_skip(child, RULE_PARALLEL, NULL, "no call of it can be made");
    } else if (!image_flags(&flags) || (flags & TR_THREAD_SAFE) == 0) {
        child_skip(child, RULE_PARALLEL, NULL, "it does not claim to be thread-safe");
    } else {
        bool again = true;
        for (size_t i = 0; i <= session->sample_count && again; i++) {
            child_at(child, session->tool_count, NULL, "during calls on several threads at once");
            again = call_together(&bench, alone);
        }
    }
    for (size_t i = 0; i < session->sample_count; i++) {
        answer_finish(&alone[i]);
    }
    free(alone);
}

/* ---------------------------------------------------------------------- late */

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool has_ended;
    bool has_begun; /* the call had reached its tool */
};

static void end_waiting(void *user, struct toolrack_result *result,
                        const struct toolrack_error *err) {
    struct waiting *waiting = user;
    toolrack_result_free(result);
    (void)pthread_mutex_lock(&waiting->lock);
    waiting->has_ended = true;
    waiting->has_begun = err == NULL || toolrack_error_has_begun(err);
    (void)pthread_cond_broadcast(&waiting->changed);
    (void)pthread_mutex_unlock(&waiting->lock);
}

/* False: the time is over. */
static bool await(struct waiting *waiting, uint64_t until_ns) {
    struct timespec until = clock_timespec(until_ns);
    (void)pthread_mutex_lock(&waiting->lock);
    int failed = 0;
    while (!waiting->has_ended && failed == 0) {
        failed = pthread_cond_timedwait(&waiting->changed, &waiting->lock, &until);
    }
    bool has_ended = waiting->has_ended;
    (void)pthread_mutex_unlock(&waiting->lock);
    return has_ended;
}

/* Whether no call of the tool's plugin runs on within the time that it may take to end. */
static bool comes_back(const struct bench *bench, size_t tool) {
    const struct timespec nap = {.tv_nsec = DRAIN_NAP_MS * 1000000L};
    uint64_t until_ns = clock_now_ns() + GRACE_MS * CLOCK_NS_PER_MS;
    while (toolrack_tool_state(bench->tools[tool]) == TOOLRACK_STATE_STUCK) {
        if (clock_now_ns() > until_ns) {
            return false;
        }
        (void)nanosleep(&nap, NULL);
    }
    return true;
}

/* How often a call is made that ends before it reaches its tool: a busy machine loads the plugin
 * meanwhile. */
#define BEGINS_MAX 10u

/* What became of a call that is asked to end, by a deadline or by being cancelled. */
struct ending {
    bool has_begun; /* it had reached its tool */
    bool is_quick;  /* it had ended long before it was asked to */
};

/* @return whether the tool obeyed; a call that is quicker than that has */
static bool obeys_once(struct bench *bench, const struct sample *sample, uint32_t wait_ms,
                       bool cancels, struct ending *ret) {
    struct waiting waiting = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct toolrack_call *call = NULL;
    struct toolrack_call_options options =
            bench_options(bench, cancels ? TOOLRACK_NO_DEADLINE : wait_ms);
    clock_cond_init(&waiting.changed);
    child_at(bench->child, sample->tool, sample->arguments,
             cancels ? "during a call that was to be cancelled" : "during a call with a deadline");
    if (toolrack_submit_tool(bench->host, bench->tools[sample->tool], sample->arguments,
                             strlen(sample->arguments), &options, end_waiting, &waiting, &call,
                             bench->err) < 0) {
        *ret = (struct ending){.has_begun = true};
        return true;
    }
    uint64_t begin_ns = clock_now_ns();
    uint64_t end_ns = begin_ns + wait_ms * CLOCK_NS_PER_MS;
    bool is_quick = await(&waiting, end_ns);
    uint64_t took_ns = clock_now_ns() - begin_ns;
    if (cancels && !is_quick) {
        toolrack_cancel(call);
    }
    bool answered = await(&waiting, end_ns + 2 * GRACE_MS * CLOCK_NS_PER_MS);
    toolrack_call_unref(call);
    *ret = (struct ending){.has_begun = !answered || waiting.has_begun,
                           .is_quick = is_quick && took_ns < wait_ms * CLOCK_NS_PER_MS / 2};
    return answered && comes_back(bench, sample->tool);
}

static bool obeys(struct bench *bench, const struct sample *sample, uint32_t wait_ms, bool cancels,
                  struct ending *ret) {
    bool done = true;
    *ret = (struct ending){0};
    for (unsigned i = 0; i < BEGINS_MAX && !ret->has_begun; i++) {
        done = obeys_once(bench, sample, wait_ms, cancels, ret);
    }
    return done;
}

static void look_at_late(struct bench *bench, const struct sample *sample) {
    const char *name = bench->session->tools[sample->tool].name;
    struct ending ending;
    char came[160];
    uint64_t wait_ms = sample->ns / CLOCK_NS_PER_MS / 4;
    uint64_t least_ms = sample->is_late ? GRACE_MS : DEADLINE_MS_MIN; /* a busy machine is late */
    wait_ms = wait_ms < least_ms ? least_ms : wait_ms;
    child_count(bench->child, RULE_DEADLINE, 1);
    if (!obeys(bench, sample, (uint32_t)wait_ms, false, &ending)) {
        (void)snprintf(came, sizeof came,
                       "it still ran %u ms after its deadline of %u ms; ask tr_cancelled() while "
                       "it works",
                       GRACE_MS, (unsigned)wait_ms);
        child_find(bench->child, RULE_DEADLINE, false, name, sample->arguments, came);
        return;
    }
    if (sample->is_late && ending.is_quick) {
        child_find(bench->child, RULE_DEADLINE, false, name, sample->arguments,
                   "it did not end in time after other calls, and ends at once without them: it "
                   "waits for what one of them left, such as a lock");
        return;
    }
    child_count(bench->child, RULE_CANCEL, 1);
    if (!obeys(bench, sample, (uint32_t)wait_ms, true, &ending)) {
        (void)snprintf(came, sizeof came, "it still ran %u ms after it was cancelled", GRACE_MS);
        child_find(bench->child, RULE_CANCEL, false, name, sample->arguments, came);
    } else if (sample->is_late && sample->is_example && late_is_told(bench->session)) {
        child_find(bench->child, RULE_EXAMPLES, false, name, sample->arguments, EXAMPLE_IS_LATE);
    }
}

/* The call of a tool that took longest, one that did not end before all others; NULL: none took
 * long. On a busy machine quick calls take long now and then, and must not hide it. */
static const struct sample *longest_sample(const struct session *session, size_t tool) {
    const struct sample *longest = NULL;
    for (size_t i = 0; i < session->sample_count; i++) {
        const struct sample *sample = &session->samples[i];
        if (sample->tool != tool || sample->is_bad || (!sample->is_late && sample->ns < LATE_NS)) {
            continue;
        }
        if (longest == NULL || sample->is_late > longest->is_late ||
            (sample->is_late == longest->is_late && sample->ns > longest->ns)) {
            longest = sample;
        }
    }
    return longest;
}

/* The process may be full of what did not end: it is not closed. */
void step_late(struct child *child, struct session *session) {
    for (size_t tool = child_first(child); tool < session->tool_count; tool++) {
        const struct sample *sample = longest_sample(session, tool);
        struct bench bench;
        if (sample != NULL && bench_open(&bench, child, session, true)) {
            look_at_late(&bench, sample);
        }
    }
}

/* ------------------------------------------------------------- out of memory */

static void fail_each(struct bench *bench, const struct sample *sample, const char *whose) {
    struct answer answer;
    image_fail(0);
    bench_call(bench, sample->tool, sample->arguments, TOOLRACK_NO_DEADLINE, &answer);
    uint64_t count = image_end_fail();
    answer_finish(&answer);
    for (uint64_t nth = 1; nth <= count && nth <= FAILURES_MAX; nth++) {
        char doing[96];
        (void)snprintf(doing, sizeof doing, "when allocation %llu of %s failed",
                       (unsigned long long)nth, whose);
        bench->doing = doing;
        image_fail(nth);
        bench_call(bench, sample->tool, sample->arguments, TOOLRACK_NO_DEADLINE, &answer);
        (void)image_end_fail();
        answer_finish(&answer);
    }
    bench->doing = NULL;
    child_count(bench->child, RULE_OUT_OF_MEMORY, count < FAILURES_MAX ? count : FAILURES_MAX);
}

static void fail_allocations(struct child *child, struct session *session, bool of_libraries) {
    struct bench bench;
    bool is_hooked = false;
    if (!bench_open(&bench, child, session, true)) {
        return;
    }
    image_remember();
    for (size_t tool = child_first(child); tool < session->tool_count; tool++) {
        const struct sample *sample = first_sample(session, tool);
        struct answer answer;
        if (sample == NULL) {
            continue;
        }
        bench_call(&bench, tool, sample->arguments, TOOLRACK_NO_DEADLINE, &answer);
        answer_finish(&answer);
        is_hooked = is_hooked || image_count_allocations(of_libraries);
        if (!is_hooked) {
            break;
        }
        if (image_is_rust()) { /* its library ends the process, which no author can change */
            child_warn(child);
        }
        fail_each(&bench, sample, of_libraries ? "a library that it uses" : "the call");
    }
}

void step_out_of_memory(struct child *child, struct session *session) {
    fail_allocations(child, session, false);
}

void step_out_of_memory_libraries(struct child *child, struct session *session) {
    child_warn(child);
    fail_allocations(child, session, true);
}
