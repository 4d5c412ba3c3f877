/* The index of packages: what is read, what is refused, and which entry is meant. */
#include <sys/stat.h>

#include "failing-malloc.h"
#include "package/index.h"
#include "package/layout.h"

#include "package-test.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define BEGIN                                                          \
    "{\"toolrack_index\": 1, \"number\": 3, \"created\": "             \
    "\"2026-01-01T00:00:00Z\", \"expires\": \"2026-04-01T00:00:00Z\"," \
    "\"packages\": ["
#define ENTRY(id, version)                         \
    "{\"id\": \"" id "\", \"version\": \"" version \
    "\", \"file\": \"a.trp\", \"size\": 9, \"sha256\": \"" HASH "\"}"

static void read_index(const char *text, struct package_index *ret) {
    if (index_read(text, strlen(text), "here", ret, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static void refuse(const char *text, const char *part) {
    struct package_index index;
    assert_true(index_read(text, strlen(text), "here", &index, &err) < 0);
    if (strstr(err.message, part) == NULL || strstr(err.message, "here") == NULL) {
        fail_msg("%s (expected \"%s\")", err.message, part);
    }
}

static const char *version_of(const struct package_index *index, const char *id,
                              const char *version) {
    const struct index_entry *entry = index_find(index, id, version);
    return entry != NULL ? entry->version : "none";
}

static void the_highest_release_is_meant(void **state) {
    (void)state;
    struct package_index index;
    read_index(BEGIN ENTRY("b", "1.2.0") "," ENTRY("b", "2.0.0-rc.1") "," ENTRY(
                       "b", "1.10.0") "," ENTRY("a", "0.1.0-alpha") "]}",
               &index);
    assert_int_equal(index.number, 3);
    assert_int_equal(index.expires_s - index.created_s, 90 * 86400);
    assert_string_equal(version_of(&index, "b", NULL), "1.10.0");
    assert_string_equal(version_of(&index, "b", "~1.2"), "1.2.0");
    assert_string_equal(version_of(&index, "b", "2.0.0-rc.1"), "2.0.0-rc.1");
    assert_string_equal(version_of(&index, "b", "^3"), "none");
    assert_string_equal(version_of(&index, "b", "newest"), "none");
    assert_string_equal(version_of(&index, "a", NULL), "0.1.0-alpha");
    assert_string_equal(version_of(&index, "c", NULL), "none");
    index_finish(&index);
}

static void words_are_looked_for_in_ids_and_tools(void **state) {
    (void)state;
    struct package_index index;
    read_index(BEGIN
               "{\"id\": \"org.example.parcel\", \"version\": \"1.0.0\", \"file\": \"a.trp\", "
               "\"size\": 9, \"sha256\": \"" HASH "\", \"tools\": [{\"name\": \"weigh\", "
               "\"description\": \"How heavy a Parcel is\"}]}]}",
               &index);
    const struct index_entry *entry = &index.entries[0];
    assert_true(index_matches(entry, ""));
    assert_true(index_matches(entry, "  WEIGH  example "));
    assert_true(index_matches(entry, "heavy"));
    assert_false(index_matches(entry, "heavy elephant"));
    index_finish(&index);
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    refuse("", "no JSON");
    refuse("[]", "no \"toolrack_index\"");
    refuse("{\"toolrack_index\": 2}", "newer toolrack");
    refuse("{\"toolrack_index\": 1, \"number\": -1}", "\"number\"");
    refuse("{\"toolrack_index\": 1, \"number\": 1, \"created\": \"2026-01-01T00:00:00Z\", "
           "\"expires\": \"2026-02-30T00:00:00Z\"}",
           "\"expires\" must be times");
    refuse("{\"toolrack_index\": 1, \"number\": 1, \"created\": \"2026-01-01T00:00:00Z\", "
           "\"expires\": \"2026-02-01T00:00:00Z\"}",
           "\"packages\" must be an array");
    refuse(BEGIN ENTRY("a", "1.0.0") "," ENTRY("a", "1.0.0") "]}", "a 1.0.0 twice");
    refuse(BEGIN ENTRY("../a", "1.0.0") "]}", "package 1: \"id\"");
    refuse(BEGIN ENTRY("a", "1.0.0") "," ENTRY("a", "v1") "]}", "package 2: \"version\"");
    refuse(BEGIN ENTRY("a", "1.0.0") "], \"number\": 4}", "/number stands there twice");
    refuse(BEGIN "{\"file\": \"b.trp\", \"id\": \"a\", \"version\": \"1.0.0\", \"file\": "
                 "\"a.trp\", \"size\": 9, \"sha256\": \"" HASH "\"}]}",
           "/packages/0/file stands there twice");
    static const char *const files[] = {"/a.trp", "../a.trp", "b/../a.trp", "b//a.trp",
                                        "a.trp/", ".a.trp",   "b\\\\a.trp", "http://c/a.trp",
                                        "",       "a trp"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text,
                       BEGIN
                       "{\"id\": \"a\", \"version\": \"1.0.0\", \"file\": \"%s\", \"size\": 9, "
                       "\"sha256\": \"" HASH "\"}]}",
                       files[i]);
        refuse(text, "\"file\" must be");
    }
}

static void what_was_written_is_read(void **state) {
    (void)state;
    struct package_index index;
    struct package_index again;
    struct buf text = BUF_INIT;
    read_index(BEGIN ENTRY("b", "1.2.0") "," ENTRY("a", "1.0.0+build") "]}", &index);
    index_write(&text, index.number + 1, index.created_s, index.expires_s, index.entries,
                index.count);
    assert_false(text.failed);
    read_index(text.data, &again);
    assert_int_equal(again.number, 4);
    assert_int_equal(again.expires_s, index.expires_s);
    assert_string_equal(again.entries[0].id, "a");
    assert_string_equal(again.entries[1].sha256, HASH);
    buf_finish(&text);
    index_finish(&index);
    index_finish(&again);
}

static void memory_may_run_out(void **state) {
    (void)state;
    static const char text[] = BEGIN ENTRY("b", "1.2.0") "," ENTRY("a", "1.0.0") "]}";
    bool hit = true;
    for (unsigned n = 1; hit; n++) {
        struct package_index index;
        failing_malloc_set(n);
        int code = index_read(text, sizeof text - 1, "here", &index, &err);
        hit = failing_malloc_hit();
        failing_malloc_set(0);
        assert_int_equal(code, hit ? TOOLRACK_E_NO_MEMORY : 0);
        if (code == 0) {
            index_finish(&index);
        }
    }
}

/* ------------------------------------------------------------------- layout */

static void open_layout(struct layout *ret) {
    char path[128];
    (void)snprintf(path, sizeof path, "%s/packages", dir);
    if (layout_open_to_change(path, ret, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static void put(const struct layout *layout, const char *version, struct installed *ret) {
    char incoming[LAYOUT_PATH_MAX];
    char name[LAYOUT_PATH_MAX + 8];
    struct buf text = BUF_INIT;
    *ret = (struct installed){.trust = TRUST_COMMUNITY, .plugin = "p.so", .since_s = 1};
    (void)snprintf(ret->id, sizeof ret->id, "a.b");
    (void)snprintf(ret->version, sizeof ret->version, "%s", version);
    int folder;
    assert_int_equal(layout_begin(layout, incoming, &folder, &err), 0);
    (void)snprintf(name, sizeof name, "%s/p.so", incoming);
    buf_add_text(&text, version);
    assert_int_equal(layout_write(layout, name, &text, &err), 0);
    buf_finish(&text);
    if (layout_install(layout, incoming, ret, &err) < 0) {
        fail_msg("%s", err.message);
    }
    assert_int_equal(close(folder), 0);
}

static void only_some_earlier_versions_are_kept(void **state) {
    (void)state;
    struct layout layout;
    struct installed one;
    struct installed last;
    char version[32];
    open_layout(&layout);
    for (int i = 0; i < 8; i++) {
        (void)snprintf(version, sizeof version, "1.%d.0", i);
        put(&layout, version, &one);
    }
    layout_collect(&layout);
    for (unsigned i = 0; i < LAYOUT_KEEP_MAX; i++) {
        assert_int_equal(layout_go_back(&layout, &one, &last, &err), 0);
        one = last;
    }
    assert_string_equal(one.version, "1.3.0");
    assert_int_equal(layout_go_back(&layout, &one, &last, &err), TOOLRACK_E_NOT_FOUND);
    assert_true(layout_was_left(&layout, "a.b", "1.7.0"));
    assert_false(layout_was_left(&layout, "a.b", "1.3.0"));
    assert_int_equal(layout_find(&layout, "a.b", &last, &err), 0);
    assert_string_equal(last.version, "1.3.0");
    layout_finish(&layout);
}

static void one_process_installs_at_a_time(void **state) {
    (void)state;
    struct layout layout;
    struct layout other;
    struct installed one;
    char path[128];
    open_layout(&layout);
    (void)snprintf(path, sizeof path, "%s/packages", dir);
    assert_int_equal(layout_open_to_change(path, &other, &err), TOOLRACK_E_EXISTS);
    assert_int_equal(layout_open(path, &other, &err), 0); /* to read it, anybody may */
    put(&layout, "1.0.0", &one);
    assert_int_equal(layout_find(&other, "a.b", &one, &err), 0);
    layout_finish(&other);
    layout_finish(&layout);
}

/* Somebody has unpacked a package, and asks a person about it. */
static void what_is_made_outlasts_the_lock(void **state) {
    (void)state;
    struct layout layout;
    struct layout other;
    char incoming[LAYOUT_PATH_MAX];
    int folder;
    open_layout(&layout);
    assert_int_equal(layout_begin(&layout, incoming, &folder, &err), 0);
    layout_unlock(&layout);
    open_layout(&other);
    assert_int_equal(faccessat(other.root, incoming, F_OK, 0), 0);
    layout_finish(&other);
    assert_int_equal(close(folder), 0); /* he has ended */
    open_layout(&other);
    assert_int_equal(faccessat(other.root, incoming, F_OK, 0), -1);
    layout_finish(&other);
    layout_finish(&layout);
}

static void what_others_could_change_is_not_used(void **state) {
    (void)state;
    struct layout layout;
    char path[128];
    open_layout(&layout);
    layout_finish(&layout);
    (void)snprintf(path, sizeof path, "%s/packages", dir);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(layout_open(path, &layout, &err), TOOLRACK_E_REFUSED);
    assert_int_equal(layout_open_to_change(path, &layout, &err), TOOLRACK_E_REFUSED);
}

/* A link that was put there by hand leads nowhere: nothing is read by it. */
static void links_of_others_are_no_packages(void **state) {
    (void)state;
    struct layout layout;
    struct installed one;
    static const char *const targets[] = {"/etc/passwd", "../content/other/1.0.0.x/p.so",
                                          "../content/a.b/../../../x/p.so", "../content/a.b/1.0.0"};
    open_layout(&layout);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        assert_int_equal(symlinkat(targets[i], layout.root, "community/a.b.so"), 0);
        assert_int_equal(layout_find(&layout, "a.b", &one, &err), TOOLRACK_E_IO);
        assert_int_equal(unlinkat(layout.root, "community/a.b.so", 0), 0);
    }
    assert_int_equal(layout_find(&layout, "../a", &one, &err), TOOLRACK_E_NOT_FOUND);
    layout_finish(&layout);
}

int main(void) {
#define IN_A_FOLDER(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(the_highest_release_is_meant),
            cmocka_unit_test(words_are_looked_for_in_ids_and_tools),
            cmocka_unit_test(what_is_wrong_is_said),
            cmocka_unit_test(what_was_written_is_read),
            cmocka_unit_test(memory_may_run_out),
            IN_A_FOLDER(only_some_earlier_versions_are_kept),
            IN_A_FOLDER(one_process_installs_at_a_time),
            IN_A_FOLDER(what_is_made_outlasts_the_lock),
            IN_A_FOLDER(what_others_could_change_is_not_used),
            IN_A_FOLDER(links_of_others_are_no_packages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
