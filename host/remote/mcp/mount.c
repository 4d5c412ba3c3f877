#include "remote/mcp/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/name.h"
#include "base/new-file.h"
#include "base/own-folder.h"
#include "plugin/descriptor.h"
#include "remote/mcp/client.h"
#include "remote/mcp/listing.h"
#include "remote/mcp/offers.h"
#include "remote/mcp/reach.h"
#include "remote/mcp/tools.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Most bytes of the file with the tools. */
#define KEPT_MAX (64u * 1024 * 1024)

struct mount {
    struct mount_options options;
    struct reach *reach;
    struct mcp_client *client;
    struct mount_offers *offers;
    uint32_t idle_ms;
    struct buf known; /* the list that was described last, as JSON */
    struct lock lock; /* guards `names` */
    struct names names;
};

/* ----------------------------------------------------------------- options */

static const char *text_of(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
}

static const char *prefix_of(const struct mount *mount) {
    const char *prefix = text_of(mount->options.value, "prefix");
    return prefix != NULL ? prefix : mount->options.name;
}

static uint32_t permission_of(const struct mount *mount) {
    const char *text = text_of(mount->options.value, "permission");
    return text == NULL                     ? TR_CONFIRM
           : strcmp(text, "safe") == 0      ? TR_SAFE
           : strcmp(text, "dangerous") == 0 ? TR_DANGEROUS
                                            : TR_CONFIRM;
}

static uint32_t number_of(const struct mount *mount, const char *key, uint32_t otherwise) {
    yyjson_val *value = yyjson_obj_get(mount->options.value, key);
    return value != NULL ? (uint32_t)yyjson_get_uint(value) : otherwise;
}

static int make_client(struct mount *mount, struct toolrack_error *err) {
    const struct mount_options *options = &mount->options;
    int code = reach_create(&(struct reach_options){.name = options->name,
                                                    .where = options->where,
                                                    .value = options->value,
                                                    .launcher = options->launcher,
                                                    .folder = options->folder,
                                                    .log = options->log,
                                                    .may_use = options->may_use,
                                                    .user = options->user},
                            &mount->reach, err);
    if (code < 0) {
        return code;
    }
    mount->idle_ms = number_of(mount, "idle_ms", MOUNT_IDLE_MS);
    mount->client = mcp_client_create(&(struct mcp_client_options){
            .session = *reach_session(mount->reach),
            .secrets = reach_secrets(mount->reach),
            .notice = options->notice,
            .user = options->user,
            .hint = reach_hint(mount->reach),
            .started = options->started,
            .limits = {.where = options->where,
                       .memory_mb = number_of(mount, "memory_mb", USAGE_MEMORY_MB_DEFAULT),
                       .processes = number_of(mount, "processes", USAGE_PROCESSES_DEFAULT),
                       .cpu_s = number_of(mount, "cpu_s", 0)},
            .start_ms = number_of(mount, "start_ms", 0),
            .call_ms = number_of(mount, "call_ms", MOUNT_CALL_MS)});
    if (mount->client == NULL) {
        return error_oom(err);
    }
    mount->offers = mount_offers_create(
            &(struct mount_offers_options){.client = mount->client,
                                           .prefix = prefix_of(mount),
                                           .asks = permission_of(mount) != TR_SAFE});
    return mount->offers != NULL ? 0 : error_oom(err);
}

int mount_create(const struct mount_options *options, struct mount **ret,
                 struct toolrack_error *err) {
    CLEANUP(mount_destroyp) struct mount *mount = calloc(1, sizeof *mount);
    if (mount == NULL) {
        return error_oom(err);
    }
    mount->options = *options;
    lock_init(&mount->lock);
    names_init(&mount->names);
    int code = make_client(mount, err);
    if (code == 0) {
        *ret = STEAL(mount);
    }
    return code;
}

void mount_destroy(struct mount *mount) {
    if (mount == NULL) {
        return;
    }
    mcp_client_destroy(mount->client);
    mount_offers_destroy(mount->offers);
    reach_destroy(mount->reach);
    names_finish(&mount->names);
    lock_finish(&mount->lock);
    buf_finish(&mount->known);
    free(mount);
}

const char *mount_name(const struct mount *mount) {
    return mount->options.name;
}

int32_t mount_priority(const struct mount *mount) {
    return (int32_t)yyjson_get_sint(yyjson_obj_get(mount->options.value, "priority"));
}

bool mount_tend(struct mount *mount, bool *ret_changed) {
    return mcp_client_tend(mount->client, mount->idle_ms, ret_changed);
}

/* -------------------------------------------------------------------- kept */

/* A list belongs to what was configured when the server was asked. */
static void write_source(const struct mount *mount, struct buf *out) {
    static const char *const members[] = {"command", "args", "cwd", "url"};
    for (size_t i = 0; i < ARRAY_LENGTH(members); i++) {
        yyjson_val *value = yyjson_obj_get(mount->options.value, members[i]);
        buf_add_text(out, i == 0 ? "[" : ",");
        if (value != NULL) {
            json_add_value(out, value);
        } else {
            buf_add_text(out, "null");
        }
    }
    buf_add_char(out, ']');
}

/* @return whether the list can be kept */
static bool kept_path(const struct mount *mount, struct buf *out) {
    if (mount->options.folder == NULL) {
        return false;
    }
    buf_printf(out, "%s/mcp/%s.json", mount->options.folder, mount->options.name);
    return !out->failed;
}

static void keep(const struct mount *mount, const struct buf *text) {
    struct toolrack_error why = {0};
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    CLEANUP(buf_finish) struct buf folders = BUF_INIT;
    if (!kept_path(mount, &path)) {
        return;
    }
    buf_add(&folders, path.data, (size_t)(strrchr(path.data, '/') - path.data));
    if (folders.failed || make_folders(folders.data) < 0 ||
        new_file_write(path.data, text->data, text->length, 0600, true, &why) < 0) {
        log_line(mount->options.log, LOG_WARNING, "mcp",
                 "%s: which tools it has is not kept, so it is started again to list them: %s",
                 mount->options.name, why.message[0] != '\0' ? why.message : strerror(errno));
    }
}

static bool read_kept(const char *path, struct buf *out) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat status;
    ssize_t got = 1;
    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_size > (off_t)KEPT_MAX) {
        return false;
    }
    while (got > 0 && out->length <= KEPT_MAX && buf_reserve(out, 65536)) {
        got = read(fd, out->data + out->length, 65536);
        out->length += got > 0 ? (size_t)got : 0;
    }
    return got == 0 && !out->failed;
}

/* What is kept; NULL: nothing that can be read. */
static yyjson_doc *load(const struct mount *mount, struct buf *text) {
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    return kept_path(mount, &path) && read_kept(path.data, text)
                   ? yyjson_read(text->data, text->length, 0)
                   : NULL;
}

/* The kept list, if it is of this configuration; NULL: there is none. */
static yyjson_doc *load_list(struct mount *mount) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf source = BUF_INIT;
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = load(mount, &text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *of = yyjson_obj_get(root, "source");
    write_source(mount, &source);
    if (of != NULL) {
        json_add_value(&kept, of);
    }
    bool is_ours = !kept.failed && !source.failed && kept.length == source.length &&
                   memcmp(kept.data, source.data, source.length) == 0 &&
                   yyjson_is_arr(yyjson_obj_get(root, "tools")) &&
                   yyjson_is_uint(yyjson_obj_get(root, "offers"));
    if (!is_ours) {
        return NULL;
    }
    buf_clear(&mount->known);
    buf_add(&mount->known, text.data, text.length);
    return STEAL(doc);
}

struct listing {
    uint64_t until_ns;
};

static uint64_t listing_until(void *user) {
    return ((const struct listing *)user)->until_ns;
}

/* Ask the server. @return 0, with the list in mount->known; else why not */
static int ask_server(struct mount *mount, bool *ret_same, struct toolrack_error *err) {
    char version[64];
    struct listing listing = {.until_ns = clock_now_ns() +
                                          (uint64_t)MOUNT_LIST_MS_MAX * CLOCK_NS_PER_MS};
    const struct session_wait wait = {.until_ns = listing_until, .user = &listing};
    CLEANUP(buf_finish) struct buf tools = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    int code = mcp_client_list(mount->client, &wait, &tools, err);
    if (code < 0) {
        return code == TOOLRACK_E_NO_MEMORY ? code : (err->code = TOOLRACK_E_EXECUTION_FAILED);
    }
    mcp_client_version(mount->client, version, sizeof version);
    buf_add_text(&text, "{\"source\":");
    write_source(mount, &text);
    buf_add_text(&text, ",\"version\":");
    buf_add_json_string(&text, version, strlen(version));
    buf_printf(&text, ",\"offers\":%u,\"tools\":", mcp_client_offers(mount->client));
    buf_add(&text, tools.data, tools.length);
    buf_add_text(&text, "}");
    if (text.failed) {
        return error_oom(err);
    }
    *ret_same = text.length == mount->known.length &&
                memcmp(text.data, mount->known.data, text.length) == 0;
    buf_finish(&mount->known);
    mount->known = text;
    text = BUF_INIT;
    keep(mount, &mount->known);
    return 0;
}

/* Describe the list that is known. */
static int describe(struct mount *mount, yyjson_val *root, const struct descriptor_options *options,
                    struct descriptor **ret, struct toolrack_error *err) {
    char id[sizeof MOUNT_ID_PREFIX + 64];
    struct names names;
    uint32_t permission = permission_of(mount);
    uint64_t offers = yyjson_get_uint(yyjson_obj_get(root, "offers"));
    (void)snprintf(id, sizeof id, MOUNT_ID_PREFIX "%s", mount->options.name);
    const struct listing_options listing = {
            .server = mount->options.name,
            .prefix = prefix_of(mount),
            .id = id,
            .wanted = yyjson_obj_get(mount->options.value, "tools"),
            .permission = permission,
            .priority = mount_priority(mount),
            .is_web = reach_is_web(mount->reach),
            /* Nobody could be granted one of them alone. */
            .flags = permission == TR_DANGEROUS
                             ? 0
                             : (uint32_t)offers & (TR_PLUGIN_RESOURCES | TR_PLUGIN_PROMPTS),
            .log = mount->options.log};
    names_init(&names);
    int code = listing_describe(&listing, root, &names, options, ret, err);
    if (code == 0) {
        lock_take(&mount->lock);
        struct names before = mount->names;
        mount->names = names;
        names = before;
        lock_release(&mount->lock);
    }
    names_finish(&names);
    return code;
}

/* ----------------------------------------------------------------- failures */

/* Of all that is configured, as each of it may be why it fails: no secret is written. */
static uint32_t hash_of_value(const struct mount *mount) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    json_add_value(&text, mount->options.value);
    return text.failed ? 0 : name_hash(text.data, text.length);
}

/* A server of which no list is known could not be asked: who opens a host soon after does not wait
 * for it again. */
static void note_failure(struct mount *mount, unsigned count, const char *why) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    unsigned doublings = count < 10 ? count : 10;
    uint64_t wait_s = (uint64_t)MOUNT_AGAIN_S << doublings;
    wait_s = wait_s < MOUNT_AGAIN_S_MAX ? wait_s : MOUNT_AGAIN_S_MAX;
    buf_printf(&text,
               "{\"of\":%u,\"failures\":%u,\"until\":%llu,\"failure\":", hash_of_value(mount),
               count + 1, (unsigned long long)(uint64_t)time(NULL) + (unsigned long long)wait_s);
    buf_add_json_string(&text, why, strlen(why));
    buf_add_char(&text, '}');
    if (!text.failed) {
        keep(mount, &text);
    }
}

/* The failure that is noted, and whether it is too early to try again.
 * @param ret_count  receives how many there were in a row */
static bool must_wait(const struct mount *mount, unsigned *ret_count, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = load(mount, &text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *why = text_of(root, "failure");
    uint64_t until = yyjson_get_uint(yyjson_obj_get(root, "until"));
    uint64_t now = (uint64_t)time(NULL);
    *ret_count = 0;
    if (why == NULL || yyjson_get_uint(yyjson_obj_get(root, "of")) != hash_of_value(mount)) {
        return false;
    }
    *ret_count = (unsigned)yyjson_get_uint(yyjson_obj_get(root, "failures"));
    if (now >= until || until - now > MOUNT_AGAIN_S_MAX) {
        return false; /* or the clock was set */
    }
    (void)error_set(err, TOOLRACK_E_EXECUTION_FAILED, "%.1300s", why);
    char again[160];
    (void)snprintf(again, sizeof again,
                   "this was found earlier: it is tried again in %llu s, or by `toolrack "
                   "reload " MOUNT_ID_PREFIX "%.60s`",
                   (unsigned long long)(until - now), mount->options.name);
    error_append(err, again);
    return true;
}

int mount_describe(struct mount *mount, bool anew, const struct descriptor_options *options,
                   struct descriptor **ret, bool *ret_same, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = anew ? NULL : load_list(mount);
    unsigned failures = 0;
    *ret_same = false;
    if (anew) {
        mcp_client_forgive(mount->client);
    }
    if (doc == NULL) {
        if (mount->known.length == 0 && must_wait(mount, &failures, err) && !anew) {
            return err->code;
        }
        int code = ask_server(mount, ret_same, err);
        if (code < 0) {
            mcp_client_hide(mount->client, err->message);
        }
        if (code == TOOLRACK_E_EXECUTION_FAILED && mount->known.length == 0) {
            note_failure(mount, failures, err->message);
        }
        if (code < 0) {
            return code;
        }
        doc = yyjson_read(mount->known.data, mount->known.length, 0);
    }
    return doc != NULL ? describe(mount, yyjson_doc_get_root(doc), options, ret, err)
                       : error_oom(err);
}

/* --------------------------------------------------------------------- run */

/* A name at the server, in the run's arena; NULL: there is none, or no memory. */
static const char *remote_of(struct mount *mount, struct run *run) {
    LOCK_SCOPE(&mount->lock);
    const char *remote = names_remote(&mount->names, run->context.tool);
    return remote != NULL ? arena_copy(&run->arena, remote, strlen(remote)) : NULL;
}

/* The header lines of the arguments that the server wants there, too. */
static void write_mirrored(struct mount *mount, struct run *run, const char *remote,
                           struct buf *out) {
    size_t length;
    LOCK_SCOPE(&mount->lock);
    const struct mirrors *mirrors = names_mirrors(&mount->names, remote);
    const char *text = mirrors != NULL && mirrors->count > 0 ? run_arguments(run, &length) : NULL;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = text != NULL ? yyjson_read(text, length, 0) : NULL;
    if (doc != NULL) {
        mirrors_write(mirrors, yyjson_doc_get_root(doc), out);
    }
}

tr_status mount_call(struct mount *mount, struct run *run, const char *remote) {
    CLEANUP(buf_finish) struct buf mirrored = BUF_INIT;
    if (reach_is_web(mount->reach)) {
        write_mirrored(mount, run, remote, &mirrored);
    }
    return mirrored.failed ? run_no_memory(run)
                           : mount_tools_call(mount->client, run, remote, mirrored.data);
}

tr_status mount_run(struct tr_call *call, void *user) {
    struct mount *mount = user;
    struct run *run = run_of(call);
    if (mount_offers_has(run)) {
        return mount_offers_run(mount->offers, run);
    }
    const char *remote = remote_of(mount, run);
    return remote != NULL
                   ? mount_call(mount, run, remote)
                   : tr_fail(call, TR_FAILED, NULL, "MCP server '%s' has no such tool any more",
                             mount->options.name);
}
