#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "author/author.h"
#include "base/cleanup.h"
#include "base/file.h"
#include "cli/json.h"

CLEANUP_DEFINE(struct author_report, author_report_free)

/* Of a seed that nobody has given: short enough to be typed. */
#define SEED_MAX 1000000u

static int list_rules(struct cli *cli) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_arr(doc);
    const char *id;
    const char *summary;
    for (size_t i = 0; author_rule(i, &id, &summary); i++) {
        if (cli->options.json) {
            yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, root);
            json_add_text(doc, row, "rule", id);
            json_add_text(doc, row, "summary", summary);
        } else {
            buf_printf(&cli->out, "%-17s  %s\n", id, summary);
        }
    }
    return cli->options.json ? json_print(cli, doc, root) : CLI_OK;
}

static uint64_t random_seed(void) {
    uint64_t seed = 0;
    return getrandom(&seed, sizeof seed, 0) == sizeof seed ? seed % SEED_MAX + 1 : 1;
}

static void mark(void *user, const char *verdict) {
    static const struct {
        const char *verdict;
        enum style style;
    } styles[] = {{"failed", STYLE_BAD}, {"warning", STYLE_CAUTION}};
    struct cli *cli = user;
    enum style style = STYLE_PLAIN;
    for (size_t i = 0; verdict != NULL && i < ARRAY_LENGTH(styles); i++) {
        style = strcmp(verdict, styles[i].verdict) == 0 ? styles[i].style : style;
    }
    cli_style(cli, style);
}

static int write_junit(struct cli *cli, const struct author_report *report) {
    const char *file = cli->options.junit;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    author_report_write_junit(report, &text);
    if (text.failed) {
        return cli_oom(cli);
    }
    CLEANUP(closep) int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
    int failed = fd < 0 ? -errno : write_all(fd, text.data, text.length);
    return failed < 0
                   ? cli_error(cli, TOOLRACK_E_IO, "cannot write %s: %s", file, strerror(-failed))
                   : 0;
}

static int refuse_options(struct cli *cli) {
    const struct options *options = &cli->options;
    const char *why = options->config_file != NULL     ? "--config"
                      : options->state_dir != NULL     ? "--state"
                      : options->plugin_dirs.count > 0 ? "--plugins"
                      : options->safe_mode             ? "--safe-mode"
                                                       : NULL;
    return why == NULL ? 0
                       : cli_error(cli, TOOLRACK_E_INVALID,
                                   "test takes no %s: it has a host of its own; leave it out", why);
}

/* Longest settings: as a configuration may be. */
#define SETTINGS_LENGTH_MAX (1024u * 1024)

/* The settings as strict JSON, to be freed; NULL: none are given. */
static int read_settings(struct cli *cli, char **ret) {
    const char *word = cli->options.settings;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    *ret = NULL;
    if (word == NULL) {
        return 0;
    }
    if (word[0] == '{') {
        buf_add_text(&text, word);
    } else {
        int code = cli_read_file(cli, word, SETTINGS_LENGTH_MAX, &text);
        if (code < 0) {
            return code;
        }
    }
    if (text.failed) {
        return cli_oom(cli);
    }
    yyjson_read_err wrong = {0};
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = yyjson_read_opts(
            text.data != NULL ? text.data : (char *)(uintptr_t) "", text.length,
            YYJSON_READ_ALLOW_COMMENTS | YYJSON_READ_ALLOW_TRAILING_COMMAS, NULL, &wrong);
    if (doc == NULL) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--settings %s: at byte %zu: %s; give a JSON object",
                         word[0] == '{' ? "JSON" : word, wrong.pos, wrong.msg);
    }
    if (!yyjson_is_obj(yyjson_doc_get_root(doc))) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--settings %s is no JSON object; give one, such as {\"key\": 1}", word);
    }
    *ret = yyjson_write(doc, 0, NULL);
    return *ret != NULL ? 0 : cli_oom(cli);
}

int verb_test(struct cli *cli) {
    const struct options *options = &cli->options;
    CLEANUP(author_report_freep) struct author_report *report = NULL;
    if (options->list) {
        return list_rules(cli);
    }
    if (options->words.count == 0) {
        (void)cli_error(cli, TOOLRACK_E_INVALID, "test needs the FILE of a plugin");
        return cli_fail_usage(cli);
    }
    if (refuse_options(cli) < 0) {
        return cli_fail_usage(cli);
    }
    CLEANUP(freep) char *settings = NULL;
    int code = read_settings(cli, &settings);
    if (code < 0) {
        return code == TOOLRACK_E_INVALID ? cli_fail_usage(cli) : cli_fail(cli);
    }
    const struct author_test test = {.file = options->words.items[0],
                                     .seed = options->seed > 0 ? options->seed : random_seed(),
                                     .runs = options->runs,
                                     .timeout_ms = options->timeout_ms,
                                     .only = options->rules.items,
                                     .only_count = options->rules.count,
                                     .grants = options->grants.items,
                                     .grant_count = options->grants.count,
                                     .settings = settings,
                                     .settings_word = options->settings,
                                     .allows_dangerous = options->allow_dangerous};
    code = author_have_runtime(test.file, cli->own);
    code = code < 0 ? code : author_test(&test, &report, cli->own);
    code = code == 0 && options->junit != NULL ? write_junit(cli, report) : code;
    if (code < 0) {
        return code == TOOLRACK_E_INVALID ? cli_fail_usage(cli) : cli_fail(cli);
    }
    if (options->json) {
        CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
        yyjson_mut_val *root = yyjson_mut_obj(doc);
        author_report_add_json(report, doc, root);
        code = json_print(cli, doc, root);
    } else {
        author_report_write(report, &cli->out, mark, cli);
    }
    return code == CLI_OK && author_report_failed(report) ? CLI_FAILED : code;
}
