/* question.c - see question.h. */
#include "serve/mcp/question.h"

#include "base/lock.h"
#include "serve/mcp/client.h"
#include "serve/mcp/request.h"
#include "serve/mcp/shares.h"
#include "serve/mcp/task.h"
#include "toolrack/serving.h"

/* Ask in a way that a thread waits for. */
static void ask_and_wait(struct request *request, bool is_task, struct toolrack_input *inputs,
                         size_t count) {
    struct mcp *mcp = request->mcp;
    if (!shares_take(mcp->shares, request->principal.party, SHARE_QUESTIONS, 1,
                     mcp->settings.questions_max)) {
        return; /* as many threads wait as may: the client cannot be asked */
    }
    if (is_task) {
        task_input(request, inputs, count);
    } else {
        (void)request->dialect->input(request, inputs, count);
    }
    shares_give(mcp->shares, request->principal.party, SHARE_QUESTIONS, 1);
}

int question_ask(void *user, struct toolrack_input *inputs, size_t count) {
    struct request *request = user;
    bool is_task = task_asks(request);
    int later = 0;
    if (is_task || (request->dialect->traits & DIALECT_STATELESS) == 0) {
        ask_and_wait(request, is_task, inputs, count);
    } else {
        later = request->dialect->input(request, inputs, count);
    }
    task_asked(request, later == TOOLRACK_INPUT_LATER);
    return later;
}

/* A client that has left is one that its session ended for. */
static bool has_left(struct client *client) {
    LOCK_SCOPE(&client->lock);
    return client->gone;
}

bool question_is_unwanted(struct request *request) {
    return (request->grant != NULL && !toolrack_token_grant_holds(request->grant)) ||
           (request->client != NULL && has_left(request->client)) || task_is_unwanted(request);
}
