#include "api/defaults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/follow.h"
#include "api/host.h"
#include "base/command.h"
#include "base/error.h"
#include "base/semver.h"
#include "registry/document.h"
#include "store/defaults.h"

/* ------------------------------------------------------------------- store */

struct search {
    const char *name;
    bool found;
    char version[SEMVER_LENGTH_MAX + 1];
};

static void look(void *user, const struct store_default *kept) {
    struct search *search = user;
    if (strcmp(kept->tool, search->name) == 0) {
        search->found = true;
        (void)snprintf(search->version, sizeof search->version, "%s", kept->version);
    }
}

struct keeping {
    struct store *store;
    struct store_default chosen;
};

static int keep(void *user, struct toolrack_tool *const *tools, size_t count,
                struct toolrack_error *err) {
    const struct keeping *keeping = user;
    (void)tools;
    (void)count;
    return store_default_set(keeping->store, &keeping->chosen, err);
}

/* --------------------------------------------------------------------- set */

static void note(struct toolrack *host, const struct store_default *chosen, const char *who) {
    const char *identity = chosen->identity;
    CLEANUP(freep)
    char *id = identity != NULL ? strndup(identity, identity_id_length(identity)) : NULL;
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(host->registry, chosen->tool);
    permit_note(host->permit,
                &(struct store_decision){.tool = chosen->tool,
                                         .version = chosen->version,
                                         .plugin = id != NULL     ? id
                                                   : tool != NULL ? toolrack_tool_plugin(tool)
                                                                  : NULL,
                                         .origin = id != NULL     ? identity + strlen(id) + 1
                                                   : tool != NULL ? tool->reg->plugin->origin
                                                                  : NULL,
                                         .decision = "chosen",
                                         .who = host_who(host, who),
                                         .why = chosen->version != NULL ? "as the default"
                                                                        : "by the rule again"});
}

int defaults_set(struct toolrack *host, const char *name, const char *version, const char *identity,
                 const char *who, const struct store_shared_order *order,
                 struct toolrack_error *err) {
    const struct selector of = {.name = name, .name_length = strlen(name), .version = version};
    struct keeping keeping = {
            .store = host->store,
            .chosen = {.tool = name, .version = version, .identity = identity, .order = order}};
    struct hosts_telling telling;
    follow_begin(host, &telling);
    int code =
            registry_set(host->registry, &(struct registry_setting){.of = of, .has_default = true},
                         keep, &keeping, err);
    if (code == 0) {
        note(host, &keeping.chosen, who);
    }
    return follow_end(host, &telling, HOSTS_DECISION, code);
}

/* The name goes back to its owner. */
static int reset(struct toolrack *host, const char *name, const char *who,
                 struct toolrack_error *err) {
    int code = defaults_set(host, name, NULL, NULL, who, NULL, err);
    if (code == 0) {
        life_settle_name(host->life, name);
    }
    return code;
}

int toolrack_set_default(struct toolrack *host, const char *name, const char *version,
                         const char *who, struct toolrack_error *err) {
    HOST_SCOPE(host);
    if (strchr(name, '@') != NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "the default is set for a name alone, not for '%s'; the version stands "
                         "beside it",
                         name);
    }
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = NULL;
    if (version == NULL) { /* the default of a removed tool can be removed too */
        struct search search = {.name = name};
        tool = registry_get(host->registry, name);
        int code = tool == NULL ? store_defaults_read(host->store, look, &search, err) : 0;
        return code < 0 ? code
               : tool != NULL || search.found
                       ? reset(host, name, who, err)
                       : follow_not_found(host, registry_not_found(host->registry, name, err), err);
    }
    CLEANUP(buf_finish) struct buf selector = BUF_INIT;
    buf_printf(&selector, "%s@%s", name, version);
    if (selector.failed) {
        return error_oom(err);
    }
    int code = registry_check_exact(selector.data, err);
    if (code < 0) {
        return code;
    }
    tool = registry_get(host->registry, selector.data);
    if (tool != NULL && toolrack_tool_is_kept(tool)) {
        return error_set(
                err, TOOLRACK_E_REFUSED,
                "%s is kept from an earlier content of its file and cannot be the default; go back "
                "to that content: %s",
                selector.data, COMMAND("rollback", toolrack_tool_plugin(tool)));
    }
    /* The version as written by the tool. */
    return tool != NULL
                   ? defaults_set(host, name, toolrack_tool_version(tool), NULL, who, NULL, err)
                   : follow_not_found(host, registry_not_found(host->registry, selector.data, err),
                                      err);
}

/* -------------------------------------------------------------------- tell */

static void check_version(void *user, const struct store_default *kept) {
    const struct toolrack *host = user;
    if (!semver_valid(kept->version)) {
        log_line(&host->log, LOG_ERROR, "store",
                 "the default of '%s' is left out: '%s' is no version", kept->tool, kept->version);
    }
}

static void ignore_setting(void *user, const struct store_setting *kept) {
    (void)user;
    (void)kept;
}

int defaults_open(struct toolrack *host, struct toolrack_error *err) {
    int code = store_read_settings(host->store, ignore_setting, NULL, err);
    return code < 0 ? code : store_defaults_read(host->store, check_version, host, err);
}

/* Why a name does not mean its default version; NULL: it does. */
static const char *trouble_with(struct toolrack *host, const char *name, const char *version) {
    CLEANUP(buf_finish) struct buf selector = BUF_INIT;
    buf_printf(&selector, "%s@%s", name, version);
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool =
            selector.failed ? NULL : registry_get(host->registry, selector.data);
    return tool == NULL    ? "is not registered"
           : tool->kept    ? "is kept from an earlier content of its file"
           : tool->enabled ? NULL
                           : "is disabled";
}

static void warn(struct toolrack *host, const char *name, const char *version) {
    const char *trouble = trouble_with(host, name, version);
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *called = registry_get(host->registry, name);
    if (trouble != NULL && called != NULL && called->enabled) {
        log_line(&host->log, LOG_WARNING, "registry",
                 "version %s, the default of '%s', %s: its calls go to %s until it is back; give "
                 "that default up: %s",
                 version, name, trouble, toolrack_tool_version(called),
                 COMMAND("default --reset", name));
    }
}

static void check(void *user, const struct store_default *kept) {
    if (semver_valid(kept->version)) {
        warn(user, kept->tool, kept->version);
    }
}

void defaults_check(struct toolrack *host) {
    struct toolrack_error unheard; /* the failure to read was logged at opening */
    if (!atomic_load(&host->settings_unread)) {
        (void)store_defaults_read(host->store, check, host, &unheard);
    }
}

void defaults_tell(struct toolrack *host, enum toolrack_event_kind kind,
                   const struct toolrack_tool *tool) {
    if (tool->is_set_default &&
        (kind == TOOLRACK_EVENT_REMOVED ||
         (kind == TOOLRACK_EVENT_CHANGED && (tool->kept || !tool->enabled)))) {
        warn(host, toolrack_tool_name(tool), toolrack_tool_version(tool));
    }
}

void defaults_describe(struct toolrack *host, const struct toolrack_tool *tool, yyjson_mut_doc *doc,
                       yyjson_mut_val *root) {
    const char *name = toolrack_tool_name(tool);
    struct search search = {.name = name};
    struct toolrack_error err;
    bool is_read = store_defaults_read(host->store, look, &search, &err) == 0;
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *called = registry_get(host->registry, name);
    yyjson_mut_val *object = yyjson_mut_obj_add_obj(doc, root, "default");
    document_add_text(doc, object, "version",
                      called != NULL ? toolrack_tool_version(called) : NULL);
    document_add_text(doc, object, "set", search.found ? search.version : NULL);
    document_add_text(doc, object, "reason",
                      !is_read       ? err.message
                      : search.found ? trouble_with(host, name, search.version)
                                     : NULL);
}
