/* The list of what `check` accepts (cli/check.h), which comes with a stranger's plugin: whatever it
 * is, each item has a rule that is no error and a reason, and each complaint is one line with one
 * tab. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct check_allowances list = {0};
    CLEANUP(buf_finish) struct buf wrong = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    buf_add(&text, data, size);
    buf_add_char(&text, '\0');
    check_list_read(&list, "toolrack-check.json", text.data, size, &wrong);
    require(!wrong.failed);
    for (size_t i = 0; i < list.count; i++) {
        struct toolrack_rule rule;
        require(check_rule(list.items[i].rule, &rule));
        require(rule.severity != TOOLRACK_SEVERITY_ERROR);
        require(!check_list_is_blank(list.items[i].reason));
    }
    for (size_t at = 0; at < wrong.length;) {
        const char *line = wrong.data + at;
        const char *end = memchr(line, '\n', wrong.length - at);
        require(end != NULL);
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        require(tab != NULL && memchr(tab + 1, '\t', (size_t)(end - tab - 1)) == NULL);
        at += (size_t)(end - line) + 1;
    }
    check_list_finish(&list);
    return 0;
}
