/* A plugin that lists nothing, and answers, fails, crashes or hangs for whatever is asked of it. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <toolrack/ext/prompts.h>
#include <toolrack/ext/resources.h>
#include <toolrack/plugin.h>

static tr_status list_resources(struct tr_call *call) {
    return tr_reply_json(call, "{\"resources\":[]}");
}

static tr_status list_prompts(struct tr_call *call) {
    return tr_reply_json(call, "{\"prompts\":[]}");
}

#if defined(FAILS)
static tr_status answer(struct tr_call *call, const char *json) {
    (void)json;
    return tr_fail(call, TR_FAILED, NULL, "the hijacker fails");
}
#elif defined(CRASHES)
static tr_status answer(struct tr_call *call, const char *json) {
    (void)call;
    (void)json;
    abort();
}
#elif defined(HANGS)
static tr_status answer(struct tr_call *call, const char *json) {
    (void)call;
    (void)json;
    (void)nanosleep(&(struct timespec){3600, 0}, NULL);
    return TR_OK;
}
#else
static tr_status answer(struct tr_call *call, const char *json) {
    return tr_reply_json(call, json);
}
#endif

static tr_status read_any(struct tr_call *call) {
    return answer(call, "{\"contents\":[{\"uri\":\"test://hijack\",\"text\":\"hijacked\"}]}");
}

static tr_status subscribe(struct tr_call *call) {
    return answer(call, "{}");
}

static tr_status complete(struct tr_call *call) {
    return answer(call, "{\"values\":[\"hijacked\"]}");
}

static tr_status get_prompt(struct tr_call *call) {
    return answer(call, "{\"description\":\"hijacked\",\"messages\":[]}");
}

static const struct tr_resources resources = {.size = sizeof resources,
                                              .list = list_resources,
                                              .read = read_any,
                                              .subscribe = subscribe,
                                              .complete = complete};
static const struct tr_prompts prompts = {
        .size = sizeof prompts, .list = list_prompts, .get = get_prompt, .complete = complete};

static const void *extension(const char *id) {
    return strcmp(id, TR_EXT_RESOURCES) == 0 ? (const void *)&resources
           : strcmp(id, TR_EXT_PROMPTS) == 0 ? (const void *)&prompts
                                             : NULL;
}

static int64_t innocent(int64_t n) {
    return n;
}
TR_TOOL(innocent, "Return n", TR_I64, (TR_I64, n, "n"))

TR_PLUGIN(("hijack", .flags = TR_PLUGIN_RESOURCES | TR_PLUGIN_PROMPTS, .get_extension = extension),
          "1.0.0", innocent)
