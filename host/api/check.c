
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "plugin/rules.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)

/* ----------------------------------------------------------------- which one */

static bool ends_in_json(const char *file) {
    static const char ending[] = ".json";
    size_t length = strlen(file);
    return length >= sizeof ending - 1 && strcmp(file + length - (sizeof ending - 1), ending) == 0;
}

/* What follows white space and comments; NULL: nothing, or a comment that does not end here. */
static const char *skip_comments(const char *text) {
    while (text != NULL) {
        text += strspn(text, " \t\r\n");
        if (strncmp(text, "//", 2) == 0) {
            text = strchr(text, '\n');
        } else if (strncmp(text, "/*", 2) == 0) {
            const char *end = strstr(text + 2, "*/");
            text = end != NULL ? end + 2 : NULL;
        } else {
            break;
        }
    }
    return text != NULL && *text != '\0' ? text : NULL;
}

/* Whether the file begins with an object or an array, after white space and comments, which C
 * source has too; or with a comment longer than what is read. */
static bool begins_as_json(int fd) {
    char head[4096];
    ssize_t length = pread(fd, head, sizeof head - 1, 0);
    head[length > 0 ? length : 0] = '\0';
    const char *first = skip_comments(head);
    return first != NULL ? *first == '{' || *first == '[' : head[strspn(head, " \t\r\n")] == '/';
}

int toolrack_check(const char *file, struct toolrack_findings **ret, struct toolrack_error *err) {
    return toolrack_check_with(file, NULL, ret, err);
}

int toolrack_check_with(const char *file, const struct toolrack_check_options *options,
                        struct toolrack_findings **ret, struct toolrack_error *err) {
    struct toolrack_check_options taken = TOOLRACK_CHECK_OPTIONS_INIT;
    if (options != NULL) {
        memcpy(&taken, options, options->size < sizeof taken ? options->size : sizeof taken);
    }
    CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "cannot read %s: %s", file, strerror(errno));
    }
    CLEANUP(toolrack_findings_freep)
    struct toolrack_findings *findings = calloc(1, sizeof *findings);
    if (findings == NULL) {
        return error_oom(err);
    }
    arena_init(&findings->arena, NULL, 0);
    int code = ends_in_json(file) || begins_as_json(fd)
                       ? check_configuration(file, &taken, findings, err)
                       : check_plugin(fd, file, findings, err);
    if (code == 0) {
        *ret = STEAL(findings);
    }
    return code;
}

/* --------------------------------------------------------------- the findings */

size_t toolrack_findings_count(const struct toolrack_findings *findings) {
    return findings->count;
}

const struct toolrack_finding *toolrack_findings_get(const struct toolrack_findings *findings,
                                                     size_t index) {
    return index < toolrack_findings_count(findings) ? &findings->items[index] : NULL;
}

bool toolrack_findings_is_configuration(const struct toolrack_findings *findings) {
    return findings->desc == NULL;
}

static const struct tr_plugin *plugin_of(const struct toolrack_findings *findings) {
    return findings->desc != NULL ? findings->desc->plugin : NULL;
}

const char *toolrack_findings_plugin(const struct toolrack_findings *findings) {
    return plugin_of(findings) != NULL ? plugin_of(findings)->id : NULL;
}

const char *toolrack_findings_version(const struct toolrack_findings *findings) {
    return plugin_of(findings) != NULL ? plugin_of(findings)->version : NULL;
}

size_t toolrack_findings_tool_count(const struct toolrack_findings *findings) {
    return findings->tool_count;
}

const char *toolrack_findings_machine(const struct toolrack_findings *findings) {
    return plugin_of(findings) != NULL ? findings->desc->machine : NULL;
}

bool toolrack_findings_is_foreign(const struct toolrack_findings *findings) {
    return plugin_of(findings) != NULL && findings->desc->is_foreign;
}

void toolrack_findings_free(struct toolrack_findings *findings) {
    if (findings != NULL) {
        descriptor_unref(findings->desc);
        arena_finish(&findings->arena);
        free(findings);
    }
}

/* ------------------------------------------------------------------ the rules */

size_t toolrack_rule_count(void) {
    return rules_count();
}

int toolrack_rule_get(size_t index, struct toolrack_rule *ret) {
    if (index >= rules_count()) {
        return TOOLRACK_E_NOT_FOUND;
    }
    struct rule_words one = rules_get(index);
    struct toolrack_rule rule = {.size = ret->size,
                                 .severity = check_severity(one.severity),
                                 .id = one.rule,
                                 .fix = one.fix,
                                 .about = one.about,
                                 .example = one.example};
    memcpy(ret, &rule, ret->size < sizeof rule ? ret->size : sizeof rule);
    return 0;
}
