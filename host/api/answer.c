/* answer.c - execute the calls of a model's message and write their results.
 *
 * The calls run in parallel: they are submitted, except one that runs on the caller's thread, which
 * would only wait otherwise. Passing a call to another thread takes longer than many tools need, so
 * tools that were quick so far run on the caller's thread one after the other, for a limited time.
 * A call that fails, or cannot be submitted, gives a result with the error, for the model.
 *
 * Of several calls that a person is asked about, each asks after those before it in the message
 * were answered, so that the questions come in the order of the calls.
 *
 * Somebody may watch the calls. What they report on their threads is kept in their struct, and the
 * thread that waits for them tells it: of progress only the last. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/answer-arguments.h"
#include "api/answer-names.h"
#include "api/answer.h"
#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "format/turn.h"
#include "permit/permit.h"
#include "registry/text.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* A tool with at least QUICK_CALLS_MIN calls, of QUICK_NS_MAX or less on average, is quick: another
 * thread would start it only after it could have ended here. */
#define QUICK_NS_MAX    50000u
#define QUICK_CALLS_MIN 8u
/* How long quick calls run here; calls that have not begun by then are submitted, since one was not
 * quick. */
#define HERE_NS_MAX     1000000u

/* Bytes of the stack for a message and its arguments, parsed: most fit. */
#define TURN_ROOM 16384u

/* One call of the turn. */
struct answer {
    struct turn *turn;
    const struct format_call *call;
    const char *name;               /* name of the tool to call: in the message, or its arena */
    const char *arguments;          /* likewise */
    struct toolrack_tool *tool;     /* a reference; NULL: not found */
    bool quick;                     /* the tool was quick so far */
    bool begun;                     /* or need not begin */
    struct toolrack_result *result; /* NULL: it failed, or is the conversation's own */
    struct buf own;                 /* result of a call of the conversation's own */
    struct toolrack_error err;
    size_t question;   /* which of the turn's questions it asks, from 1; 0: none */
    bool decided;      /* its question was answered */
    char *allower;     /* owned: who allowed all calls of its tool with that; or NULL */
    uint64_t standing; /* of that answer: see struct toolrack_approval_request */

    /* With a watch, under the lock of the turn. */
    struct toolrack_call_options options; /* those of the turn, by way of this call */
    uint64_t began_ns;                    /* 0: it did not begin */
    uint64_t duration_ns;
    bool ended;
    bool told; /* that it has ended */
    bool has_progress;
    double done;
    double total;
    char *said; /* owned, of the progress; or NULL */
};

struct turn {
    struct toolrack *host;
    struct format_message message;
    const struct toolrack_call_options *options;
    const struct agent_watch *watch;  /* NULL: nobody watches */
    const struct answer_extra *extra; /* or NULL */
    struct answer_names names;        /* `no_memory`: for the call at hand */
    uint64_t snapshot;                /* in which the tools of calls are found */
    struct answer *answers;           /* one for each call, in their order */
    pthread_mutex_t lock;
    pthread_cond_t over;
    size_t running;   /* submitted and not ended */
    size_t questions; /* calls about which a person is asked, as foreseen */
};

static void turn_finish(struct turn *turn) {
    for (size_t i = 0; turn->answers != NULL && i < turn->message.count; i++) {
        toolrack_result_free(turn->answers[i].result);
        toolrack_tool_unref(turn->answers[i].tool);
        free(turn->answers[i].said);
        free(turn->answers[i].allower);
        buf_finish(&turn->answers[i].own);
    }
    free(turn->answers);
    answer_names_finish(&turn->names);
    format_message_finish(&turn->message);
    (void)pthread_cond_destroy(&turn->over);
    (void)pthread_mutex_destroy(&turn->lock);
}

/* ----------------------------------------------------------------- finding */

static bool is_quick(const struct toolrack_tool *tool) {
    struct toolrack_tool_statistics known = TOOLRACK_TOOL_STATISTICS_INIT;
    toolrack_tool_statistics(tool, &known);
    /* The longest call is left out: probably it loaded the plugin. */
    return call_is_free(tool) && known.calls >= QUICK_CALLS_MIN &&
           (known.total_ns - known.max_ns) / (known.calls - 1) <= QUICK_NS_MAX;
}

/* Whether a name means a tool of the conversation's own, with a word before it or not. */
static bool is_own(struct turn *turn, const char *name) {
    const struct answer_extra *extra = turn->extra;
    if (extra->has(extra->user, name)) {
        return true;
    }
    const char *behind = answer_names_behind_word(&turn->names, name);
    return behind != NULL && extra->has(extra->user, behind);
}

/* Answer a call of the conversation's own. @return whether it is one */
static bool answer_own(struct turn *turn, struct answer *answer) {
    const struct answer_extra *extra = turn->extra;
    if (extra == NULL || !is_own(turn, answer->call->name)) {
        return false;
    }
    answer->begun = true;
    if (extra->call(extra->user, answer->call, &answer->own, &answer->err) < 0) {
        buf_finish(&answer->own);
    }
    return true;
}

/* Find the tool to call, and its arguments. A failure is that of the call. */
static void find_call(struct turn *turn, struct answer *answer) {
    struct answer_names *names = &turn->names;
    const struct format_call *call = answer->call;
    bool found = answer_names_find(names, call->name, &answer->name, &answer->tool);
    if (!found && answer_names_find_prefixed(names, call->name, &answer->name, &answer->tool)) {
        found = true;
        log_line(&turn->host->log, LOG_INFO, "answer", "the model called %s as %s", answer->name,
                 call->name);
    }
    if (!found && names->is_limited) {
        answer->begun = true;
        answer_names_refuse(names, call->name, &answer->err);
        return;
    }
    if (!found) {
        answer->name = call->name;
        return;
    }
    if (call->was_encoded) {
        log_line(&turn->host->log, LOG_INFO, "answer",
                 "%s: the arguments were JSON text within a JSON string", answer->name);
    }
    if (answer->tool == NULL) {
        answer->tool = registry_get(turn->host->registry, answer->name);
    }
    answer->quick = answer->tool != NULL && is_quick(answer->tool);
    if (answer->tool != NULL && call->is_odd) {
        answer_arguments_mend(names, turn->options, call, answer->tool, answer->name,
                              &answer->arguments);
    }
}

/* Without memory for that, it would be another call, or one without some of its arguments. */
static void prepare(struct turn *turn, struct answer *answer) {
    turn->names.no_memory = false;
    find_call(turn, answer);
    if (turn->names.no_memory) {
        answer->begun = true;
        (void)error_oom(&answer->err);
        error_set_tool(&answer->err, answer->call->name);
    }
}

/* ------------------------------------------------------------------- calls */

/* The callbacks of a call that is watched: the app's, with the app's own argument. */
static void take_progress(void *user, double done, double total, const char *message) {
    struct answer *answer = user;
    const struct toolrack_call_options *app = answer->turn->options;
    char *said = message != NULL ? strdup(message) : NULL;
    (void)pthread_mutex_lock(&answer->turn->lock);
    char *before = answer->said;
    answer->has_progress = true;
    answer->done = done;
    answer->total = total;
    answer->said = said;
    (void)pthread_cond_broadcast(&answer->turn->over);
    (void)pthread_mutex_unlock(&answer->turn->lock);
    free(before);
    if (app->progress != NULL) {
        app->progress(app->user, done, total, message);
    }
}

static int ask(void *user, const char *message, const char *schema, char **ret_content) {
    const struct toolrack_call_options *app = ((const struct answer *)user)->turn->options;
    return app->ask(app->user, message, schema, ret_content);
}

static void take_log(void *user, enum toolrack_log_level level, const char *line) {
    const struct toolrack_call_options *app = ((const struct answer *)user)->turn->options;
    app->log(app->user, level, line);
}

/* ---------------------------------------------------------------- questions */

static bool may_be_asked_about(struct toolrack *host, struct toolrack_tool *tool,
                               const struct toolrack_call_options *options) {
    bool asks = false;
    struct toolrack_error unheard;
    return toolrack_tool_permission(tool) == TOOLRACK_PERMISSION_CONFIRM &&
           permit_foresee(host->permit, tool, options, &asks, &unheard) == 0 && asks;
}

/* Number the calls about which a person is asked. */
static void number_questions(struct turn *turn) {
    bool has_approver = turn->options->approve != NULL || turn->host->options.approve != NULL;
    for (size_t i = 0; has_approver && i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        if (!answer->begun && answer->tool != NULL &&
            may_be_asked_about(turn->host, answer->tool, turn->options)) {
            answer->question = ++turn->questions;
        }
    }
}

static bool asks_before(const struct answer *answer) {
    for (const struct answer *other = answer->turn->answers; other < answer; other++) {
        if (other->question > 0 && !other->decided && !other->ended) {
            return true;
        }
    }
    return false;
}

static void set_decided(struct answer *answer) {
    struct turn *turn = answer->turn;
    (void)pthread_mutex_lock(&turn->lock);
    answer->decided = true;
    (void)pthread_cond_broadcast(&turn->over);
    (void)pthread_mutex_unlock(&turn->lock);
}

static int ask_approver(const struct turn *turn, const struct toolrack_approval_request *request) {
    const struct toolrack_call_options *app = turn->options;
    const struct toolrack_options *host = &turn->host->options;
    return app->approve != NULL ? app->approve(app->user, request)
                                : host->approve(host->user, request);
}

/* An answer that was for all calls of the tool is kept for those of the turn that wait to be asked
 * about. */
static void keep_answer(struct answer *answer, const struct toolrack_approval_request *request,
                        int decision) {
    if ((decision == TOOLRACK_APPROVAL_ALLOW_ALWAYS ||
         decision == TOOLRACK_APPROVAL_ALLOW_CONVERSATION) &&
        request->permission == TOOLRACK_PERMISSION_CONFIRM) {
        answer->standing = request->standing;
        answer->allower = strdup(request->who); /* NULL: the others are asked about, too */
    }
}

/* Whether a question of the turn before this one was answered so, and by whom. */
static bool is_answered(const struct answer *answer,
                        const struct toolrack_approval_request *request) {
    for (const struct answer *other = answer->turn->answers; other < answer; other++) {
        if (other->allower != NULL && other->standing == request->standing &&
            toolrack_tool_uid(other->tool) == toolrack_tool_uid(answer->tool)) {
            (void)snprintf(request->who, request->who_room, "%s", other->allower);
            return true;
        }
    }
    return false;
}

/* The time in it does not count against the deadline of the call. */
static int approve(void *user, const struct toolrack_approval_request *request) {
    struct answer *answer = user;
    struct turn *turn = answer->turn;
    struct toolrack_approval_request numbered = *request;
    CLEANUP(buf_finish) struct buf reason = BUF_INIT;
    if (turn->questions < 2 || answer->question == 0) {
        return ask_approver(turn, request);
    }
    buf_printf(&reason, "%s (question %zu of %zu)", request->reason, answer->question,
               turn->questions);
    numbered.reason = reason.failed ? request->reason : reason.data;
    (void)pthread_mutex_lock(&turn->lock);
    while (asks_before(answer)) {
        (void)pthread_cond_wait(&turn->over, &turn->lock);
    }
    (void)pthread_mutex_unlock(&turn->lock);
    int decision = TOOLRACK_APPROVAL_ALLOW_ONCE;
    if (!is_answered(answer, &numbered)) {
        decision = ask_approver(turn, &numbered);
        keep_answer(answer, &numbered, decision);
    }
    set_decided(answer);
    return decision;
}

/* ------------------------------------------------------------------ options */

static int ask_inputs(void *user, struct toolrack_input *inputs, size_t count) {
    const struct toolrack_call_options *app = ((const struct answer *)user)->turn->options;
    return app->input(app->user, inputs, count);
}

static const struct toolrack_call_options *options_of(struct answer *answer) {
    const struct toolrack_call_options *app = answer->turn->options;
    bool is_watched = answer->turn->watch != NULL;
    if (!is_watched && answer->turn->questions < 2) {
        return app;
    }
    answer->options = *app;
    answer->options.user = answer;
    answer->options.progress = is_watched || app->progress != NULL ? take_progress : NULL;
    answer->options.ask = app->ask != NULL ? ask : NULL;
    answer->options.log = app->log != NULL ? take_log : NULL;
    bool has_approver = app->approve != NULL || answer->turn->host->options.approve != NULL;
    answer->options.approve = has_approver ? approve : NULL;
    answer->options.input = app->input != NULL ? ask_inputs : NULL;
    answer->options.renewed = NULL; /* of calls by a tool's struct only */
    return &answer->options;
}

/* On a thread of the host. */
static void call_done(void *user, struct toolrack_result *result,
                      const struct toolrack_error *err) {
    struct answer *answer = user;
    struct turn *turn = answer->turn;
    answer->result = result;
    if (err != NULL) {
        answer->err = *err;
    }
    (void)pthread_mutex_lock(&turn->lock);
    answer->duration_ns = clock_now_ns() - answer->began_ns;
    answer->ended = true;
    turn->running--;
    (void)pthread_cond_broadcast(&turn->over);
    (void)pthread_mutex_unlock(&turn->lock);
}

static void submit(struct turn *turn, struct answer *answer) {
    answer->begun = true;
    answer->began_ns = clock_now_ns();
    (void)pthread_mutex_lock(&turn->lock);
    turn->running++;
    (void)pthread_mutex_unlock(&turn->lock);
    if (toolrack_submit(turn->host, answer->name, answer->arguments, options_of(answer), call_done,
                        answer, NULL, &answer->err) < 0) {
        (void)pthread_mutex_lock(&turn->lock);
        turn->running--;
        answer->ended = true;
        (void)pthread_cond_broadcast(&turn->over);
        (void)pthread_mutex_unlock(&turn->lock);
    }
}

/* With the tool as it was found and the arguments as they were read: both at most once a call. */
static void run_here(struct turn *turn, struct answer *answer) {
    const struct format_call *call = answer->call;
    bool is_as_written = answer->arguments == call->arguments;
    answer->begun = true;
    if (registry_number(turn->host->registry) != turn->snapshot) {
        /* A call before it may have disabled the tool, or reloaded it. */
        toolrack_tool_unref(answer->tool);
        answer->tool = registry_get(turn->host->registry, answer->name);
    }
    if (answer->tool == NULL) {
        (void)registry_not_called(turn->host->registry, answer->name, &answer->err);
        set_decided(answer);
        return;
    }
    (void)calls_make(turn->host, answer->name, answer->tool, answer->arguments,
                     is_as_written ? call->arguments_length : strlen(answer->arguments),
                     is_as_written ? call->parsed : NULL, options_of(answer), &answer->result,
                     &answer->err);
    if (answer->question > 0) {
        set_decided(answer);
    }
}

/* Content is told by its first text. */
static void tell_content(const struct turn *turn, size_t index, struct agent_call_end *end,
                         const char *json, size_t length) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const struct toolrack_result *result = turn->answers[index].result;
    bool is_content = result != NULL && toolrack_result_is_content(result);
    yyjson_val *text = is_content ? yyjson_ptr_get(root, "/content/0/text") : root;
    end->text = yyjson_is_str(text) ? yyjson_get_str(text) : json;
    end->length = yyjson_is_str(text) ? yyjson_get_len(text) : length;
    turn->watch->ended(turn->watch->user, index, end);
}

static void tell_end(const struct turn *turn, size_t index) {
    const struct answer *answer = &turn->answers[index];
    struct agent_call_end end = {.code = answer->result != NULL ? 0 : answer->err.code,
                                 .duration_ns = answer->duration_ns};
    CLEANUP(buf_finish) struct buf said = BUF_INIT;
    if (answer->own.length > 0) {
        end.code = 0;
        tell_content(turn, index, &end, answer->own.data, answer->own.length);
        return;
    }
    if (answer->result == NULL) {
        format_add_failure(&said, &answer->err);
        end.text = said.failed ? "" : said.data;
        end.length = said.failed ? 0 : said.length;
        turn->watch->ended(turn->watch->user, index, &end);
        return;
    }
    const char *json = toolrack_result_json(answer->result, &end.length);
    end.text = json;
    end.changed = toolrack_result_changed(answer->result, NULL);
    if (toolrack_result_is_content(answer->result) || json[0] == '"') {
        tell_content(turn, index, &end, json, end.length);
    } else {
        turn->watch->ended(turn->watch->user, index, &end);
    }
}

/* Tell what is new of a call, without the lock, which the caller holds. @return whether anything
 * is. */
static bool tell_news(struct turn *turn, size_t index) {
    struct answer *answer = &turn->answers[index];
    CLEANUP(freep) char *said = STEAL(answer->said);
    bool has_progress = answer->has_progress && !answer->told;
    bool has_ended = answer->ended && !answer->told;
    double done = answer->done;
    double total = answer->total;
    answer->has_progress = false;
    answer->told = answer->told || has_ended;
    if (!has_progress && !has_ended) {
        return false;
    }
    (void)pthread_mutex_unlock(&turn->lock);
    if (has_progress) {
        turn->watch->progress(turn->watch->user, index, done, total, said);
    }
    if (has_ended) {
        tell_end(turn, index);
    }
    (void)pthread_mutex_lock(&turn->lock);
    return true;
}

static void wait_for_all(struct turn *turn) {
    (void)pthread_mutex_lock(&turn->lock);
    for (;;) {
        bool any = false;
        for (size_t i = 0; turn->watch != NULL && i < turn->message.count; i++) {
            any = tell_news(turn, i) || any;
        }
        if (!any && turn->running == 0) {
            break;
        }
        if (!any) {
            (void)pthread_cond_wait(&turn->over, &turn->lock);
        }
    }
    (void)pthread_mutex_unlock(&turn->lock);
}

/* Submit the calls that are not quick; the last one runs here, after the others were submitted, if
 * no quick call runs here. In a conversation it is submitted too: toolrack_cancel_conversation()
 * must find it. */
static void begin_slow(struct turn *turn) {
    struct answer *last = NULL;
    bool any_quick = false;
    for (size_t i = 0; i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        any_quick = any_quick || (answer->quick && !answer->begun);
        if (!answer->begun && !answer->quick) {
            if (last != NULL) {
                submit(turn, last);
            }
            last = answer;
        }
    }
    bool is_cancellable = turn->options->conversation != NULL || turn->watch != NULL;
    if (last != NULL && (any_quick || is_cancellable)) {
        submit(turn, last);
    } else if (last != NULL) {
        run_here(turn, last);
    }
}

/* How long calls took that ran here is known from their results. */
static void run_quick(struct turn *turn) {
    uint64_t began_ns = 0;
    uint64_t took_ns = 0;
    for (size_t i = 0; i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        if (answer->begun) {
            continue;
        }
        began_ns = began_ns != 0 ? began_ns : clock_now_ns();
        if (took_ns >= HERE_NS_MAX) {
            submit(turn, answer);
            continue;
        }
        run_here(turn, answer);
        took_ns = answer->result != NULL ? took_ns + toolrack_result_duration_ns(answer->result)
                                         : clock_now_ns() - began_ns;
    }
}

static int write_all(struct turn *turn, struct toolrack_text **ret, struct toolrack_error *err) {
    size_t count = turn->message.count;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct format_outcome *outcomes =
            arena_zalloc(&turn->message.arena, (count + 1) * sizeof *outcomes);
    if (outcomes == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct answer *answer = &turn->answers[i];
        outcomes[i].err = &answer->err;
        if (answer->result != NULL) {
            outcomes[i].json = toolrack_result_json(answer->result, &outcomes[i].length);
            outcomes[i].is_content = toolrack_result_is_content(answer->result);
            outcomes[i].changed =
                    toolrack_result_changed(answer->result, &outcomes[i].changed_length);
            outcomes[i].keeping = turn->extra != NULL ? turn->extra->keeping : NULL;
        } else if (answer->own.length > 0) {
            outcomes[i].json = answer->own.data;
            outcomes[i].length = answer->own.length;
        }
    }
    int code = format_write_results(&turn->message, outcomes, &out, err);
    if (code < 0) {
        return code;
    }
    *ret = text_create(&out);
    return *ret != NULL ? 0 : error_oom(err);
}

static int make_answers(struct turn *turn, struct toolrack_error *err) {
    turn->answers = malloc((turn->message.count + 1) * sizeof *turn->answers);
    if (turn->answers == NULL) {
        return error_oom(err);
    }
    turn->snapshot = registry_number(turn->host->registry);
    for (size_t i = 0; i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        /* Members are set one by one: the error in the struct is large. */
        answer->turn = turn;
        answer->result = NULL;
        answer->tool = NULL;
        answer->own = BUF_INIT;
        answer->call = &turn->message.calls[i];
        answer->name = answer->call->name;
        answer->arguments = answer->call->arguments;
        answer->quick = false;
        answer->began_ns = answer->duration_ns = 0;
        answer->told = answer->has_progress = false;
        answer->said = NULL;
        answer->question = 0;
        answer->decided = false;
        answer->allower = NULL;
        answer->begun = answer->call->problem != NULL;
        if (answer->begun) {
            answer->err = *answer->call->problem;
        } else if (!answer_own(turn, answer)) {
            prepare(turn, answer);
        }
        answer->ended = answer->begun;
        answer->quick = answer->quick && turn->watch == NULL; /* what runs here tells too late */
    }
    return 0;
}

/* What the tools of the message may be called by. */
static struct answer_names names_of(struct turn *turn) {
    const struct toolrack_call_options *options = turn->options;
    yyjson_val *known = turn->extra != NULL ? turn->extra->names : NULL;
    return (struct answer_names){.host = turn->host,
                                 .format = turn->message.format,
                                 .arena = &turn->message.arena,
                                 .definitions = options->definitions,
                                 .offered = options->offered,
                                 .is_limited = options->offered != NULL ||
                                               options->definitions != NULL || known != NULL,
                                 .known = known};
}

/* A model knows properties only by the names that its definitions have. */
static void explain_failures(struct turn *turn) {
    for (size_t i = 0; i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        if (answer->result == NULL && answer->own.length == 0 && answer->call->problem == NULL) {
            answer_arguments_explain(&turn->names, turn->options, answer->call, answer->name,
                                     answer->arguments, &answer->err);
        }
    }
}

int answer_message(struct toolrack *host, enum toolrack_format format, const char *message,
                   size_t length, const struct toolrack_call_options *options,
                   const struct agent_watch *watch, const struct answer_extra *extra,
                   struct toolrack_text **ret, struct toolrack_error *err) {
    struct toolrack_call_options taken = TOOLRACK_CALL_OPTIONS_INIT;
    struct turn turn = {.host = host, .options = &taken, .watch = watch, .extra = extra};
    if (options != NULL) {
        memcpy(&taken, options, options->size < sizeof taken ? options->size : sizeof taken);
        taken.size = sizeof taken;
    }
    if (taken.tolerance == TOOLRACK_TOLERANCE_UNSET) {
        taken.tolerance = (uint64_t)toolrack_format_tolerance(host, format);
    }
    _Alignas(16) char memory[TURN_ROOM];
    int code = format_read_message_in(format, message, length, memory, sizeof memory, &turn.message,
                                      err);
    if (code < 0) {
        return code;
    }
    if (taken.model != NULL) {
        turn.message.model = taken.model;
    }
    turn.names = names_of(&turn);
    if (turn.names.is_limited && turn.message.count > 0 &&
        answer_names_read(&turn.names, err) == NULL) {
        code = err != NULL ? err->code : TOOLRACK_E_INVALID;
        answer_names_finish(&turn.names);
        format_message_finish(&turn.message);
        return code;
    }
    (void)pthread_mutex_init(&turn.lock, NULL);
    (void)pthread_cond_init(&turn.over, NULL);
    code = make_answers(&turn, err);
    if (code == 0) {
        number_questions(&turn);
        begin_slow(&turn);
        run_quick(&turn);
        wait_for_all(&turn);
        explain_failures(&turn);
        code = write_all(&turn, ret, err);
        if (code < 0) {
            error_set_begun(err, true); /* the calls were made */
        }
    }
    turn_finish(&turn);
    return code;
}

int toolrack_answer(struct toolrack *host, enum toolrack_format format, const char *message,
                    size_t length, const struct toolrack_call_options *options,
                    struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return answer_message(host, format, message, length, options, NULL, NULL, ret, err);
}
