/* Whether a tool gives the same at other times and in another process. */
#include <stdlib.h>
#include <string.h>

#include "author/bench.h"
#include "author/steps.h"
#include "base/cleanup.h"

/* Calls in each of two workers: a result by chance, of two that are as likely, is the same in all
 * calls once in a thousand times. */
#define REPEATS 6u
#define WORKERS 2u

struct series {
    struct answer answers[WORKERS][REPEATS];
};

static bool same(const struct answer *left, const struct answer *right) {
    return left->code == right->code && bench_same(left->result, right->result);
}

static bool all_same(const struct series *series) {
    for (unsigned i = 0; i < WORKERS * REPEATS; i++) {
        if (!same(&series->answers[0][0], &series->answers[i / REPEATS][i % REPEATS])) {
            return false;
        }
    }
    return true;
}

/* Both workers went through the same changes: what differs within them is made by the calls, not by
 * time or chance. */
static bool is_history(const struct series *series) {
    for (unsigned i = 0; i < REPEATS; i++) {
        if (!same(&series->answers[0][i], &series->answers[1][i])) {
            return false;
        }
    }
    return true;
}

/* The first call behind the second whose answer is another one than that of the second; 0: none. */
static unsigned later_change(const struct answer answers[REPEATS]) {
    for (unsigned i = 2; i < REPEATS; i++) {
        if (!same(&answers[1], &answers[i])) {
            return i;
        }
    }
    return 0;
}

static void find(struct child *child, const struct session *session, const struct sample *sample,
                 enum rule rule, bool is_warning, const struct answer *first,
                 const struct answer *second, const char *advice) {
    CLEANUP(buf_finish) struct buf came = BUF_INIT;
    answer_describe(first, &came);
    buf_add_text(&came, " at first, then ");
    answer_describe(second, &came);
    buf_printf(&came, "; %s", advice);
    child_find(child, rule, is_warning, session->tools[sample->tool].name, sample->arguments,
               came.failed ? "" : came.data);
}

static void judge(struct child *child, const struct session *session, size_t index,
                  const struct series *series) {
    const struct sample *sample = &session->samples[index];
    const struct tested_tool *tool = &session->tools[sample->tool];
    const struct answer *worker = series->answers[0];
    child_count(child, RULE_REPEATABLE, sample->is_stated ? WORKERS * REPEATS : 0);
    child_count(child, RULE_IDEMPOTENT, tool->is_idempotent ? WORKERS * REPEATS : 0);
    child_count(child, RULE_READ_ONLY, tool->is_read_only ? WORKERS * REPEATS : 0);
    if (all_same(series)) {
        return;
    }
    child_is_loose(child, index);
    if (tool->is_read_only && is_history(series)) {
        unsigned other = 1;
        while (other < REPEATS - 1 && same(&worker[0], &worker[other])) {
            other++;
        }
        find(child, session, sample, RULE_READ_ONLY, false, &worker[0], &worker[other],
             "it remembers earlier calls: leave TR_READ_ONLY out, or keep no state");
    } else if (tool->is_idempotent && later_change(worker) > 0 &&
               later_change(series->answers[1]) > 0) {
        /* What only reads may depend on the time. */
        find(child, session, sample, RULE_IDEMPOTENT, tool->is_read_only, &worker[1],
             &worker[later_change(worker)],
             "a repeated call is to change nothing more: leave TR_IDEMPOTENT out, or give the same "
             "result");
    } else if (sample->is_stated) {
        for (unsigned i = 1; i < WORKERS * REPEATS; i++) {
            const struct answer *other = &series->answers[i / REPEATS][i % REPEATS];
            if (!same(&worker[0], other)) {
                find(child, session, sample, RULE_REPEATABLE, false, &worker[0], other,
                     "leave the result of the example out, or give the same each time");
                return;
            }
        }
    }
}

static void call_all(struct bench *bench, struct series *all, unsigned worker) {
    struct session *session = bench->session;
    for (size_t i = 0; i < session->sample_count; i++) {
        const struct sample *sample = &session->samples[i];
        for (unsigned k = 0; k < REPEATS && bench_is_sound(session, sample); k++) {
            bench_call(bench, sample->tool, sample->arguments, session->timeout_ms,
                       &all[i].answers[worker][k]);
            /* It is of the bench, until the next call. */
            all[i].answers[worker][k].message = "";
        }
    }
}

void step_repeat(struct child *child, struct session *session) {
    struct series *all = calloc(session->sample_count + 1, sizeof *all);
    if (all == NULL || child_first(child) > 0) {
        free(all);
        return;
    }
    for (unsigned worker = 0; worker < WORKERS; worker++) {
        struct bench bench;
        if (bench_open(&bench, child, session, false)) {
            call_all(&bench, all, worker);
        }
        bench_close(&bench);
    }
    for (size_t i = 0; i < session->sample_count; i++) {
        if (bench_is_sound(session, &session->samples[i])) {
            judge(child, session, i, &all[i]);
        }
        for (unsigned k = 0; k < WORKERS * REPEATS; k++) {
            answer_finish(&all[i].answers[k / REPEATS][k % REPEATS]);
        }
    }
    free(all);
}

/* ----------------------------------------------------------------- isolation */

/* Whether a call gives something else in a worker now, as it may by the time of the day. */
static bool has_changed(const struct bench *bench, const struct sample *sample,
                        const struct answer *before) {
    struct bench worker;
    struct answer now;
    bool changed = false;
    if (bench_open(&worker, bench->child, bench->session, false)) {
        bench_call(&worker, sample->tool, sample->arguments, bench->session->timeout_ms, &now);
        changed = !same(before, &now);
        answer_finish(&now);
    }
    bench_close(&worker);
    return changed;
}

/* A call that ends otherwise in the host's process, or takes long there, is not made again there.
 */
static void compare(struct bench *bench, size_t index, const struct answer *before) {
    const struct sample *sample = &bench->session->samples[index];
    struct answer after;
    bench_call(bench, sample->tool, sample->arguments, TOOLRACK_NO_DEADLINE, &after);
    child_count(bench->child, RULE_ISOLATION, 1);
    bool is_other = !sample->is_loose && !same(before, &after);
    if (is_other && has_changed(bench, sample, before)) {
        child_is_loose(bench->child, index);
        is_other = false;
    }
    if (is_other || after.ns > QUICK_NS) {
        child_is_bad(bench->child, index);
    }
    if (is_other) {
        CLEANUP(buf_finish) struct buf came = BUF_INIT;
        answer_describe(&after, &came);
        buf_add_text(&came, " in the host's process, in a worker ");
        answer_describe(before, &came);
        child_find(bench->child, RULE_ISOLATION, false, bench->session->tools[sample->tool].name,
                   sample->arguments, came.failed ? "" : came.data);
    }
    answer_finish(&after);
}

/* What a worker may not do, or changes outside of it, is different in the host's process by intent.
 */
static bool is_limited(const struct bench *bench) {
    struct toolrack_text *text = NULL;
    bool limited = false;
    if (bench->session->tool_count == 0 ||
        toolrack_describe_isolation(bench->host, bench->session->tools[0].name, &text, NULL) < 0) {
        return false;
    }
    yyjson_doc *doc =
            yyjson_read(toolrack_text_data(text, NULL), strlen(toolrack_text_data(text, NULL)), 0);
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (yyjson_obj_get(yyjson_doc_get_root(doc), "capabilities"), at, count, row) {
        const char *kind = yyjson_get_str(yyjson_obj_get(row, "kind"));
        bool only_reads = kind != NULL && (strcmp(kind, "read") == 0 || strcmp(kind, "env") == 0);
        limited = limited || !only_reads || !yyjson_get_bool(yyjson_obj_get(row, "allowed"));
    }
    yyjson_doc_free(doc);
    toolrack_text_unref(text);
    return limited;
}

/* All calls in a worker, and then, tool by tool, in this process. */
void step_isolation(struct child *child, struct session *session) {
    struct answer *before = calloc(session->sample_count + 1, sizeof *before);
    struct bench bench;
    if (before == NULL || !bench_open(&bench, child, session, false)) {
        free(before);
        return;
    }
    bool limited = is_limited(&bench);
    if (limited) {
        child_skip(child, RULE_ISOLATION, NULL,
                   "it declares capabilities that only the host's process gives it; --grant allows "
                   "reading");
    }
    for (size_t i = 0; i < session->sample_count && !limited; i++) {
        if (bench_is_sound(session, &session->samples[i])) {
            bench_call(&bench, session->samples[i].tool, session->samples[i].arguments,
                       session->timeout_ms, &before[i]);
            before[i].message = "";
        }
    }
    bench_close(&bench);
    if (!limited && bench_open(&bench, child, session, true)) {
        for (size_t tool = child_first(child); tool < session->tool_count; tool++) {
            for (size_t i = 0; i < session->sample_count; i++) {
                if (session->samples[i].tool == tool &&
                    bench_is_sound(session, &session->samples[i])) {
                    compare(&bench, i, &before[i]);
                }
            }
        }
    }
    /* What unloading does is the subject of another rule: the process ends next. */
    for (size_t i = 0; i < session->sample_count; i++) {
        answer_finish(&before[i]);
    }
    free(before);
}
