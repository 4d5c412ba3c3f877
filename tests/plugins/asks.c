/* A plugin whose tools ask for what their arguments do not say. */
#include <string.h>

#include <toolrack/plugin.h>

#define ANY TR_SCHEMA({"type" : "object"})

/* How often each tool began, in this process. */
static int begun;

static tr_status form(struct tr_call *call) {
    const char *answer = "none";
    tr_status status =
            tr_ask(call, "Which branch?",
                   TR_SCHEMA({"type" : "object", "properties" : {"branch" : {"type" : "string"}}}),
                   &answer);
    return tr_reply_textf(call, "%d %s %s", (int)status, answer,
                          tr_cancelled(call) ? "cancelled" : "goes on");
}
TR_JSON_TOOL(form, "Asks a person", ANY)

/* Asks twice, the second question by a name, and replies whatever happens. */
static tr_status twice(struct tr_call *call) {
    const char *first = "none";
    const char *second = "none";
    int run = ++begun;
    tr_log(call, TR_LOG_DEBUG, "run\x1b %d", run);
    tr_status one = tr_ask(call, "First?", NULL, &first);
    tr_status two = tr_ask_as(call, "second", "Second?", NULL, &second);
    return tr_reply_textf(call, "run %d: %d %s, %d %s", run, (int)one, first, (int)two, second);
}
TR_JSON_TOOL(twice, "Asks twice", ANY)

static tr_status together(struct tr_call *call) {
    struct tr_input inputs[] = {
            {.size = sizeof inputs[0],
             .kind = TR_INPUT_FORM,
             .key = "branch",
             .message = "Which branch?"},
            {.size = sizeof inputs[0],
             .kind = TR_INPUT_SAMPLE,
             .request = "{\"messages\":[],\"maxTokens\":5}"},
            {.size = sizeof inputs[0], .kind = TR_INPUT_ROOTS},
            {.size = sizeof inputs[0],
             .kind = TR_INPUT_URL,
             .key = "login",
             .message = "Log in",
             .request = "https://example.org/login"},
    };
    tr_status status = tr_inputs(call, inputs, 4);
    tr_put_object(call, NULL);
    tr_put_i64(call, "status", status);
    tr_put_array(call, "answers");
    for (int i = 0; i < 4; i++) {
        tr_put_array(call, NULL);
        tr_put_i64(call, NULL, inputs[i].answer);
        tr_put_json(call, NULL, inputs[i].content != NULL ? inputs[i].content : "null");
        tr_put_end(call);
    }
    tr_put_end(call);
    return tr_put_end(call);
}
TR_JSON_TOOL(together, "Asks for several things at once", ANY)

static tr_status each(struct tr_call *call) {
    const char *poem = "none";
    const char *roots = "none";
    tr_status sampled = tr_sample(call, "poem", tr_get_json(call, "request", "{}"), &poem);
    tr_status rooted = tr_roots(call, NULL, &roots);
    tr_status opened = tr_ask_url(call, NULL, "Log in", "https://example.org/");
    return tr_reply_textf(call, "%d %s, %d %s, %d", (int)sampled, poem, (int)rooted, roots,
                          (int)opened);
}
TR_JSON_TOOL(each, "Asks for one thing after the other", ANY)

/* Asks wrongly. */
static tr_status wrong(struct tr_call *call) {
    const char *fault = tr_get_string(call, "fault", "");
    struct tr_input inputs[17] = {
            {.size = sizeof inputs[0], .kind = TR_INPUT_FORM, .message = "What?"}};
    uint32_t count = 1;
    if (strcmp(fault, "key") == 0) {
        inputs[0].key = "a b";
    } else if (strcmp(fault, "same key") == 0) {
        inputs[0].key = "a";
        inputs[1] = inputs[0];
        count = 2;
    } else if (strcmp(fault, "key of a number") == 0) {
        inputs[0].key = "ask-2";
        inputs[1] = inputs[0];
        inputs[1].key = NULL;
        count = 2;
    } else if (strcmp(fault, "kind") == 0) {
        inputs[0].kind = 4;
    } else if (strcmp(fault, "none") == 0) {
        count = 0;
    } else if (strcmp(fault, "many") == 0) {
        count = 17;
    } else if (strcmp(fault, "size") == 0) {
        inputs[0].size = 8;
    } else if (strcmp(fault, "request") == 0) {
        inputs[0].kind = TR_INPUT_SAMPLE;
        inputs[0].request = "[]";
    } else if (strcmp(fault, "no request") == 0) {
        inputs[0].kind = TR_INPUT_SAMPLE;
    } else if (strcmp(fault, "url") == 0) {
        inputs[0].kind = TR_INPUT_URL;
        inputs[0].request = "javascript:alert(1)";
    }
    (void)tr_inputs(call, inputs, count);
    return TR_OK;
}
TR_JSON_TOOL(wrong, "Asks wrongly", ANY)

static tr_status fails(struct tr_call *call) {
    (void)tr_ask(call, "First?", NULL, NULL);
    return tr_fail(call, TR_FAILED, NULL, "I gave up");
}
TR_JSON_TOOL(fails, "Asks, and fails then", ANY)

static int32_t typed(struct tr_call *call) {
    (void)tr_ask(call, "First?", NULL, NULL);
    return 7;
}
TR_TOOL(typed, "Asks, and returns a number", TR_I32, TR_CALL)

static tr_status sure(struct tr_call *call) {
    return tr_reply_text(call, "sure");
}
TR_JSON_TOOL(sure, ("Asks first", .permission = TR_CONFIRM), ANY)

TR_PLUGIN(("asks", .flags = TR_THREAD_SAFE), "1.0.0", form, twice, together, each, wrong, fails,
          typed, sure)
