/* Where the loader searches for the libraries of a file, from copies of one fixture with other run
 * paths. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "plugin/elf-dynamic.h"
#include "plugin/run-path.h"
#include "remove-tree.h"

#include <cmocka.h>

static char work[64];

/* What was told, a line for each: "folder PATH" or "library PATH", with paths below the folder. */
static char told[4096];

static int make_work(void **state) {
    (void)state;
    (void)snprintf(work, sizeof work, "/tmp/toolrack-run-path-XXXXXX");
    assert_non_null(mkdtemp(work));
    told[0] = '\0';
    return 0;
}

static int remove_work(void **state) {
    (void)state;
    return remove_tree(work);
}

/* A shared object that needs the C library, with a run path. */
static void put(const char *name, const char *run_path) {
    static const char placeholder[] = "/run-path-of-a-test/";
    static char bytes[1 << 20];
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", work, name);
    char *slash = strrchr(path, '/');
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
    FILE *from = fopen(TEST_PLUGINS "/claim-run-path.so", "re");
    FILE *to = fopen(path, "we");
    assert_true(from != NULL && to != NULL);
    size_t length = fread(bytes, 1, sizeof bytes, from);
    char *at = memmem(bytes, length, placeholder, strlen(placeholder));
    assert_non_null(at);
    assert_true(strlen(run_path) <= strlen(at));
    memcpy(at, run_path, strlen(run_path) + 1);
    assert_int_equal(fwrite(bytes, 1, length, to), length);
    (void)fclose(from);
    assert_int_equal(fclose(to), 0);
}

static bool take(void *user, bool is_folder, const char *path) {
    size_t length = strlen(told);
    const char *below = strncmp(path, work, strlen(work)) == 0 ? path + strlen(work) : path;
    (void)snprintf(told + length, sizeof told - length, "%s %s\n", is_folder ? "folder" : "library",
                   below);
    return user == NULL;
}

static void list(const char *name, bool is_loaded, const char *expected) {
    char path[256];
    told[0] = '\0';
    (void)snprintf(path, sizeof path, "%s/%s", work, name);
    assert_int_equal(run_path_list(path, is_loaded, take, NULL), 0);
    assert_string_equal(told, expected);
}

static const char *both(const char *one, const char *other, char room[256]) {
    (void)snprintf(room, 256, "%s/%s:%s/%s", work, one, work, other);
    return room;
}

static void folders_are_told_with_the_libraries_in_them(void **state) {
    char room[256];
    (void)state;
    put("plugin.so", both("empty", "lib", room));
    put("lib/libc.so.6", "$ORIGIN/../more:/somewhere/else");
    put("more/other.so", "/nowhere");
    list("plugin.so", false,
         "folder /empty\nfolder /lib\nlibrary /lib/libc.so.6\n"
         "folder /lib/../more\nfolder /somewhere/else\n");
}

/* The host loads a copy of a plugin, so it is not where the plugin is. */
static void origin_is_the_folder_of_what_is_loaded(void **state) {
    (void)state;
    put("file.so", "$ORIGIN/lib:${ORIGIN}");
    list("file.so", false, "");
    list("file.so", true, "folder /lib\nfolder \n");
}

static void other_variables_end_the_folder(void **state) {
    (void)state;
    put("file.so", "/opt/mine/$LIB/x");
    list("file.so", false, "folder /opt/mine\n");
}

static void expect(const char *entry, const char *origin, const char *expected) {
    char path[PATH_MAX];
    bool counts = run_path_expand(entry, strlen(entry), origin, path);
    assert_int_equal(counts, expected != NULL);
    if (counts) {
        assert_string_equal(path, expected);
    }
}

static void an_entry_is_expanded_as_by_the_loader(void **state) {
    (void)state;
    expect("$ORIGIN/../lib", "/opt/host", "/opt/host/../lib");
    expect("${ORIGIN}", "/opt/host", "/opt/host");
    expect("$ORIGIN", NULL, NULL);
    expect("/a/b$LIB/c", "/opt", "/a");
    expect("/a$LIB", "/opt", "/");
    expect("/a/b/$LIB/../../../home", "/opt", "/"); /* how far up is not known */
    expect("$ORIGIN/x/$PLATFORM/y", "/opt", "/opt/x");
    expect("/a/../b", "/opt", "/a/../b");
}

/* What is found in a plugin file with a run path. */
static bool is_taken(const char *run_path) {
    struct arena arena;
    struct findings findings;
    struct elf elf;
    char path[256];
    put("file.so", run_path);
    (void)snprintf(path, sizeof path, "%s/file.so", work);
    arena_init(&arena, NULL, 0);
    findings_init(&findings, &arena);
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(elf_init(&elf, fd, &findings), 0);
    assert_int_equal(elf_read_dynamic(&elf), 0);
    bool is_sound = run_path_check(&elf, &findings);
    assert_true(is_sound == (findings.count == 0));
    elf_finish(&elf);
    arena_finish(&arena);
    return is_sound;
}

/* A copy of the plugin is loaded, from a folder of the host: what leads out of that is nobody's. */
static void a_run_path_that_leaves_the_folder_of_the_copy_is_refused(void **state) {
    static const char *const refused[] = {"$ORIGIN/..",       "$ORIGIN/../../lib",
                                          "${ORIGIN}/../lib", "/opt:$ORIGIN/a/../../b",
                                          "$ORIGIN..",        "$ORIGIN.x/y",
                                          "/a/$LIB/../b",     "/../a/$ORIGIN",
                                          "/a$ORIGIN/..",     "$ORIGIN/$LIB/../../../../x"};
    static const char *const taken[] = {"",
                                        "$ORIGIN",
                                        "$ORIGIN/lib",
                                        "${ORIGIN}/lib/..x",
                                        "/opt/../lib",
                                        "/opt/$LIB",
                                        "/tmp:$ORIGIN:/proc/self/cwd"};
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        if (is_taken(refused[i])) {
            fail_msg("%s", refused[i]);
        }
    }
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
        if (!is_taken(taken[i])) {
            fail_msg("%s", taken[i]);
        }
    }
}

/* The dynamic section of a fixture, changed: what the loader might read otherwise than the host. */
static bool is_taken_with(int64_t from, int64_t to, uint64_t value) {
    struct arena arena;
    struct findings findings;
    struct elf elf;
    char path[256];
    (void)snprintf(path, sizeof path, "%s/file.so", work);
    put("file.so", "/opt");
    arena_init(&arena, NULL, 0);
    findings_init(&findings, &arena);
    CLEANUP(closep) int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(elf_init(&elf, fd, &findings), 0);
    assert_int_equal(elf_read_dynamic(&elf), 0);
    unsigned char *table = (unsigned char *)(uintptr_t)elf_at(
            &elf, elf.dynamic.address, elf.dynamic.count * sizeof(Elf64_Dyn));
    bool is_changed = false;
    for (uint64_t i = 0; !is_changed && i < elf.dynamic.count; i++) {
        Elf64_Dyn one;
        memcpy(&one, table + i * sizeof one, sizeof one);
        if (one.d_tag == from) {
            one.d_tag = to;
            one.d_un.d_val = value != 0 ? value : one.d_un.d_val;
            memcpy(table + i * sizeof one, &one, sizeof one);
            is_changed = true;
        }
    }
    assert_true(is_changed);
    bool is_sound = run_path_check(&elf, &findings);
    elf_finish(&elf);
    arena_finish(&arena);
    return is_sound;
}

static void what_leads_the_loader_can_be_read(void **state) {
    (void)state;
    assert_true(is_taken_with(DT_RUNPATH, DT_RPATH, 0));
    assert_false(is_taken_with(DT_NEEDED, DT_RUNPATH, 0)); /* two: the loader follows the last */
    assert_false(is_taken_with(DT_RUNPATH, DT_RUNPATH, UINT64_C(1) << 40)); /* not in DT_STRTAB */
    assert_false(is_taken_with(DT_NEEDED, DT_NEEDED, UINT64_C(1) << 40));
    assert_false(is_taken_with(DT_NEEDED, DT_FILTER, UINT64_C(1) << 40));
}

static void relative_folders_are_of_the_process(void **state) {
    char here[256];
    char expected[300];
    (void)state;
    put("file.so", "lib");
    assert_non_null(getcwd(here, sizeof here));
    (void)snprintf(expected, sizeof expected, "folder %s/lib\n", here);
    list("file.so", false, expected);
}

static void libraries_that_need_each_other_end(void **state) {
    char room[256];
    (void)state;
    put("file.so", both("lib", "lib", room));
    put("lib/libc.so.6", "$ORIGIN");
    list("file.so", false, "folder /lib\nfolder /lib\nlibrary /lib/libc.so.6\nfolder /lib\n");
}

static void what_is_no_library_has_none(void **state) {
    char path[256];
    (void)state;
    (void)snprintf(path, sizeof path, "%s/text.so", work);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    (void)fputs("text", file);
    (void)fclose(file);
    list("text.so", true, "");
    list("missing.so", true, "");
}

static void the_search_ends_when_told(void **state) {
    char path[256];
    char room[256];
    int any = 0;
    (void)state;
    put("file.so", both("one", "two", room));
    (void)snprintf(path, sizeof path, "%s/file.so", work);
    assert_int_equal(run_path_list(path, false, take, &any), 0);
    assert_string_equal(told, "folder /one\n");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_work, remove_work)
    const struct CMUnitTest tests[] = {
            TEST(folders_are_told_with_the_libraries_in_them),
            TEST(origin_is_the_folder_of_what_is_loaded),
            TEST(other_variables_end_the_folder),
            TEST(an_entry_is_expanded_as_by_the_loader),
            TEST(a_run_path_that_leaves_the_folder_of_the_copy_is_refused),
            TEST(what_leads_the_loader_can_be_read),
            TEST(relative_folders_are_of_the_process),
            TEST(libraries_that_need_each_other_end),
            TEST(what_is_no_library_has_none),
            TEST(the_search_ends_when_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
