/* The notes of the places of a user's other hosts: kept whole by the hosts that made them, and what
 * is not known of them is said. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "base/cleanup.h"
#include "config/elsewhere.h"
#include "remove-tree.h"

static char work[64];
static struct arena arena;
static struct elsewhere_list list;
static struct toolrack_error err;

static const char *below(const char *name) {
    return arena_printf(&arena, "%s/%s", work, name);
}

static void write_bytes(const char *path, const char *bytes, size_t length) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

static void make_folder(const char *name) {
    assert_int_equal(mkdir(below(name), 0700), 0);
}

static int set_up(void **state) {
    (void)state;
    /* To sync files takes no time where there is memory for them. */
    (void)snprintf(work, sizeof work, "%s/toolrack-elsewhere-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    arena_init(&arena, NULL, 0);
    assert_non_null(mkdtemp(work));
    make_folder("own");
    make_folder("other");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    arena_finish(&arena);
    return remove_tree(work);
}

/* A host with a state folder of its own; the user's own one is `own`. */
static struct places places_of(const char *state_dir) {
    return (struct places){.user_state = below("own"), .state_dir = below(state_dir)};
}

static void note(const char *state_dir) {
    const struct places places = places_of(state_dir);
    err = (struct toolrack_error){0};
    if (elsewhere_note(&places, &err) < 0) {
        fail_msg("%s", err.message);
    }
}

static void read_notes(void) {
    const struct places places = places_of("own");
    assert_int_equal(elsewhere_read(&places, &arena, &list, &err), 0);
}

static void expect_known(size_t count) {
    read_notes();
    if (list.unknown != NULL) {
        fail_msg("%s", list.unknown);
    }
    assert_int_equal(list.count, count);
}

static void expect_unknown(const char *says) {
    read_notes();
    if (list.unknown == NULL || strstr(list.unknown, says) == NULL) {
        fail_msg("'%s', not '%s'", list.unknown != NULL ? list.unknown : "all are known", says);
    }
}

/* The number of entries, drafts as well, and the path of one of them. */
static size_t find_note(char ret[512]) {
    size_t count = 0;
    DIR *dir = opendir(below("own/elsewhere"));
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            (void)snprintf(ret, 512, "%s/own/elsewhere/%s", work, entry->d_name);
            count++;
        }
    }
    (void)closedir(dir);
    return count;
}

/* As a host would, without its checks of the other notes. */
static void write_note_of(const char *state_dir) {
    static const char digits[] = "0123456789abcdef";
    char text[256];
    char name[2 * crypto_hash_sha256_BYTES + 1] = "";
    unsigned char hash[crypto_hash_sha256_BYTES];
    (void)snprintf(text, sizeof text, "s%s", below(state_dir));
    size_t length = strlen(text) + 1;
    (void)crypto_hash_sha256(hash, (const unsigned char *)text, length);
    for (size_t i = 0; i < sizeof hash; i++) {
        name[2 * i] = digits[hash[i] >> 4];
        name[2 * i + 1] = digits[hash[i] & 15];
    }
    write_bytes(arena_printf(&arena, "%s/own/elsewhere/%s", work, name), text, length);
}

/* ------------------------------------------------------------------- cases */

/* As after a power cut, or a disk that was full. */
static void a_damaged_note_is_told_and_repaired(void **state) {
    static const struct {
        const char *bytes;
        size_t length;
    } damages[] = {{"", 0}, {"\0\0\0\0", 4}, {"s/", 2}, {"s/else\0", 7}, {"text", 4}};
    char path[512];
    (void)state;
    note("other");
    expect_known(1);
    assert_string_equal(list.places[0].path, below("other"));
    assert_int_equal(find_note(path), 1);
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        write_bytes(path, damages[i].bytes, damages[i].length);
        expect_unknown(path);
        expect_unknown("is damaged");
        note("other");
        expect_known(1);
        assert_int_equal(find_note(path), 1);
    }
}

static void a_damaged_note_hides_no_other(void **state) {
    char path[512];
    (void)state;
    note("other");
    assert_int_equal(find_note(path), 1);
    write_bytes(path, "", 0);
    make_folder("third");
    note("third");
    read_notes();
    expect_unknown("is damaged");
    assert_int_equal(unlink(path), 0);
    expect_known(1);
    assert_string_equal(list.places[0].path, below("third"));
}

static void a_note_that_cannot_be_read_is_told(void **state) {
    char path[512];
    (void)state;
    note("other");
    assert_int_equal(find_note(path), 1);
    assert_int_equal(unlink(path) | symlink(path, path), 0);
    expect_unknown(path);
    note("other"); /* which replaces it */
    expect_known(1);
    assert_int_equal(unlink(path) | mkdir(path, 0700), 0);
    expect_unknown(path);
}

static void a_folder_that_cannot_be_read_is_told(void **state) {
    (void)state;
    write_bytes(below("own/elsewhere"), "", 0);
    expect_unknown("own/elsewhere");
    assert_int_equal(unlink(below("own/elsewhere")), 0);
    assert_int_equal(symlink("elsewhere", below("own/elsewhere")), 0);
    expect_unknown("own/elsewhere");
}

/* Of a user without other hosts, or without a home. */
static void where_no_notes_can_be_none_are_missing(void **state) {
    const struct places nowhere = {.user_state = "/dev/null/state"};
    (void)state;
    expect_known(0);
    assert_int_equal(elsewhere_read(&nowhere, &arena, &list, &err), 0);
    assert_null(list.unknown);
    assert_int_equal(remove_tree(below("own")), 0);
    expect_known(0);
}

static void other_files_are_no_notes(void **state) {
    (void)state;
    note("other");
    write_bytes(below("own/elsewhere/.1234-draft"), "", 0);
    write_bytes(below("own/elsewhere/README"), "mine", 4);
    expect_known(1);
}

/* Those of state folders that are gone do not count. */
static void too_many_notes_are_told(void **state) {
    (void)state;
    note("other");
    for (unsigned i = 1; i <= ELSEWHERE_NOTES_MAX; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "s%u", i);
        make_folder(name);
        write_note_of(name);
    }
    expect_unknown("more than 1024 hosts");
    assert_int_equal(rmdir(below("s7")), 0);
    expect_known(ELSEWHERE_NOTES_MAX);
    for (unsigned i = 8; i <= ELSEWHERE_NOTES_MAX; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "s%u", i);
        assert_int_equal(rmdir(below(name)), 0);
    }
    make_folder("third");
    note("third"); /* which removes theirs */
    expect_known(8);
}

/* A host that cannot note its places says so. */
static void places_that_do_not_fit_are_an_error(void **state) {
    static struct scan_folder folders[80];
    struct places places = places_of("other");
    char name[256];
    (void)state;
    make_folder("p");
    for (size_t i = 0; i < 80; i++) {
        char *path = arena_printf(&arena, "%s/p", work);
        for (size_t depth = 0; depth < 15; depth++) {
            memset(name, 'a' + (int)(i % 26), sizeof name);
            name[250] = (char)('A' + (int)(i / 26));
            name[251] = '\0';
            path = arena_printf(&arena, "%s/%s", path, name);
            (void)mkdir(path, 0700);
        }
        folders[i] = (struct scan_folder){.path = path, .trust = TRUST_COMMUNITY};
    }
    places.folders = folders;
    places.folder_count = 80;
    assert_int_equal(elsewhere_note(&places, &err), TOOLRACK_E_LIMIT_EXCEEDED);
    assert_non_null(strstr(err.message, "more than the 262144 of a note"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
            TEST(a_damaged_note_is_told_and_repaired),
            TEST(a_damaged_note_hides_no_other),
            TEST(a_note_that_cannot_be_read_is_told),
            TEST(a_folder_that_cannot_be_read_is_told),
            TEST(where_no_notes_can_be_none_are_missing),
            TEST(other_files_are_no_notes),
            TEST(too_many_notes_are_told),
            TEST(places_that_do_not_fit_are_an_error),
    };
    return cmocka_run_group_tests_name("elsewhere", tests, NULL, NULL);
}
