/* toolrack/package.h - plugins that are shipped: packages, and the keys that sign them.
 *
 * A package is one file ID-VERSION.trp, an ordinary tar.zst: a manifest, the plugin's shared object
 * for each platform, its README and licence. Its signature is beside it, in FILE.minisig, as
 * minisign writes and reads it. Nothing of a package is run by any function here. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "toolrack/error.h"
#include "toolrack/toolrack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------------- pack */

/** Make a package from a folder that has
 *
 *     ARCH-LIBC/NAME.so     one for each platform, such as x86_64-gnu; or else
 *     NAME.so               the only one; or else
 *     build/NAME.so         the only one; or else
 *     target/release/NAME.so  the only one, of cargo
 *     README.md, LICENSE    also NOTICE and CHANGELOG.md, where they are there
 *
 * The plugins are checked as by toolrack_check(); an error refuses them. The same files give the
 * same bytes with the same libzstd.
 *
 * @param output  the path of the package, which is replaced; NULL: ID-VERSION.trp in the working
 *                folder
 * @param ret     receives a reference, to be released by toolrack_text_unref(): a JSON object: file
 *                (its path), size, sha256, manifest (the package's own), findings (of the checks,
 *                an array of objects: file, severity, rule, tool, cause, fix)
 * @return 0; TOOLRACK_E_NOT_FOUND: something is missing; TOOLRACK_E_REFUSED: a plugin has errors,
 *         or the plugins of two platforms differ; TOOLRACK_E_INVALID; TOOLRACK_E_LIMIT_EXCEEDED;
 *         TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. Then there is no package. */
TOOLRACK_API int toolrack_pack(const char *folder, const char *output, struct toolrack_text **ret,
                               struct toolrack_error *err);

/* --------------------------------------------------------------------- sign */

/** Make a pair of keys: two new files, the secret one for the user only. Both are as minisign
 * writes them.
 *
 * @param secret_file  for example "my.key"
 * @param public_file  for example "my.pub"
 * @param password     encrypts the secret key, by scrypt with 1 GiB of memory; NULL: it is not
 *                     encrypted
 * @param ret          receives a reference: a JSON object: id, secret_file, public_file, public_key
 *                     (its line, which can be given in place of the file), encrypted
 * @return 0; TOOLRACK_E_EXISTS: one of the files is there; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY:
 *         also where scrypt has not enough. */
TOOLRACK_API int toolrack_key_create(const char *secret_file, const char *public_file,
                                     const char *password, struct toolrack_text **ret,
                                     struct toolrack_error *err);

/** Whether a secret key is encrypted.
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_REFUSED: other users may read it; TOOLRACK_E_INVALID;
 *         TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_key_needs_password(const char *secret_file, bool *ret,
                                             struct toolrack_error *err);

/** Sign a file; the signature is written to FILE.minisig, which is replaced. A package (*.trp) is
 * checked first, and its id and version become a part of the signature. Of a public key the
 * signature says that it succeeds the key that signs.
 *
 * @param password  of the secret key; NULL: it needs none
 * @param ret       receives a reference: a JSON object: file (of the signature), key (its id), kind
 *                  ("package", "key" or "file"), comment (the trusted one)
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_PERMISSION_DENIED: the password is wrong;
 *         TOOLRACK_E_INVALID; TOOLRACK_E_REFUSED; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_sign(const char *file, const char *secret_file, const char *password,
                               struct toolrack_text **ret, struct toolrack_error *err);

/** Verify a package with its signature FILE.minisig, before anything of it is decompressed; then
 * check all that is in it.
 *
 * @param host  its keys are those that may have signed; not used, and may be NULL, with `key`
 * @param key   a public key, as a file or as its line: only this one; NULL: those of the host
 * @param ret   receives a reference: a JSON object: file, key (the id), trust (of the host's key;
 *              null with `key`), comment (the trusted one), manifest
 * @return 0; TOOLRACK_E_NOT_FOUND: there is no such file, or no signature;
 *         TOOLRACK_E_PERMISSION_DENIED: the key is not known, or may not sign this id;
 *         TOOLRACK_E_REFUSED: the signature is not that of the file, or the manifest is not what
 *         was signed; TOOLRACK_E_INVALID; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO;
 *         TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_verify(struct toolrack *host, const char *file, const char *key,
                                 struct toolrack_text **ret, struct toolrack_error *err);

/* --------------------------------------------------------------------- keys */

/** A key that may sign packages. */
struct toolrack_key {
    size_t size;            /**< sizeof(struct toolrack_key) */
    const char *key;        /**< the public key: the path of its file, or its line */
    const char *trust;      /**< "official" or "community": that of the plugins that it signs; NULL:
                                 the key succeeds another one, see toolrack_key_add() */
    const char *const *ids; /**< NULL-terminated: what it may sign: ids of plugins, begins of ids
                                 such as "org.example.*", or "*"; NULL with `trust` NULL */
    const char *name;       /**< for people; NULL: none */
};
#define TOOLRACK_KEY_INIT \
    { .size = sizeof(struct toolrack_key) }

/** Trust a key. One that is there already gets the new trust, ids and name.
 *
 * Where its file has a signature beside it, FILE.minisig, by which a key of the host signs over to
 * it (toolrack_sign() of the public key), it succeeds that key: it may update what that one
 * installed; and without a `trust` of its own it has the trust and ids of that one. Durable on
 * return.
 *
 * @param who  the person who decides; NULL: that of the options
 * @param ret  receives a reference: the key, as an object of toolrack_keys()
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_INVALID; TOOLRACK_E_PERMISSION_DENIED: it has neither
 *         a trust nor a signature of a key of the host; TOOLRACK_E_EXISTS: another key has its id;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_IO: nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_key_add(struct toolrack *host, const struct toolrack_key *key,
                                  struct toolrack_text **ret, const char *who,
                                  struct toolrack_error *err);

/** Trust a key no longer. What it has signed and what is installed stays; nothing more of it is
 * installed. Durable on return.
 * @param id  of the key: 16 hexadecimal digits
 * @return 0; TOOLRACK_E_NOT_FOUND; TOOLRACK_E_IO: nothing changed; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_key_remove(struct toolrack *host, const char *id, const char *who,
                                     struct toolrack_error *err);

/** The keys, the oldest first, as a JSON array of objects: id, trust, ids (an array), name (or
 * null), follows (an array of the ids of the keys that it succeeds, the latest first), public_key,
 * since_s, who.
 * @return 0 with a reference; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. */
TOOLRACK_API int toolrack_keys(struct toolrack *host, struct toolrack_text **ret,
                               struct toolrack_error *err);

#ifdef __cplusplus
}
#endif
