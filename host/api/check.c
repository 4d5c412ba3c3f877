
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "api/check.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/ownership.h"
#include "life/generation.h"
#include "plugin/linkage.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)

/* ------------------------------------------------------------------- plugins */

static enum toolrack_severity severity_of(int severity) {
    switch (severity) {
    case FINDING_ERROR: return TOOLRACK_SEVERITY_ERROR;
    case FINDING_WARNING: return TOOLRACK_SEVERITY_WARNING;
    default: return TOOLRACK_SEVERITY_NOTE;
    }
}

static void add(struct toolrack_findings *findings, const struct finding *finding) {
    findings->items[findings->count++] =
            (struct toolrack_finding){.severity = severity_of(finding->severity),
                                      .rule = finding->rule,
                                      .tool = finding->tool,
                                      .cause = finding->cause,
                                      .fix = finding->fix};
}

static int check_plugin(int fd, const char *file, struct toolrack_findings *findings,
                        struct toolrack_error *err) {
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    bool no_memory;
    struct descriptor_options options = tool_descriptor_options(&no_memory);
    int code = descriptor_read(fd, &options, &desc, err);
    if (code < 0 || no_memory) {
        return code < 0 ? code : error_oom(err);
    }
    /* Only here and not when folders are scanned: a library may be installed later than its plugin.
     */
    struct toolrack_error exposed;
    bool is_exposed = ownership_check(file, &exposed) == TOOLRACK_E_REFUSED;
    struct findings linkage;
    findings_init(&linkage, &findings->arena);
    if (desc->plugin != NULL && linkage_check(fd, file, &linkage) < 0) {
        return error_oom(err);
    }
    findings->items = arena_alloc(&findings->arena, (desc->finding_count + (size_t)linkage.count +
                                                     1) * sizeof *findings->items);
    if (findings->items == NULL) {
        return error_oom(err);
    }
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        add(findings, &desc->findings[i]);
    }
    for (uint32_t i = 0; i < linkage.count; i++) {
        add(findings, &linkage.items[i]);
    }
    if (is_exposed) { /* also of a file that is checked before it is installed */
        findings->items[findings->count++] = (struct toolrack_finding){
                .severity = TOOLRACK_SEVERITY_WARNING,
                .rule = GENERATION_RULE_EXPOSED,
                .cause = arena_copy(&findings->arena, exposed.message, strlen(exposed.message)),
                .fix = GENERATION_FIX_EXPOSED};
    }
    findings->tool_count = desc->tool_count;
    findings->desc = STEAL(desc);
    return 0;
}

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

void toolrack_findings_free(struct toolrack_findings *findings) {
    if (findings != NULL) {
        descriptor_unref(findings->desc);
        arena_finish(&findings->arena);
        free(findings);
    }
}
