/* check --explain: the rules in words. */
#include <string.h>

#include "base/name.h"
#include "base/text.h"
#include "cli/check.h"
#include "cli/table.h"

static int unknown_rule(struct cli *cli, const char *id) {
    struct nearest nearest = nearest_to(id);
    for (size_t i = 0; i < toolrack_rule_count(); i++) {
        struct toolrack_rule rule = {.size = sizeof rule};
        if (toolrack_rule_get(i, &rule) == 0) {
            (void)nearest_try(&nearest, rule.id);
        }
    }
    (void)(nearest.name != NULL
                   ? cli_error(cli, TOOLRACK_E_NOT_FOUND,
                               "there is no rule \"%s\"; did you mean \"%s\"?", id, nearest.name)
                   : cli_error(cli, TOOLRACK_E_NOT_FOUND,
                               "there is no rule \"%s\"; 'toolrack help check' says how to list "
                               "them",
                               id));
    return cli_fail(cli);
}

void check_add_summary(struct buf *out, const char *about) {
    const char *end = strstr(about, ". ");
    buf_add(out, about, end != NULL ? (size_t)(end - about) + 1 : strlen(about));
}

/* Each line of a text behind two spaces. */
static void add_lines(struct buf *out, const char *text) {
    for (const char *at = text; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        buf_add_text(out, "    ");
        buf_add(out, at, length);
        buf_add_char(out, '\n');
        at += length + (at[length] == '\n');
    }
}

static void add_rule(struct cli *cli, const struct toolrack_rule *rule) {
    struct buf *out = &cli->out;
    cli_style(cli, STYLE_HEADING);
    buf_add_text(out, rule->id);
    cli_style(cli, STYLE_PLAIN);
    buf_printf(out, " (%s)\n%s\n", check_severity_name(rule->severity), rule->about);
    if (rule->example != NULL) {
        buf_add_text(out, "  example:\n");
        add_lines(out, rule->example);
    }
    buf_printf(out, "  fix: %s\n", rule->fix);
}

static void add_json(yyjson_mut_doc *doc, yyjson_mut_val *array, const struct toolrack_rule *rule) {
    yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, array);
    json_add_text(doc, object, "rule", rule->id);
    json_add_text(doc, object, "severity", check_severity_name(rule->severity));
    json_add_text(doc, object, "about", rule->about);
    json_add_text(doc, object, "example", rule->example);
    json_add_text(doc, object, "fix", rule->fix);
}

static int print_table(struct cli *cli) {
    static const char *const headings[] = {"RULE", "SEVERITY", "ABOUT"};
    struct table table;
    table_init(&table, headings, ARRAY_LENGTH(headings));
    for (size_t i = 0; i < toolrack_rule_count(); i++) {
        struct toolrack_rule rule = {.size = sizeof rule};
        CLEANUP(buf_finish) struct buf summary = BUF_INIT;
        (void)toolrack_rule_get(i, &rule);
        check_add_summary(&summary, rule.about);
        table_add(&table, rule.id);
        table_add(&table, check_severity_name(rule.severity));
        table_add(&table, summary.failed ? NULL : summary.data);
    }
    table_print(&table, cli->width, &cli->out, &cli->styles);
    table_finish(&table);
    return CLI_OK;
}

int check_explain(struct cli *cli) {
    const struct texts *ids = &cli->options.words;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_arr(doc);
    struct toolrack_rule rule = {.size = sizeof rule};
    if (ids->count == 0 && !cli->options.json) {
        return print_table(cli);
    }
    for (size_t i = 0; ids->count == 0 && i < toolrack_rule_count(); i++) {
        (void)toolrack_rule_get(i, &rule);
        add_json(doc, root, &rule);
    }
    for (size_t i = 0; i < ids->count; i++) {
        if (!check_rule(ids->items[i], &rule)) {
            return unknown_rule(cli, ids->items[i]);
        }
        if (cli->options.json) {
            add_json(doc, root, &rule);
        } else {
            buf_add_text(&cli->out, i > 0 ? "\n" : "");
            add_rule(cli, &rule);
        }
    }
    return cli->options.json ? json_print(cli, doc, root) : CLI_OK;
}
