/* toolrack/ext/resources.h - "toolrack.resources/1": a plugin offers resources, as MCP has them:
 * what a model or a person reads by a URI.
 *
 *     static tr_status list(struct tr_call *call) {
 *         return tr_reply_json(call, TR_SCHEMA({"resources": [
 *             {"uri": "notes://today", "name": "today", "mimeType": "text/plain"}]}));
 *     }
 *     static tr_status read_it(struct tr_call *call) {
 *         const char *uri = tr_get_string(call, "uri", "");
 *         return strcmp(uri, "notes://today") == 0
 *                        ? tr_reply_resource_text(call, uri, "text/plain", "buy milk")
 *                        : TR_OK;
 *     }
 *     static const struct tr_resources resources = {
 *             .size = sizeof(struct tr_resources), .list = list, .read = read_it};
 *     static const void *extension(const char *id) {
 *         return strcmp(id, TR_EXT_RESOURCES) == 0 ? &resources : NULL;
 *     }
 *     TR_PLUGIN(("notes", .flags = TR_PLUGIN_RESOURCES, .get_extension = extension), "1.0.0", ...)
 *
 * The functions are called like JSON tools: in a worker if the plugin runs in one, with its
 * sandbox, a deadline, cancellation, log, progress and questions; several at once if the plugin is
 * thread safe. The arguments are the `params` of MCP's method. The host checks what they reply, and
 * leaves out what is wrong with a line in the log.
 *
 * What is asked for by URI goes to one plugin after the other, the more trusted first: reply
 * nothing and return TR_OK for a URI that is not yours, and the next is asked. A failure ends that.
 *
 * A plugin states this extension by TR_PLUGIN_RESOURCES in its flags, and has at least one tool.
 *
 * Licence: MIT; usable in closed plugins. C11, C++17 and later. */
#ifndef TOOLRACK_EXT_RESOURCES_H
#define TOOLRACK_EXT_RESOURCES_H

#include <toolrack/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The id of both sides: for the plugin's get_extension() and for tr_host_get_extension(). */
#define TR_EXT_RESOURCES "toolrack.resources/1"

/** The plugin's side. */
struct tr_resources {
    uint32_t size; /**< sizeof(struct tr_resources) */
    uint32_t reserved;
    /** resources/list. Replies JSON {"resources": [...]}: each with `uri` and `name`, and perhaps
     * `title`, `description`, `mimeType`, `size`, `icons`, `annotations`, `_meta`. All of them: the
     * host makes the pages. Required. [call-thread] */
    tr_status (*list)(struct tr_call *call);
    /** resources/templates/list. Replies JSON {"resourceTemplates": [...]}: each with `uriTemplate`
     * (RFC 6570) and `name`, and the other members of above but `size`. May be NULL. */
    tr_status (*templates)(struct tr_call *call);
    /** resources/read {"uri"}. Replies with tr_reply_resource_text() or tr_reply_resource_bytes(),
     * once or, for a resource of several parts, more often; or with JSON {"contents": [...]}.
     * Nothing: it has no such resource. Required. */
    tr_status (*read)(struct tr_call *call);
    /** resources/subscribe and unsubscribe {"uri"}: somebody wants to hear of changes, or not any
     * more; a plugin to which that makes no difference leaves them NULL, and reports all. Replies
     * {} if the URI is its own. */
    tr_status (*subscribe)(struct tr_call *call);
    tr_status (*unsubscribe)(struct tr_call *call);
    /** completion/complete {"ref": {"type": "ref/resource", "uri"}, "argument": {"name", "value"},
     * "context"}: values of a variable of a template. Replies JSON {"values": [...]} with at most
     * 100 strings, and perhaps `total` and `hasMore`; nothing: not its template. May be NULL. */
    tr_status (*complete)(struct tr_call *call);
};

/** The host's side; valid until close() returns. [any-thread, in a call or outside] */
struct tr_resources_host {
    uint64_t size; /**< sizeof(struct tr_resources_host) as the host has it */
    void *plugin;  /**< for the functions */
    void (*changed)(void *plugin);
    void (*updated)(void *plugin, const char *uri);
};

/** Tell that the list of resources or templates is another one now. Repeated calls are merged.
 * `host` may be NULL: a host without this extension. */
static inline void tr_resources_changed(const struct tr_resources_host *host) {
    if (host != NULL) {
        host->changed(host->plugin);
    }
}

/** Tell that the content of a resource is another one now: a URI of at most 1,000 bytes. Repeated
 * calls about one URI are merged; of very many URIs at once, the list is reported as changed. */
static inline void tr_resource_updated(const struct tr_resources_host *host, const char *uri) {
    if (host != NULL) {
        host->updated(host->plugin, uri);
    }
}

#ifdef __cplusplus
}
#endif

#endif /* TOOLRACK_EXT_RESOURCES_H */
