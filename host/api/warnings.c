/* What the log says of tools and grants when they are registered, as it holds now. */
#include "api/host.h"
#include "base/error.h"
#include "plugin/finding.h"
#include "registry/document.h"

struct listing {
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static void add(const struct listing *listing, const char *kind, const char *source,
                const char *text) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(listing->doc, listing->list);
    document_add_text(listing->doc, row, "kind", kind);
    document_add_text(listing->doc, row, "source", source);
    document_add_text(listing->doc, row, "text", text);
}

/* The next finding about a header of a tool's arguments, in words.
 * @param at  0 at first
 * @return false: there is none */
static bool next_header(const struct toolrack_tool *tool, uint32_t *at,
                        char ret[static ERROR_MESSAGE_MAX]) {
    const struct descriptor *desc = tool->reg->plugin->desc;
    const char *rule = "";
    int severity;
    const char *fix;
    (void)finding_rule_get(FINDING_SCHEMA_HEADER, &rule, &severity, &fix);
    while (*at < desc->finding_count) {
        const struct finding *finding = &desc->findings[(*at)++];
        if (strcmp(finding->rule, rule) == 0 && finding->tool != NULL &&
            strcmp(finding->tool, toolrack_tool_name(tool)) == 0) {
            (void)snprintf(ret, ERROR_MESSAGE_MAX,
                           "a header of tool '%s@%s' is not asked for: %s; %s",
                           toolrack_tool_name(tool), toolrack_tool_version(tool), finding->cause,
                           finding->fix);
            return true;
        }
    }
    return false;
}

void host_warn_headers(struct toolrack *host, const struct toolrack_tool *tool) {
    char text[ERROR_MESSAGE_MAX];
    uint32_t at = 0;
    while (next_header(tool, &at, text)) {
        log_line(&host->log, LOG_WARNING, toolrack_tool_plugin(tool), "%s", text);
    }
}

static void add_of_tools(void *user, const struct snapshot *snapshot) {
    char text[ERROR_MESSAGE_MAX];
    const struct toolrack_tool *tool;
    for (struct snapshot_place place = {0}; (tool = snapshot_next(snapshot, &place)) != NULL;) {
        uint32_t at = 0;
        permit_describe_change(tool, text);
        if (text[0] != '\0') {
            add(user, "changed", toolrack_tool_plugin(tool), text);
        }
        while (next_header(tool, &at, text)) {
            add(user, "header", toolrack_tool_plugin(tool), text);
        }
    }
}

static void add_idle(void *user, const char *granted, const char *text) {
    (void)granted;
    add(user, "grant", "permission", text);
}

int toolrack_warnings(struct toolrack *host, struct toolrack_text **ret,
                      struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct listing listing = {0};
    listing.doc = document_begin_list(&listing.list);
    registry_look(host->registry, add_of_tools, &listing);
    permit_visit_idle(host->permit, add_idle, &listing);
    return document_end(listing.doc, ret, err);
}
