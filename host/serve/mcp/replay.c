/* replay.c - see replay.h. */
#include "serve/mcp/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void replay_init(struct replay *replay) {
    *replay = (struct replay){0};
    lock_init(&replay->lock);
}

void replay_finish(struct replay *replay) {
    replay_free(replay->first);
    lock_finish(&replay->lock);
}

void replay_free(struct event *events) {
    while (events != NULL) {
        struct event *next = events->next;
        free(events);
        events = next;
    }
}

uint64_t replay_begin(struct replay *replay) {
    LOCK_SCOPE(&replay->lock);
    return ++replay->streams;
}

static struct event *make_event(uint64_t stream, uint64_t number, const char *text, size_t length,
                                bool last) {
    struct event *event = malloc(sizeof *event + length + 1);
    if (event != NULL) {
        *event = (struct event){.stream = stream, .number = number, .last = last, .length = length};
        memcpy(event->text, text, length);
        event->text[length] = '\0';
    }
    return event;
}

static void drop_first(struct replay *replay) {
    struct event *first = replay->first;
    replay->first = first->next;
    replay->last = replay->first != NULL ? replay->last : NULL;
    replay->count--;
    replay->bytes -= first->length;
    free(first);
}

void replay_write_id(char id[REPLAY_ID_ROOM], uint64_t stream, uint64_t number) {
    (void)snprintf(id, REPLAY_ID_ROOM, "%" PRIu64 "-%" PRIu64, stream, number);
}

void replay_add(struct replay *replay, uint64_t stream, const char *text, size_t length, bool last,
                char ret_id[REPLAY_ID_ROOM]) {
    LOCK_SCOPE(&replay->lock);
    uint64_t number = ++replay->events;
    replay_write_id(ret_id, stream, number);
    struct event *event = length > 0 && length <= REPLAY_BYTES_MAX
                                  ? make_event(stream, number, text, length, last)
                                  : NULL;
    if (event == NULL) {
        return;
    }
    *(replay->last != NULL ? &replay->last->next : &replay->first) = event;
    replay->last = event;
    replay->count++;
    replay->bytes += length;
    while (replay->count > REPLAY_EVENTS_MAX || replay->bytes > REPLAY_BYTES_MAX) {
        drop_first(replay);
    }
}

bool replay_read_id(const char *id, uint64_t *ret_stream, uint64_t *ret_number) {
    int length = 0;
    return strspn(id, "0123456789-") == strlen(id) &&
           sscanf(id, "%" SCNu64 "-%" SCNu64 "%n", ret_stream, ret_number, &length) == 2 &&
           id[length] == '\0';
}

bool replay_has(struct replay *replay, uint64_t stream, uint64_t number) {
    LOCK_SCOPE(&replay->lock);
    const struct event *at = replay->first;
    while (at != NULL && (at->stream != stream || at->number <= number)) {
        at = at->next;
    }
    return at != NULL;
}

struct event *replay_after(struct replay *replay, uint64_t stream, uint64_t number) {
    struct event *copies = NULL;
    struct event **end = &copies;
    LOCK_SCOPE(&replay->lock);
    for (const struct event *at = replay->first; at != NULL; at = at->next) {
        if (at->stream == stream && at->number > number) {
            *end = make_event(stream, at->number, at->text, at->length, at->last);
            if (*end == NULL) {
                break;
            }
            end = &(*end)->next;
        }
    }
    return copies;
}
