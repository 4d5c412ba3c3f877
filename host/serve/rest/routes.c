#include "serve/rest/routes.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "serve/rest/handlers.h"

#define END \
    { .name = NULL }

static const struct field tool_filters[] = {
        {"enabled", FIELD_BOOLEAN, false, "Only enabled, or only disabled tools", NULL},
        {"name", FIELD_STRING, false, "Only versions of this name", NULL},
        {"tag", FIELD_STRING, false, "Only tools with this tag", NULL},
        {"category", FIELD_STRING, false, "Only tools of this category", NULL},
        {"purpose", FIELD_STRING, false, "Only tools with this in their purpose", NULL},
        {"scenario", FIELD_STRING, false, "Only tools for this scenario", NULL},
        {"plugin", FIELD_STRING, false, "Only tools of the plugin of this id", NULL},
        {"state", FIELD_STRING, false, "Only tools in this state",
         "listed|loaded|failed|stuck|quarantined|changed|left-out"},
        {"permission", FIELD_STRING, false, "Only tools of this permission",
         "safe|confirm|dangerous"},
        END};

static const struct field export_query[] = {
        {"allow", FIELD_STRING, false, "Only these tools, by name or name@range, with commas",
         NULL},
        {"limit", FIELD_INTEGER, false, "At most so many tools, by priority", NULL},
        {"budget", FIELD_INTEGER, false, "At most so many tokens in all, by priority", NULL},
        END};

static const struct field recommend_query[] = {
        {"task", FIELD_STRING, false, "What is to be done, in words", NULL},
        {"limit", FIELD_INTEGER, false, "At most so many; 10 without it", NULL},
        END};

static const struct field log_query[] = {
        {"tool", FIELD_STRING, false, "Only calls of this tool, by name or name@version", NULL},
        {"caller", FIELD_STRING, false, "Only calls of this caller", NULL},
        {"conversation", FIELD_STRING, false, "Only calls of this conversation", NULL},
        {"errors", FIELD_BOOLEAN, false, "Only calls that failed", NULL},
        {"outcomes", FIELD_STRING, false,
         "Only calls that ended so: ok or types of errors, with commas", NULL},
        {"since_ms", FIELD_INTEGER, false, "Not older than this, in milliseconds since 1970", NULL},
        {"after", FIELD_INTEGER, false, "Only calls that were logged after the one of this id",
         NULL},
        {"before", FIELD_INTEGER, false,
         "Only calls that were logged before the one of this id: the page before", NULL},
        {"limit", FIELD_INTEGER, false, "At most so many, the newest; 100 without it, 1000 at most",
         NULL},
        END};

static const struct field statistics_query[] = {
        {"tool", FIELD_STRING, false, "Only of this tool, by name or name@version", NULL}, END};

static const struct field decisions_query[] = {
        {"tool", FIELD_STRING, false, "Only about this tool, by name or name@version", NULL},
        {"plugin", FIELD_STRING, false, "Only about this plugin and its tools", NULL},
        {"since_ms", FIELD_INTEGER, false, "Not older than this, in milliseconds since 1970", NULL},
        {"limit", FIELD_INTEGER, false, "At most so many, the newest; 100 without it, 1000 at most",
         NULL},
        END};

const struct route routes[] = {
        {.method = "GET",
         .path = "/healthz",
         .class = FRONT_PUBLIC,
         .handle = about_health,
         .operation = "getHealth",
         .summary = "Whether the server runs",
         .response = "Status",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/readyz",
         .class = FRONT_PUBLIC,
         .handle = about_ready,
         .operation = "getReadiness",
         .summary = "Whether the server takes requests: not while it ends",
         .response = "Status",
         .status = 200,
         .failures = "Cancelled"},
        {.method = "GET",
         .path = "/api/openapi.json",
         .class = FRONT_CALLER,
         .flags = ROUTE_TAGGED,
         .handle = about_document,
         .operation = "getDocument",
         .summary = "This description of all routes",
         .response = "Document",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/tools",
         .class = FRONT_CALLER,
         .flags = ROUTE_TAGGED,
         .handle = listing_answer,
         .operation = "listTools",
         .summary = "All registered tools, disabled ones too, the highest priority first",
         .query = tool_filters,
         .response = "Tools",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/tools/{name}",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS | ROUTE_TAGGED,
         .handle = tools_show,
         .operation = "getTool",
         .summary = "One tool with its schemas, by name, name@version or name@range",
         .response = "ToolPage",
         .status = 200,
         .failures = "NotFound"},
        {.method = "GET",
         .path = "/api/export/{format}",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS | ROUTE_TAGGED,
         .handle = tools_export,
         .operation = "exportTools",
         .summary = "Definitions in the format of a provider, with what was changed for it",
         .query = export_query,
         .response = "Export",
         .status = 200,
         .failures = "NotFound"},
        {.method = "GET",
         .path = "/api/recommend",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS,
         .handle = tools_recommend,
         .operation = "recommendTools",
         .summary = "The tools with the best records, for a task or in general",
         .query = recommend_query,
         .response = "Recommendations",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/plugins",
         .class = FRONT_ADMIN,
         .handle = plugins_list,
         .operation = "listPlugins",
         .summary = "The plugins, and the files that were refused",
         .response = "Plugins",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/plugins/{name}",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = plugins_show,
         .operation = "explainPlugin",
         .summary = "Why a plugin is as it is: generation, state, crashes, history",
         .response = "PluginPage",
         .status = 200,
         .failures = "NotFound Invalid"},
        {.method = "GET",
         .path = "/api/approvals",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_approvals,
         .operation = "listApprovals",
         .summary = "Calls that wait for a person",
         .response = "Approvals",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/grants",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_grants,
         .operation = "listGrants",
         .summary = "Grants and approvals in force",
         .response = "Grants",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/lists/{list}",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_list,
         .operation = "getList",
         .summary = "The tools on the whitelist or the blacklist",
         .response = "Marks",
         .status = 200,
         .failures = "NotFound"},
        {.method = "GET",
         .path = "/api/tokens",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_tokens,
         .operation = "listTokens",
         .summary = "The tokens, without their secrets",
         .response = "Tokens",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/statistics",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = records_statistics,
         .operation = "getStatistics",
         .summary = "Counts and times of the calls of each tool",
         .query = statistics_query,
         .response = "Statistics",
         .status = 200,
         .failures = "NotFound"},
        {.method = "GET",
         .path = "/api/decisions",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = records_decisions,
         .operation = "listDecisions",
         .summary = "What was decided about calls and tools, the newest first",
         .query = decisions_query,
         .response = "Decisions",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/log",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = records_log,
         .operation = "listCalls",
         .summary = "The calls that were logged, a page of them, the oldest first",
         .query = log_query,
         .response = "Calls",
         .status = 200,
         .failures = "Invalid"},
        {.method = "GET",
         .path = "/api/log/{id}",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = records_call,
         .operation = "getCall",
         .summary = "One call of the log",
         .response = "Call",
         .status = 200,
         .failures = "NotFound Invalid"},
};
const size_t route_count = ARRAY_LENGTH(routes);

/* --------------------------------------------------------------------- finding */

/* Whether the segments of a target are those of a path. */
static bool is_path(const char *path, const struct target *target) {
    for (size_t i = 0; i < target->segment_count; i++) {
        if (*path != '/') {
            return false;
        }
        path++;
        size_t length = strcspn(path, "/");
        if (path[0] != '{' && (strncmp(path, target->segments[i], length) != 0 ||
                               target->segments[i][length] != '\0')) {
            return false;
        }
        path += length;
    }
    return *path == '\0';
}

static void allow(char *to, const char *method) {
    size_t length = strlen(to);
    if (strstr(to, method) == NULL) {
        (void)snprintf(to + length, FRONT_ALLOW_ROOM - length, "%s%s", length > 0 ? ", " : "",
                       method);
    }
}

const struct route *routes_find(const char *method, const struct target *target,
                                char ret_allow[static FRONT_ALLOW_ROOM]) {
    const struct route *found = NULL;
    ret_allow[0] = '\0';
    for (size_t i = 0; i < route_count && found == NULL; i++) {
        const struct route *route = &routes[i];
        if (!is_path(route->path, target)) {
            continue;
        }
        bool has_head = strcmp(route->method, "GET") == 0 &&
                        (route->flags & (ROUTE_EVENTS | ROUTE_EVENTS_ONLY)) == 0;
        if (strcmp(method, route->method) == 0 || (has_head && strcmp(method, "HEAD") == 0)) {
            found = route;
        }
        allow(ret_allow, route->method);
        if (has_head) {
            allow(ret_allow, "HEAD");
        }
    }
    if (found == NULL && ret_allow[0] != '\0') {
        allow(ret_allow, "OPTIONS");
    }
    return found;
}

const char *route_part(const struct route *route, const struct target *target, const char *name) {
    const char *path = route->path;
    size_t wanted = strlen(name);
    for (size_t i = 0; i < target->segment_count && *path == '/'; i++) {
        size_t length = strcspn(++path, "/");
        if (path[0] == '{' && length == wanted + 2 && strncmp(path + 1, name, wanted) == 0) {
            return target->segments[i];
        }
        path += length;
    }
    return NULL;
}
