/* A file from a web server: what servers do to who asks them, and what is said of it. */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "file-server.h"
#include "net/download.h"

#include "package-test.h"

#define TEXT "what there is"

static struct file_server *server;

static int set_up(void **state) {
    if (enter_folder(state) != 0) {
        return -1;
    }
    FILE *file = fopen("file", "w");
    if (file == NULL || fputs(TEXT, file) < 0 || fclose(file) != 0) {
        return -1;
    }
    server = file_server_start(dir);
    return server != NULL ? 0 : -1;
}

static int tear_down(void **state) {
    file_server_stop(server);
    return leave_folder(state);
}

/* Download a path of the server, and return the code. */
static int get(const char *path, uint64_t size_max, const struct download_limits *limits,
               char got[64]) {
    char url[128];
    int fd = memfd_create("download", MFD_CLOEXEC);
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/%s", file_server_port(server), path);
    int code = download(url, fd, size_max, limits, &err);
    ssize_t length = pread(fd, got, 63, 0);
    assert_true(length >= 0);
    got[length] = '\0';
    assert_int_equal(close(fd), 0);
    return code;
}

static void expect(const char *path, uint64_t size_max, int code, const char *words) {
    char got[64];
    int found = get(path, size_max, &DOWNLOAD_LIMITS, got);
    if (found != code || strstr(err.message, words) == NULL) {
        fail_msg("%s: %s: %s", path, toolrack_code_name(found), err.message);
    }
}

static void what_is_there_comes(void **state) {
    (void)state;
    char got[64];
    assert_int_equal(get("file", 100, &DOWNLOAD_LIMITS, got), 0);
    assert_string_equal(got, TEXT);
    assert_int_equal(get("to/to/file", strlen(TEXT), &DOWNLOAD_LIMITS, got), 0);
    assert_string_equal(got, TEXT);
    /* As it is, whatever is said of it. */
    assert_int_equal(get("gzip/file", 100, &DOWNLOAD_LIMITS, got), 0);
    assert_string_equal(got, TEXT);
    /* What is behind the length that the server states is not of the file. */
    assert_int_equal(get("short/file", 100, &DOWNLOAD_LIMITS, got), 0);
    assert_string_equal(got, "w");
}

static void what_servers_do_is_told(void **state) {
    (void)state;
    expect("none", 100, TOOLRACK_E_NOT_FOUND, "does not exist (HTTP status 404)");
    expect("file", 5, TOOLRACK_E_LIMIT_EXCEEDED, "is longer than 5 bytes");
    expect("cut/file", 1000, TOOLRACK_E_IO, "was cut off: the server has sent less than it said");
    expect("endless/", 100000, TOOLRACK_E_LIMIT_EXCEEDED, "is longer than 100000 bytes");
    expect("headers/", 100, TOOLRACK_E_LIMIT_EXCEEDED, "are longer than 262144 bytes");
    expect("loop/", 100, TOOLRACK_E_LIMIT_EXCEEDED, "redirects more than 5 times");
    expect("other/", 100, TOOLRACK_E_IO, "what answers there is no HTTP server");
    expect("file/etc/passwd", 100000, TOOLRACK_E_REFUSED, "neither https nor");
}

static void a_silent_server_is_given_up(void **state) {
    (void)state;
    char got[64];
    struct download_limits limits = DOWNLOAD_LIMITS;
    limits.slow_s = 1;
    assert_int_equal(get("silent/", 10000, &limits, got), TOOLRACK_E_TIMEOUT);
    assert_non_null(strstr(err.message, "1 s with less than 100 bytes each"));
}

static void https_leads_to_no_http(void **state) {
    (void)state;
    assert_string_equal(download_onward("https://a"), "https");
    assert_string_equal(download_onward("HTTPS://a"), "https");
    assert_string_equal(download_onward("http://https:"), "http,https");
}

static void public_servers_lead_to_public_ones(void **state) {
    (void)state;
    static const char *const outside[] = {"8.8.8.8",        "172.32.0.1",     "100.128.0.1",
                                          "2606:4700::1",   "::ffff:8.8.8.8", "64:ff9b::808:808",
                                          "2002:808:808::1"};
    static const char *const within[] = {"127.0.0.1",
                                         "127.255.0.9",
                                         "0.0.0.0",
                                         "10.1.2.3",
                                         "172.16.0.1",
                                         "172.31.9.9",
                                         "192.168.0.1",
                                         "169.254.169.254",
                                         "100.64.0.1",
                                         "198.19.0.1",
                                         "224.0.0.1",
                                         "255.255.255.255",
                                         "::1",
                                         "::",
                                         "fe80::1",
                                         "fd00::1",
                                         "ff02::1",
                                         "::127.0.0.1",
                                         "::ffff:10.0.0.1",
                                         "64:ff9b::7f00:1",
                                         "2002:7f00:1::1",
                                         "",
                                         "nothing"};
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        for (size_t k = 0; k < sizeof within / sizeof within[0]; k++) {
            if (!download_leads_inside(outside[i], within[k]) ||
                download_leads_inside(within[k], outside[i])) {
                fail_msg("%s and %s", outside[i], within[k]);
            }
            assert_false(download_leads_inside(within[k], "127.0.0.1"));
        }
        assert_false(download_leads_inside("9.9.9.9", outside[i]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test(what_is_there_comes),
            cmocka_unit_test(what_servers_do_is_told),
            cmocka_unit_test(a_silent_server_is_given_up),
            cmocka_unit_test(https_leads_to_no_http),
            cmocka_unit_test(public_servers_lead_to_public_ones),
    };
    return cmocka_run_group_tests_name("download", tests, set_up, tear_down);
}
