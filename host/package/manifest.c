#include "package/manifest.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/json-twice.h"
#include "base/json.h"
#include "base/name.h"
#include "base/semver.h"
#include "base/sort.h"
#include "base/text.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

static const char *const permission_names[] = {
        [TR_SAFE] = "safe", [TR_CONFIRM] = "confirm", [TR_DANGEROUS] = "dangerous"};

static const struct {
    uint32_t flag;
    const char *name;
} hints[] = {{TR_READ_ONLY, "read_only"},
             {TR_DESTRUCTIVE, "destructive"},
             {TR_IDEMPOTENT, "idempotent"},
             {TR_OPEN_WORLD, "open_world"}};

/* Files that are no plugins. */
static const char *const documents[] = {"CHANGELOG.md", "LICENSE", "NOTICE", "README.md"};

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"

void manifest_init(struct manifest *manifest) {
    *manifest = (struct manifest){.id = NULL};
    arena_init(&manifest->arena, NULL, 0);
}

void manifest_finish(struct manifest *manifest) {
    arena_finish(&manifest->arena);
}

/* -------------------------------------------------------------------- names */

bool manifest_id_valid(const char *id) {
    size_t length = strlen(id);
    return length > 0 && length <= MANIFEST_ID_MAX && strchr(LETTERS "_", id[0]) != NULL &&
           strspn(id, LETTERS DIGITS "_.-") == length;
}

const char *manifest_file_name(const char *id, const char *version,
                               char ret[MANIFEST_FILE_NAME_ROOM]) {
    (void)snprintf(ret, MANIFEST_FILE_NAME_ROOM, "%s-%s.trp", id, version);
    return ret;
}

/* The length of "ARCH-LIBC"; 0: the path does not begin with one and a slash. */
static size_t platform_length(const char *path) {
    size_t arch = strspn(path, "abcdefghijklmnopqrstuvwxyz" DIGITS "_");
    if (arch == 0 || path[arch] != '-') {
        return 0;
    }
    size_t libc = strspn(path + arch + 1, "abcdefghijklmnopqrstuvwxyz" DIGITS);
    size_t length = arch + 1 + libc;
    return libc > 0 && length < MANIFEST_PLATFORM_ROOM && path[length] == '/' ? length : 0;
}

bool manifest_is_plugin(const char *path, char ret_platform[MANIFEST_PLATFORM_ROOM]) {
    static const char ending[] = ".so";
    size_t platform = platform_length(path);
    if (platform == 0) {
        return false;
    }
    const char *name = path + platform + 1;
    size_t length = strlen(name);
    if (length < sizeof ending || strcmp(name + length - (sizeof ending - 1), ending) != 0 ||
        strspn(name, LETTERS DIGITS "_.-+") != length || name[0] == '.' || name[0] == '-' ||
        length > MANIFEST_NAME_MAX) {
        return false;
    }
    if (ret_platform != NULL) {
        memcpy(ret_platform, path, platform);
        ret_platform[platform] = '\0';
    }
    return true;
}

static bool is_document(const char *path) {
    for (size_t i = 0; i < ARRAY_LENGTH(documents); i++) {
        if (strcmp(path, documents[i]) == 0) {
            return true;
        }
    }
    return false;
}

const struct manifest_file *manifest_find_file(const struct manifest *manifest, const char *path) {
    for (size_t i = 0; i < manifest->file_count; i++) {
        if (strcmp(manifest->files[i].path, path) == 0) {
            return &manifest->files[i];
        }
    }
    return NULL;
}

const struct manifest_file *manifest_find_plugin(const struct manifest *manifest,
                                                 const char *platform) {
    char found[MANIFEST_PLATFORM_ROOM];
    for (size_t i = 0; i < manifest->file_count; i++) {
        if (manifest_is_plugin(manifest->files[i].path, found) && strcmp(found, platform) == 0) {
            return &manifest->files[i];
        }
    }
    return NULL;
}

const char *manifest_platform(void) {
#if defined(__x86_64__)
#define ARCHITECTURE "x86_64"
#elif defined(__aarch64__)
#define ARCHITECTURE "aarch64"
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCHITECTURE "riscv64"
#elif defined(__powerpc64__)
#define ARCHITECTURE "ppc64"
#elif defined(__s390x__)
#define ARCHITECTURE "s390x"
#elif defined(__loongarch64)
#define ARCHITECTURE "loongarch64"
#else
#define ARCHITECTURE "unknown"
#endif
#if defined(__GLIBC__)
    return ARCHITECTURE "-gnu";
#else
    return ARCHITECTURE "-musl";
#endif
}

/* --------------------------------------------------------------------- read */

/* What reads a manifest, and where its messages go. */
struct reading {
    struct manifest *to;
    bool no_memory; /* for a text */
    struct toolrack_error *err;
};

static int refuse(struct reading *reading, const char *what, const char *why) {
    return reading->no_memory ? error_oom(reading->err)
                              : error_set(reading->err, TOOLRACK_E_INVALID,
                                          "the manifest %s: %s: %s", MANIFEST_NAME, what, why);
}

static int refuse_item(struct reading *reading, const char *array, size_t index, const char *why) {
    return reading->no_memory
                   ? error_oom(reading->err)
                   : error_set(reading->err, TOOLRACK_E_INVALID, "the manifest %s: /%s/%zu: %s",
                               MANIFEST_NAME, array, index, why);
}

/* A text without a zero in it, no longer than `max`; NULL: it is not there, or
 * is none (then *ret_bad is set). */
static const char *take_text(struct reading *reading, yyjson_val *object, const char *key,
                             size_t max, bool *ret_bad) {
    yyjson_val *value = yyjson_obj_get(object, key);
    if (value == NULL) {
        return NULL;
    }
    size_t length = yyjson_get_len(value);
    if (!yyjson_is_str(value) || length > max || strlen(yyjson_get_str(value)) != length) {
        *ret_bad = true;
        return NULL;
    }
    const char *copy = arena_copy(&reading->to->arena, yyjson_get_str(value), length);
    reading->no_memory |= copy == NULL;
    *ret_bad |= copy == NULL;
    return copy;
}

static bool take_hash(yyjson_val *object, const char *key, uint8_t ret[MANIFEST_SHA256_SIZE]) {
    yyjson_val *value = yyjson_obj_get(object, key);
    const char *digits = yyjson_get_str(value);
    size_t length = 0;
    return digits != NULL && yyjson_get_len(value) == 2 * MANIFEST_SHA256_SIZE &&
           strspn(digits, DIGITS "abcdef") == 2 * MANIFEST_SHA256_SIZE &&
           sodium_hex2bin(ret, MANIFEST_SHA256_SIZE, digits, 2 * MANIFEST_SHA256_SIZE, NULL,
                          &length, NULL) == 0 &&
           length == MANIFEST_SHA256_SIZE;
}

/* "1.3" of numbers below 65536. */
static bool take_abi(const char *text, struct manifest *to) {
    char *end = NULL;
    size_t major = strspn(text, DIGITS);
    size_t minor = text[major] == '.' ? strspn(text + major + 1, DIGITS) : 0;
    if (major == 0 || major > 5 || minor == 0 || minor > 5 || text[major + 1 + minor] != '\0') {
        return false;
    }
    unsigned long first = strtoul(text, &end, 10);
    unsigned long second = strtoul(end + 1, NULL, 10);
    to->abi_major = (uint16_t)first;
    to->host_minor_min = (uint16_t)second;
    return first <= UINT16_MAX && second <= UINT16_MAX;
}

static int read_head(struct reading *reading, yyjson_val *root) {
    struct manifest *to = reading->to;
    bool bad = false;
    yyjson_val *form = yyjson_obj_get(root, "toolrack_package");
    if (!yyjson_is_uint(form) || yyjson_get_uint(form) != MANIFEST_FORM) {
        return refuse(reading, "/toolrack_package",
                      "must be the number 1; a package of a later form needs a later toolrack");
    }
    to->id = take_text(reading, root, "id", MANIFEST_ID_MAX, &bad);
    if (to->id == NULL || !manifest_id_valid(to->id)) {
        return refuse(reading, "/id", "must be the id of a plugin, such as org.example.hello");
    }
    to->version = take_text(reading, root, "version", SEMVER_LENGTH_MAX, &bad);
    if (to->version == NULL || !semver_valid(to->version)) {
        return refuse(reading, "/version", "must be a version such as 1.2.0");
    }
    const char *abi = take_text(reading, root, "abi", 16, &bad);
    if (abi == NULL || !take_abi(abi, to)) {
        return refuse(reading, "/abi", "must be the least host's ABI, such as \"1.0\"");
    }
    to->description = take_text(reading, root, "description", MANIFEST_TEXT_MAX, &bad);
    to->vendor = take_text(reading, root, "vendor", MANIFEST_TEXT_MAX, &bad);
    to->license = take_text(reading, root, "license", MANIFEST_TEXT_MAX, &bad);
    to->homepage = take_text(reading, root, "homepage", MANIFEST_TEXT_MAX, &bad);
    return bad ? refuse(reading, "/description, vendor, license, homepage",
                        "must be texts of at most 64 KiB")
               : 0;
}

/* A member that is an array: how many items it may have, of which size in memory, and what reads
 * one into its place. */
struct list {
    const char *key;
    size_t max;
    size_t item_size;
    int (*read)(struct reading *reading, yyjson_val *value, size_t at);
};

/* Read an array; a missing one is empty. */
static int read_list(struct reading *reading, yyjson_val *root, const struct list *list,
                     void *ret_items, size_t *ret_count) {
    const char *key = list->key;
    yyjson_val *array = yyjson_obj_get(root, key);
    size_t count = yyjson_arr_size(array);
    if (array != NULL && !yyjson_is_arr(array)) {
        return refuse(reading, key, "must be an array");
    }
    if (count > list->max) {
        return error_set(reading->err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the manifest %s: /%s has %zu items; %zu are the most", MANIFEST_NAME, key,
                         count, list->max);
    }
    void *items = arena_zalloc(&reading->to->arena, (count + 1) * list->item_size);
    if (items == NULL) {
        return error_oom(reading->err);
    }
    memcpy(ret_items, &items, sizeof items);
    *ret_count = count;
    size_t at;
    size_t all;
    yyjson_val *value;
    int code = 0;
    yyjson_arr_foreach (array, at, all, value) {
        code = code == 0 ? list->read(reading, value, at) : code;
    }
    return code;
}

/* Of the form KIND:VALUE, as the host writes what a plugin declares. */
static bool is_capability(const char *text) {
    static const char *const kinds[] = {"read:", "write:", "network:", "spawn:", "env:"};
    for (size_t i = 0; i < ARRAY_LENGTH(kinds); i++) {
        if (strncmp(text, kinds[i], strlen(kinds[i])) == 0) {
            return strchr(text, '\n') == NULL;
        }
    }
    return false;
}

static int read_capability(struct reading *reading, yyjson_val *value, size_t at) {
    struct manifest *to = reading->to;
    const char *text = yyjson_get_str(value);
    size_t length = yyjson_get_len(value);
    if (text == NULL || length > MANIFEST_TEXT_MAX || strlen(text) != length ||
        !is_capability(text)) {
        return refuse_item(reading, "capabilities", at,
                           "must be a capability such as \"read:/srv/data\"");
    }
    to->capabilities[at] = arena_copy(&to->arena, text, length);
    return to->capabilities[at] != NULL ? 0 : error_oom(reading->err);
}

static bool take_permission(yyjson_val *object, int *ret) {
    for (size_t i = 0; i < ARRAY_LENGTH(permission_names); i++) {
        if (yyjson_equals_str(yyjson_obj_get(object, "permission"), permission_names[i])) {
            *ret = (int)i;
            return true;
        }
    }
    return false;
}

/* Hints that are not known are those of a later release. */
static bool take_hints(yyjson_val *object, uint32_t *ret) {
    size_t at;
    size_t count;
    yyjson_val *value;
    yyjson_val *array = yyjson_obj_get(object, "hints");
    yyjson_arr_foreach (array, at, count, value) {
        for (size_t i = 0; i < ARRAY_LENGTH(hints); i++) {
            *ret |= yyjson_equals_str(value, hints[i].name) ? hints[i].flag : 0u;
        }
    }
    return array == NULL || yyjson_is_arr(array);
}

static int read_tool(struct reading *reading, yyjson_val *value, size_t at) {
    struct manifest_tool *tool = &reading->to->tools[at];
    bool bad = false;
    tool->name = take_text(reading, value, "name", NAME_LENGTH_MAX, &bad);
    if (tool->name == NULL || !name_valid(tool->name)) {
        return refuse_item(reading, "tools", at, "\"name\" must be the name of a tool");
    }
    tool->version = take_text(reading, value, "version", SEMVER_LENGTH_MAX, &bad);
    if (tool->version == NULL || !semver_valid(tool->version)) {
        return refuse_item(reading, "tools", at, "\"version\" must be a version such as 1.2.0");
    }
    tool->description = take_text(reading, value, "description", MANIFEST_TEXT_MAX, &bad);
    if (tool->description == NULL) {
        tool->description = "";
    }
    if (bad || !take_permission(value, &tool->permission) || !take_hints(value, &tool->flags)) {
        return refuse_item(reading, "tools", at,
                           "must have a \"permission\" (safe, confirm or dangerous), and may have "
                           "\"hints\", an array, and a \"description\" of at most 64 KiB");
    }
    return take_hash(value, "pin", tool->pin)
                   ? 0
                   : refuse_item(reading, "tools", at,
                                 "\"pin\" must be 64 hexadecimal digits, in lower case");
}

static int read_file(struct reading *reading, yyjson_val *value, size_t at) {
    struct manifest_file *file = &reading->to->files[at];
    bool bad = false;
    yyjson_val *size = yyjson_obj_get(value, "size");
    file->path = take_text(reading, value, "path", MANIFEST_PATH_MAX, &bad);
    if (file->path == NULL || (!is_document(file->path) && !manifest_is_plugin(file->path, NULL))) {
        return refuse_item(reading, "files", at,
                           "\"path\" must be README.md, LICENSE, NOTICE, CHANGELOG.md or "
                           "ARCH-LIBC/NAME.so");
    }
    if (!yyjson_is_uint(size)) {
        return refuse_item(reading, "files", at, "\"size\" must be a number of bytes");
    }
    file->size = yyjson_get_uint(size);
    if (file->size > MANIFEST_FILE_SIZE_MAX) {
        return error_set(reading->err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the package's file %s has %llu bytes; %u are the most", file->path,
                         (unsigned long long)file->size, MANIFEST_FILE_SIZE_MAX);
    }
    return take_hash(value, "sha256", file->sha256)
                   ? 0
                   : refuse_item(reading, "files", at,
                                 "\"sha256\" must be 64 hexadecimal digits, in lower case");
}

static int read_lists(struct reading *reading, yyjson_val *root) {
    struct manifest *to = reading->to;
    const struct list capabilities = {.key = "capabilities",
                                      .max = MANIFEST_CAPABILITIES_MAX,
                                      .item_size = sizeof *to->capabilities,
                                      .read = read_capability};
    const struct list tools = {.key = "tools",
                               .max = MANIFEST_TOOLS_MAX,
                               .item_size = sizeof *to->tools,
                               .read = read_tool};
    const struct list files = {.key = "files",
                               .max = MANIFEST_FILES_MAX,
                               .item_size = sizeof *to->files,
                               .read = read_file};
    int code = read_list(reading, root, &capabilities, &to->capabilities, &to->capability_count);
    code = code == 0 ? read_list(reading, root, &tools, &to->tools, &to->tool_count) : code;
    return code == 0 ? read_list(reading, root, &files, &to->files, &to->file_count) : code;
}

/* --------------------------------------------------------------------- order */

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int compare_tools(const void *a, const void *b) {
    const struct manifest_tool *one = a;
    const struct manifest_tool *other = b;
    int order = strcmp(one->name, other->name);
    return order != 0 ? order : strcmp(one->version, other->version);
}

static int compare_files(const void *a, const void *b) {
    const struct manifest_file *one = a;
    const struct manifest_file *other = b;
    return strcmp(one->path, other->path);
}

void manifest_sort(struct manifest *manifest) {
    sort(manifest->capabilities, manifest->capability_count, sizeof *manifest->capabilities,
         compare_texts);
    sort(manifest->tools, manifest->tool_count, sizeof *manifest->tools, compare_tools);
    sort(manifest->files, manifest->file_count, sizeof *manifest->files, compare_files);
}

/* Paths that are one file where case does not count, or two plugins for one platform. */
static int check_pair(struct reading *reading, const struct manifest_file *one,
                      const struct manifest_file *other) {
    char platform[MANIFEST_PLATFORM_ROOM];
    char other_platform[MANIFEST_PLATFORM_ROOM];
    if (strcasecmp(one->path, other->path) == 0) {
        return error_set(reading->err, TOOLRACK_E_INVALID,
                         "the manifest %s: /files names %s and %s, which are one file where case "
                         "does not count",
                         MANIFEST_NAME, one->path, other->path);
    }
    if (manifest_is_plugin(one->path, platform) &&
        manifest_is_plugin(other->path, other_platform) && strcmp(platform, other_platform) == 0) {
        return error_set(reading->err, TOOLRACK_E_INVALID,
                         "the manifest %s: /files has two plugins for %s, %s and %s", MANIFEST_NAME,
                         platform, one->path, other->path);
    }
    return 0;
}

/* After manifest_sort(). */
static int check_whole(struct reading *reading) {
    const struct manifest *to = reading->to;
    uint64_t size = 0;
    size_t plugins = 0;
    for (size_t i = 1; i < to->tool_count; i++) {
        if (compare_tools(&to->tools[i - 1], &to->tools[i]) == 0) {
            return error_set(reading->err, TOOLRACK_E_INVALID,
                             "the manifest %s: /tools has %s@%s twice", MANIFEST_NAME,
                             to->tools[i].name, to->tools[i].version);
        }
    }
    for (size_t i = 0; i < to->file_count; i++) {
        size += to->files[i].size;
        plugins += manifest_is_plugin(to->files[i].path, NULL) ? 1 : 0;
        for (size_t k = 0; k < i; k++) {
            int code = check_pair(reading, &to->files[k], &to->files[i]);
            if (code < 0) {
                return code;
            }
        }
    }
    if (plugins == 0) {
        return refuse(reading, "/files", "has no plugin, ARCH-LIBC/NAME.so");
    }
    return size <= MANIFEST_UNPACKED_MAX
                   ? 0
                   : error_set(reading->err, TOOLRACK_E_LIMIT_EXCEEDED,
                               "the files of the package have %llu bytes together; %u are the most",
                               (unsigned long long)size, MANIFEST_UNPACKED_MAX);
}

static int parse_root(struct reading *reading, yyjson_val *root) {
    char pointer[JSON_POINTER_MAX];
    if (!yyjson_is_obj(root)) {
        return refuse(reading, "/", "must be an object");
    }
    enum json_twice twice = json_find_twice(root, pointer);
    if (twice != JSON_TWICE_NONE) {
        return twice == JSON_TWICE_NO_MEMORY ? error_oom(reading->err)
                                             : refuse(reading, pointer, "stands there twice");
    }
    int code = read_head(reading, root);
    code = code == 0 ? read_lists(reading, root) : code;
    if (code == 0) {
        manifest_sort(reading->to);
        code = check_whole(reading);
    }
    return code;
}

int manifest_parse(const char *text, size_t length, struct manifest *ret,
                   struct toolrack_error *err) {
    yyjson_read_err why;
    manifest_init(ret);
    struct reading reading = {.to = ret, .err = err};
    if (length > MANIFEST_SIZE_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the manifest %s has %zu bytes; %u are the most", MANIFEST_NAME, length,
                         MANIFEST_SIZE_MAX);
    }
    /* The text is not changed: yyjson only does that with YYJSON_READ_INSITU. */
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)text, length, 0, NULL, &why);
    if (doc == NULL) {
        return why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION
                       ? error_oom(err)
                       : error_set(err, TOOLRACK_E_INVALID, "the manifest %s is no JSON: %s",
                                   MANIFEST_NAME, why.msg);
    }
    return parse_root(&reading, yyjson_doc_get_root(doc));
}

/* -------------------------------------------------------------------- write */

static void add_string(struct buf *out, const char *before, const char *text) {
    buf_add_text(out, before);
    buf_add_json_string(out, text, strlen(text));
}

static void add_optional(struct buf *out, const char *before, const char *text) {
    if (text != NULL) {
        add_string(out, before, text);
    }
}

static void add_hash(struct buf *out, const char *before,
                     const uint8_t hash[MANIFEST_SHA256_SIZE]) {
    char digits[2 * MANIFEST_SHA256_SIZE + 1];
    (void)sodium_bin2hex(digits, sizeof digits, hash, MANIFEST_SHA256_SIZE);
    add_string(out, before, digits);
}

static void add_hints(struct buf *out, uint32_t flags) {
    const char *before = ", \"hints\": [";
    for (size_t i = 0; i < ARRAY_LENGTH(hints); i++) {
        if ((flags & hints[i].flag) != 0) {
            add_string(out, before, hints[i].name);
            before = ", ";
        }
    }
    if (strcmp(before, ", ") == 0) {
        buf_add_char(out, ']');
    }
}

void manifest_write(const struct manifest *manifest, struct buf *out) {
    buf_printf(out, "{\n  \"toolrack_package\": %d", MANIFEST_FORM);
    add_string(out, ",\n  \"id\": ", manifest->id);
    add_string(out, ",\n  \"version\": ", manifest->version);
    buf_printf(out, ",\n  \"abi\": \"%u.%u\"", manifest->abi_major, manifest->host_minor_min);
    add_optional(out, ",\n  \"description\": ", manifest->description);
    add_optional(out, ",\n  \"vendor\": ", manifest->vendor);
    add_optional(out, ",\n  \"license\": ", manifest->license);
    add_optional(out, ",\n  \"homepage\": ", manifest->homepage);
    buf_add_text(out, ",\n  \"capabilities\": [");
    for (size_t i = 0; i < manifest->capability_count; i++) {
        add_string(out, i > 0 ? ", " : "", manifest->capabilities[i]);
    }
    buf_add_text(out, "],\n  \"tools\": [");
    for (size_t i = 0; i < manifest->tool_count; i++) {
        const struct manifest_tool *tool = &manifest->tools[i];
        add_string(out, i > 0 ? ",\n    {\"name\": " : "\n    {\"name\": ", tool->name);
        add_string(out, ", \"version\": ", tool->version);
        add_string(out, ", \"permission\": ", permission_names[tool->permission]);
        add_hints(out, tool->flags);
        add_string(out, ",\n     \"description\": ", tool->description);
        add_hash(out, ",\n     \"pin\": ", tool->pin);
        buf_add_char(out, '}');
    }
    buf_add_text(out, manifest->tool_count > 0 ? "\n  ],\n  \"files\": [" : "],\n  \"files\": [");
    for (size_t i = 0; i < manifest->file_count; i++) {
        const struct manifest_file *file = &manifest->files[i];
        add_string(out, i > 0 ? ",\n    {\"path\": " : "\n    {\"path\": ", file->path);
        buf_printf(out, ", \"size\": %llu", (unsigned long long)file->size);
        add_hash(out, ",\n     \"sha256\": ", file->sha256);
        buf_add_char(out, '}');
    }
    buf_add_text(out, "\n  ]\n}\n");
}
