/* verb-mcp-client.c - `toolrack mcp --print-config CLIENT` and `--install CLIENT`: how a client is
 * told to start the server. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/clients.h"
#include "cli/json.h"
#include "cli/verb-mcp-client.h"
#include "serve/serve.h"

/* Variables of the environment that the server needs as this command has them: a client starts it
 * with an environment of its own. */
static const char *const settings[] = {"TOOLRACK_WORKER", "TOOLRACK_PLUGIN_PATH"};

/* What the client is to start, and the memory of its words. */
struct starting {
    struct client_command command;
    char program[PATH_MAX];
    const char *words[64];
    size_t word_count;
    char *owned[64 + ARRAY_LENGTH(settings)];
    size_t owned_count;
    const char *settings[ARRAY_LENGTH(settings) + 1];
};

static void starting_finish(struct starting *starting) {
    for (size_t i = 0; i < starting->owned_count; i++) {
        free(starting->owned[i]);
    }
}

static bool add_word(struct starting *starting, const char *word) {
    if (starting->word_count + 1 >= ARRAY_LENGTH(starting->words)) {
        return false;
    }
    starting->words[starting->word_count++] = word;
    return true;
}

/* Keep memory until the end; NULL: there is none. */
static const char *own(struct starting *starting, char *memory) {
    if (memory != NULL) {
        starting->owned[starting->owned_count++] = memory;
    }
    return memory;
}

/* Add an option with a path: from the root, since a client starts the server in any folder. */
static bool add_path(struct starting *starting, const char *option, const char *path) {
    if (path == NULL) {
        return true;
    }
    char *full = path[0] == '/' || path[0] == '\0' ? strdup(path) : realpath(path, NULL);
    if (full == NULL && errno == ENOENT) {
        char *folder = getcwd(NULL, 0);
        if (folder == NULL || asprintf(&full, "%s/%s", folder, path) < 0) {
            full = NULL;
        }
        free(folder);
    }
    if (full == NULL || starting->owned_count == ARRAY_LENGTH(starting->words)) {
        free(full);
        return false;
    }
    return add_word(starting, option) && add_word(starting, own(starting, full));
}

/* The command line of the server: this program, with the options that this command has. */
static int describe(struct cli *cli, struct starting *starting) {
    const struct options *options = &cli->options;
    ssize_t length = readlink("/proc/self/exe", starting->program, sizeof starting->program - 1);
    if (length < 0) {
        return cli_error(cli, TOOLRACK_E_IO, "cannot read /proc/self/exe: %s", strerror(errno));
    }
    starting->program[length] = '\0';
    bool fits = add_word(starting, "mcp");
    if (options->profile != NULL) {
        fits = fits && add_word(starting, "--profile") && add_word(starting, options->profile);
    }
    fits = fits && add_path(starting, "--config", options->config_file) &&
           add_path(starting, "--state", options->state_dir);
    for (size_t i = 0; i < options->plugin_dirs.count; i++) {
        fits = fits && add_path(starting, "--plugins", options->plugin_dirs.items[i]);
    }
    fits = fits && (!options->require_sandbox || add_word(starting, "--require-sandbox")) &&
           (!options->safe_mode || add_word(starting, "--safe-mode"));
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++) {
        const char *value = getenv(settings[i]);
        char *setting = NULL;
        if (value != NULL && value[0] != '\0') {
            if (asprintf(&setting, "%s=%s", settings[i], value) < 0) {
                return cli_oom(cli);
            }
            starting->settings[count++] = own(starting, setting);
        }
    }
    starting->command = (struct client_command){
            .program = starting->program, .words = starting->words, .setting = starting->settings};
    return fits ? 0
                : cli_error(cli, TOOLRACK_E_INVALID,
                            "these are too many options for an entry; put the folders into a "
                            "configuration, and name it with --config");
}

static int print_installed(struct cli *cli, const struct client *client, const char *path,
                           const char *kept, bool is_new) {
    if (cli->options.json) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_new();
        yyjson_mut_val *root = yyjson_mut_obj(doc);
        json_add_text(doc, root, "client", client->name);
        json_add_text(doc, root, "file", path);
        (void)yyjson_mut_obj_add_bool(doc, root, "changed", is_new);
        json_add_text(doc, root, "kept", kept);
        return json_print(cli, doc, root);
    }
    if (!is_new) {
        buf_printf(&cli->out, "%s starts this server already: %s has the entry\n", client->title,
                   path);
        return CLI_OK;
    }
    buf_printf(&cli->out, "%s has the entry for this server; start %s again to use it\n", path,
               client->title);
    if (kept != NULL) {
        buf_printf(&cli->out, "what it was before is in %s\n", kept);
    }
    return CLI_OK;
}

/* Whether the server would start: an entry for one that does not is no success. */
static int check_server(struct cli *cli) {
    int code = cli_open(cli, NULL);
    if (code == 0) {
        code = serve_stdio_check(cli->host, cli->options.profile, cli->own);
    }
    cli_close(cli);
    return code;
}

int mcp_tell_client(struct cli *cli) {
    const char *name =
            cli->options.install != NULL ? cli->options.install : cli->options.print_config;
    const struct client *client = clients_find(name, cli->own);
    CLEANUP(starting_finish) struct starting starting = {0};
    CLEANUP(buf_finish) struct buf path = BUF_INIT;
    CLEANUP(buf_finish) struct buf kept = BUF_INIT;
    if (client == NULL) {
        return cli_fail_usage(cli);
    }
    if (check_server(cli) < 0 || describe(cli, &starting) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.install == NULL) {
        return clients_document(client, &starting.command, &cli->out, cli->own) < 0 ? cli_fail(cli)
                                                                                    : CLI_OK;
    }
    int code = clients_path(client, &path, cli->own);
    if (code == 0) {
        code = clients_install(client, &starting.command, path.data, &kept, cli->own);
    }
    if (code < 0) {
        return cli_fail(cli);
    }
    return print_installed(cli, client, path.data, kept.length > 0 ? kept.data : NULL, code == 0);
}
