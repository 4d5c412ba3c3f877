/* toolrack/ext/paths.h - "toolrack.paths/1": the folders and files that the plugin was granted.
 *
 * A plugin declares capabilities with placeholders ("${workspace}", "${data}"), and an
 * administrator grants them, or less of them. This tells what came of it:
 *
 *     static tr_status open_it(struct tr_host *host) {
 *         const struct tr_paths_host *paths =
 *             (const struct tr_paths_host *)tr_host_get_extension(host, TR_EXT_PATHS);
 *         struct tr_path path;
 *         for (uint64_t i = 0; tr_path_get(paths, i, &path); i++) {
 *             ... path.path, (path.flags & TR_PATH_WRITES) != 0 ...
 *         }
 *         return TR_OK;
 *     }
 *
 * The list does not change while the plugin is open: another grant opens it anew. What the host
 * keeps for itself within a granted folder is not listed; the kernel refuses it. A plugin in the
 * host's own process is told the same, though nothing confines it there.
 *
 * Licence: MIT; usable in closed plugins. C11, C++17 and later. */
#ifndef TOOLRACK_EXT_PATHS_H
#define TOOLRACK_EXT_PATHS_H

#include <toolrack/plugin.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The id of the host's side, for tr_host_get_extension(). */
#define TR_EXT_PATHS "toolrack.paths/1"

enum tr_path_flags {
    TR_PATH_WRITES = 1 << 0, /**< may be written, not only read */
    TR_PATH_OWN = 1 << 1     /**< ${data}: the plugin's own folder, which is there */
};

/** One granted path, absolute and without symbolic links: a folder, with all below it, or a file.
 */
struct tr_path {
    uint32_t size;    /**< sizeof(struct tr_path): who calls states it */
    uint32_t flags;   /**< out: enum tr_path_flags */
    const char *path; /**< out: bytes, mostly UTF-8; valid until close() returns */
};

/** The host's side; valid until close() returns. [any-thread, in a call or outside] */
struct tr_paths_host {
    uint64_t size; /**< sizeof(struct tr_paths_host) as the host has it */
    void *plugin;  /**< for the function */
    bool (*get)(void *plugin, uint64_t index, struct tr_path *ret);
};

/** The granted path with a number from 0: first those that may be written, each once. False: there
 * is none with that number. `host` may be NULL: a host without this extension. */
static inline bool tr_path_get(const struct tr_paths_host *host, uint64_t index,
                               struct tr_path *ret) {
    ret->size = sizeof *ret;
    return host != NULL && host->get(host->plugin, index, ret);
}

#ifdef __cplusplus
}
#endif

#endif /* TOOLRACK_EXT_PATHS_H */
