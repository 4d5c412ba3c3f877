/* answer.c - a model's turn: the calls of its message, executed, and their results.
 *
 * The calls run side by side: they are submitted, but for one that runs on the thread that asked
 * for the turn, which would only wait otherwise. To hand a call to another thread takes longer than
 * many a tool, so those that were quick so far run here one after the other, for a while. A call
 * that fails, or is not even taken, is a result like any other: the model reads it. */
#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "format/definitions.h"
#include "format/turn.h"
#include "registry/text.h"

/* A tool whose calls took no longer than this on average, of so many at least, is quick: another
 * thread would begin with it when it is over. */
#define QUICK_NS_MAX    50000u
#define QUICK_CALLS_MIN 8u
/* How long quick calls run here; what has not begun by then is submitted: one was not quick. */
#define HERE_NS_MAX     1000000u

/* One call of the turn. */
struct answer {
    struct turn *turn;
    const struct format_call *call;
    const char *name;               /* what to call: in the message, or its arena */
    bool quick;                     /* so far */
    bool begun;                     /* or there is nothing to begin */
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
    size_t running; /* submitted and not over */
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

/* A search for the tool that a format knows by another name. */
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
    /* The longest is left out: it loaded the plugin. */
    return call_is_free(tool) && known.calls >= QUICK_CALLS_MIN &&
           (known.total_ns - known.max_ns) / (known.calls - 1) <= QUICK_NS_MAX;
}

/* What to call: what the model wrote, or the tool for whose name, which would not do, that was
 * made.
 */
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

/* Submit what is not quick; the last of it runs here when nothing else does, after the others
 * began. In a conversation it is submitted too: toolrack_cancel_conversation() must find it. */
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
        /* Not cleared as a whole: the error inside is large. */
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
    }
    turn_finish(&turn);
    return code;
}
