#include "cli/debug.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

/* Longest command line that is repeated. */
#define LINE_LENGTH_MAX (1024u * 1024)
#define PATH_ROOM       4096

/* "catch load" takes a regular expression; the file is a copy of the same name. */
static void add_catch(struct buf *out, const char *file) {
    const char *slash = strrchr(file, '/');
    buf_add_text(out, "catch load ");
    for (const char *c = slash != NULL ? slash + 1 : file; *c != '\0'; c++) {
        if (strchr(".[]*+?^$(){}|\\", *c) != NULL) {
            buf_add_char(out, '\\');
        }
        buf_add_char(out, *c);
    }
}

/* Words that end with NULL, in memory of their own but for what they point to. */
struct words {
    const char **items;
    size_t count;
};

static bool add_word(struct words *words, const char *word) {
    const char **grown = reallocarray(words->items, words->count + 2, sizeof *grown);
    if (grown == NULL) {
        return false;
    }
    words->items = grown;
    grown[words->count++] = word;
    grown[words->count] = NULL;
    return true;
}

/* The words of this process behind its own name: each ends with a zero in `line`. */
static bool add_own_words(struct words *words, const struct buf *line) {
    bool done = true;
    size_t at = line->length > 0 ? strlen(line->data) + 1 : 0;
    while (at < line->length) {
        done = done && add_word(words, line->data + at);
        at += strlen(line->data + at) + 1;
    }
    return done;
}

int debug_begin(struct cli *cli, const struct toolrack_tool *tool) {
    const char *file = toolrack_tool_file(tool);
    char program[PATH_ROOM];
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf catch = BUF_INIT;
    CLEANUP(buf_finish) struct buf stop = BUF_INIT;
    struct words words = {0};
    if (file == NULL) {
        return cli_error(cli, TOOLRACK_E_INVALID, "--debug takes a tool of a plugin file");
    }
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    CLEANUP(closep) int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    if (length <= 0 || fd < 0 ||
        cli_read(cli, fd, "its own command line", LINE_LENGTH_MAX, &line) < 0) {
        return cli_error(cli, TOOLRACK_E_IO, "cannot read /proc/self: %s", strerror(errno));
    }
    program[length] = '\0';
    add_catch(&catch, file);
    buf_printf(&stop, "tbreak %s", toolrack_tool_name(tool));
    const char *const begin[] = {"gdb", "-q",      "-ex", catch.data, "-ex",    "run",
                                 "-ex", stop.data, "-ex", "continue", "--args", program};
    bool done = !catch.failed && !stop.failed && !line.failed;
    for (size_t i = 0; i < ARRAY_LENGTH(begin); i++) {
        done = done && add_word(&words, begin[i]);
    }
    if (!done || !add_own_words(&words, &line) || setenv(CLI_UNDER_DEBUGGER, "1", 1) < 0) {
        free(words.items);
        return cli_oom(cli);
    }
    (void)execvp("gdb", (char *const *)(uintptr_t)words.items);
    int failed = errno;
    (void)unsetenv(CLI_UNDER_DEBUGGER);
    free(words.items);
    return failed == ENOENT
                   ? cli_error(
                             cli, TOOLRACK_E_IO,
                             "--debug needs gdb, which is not installed; install it (Debian: gdb)")
                   : cli_error(cli, TOOLRACK_E_IO, "cannot start gdb: %s", strerror(failed));
}
