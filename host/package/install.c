#include "package/install.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "package/archive.h"
#include "package/describe.h"
#include "package/tree.h"
#include "package/wants.h"
#include "plugin/descriptor.h"
#include "registry/document.h"
#include "registry/tool.h"

/* One request: what is known so far. */
struct installing {
    const struct install_host *host;
    struct layout layout;
    struct keyring ring;
    struct source source;
    const struct keyring_key *key;   /* which signed it; NULL: it is unsigned */
    struct signature_text signature; /* of the package, if it has one */
    struct manifest manifest;
    const struct manifest_file *plugin; /* its file for this machine */
    char incoming[LAYOUT_PATH_MAX];     /* what was unpacked */
    int folder;                         /* the same, open, so that nobody removes it; -1: none */
    struct descriptor *now;
    struct descriptor *old; /* of what is installed; NULL: nothing is, or it cannot be read */
    struct install_done done;
};

/* What was unpacked and not installed is removed. It is locked, so nobody else does that meanwhile.
 */
static void finish(struct installing *at) {
    if (at->folder >= 0 && at->layout.root >= 0) {
        (void)tree_remove(at->layout.root, at->incoming);
    }
    descriptor_unref(at->now);
    descriptor_unref(at->old);
    manifest_finish(&at->manifest);
    source_finish(&at->source);
    keyring_finish(&at->ring);
    layout_finish(&at->layout);
    closep(&at->folder);
}

static int begin(struct installing *at, const struct install_host *host,
                 struct toolrack_error *err) {
    *at = (struct installing){
            .host = host, .layout = LAYOUT_INIT, .source = SOURCE_INIT, .folder = -1};
    manifest_init(&at->manifest);
    int code = keyring_read(host->store, &at->ring, err);
    return code < 0 ? code : layout_open(host->packages, &at->layout, err);
}

/* From here on nobody else changes anything, until layout_unlock(). */
static int lock(struct installing *at, struct toolrack_error *err) {
    layout_finish(&at->layout);
    return layout_open_to_change(at->host->packages, &at->layout, err);
}

/* ------------------------------------------------------------------ source */

static struct source_judge judge_of(const struct installing *at, const char *id) {
    return (struct source_judge){.ring = &at->ring,
                                 .layout = &at->layout,
                                 .notes = true,
                                 .id = id,
                                 .now_s = clock_wall_s()};
}

static int no_index(const char *name, struct toolrack_error *err) {
    return name == NULL
                   ? error_set(err, TOOLRACK_E_NOT_FOUND,
                               "there is no index of packages to look in; name one with --index, "
                               "or in \"packages\" of the configuration")
                   : error_set(err, TOOLRACK_E_NOT_FOUND,
                               "there is no file '%s', and no index of packages to look in; name "
                               "one with --index, or in \"packages\" of the configuration",
                               name);
}

/* Get the best version of all indexes. */
static int open_best(struct installing *at, const struct candidates_wanted *wanted, bool *ret_found,
                     struct toolrack_error *err) {
    struct source_index own[SOURCE_INDEXES_MAX] = {{.location = NULL}};
    const struct source_judge judge = judge_of(at, wanted->id);
    int code = candidates_open(&judge, at->host->indexes,
                               at->host->fetched != NULL ? at->host->fetched : own, wanted,
                               &at->source, ret_found, err);
    candidates_finish(own);
    return code;
}

static bool is_in_range(void *user, const char *version) {
    const struct source_name *name = user;
    struct semver_range range;
    return name->version[0] == '\0' ||
           (semver_range_parse(name->version, &range) && semver_range_has(&range, version));
}

static int open_id(struct installing *at, struct source_name *name, struct toolrack_error *err) {
    const char *const *indexes = at->host->indexes;
    const struct candidates_wanted wanted = {.id = name->text,
                                             .follows = "",
                                             .releases_first = true,
                                             .takes = is_in_range,
                                             .user = name};
    bool is_found = false;
    if (indexes[0] == NULL) {
        return no_index(name->text, err);
    }
    int code = open_best(at, &wanted, &is_found, err);
    return code < 0 || is_found
                   ? code
                   : error_set(err, TOOLRACK_E_NOT_FOUND, "%s%s has no package '%s'%s%s",
                               indexes[0], indexes[1] != NULL ? " and each other index" : "",
                               name->text, name->version[0] != '\0' ? " of version " : "",
                               name->version);
}

static int open_named(struct installing *at, const char *text, struct toolrack_error *err) {
    struct source_name name;
    const struct source_judge judge = judge_of(at, NULL);
    if (at->host->given != NULL) {
        return source_hold(at->host->given, &at->source, err);
    }
    int code = source_name_read(text, &name, err);
    return code < 0                 ? code
           : name.kind == SOURCE_ID ? open_id(at, &name, err)
                                    : source_open(&judge, &name, &at->source, err);
}

/* ------------------------------------------------------------------ verify */

/* Without a signature only what a person has as a file, and says so. */
static int accept_unsigned(const struct installing *at, bool is_unsigned,
                           struct toolrack_error *err) {
    if (!at->source.is_local) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s has no signature: %s%s is missing; only a local file can be installed "
                         "unsigned",
                         at->source.name, at->source.name, SIGNATURE_SUFFIX);
    }
    return is_unsigned ? 0
                       : error_set(err, TOOLRACK_E_REFUSED,
                                   "%s has no signature: %s%s is missing; get that too, or, if "
                                   "nothing that is signed is installed under its id, add "
                                   "--unsigned: it has the trust community then",
                                   at->source.name, at->source.name, SIGNATURE_SUFFIX);
}

static int verify(struct installing *at, bool is_unsigned, struct toolrack_error *err) {
    const struct buf *text = &at->source.signature;
    if (text->length == 0) {
        return accept_unsigned(at, is_unsigned, err);
    }
    int code = signature_parse(text->data, text->length, &at->signature, err);
    if (code == 0) {
        code = keyring_verify(&at->ring, at->source.fd, &at->signature, &at->key, err);
    }
    if (code < 0) {
        error_prefix(err, at->source.name);
    }
    return code;
}

/* ---------------------------------------------------------------- identity */

static int mismatch(const struct installing *at, const char *who, const char *id,
                    const char *version, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_REFUSED, "%s is %s %s, and %s says %s %s", at->source.name,
                     at->manifest.id, at->manifest.version, who, id, version);
}

/* All that name a package mean the same. */
static int check_identity(const struct installing *at, struct toolrack_error *err) {
    const struct manifest *manifest = &at->manifest;
    struct semver_range range;
    const char *wanted = at->source.version;
    if (at->key != NULL && (strcmp(at->signature.id, manifest->id) != 0 ||
                            strcmp(at->signature.version, manifest->version) != 0)) {
        return mismatch(at, "its signature", at->signature.id, at->signature.version, err);
    }
    if (at->source.id[0] != '\0' &&
        (strcmp(at->source.id, manifest->id) != 0 || strcmp(wanted, manifest->version) != 0)) {
        return mismatch(at, "the index", at->source.id, wanted, err);
    }
    if (wanted[0] != '\0' &&
        (!semver_range_parse(wanted, &range) || !semver_range_has(&range, manifest->version))) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "%s has version %s of '%s', not %s",
                         at->source.name, manifest->version, manifest->id, wanted);
    }
    return layout_is_id(manifest->id)
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED, "%s: the id '%s' cannot be installed",
                               at->source.name, manifest->id);
}

static enum trust trust_of(const struct installing *at) {
    return at->key != NULL ? at->key->trust : TRUST_COMMUNITY;
}

/* ------------------------------------------------------------------ update */

/* Whether the key may exchange what is installed. */
static int check_key(const struct installing *at, struct toolrack_error *err) {
    const struct installed *before = &at->done.before;
    if (before->key[0] != '\0' && at->key == NULL) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s is unsigned, and what is installed of '%s' is signed by the key %s, "
                         "which --unsigned does not replace; get its signature, or uninstall the "
                         "other first: %s",
                         at->source.name, before->id, before->key,
                         COMMAND("uninstall", before->id));
    }
    if (before->key[0] != '\0' && !keyring_key_follows(at->key, before->key)) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "%s is signed by the key %s, and what is installed of '%s' by %s, which "
                         "has not signed over to it; if its publisher says so, uninstall it first: "
                         "%s",
                         at->source.name, at->key->id, before->id, before->key,
                         COMMAND("uninstall", before->id));
    }
    if (before->trust != trust_of(at)) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "'%s' is installed with trust %s, and would have trust %s; what was "
                         "decided about it does not hold for another trust; uninstall it first: %s",
                         before->id, trust_name(before->trust), trust_name(trust_of(at)),
                         COMMAND("uninstall", before->id));
    }
    return 0;
}

/* Whether the version may take the place of the one that is installed. */
static int check_version(const struct installing *at, struct toolrack_error *err) {
    const struct installed *before = &at->done.before;
    int order = semver_compare(at->manifest.version, before->version);
    if (order < 0) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s is version %s of '%s', and %s is installed (a downgrade); to go back "
                         "to the version before it: %s",
                         at->source.name, at->manifest.version, before->id, before->version,
                         COMMAND("rollback", before->id));
    }
    /* Who builds a package tries it before it has another version. */
    if (order == 0 && at->key != NULL) {
        return error_set(err, TOOLRACK_E_REFUSED,
                         "%s is version %s of '%s', as what is installed, and another file: a "
                         "version is published once; its publisher has to give it a higher one",
                         at->source.name, at->manifest.version, before->id);
    }
    return 0;
}

/* Two ids that differ in the case of letters look the same, and are one file where file names have
 * no case. */
static int compare_id(void *user, const struct installed *one, struct toolrack_error *err) {
    const struct installing *at = user;
    return strcasecmp(one->id, at->manifest.id) != 0
                   ? 0
                   : error_set(
                             err, TOOLRACK_E_REFUSED,
                             "%s is '%s', and '%s' is installed, which differs in upper and lower "
                             "case only; if you want this one, uninstall the other first: %s",
                             at->source.name, at->manifest.id, one->id,
                             COMMAND("uninstall", one->id));
}

static int check_before(struct installing *at, bool *ret_same, struct toolrack_error *err) {
    int code = layout_find(&at->layout, at->manifest.id, &at->done.before, err);
    *ret_same = false;
    if (code == TOOLRACK_E_NOT_FOUND) {
        return layout_visit(&at->layout, compare_id, NULL, at, err);
    }
    if (code < 0) {
        return code;
    }
    at->done.was_installed = true;
    code = check_key(at, err);
    if (code == 0 && strcmp(at->done.before.sha256, at->source.sha256) == 0) {
        *ret_same = true;
        at->done.now = at->done.before;
        return 0;
    }
    return code < 0 ? code : check_version(at, err);
}

/* ------------------------------------------------------------------ unpack */

static int read_plugin(const struct layout *layout, const char *folder, const char *file,
                       const char *said, bool checks, const struct manifest *manifest,
                       struct descriptor **ret, struct toolrack_error *err) {
    char name[2 * LAYOUT_PATH_MAX + 2];
    bool no_memory = false;
    struct descriptor_options options = tool_descriptor_options(&no_memory);
    (void)snprintf(name, sizeof name, "%s/%s", folder, file);
    CLEANUP(closep) int fd = openat(layout->root, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read %s/%s: %s", layout->path, name,
                         strerror(errno));
    }
    int code = checks ? describe_compare(manifest, fd, said, err) : 0;
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    if (code == 0) {
        code = descriptor_read(fd, &options, &desc, err);
    }
    if (code == 0 && (no_memory || desc->plugin == NULL)) {
        code = no_memory ? error_oom(err)
                         : error_set(err, TOOLRACK_E_REFUSED, "%s/%s is no plugin", layout->path,
                                     name);
    }
    if (code == 0) {
        *ret = STEAL(desc);
    }
    return code;
}

/* The manifest that was believed so far is the one of all that was unpacked. The lock is held to
 * make the folder, and not to fill it. */
static int unpack(struct installing *at, struct toolrack_error *err) {
    int code = lock(at, err);
    if (code == 0) {
        code = layout_begin(&at->layout, at->incoming, &at->folder, err);
        layout_unlock(&at->layout);
    }
    if (code < 0) {
        return code;
    }
    manifest_finish(&at->manifest);
    code = archive_unpack(at->source.fd, at->folder, &at->manifest, err);
    at->plugin = code == 0 ? manifest_find_plugin(&at->manifest, manifest_platform()) : NULL;
    if (code == 0 && at->plugin == NULL) {
        code = error_set(err, TOOLRACK_E_REFUSED, "%s has no plugin for this machine (%s)",
                         at->source.name, manifest_platform());
    }
    if (code == 0) {
        code = read_plugin(&at->layout, at->incoming, at->plugin->path, at->plugin->path, true,
                           &at->manifest, &at->now, err);
    }
    if (code == 0 && at->done.was_installed) {
        struct toolrack_error unheard; /* nothing is compared with what cannot be read */
        (void)read_plugin(&at->layout, at->done.before.folder, at->done.before.plugin, NULL, false,
                          NULL, &at->old, &unheard);
    }
    return code;
}

/* ------------------------------------------------------------------ report */

static yyjson_mut_doc *make_report(const struct installing *at) {
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    const struct manifest *manifest = &at->manifest;
    document_add_text(doc, root, "id", manifest->id);
    document_add_text(doc, root, "version", manifest->version);
    document_add_text(doc, root, "installed",
                      at->done.was_installed ? at->done.before.version : NULL);
    document_add_text(doc, root, "trust", trust_name(trust_of(at)));
    document_add_text(doc, root, "key", at->key != NULL ? at->key->id : NULL);
    document_add_text(doc, root, "source", at->source.name);
    document_add_text(doc, root, "platform", manifest_platform());
    document_add_text(doc, root, "description", manifest->description);
    document_add_text(doc, root, "vendor", manifest->vendor);
    document_add_text(doc, root, "licence", manifest->license);
    if (at->now != NULL) {
        wants_describe(at->now, doc, root);
    }
    if (at->old != NULL) {
        wants_compare(at->old, at->now, doc, root);
    }
    return doc;
}

static int show(const struct installing *at, struct toolrack_text **ret,
                struct toolrack_error *err) {
    struct toolrack_text *report = NULL;
    int code = document_end(make_report(at), &report, err);
    if (code == 0 && !at->host->looks_only) {
        code = at->host->agree(at->host->user, toolrack_text_data(report, NULL), err);
    }
    if (code == 0 && ret != NULL) {
        *ret = report;
        return 0;
    }
    toolrack_text_unref(report);
    return code;
}

/* ------------------------------------------------------------------ change */

/* @param of     what is exchanged or removed; NULL: nothing was there
 * @param after  what takes its place; NULL: nothing */
static void tell_before(const struct install_host *host, const struct installed *of,
                        const struct installed *after) {
    const struct installed *either = after != NULL ? after : of;
    char link[LAYOUT_PATH_MAX];
    (void)snprintf(link, sizeof link, "%s/%s.so", trust_name(either->trust), either->id);
    host->before(host->user, link, of, after);
}

static bool is_same_key(const struct keyring_key *a, const struct keyring_key *b) {
    return a->trust == b->trust && strcmp(a->ids, b->ids) == 0 &&
           strcmp(a->follows, b->follows) == 0 && memcmp(&a->key, &b->key, sizeof a->key) == 0;
}

/* What the person was shown while others could make changes still holds. */
static int check_unchanged(const struct installing *at, struct toolrack_error *err) {
    struct installed now;
    struct toolrack_error why;
    CLEANUP(keyring_finish) struct keyring ring;
    const char *id = at->manifest.id;
    int code = keyring_read(at->host->store, &ring, err);
    if (code < 0) {
        return code;
    }
    const struct keyring_key *key =
            at->key != NULL ? keyring_find(&ring, at->key->key.number) : NULL;
    if (at->key != NULL && (key == NULL || !is_same_key(key, at->key))) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "the key %s was removed or changed meanwhile; '%s' is not installed",
                         at->key->id, id);
    }
    code = layout_find(&at->layout, id, &now, &why);
    bool is_same = at->done.was_installed
                           ? code == 0 && strcmp(now.folder, at->done.before.folder) == 0
                           : code == TOOLRACK_E_NOT_FOUND;
    if (!is_same) {
        return error_set(err, TOOLRACK_E_EXISTS,
                         "another process has installed, updated or removed '%s' meanwhile; see "
                         "what there is, and try again: %s",
                         id, COMMAND("packages"));
    }
    return at->done.was_installed
                   ? 0
                   : layout_visit(&at->layout, compare_id, NULL, (void *)(uintptr_t)at, err);
}

static void set_record(const struct installing *at, struct installed *ret) {
    *ret = (struct installed){.trust = trust_of(at), .since_s = clock_wall_s()};
    (void)snprintf(ret->id, sizeof ret->id, "%s", at->manifest.id);
    (void)snprintf(ret->version, sizeof ret->version, "%s", at->manifest.version);
    (void)snprintf(ret->key, sizeof ret->key, "%s", at->key != NULL ? at->key->id : "");
    (void)snprintf(ret->sha256, sizeof ret->sha256, "%s", at->source.sha256);
    (void)snprintf(ret->plugin, sizeof ret->plugin, "%s", at->plugin->path);
    (void)snprintf(ret->source, sizeof ret->source, "%s", at->source.name);
    (void)snprintf(ret->who, sizeof ret->who, "%s", at->host->who);
}

/* What was got is verified, shown and installed. */
static int install_source(struct installing *at, bool is_unsigned,
                          struct toolrack_text **ret_report, struct toolrack_error *err) {
    bool is_same = false;
    int code = verify(at, is_unsigned, err);
    if (code == 0) {
        code = archive_read_manifest(at->source.fd, &at->manifest, err);
    }
    if (code == 0) {
        code = check_identity(at, err);
    }
    if (code == 0) {
        code = at->host->admits(at->host->user, at->manifest.id, err);
    }
    if (code == 0) {
        code = check_before(at, &is_same, err);
    }
    if (code == 0 && is_same) {
        return ret_report != NULL ? document_end(make_report(at), ret_report, err) : 0;
    }
    if (code == 0) {
        code = unpack(at, err);
    }
    if (code == 0) {
        code = show(at, ret_report, err);
    }
    if (code < 0 || at->host->looks_only) {
        return code;
    }
    code = lock(at, err);
    if (code == 0) {
        code = check_unchanged(at, err);
    }
    if (code < 0) {
        return code;
    }
    set_record(at, &at->done.now);
    tell_before(at->host, at->done.was_installed ? &at->done.before : NULL, &at->done.now);
    code = layout_install(&at->layout, at->incoming, &at->done.now, err);
    at->done.changed = code == 0;
    return code;
}

int install_package(const struct install_host *host, const char *name, bool is_unsigned,
                    struct install_done *ret, struct toolrack_text **ret_report,
                    struct toolrack_error *err) {
    CLEANUP(finish) struct installing at;
    int code = begin(&at, host, err);
    if (code == 0) {
        code = open_named(&at, name, err);
    }
    if (code == 0) {
        code = install_source(&at, is_unsigned, ret_report, err);
    }
    *ret = at.done;
    return code;
}

/* ------------------------------------------------------------------ update */

/* Which versions an update takes, and the highest of those that somebody went back from. */
struct newer {
    const struct installing *at;
    char left[SEMVER_LENGTH_MAX + 1];
};

static bool is_newer(void *user, const char *version) {
    struct newer *newer = user;
    const struct installed *before = &newer->at->done.before;
    if (semver_compare(version, before->version) <= 0 ||
        (semver_is_prerelease(version) && !semver_is_prerelease(before->version))) {
        return false;
    }
    if (!layout_was_left(&newer->at->layout, before->id, version)) {
        return true;
    }
    if (newer->left[0] == '\0' || semver_compare(version, newer->left) > 0) {
        (void)snprintf(newer->left, sizeof newer->left, "%s", version);
    }
    return false;
}

static int not_installed(int code, const char *id, struct toolrack_error *err) {
    return code == TOOLRACK_E_NOT_FOUND
                   ? error_set(err, code, "no package '%.128s' is installed; list them: %s", id,
                               COMMAND("packages"))
                   : code;
}

/* What is installed is the newest, but for a version that somebody went back from. */
static int report_newest(const struct installing *at, const char *left, struct toolrack_text **ret,
                         struct toolrack_error *err) {
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    document_add_text(doc, root, "id", at->done.before.id);
    document_add_text(doc, root, "version", at->done.before.version);
    document_add_text(doc, root, "installed", at->done.before.version);
    document_add_text(doc, root, "left", left[0] != '\0' ? left : NULL);
    return document_end(doc, ret, err);
}

int install_update(const struct install_host *host, const char *id, struct install_done *ret,
                   struct toolrack_text **ret_report, struct toolrack_error *err) {
    CLEANUP(finish) struct installing at;
    struct newer newer = {.at = &at};
    bool is_found = false;
    int code = begin(&at, host, err);
    if (code == 0) {
        code = not_installed(layout_find(&at.layout, id, &at.done.before, err), id, err);
        at.done.was_installed = code == 0;
    }
    if (code == 0 && host->indexes[0] == NULL) {
        code = no_index(NULL, err);
    }
    if (code == 0) {
        const struct candidates_wanted wanted = {
                .id = id, .follows = at.done.before.key, .takes = is_newer, .user = &newer};
        code = open_best(&at, &wanted, &is_found, err);
    }
    if (code == 0 && is_found) {
        code = install_source(&at, false, ret_report, err);
    } else if (code == 0) {
        at.done.now = at.done.before;
        code = ret_report != NULL ? report_newest(&at, newer.left, ret_report, err) : 0;
    }
    *ret = at.done;
    return code;
}

/* ------------------------------------------------------- remove and go back */

/* @param or_damaged  what the link says of it is enough */
static int find_installed(const struct layout *layout, const char *id, bool or_damaged,
                          struct installed *ret, struct toolrack_error *err) {
    int code = layout_find(layout, id, ret, err);
    return or_damaged && code == TOOLRACK_E_IO && ret->folder[0] != '\0'
                   ? 0
                   : not_installed(code, id, err);
}

/* Open what is installed to change it. Where nothing is, no folder is made. */
static int open_installed(const struct install_host *host, const char *id, bool or_damaged,
                          struct layout *ret, struct installed *ret_now,
                          struct toolrack_error *err) {
    int code = layout_open(host->packages, ret, err);
    if (code == 0) {
        code = find_installed(ret, id, or_damaged, ret_now, err);
        layout_finish(ret);
    }
    if (code == 0) {
        code = layout_open_to_change(host->packages, ret, err);
    }
    return code < 0 ? code : find_installed(ret, id, or_damaged, ret_now, err);
}

int install_remove(const struct install_host *host, const char *id, struct install_done *ret,
                   struct toolrack_error *err) {
    CLEANUP(layout_finish) struct layout layout = LAYOUT_INIT;
    *ret = (struct install_done){0};
    int code = open_installed(host, id, true, &layout, &ret->before, err);
    if (code == 0) {
        ret->was_installed = true;
        ret->now = ret->before;
        tell_before(host, &ret->before, NULL);
        code = layout_remove(&layout, &ret->before, err);
        ret->changed = code == 0;
    }
    return code;
}

int install_go_back(const struct install_host *host, const char *id, struct install_done *ret,
                    struct toolrack_error *err) {
    CLEANUP(layout_finish) struct layout layout = LAYOUT_INIT;
    struct installed previous;
    *ret = (struct install_done){0};
    int code = open_installed(host, id, false, &layout, &ret->before, err);
    if (code == 0) {
        code = layout_find_previous(&layout, &ret->before, &previous, err);
    }
    if (code == 0) {
        ret->was_installed = true;
        tell_before(host, &ret->before, &previous);
        code = layout_go_back(&layout, &ret->before, &ret->now, err);
        ret->changed = code == 0;
    }
    return code;
}

/* ------------------------------------------------------------------- lists */

struct listing {
    const struct layout *layout;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows;
};

static int add_installed(void *user, const struct installed *one, struct toolrack_error *err) {
    const struct listing *listing = user;
    struct installed previous;
    struct toolrack_error unheard;
    yyjson_mut_doc *doc = listing->doc;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, listing->rows);
    bool has_previous = layout_find_previous(listing->layout, one, &previous, &unheard) == 0;
    (void)err;
    document_add_text(doc, row, "id", one->id);
    document_add_text(doc, row, "version", one->version);
    document_add_text(doc, row, "trust", trust_name(one->trust));
    document_add_text(doc, row, "key", one->key[0] != '\0' ? one->key : NULL);
    document_add_text(doc, row, "source", one->source);
    (void)yyjson_mut_obj_add_sint(doc, row, "since_s", one->since_s);
    document_add_text(doc, row, "who", one->who);
    document_add_text(doc, row, "previous", has_previous ? previous.version : NULL);
    return 0;
}

static void add_damaged(void *user, const char *id, const char *reason) {
    const struct listing *listing = user;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(listing->doc, listing->rows);
    document_add_text(listing->doc, row, "id", id);
    document_add_text(listing->doc, row, "reason", reason);
}

int install_list(const struct install_host *host, struct toolrack_text **ret,
                 struct toolrack_error *err) {
    CLEANUP(layout_finish) struct layout layout = LAYOUT_INIT;
    int code = layout_open(host->packages, &layout, err);
    if (code < 0) {
        return code;
    }
    struct listing listing = {.layout = &layout};
    listing.doc = document_begin_list(&listing.rows);
    code = layout_visit(&layout, add_installed, add_damaged, &listing, err);
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}

static void add_found(const struct listing *listing, const struct source_index *index,
                      const struct index_entry *entry) {
    struct installed one;
    struct toolrack_error unheard;
    yyjson_mut_doc *doc = listing->doc;
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, listing->rows);
    bool is_installed = layout_find(listing->layout, entry->id, &one, &unheard) == 0;
    document_add_text(doc, row, "id", entry->id);
    document_add_text(doc, row, "version", entry->version);
    document_add_text(doc, row, "installed", is_installed ? one.version : NULL);
    document_add_text(doc, row, "licence", entry->licence);
    (void)yyjson_mut_obj_add_uint(doc, row, "size", entry->size);
    document_add_text(doc, row, "index", index->location);
    yyjson_mut_val *tools =
            entry->tools != NULL ? yyjson_val_mut_copy(doc, entry->tools) : yyjson_mut_arr(doc);
    (void)yyjson_mut_obj_add_val(doc, row, "tools", tools);
}

static int search_index(const struct source_judge *judge, const char *name, const char *words,
                        const struct listing *listing, struct toolrack_error *err) {
    CLEANUP(source_index_finish) struct source_index index = {.location = NULL};
    int code = source_index_open(judge, name, &index, err);
    for (size_t i = 0; code == 0 && i < index.index.count; i++) {
        if (index_matches(&index.index.entries[i], words)) {
            add_found(listing, &index, &index.index.entries[i]);
        }
    }
    return code;
}

int install_search(const struct install_host *host, const char *words, struct toolrack_text **ret,
                   struct toolrack_error *err) {
    CLEANUP(layout_finish) struct layout layout = LAYOUT_INIT;
    CLEANUP(keyring_finish) struct keyring ring;
    int code = keyring_read(host->store, &ring, err);
    if (code == 0) {
        code = layout_open(host->packages, &layout, err);
    }
    if (code == 0 && host->indexes[0] == NULL) {
        code = no_index(NULL, err);
    }
    if (code < 0) {
        return code;
    }
    const struct source_judge judge = {.ring = &ring, .layout = &layout, .now_s = clock_wall_s()};
    struct listing listing = {.layout = &layout};
    listing.doc = document_begin_list(&listing.rows);
    for (size_t i = 0; code == 0 && host->indexes[i] != NULL; i++) {
        code = search_index(&judge, host->indexes[i], words, &listing, err);
    }
    if (code < 0) {
        yyjson_mut_doc_free(listing.doc);
        return code;
    }
    return document_end(listing.doc, ret, err);
}
