#include "package/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/clock.h"
#include "base/json-twice.h"
#include "base/json.h"
#include "base/semver.h"
#include "base/sort.h"
#include "package/layout.h"

#define INDEX_FORMAT 1u

/* Until the year 2255; and it leaves room to count on. */
#define TIME_S_MAX    9007199254LL
#define NUMBER_MAX    (UINT64_C(1) << 53)
#define FILE_SIZE_MAX (UINT64_C(1) << 40)

/* -------------------------------------------------------------------- read */

/* What is being read, for messages. */
struct reading {
    const char *name;
    struct package_index *index;
    struct toolrack_error *err;
};

static int refuse(const struct reading *reading, const char *what) {
    return error_set(reading->err, TOOLRACK_E_REFUSED, "%s is no index of packages: %s",
                     reading->name, what);
}

static int refuse_entry(const struct reading *reading, size_t at, const char *what) {
    return error_set(reading->err, TOOLRACK_E_REFUSED, "%s: package %zu: %s", reading->name, at + 1,
                     what);
}

/* 2026-11-28T20:00:00Z, written in no other way. */
static bool read_time(yyjson_val *value, int64_t *ret) {
    const char *text = yyjson_get_str(value);
    struct tm parts = {0};
    char again[CLOCK_TEXT_ROOM];
    if (text == NULL || strlen(text) != 20 ||
        sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2dZ", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &parts.tm_hour, &parts.tm_min, &parts.tm_sec) != 6) {
        return false;
    }
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    *ret = (int64_t)timegm(&parts);
    return *ret > 0 && *ret <= TIME_S_MAX && strcmp(clock_wall_text(*ret, again), text) == 0;
}

/* A path that stays below the folder of the index, for servers and file systems alike. */
static bool is_file(const char *file) {
    size_t length = strlen(file);
    if (length == 0 || length > INDEX_FILE_LENGTH_MAX ||
        strspn(file, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+/-") !=
                length) {
        return false;
    }
    for (const char *part = file;; part++) {
        size_t size = strcspn(part, "/");
        if (size == 0 || part[0] == '.') {
            return false; /* also "." and ".." */
        }
        part += size;
        if (*part == '\0') {
            return true;
        }
    }
}

static bool is_hash(const char *text) {
    return strlen(text) == INDEX_SHA256_DIGITS &&
           strspn(text, "0123456789abcdef") == INDEX_SHA256_DIGITS;
}

static bool are_tools(yyjson_val *tools) {
    size_t at;
    size_t count;
    yyjson_val *tool;
    if (!yyjson_is_arr(tools) || yyjson_arr_size(tools) > INDEX_TOOLS_MAX) {
        return false;
    }
    yyjson_arr_foreach (tools, at, count, tool) {
        yyjson_val *description = yyjson_obj_get(tool, "description");
        if (!yyjson_is_str(yyjson_obj_get(tool, "name")) ||
            (description != NULL && !yyjson_is_str(description))) {
            return false;
        }
    }
    return true;
}

static int read_entry(const struct reading *reading, size_t at, yyjson_val *value,
                      struct index_entry *ret) {
    yyjson_val *size = yyjson_obj_get(value, "size");
    *ret = (struct index_entry){.id = yyjson_get_str(yyjson_obj_get(value, "id")),
                                .version = yyjson_get_str(yyjson_obj_get(value, "version")),
                                .file = yyjson_get_str(yyjson_obj_get(value, "file")),
                                .size = yyjson_get_uint(size),
                                .sha256 = yyjson_get_str(yyjson_obj_get(value, "sha256")),
                                .licence = yyjson_get_str(yyjson_obj_get(value, "licence")),
                                .tools = yyjson_obj_get(value, "tools")};
    return ret->id == NULL || !layout_is_id(ret->id)
                   ? refuse_entry(reading, at, "\"id\" must be the id of a plugin")
           : ret->version == NULL || !semver_valid(ret->version)
                   ? refuse_entry(reading, at, "\"version\" must be a version such as 1.0.0")
           : ret->file == NULL || !is_file(ret->file)
                   ? refuse_entry(reading, at,
                                  "\"file\" must be a path below the folder of the index, of "
                                  "letters, digits and . _ + - /")
           : !yyjson_is_uint(size) || ret->size == 0 || ret->size > FILE_SIZE_MAX
                   ? refuse_entry(reading, at, "\"size\" must be the size of the file in bytes")
           : ret->sha256 == NULL || !is_hash(ret->sha256)
                   ? refuse_entry(reading, at, "\"sha256\" must be 64 digits of 0-9 and a-f")
           : ret->tools != NULL && !are_tools(ret->tools)
                   ? refuse_entry(reading, at,
                                  "\"tools\" must be an array of objects with \"name\" and "
                                  "\"description\"")
                   : 0;
}

static int compare_entries(const void *a, const void *b) {
    const struct index_entry *one = a;
    const struct index_entry *other = b;
    int order = strcmp(one->id, other->id);
    return order != 0 ? order : semver_compare(other->version, one->version);
}

static int read_entries(const struct reading *reading, yyjson_val *packages) {
    struct package_index *index = reading->index;
    size_t at;
    size_t count;
    yyjson_val *value;
    if (!yyjson_is_arr(packages)) {
        return refuse(reading, "\"packages\" must be an array");
    }
    if (yyjson_arr_size(packages) > INDEX_PACKAGES_MAX) {
        return error_set(reading->err, TOOLRACK_E_LIMIT_EXCEEDED, "%s has more than %u packages",
                         reading->name, INDEX_PACKAGES_MAX);
    }
    index->entries =
            arena_zalloc(&index->arena, (yyjson_arr_size(packages) + 1) * sizeof *index->entries);
    if (index->entries == NULL) {
        return error_oom(reading->err);
    }
    yyjson_arr_foreach (packages, at, count, value) {
        int code = read_entry(reading, at, value, &index->entries[at]);
        if (code < 0) {
            return code;
        }
    }
    index->count = count;
    sort(index->entries, index->count, sizeof *index->entries, compare_entries);
    for (size_t i = 1; i < index->count; i++) {
        if (compare_entries(&index->entries[i - 1], &index->entries[i]) == 0) {
            return error_set(reading->err, TOOLRACK_E_REFUSED, "%s has %s %s twice", reading->name,
                             index->entries[i].id, index->entries[i].version);
        }
    }
    return 0;
}

static int read_root(const struct reading *reading, yyjson_val *root) {
    struct package_index *index = reading->index;
    yyjson_val *format = yyjson_obj_get(root, "toolrack_index");
    yyjson_val *number = yyjson_obj_get(root, "number");
    if (!yyjson_is_uint(format)) {
        return refuse(reading, "it has no \"toolrack_index\"");
    }
    if (yyjson_get_uint(format) != INDEX_FORMAT) {
        return refuse(reading, "its format is one of a newer toolrack; use that");
    }
    index->number = yyjson_get_uint(number);
    if (!yyjson_is_uint(number) || index->number == 0 || index->number > NUMBER_MAX) {
        return refuse(reading, "\"number\" must be an integer from 1 on");
    }
    if (!read_time(yyjson_obj_get(root, "created"), &index->created_s) ||
        !read_time(yyjson_obj_get(root, "expires"), &index->expires_s)) {
        return refuse(reading,
                      "\"created\" and \"expires\" must be times such as 2026-01-31T18:00:00Z");
    }
    return read_entries(reading, yyjson_obj_get(root, "packages"));
}

/* Of a member that is there twice, one reader takes the first and another the last: what was looked
 * at before it was signed would not be what is installed. */
static int refuse_twice(const struct reading *reading, yyjson_val *root) {
    char pointer[JSON_POINTER_MAX];
    enum json_twice twice = json_find_twice(root, pointer);
    return twice == JSON_TWICE_NONE        ? 0
           : twice == JSON_TWICE_NO_MEMORY ? error_oom(reading->err)
                                           : error_set(reading->err, TOOLRACK_E_REFUSED,
                                                       "%s is no index of packages: %s stands "
                                                       "there twice",
                                                       reading->name, pointer);
}

int index_read(const char *text, size_t length, const char *name, struct package_index *ret,
               struct toolrack_error *err) {
    const struct reading reading = {.name = name, .index = ret, .err = err};
    yyjson_read_err why;
    *ret = (struct package_index){0};
    arena_init(&ret->arena, NULL, 0);
    if (length > INDEX_SIZE_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "%s is longer than %u bytes", name,
                         INDEX_SIZE_MAX);
    }
    ret->doc = yyjson_read_opts((char *)(uintptr_t)text, length, 0, NULL, &why);
    if (ret->doc == NULL) {
        return why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION ? error_oom(err)
                                                               : refuse(&reading, "it is no JSON");
    }
    yyjson_val *root = yyjson_doc_get_root(ret->doc);
    int code = json_is_deeper(root, INDEX_DEPTH_MAX) ? refuse(&reading, "it is nested too deep")
                                                     : refuse_twice(&reading, root);
    code = code == 0 ? read_root(&reading, root) : code;
    if (code < 0) {
        index_finish(ret);
    }
    return code;
}

void index_finish(struct package_index *index) {
    yyjson_doc_free(index->doc);
    arena_finish(&index->arena);
    *index = (struct package_index){0};
}

/* -------------------------------------------------------------------- find */

const struct index_entry *index_find(const struct package_index *index, const char *id,
                                     const char *version) {
    struct semver_range range;
    const struct index_entry *found = NULL;
    if (version != NULL && !semver_range_parse(version, &range)) {
        return NULL;
    }
    for (size_t i = 0; i < index->count; i++) {
        const struct index_entry *entry = &index->entries[i];
        bool is_one = strcmp(entry->id, id) == 0 &&
                      (version == NULL || semver_range_has(&range, entry->version));
        /* The highest is first; a release comes before all pre-releases. */
        if (is_one && (found == NULL || (semver_is_prerelease(found->version) &&
                                         !semver_is_prerelease(entry->version)))) {
            found = entry;
        }
    }
    return found;
}

static bool has_word(const struct index_entry *entry, const char *word) {
    size_t at;
    size_t count;
    yyjson_val *tool;
    if (strcasestr(entry->id, word) != NULL) {
        return true;
    }
    yyjson_arr_foreach (entry->tools, at, count, tool) {
        const char *name = yyjson_get_str(yyjson_obj_get(tool, "name"));
        const char *description = yyjson_get_str(yyjson_obj_get(tool, "description"));
        if ((name != NULL && strcasestr(name, word) != NULL) ||
            (description != NULL && strcasestr(description, word) != NULL)) {
            return true;
        }
    }
    return false;
}

bool index_matches(const struct index_entry *entry, const char *words) {
    char word[128];
    for (const char *at = words + strspn(words, " \t\n"); *at != '\0'; at += strspn(at, " \t\n")) {
        size_t length = strcspn(at, " \t\n");
        (void)snprintf(word, sizeof word, "%.*s", (int)length, at);
        if (!has_word(entry, word)) {
            return false;
        }
        at += length;
    }
    return true;
}

/* ------------------------------------------------------------------- write */

static void add_member(struct buf *out, const char *key, const char *text) {
    if (text != NULL) {
        buf_printf(out, ", \"%s\": ", key);
        buf_add_json_string(out, text, strlen(text));
    }
}

static void add_tools(struct buf *out, yyjson_val *tools) {
    char *json = tools != NULL ? yyjson_val_write(tools, 0, NULL) : NULL;
    if (tools != NULL && json == NULL) {
        out->failed = true;
    }
    if (json != NULL) {
        buf_printf(out, ", \"tools\": %s", json);
        free(json);
    }
}

void index_write(struct buf *out, uint64_t number, int64_t created_s, int64_t expires_s,
                 const struct index_entry *entries, size_t count) {
    char created[CLOCK_TEXT_ROOM];
    char expires[CLOCK_TEXT_ROOM];
    buf_printf(out,
               "{\"toolrack_index\": %u, \"number\": %llu, \"created\": \"%s\", \"expires\": "
               "\"%s\",\n \"packages\": [",
               INDEX_FORMAT, (unsigned long long)number, clock_wall_text(created_s, created),
               clock_wall_text(expires_s, expires));
    for (size_t i = 0; i < count; i++) {
        const struct index_entry *entry = &entries[i];
        buf_printf(out, "%s\n  {\"id\": ", i > 0 ? "," : "");
        buf_add_json_string(out, entry->id, strlen(entry->id));
        add_member(out, "version", entry->version);
        add_member(out, "file", entry->file);
        buf_printf(out, ", \"size\": %llu", (unsigned long long)entry->size);
        add_member(out, "sha256", entry->sha256);
        add_member(out, "licence", entry->licence);
        add_tools(out, entry->tools);
        buf_add_char(out, '}');
    }
    buf_add_text(out, "\n]}\n");
}
