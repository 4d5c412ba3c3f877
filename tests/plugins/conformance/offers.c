/* The resources and prompts of the MCP conformance suite, and the tools that change what is listed.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <toolrack/ext/prompts.h>
#include <toolrack/ext/resources.h>
#include <toolrack/ext/tools.h>

#include "pixel.h"

#define NO_ARGUMENTS TR_SCHEMA({"type" : "object", "additionalProperties" : false})

static const struct tr_resources_host *resources_host;
static const struct tr_prompts_host *prompts_host;
static const struct tr_tools_host *tools_host;

/* ----------------------------------------------------------------- resources */

#define STATIC_TEXT   "test://static-text"
#define STATIC_BINARY "test://static-binary"
#define WATCHED       "test://watched-resource"

static tr_status list_resources(struct tr_call *call) {
    return tr_reply_json(call, TR_SCHEMA({
                             "resources" : [
                                 {
                                     "uri" : "test://static-text",
                                     "name" : "static-text",
                                     "title" : "Static Text Resource",
                                     "description" : "A text that stays",
                                     "mimeType" : "text/plain"
                                 },
                                 {
                                     "uri" : "test://static-binary",
                                     "name" : "static-binary",
                                     "title" : "Static Binary Resource",
                                     "description" : "An image that stays",
                                     "mimeType" : "image/png"
                                 },
                                 {
                                     "uri" : "test://watched-resource",
                                     "name" : "watched-resource",
                                     "title" : "Watched Resource",
                                     "description" : "A text whose changes are told",
                                     "mimeType" : "text/plain"
                                 }
                             ]
                         }));
}

static tr_status list_templates(struct tr_call *call) {
    return tr_reply_json(call, TR_SCHEMA({
                             "resourceTemplates" : [ {
                                 "uriTemplate" : "test://template/{id}/data",
                                 "name" : "template",
                                 "title" : "Resource Template",
                                 "description" : "A resource for each id",
                                 "mimeType" : "application/json"
                             } ]
                         }));
}

static tr_status read_template(struct tr_call *call, const char *uri) {
    char id[64];
    char rest[8];
    char text[256];
    if (sscanf(uri, "test://template/%63[A-Za-z0-9_-]/%7s", id, rest) != 2 ||
        strcmp(rest, "data") != 0) {
        return TR_OK; /* not one of these */
    }
    (void)snprintf(text, sizeof text,
                   "{\"id\":\"%s\",\"templateTest\":true,\"data\":\"Data for ID: %s\"}", id, id);
    return tr_reply_resource_text(call, uri, "application/json", text);
}

static tr_status read_resource(struct tr_call *call) {
    const char *uri = tr_get_string(call, "uri", "");
    if (strcmp(uri, STATIC_TEXT) == 0) {
        return tr_reply_resource_text(call, uri, "text/plain",
                                      "This is the content of the static text resource.");
    } else if (strcmp(uri, STATIC_BINARY) == 0) {
        return tr_reply_resource_bytes(call, uri, "image/png", pixel, sizeof pixel);
    } else if (strcmp(uri, WATCHED) == 0) {
        return tr_reply_resource_text(call, uri, "text/plain", "Watched resource content");
    }
    return read_template(call, uri);
}

static tr_status complete(struct tr_call *call) {
    return tr_reply_json(call,
                         "{\"values\":[\"test\",\"testValue1\"],\"total\":2,\"hasMore\":false}");
}

static const struct tr_resources resources = {.size = sizeof resources,
                                              .list = list_resources,
                                              .templates = list_templates,
                                              .read = read_resource,
                                              .complete = complete};

static tr_status touch_watched_resource(struct tr_call *call) {
    tr_resource_updated(resources_host, WATCHED);
    return tr_reply_text(call, "touched");
}
TR_JSON_TOOL(touch_watched_resource, "Say that the watched resource has changed", NO_ARGUMENTS)

/* ------------------------------------------------------------------- prompts */

static tr_status list_prompts(struct tr_call *call) {
    return tr_reply_json(call, TR_SCHEMA({
                             "prompts" : [
                                 {
                                     "name" : "test_simple_prompt",
                                     "title" : "Simple Test Prompt",
                                     "description" : "A simple prompt without arguments"
                                 },
                                 {
                                     "name" : "test_prompt_with_arguments",
                                     "title" : "Prompt With Arguments",
                                     "description" : "A prompt with required arguments",
                                     "arguments" : [
                                         {
                                             "name" : "arg1",
                                             "description" : "First test argument",
                                             "required" : true
                                         },
                                         {
                                             "name" : "arg2",
                                             "description" : "Second test argument",
                                             "required" : true
                                         }
                                     ]
                                 },
                                 {
                                     "name" : "test_prompt_with_embedded_resource",
                                     "title" : "Prompt With Embedded Resource",
                                     "description" : "A prompt that includes an embedded resource",
                                     "arguments" : [ {
                                         "name" : "resourceUri",
                                         "description" : "URI of the resource to embed",
                                         "required" : true
                                     } ]
                                 },
                                 {
                                     "name" : "test_prompt_with_image",
                                     "title" : "Prompt With Image",
                                     "description" : "A prompt that includes an image"
                                 },
                                 {
                                     "name" : "test_input_required_result_prompt",
                                     "title" : "Prompt That Asks",
                                     "description" : "A prompt that asks for its context first"
                                 }
                             ]
                         }));
}

static tr_status prompt_that_asks(struct tr_call *call) {
    const char *answer = NULL;
    tr_status status =
            tr_ask_as(call, "user_context", "What context should the prompt use?", TR_SCHEMA({
                          "type" : "object",
                          "properties" : {"context" : {"type" : "string"}},
                          "required" : ["context"]
                      }),
                      &answer);
    return status == TR_OK ? tr_reply_textf(call, "Use the following context: %s", answer)
                           : tr_fail(call, TR_FAILED, NULL, "without a context there is no prompt");
}

static tr_status get_prompt(struct tr_call *call) {
    const char *name = tr_get_string(call, "name", "");
    if (strcmp(name, "test_simple_prompt") == 0) {
        return tr_reply_text(call, "This is a simple prompt for testing.");
    } else if (strcmp(name, "test_prompt_with_arguments") == 0) {
        return tr_reply_textf(call, "Prompt with arguments: arg1='%s', arg2='%s'",
                              tr_get_string(call, "arguments/arg1", ""),
                              tr_get_string(call, "arguments/arg2", ""));
    } else if (strcmp(name, "test_prompt_with_embedded_resource") == 0) {
        (void)tr_reply_resource_text(call, tr_get_string(call, "arguments/resourceUri", ""),
                                     "text/plain", "Embedded resource content for testing.");
        return tr_reply_text(call, "Please process the embedded resource above.");
    } else if (strcmp(name, "test_prompt_with_image") == 0) {
        (void)tr_reply_image(call, pixel, sizeof pixel, "image/png");
        return tr_reply_text(call, "Please analyze the image above.");
    } else if (strcmp(name, "test_input_required_result_prompt") == 0) {
        return prompt_that_asks(call);
    }
    return TR_OK; /* not one of these */
}

static const struct tr_prompts prompts = {
        .size = sizeof prompts, .list = list_prompts, .get = get_prompt, .complete = complete};

/* ------------------------------------------------------------- changed lists */

static tr_status test_changing(struct tr_call *call) {
    return tr_reply_text(call, "enabled");
}
TR_JSON_TOOL(test_changing, ("Comes and goes with test_trigger_tool_change", .flags = TR_DISABLED),
             NO_ARGUMENTS)

/* There and away again: another worker may have been asked before, so that this one does not know
 * which of the two is a change. */
static tr_status test_trigger_tool_change(struct tr_call *call) {
    tr_tool_set_enabled(tools_host, "test_changing", true);
    (void)nanosleep(&(struct timespec){0, 100000000}, NULL);
    tr_tool_set_enabled(tools_host, "test_changing", false);
    return tr_reply_text(call, "tools changed");
}
TR_JSON_TOOL(test_trigger_tool_change, "Change the list of tools", NO_ARGUMENTS)

static tr_status test_trigger_prompt_change(struct tr_call *call) {
    tr_prompts_changed(prompts_host);
    return tr_reply_text(call, "prompts changed");
}
TR_JSON_TOOL(test_trigger_prompt_change, "Change the list of prompts", NO_ARGUMENTS)

/* -------------------------------------------------------------------- plugin */

static tr_status opened(struct tr_host *host) {
    resources_host = tr_host_get_extension(host, TR_EXT_RESOURCES);
    prompts_host = tr_host_get_extension(host, TR_EXT_PROMPTS);
    tools_host = tr_host_get_extension(host, TR_EXT_TOOLS);
    return TR_OK;
}

static const void *extension(const char *id) {
    return strcmp(id, TR_EXT_RESOURCES) == 0 ? (const void *)&resources
           : strcmp(id, TR_EXT_PROMPTS) == 0 ? (const void *)&prompts
                                             : NULL;
}

TR_PLUGIN(("conformance-offers",
           .description = "Resources and prompts of the MCP conformance suite",
           .flags = TR_PLUGIN_RESOURCES | TR_PLUGIN_PROMPTS, .open = opened,
           .get_extension = extension),
          "1.0.0", touch_watched_resource, test_changing, test_trigger_tool_change,
          test_trigger_prompt_change)
