/* Each bundled plugin has what it declares and no more: with one capability fewer than all, what
 * takes that one fails, and the error says what is missing. The plugins are in a folder of plugins
 * here: builtin ones may read what the configuration names. */
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yyjson.h>

#include <cmocka.h>

#include "e2e.h"

#define FONT "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf"

/* FOLDER stands for the granted folder. */
struct row {
    const char *plugin;
    const char *missing; /* the capability, as it is declared */
    const char *allowed; /* all others, as items of "allow" */
    const char *tool;
    const char *arguments;
    const char *settings;
    const char *error; /* NULL: the tool does without */
};

#define READ                 "read:${workspace}"
#define WRITE                "write:${workspace}"
#define NET                  "network:*"
#define UDP                  "network:udp"
#define DECLARES(capability) "*its plugin declares " capability ", which is not allowed: toolrack *"
/* What may be written may be read too, so both are taken away. */
#define LACKS_BOTH           "*its plugin declares*" READ "*toolrack *"
static const struct row rows[] = {
        {"archive", READ, "", "archive_list", "{\"path\":\"a.zip\"}", "{}", LACKS_BOTH},
        {"archive", WRITE, "\"read\"", "archive_create",
         "{\"path\":\"b.zip\",\"files\":[\"a.csv\"]}", "{}", DECLARES(WRITE)},
        {"chart", "read:${setting:font}", "", "chart_bar", "{\"rows\":[[\"a\",1]]}",
         "{\"font\":\"" FONT "\"}", DECLARES("read:${setting:font}")},
        {"csv", READ, "", "csv_read", "{\"path\":\"a.csv\"}", "{}", DECLARES(READ)},
        {"currency", "read:${setting:rates_file}", "", "currency_rates", "{}",
         "{\"rates_file\":\"FOLDER/rates.xml\"}", DECLARES("read:${setting:rates_file}")},
        {"document", READ, "", "document_text", "{\"path\":\"a.docx\"}", "{}", DECLARES(READ)},
        {"fetch", NET, "\"network:udp\"", "fetch", "{\"url\":\"http://127.0.0.1:1024/\"}",
         "{\"allow_networks\":\"127.0.0.1\",\"ignore_robots_txt\":\"true\"}", DECLARES(NET)},
        {"fetch", UDP, "\"network:*\"", "fetch", "{\"url\":\"http://a.invalid/\"}",
         "{\"ignore_robots_txt\":\"true\"}", DECLARES(UDP)},
        {"filesystem", READ, "", "read_text_file", "{\"path\":\"a.csv\"}", "{}", LACKS_BOTH},
        {"filesystem", WRITE, "\"read\"", "write_file", "{\"path\":\"b\",\"content\":\"\"}", "{}",
         DECLARES(WRITE)},
        {"git", READ, "", "git_status", "{\"repo_path\":\"r\"}", "{}", LACKS_BOTH},
        {"git", WRITE, "\"read\"", "git_add", "{\"repo_path\":\"r\",\"files\":[\"a\"]}", "{}",
         DECLARES(WRITE)},
        {"image", READ, "", "image_info", "{\"path\":\"a.png\"}", "{}", LACKS_BOTH},
        {"image", WRITE, "\"read\"", "image_write", "{\"path\":\"a.png\",\"output\":\"b.png\"}",
         "{}", DECLARES(WRITE)},
        {"memory", "write:${data}", "", "read_graph", "{}", "{}", DECLARES("write:${data}")},
        {"process", "spawn:${setting:programs/0}", "\"read\", \"write\"", "process_run",
         "{\"program\":\"true\"}", "{\"programs\":[\"true\"]}",
         DECLARES("spawn:${setting:programs/0}")},
        {"process", "spawn:${setting:programs/1}", "\"spawn:${setting:programs/0}\"", "process_run",
         "{\"program\":\"false\"}", "{\"programs\":[\"true\",\"false\"]}",
         DECLARES("spawn:${setting:programs/1}")},
        {"process", READ, "\"spawn\"", "process_run",
         "{\"program\":\"cat\",\"arguments\":[\"FOLDER/a.csv\"]}", "{\"programs\":[\"cat\"]}",
         NULL},
        {"process", WRITE, "\"spawn\", \"read\"", "process_run",
         "{\"program\":\"touch\",\"arguments\":[\"FOLDER/b\"]}", "{\"programs\":[\"touch\"]}",
         NULL},
        {"sqlite", READ, "", "sqlite_query", "{\"path\":\"a.db\",\"sql\":\"select 1\"}", "{}",
         LACKS_BOTH},
        {"sqlite", WRITE, "\"read\"", "sqlite_execute",
         "{\"path\":\"a.db\",\"sql\":\"create table t (a)\"}", "{}", DECLARES(WRITE)},
        {"web_search", NET, "\"network:udp\"", "web_search", "{\"query\":\"a\"}",
         "{\"endpoint\":\"http://127.0.0.1:1024/\",\"allow_networks\":\"127.0.0.1\"}",
         DECLARES(NET)},
        {"web_search", UDP, "\"network:*\"", "web_search", "{\"query\":\"a\"}",
         "{\"endpoint\":\"http://a.invalid/\"}", DECLARES(UDP)},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* The programs from the third on are declared as the second is, and the folder of an installation
 * is there for those who build with it. */
static bool is_alike(const char *capability) {
    const char *program = "spawn:${setting:programs/";
    size_t length = strlen(program);
    return (strncmp(capability, program, length) == 0 && capability[length] > '1') ||
           (strncmp(capability, "read:/", 6) == 0 && strstr(capability, "currency") != NULL);
}

static bool has_row(const char *plugin, const char *capability) {
    bool found = is_alike(capability);
    for (size_t i = 0; i < ROWS; i++) {
        found = found ||
                (strcmp(rows[i].plugin, plugin) == 0 && strcmp(rows[i].missing, capability) == 0);
    }
    return found;
}

static void put_folder(char *out, size_t size, const char *text) {
    const char *at = strstr(text, "FOLDER");
    char folder[1024];
    assert_non_null(getcwd(folder, sizeof folder));
    int length = at == NULL ? snprintf(out, size, "%s", text)
                            : snprintf(out, size, "%.*s%s/work%s", (int)(at - text), text, folder,
                                       at + strlen("FOLDER"));
    assert_in_range(length, 0, size - 1);
}

static void configure(const struct row *row) {
    char settings[2048];
    char folder[1024];
    char text[8192];
    put_folder(settings, sizeof settings, row->settings);
    put_folder(folder, sizeof folder, "FOLDER");
    (void)snprintf(text, sizeof text,
                   "{\"grants\": [\"process_run\"], \"paths\": {\"workspace\": \"%s\"}, "
                   "\"plugins\": {\"%s\": %s}, \"policies\": {\"%s\": {\"allow\": [%s]}}}",
                   folder, row->plugin, settings, row->plugin, row->allowed);
    e2e_write("toolrack.json", text);
}

static int set_up(void **state) {
    const char *sources = getenv("E2E_SOURCE");
    char command[4096];
    int code = e2e_setup(state);
    assert_int_equal(mkdir("work", 0700), 0);
    e2e_write("work/a.csv", "a\n1\n");
    e2e_write("work/rates.xml", "<a/>");
    (void)snprintf(
            command, sizeof command,
            "cd work && cp '%s/plugins/document/samples/letter.docx' a.docx && cp a.docx a.zip && "
            "cp '%s/plugins/image/samples/plain.png' a.png && "
            ": >a.db && mkdir r && cd r && HOME=. git init -q && : >a",
            sources, sources);
    assert_int_equal(system(command), 0);
    return code;
}

static struct run call(const struct row *row) {
    static unsigned serial; /* another state each time: what failed before is told too */
    char state[32];
    char arguments[2048];
    (void)snprintf(state, sizeof state, "state-%u", serial++);
    put_folder(arguments, sizeof arguments, row->arguments);
    configure(row);
    return RUN_WITH({.bare = true}, "--config", "toolrack.json", "--state", state, "--plugins",
                    getenv("E2E_BUNDLED"), "call", "--yes", row->tool, arguments);
}

static bool is_told(const struct row *row) {
    struct run run = call(row);
    /* Without an error it is the program that says it. */
    bool is_exit = row->error != NULL ? run.exit != 0 : run.exit == 0;
    const char *pattern =
            row->error != NULL ? row->error : "*\"exit_status\":1,*Permission denied*";
    const char *text = row->error != NULL ? run.err : run.out;
    bool told = is_exit && fnmatch(pattern, text, FNM_NOESCAPE) == 0;
    if (!told) {
        print_error("%s without %s: exit code %d\n%s%s", row->plugin, row->missing, run.exit,
                    run.out, run.err);
    }
    run_finish(&run);
    return told;
}

static void what_is_missing_is_told(void **state) {
    (void)state;
    unsigned untold = 0;
    for (size_t i = 0; i < ROWS; i++) {
        untold += !is_told(&rows[i]);
    }
    assert_int_equal(untold, 0);
}

static unsigned check_capabilities(const char *tool) {
    struct run run = RUN_WITH({.bare = true}, "--config", "toolrack.json", "--plugins",
                              getenv("E2E_BUNDLED"), "show", tool, "--json");
    assert_int_equal(run.exit, 0);
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *list = yyjson_ptr_get(root, "/isolation/capabilities");
    const char *plugin = yyjson_get_str(yyjson_obj_get(root, "plugin"));
    unsigned count = 0;
    size_t i;
    size_t most;
    yyjson_val *item;
    yyjson_arr_foreach (list, i, most, item) {
        char text[256];
        (void)snprintf(text, sizeof text, "%s:%s", yyjson_get_str(yyjson_obj_get(item, "kind")),
                       yyjson_get_str(yyjson_obj_get(item, "value")));
        count++;
        if (!has_row(plugin, text)) {
            fail_msg("%s declares %s, of which there is no row", plugin, text);
        }
    }
    yyjson_doc_free(doc);
    run_finish(&run);
    return count;
}

static void each_capability_has_a_row(void **state) {
    (void)state;
    e2e_write("toolrack.json", "{}");
    struct run run = RUN_WITH({.bare = true}, "--config", "toolrack.json", "--plugins",
                              getenv("E2E_BUNDLED"), "list", "--json");
    assert_int_equal(run.exit, 0);
    yyjson_doc *doc = yyjson_read(run.out, strlen(run.out), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    char seen[4096] = ",";
    unsigned count = 0;
    size_t i;
    size_t most;
    yyjson_val *tool;
    yyjson_arr_foreach (root, i, most, tool) { /* one tool of each plugin */
        char mark[80];
        (void)snprintf(mark, sizeof mark, "%s,", yyjson_get_str(yyjson_obj_get(tool, "plugin")));
        if (strstr(seen, mark) == NULL) {
            assert_true(strlen(seen) + strlen(mark) < sizeof seen);
            memcpy(seen + strlen(seen), mark, strlen(mark) + 1);
            count += check_capabilities(yyjson_get_str(yyjson_obj_get(tool, "name")));
        }
    }
    assert_true(count >= ROWS);
    yyjson_doc_free(doc);
    run_finish(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(what_is_missing_is_told, set_up, e2e_teardown),
            cmocka_unit_test_setup_teardown(each_capability_has_a_row, e2e_setup, e2e_teardown),
    };
    return cmocka_run_group_tests_name("capabilities", tests, NULL, NULL);
}
