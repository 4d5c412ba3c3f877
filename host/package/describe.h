/* describe.h - what a package says, from the descriptors of its plugin files. */
#pragma once

#include "package/manifest.h"

/** Add to a manifest what a plugin file states: id, version, texts, capabilities and tools. No code
 * of the file is run.
 *
 * @param name  of the file, for messages
 * @return 0; TOOLRACK_E_REFUSED: the file cannot be used, or one of its tools; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int describe_plugin(int fd, const char *name, struct manifest *manifest,
                    struct toolrack_error *err);

/** Whether a manifest says what the descriptor of a plugin file says, but for its files: a package
 * whose manifest promises another plugin than it has is refused.
 * @return 0; TOOLRACK_E_REFUSED: the message says what differs; and as above. [any-thread] */
int describe_compare(const struct manifest *manifest, int fd, const char *name,
                     struct toolrack_error *err);

/** The platform that a plugin file is for, such as "x86_64-gnu": its processor and, by the C
 * library that it needs, "gnu" or "musl". Where the file is for another processor than this one's,
 * or needs no C library, that of this host is taken.
 * @return 0; TOOLRACK_E_INVALID: it is no shared object, or of a processor that is not known;
 *         TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int describe_platform(int fd, const char *name, char ret[MANIFEST_PLATFORM_ROOM],
                      struct toolrack_error *err);

/** Whether the descriptors in files for a platform can be read here, whatever processor this is. */
bool describe_is_readable(const char *platform);
