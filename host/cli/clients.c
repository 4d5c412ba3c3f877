#include "cli/clients.h"

#include <stdlib.h>
#include <string.h>

#include "base/json-write.h"
#include "cli/json.h"

/* The locations are those of Linux. */
static const struct client clients[] = {
        {"claude-desktop", "Claude Desktop", true, "Claude/claude_desktop_config.json",
         "mcpServers", CLIENT_PLAIN},
        {"claude-code", "Claude Code", false, ".claude.json", "mcpServers", CLIENT_TYPED},
        {"cline", "Cline", true,
         "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
         "mcpServers", CLIENT_PLAIN},
        {"cursor", "Cursor", false, ".cursor/mcp.json", "mcpServers", CLIENT_PLAIN},
        {"gemini-cli", "Gemini CLI", false, ".gemini/settings.json", "mcpServers", CLIENT_PLAIN},
        {"lm-studio", "LM Studio", false, ".lmstudio/mcp.json", "mcpServers", CLIENT_PLAIN},
        {"opencode", "OpenCode", true, "opencode/opencode.json", "mcp", CLIENT_COMMANDS},
        {"vscode", "VS Code", true, "Code/User/mcp.json", "servers", CLIENT_TYPED},
        {"windsurf", "Windsurf", false, ".codeium/windsurf/mcp_config.json", "mcpServers",
         CLIENT_PLAIN},
        {"zed", "Zed", true, "zed/settings.json", "context_servers", CLIENT_PLAIN},
};

const struct client *clients_find(const char *name, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf known = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LENGTH(clients); i++) {
        if (strcmp(clients[i].name, name) == 0) {
            return &clients[i];
        }
        buf_printf(&known, "%s%s", i > 0 ? ", " : "", clients[i].name);
    }
    if (known.failed) {
        (void)error_oom(err);
        return NULL;
    }
    (void)error_set(
            err, TOOLRACK_E_INVALID,
            "there is no client '%s'; the known ones are %s; any other one is told to start "
            "the server by the command toolrack mcp",
            name, known.data);
    return NULL;
}

int clients_path(const struct client *client, struct buf *ret, struct toolrack_error *err) {
    const char *home = getenv("HOME");
    const char *config = getenv("XDG_CONFIG_HOME");
    buf_clear(ret);
    if (client->in_config && config != NULL && config[0] == '/') {
        buf_printf(ret, "%s/%s", config, client->file);
    } else if (home != NULL && home[0] == '/') {
        buf_printf(ret, "%s/%s%s", home, client->in_config ? ".config/" : "", client->file);
    } else {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "HOME is not set, so it is not known where %s has its configuration",
                         client->title);
    }
    return ret->failed ? error_oom(err) : 0;
}

/* ------------------------------------------------------------------- entry */

static void add_words(yyjson_mut_doc *doc, yyjson_mut_val *array, const char *const *words) {
    for (; *words != NULL; words++) {
        (void)yyjson_mut_arr_add_str(doc, array, *words);
    }
}

static void add_settings(yyjson_mut_doc *doc, yyjson_mut_val *entry, const char *key,
                         const char *const *settings) {
    if (*settings == NULL) {
        return;
    }
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, entry, key);
    for (; *settings != NULL; settings++) {
        const char *equals = strchr(*settings, '=');
        if (equals != NULL) {
            (void)yyjson_mut_obj_add(object,
                                     yyjson_mut_strn(doc, *settings, (size_t)(equals - *settings)),
                                     yyjson_mut_str(doc, equals + 1));
        }
    }
}

yyjson_mut_val *clients_entry(const struct client *client, const struct client_command *command,
                              yyjson_mut_doc *doc) {
    yyjson_mut_val *entry = yyjson_mut_obj(doc);
    if (client->shape == CLIENT_COMMANDS) {
        (void)yyjson_mut_obj_add_str(doc, entry, "type", "local");
        yyjson_mut_val *words = yyjson_mut_obj_add_arr(doc, entry, "command");
        (void)yyjson_mut_arr_add_str(doc, words, command->program);
        add_words(doc, words, command->words);
        add_settings(doc, entry, "environment", command->setting);
        return entry;
    }
    if (client->shape == CLIENT_TYPED) {
        (void)yyjson_mut_obj_add_str(doc, entry, "type", "stdio");
    }
    (void)yyjson_mut_obj_add_str(doc, entry, "command", command->program);
    add_words(doc, yyjson_mut_obj_add_arr(doc, entry, "args"), command->words);
    add_settings(doc, entry, "env", command->setting);
    return entry;
}

int clients_document(const struct client *client, const struct client_command *command,
                     struct buf *ret, struct toolrack_error *err) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *servers = yyjson_mut_obj_add_obj(doc, root, client->servers);
    (void)yyjson_mut_obj_add_val(doc, servers, CLIENTS_ENTRY, clients_entry(client, command, doc));
    yyjson_mut_doc_set_root(doc, root);
    char *text = json_write(doc, YYJSON_WRITE_PRETTY_TWO_SPACES, NULL, NULL);
    if (text == NULL) {
        return error_oom(err);
    }
    buf_printf(ret, "%s\n", text);
    free(text);
    return ret->failed ? error_oom(err) : 0;
}
