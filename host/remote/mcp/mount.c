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
#include "remote/mcp/tools.h"
#include "worker/launch.h"
#include "worker/spawn.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* Most bytes of the file with the tools. */
#define KEPT_MAX      (64u * 1024 * 1024)
/* Most arguments of the program. */
#define ARGUMENTS_MAX 256u

struct mount {
    struct mount_options options;
    struct arena arena; /* of the options of the client */
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

/* Put the values of variables in place of ${env:NAME}, which keeps secrets out of the file. */
static int expand(struct mount *mount, const char *text, struct buf *out,
                  struct toolrack_error *err) {
    static const char begin[] = "${env:";
    for (const char *at; (at = strstr(text, begin)) != NULL;) {
        const char *end = strchr(at, '}');
        if (end == NULL) {
            break;
        }
        char name[256];
        (void)snprintf(name, sizeof name, "%.*s", (int)(end - at) - (int)strlen(begin),
                       at + strlen(begin));
        const char *value = getenv(name);
        if (value == NULL) {
            return error_set(err, TOOLRACK_E_INVALID,
                             "MCP server '%s' wants the environment variable %s, which is not set",
                             mount->options.name, name);
        }
        buf_add(out, text, (size_t)(at - text));
        buf_add_text(out, value);
        text = end + 1;
    }
    buf_add_text(out, text);
    return out->failed ? error_oom(err) : 0;
}

static int add_variable(struct mount *mount, const char **list, size_t *count, const char *name,
                        const char *value, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_printf(&text, "%s=", name);
    int code = expand(mount, value, &text, err);
    if (code == 0) {
        list[*count] = arena_copy(&mount->arena, text.data, text.length);
        code = list[(*count)++] != NULL ? 0 : error_oom(err);
    }
    return code;
}

static int make_environment(struct mount *mount, struct stdio_options *io,
                            struct toolrack_error *err) {
    yyjson_val *env = yyjson_obj_get(mount->options.value, "env");
    const char **list = arena_zalloc(&mount->arena, (yyjson_obj_size(env) + 2) * sizeof *list);
    const char *home = getenv("HOME");
    size_t count = 0;
    int code = list != NULL ? 0 : error_oom(err);
    yyjson_obj_iter variables = yyjson_obj_iter_with(env); /* none without an object */
    yyjson_val *key;
    while (code == 0 && (key = yyjson_obj_iter_next(&variables)) != NULL) {
        const char *value = yyjson_get_str(yyjson_obj_iter_get_val(key));
        code = add_variable(mount, list, &count, yyjson_get_str(key), value, err);
    }
    if (code == 0 && home != NULL && yyjson_obj_get(env, "HOME") == NULL) {
        list[count] = arena_printf(&mount->arena, "HOME=%s", home);
    }
    io->environment = code == 0 ? process_environment(&mount->arena, list) : NULL;
    return code == 0 && io->environment == NULL ? error_oom(err) : code;
}

struct arguments {
    char *items[ARGUMENTS_MAX + 1];
    size_t count;
    bool failed; /* too many */
};

static void add_argument(struct arguments *list, const char *text) {
    if (list->count < ARGUMENTS_MAX) {
        list->items[list->count++] = (char *)(uintptr_t)text;
    } else {
        list->failed = true;
    }
}

/* "read:/srv", "write:/srv" and "network". */
static int add_allowed(struct mount *mount, struct arguments *list, struct toolrack_error *err) {
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_val *allow = yyjson_obj_get(mount->options.value, "allow");
    yyjson_arr_foreach (allow, at, count, item) {
        const char *text = yyjson_get_str(item);
        bool reads = strncmp(text, "read:", 5) == 0;
        bool writes = strncmp(text, "write:", 6) == 0;
        if (!reads && !writes) {
            add_argument(list, "--network");
            continue;
        }
        /* Landlock's rules are of what a path leads to, and refuse links: they are resolved now. */
        CLEANUP(freep) char *real = realpath(strchr(text, ':') + 1, NULL);
        const char *kept = real != NULL ? arena_copy(&mount->arena, real, strlen(real)) : NULL;
        if (kept == NULL) {
            return error_set(err, TOOLRACK_E_INVALID, "MCP server '%s' is allowed \"%s\": %s",
                             mount->options.name, text, strerror(errno));
        }
        add_argument(list, reads ? "--read" : "--write");
        add_argument(list, kept);
    }
    return 0;
}

static void add_texts(struct arguments *list, yyjson_val *value) {
    size_t at;
    size_t count;
    yyjson_val *item;
    if (yyjson_is_str(value)) {
        add_argument(list, yyjson_get_str(value));
    }
    yyjson_arr_foreach (value, at, count, item) {
        add_argument(list, yyjson_get_str(item));
    }
}

static uint32_t number_of(const struct mount *mount, const char *key, uint32_t otherwise) {
    yyjson_val *value = yyjson_obj_get(mount->options.value, key);
    return value != NULL ? (uint32_t)yyjson_get_uint(value) : otherwise;
}

static void add_limit(struct mount *mount, struct arguments *list, const char *option,
                      const char *key, uint32_t otherwise) {
    uint32_t limit = number_of(mount, key, otherwise);
    if (limit != 0) {
        add_argument(list, option);
        add_argument(list, arena_printf(&mount->arena, "%u", limit));
    }
}

static int make_arguments(struct mount *mount, struct stdio_options *io,
                          struct toolrack_error *err) {
    yyjson_val *value = mount->options.value;
    struct arguments list = {.count = 0};
    const char *folder = text_of(value, "cwd");
    add_argument(&list, "toolrack-worker");
    add_argument(&list, LAUNCH_WORD);
    if (folder != NULL) {
        add_argument(&list, "--folder");
        add_argument(&list, folder);
    }
    add_limit(mount, &list, "--file", "file_mb", 0);
    add_limit(mount, &list, "--memory", "memory_mb", USAGE_MEMORY_MB_DEFAULT);
    int code = add_allowed(mount, &list, err);
    add_argument(&list, "--");
    add_texts(&list, yyjson_obj_get(value, "command"));
    add_texts(&list, yyjson_obj_get(value, "args"));
    if (code == 0 && list.failed) {
        code = error_set(err, TOOLRACK_E_INVALID, "MCP server '%s' has more than %u arguments",
                         mount->options.name, ARGUMENTS_MAX);
    }
    char **kept = arena_alloc(&mount->arena, (list.count + 1) * sizeof *kept);
    if (code == 0 && kept == NULL) {
        code = error_oom(err);
    }
    if (code == 0) {
        memcpy(kept, list.items, list.count * sizeof *kept);
        kept[list.count] = NULL;
        io->arguments = kept;
    }
    return code;
}

static int make_client(struct mount *mount, struct toolrack_error *err) {
    const struct mount_options *options = &mount->options;
    struct stdio_options io = {
            .name = options->name, .launcher = options->launcher, .log = options->log};
    int code = make_environment(mount, &io, err);
    code = code == 0 ? make_arguments(mount, &io, err) : code;
    if (code < 0) {
        return code;
    }
    const char *hint = arena_printf(
            &mount->arena,
            "it may use the system's programs and libraries only, and what \"allow\" of %s names: "
            "\"read:PATH\", \"write:PATH\", \"network\"",
            options->where);
    mount->idle_ms = number_of(mount, "idle_ms", MOUNT_IDLE_MS);
    mount->client = mcp_client_create(&(struct mcp_client_options){
            .io = io,
            .notice = options->notice,
            .user = options->user,
            .hint = hint,
            .started = options->started,
            .limits = {.where = options->where,
                       .memory_mb = number_of(mount, "memory_mb", USAGE_MEMORY_MB_DEFAULT),
                       .processes = number_of(mount, "processes", USAGE_PROCESSES_DEFAULT),
                       .cpu_s = number_of(mount, "cpu_s", 0)},
            .start_ms = number_of(mount, "start_ms", 0)});
    if (hint == NULL || mount->client == NULL) {
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
    arena_init(&mount->arena, NULL, 0);
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
    names_finish(&mount->names);
    lock_finish(&mount->lock);
    buf_finish(&mount->known);
    arena_finish(&mount->arena);
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
    static const char *const members[] = {"command", "args", "cwd"};
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
    if (doc == NULL) {
        if (mount->known.length == 0 && must_wait(mount, &failures, err) && !anew) {
            return err->code;
        }
        int code = ask_server(mount, ret_same, err);
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

tr_status mount_call(struct mount *mount, struct run *run, const char *remote) {
    return mount_tools_call(mount->client, run, remote);
}

tr_status mount_run(struct tr_call *call, void *user) {
    struct mount *mount = user;
    struct run *run = run_of(call);
    if (mount_offers_has(run)) {
        return mount_offers_run(mount->offers, run);
    }
    const char *remote = remote_of(mount, run);
    return remote != NULL
                   ? mount_tools_call(mount->client, run, remote)
                   : tr_fail(call, TR_FAILED, NULL, "MCP server '%s' has no such tool any more",
                             mount->options.name);
}
