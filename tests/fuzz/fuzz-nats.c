/* What comes from other hosts by NATS, of any bytes: calls, events, control messages, descriptions
 * of tools and decisions. What is read as a call or a decision is written as one that is read
 * alike. */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/nats/announce.h"
#include "remote/nats/decision.h"
#include "remote/nats/key.h"
#include "remote/nats/message.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void check(bool holds) {
    if (!holds) {
        abort();
    }
}

static bool same(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static void check_call(const struct message_call *call, struct arena *arena) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct message_call again;
    message_write_call(&text, call);
    check(!text.failed && message_read_call(text.data, text.length, arena, &again, NULL) == 0);
    check(same(call->tool, again.tool) && same(call->version, again.version) &&
          same(call->digest, again.digest) && same(call->caller, again.caller) &&
          same(call->confirmed_by, again.confirmed_by) && call->confirmed == again.confirmed &&
          call->deadline_ms == again.deadline_ms && same(call->arguments, again.arguments));
}

static void check_object(const struct message_object *object, struct arena *arena) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct message_call again;
    message_write_object(&text, object);
    check(!text.failed && message_read_call(text.data, text.length, arena, &again, NULL) == 0);
    check(same(object->name, again.object.name) && object->size == again.object.size &&
          memcmp(object->hash, again.object.hash, sizeof object->hash) == 0);
}

/* As this host decides it, it can be opened. */
static void check_decision(struct decision *decision, struct arena *arena) {
    static struct key *key;
    struct decision again;
    struct toolrack_error err;
    struct merge_decision weighed;
    CLEANUP(buf_finish) struct buf value = BUF_INIT;
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    check(key != NULL || key_open(NULL, &key, &err) == 0);
    decision->host = key_public(key);
    decision_seal(decision, "group", key, &value);
    decision_add_key(&name, decision);
    if (value.failed || name.failed) {
        return; /* it has seen too many hosts */
    }
    check(decision_open(value.data, value.length, "group", name.data, arena, &again, &err) == 0);
    check(decision_open(value.data, value.length, "other", name.data, arena, &again, &err) ==
          TOOLRACK_E_PERMISSION_DENIED);
    check(same(decision->selector, again.selector) && same(decision->value, again.value) &&
          same(decision->who, again.who) && same(decision->why, again.why) &&
          decision->kind == again.kind && decision->stamp == again.stamp &&
          decision->seen_count == again.seen_count);
    decision_weigh(&again, value.data, &weighed);
    check(merge_winner(&weighed, 1) == &weighed);
}

static void check_order(const struct message_order *order, struct arena *arena) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct message_order again;
    message_write_order(&text, order);
    check(!text.failed && message_read_order(text.data, text.length, arena, &again, NULL) == 0);
    check(same(order->what, again.what) && same(order->id, again.id) &&
          same(order->version, again.version) && same(order->package, again.package) &&
          same(order->signature, again.signature) && same(order->from, again.from) &&
          order->size == again.size && order->tests == again.tests);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size) {
    const char *bytes = size > 0 ? (const char *)data : "";
    CLEANUP(arena_finish) struct arena arena;
    struct message_call call;
    struct message_event event;
    struct message_control control;
    struct toolrack_error error;
    struct toolrack_error err;
    arena_init(&arena, NULL, 0);
    if (message_read_call(bytes, size, &arena, &call, &err) == 0) {
        if (call.object.name != NULL) {
            check_object(&call.object, &arena);
        } else {
            check_call(&call, &arena);
        }
    } else {
        check(err.message[0] != '\0');
    }
    if (message_read_event(bytes, size, &arena, &event, &error, &err) == 0) {
        check(event.kind != MESSAGE_RESULT || event.result != NULL);
        check(event.kind != MESSAGE_ERROR || error.code < 0);
        check(event.kind != MESSAGE_OBJECT || event.object.name != NULL);
    }
    if (message_read_control(bytes, size, &arena, &control, &err) == 0) {
        check(control.call != NULL);
    }
    struct decision decision;
    if (decision_read(bytes, size, &arena, &decision, &err) == 0) {
        check_decision(&decision, &arena);
    } else {
        check(err.message[0] != '\0');
    }
    check(decision_open(bytes, size, "group", "a.b.c.d", &arena, &decision, &err) < 0);
    struct message_order order;
    if (message_read_order(bytes, size, &arena, &order, &err) == 0) {
        check_order(&order, &arena);
    }
    yyjson_val *report = NULL;
    if (message_read_done(bytes, size, &arena, &report, &err) == 0) {
        check(report != NULL);
    } else {
        check(err.code < 0);
    }
    yyjson_val *root = message_read(bytes, size, &arena, "a page", NULL);
    struct tr_tool tool;
    if (root != NULL && announce_read(root, TR_CONFIRM, &tool, &err) == 0) {
        check(tool.name != NULL && tool.schema != NULL && tool.permission != TR_SAFE);
        check(announce_read(root, TR_SAFE, &tool, &err) == 0 && tool.permission <= TR_DANGEROUS);
    }
    return 0;
}
