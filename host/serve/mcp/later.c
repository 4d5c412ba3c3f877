/* later.c - see later.h. */
#include "serve/mcp/later.h"

#include <stddef.h>

#include "serve/mcp/request.h"

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
    go_on((struct request *)((char *)work - offsetof(struct request, choosing)));
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

void later_choose(struct request *request, void (*function)(struct request *request)) {
    request->later = function;
    request->choosing.run = run_choice;
    (void)request_ref(request);
    if (!workers_add(&request->mcp->choices, &request->choosing)) {
        request_oom(request);
        request_unref(request);
    }
}
