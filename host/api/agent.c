#include "toolrack/agent.h"

#include <string.h>

#include "api/agent-plan.h"
#include "api/agent-tools.h"
#include "api/host.h"
#include "api/models.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "format/turn.h"
#include "provider/agent.h"
#include "provider/transcript.h"
#include "registry/document.h"

_Static_assert(TOOLRACK_CONVERSATION_ID_SIZE >= TRANSCRIPT_ID_ROOM, "an id has room");

void toolrack_conversation_id(char ret[TOOLRACK_CONVERSATION_ID_SIZE]) {
    transcript_id(ret);
}

static int definitions(void *user, struct toolrack_text **ret, struct toolrack_error *err) {
    struct agent_tools *tools = user;
    return agent_tools_read(tools, tools->app->format, ret, err);
}

static int check(enum toolrack_format format, const char *text, size_t length,
                 struct toolrack_error *err) {
    struct format_message message;
    int code = format_read_message(format, text, length, &message, err);
    if (code == 0) {
        format_message_finish(&message);
    }
    return code;
}

static int answer(void *user, const char *message, size_t length, struct toolrack_text **ret,
                  struct toolrack_error *err) {
    const struct agent_tools *tools = user;
    return toolrack_answer(tools->host, tools->app->format, message, length, tools->app->call, ret,
                           err);
}

/* NULL: no memory. */
static struct toolrack_text *write_outcome(const struct agent_outcome *outcome) {
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    struct toolrack_text *text = NULL;
    document_add_text(doc, root, "text", outcome->text.data != NULL ? outcome->text.data : "");
    (void)yyjson_mut_obj_add_uint(doc, root, "steps", outcome->steps);
    (void)yyjson_mut_obj_add_uint(doc, root, "calls", outcome->calls);
    document_add_text(doc, root, "ending", toolrack_ending_word(outcome->ending));
    document_add_text(doc, root, "reason", outcome->reason[0] != '\0' ? outcome->reason : NULL);
    document_add_text(doc, root, "transcript", outcome->transcript);
    return document_end(doc, &text, NULL) == 0 ? text : NULL;
}

int toolrack_agent(struct toolrack *host, const struct toolrack_agent_options *options,
                   struct toolrack_text **ret, struct toolrack_error *err) {
    struct toolrack_agent_options taken = TOOLRACK_AGENT_OPTIONS_INIT;
    struct toolrack_error why = {0};
    memcpy(&taken, options, options->size < sizeof taken ? options->size : sizeof taken);
    *ret = NULL;
    if ((taken.endpoint != NULL && taken.model == NULL) || taken.task == NULL ||
        taken.call == NULL || taken.call->conversation == NULL ||
        taken.steps_max > TOOLRACK_AGENT_STEPS_MAX) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a conversation needs a model for its endpoint, a task, an id (in the "
                         "options of its calls) and at most %d steps",
                         TOOLRACK_AGENT_STEPS_MAX);
    }
    CLEANUP(arena_finish) struct arena arena;
    struct named_model model;
    arena_init(&arena, NULL, 0);
    int code = models_complete(host, &taken, &arena, &model, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(agent_tools_finish) struct agent_tools tools = {.host = host, .app = &taken};
    CLEANUP(buf_finish) struct buf system = BUF_INIT;
    const bool plans = taken.plan != 0;
    if (plans) {
        code = agent_plan_system(&tools, &system, err);
        if (code < 0) {
            return code;
        }
        taken.system = system.data;
    }
    CLEANUP(agent_outcome_finish) struct agent_outcome outcome = {0};
    code = agent_run(
            &(struct agent_options){.user = &tools,
                                    .definitions = plans ? agent_plan_definitions : definitions,
                                    .check = check,
                                    .answer = plans ? agent_plan_answer : answer,
                                    .state_dir = host->places.kept_dir,
                                    .app = &taken,
                                    .place = model.place,
                                    .key_variable = model.key_variable},
            &outcome, &why);
    *ret = write_outcome(&outcome);
    if (code == 0 && *ret == NULL) {
        return error_oom(err);
    }
    if (code < 0 && err != NULL) {
        *err = why;
    }
    return code;
}
