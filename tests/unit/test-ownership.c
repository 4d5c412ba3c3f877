/* Whether other users could change a file, or exchange what a path leads to. */
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

#include "base/error.h"
#include "files/ownership.h"

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
    const struct group *own = getgrgid(getegid());
    bool is_private = own != NULL && strcmp(own->gr_name, "root") == 0 && own->gr_mem[0] == NULL;
    assert_int_equal(chmod(place->file, 0664), 0);
    if (is_private) {
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
    };
    return cmocka_run_group_tests_name("ownership", tests, NULL, NULL);
}
