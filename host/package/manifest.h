/* manifest.h - what a package says of itself: the member `toolrack-package.json` of its archive.
 *
 *     {
 *       "toolrack_package": 1,
 *       "id": "org.example.hello",
 *       "version": "1.2.0",
 *       "abi": "1.3",                                  the least host: major and minor of the ABI
 *       "description": "...", "vendor": "...", "license": "MIT", "homepage": "...",
 *       "capabilities": ["network:*:443"],
 *       "tools": [
 *         {"name": "greet", "version": "1.2.0", "permission": "safe", "hints": ["read_only"],
 *          "description": "...", "pin": "<64 hexadecimal digits>"}
 *       ],
 *       "files": [
 *         {"path": "LICENSE", "size": 1071, "sha256": "<64 hexadecimal digits>"},
 *         {"path": "README.md", "size": 800, "sha256": "..."},
 *         {"path": "x86_64-gnu/hello.so", "size": 16384, "sha256": "..."}
 *       ]
 *     }
 *
 * It is for people and hosts that have no file of their own processor at hand; a host that has one
 * compares it with the descriptor in that file (describe.h), which it believes. Members that are
 * not known are passed over: a later release may write more of them under the same number. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/error.h"
#include "plugin/trust.h"

/* The number of the form above. */
#define MANIFEST_FORM 1

/* Its name in the archive, where it is the first member. */
#define MANIFEST_NAME "toolrack-package.json"

/* Limits of what is read; stated in the refusals. */
#define MANIFEST_SIZE_MAX         (4u * 1024 * 1024) /* bytes of the text */
#define MANIFEST_TOOLS_MAX        1024u
#define MANIFEST_CAPABILITIES_MAX 256u
#define MANIFEST_FILES_MAX        256u
#define MANIFEST_TEXT_MAX         (64u * 1024)
#define MANIFEST_ID_MAX           64u
#define MANIFEST_PATH_MAX         163u                 /* longest path of a file */
#define MANIFEST_NAME_MAX         99u                  /* longest name of a plugin file */
#define MANIFEST_FILE_SIZE_MAX    (256u * 1024 * 1024) /* of one file, unpacked */
#define MANIFEST_UNPACKED_MAX     (512u * 1024 * 1024) /* of all files together */

#define MANIFEST_SHA256_SIZE 32u

/* A tool of the package. */
struct manifest_tool {
    const char *name;
    const char *version;     /* its own, else the package's */
    const char *description; /* "" where it has none */
    int permission;          /* enum tr_permission */
    uint32_t flags;          /* of enum tr_tool_flags: PIN_FLAGS */
    uint8_t pin[MANIFEST_SHA256_SIZE];
};

/* A file of the package. */
struct manifest_file {
    const char *path; /* README.md, LICENSE, or ARCH-LIBC/NAME.so */
    uint64_t size;
    uint8_t sha256[MANIFEST_SHA256_SIZE];
};

/** A manifest. Its strings and arrays are in `arena`. All optional strings are NULL where they are
 * not given. */
struct manifest {
    struct arena arena;
    const char *id;
    const char *version; /* SemVer */
    uint16_t abi_major;
    uint16_t host_minor_min;
    const char *description;
    const char *vendor;
    const char *license;
    const char *homepage;
    const char **capabilities; /* such as "read:/srv", as the host writes them, sorted */
    size_t capability_count;
    struct manifest_tool *tools; /* by name, then version */
    size_t tool_count;
    struct manifest_file *files; /* by path, bytewise */
    size_t file_count;
};

/** An empty manifest. */
void manifest_init(struct manifest *manifest);
/** Release its memory; also of one that could not be read. */
void manifest_finish(struct manifest *manifest);

/** Read a manifest and check everything in it: forms, limits, sizes together, order-independent
 * duplicates (also of paths that differ only in case), and that each file is one that a package may
 * have. The arrays are sorted.
 *
 * @param text  need not end with a zero; borrowed
 * @param ret   initialized here; to be released by manifest_finish() in any case
 * @return 0; TOOLRACK_E_INVALID: the message says where; TOOLRACK_E_LIMIT_EXCEEDED;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int manifest_parse(const char *text, size_t length, struct manifest *ret,
                   struct toolrack_error *err);

/** Append a manifest as text. The same manifest gives the same bytes. The arrays must be sorted
 * (manifest_sort()). [any-thread] */
void manifest_write(const struct manifest *manifest, struct buf *out);
/** Put the arrays in their order. */
void manifest_sort(struct manifest *manifest);

/** The file of a path, or NULL. */
const struct manifest_file *manifest_find_file(const struct manifest *manifest, const char *path);

/** The plugin file for a platform ("x86_64-gnu"), or NULL. A package has at most one. */
const struct manifest_file *manifest_find_plugin(const struct manifest *manifest,
                                                 const char *platform);

/** Whether a path is that of a plugin file, ARCH-LIBC/NAME.so. Copies "ARCH-LIBC" to ret_platform
 * unless that is NULL. */
#define MANIFEST_PLATFORM_ROOM 64u
bool manifest_is_plugin(const char *path, char ret_platform[MANIFEST_PLATFORM_ROOM]);

/** The platform of this host: "x86_64-gnu". Static string. */
const char *manifest_platform(void);

/** Whether an id is one that a plugin may have: ^[A-Za-z_][A-Za-z0-9_.-]{0,63}$. */
bool manifest_id_valid(const char *id);

/** The name of the package's file: "ID-VERSION.trp". */
#define MANIFEST_FILE_NAME_ROOM 200u
const char *manifest_file_name(const char *id, const char *version,
                               char ret[MANIFEST_FILE_NAME_ROOM]);
