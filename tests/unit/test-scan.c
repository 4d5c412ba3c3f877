/* Scans of folders of all kinds, and their cache: what it spares, and that nothing in it is
 * trusted. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cache-walk.h"
#include "failing-malloc.h"
#include "files/cache.h"
#include "files/folder.h"
#include "files/scan.h"
#include "remove-tree.h"

#include <cmocka.h> /* after plugin.h: it defines a macro named fail */

CLEANUP_DEFINE(struct scan, scan_destroy)
CLEANUP_DEFINE(struct cache, cache_unref)
#define AUTO_SCAN CLEANUP(scan_destroyp) struct scan *

/* A test that would wait for the other end of a pipe ends here. */
#define BLOCKED_AFTER_S 60

/* ----------------------------------------------------------------- places */

/* A temporary folder with a folder of plugins in it and a place for the cache. */
struct place {
    char root[64];
    char plugins[96];
    char cache[96];
    unsigned log_lines;
};

static int place_setup(void **state) {
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        return -1;
    }
    strcpy(place->root, "/tmp/toolrack-scan-XXXXXX");
    if (mkdtemp(place->root) == NULL) {
        return -1;
    }
    (void)snprintf(place->plugins, sizeof place->plugins, "%s/plugins", place->root);
    (void)snprintf(place->cache, sizeof place->cache, "%s/cache", place->root);
    *state = place;
    (void)alarm(BLOCKED_AFTER_S);
    return mkdir(place->plugins, 0755);
}

static int place_teardown(void **state) {
    struct place *place = *state;
    (void)alarm(0);
    (void)remove_tree(place->root);
    free(place);
    return 0;
}

/* ------------------------------------------------------------------ files */

#define PATH_ROOM 256

/* A path below the folder of plugins, or below the root when it begins with "../". */
static const char *path_of(const struct place *place, const char *name, char room[PATH_ROOM]) {
    (void)snprintf(room, PATH_ROOM, "%s/%s", place->plugins, name);
    return room;
}

static void put_bytes(const char *path, const void *bytes, size_t size) {
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, bytes, size), size);
}

static char *get_bytes(const char *path, size_t *ret_size) {
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    char *bytes = malloc((size_t)st.st_size + 1);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    *ret_size = (size_t)st.st_size;
    return bytes;
}

static void put(const struct place *place, const char *name, const char *text) {
    char path[PATH_ROOM];
    put_bytes(path_of(place, name, path), text, strlen(text));
}

/* Copy a built plugin; every `from` in it becomes `to`, of the same length. */
static void put_plugin_as(const struct place *place, const char *name, const char *plugin,
                          const char *from, const char *to) {
    char path[PATH_ROOM];
    size_t size;
    (void)snprintf(path, sizeof path, "%s/%s.so", TEST_PLUGINS, plugin);
    CLEANUP(freep) char *bytes = get_bytes(path, &size);
    size_t length = from == NULL ? 0 : strlen(from);
    char *at = bytes;
    while (length > 0 && (at = memmem(at, size - (size_t)(at - bytes), from, length)) != NULL) {
        memcpy(at, to, length);
    }
    put_bytes(path_of(place, name, path), bytes, size);
}

static void put_plugin(const struct place *place, const char *name, const char *plugin) {
    put_plugin_as(place, name, plugin, NULL, NULL);
}

static struct stat stat_of(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st;
}

/* ------------------------------------------------------------------ scans */

static void count_line(void *user, int level, const char *source, const char *line) {
    (void)level;
    (void)source;
    (void)line;
    (*(unsigned *)user)++;
}

/* A minute from now: whatever the test has just written has settled then. */
static int64_t later_ns(void) {
    return ((int64_t)time(NULL) + 60) * CLOCK_NS_PER_S;
}

static struct scan *run_options(const struct scan_options *options) {
    struct scan *scan = NULL;
    struct toolrack_error err;
    assert_int_equal(scan_run(options, &scan, &err), 0);
    assert_non_null(scan);
    for (size_t i = 0; i < scan->file_count; i++) {
        assert_non_null(scan->files[i].descriptor);
    }
    return scan;
}

static struct scan *run_folders(struct place *place, const struct scan_folder *folders,
                                size_t count) {
    const struct log log = {.write = count_line, .user = &place->log_lines};
    const struct scan_options options = {
            .folders = folders,
            .folder_count = count,
            .cache_path = place->cache,
            .log = &log,
            .time_ns = later_ns(),
    };
    return run_options(&options);
}

static struct scan *run(struct place *place) {
    const struct scan_folder folder = {.path = place->plugins, .trust = TRUST_OFFICIAL};
    return run_folders(place, &folder, 1);
}

static const struct scan_file *find(const struct scan *scan, const char *name) {
    for (size_t i = 0; i < scan->file_count; i++) {
        if (strcmp(strrchr(scan->files[i].path, '/') + 1, name) == 0) {
            return &scan->files[i];
        }
    }
    return NULL;
}

static const struct scan_file *get(const struct scan *scan, const char *name) {
    const struct scan_file *file = find(scan, name);
    if (file == NULL) {
        print_message("# no row for %s\n", name);
        fail();
        abort(); /* never: but the compiler does not know what fail() does */
    }
    return file;
}

/* The file is refused, by this rule. */
static void assert_rule(const struct scan *scan, const char *name, const char *rule) {
    const struct descriptor *desc = get(scan, name)->descriptor;
    assert_null(desc->plugin);
    assert_int_equal(desc->tool_count, 0);
    bool found = false;
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        assert_true(strlen(finding->cause) > 0 && strlen(finding->fix) > 0);
        found = found || (finding->severity == FINDING_ERROR && strcmp(finding->rule, rule) == 0);
    }
    if (!found) {
        print_message("# %s should break the rule %s\n", name, rule);
    }
    assert_true(found);
}

static void assert_id(const struct scan *scan, const char *name, const char *id) {
    const struct scan_file *file = get(scan, name);
    assert_non_null(file->descriptor->plugin);
    assert_string_equal(file->descriptor->plugin->id, id);
}

static size_t count_cached(const struct scan *scan) {
    size_t count = 0;
    for (size_t i = 0; i < scan->file_count; i++) {
        count += scan->files[i].cached;
    }
    return count;
}

/* ---------------------------------------------------------------- folders */

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void names_come_in_byte_order(void **state) {
    struct place *place = *state;
    static const char *names[] = {"b.so",  "a.so",    "B.so",    "\xc3\xa4.so",    "aa.so",
                                  "a-.so", "a.so.so", "\xff.so", "same-start1.so", "same-start.so"};
    static const char *const others[] = {".hidden.so", ".so", "x.txt", "so", "y.so.1", "z.SO"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        put(place, names[i], "");
    }
    for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
        put(place, others[i], "");
    }
    AUTO_SCAN scan = run(place);
    assert_int_equal(scan->file_count, ARRAY_LENGTH(names));
    qsort(names, ARRAY_LENGTH(names), sizeof names[0], compare_texts);
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        assert_string_equal(strrchr(scan->files[i].path, '/') + 1, names[i]);
    }
}

/* Names that differ early, late, by length, and beyond the bytes that are looked at first. */
static void many_names_come_in_byte_order(void **state) {
    struct place *place = *state;
    uint32_t random = 1;
    char path[PATH_ROOM];
    for (unsigned i = 0; i < 700; i++) {
        char name[64];
        random = random * 1664525u + 1013904223u;
        (void)snprintf(name, sizeof name, "p%.*s%u-%x.so", (int)(random >> 28), "aaaaaaaaaaaaaaaa",
                       random >> 16 & 7, i);
        put_bytes(path_of(place, name, path), "", 0);
    }
    AUTO_SCAN scan = run(place);
    assert_int_equal(scan->file_count, 700);
    for (size_t i = 1; i < scan->file_count; i++) {
        assert_true(strcmp(scan->files[i - 1].path, scan->files[i].path) < 0);
    }
}

static void a_row_says_what_the_file_is(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    put_plugin(place, "good.so", "good");
    AUTO_SCAN scan = run(place);
    assert_int_equal(scan->file_count, 1);
    const struct scan_file *file = &scan->files[0];
    assert_string_equal(file->path, path_of(place, "good.so", path));
    assert_int_equal(file->trust, TRUST_OFFICIAL);
    assert_false(file->cached);
    struct stat st = stat_of(path);
    assert_int_equal(file->identity.device, st.st_dev);
    assert_int_equal(file->identity.inode, st.st_ino);
    assert_int_equal(file->identity.size, st.st_size);
    assert_int_equal(file->identity.mtime_ns,
                     st.st_mtim.tv_sec * (int64_t)CLOCK_NS_PER_S + st.st_mtim.tv_nsec);
    assert_string_equal(file->descriptor->plugin->id, "org.example.good");
    assert_int_equal(file->descriptor->tool_count, 2);
}

static void links_are_followed(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    put_plugin(place, "real.so", "good");
    assert_int_equal(symlink("real.so", path_of(place, "link.so", path)), 0);
    assert_int_equal(symlink("nowhere", path_of(place, "dangling.so", path)), 0);
    assert_int_equal(symlink("circle.so", path_of(place, "circle.so", path)), 0);
    assert_int_equal(symlink(".", path_of(place, "folder.so", path)), 0);
    AUTO_SCAN scan = run(place);
    assert_int_equal(scan->file_count, 5);
    assert_id(scan, "link.so", "org.example.good");
    assert_int_equal(get(scan, "link.so")->identity.inode, get(scan, "real.so")->identity.inode);
    assert_rule(scan, "dangling.so", "file-dangling-link");
    assert_rule(scan, "circle.so", "file-dangling-link");
    assert_rule(scan, "folder.so", "file-not-regular");
}

static void what_is_no_file_is_not_opened(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    assert_int_equal(mkfifo(path_of(place, "pipe.so", path), 0644), 0);
    assert_int_equal(mkdir(path_of(place, "folder.so", path), 0755), 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s/socket.so", place->plugins);
    CLEANUP(closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    AUTO_SCAN scan = run(place);
    assert_int_equal(scan->file_count, 3);
    assert_rule(scan, "pipe.so", "file-not-regular");
    assert_rule(scan, "folder.so", "file-not-regular");
    assert_rule(scan, "socket.so", "file-not-regular");
    assert_int_not_equal(access(place->cache, F_OK), 0); /* nothing of it is worth keeping */
}

static void broken_files_are_rows(void **state) {
    struct place *place = *state;
    put(place, "empty.so", "");
    put(place, "text.so", "this is not a plugin");
    put_plugin(place, "good.so", "good");
    AUTO_SCAN scan = run(place);
    assert_rule(scan, "empty.so", "file-empty");
    assert_rule(scan, "text.so", "elf-not-elf");
    assert_id(scan, "good.so", "org.example.good");
}

/* Root may read all, so for a moment it is nobody. */
#define NOBODY 65534

static void unreadable_files_are_rows(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    bool root = geteuid() == 0;
    put_plugin(place, "secret.so", "good");
    assert_int_equal(chmod(path_of(place, "secret.so", path), 0), 0);
    assert_int_equal(chmod(place->root, 0777), 0);
    assert_true(!root || seteuid(NOBODY) == 0);
    for (int i = 0; i < 2; i++) { /* and it is not remembered: permissions lie outside the file */
        AUTO_SCAN scan = run(place);
        assert_rule(scan, "secret.so", "file-unreadable");
    }
    assert_int_not_equal(access(place->cache, F_OK), 0);
    assert_true(!root || seteuid(0) == 0);
    assert_int_equal(chmod(path, 0644), 0);
    AUTO_SCAN scan = run(place);
    assert_id(scan, "secret.so", "org.example.good");
}

static void folders_that_may_not_be_read_are_trouble(void **state) {
    struct place *place = *state;
    bool root = geteuid() == 0;
    put_plugin(place, "good.so", "good");
    assert_int_equal(chmod(place->plugins, 0), 0);
    assert_int_equal(chmod(place->root, 0755), 0);
    assert_true(!root || seteuid(NOBODY) == 0);
    AUTO_SCAN scan = run(place);
    assert_true(!root || seteuid(0) == 0);
    assert_int_equal(chmod(place->plugins, 0755), 0);
    assert_int_equal(scan->file_count, 0);
    assert_int_equal(scan->trouble_count, 1);
    assert_non_null(strstr(scan->troubles[0].reason, "permission denied"));
}

static void folders_that_cannot_be_used_are_trouble(void **state) {
    struct place *place = *state;
    char missing[PATH_ROOM];
    char file[PATH_ROOM];
    put_plugin(place, "good.so", "good");
    (void)path_of(place, "missing", missing);
    (void)path_of(place, "good.so", file);
    const struct scan_folder folders[] = {
            {.path = missing, .optional = true},
            {.path = missing},
            {.path = file},
            {.path = place->plugins},
    };
    AUTO_SCAN scan = run_folders(place, folders, ARRAY_LENGTH(folders));
    assert_int_equal(scan->file_count, 1);
    assert_int_equal(scan->trouble_count, 2);
    assert_string_equal(scan->troubles[0].path, missing);
    assert_non_null(strstr(scan->troubles[0].reason, "does not exist"));
    assert_string_equal(scan->troubles[1].path, file);
    assert_non_null(strstr(scan->troubles[1].reason, "not a folder"));
}

static void a_folder_is_scanned_once_at_its_first_place(void **state) {
    struct place *place = *state;
    char link[PATH_ROOM];
    char slash[PATH_ROOM];
    char other[PATH_ROOM];
    put_plugin(place, "good.so", "good");
    assert_int_equal(symlink("plugins", path_of(place, "../link", link)), 0);
    (void)path_of(place, "", slash);
    assert_int_equal(mkdir(path_of(place, "other", other), 0755), 0);
    put_plugin(place, "other/minimal.so", "minimal");
    const struct scan_folder folders[] = {
            {.path = other, .trust = TRUST_BUILTIN},
            {.path = slash, .trust = TRUST_COMMUNITY},
            {.path = place->plugins, .trust = TRUST_OFFICIAL},
            {.path = link, .trust = TRUST_OFFICIAL},
    };
    AUTO_SCAN scan = run_folders(place, folders, ARRAY_LENGTH(folders));
    assert_int_equal(scan->file_count, 2);
    assert_int_equal(scan->trouble_count, 0);
    assert_int_equal(scan->files[0].trust, TRUST_BUILTIN);
    assert_int_equal(scan->files[1].trust, TRUST_COMMUNITY);
    assert_null(strstr(scan->files[1].path, "//"));
}

static void a_folder_with_too_many_files_is_cut(void **state) {
    struct place *place = *state;
    static const char *const names[] = {"c.so", "a.so", "d.so", "b.so"};
    for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
        put(place, names[i], "");
    }
    struct arena arena;
    arena_init(&arena, NULL, 0);
    CLEANUP(folder_finish) struct folder folder;
    assert_int_equal(folder_init(&folder, place->plugins), 0);
    assert_int_equal(folder_list(&folder, place->plugins, 3, &arena), 0);
    assert_true(folder.cut);
    assert_int_equal(folder.count, 3);
    assert_string_equal(folder.names[0], "a.so");
    assert_string_equal(folder.names[2], "c.so");
    arena_finish(&arena);
}

/* 5,000 links to each of two files: one inode does not take any number of them. */
static void ten_thousand_files(void **state) {
    struct place *place = *state;
    char from[PATH_ROOM];
    char to[PATH_ROOM];
    put_plugin(place, "../good.so", "good");
    put(place, "../text.so", "no plugin");
    for (unsigned i = 0; i < 10000; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%u.so", i);
        (void)path_of(place, i % 2 == 0 ? "../good.so" : "../text.so", from);
        assert_int_equal(link(from, path_of(place, name, to)), 0);
    }
    AUTO_SCAN first = run(place);
    assert_int_equal(first->file_count, 10000);
    assert_int_equal(count_cached(first), 0);
    AUTO_SCAN second = run(place);
    assert_int_equal(second->file_count, 10000);
    assert_int_equal(count_cached(second), 10000);
    assert_id(second, "9998.so", "org.example.good");
    assert_rule(second, "9999.so", "elf-not-elf");
}

/* A check of schemas that lets the file change while it is read. */
struct meddler {
    const char *path;
    unsigned times;
};

static bool meddle(void *user, const char *schema, size_t length, bool is_result, int64_t *steps,
                   char *reason, size_t room) {
    (void)steps;
    (void)schema;
    (void)length;
    (void)is_result;
    (void)reason;
    (void)room;
    struct meddler *meddler = user;
    if (meddler->times > 0) {
        meddler->times--;
        assert_int_equal(utimensat(AT_FDCWD, meddler->path, NULL, 0), 0);
        struct timespec a_tick = {.tv_nsec = 10 * CLOCK_NS_PER_MS}; /* of the file system's clock */
        (void)nanosleep(&a_tick, NULL);
    }
    return true;
}

static struct scan *run_meddling(struct place *place, struct meddler *meddler) {
    const struct scan_folder folder = {.path = place->plugins};
    const struct scan_options options = {
            .folders = &folder,
            .folder_count = 1,
            .cache_path = place->cache,
            .descriptor = {.check_schema = meddle, .user = meddler},
            .time_ns = later_ns(),
    };
    struct timespec a_tick = {.tv_nsec = 10 * CLOCK_NS_PER_MS};
    (void)nanosleep(&a_tick, NULL);
    return run_options(&options);
}

static void a_file_that_changes_is_refused_and_not_cached(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    put_plugin(place, "good.so", "good");
    struct meddler always = {path_of(place, "good.so", path), UINT32_MAX};
    AUTO_SCAN changing = run_meddling(place, &always);
    assert_rule(changing, "good.so", "file-changing");
    assert_int_not_equal(access(place->cache, F_OK), 0);
    struct meddler once = {path, 1};
    AUTO_SCAN settled = run_meddling(place, &once);
    assert_id(settled, "good.so", "org.example.good");
}

/* ------------------------------------------------------------------ cache */

/* Scan twice: the first must have read `name`, the second must not. */
static void assert_read_once(struct place *place, const char *name) {
    AUTO_SCAN first = run(place);
    assert_false(get(first, name)->cached);
    AUTO_SCAN second = run(place);
    assert_true(get(second, name)->cached);
}

static void set_times(const char *path, struct timespec mtime) {
    const struct timespec times[2] = {mtime, mtime};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void a_change_of_any_kind_is_seen(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    char other[PATH_ROOM];
    put_plugin(place, "a.so", "minimal");
    put_plugin(place, "p.so", "good");
    (void)path_of(place, "p.so", path);
    assert_read_once(place, "p.so");

    /* Touched. */
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
    assert_read_once(place, "p.so");

    /* Other content of the same size, the old time put back. */
    struct stat before = stat_of(path);
    put_plugin_as(place, "p.so", "good", "org.example.good", "org.example.2nd!");
    set_times(path, before.st_mtim);
    struct stat after = stat_of(path);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);
    AUTO_SCAN renamed = run(place);
    assert_false(get(renamed, "p.so")->cached);
    put_plugin(place, "p.so", "good");
    assert_read_once(place, "p.so");

    /* An older time. */
    set_times(path, (struct timespec){.tv_sec = 1000});
    assert_read_once(place, "p.so");

    /* Another file in its place, by rename. */
    put_plugin_as(place, "new", "good", "org.example.good", "org.example.evil");
    assert_int_equal(rename(path_of(place, "new", other), path), 0);
    AUTO_SCAN replaced = run(place);
    assert_false(get(replaced, "p.so")->cached);
    assert_id(replaced, "p.so", "org.example.evil");
    assert_true(get(replaced, "a.so")->cached);

    /* Cut off. */
    assert_int_equal(truncate(path, 100), 0);
    AUTO_SCAN cut = run(place);
    assert_false(get(cut, "p.so")->cached);
    assert_null(get(cut, "p.so")->descriptor->plugin);

    /* And through all of this the other one was read once. */
    assert_true(get(cut, "a.so")->cached);
}

static void young_files_are_read_again(void **state) {
    struct place *place = *state;
    put_plugin(place, "good.so", "good");
    char path[PATH_ROOM];
    struct stat st = stat_of(path_of(place, "good.so", path));
    const struct scan_folder folder = {.path = place->plugins};
    struct scan_options options = {
            .folders = &folder,
            .folder_count = 1,
            .cache_path = place->cache,
            .time_ns = st.st_ctim.tv_sec * (int64_t)CLOCK_NS_PER_S + st.st_ctim.tv_nsec +
                       SCAN_SETTLE_NS,
    };
    for (int i = 0; i < 2; i++) {
        AUTO_SCAN scan = run_options(&options);
        assert_false(scan->files[0].cached);
        assert_int_not_equal(access(place->cache, F_OK), 0);
    }
    options.time_ns++;
    AUTO_SCAN settled = run_options(&options);
    assert_false(settled->files[0].cached);
    AUTO_SCAN cached = run_options(&options);
    assert_true(cached->files[0].cached);
}

/* The pack of one scan's descriptors, to compare what was read with what came from the cache. */
static void pack_of(const struct scan *scan, struct buf *pack) {
    struct cache_file *files = calloc(scan->file_count + 1, sizeof *files);
    assert_non_null(files);
    for (size_t i = 0; i < scan->file_count; i++) {
        files[i] = (struct cache_file){scan->files[i].path, scan->files[i].identity,
                                       scan->files[i].descriptor};
    }
    const struct cache_folder folder = {"x", files, scan->file_count};
    const struct cache_index index = {&folder, 1};
    assert_true(pack_write(&index, pack) > 0);
    free(files);
}

static void put_many_kinds(struct place *place) {
    static const char *const plugins[] = {"good",        "all-types", "minimal",
                                          "newer",       "older",     "bad-schema",
                                          "wrong-major", "bad-name",  "no-symbol"};
    for (size_t i = 0; i < ARRAY_LENGTH(plugins); i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s.so", plugins[i]);
        put_plugin(place, name, plugins[i]);
    }
    put(place, "empty.so", "");
}

static void what_comes_back_is_what_was_read(void **state) {
    struct place *place = *state;
    CLEANUP(buf_finish) struct buf read_pack = BUF_INIT;
    CLEANUP(buf_finish) struct buf cached_pack = BUF_INIT;
    put_many_kinds(place);
    AUTO_SCAN first = run(place);
    AUTO_SCAN second = run(place);
    assert_int_equal(count_cached(first), 0);
    assert_int_equal(count_cached(second), second->file_count);
    pack_of(first, &read_pack);
    pack_of(second, &cached_pack);
    assert_int_equal(read_pack.length, cached_pack.length);
    assert_memory_equal(read_pack.data, cached_pack.data, read_pack.length);
    const struct tr_param *param = get(second, "good.so")->descriptor->tools[0].tool->params;
    assert_string_equal(param[0].description, "first addend");
    assert_int_equal(param[0].type->kind, TR_KIND_F64);
    const struct tr_tool *shown = get(second, "good.so")->descriptor->tools[0].tool;
    assert_int_equal(shown->example_count, 2);
    assert_string_equal(shown->examples[0].result, "3");
    assert_null(shown->examples[1].result);
    assert_rule(second, "wrong-major.so", "abi-major");
}

static void descriptors_outlive_scan_and_cache(void **state) {
    struct place *place = *state;
    put_plugin(place, "good.so", "good");
    scan_destroy(run(place));
    struct scan *scan = run(place);
    assert_true(scan->files[0].cached);
    CLEANUP(descriptor_unrefp)
    struct descriptor *desc = descriptor_ref(scan->files[0].descriptor);
    scan_destroy(scan);
    assert_int_equal(unlink(place->cache), 0);
    assert_string_equal(desc->tools[1].tool->name, "echo");
}

static void the_cache_is_written_when_it_has_news(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    put_plugin(place, "a.so", "good");
    put_plugin(place, "b.so", "minimal");
    assert_int_equal(symlink("nowhere", path_of(place, "c.so", path)), 0);
    scan_destroy(run(place));
    struct stat first = stat_of(place->cache);
    assert_int_equal(first.st_mode & 0777, 0600);
    scan_destroy(run(place));
    assert_int_equal(stat_of(place->cache).st_ino, first.st_ino);
    assert_int_equal(unlink(path_of(place, "b.so", path)), 0);
    scan_destroy(run(place));
    struct stat second = stat_of(place->cache);
    assert_true(second.st_size < first.st_size);
    scan_destroy(run(place));
    assert_int_equal(stat_of(place->cache).st_ctim.tv_nsec, second.st_ctim.tv_nsec);
}

static void other_folders_stay_in_the_cache(void **state) {
    struct place *place = *state;
    char other[PATH_ROOM];
    assert_int_equal(mkdir(path_of(place, "../other", other), 0755), 0);
    put_plugin(place, "a.so", "good");
    put_plugin(place, "../other/b.so", "minimal");
    const struct scan_folder both[] = {{.path = place->plugins}, {.path = other}};
    scan_destroy(run_folders(place, both, 2));
    put_plugin(place, "c.so", "good");
    scan_destroy(run_folders(place, both, 1));
    /* A folder that is away is not a folder that is empty. */
    char away[PATH_ROOM];
    assert_int_equal(rename(other, path_of(place, "../away", away)), 0);
    put_plugin(place, "d.so", "good");
    scan_destroy(run_folders(place, both, 2));
    assert_int_equal(rename(away, other), 0);
    AUTO_SCAN scan = run_folders(place, both, 2);
    assert_int_equal(scan->file_count, 4);
    assert_int_equal(count_cached(scan), 4);
}

static void the_cache_keeps_so_many_folders(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    for (unsigned i = 0; i <= CACHE_FOLDERS_MAX; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "%u", i);
        assert_int_equal(mkdir(path_of(place, name, path), 0755), 0);
        (void)snprintf(name, sizeof name, "%u/p.so", i);
        put(place, name, "");
        const struct scan_folder folder = {.path = path};
        scan_destroy(run_folders(place, &folder, 1));
    }
    const struct scan_folder last = {.path = path};
    AUTO_SCAN kept = run_folders(place, &last, 1);
    assert_int_equal(count_cached(kept), 1);
    const struct scan_folder first = {.path = path_of(place, "0", path)};
    AUTO_SCAN dropped = run_folders(place, &first, 1);
    assert_int_equal(count_cached(dropped), 0);
}

static bool accept_all(void *user, const char *schema, size_t length, bool is_result,
                       int64_t *steps, char *reason, size_t room) {
    (void)steps;
    (void)user;
    (void)schema;
    (void)length;
    (void)is_result;
    (void)reason;
    (void)room;
    return true;
}

static void other_options_make_the_cache_anew(void **state) {
    struct place *place = *state;
    put_plugin(place, "good.so", "good");
    scan_destroy(run(place));
    const struct scan_folder folder = {.path = place->plugins};
    const struct scan_options options = {
            .folders = &folder,
            .folder_count = 1,
            .cache_path = place->cache,
            .descriptor = {.check_schema = accept_all},
            .time_ns = later_ns(),
    };
    AUTO_SCAN checked = run_options(&options);
    assert_false(checked->files[0].cached);
    AUTO_SCAN again = run_options(&options);
    assert_true(again->files[0].cached);
}

/* ----------------------------------------------------------- a spoiled cache */

/* Whatever lies at the cache's path: the scan is right, and mends it. */
static void assert_made_anew(struct place *place) {
    place->log_lines = 0;
    AUTO_SCAN scan = run(place);
    assert_int_equal(count_cached(scan), 0);
    assert_id(scan, "good.so", "org.example.good");
    assert_rule(scan, "text.so", "elf-not-elf");
    assert_true(place->log_lines > 0);
}

static void put_two(struct place *place) {
    put_plugin(place, "good.so", "good");
    put(place, "text.so", "no plugin");
}

static void a_cut_cache_is_made_anew(void **state) {
    struct place *place = *state;
    size_t size;
    put_two(place);
    scan_destroy(run(place));
    CLEANUP(freep) char *bytes = get_bytes(place->cache, &size);
    for (size_t length = 0; length < size; length += 64) {
        put_bytes(place->cache, bytes, length);
        assert_made_anew(place);
    }
    put_bytes(place->cache, bytes, size - 1);
    assert_made_anew(place);
    AUTO_SCAN scan = run(place);
    assert_int_equal(count_cached(scan), 2);
}

static void a_cache_with_one_wrong_bit_is_made_anew(void **state) {
    struct place *place = *state;
    size_t size;
    put_two(place);
    scan_destroy(run(place));
    CLEANUP(freep) char *bytes = get_bytes(place->cache, &size);
    for (size_t i = 0; i < size; i += i < 256 ? 1 : 5) {
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
        put_bytes(place->cache, bytes, size);
        assert_made_anew(place);
        bytes[i] = (char)(bytes[i] ^ (1 << i % 8));
    }
}

static void release_nothing(struct descriptor *desc) {
    (void)desc;
}

/* Without the checksum in the way: every byte in turn, with several values. What is still accepted
 * must be sound; the sanitizers watch. */
static void a_pack_with_any_wrong_byte_is_sound_or_refused(void **state) {
    struct place *place = *state;
    CLEANUP(buf_finish) struct buf pack = BUF_INIT;
    put_plugin(place, "good.so", "good");
    put_plugin(place, "newer.so", "newer");
    put(place, "text.so", "no plugin");
    scan_destroy(run(place));
    bool stale;
    CLEANUP(cache_unrefp) struct cache *cache = cache_load(place->cache, 0, NULL, &stale);
    assert_non_null(cache);
    size_t records_size = pack_write(cache_index(cache), &pack);
    assert_true(records_size > 0);
    unsigned refused = 0;
    static const unsigned char values[] = {0x00, 0x01, 0x08, 0x7f, 0xff};
    for (size_t i = 0; i < pack.length * ARRAY_LENGTH(values); i++) {
        char *copy = malloc(pack.length);
        assert_non_null(copy);
        memcpy(copy, pack.data, pack.length);
        copy[i / ARRAY_LENGTH(values)] = (char)values[i % ARRAY_LENGTH(values)];
        const struct cache_index *index =
                pack_open(copy, pack.length, records_size, release_nothing, NULL);
        if (index != NULL) {
            (void)cache_walk(index);
        }
        refused += index == NULL;
        free(copy);
    }
    assert_true(refused > 0);
}

static void what_is_no_cache_file_is_not_read(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    put_two(place);
    assert_int_equal(mkfifo(place->cache, 0600), 0);
    assert_made_anew(place);

    /* A link is not followed, but replaced. */
    (void)path_of(place, "../elsewhere", path);
    assert_int_equal(rename(place->cache, path), 0);
    assert_int_equal(symlink(path, place->cache), 0);
    assert_made_anew(place);
    assert_true(S_ISREG(stat_of(place->cache).st_mode));
    assert_int_equal(access(path, F_OK), 0);

    /* Nor is one that others may write to. */
    assert_int_equal(chmod(place->cache, 0666), 0);
    assert_made_anew(place);
    assert_int_equal(stat_of(place->cache).st_mode & 0777, 0600);

    /* A folder in its place stays, and there is no cache. */
    assert_int_equal(unlink(place->cache), 0);
    assert_int_equal(mkdir(place->cache, 0755), 0);
    assert_made_anew(place);
    assert_made_anew(place);
}

/* With "." and "..". */
static unsigned count_entries(const char *path) {
    DIR *dir = opendir(path);
    unsigned count = 0;
    while (dir != NULL && readdir(dir) != NULL) {
        count++;
    }
    if (dir != NULL) {
        (void)closedir(dir);
    }
    return count;
}

static void a_cache_that_cannot_be_written_is_a_log_line(void **state) {
    struct place *place = *state;
    put_two(place);
    /* Below a file there is no folder, not even for root. */
    (void)snprintf(place->cache, sizeof place->cache, "%s/plugins/text.so/state/cache",
                   place->root);
    assert_made_anew(place);
    /* Below /proc none can be made. */
    strcpy(place->cache, "/proc/self/state/toolrack/cache");
    assert_made_anew(place);
    /* A rename that fails leaves nothing behind. */
    (void)snprintf(place->cache, sizeof place->cache, "%s/state/cache", place->root);
    char folder[PATH_ROOM];
    (void)path_of(place, "../state", folder);
    assert_int_equal(mkdir(folder, 0755), 0);
    assert_int_equal(mkdir(place->cache, 0755), 0);
    assert_made_anew(place);
    assert_int_equal(count_entries(folder), 3);
}

static void the_folder_of_the_cache_is_made(void **state) {
    struct place *place = *state;
    char folder[PATH_ROOM];
    put_two(place);
    (void)snprintf(place->cache, sizeof place->cache, "%s/state/toolrack/cache", place->root);
    scan_destroy(run(place));
    AUTO_SCAN scan = run(place);
    assert_int_equal(count_cached(scan), 2);
    assert_int_equal(stat_of(path_of(place, "../state", folder)).st_mode & 0777, 0700);
    assert_int_equal(stat_of(path_of(place, "../state/toolrack", folder)).st_mode & 0777, 0700);
    assert_int_equal(count_entries(folder), 3);
}

/* Few bytes in memory, but more than any cache takes when written out: every type is used a hundred
 * times by the one above it. */
static void what_is_too_large_is_read_each_time(void **state) {
    (void)state;
    struct tr_type types[6] = {{.size = sizeof types[0], .kind = TR_KIND_F64}};
    struct tr_param fields[6][100];
    memset(fields, 0, sizeof fields);
    for (size_t i = 1; i < ARRAY_LENGTH(types); i++) {
        types[i] = (struct tr_type){.size = sizeof types[0],
                                    .kind = TR_KIND_STRUCT,
                                    .fields = fields[i],
                                    .field_count = ARRAY_LENGTH(fields[i]),
                                    .field_size = sizeof fields[i][0]};
        for (size_t j = 0; j < ARRAY_LENGTH(fields[i]); j++) {
            fields[i][j].name = "x";
            fields[i][j].type = &types[i - 1];
        }
    }
    const struct tr_plugin plugin = {.id = "large", .version = "1.0.0"};
    const struct tr_tool tool = {.name = "t", .result = &types[ARRAY_LENGTH(types) - 1]};
    const struct descriptor_tool sound = {.tool = &tool, .version = "1.0.0", .schema = "{}"};
    struct descriptor large = {.plugin = &plugin, .tools = &sound, .tool_count = 1};
    struct descriptor small = {.plugin = &plugin};
    const struct cache_file files[] = {{.name = "a.so", .descriptor = &large},
                                       {.name = "b.so", .descriptor = &small}};
    const struct cache_folder folder = {"x", files, 2};
    const struct cache_index index = {&folder, 1};
    CLEANUP(buf_finish) struct buf pack = BUF_INIT;
    size_t records_size = pack_write(&index, &pack);
    assert_true(records_size > 0);
    const struct cache_index *fixed =
            pack_open(pack.data, pack.length, records_size, release_nothing, NULL);
    assert_non_null(fixed);
    assert_null(fixed->folders[0].files[0].descriptor);
    assert_string_equal(fixed->folders[0].files[1].descriptor->plugin->id, "large");
}

/* --------------------------------------------------- threads, lack of memory */

/* cmocka's asserts belong to the main thread: these count what is wrong. */
struct scanning_thread {
    struct place *place;
    pthread_t thread;
    unsigned wrong;
};

static void *scan_often(void *user) {
    struct scanning_thread *self = user;
    const struct scan_folder folder = {.path = self->place->plugins};
    const struct scan_options options = {
            .folders = &folder,
            .folder_count = 1,
            .cache_path = self->place->cache,
            .time_ns = later_ns(),
    };
    for (int i = 0; i < 100; i++) {
        struct scan *scan = NULL;
        if (scan_run(&options, &scan, NULL) < 0 || scan->file_count != 2 ||
            scan->files[0].descriptor->plugin == NULL) {
            self->wrong++;
        }
        scan_destroy(scan);
        if (i % 3 == 0) {
            (void)unlink(self->place->cache);
        }
    }
    return NULL;
}

static void threads_share_a_cache(void **state) {
    struct place *place = *state;
    put_two(place);
    struct scanning_thread threads[2] = {{.place = place}, {.place = place}};
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        assert_int_equal(pthread_create(&threads[i].thread, NULL, scan_often, &threads[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LENGTH(threads); i++) {
        assert_int_equal(pthread_join(threads[i].thread, NULL), 0);
        assert_int_equal(threads[i].wrong, 0);
    }
    assert_int_equal(count_entries(place->root), access(place->cache, F_OK) == 0 ? 4 : 3);
}

/* Fails at its n-th allocation for each n, cold and cached. */
static void any_allocation_may_fail(void **state) {
    struct place *place = *state;
    char path[PATH_ROOM];
    put_two(place);
    assert_int_equal(symlink("nowhere", path_of(place, "link.so", path)), 0);
    char missing[PATH_ROOM];
    const struct scan_folder folders[] = {{.path = place->plugins},
                                          {.path = path_of(place, "missing", missing)}};
    const struct scan_options options = {
            .folders = folders,
            .folder_count = 2,
            .cache_path = place->cache,
            .time_ns = later_ns(),
    };
    for (int cached = 0; cached < 2; cached++) {
        bool hit = true;
        for (unsigned n = 1; hit; n++) {
            if (!cached) {
                (void)unlink(place->cache);
            }
            struct scan *scan = NULL;
            failing_malloc_set(n);
            int code = scan_run(&options, &scan, NULL);
            hit = failing_malloc_hit();
            failing_malloc_set(0);
            assert_true(code == 0 ? scan != NULL : code == TOOLRACK_E_NO_MEMORY && scan == NULL);
            scan_destroy(scan);
        }
        scan_destroy(run_options(&options));
    }
}

static void trust_has_names_and_priorities(void **state) {
    (void)state;
    assert_string_equal(trust_name(TRUST_COMMUNITY), "community");
    assert_string_equal(trust_name(TRUST_OFFICIAL), "official");
    assert_string_equal(trust_name(TRUST_BUILTIN), "builtin");
    assert_int_equal(trust_priority(TRUST_COMMUNITY), TR_PRIORITY_COMMUNITY);
    assert_int_equal(trust_priority(TRUST_OFFICIAL), TR_PRIORITY_OFFICIAL);
    assert_int_equal(trust_priority(TRUST_BUILTIN), TR_PRIORITY_BUILTIN);
}

#define PLACE_TEST(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
            PLACE_TEST(names_come_in_byte_order),
            PLACE_TEST(many_names_come_in_byte_order),
            PLACE_TEST(a_row_says_what_the_file_is),
            PLACE_TEST(links_are_followed),
            PLACE_TEST(what_is_no_file_is_not_opened),
            PLACE_TEST(broken_files_are_rows),
            PLACE_TEST(unreadable_files_are_rows),
            PLACE_TEST(folders_that_may_not_be_read_are_trouble),
            PLACE_TEST(folders_that_cannot_be_used_are_trouble),
            PLACE_TEST(a_folder_is_scanned_once_at_its_first_place),
            PLACE_TEST(a_folder_with_too_many_files_is_cut),
            PLACE_TEST(ten_thousand_files),
            PLACE_TEST(a_file_that_changes_is_refused_and_not_cached),
            PLACE_TEST(a_change_of_any_kind_is_seen),
            PLACE_TEST(young_files_are_read_again),
            PLACE_TEST(what_comes_back_is_what_was_read),
            PLACE_TEST(descriptors_outlive_scan_and_cache),
            PLACE_TEST(the_cache_is_written_when_it_has_news),
            PLACE_TEST(other_folders_stay_in_the_cache),
            PLACE_TEST(the_cache_keeps_so_many_folders),
            PLACE_TEST(other_options_make_the_cache_anew),
            PLACE_TEST(a_cut_cache_is_made_anew),
            PLACE_TEST(a_cache_with_one_wrong_bit_is_made_anew),
            PLACE_TEST(a_pack_with_any_wrong_byte_is_sound_or_refused),
            PLACE_TEST(what_is_no_cache_file_is_not_read),
            PLACE_TEST(a_cache_that_cannot_be_written_is_a_log_line),
            PLACE_TEST(the_folder_of_the_cache_is_made),
            cmocka_unit_test(what_is_too_large_is_read_each_time),
            PLACE_TEST(threads_share_a_cache),
            PLACE_TEST(any_allocation_may_fail),
            cmocka_unit_test(trust_has_names_and_priorities),
    };
    return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
