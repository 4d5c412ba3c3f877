#include "remote/mcp/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/name.h"
#include "base/new-file.h"
#include "base/own-folder.h"
#include "base/semver.h"
#include "plugin/descriptor.h"
#include "remote/mcp/client.h"
#include "remote/mcp/tools.h"
#include "schema/translate.h"
#include "worker/launch.h"
#include "worker/spawn.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* Most bytes of the file with the tools. */
#define KEPT_MAX         (64u * 1024 * 1024)
/* Longest name in the registry, and of the part that tells cut names apart. */
#define NAME_MAX_LENGTH  64u
#define NAME_HASH_LENGTH 7u
/* Most arguments of the program. */
#define ARGUMENTS_MAX    256u

/* A tool by its name in the registry. In a table's arena. */
struct mounted {
    const char *name;
    const char *remote; /* its name at the server */
};

/* Those of one list; a call may still use an earlier one, so all live as long as the mount. */
struct table {
    struct table *before;
    struct arena arena;
    struct mounted *items; /* by name */
    size_t count;
};

struct mount {
    struct mount_options options;
    struct arena arena; /* of the options of the client */
    struct mcp_client *client;
    uint32_t idle_ms;
    struct buf known; /* the list that was described last, as JSON */
    _Atomic(struct table *) table;
};

/* ----------------------------------------------------------------- options */

static const char *text_of(yyjson_val *object, const char *key) {
    return yyjson_get_str(yyjson_obj_get(object, key));
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
            "it may use the system's programs and libraries only, and what \"allow\" of \"%s\" in "
            "\"mcpServers\" names: \"read:PATH\", \"write:PATH\", \"network\"",
            options->name);
    yyjson_val *start_ms = yyjson_obj_get(options->value, "start_ms");
    yyjson_val *idle_ms = yyjson_obj_get(options->value, "idle_ms");
    mount->idle_ms = idle_ms != NULL ? (uint32_t)yyjson_get_uint(idle_ms) : MOUNT_IDLE_MS;
    mount->client = mcp_client_create(&(struct mcp_client_options){
            .io = io, .hint = hint, .start_ms = (uint32_t)yyjson_get_uint(start_ms)});
    return hint != NULL && mount->client != NULL ? 0 : error_oom(err);
}

int mount_create(const struct mount_options *options, struct mount **ret,
                 struct toolrack_error *err) {
    CLEANUP(mount_destroyp) struct mount *mount = calloc(1, sizeof *mount);
    if (mount == NULL) {
        return error_oom(err);
    }
    mount->options = *options;
    arena_init(&mount->arena, NULL, 0);
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
    for (struct table *table = atomic_load(&mount->table); table != NULL;) {
        struct table *before = table->before;
        arena_finish(&table->arena);
        free(table);
        table = before;
    }
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

/* ------------------------------------------------------------------- names */

static bool is_plain(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
}

static int compare_names(const void *a, const void *b) {
    return strcmp(((const struct mounted *)a)->name, ((const struct mounted *)b)->name);
}

static bool has_name(const struct table *table, const char *name) {
    for (size_t i = 0; i < table->count; i++) {
        if (strcmp(table->items[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

/* A name that each provider takes: other characters become '_', and what is too long or taken ends
 * in a hash of the whole name, which is the same at each start. NULL: no memory. */
static const char *make_name(struct table *table, const char *prefix, const char *remote) {
    char *name =
            arena_printf(&table->arena, "%s%s%s", prefix, prefix[0] != '\0' ? "_" : "", remote);
    char *cut = arena_zalloc(&table->arena, NAME_MAX_LENGTH + 1);
    if (name == NULL || cut == NULL) {
        return NULL;
    }
    size_t length = strlen(name);
    uint32_t hash = name_hash(name, length);
    for (size_t i = 0; i < length; i++) {
        name[i] = is_plain(name[i]) ? name[i] : '_';
    }
    if (length <= NAME_MAX_LENGTH && !has_name(table, name)) {
        return name;
    }
    size_t kept = NAME_MAX_LENGTH - NAME_HASH_LENGTH;
    (void)snprintf(cut, NAME_MAX_LENGTH + 1, "%.*s_%06x", (int)(length < kept ? length : kept),
                   name, hash & 0xffffffu);
    return cut;
}

/* -------------------------------------------------------------- descriptor */

/* What is read from a list for one descriptor. */
struct describing {
    struct mount *mount;
    struct table *table;
    struct tr_tool *tools;
    const struct tr_tool **pointers;
    uint32_t permission;
};

static void ignore_report(void *user, const char *pointer, const char *fix, const char *cause) {
    (void)user;
    (void)pointer;
    (void)fix;
    (void)cause;
}

/* A schema as JSON Schema 2020-12, in the table's arena; NULL: no memory. */
static const char *write_schema(struct table *table, yyjson_val *value) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_doc_create();
    const yyjson_alc alc = arena_alc(&table->arena);
    yyjson_mut_val *copy = doc != NULL ? yyjson_val_mut_copy(doc, value) : NULL;
    if (copy == NULL) {
        return NULL;
    }
    translate_schema(doc, copy, ignore_report, NULL);
    return json_doc_is_whole(doc)
                   ? yyjson_mut_val_write_opts(copy, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL)
                   : NULL;
}

static bool hint(yyjson_val *tool, const char *name, bool otherwise) {
    yyjson_val *value = yyjson_obj_get(yyjson_obj_get(tool, "annotations"), name);
    return value != NULL ? yyjson_is_true(value) : otherwise;
}

/* Hints are told to models; they never lower the permission. */
static uint32_t flags_of(yyjson_val *tool) {
    bool reads = hint(tool, "readOnlyHint", false);
    return (reads ? (uint32_t)TR_READ_ONLY : 0u) |
           (!reads && hint(tool, "destructiveHint", true) ? (uint32_t)TR_DESTRUCTIVE : 0u) |
           (hint(tool, "idempotentHint", false) ? (uint32_t)TR_IDEMPOTENT : 0u) |
           (hint(tool, "openWorldHint", true) ? (uint32_t)TR_OPEN_WORLD : 0u);
}

/* The host calls the service instead. */
static tr_status run_nothing(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "the tool has no function of its own");
}

static bool is_wanted(const struct mount *mount, yyjson_val *name) {
    yyjson_val *wanted = yyjson_obj_get(mount->options.value, "tools");
    size_t at;
    size_t count;
    yyjson_val *item;
    yyjson_arr_foreach (wanted, at, count, item) {
        if (json_has_text(item, yyjson_get_str(name))) {
            return true;
        }
    }
    return wanted == NULL;
}

/* @return whether there was memory */
static bool add_tool(struct describing *of, yyjson_val *tool, yyjson_val *name) {
    struct table *table = of->table;
    struct mount *mount = of->mount;
    const char *prefix = text_of(mount->options.value, "prefix");
    yyjson_val *schema = yyjson_obj_get(tool, "inputSchema");
    yyjson_val *result = yyjson_obj_get(tool, "outputSchema");
    const char *said = text_of(tool, "description");
    const char *title = text_of(tool, "title");
    title = title != NULL ? title : text_of(yyjson_obj_get(tool, "annotations"), "title");
    said = said != NULL && said[0] != '\0' ? said : title;
    const char *description =
            said != NULL && said[0] != '\0'
                    ? arena_copy(&table->arena, said, strlen(said))
                    : arena_printf(&table->arena, "The tool %s of MCP server '%s'",
                                   yyjson_get_str(name), mount->options.name);
    struct mounted *item = &table->items[table->count];
    item->name =
            make_name(table, prefix != NULL ? prefix : mount->options.name, yyjson_get_str(name));
    item->remote = arena_copy(&table->arena, yyjson_get_str(name), yyjson_get_len(name));
    of->tools[table->count] = (struct tr_tool){
            .size = sizeof(struct tr_tool),
            .flags = flags_of(tool),
            .name = item->name,
            .description = description,
            .title = title != NULL ? arena_copy(&table->arena, title, strlen(title)) : NULL,
            .category = "mcp",
            .permission = of->permission,
            .priority = mount_priority(mount),
            .schema = yyjson_is_obj(schema) ? write_schema(table, schema) : "{\"type\":\"object\"}",
            .result_schema = yyjson_is_obj(result) ? write_schema(table, result) : NULL,
            .run = run_nothing};
    of->pointers[table->count] = &of->tools[table->count];
    table->count++;
    return item->name != NULL && item->remote != NULL && description != NULL &&
           of->tools[table->count - 1].schema != NULL;
}

static bool add_tools(struct describing *of, yyjson_val *tools) {
    size_t at;
    size_t count;
    yyjson_val *tool;
    bool has_memory = true;
    yyjson_arr_foreach (tools, at, count, tool) {
        yyjson_val *name = yyjson_obj_get(tool, "name");
        bool is_named = yyjson_is_str(name) && yyjson_get_len(name) > 0 &&
                        strlen(yyjson_get_str(name)) == yyjson_get_len(name);
        if (!is_named) {
            log_line(of->mount->options.log, LOG_WARNING, "mcp",
                     "%s: a tool without a name is left out", of->mount->options.name);
        } else if (has_memory && is_wanted(of->mount, name)) {
            has_memory = add_tool(of, tool, name);
        }
    }
    return has_memory;
}

static uint32_t permission_of(const struct mount *mount) {
    const char *text = text_of(mount->options.value, "permission");
    return text == NULL                     ? TR_CONFIRM
           : strcmp(text, "safe") == 0      ? TR_SAFE
           : strcmp(text, "dangerous") == 0 ? TR_DANGEROUS
                                            : TR_CONFIRM;
}

static int describe_with(struct mount *mount, struct table *table, yyjson_val *root,
                         const struct descriptor_options *options, struct descriptor **ret,
                         struct toolrack_error *err) {
    yyjson_val *tools = yyjson_obj_get(root, "tools");
    size_t room = yyjson_arr_size(tools) + 1;
    const char *version = text_of(root, "version");
    struct describing of = {.mount = mount,
                            .table = table,
                            .tools = arena_alloc(&table->arena, room * sizeof *of.tools),
                            .pointers = arena_alloc(&table->arena, room * sizeof *of.pointers),
                            .permission = permission_of(mount)};
    table->items = arena_alloc(&table->arena, room * sizeof *table->items);
    const char *id = arena_printf(&table->arena, MOUNT_ID_PREFIX "%s", mount->options.name);
    if (of.tools == NULL || of.pointers == NULL || table->items == NULL || id == NULL ||
        !add_tools(&of, tools)) {
        return error_oom(err);
    }
    bool is_known = version != NULL && semver_valid(version);
    const struct tr_plugin plugin = {.magic = TR_MAGIC,
                                     .size = sizeof plugin,
                                     .abi_major = TR_ABI_MAJOR,
                                     .abi_minor = TR_ABI_MINOR,
                                     .flags = TR_THREAD_SAFE,
                                     .id = id,
                                     .version = is_known ? version : "0.0.0",
                                     .tool_count = (uint32_t)table->count,
                                     .tool_size = sizeof(struct tr_tool),
                                     .tools = of.pointers};
    int code = descriptor_copy(&plugin, options, ret, err);
    if (code == 0) {
        qsort(table->items, table->count, sizeof *table->items, compare_names);
    }
    return code;
}

/* Describe the list that is known. */
static int describe(struct mount *mount, yyjson_val *root, const struct descriptor_options *options,
                    struct descriptor **ret, struct toolrack_error *err) {
    struct table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        return error_oom(err);
    }
    arena_init(&table->arena, NULL, 0);
    int code = describe_with(mount, table, root, options, ret, err);
    if (code < 0) {
        arena_finish(&table->arena);
        free(table);
        return code;
    }
    table->before = atomic_load(&mount->table);
    atomic_store(&mount->table, table);
    return 0;
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

static void keep(const struct mount *mount) {
    struct toolrack_error why = {0};
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    CLEANUP(buf_finish) struct buf folders = BUF_INIT;
    if (!kept_path(mount, &path)) {
        return;
    }
    buf_add(&folders, path.data, (size_t)(strrchr(path.data, '/') - path.data));
    if (folders.failed || make_folders(folders.data) < 0 ||
        new_file_write(path.data, mount->known.data, mount->known.length, 0600, true, &why) < 0) {
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

/* The kept list, if it is of this configuration; NULL: there is none. */
static yyjson_doc *load_kept(struct mount *mount) {
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf source = BUF_INIT;
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    if (!kept_path(mount, &path) || !read_kept(path.data, &text)) {
        return NULL;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(text.data, text.length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *of = yyjson_obj_get(root, "source");
    write_source(mount, &source);
    if (of != NULL) {
        json_add_value(&kept, of);
    }
    bool is_ours = !kept.failed && !source.failed && kept.length == source.length &&
                   memcmp(kept.data, source.data, source.length) == 0 &&
                   yyjson_is_arr(yyjson_obj_get(root, "tools"));
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
    buf_add_text(&text, ",\"tools\":");
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
    keep(mount);
    return 0;
}

int mount_describe(struct mount *mount, bool anew, const struct descriptor_options *options,
                   struct descriptor **ret, bool *ret_same, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = anew ? NULL : load_kept(mount);
    *ret_same = false;
    if (doc == NULL) {
        int code = ask_server(mount, ret_same, err);
        if (code < 0) {
            return code;
        }
        doc = yyjson_read(mount->known.data, mount->known.length, 0);
    }
    return doc != NULL ? describe(mount, yyjson_doc_get_root(doc), options, ret, err)
                       : error_oom(err);
}

/* --------------------------------------------------------------------- run */

tr_status mount_run(struct tr_call *call, void *user) {
    struct mount *mount = user;
    struct run *run = run_of(call);
    const struct mounted wanted = {.name = run->context.tool};
    for (const struct table *table = atomic_load(&mount->table); table != NULL;
         table = table->before) {
        const struct mounted *found = table->count == 0
                                              ? NULL
                                              : bsearch(&wanted, table->items, table->count,
                                                        sizeof wanted, compare_names);
        if (found != NULL) {
            return mount_tools_call(mount->client, run, found->remote);
        }
    }
    return tr_fail(call, TR_FAILED, NULL, "MCP server '%s' has no such tool any more",
                   mount->options.name);
}
