#include <string.h>

#include "base/text.h"
#include "cli/json.h"
#include "cli/opening.h"
#include "serve/serve.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)

static const char *severity_name(enum toolrack_severity severity) {
    switch (severity) {
    case TOOLRACK_SEVERITY_NOTE: return "note";
    case TOOLRACK_SEVERITY_WARNING: return "warning";
    case TOOLRACK_SEVERITY_ERROR: return "error";
    }
    return "unknown";
}

/* ------------------------------------------------------------------- text */

static void add_texts(struct buf *out, const char *before, const char *text) {
    buf_add_text(out, before);
    text_add_line(out, text, strlen(text));
}

static void add_heading(struct buf *out, const char *file,
                        const struct toolrack_findings *findings) {
    text_add_line(out, file, strlen(file));
    const char *plugin = toolrack_findings_plugin(findings);
    if (toolrack_findings_is_configuration(findings)) {
        buf_add_text(out, ": configuration");
    } else if (plugin == NULL) {
        buf_add_text(out, ": not usable\n");
        return;
    } else {
        add_texts(out, ": ", plugin);
        add_texts(out, " ", toolrack_findings_version(findings));
    }
    size_t tools = toolrack_findings_tool_count(findings);
    buf_printf(out, ", %zu tool%s%s\n", tools, text_plural(tools),
               toolrack_findings_count(findings) == 0 ? ", no problems found" : "");
}

static void add_finding(struct cli *cli, const struct toolrack_finding *finding) {
    static const enum style styles[] = {[TOOLRACK_SEVERITY_NOTE] = STYLE_PLAIN,
                                        [TOOLRACK_SEVERITY_WARNING] = STYLE_CAUTION,
                                        [TOOLRACK_SEVERITY_ERROR] = STYLE_BAD};
    struct buf *out = &cli->out;
    buf_add_text(out, "  ");
    cli_style(cli, styles[finding->severity]);
    buf_add_text(out, severity_name(finding->severity));
    cli_style(cli, STYLE_PLAIN);
    buf_printf(out, " %s: ", finding->rule);
    if (finding->line != 0) {
        buf_printf(out, "line %zu, column %zu: ", finding->line, finding->column);
    }
    if (finding->tool != NULL) {
        add_texts(out, "", finding->tool);
        buf_add_text(out, ": ");
    }
    add_texts(out, "", finding->cause);
    add_texts(out, "\n    fix: ", finding->fix);
    buf_add_char(out, '\n');
}

/* -------------------------------------------------------------------- JSON */

static void add_json(yyjson_mut_doc *doc, yyjson_mut_val *row, const char *file,
                     const struct toolrack_findings *findings) {
    json_add_text(doc, row, "file", file);
    (void)yyjson_mut_obj_add_bool(doc, row, "is_configuration",
                                  toolrack_findings_is_configuration(findings));
    json_add_text(doc, row, "plugin", toolrack_findings_plugin(findings));
    json_add_text(doc, row, "version", toolrack_findings_version(findings));
    (void)yyjson_mut_obj_add_uint(doc, row, "tools", toolrack_findings_tool_count(findings));
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, row, "findings");
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, array);
        json_add_text(doc, object, "severity", severity_name(finding->severity));
        json_add_text(doc, object, "rule", finding->rule);
        json_add_text(doc, object, "tool", finding->tool);
        if (finding->pointer != NULL) {
            json_add_text(doc, object, "pointer", finding->pointer);
        }
        if (finding->line != 0) {
            (void)yyjson_mut_obj_add_uint(doc, object, "line", finding->line);
            (void)yyjson_mut_obj_add_uint(doc, object, "column", finding->column);
        }
        json_add_text(doc, object, "cause", finding->cause);
        json_add_text(doc, object, "fix", finding->fix);
    }
}

/* --------------------------------------------------------------- the whole */

static bool has_problems(const struct toolrack_findings *findings) {
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        if (toolrack_findings_get(findings, i)->severity != TOOLRACK_SEVERITY_NOTE) {
            return true;
        }
    }
    return false;
}

/* On any thread. A folder of --plugins may be wrong; what else goes on in a host is not asked. */
static void print_log(void *user, enum toolrack_log_level level, const char *source,
                      const char *line) {
    const struct cli *cli = user;
    if (cli->options.verbose || strcmp(source, "scan") == 0) {
        opening_print(level, source, line);
    }
}

static void check_serving(void *user, struct toolrack *host, toolrack_tell *tell, void *telling) {
    (void)user;
    serve_http_check(host, tell, telling);
}

/* Options of every verb that a check would have to ignore. */
static int refuse_options(struct cli *cli) {
    const struct options *options = &cli->options;
    const char *why = options->config_file != NULL
                              ? "--config: the configuration is a FILE to check"
                      : options->state_dir != NULL ? "--state: it neither keeps nor reads settings"
                      : options->require_sandbox   ? "--require-sandbox: it runs no tool"
                                                   : NULL;
    return why == NULL ? 0
                       : cli_error(cli, TOOLRACK_E_INVALID, "check takes no %s; leave it out", why);
}

/* If a file cannot be read, the other files are still checked. */
static int check_file(struct cli *cli, const char *file, yyjson_mut_doc *doc,
                      yyjson_mut_val *root) {
    yyjson_mut_val *row = cli->options.json ? yyjson_mut_arr_add_obj(doc, root) : NULL;
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    struct toolrack_check_options options = TOOLRACK_CHECK_OPTIONS_INIT;
    options.plugin_dirs =
            cli->options.plugin_dirs.count > 0 ? cli->options.plugin_dirs.items : NULL;
    options.safe_mode = cli->options.safe_mode;
    options.user = cli;
    options.log = print_log;
    options.log_level = cli->options.verbose ? TOOLRACK_LOG_DEBUG : TOOLRACK_LOG_WARNING;
    options.more = check_serving;
    if (toolrack_check_with(file, &options, &findings, cli->err) < 0) {
        if (!cli->options.json) {
            return cli_fail(cli);
        }
        json_add_text(doc, row, "file", file);
        return cli_error_object(cli, doc, row, NULL);
    }
    if (cli->options.json) {
        add_json(doc, row, file, findings);
    } else {
        add_heading(&cli->out, file, findings);
        for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
            add_finding(cli, toolrack_findings_get(findings, i));
        }
    }
    return has_problems(findings) ? CLI_FAILED : CLI_OK;
}

int verb_check(struct cli *cli) {
    const struct texts *files = &cli->options.words;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_arr(doc);
    int worst = CLI_OK;
    if (refuse_options(cli) < 0) {
        return cli_fail_usage(cli);
    }
    for (size_t i = 0; i < files->count; i++) {
        int code = check_file(cli, files->items[i], doc, root);
        worst = code > worst ? code : worst;
    }
    if (cli->options.json) {
        int printed = json_print(cli, doc, root);
        worst = printed > worst ? printed : worst;
    }
    return worst;
}
