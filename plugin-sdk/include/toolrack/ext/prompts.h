/* toolrack/ext/prompts.h - "toolrack.prompts/1": a plugin offers prompts, as MCP has them: messages
 * that a person chooses by name to begin with.
 *
 * The functions are called like JSON tools, as toolrack/ext/resources.h explains: what is asked for
 * by name goes to one plugin after the other, the more trusted first, and a plugin that has no such
 * prompt replies nothing and returns TR_OK. Of two plugins with a prompt of the same name the more
 * trusted has it, else the one that was there first.
 *
 * A plugin states this extension by TR_PLUGIN_PROMPTS in its flags, and has at least one tool.
 *
 * Licence: MIT; usable in closed plugins. C11, C++17 and later. */
#ifndef TOOLRACK_EXT_PROMPTS_H
#define TOOLRACK_EXT_PROMPTS_H

#include <toolrack/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The id of both sides: for the plugin's get_extension() and for tr_host_get_extension(). */
#define TR_EXT_PROMPTS "toolrack.prompts/1"

/** The plugin's side. */
struct tr_prompts {
    uint32_t size; /**< sizeof(struct tr_prompts) */
    uint32_t reserved;
    /** prompts/list. Replies JSON {"prompts": [...]}: each with a `name`, and perhaps `title`,
     * `description`, `arguments` (each with `name`, and perhaps `title`, `description`,
     * `required`), `icons`, `_meta`. All of them: the host makes the pages. Required. [call-thread]
     */
    tr_status (*list)(struct tr_call *call);
    /** prompts/get {"name", "arguments"}. Replies JSON {"messages": [...]}, each with a `role`
     * ("user" or "assistant") and a content block as `content`, and perhaps with a `description`;
     * or with tr_reply_text(), tr_reply_image() and their like: each block is a message of the user
     * then. Nothing: it has no such prompt. Required. */
    tr_status (*get)(struct tr_call *call);
    /** completion/complete {"ref": {"type": "ref/prompt", "name"}, "argument": {"name", "value"},
     * "context"}: values of an argument. Replies as `complete` of struct tr_resources. May be NULL.
     */
    tr_status (*complete)(struct tr_call *call);
};

/** The host's side; valid until close() returns. [any-thread, in a call or outside] */
struct tr_prompts_host {
    uint64_t size; /**< sizeof(struct tr_prompts_host) as the host has it */
    void *plugin;  /**< for the function */
    void (*changed)(void *plugin);
};

/** Tell that the list of prompts is another one now. Repeated calls are merged. `host` may be NULL:
 * a host without this extension. */
static inline void tr_prompts_changed(const struct tr_prompts_host *host) {
    if (host != NULL) {
        host->changed(host->plugin);
    }
}

#ifdef __cplusplus
}
#endif

#endif /* TOOLRACK_EXT_PROMPTS_H */
