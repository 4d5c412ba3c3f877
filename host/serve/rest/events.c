#include "serve/rest/events.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/linked.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"

/* Room for "PROCESS-NUMBER". */
#define ID_ROOM 40u

static const char *const kinds[] = {
        [TOOLRACK_EVENT_ADDED] = "added",
        [TOOLRACK_EVENT_REMOVED] = "removed",
        [TOOLRACK_EVENT_CHANGED] = "changed",
        [TOOLRACK_EVENT_LOADED] = "loaded",
        [TOOLRACK_EVENT_FAILED] = "failed",
        [TOOLRACK_EVENT_STUCK] = "stuck",
        [TOOLRACK_EVENT_RECOVERED] = "recovered",
        [TOOLRACK_EVENT_CRASHED] = "crashed",
        [TOOLRACK_EVENT_QUARANTINED] = "quarantined",
        [TOOLRACK_EVENT_RELEASED] = "released",
        [TOOLRACK_EVENT_CHANGED_TEXT] = "changed-text",
        [TOOLRACK_EVENT_RELOADED] = "reloaded",
        [TOOLRACK_EVENT_REFUSED] = "refused",
        [TOOLRACK_EVENT_UNLOADED] = "unloaded",
        [TOOLRACK_EVENT_STOPPED] = "stopped",
        [TOOLRACK_EVENT_TASK] = "task-cancelled",
        [TOOLRACK_EVENT_RESOURCES_CHANGED] = "resources-changed",
        [TOOLRACK_EVENT_PROMPTS_CHANGED] = "prompts-changed",
        [TOOLRACK_EVENT_RESOURCE_UPDATED] = "resource-updated",
};

/* Who listens; in the arena of the request, to which there is a reference. */
struct listener {
    struct listener *next;
    struct listener **link;
    struct rest_request *request;
};

struct events {
    char process[17];        /* ids of another process are of other events */
    struct lock lock;        /* also orders what is sent */
    uint64_t next;           /* the number of the next event, from 1 */
    char *kept[EVENTS_KEPT]; /* by number modulo EVENTS_KEPT */
    struct listener *listeners;
};

struct events *rest_events_create(void) {
    struct events *events = calloc(1, sizeof *events);
    if (events != NULL) {
        unsigned char bits[8];
        randombytes_buf(bits, sizeof bits);
        (void)sodium_bin2hex(events->process, sizeof events->process, bits, sizeof bits);
        events->next = 1;
        lock_init(&events->lock);
    }
    return events;
}

void rest_events_destroy(struct events *events) {
    if (events != NULL) {
        for (size_t i = 0; i < EVENTS_KEPT; i++) {
            free(events->kept[i]);
        }
        lock_finish(&events->lock);
        free(events);
    }
}

/* --------------------------------------------------------------------- telling */

static void add_member(struct buf *out, const char *name, const char *text) {
    buf_printf(out, ",\"%s\":", name);
    if (text != NULL) {
        rest_add_string(out, text);
    } else {
        buf_add_text(out, "null");
    }
}

static const char *kind_of(const struct toolrack_event *event) {
    size_t kind = (size_t)event->kind;
    return kind < ARRAY_LENGTH(kinds) && kinds[kind] != NULL ? kinds[kind] : NULL;
}

static void write_id(const struct events *events, uint64_t number, char ret[static ID_ROOM]) {
    (void)snprintf(ret, ID_ROOM, "%s-%llu", events->process, (unsigned long long)number);
}

static void send(const struct events *events, struct rest_request *request, uint64_t number) {
    char id[ID_ROOM];
    const char *text = events->kept[number % EVENTS_KEPT];
    write_id(events, number, id);
    rest_send(request, id, text, strlen(text));
}

void rest_events_tell(struct events *events, const struct toolrack_event *event) {
    const char *kind = kind_of(event);
    struct buf out = BUF_INIT;
    if (kind == NULL) { /* of a newer library */
        return;
    }
    buf_printf(&out, "{\"kind\":\"%s\",\"time_ms\":%lld", kind, (long long)clock_wall_ms());
    add_member(&out, "tool", event->tool);
    add_member(&out, "version", event->version);
    add_member(&out, "plugin", event->plugin);
    add_member(&out, "message", event->message);
    buf_add_char(&out, '}');
    char *text = buf_steal(&out);
    if (text == NULL) {
        return;
    }
    LOCK_SCOPE(&events->lock);
    uint64_t number = events->next++;
    free(events->kept[number % EVENTS_KEPT]);
    events->kept[number % EVENTS_KEPT] = text;
    for (struct listener *at = events->listeners; at != NULL; at = at->next) {
        send(events, at->request, number);
    }
}

/* ------------------------------------------------------------------- listening */

static bool unlist(struct events *events, struct listener *listener) {
    LOCK_SCOPE(&events->lock);
    bool was_listed = listener->link != NULL;
    LINKED_REMOVE(listener);
    return was_listed;
}

static void leave(struct rest_request *request) {
    if (unlist(request->rest->events, request->more)) {
        rest_end_stream(request);
        rest_request_unref(request);
    }
}

/* Send what a client missed since the event of an id. What is not kept any more, or was of an
 * earlier process, is told as missed: it reads again what it shows. */
static void catch_up(struct events *events, struct rest_request *request, const char *last) {
    static const char missed[] = "{\"kind\":\"missed\"}";
    char id[ID_ROOM];
    size_t length = strlen(events->process);
    uint64_t oldest = events->next > EVENTS_KEPT ? events->next - EVENTS_KEPT : 1;
    bool is_ours = last != NULL && strncmp(last, events->process, length) == 0 &&
                   last[length] == '-' && last[length + 1] != '\0' &&
                   strspn(last + length + 1, "0123456789") == strlen(last + length + 1);
    uint64_t since = is_ours ? strtoull(last + length + 1, NULL, 10) : 0;
    write_id(events, events->next - 1, id);
    if (last == NULL) {
        rest_send(request, id, "", 0);
    } else if (!is_ours || since + 1 < oldest || since >= events->next) {
        rest_send(request, id, missed, sizeof missed - 1);
    } else {
        for (uint64_t number = since + 1; number < events->next; number++) {
            send(events, request, number);
        }
        rest_send(request, NULL, "", 0);
    }
}

void rest_events_listen(struct rest_request *request) {
    struct events *events = request->rest->events;
    struct listener *listener = arena_zalloc(&request->arena, sizeof *listener);
    if (listener == NULL) {
        rest_oom(request);
        return;
    }
    listener->request = rest_request_ref(request);
    request->more = listener;
    lock_take(&events->lock);
    catch_up(events, request, request->last_event_id);
    LINKED_ADD(&events->listeners, listener);
    lock_release(&events->lock);
    rest_leave_with(request, leave);
}
