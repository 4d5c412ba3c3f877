/* descriptor.h - what a plugin states about itself, read and checked.
 *
 * A descriptor is the host's own copy of the structs in toolrack/plugin.h, with the host's struct
 * sizes and with every pointer to memory of the descriptor. It is read from a file without running
 * any code of it, from a cache, or from the memory of the embedding app; its users need not know
 * which. Immutable, and reference-counted. */
#pragma once

#include "base/cleanup.h"
#include "plugin/descriptor-data.h"

/** Read the descriptor of a plugin file. No code of the file is run or mapped executable.
 *
 * A file that cannot be used as a whole gives a descriptor with `plugin` NULL, no tools and at
 * least one finding of severity error: errors in a file are a result, not a failure.
 *
 * @param fd   open for reading, borrowed; its position is not used
 * @return 0 with a new reference; TOOLRACK_E_NO_MEMORY, TOOLRACK_E_IO.
 * [any-thread] */
int descriptor_read(int fd, const struct descriptor_options *options, struct descriptor **ret,
                    struct toolrack_error *err);

/** The same from a descriptor in this process's memory, whose pointers must be valid: they are
 * followed; strings and numbers are checked as above. Everything is copied except the functions,
 * which are borrowed. [any-thread] */
int descriptor_copy(const struct tr_plugin *plugin, const struct descriptor_options *options,
                    struct descriptor **ret, struct toolrack_error *err);

/** Whether everything in `read` is in `loaded` too. `loaded` may have more tools: schemas are only
 * checked when the file is read, and a tool that was refused then is never called. [any-thread] */
bool descriptor_same(const struct descriptor *read, const struct descriptor *loaded);

struct descriptor *descriptor_ref(struct descriptor *desc);
/** Release a reference; NULL is ignored. [any-thread] */
void descriptor_unref(struct descriptor *desc);
CLEANUP_DEFINE(struct descriptor, descriptor_unref)
