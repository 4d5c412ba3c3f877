/* enable, disable, priority, default: settings of an administrator, stored in the state folder. */
#include <limits.h>
#include <string.h>

#include "cli/json.h"

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

/* "greet", or "greet 1.0.0". */
static void add_subject(struct buf *out, const char *name) {
    const char *at = strchr(name, '@');
    if (at == NULL) {
        buf_printf(out, "%s ", name);
    } else {
        buf_printf(out, "%.*s %s ", (int)(at - name), name, at + 1);
    }
}

static int set_enabled(struct cli *cli, bool enabled) {
    const char *name = cli->options.words.items[0];
    if (!cli_keeps(cli) || toolrack_set_enabled(cli->host, name, enabled, NULL, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    if (!cli->options.json) {
        add_subject(&cli->out, name);
        buf_printf(&cli->out, "is %s", enabled ? "enabled" : "disabled");
        cli_end_decision(cli);
        return CLI_OK;
    }
    return json_print_done(cli, name, "enabled", enabled);
}

int verb_enable(struct cli *cli) {
    return set_enabled(cli, true);
}

int verb_disable(struct cli *cli) {
    return set_enabled(cli, false);
}

int verb_priority(struct cli *cli) {
    const char *name = cli->options.words.items[0];
    const char *text = cli->options.words.items[1];
    long long priority = 0;
    if (!options_number(text, INT_MIN, INT_MAX, &priority)) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "a priority must be an integer from %d to %d, not \"%s\"", INT_MIN, INT_MAX,
                        text);
        return cli_fail_usage(cli);
    }
    if (!cli_keeps(cli) ||
        toolrack_set_priority(cli->host, name, (int)priority, NULL, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    if (!cli->options.json) {
        add_subject(&cli->out, name);
        buf_printf(&cli->out, "has priority %lld", priority);
        cli_end_decision(cli);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", name);
    (void)yyjson_mut_obj_add_sint(doc, root, "priority", priority);
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

/* ----------------------------------------------------------------- default */

/* Print the current default. After --reset there may be no tool of that name any more. */
static int print_default(struct cli *cli, const char *name, const struct toolrack_tool *tool) {
    const char *version = tool != NULL ? toolrack_tool_version(tool) : NULL;
    bool is_set = tool != NULL && toolrack_tool_is_set_default(tool);
    if (!cli->options.json) {
        if (version == NULL) {
            buf_printf(&cli->out, "%s has no enabled version", name);
        } else {
            buf_printf(&cli->out, "the default of %s is %s, %s", name, version,
                       is_set ? "as set" : "the highest version");
        }
        cli_end_decision(cli);
        return CLI_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "name", name);
    json_add_text(doc, root, "default", version);
    (void)yyjson_mut_obj_add_bool(doc, root, "set", is_set);
    cli_add_reached(cli, doc, root);
    return json_print(cli, doc, root);
}

int verb_default(struct cli *cli) {
    const char *name = cli->options.words.items[0];
    if (cli->options.reset && cli->options.words.count > 1) {
        (void)cli_error(cli, TOOLRACK_E_INVALID, "--reset takes no version");
        return cli_fail_usage(cli);
    }
    const char *version = cli->options.words.count > 1 ? cli->options.words.items[1] : NULL;
    const char *plugin = cli->options.plugin;
    if (plugin != NULL && version == NULL) {
        (void)cli_error(cli, TOOLRACK_E_INVALID, "--plugin needs the version that it provides");
        return cli_fail_usage(cli);
    }
    if ((version != NULL || cli->options.reset) &&
        (!cli_keeps(cli) ||
         (plugin != NULL
                  ? toolrack_set_default_plugin(cli->host, name, version, plugin, NULL, cli->err)
                  : toolrack_set_default(cli->host, name, version, NULL, cli->err)) < 0)) {
        return cli_fail_usage(cli);
    }
    if (cli->options.reset) {
        CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *left = toolrack_get(cli->host, name);
        return print_default(cli, name, left);
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = cli_find(cli, name);
    return tool != NULL ? print_default(cli, name, tool) : cli_fail(cli);
}
