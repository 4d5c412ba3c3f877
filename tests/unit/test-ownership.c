/* Whether other users could change a file, or exchange what a path leads to. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "access-list.h"
#include "base/acl.h"
#include "base/error.h"
#include "base/own-folder.h"
#include "base/ownership.h"
#include "base/private-group.h"

/* A user and a group that are not the test's. */
#define STRANGER 12345

struct place {
    char root[64];
    char file[128]; /* root/folder/file */
    char folder[96];
};

static int set_up(void **state) {
    struct place *place = calloc(1, sizeof *place);
    assert_non_null(place);
    (void)snprintf(place->root, sizeof place->root, "/tmp/toolrack-ownership-XXXXXX");
    assert_non_null(mkdtemp(place->root));
    (void)snprintf(place->folder, sizeof place->folder, "%s/folder", place->root);
    (void)snprintf(place->file, sizeof place->file, "%s/file", place->folder);
    assert_int_equal(mkdir(place->folder, 0755), 0);
    FILE *file = fopen(place->file, "w");
    assert_non_null(file);
    (void)fclose(file);
    assert_int_equal(
            chmod(place->root, 0755) | chmod(place->folder, 0755) | chmod(place->file, 0644), 0);
    *state = place;
    return 0;
}

static int tear_down(void **state) {
    struct place *place = *state;
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf %s", place->root);
    assert_int_equal(system(command), 0);
    free(place);
    return 0;
}

static void need_root(void) {
    if (geteuid() != 0) {
        print_message("# skipped: only root gives files away\n");
        skip();
    }
}

static void assert_accepted(const char *path) {
    struct toolrack_error err = {0};
    int code = ownership_check(path, &err);
    if (code != 0) {
        fail_msg("%s: %d, %s", path, code, err.message);
    }
}

static void assert_refused(const char *path, const char *words) {
    struct toolrack_error err = {0};
    assert_int_equal(ownership_check(path, &err), TOOLRACK_E_REFUSED);
    if (strstr(err.message, words) == NULL) {
        fail_msg("\"%s\" does not contain \"%s\"", err.message, words);
    }
}

static void what_only_the_user_may_write_is_accepted(void **state) {
    const struct place *place = *state;
    assert_accepted(place->file);
    assert_accepted(place->folder);
    assert_accepted("/");
}

static void what_everybody_may_write_is_refused(void **state) {
    const struct place *place = *state;
    assert_int_equal(chmod(place->file, 0646), 0);
    assert_refused(place->file, "folder/file (mode 0646); chmod go-w it");
    assert_accepted(place->folder);
    assert_int_equal(chmod(place->file, 0644) | chmod(place->folder, 0777), 0);
    assert_refused(place->file, "folder (mode 0777) and exchange what is loaded from below it");
    assert_int_equal(chmod(place->folder, 0755) | chmod(place->root, 0777), 0);
    assert_refused(place->file, "(mode 0777)");
}

/* Only the owner of an entry of a sticky folder can exchange it, but anybody can add one. */
static void a_sticky_folder_is_accepted_on_the_way_only(void **state) {
    const struct place *place = *state;
    assert_int_equal(chmod(place->root, 01777), 0);
    assert_accepted(place->file);
    assert_accepted(place->folder);
    assert_refused(place->root, "(mode 1777)");
}

static void what_belongs_to_another_user_is_refused(void **state) {
    const struct place *place = *state;
    need_root();
    assert_int_equal(chown(place->file, STRANGER, 0), 0);
    assert_refused(place->file, "belongs to user 12345, who could change it");
    assert_int_equal(chown(place->file, 0, 0) | chown(place->folder, STRANGER, 0), 0);
    assert_refused(place->file, "belongs to user 12345, who could exchange");
    assert_int_equal(chmod(place->root, 01777), 0);
    assert_refused(place->file, "belongs to user 12345, who could exchange");
}

static void a_group_that_has_other_members_is_refused(void **state) {
    const struct place *place = *state;
    need_root();
    assert_int_equal(chmod(place->file, 0664), 0);
    if (private_group_is_own(getegid())) {
        assert_accepted(place->file);
    }
    assert_int_equal(chown(place->file, 0, STRANGER), 0);
    assert_refused(place->file, "(mode 0664)");
    assert_int_equal(chmod(place->file, 0644), 0);
    assert_accepted(place->file);
}

/* A user who is not root trusts root and itself, and no group of root. */
static void another_user_trusts_root_but_not_its_group(void **state) {
    const struct place *place = *state;
    need_root();
    pid_t child = fork();
    if (child == 0) {
        struct toolrack_error err;
        int wrong = setgroups(0, NULL) | setgid(STRANGER) | setuid(STRANGER);
        wrong |= ownership_check(place->file, &err) != 0;
        _exit(wrong);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(chmod(place->file, 0664), 0);
    child = fork();
    if (child == 0) {
        struct toolrack_error err;
        int wrong = setgroups(0, NULL) | setgid(STRANGER) | setuid(STRANGER);
        wrong |= ownership_check(place->file, &err) != TOOLRACK_E_REFUSED;
        _exit(wrong);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void links_are_followed_and_what_they_lead_through_is_checked(void **state) {
    const struct place *place = *state;
    char link[128];
    char loop[128];
    char relative[160];
    struct toolrack_error err;
    (void)snprintf(link, sizeof link, "%s/link", place->root);
    (void)snprintf(loop, sizeof loop, "%s/loop", place->root);
    (void)snprintf(relative, sizeof relative, "%s/folder/../link", place->root);
    assert_int_equal(symlink("folder/./file", link) | symlink("loop", loop), 0);
    assert_accepted(link);
    assert_accepted(relative);
    assert_int_equal(ownership_check(loop, &err), TOOLRACK_E_IO);
    assert_int_equal(chmod(place->folder, 0777), 0);
    assert_refused(link, "folder (mode 0777)");
    assert_int_equal(chmod(place->folder, 0755), 0);
    if (geteuid() == 0) {
        assert_int_equal(chmod(place->root, 01777) | lchown(link, STRANGER, 0), 0);
        assert_refused(link, "link belongs to user 12345, who could change it");
    }
}

static void a_relative_path_begins_in_the_present_folder(void **state) {
    const struct place *place = *state;
    struct toolrack_error err;
    char here[512];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(place->folder), 0);
    assert_accepted("file");
    assert_int_equal(ownership_check("nothing", &err), TOOLRACK_E_NOT_FOUND);
    assert_int_equal(chmod(place->folder, 0777), 0);
    assert_refused("file", "folder (mode 0777)");
    assert_int_equal(chdir(here), 0);
}

/* ------------------------------------------------------- access control lists */

/* The mode shows the mask of the list as the rights of the group. */
static void another_user_in_a_list_is_refused(void **state) {
    const struct place *place = *state;
    assert_int_equal(access_list_give(place->file, ACCESS_LIST, STRANGER, 6, 7), 0);
    assert_refused(place->file, "folder/file (mode 0775, with an access control list); chmod go-w");
    /* What the message says helps. */
    assert_int_equal(chmod(place->file, 0755), 0);
    assert_accepted(place->file);
    assert_int_equal(access_list_give(place->folder, ACCESS_LIST, STRANGER, 7, 7), 0);
    assert_refused(place->file, "folder (mode 0775, with an access control list) and exchange");
    assert_int_equal(removexattr(place->folder, ACCESS_LIST) | chmod(place->folder, 0755), 0);
    assert_accepted(place->file);
}

static void a_list_that_lets_nobody_else_write_is_accepted(void **state) {
    const struct place *place = *state;
    assert_int_equal(access_list_give(place->file, ACCESS_LIST, STRANGER, 7, 5), 0);
    assert_accepted(place->file); /* the mask */
    assert_int_equal(access_list_give(place->file, ACCESS_LIST, STRANGER, 5, 7), 0);
    assert_accepted(place->file); /* may read */
    assert_int_equal(access_list_give(place->file, ACCESS_LIST, geteuid(), 7, 7), 0);
    assert_accepted(place->file);
    assert_int_equal(access_list_give(place->file, ACCESS_LIST, 0, 7, 7), 0);
    assert_accepted(place->file);
    assert_int_equal(access_list_give(place->root, ACCESS_LIST, STRANGER, 7, 7), 0);
    assert_int_equal(chmod(place->root, 01775), 0);
    assert_accepted(place->file); /* a sticky folder on the way */
}

/* It gives no right to the folder, and what is made in there has a list of its own. */
static void what_a_default_list_gives_is_seen_at_the_file(void **state) {
    const struct place *place = *state;
    assert_int_equal(access_list_give(place->folder, DEFAULT_LIST, STRANGER, 7, 7), 0);
    assert_accepted(place->file);
    assert_int_equal(unlink(place->file), 0);
    int fd = open(place->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_accepted(place->file); /* as the host makes its files */
    assert_int_equal(unlink(place->file), 0);
    fd = open(place->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    assert_true(fd >= 0);
    (void)close(fd);
    assert_refused(place->file, "file (mode 0664, with an access control list)");
}

/* Groups of other users, as any group that is not the user's own. */
static void a_list_is_understood_or_refused(void **state) {
    (void)state;
    enum { LET, KEEP };
    static const struct {
        const char *what;
        int others;
        uint32_t version;
        size_t count;
        struct access_entry entries[ACCESS_MOST];
    } lists[] = {
            {"nobody but the owner", KEEP, 2, 3, {{1, 7, ~0u}, {4, 5, ~0u}, {32, 5, ~0u}}},
            {"the owning group", LET, 2, 3, {{1, 7, ~0u}, {4, 7, ~0u}, {32, 5, ~0u}}},
            {"the owning group, masked",
             KEEP,
             2,
             4,
             {{1, 7, ~0u}, {4, 7, ~0u}, {16, 5, ~0u}, {32, 5, ~0u}}},
            {"everybody", LET, 2, 3, {{1, 7, ~0u}, {4, 5, ~0u}, {32, 2, ~0u}}},
            {"everybody, whom no mask is for",
             LET,
             2,
             4,
             {{1, 7, ~0u}, {4, 5, ~0u}, {16, 5, ~0u}, {32, 7, ~0u}}},
            {"a user",
             LET,
             2,
             5,
             {{1, 7, ~0u}, {2, 2, STRANGER}, {4, 5, ~0u}, {16, 7, ~0u}, {32, 5, ~0u}}},
            {"a user, masked",
             KEEP,
             2,
             5,
             {{1, 7, ~0u}, {2, 7, STRANGER}, {4, 5, ~0u}, {16, 5, ~0u}, {32, 5, ~0u}}},
            {"a user without a mask", LET, 2, 2, {{1, 7, ~0u}, {2, 7, STRANGER}}},
            {"a user that nobody knows", LET, 2, 3, {{1, 7, ~0u}, {2, 7, ~0u}, {16, 7, ~0u}}},
            {"root", KEEP, 2, 3, {{1, 7, ~0u}, {2, 7, 0}, {16, 7, ~0u}}},
            {"the last of several",
             LET,
             2,
             5,
             {{1, 7, ~0u}, {2, 7, 0}, {2, 5, 7}, {2, 7, STRANGER}, {16, 7, ~0u}}},
            {"a group", LET, 2, 3, {{1, 7, ~0u}, {8, 7, STRANGER}, {16, 7, ~0u}}},
            {"a group, masked", KEEP, 2, 3, {{1, 7, ~0u}, {8, 7, STRANGER}, {16, 5, ~0u}}},
            {"two masks", LET, 2, 4, {{1, 7, ~0u}, {2, 7, STRANGER}, {16, 7, ~0u}, {16, 5, ~0u}}},
            {"an unknown entry", LET, 2, 2, {{1, 7, ~0u}, {64, 0, ~0u}}},
            {"two tags in one", LET, 2, 2, {{1, 7, ~0u}, {3, 0, ~0u}}},
            {"unknown rights", LET, 2, 2, {{1, 7, ~0u}, {2, 8, 0}}},
            {"an unknown version", LET, 3, 1, {{1, 7, ~0u}}},
            {"a version of two bytes", LET, 0x102, 1, {{1, 7, ~0u}}},
            {"nothing", KEEP, 2, 0, {{0, 0, 0}}},
    };
    uint8_t bytes[ACCESS_SIZE(ACCESS_MOST)];
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        size_t size = access_list_bytes(lists[i].version, lists[i].entries, lists[i].count, bytes);
        if (acl_posix_lets_others_write(bytes, size, STRANGER) != (lists[i].others == LET)) {
            fail_msg("%s", lists[i].what);
        }
        /* Anything cut off is not understood, but between entries: there others may be let. */
        for (size_t cut = 0; cut < size; cut++) {
            uint8_t *exact = malloc(cut == 0 ? 1 : cut);
            assert_non_null(exact);
            memcpy(exact, bytes, cut);
            bool lets = acl_posix_lets_others_write(exact, cut, STRANGER);
            assert_true(lets || (cut >= 4 && (cut - 4) % 8 == 0));
            free(exact);
        }
    }
}

/* ------------------------------------------------------------- private groups */

struct system {
    const char *what;
    bool is_private; /* group 1002 is that of user 1002, alice */
    const char *users;
    const char *groups;
    const char *sources; /* NULL: no such file */
};

#define ROOT  "root:x:0:0:root:/root:/bin/sh\n"
#define ALICE "alice:x:1002:1002::/home/alice:/bin/sh\n"

static void write_text(const char *folder, const char *name, const char *text, char ret[128]) {
    (void)snprintf(ret, 128, "%s/%s", folder, name);
    (void)unlink(ret);
    if (text != NULL) {
        FILE *file = fopen(ret, "w");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
}

static bool is_private_in(const struct place *place, const struct system *system) {
    char users[128];
    char groups[128];
    char sources[128];
    write_text(place->folder, "passwd", system->users, users);
    write_text(place->folder, "group", system->groups, groups);
    write_text(place->folder, "nsswitch.conf", system->sources, sources);
    return private_group_in(&(struct private_group_files){users, groups, sources}, 1002, 1002);
}

static void a_group_is_private_if_the_files_say_so(void **state) {
    static const struct system systems[] = {
            {"its own", true, ROOT ALICE, "root:x:0:\nalice:x:1002:\n", NULL},
            {"listed in it", true, ROOT ALICE, "alice:x:1002:alice\n", "passwd: files systemd\n"},
            {"a second name", true, ALICE "al:x:1002:1002:::\n", "alice:x:1002:\n", NULL},
            {"lines that are none", true, "#\nnonsense\n" ALICE, "\n::\nalice:x:1002:\n", NULL},
            {"another member", false, ROOT ALICE, "alice:x:1002:alice,eve\n", NULL},
            {"the primary one of another", false, ALICE "mallory:x:1003:1002:::\n",
             "alice:x:1002:\n", NULL},
            {"of another, who is first", false, "mallory:x:1003:1002:::\n" ALICE, "alice:x:1002:\n",
             NULL},
            {"another name", false, ROOT ALICE, "users:x:1002:\n", NULL},
            {"another group of the user", false, "alice:x:1002:100:::\n", "alice:x:1002:\n", NULL},
            {"two groups of the number", false, ALICE, "alice:x:1002:\nstaff:x:1002:eve\n", NULL},
            {"no user", false, ROOT, "alice:x:1002:\n", NULL},
            {"no group", false, ALICE, "root:x:0:\n", NULL},
            {"no users", false, NULL, "alice:x:1002:\n", NULL},
            {"no groups", false, ALICE, NULL, NULL},
            {"of Debian", true, ALICE, "alice:x:1002:\n",
             "# users\npasswd:\t\tfiles systemd\ngroup: files systemd # all\nhosts: files dns\n"
             "initgroups: files [SUCCESS=continue] systemd\n"},
            {"of a server", false, ALICE, "alice:x:1002:\n", "passwd: files ldap\n"},
            {"whose groups are", false, ALICE, "alice:x:1002:\n",
             "passwd: files\ngroup: files [SUCCESS=merge] sss\n"},
            {"memberships are", false, ALICE, "alice:x:1002:\n", "initgroups: files[!UNAVAIL=\n"},
            {"an unknown source", false, ALICE, "alice:x:1002:\n", "  passwd: filess\n"},
    };
    for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
        if (is_private_in(*state, &systems[i]) != systems[i].is_private) {
            fail_msg("%s", systems[i].what);
        }
    }
}

/* A line that is longer than what is read may say anything. */
static void a_group_in_a_file_with_an_endless_line_is_not_private(void **state) {
    enum { SIZE = 200000 };
    char *users = malloc(SIZE + sizeof ALICE);
    assert_non_null(users);
    memset(users, 'a', SIZE);
    memcpy(users + SIZE - 2, ":\n", 2);
    memcpy(users + SIZE, ALICE, sizeof ALICE);
    assert_false(
            is_private_in(*state, &(struct system){"", false, users, "alice:x:1002:\n", NULL}));
    free(users);
}

/* As the user of the test is in the system's files: read anew after a change, so each time right.
 */
static void the_own_group_is_told_as_often_as_asked(void **state) {
    (void)state;
    const struct private_group_files files = {"/etc/passwd", "/etc/group", "/etc/nsswitch.conf"};
    bool is_private = private_group_in(&files, geteuid(), getegid());
    for (int i = 0; i < 3; i++) {
        assert_int_equal(private_group_is_own(getegid()), is_private);
        assert_false(private_group_is_own(STRANGER));
    }
}

/* What a host keeps goes into a folder of its user's own, and nowhere that a link leads. */
static void an_own_folder_is_no_link_and_nobody_elses(void **state) {
    const struct place *place = *state;
    char path[160];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/new/kept", place->root);
    assert_int_equal(own_folder_check(path, false), -ENOENT);
    assert_int_equal(own_folder_check(path, true), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(own_folder_check(path, true), 0);
    assert_int_equal(chmod(path, 0777), 0);
    assert_int_equal(own_folder_check(path, true), -EPERM);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(own_folder_check(path, false), 0);
    (void)snprintf(path, sizeof path, "%s/link", place->root);
    assert_int_equal(symlink("folder", path), 0);
    assert_int_equal(own_folder_check(path, true), -ELOOP);
    (void)snprintf(path, sizeof path, "%s/link/kept", place->root); /* a moved state folder */
    assert_int_equal(own_folder_check(path, true), 0);
    assert_int_equal(own_folder_check(place->file, true), -ELOOP);
    (void)snprintf(path, sizeof path, "%s/kept", place->file);
    assert_int_equal(own_folder_check(path, true), -ENOTDIR);
    assert_non_null(strstr(own_folder_words(-ELOOP), "symbolic link"));
    assert_non_null(strstr(own_folder_words(-EPERM), "chmod go-w"));
    if (geteuid() == 0) {
        assert_int_equal(chown(place->folder, STRANGER, STRANGER), 0);
        assert_int_equal(own_folder_check(place->folder, true), -EPERM);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
            TEST(what_only_the_user_may_write_is_accepted),
            TEST(what_everybody_may_write_is_refused),
            TEST(a_sticky_folder_is_accepted_on_the_way_only),
            TEST(what_belongs_to_another_user_is_refused),
            TEST(a_group_that_has_other_members_is_refused),
            TEST(another_user_trusts_root_but_not_its_group),
            TEST(links_are_followed_and_what_they_lead_through_is_checked),
            TEST(a_relative_path_begins_in_the_present_folder),
            TEST(another_user_in_a_list_is_refused),
            TEST(a_list_that_lets_nobody_else_write_is_accepted),
            TEST(what_a_default_list_gives_is_seen_at_the_file),
            TEST(a_list_is_understood_or_refused),
            TEST(a_group_is_private_if_the_files_say_so),
            TEST(a_group_in_a_file_with_an_endless_line_is_not_private),
            TEST(the_own_group_is_told_as_often_as_asked),
            TEST(an_own_folder_is_no_link_and_nobody_elses),
    };
    return cmocka_run_group_tests_name("ownership", tests, NULL, NULL);
}
