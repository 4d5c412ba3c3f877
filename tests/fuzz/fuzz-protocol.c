/* Any payload of any frame, at the side that gets it: it is refused, or what it says can be sent
 * again and gives the same bytes at the other end. The first byte is the type of the frame. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "worker/protocol.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static struct channel *host;
static struct channel *worker;

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static void set_up(void) {
    host = channel_create(NULL);
    require(host != NULL);
    worker = channel_join(fcntl(channel_fd(host), F_DUPFD_CLOEXEC, 0), NULL);
    require(worker != NULL);
}

/* The side that sends frames of this type, having the turn. */
static struct channel *sender_of(enum frame_type type) {
    struct channel *sender = type < FRAME_READY ? host : worker;
    struct frame_in frame;
    if (!channel_is_held(sender)) {
        struct channel *other = sender == host ? worker : host;
        send_plain(other, other == host ? FRAME_GO_ON : FRAME_READY);
        require(channel_receive(sender, 0, &frame) == CHANNEL_FRAME);
    }
    return sender;
}

static bool read_and_send(const struct frame_in *frame, struct arena *arena) {
    struct channel *sender = sender_of(frame->type);
    union {
        struct frame_start start;
        struct frame_call call;
        struct frame_result result;
        struct frame_failure failure;
        struct frame_log log;
        struct frame_progress progress;
        struct frame_question question;
        struct frame_answer answer;
    } is;
    switch (frame->type) {
    case FRAME_START: return read_start(frame, arena, &is.start) && send_start(sender, &is.start);
    case FRAME_CALL: return read_call(frame, &is.call) && send_call(sender, &is.call);
    case FRAME_RESULT: return read_result(frame, &is.result) && send_result(sender, &is.result);
    case FRAME_REFUSED:
    case FRAME_FAILURE:
        return read_failure(frame, &is.failure) && send_failure(sender, frame->type, &is.failure);
    case FRAME_LOG: return read_log(frame, &is.log) && send_log(sender, &is.log);
    case FRAME_PROGRESS:
        return read_progress(frame, &is.progress) && send_progress(sender, &is.progress);
    case FRAME_QUESTION:
        return read_question(frame, &is.question) && send_question(sender, &is.question);
    case FRAME_ANSWER: return read_answer(frame, &is.answer) && send_answer(sender, &is.answer);
    default:
        if (frame->size == 0) {
            send_plain(sender, frame->type);
        }
        return frame->size == 0;
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    if (host == NULL) {
        set_up();
    }
    if (size == 0 || data[0] == FRAME_NONE || data[0] >= FRAME_TYPE_COUNT) {
        return 0;
    }
    /* In memory of its own, so that AddressSanitizer sees one byte too many. */
    char *payload = malloc(size);
    require(payload != NULL);
    memcpy(payload, data + 1, size - 1);
    const struct frame_in frame = {(enum frame_type)data[0], payload, size - 1};
    struct arena arena;
    arena_init(&arena, NULL, 0);
    struct frame_in again;
    if (read_and_send(&frame, &arena)) {
        struct channel *receiver = frame.type < FRAME_READY ? worker : host;
        require(channel_receive(receiver, 0, &again) == CHANNEL_FRAME);
        require(again.type == frame.type && again.size == frame.size);
        require(memcmp(again.payload, data + 1, frame.size) == 0); /* reading may set pointers */
    }
    arena_finish(&arena);
    free(payload);
    return 0;
}
