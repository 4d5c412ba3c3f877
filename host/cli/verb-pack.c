/* pack, sign, verify: a plugin becomes a file that can be shipped. */
#include <string.h>

#include "base/command.h"
#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/password.h"
#include "cli/rows.h"
#include "toolrack/package.h"

/* ------------------------------------------------------------------ manifest */

/* Characters of a description, which says more than a list needs. */
#define DESCRIPTION_WIDTH 100u

/* A list of texts on one line. */
static void add_list(struct buf *out, const char *label, yyjson_val *array) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *value;
    yyjson_arr_foreach (array, at, count, value) {
        buf_printf(&line, "%s%s", at > 0 ? ", " : "", yyjson_get_str(value));
    }
    rows_add_line(out, label, line.failed ? NULL : line.data);
}

static void add_tools(struct buf *out, yyjson_val *tools) {
    size_t at;
    size_t count;
    yyjson_val *tool;
    yyjson_arr_foreach (tools, at, count, tool) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        const char *permission = rows_member(tool, "permission", "");
        const char *description = rows_member(tool, "description", "");
        buf_add_text(&line, rows_member(tool, "name", ""));
        if (strcmp(permission, "safe") != 0) {
            buf_printf(&line, " (%s)", permission);
        }
        buf_add_text(&line, description[0] != '\0' ? ": " : "");
        text_add_cut(&line, description, strlen(description), DESCRIPTION_WIDTH);
        rows_add_line(out, at == 0 ? "tools" : "", line.failed ? NULL : line.data);
    }
}

static void add_files(struct buf *out, yyjson_val *files) {
    size_t at;
    size_t count;
    yyjson_val *file;
    yyjson_arr_foreach (files, at, count, file) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        buf_printf(&line, "%s, %llu bytes", rows_member(file, "path", ""),
                   (unsigned long long)rows_number(file, "size"));
        rows_add_line(out, at == 0 ? "files" : "", line.failed ? NULL : line.data);
    }
}

static void add_manifest(struct buf *out, yyjson_val *manifest) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    yyjson_val *capabilities = yyjson_obj_get(manifest, "capabilities");
    buf_printf(&line, "%s %s", rows_member(manifest, "id", ""),
               rows_member(manifest, "version", ""));
    rows_add_line(out, "plugin", line.failed ? NULL : line.data);
    rows_add_line(out, "about", rows_text(manifest, "description"));
    rows_add_line(out, "licence", rows_text(manifest, "license"));
    rows_add_line(out, "ABI", rows_text(manifest, "abi"));
    add_tools(out, yyjson_obj_get(manifest, "tools"));
    if (yyjson_arr_size(capabilities) > 0) {
        add_list(out, "needs", capabilities);
    }
    add_files(out, yyjson_obj_get(manifest, "files"));
}

/* ---------------------------------------------------------------------- pack */

static void tell_findings(yyjson_val *findings) {
    size_t at;
    size_t count;
    yyjson_val *finding;
    yyjson_arr_foreach (findings, at, count, finding) {
        const char *tool = rows_text(finding, "tool");
        if (strcmp(rows_member(finding, "severity", ""), "note") == 0) {
            continue;
        }
        output_note("%s: %s %s: %s%s%s; %s", rows_member(finding, "file", ""),
                    rows_member(finding, "severity", ""), rows_member(finding, "rule", ""),
                    tool != NULL ? tool : "", tool != NULL ? ": " : "",
                    rows_member(finding, "cause", ""), rows_member(finding, "fix", ""));
    }
}

int verb_pack(struct cli *cli) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_pack(cli->options.words.items[0], cli->options.output, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    tell_findings(yyjson_obj_get(root, "findings"));
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    const char *file = rows_member(root, "file", "");
    buf_printf(&line, "%s, %llu bytes", file, (unsigned long long)rows_number(root, "size"));
    rows_add_line(&cli->out, "package", line.failed ? NULL : line.data);
    rows_add_line(&cli->out, "sha256", rows_text(root, "sha256"));
    add_manifest(&cli->out, yyjson_obj_get(root, "manifest"));
    rows_add_line(&cli->out, "then", COMMAND("sign --key SECRET.key", file));
    return CLI_OK;
}

/* ---------------------------------------------------------------------- sign */

int verb_sign(struct cli *cli) {
    const char *file = cli->options.words.items[0];
    const char *key = cli->options.key;
    bool is_encrypted = false;
    CLEANUP(password_finish) struct buf password = BUF_INIT;
    CLEANUP(buf_finish) struct buf prompt = BUF_INIT;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (key == NULL) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "sign needs --key FILE, a secret key; make one: %s",
                        COMMAND("keys new", "NAME"));
        return cli_fail_usage(cli);
    }
    if (toolrack_key_needs_password(key, &is_encrypted, cli->err) < 0) {
        return cli_fail(cli);
    }
    buf_printf(&prompt, "Password of %s", key);
    if (is_encrypted &&
        password_read(cli, prompt.failed ? "Password" : prompt.data, false, &password) < 0) {
        return cli_fail(cli);
    }
    if (toolrack_sign(file, key, is_encrypted ? password.data : NULL, &text, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    rows_add_line(&cli->out, "signature", rows_text(root, "file"));
    rows_add_line(&cli->out, "key", rows_text(root, "key"));
    rows_add_line(&cli->out, "says", rows_text(root, "comment"));
    return CLI_OK;
}

/* -------------------------------------------------------------------- verify */

int verb_verify(struct cli *cli) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if ((cli->options.key == NULL && cli_open(cli, NULL) < 0) ||
        toolrack_verify(cli->host, cli->options.words.items[0], cli->options.key, &text, cli->err) <
                0) {
        return cli_fail(cli);
    }
    if (cli->options.json) {
        return json_print_text(cli, text);
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(text);
    yyjson_val *root = yyjson_doc_get_root(doc);
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    const char *trust = rows_text(root, "trust");
    buf_printf(&line, "%s%s%s", rows_member(root, "key", ""), trust != NULL ? ", " : "",
               trust != NULL ? trust : "");
    rows_add_line(&cli->out, "package", rows_text(root, "file"));
    rows_add_line(&cli->out, "signed by", line.failed ? NULL : line.data);
    add_manifest(&cli->out, yyjson_obj_get(root, "manifest"));
    return CLI_OK;
}
