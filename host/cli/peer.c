#include "cli/peer.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

int peer_init(struct peer *peer, int fd) {
    *peer = (struct peer){.fd = fd, .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    lock_init(&peer->lock);
    clock_cond_init(&peer->changed);
    return peer->wake < 0 ? -errno : 0;
}

void peer_finish(struct peer *peer) {
    closep(&peer->wake);
    buf_finish(&peer->content);
    (void)pthread_cond_destroy(&peer->changed);
    lock_finish(&peer->lock);
}

void peer_note(struct peer *peer, const char *text, size_t length) {
    LOCK_SCOPE(&peer->lock);
    (void)message_send(peer->fd, MESSAGE_NOTE, text, length); /* who is gone reads no notes */
}

void peer_wake(struct peer *peer) {
    (void)eventfd_write(peer->wake, 1);
}

/* ------------------------------------------------------------------ waiting */

void peer_stop_questions(struct peer *peer) {
    LOCK_SCOPE(&peer->lock);
    peer->no_questions = true;
    (void)pthread_cond_broadcast(&peer->changed);
}

static void take_answer(struct peer *peer, const struct message *message) {
    LOCK_SCOPE(&peer->lock);
    if (!peer->asking || peer->answered || message->bytes.length < sizeof peer->answer) {
        return; /* to a question that has ended */
    }
    memcpy(&peer->answer, message->bytes.data, sizeof peer->answer);
    buf_clear(&peer->content);
    buf_add(&peer->content, message->bytes.data + sizeof peer->answer,
            message->bytes.length - sizeof peer->answer);
    buf_add_char(&peer->content, '\0');
    peer->answered = true;
    (void)pthread_cond_broadcast(&peer->changed);
}

void peer_wait(struct peer *peer) {
    struct pollfd waits[] = {{.fd = peer->gone ? -1 : peer->fd, .events = POLLIN},
                             {.fd = peer->wake, .events = POLLIN}};
    struct message message = {0};
    eventfd_t ignored;
    while (poll(waits, ARRAY_LENGTH(waits), -1) < 0 && errno == EINTR) {
    }
    if (waits[0].revents != 0) {
        peer->gone = message_receive(peer->fd, &message) < 0;
        if (peer->gone || message.kind == MESSAGE_STOP) {
            atomic_store(&peer->stopped, true);
        } else if (message.kind == MESSAGE_ANSWER) {
            take_answer(peer, &message);
        }
        buf_finish(&message.bytes);
    }
    (void)eventfd_read(peer->wake, &ignored);
}

/* ---------------------------------------------------------------- questions */

void peer_set_deadline(struct peer *peer, uint32_t call_ms) {
    LOCK_SCOPE(&peer->lock);
    peer->call_ms = call_ms;
    peer->deadline_ns = call_ms == 0 ? 0 : clock_now_ns() + (uint64_t)call_ms * CLOCK_NS_PER_MS;
}

static bool has_ended(struct peer *peer) {
    return peer->answered || peer->no_questions;
}

/* Send a question and wait for the answer, until `end_ns` (0: without limit).
 * @return whether there is one. Caller holds the lock. */
static bool put(struct peer *peer, enum message_kind kind, const struct buf *bytes,
                uint64_t end_ns) {
    while (peer->asking && !peer->no_questions) {
        lock_wait(&peer->lock, &peer->changed); /* one question at a time */
    }
    if (!peer->asks || bytes->failed || peer->no_questions ||
        message_send(peer->fd, kind, bytes->data, bytes->length) < 0) {
        return false;
    }
    struct timespec until = clock_timespec(end_ns);
    peer->asking = true;
    peer->answered = false;
    bool waits = true;
    while (waits && !has_ended(peer)) {
        if (end_ns == 0) {
            lock_wait(&peer->lock, &peer->changed);
        } else {
            waits = lock_wait_until(&peer->lock, &peer->changed, &until);
        }
    }
    return peer->answered;
}

/* The next question may be put. Caller holds the lock. */
static void end_question(struct peer *peer) {
    peer->asking = false;
    (void)pthread_cond_broadcast(&peer->changed);
}

int peer_ask(struct peer *peer, const char *tool, const char *message, const char *schema,
             char **ret_content) {
    CLEANUP(buf_finish) struct buf bytes = BUF_INIT;
    LOCK_SCOPE(&peer->lock);
    uint64_t now_ns = clock_now_ns();
    uint64_t left_ns = peer->deadline_ns > now_ns ? peer->deadline_ns - now_ns : 1;
    uint32_t left_ms = peer->deadline_ns == 0 ? 0 : (uint32_t)(left_ns / CLOCK_NS_PER_MS) + 1;
    buf_add(&bytes, &left_ms, sizeof left_ms);
    message_add(&bytes, tool);
    message_add(&bytes, message);
    message_add(&bytes, schema);
    int answer = TOOLRACK_ANSWER_DISMISSED;
    if (put(peer, MESSAGE_QUESTION, &bytes, peer->deadline_ns)) {
        answer = peer->answer;
        *ret_content = answer == TOOLRACK_ANSWER_ACCEPTED && !peer->content.failed
                               ? toolrack_alloc(peer->content.length)
                               : NULL;
        if (*ret_content != NULL) {
            memcpy(*ret_content, peer->content.data, peer->content.length);
        } else if (answer == TOOLRACK_ANSWER_ACCEPTED) {
            answer = TOOLRACK_ANSWER_DISMISSED; /* out of memory: what was filled in is lost */
        }
    }
    end_question(peer);
    return answer;
}

int peer_approve(struct peer *peer, const struct toolrack_approval_request *request) {
    CLEANUP(buf_finish) struct buf bytes = BUF_INIT;
    const char permission[] = {(char)('0' + request->permission), '\0'};
    const char *arguments = request->masked != NULL ? request->masked : request->arguments;
    const char *const texts[] = {request->tool,   request->version, request->plugin,
                                 request->reason, arguments,        permission};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        message_add(&bytes, texts[i]);
    }
    int answer = TOOLRACK_APPROVAL_DENY;
    LOCK_SCOPE(&peer->lock);
    if (put(peer, MESSAGE_APPROVAL, &bytes, 0)) {
        answer = peer->answer;
    }
    end_question(peer);
    peer->deadline_ns =
            peer->call_ms == 0 ? 0 : clock_now_ns() + (uint64_t)peer->call_ms * CLOCK_NS_PER_MS;
    return answer;
}
