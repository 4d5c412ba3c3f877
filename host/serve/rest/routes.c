#include "serve/rest/routes.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "serve/rest/handlers.h"

#define END \
    { .name = NULL }

/* More than anybody has, and less than 32 bits hold. */
#define MANY       1000000000u
#define TIMEOUT_MS 86400000u
/* Of a page of the log. */
#define PAGE_MAX   1000u

static const struct field tool_filters[] = {
        {"enabled", FIELD_BOOLEAN, false, "Only enabled, or only disabled tools", NULL},
        {"name", FIELD_STRING, false,
         "Only tools of this name or name@range; '*' and '?' stand for any characters", NULL},
        {"tag", FIELD_STRING, false, "Only tools with this tag", NULL},
        {"category", FIELD_STRING, false, "Only tools of this category", NULL},
        {"purpose", FIELD_STRING, false, "Only tools with this in their purpose", NULL},
        {"scenario", FIELD_STRING, false, "Only tools for this scenario", NULL},
        {"plugin", FIELD_STRING, false, "Only tools of the plugin of this id", NULL},
        {"state", FIELD_STRING, false, "Only tools in this state",
         "listed|loaded|failed|stuck|quarantined|changed|left-out|needs"},
        {"permission", FIELD_STRING, false, "Only tools of this permission",
         "safe|confirm|dangerous"},
        END};

static const struct field export_query[] = {
        {"allow", FIELD_STRING, false, "Only these tools, by name or name@range, with commas",
         NULL},
        {"limit", FIELD_INTEGER, false, "At most so many tools, by priority", NULL, MANY, 1},
        {"budget", FIELD_INTEGER, false, "At most so many tokens in all, by priority", NULL, MANY,
         1},
        {"profile", FIELD_STRING, false,
         "Only tools of this profile of the configuration; basic, without those of the tag extra, "
         "where neither this nor allow is given, and full are always there",
         NULL},
        END};

static const struct field recommend_query[] = {
        {"task", FIELD_STRING, false, "What is to be done, in words", NULL},
        {"limit", FIELD_INTEGER, false, "At most so many; 10 without it", NULL, MANY, 1},
        END};

static const struct field search_query[] = {
        {"text", FIELD_STRING, true, "What the tools are to do, in English or Chinese", NULL},
        {"limit", FIELD_INTEGER, false, "At most so many; 10 without it", NULL, MANY, 1},
        END};

static const struct field select_body[] = {
        {"text", FIELD_STRING, true, "What is wanted, in English or Chinese", NULL},
        {"context", FIELD_OBJECT, false,
         "now, time_zone, locale, folder and results, as toolrack/choose.h says", NULL},
        {"limit", FIELD_INTEGER, false, "At most so many candidates; 5 without it", NULL, MANY, 1},
        {"explain", FIELD_BOOLEAN, false, "Whether the answer has an explanation for people", NULL},
        {"tools", FIELD_STRINGS, false, "Only these tools, by name", NULL},
        END};

static const struct field plan_body[] = {
        {"text", FIELD_STRING, true, "What is wanted, in English or Chinese", NULL},
        {"context", FIELD_OBJECT, false,
         "now, time_zone, locale, folder and results, as toolrack/choose.h says", NULL},
        {"tools", FIELD_STRINGS, false, "Only these tools, by name", NULL},
        END};

static const struct field run_body[] = {
        {"plan", FIELD_OBJECT, true, "The plan, as toolrack-plan.schema.json describes it", NULL},
        {"inputs", FIELD_OBJECT, false, "What the plan is given, by name", NULL},
        END};

static const struct field resume_body[] = {
        {"repeat", FIELD_STRINGS, false,
         "Nodes whose calls are made again, whatever they did before", NULL},
        {"skip", FIELD_STRINGS, false, "Nodes that are skipped, with what needs their results",
         NULL},
        {"inputs", FIELD_OBJECT, false, "Inputs that were secret, which are not kept", NULL},
        END};

static const struct field selected_body[] = {
        {"worked", FIELD_BOOLEAN, false, "Whether the call of the tool gave a result", NULL},
        {"tool", FIELD_STRING, false, "The tool that is right for the text; an empty text: none is",
         NULL},
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
         "Only calls that were logged before the one of this id: the page before", NULL, 0, 1},
        {"limit", FIELD_INTEGER, false, "At most so many, the newest; 100 without it", NULL,
         PAGE_MAX, 1},
        END};

static const struct field statistics_query[] = {
        {"tool", FIELD_STRING, false, "Only of this tool, by name or name@version", NULL}, END};

static const struct field decisions_query[] = {
        {"tool", FIELD_STRING, false, "Only about this tool, by name or name@version", NULL},
        {"plugin", FIELD_STRING, false, "Only about this plugin and its tools", NULL},
        {"since_ms", FIELD_INTEGER, false, "Not older than this, in milliseconds since 1970", NULL},
        {"limit", FIELD_INTEGER, false, "At most so many, the newest; 100 without it", NULL,
         PAGE_MAX, 1},
        END};

static const struct field call_query[] = {
        {"timeout_ms", FIELD_INTEGER, false,
         "How long the call may take; without it as the tool or the host says", NULL, TIMEOUT_MS,
         1},
        {"conversation", FIELD_STRING, false, "The conversation that the call belongs to", NULL},
        END};

static const struct field answer_query[] = {
        {"format", FIELD_STRING, true, "The format of the message",
         "openai|openai-responses|anthropic|gemini|ollama|mcp"},
        {"allow", FIELD_STRING, false,
         "The tools that the model was offered, by name or name@range, with commas; no other runs",
         NULL},
        {"model", FIELD_STRING, false, "The model that gets the results: which images it takes",
         NULL},
        {"timeout_ms", FIELD_INTEGER, false, "How long each call may take", NULL, TIMEOUT_MS, 1},
        {"conversation", FIELD_STRING, false, "The conversation that the calls belong to", NULL},
        END};

static const struct field tool_body[] = {
        {"enabled", FIELD_BOOLEAN, false, "Whether it can be called", NULL},
        {"priority", FIELD_SIGNED, false, "Its place in lists: the highest is first", NULL},
        {"default", FIELD_STRING, false,
         "The version that the name alone means; an empty text: the highest again", NULL},
        END};

static const struct field approval_body[] = {{"answer", FIELD_STRING, true,
                                              "Whether the call may run, when it is made again",
                                              "once|conversation|always|deny"},
                                             END};

static const struct field grant_body[] = {
        {"tool", FIELD_STRING, true, "The tool, by name or name@version", NULL},
        {"seconds", FIELD_INTEGER, false, "For how long; without it until it is revoked", NULL, 0,
         1},
        END};

static const struct field mark_body[] = {{"why", FIELD_STRING, false, "One line for people", NULL},
                                         END};

static const struct field feedback_body[] = {
        {"tool", FIELD_STRING, true, "The tool, by name or name@version", NULL},
        {"feedback", FIELD_STRING, true, "How good it was", "good|bad"},
        {"call", FIELD_INTEGER, false, "The id of one call in the log", NULL, 0, 1},
        END};

static const struct field token_body[] = {
        {"name", FIELD_STRING, true, "The name: letters, digits, '_', '-' and '.'", NULL},
        {"profile", FIELD_STRING, false, "The profile whose tools it is shown", NULL},
        {"tools", FIELD_STRINGS, false, "The tools that it may see and call; without it all", NULL},
        {"expires_s", FIELD_INTEGER, false, "When it ends, in seconds since 1970; else never", NULL,
         0, 1},
        {"rate_per_minute", FIELD_INTEGER, false, "How many requests in a minute", NULL, MANY, 1},
        {"admin", FIELD_BOOLEAN, false, "Whether it may administer the host", NULL},
        {"approves", FIELD_BOOLEAN, false,
         "Whether its answer to a question about a confirm tool is a person's", NULL},
        END};

const struct route routes[] = {
        {.method = "GET",
         .path = "/healthz",
         .class = FRONT_PUBLIC,
         .flags = ROUTE_AT_END,
         .handle = about_health,
         .operation = "getHealth",
         .summary = "Whether the server runs: also while it ends",
         .response = "Status",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/readyz",
         .class = FRONT_PUBLIC,
         .flags = ROUTE_AT_END,
         .handle = about_ready,
         .operation = "getReadiness",
         .summary = "Whether the server takes requests: not while it ends",
         .response = "Status",
         .status = 200,
         .failures = "Cancelled"},
        {.method = "GET",
         .path = "/metrics",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS | ROUTE_TEXT | ROUTE_METRICS,
         .handle = metrics_answer,
         .operation = "getMetrics",
         .summary = "What the host and the server count, in the text format of Prometheus",
         .response = "Metrics",
         .status = 200,
         .failures = ""},
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
         .flags = ROUTE_CHOOSES,
         .handle = tools_recommend,
         .operation = "recommendTools",
         .summary = "The tools with the best records, for a task or in general",
         .query = recommend_query,
         .response = "Recommendations",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/search",
         .class = FRONT_CALLER,
         .flags = ROUTE_CHOOSES,
         .handle = select_search,
         .operation = "searchTools",
         .summary = "The tools whose texts fit what they are to do, the best first",
         .query = search_query,
         .response = "Found",
         .status = 200,
         .failures = "Invalid"},
        {.method = "POST",
         .path = "/api/select",
         .class = FRONT_CALLER,
         .flags = ROUTE_CHOOSES,
         .handle = select_choose,
         .operation = "selectTool",
         .summary = "Choose the tool that does what a sentence says, with its arguments; it is not "
                    "called",
         .body = select_body,
         .response = "Selection",
         .status = 200,
         .failures = "Invalid",
         .example = "{\"text\":\"add 1 and 2\"}"},
        {.method = "POST",
         .path = "/api/select/{id}",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS,
         .handle = select_note,
         .operation = "noteSelection",
         .summary = "Say whether the call of the chosen tool worked, or which tool is right",
         .body = selected_body,
         .response = "Noted",
         .status = 200,
         .failures = "NotFound Invalid PermissionDenied",
         .example = "{\"worked\":true}"},
        {.method = "POST",
         .path = "/api/plans",
         .class = FRONT_CALLER,
         .flags = ROUTE_CHOOSES,
         .handle = select_plan,
         .operation = "makePlan",
         .summary =
                 "Make a plan of a text: the tools that do what it says, in their order; nothing "
                 "runs",
         .body = plan_body,
         .response = "PlanMade",
         .status = 200,
         .failures = "Invalid LimitExceeded",
         .example = "{\"text\":\"add 1 and 2\"}"},
        {.method = "POST",
         .path = "/api/plans/check",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS | ROUTE_ANY_BODY,
         .handle = rest_plans_check,
         .operation = "checkPlan",
         .summary = "Find all that is wrong with the plan in the body; nothing runs",
         .response = "PlanCheck",
         .status = 200,
         .failures = "",
         .example =
                 "{\"nodes\":[{\"id\":\"sum\",\"tool\":\"add\",\"arguments\":{\"a\":1,\"b\":2}}]}"},
        {.method = "POST",
         .path = "/api/runs",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS | ROUTE_EVENTS | ROUTE_EXACT,
         .handle = rest_runs_begin,
         .operation = "beginRun",
         .summary = "Run a plan: answered when the run has its id, before it ends; as an event "
                    "stream with what happens to its nodes, and last the run. It goes on when its "
                    "client leaves",
         .body = run_body,
         .response = "RunBegun",
         .event = "RunEvent",
         .status = 202,
         .failures = "Invalid InvalidArguments PermissionDenied ConfirmationRequired LimitExceeded",
         .example = "{\"plan\":{\"nodes\":[{\"id\":\"sum\",\"tool\":\"add\",\"arguments\":{\"a\":1,"
                    "\"b\":2}}]}}"},
        {.method = "GET",
         .path = "/api/runs",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS,
         .handle = rest_runs_list,
         .operation = "listRuns",
         .summary = "The runs of plans, the newest first: the own ones, and for administrators all",
         .response = "Runs",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/runs/{id}",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS,
         .handle = rest_runs_show,
         .operation = "getRun",
         .summary = "A run, with its plan and what has come of each node",
         .response = "RunPage",
         .status = 200,
         .failures = "NotFound"},
        {.method = "POST",
         .path = "/api/runs/{id}/cancel",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS,
         .handle = rest_runs_cancel,
         .operation = "cancelRun",
         .summary = "Have a run end: its calls are cancelled, and no node begins any more",
         .response = "RunPage",
         .status = 200,
         .failures = "NotFound Refused"},
        {.method = "POST",
         .path = "/api/runs/{id}/resume",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS | ROUTE_EVENTS | ROUTE_EXACT,
         .handle = rest_runs_resume,
         .operation = "resumeRun",
         .summary = "Go on with a run that was interrupted or waits: nodes that have ended are not "
                    "repeated. Answered as a run that begins",
         .body = resume_body,
         .response = "RunBegun",
         .event = "RunEvent",
         .status = 202,
         .failures = "NotFound Invalid InvalidArguments Refused InputRequired PermissionDenied "
                     "ConfirmationRequired LimitExceeded"},
        {.method = "DELETE",
         .path = "/api/runs/{id}",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS,
         .handle = rest_runs_remove,
         .operation = "removeRun",
         .summary = "Remove a run that does not run",
         .response = "RunRemoved",
         .status = 200,
         .failures = "NotFound Refused"},
        {.method = "POST",
         .path = "/api/session",
         .class = FRONT_ADMIN,
         .flags = ROUTE_LOGS_IN,
         .handle = session_begin,
         .operation = "beginSession",
         .summary = "Log a page in: trade an administrator's token for a cookie, and for what the "
                    "header X-CSRF-Token of each request by the cookie must have",
         .response = "Session",
         .status = 201,
         .failures = "Invalid LimitExceeded"},
        {.method = "GET",
         .path = "/api/session",
         .class = FRONT_ADMIN,
         .handle = session_show,
         .operation = "getSession",
         .summary = "Who sends the request, and how long its session lasts, if it has one",
         .response = "Session",
         .status = 200,
         .failures = ""},
        {.method = "DELETE",
         .path = "/api/session",
         .class = FRONT_ADMIN,
         .handle = session_finish,
         .operation = "endSession",
         .summary = "Log the page out: its session ends",
         .response = "Session",
         .status = 200,
         .failures = "NotFound"},
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
         .flags = ROUTE_WAITS | ROUTE_EVENTS | ROUTE_RESUMES,
         .handle = records_log,
         .operation = "listCalls",
         .summary = "The calls that were logged, a page of them, the oldest first; as an event "
                    "stream each new one, or each after that of Last-Event-ID",
         .query = log_query,
         .response = "Calls",
         .event = "Call",
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
        {.method = "PATCH",
         .path = "/api/tools/{name}",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = tools_set,
         .operation = "setTool",
         .summary = "Enable or disable a tool, set its priority or the default version of its name",
         .body = tool_body,
         .response = "ToolSet",
         .status = 200,
         .failures = "NotFound Invalid",
         .example = "{\"enabled\":true}"},
        {.method = "POST",
         .path = "/api/tools/{name}/call",
         .class = FRONT_CALLER,
         .flags = ROUTE_ANY_BODY | ROUTE_EVENTS | ROUTE_ASYNC,
         .handle = call_tool,
         .operation = "callTool",
         .summary = "Call a tool with the arguments in the body; as an event stream with progress, "
                    "or with Prefer: respond-async as a task",
         .query = call_query,
         .response = "Result",
         .event = "CallEvent",
         .status = 200,
         .failures = "NotFound Disabled InvalidArguments PermissionDenied ConfirmationRequired "
                     "ExecutionFailed Timeout Cancelled LimitExceeded",
         .example = "{\"a\":1}"},
        {.method = "POST",
         .path = "/api/answer",
         .class = FRONT_CALLER,
         .flags = ROUTE_ANY_BODY | ROUTE_LONG,
         .handle = call_message,
         .operation = "answerMessage",
         .summary = "Execute the calls of a message of a model, and give the messages to append",
         .query = answer_query,
         .response = "Messages",
         .status = 200,
         .failures = "Invalid Refused PermissionDenied LimitExceeded",
         .example = "{\"role\":\"assistant\",\"content\":\"no calls\"}"},
        {.method = "GET",
         .path = "/api/tasks",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS,
         .handle = rest_tasks_list,
         .operation = "listTasks",
         .summary = "The calls that were answered with a task: the own ones, and for "
                    "administrators all",
         .response = "Tasks",
         .status = 200,
         .failures = ""},
        {.method = "GET",
         .path = "/api/tasks/{id}",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS,
         .handle = rest_tasks_show,
         .operation = "getTask",
         .summary = "A task, with the result of its call",
         .response = "Task",
         .status = 200,
         .failures = "NotFound"},
        {.method = "DELETE",
         .path = "/api/tasks/{id}",
         .class = FRONT_CALLER,
         .flags = ROUTE_WAITS,
         .handle = rest_tasks_delete,
         .operation = "deleteTask",
         .summary = "Cancel a task that has not ended; remove one that is completed or failed",
         .response = "TaskDeleted",
         .status = 200,
         .failures = "Invalid NotFound"},
        {.method = "GET",
         .path = "/api/events",
         .class = FRONT_ADMIN,
         .flags = ROUTE_EVENTS_ONLY | ROUTE_RESUMES,
         .handle = rest_events_listen,
         .operation = "followEvents",
         .summary = "What happens to tools and plugins, as it happens; Last-Event-ID resumes",
         .response = "Event",
         .event = "Event",
         .status = 200,
         .failures = ""},
        {.method = "POST",
         .path = "/api/reload",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = plugins_reload_all,
         .operation = "reloadAll",
         .summary = "Look at all plugin files again",
         .response = "Files",
         .status = 200,
         .failures = ""},
        {.method = "POST",
         .path = "/api/plugins/{name}/reload",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = plugins_reload,
         .operation = "reloadPlugin",
         .summary = "Reload a plugin, also when its file is the same",
         .response = "Files",
         .status = 200,
         .failures = "NotFound Invalid"},
        {.method = "POST",
         .path = "/api/plugins/{name}/rollback",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = plugins_rollback,
         .operation = "rollbackPlugin",
         .summary = "Go back to what the file of a plugin had before",
         .response = "Done",
         .status = 200,
         .failures = "NotFound Refused Invalid"},
        {.method = "POST",
         .path = "/api/plugins/{name}/release",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = plugins_release,
         .operation = "releasePlugin",
         .summary = "End the quarantine of a plugin",
         .response = "Done",
         .status = 200,
         .failures = "NotFound"},
        {.method = "POST",
         .path = "/api/approvals/{id}",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_answer,
         .operation = "answerApproval",
         .summary = "Allow or deny a call that waits",
         .body = approval_body,
         .response = "Answered",
         .status = 200,
         .failures = "NotFound Invalid PermissionDenied",
         .example = "{\"answer\":\"once\"}"},
        {.method = "POST",
         .path = "/api/grants",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_grant,
         .operation = "grantTool",
         .summary = "Let a confirm or dangerous tool run without being asked about",
         .body = grant_body,
         .response = "Done",
         .status = 200,
         .failures = "NotFound Invalid",
         .example = "{\"tool\":\"wipe\",\"seconds\":3600}"},
        {.method = "DELETE",
         .path = "/api/grants/{tool}",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_revoke,
         .operation = "revokeTool",
         .summary = "Take back all grants and approvals of a tool",
         .response = "Done",
         .status = 200,
         .failures = "NotFound"},
        {.method = "PUT",
         .path = "/api/lists/{list}/{tool}",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_mark,
         .operation = "markTool",
         .summary = "Put a tool on the whitelist or the blacklist",
         .body = mark_body,
         .response = "Done",
         .status = 200,
         .failures = "NotFound Invalid"},
        {.method = "DELETE",
         .path = "/api/lists/{list}/{tool}",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_unmark,
         .operation = "unmarkTool",
         .summary = "Take a tool off a list",
         .response = "Done",
         .status = 200,
         .failures = "NotFound"},
        {.method = "POST",
         .path = "/api/feedback",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = records_feedback,
         .operation = "giveFeedback",
         .summary = "Say how good a tool was",
         .body = feedback_body,
         .response = "Feedback",
         .status = 200,
         .failures = "NotFound",
         .example = "{\"tool\":\"add\",\"feedback\":\"good\"}"},
        {.method = "POST",
         .path = "/api/tokens",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_add_token,
         .operation = "addToken",
         .summary = "Add a token; its secret is shown only in this answer",
         .body = token_body,
         .response = "TokenAdded",
         .status = 201,
         .failures = "AlreadyExists Invalid LimitExceeded",
         .example = "{\"name\":\"ci\"}"},
        {.method = "DELETE",
         .path = "/api/tokens/{name}",
         .class = FRONT_ADMIN,
         .flags = ROUTE_WAITS,
         .handle = decided_revoke_token,
         .operation = "revokeToken",
         .summary = "Make a token unknown",
         .response = "Done",
         .status = 200,
         .failures = "NotFound"},
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
        bool has_head =
                strcmp(route->method, "GET") == 0 && (route->flags & ROUTE_EVENTS_ONLY) == 0;
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

enum front_class routes_class(const struct route *route, enum front_class metrics) {
    return (route->flags & ROUTE_METRICS) != 0 ? metrics : route->class;
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
