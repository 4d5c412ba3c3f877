#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "author/author.h"
#include "base/file.h"
#include "cli/json.h"

/* At once: it is for a person who waits. */
static bool print(void *user, const char *text, size_t length) {
    (void)user;
    return write_all(STDOUT_FILENO, text, length) == 0;
}

/* Where a person's own plugins are. */
static const char *own_folder(char *path, size_t room) {
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    if (data != NULL && data[0] == '/') {
        (void)snprintf(path, room, "%s/toolrack/plugins", data);
    } else if (home != NULL && home[0] == '/') {
        (void)snprintf(path, room, "%s/.local/share/toolrack/plugins", home);
    } else {
        return NULL;
    }
    return path;
}

int verb_dev(struct cli *cli) {
    const struct options *options = &cli->options;
    char path[4096];
    const struct author_dev dev = {.folder = options->words.items[0],
                                   .build = options->build,
                                   .into = options->plugin_dirs.count > 0
                                                   ? options->plugin_dirs.items[0]
                                                   : own_folder(path, sizeof path),
                                   .installs = options->installs,
                                   .timeout_ms = options->timeout_ms,
                                   .json = options->json,
                                   .tell = print};
    int code = author_dev(&dev, cli->own);
    return code == 0 ? CLI_OK : code == TOOLRACK_E_INVALID ? cli_fail_usage(cli) : cli_fail(cli);
}
