/* toolrack/install.h - installing packages: plugins in files that somebody has signed.
 *
 * A package is a file ID-VERSION.trp (toolrack/package.h makes one). What is installed is in the
 * state folder, in a plugin folder of its own for each trust, and is a plugin like any other; its
 * trust is that of the key that signed it. Nothing of a package is run by installing it.
 *
 * An installation is one step: at each moment, and after a power cut, the version before serves or
 * the new one. Running hosts of the state folder take it before the function returns. */
#pragma once

#include "toolrack/toolrack.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What is to be installed. */
struct toolrack_install_options {
    size_t size; /**< sizeof(struct toolrack_install_options) */
    /** A file ID-VERSION.trp, its URL, a folder with an index.json or one such file, the URL of an
     * index, or an id that is looked for in the indexes; each with "@VERSION" or "@RANGE" behind
     * it, or without. */
    const char *name;
    /** Where ids are looked for: URLs or folders, NULL-terminated; NULL: those of the
     * configuration. */
    const char *const *indexes;
    uint32_t is_unsigned; /**< not 0: a local file may be without a signature; it is `community` */
    /** Not 0: everything is verified, nobody is asked, and nothing is changed: the report says what
     * would be. */
    uint32_t looks_only;
    const char *who; /**< the person who decides; NULL: that of the options of the host */
    /** Show a person what would happen. Returns whether he agrees; nothing changes if not.
     * @param report  a JSON object: id, version, installed (the version before, or null), trust,
     *                key (null: unsigned), source, platform, description, vendor, licence, tools
     *                (name, version, permission, description, destructive, open_world),
     *                capabilities (texts); of an update `changes` (kind, tool, text, breaks) and
     *                `more`. Valid until it returns. [any-thread] */
    bool (*agree)(void *user, const char *report);
    void *user;
};
#define TOOLRACK_INSTALL_OPTIONS_INIT \
    { .size = sizeof(struct toolrack_install_options) }

/** Install a package, or update one that is installed by a newer version. Of an id the highest
 * version of all indexes is taken whose key may be. While something is downloaded, or `agree` has
 * not returned, others may install: if they change the same package, or its key, this fails.
 *
 * @param ret_report  receives a reference, to be released by toolrack_text_unref(): the report
 *                    above with `changed`: false if exactly that is installed already; and
 *                    `serves`: whether its plugin does in this host, with the `reason` if not, such
 *                    as another plugin that has its id; where something changed also `held`: the
 *                    names of tools that are not as they were approved; or NULL
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_PERMISSION_DENIED: its key is not known or does not
 *         sign its id, an index is signed by another key than before, or nobody agreed;
 *         TOOLRACK_E_REFUSED: unsigned, damaged, a downgrade, an expired index or one of the
 *         future, the id of a bundled plugin, or not what its manifest or the index says;
 *         TOOLRACK_E_INVALID: it is no package; TOOLRACK_E_EXISTS: another process installs at the
 *         moment, or has changed the same package meanwhile; TOOLRACK_E_LIMIT_EXCEEDED,
 * TOOLRACK_E_TIMEOUT, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. On failure nothing is changed. */
TOOLRACK_API int toolrack_install(struct toolrack *host,
                                  const struct toolrack_install_options *options,
                                  struct toolrack_text **ret_report, struct toolrack_error *err);

/** Update a package from the indexes, or all. A version that a person went back from is not taken:
 * the report has it as `left` where there is no other; name it to toolrack_install().
 * @param options     `name` is the id; NULL: all that are installed, one after the other
 * @param ret_report  of one package as of toolrack_install(); of all an array of these, by id,
 * where one that could not be updated has id, error (the message) and type (the name of the code)
 * @return as toolrack_install(); of all 0, whatever became of each; TOOLRACK_E_IO,
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_update(struct toolrack *host,
                                 const struct toolrack_install_options *options,
                                 struct toolrack_text **ret_report, struct toolrack_error *err);

/** Remove a package. What was decided about its plugin stays, as for any plugin whose file is
 * removed.
 * @param ret_report  a JSON object: id, version; or NULL
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_EXISTS, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_uninstall(struct toolrack *host, const char *id, const char *who,
                                    struct toolrack_text **ret_report, struct toolrack_error *err);

/** Go back to the version of a package that was installed before. What was approved of the plugin
 * is again what it was then.
 * @param ret_report  a JSON object: id, version, from (the version that was gone back from), held
 *                    (as of toolrack_install()); or NULL
 * @return as toolrack_uninstall(); TOOLRACK_E_NOT_FOUND also when there is no version before. */
TOOLRACK_API int toolrack_install_rollback(struct toolrack *host, const char *id, const char *who,
                                           struct toolrack_text **ret_report,
                                           struct toolrack_error *err);

/** Whether a package of that id is installed. */
TOOLRACK_API bool toolrack_is_installed(struct toolrack *host, const char *id);

/** List what is installed.
 * @param ret  a JSON array by id, of objects: id, version, trust, key (null: unsigned), source,
 *             since_s, who, previous (the version that a rollback goes back to, or null); of what
 * is damaged: id, reason
 * @return 0; TOOLRACK_E_REFUSED, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_packages(struct toolrack *host, struct toolrack_text **ret,
                                   struct toolrack_error *err);

/** Look for packages in indexes by words, which are all in the id, or in names and descriptions of
 * tools.
 * @param indexes  as in the options above
 * @param ret      a JSON array of objects: id, version, installed (a version or null), licence,
 *                 size, index, tools (name, description)
 * @return as toolrack_install() */
TOOLRACK_API int toolrack_search_packages(struct toolrack *host, const char *const *indexes,
                                          const char *words, struct toolrack_text **ret,
                                          struct toolrack_error *err);

/** Write the index.json of a folder of packages, for a web server; toolrack_sign() signs it then.
 * @param for_s       how long it is good, in seconds; 0: 90 days
 * @param ret_report  a JSON object: file, number, expires, packages (id, version, file, signed)
 * @return 0; TOOLRACK_E_NOT_FOUND: there are no packages; TOOLRACK_E_INVALID: a file is none;
 *         TOOLRACK_E_REFUSED: the index that is there is damaged, or a version is there twice;
 *         TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_IO, TOOLRACK_E_NO_MEMORY. [any-thread] */
TOOLRACK_API int toolrack_make_index(const char *folder, int64_t for_s,
                                     struct toolrack_text **ret_report, struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
