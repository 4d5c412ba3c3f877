/* Fault: gives the functions of its call lengths that are not so, NULL, and sizes below zero. */
#include "zoo.h"

#define BELOW_ZERO ((uint64_t)-5)
#define HUGE_SIZE  (UINT64_C(1) << 62)

static tr_status zoo_lying_lengths(struct tr_call *call) {
    const struct tr_call_api *api = call->api;
    const char *text = NULL;
    uint64_t length = 0;
    int64_t number = 0;
    (void)api->get_string(call, NULL, &text, &length);
    (void)api->get_i64(call, NULL, &number);
    (void)api->alloc(call, BELOW_ZERO);
    (void)api->alloc(call, HUGE_SIZE);
    api->log(call, INT32_MIN, NULL);
    api->progress(call, -1, 0, NULL);
    (void)api->reply_text(call, NULL, 10);
    (void)api->reply_json(call, NULL, BELOW_ZERO);
    (void)api->reply_json(call, "1", HUGE_SIZE);
    (void)api->reply_text(call, "short", BELOW_ZERO);
    (void)api->reply_image(call, NULL, BELOW_ZERO, NULL);
    (void)api->reply_audio(call, "x", HUGE_SIZE, NULL);
    (void)api->reply_resource(call, NULL, NULL, NULL, NULL, BELOW_ZERO);
    (void)api->put_begin(call, NULL, INT32_MIN);
    (void)api->put_string(call, NULL, NULL, BELOW_ZERO);
    (void)api->put_json(call, NULL, NULL, HUGE_SIZE);
    (void)api->put_end(call);
    return api->fail(call, INT32_MIN, NULL, NULL);
}
ZOO_FAULT(zoo_lying_lengths)
ZOO_PLUGIN(zoo_lying_lengths)
