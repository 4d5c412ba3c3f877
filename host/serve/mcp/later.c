/* later.c - see later.h. */
#include "serve/mcp/later.h"

#include <stddef.h>

#include "serve/mcp/request.h"
#include "serve/mcp/shares.h"

static void go_on(struct request *request) {
    if (!request_is_over(request)) {
        request->later(request);
    }
    request_unref(request);
}

static void run(struct timer *timer) {
    go_on((struct request *)((char *)timer - offsetof(struct request, turn)));
}

static void run_choice(struct work *work) {
    struct request *request = (struct request *)((char *)work - offsetof(struct request, choosing));
    (void)request_ref(request);
    go_on(request);
    shares_give(request->mcp->shares, request->principal.party, SHARE_CHOICES, 1);
    request_unref(request);
}

void later_run(struct request *request, void (*function)(struct request *request)) {
    request->later = function;
    request->turn = (struct timer){.run = run};
    (void)request_ref(request);
    if (!timer_set(&request->mcp->later, TIMER_NOW, &request->turn)) {
        request_oom(request);
        request_unref(request);
    }
}

bool later_choose(struct request *request, void (*function)(struct request *request)) {
    request->later = function;
    request->choosing.run = run_choice;
    if (!shares_take(request->mcp->shares, request->principal.party, SHARE_CHOICES, 1,
                     WORK_CHOICE_THREADS)) {
        return false;
    }
    (void)request_ref(request);
    if (!workers_add(&request->mcp->choices, &request->choosing)) {
        shares_give(request->mcp->shares, request->principal.party, SHARE_CHOICES, 1);
        request_oom(request);
        request_unref(request);
    }
    return true;
}
