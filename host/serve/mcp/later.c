/* later.c - see later.h. */
#include "serve/mcp/later.h"

#include <stddef.h>

#include "serve/mcp/request.h"

static void run(struct timer *timer) {
    struct request *request = (struct request *)((char *)timer - offsetof(struct request, turn));
    if (!request_is_over(request)) {
        request->later(request);
    }
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
