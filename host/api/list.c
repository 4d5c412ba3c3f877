#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/host.h"
#include "base/cleanup.h"
#include "base/error.h"

struct toolrack_tools {
    struct toolrack_filter filter; /* while it is filled */
    size_t count;
    size_t room;
    bool failed;
    struct toolrack_tool **items; /* a reference on each */
};

static bool same_or_any(const char *wanted, const char *is) {
    return wanted == NULL || (is != NULL && strcasecmp(wanted, is) == 0);
}

static bool passes(const struct toolrack_filter *filter, const struct toolrack_tool *tool) {
    return (filter->all || toolrack_tool_enabled(tool)) &&
           (filter->name == NULL || strcmp(filter->name, toolrack_tool_name(tool)) == 0) &&
           (filter->tag == NULL || toolrack_tool_has_tag(tool, filter->tag)) &&
           same_or_any(filter->category, toolrack_tool_category(tool));
}

#define LIST_FIRST_ROOM 64u

static bool take(void *user, struct toolrack_tool *tool) {
    struct toolrack_tools *tools = user;
    if (!passes(&tools->filter, tool)) {
        return true;
    }
    if (tools->count == tools->room) {
        size_t room = tools->room == 0 ? LIST_FIRST_ROOM : 2 * tools->room;
        struct toolrack_tool **grown = realloc(tools->items, room * sizeof *grown);
        if (grown == NULL) {
            tools->failed = true;
            return false;
        }
        tools->items = grown;
        tools->room = room;
    }
    tools->items[tools->count++] = toolrack_tool_ref(tool);
    return true;
}

int toolrack_list(struct toolrack *host, const struct toolrack_filter *filter,
                  struct toolrack_tools **ret, struct toolrack_error *err) {
    struct toolrack_tools *tools = calloc(1, sizeof *tools);
    if (tools == NULL) {
        return error_oom(err);
    }
    if (filter != NULL) {
        memcpy(&tools->filter, filter,
               filter->size < sizeof tools->filter ? filter->size : sizeof tools->filter);
    }
    registry_visit(host->registry, take, tools);
    if (tools->failed) {
        toolrack_tools_free(tools);
        return error_oom(err);
    }
    *ret = tools;
    return 0;
}

size_t toolrack_tools_count(const struct toolrack_tools *tools) {
    return tools->count;
}

struct toolrack_tool *toolrack_tools_get(const struct toolrack_tools *tools, size_t index) {
    return tools->items[index];
}

void toolrack_tools_free(struct toolrack_tools *tools) {
    if (tools != NULL) {
        for (size_t i = 0; i < tools->count; i++) {
            toolrack_tool_unref(tools->items[i]);
        }
        free(tools->items);
        free(tools);
    }
}

struct toolrack_tool *toolrack_get(struct toolrack *host, const char *name) {
    return registry_get(host->registry, name);
}

char *toolrack_suggest(struct toolrack *host, const char *name) {
    return registry_suggest(host->registry, name);
}

int toolrack_refused(struct toolrack *host, struct toolrack_refusals **ret,
                     struct toolrack_error *err) {
    struct toolrack_refusals *list = registry_refusals(host->registry);
    if (list == NULL) {
        return error_oom(err);
    }
    *ret = list;
    return 0;
}

/* ------------------------------------------------------------------- check */

struct toolrack_findings {
    struct descriptor *desc;
    struct toolrack_finding items[];
};

static enum toolrack_severity severity_of(int severity) {
    switch (severity) {
    case FINDING_ERROR: return TOOLRACK_ERROR;
    case FINDING_WARNING: return TOOLRACK_WARNING;
    default: return TOOLRACK_NOTE;
    }
}

int toolrack_check(const char *file, struct toolrack_findings **ret, struct toolrack_error *err) {
    CLEANUP(closep) int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return error_set(err, errno == ENOENT ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_IO,
                         "cannot read %s: %s", file, strerror(errno));
    }
    CLEANUP(descriptor_unrefp) struct descriptor *desc = NULL;
    bool no_memory;
    struct descriptor_options options = host_descriptor_options(&no_memory);
    int code = descriptor_read(fd, &options, &desc, err);
    if (code < 0 || no_memory) {
        return code < 0 ? code : error_oom(err);
    }
    struct toolrack_findings *findings =
            malloc(sizeof *findings + desc->finding_count * sizeof findings->items[0]);
    if (findings == NULL) {
        return error_oom(err);
    }
    for (uint32_t i = 0; i < desc->finding_count; i++) {
        const struct finding *finding = &desc->findings[i];
        findings->items[i] = (struct toolrack_finding){.severity = severity_of(finding->severity),
                                                       .rule = finding->rule,
                                                       .tool = finding->tool,
                                                       .cause = finding->cause,
                                                       .fix = finding->fix};
    }
    findings->desc = STEAL(desc);
    *ret = findings;
    return 0;
}

size_t toolrack_findings_count(const struct toolrack_findings *findings) {
    return findings->desc->finding_count;
}

const struct toolrack_finding *toolrack_findings_get(const struct toolrack_findings *findings,
                                                     size_t index) {
    return &findings->items[index];
}

const char *toolrack_findings_plugin(const struct toolrack_findings *findings) {
    return findings->desc->plugin != NULL ? findings->desc->plugin->id : NULL;
}

const char *toolrack_findings_version(const struct toolrack_findings *findings) {
    return findings->desc->plugin != NULL ? findings->desc->plugin->version : NULL;
}

size_t toolrack_findings_tool_count(const struct toolrack_findings *findings) {
    return findings->desc->tool_count;
}

void toolrack_findings_free(struct toolrack_findings *findings) {
    if (findings != NULL) {
        descriptor_unref(findings->desc);
        free(findings);
    }
}
