#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cli/check.h"
#include "cli/opening.h"
#include "serve/serve.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)

static const char *const severities[] = {[TOOLRACK_SEVERITY_NOTE] = "note",
                                         [TOOLRACK_SEVERITY_WARNING] = "warning",
                                         [TOOLRACK_SEVERITY_ERROR] = "error"};

/* One run of the verb. */
struct check {
    struct cli *cli;
    enum toolrack_severity level; /* from here on, a finding makes the exit code 1 */
    struct check_allowances allowances;
    yyjson_mut_doc *doc;
    yyjson_mut_val *rows; /* with --json */
    struct check_sarif sarif;
    int worst; /* exit code so far */
};

const char *check_severity_name(enum toolrack_severity severity) {
    return (size_t)severity < ARRAY_LENGTH(severities) ? severities[severity] : "unknown";
}

bool check_severity_find(const char *name, enum toolrack_severity *ret) {
    for (size_t i = 0; i < ARRAY_LENGTH(severities); i++) {
        if (strcmp(severities[i], name) == 0) {
            *ret = (enum toolrack_severity)i;
            return true;
        }
    }
    return false;
}

static void worsen(struct check *check, int code) {
    check->worst = code > check->worst ? code : check->worst;
}

/* ------------------------------------------------------------------- text */

static void add_texts(struct buf *out, const char *before, const char *text) {
    buf_add_text(out, before);
    text_add_line(out, text, strlen(text));
}

/* What keeps a file from having no problems: those that are not accepted, without notes. */
static bool has_problems(const struct check_result *result) {
    bool found = false;
    for (size_t i = 0; i < result->count; i++) {
        found = found ||
                (result->reasons[i] == NULL && result->items[i].severity != TOOLRACK_SEVERITY_NOTE);
    }
    return found;
}

static void add_heading(struct buf *out, const struct check_result *result) {
    const struct toolrack_findings *findings = result->findings;
    const char *plugin = findings != NULL ? toolrack_findings_plugin(findings) : NULL;
    text_add_line(out, result->file, strlen(result->file));
    if (findings == NULL) {
        buf_add_text(out, ": what is accepted\n");
        return;
    }
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
    buf_printf(out, ", %zu tool%s", tools, text_plural(tools));
    if (toolrack_findings_is_foreign(findings)) {
        buf_printf(out, ", for %s", toolrack_findings_machine(findings));
    }
    if (result->accepted > 0) {
        buf_printf(out, ", %zu accepted", result->accepted);
    }
    buf_add_text(out, has_problems(result) ? "\n" : ", no problems found\n");
}

static void add_finding(struct cli *cli, const struct toolrack_finding *finding,
                        const char *reason) {
    static const enum style styles[] = {[TOOLRACK_SEVERITY_NOTE] = STYLE_PLAIN,
                                        [TOOLRACK_SEVERITY_WARNING] = STYLE_CAUTION,
                                        [TOOLRACK_SEVERITY_ERROR] = STYLE_BAD};
    struct buf *out = &cli->out;
    buf_add_text(out, "  ");
    cli_style(cli, reason == NULL ? styles[finding->severity] : STYLE_PLAIN);
    buf_printf(out, "%s%s", reason != NULL ? "accepted " : "",
               check_severity_name(finding->severity));
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
    if (reason != NULL) {
        add_texts(out, "\n    reason: ", reason);
    } else {
        add_texts(out, "\n    fix: ", finding->fix);
    }
    buf_add_char(out, '\n');
}

static void add_text(struct cli *cli, const struct check_result *result) {
    add_heading(&cli->out, result);
    for (size_t i = 0; i < result->count; i++) {
        add_finding(cli, &result->items[i], result->reasons[i]);
    }
}

/* -------------------------------------------------------------------- JSON */

static void add_finding_json(yyjson_mut_doc *doc, yyjson_mut_val *array,
                             const struct toolrack_finding *finding, const char *reason) {
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, array);
    json_add_text(doc, object, "severity", check_severity_name(finding->severity));
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
    if (reason != NULL) {
        json_add_text(doc, object, "accepted", reason);
    }
}

static void add_json(yyjson_mut_doc *doc, yyjson_mut_val *row, const struct check_result *result) {
    const struct toolrack_findings *findings = result->findings;
    json_add_text(doc, row, "file", result->file);
    if (findings != NULL) {
        (void)yyjson_mut_obj_add_bool(doc, row, "is_configuration",
                                      toolrack_findings_is_configuration(findings));
        json_add_text(doc, row, "plugin", toolrack_findings_plugin(findings));
        json_add_text(doc, row, "version", toolrack_findings_version(findings));
        json_add_text(doc, row, "machine", toolrack_findings_machine(findings));
        (void)yyjson_mut_obj_add_uint(doc, row, "tools", toolrack_findings_tool_count(findings));
    }
    yyjson_mut_val *array = yyjson_mut_obj_add_arr(doc, row, "findings");
    for (size_t i = 0; i < result->count; i++) {
        add_finding_json(doc, array, &result->items[i], result->reasons[i]);
    }
}

/* ----------------------------------------------------------------- results */

/* What was found of one file, in the form that is asked for. */
static void add_result(struct check *check, const struct check_result *result) {
    struct cli *cli = check->cli;
    for (size_t i = 0; i < result->count; i++) {
        if (result->reasons[i] == NULL && result->items[i].severity >= check->level) {
            worsen(check, CLI_FAILED);
        }
    }
    if (cli->options.sarif) {
        check_sarif_add(&check->sarif, result);
    } else if (cli->options.json) {
        add_json(check->doc, yyjson_mut_arr_add_obj(check->doc, check->rows), result);
    } else {
        add_text(cli, result);
    }
}

/* A failure of one file; the others are checked all the same. */
static void add_failure(struct check *check, const char *file) {
    struct cli *cli = check->cli;
    if (cli->options.sarif) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
        yyjson_mut_val *object = yyjson_mut_obj(doc);
        worsen(check, cli_error_object(cli, doc, object, NULL));
        const char *message = yyjson_mut_get_str(
                yyjson_mut_obj_get(yyjson_mut_obj_get(object, "error"), "message"));
        check_sarif_add_failure(&check->sarif, file, message != NULL ? message : "out of memory");
    } else if (cli->options.json) {
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(check->doc, check->rows);
        json_add_text(check->doc, row, "file", file);
        worsen(check, cli_error_object(cli, check->doc, row, NULL));
    } else {
        worsen(check, cli_fail(cli));
        cli_forget_error(cli);
    }
}

/* Findings about what is accepted, each a line of a text, with a tab before the fix. */
static int add_list(struct check *check, const char *name, const char *rule,
                    enum toolrack_severity severity, struct buf *lines) {
    struct toolrack_finding items[64];
    const char *reasons[ARRAY_LENGTH(items)] = {NULL};
    struct check_result result = {.file = name, .items = items, .reasons = reasons};
    char *rest = lines->length > 0 ? lines->data : NULL;
    char *line;
    if (lines->failed) {
        return cli_oom(check->cli);
    }
    while (result.count < ARRAY_LENGTH(items) && rest != NULL &&
           (line = strsep(&rest, "\n")) != NULL && line[0] != '\0') {
        char *fix = strchr(line, '\t');
        if (fix != NULL) {
            *fix++ = '\0';
        }
        items[result.count++] = (struct toolrack_finding){
                .severity = severity, .rule = rule, .cause = line, .fix = fix != NULL ? fix : ""};
    }
    if (result.count > 0) {
        add_result(check, &result);
    }
    return 0;
}

/* What is accepted and was not found; only of files that were checked. */
static int add_unused(struct check *check) {
    const struct check_allowances *list = &check->allowances;
    for (size_t i = 0; i < list->count; i++) {
        const struct check_allowance *item = &list->items[i];
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        if (item->rule == NULL || item->is_used || !item->is_asked) {
            continue;
        }
        buf_printf(&line, "%s is accepted%s%s, and nothing of it was found\tremove it", item->rule,
                   item->tool != NULL   ? " of "
                   : item->file != NULL ? " in "
                                        : "",
                   item->tool != NULL   ? item->tool
                   : item->file != NULL ? item->file
                                        : "");
        int code = add_list(check, item->list != NULL ? item->list : "--allow", "allow-unused",
                            TOOLRACK_SEVERITY_NOTE, &line);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------- files */

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

static int find(struct cli *cli, const char *file, struct toolrack_findings **ret) {
    struct toolrack_check_options options = TOOLRACK_CHECK_OPTIONS_INIT;
    options.plugin_dirs =
            cli->options.plugin_dirs.count > 0 ? cli->options.plugin_dirs.items : NULL;
    options.safe_mode = cli->options.safe_mode;
    options.user = cli;
    options.log = print_log;
    options.log_level = cli->options.verbose ? TOOLRACK_LOG_DEBUG : TOOLRACK_LOG_WARNING;
    options.more = check_serving;
    return toolrack_check_with(file, &options, ret, cli->err);
}

/* Those of the findings that are accepted, and of the list beside the file what is wrong with it.
 */
static int accept(struct check *check, struct check_result *result) {
    CLEANUP(buf_finish) struct buf wrong = BUF_INIT;
    const char *path;
    int code = check_allow_folder(check->cli, &check->allowances, result->file, &path, &wrong);
    if (code == 0 && path != NULL) {
        code = add_list(check, path, "allow-invalid", TOOLRACK_SEVERITY_ERROR, &wrong);
    }
    if (code < 0) {
        return code;
    }
    (void)check_allow_find(&check->allowances, result->file, NULL); /* it was asked for */
    for (size_t i = 0; i < result->count; i++) {
        result->reasons[i] = check_allow_find(&check->allowances, result->file, &result->items[i]);
        result->accepted += result->reasons[i] != NULL;
    }
    return 0;
}

static void check_file(struct check *check, const char *file) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    if (find(check->cli, file, &findings) < 0) {
        add_failure(check, file);
        return;
    }
    struct check_result result = {.file = file,
                                  .findings = findings,
                                  .items = toolrack_findings_get(findings, 0),
                                  .count = toolrack_findings_count(findings)};
    CLEANUP(freep) const char **reasons = calloc(result.count + 1, sizeof *reasons);
    result.reasons = reasons;
    if (reasons == NULL) {
        (void)cli_oom(check->cli);
    }
    if (reasons == NULL || accept(check, &result) < 0) {
        add_failure(check, file);
        return;
    }
    add_result(check, &result);
}

static int is_plugin(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > 3 && strcmp(entry->d_name + length - 3, ".so") == 0;
}

/* The plugins of a folder, in the order of their names. @return how many; -1: it cannot be read */
static int check_plugins_in(struct check *check, const char *folder) {
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_plugin, alphasort);
    size_t length = strlen(folder);
    for (int i = 0; i < count; i++) {
        CLEANUP(buf_finish) struct buf path = BUF_INIT;
        buf_printf(&path, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/",
                   entries[i]->d_name);
        if (path.failed) {
            (void)cli_oom(check->cli);
            add_failure(check, folder);
        } else {
            check_file(check, path.data);
        }
        free(entries[i]);
    }
    free(entries);
    return count;
}

/* In a folder of sources, what its build made, in the places that `pack` knows. */
static void check_folder(struct check *check, const char *folder) {
    static const char *const builds[] = {"build", "target/release"};
    int count = check_plugins_in(check, folder);
    if (count < 0) {
        (void)cli_error(check->cli, TOOLRACK_E_IO, "cannot read %s: %s", folder, strerror(errno));
        add_failure(check, folder);
        return;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(builds) && count <= 0; i++) {
        CLEANUP(buf_finish) struct buf path = BUF_INIT;
        buf_printf(&path, "%s/%s", folder, builds[i]);
        count = path.failed ? -1 : check_plugins_in(check, path.data);
    }
    if (count <= 0) {
        (void)cli_error(check->cli, TOOLRACK_E_NOT_FOUND,
                        "the folder %s has no plugin: no file in it ends in .so, nor in its build "
                        "or target/release; build it first",
                        folder);
        add_failure(check, folder);
    }
}

/* ------------------------------------------------------------------- whole */

static int read_options(struct check *check) {
    struct cli *cli = check->cli;
    const struct options *options = &cli->options;
    check->level = TOOLRACK_SEVERITY_WARNING;
    if (options->words.count == 0) {
        return cli_error(cli, TOOLRACK_E_INVALID, "an argument is missing; usage: toolrack %s %s",
                         options->verb->name, options->verb->arguments);
    }
    if (options->sarif && options->json) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--sarif and --json are two forms of the output; "
                         "give one of them");
    }
    if (options->level != NULL && !check_severity_find(options->level, &check->level)) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--level takes note, warning or error, not \"%s\"", options->level);
    }
    int code = refuse_options(cli);
    return code < 0 ? code : check_allow_options(cli, &check->allowances);
}

static void check_all(struct check *check) {
    const struct texts *files = &check->cli->options.words;
    for (size_t i = 0; i < files->count; i++) {
        struct stat status;
        if (stat(files->items[i], &status) == 0 && S_ISDIR(status.st_mode)) {
            check_folder(check, files->items[i]);
        } else {
            check_file(check, files->items[i]);
        }
    }
    if (add_unused(check) < 0) {
        add_failure(check, CHECK_LIST_NAME);
    }
}

static int print(struct check *check) {
    struct cli *cli = check->cli;
    return cli->options.sarif  ? check_sarif_print(cli, &check->sarif)
           : cli->options.json ? json_print(cli, check->doc, check->rows)
                               : CLI_OK;
}

static void finish(struct check *check) {
    check_list_finish(&check->allowances);
    yyjson_mut_doc_free(check->doc);
    yyjson_mut_doc_free(check->sarif.doc);
}

int verb_check(struct cli *cli) {
    CLEANUP(finish) struct check check = {.cli = cli, .worst = CLI_OK};
    if (cli->options.explain) {
        return check_explain(cli);
    }
    if (read_options(&check) < 0) {
        return cli_fail_usage(cli);
    }
    if (cli->options.sarif) {
        check_sarif_begin(&check.sarif);
    } else {
        check.doc = json_begin();
        check.rows = yyjson_mut_arr(check.doc);
    }
    check_all(&check);
    worsen(&check, print(&check));
    return check.worst;
}
