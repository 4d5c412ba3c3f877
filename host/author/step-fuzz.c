/* The examples, and arguments that nobody has thought of, in workers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "author/bench.h"
#include "author/cases.h"
#include "author/steps.h"
#include "base/cleanup.h"

/* What can be sent that is no JSON value of a schema. */
static const char *const broken_texts[] = {
        "{",
        "[]",
        "\"\"",
        "{\"a\":}",
        "{\"a\":1,}",
        "nul",
        "{\"a\":1}{\"b\":2}",
        "\xff",
        "{\"a\":\"\xc3\"}",
        "{\"a\":\"\\ud800\"}",
        "{\"a\":1e99999}",
        "{\"a\":1,\"a\":2}",
};
/* Beyond any limit of nesting. */
#define DEEP 5000u

static void find_answer(struct bench *bench, enum rule rule, size_t tool, const char *sent,
                        const struct answer *answer) {
    CLEANUP(buf_finish) struct buf came = BUF_INIT;
    answer_describe(answer, &came);
    child_find(bench->child, rule, false, bench->session->tools[tool].name, sent,
               came.failed ? "" : came.data);
}

/* A process that dies is the finding of the rule, with the smallest arguments that do it. */
static void tell_death(struct bench *bench, enum rule rule, size_t tool, const char *arguments,
                       const struct answer *answer) {
    CLEANUP(buf_finish) struct buf came = BUF_INIT;
    answer_describe(answer, &came);
    /* An example is what its author wrote. */
    CLEANUP(freep)
    char *small = rule != RULE_EXAMPLES ? cases_shrink(bench, tool, arguments) : NULL;
    child_find(bench->child, rule, false, bench->session->tools[tool].name,
               small != NULL ? small : arguments, came.failed ? "" : came.data);
    child_give_up(bench->child, tool);
    bench->session->tools[tool].is_given_up = true;
}

/* What the host says of a reply. A worker's word counts as its tool's, so that the words tell. */
static bool is_wrong_reply(const struct answer *answer) {
    static const char *const beginnings[] = {"the tool's re", "the result "};
    bool is_told = !answer->is_from_tool;
    for (size_t i = 0; i < ARRAY_LENGTH(beginnings); i++) {
        is_told = is_told || strncmp(answer->message, beginnings[i], strlen(beginnings[i])) == 0;
    }
    return answer->has_begun && !answer->is_dead && is_told &&
           (answer->code == TOOLRACK_E_EXECUTION_FAILED ||
            answer->code == TOOLRACK_E_LIMIT_EXCEEDED);
}

/* On a busy machine a crash may take longer to be told than a call may: what is late gets more time
 * once. */
#define MORE_TIME 3u

static void send_call(struct bench *bench, size_t tool, const char *arguments, struct answer *ret) {
    bench_call(bench, tool, arguments, bench->session->timeout_ms, ret);
    if (ret->code == TOOLRACK_E_TIMEOUT) {
        struct answer again;
        uint64_t ns = ret->ns;
        bench_call(bench, tool, arguments, bench->session->timeout_ms * MORE_TIME, &again);
        if (again.code == 0) { /* and is late all the same */
            answer_finish(&again);
            ret->ns = ns;
        } else {
            *ret = again;
        }
    }
}

/* Judge a call that was sent to the tool. @return whether the tool is to be called again */
static bool judge(struct bench *bench, enum rule rule, size_t tool, const char *arguments,
                  const struct answer *answer) {
    if (answer->is_dead) {
        tell_death(bench, rule, tool, arguments, answer);
        return false;
    }
    if (answer->code == TOOLRACK_E_TIMEOUT) {
        if (rule == RULE_EXAMPLES && !late_is_told(bench->session)) {
            child_find(bench->child, rule, false, bench->session->tools[tool].name, arguments,
                       EXAMPLE_IS_LATE); /* else step_late() says what is wrong */
        }
        child_add_sample(bench->child, &(struct sample){.tool = tool,
                                                        .arguments = (char *)(uintptr_t)arguments,
                                                        .is_late = true,
                                                        .is_example = rule == RULE_EXAMPLES,
                                                        .ns = answer->ns});
        child_give_up(bench->child, tool);
        bench->session->tools[tool].is_given_up = true;
        return false;
    }
    if (is_wrong_reply(answer)) {
        find_answer(bench, RULE_RESULT, tool, arguments, answer);
    }
    return true;
}

/* ------------------------------------------------------------------ examples */

static void try_example(struct bench *bench, size_t tool, size_t index) {
    struct toolrack_tool *about = bench->tools[tool];
    const char *arguments = toolrack_tool_example_arguments(about, index);
    const char *wanted = toolrack_tool_example_result(about, index);
    const char *name = bench->session->tools[tool].name;
    struct answer answer;
    send_call(bench, tool, arguments, &answer);
    if (judge(bench, RULE_EXAMPLES, tool, arguments, &answer)) {
        if (answer.code != 0 && !is_wrong_reply(&answer)) {
            find_answer(bench, RULE_EXAMPLES, tool, arguments, &answer);
        } else if (answer.code == 0 && wanted != NULL && !bench_same(wanted, answer.result)) {
            CLEANUP(buf_finish) struct buf came = BUF_INIT;
            answer_describe(&answer, &came);
            buf_printf(&came, " instead of %.*s", (int)SHOWN_LENGTH_MAX, wanted);
            child_find(bench->child, RULE_EXAMPLES, false, name, arguments,
                       came.failed ? "" : came.data);
        }
        child_add_sample(bench->child,
                         &(struct sample){.tool = tool,
                                          .arguments = (char *)(uintptr_t)arguments,
                                          .result = answer.result,
                                          .is_example = true,
                                          .is_stated = wanted != NULL && answer.code == 0 &&
                                                       bench_same(wanted, answer.result),
                                          .ns = answer.ns});
    }
    answer_finish(&answer);
    child_count(bench->child, RULE_EXAMPLES, 1);
}

void step_examples(struct child *child, struct session *session) {
    struct bench bench;
    if (!bench_open(&bench, child, session, false)) {
        return;
    }
    for (size_t i = child_first(child); i < session->tool_count; i++) {
        size_t count = bench.tools[i] != NULL ? toolrack_tool_example_count(bench.tools[i]) : 0;
        for (size_t k = 0; session->tools[i].skipped == NULL && k < count; k++) {
            if (!session->tools[i].is_given_up) {
                try_example(&bench, i, k);
            }
        }
    }
    bench_close(&bench);
}

/* --------------------------------------------------------------------- valid */

static size_t count_samples(const struct session *session, size_t tool) {
    size_t count = 0;
    for (size_t i = 0; i < session->sample_count; i++) {
        count += session->samples[i].tool == tool;
    }
    return count;
}

/* Calls that the tool fails, of each rule: what it leaves behind there is looked for, too. */
#define FAILURES_MAX 2u

static void keep_failure(struct bench *bench, size_t tool, const char *arguments,
                         const struct answer *answer, unsigned *kept) {
    if (answer->code != 0 && answer->is_from_tool && !answer->is_dead && answer->has_begun &&
        *kept < FAILURES_MAX) {
        (*kept)++;
        child_add_sample(bench->child, &(struct sample){.tool = tool,
                                                        .arguments = (char *)(uintptr_t)arguments,
                                                        .ns = answer->ns});
    }
}

static void try_valid(struct bench *bench, size_t tool) {
    struct session *session = bench->session;
    struct cases cases;
    size_t kept = count_samples(session, tool);
    unsigned failures = 0;
    uint32_t made = 0;
    cases_begin(&cases, bench, tool, RULE_FUZZ_VALID);
    for (; made < session->runs && !session->tools[tool].is_given_up; made++) {
        struct answer answer;
        CLEANUP(freep) char *arguments = cases_typical(&cases);
        if (arguments == NULL) {
            child_skip(bench->child, RULE_FUZZ_VALID, session->tools[tool].name,
                       "no arguments that fit its schema could be made; give it an example");
            break;
        }
        send_call(bench, tool, arguments, &answer);
        bool goes_on = judge(bench, RULE_FUZZ_VALID, tool, arguments, &answer);
        if (goes_on && kept < SAMPLES_MAX) {
            kept++;
            failures += answer.code != 0;
            child_add_sample(bench->child, &(struct sample){.tool = tool,
                                                            .arguments = arguments,
                                                            .result = answer.result,
                                                            .ns = answer.ns});
        } else if (goes_on) {
            keep_failure(bench, tool, arguments, &answer, &failures);
        }
        answer_finish(&answer);
    }
    child_count(bench->child, RULE_FUZZ_VALID, made);
    child_count(bench->child, RULE_RESULT, made);
    cases_end(&cases);
}

static void each_tool(struct child *child, struct session *session, enum rule rule,
                      void (*try)(struct bench *bench, size_t tool)) {
    struct bench bench;
    if (!bench_open(&bench, child, session, false)) {
        return;
    }
    for (size_t i = child_first(child); i < session->tool_count; i++) {
        if (session->tools[i].skipped != NULL || bench.tools[i] == NULL) {
            continue;
        }
        if (session->tools[i].is_given_up) {
            child_skip(child, rule, session->tools[i].name,
                       "an earlier rule found that it crashes, or does not end in time");
            continue;
        }
        try(&bench, i);
    }
    bench_close(&bench);
}

void step_valid(struct child *child, struct session *session) {
    each_tool(child, session, RULE_FUZZ_VALID, try_valid);
}

/* ------------------------------------------------------------ bounds, beyond */

static void try_boundary(struct bench *bench, size_t tool) {
    struct session *session = bench->session;
    struct cases cases;
    unsigned failures = 0;
    uint32_t made = 0;
    cases_begin(&cases, bench, tool, RULE_FUZZ_BOUNDARY);
    (void)cases_make(&cases, RULE_FUZZ_BOUNDARY);
    while (made < session->runs && !session->tools[tool].is_given_up) {
        struct answer answer;
        CLEANUP(freep) char *arguments = cases_take(&cases);
        if (arguments == NULL) {
            break;
        }
        if (!bench_fits(bench, tool, arguments)) {
            continue;
        }
        made++;
        send_call(bench, tool, arguments, &answer);
        if (judge(bench, RULE_FUZZ_BOUNDARY, tool, arguments, &answer)) {
            keep_failure(bench, tool, arguments, &answer, &failures);
        }
        answer_finish(&answer);
    }
    child_count(bench->child, RULE_FUZZ_BOUNDARY, made);
    cases_end(&cases);
}

void step_boundary(struct child *child, struct session *session) {
    each_tool(child, session, RULE_FUZZ_BOUNDARY, try_boundary);
}

/* Arguments that do not fit must be refused before they reach the tool; where the schema allows
 * them, the tool must stand them. */
static void send_wrong(struct bench *bench, size_t tool, const char *arguments,
                       unsigned *failures) {
    struct answer answer;
    bool fits = bench_fits(bench, tool, arguments);
    send_call(bench, tool, arguments, &answer);
    if (!fits && answer.code == 0) {
        find_answer(bench, RULE_FUZZ_INVALID, tool, arguments, &answer);
    } else if (judge(bench, RULE_FUZZ_INVALID, tool, arguments, &answer)) {
        keep_failure(bench, tool, arguments, &answer, failures);
    }
    answer_finish(&answer);
}

static void send_deep(struct bench *bench, size_t tool, unsigned *failures) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add_text(&text, "{\"a\":");
    for (unsigned i = 0; i < DEEP; i++) {
        buf_add_char(&text, '[');
    }
    for (unsigned i = 0; i < DEEP; i++) {
        buf_add_char(&text, ']');
    }
    buf_add_char(&text, '}');
    if (!text.failed) {
        send_wrong(bench, tool, text.data, failures);
    }
}

static void try_invalid(struct bench *bench, size_t tool) {
    struct session *session = bench->session;
    struct cases cases;
    unsigned failures = 0;
    uint32_t made = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(broken_texts) && !session->tools[tool].is_given_up; i++) {
        send_wrong(bench, tool, broken_texts[i], &failures);
        made++;
    }
    if (!session->tools[tool].is_given_up) {
        send_deep(bench, tool, &failures);
        made++;
    }
    cases_begin(&cases, bench, tool, RULE_FUZZ_INVALID);
    (void)cases_make(&cases, RULE_FUZZ_INVALID);
    for (uint32_t i = 0; i < session->runs && !session->tools[tool].is_given_up; i++) {
        CLEANUP(freep) char *arguments = cases_take(&cases);
        if (arguments == NULL) {
            break;
        }
        send_wrong(bench, tool, arguments, &failures);
        made++;
    }
    child_count(bench->child, RULE_FUZZ_INVALID, made);
    cases_end(&cases);
}

void step_invalid(struct child *child, struct session *session) {
    each_tool(child, session, RULE_FUZZ_INVALID, try_invalid);
}
