/* publish.h - making the index of a folder of packages, for a web server. */
#pragma once

#include "toolrack/toolrack.h"

/* How long an index is good for, if nothing is said; and at most. */
#define PUBLISH_S_DEFAULT (90 * 86400LL)
#define PUBLISH_S_MAX     (3660 * 86400LL)

/** Write index.json of a folder: its files *.trp, with their sizes and hashes, and what their
 * manifests say. Its number is one more than that of the index that is there. The index has to be
 * signed again then.
 *
 * @param for_s       how long it is good; 0: the default
 * @param ret_report  a JSON object: `file`, `number`, `expires`, `packages` (objects of `id`,
 *                    `version`, `file` and `signed`: whether a signature is beside it)
 * @return 0; TOOLRACK_E_NOT_FOUND: the folder has no packages; TOOLRACK_E_INVALID: a file is none;
 *         TOOLRACK_E_EXISTS: two files have the same version of a package; TOOLRACK_E_REFUSED: the
 *         index that is there is damaged; TOOLRACK_E_LIMIT_EXCEEDED, TOOLRACK_E_IO,
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int publish_index(const char *folder, int64_t for_s, struct toolrack_text **ret_report,
                  struct toolrack_error *err);
