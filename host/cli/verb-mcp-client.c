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
#include "cli/output.h"
#include "cli/verb-mcp-client.h"
#include "serve/serve.h"

/* Variables of the environment that the server needs as this command has them: a client starts it
 * with an environment of its own, and in any folder. */
static const struct {
    const char *name;
    const char *otherwise; /* below the home, for one that is no setting if it says that; or NULL */
} settings[] = {{"TOOLRACK_WORKER", NULL},
                {"TOOLRACK_PLUGIN_PATH", NULL},
                {"XDG_CONFIG_HOME", ".config"},
                {"XDG_STATE_HOME", ".local/state"},
                {"XDG_DATA_HOME", ".local/share"}};

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

/* A path from the root, since a client starts the server in any folder. To be freed; NULL: it
 * cannot be found out. */
static char *from_root(const char *path) {
    char *full = path[0] == '/' || path[0] == '\0' ? strdup(path) : realpath(path, NULL);
    if (full == NULL && errno == ENOENT) {
        CLEANUP(freep) char *folder = getcwd(NULL, 0);
        if (folder == NULL || asprintf(&full, "%s/%s", folder, path) < 0) {
            full = NULL;
        }
    }
    return full;
}

/* Add an option with a path. */
static bool add_path(struct starting *starting, const char *option, const char *path) {
    if (path == NULL) {
        return true;
    }
    char *full = from_root(path);
    if (full == NULL || starting->owned_count == ARRAY_LENGTH(starting->words)) {
        free(full);
        return false;
    }
    return add_word(starting, option) && add_word(starting, own(starting, full));
}

/* Whether the server would have this value without being told. */
static bool is_otherwise(const char *value, const char *otherwise) {
    const char *home = getenv("HOME");
    size_t length = home != NULL ? strlen(home) : 0;
    return home != NULL && strncmp(value, home, length) == 0 && value[length] == '/' &&
           strcmp(value + length + 1, otherwise) == 0;
}

/* A setting as "NAME=VALUE", with its paths from the root: those of TOOLRACK_PLUGIN_PATH are
 * separated by colons. */
static char *write_setting(const char *name, const char *value) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(freep) char *rest = strdup(value);
    char *next = rest;
    buf_printf(&text, "%s=", name);
    for (bool is_first = true; next != NULL; is_first = false) {
        const char *path = strsep(&next, ":");
        CLEANUP(freep) char *full = from_root(path);
        if (full == NULL) {
            return NULL;
        }
        buf_printf(&text, "%s%s", is_first ? "" : ":", full);
    }
    return rest == NULL || text.failed ? NULL : strdup(text.data);
}

static int add_settings(struct cli *cli, struct starting *starting) {
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(settings); i++) {
        const char *value = getenv(settings[i].name);
        bool is_default = settings[i].otherwise != NULL;
        if (value == NULL || value[0] == '\0' ||
            /* A relative folder of XDG is none. */
            (is_default && (value[0] != '/' || is_otherwise(value, settings[i].otherwise)))) {
            continue;
        }
        char *setting = write_setting(settings[i].name, value);
        if (setting == NULL) {
            return cli_error(cli, TOOLRACK_E_IO, "cannot tell where %s leads: %s", settings[i].name,
                             strerror(errno));
        }
        starting->settings[count++] = own(starting, setting);
    }
    return 0;
}

/* The server finds its worker program by the entry, or where this build expects it. */
static void warn_of_worker(const struct starting *starting) {
    static const char name[] = "TOOLRACK_WORKER=";
    const char *program = TOOLRACK_WORKER_PROGRAM;
    for (size_t i = 0; starting->settings[i] != NULL; i++) {
        bool is_named = strncmp(starting->settings[i], name, sizeof name - 1) == 0;
        program = is_named ? starting->settings[i] + sizeof name - 1 : program;
    }
    if (access(program, X_OK) < 0) {
        output_note("with this entry no plugin runs in a worker: the worker program %s: %s; "
                    "install it there, or set TOOLRACK_WORKER to its path and do this again",
                    program, strerror(errno));
    }
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
    if (add_settings(cli, starting) < 0) {
        return toolrack_error_code(cli->own);
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
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
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
    if (cli->options.install != NULL && cli->options.print_config != NULL) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "--install and --print-config are two commands; give one of them");
        return cli_fail_usage(cli);
    }
    if (check_server(cli) < 0 || describe(cli, &starting) < 0) {
        return cli_fail(cli);
    }
    warn_of_worker(&starting);
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
