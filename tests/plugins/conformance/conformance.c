/* The tools that the official conformance suite of MCP calls, with the names and texts that its
 * scenarios demand. Nothing of the host knows them. */
#include <time.h>
#include <toolrack/plugin.h>

#include "pixel.h"

#define NO_ARGUMENTS TR_SCHEMA({"type" : "object", "additionalProperties" : false})

/* Two samples. */
static const unsigned char silence[] = {'R', 'I', 'F', 'F', 38,  0,  0, 0, 'W', 'A', 'V', 'E',
                                        'f', 'm', 't', ' ', 16,  0,  0, 0, 1,   0,   1,   0,
                                        64,  31,  0,   0,   128, 62, 0, 0, 2,   0,   16,  0,
                                        'd', 'a', 't', 'a', 2,   0,  0, 0, 0,   0};

static void wait_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    (void)nanosleep(&time, NULL);
}

/* The first tool of the list, which some scenarios call without arguments. */
static tr_status alphabet(struct tr_call *call) {
    return tr_reply_text(call, "abcdefghijklmnopqrstuvwxyz");
}
TR_JSON_TOOL(alphabet, ("The letters", .flags = TR_READ_ONLY), NO_ARGUMENTS)

/* ------------------------------------------------------------------ contents */

static tr_status test_simple_text(struct tr_call *call) {
    return tr_reply_text(call, "This is a simple text response for testing.");
}
TR_JSON_TOOL(test_simple_text, "Tests simple text content", NO_ARGUMENTS)

static tr_status test_image_content(struct tr_call *call) {
    return tr_reply_image(call, pixel, sizeof pixel, "image/png");
}
TR_JSON_TOOL(test_image_content, "Tests image content", NO_ARGUMENTS)

static tr_status test_audio_content(struct tr_call *call) {
    return tr_reply_audio(call, silence, sizeof silence, "audio/wav");
}
TR_JSON_TOOL(test_audio_content, "Tests audio content", NO_ARGUMENTS)

static tr_status test_embedded_resource(struct tr_call *call) {
    return tr_reply_resource_text(call, "test://embedded-resource", "text/plain",
                                  "This is an embedded resource content.");
}
TR_JSON_TOOL(test_embedded_resource, "Tests embedded resource content", NO_ARGUMENTS)

static tr_status test_multiple_content_types(struct tr_call *call) {
    (void)tr_reply_text(call, "Multiple content types test:");
    (void)tr_reply_image(call, pixel, sizeof pixel, "image/png");
    return tr_reply_resource_text(call, "test://mixed-content-resource", "application/json",
                                  "{\"test\":\"data\",\"value\":123}");
}
TR_JSON_TOOL(test_multiple_content_types, "Tests text, image and resource in one result",
             NO_ARGUMENTS)

static tr_status test_error_handling(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "This tool intentionally returns an error for testing");
}
TR_JSON_TOOL(test_error_handling, "Tests a tool that fails", NO_ARGUMENTS)

/* ------------------------------------------------------------------ messages */

static tr_status test_tool_with_logging(struct tr_call *call) {
    tr_log(call, TR_LOG_INFO, "Tool execution started");
    wait_ms(50);
    tr_log(call, TR_LOG_INFO, "Tool processing data");
    wait_ms(50);
    tr_log(call, TR_LOG_INFO, "Tool execution completed");
    return tr_reply_text(call, "Tool with logging executed successfully");
}
TR_JSON_TOOL(test_tool_with_logging, "Tests log messages while a tool runs", NO_ARGUMENTS)

static tr_status test_logging_tool(struct tr_call *call) {
    tr_log(call, TR_LOG_INFO, "test_logging_tool ran");
    return tr_reply_text(call, "logged");
}
TR_JSON_TOOL(test_logging_tool, "Tests that only clients that want log messages get them",
             NO_ARGUMENTS)

static tr_status test_tool_with_progress(struct tr_call *call) {
    for (int step = 0; step <= 100; step += 50) {
        char message[64];
        (void)snprintf(message, sizeof message, "Completed step %d of 100", step);
        tr_progress(call, step, 100, message);
        if (step < 100) {
            wait_ms(50);
        }
    }
    return tr_reply_text(call, "progress reported");
}
TR_JSON_TOOL(test_tool_with_progress, "Tests progress notifications", NO_ARGUMENTS)

static tr_status test_streaming_elicitation(struct tr_call *call) {
    return tr_reply_text(call, "a stream of nothing but the result");
}
TR_JSON_TOOL(test_streaming_elicitation, "Tests that a stream has no requests of the server",
             NO_ARGUMENTS)

static tr_status test_reconnection(struct tr_call *call) {
    wait_ms(3000);
    return tr_reply_text(call, "Reconnection test completed successfully");
}
TR_JSON_TOOL(test_reconnection, "Tests a stream that ends before the result is there", NO_ARGUMENTS)

/* ------------------------------------------------------------------- schemas */

static tr_status json_schema_2020_12_tool(struct tr_call *call) {
    return tr_reply_textf(call, "called with %s", tr_arguments(call));
}
TR_JSON_TOOL(json_schema_2020_12_tool,
             "Tests that keywords of JSON Schema 2020-12 reach the client", TR_SCHEMA({
                 "$schema" : "https://json-schema.org/draft/2020-12/schema",
                 "type" : "object",
                 "$defs" : {
                     "address" : {
                         "$anchor" : "addressDef",
                         "type" : "object",
                         "properties" :
                                 {"street" : {"type" : "string"}, "city" : {"type" : "string"}}
                     }
                 },
                 "properties" : {
                     "name" : {"type" : "string"},
                     "address" : {"$ref" : "#/$defs/address"},
                     "contactMethod" : {"type" : "string", "enum" : [ "phone", "email" ]},
                     "phone" : {"type" : "string"},
                     "email" : {"type" : "string"}
                 },
                 "allOf" : [ {"anyOf" : [ {"required" : ["phone"]}, {"required" : ["email"]} ]} ],
                 "if" : {
                     "properties" : {"contactMethod" : {"const" : "phone"}},
                     "required" : ["contactMethod"]
                 },
                 "then" : {"required" : ["phone"]},
                 "else" : {"required" : ["email"]},
                 "additionalProperties" : false
             }))

static tr_status test_x_mcp_header(struct tr_call *call) {
    return tr_reply_textf(call, "region=%s", tr_get_string(call, "region", "<none>"));
}
TR_JSON_TOOL(test_x_mcp_header, "Tests arguments that are repeated in headers", TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "region" : {
                         "type" : "string",
                         "description" : "repeated in Mcp-Param-Region",
                         "x-mcp-header" : "Region"
                     },
                     "level" : {"type" : "integer", "description" : "not repeated"}
                 }
             }))

TR_PLUGIN(("conformance", .description = "Fixtures of the MCP conformance suite",
           .flags = TR_THREAD_SAFE),
          "1.0.0", alphabet, test_simple_text, test_image_content, test_audio_content,
          test_embedded_resource, test_multiple_content_types, test_error_handling,
          test_tool_with_logging, test_logging_tool, test_tool_with_progress,
          test_streaming_elicitation, test_reconnection, json_schema_2020_12_tool,
          test_x_mcp_header)
