/* guard.c - see guard.h. */
#include "serve/mcp/guard.h"

#include "serve/mcp/request.h"
#include "toolrack/serving.h"

static bool look_at_call(struct request *request, bool holds) {
    if (!holds) {
        request_cancel(request);
    }
    return holds && !request_is_over(request);
}

/* What ends just now is seen to have ended at the next look. */
static void look(struct timer *timer) {
    struct request *request = (struct request *)((char *)timer - offsetof(struct request, guard));
    bool holds = toolrack_token_grant_holds(request->grant);
    if (!request->look(request, holds) ||
        !timer_set(&request->mcp->later, TIMER_GUARD, &request->guard)) {
        request_unref(request);
    }
}

void guard_begin(struct request *request, bool (*function)(struct request *request, bool holds)) {
    lock_take(&request->lock);
    bool begins = request->grant != NULL && request->look == NULL;
    if (begins) {
        request->look = function != NULL ? function : look_at_call;
        request->guard.run = look;
    }
    lock_release(&request->lock);
    if (begins) {
        (void)request_ref(request);
        if (!timer_set(&request->mcp->later, TIMER_GUARD, &request->guard)) {
            request_unref(request);
        }
    }
}

void guard_end(struct request *request) {
    if (request->grant != NULL && timer_clear(&request->mcp->later, TIMER_GUARD, &request->guard)) {
        request_unref(request);
    }
}
