/* answer.c - a model's turn: the calls of its message, executed, and their results.
 *
 * The calls run side by side: all but the last are submitted, the last runs on the
 * thread that asked for the turn, which would only wait otherwise. In a conversation that one is
 * submitted too: toolrack_cancel_conversation() must find it. A call that fails, or is not
 * even taken, is a result like any other: the model reads it. */
#include <stdlib.h>
#include <string.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "format/turn.h"
#include "registry/text.h"

/* One call of the turn. */
struct answer {
    struct turn *turn;
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

static void submit(struct turn *turn, const struct format_call *call, struct answer *answer) {
    (void)pthread_mutex_lock(&turn->lock);
    turn->running++;
    (void)pthread_mutex_unlock(&turn->lock);
    if (toolrack_submit(turn->host, call->name, call->arguments, turn->options, call_done, answer,
                        NULL, &answer->err) < 0) {
        (void)pthread_mutex_lock(&turn->lock);
        turn->running--;
        (void)pthread_mutex_unlock(&turn->lock);
    }
}

static void wait_for_all(struct turn *turn) {
    (void)pthread_mutex_lock(&turn->lock);
    while (turn->running > 0) {
        (void)pthread_cond_wait(&turn->over, &turn->lock);
    }
    (void)pthread_mutex_unlock(&turn->lock);
}

/* The call that runs on this thread: the last that can be made; `count` when there is none. */
static size_t own_call(const struct turn *turn) {
    if (turn->options != NULL && turn->options->conversation != NULL) {
        return turn->message.count;
    }
    for (size_t i = turn->message.count; i > 0; i--) {
        if (turn->message.calls[i - 1].problem == NULL) {
            return i - 1;
        }
    }
    return turn->message.count;
}

static void run_all(struct turn *turn) {
    size_t own = own_call(turn);
    for (size_t i = 0; i < turn->message.count; i++) {
        const struct format_call *call = &turn->message.calls[i];
        struct answer *answer = &turn->answers[i];
        if (call->problem != NULL) {
            answer->err = *call->problem;
        } else if (i == own) {
            (void)toolrack_call(turn->host, call->name, call->arguments, turn->options,
                                &answer->result, &answer->err);
        } else {
            submit(turn, call, answer);
        }
    }
    wait_for_all(turn);
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
        /* Not cleared as a whole: the error inside is large. */
        turn->answers[i].turn = turn;
        turn->answers[i].result = NULL;
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
        run_all(&turn);
        code = write_all(&turn, ret, err);
    }
    turn_finish(&turn);
    return code;
}
