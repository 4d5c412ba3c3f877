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

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/clients.h"
#include "remove-tree.h"

static const char *const words[] = {"mcp", "--profile", "small", NULL};
static const char *const no_settings[] = {NULL};
static const struct client_command command = {
        .program = "/usr/bin/toolrack", .words = words, .setting = no_settings};

static const struct client *client_of(const char *name) {
    struct toolrack_error err;
    const struct client *client = clients_find(name, &err);
    assert_non_null(client);
    return client;
}

#define ENTRY                                                                                      \
    "\"toolrack\": {\n      \"command\": \"/usr/bin/toolrack\",\n"                                 \
    "      \"args\": [\n        \"mcp\",\n        \"--profile\",\n        \"small\"\n      ]\n   " \
    " }"

static void assert_edit(const char *client, const char *old, const char *expected) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf again = BUF_INIT;
    struct toolrack_error err = {0};
    int code = clients_edit(client_of(client), &command, old, strlen(old), &text, &err);
    if (code != 0) {
        fail_msg("%s: %d %s", old, code, err.message);
    }
    assert_string_equal(text.data, expected);
    /* The same once more changes nothing. */
    assert_int_equal(
            clients_edit(client_of(client), &command, text.data, text.length, &again, &err), 1);
}

static void an_entry_is_added_and_all_else_stays(void **state) {
    (void)state;
    assert_edit("cursor", "", "{\n  \"mcpServers\": {\n    " ENTRY "\n  }\n}\n");
    assert_edit("cursor", " \n", "{\n  \"mcpServers\": {\n    " ENTRY "\n  }\n}\n");
    assert_edit("cursor", "{}", "{\n  \"mcpServers\": {\n    " ENTRY "\n  }\n}");
    assert_edit("cursor", "{\"mcpServers\":{}}", "{\"mcpServers\":{\n    " ENTRY "\n  }}");
    assert_edit("cursor", "{\n  // mine\n  \"theme\": \"dark\", // yes\n}\n",
                "{\n  \"mcpServers\": {\n    " ENTRY
                "\n  },\n  // mine\n  \"theme\": \"dark\", // yes\n}\n");
    assert_edit("cursor",
                "{\n  \"a\": {\"mcpServers\": 1},\n  \"mcpServers\": {\n    /* { */ \"other\": "
                "{\"command\": \"x\"},\n  },\n  \"z\": 1.50\n}\n",
                "{\n  \"a\": {\"mcpServers\": 1},\n  \"mcpServers\": {\n    " ENTRY
                ",\n    /* { */ \"other\": {\"command\": \"x\"},\n  },\n  \"z\": 1.50\n}\n");
    assert_edit("cursor", "\xef\xbb\xbf{}",
                "\xef\xbb\xbf{\n  \"mcpServers\": {\n    " ENTRY "\n  }\n}");
}

static void an_entry_is_exchanged(void **state) {
    (void)state;
    assert_edit("cursor",
                "{\"mcpServers\": {\"toolrack\": {\"command\": \"old\", \"args\": []} /* ! */, "
                "\"b\": {}}}",
                "{\"mcpServers\": {" ENTRY " /* ! */, \"b\": {}}}");
}

static void each_client_has_its_form(void **state) {
    (void)state;
    static const char *const with_setting[] = {"TOOLRACK_WORKER=/a=b", NULL};
    static const char *const word[] = {"mcp", NULL};
    const struct client_command other = {
            .program = "/usr/bin/toolrack", .words = word, .setting = with_setting};
    static const struct {
        const char *client;
        const char *expected;
    } rows[] = {
            {"vscode", "{\n  \"servers\": {\n    \"toolrack\": {\n      \"type\": \"stdio\",\n"
                       "      \"command\": \"/usr/bin/toolrack\",\n      \"args\": [\n"
                       "        \"mcp\"\n      ],\n      \"env\": {\n"
                       "        \"TOOLRACK_WORKER\": \"/a=b\"\n      }\n    }\n  }\n}\n"},
            {"opencode", "{\n  \"mcp\": {\n    \"toolrack\": {\n      \"type\": \"local\",\n"
                         "      \"command\": [\n        \"/usr/bin/toolrack\",\n        \"mcp\"\n"
                         "      ],\n      \"environment\": {\n"
                         "        \"TOOLRACK_WORKER\": \"/a=b\"\n      }\n    }\n  }\n}\n"},
            {"zed", "{\n  \"context_servers\": {\n    \"toolrack\": {\n"
                    "      \"command\": \"/usr/bin/toolrack\",\n      \"args\": [\n"
                    "        \"mcp\"\n      ],\n      \"env\": {\n"
                    "        \"TOOLRACK_WORKER\": \"/a=b\"\n      }\n    }\n  }\n}\n"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        struct toolrack_error err;
        assert_int_equal(clients_document(client_of(rows[i].client), &other, &text, &err), 0);
        assert_string_equal(text.data, rows[i].expected);
    }
}

static void a_text_without_a_place_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *old;
        const char *why;
    } rows[] = {
            {"{\n \"a\": nope}", "it is not JSON: "},
            {"[]", "the whole is not an object in it"},
            {"{\"mcpServers\": []}", "\"mcpServers\" is not an object in it"},
            {"{\"mcpServers\": null}", "\"mcpServers\" is not an object in it"},
            {"{\"mcpServers\": {}, \"mcpServers\": {\"b\": {}}}", "\"mcpServers\" is there twice"},
            {"{\"mcpServers\": {\"toolrack\": {}, \"toolrack\": {}}}",
             "\"toolrack\" is there twice"},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        struct toolrack_error err = {0};
        assert_int_equal(clients_edit(client_of("cursor"), &command, rows[i].old,
                                      strlen(rows[i].old), &text, &err),
                         TOOLRACK_E_INVALID);
        assert_non_null(strstr(err.message, rows[i].why));
        assert_non_null(strstr(err.message, "toolrack mcp --print-config cursor"));
    }
    CLEANUP(buf_finish) struct buf deep = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct toolrack_error err = {0};
    buf_add_text(&deep, "{\"a\":");
    for (size_t i = 0; i < 400000; i++) {
        buf_add_char(&deep, i < 200000 ? '[' : ']');
    }
    buf_add_char(&deep, '}');
    assert_false(deep.failed);
    assert_int_equal(
            clients_edit(client_of("cursor"), &command, deep.data, deep.length, &text, &err),
            TOOLRACK_E_INVALID);
    assert_non_null(strstr(err.message, "it is nested too deep to be changed"));
    assert_null(clients_find("netscape", &err));
    assert_non_null(strstr(err.message, "claude-desktop, claude-code, "));
}

/* ----------------------------------------------------------------- install */

static char folder[] = "/tmp/toolrack-clients-XXXXXX";

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    (void)remove_tree(folder);
    return 0;
}

static void write_file(const char *path, const char *text, mode_t mode) {
    CLEANUP(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
}

static void assert_file(const char *path, const char *expected, mode_t mode) {
    char text[4096] = "";
    struct stat status;
    CLEANUP(closep) int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) >= 0);
    assert_string_equal(text, expected);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 0777, mode);
}

static void a_file_is_made_with_its_folders(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    struct toolrack_error err = {0};
    assert_int_equal(setenv("XDG_CONFIG_HOME", folder, 1), 0);
    assert_int_equal(clients_path(client_of("claude-desktop"), &path, &err), 0);
    assert_int_equal(clients_install(client_of("claude-desktop"), &command, path.data, &kept, &err),
                     0);
    assert_int_equal(kept.length, 0);
    assert_file(path.data, "{\n  \"mcpServers\": {\n    " ENTRY "\n  }\n}\n", 0600);
    assert_int_equal(clients_install(client_of("claude-desktop"), &command, path.data, &kept, &err),
                     1);
    assert_int_equal(kept.length, 0);
}

static void what_was_there_is_kept(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    struct toolrack_error err = {0};
    char file[128];
    char link[128];
    char expected[160];
    (void)snprintf(file, sizeof file, "%s/real.json", folder);
    (void)snprintf(link, sizeof link, "%s/link.json", folder);
    write_file(file, "{\"a\": 1}", 0640);
    assert_int_equal(symlink("real.json", link), 0);

    assert_int_equal(clients_install(client_of("cursor"), &command, link, &kept, &err), 0);
    (void)snprintf(expected, sizeof expected, "%s.before-toolrack", file);
    assert_string_equal(kept.data, expected);
    assert_file(expected, "{\"a\": 1}", 0640);
    assert_file(file, "{\n  \"mcpServers\": {\n    " ENTRY "\n  },\"a\": 1}", 0640);
    struct stat status;
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));

    /* Once more, with another old file: that of the first time stays. */
    write_file(file, "{\"b\": 2}", 0640);
    assert_int_equal(clients_install(client_of("cursor"), &command, file, &kept, &err), 0);
    assert_file(expected, "{\"a\": 1}", 0640);
    (void)snprintf(expected, sizeof expected, "%s.before-toolrack.2", file);
    assert_string_equal(kept.data, expected);
    assert_file(expected, "{\"b\": 2}", 0640);

    /* One that cannot be edited stays as it is. */
    write_file(file, "{\"b\": ", 0640);
    assert_int_equal(clients_install(client_of("cursor"), &command, file, &kept, &err),
                     TOOLRACK_E_INVALID);
    assert_file(file, "{\"b\": ", 0640);
    assert_int_equal(clients_install(client_of("cursor"), &command, folder, &kept, &err),
                     TOOLRACK_E_IO);
}

static void a_link_to_a_missing_file_stays(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    struct toolrack_error err = {0};
    char link[128];
    char other[128];
    char file[128];
    struct stat status;
    (void)snprintf(link, sizeof link, "%s/first.json", folder);
    (void)snprintf(other, sizeof other, "%s/second.json", folder);
    (void)snprintf(file, sizeof file, "%s/dotfiles/mcp.json", folder);
    assert_int_equal(symlink("second.json", link), 0);
    assert_int_equal(symlink(file, other), 0);
    assert_int_equal(clients_install(client_of("cursor"), &command, link, &kept, &err), 0);
    assert_int_equal(kept.length, 0);
    assert_file(file, "{\n  \"mcpServers\": {\n    " ENTRY "\n  }\n}\n", 0600);
    assert_int_equal(lstat(link, &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    assert_int_equal(lstat(other, &status), 0);
    assert_true(S_ISLNK(status.st_mode));

    (void)snprintf(link, sizeof link, "%s/round.json", folder);
    assert_int_equal(symlink("round.json", link), 0);
    assert_int_equal(clients_install(client_of("cursor"), &command, link, &kept, &err),
                     TOOLRACK_E_IO);
}

/* It would wait for a writer. */
static void a_pipe_is_no_file(void **state) {
    (void)state;
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    struct toolrack_error err = {0};
    char pipe[128];
    (void)snprintf(pipe, sizeof pipe, "%s/pipe.json", folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(clients_install(client_of("cursor"), &command, pipe, &kept, &err),
                     TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "is not a regular file; move it away"));
    assert_int_equal(clients_install(client_of("cursor"), &command, folder, &kept, &err),
                     TOOLRACK_E_IO);
    assert_non_null(strstr(err.message, "is a folder; move it away, and the file is made"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(an_entry_is_added_and_all_else_stays),
            cmocka_unit_test(an_entry_is_exchanged),
            cmocka_unit_test(each_client_has_its_form),
            cmocka_unit_test(a_text_without_a_place_is_refused),
            cmocka_unit_test(a_file_is_made_with_its_folders),
            cmocka_unit_test(what_was_there_is_kept),
            cmocka_unit_test(a_link_to_a_missing_file_stays),
            cmocka_unit_test(a_pipe_is_no_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
