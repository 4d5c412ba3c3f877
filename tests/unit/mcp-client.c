#include "mcp-client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include <cmocka.h>

static void note_send(struct exchange *exchange, const char *event_id, const char *text,
                      size_t length) {
    struct talk *talk = (struct talk *)exchange;
    (void)pthread_mutex_lock(&talk->lock);
    assert_false(talk->finished);
    assert_true(talk->sent_count < SENT_MAX);
    assert_null(memchr(text, '\n', length));
    talk->event_ids[talk->sent_count] = event_id != NULL ? strdup(event_id) : NULL;
    talk->sent[talk->sent_count++] = strndup(text, length);
    (void)pthread_cond_broadcast(&talk->changed);
    (void)pthread_mutex_unlock(&talk->lock);
}

static void note_finish(struct exchange *exchange, const struct exchange_answer *answer) {
    struct talk *talk = (struct talk *)exchange;
    (void)pthread_mutex_lock(&talk->lock);
    talk->finishes++;
    talk->finished = true;
    talk->status = answer->status;
    talk->answer = answer->text != NULL ? strndup(answer->text, answer->length) : NULL;
    talk->session = answer->session != NULL ? strdup(answer->session) : NULL;
    talk->missing_scope = answer->missing_scope != NULL ? strdup(answer->missing_scope) : NULL;
    if (answer->release != NULL) {
        answer->release(answer->lent);
    }
    talk->type = answer->type != NULL ? strdup(answer->type) : NULL;
    talk->fields = answer->fields != NULL ? strdup(answer->fields) : NULL;
    (void)pthread_cond_broadcast(&talk->changed);
    (void)pthread_mutex_unlock(&talk->lock);
}

static void note_pause(struct exchange *exchange, uint32_t retry_ms) {
    struct talk *talk = (struct talk *)exchange;
    (void)retry_ms;
    (void)pthread_mutex_lock(&talk->lock);
    talk->paused = true;
    (void)pthread_cond_broadcast(&talk->changed);
    (void)pthread_mutex_unlock(&talk->lock);
}

const char *talk_who = "uid:1";

static const char *say_who(struct exchange *exchange) {
    (void)exchange;
    return talk_who;
}

static const struct exchange_calls calls = {note_send, note_finish, note_pause, say_who};

void talk_init(struct talk *talk) {
    *talk = (struct talk){.exchange = {.calls = &calls},
                          .lock = PTHREAD_MUTEX_INITIALIZER,
                          .changed = PTHREAD_COND_INITIALIZER};
}

void talk_finish(struct talk *talk) {
    assert_int_equal(talk->finishes, 1);
    for (size_t i = 0; i < talk->sent_count; i++) {
        free(talk->sent[i]);
        free(talk->event_ids[i]);
    }
    free(talk->answer);
    free(talk->session);
    free(talk->missing_scope);
    free(talk->type);
    free(talk->fields);
    free(talk->text);
}

const char *talk_wait(struct talk *talk) {
    (void)pthread_mutex_lock(&talk->lock);
    while (!talk->finished) {
        (void)pthread_cond_wait(&talk->changed, &talk->lock);
    }
    (void)pthread_mutex_unlock(&talk->lock);
    return talk->answer != NULL ? talk->answer : "";
}

const char *talk_wait_sent(struct talk *talk, size_t count) {
    (void)pthread_mutex_lock(&talk->lock);
    while (talk->sent_count < count) {
        (void)pthread_cond_wait(&talk->changed, &talk->lock);
    }
    const char *last = talk->sent[count - 1];
    (void)pthread_mutex_unlock(&talk->lock);
    return last;
}

static size_t copy_text(struct talk *talk, const char *text) {
    size_t length = strlen(text);
    talk->text = malloc(length + YYJSON_PADDING_SIZE);
    assert_non_null(talk->text);
    memcpy(talk->text, text, length);
    return length;
}

void talk_pipe(struct talk *talk, struct mcp_pipe *pipe, const char *text) {
    talk_init(talk);
    size_t length = copy_text(talk, text);
    mcp_pipe_receive(pipe, talk->text, length, &talk->exchange);
}

void talk_post(struct talk *talk, struct mcp *mcp, const struct principal *principal,
               const struct mcp_headers *headers, const char *text) {
    talk_init(talk);
    size_t length = copy_text(talk, text);
    mcp_post(mcp, principal, headers, talk->text, length, &talk->exchange);
}

bool matches(const char *text, const char *pattern) {
    const char *star = NULL;
    const char *from = NULL;
    while (*text != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            from = text;
        } else if (*pattern == *text) {
            pattern++;
            text++;
        } else if (star != NULL) {
            pattern = star;
            text = ++from;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

void assert_matches(const char *text, const char *pattern) {
    if (!matches(text, pattern)) {
        fail_msg("\n  got      %s\n  expected %s", text, pattern);
    }
}
