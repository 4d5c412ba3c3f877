/* libarchive.h - libarchive, loaded when the first package is written or read.
 *
 * With the thirteen libraries that it depends on it takes 1.5 ms to load, more than half as long as
 * all other work of a short verb. It uses libzstd for the compressor.
 */
#pragma once

#include <archive.h>
#include <archive_entry.h>

#include "base/error.h"

/** X(name), for archive_<name>. */
#define ARCHIVE_FUNCTIONS(X)         \
    X(entry_filetype)                \
    X(entry_free)                    \
    X(entry_hardlink)                \
    X(entry_new)                     \
    X(entry_pathname)                \
    X(entry_set_filetype)            \
    X(entry_set_gid)                 \
    X(entry_set_mtime)               \
    X(entry_set_pathname)            \
    X(entry_set_perm)                \
    X(entry_set_size)                \
    X(entry_set_uid)                 \
    X(entry_size)                    \
    X(entry_size_is_set)             \
    X(entry_sparse_count)            \
    X(entry_symlink)                 \
    X(error_string)                  \
    X(filter_code)                   \
    X(filter_count)                  \
    X(format)                        \
    X(read_data)                     \
    X(read_free)                     \
    X(read_new)                      \
    X(read_next_header)              \
    X(read_open2)                    \
    X(read_support_filter_zstd)      \
    X(read_support_format_raw)       \
    X(read_support_format_tar)       \
    X(write_add_filter_zstd)         \
    X(write_close)                   \
    X(write_data)                    \
    X(write_free)                    \
    X(write_header)                  \
    X(write_new)                     \
    X(write_open)                    \
    X(write_set_bytes_in_last_block) \
    X(write_set_filter_option)       \
    X(write_set_format_ustar)

struct libarchive {
#define ARCHIVE_MEMBER(name) __typeof__(&archive_##name) name;
    ARCHIVE_FUNCTIONS(ARCHIVE_MEMBER)
#undef ARCHIVE_MEMBER
    /* archive_errno(), whose name without its begin is a macro of the C library. */
    __typeof__(&archive_errno) errno_of;
};

/** The functions of libarchive, valid for a thread after its libarchive_load(). */
extern struct libarchive libarchive;

/** Load it, unless it is loaded already.
 * @return 0; TOOLRACK_E_IO: the message names what is missing. [any-thread] */
int libarchive_load(struct toolrack_error *err);
