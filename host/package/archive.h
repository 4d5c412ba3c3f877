/* archive.h - the file of a package: an ordinary tar.zst, `tar --zstd -tf FILE.trp` lists it.
 *
 * Its first member is the manifest, the others are the manifest's files in its order: plain files
 * with mode 0644, owner 0 and time 0, in ustar form, compressed at a fixed level by one thread. So
 * the same files give the same bytes with the same libzstd.
 *
 * Reading trusts nothing: the compressor and the form are only these two, sizes and their ratio and
 * the number of members have limits, each member must be the one that the manifest names next, with
 * its size and hash. Nothing is executed or loaded. libarchive is opened when the first archive is
 * read or written (libarchive.h). */
#pragma once

#include <stdint.h>

#include "package/manifest.h"

/* Limits of what is read; stated in the refusals. Those of what it unpacks to are in manifest.h. */
#define ARCHIVE_SIZE_MAX   (128u * 1024 * 1024) /* of the file */
/* Most unpacked bytes for each compressed one, above ARCHIVE_RATIO_FROM: a plugin has less than
 * 20. */
#define ARCHIVE_RATIO_MAX  200u
#define ARCHIVE_RATIO_FROM (1024u * 1024)
#define ARCHIVE_LEVEL      19

/** Hold the bytes of a file: a copy in memory that nobody can change, so that what is verified is
 * what is unpacked.
 * @param name    of the file, for messages
 * @param ret_fd  to be closed by the caller; at its begin
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED: more than ARCHIVE_SIZE_MAX; TOOLRACK_E_IO. [any-thread] */
int archive_hold(int fd, const char *name, int *ret_fd, struct toolrack_error *err);

/** Write a package: the manifest's text, then its files, read from their descriptors.
 *
 * @param fds  of manifest->files, in their order; borrowed; each must have the size and hash of the
 *             manifest
 * @param to   open for writing, empty; borrowed
 * @return 0; TOOLRACK_E_IO, also if libarchive is missing; TOOLRACK_E_REFUSED: a file has other
 *         bytes than the manifest says; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int archive_write(const struct manifest *manifest, const int *fds, int to,
                  struct toolrack_error *err);

/** Read the manifest of a package, and nothing behind it.
 * @param ret  to be released by manifest_finish() in any case
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY.
 * [any-thread] */
int archive_read_manifest(int fd, struct manifest *ret, struct toolrack_error *err);

/** Read all of a package and check it; write its files into a folder.
 *
 * @param fd      of a regular file; read from its begin by pread()
 * @param folder  an empty folder of the caller's, which nobody else can write; -1: only check. The
 *                files get their paths below it, mode 0644 and folders 0755; each is on the disk
 *                (fsync) with its folders when this returns. After a failure the folder has a part
 *                of the files, and the caller removes it
 * @param ret     the manifest; to be released by manifest_finish() in any case
 * @return 0; TOOLRACK_E_INVALID: it is no package, or not what its manifest says;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int archive_unpack(int fd, int folder, struct manifest *ret, struct toolrack_error *err);
