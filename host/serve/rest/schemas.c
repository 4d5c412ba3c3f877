#include "serve/rest/schemas.h"

#include "base/cleanup.h"

/* Objects may get new members: none of these says that there are no others. */
#define TEXT           "{\"type\":\"string\"}"
#define TEXT_OR_NULL   "{\"type\":[\"string\",\"null\"]}"
#define YES_OR_NO      "{\"type\":\"boolean\"}"
#define COUNT          "{\"type\":\"integer\",\"minimum\":0}"
#define WHOLE          "{\"type\":\"integer\"}"
#define WHOLE_OR_NULL  "{\"type\":[\"integer\",\"null\"]}"
#define OBJECT_OR_NULL "{\"type\":[\"object\",\"null\"]}"
#define PART           "{\"type\":\"number\",\"minimum\":0,\"maximum\":1}"
#define PERMISSION     "{\"enum\":[\"safe\",\"confirm\",\"dangerous\"]}"
#define TEXTS          "{\"type\":\"array\",\"items\":" TEXT "}"
#define RUN_STATES \
    "{\"enum\":[\"running\",\"interrupted\",\"waiting\",\"succeeded\",\"failed\",\"cancelled\"]}"
#define NODE_STATES \
    "{\"enum\":[\"waiting\",\"running\",\"succeeded\",\"failed\",\"skipped\",\"cancelled\"]}"
#define FAILURE "{\"type\":\"object\",\"required\":[\"code\",\"message\"]}"
#define RUN_REQUIRED                                                                  \
    "\"id\",\"name\",\"state\",\"owner\",\"created_ms\",\"updated_ms\",\"ended_ms\"," \
    "\"succeeded\","                                                                  \
    "\"failed\",\"skipped\",\"cancelled\",\"running\",\"waiting\",\"error\""
#define RUN_MEMBERS                                                                              \
    "\"id\":" TEXT ",\"name\":" TEXT_OR_NULL ",\"state\":" RUN_STATES ",\"owner\":" TEXT_OR_NULL \
    ",\"caller\":" TEXT_OR_NULL ",\"channel\":" TEXT_OR_NULL ",\"created_ms\":" WHOLE            \
    ",\"updated_ms\":" WHOLE_OR_NULL ",\"ended_ms\":" WHOLE_OR_NULL ",\"succeeded\":" COUNT      \
    ",\"failed\":" COUNT ",\"skipped\":" COUNT ",\"cancelled\":" COUNT ",\"running\":" COUNT     \
    ",\"waiting\":" COUNT ",\"error\":" TEXT_OR_NULL
#define LIST(key, of)                                                        \
    "{\"type\":\"object\",\"required\":[\"" key "\"],\"properties\":{\"" key \
    "\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/" of "\"}}}}"
#define TOOL_MEMBERS                                                                             \
    "\"id\":{\"type\":\"string\",\"description\":\"The name: the versions of a tool share it\"}" \
    ",\"uid\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"Of this version alone, as "  \
    "long as the host runs\"}"                                                                   \
    ",\"name\":" TEXT ",\"version\":" TEXT ",\"description\":" TEXT_OR_NULL                      \
    ",\"enabled\":" YES_OR_NO ",\"priority\":" WHOLE                                             \
    ",\"permission\":{\"enum\":[\"safe\",\"confirm\",\"dangerous\"]},\"category\":" TEXT_OR_NULL \
    ",\"tags\":" TEXTS ",\"purpose\":" TEXT_OR_NULL ",\"scenarios\":" TEXTS                      \
    ",\"deprecated\":" TEXT_OR_NULL ",\"set_default\":" YES_OR_NO ",\"kept\":" YES_OR_NO         \
    ",\"plugin\":" TEXT_OR_NULL ",\"state\":" TEXT ",\"reason\":" TEXT
#define TOOL_REQUIRED                                                                              \
    "\"id\",\"uid\",\"name\",\"version\",\"description\",\"enabled\",\"priority\",\"permission\"," \
    "\"category\",\"tags\",\"plugin\",\"state\""

const struct schema_text schemas[] = {
        {"Status", "{\"type\":\"object\",\"required\":[\"status\",\"version\"],\"properties\":{"
                   "\"status\":{\"enum\":[\"ok\",\"ready\"]},\"version\":" TEXT "}}"},
        {"Session", "{\"type\":\"object\",\"required\":[\"token\",\"admin\",\"left_s\"],"
                    "\"properties\":{\"token\":" TEXT_OR_NULL ",\"admin\":" YES_OR_NO
                    ",\"left_s\":" WHOLE_OR_NULL ",\"csrf\":" TEXT "}}"},
        {"Host",
         "{\"type\":\"object\",\"required\":[\"self\",\"instance\",\"name\",\"key\",\"version\","
         "\"trusted\",\"state\",\"running\",\"tools\",\"latency_us\",\"clock_ms\"],"
         "\"properties\":{\"self\":" YES_OR_NO ",\"instance\":" TEXT ",\"name\":" TEXT_OR_NULL
         ",\"key\":" TEXT_OR_NULL ",\"version\":" TEXT_OR_NULL ",\"trusted\":" YES_OR_NO
         ",\"state\":{\"enum\":[\"here\",\"slow\",\"silent\"]},\"running\":" COUNT
         ",\"tools\":" COUNT ",\"calls\":" COUNT ",\"failed\":" COUNT
         ",\"latency_us\":" WHOLE_OR_NULL ",\"clock_ms\":" WHOLE_OR_NULL "}}"},
        {"Hosts", LIST("hosts", "Host")},
        {"Metrics", TEXT},
        {"Document", "{\"type\":\"object\",\"required\":[\"openapi\",\"paths\"]}"},
        {"Tool", "{\"type\":\"object\",\"required\":[" TOOL_REQUIRED
                 "],\"properties\":{" TOOL_MEMBERS "}}"},
        {"Tools", LIST("tools", "Tool")},
        {"ToolPage",
         "{\"type\":\"object\",\"required\":[" TOOL_REQUIRED
         ",\"inputSchema\",\"examples\",\"versions\",\"statistics\"],\"properties\":{" TOOL_MEMBERS
         ",\"title\":" TEXT_OR_NULL ",\"file\":" TEXT_OR_NULL ",\"trust\":" TEXT
         ",\"prototype\":" TEXT_OR_NULL ",\"generation\":" COUNT ",\"sha256\":" TEXT_OR_NULL
         ",\"annotations\":{\"type\":\"object\",\"additionalProperties\":" YES_OR_NO
         "},\"deadline_ms\":" WHOLE_OR_NULL
         ",\"task\":{\"enum\":[\"auto\",\"never\",\"always\"]},\"icons\":{\"type\":[\"array\","
         "\"null\"]},\"isolation\":" OBJECT_OR_NULL ",\"versions\":" TEXTS
         ",\"default\":" TEXT_OR_NULL
         ",\"statistics\":{\"type\":\"object\",\"additionalProperties\":" COUNT
         "},\"inputSchema\":{\"type\":[\"object\",\"boolean\"]},\"outputSchema\":" OBJECT_OR_NULL
         ",\"examples\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
         "\"arguments\"]}}}}"},
        {"Export",
         "{\"type\":\"object\",\"required\":[\"definitions\",\"report\"],\"properties\":{"
         "\"definitions\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},\"report\":{"
         "\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"tool\",\"kind\","
         "\"what\"],\"properties\":{\"tool\":" TEXT ",\"kind\":" TEXT ",\"at\":" TEXT_OR_NULL
         ",\"what\":" TEXT "}}}}}"},
        {"Recommendation",
         "{\"type\":\"object\",\"required\":[\"tool\",\"version\",\"score\",\"factors\"],"
         "\"properties\":{\"tool\":" TEXT ",\"version\":" TEXT
         ",\"score\":{\"type\":\"number\",\"minimum\":0,\"maximum\":1},\"whitelisted\":" YES_OR_NO
         ",\"retry\":" YES_OR_NO ",\"factors\":{\"type\":\"object\"},\"description\":" TEXT_OR_NULL
         "}}"},
        {"Recommendations", LIST("recommendations", "Recommendation")},
        {"FoundTool",
         "{\"type\":\"object\",\"required\":[\"tool\",\"version\",\"score\",\"permission\","
         "\"reasons\"],\"properties\":{\"tool\":" TEXT ",\"version\":" TEXT ",\"score\":" PART
         ",\"title\":" TEXT_OR_NULL ",\"description\":" TEXT_OR_NULL ",\"category\":" TEXT_OR_NULL
         ",\"permission\":" PERMISSION ",\"granted\":" YES_OR_NO ",\"whitelisted\":" YES_OR_NO
         ",\"reasons\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}"},
        {"Found",
         "{\"type\":\"object\",\"required\":[\"tools\",\"embeddings\"],\"properties\":{\"tools\":{"
         "\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/FoundTool\"}},"
         "\"embeddings\":{\"type\":[\"object\",\"null\"]}}}"},
        {"Candidate",
         "{\"type\":\"object\",\"required\":[\"tool\",\"version\",\"score\",\"scores\","
         "\"permission\",\"granted\"],\"properties\":{\"tool\":" TEXT ",\"version\":" TEXT
         ",\"score\":" PART
         ",\"scores\":{\"type\":\"object\",\"required\":[\"function\",\"parameters\","
         "\"cost\",\"success\"],\"additionalProperties\":" PART "},\"permission\":" PERMISSION
         ",\"granted\":" YES_OR_NO ",\"whitelisted\":" YES_OR_NO
         ",\"reasons\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}"},
        {"Selection",
         "{\"type\":\"object\",\"required\":[\"id\",\"tool\",\"arguments\",\"assumed\",\"ready\","
         "\"confidence\",\"threshold\",\"abstained\",\"missing\",\"invalid\",\"question\","
         "\"candidates\",\"steps\"],\"properties\":{\"id\":" TEXT_OR_NULL ",\"tool\":" TEXT_OR_NULL
         ",\"version\":" TEXT_OR_NULL
         ",\"arguments\":{\"type\":\"object\"},\"assumed\":{\"type\":\"array\",\"items\":" TEXT
         "},\"ready\":" YES_OR_NO ",\"confidence\":" PART ",\"threshold\":" PART
         ",\"abstained\":" YES_OR_NO
         ",\"missing\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":["
         "\"parameter\",\"question\"]}},\"invalid\":{\"type\":\"array\",\"items\":{\"type\":"
         "\"object\",\"required\":[\"parameter\",\"reason\",\"question\"]}},"
         "\"question\":" TEXT_OR_NULL ",\"candidates\":{\"type\":\"array\",\"items\":{\"$ref\":"
         "\"#/components/schemas/Candidate\"}},\"steps\":{\"type\":\"object\",\"required\":["
         "\"scene\",\"intent\",\"match\",\"evaluate\",\"arguments\"]},\"explanation\":" TEXT "}}"},
        {"Noted", "{\"type\":\"object\",\"required\":[\"id\"],\"properties\":{\"id\":" TEXT
                  ",\"worked\":" YES_OR_NO ",\"tool\":" TEXT_OR_NULL "}}"},
        {"PlanMade",
         "{\"type\":\"object\",\"required\":[\"plan\",\"unsure\"],\"properties\":{"
         "\"plan\":" OBJECT_OR_NULL
         ",\"unsure\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"node\","
         "\"about\",\"pointer\",\"reason\",\"question\"],\"properties\":{\"node\":" TEXT_OR_NULL
         ",\"about\":{\"enum\":[\"tool\",\"argument\",\"input\",\"reference\",\"text\"]},"
         "\"pointer\":" TEXT_OR_NULL ",\"reason\":" TEXT ",\"question\":" TEXT_OR_NULL "}}}}}"},
        {"PlanFinding",
         "{\"type\":\"object\",\"required\":[\"id\",\"severity\",\"node\",\"pointer\",\"cause\","
         "\"fix\"],\"properties\":{\"id\":" TEXT
         ",\"severity\":{\"enum\":[\"error\",\"warning\"]},\"node\":" TEXT_OR_NULL
         ",\"pointer\":" TEXT_OR_NULL ",\"line\":" COUNT ",\"column\":" COUNT ",\"cause\":" TEXT
         ",\"fix\":" TEXT "}}"},
        {"PlanCheck", "{\"type\":\"object\",\"required\":[\"runs\",\"nodes\",\"depth\",\"width\","
                      "\"findings\"],\"properties\":{\"runs\":{\"type\":\"boolean\","
                      "\"description\":\"Whether it "
                      "can run: no finding is an error\"},\"nodes\":" COUNT ",\"depth\":" COUNT
                      ",\"width\":" COUNT ",\"findings\":{\"type\":\"array\",\"items\":{\"$ref\":"
                      "\"#/components/schemas/PlanFinding\"}}}}"},
        {"RunBegun",
         "{\"type\":\"object\",\"required\":[\"id\"],\"properties\":{\"id\":" TEXT "}}"},
        {"Run", "{\"type\":\"object\",\"required\":[" RUN_REQUIRED
                ",\"nodes\"],\"properties\":{" RUN_MEMBERS ",\"nodes\":" COUNT "}}"},
        {"Runs", LIST("runs", "Run")},
        {"RunNode",
         "{\"type\":\"object\",\"required\":[\"id\",\"tool\",\"version\",\"state\",\"attempts\","
         "\"began_ms\",\"ended_ms\",\"idempotent\",\"word\"],\"properties\":{\"id\":" TEXT
         ",\"tool\":" TEXT ",\"version\":" TEXT ",\"state\":" NODE_STATES ",\"attempts\":" COUNT
         ",\"began_ms\":" WHOLE_OR_NULL ",\"ended_ms\":" WHOLE_OR_NULL ",\"idempotent\":" YES_OR_NO
         ",\"word\":{\"enum\":[\"needed\",null]},\"result\":{}"
         ",\"unkept\":" TEXT ",\"error\":" FAILURE ",\"fallback\":" FAILURE "}}"},
        {"RunPage",
         "{\"type\":\"object\",\"required\":[" RUN_REQUIRED
         ",\"nodes\",\"plan\",\"inputs\",\"result\",\"resume\"],\"properties\":{" RUN_MEMBERS
         ",\"nodes\":{\"type\":\"array\",\"items\":{\"$ref\":\"#/components/schemas/RunNode\"}},"
         "\"plan\":{\"type\":\"object\"},\"inputs\":" OBJECT_OR_NULL
         ",\"result\":{},\"resume\":" TEXTS "}}"},
        {"RunEvent",
         "{\"description\":\"First the id of the run, then what happens to nodes, and last the "
         "run; "
         "or the failure\",\"anyOf\":[{\"$ref\":\"#/components/schemas/RunBegun\"},"
         "{\"type\":\"object\",\"required\":[\"event\",\"node\",\"state\",\"attempts\"],"
         "\"properties\":{\"event\":{\"enum\":[\"began\",\"retried\",\"ended\"]},\"node\":" TEXT
         ",\"state\":" NODE_STATES ",\"attempts\":" COUNT ",\"delay_ms\":" COUNT
         ",\"duration_ms\":{\"type\":\"number\",\"minimum\":0},\"error\":" TEXT
         ",\"fallback\":" TEXT
         "}},{\"type\":\"object\",\"required\":[\"run\"],\"properties\":{\"run\":{\"$ref\":"
         "\"#/components/schemas/RunPage\"}}},{\"$ref\":\"#/components/schemas/Problem\"}]}"},
        {"RunRemoved", "{\"type\":\"object\",\"required\":[\"id\",\"removed\"],\"properties\":{"
                       "\"id\":" TEXT ",\"removed\":{\"const\":true}}}"},
        {"Plugin", "{\"type\":\"object\",\"required\":[\"id\",\"state\",\"tools\"],\"properties\":{"
                   "\"id\":" TEXT_OR_NULL ",\"version\":" TEXT_OR_NULL ",\"trust\":" TEXT_OR_NULL
                   ",\"file\":" TEXT_OR_NULL ",\"state\":" TEXT ",\"reason\":" TEXT_OR_NULL
                   ",\"tools\":" COUNT ",\"isolation\":" TEXT_OR_NULL
                   ",\"generation\":" WHOLE_OR_NULL ",\"kept\":" YES_OR_NO "}}"},
        {"Plugins", LIST("plugins", "Plugin")},
        {"PluginPage",
         "{\"type\":\"object\",\"required\":[\"plugin\",\"state\",\"history\"],\"properties\":{"
         "\"plugin\":" TEXT_OR_NULL ",\"version\":" TEXT_OR_NULL ",\"file\":" TEXT_OR_NULL
         ",\"state\":" TEXT ",\"reason\":" TEXT_OR_NULL
         ",\"crashes\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},\"history\":{\"type\":"
         "\"array\",\"items\":{\"type\":\"object\"}}}}"},
        {"Approval",
         "{\"type\":\"object\",\"required\":[\"id\",\"tool\",\"version\",\"arguments\","
         "\"arguments_text\",\"since_s\",\"expires_s\"],\"properties\":{\"arguments_text\":" TEXT
         ",\"id\":" TEXT ",\"tool\":" TEXT ",\"version\":" TEXT ",\"caller\":" TEXT_OR_NULL
         ",\"channel\":" TEXT_OR_NULL ",\"conversation\":" TEXT_OR_NULL ",\"reason\":" TEXT_OR_NULL
         ",\"since_s\":" WHOLE ",\"expires_s\":" WHOLE "}}"},
        {"Approvals", LIST("approvals", "Approval")},
        {"Grant",
         "{\"type\":\"object\",\"required\":[\"kind\",\"tool\",\"who\",\"state\"],\"properties\":{"
         "\"kind\":{\"enum\":[\"grant\",\"approval\"]},\"tool\":" TEXT ",\"version\":" TEXT_OR_NULL
         ",\"conversation\":" TEXT_OR_NULL ",\"who\":" TEXT_OR_NULL ",\"expires_s\":" WHOLE_OR_NULL
         ",\"plugin\":" TEXT_OR_NULL ",\"origin\":" TEXT_OR_NULL ",\"state\":" TEXT
         ",\"reason\":" TEXT_OR_NULL "}}"},
        {"Grants", LIST("grants", "Grant")},
        {"Mark",
         "{\"type\":\"object\",\"required\":[\"tool\",\"since_ms\",\"who\"],\"properties\":{"
         "\"tool\":" TEXT ",\"since_ms\":" WHOLE ",\"who\":" TEXT_OR_NULL ",\"why\":" TEXT_OR_NULL
         ",\"retry_ms\":" WHOLE_OR_NULL ",\"plugin\":" TEXT_OR_NULL ",\"origin\":" TEXT_OR_NULL
         "}}"},
        {"Marks", LIST("tools", "Mark")},
        {"Token",
         "{\"type\":\"object\",\"required\":[\"name\",\"id\",\"admin\"],\"properties\":{"
         "\"name\":" TEXT ",\"id\":" TEXT ",\"admin\":" YES_OR_NO ",\"approves\":" YES_OR_NO
         ",\"profile\":" TEXT_OR_NULL ",\"tools\":{\"type\":[\"array\",\"null\"],\"items\":" TEXT
         "},\"rate_per_minute\":" WHOLE_OR_NULL ",\"created_s\":" WHOLE
         ",\"expires_s\":" WHOLE_OR_NULL ",\"expired\":" YES_OR_NO "}}"},
        {"Tokens", LIST("tokens", "Token")},
        {"ToolStatistics",
         "{\"type\":\"object\",\"required\":[\"tool\",\"version\",\"calls\",\"failures\","
         "\"success_rate\",\"mean_ns\",\"p50_ns\",\"p95_ns\",\"p99_ns\",\"max_ns\"],\"properties\":"
         "{\"tool\":" TEXT ",\"version\":" TEXT ",\"plugin\":" TEXT_OR_NULL ",\"calls\":" COUNT
         ",\"failures\":" COUNT
         ",\"success_rate\":{\"type\":\"number\",\"minimum\":0,\"maximum\":1},\"p50_ns\":" COUNT
         ",\"p95_ns\":" COUNT ",\"p99_ns\":" COUNT ",\"max_ns\":" COUNT
         ",\"last_error\":" OBJECT_OR_NULL "}}"},
        {"Statistics", LIST("statistics", "ToolStatistics")},
        {"Decision",
         "{\"type\":\"object\",\"required\":[\"time_ms\",\"decision\",\"who\"],\"properties\":{"
         "\"time_ms\":" WHOLE ",\"tool\":" TEXT_OR_NULL ",\"version\":" TEXT_OR_NULL
         ",\"plugin\":" TEXT_OR_NULL ",\"caller\":" TEXT_OR_NULL ",\"decision\":" TEXT
         ",\"who\":" TEXT_OR_NULL ",\"why\":" TEXT_OR_NULL "}}"},
        {"Decisions", LIST("decisions", "Decision")},
        {"Call",
         "{\"type\":\"object\",\"required\":[\"id\",\"tool\",\"version\",\"time_ms\","
         "\"duration_ns\",\"ok\",\"error\"],\"properties\":{\"id\":" COUNT ",\"tool\":" TEXT
         ",\"version\":" TEXT ",\"plugin\":" TEXT_OR_NULL ",\"caller\":" TEXT_OR_NULL
         ",\"channel\":" TEXT_OR_NULL ",\"conversation\":" TEXT_OR_NULL ",\"trace\":" TEXT_OR_NULL
         ",\"run\":" TEXT_OR_NULL ",\"time_ms\":" WHOLE ",\"duration_ns\":" COUNT
         ",\"ok\":" YES_OR_NO ",\"arguments\":" TEXT_OR_NULL ",\"result\":" TEXT_OR_NULL
         ",\"changed\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"object\"}},\"bytes_"
         "in\":" COUNT ",\"bytes_out\":" COUNT ",\"error\":" OBJECT_OR_NULL ",\"trace_id\":" TEXT
         ",\"span_id\":" TEXT ",\"trace_flags\":" TEXT
         ",\"attributes\":{\"type\":\"object\",\"additionalProperties\":" TEXT "}}}"},
        {"Calls", LIST("calls", "Call")},
        {"ToolSet", "{\"type\":\"object\",\"required\":[" TOOL_REQUIRED
                    ",\"hosts\",\"silent\"],\"properties\":{" TOOL_MEMBERS ",\"hosts\":" COUNT
                    ",\"silent\":" COUNT "}}"},
        {"Result", "{\"type\":\"object\",\"required\":[\"result\",\"duration_ns\"],\"properties\":{"
                   "\"result\":{},\"duration_ns\":" COUNT ",\"changed\":{\"type\":\"array\","
                   "\"description\":\"What was changed in arguments that fit nearly\",\"items\":{"
                   "\"type\":\"object\",\"required\":[\"field\",\"change\"],\"properties\":{"
                   "\"field\":" TEXT ",\"change\":" TEXT "}}}}}"},
        {"CallEvent",
         "{\"description\":\"Progress and lines of the tool; last the result, or the "
         "failure\",\"anyOf\":[{\"type\":\"object\",\"required\":[\"progress\"],\"properties\":{"
         "\"progress\":{\"type\":\"object\",\"required\":[\"done\",\"total\",\"message\"],"
         "\"properties\":{\"done\":{\"type\":\"number\"},\"total\":{\"type\":\"number\"},"
         "\"message\":" TEXT_OR_NULL "}}}},{\"type\":\"object\",\"required\":[\"log\"],"
         "\"properties\":{\"log\":{\"type\":\"object\",\"required\":[\"level\",\"line\"],"
         "\"properties\":{\"level\":{\"enum\":[\"debug\",\"info\",\"warning\",\"error\"]},"
         "\"line\":" TEXT "}}}},{\"$ref\":\"#/components/schemas/Result\"},"
         "{\"$ref\":\"#/components/schemas/Problem\"}]}"},
        {"Messages",
         "{\"type\":\"object\",\"required\":[\"messages\"],\"properties\":{\"messages\":{"
         "\"type\":\"array\",\"items\":{\"type\":\"object\"}}}}"},
        {"Task", "{\"type\":\"object\",\"required\":[\"taskId\",\"status\",\"createdAt\",\"tool\","
                 "\"version\",\"owner\"],\"properties\":{\"taskId\":" TEXT
                 ",\"status\":{\"enum\":[\"working\",\"input_required\",\"completed\",\"failed\","
                 "\"cancelled\"]},\"statusMessage\":" TEXT_OR_NULL ",\"createdAt\":" TEXT
                 ",\"lastUpdatedAt\":" TEXT ",\"ttlMs\":" WHOLE_OR_NULL ",\"pollIntervalMs\":" COUNT
                 ",\"tool\":" TEXT ",\"version\":" TEXT ",\"method\":" TEXT ",\"owner\":" TEXT
                 ",\"result\":{},\"error\":{\"type\":\"object\"}}}"},
        {"TaskDeleted",
         "{\"type\":\"object\",\"required\":[\"taskId\"],\"properties\":{\"taskId\":" TEXT
         ",\"status\":{\"const\":\"cancelled\"},\"removed\":{\"const\":true}}}"},
        {"Tasks", LIST("tasks", "Task")},
        {"Event", "{\"type\":\"object\",\"required\":[\"kind\"],\"properties\":{\"kind\":" TEXT
                  ",\"time_ms\":" WHOLE ",\"tool\":" TEXT_OR_NULL ",\"version\":" TEXT_OR_NULL
                  ",\"plugin\":" TEXT_OR_NULL ",\"message\":" TEXT_OR_NULL "}}"},
        {"File", "{\"type\":\"object\",\"required\":[\"file\",\"outcome\"],\"properties\":{"
                 "\"file\":" TEXT_OR_NULL ",\"plugin\":" TEXT_OR_NULL ",\"outcome\":" TEXT
                 ",\"reason\":" TEXT_OR_NULL "}}"},
        {"Files", LIST("files", "File")},
        {"Done",
         "{\"type\":\"object\",\"required\":[\"name\",\"hosts\",\"silent\"],\"properties\":{"
         "\"name\":" TEXT ",\"hosts\":" COUNT ",\"silent\":" COUNT "}}"},
        {"Answered", "{\"type\":\"object\",\"required\":[\"id\",\"answer\",\"hosts\",\"silent\"],"
                     "\"properties\":{\"id\":" TEXT ",\"answer\":" TEXT ",\"hosts\":" COUNT
                     ",\"silent\":" COUNT "}}"},
        {"Feedback", "{\"type\":\"object\",\"required\":[\"name\",\"feedback\"],\"properties\":{"
                     "\"name\":" TEXT ",\"feedback\":{\"enum\":[\"good\",\"bad\"]}}}"},
        {"TokenAdded",
         "{\"type\":\"object\",\"required\":[\"name\",\"secret\"],\"properties\":{\"name\":" TEXT
         ",\"secret\":" TEXT "}}"},
};
const size_t schema_count = ARRAY_LENGTH(schemas);
