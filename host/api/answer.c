/* answer.c - execute the calls of a model's message and write their results.
 *
 * The calls run in parallel: they are submitted, except one that runs on the caller's thread, which
 * would only wait otherwise. Passing a call to another thread takes longer than many tools need, so
 * tools that were quick so far run on the caller's thread one after the other, for a limited time.
 * A call that fails, or cannot be submitted, gives a result with the error, for the model. */
#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "format/definitions.h"
#include "format/turn.h"
#include "registry/text.h"

/* A tool with at least QUICK_CALLS_MIN calls, of QUICK_NS_MAX or less on average, is quick: another
 * thread would start it only after it could have ended here. */
#define QUICK_NS_MAX    50000u
#define QUICK_CALLS_MIN 8u
/* How long quick calls run here; calls that have not begun by then are submitted, since one was not
 * quick. */
#define HERE_NS_MAX     1000000u

/* One call of the turn. */
struct answer {
    struct turn *turn;
    const struct format_call *call;
    const char *name;               /* name of the tool to call: in the message, or its arena */
    bool quick;                     /* the tool was quick so far */
    bool begun;                     /* or need not begin */
    struct toolrack_result *result; /* NULL: it failed */
    struct toolrack_error err;
};

struct turn {
    struct toolrack *host;
    struct format_message message;
    const struct toolrack_call_options *options;
    struct answer *answers; /* one for each call, in their order */
    pthread_mutex_t lock;
    pthread_cond_t over;
    size_t running; /* submitted and not ended */
};

static void turn_finish(struct turn *turn) {
    for (size_t i = 0; turn->answers != NULL && i < turn->message.count; i++) {
        toolrack_result_free(turn->answers[i].result);
    }
    free(turn->answers);
    format_message_finish(&turn->message);
    (void)pthread_cond_destroy(&turn->over);
    (void)pthread_mutex_destroy(&turn->lock);
}

/* ------------------------------------------------------------------- names */

/* A search for the tool that has another name in a format. */
struct search {
    enum toolrack_format format;
    const char *wanted;
    struct arena *arena;
    const char *found; /* in the arena */
};

static bool is_not_it(void *user, struct toolrack_tool *tool) {
    struct search *search = user;
    const char *name = toolrack_tool_name(tool);
    char wire[FORMAT_NAME_MAX + 1];
    if (format_wire_name(search->format, name, wire) && strcmp(wire, search->wanted) == 0) {
        search->found = arena_copy(search->arena, name, strlen(name));
    }
    return search->found == NULL;
}

static bool is_quick(const struct toolrack_tool *tool) {
    struct toolrack_tool_statistics known = TOOLRACK_TOOL_STATISTICS_INIT;
    toolrack_tool_statistics(tool, &known);
    /* The longest call is left out: probably it loaded the plugin. */
    return call_is_free(tool) && known.calls >= QUICK_CALLS_MIN &&
           (known.total_ns - known.max_ns) / (known.calls - 1) <= QUICK_NS_MAX;
}

/* Find the tool to call: by the name that the model wrote, or the tool for whose unacceptable name
 * that name was made. */
static void find_tool(struct turn *turn, struct answer *answer) {
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(turn->host->registry, answer->call->name);
    struct search search = {.format = turn->message.format,
                            .wanted = answer->call->name,
                            .arena = &turn->message.arena};
    if (tool != NULL) {
        answer->quick = is_quick(tool);
        return;
    }
    registry_visit(turn->host->registry, is_not_it, &search);
    if (search.found != NULL) {
        answer->name = search.found;
    }
}

/* ------------------------------------------------------------------- calls */

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
    if (--turn->running == 0) {
        (void)pthread_cond_signal(&turn->over);
    }
    (void)pthread_mutex_unlock(&turn->lock);
}

static void submit(struct turn *turn, struct answer *answer) {
    answer->begun = true;
    (void)pthread_mutex_lock(&turn->lock);
    turn->running++;
    (void)pthread_mutex_unlock(&turn->lock);
    if (toolrack_submit(turn->host, answer->name, answer->call->arguments, turn->options, call_done,
                        answer, NULL, &answer->err) < 0) {
        (void)pthread_mutex_lock(&turn->lock);
        turn->running--;
        (void)pthread_mutex_unlock(&turn->lock);
    }
}

static void run_here(struct turn *turn, struct answer *answer) {
    answer->begun = true;
    (void)toolrack_call(turn->host, answer->name, answer->call->arguments, turn->options,
                        &answer->result, &answer->err);
}

static void wait_for_all(struct turn *turn) {
    (void)pthread_mutex_lock(&turn->lock);
    while (turn->running > 0) {
        (void)pthread_cond_wait(&turn->over, &turn->lock);
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
    bool is_cancellable = turn->options != NULL && turn->options->conversation != NULL;
    if (last != NULL && (any_quick || is_cancellable)) {
        submit(turn, last);
    } else if (last != NULL) {
        run_here(turn, last);
    }
}

static void run_quick(struct turn *turn) {
    uint64_t until_ns = clock_now_ns() + HERE_NS_MAX;
    for (size_t i = 0; i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        if (answer->begun) {
            continue;
        }
        if (clock_now_ns() < until_ns) {
            run_here(turn, answer);
        } else {
            submit(turn, answer);
        }
    }
}

static int write_all(const struct turn *turn, struct toolrack_text **ret,
                     struct toolrack_error *err) {
    size_t count = turn->message.count;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    CLEANUP(freep) struct format_outcome *outcomes = calloc(count + 1, sizeof *outcomes);
    if (outcomes == NULL) {
        return error_oom(err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct answer *answer = &turn->answers[i];
        outcomes[i].err = &answer->err;
        if (answer->result != NULL) {
            outcomes[i].json = toolrack_result_json(answer->result, &outcomes[i].length);
            outcomes[i].is_content = toolrack_result_is_content(answer->result);
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
    for (size_t i = 0; i < turn->message.count; i++) {
        struct answer *answer = &turn->answers[i];
        /* Members are set one by one: the error in the struct is large. */
        answer->turn = turn;
        answer->result = NULL;
        answer->call = &turn->message.calls[i];
        answer->name = answer->call->name;
        answer->quick = false;
        answer->begun = answer->call->problem != NULL;
        if (answer->begun) {
            answer->err = *answer->call->problem;
        } else {
            find_tool(turn, answer);
        }
    }
    return 0;
}

int toolrack_answer(struct toolrack *host, enum toolrack_format format, const char *message,
                    size_t length, const struct toolrack_call_options *options,
                    struct toolrack_text **ret, struct toolrack_error *err) {
    struct turn turn = {.host = host, .options = options};
    int code = format_read_message(format, message, length, &turn.message, err);
    if (code < 0) {
        return code;
    }
    (void)pthread_mutex_init(&turn.lock, NULL);
    (void)pthread_cond_init(&turn.over, NULL);
    code = make_answers(&turn, err);
    if (code == 0) {
        begin_slow(&turn);
        run_quick(&turn);
        wait_for_all(&turn);
        code = write_all(&turn, ret, err);
        if (code < 0) {
            error_set_begun(err, true); /* the calls were made */
        }
    }
    turn_finish(&turn);
    return code;
}
