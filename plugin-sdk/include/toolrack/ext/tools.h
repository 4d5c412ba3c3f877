/* toolrack/ext/tools.h - "toolrack.tools/1": a plugin enables and disables its own tools while it
 * runs, such as those that need a login.
 *
 *     static const struct tr_tools_host *tools;
 *     static tr_status open_it(struct tr_host *host) {
 *         tools = (const struct tr_tools_host *)tr_host_get_extension(host, TR_EXT_TOOLS);
 *         return TR_OK;
 *     }
 *     ...
 *     tr_tool_set_enabled(tools, "send", true);
 *
 * What an administrator has enabled or disabled stays so. It is not kept: the next start of the
 * host, and the next generation of the plugin, begin with what the tools state (TR_DISABLED).
 *
 * Licence: MIT; usable in closed plugins. C11, C++17 and later. */
#ifndef TOOLRACK_EXT_TOOLS_H
#define TOOLRACK_EXT_TOOLS_H

#include <toolrack/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The id of the host's side, for tr_host_get_extension(). */
#define TR_EXT_TOOLS "toolrack.tools/1"

/** The host's side; valid until close() returns. [any-thread, in a call or outside] */
struct tr_tools_host {
    uint64_t size; /**< sizeof(struct tr_tools_host) as the host has it */
    void *plugin;  /**< for the function */
    void (*set_enabled)(void *plugin, const char *tool, bool enabled);
};

/** Enable or disable a tool of this plugin, by its name: all its versions. It takes effect soon
 * after; of several calls about one tool the last counts. `host` may be NULL: a host without this
 * extension. */
static inline void tr_tool_set_enabled(const struct tr_tools_host *host, const char *tool,
                                       bool enabled) {
    if (host != NULL) {
        host->set_enabled(host->plugin, tool, enabled);
    }
}

#ifdef __cplusplus
}
#endif

#endif /* TOOLRACK_EXT_TOOLS_H */
