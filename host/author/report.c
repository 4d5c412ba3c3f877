#include "author/report.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "base/text.h"
#include "view/json.h"

enum verdict { PASSED, WARNING, FAILED, SKIPPED };
static const char *const verdicts[] = {"passed", "warning", "failed", "skipped"};

static enum verdict verdict_of(const struct session *session, enum rule rule) {
    const struct outcome *outcome = &session->outcomes[rule];
    return outcome->failed                                ? FAILED
           : outcome->finding_count > 0                   ? WARNING
           : outcome->skipped != NULL || session->is_dead ? SKIPPED
           : outcome->checks == 0                         ? SKIPPED
                                                          : PASSED;
}

static const char *why_skipped(const struct session *session, enum rule rule) {
    const struct outcome *outcome = &session->outcomes[rule];
    return outcome->skipped != NULL ? outcome->skipped
           : session->is_dead       ? "the plugin cannot be loaded: see the rule load"
           : rule == RULE_EXAMPLES || rule == RULE_REPEATABLE
                   ? "no tool that is called has an example for it"
           : rule == RULE_IDEMPOTENT || rule == RULE_READ_ONLY ? "no tool that is called claims it"
           : rule == RULE_OUT_OF_MEMORY
                   ? "neither its calls nor libraries of its own allocate memory"
           : rule == RULE_CANCEL ? "no tool obeyed its deadline"
                                 : "no call of it can be made again";
}

/* A plugin that cannot be loaded has not passed what it was not put to. */
bool author_report_failed(const struct author_report *report) {
    if (report->session.is_dead) {
        return true;
    }
    for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
        if (report->session.selected[rule] && report->session.outcomes[rule].failed) {
            return true;
        }
    }
    return false;
}

/* The command that repeats a rule; nothing where a name in it cannot be copied. */
static void add_command(const struct session *session, enum rule rule, struct buf *out) {
    const struct author_test *options = session->options;
    size_t begin = out->length;
    bool done = command_begin(out, "test") && command_add_word(out, options->file);
    buf_printf(out, " --only %s --seed %llu", rule_id(rule), (unsigned long long)options->seed);
    if (options->runs > 0) {
        buf_printf(out, " --runs %u", options->runs);
    }
    if (options->timeout_ms > 0) {
        buf_printf(out, " --timeout %u", options->timeout_ms);
    }
    for (size_t i = 0; i < options->grant_count; i++) {
        buf_add_text(out, " --grant");
        done = done && command_add_word(out, options->grants[i]);
    }
    if (options->settings_word != NULL) {
        buf_add_text(out, " --settings");
        done = done && command_add_word(out, options->settings_word);
    }
    buf_add_text(out, options->allows_dangerous ? " --allow-dangerous" : "");
    if (!done) {
        buf_truncate(out, begin);
    }
}

/* ---------------------------------------------------------------------- text */

static void add_shown(struct buf *out, const char *label, const char *text) {
    if (text != NULL) {
        buf_add_text(out, label);
        text_add_line(out, text, strlen(text));
        buf_add_char(out, '\n');
    }
}

/* What came may have lines of its own, as a report of a sanitizer has. */
static void add_came(struct buf *out, const char *came) {
    const char *label = "           came: ";
    for (const char *line = came; line != NULL && *line != '\0';) {
        size_t length = strcspn(line, "\n");
        buf_add_text(out, label);
        text_add_line(out, line, length);
        buf_add_char(out, '\n');
        label = "             ";
        line += length + (line[length] == '\n');
    }
}

static void write_rule(const struct session *session, enum rule rule, struct buf *out,
                       void (*mark)(void *user, const char *verdict), void *user) {
    const struct outcome *outcome = &session->outcomes[rule];
    enum verdict verdict = verdict_of(session, rule);
    buf_add_text(out, "  ");
    mark(user, verdicts[verdict]);
    buf_printf(out, "%-7s", verdicts[verdict]);
    mark(user, NULL);
    buf_printf(out, "  %-17s", rule_id(rule));
    if (verdict == SKIPPED) {
        add_shown(out, "  ", why_skipped(session, rule));
    } else {
        buf_printf(out, "  %s (%llu)\n", rule_summary(rule), (unsigned long long)outcome->checks);
    }
    for (size_t i = 0; i < outcome->finding_count; i++) {
        const struct finding *finding = &outcome->findings[i];
        add_shown(out, "           tool: ", finding->tool);
        add_shown(out, "           sent: ", finding->sent);
        add_came(out, finding->came);
    }
    if (outcome->more > 0) {
        buf_printf(out, "           and %llu more\n", (unsigned long long)outcome->more);
    }
    if (outcome->finding_count > 0) {
        buf_add_text(out, "           repeat: ");
        add_command(session, rule, out);
        buf_add_char(out, '\n');
    }
    for (const char *line = outcome->notes; line != NULL && *line != '\0';) {
        const char *end = strchr(line, '\n');
        buf_add_text(out, "           not tested: ");
        text_add_line(out, line, (size_t)(end - line));
        buf_add_char(out, '\n');
        line = end + 1;
    }
}

static void count(const struct session *session, unsigned counts[SKIPPED + 1]) {
    for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
        counts[verdict_of(session, (enum rule)rule)] += session->selected[rule];
    }
}

void author_report_write(const struct author_report *report, struct buf *out,
                         void (*mark)(void *user, const char *verdict), void *user) {
    const struct session *session = &report->session;
    unsigned counts[SKIPPED + 1] = {0};
    text_add_line(out, session->options->file, strlen(session->options->file));
    if (session->plugin != NULL) {
        buf_add_text(out, ": ");
        text_add_line(out, session->plugin, strlen(session->plugin));
        buf_printf(out, " %s, %zu tool%s", session->version != NULL ? session->version : "",
                   session->tool_count, text_plural(session->tool_count));
    }
    buf_printf(out, ", seed %llu\n", (unsigned long long)session->options->seed);
    for (size_t i = 0; i < session->tool_count; i++) {
        if (session->tools[i].skipped != NULL) {
            buf_printf(out, "  not called: %s: %s\n", session->tools[i].name,
                       session->tools[i].skipped);
        }
    }
    for (size_t i = 0; i < session->tool_count; i++) {
        if (session->tools[i].is_slow) {
            buf_printf(
                    out,
                    "  called by few rules: %s: no call of it returns within %u ms, and the same "
                    "in both isolations\n",
                    session->tools[i].name, QUICK_NS / 1000000u);
        }
    }
    for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
        if (session->selected[rule]) {
            write_rule(session, (enum rule)rule, out, mark, user);
        }
    }
    count(session, counts);
    buf_printf(out, "%u passed, %u failed, %u warning%s, %u skipped\n", counts[PASSED],
               counts[FAILED], counts[WARNING], text_plural(counts[WARNING]), counts[SKIPPED]);
}

/* ---------------------------------------------------------------------- JSON */

static void add_rule_json(const struct session *session, enum rule rule, yyjson_mut_doc *doc,
                          yyjson_mut_val *row) {
    const struct outcome *outcome = &session->outcomes[rule];
    enum verdict verdict = verdict_of(session, rule);
    CLEANUP(buf_finish) struct buf command = BUF_INIT;
    add_command(session, rule, &command);
    json_add_text(doc, row, "rule", rule_id(rule));
    json_add_text(doc, row, "verdict", verdicts[verdict]);
    json_add_text(doc, row, "summary", rule_summary(rule));
    (void)yyjson_mut_obj_add_uint(doc, row, "checks", outcome->checks);
    json_add_text(doc, row, "reason", verdict == SKIPPED ? why_skipped(session, rule) : NULL);
    json_add_text(doc, row, "repeat", command.failed ? NULL : command.data);
    (void)yyjson_mut_obj_add_uint(doc, row, "more", outcome->more);
    yyjson_mut_val *findings = yyjson_mut_obj_add_arr(doc, row, "findings");
    for (size_t i = 0; i < outcome->finding_count; i++) {
        const struct finding *finding = &outcome->findings[i];
        yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, findings);
        json_add_text(doc, object, "severity", finding->is_warning ? "warning" : "error");
        json_add_text(doc, object, "tool", finding->tool);
        json_add_text(doc, object, "sent", finding->sent);
        json_add_text(doc, object, "came", finding->came);
    }
}

void author_report_add_json(const struct author_report *report, yyjson_mut_doc *doc,
                            yyjson_mut_val *root) {
    const struct session *session = &report->session;
    unsigned counts[SKIPPED + 1] = {0};
    count(session, counts);
    json_add_text(doc, root, "file", session->options->file);
    json_add_text(doc, root, "plugin", session->plugin);
    json_add_text(doc, root, "version", session->version);
    (void)yyjson_mut_obj_add_uint(doc, root, "tools", session->tool_count);
    (void)yyjson_mut_obj_add_uint(doc, root, "seed", session->options->seed);
    for (unsigned i = 0; i < ARRAY_LENGTH(counts); i++) {
        (void)yyjson_mut_obj_add_uint(doc, root, verdicts[i], counts[i]);
    }
    yyjson_mut_val *skipped = yyjson_mut_obj_add_arr(doc, root, "not_called");
    yyjson_mut_val *slow = yyjson_mut_obj_add_arr(doc, root, "slow");
    for (size_t i = 0; i < session->tool_count; i++) {
        if (session->tools[i].is_slow) {
            (void)yyjson_mut_arr_add_strcpy(doc, slow, session->tools[i].name);
        }
        if (session->tools[i].skipped != NULL) {
            yyjson_mut_val *object = yyjson_mut_arr_add_obj(doc, skipped);
            json_add_text(doc, object, "tool", session->tools[i].name);
            json_add_text(doc, object, "reason", session->tools[i].skipped);
        }
    }
    yyjson_mut_val *rows = yyjson_mut_obj_add_arr(doc, root, "rules");
    for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
        if (session->selected[rule]) {
            add_rule_json(session, (enum rule)rule, doc, yyjson_mut_arr_add_obj(doc, rows));
        }
    }
}

/* --------------------------------------------------------------------- JUnit */

/* XML 1.0 has no control characters but tab and line breaks, not even escaped, and no U+FFFE and
 * U+FFFF: in their place stands U+FFFD, as for what is not UTF-8. */
static void add_xml(struct buf *out, const char *text) {
    CLEANUP(buf_finish) struct buf valid = BUF_INIT;
    text_add_valid(&valid, text, strlen(text));
    const char *at = valid.data != NULL ? valid.data : "";
    out->failed = out->failed || valid.failed;
    for (; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'') {
            buf_printf(out, "&#%u;", c);
        } else if (c == '\n' || c == '\t' || c == '\r') {
            buf_printf(out, "&#%u;", c); /* an attribute would lose it */
        } else if (c < 0x20 || strncmp(at, "\xef\xbf\xbe", 3) == 0 ||
                   strncmp(at, "\xef\xbf\xbf", 3) == 0) {
            buf_add_text(out, "\xef\xbf\xbd");
            at += c < 0x20 ? 0 : 2;
        } else {
            buf_add_char(out, *at);
        }
    }
}

static void add_attribute(struct buf *out, const char *name, const char *value) {
    buf_printf(out, " %s=\"", name);
    add_xml(out, value != NULL ? value : "");
    buf_add_char(out, '"');
}

static void write_case(const struct session *session, enum rule rule, struct buf *out) {
    const struct outcome *outcome = &session->outcomes[rule];
    enum verdict verdict = verdict_of(session, rule);
    buf_add_text(out, "    <testcase");
    add_attribute(out, "classname", session->plugin != NULL ? session->plugin : "unknown");
    add_attribute(out, "name", rule_id(rule));
    buf_add_text(out, ">\n");
    if (verdict == SKIPPED) {
        buf_add_text(out, "      <skipped");
        add_attribute(out, "message", why_skipped(session, rule));
        buf_add_text(out, "/>\n");
    }
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    for (size_t i = 0; i < outcome->finding_count; i++) {
        const struct finding *finding = &outcome->findings[i];
        buf_printf(&text, "tool: %s\nsent: %s\ncame: %s\n",
                   finding->tool != NULL ? finding->tool : "-",
                   finding->sent != NULL ? finding->sent : "-",
                   finding->came != NULL ? finding->came : "-");
    }
    if (outcome->finding_count > 0) {
        buf_add_text(&text, "repeat: ");
        add_command(session, rule, &text);
        buf_add_text(out, verdict == FAILED ? "      <failure" : "      <system-out>");
        if (verdict == FAILED) {
            add_attribute(out, "message", outcome->findings[0].came);
            add_attribute(out, "type", rule_id(rule));
            buf_add_char(out, '>');
        }
        add_xml(out, text.failed ? "" : text.data);
        buf_add_text(out, verdict == FAILED ? "</failure>\n" : "</system-out>\n");
    }
    buf_add_text(out, "    </testcase>\n");
}

void author_report_write_junit(const struct author_report *report, struct buf *out) {
    const struct session *session = &report->session;
    unsigned counts[SKIPPED + 1] = {0};
    count(session, counts);
    unsigned all = counts[PASSED] + counts[WARNING] + counts[FAILED] + counts[SKIPPED];
    buf_add_text(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite");
    add_attribute(out, "name", session->options->file);
    buf_printf(out, " tests=\"%u\" failures=\"%u\" errors=\"0\" skipped=\"%u\">\n", all,
               counts[FAILED], counts[SKIPPED]);
    buf_printf(out, "    <properties><property name=\"seed\" value=\"%llu\"/></properties>\n",
               (unsigned long long)session->options->seed);
    for (unsigned rule = 0; rule < RULE_COUNT; rule++) {
        if (session->selected[rule]) {
            write_case(session, (enum rule)rule, out);
        }
    }
    buf_add_text(out, "  </testsuite>\n</testsuites>\n");
}
