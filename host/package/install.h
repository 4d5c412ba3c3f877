/* install.h - installing, updating, going back from and removing a package.
 *
 *     get --> verify the signature --> read the manifest --> unpack
 *      --> compare with the plugin file --> say what it wants and what changes
 *      --> a person agrees --> exchange the link
 *
 * In this order: nothing is decompressed before its signature is verified, and nothing is installed
 * that a person was not shown. The lock of the folder is held to make a folder that is unpacked to,
 * and for the last step; not while something is downloaded or a person is asked. So before that
 * step it is looked whether keys and what is installed are as they were shown. Until the link is
 * exchanged (layout.h) nothing has changed. Nothing of a package is loaded or run.
 *
 * Who gains what by lying:
 *
 *  - Who signs a package says its id and version. A key signs only the ids of its patterns, and
 *    what the plugin file in it says of itself must be the same. An id that differs from an
 *    installed one in the case of letters only is refused.
 *  - The trust is that of the key in the keyring, whatever a package says.
 *  - An update needs the key of what is installed, or one that this signed over to; else anybody
 *    with a key for the id could take its place, with all that was decided about the plugin.
 *  - The version of an update is higher, so that nobody can bring a version with a known fault
 *    back.
 *  - A server that lies about an index, or shows an old one: index.h, seen.h. */
#pragma once

#include <stdbool.h>

#include "package/candidates.h"
#include "package/layout.h"
#include "package/source.h"
#include "toolrack/toolrack.h"

struct store;

/** What a request needs. All borrowed. */
struct install_host {
    const char *packages;       /* the folder of layout.h */
    const char *const *indexes; /* NULL-terminated: where ids are looked for */
    struct store *store;        /* has the keys */
    const char *who;
    const struct source_given *given; /* the package that is meant, whatever the name; or NULL */
    bool looks_only; /* all is verified and reported; nobody is asked, and nothing changes */
    /* The indexes that were fetched, one for each of `indexes`, for more requests: all zero at
     * first, and released by candidates_finish(); NULL: they are fetched each time */
    struct source_index *fetched;
    /* Show a person what would happen, a JSON object (see install_package()), and ask.
     * @return 0: he agrees; or a code, with err set */
    int (*agree)(void *user, const char *report, struct toolrack_error *err);
    /* Whether a package with this id would serve, before anything is written.
     * @return 0; or a code, with err set */
    int (*admits)(void *user, const char *id, struct toolrack_error *err);
    /* The change is about to be made, to a link below `packages` ("community/ID.so"), or one is
     * added. After this only a failure of the file system keeps it from being made.
     * @param of     what the link leads to; NULL: there is none
     * @param after  what it will lead to, with `folder` only if that is there already; NULL: it is
     *               removed */
    void (*before)(void *user, const char *link, const struct installed *of,
                   const struct installed *after);
    void *user;
};

/** What was done. A plain value. */
struct install_done {
    bool changed; /* false: what was asked for is installed already */
    bool was_installed;
    struct installed before; /* if it was */
    struct installed now;
};

/** Install what a person names, or update what is installed.
 *
 * The report that is shown, and returned: `id`, `version`, `trust`, `key` (null: unsigned),
 * `source`, `description`, `vendor`, `licence`, `platform`, `tools` and `capabilities` (wants.h),
 * `installed` (the version, or null); of an update also `changes` and `more` (wants.h).
 *
 * @param is_unsigned  a local file without a signature may be installed, with trust community
 * @param ret_report   or NULL; a reference
 * @return 0; codes of source_open(), keyring_verify(), archive_unpack(), describe_compare(),
 *         layout_install(), and of `agree`; TOOLRACK_E_REFUSED for the rules above. What was
 *         installed is unchanged then. [any-thread] */
int install_package(const struct install_host *host, const char *name, bool is_unsigned,
                    struct install_done *ret, struct toolrack_text **ret_report,
                    struct toolrack_error *err);

/** Look for the highest newer version of a package in all indexes, and install it as above. That
 * there is none is no failure. A version that a person went back from is not taken. */
int install_update(const struct install_host *host, const char *id, struct install_done *ret,
                   struct toolrack_text **ret_report, struct toolrack_error *err);

/** Remove a package. */
int install_remove(const struct install_host *host, const char *id, struct install_done *ret,
                   struct toolrack_error *err);

/** Go back to the version of a package that was installed before the present one. */
int install_go_back(const struct install_host *host, const char *id, struct install_done *ret,
                    struct toolrack_error *err);

/** What is installed, a JSON array by id: `id`, `version`, `trust`, `key`, `source`, `since_s`,
 * `who`, `previous` (a version or null); and objects of `id` and `reason` of what is damaged. */
int install_list(const struct install_host *host, struct toolrack_text **ret,
                 struct toolrack_error *err);

/** The packages of the indexes that match words, a JSON array by id and version, the highest first,
 * of objects: `id`, `version`, `file`, `size`, `licence`, `tools`, `index`, `installed` (version or
 * null). */
int install_search(const struct install_host *host, const char *words, struct toolrack_text **ret,
                   struct toolrack_error *err);
