/* A plugin that offers resources and prompts, in every way and with every fault, and switches its
 * own tools. ID: its id; built with another one it offers some of the same. BUILD: what it says
 * that its shared resource is of. OFFERS_NOTHING: it offers nothing. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <toolrack/ext/prompts.h>
#include <toolrack/ext/resources.h>
#include <toolrack/ext/tools.h>
#include <toolrack/plugin.h>

#ifndef ID
#define ID "offers"
#endif
#ifndef BUILD
#define BUILD ID
#endif
#ifdef OFFERS_NOTHING
#define OFFERS 0
#else
#define OFFERS (TR_PLUGIN_RESOURCES | TR_PLUGIN_PROMPTS)
#endif

#define ANY TR_SCHEMA({"type" : "object"})

static const struct tr_resources_host *resources_host;
static const struct tr_prompts_host *prompts_host;
static const struct tr_tools_host *tools_host;

/* ---------------------------------------------------------------- resources */

static tr_status list_resources(struct tr_call *call) {
    return tr_reply_json(
            call, "{\"resources\":["
                  "{\"uri\":\"test://shared\",\"name\":\"shared\",\"title\":\"The one of " BUILD
                  "\",\"unknown\":1},"
                  "{\"uri\":\"test://" ID "/text\",\"name\":\"text\",\"description\":"
                  "\"hid\u200bden\",\"mimeType\":\"text/plain\",\"size\":5,\"annotations\":"
                  "{\"priority\":0.5},\"icons\":[{\"src\":\"https://example.org/a.png\"}]},"
                  "{\"uri\":\"no uri\",\"name\":\"wrong\"},{\"uri\":\"test://nameless\"},7]}");
}

static tr_status list_templates(struct tr_call *call) {
    return tr_reply_json(call,
                         "{\"resourceTemplates\":["
                         "{\"uriTemplate\":\"test://" ID "/{name}/{?part}\",\"name\":"
                         "\"by name\"},{\"uriTemplate\":\"test://{open\",\"name\":\"wrong\"}]}");
}

static tr_status read_resource(struct tr_call *call) {
    const char *uri = tr_get_string(call, "uri", "");
    const char *answer = "none";
    if (strcmp(uri, "test://shared") == 0) {
        return tr_reply_resource_text(call, uri, NULL, "of " BUILD);
    }
    if (strcmp(uri, "test://" ID "/text") == 0) {
        (void)tr_reply_resource_text(call, uri, "text/plain", "words");
        return tr_reply_resource_bytes(call, uri, NULL, "abc", 3);
    }
    if (strcmp(uri, "test://" ID "/json") == 0) {
        return tr_reply_json(call,
                             TR_SCHEMA({"contents" : [ {"uri" : "test://j", "text" : "t"} ]}));
    }
    if (strcmp(uri, "test://" ID "/ask") == 0) {
        tr_status status = tr_ask(call, "May I?", NULL, &answer);
        tr_log(call, TR_LOG_INFO, "asked %d", (int)status);
        return tr_reply_resource_text(call, uri, NULL, status == TR_OK ? "yes" : "no");
    }
    if (strcmp(uri, "test://" ID "/wrong") == 0) {
        return tr_reply_json(call, TR_SCHEMA({"contents" : [ {"uri" : "test://j"} ]}));
    }
    if (strcmp(uri, "test://" ID "/fail") == 0) {
        return tr_fail(call, TR_FAILED, NULL, "it is on fire");
    }
    if (strcmp(uri, "test://" ID "/die") == 0) {
        abort();
    }
    if (strcmp(uri, "test://" ID "/wait") == 0) {
        while (!tr_cancelled(call)) {
            tr_progress(call, 0, 0, "waiting");
        }
        return tr_fail(call, TR_CANCELLED, NULL, "cancelled");
    }
    return TR_OK;
}

static tr_status subscribe(struct tr_call *call) {
    const char *uri = tr_get_string(call, "uri", "");
    if (strncmp(uri, "test://" ID "/", strlen("test://" ID "/")) != 0) {
        return TR_OK;
    }
    tr_resource_updated(resources_host, uri);
    return tr_reply_json(call, "{}");
}

static tr_status complete_resource(struct tr_call *call) {
    const char *uri = tr_get_string(call, "ref/uri", "");
    return strstr(uri, "/" ID "/") != NULL
                   ? tr_reply_json(call, TR_SCHEMA({"values" : [ "a", "b" ], "total" : 3}))
                   : TR_OK;
}

/* ------------------------------------------------------------------ prompts */

static tr_status list_prompts(struct tr_call *call) {
    return tr_reply_json(call, "{\"prompts\":[{\"name\":\"shared\"},{\"name\":\"greet_" ID
                               "\",\"description\":\"Greets\",\"arguments\":[{\"name\":\"who\","
                               "\"required\":true,\"unknown\":1}]},{\"name\":\"wrong\\n\"},"
                               "{\"name\":\"worse\",\"arguments\":{}}]}");
}

static tr_status get_prompt(struct tr_call *call) {
    const char *name = tr_get_string(call, "name", "");
    if (strcmp(name, "shared") == 0) {
        return tr_reply_text(call, "from " BUILD);
    }
    if (strcmp(name, "greet_" ID) == 0) {
        tr_put_object(call, NULL);
        tr_put_string(call, "description", "A greeting");
        tr_put_array(call, "messages");
        tr_put_object(call, NULL);
        tr_put_string(call, "role", "assistant");
        tr_put_object(call, "content");
        tr_put_string(call, "type", "text");
        tr_put_string(call, "text", tr_get_string(call, "arguments/who", "nobody"));
        tr_put_end(call);
        tr_put_end(call);
        tr_put_end(call);
        return tr_put_end(call);
    }
    if (strcmp(name, "picture_" ID) == 0) {
        (void)tr_reply_text(call, "look");
        return tr_reply_image(call, "abc", 3, "image/png");
    }
    if (strcmp(name, "wrong_" ID) == 0) {
        return tr_reply_json(call, TR_SCHEMA({"messages" : [ {"role" : "system"} ]}));
    }
    return TR_OK;
}

static tr_status complete_prompt(struct tr_call *call) {
    const char *name = tr_get_string(call, "ref/name", "");
    tr_put_object(call, NULL);
    tr_put_array(call, "values");
    for (int i = 0; i < 150 && strcmp(name, "greet_" ID) == 0; i++) {
        char value[16];
        (void)snprintf(value, sizeof value, "v%d", i);
        tr_put_string(call, NULL, value);
    }
    tr_put_end(call);
    return tr_put_end(call);
}

static const struct tr_resources resources = {.size = sizeof resources,
                                              .list = list_resources,
                                              .templates = list_templates,
                                              .read = read_resource,
                                              .subscribe = subscribe,
                                              .complete = complete_resource};
static const struct tr_prompts prompts = {.size = sizeof prompts,
                                          .list = list_prompts,
                                          .get = get_prompt,
                                          .complete = complete_prompt};

static const void *extension(const char *id) {
#ifdef OFFERS_LACK
    return NULL;
#endif
    return strcmp(id, TR_EXT_RESOURCES) == 0 ? (const void *)&resources
           : strcmp(id, TR_EXT_PROMPTS) == 0 ? (const void *)&prompts
                                             : NULL;
}

static tr_status open_it(struct tr_host *host) {
    resources_host =
            (const struct tr_resources_host *)tr_host_get_extension(host, TR_EXT_RESOURCES);
    prompts_host = (const struct tr_prompts_host *)tr_host_get_extension(host, TR_EXT_PROMPTS);
    tools_host = (const struct tr_tools_host *)tr_host_get_extension(host, TR_EXT_TOOLS);
    return tr_host_get_extension(host, "toolrack.nothing/1") == NULL
                   ? TR_OK
                   : tr_host_fail(host, "an extension that does not exist");
}

/* -------------------------------------------------------------------- tools */

static void report(const char *what, const char *text) {
    if (strcmp(what, "resources") == 0) {
        tr_resources_changed(resources_host);
    } else if (strcmp(what, "prompts") == 0) {
        tr_prompts_changed(prompts_host);
    } else if (strcmp(what, "updated") == 0) {
        tr_resource_updated(resources_host, text);
    } else if (strcmp(what, "enable") == 0) {
        tr_tool_set_enabled(tools_host, text, true);
    } else if (strcmp(what, "disable") == 0) {
        tr_tool_set_enabled(tools_host, text, false);
    } else if (strcmp(what, "flood") == 0) {
        for (int i = 0; i < 5000; i++) {
            char uri[32];
            (void)snprintf(uri, sizeof uri, "test://flood/%d", i);
            tr_resource_updated(resources_host, uri);
        }
    }
}

static char what_to_say[64];
static char text_to_say[2048];

static void *say_it(void *argument) {
    report(what_to_say, text_to_say);
    return argument;
}

/* Reports something, in its call or on another thread. */
static tr_status say(struct tr_call *call) {
    const char *what = tr_get_string(call, "what", "");
    const char *text = tr_get_string(call, "text", "");
    if (!tr_get_bool(call, "aside", false)) {
        report(what, text);
        return tr_reply_text(call, "said");
    }
    pthread_t thread;
    (void)snprintf(what_to_say, sizeof what_to_say, "%s", what);
    (void)snprintf(text_to_say, sizeof text_to_say, "%s", text);
    if (pthread_create(&thread, NULL, say_it, NULL) != 0) {
        return tr_fail(call, TR_FAILED, NULL, "no thread");
    }
    (void)pthread_join(thread, NULL);
    return tr_reply_text(call, "said aside");
}

static const struct tr_tool tool_say = {.size = sizeof(struct tr_tool),
                                        .name = "say_" ID,
                                        .description = "Reports something",
                                        .schema = ANY,
                                        .run = say};
static const struct tr_tool tool_off = {.size = sizeof(struct tr_tool),
                                        .flags = TR_DISABLED,
                                        .name = "off_" ID,
                                        .description = "Is off at first",
                                        .schema = ANY,
                                        .run = say};
static const struct tr_tool *const tools[] = {&tool_say, &tool_off};
TR_EXPORT const struct tr_plugin toolrack_plugin = {.magic = TR_MAGIC,
                                                    .size = sizeof(struct tr_plugin),
                                                    .abi_major = TR_ABI_MAJOR,
                                                    .abi_minor = TR_ABI_MINOR,
                                                    .flags = TR_THREAD_SAFE | OFFERS,
                                                    .id = ID,
                                                    .version = "1.0.0",
                                                    .tool_count = 2,
                                                    .tool_size = sizeof(struct tr_tool),
                                                    .tools = tools,
                                                    .open = open_it,
                                                    .get_extension = extension};
