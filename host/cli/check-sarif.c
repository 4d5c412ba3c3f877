/* check --sarif: findings in the Static Analysis Results Interchange Format, version 2.1.0, which
 * code hosts and editors show. One run; its rules are those that were broken. */
#include <string.h>

#include "cli/check.h"

#define SARIF_SCHEMA "https://json.schemastore.org/sarif-2.1.0.json"

/* An object with the one member `text`. */
static void add_message(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                        const char *text) {
    json_add_text(doc, yyjson_mut_obj_add_obj(doc, object, key), "text", text);
}

/* A path as a reference: bytes that have a meaning there are escaped, a colon too, which in a first
 * segment would end a scheme. */
static void add_uri(struct buf *out, const char *path) {
    static const char plain[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    buf_add_text(out, path[0] == '/' ? "file://" : "");
    for (const char *at = path; *at != '\0'; at++) {
        if (strchr(plain, *at) != NULL) {
            buf_add_char(out, *at);
        } else {
            buf_printf(out, "%%%02X", (unsigned char)*at);
        }
    }
}

void check_sarif_begin(struct check_sarif *sarif) {
    yyjson_mut_doc *doc = json_begin();
    sarif->doc = doc;
    sarif->root = yyjson_mut_obj(doc);
    json_add_text(doc, sarif->root, "$schema", SARIF_SCHEMA);
    json_add_text(doc, sarif->root, "version", "2.1.0");
    yyjson_mut_val *run =
            yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, sarif->root, "runs"));
    yyjson_mut_val *driver =
            yyjson_mut_obj_add_obj(doc, yyjson_mut_obj_add_obj(doc, run, "tool"), "driver");
    json_add_text(doc, driver, "name", "toolrack");
    json_add_text(doc, driver, "version", toolrack_version());
    sarif->rules = yyjson_mut_obj_add_arr(doc, driver, "rules");
    sarif->invocation =
            yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, run, "invocations"));
    (void)yyjson_mut_obj_add_bool(doc, sarif->invocation, "executionSuccessful", true);
    json_add_text(doc, run, "columnKind", "unicodeCodePoints");
    sarif->artifacts = yyjson_mut_obj_add_arr(doc, run, "artifacts");
    sarif->results = yyjson_mut_obj_add_arr(doc, run, "results");
}

static void add_location(yyjson_mut_doc *doc, yyjson_mut_val *object, const char *key,
                         const char *file, size_t index) {
    CLEANUP(buf_finish) struct buf uri = BUF_INIT;
    yyjson_mut_val *location = yyjson_mut_obj_add_obj(doc, object, key);
    add_uri(&uri, file);
    json_add_text(doc, location, "uri", uri.failed ? "" : uri.data);
    (void)yyjson_mut_obj_add_uint(doc, location, "index", index);
}

static size_t add_artifact(struct check_sarif *sarif, const char *file) {
    size_t index = yyjson_mut_arr_size(sarif->artifacts);
    yyjson_mut_val *artifact = yyjson_mut_arr_add_obj(sarif->doc, sarif->artifacts);
    add_location(sarif->doc, artifact, "location", file, index);
    return index;
}

/* The place of a rule among those of the run. */
static size_t rule_index(struct check_sarif *sarif, const struct toolrack_finding *finding) {
    yyjson_mut_doc *doc = sarif->doc;
    size_t at;
    size_t count;
    yyjson_mut_val *row;
    struct toolrack_rule rule;
    yyjson_mut_arr_foreach(sarif->rules, at, count, row) {
        if (yyjson_mut_equals_str(yyjson_mut_obj_get(row, "id"), finding->rule)) {
            return at;
        }
    }
    row = yyjson_mut_arr_add_obj(doc, sarif->rules);
    json_add_text(doc, row, "id", finding->rule);
    if (check_rule(finding->rule, &rule)) {
        CLEANUP(buf_finish) struct buf summary = BUF_INIT;
        check_add_summary(&summary, rule.about);
        add_message(doc, row, "shortDescription", summary.failed ? rule.about : summary.data);
        add_message(doc, row, "fullDescription", rule.about);
        add_message(doc, row, "help", rule.fix);
        json_add_text(doc, yyjson_mut_obj_add_obj(doc, row, "defaultConfiguration"), "level",
                      check_severity_name(rule.severity));
    }
    return yyjson_mut_arr_size(sarif->rules) - 1;
}

static void add_place(struct check_sarif *sarif, yyjson_mut_val *result,
                      const struct check_result *of, const struct toolrack_finding *finding,
                      size_t artifact) {
    yyjson_mut_doc *doc = sarif->doc;
    yyjson_mut_val *location =
            yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, result, "locations"));
    yyjson_mut_val *place = yyjson_mut_obj_add_obj(doc, location, "physicalLocation");
    add_location(doc, place, "artifactLocation", of->file, artifact);
    if (finding->line != 0) {
        yyjson_mut_val *region = yyjson_mut_obj_add_obj(doc, place, "region");
        (void)yyjson_mut_obj_add_uint(doc, region, "startLine", finding->line);
        if (finding->column != 0) {
            (void)yyjson_mut_obj_add_uint(doc, region, "startColumn", finding->column);
        }
    }
    if (finding->tool != NULL) {
        yyjson_mut_val *logical = yyjson_mut_arr_add_obj(
                doc, yyjson_mut_obj_add_arr(doc, location, "logicalLocations"));
        json_add_text(doc, logical, "name", finding->tool);
        json_add_text(doc, logical, "kind", "function");
    }
}

void check_sarif_add(struct check_sarif *sarif, const struct check_result *of) {
    yyjson_mut_doc *doc = sarif->doc;
    bool is_option = strncmp(of->file, "--", 2) == 0; /* what an option accepts has no place */
    size_t artifact = is_option ? 0 : add_artifact(sarif, of->file);
    for (size_t i = 0; i < of->count; i++) {
        const struct toolrack_finding *finding = &of->items[i];
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        yyjson_mut_val *result = yyjson_mut_arr_add_obj(doc, sarif->results);
        buf_printf(&text, "%s%s%s. Fix: %s.", finding->tool != NULL ? finding->tool : "",
                   finding->tool != NULL ? ": " : "", finding->cause, finding->fix);
        json_add_text(doc, result, "ruleId", finding->rule);
        (void)yyjson_mut_obj_add_uint(doc, result, "ruleIndex", rule_index(sarif, finding));
        json_add_text(doc, result, "level", check_severity_name(finding->severity));
        add_message(doc, result, "message", text.failed ? finding->cause : text.data);
        if (!is_option) {
            add_place(sarif, result, of, finding, artifact);
        }
        if (of->reasons[i] != NULL) {
            yyjson_mut_val *one = yyjson_mut_arr_add_obj(
                    doc, yyjson_mut_obj_add_arr(doc, result, "suppressions"));
            json_add_text(doc, one, "kind", "external");
            json_add_text(doc, one, "justification", of->reasons[i]);
        }
    }
}

void check_sarif_add_failure(struct check_sarif *sarif, const char *file, const char *message) {
    yyjson_mut_doc *doc = sarif->doc;
    static const char key[] = "toolExecutionNotifications";
    yyjson_mut_val *list = yyjson_mut_obj_get(sarif->invocation, key);
    if (list == NULL) {
        list = yyjson_mut_obj_add_arr(doc, sarif->invocation, key);
    }
    yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, list);
    json_add_text(doc, one, "level", "error");
    add_message(doc, one, "message", message);
    yyjson_mut_val *location =
            yyjson_mut_arr_add_obj(doc, yyjson_mut_obj_add_arr(doc, one, "locations"));
    add_location(doc, yyjson_mut_obj_add_obj(doc, location, "physicalLocation"), "artifactLocation",
                 file, add_artifact(sarif, file));
    (void)yyjson_mut_obj_put(sarif->invocation, yyjson_mut_str(doc, "executionSuccessful"),
                             yyjson_mut_bool(doc, false));
}

int check_sarif_print(struct cli *cli, struct check_sarif *sarif) {
    return json_print(cli, sarif->doc, sarif->root);
}
