/* The order of a test: what is learned first, and who needs it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "author/again.h"
#include "author/bench.h"
#include "author/child.h"
#include "author/place.h"
#include "author/report.h"
#include "author/steps.h"
#include "author/tsan.h"
#include "base/cleanup.h"
#include "base/command.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)

static const struct {
    const char *id;
    const char *summary;
} rules[] = {
#define RULE_ROW(constant, id, summary) {id, summary},
        RULES(RULE_ROW)
#undef RULE_ROW
};

const char *rule_id(enum rule rule) {
    return rules[rule].id;
}

const char *rule_summary(enum rule rule) {
    return rules[rule].summary;
}

bool author_rule(size_t index, const char **ret_id, const char **ret_summary) {
    if (index >= RULE_COUNT) {
        return false;
    }
    *ret_id = rules[index].id;
    *ret_summary = rules[index].summary;
    return true;
}

/* ------------------------------------------------------------------ findings */

static char *copy(const char *text) {
    return text != NULL ? strdup(text) : NULL;
}

static bool is_about(const struct finding *finding, const char *tool) {
    return tool != NULL && finding->tool != NULL && strcmp(finding->tool, tool) == 0;
}

void session_find(struct session *session, enum rule rule, bool is_warning, const char *tool,
                  const char *sent, const char *came) {
    struct outcome *outcome = &session->outcomes[rule];
    outcome->failed = outcome->failed || !is_warning;
    for (size_t i = 0; i < outcome->finding_count; i++) {
        if (is_about(&outcome->findings[i], tool)) {
            outcome->more++;
            return;
        }
    }
    if (outcome->finding_count == FINDINGS_MAX) {
        outcome->more++;
        return;
    }
    outcome->findings[outcome->finding_count++] = (struct finding){
            .is_warning = is_warning, .tool = copy(tool), .sent = copy(sent), .came = copy(came)};
}

void session_skip(struct session *session, enum rule rule, const char *tool, const char *why) {
    struct outcome *outcome = &session->outcomes[rule];
    CLEANUP(buf_finish) struct buf notes = BUF_INIT;
    if (tool == NULL) {
        free(outcome->skipped);
        outcome->skipped = copy(why);
        return;
    }
    buf_printf(&notes, "%s: %s\n", tool, why);
    if (notes.failed || (outcome->notes != NULL && strstr(outcome->notes, notes.data) != NULL)) {
        return;
    }
    buf_truncate(&notes, 0);
    buf_printf(&notes, "%s%s: %s\n", outcome->notes != NULL ? outcome->notes : "", tool, why);
    char *grown = buf_steal(&notes);
    if (grown != NULL) {
        free(outcome->notes);
        outcome->notes = grown;
    }
}

/* --------------------------------------------------------------------- steps */

/* Each rule that has a step of its own, in the order in which they run. */
static const struct {
    enum rule rule;
    step_function *step;
} last_steps[] = {
        {RULE_RELOAD, step_reload}, /* first: the step of threads reloads too */
        {RULE_MEMORY, step_memory},
        {RULE_DESCRIPTORS, step_descriptors},
        {RULE_THREADS, step_threads},
        {RULE_PROCESSES, step_processes},
        {RULE_FILES, step_files},
        {RULE_HANDLERS, step_handlers},
        {RULE_MASK, step_mask},
        {RULE_FOLDER, step_folder},
        {RULE_UMASK, step_umask},
        {RULE_LOCALE, step_locale},
        {RULE_ENVIRONMENT, step_environment},
        {RULE_PARALLEL, step_parallel},
        {RULE_OUT_OF_MEMORY, step_out_of_memory},
        {RULE_OUT_OF_MEMORY, step_out_of_memory_libraries},
};

static bool wants(const struct session *session, enum rule first, enum rule last) {
    for (unsigned rule = first; rule <= (unsigned)last; rule++) {
        if (session->selected[rule]) {
            return true;
        }
    }
    return false;
}

static bool has_sample(const struct session *session, size_t tool) {
    for (size_t i = 0; i < session->sample_count; i++) {
        if (session->samples[i].tool == tool && bench_is_sound(session, &session->samples[i])) {
            return true;
        }
    }
    return false;
}

/* @return whether a call of any tool can be made again */
static bool find_slow(struct session *session) {
    bool any = false;
    for (size_t i = 0; i < session->tool_count; i++) {
        session->tools[i].is_slow = session->tools[i].skipped == NULL && !has_sample(session, i);
        any = any || (session->tools[i].skipped == NULL && !session->tools[i].is_slow);
    }
    return any;
}

static bool has_late(const struct session *session) {
    for (size_t i = 0; i < session->sample_count; i++) {
        if (session->samples[i].is_late || session->samples[i].ns >= LATE_NS) {
            return true;
        }
    }
    return false;
}

/* Its runtime is in the host's process only, not in workers, and makes each call ten times as
 * slow: a build without it is what the other rules are for. */
static void run_sanitized(struct session *session) {
    for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
        if (rule != RULE_LOAD && rule != RULE_PARALLEL) {
            session_skip(session, (enum rule)rule, NULL,
                         "it was built with ThreadSanitizer, which is for the rule parallel; test "
                         "a build without it too");
        }
    }
    if (!tsan_is_here()) {
        session_find(session, RULE_LOAD, false, NULL, NULL,
                     "it was built with ThreadSanitizer, so only the command test loads it, with "
                     "the runtime; build it without -fsanitize=thread");
        session->is_dead = true;
        return;
    }
    child_list(session, step_list);
    if (!session->is_dead && session->selected[RULE_PARALLEL]) {
        child_run(session, RULE_PARALLEL, step_race);
    }
}

static void run_steps(struct session *session) {
    if (tsan_is_wanted(session->options->file)) {
        run_sanitized(session);
        return;
    }
    child_list(session, step_list);
    if (!session->is_dead) {
        child_run(session, RULE_LOAD, step_load);
    }
    if (session->is_dead || session->outcomes[RULE_LOAD].failed) {
        session->is_dead = true;
        return;
    }
    child_run(session, RULE_EXAMPLES, step_examples);
    child_run(session, RULE_FUZZ_VALID, step_valid);
    /* Where what calls leave is looked for, those that fail are wanted, too, and where long calls
     * are, those that do not end. */
    bool needs_all = wants(session, RULE_MEMORY, RULE_ENVIRONMENT) ||
                     wants(session, RULE_DEADLINE, RULE_CANCEL);
    if (session->selected[RULE_FUZZ_BOUNDARY] || session->selected[RULE_RESULT] || needs_all) {
        child_run(session, RULE_FUZZ_BOUNDARY, step_boundary);
    }
    if (session->selected[RULE_FUZZ_INVALID] || needs_all) {
        child_run(session, RULE_FUZZ_INVALID, step_invalid);
    }
    if (wants(session, RULE_REPEATABLE, RULE_ISOLATION) || session->selected[RULE_PARALLEL]) {
        child_run(session, RULE_REPEATABLE, step_repeat);
    }
    if (wants(session, RULE_ISOLATION, RULE_PARALLEL) || session->selected[RULE_OUT_OF_MEMORY]) {
        child_run(session, RULE_ISOLATION, step_isolation);
    }
    bool any = find_slow(session);
    for (size_t i = 0; i < ARRAY_LENGTH(last_steps) && !child_interrupted(); i++) {
        enum rule rule = last_steps[i].rule;
        if (!session->selected[rule] && !(rule == RULE_RELOAD && session->selected[RULE_THREADS])) {
            continue;
        }
        if (any) {
            child_run(session, last_steps[i].rule, last_steps[i].step);
        } else {
            session_skip(session, last_steps[i].rule, NULL, "no call of it can be made again");
        }
    }
    if (session->selected[RULE_DEADLINE] || session->selected[RULE_CANCEL]) {
        if (has_late(session)) {
            child_run(session, RULE_DEADLINE, step_late);
        } else {
            session_skip(session, RULE_DEADLINE, NULL, "no call takes 30 ms or longer");
            session_skip(session, RULE_CANCEL, NULL, "no call takes 30 ms or longer");
        }
    }
}

/* --------------------------------------------------------------------- begin */

static int select_rules(struct session *session, struct toolrack_error *err) {
    const struct author_test *options = session->options;
    for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
        session->selected[rule] = options->only_count == 0;
    }
    for (size_t i = 0; i < options->only_count; i++) {
        unsigned rule = 0;
        while (rule < RULE_COUNT && strcmp(rules[rule].id, options->only[i]) != 0) {
            rule++;
        }
        if (rule == RULE_COUNT) {
            return error_set(err, TOOLRACK_E_INVALID, "there is no rule \"%s\"; see the rules: %s",
                             options->only[i], COMMAND("test --list"));
        }
        session->selected[rule] = true;
    }
    return 0;
}

/* Id and version, which the file says without being loaded; what is wrong with it. */
static int read_file(struct session *session, struct toolrack_error *err) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    struct toolrack_error *from = toolrack_error_create();
    int code = toolrack_check(session->options->file, &findings, from);
    if (code < 0) {
        code = error_set(err, code, "%s", toolrack_error_message(from));
    } else if (toolrack_findings_is_configuration(findings)) {
        code = error_set(err, TOOLRACK_E_INVALID, "%s is no plugin, but a configuration",
                         session->options->file);
    }
    toolrack_error_free(from);
    if (code < 0) {
        return code;
    }
    session->plugin = copy(toolrack_findings_plugin(findings));
    session->version = copy(toolrack_findings_version(findings));
    for (size_t i = 0; session->plugin == NULL && i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        CLEANUP(buf_finish) struct buf came = BUF_INIT;
        buf_printf(&came, "%s: %s; %s", finding->rule, finding->cause, finding->fix);
        session_find(session, RULE_LOAD, finding->severity != TOOLRACK_SEVERITY_ERROR,
                     finding->tool, NULL, came.failed ? "" : came.data);
    }
    session->is_dead = session->plugin == NULL;
    return 0;
}

static int run_session(struct session *session, struct toolrack_error *err) {
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before[ARRAY_LENGTH(ends)];
    struct sigaction action = {.sa_handler = child_interrupt};
    child_interrupt(0);
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        (void)sigaction(ends[i], &action, &before[i]);
    }
    int code = place_make(session, err);
    code = code < 0 ? code : place_configure(session, err);
    if (code == 0 && !session->is_dead) {
        run_steps(session);
    }
    place_remove(session);
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        (void)sigaction(ends[i], &before[i], NULL);
    }
    return code < 0 || !child_interrupted()
                   ? code
                   : error_set(err, TOOLRACK_E_CANCELLED, "the test was interrupted");
}

/* What a thread has freed glibc keeps for it, and counts as in use: of a library with threads of
 * its own that looks like a leak. */
#define TUNABLES  "GLIBC_TUNABLES"
#define NO_CACHES "glibc.malloc.tcache_count=0"

int author_have_runtime(const char *file, struct toolrack_error *err) {
    const char *tunables = getenv(TUNABLES);
    bool has_caches = tunables == NULL || strstr(tunables, NO_CACHES) == NULL;
    if (has_caches && again_add_variable(TUNABLES, NO_CACHES) < 0) {
        return error_oom(err);
    }
    if (!tsan_is_here() && tsan_is_wanted(file)) {
        return tsan_become(file, err);
    }
    if (has_caches) {
        struct toolrack_error unheard; /* with the caches a test only takes more for leaks */
        (void)again_start(&unheard);
    }
    return 0;
}

int author_test(const struct author_test *options, struct author_report **ret,
                struct toolrack_error *err) {
    struct author_report *report = calloc(1, sizeof *report);
    if (report == NULL) {
        return error_oom(err);
    }
    struct session *session = &report->session;
    session->options = options;
    session->runs = options->runs > 0 ? options->runs : AUTHOR_RUNS;
    session->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : AUTHOR_TIMEOUT_MS;
    int code = select_rules(session, err);
    code = code < 0 ? code : read_file(session, err);
    code = code < 0 ? code : run_session(session, err);
    if (code < 0) {
        author_report_free(report);
        return code;
    }
    *ret = report;
    return 0;
}

void author_report_free(struct author_report *report) {
    if (report == NULL) {
        return;
    }
    struct session *session = &report->session;
    for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
        struct outcome *outcome = &session->outcomes[rule];
        for (size_t i = 0; i < outcome->finding_count; i++) {
            free(outcome->findings[i].tool);
            free(outcome->findings[i].sent);
            free(outcome->findings[i].came);
        }
        free(outcome->skipped);
        free(outcome->notes);
    }
    for (size_t i = 0; i < session->tool_count; i++) {
        free(session->tools[i].name);
        free(session->tools[i].skipped);
    }
    for (size_t i = 0; i < session->sample_count; i++) {
        free(session->samples[i].arguments);
        free(session->samples[i].result);
    }
    free(session->tools);
    free(session->samples);
    free(session->plugin);
    free(session->version);
    free(report);
}
