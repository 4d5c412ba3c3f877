/* What stays the host's, though a plugin was granted the whole home: through a host with the
 * default folders in a home of its own, real workers and the plugin `greedy` (tests/plugins). */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
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
#include <unistd.h>

#include <cmocka.h>
#include <yyjson.h>

#include "base/sanitizer.h"
#include "remove-tree.h"
#include "toolrack/toolrack.h"

#define PLUGINS "home/.local/share/toolrack/plugins"
#define CONFIG  "home/.config/toolrack/toolrack.json"

static char work[64];
static char logged[16384];
static struct toolrack *host;

static const char *in_work(const char *name, char room[256]) {
    (void)snprintf(room, 256, "%s/%s", work, name);
    return room;
}

static void make_folders(const char *name) {
    char path[256];
    (void)in_work(name, path);
    for (char *slash = path + strlen(work) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
    (void)mkdir(path, 0700);
}

static void write_text(const char *name, const char *text) {
    char path[256];
    FILE *file = fopen(in_work(name, path), "we");
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void read_text(const char *name, char ret[4096]) {
    char path[256];
    FILE *file = fopen(in_work(name, path), "re");
    assert_non_null(file);
    ret[fread(ret, 1, 4095, file)] = '\0';
    (void)fclose(file);
}

static void copy(const char *from, const char *to) {
    char path[256];
    char bytes[4096];
    FILE *in = fopen(from, "re");
    FILE *out = fopen(in_work(to, path), "we");
    assert_true(in != NULL && out != NULL);
    for (size_t got; (got = fread(bytes, 1, sizeof bytes, in)) > 0;) {
        assert_int_equal(fwrite(bytes, 1, got, out), got);
    }
    (void)fclose(in);
    assert_int_equal(fclose(out), 0);
}

static void make_link(const char *target, const char *name) {
    char from[256];
    char to[256];
    assert_int_equal(symlink(in_work(target, from), in_work(name, to)), 0);
}

static void install(const char *name, const char *to) {
    char from[300];
    (void)snprintf(from, sizeof from, "%s/%s.so", getenv("E2E_GRANTED"), name);
    copy(from, to);
}

static void when_logged(void *user, enum toolrack_log_level level, const char *source,
                        const char *line) {
    size_t length = strlen(logged);
    (void)user;
    (void)level;
    (void)snprintf(logged + length, sizeof logged - length, "%s: %s\n", source, line);
}

static int set_up(void **state) {
    char path[256];
    (void)state;
    (void)snprintf(work, sizeof work, "/tmp/toolrack-guard-XXXXXX");
    assert_non_null(mkdtemp(work));
    make_folders("home/documents");
    make_folders("home/run");
    make_folders(PLUGINS);
    make_folders("home/.config/toolrack");
    install("greedy", PLUGINS "/greedy.so");
    (void)setenv("HOME", in_work("home", path), 1);
    (void)setenv("XDG_RUNTIME_DIR", in_work("home/run", path), 1);
    make_folders("builtin"); /* a missing one would be made where its folder is granted */
    (void)setenv("TOOLRACK_BUILTIN_DIR", in_work("builtin", path), 1);
    logged[0] = '\0';
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    toolrack_close(host);
    host = NULL;
    return remove_tree(work);
}

static void open_host_at(const char *config, const char *state) {
    char path[256];
    char state_path[256];
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = config != NULL ? in_work(config, path) : NULL;
    options.state_dir = state != NULL ? in_work(state, state_path) : NULL;
    options.log = when_logged;
    options.log_level = TOOLRACK_LOG_WARNING;
    if (toolrack_open(&options, &host, err) < 0) {
        fail_msg("%s", toolrack_error_message(err));
    }
    toolrack_error_free(err);
}

static void open_host(const char *allow) {
    char text[512];
    (void)snprintf(text, sizeof text, "{\"policies\": {\"greedy\": {\n\"allow\": [%s]}}}", allow);
    write_text(CONFIG, text);
    open_host_at(NULL, NULL);
}

static int describe(const char *pointer, char text[512]) {
    struct toolrack_text *said = NULL;
    size_t length = 0;
    assert_int_equal(toolrack_describe_isolation(host, "greedy_try", &said, NULL), 0);
    const char *json = toolrack_text_data(said, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *value = yyjson_doc_ptr_get(doc, pointer);
    int number = yyjson_is_arr(value)    ? (int)yyjson_arr_size(value)
                 : yyjson_is_bool(value) ? yyjson_get_bool(value)
                                         : -1;
    (void)snprintf(text, 512, "%s", yyjson_is_str(value) ? yyjson_get_str(value) : "");
    yyjson_doc_free(doc);
    toolrack_text_unref(said);
    return number;
}

/* Skip what needs a mount namespace where there is none; there it is refused, and told. */
static void need_mounts(void) {
    if (strstr(logged, "no mount namespace") != NULL) {
        skip();
    }
}

static void attempt(const char *name, const char *path, const char *to, char ret[4200]) {
    char arguments[1024];
    struct toolrack_result *result = NULL;
    struct toolrack_error *err = toolrack_error_create();
    (void)snprintf(arguments, sizeof arguments,
                   "{\"attempt\": \"%s\", \"path\": \"%s\", \"to\": \"%s\"}", name, path, to);
    if (toolrack_call(host, "greedy_try", arguments, NULL, &result, err) < 0) {
        (void)snprintf(ret, 4200, "%s", toolrack_error_message(err));
    } else {
        (void)snprintf(ret, 4200, "%s", toolrack_result_text(result, NULL));
    }
    toolrack_result_free(result);
    toolrack_error_free(err);
}

static void expect_raw(const char *name, const char *path, const char *to, const char *says) {
    char text[4200];
    attempt(name, path, to, text);
    if (strstr(text, says) == NULL) {
        fail_msg("%s %s %s: '%s', not '%s'", name, path, to, text, says);
    }
}

/* Paths are below the work folder. */
static void expect(const char *name, const char *path, const char *to, const char *says) {
    char whole[256];
    char target[256];
    expect_raw(name, in_work(path, whole), strncmp(to, "home", 4) == 0 ? in_work(to, target) : to,
               says);
}

#define HOME_ALLOWED "\"write\", \"read\""

/* ------------------------------------------------------------------ the host's own */

static void a_home_is_granted_without_what_is_the_hosts(void **state) {
    char before[4096];
    char after[4096];
    (void)state;
    open_host(HOME_ALLOWED);
    need_mounts();
    read_text(CONFIG, before);
    expect("write", "home/documents/letter", "text", "done");
    expect("read", "home/documents/letter", "", "text");
    expect("read", CONFIG, "", "ENOENT");
    expect("write", CONFIG, "{}", "EROFS");
    expect("list", "home/.config/toolrack", "", "0 entries");
    expect("list", "home/.local/state/toolrack", "", "1 entries"); /* with the copy that runs */
    expect("list", "home/.local/state/toolrack/images", "", "1 entries");
    expect("write", "home/.local/state/toolrack/toolrack.db", "x", "EROFS");
    expect("list", PLUGINS, "", "ENOENT");
    expect("write", "home/.local/share/toolrack/evil.so", "x", "EROFS");
    expect("make", "home/run/toolrack/x", "", "EROFS");
    read_text(CONFIG, after);
    assert_string_equal(before, after);
}

/* Another host of the user finds them at its start. */
static void the_default_places_stay_hidden_from_a_host_with_others(void **state) {
    (void)state;
    make_folders("home/.local/state/toolrack");
    make_folders("else");
    write_text(CONFIG, "{}");
    write_text("else/conf.json", "{\"policies\": {\"greedy\": {\"allow\": [" HOME_ALLOWED "]}}}");
    open_host_at("else/conf.json", "else/state");
    need_mounts();
    expect("write", "home/documents/letter", "text", "done");
    expect("write", CONFIG, "{}", "EROFS");
    expect("rename", "home/.config", "home/.other", "EBUSY");
    expect("write", "home/.local/state/toolrack/toolrack.db", "x", "EROFS");
    expect("rename", "home/.local/state", "home/.local/other", "EBUSY");
}

static void open_elsewhere(const char *config, const char *state, const char *plugins) {
    char paths[3][256];
    const char *const folders[] = {in_work(plugins, paths[2]), NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = in_work(config, paths[0]);
    options.state_dir = in_work(state, paths[1]);
    options.plugin_dirs = folders;
    options.log = when_logged;
    options.log_level = TOOLRACK_LOG_WARNING;
    assert_int_equal(toolrack_open(&options, &host, NULL), 0);
    assert_int_equal(toolrack_set_enabled(host, "greedy_try", false, NULL, NULL), 0);
    toolrack_close(host);
    host = NULL;
}

static int count_entries(const char *name) {
    char path[256];
    int count = 0;
    DIR *folder = opendir(in_work(name, path));
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return count - 2;
}

/* Whatever places they were given: the user's hosts know them of each other. */
static void the_places_of_other_hosts_are_not_changed(void **state) {
    char path[256];
    (void)state;
    make_folders("home/project/plugins");
    install("greedy", "home/project/plugins/greedy.so");
    write_text("home/project/toolrack.json", "{}");
    open_elsewhere("home/project/toolrack.json", "home/state-of-mine", "home/project/plugins");
    assert_int_equal(access(in_work("home/state-of-mine/toolrack.db", path), F_OK), 0);
    open_host(HOME_ALLOWED);
    need_mounts();
    expect("write", "home/documents/letter", "text", "done");
    expect("list", "home/state-of-mine", "", "0 entries");
    expect("write", "home/state-of-mine/toolrack.db", "x", "EROFS");
    expect("rename", "home/state-of-mine", "home/other", "EBUSY");
    expect("write", "home/project/toolrack.json", "{}", "EROFS");
    expect("remove", "home/project/toolrack.json", "", "EROFS");
    expect("write", "home/project/plugins/greedy.so", "x", "EROFS");
    expect("write", "home/project/plugins/new.so", "x", "EROFS");
    expect("rename", "home/project", "home/other", "EBUSY");
}

static void the_places_of_other_hosts_are_refused(void **state) {
    static const char *const paths[] = {"home/state-of-mine", "home/state-of-mine/x",
                                        "home/project", "home/project/plugins"};
    (void)state;
    make_folders("home/project/plugins");
    make_folders("home/state-of-mine/x");
    install("greedy", "home/project/plugins/greedy.so");
    write_text("home/project/toolrack.json", "{}");
    open_elsewhere("home/project/toolrack.json", "home/state-of-mine", "home/project/plugins");
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char allow[300];
        char path[256];
        (void)snprintf(allow, sizeof allow, "\"write:%s\"", in_work(paths[i], path));
        open_host(allow);
        (void)snprintf(allow, sizeof allow, "%s/file", paths[i]);
        expect("write", allow, "x", "EACCES");
        assert_non_null(strstr(logged, "of another host"));
        logged[0] = '\0';
        toolrack_close(host);
        host = NULL;
    }
}

/* A note for each set of places, as long as the state folder is there. */
static void places_that_are_gone_are_forgotten(void **state) {
    char path[256];
    (void)state;
    make_folders("project/plugins");
    install("greedy", "project/plugins/greedy.so");
    write_text("project/toolrack.json", "{}");
    for (int i = 0; i < 2; i++) {
        open_elsewhere("project/toolrack.json", "one", "project/plugins");
        assert_int_equal(count_entries("home/.local/state/toolrack/elsewhere"), 1);
    }
    open_elsewhere("project/toolrack.json", "two", "project/plugins");
    assert_int_equal(count_entries("home/.local/state/toolrack/elsewhere"), 2);
    assert_int_equal(remove_tree(in_work("one", path)), 0);
    open_elsewhere("project/toolrack.json", "three", "project/plugins");
    assert_int_equal(count_entries("home/.local/state/toolrack/elsewhere"), 2);
    open_host("\"read\""); /* with the user's own places */
    assert_int_equal(count_entries("home/.local/state/toolrack/elsewhere"), 2);
}

static void empty_the_note(void) {
    char path[256];
    char note[600];
    size_t count = 0;
    DIR *folder = opendir(in_work("home/.local/state/toolrack/elsewhere", path));
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] != '.') {
            (void)snprintf(note, sizeof note, "%s/%s", path, entry->d_name);
            assert_int_equal(truncate(note, 0), 0);
            count++;
        }
    }
    (void)closedir(folder);
    assert_int_equal(count, 1);
}

/* As after a power cut: what is not known is not granted, until the other host repairs its note.
 * Plugins have their data meanwhile. */
static void places_that_are_not_known_are_not_granted(void **state) {
    static const char *const grants[] = {"\"write\"", "\"read\""};
    static const char *const attempts[] = {"write", "read"};
    char path[512];
    char file[600];
    (void)state;
    make_folders("project/plugins");
    install("greedy", "project/plugins/greedy.so");
    write_text("project/toolrack.json", "{}");
    write_text("home/documents/letter", "text");
    open_elsewhere("project/toolrack.json", "home/state-of-mine", "project/plugins");
    empty_the_note();
    for (size_t i = 0; i < 2; i++) {
        logged[0] = '\0';
        open_host(grants[i]);
        expect(attempts[i], "home/state-of-mine/toolrack.db", "x", "EACCES");
        expect(attempts[i], "home/documents/letter", "x", "EACCES");
        assert_non_null(strstr(logged, "may have a place of another host"));
        assert_non_null(strstr(logged, "/elsewhere/"));
        assert_non_null(strstr(logged, "is damaged"));
        toolrack_close(host);
    }
    open_host("\"write:${data}\"");
    (void)describe("/capabilities/2/path", path);
    (void)snprintf(file, sizeof file, "%s/kept", path);
    expect_raw("write", file, "text", "done");
    toolrack_close(host);
    open_elsewhere("project/toolrack.json", "home/state-of-mine", "project/plugins");
    logged[0] = '\0';
    open_host(HOME_ALLOWED);
    assert_null(strstr(logged, "may have a place of another host"));
    need_mounts();
    expect("write", "home/documents/letter", "text", "done");
    expect("write", "home/state-of-mine/toolrack.db", "x", "EROFS");
}

/* What is hidden here would be found by the host at its next start. */
static void nothing_takes_the_place_of_what_is_hidden(void **state) {
    char path[256];
    (void)state;
    open_host(HOME_ALLOWED);
    need_mounts();
    expect("rename", "home/.config", "home/.other", "EBUSY");
    expect("rename", "home/.config/toolrack", "home/.config/other", "EBUSY");
    expect("rename", "home/.local", "home/.other", "EBUSY");
    expect("rename", "home/.local/share", "home/.local/other", "EBUSY");
    expect("remove", "home/.config/toolrack", "", "EBUSY");
    assert_int_equal(access(in_work(CONFIG, path), F_OK), 0);
    assert_int_equal(access(in_work(PLUGINS "/greedy.so", path), F_OK), 0);
}

static void the_worker_program_of_the_environment_is_not_replaced(void **state) {
    char path[256];
    char *before = strdup(getenv("TOOLRACK_WORKER"));
    (void)state;
    make_folders("home/bin");
    copy(before, "home/bin/worker");
    assert_int_equal(chmod(in_work("home/bin/worker", path), 0755), 0);
    (void)setenv("TOOLRACK_WORKER", path, 1);
    open_host(HOME_ALLOWED);
    (void)setenv("TOOLRACK_WORKER", before, 1);
    free(before);
    need_mounts();
    expect("rename", "home/bin", "home/other", "EBUSY");
    expect("write", "home/bin/worker", "x", "EROFS");
    expect("rename", "home/bin/worker", "home/bin/other", "EROFS");
    expect("remove", "home/bin/worker", "", "EROFS");
    /* What replaces it, as an update does, cannot be written either. */
    copy(getenv("TOOLRACK_WORKER"), "home/bin/new");
    char to[256];
    assert_int_equal(rename(in_work("home/bin/new", path), in_work("home/bin/worker", to)), 0);
    expect("write", "home/bin/worker", "x", "EROFS");
}

/* The state folder is made by a host only when there is something to keep. */
static void what_does_not_exist_yet_cannot_be_made_by_a_plugin(void **state) {
    char path[256];
    (void)state;
    write_text("toolrack.json", "{\"policies\": {\"greedy\": {\"allow\": [\"write\"]}}}");
    make_folders("config");
    open_host_at("toolrack.json", NULL);
    need_mounts();
    expect("make", "home/.local/state/toolrack/loading", "", "EROFS");
    expect("make", "home/run/toolrack", "", "EEXIST");
    assert_int_equal(access(in_work("home/run/toolrack", path), F_OK), 0);
}

static void a_link_on_the_way_is_no_grant(void **state) {
    char from[256];
    char to[256];
    (void)state;
    make_folders("elsewhere");
    assert_int_equal(rename(in_work("home/.config", from), in_work("elsewhere/config", to)), 0);
    assert_int_equal(symlink(to, from), 0);
    open_host("\"write\"");
    expect("write", "home/documents/letter", "text", "EACCES");
    assert_non_null(strstr(logged, "symbolic link, which the plugin could replace"));
}

static void a_path_of_the_host_is_refused(void **state) {
    static const char *const paths[] = {
            "home/.config/toolrack",
            CONFIG,
            "home/.local/state/toolrack",
            "home/.local/state/toolrack/images/x",
            PLUGINS,
            "home/.local/share/toolrack",
            "home/documents/../.config/toolrack",
            "home/link",
    };
    char link[256];
    char target[256];
    (void)state;
    assert_int_equal(symlink(in_work("home/.config/toolrack", target), in_work("home/link", link)),
                     0);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        char path[256];
        char text[768];
        char refusal[512];
        logged[0] = '\0';
        (void)snprintf(text, sizeof text,
                       "{\"plugins\": {\"greedy\": {\"path\": \"%s\"}}, \"policies\": {\n"
                       "\"greedy\": {\n\"allow\": [\"read:${setting:path}\"]}}}",
                       in_work(paths[i], path));
        write_text(CONFIG, text);
        open_host_at(NULL, NULL);
        assert_int_equal(describe("/capabilities/3/allowed", refusal), 0);
        (void)describe("/capabilities/3/refused", refusal);
        if (strstr(refusal, "never granted; allow a path outside of it") == NULL ||
            strstr(logged, "toolrack.json, line 3)") == NULL) {
            fail_msg("%s: '%s'; %s", paths[i], refusal, logged);
        }
        toolrack_close(host);
        host = NULL;
    }
}

static void a_configuration_with_two_names_is_no_grant(void **state) {
    char from[256];
    char to[256];
    (void)state;
    write_text(CONFIG, "{\"policies\": {\"greedy\": {\"allow\": [\"write\"]}}}");
    assert_int_equal(link(in_work(CONFIG, from), in_work("home/documents/second", to)), 0);
    open_host_at(NULL, NULL);
    assert_non_null(strstr(logged, "has 2 names (hard links)"));
    expect("write", "home/documents/second", "{}", "EACCES");
}

/* They lead to the host's memory, environment and files, and to the settings of the machine. */
static void the_files_of_the_kernel_are_not_reached(void **state) {
    char host_files[64];
    char text[4200];
    (void)state;
    (void)snprintf(host_files, sizeof host_files, "/proc/%d", getpid());
    for (int whole = 0; whole < 2; whole++) {
        char config[768];
        (void)snprintf(config, sizeof config,
                       "{\"plugins\": {\"greedy\": {\"path\": \"%s\"}}, \"policies\": {\n"
                       "\"greedy\": {\n\"allow\": [\"*\"]}}}",
                       whole != 0 ? "/" : "/proc/self");
        write_text(CONFIG, config);
        open_host_at(NULL, NULL);
        static const char *const files[] = {"status", "oom_score_adj", "cmdline", "environ",
                                            "maps"};
        for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
            char path[128];
            (void)snprintf(path, sizeof path, "%s/%s", host_files, files[i]);
            attempt("read", path, "", text);
            if (strstr(text, "EACCES") == NULL && strstr(text, "ENOENT") == NULL) {
                fail_msg("%s: %s", path, text);
            }
        }
        attempt("read", "/sys/kernel/mm/transparent_hugepage/enabled", "", text);
        assert_true(strstr(text, "EACCES") != NULL || strstr(text, "ENOENT") != NULL);
        expect_raw("write", "/dev/null", "text", "done");
        expect_raw("read", "/dev/zero", "", "done");
        toolrack_close(host);
        host = NULL;
    }
}

/* A file that is replaced takes the mount upon it along. */
static void a_configuration_of_its_own_place_needs_its_own_folder(void **state) {
    (void)state;
    write_text("home/mine.json",
               "{\"policies\": {\"greedy\": {\"allow\": [\"write\", \"read\"]}}}");
    open_host_at("home/mine.json", NULL);
    assert_non_null(strstr(logged, "a folder of its own"));
    expect("write", "home/mine.json", "{}", "EACCES");
}

static void the_layers_are_told(void **state) {
    char text[512];
    bool found = false;
    (void)state;
    open_host(HOME_ALLOWED);
    need_mounts();
    expect("write", "home/documents/letter", "text", "done");
    for (int i = 0; i < describe("/sandbox/in_force", text); i++) {
        char pointer[64];
        char layer[512];
        (void)snprintf(pointer, sizeof pointer, "/sandbox/in_force/%d", i);
        (void)describe(pointer, layer);
        found = found || strcmp(layer, "mount namespace") == 0;
    }
    assert_true(found);
}

static void a_narrower_path_is_granted(void **state) {
    char allow[300];
    char path[256];
    (void)state;
    (void)snprintf(allow, sizeof allow, "\"write:%s\"", in_work("home/documents", path));
    open_host(allow);
    expect("write", "home/documents/letter", "text", "done");
    expect("write", "home/letter", "text", "EACCES");
    assert_string_equal(logged, "");
}

/* A folder in another one that may be written is granted only as the folder that it is: a link that
 * the plugin puts there leads nowhere. */
static void what_is_writable_decides_no_other_grant(void **state) {
    static const char *const attempts[] = {"read", "write"};
    char text[700];
    char paths[4][256];
    (void)state;
    make_folders("home/documents/y");
    make_folders("secret");
    write_text("secret/file", "kept");
    (void)snprintf(text, sizeof text,
                   "{\"plugins\": {\"greedy\": {\"path\": \"%s\"}}, \"policies\": {\n"
                   "\"greedy\": {\n\"allow\": [\"write:%s\", \"read:${setting:path}\",\n"
                   "\"write:${setting:path}\"]}}}",
                   in_work("home/documents/y", paths[0]), in_work("home/documents", paths[1]));
    write_text(CONFIG, text);
    open_host_at(NULL, NULL);
    assert_string_equal(logged, "");
    expect("write", "home/documents/y/letter", "text", "done");
    expect("rename", "home/documents/y", "home/documents/old", "done");
    toolrack_close(host);
    host = NULL;
    make_link("secret", "home/documents/y");
    open_host_at(NULL, NULL);
    assert_non_null(strstr(logged, "which the plugin could make a link to anywhere"));
    for (size_t i = 0; i < sizeof attempts / sizeof attempts[0]; i++) {
        expect(attempts[i], "secret/file", "x", "EACCES");
        expect(attempts[i], "home/documents/y/file", "x", "EACCES");
    }
    (void)describe("/capabilities/3/path", text);
    assert_string_equal(text, in_work("secret", paths[2]));
    (void)describe("/capabilities/3/refused", text);
    assert_non_null(strstr(text, paths[0]));
    expect("write", "home/documents/letter", "text", "done"); /* the rest is as it was */
}

static void a_program_that_is_writable_does_not_run(void **state) {
    const char *const searched = getenv("LD_LIBRARY_PATH");
    char *kept = searched != NULL ? strdup(searched) : NULL;
    char text[700];
    (void)state;
    (void)unsetenv("LD_LIBRARY_PATH"); /* of a build: the program is in one of its folders */
    (void)snprintf(text, sizeof text,
                   "{\"plugins\": {\"greedy\": {\"path\": \"%s\"}}, \"policies\": {\n"
                   "\"greedy\": {\n\"allow\": [\"spawn\",\n\"write:${setting:path}\"]}}}",
                   INMATE);
    write_text(CONFIG, text);
    open_host_at(NULL, NULL);
    if (kept != NULL) {
        (void)setenv("LD_LIBRARY_PATH", kept, 1);
        free(kept);
    }
    assert_int_equal(describe("/capabilities/4/allowed", text), 1);
    assert_int_equal(describe("/capabilities/7/allowed", text), 0);
    (void)describe("/capabilities/7/refused", text);
    assert_non_null(strstr(text, "could become anything"));
    (void)describe("/capabilities/7/path", text);
    assert_string_equal(text, INMATE);
    expect_raw("run", INMATE, "/etc/passwd", "EPERM");
}

/* ------------------------------------------------------------------ what runs */

/* Otherwise the plugin would be the other one at its next start. */
static void a_plugin_file_that_is_a_link_is_not_changed(void **state) {
    char text[256];
    (void)state;
    make_folders("home/build");
    install("claim-other", "home/build/claim-1.so");
    make_link("home/build/claim-1.so", "home/build/claim.so"); /* a link in between */
    make_link("home/build/claim.so", PLUGINS "/claim.so");
    open_host(HOME_ALLOWED);
    need_mounts();
    expect("write", "home/documents/letter", "text", "done");
    expect("read", "home/build/claim.so", "", "ELF");
    expect("write", "home/build/claim-1.so", "x", "EROFS");
    expect("remove", "home/build/claim.so", "", "EROFS");
    expect("rename", "home/build/claim-1.so", "home/build/x", "EROFS");
    expect("rename", "home/build", "home/other", "EBUSY");
    toolrack_close(host);
    host = NULL;
    (void)snprintf(text, sizeof text, "\"write:%s/home/build\"", work);
    open_host(text); /* just where it is */
    assert_non_null(strstr(logged, "which would have to be in a folder of its own"));
    expect("write", "home/build/claim-1.so", "x", "EACCES");
}

/* Around what is not changed, only that is: what is granted by itself stays so. */
static void what_is_granted_below_stays_writable(void **state) {
    char text[512];
    char path[256];
    (void)state;
    make_folders("home/build/out");
    install("claim-other", "home/build/claim.so");
    make_link("home/build/claim.so", PLUGINS "/claim.so");
    (void)snprintf(text, sizeof text,
                   "{\"plugins\": {\"greedy\": {\"path\": \"%s\"}}, \"policies\": {\n"
                   "\"greedy\": {\n\"allow\": [\"write\"]}}}",
                   in_work("home/build/out", path));
    write_text(CONFIG, text);
    open_host_at(NULL, NULL);
    need_mounts();
    expect("write", "home/build/claim.so", "x", "EROFS");
    expect("write", "home/build/new", "x", "EROFS");
    expect("write", "home/build/out/new", "text", "done");
    expect("write", "home/documents/letter", "text", "done");
}

static void a_plugin_file_that_a_link_awaits_is_not_made(void **state) {
    (void)state;
    make_folders("home/build");
    make_link("home/build/claim.so", PLUGINS "/claim.so");
    open_host(HOME_ALLOWED);
    need_mounts();
    expect("write", "home/build/claim.so", "x", "EROFS");
    toolrack_close(host);
    host = NULL;
    make_link("home/later/claim.so", PLUGINS "/later.so");
    open_host(HOME_ALLOWED);
    assert_non_null(strstr(logged, "the plugin could make it"));
    expect("make", "home/later", "", "EACCES");
}

/* Where ".." follows what does not exist, whoever makes that decides where the path leads: as text,
 * "away/../d" would be "d". */
static void a_path_back_from_what_is_missing_is_no_grant(void **state) {
    char text[512];
    char path[256];
    (void)state;
    make_folders("home/documents/d");
    install("claim-other", "home/documents/d/claim.so");
    make_link("home/documents/away/../d/claim.so", PLUGINS "/claim.so");
    open_host("\"write:${home}\"");
    assert_non_null(strstr(logged, "write that path without"));
    expect("make", "home/documents/away", "", "EACCES");
    toolrack_close(host);
    assert_int_equal(unlink(in_work(PLUGINS "/claim.so", path)), 0);
    logged[0] = '\0';
    (void)snprintf(text, sizeof text,
                   "{\"folders\": [\"%s\"], \"policies\": {\n\"greedy\": {\n"
                   "\"allow\": [\"write:${home}\"]}}}",
                   in_work("home/documents/away/../d", path));
    write_text(CONFIG, text);
    open_host_at(NULL, NULL);
    assert_non_null(strstr(logged, "write that path without"));
    expect("make", "home/documents/away", "", "EACCES");
}

static void a_plugin_file_with_two_names_is_no_grant(void **state) {
    char from[256];
    char to[256];
    (void)state;
    install("claim-other", PLUGINS "/claim.so");
    assert_int_equal(link(in_work(PLUGINS "/claim.so", from), in_work("home/documents/a", to)), 0);
    open_host(HOME_ALLOWED);
    assert_non_null(strstr(logged, "claim.so has 2 names (hard links)"));
    expect("write", "home/documents/a", "x", "EACCES");
}

/* What is granted already is without the plugin files of that time. */
static void a_plugin_file_that_another_may_write_is_not_taken_later(void **state) {
    static const char *const ways[] = {"link", "name"};
    char from[256];
    char to[256];
    (void)state;
    open_host("\"write:${home}\"");
    need_mounts();
    expect("write", "home/documents/letter", "text", "done");
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct toolrack_text *report = NULL;
        install("claim-other", "home/documents/claim.so");
        (void)in_work("home/documents/claim.so", from);
        (void)in_work(PLUGINS "/claim.so", to);
        assert_int_equal(i == 0 ? symlink(from, to) : link(from, to), 0);
        (void)toolrack_reload(host, NULL, &report, NULL);
        const char *said = report != NULL ? toolrack_text_data(report, NULL) : "";
        if (strstr(said, "plugin 'greedy' could change") == NULL) {
            fail_msg("%s: %s", ways[i], said);
        }
        toolrack_text_unref(report);
        assert_int_equal(unlink(to), 0);
        assert_int_equal(unlink(from), 0);
    }
}

/* Put a text into the place of the run path of a fixture. */
static void write_run_path(const char *name, const char *whole) {
    static const char placeholder[] = "/run-path-of-a-test/";
    static char bytes[1 << 20];
    char path[256];
    FILE *file = fopen(in_work(name, path), "r+e");
    assert_non_null(file);
    size_t length = fread(bytes, 1, sizeof bytes, file);
    char *at = memmem(bytes, length, placeholder, strlen(placeholder));
    assert_non_null(at);
    assert_true(strlen(whole) <= strlen(at));
    assert_int_equal(fseek(file, at - bytes, SEEK_SET), 0);
    assert_int_equal(fwrite(whole, 1, strlen(whole) + 1, file), strlen(whole) + 1);
    assert_int_equal(fclose(file), 0);
}

static void set_run_path(const char *name, const char *folder) {
    char whole[256];
    write_run_path(name, in_work(folder, whole));
}

/* They run in the host, or in another plugin's worker. */
static void libraries_are_not_changed(void **state) {
    char text[1024];
    char path[256];
    (void)state;
    make_folders("home/lib");
    make_folders("home/loader");
    make_folders("home/definition");
    install("claim-run-path", PLUGINS "/claim.so");
    set_run_path(PLUGINS "/claim.so", "home/lib");
    install("claim-other", "home/definition/library.so");
    (void)snprintf(text, sizeof text,
                   "{\"policies\": {\"greedy\": {\"allow\": [" HOME_ALLOWED "]}}, \"tools\": [\n"
                   "{\"name\": \"one\", \"description\": \"One\", \"implementation\": {\n"
                   "\"type\": \"native\", \"library\": \"%s\", \"symbol\": \"one\",\n"
                   "\"result\": {\"type\": \"int32\"}}}]}",
                   in_work("home/definition/library.so", path));
    write_text(CONFIG, text);
    (void)setenv("LD_LIBRARY_PATH", in_work("home/loader", path), 1);
    open_host_at(NULL, NULL);
    (void)unsetenv("LD_LIBRARY_PATH");
    need_mounts();
    expect("write", "home/documents/letter", "text", "done");
    expect("write", "home/lib/libc.so.6", "x", "EROFS");
    expect("write", "home/loader/libc.so.6", "x", "EROFS");
    expect("write", "home/definition/library.so", "x", "EROFS");
    expect("rename", "home/lib", "home/other", "EBUSY");
}

static void a_folder_of_libraries_that_is_missing_is_not_made(void **state) {
    (void)state;
    install("claim-run-path", PLUGINS "/claim.so");
    set_run_path(PLUGINS "/claim.so", "home/lib");
    open_host(HOME_ALLOWED);
    assert_non_null(strstr(logged, "the plugin could make it"));
    expect("make", "home/lib", "", "EACCES");
}

/* The host loads its copy of a plugin, which is in the state folder: what is two folders above it a
 * plugin with the home could make. */
static void a_run_path_out_of_the_folder_of_the_copy_is_refused(void **state) {
    static const char *const paths[] = {"$ORIGIN/../../lib", "${ORIGIN}/../../lib",
                                        "$ORIGIN/../../../../documents"};
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        install("claim-run-path", PLUGINS "/claim.so");
        write_run_path(PLUGINS "/claim.so", paths[i]);
        open_host(HOME_ALLOWED);
        need_mounts();
        struct toolrack_result *result = NULL;
        assert_int_equal(toolrack_call(host, "calc", "{}", NULL, &result, NULL),
                         TOOLRACK_E_NOT_FOUND);
        toolrack_result_free(result);
        assert_non_null(strstr(logged, paths[i]));
        toolrack_close(host);
        host = NULL;
    }
    install("claim-run-path", PLUGINS "/claim.so");
    write_run_path(PLUGINS "/claim.so",
                   "$ORIGIN/lib"); /* leads nowhere: the copies are the host's */
    open_host(HOME_ALLOWED);
    struct toolrack_result *result = NULL;
    assert_int_equal(toolrack_call(host, "calc", "{}", NULL, &result, NULL), 0);
    toolrack_result_free(result);
    expect("make", "home/.local/state/toolrack/images/lib", "", "EROFS");
}

/* "$ORIGIN" is the folder of the program, and a path without a slash at its beginning is of the
 * folder that the process is in. */
static void folders_of_the_loaders_variables_are_expanded(void **state) {
    char program[PATH_MAX];
    char here[PATH_MAX];
    char path[256];
    char list[2 * PATH_MAX];
    (void)state;
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(length > 0);
    program[length] = '\0';
    (void)snprintf(list, sizeof list, "$ORIGIN");
    for (const char *at = program; (at = strchr(at + 1, '/')) != NULL;) {
        (void)snprintf(list + strlen(list), sizeof list - strlen(list), "/..");
    }
    make_folders("home/loader");
    make_folders("home/here");
    (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s:relative",
                   in_work("home/loader", path));
    assert_non_null(getcwd(here, sizeof here));
    make_folders("home/here/relative");
    assert_int_equal(chdir(in_work("home/here", path)), 0);
    (void)setenv("LD_LIBRARY_PATH", list, 1);
    open_host(HOME_ALLOWED);
    (void)unsetenv("LD_LIBRARY_PATH");
    assert_int_equal(chdir(here), 0);
    need_mounts();
    expect("write", "home/documents/letter", "text", "done");
    expect("write", "home/loader/libc.so.6", "x", "EROFS");
    expect("write", "home/here/relative/libc.so.6", "x", "EROFS");
}

/* ------------------------------------------------------------------ ${data} */

static void data_is_private_and_made_by_the_host(void **state) {
    char path[512];
    struct stat st;
    char outside[256];
    (void)state;
    open_host("\"write:${data}\"");
    assert_int_equal(describe("/capabilities/2/allowed", path), 1);
    (void)describe("/capabilities/2/path", path);
    assert_non_null(strstr(path, "home/.local/share/toolrack/data/greedy-"));
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    char file[600];
    (void)snprintf(file, sizeof file, "%s/kept", path);
    expect_raw("write", file, "text", "done");
    expect_raw("read", file, "", "text");
    expect_raw("write", in_work("home/.local/share/toolrack/data/other", outside), "x", "EACCES");
}

static void a_plugin_is_told_what_was_granted(void **state) {
    char path[512];
    char told[700];
    (void)state;
    open_host("\"env\"");
    expect_raw("told", "", "", "done"); /* nothing */
    toolrack_close(host);
    open_host("\"write:${data}\"");
    (void)describe("/capabilities/2/path", path);
    (void)snprintf(told, sizeof told, "write own %s", path);
    expect_raw("told", "", "", told);
}

/* Its own, and that of no other, also below a granted home. */
static void data_is_there_beside_a_granted_home(void **state) {
    char path[512];
    char file[600];
    (void)state;
    make_folders("home/.local/share/toolrack/data/other-0123456789abcdef");
    open_host(HOME_ALLOWED ", \"write:${data}\"");
    need_mounts();
    (void)describe("/capabilities/2/path", path);
    (void)snprintf(file, sizeof file, "%s/kept", path);
    expect_raw("write", file, "text", "done");
    expect("list", "home/.local/share/toolrack/data", "", "1 entries");
}

/* ------------------------------------------------------------------ network, programs */

static void no_local_socket_is_reached(void **state) {
    static const char *const grants[] = {"\"network\"", "\"spawn\"", "\"*\"", "\"network:udp\""};
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char path[256];
    (void)state;
    make_folders("home/run/toolrack");
    assert_true(snprintf(at.sun_path, sizeof at.sun_path, "%s",
                         in_work("home/run/toolrack/host", path)) < (int)sizeof at.sun_path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
                listen(fd, 1) == 0);
    for (size_t i = 0; i < sizeof grants / sizeof grants[0]; i++) {
        open_host(grants[i]);
        expect_raw("local", at.sun_path, "", "EACCES");
        toolrack_close(host);
        host = NULL;
    }
    open_host("\"*\"");
    need_mounts();
    expect("list", "home/run/toolrack", "", "0 entries");
    (void)close(fd);
}

static void udp_is_a_word_of_its_own(void **state) {
    (void)state;
    open_host("\"network:*\"");
    expect_raw("socket", "tcp", "", "done");
    expect_raw("socket", "udp", "", "EPERM");
    toolrack_close(host);
    open_host("\"network:udp\"");
    expect_raw("socket", "tcp", "", "EPERM");
    expect_raw("socket", "udp", "", "done");
}

/* Whatever ports are granted. */
static void the_ports_of_the_host_are_not_granted(void **state) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    char port[16];
    char text[512];
    (void)state;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0 && bind(fd, (const struct sockaddr *)&at, sizeof at) == 0 &&
                listen(fd, 1) == 0 && getsockname(fd, (struct sockaddr *)&at, &size) == 0);
    (void)snprintf(port, sizeof port, "%u", ntohs(at.sin_port));
    open_host("\"network:*\"");
    (void)describe("/sandbox/missing/0", text);
    if (strcmp(text, "landlock (tcp)") == 0) {
        skip();
    }
    expect_raw("connect", port, "", "EACCES");
    (void)close(fd);
}

static void only_the_granted_program_runs(void **state) {
    (void)state;
    open_host("\"spawn\"");
    expect_raw("run", INMATE, "/etc/passwd", "privileges 1");
    expect_raw("run", "/bin/true", "", "EACCES");
    expect_raw("run", "/bin/sh", "-c", "EACCES");
    expect_raw("run_memory", INMATE, "/etc/passwd", "EPERM");
}

/* It may start the loader, as the kernel does for each program; the loader reads what it runs, so
 * it runs what may be read, in the same sandbox. */
static void the_loader_runs_only_what_may_be_read(void **state) {
    (void)state;
    open_host("\"spawn\"");
    if (access(LOADER, F_OK) < 0) {
        skip();
    }
    expect_raw("run", LOADER, INMATE, "");
    char text[4200];
    attempt("run", LOADER, "/bin/true", text);
    if (strstr(text, "EACCES") != NULL || strcmp(text, "done") != 0) {
        fail_msg("the loader said: %s",
                 text); /* it says on standard error that it cannot open it */
    }
}

/* Two variables and no more, as `greedy` is granted none; a worker that was built with a sanitizer
 * gets the sanitizer's options too. */
static const char *expected_variables(char room[24]) {
    unsigned count = 2;
#if SANITIZER_ADDRESS
    static const char *const options[] = {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS",
                                          "LSAN_OPTIONS"};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        count += getenv(options[i]) != NULL;
    }
#endif
    (void)snprintf(room, 24, "variables %u\n", count);
    return room;
}

static void a_program_has_the_same_sandbox(void **state) {
    char variables[24];
    const char *const lines[] = {
            "privileges 1\n",  "filter 2\n",
            "descriptors 0\n", "limited 1\n",
            "read EACCES\n",   "local EACCES\n",
            "session EPERM\n", "host EPERM\n",
            "exec EACCES\n",   expected_variables(variables),
    };
    char text[4200];
    (void)state;
    open_host("\"spawn\", \"network\"");
    attempt("run", INMATE, "/etc/passwd", text);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        if (strstr(text, lines[i]) == NULL) {
            fail_msg("no '%s' in:\n%s", lines[i], text);
        }
    }
}

/* The host would close it, which can take as long as another machine likes. */
static void no_descriptor_reaches_the_host(void **state) {
    (void)state;
    open_host("\"network\"");
    expect_raw("send", "3", "descriptor", "EPIPE");
    expect_raw("send", "3", "byte", "EPIPE");
    toolrack_close(host);
    host = NULL;
    open_host("\"spawn\"");
    expect_raw("send", "3", "descriptor", "EPERM");
}

/* ------------------------------------------------------------------ environment, require */

static void the_loader_of_a_worker_sees_nothing_of_the_hosts(void **state) {
    char variables[24];
    char text[4200];
    (void)state;
    (void)setenv("LD_PRELOAD", "/nonexistent/evil.so", 1);
    (void)setenv("GLIBC_TUNABLES", "glibc.malloc.check=3", 1);
    (void)setenv("LD_DEBUG", "libs", 1);
    open_host("\"spawn\"");
    attempt("run", INMATE, "/etc/passwd", text);
    (void)unsetenv("LD_PRELOAD");
    (void)unsetenv("GLIBC_TUNABLES");
    (void)unsetenv("LD_DEBUG");
    if (strstr(text, expected_variables(variables)) == NULL) {
        fail_msg("%s", text);
    }
    /* A loader that had seen them would have said so on standard error. */
    assert_string_equal(logged, "");
}

static void a_required_sandbox_is_not_left_out(void **state) {
    char text[4200];
    (void)state;
    write_text(CONFIG, "{\"require_sandbox\": true, \"isolation\": \"none\"}");
    open_host_at(NULL, NULL);
    attempt("stat", "/", "", text);
    assert_true(strcmp(text, "done") != 0);
    assert_non_null(strstr(logged, "the sandbox is required"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
            TEST(a_home_is_granted_without_what_is_the_hosts),
            TEST(the_default_places_stay_hidden_from_a_host_with_others),
            TEST(the_places_of_other_hosts_are_not_changed),
            TEST(the_places_of_other_hosts_are_refused),
            TEST(places_that_are_gone_are_forgotten),
            TEST(places_that_are_not_known_are_not_granted),
            TEST(nothing_takes_the_place_of_what_is_hidden),
            TEST(the_worker_program_of_the_environment_is_not_replaced),
            TEST(what_does_not_exist_yet_cannot_be_made_by_a_plugin),
            TEST(a_link_on_the_way_is_no_grant),
            TEST(a_path_of_the_host_is_refused),
            TEST(a_configuration_with_two_names_is_no_grant),
            TEST(the_files_of_the_kernel_are_not_reached),
            TEST(a_configuration_of_its_own_place_needs_its_own_folder),
            TEST(the_layers_are_told),
            TEST(a_narrower_path_is_granted),
            TEST(what_is_writable_decides_no_other_grant),
            TEST(a_program_that_is_writable_does_not_run),
            TEST(a_plugin_file_that_is_a_link_is_not_changed),
            TEST(what_is_granted_below_stays_writable),
            TEST(a_plugin_file_that_a_link_awaits_is_not_made),
            TEST(a_path_back_from_what_is_missing_is_no_grant),
            TEST(a_plugin_file_with_two_names_is_no_grant),
            TEST(a_plugin_file_that_another_may_write_is_not_taken_later),
            TEST(libraries_are_not_changed),
            TEST(a_folder_of_libraries_that_is_missing_is_not_made),
            TEST(a_run_path_out_of_the_folder_of_the_copy_is_refused),
            TEST(folders_of_the_loaders_variables_are_expanded),
            TEST(data_is_private_and_made_by_the_host),
            TEST(a_plugin_is_told_what_was_granted),
            TEST(data_is_there_beside_a_granted_home),
            TEST(no_local_socket_is_reached),
            TEST(no_descriptor_reaches_the_host),
            TEST(udp_is_a_word_of_its_own),
            TEST(the_ports_of_the_host_are_not_granted),
            TEST(only_the_granted_program_runs),
            TEST(the_loader_runs_only_what_may_be_read),
            TEST(a_program_has_the_same_sandbox),
            TEST(the_loader_of_a_worker_sees_nothing_of_the_hosts),
            TEST(a_required_sandbox_is_not_left_out),
    };
    return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
