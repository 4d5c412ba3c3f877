/* toolrack/offer.h - what plugins and the app offer beside tools: resources, prompts and
 * completion, as MCP has them.
 *
 * Plugins offer them by the SDK's extensions (toolrack/ext/resources.h, prompts.h), and run them
 * where they run their tools: in workers, with deadline, cancellation, log, progress and questions.
 * The app itself does so with a descriptor for toolrack_register() whose get_extension() has them.
 * A plugin that is in quarantine, has failed, or of which a tool is not as it was approved and
 * held, offers nothing, and neither does an earlier version that is kept.
 *
 * Arguments and results are members `params` and `result` of MCP's methods, without what belongs to
 * the protocol (`_meta` of requests, cursors, `resultType`, `ttlMs`). Results are checked: what a
 * plugin says wrongly is left out, with a line in the log. */
#pragma once

#include "toolrack/toolrack.h"

#ifdef __cplusplus
extern "C" {
#endif

enum toolrack_offer {
    /** {} gives {"resources": [...]}: of all plugins, by their id, then in the plugin's order. Of
     * several with one URI that of the most trusted plugin is there, else that of the first. A
     * plugin whose list fails is left out. */
    TOOLRACK_OFFER_RESOURCES,
    TOOLRACK_OFFER_TEMPLATES, /**< likewise {"resourceTemplates": [...]} */
    /** {"uri"} gives {"contents": [...]}. It is asked of the plugin that lists it, or has a
     * template for it, alone: of several the most trusted, then the first. What nobody lists is
     * asked of all in turn, the more trusted first, until one has it; after a failure the next is
     * asked. TOOLRACK_E_NOT_FOUND if none has. So are SUBSCRIBE, UNSUBSCRIBE, PROMPT and COMPLETE.
     */
    TOOLRACK_OFFER_READ,
    TOOLRACK_OFFER_SUBSCRIBE, /**< {"uri"} gives {}; see TOOLRACK_EVENT_RESOURCE_UPDATED */
    TOOLRACK_OFFER_UNSUBSCRIBE,
    TOOLRACK_OFFER_PROMPTS, /**< as RESOURCES, by name: {"prompts": [...]} */
    TOOLRACK_OFFER_PROMPT,  /**< {"name", "arguments"} gives {"description", "messages": [...]} */
    /** {"ref", "argument", "context"} gives {"completion": {"values": [...], "total", "hasMore"}},
     * without values if no plugin completes it. */
    TOOLRACK_OFFER_COMPLETE
};

/** Ask for something that is offered. Each plugin that is asked is one call: in the log it has the
 * name of MCP's method ("resources/read"), and it is in no statistics of tools.
 *
 * @param arguments  the text of a JSON object; NULL is {}
 * @param options    as for a call; the deadline is that of each plugin that is asked. `input`,
 * `log` and `progress` are called on threads of the host. Lists ask for nothing
 * @param done       as for toolrack_submit()
 * @param ret        receives a handle for toolrack_cancel() and toolrack_call_unref(); may be NULL
 * @return 0; TOOLRACK_E_INVALID_ARGUMENTS; TOOLRACK_E_NO_MEMORY. Everything else reaches `done`. */
TOOLRACK_API int toolrack_offer_submit(struct toolrack *host, enum toolrack_offer what,
                                       const char *arguments,
                                       const struct toolrack_call_options *options,
                                       toolrack_done *done, void *user, struct toolrack_call **ret,
                                       struct toolrack_error *err);

/** The same, and wait for the result, to be released by toolrack_result_free(). Not in a callback
 * of the host.
 * @return 0; TOOLRACK_E_NOT_FOUND, TOOLRACK_E_INPUT_REQUIRED, and the codes of toolrack_call() */
TOOLRACK_API int toolrack_offer_call(struct toolrack *host, enum toolrack_offer what,
                                     const char *arguments,
                                     const struct toolrack_call_options *options,
                                     struct toolrack_result **ret, struct toolrack_error *err);

/** Whether a plugin says that it offers that, by the flags of its descriptor: nothing is loaded. */
TOOLRACK_API bool toolrack_offers(struct toolrack *host, enum toolrack_offer what);

#ifdef __cplusplus
}
#endif
