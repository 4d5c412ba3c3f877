/* mcp-server.c - see mcp-server.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "mcp-server.h"
#include "remove-tree.h"

#include <cmocka.h>

struct toolrack *server_host;
struct mcp *server_mcp;
struct mcp_pipe *server_pipe;
const struct principal server_principal = {.id = "stdio", .permissions = ~0u};

struct talk server_way;

static char folder[64];

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

void server_open(const char *config, const struct tr_plugin *plugin, const char *profile) {
    char file[128];
    char state[128];
    (void)snprintf(folder, sizeof folder, "/tmp/toolrack-mcp-XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(file, sizeof file, "%s/toolrack.json", folder);
    (void)snprintf(state, sizeof state, "%s/state", folder);
    write_file(file, config);
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error err = {0};
    options.config_file = file;
    options.state_dir = state;
    options.no_scan = 1;
    if (toolrack_open(&options, &server_host, &err) < 0) {
        fail_msg("%s", err.message);
    }
    if (toolrack_register(server_host, plugin, NULL, &err) < 0) {
        fail_msg("%s", err.message);
    }
    struct mcp_options serving = {.host = server_host, .profile = profile};
    if (mcp_create(&serving, &server_mcp, &err) < 0) {
        fail_msg("%s", err.message);
    }
    talk_init(&server_way);
    assert_int_equal(
            mcp_pipe_open(server_mcp, &server_principal, &server_way.exchange, &server_pipe, &err),
            0);
}

void server_close(void) {
    if (server_pipe != NULL) {
        mcp_pipe_close(server_pipe, true);
    }
    talk_finish(&server_way);
    mcp_destroy(server_mcp);
    toolrack_close(server_host);
    assert_int_equal(remove_tree(folder), 0);
}

void server_check(const char *message, const char *answer) {
    struct talk talk;
    talk_pipe(&talk, server_pipe, message);
    assert_matches(talk_wait(&talk), answer);
    talk_finish(&talk);
}

void server_check_post(const struct principal *principal, const char *method, const char *name,
                       const char *message, const char *answer) {
    struct talk talk;
    const struct mcp_headers headers = {.version = "2026-07-28", .method = method, .name = name};
    talk_post(&talk, server_mcp, principal, &headers, message);
    assert_matches(talk_wait(&talk), answer);
    talk_finish(&talk);
}

void server_check_rows(const struct server_row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        server_check(rows[i].message, rows[i].answer);
    }
}
