#include "plugin/offer.h"

#include <string.h>

#include "base/cleanup.h"
#include "toolrack/ext/prompts.h"
#include "toolrack/ext/resources.h"

/* The arguments are checked where they come from. */
#define ANY_OBJECT "{\"type\":\"object\"}"

#define TOOL(name_)                                                                            \
    {                                                                                          \
        .size = sizeof(struct tr_tool), .name = (name_), .description = "offered by a plugin", \
        .schema = ANY_OBJECT                                                                   \
    }
static const struct tr_tool tools[OFFER_COUNT] = {
        [OFFER_RESOURCES] = TOOL("resources/list"),
        [OFFER_TEMPLATES] = TOOL("resources/templates/list"),
        [OFFER_READ] = TOOL("resources/read"),
        [OFFER_SUBSCRIBE] = TOOL("resources/subscribe"),
        [OFFER_UNSUBSCRIBE] = TOOL("resources/unsubscribe"),
        [OFFER_COMPLETE_RESOURCE] = TOOL("completion/complete"),
        [OFFER_PROMPTS] = TOOL("prompts/list"),
        [OFFER_PROMPT] = TOOL("prompts/get"),
        [OFFER_COMPLETE_PROMPT] = TOOL("completion/complete"),
};

/* Where the function is in the plugin's struct. */
struct place {
    size_t offset;
    bool is_needed;
};
static const struct place places[OFFER_COUNT] = {
        [OFFER_RESOURCES] = {offsetof(struct tr_resources, list), true},
        [OFFER_TEMPLATES] = {offsetof(struct tr_resources, templates), false},
        [OFFER_READ] = {offsetof(struct tr_resources, read), true},
        [OFFER_SUBSCRIBE] = {offsetof(struct tr_resources, subscribe), false},
        [OFFER_UNSUBSCRIBE] = {offsetof(struct tr_resources, unsubscribe), false},
        [OFFER_COMPLETE_RESOURCE] = {offsetof(struct tr_resources, complete), false},
        [OFFER_PROMPTS] = {offsetof(struct tr_prompts, list), true},
        [OFFER_PROMPT] = {offsetof(struct tr_prompts, get), true},
        [OFFER_COMPLETE_PROMPT] = {offsetof(struct tr_prompts, complete), false},
};

static bool is_resource(enum offer offer) {
    return offer < OFFER_PROMPTS;
}

bool offer_is_stated(enum offer offer, uint32_t flags) {
    return (flags & (is_resource(offer) ? (uint32_t)TR_PLUGIN_RESOURCES
                                        : (uint32_t)TR_PLUGIN_PROMPTS)) != 0;
}

struct descriptor_tool offer_tool(enum offer offer, const char *version) {
    return (struct descriptor_tool){.tool = &tools[offer],
                                    .version = version,
                                    .schema = tools[offer].schema,
                                    .index = OFFER_INDEX_FIRST + (uint32_t)offer};
}

static tr_status reply_nothing(struct tr_call *call) {
    (void)call;
    return TR_OK;
}

/* Each struct begins with its size. */
static offer_function *function_of(const void *extension, const struct place *place) {
    offer_function *function = NULL;
    uint32_t size;
    memcpy(&size, extension, sizeof size);
    if (size >= place->offset + sizeof function) {
        memcpy(&function, (const char *)extension + place->offset, sizeof function);
    }
    return function;
}

int offers_find(const struct tr_plugin *plugin, offer_function *ret[OFFER_COUNT],
                struct toolrack_error *err) {
    bool has_getter = plugin->size >= offsetof(struct tr_plugin, get_extension) +
                                              sizeof plugin->get_extension &&
                      plugin->get_extension != NULL;
    for (enum offer offer = 0; offer < OFFER_COUNT; offer++) {
        const char *id = is_resource(offer) ? TR_EXT_RESOURCES : TR_EXT_PROMPTS;
        ret[offer] = NULL;
        if (!offer_is_stated(offer, plugin->flags)) {
            continue;
        }
        const void *extension = has_getter ? plugin->get_extension(id) : NULL;
        ret[offer] = extension != NULL ? function_of(extension, &places[offer]) : NULL;
        if (ret[offer] == NULL && places[offer].is_needed) {
            return error_set(err, TOOLRACK_E_REFUSED,
                             "plugin '%s' says in its flags that it has %s, and its "
                             "get_extension(\"%s\") gives no function for %s",
                             plugin->id, is_resource(offer) ? "resources" : "prompts", id,
                             tools[offer].name);
        }
        ret[offer] = ret[offer] != NULL ? ret[offer] : reply_nothing;
    }
    return 0;
}
