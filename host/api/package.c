/* Packages, and the keys that sign them: the room package, with the checks of plugin files, the
 * store of the host and its log of decisions. */
#include "toolrack/package.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/new-file.h"
#include "package/archive.h"
#include "package/describe.h"
#include "package/keyring.h"
#include "package/packing.h"
#include "package/sign.h"
#include "registry/document.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* A text that is forgotten with its memory. */
static void secret_text_finish(struct buf *text) {
    if (text->data != NULL) {
        sodium_memzero(text->data, text->length);
    }
    buf_finish(text);
}

static void add_hex(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                    const uint8_t bytes[MANIFEST_SHA256_SIZE]) {
    char digits[2 * MANIFEST_SHA256_SIZE + 1];
    (void)sodium_bin2hex(digits, sizeof digits, bytes, MANIFEST_SHA256_SIZE);
    document_add_text(doc, object, key, digits);
}

/* The manifest as it stands in the package. */
static int add_manifest(yyjson_mut_doc *doc, yyjson_mut_val *object,
                        const struct manifest *manifest, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    manifest_write(manifest, &text);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = text.failed ? NULL : yyjson_read(text.data, text.length, 0);
    yyjson_mut_val *value =
            read != NULL ? yyjson_val_mut_copy(doc, yyjson_doc_get_root(read)) : NULL;
    return value != NULL && yyjson_mut_obj_add_val(doc, object, "manifest", value) ? 0
                                                                                   : error_oom(err);
}

/* ---------------------------------------------------------------------- pack */

static const char *severity_name(enum toolrack_severity severity) {
    return severity == TOOLRACK_SEVERITY_ERROR     ? "error"
           : severity == TOOLRACK_SEVERITY_WARNING ? "warning"
                                                   : "note";
}

static void add_finding(yyjson_mut_doc *doc, yyjson_mut_val *list, const char *file,
                        const struct toolrack_finding *finding) {
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, list);
    document_add_text(doc, object, "file", file);
    document_add_text(doc, object, "severity", severity_name(finding->severity));
    document_add_text(doc, object, "rule", finding->rule);
    document_add_text(doc, object, "tool", finding->tool);
    document_add_text(doc, object, "cause", finding->cause);
    document_add_text(doc, object, "fix", finding->fix);
}

/* Check a plugin file as `toolrack check` does. */
static int check_plugin(const struct packing_file *file, yyjson_mut_doc *doc, yyjson_mut_val *list,
                        struct toolrack_error *err) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    int code = toolrack_check(file->from, &findings, err);
    if (code < 0) {
        return code;
    }
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        if (finding->severity == TOOLRACK_SEVERITY_ERROR) {
            return error_set(err, TOOLRACK_E_REFUSED,
                             "%s has errors (%s%s%s: %s); see them all: %s", file->from,
                             finding->rule, finding->tool != NULL ? ": " : "",
                             finding->tool != NULL ? finding->tool : "", finding->cause,
                             COMMAND("check", file->from));
        }
        add_finding(doc, list, file->path, finding);
    }
    return 0;
}

static int check_plugins(const struct packing *pack, yyjson_mut_doc *doc, yyjson_mut_val *list,
                         struct toolrack_error *err) {
    int code = 0;
    for (size_t i = 0; code == 0 && i < pack->count; i++) {
        const struct packing_file *file = &pack->files[i];
        if (file->is_plugin && !file->is_unread) {
            code = check_plugin(file, doc, list, err);
        }
    }
    return code;
}

/* Size and hash of the package that was written. */
static int add_file(yyjson_mut_doc *doc, yyjson_mut_val *root, const char *path,
                    struct toolrack_error *err) {
    unsigned char bytes[64 * 1024];
    uint8_t sha256[MANIFEST_SHA256_SIZE];
    uint64_t size = 0;
    ssize_t length;
    crypto_hash_sha256_state state;
    (void)crypto_hash_sha256_init(&state);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && (length = pread(fd, bytes, sizeof bytes, (off_t)size)) > 0) {
        (void)crypto_hash_sha256_update(&state, bytes, (size_t)length);
        size += (uint64_t)length;
    }
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", path, strerror(errno));
    }
    (void)crypto_hash_sha256_final(&state, sha256);
    document_add_text(doc, root, "file", path);
    (void)yyjson_mut_obj_add_uint(doc, root, "size", size);
    add_hex(doc, root, "sha256", sha256);
    return 0;
}

int toolrack_pack(const char *folder, const char *output, struct toolrack_text **ret,
                  struct toolrack_error *err) {
    char name[MANIFEST_FILE_NAME_ROOM];
    CLEANUP(packing_finish) struct packing pack;
    yyjson_mut_val *root;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = document_begin(&root);
    yyjson_mut_val *findings = yyjson_mut_arr(doc);
    int code = packing_collect(folder, &pack, err);
    code = code == 0 ? check_plugins(&pack, doc, findings, err) : code;
    code = code == 0 ? packing_describe(&pack, err) : code;
    if (code < 0) {
        return code;
    }
    const char *path = output != NULL
                               ? output
                               : manifest_file_name(pack.manifest.id, pack.manifest.version, name);
    code = packing_write(&pack, path, err);
    code = code == 0 ? add_file(doc, root, path, err) : code;
    code = code == 0 ? add_manifest(doc, root, &pack.manifest, err) : code;
    (void)yyjson_mut_obj_add_val(doc, root, "findings", findings);
    return code == 0 ? document_end(STEAL(doc), ret, err) : code;
}

/* ---------------------------------------------------------------------- sign */

int toolrack_key_create(const char *secret_file, const char *public_file, const char *password,
                        struct toolrack_text **ret, struct toolrack_error *err) {
    char id[KEY_ID_ROOM];
    struct public_key public;
    CLEANUP(secret_key_finish) struct secret_key secret;
    CLEANUP(secret_text_finish) struct buf secret_text = BUF_INIT;
    CLEANUP(buf_finish) struct buf public_text = BUF_INIT;
    struct stat status;
    if (password != NULL && strlen(password) > KEY_PASSWORD_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "a password has at most %u bytes",
                         KEY_PASSWORD_MAX);
    }
    /* Before the costly encryption; new_file_end() makes sure. */
    if (stat(public_file, &status) == 0 || stat(secret_file, &status) == 0) {
        return error_set(err, TOOLRACK_E_EXISTS, "%s is there already; choose another name",
                         stat(public_file, &status) == 0 ? public_file : secret_file);
    }
    int code = key_create(&public, &secret, err);
    code = code == 0 ? secret_key_write(&secret, password, NULL, &secret_text, err) : code;
    if (code < 0) {
        return code;
    }
    public_key_write(&public, &public_text);
    if (public_text.failed) {
        return error_oom(err);
    }
    code = new_file_write(secret_file, secret_text.data, secret_text.length, 0600, false, err);
    code = code == 0 ? new_file_write(public_file, public_text.data, public_text.length, 0644,
                                      false, err)
                     : code;
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    const char *line = strchr(public_text.data, '\n') + 1;
    public_text.data[public_text.length - 1] = '\0';
    document_add_text(doc, root, "id", key_id(public.number, id));
    document_add_text(doc, root, "secret_file", secret_file);
    document_add_text(doc, root, "public_file", public_file);
    document_add_text(doc, root, "public_key", line);
    (void)yyjson_mut_obj_add_bool(doc, root, "encrypted", password != NULL);
    return document_end(doc, ret, err);
}

int toolrack_key_needs_password(const char *secret_file, bool *ret, struct toolrack_error *err) {
    CLEANUP(secret_text_finish) struct buf text = BUF_INIT;
    int code = sign_read_text(secret_file, KEY_TEXT_MAX, true, &text, err);
    code = code == 0 ? secret_key_is_encrypted(text.data, text.length, ret, err) : code;
    if (code == TOOLRACK_E_INVALID) {
        error_prefix(err, secret_file);
    }
    return code;
}

int toolrack_sign(const char *file, const char *secret_file, const char *password,
                  struct toolrack_text **ret, struct toolrack_error *err) {
    char id[KEY_ID_ROOM];
    struct signed_file done = {.kind = ""};
    CLEANUP(secret_key_finish) struct secret_key secret = {0};
    CLEANUP(secret_text_finish) struct buf text = BUF_INIT;
    int code = sign_read_text(secret_file, KEY_TEXT_MAX, true, &text, err);
    code = code == 0 ? secret_key_parse(text.data, text.length, password, &secret, err) : code;
    code = code == 0 ? sign_file(file, &secret, &done, err) : code;
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    document_add_text(doc, root, "file", done.path);
    document_add_text(doc, root, "key", key_id(secret.number, id));
    document_add_text(doc, root, "kind", done.kind);
    document_add_text(doc, root, "comment", done.comment);
    return document_end(doc, ret, err);
}

/* -------------------------------------------------------------------- verify */

/* A package whose signature is looked at. */
struct verifying {
    int held; /* its bytes */
    struct signature_text signature;
    struct keyring ring;
    const struct keyring_key *key; /* of the ring; NULL: another key was given */
    struct manifest manifest;
};

static void verifying_finish(struct verifying *verifying) {
    closep(&verifying->held);
    keyring_finish(&verifying->ring);
    manifest_finish(&verifying->manifest);
}

static int hold(const char *file, int *ret, struct toolrack_error *err) {
    struct stat status;
    CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0) {
        return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "cannot read %s: %s", file, strerror(errno));
    }
    return S_ISREG(status.st_mode)
                   ? archive_hold(fd, file, ret, err)
                   : error_set(err, TOOLRACK_E_INVALID, "%s is no regular file", file);
}

/* By one key that was given, whatever the keyring says. */
static int verify_with(struct verifying *verifying, const char *key, struct toolrack_error *err) {
    struct public_key public;
    uint8_t hash[SIGNATURE_HASH_SIZE];
    int code = sign_read_public(key, &public, err);
    code = code == 0 ? signature_hash(verifying->held, ARCHIVE_SIZE_MAX, hash, NULL, err) : code;
    return code == 0 ? signature_verify(&verifying->signature, hash, &public, err) : code;
}

/* The id and version that were signed are those of the manifest. */
static int compare_signed(const struct verifying *verifying, struct toolrack_error *err) {
    const struct signature_text *signature = &verifying->signature;
    const struct manifest *manifest = &verifying->manifest;
    return strcmp(signature->id, manifest->id) == 0 &&
                           strcmp(signature->version, manifest->version) == 0
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "the signature is for '%s' %s, and the package is '%s' %s",
                               signature->id, signature->version, manifest->id, manifest->version);
}

static int verify(struct toolrack *host, const char *file, const char *key,
                  struct verifying *verifying, struct toolrack_error *err) {
    int code = hold(file, &verifying->held, err);
    code = code == 0 ? sign_read_signature(file, &verifying->signature, err) : code;
    if (code == 0 && key != NULL) {
        code = verify_with(verifying, key, err);
    } else if (code == 0) {
        code = keyring_read(host->store, &verifying->ring, err);
        code = code == 0 ? keyring_verify(&verifying->ring, verifying->held, &verifying->signature,
                                          &verifying->key, err)
                         : code;
    }
    code = code == 0 ? archive_unpack(verifying->held, -1, &verifying->manifest, err) : code;
    return code == 0 ? compare_signed(verifying, err) : code;
}

static int verify_in(struct toolrack *host, const char *file, struct verifying *verifying,
                     struct toolrack_error *err) {
    HOST_SCOPE(host);
    return verify(host, file, NULL, verifying, err);
}

int toolrack_verify(struct toolrack *host, const char *file, const char *key,
                    struct toolrack_text **ret, struct toolrack_error *err) {
    char id[KEY_ID_ROOM];
    CLEANUP(verifying_finish) struct verifying verifying = {.held = -1};
    keyring_init(&verifying.ring);
    manifest_init(&verifying.manifest);
    if (host == NULL && key == NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "there is no host, whose keys it would be");
    }
    int code = key != NULL ? verify(NULL, file, key, &verifying, err)
                           : verify_in(host, file, &verifying, err);
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *root;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = document_begin(&root);
    document_add_text(doc, root, "file", file);
    document_add_text(doc, root, "key", key_id(verifying.signature.number, id));
    document_add_text(doc, root, "trust",
                      verifying.key != NULL ? trust_name(verifying.key->trust) : NULL);
    document_add_text(doc, root, "comment", verifying.signature.comment);
    code = add_manifest(doc, root, &verifying.manifest, err);
    return code == 0 ? document_end(STEAL(doc), ret, err) : code;
}

/* ---------------------------------------------------------------------- keys */

/* An array of the lines of a text. */
static void add_lines(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                      const char *lines) {
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, object, key);
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        (void)yyjson_mut_arr_add_strncpy(doc, list, lines, length);
        lines += length + (lines[length] != '\0');
    }
}

static void add_key(yyjson_mut_doc *doc, yyjson_mut_val *object, const struct keyring_key *key) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    public_key_write(&key->key, &text);
    document_add_text(doc, object, "id", key->id);
    document_add_text(doc, object, "trust", trust_name(key->trust));
    add_lines(doc, object, "ids", key->ids);
    document_add_text(doc, object, "name", key->comment[0] != '\0' ? key->comment : NULL);
    add_lines(doc, object, "follows", key->follows);
    if (!text.failed) {
        const char *line = strchr(text.data, '\n') + 1;
        (void)yyjson_mut_obj_add_strncpy(doc, object, "public_key", line, strcspn(line, "\n"));
    }
    (void)yyjson_mut_obj_add_sint(doc, object, "since_s", key->since_s);
    document_add_text(doc, object, "who", key->who);
}

/* For the log of decisions. */
static void note_added(struct toolrack *host, const struct keyring_key *key, const char *who) {
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    buf_printf(&why, "key %s, %s, ids", key->id, trust_name(key->trust));
    for (const char *at = key->ids; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        buf_printf(&why, " %.*s", (int)length, at);
        at += length + (at[length] != '\0');
    }
    if (key->follows[0] != '\0') {
        buf_printf(&why, ", succeeds key %.*s", (int)strcspn(key->follows, "\n"), key->follows);
    }
    permit_note(host->permit, &(struct store_decision){.decision = "added key",
                                                       .who = who,
                                                       .why = why.failed ? key->id : why.data});
}

/* @param ret  enum trust; -1: none is given */
static int read_trust(const char *trust, int *ret, struct toolrack_error *err) {
    static const enum trust all[] = {TRUST_COMMUNITY, TRUST_OFFICIAL};
    *ret = -1;
    for (size_t i = 0; trust != NULL && i < ARRAY_LENGTH(all); i++) {
        *ret = strcmp(trust, trust_name(all[i])) == 0 ? (int)all[i] : *ret;
    }
    return trust == NULL || *ret >= 0
                   ? 0
                   : error_set(err, TOOLRACK_E_INVALID,
                               "the trust of a key is official or community, not \"%.100s\"",
                               trust);
}

int toolrack_key_add(struct toolrack *host, const struct toolrack_key *given,
                     struct toolrack_text **ret, const char *who, struct toolrack_error *err) {
    HOST_SCOPE(host);
    int trust;
    struct toolrack_key key = {0};
    CLEANUP(keyring_finish) struct keyring added;
    keyring_init(&added);
    memcpy(&key, given, given->size < sizeof key ? given->size : sizeof key);
    int code = read_trust(key.trust, &trust, err);
    code = code == 0 ? keyring_add(host->store, key.key, trust, key.ids, key.name,
                                   host_who(host, who), &added, err)
                     : code;
    if (code < 0 || added.count == 0) {
        return code;
    }
    note_added(host, &added.keys[0], host_who(host, who));
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    add_key(doc, root, &added.keys[0]);
    return document_end(doc, ret, err);
}

int toolrack_key_remove(struct toolrack *host, const char *id, const char *who,
                        struct toolrack_error *err) {
    HOST_SCOPE(host);
    char why[KEY_ID_ROOM + 8];
    char shown[KEY_ID_ROOM];
    uint8_t number[KEY_NUMBER_SIZE];
    if (!key_id_parse(id, number)) {
        return error_set(
                err, TOOLRACK_E_INVALID,
                "\"%.100s\" is no id of a key, which has 16 hexadecimal digits; list them: "
                "%s",
                id, COMMAND("keys list"));
    }
    int code = store_key_remove(host->store, key_id(number, shown), err);
    if (code == 0) {
        (void)snprintf(why, sizeof why, "key %s", shown);
        permit_note(host->permit, &(struct store_decision){.decision = "removed key",
                                                           .who = host_who(host, who),
                                                           .why = why});
    }
    return code;
}

int toolrack_keys(struct toolrack *host, struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(keyring_finish) struct keyring ring;
    int code = keyring_read(host->store, &ring, err);
    if (code < 0) {
        return code;
    }
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin_list(&root);
    for (size_t i = 0; i < ring.count; i++) {
        add_key(doc, yyjson_mut_arr_add_obj(doc, root), &ring.keys[i]);
    }
    return document_end(doc, ret, err);
}
