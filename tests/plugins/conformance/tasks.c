/* The tools that the scenarios of the tasks extension call: part of the conformance suite of MCP.
 */
#include <stdlib.h>
#include <time.h>
#include <toolrack/plugin.h>

#define NO_ARGUMENTS TR_SCHEMA({"type" : "object", "additionalProperties" : false})

enum { STEP_MS = 50, DEADLINE_MS = 120000 };

/* Wait, and say how far it is; false if the call was cancelled. */
static bool work(struct tr_call *call, double seconds) {
    for (double done_ms = 0; done_ms < seconds * 1000; done_ms += STEP_MS) {
        if (tr_cancelled(call)) {
            return false;
        }
        tr_progress(call, done_ms / 1000, seconds, "computing");
        (void)nanosleep(&(struct timespec){0, STEP_MS * 1000000L}, NULL);
    }
    return true;
}

static tr_status greet(struct tr_call *call) {
    return tr_reply_textf(call, "Hello, %s!", tr_get_string(call, "name", ""));
}
TR_JSON_TOOL(greet,
             ("Greet somebody at once", .flags = TR_READ_ONLY | TR_IDEMPOTENT | TR_TASK_NEVER),
             TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"name" : {"type" : "string", "description" : "who is greeted"}},
                 "required" : ["name"]
             }))

static tr_status slow_compute(struct tr_call *call) {
    double seconds = tr_get_f64(call, "seconds", 0);
    if (!work(call, seconds)) {
        return tr_fail(call, TR_CANCELLED, NULL, "cancelled");
    }
    return tr_reply_textf(call, "computed %s for %g s", tr_get_string(call, "label", "it"),
                          seconds);
}
TR_JSON_TOOL(slow_compute,
             ("Compute for some seconds", .flags = TR_READ_ONLY | TR_IDEMPOTENT,
              .deadline_ms = DEADLINE_MS),
             TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "seconds" : {"type" : "number", "minimum" : 0, "description" : "how long"},
                     "label" : {"type" : "string", "description" : "what the result is called"}
                 },
                 "required" : ["seconds"]
             }))

/* ------------------------------------------------------- always as a task */

static tr_status failing_job(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "This job always fails");
}
TR_JSON_TOOL(failing_job, ("A job that fails", .flags = TR_TASK_ALWAYS), NO_ARGUMENTS)

static tr_status protocol_error_job(struct tr_call *call) {
    (void)call;
    abort();
}
TR_JSON_TOOL(protocol_error_job, ("A job that ends its process", .flags = TR_TASK_ALWAYS),
             NO_ARGUMENTS)

#define CONFIRM                                            \
    TR_SCHEMA({                                            \
        "type" : "object",                                 \
        "properties" : {"confirm" : {"type" : "boolean"}}, \
        "required" : ["confirm"]                           \
    })
#define NAME                                           \
    TR_SCHEMA({                                        \
        "type" : "object",                             \
        "properties" : {"name" : {"type" : "string"}}, \
        "required" : ["name"]                          \
    })

static tr_status confirm_delete(struct tr_call *call) {
    const char *answer = NULL;
    const char *file = tr_get_string(call, "filename", "");
    tr_status status = tr_ask_as(call, "confirm", "Delete the file?", CONFIRM, &answer);
    return status == TR_OK ? tr_reply_textf(call, "deleted %s: %s", file, answer)
                           : tr_fail(call, TR_FAILED, NULL, "%s is not deleted", file);
}
TR_JSON_TOOL(confirm_delete,
             ("A job that asks", .flags = TR_TASK_ALWAYS, .deadline_ms = DEADLINE_MS), TR_SCHEMA({
                 "type" : "object",
                 "properties" :
                         {"filename" : {"type" : "string", "description" : "what to delete"}},
                 "required" : ["filename"]
             }))

static tr_status multi_input(struct tr_call *call) {
    struct tr_input inputs[] = {
            {.size = sizeof *inputs,
             .kind = TR_INPUT_FORM,
             .key = "first",
             .message = "The first?",
             .schema = NAME},
            {.size = sizeof *inputs,
             .kind = TR_INPUT_FORM,
             .key = "second",
             .message = "The second?",
             .schema = NAME},
    };
    tr_status status = tr_inputs(call, inputs, 2);
    bool accepted = status == TR_OK && inputs[0].answer == TR_ANSWER_ACCEPTED &&
                    inputs[1].answer == TR_ANSWER_ACCEPTED;
    return accepted ? tr_reply_textf(call, "%s and %s", inputs[0].content, inputs[1].content)
                    : tr_fail(call, TR_FAILED, NULL, "both are needed");
}
TR_JSON_TOOL(multi_input,
             ("A job that asks for two things at once", .flags = TR_TASK_ALWAYS,
              .deadline_ms = DEADLINE_MS),
             NO_ARGUMENTS)

/* Asks while it is no task yet, and is one when it has the answer. */
static tr_status test_tool_with_task(struct tr_call *call) {
    const char *answer = NULL;
    tr_status status = tr_ask_as(call, "user_name", "What is your name?", NAME, &answer);
    if (status != TR_OK || !work(call, 1)) {
        return tr_fail(call, TR_FAILED, NULL, "without a name there is nothing to do");
    }
    return tr_reply_textf(call, "done for %s", answer);
}
TR_JSON_TOOL(test_tool_with_task, ("Ask, then work", .deadline_ms = DEADLINE_MS), NO_ARGUMENTS)

TR_PLUGIN(("conformance-tasks", .description = "Fixtures of the tasks scenarios of the MCP suite",
           .flags = TR_THREAD_SAFE),
          "1.0.0", greet, slow_compute, failing_job, protocol_error_job, confirm_delete,
          multi_input, test_tool_with_task)
