#include "api/defaults.h"

#include <stdio.h>
#include <string.h>

#include "api/host.h"
#include "base/error.h"
#include "base/semver.h"
#include "registry/document.h"
#include "store/defaults.h"

/* --------------------------------------------------------------------- set */

static int keep(void *user, const struct registry_default *chosen, struct toolrack_error *err) {
    const struct toolrack *host = user;
    return store_default_set(
            host->store, &(struct store_default){.tool = chosen->name, .version = chosen->version},
            err);
}

static int refuse_name(const char *name, struct toolrack_error *err) {
    return error_set(err, TOOLRACK_E_INVALID,
                     "the default is set for a name alone, not for '%s'; the version stands beside "
                     "it",
                     name);
}

/* The version as the tool itself writes it. */
static int find_version(struct toolrack *host, const char *name, const char *version,
                        struct toolrack_tool **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf selector = BUF_INIT;
    buf_printf(&selector, "%s@%s", name, version);
    if (selector.failed) {
        return error_oom(err);
    }
    int code = registry_check_exact(selector.data, err);
    if (code < 0) {
        return code;
    }
    *ret = registry_get(host->registry, selector.data);
    return *ret != NULL ? 0 : registry_not_found(host->registry, selector.data, err);
}

struct search {
    const char *name;
    bool found;
    char version[SEMVER_LENGTH_MAX + 1];
};

static void look(void *user, const struct registry_default *chosen) {
    struct search *search = user;
    if (strcmp(chosen->name, search->name) == 0) {
        search->found = true;
        (void)snprintf(search->version, sizeof search->version, "%s", chosen->version);
    }
}

static struct search find_default(struct toolrack *host, const char *name) {
    struct search search = {.name = name};
    registry_visit_defaults(host->registry, look, &search);
    return search;
}

/* Of a tool that is gone as well. */
static int let_go(struct toolrack *host, const char *name, struct toolrack_error *err) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = registry_get(host->registry, name);
    if (tool == NULL && !find_default(host, name).found) {
        return registry_not_found(host->registry, name, err);
    }
    return registry_set_default(host->registry, &(struct registry_default){.name = name}, keep,
                                host, err);
}

int toolrack_set_default(struct toolrack *host, const char *name, const char *version,
                         struct toolrack_error *err) {
    if (strchr(name, '@') != NULL) {
        return refuse_name(name, err);
    }
    if (version == NULL) {
        return let_go(host, name, err);
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = NULL;
    int code = find_version(host, name, version, &tool, err);
    return code < 0 ? code
                    : registry_set_default(
                              host->registry,
                              &(struct registry_default){.name = name,
                                                         .version = toolrack_tool_version(tool)},
                              keep, host, err);
}

/* -------------------------------------------------------------------- read */

static void take(void *user, const struct store_default *kept) {
    const struct toolrack *host = user;
    struct toolrack_error err;
    if (!semver_valid(kept->version)) {
        log_line(&host->log, LOG_ERROR, "store",
                 "the default of '%s' is left out: '%s' is no version", kept->tool, kept->version);
    } else if (registry_set_default(host->registry,
                                    &(struct registry_default){kept->tool, kept->version}, NULL,
                                    NULL, &err) < 0) {
        log_line(&host->log, LOG_ERROR, "store", "the default of '%s' is left out: %s", kept->tool,
                 err.message);
    }
}

int defaults_read(struct toolrack *host, struct toolrack_error *err) {
    return store_defaults_read(host->store, take, host, err);
}

/* -------------------------------------------------------------------- tell */

/* Why a name does not mean the version that was set; NULL: it does. */
static const char *trouble_with(struct toolrack *host, const char *name, const char *version) {
    CLEANUP(buf_finish) struct buf selector = BUF_INIT;
    buf_printf(&selector, "%s@%s", name, version);
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool =
            selector.failed ? NULL : registry_get(host->registry, selector.data);
    return tool == NULL ? "is not registered" : tool->enabled ? NULL : "is disabled";
}

static void warn(struct toolrack *host, const char *name, const char *version) {
    const char *trouble = trouble_with(host, name, version);
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *called = registry_get(host->registry, name);
    if (trouble != NULL && called != NULL) {
        log_line(&host->log, LOG_WARNING, "registry",
                 "version %s, the default of '%s', %s: its calls go to %s until it is back, or "
                 "'toolrack default %s --reset'",
                 version, name, trouble, toolrack_tool_version(called), name);
    }
}

static void check(void *user, const struct registry_default *chosen) {
    warn(user, chosen->name, chosen->version);
}

void defaults_check(struct toolrack *host) {
    registry_visit_defaults(host->registry, check, host);
}

void defaults_tell(struct toolrack *host, enum toolrack_event_kind kind,
                   const struct toolrack_tool *tool) {
    if (tool->is_set_default &&
        (kind == TOOLRACK_EVENT_REMOVED || (kind == TOOLRACK_EVENT_CHANGED && !tool->enabled))) {
        warn(host, toolrack_tool_name(tool), toolrack_tool_version(tool));
    }
}

void defaults_describe(struct toolrack *host, const struct toolrack_tool *tool, yyjson_mut_doc *doc,
                       yyjson_mut_val *root) {
    const char *name = toolrack_tool_name(tool);
    struct search search = find_default(host, name);
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *called = registry_get(host->registry, name);
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "default");
    document_add_text(doc, object, "version",
                      called != NULL ? toolrack_tool_version(called) : NULL);
    document_add_text(doc, object, "set", search.found ? search.version : NULL);
    document_add_text(doc, object, "reason",
                      search.found ? trouble_with(host, name, search.version) : NULL);
}
