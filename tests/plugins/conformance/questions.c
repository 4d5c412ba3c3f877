/* The tools of the MCP conformance suite that ask the client: for a form, its model, its folders.
 */
#include <string.h>
#include <toolrack/plugin.h>

#define NO_ARGUMENTS TR_SCHEMA({"type" : "object", "additionalProperties" : false})

/* A form with one string. */
#define FORM(name)                                 \
    "{\"type\":\"object\",\"properties\":{\"" name \
    "\":{\"type\":\"string\"}},\"required\":[\"" name "\"]}"
#define CONFIRM                                       \
    TR_SCHEMA({                                       \
        "type" : "object",                            \
        "properties" : {"ok" : {"type" : "boolean"}}, \
        "required" : ["ok"]                           \
    })
#define SAMPLE(text)                                                                    \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text \
    "\"}}],\"maxTokens\":100}"

/* What is said when a question was not answered. */
static tr_status unanswered(struct tr_call *call, tr_status status) {
    const char *why = status == TR_ABSENT              ? "the client offers no such thing"
                      : status == TR_PERMISSION_DENIED ? "declined"
                                                       : "dismissed";
    return tr_fail(call, TR_FAILED, NULL, "%s", why);
}

/* The tools of the handshake era also say when a person says no. */
static tr_status elicit(struct tr_call *call, const char *message, const char *schema) {
    const char *content = "{}";
    tr_status status = tr_ask(call, message, schema, &content);
    if (tr_cancelled(call) || status == TR_ABSENT) {
        return unanswered(call, status);
    }
    const char *action = status == TR_OK                  ? "accept"
                         : status == TR_PERMISSION_DENIED ? "decline"
                                                          : "cancel";
    return tr_reply_textf(call, "User response: action=%s, content=%s", action, content);
}

static tr_status test_elicitation(struct tr_call *call) {
    return elicit(call, tr_get_string(call, "message", "?"), FORM("response"));
}
TR_JSON_TOOL(test_elicitation, "Tests a question to the user", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"message" : {"type" : "string", "description" : "the question"}},
                 "required" : ["message"]
             }))

static tr_status test_elicitation_sep1034_defaults(struct tr_call *call) {
    return elicit(
            call, "Please review and update the form fields with defaults", TR_SCHEMA({
                "type" : "object",
                "properties" : {
                    "name" : {
                        "type" : "string",
                        "description" : "User name",
                        "default" : "John Doe"
                    },
                    "age" : {"type" : "integer", "description" : "User age", "default" : 30},
                    "score" : {"type" : "number", "description" : "User score", "default" : 95.5},
                    "status" : {
                        "type" : "string",
                        "description" : "User status",
                        "enum" : [ "active", "inactive", "pending" ],
                        "default" : "active"
                    },
                    "verified" : {
                        "type" : "boolean",
                        "description" : "Verification status",
                        "default" : true
                    }
                },
                "required" : []
            }));
}
TR_JSON_TOOL(test_elicitation_sep1034_defaults, "Tests a form with defaults", NO_ARGUMENTS)

static tr_status test_elicitation_sep1330_enums(struct tr_call *call) {
    return elicit(
            call, "Please select options from the enum fields", TR_SCHEMA({
                "type" : "object",
                "properties" : {
                    "untitledSingle" : {
                        "type" : "string",
                        "description" : "Select one option",
                        "enum" : [ "option1", "option2", "option3" ]
                    },
                    "titledSingle" : {
                        "type" : "string",
                        "description" : "Select one option with titles",
                        "oneOf" : [
                            {"const" : "value1", "title" : "First Option"},
                            {"const" : "value2", "title" : "Second Option"},
                            {"const" : "value3", "title" : "Third Option"}
                        ]
                    },
                    "legacyEnum" : {
                        "type" : "string",
                        "description" : "Select one option (legacy)",
                        "enum" : [ "opt1", "opt2", "opt3" ],
                        "enumNames" : [ "Option One", "Option Two", "Option Three" ]
                    },
                    "untitledMulti" : {
                        "type" : "array",
                        "description" : "Select multiple options",
                        "minItems" : 1,
                        "maxItems" : 3,
                        "items" : {"type" : "string", "enum" : [ "option1", "option2", "option3" ]}
                    },
                    "titledMulti" : {
                        "type" : "array",
                        "description" : "Select multiple options with titles",
                        "minItems" : 1,
                        "maxItems" : 3,
                        "items" : {
                            "anyOf" : [
                                {"const" : "value1", "title" : "First Choice"},
                                {"const" : "value2", "title" : "Second Choice"},
                                {"const" : "value3", "title" : "Third Choice"}
                            ]
                        }
                    }
                },
                "required" : []
            }));
}
TR_JSON_TOOL(test_elicitation_sep1330_enums, "Tests the five kinds of choices in a form",
             NO_ARGUMENTS)

static tr_status sample(struct tr_call *call, const char *key, const char *request) {
    const char *answer = NULL;
    tr_status status = tr_sample(call, key, request, &answer);
    return status == TR_OK ? tr_reply_textf(call, "LLM response: %s", answer)
                           : unanswered(call, status);
}

static tr_status test_sampling(struct tr_call *call) {
    char request[4096];
    (void)snprintf(
            request, sizeof request,
            "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":%s}}],"
            "\"maxTokens\":100}",
            tr_get_json(call, "prompt", "\"\""));
    return sample(call, NULL, request);
}
TR_JSON_TOOL(test_sampling, "Tests a request to the client's model", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "prompt" :
                             {"type" : "string", "description" : "for the model", "maxLength" : 500}
                 },
                 "required" : ["prompt"]
             }))

static tr_status test_missing_capability(struct tr_call *call) {
    return sample(call, "llm_answer", SAMPLE("Reply with the single word: pong"));
}
TR_JSON_TOOL(test_missing_capability, "Tests a tool that cannot do without the client's model",
             NO_ARGUMENTS)

/* --------------------------------------------- questions of the stateless era */

/* The string member of a flat object; its text without escapes is enough here. */
static const char *member(struct tr_call *call, const char *json, const char *key) {
    char start[64];
    (void)snprintf(start, sizeof start, "\"%s\":", key);
    const char *value = json != NULL ? strstr(json, start) : NULL;
    value = value != NULL ? strchr(value + strlen(start), '"') : NULL;
    const char *end = value != NULL ? strchr(value + 1, '"') : NULL;
    size_t length = end != NULL ? (size_t)(end - value) - 1 : 0;
    char *text = tr_alloc(call, length + 1);
    if (text != NULL) {
        memcpy(text, value != NULL ? value + 1 : "", length);
        text[length] = '\0';
    }
    return text != NULL ? text : "";
}

static tr_status test_input_required_result_elicitation(struct tr_call *call) {
    const char *answer = NULL;
    tr_status status = tr_ask_as(call, "user_name", "What is your name?", FORM("name"), &answer);
    return status == TR_OK ? tr_reply_textf(call, "Hello, %s!", member(call, answer, "name"))
                           : unanswered(call, status);
}
TR_JSON_TOOL(test_input_required_result_elicitation, "Tests one question", NO_ARGUMENTS)

static tr_status test_input_required_result_sampling(struct tr_call *call) {
    return sample(call, "capital_question", SAMPLE("What is the capital of France?"));
}
TR_JSON_TOOL(test_input_required_result_sampling, "Tests one request to the client's model",
             NO_ARGUMENTS)

static tr_status test_input_required_result_list_roots(struct tr_call *call) {
    const char *roots = NULL;
    tr_status status = tr_roots(call, "client_roots", &roots);
    return status == TR_OK ? tr_reply_textf(call, "roots: %s", roots) : unanswered(call, status);
}
TR_JSON_TOOL(test_input_required_result_list_roots, "Tests the client's folders", NO_ARGUMENTS)

static tr_status confirmed(struct tr_call *call, const char *text) {
    const char *answer = NULL;
    tr_status status = tr_ask_as(call, "confirm", "Please confirm", CONFIRM, &answer);
    return status == TR_OK ? tr_reply_text(call, text) : unanswered(call, status);
}

static tr_status test_input_required_result_request_state(struct tr_call *call) {
    return confirmed(call, "state-ok");
}
TR_JSON_TOOL(test_input_required_result_request_state, "Tests the state of a question",
             NO_ARGUMENTS)

static tr_status test_input_required_result_tampered_state(struct tr_call *call) {
    return confirmed(call, "integrity-ok");
}
TR_JSON_TOOL(test_input_required_result_tampered_state, "Tests a state that was changed",
             NO_ARGUMENTS)

static tr_status test_input_required_result_multi_round(struct tr_call *call) {
    const char *name = NULL;
    const char *color = NULL;
    tr_status status = tr_ask_as(call, "step1", "Step 1: What is your name?", FORM("name"), &name);
    if (status == TR_OK) {
        status = tr_ask_as(call, "step2", "Step 2: What is your favorite color?", FORM("color"),
                           &color);
    }
    return status == TR_OK ? tr_reply_textf(call, "%s likes %s", member(call, name, "name"),
                                            member(call, color, "color"))
                           : unanswered(call, status);
}
TR_JSON_TOOL(test_input_required_result_multi_round, "Tests two questions, one after the other",
             NO_ARGUMENTS)

/* A form, the model and the folders at once: those of them that the client offers. */
static tr_status all_kinds(struct tr_call *call, bool needs_all) {
    struct tr_input inputs[] = {
            {.size = sizeof *inputs,
             .kind = TR_INPUT_FORM,
             .key = "user_name",
             .message = "What is your name?",
             .schema = FORM("name")},
            {.size = sizeof *inputs,
             .kind = TR_INPUT_SAMPLE,
             .key = "greeting",
             .request = SAMPLE("Generate a greeting")},
            {.size = sizeof *inputs, .kind = TR_INPUT_ROOTS, .key = "client_roots"},
    };
    tr_status status = tr_inputs(call, inputs, 3);
    int accepted = 0;
    for (int i = 0; i < 3 && status == TR_OK; i++) {
        accepted += inputs[i].answer == TR_ANSWER_ACCEPTED;
    }
    if (status == TR_OK && needs_all && accepted < 3) {
        return tr_fail(call, TR_FAILED, NULL, "%d of 3 inputs", accepted);
    }
    return status == TR_OK ? tr_reply_textf(call, "%d inputs", accepted) : unanswered(call, status);
}

static tr_status test_input_required_result_multiple_inputs(struct tr_call *call) {
    return all_kinds(call, true);
}
TR_JSON_TOOL(test_input_required_result_multiple_inputs, "Tests three kinds of input at once",
             NO_ARGUMENTS)

static tr_status test_input_required_result_capabilities(struct tr_call *call) {
    return all_kinds(call, false);
}
TR_JSON_TOOL(test_input_required_result_capabilities,
             "Tests that only what a client offers is asked", NO_ARGUMENTS)

TR_PLUGIN(("conformance-questions", .description = "Questions of the MCP conformance suite",
           .flags = TR_THREAD_SAFE),
          "1.0.0", test_elicitation, test_elicitation_sep1034_defaults,
          test_elicitation_sep1330_enums, test_sampling, test_missing_capability,
          test_input_required_result_elicitation, test_input_required_result_sampling,
          test_input_required_result_list_roots, test_input_required_result_request_state,
          test_input_required_result_tampered_state, test_input_required_result_multi_round,
          test_input_required_result_multiple_inputs, test_input_required_result_capabilities)
