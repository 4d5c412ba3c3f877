/* ask.c - see ask.h.
 *
 * A question is in the list of its client until it is answered, or its thread waits no more. */
#include "serve/mcp/ask.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "serve/mcp/client.h"
#include "serve/mcp/inputs.h"
#include "serve/mcp/request.h"

struct ask {
    struct ask *next; /* in client->asks */
    struct request *request;
    uint64_t number;
    bool waits; /* guarded by the request's lock, as is the next */
    yyjson_doc *result;
};

static void write_id(char *text, size_t room, uint64_t number) {
    (void)snprintf(text, room, "\"toolrack-%llu\"", (unsigned long long)number);
}

/* ------------------------------------------------------------------ answers */

/* Take a question out of the list. Caller holds the client's lock. */
static struct ask *take(struct client *client, const char *id) {
    char text[64];
    for (struct ask **at = &client->asks; *at != NULL; at = &(*at)->next) {
        write_id(text, sizeof text, (*at)->number);
        if (strcmp(text, id) == 0) {
            struct ask *taken = *at;
            *at = taken->next;
            return taken;
        }
    }
    return NULL;
}

void ask_answer(struct client *client, const struct rpc_message *message) {
    LOCK_SCOPE(&client->lock);
    struct ask *ask = take(client, message->id);
    if (ask == NULL) {
        return;
    }
    /* An error says that the client cannot answer. */
    yyjson_mut_doc *copy = yyjson_mut_doc_new(NULL);
    yyjson_mut_doc_set_root(copy, yyjson_val_mut_copy(copy, message->result));
    struct request *request = ask->request;
    lock_take(&request->lock);
    ask->result = message->result != NULL ? yyjson_mut_doc_imut_copy(copy, NULL) : NULL;
    ask->waits = false;
    (void)pthread_cond_broadcast(&request->changed);
    lock_release(&request->lock);
    yyjson_mut_doc_free(copy);
}

/* ------------------------------------------------------------------- asking */

/* Put a question to the client. */
static void put(struct request *request, struct ask *ask, const struct toolrack_input *input) {
    struct client *client = request->client;
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    char id[64];
    char elicitation[CLIENT_ID_LENGTH + 64];
    lock_take(&client->lock);
    bool is_gone = client->gone;
    ask->request = request;
    ask->number = ++client->ask_number;
    ask->waits = !is_gone;
    if (!is_gone) {
        ask->next = client->asks;
        client->asks = ask;
    }
    lock_release(&client->lock);
    if (is_gone) {
        return;
    }
    write_id(id, sizeof id, ask->number);
    (void)snprintf(elicitation, sizeof elicitation, "%s%s%llu", client->id,
                   client->is_pipe ? "" : "-", (unsigned long long)ask->number);
    buf_add_text(&out, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_add_text(&out, id);
    inputs_add(&out, request->dialect, input, elicitation);
    buf_add_char(&out, '}');
    (void)request_send(request, &out);
}

/* Whether all are answered, or nobody will answer. Caller holds the request's lock. */
static bool is_over(const struct request *request, const struct ask *asks, size_t count) {
    bool waits = false;
    for (size_t i = 0; i < count; i++) {
        waits = waits || asks[i].waits;
    }
    return !waits || request->answered || request->client->gone;
}

static void wait_for_all(struct request *request, struct ask *asks, size_t count) {
    struct timespec until = clock_timespec(clock_now_ns() + (uint64_t)ASK_WAIT_S * CLOCK_NS_PER_S);
    LOCK_SCOPE(&request->lock);
    while (!is_over(request, asks, count) &&
           lock_wait_until(&request->lock, &request->changed, &until)) {
    }
}

/* The thread waits no more: the client need not answer either. */
static void give_up(struct request *request, const struct ask *ask) {
    struct client *client = request->client;
    char id[64];
    write_id(id, sizeof id, ask->number);
    lock_take(&client->lock);
    bool was_open = take(client, id) != NULL;
    lock_release(&client->lock);
    if (was_open) {
        CLEANUP(buf_finish) struct buf out = BUF_INIT;
        buf_add_text(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
                           "{\"requestId\":");
        buf_add_text(&out, id);
        buf_add_text(&out, "}}");
        (void)request_send(request, &out);
    }
}

int ask_input(struct request *request, struct toolrack_input *inputs, size_t count) {
    CLEANUP(freep) struct ask *asks = calloc(count + 1, sizeof *asks);
    if (asks == NULL) {
        return 0; /* nobody answers */
    }
    for (size_t i = 0; i < count; i++) {
        if ((request->capabilities & inputs_capability(&inputs[i])) != 0) {
            put(request, &asks[i], &inputs[i]);
        }
    }
    wait_for_all(request, asks, count);
    for (size_t i = 0; i < count; i++) {
        give_up(request, &asks[i]);
        if (asks[i].result != NULL) {
            (void)inputs_take(&inputs[i], yyjson_doc_get_root(asks[i].result));
            yyjson_doc_free(asks[i].result);
        }
    }
    return 0;
}
