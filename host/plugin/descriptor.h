/* descriptor.h - what a plugin says of itself, read and checked.
 *
 * A descriptor is the host's own copy of the structs in toolrack/plugin.h, in
 * the host's sizes, with every pointer leading to memory of the descriptor. It
 * comes from a file without running any of it, from a cache, or from the memory
 * of the embedding app; whoever holds it need not know which. Immutable once
 * made, and counted. */
#pragma once

#include "base/cleanup.h"
#include "plugin/descriptor-data.h"

/** Read the descriptor of a plugin file. Nothing of the file is run or mapped executable.
 *
 * A file that cannot be used as a whole gives a descriptor with `plugin` NULL, no tools and at
 * least one finding of severity error: what is wrong with a file is a result, not a failure.
 *
 * @param fd   open for reading, borrowed; its position is not used
 * @return 0 with a new reference; TOOLRACK_E_NO_MEMORY, TOOLRACK_E_IO.
 * [any-thread] */
int descriptor_read(int fd, const struct descriptor_options *options, struct descriptor **ret,
                    struct toolrack_error *err);

/** The same from a descriptor in this process's memory, which the caller vouches for: pointers are
 * followed, texts and numbers checked as above. Copied: nothing is borrowed but the functions.
 * [any-thread] */
int descriptor_copy(const struct tr_plugin *plugin, const struct descriptor_options *options,
                    struct descriptor **ret, struct toolrack_error *err);

/** Whether all that was `read` is in the `loaded` table as well. That one may have more tools:
 * what their schemas say was checked when the file was read, and a tool that was refused then is
 * called by nobody. [any-thread] */
bool descriptor_same(const struct descriptor *read, const struct descriptor *loaded);

struct descriptor *descriptor_ref(struct descriptor *desc);
/** Give up a reference; NULL is ignored. [any-thread] */
void descriptor_unref(struct descriptor *desc);
CLEANUP_DEFINE(struct descriptor, descriptor_unref)
