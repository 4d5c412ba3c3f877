/* GET /metrics.
 *
 * How many time series there are is bounded: a label has one of a few values that stand here or in
 * the error table, a status of HTTP, or the name of a tool, of which the host tells METER_NAMES_MAX
 * and all others as one. */
#include "serve/rest/metrics.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "serve/counts.h"
#include "serve/rest/handlers.h"
#include "serve/rest/request.h"
#include "toolrack/records.h"

/* The tool of those that have no series of their own: no tool can have this name. */
#define OTHER_TOOLS "(others)"
#define NS_PER_S    1000000000u

/* ------------------------------------------------------------------ the format */

static void begin(struct buf *out, const char *name, const char *type, const char *help) {
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* A label's value. */
static void add_value(struct buf *out, const char *text) {
    for (; *text != '\0'; text++) {
        if (*text == '\\' || *text == '"') {
            buf_add_char(out, '\\');
        }
        buf_add_char(out, *text == '\n' ? ' ' : *text);
    }
}

static void add_number(struct buf *out, uint64_t number) {
    buf_printf(out, " %llu\n", (unsigned long long)number);
}

static void add_single(struct buf *out, const char *name, const char *type, const char *help,
                       yyjson_val *number) {
    begin(out, name, type, help);
    buf_add_text(out, name);
    add_number(out, yyjson_get_uint(number));
}

/* A series for each member of an object: its key is the value of the label. */
static void add_members(struct buf *out, const char *name, const char *label, yyjson_val *object) {
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *number;
    json_obj_foreach (object, at, count, key, number) {
        buf_printf(out, "%s{%s=\"", name, label);
        add_value(out, yyjson_get_str(key));
        buf_add_text(out, "\"}");
        add_number(out, yyjson_get_uint(number));
    }
}

/* ----------------------------------------------------------------------- calls */

static void add_tool(struct buf *out, const char *name, yyjson_val *row) {
    const char *tool = yyjson_get_str(yyjson_obj_get(row, "tool"));
    buf_printf(out, "%s{tool=\"", name);
    add_value(out, tool != NULL ? tool : OTHER_TOOLS);
}

static void add_times(struct buf *out, yyjson_val *row, yyjson_val *bounds) {
    yyjson_val *times = yyjson_obj_get(row, "times");
    uint64_t total_ns = yyjson_get_uint(yyjson_obj_get(row, "total_ns"));
    uint64_t calls = 0;
    size_t at;
    size_t count;
    yyjson_val *number;
    yyjson_arr_foreach (times, at, count, number) {
        yyjson_val *bound = yyjson_arr_get(bounds, at);
        calls += yyjson_get_uint(number);
        add_tool(out, "toolrack_call_duration_seconds_bucket", row);
        if (bound != NULL) {
            buf_printf(out, "\",le=\"%g\"}", (double)yyjson_get_uint(bound) / NS_PER_S);
        } else {
            buf_add_text(out, "\",le=\"+Inf\"}");
        }
        add_number(out, calls);
    }
    add_tool(out, "toolrack_call_duration_seconds_sum", row);
    buf_printf(out, "\"} %llu.%09llu\n", (unsigned long long)(total_ns / NS_PER_S),
               (unsigned long long)(total_ns % NS_PER_S));
    add_tool(out, "toolrack_call_duration_seconds_count", row);
    buf_add_text(out, "\"}");
    add_number(out, calls);
}

static void add_tools(struct buf *out, yyjson_val *root) {
    yyjson_val *tools = yyjson_obj_get(root, "tools");
    size_t at;
    size_t count;
    yyjson_val *row;
    begin(out, "toolrack_calls_total", "counter",
          "Calls that have ended, by the name of the tool.");
    yyjson_arr_foreach (tools, at, count, row) {
        add_tool(out, "toolrack_calls_total", row);
        buf_add_text(out, "\"}");
        add_number(out, yyjson_get_uint(yyjson_obj_get(row, "calls")));
    }
    begin(out, "toolrack_call_errors_total", "counter",
          "Calls that failed, by the name of the tool and the type of the error.");
    yyjson_arr_foreach (tools, at, count, row) {
        size_t index;
        size_t types;
        yyjson_val *type;
        yyjson_val *number;
        json_obj_foreach (yyjson_obj_get(row, "errors"), index, types, type, number) {
            add_tool(out, "toolrack_call_errors_total", row);
            buf_add_text(out, "\",type=\"");
            add_value(out, yyjson_get_str(type));
            buf_add_text(out, "\"}");
            add_number(out, yyjson_get_uint(number));
        }
    }
    begin(out, "toolrack_call_duration_seconds", "histogram",
          "How long calls took, from their beginning to their result.");
    yyjson_arr_foreach (tools, at, count, row) {
        add_times(out, row, yyjson_obj_get(root, "bounds_ns"));
    }
}

/* -------------------------------------------------------------------- the others */

static void add_host(struct buf *out, yyjson_val *root) {
    static const struct {
        const char *name;
        const char *type;
        const char *pointer;
        const char *help;
    } rows[] = {{"toolrack_calls_in_flight", "gauge", "/calls/running",
                 "Calls that run now, those that were given up and have not returned among them."},
                {"toolrack_workers", "gauge", "/workers/there", "Worker processes that there are."},
                {"toolrack_worker_starts_total", "counter", "/workers/started",
                 "Worker processes that were started."},
                {"toolrack_worker_restarts_total", "counter", "/workers/replaced",
                 "Worker processes that were started in place of one that died or was killed."},
                {"toolrack_worker_crashes_total", "counter", "/events/crashed",
                 "Worker processes that crashed."},
                {"toolrack_plugin_quarantines_total", "counter", "/events/quarantined",
                 "How often a plugin was put in quarantine."},
                {"toolrack_plugin_reloads_total", "counter", "/events/reloaded",
                 "How often another generation of a plugin began to serve."},
                {"toolrack_plugin_refusals_total", "counter", "/events/refused",
                 "How often a plugin file that was new or had changed could not be used."},
                {"toolrack_plugin_load_failures_total", "counter", "/events/failed",
                 "How often a plugin could not be loaded."},
                {"toolrack_stuck_calls_total", "counter", "/events/stuck",
                 "Calls in the host's process that did not return and whose thread was given up."}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        add_single(out, rows[i].name, rows[i].type, rows[i].help,
                   yyjson_ptr_get(root, rows[i].pointer));
    }
    begin(out, "toolrack_calls_queued", "gauge",
          "Calls that wait, by what they wait for: a thread of the host or a worker process.");
    buf_add_text(out, "toolrack_calls_queued{for=\"thread\"}");
    add_number(out, yyjson_get_uint(yyjson_ptr_get(root, "/calls/for_thread")));
    buf_add_text(out, "toolrack_calls_queued{for=\"worker\"}");
    add_number(out, yyjson_get_uint(yyjson_ptr_get(root, "/calls/for_worker")));
    begin(out, "toolrack_plugins", "gauge", "Plugins that have registered tools, by their state.");
    add_members(out, "toolrack_plugins", "state", yyjson_obj_get(root, "plugins"));
    begin(out, "toolrack_tools", "gauge", "Registered tools, by whether they can be called.");
    add_members(out, "toolrack_tools", "state", yyjson_obj_get(root, "registered"));
    add_single(out, "toolrack_plan_runs_in_flight", "gauge", "Runs of plans that run now.",
               yyjson_ptr_get(root, "/plans/running"));
    begin(out, "toolrack_plan_runs_total", "counter",
          "Runs of plans that are over, by how they ended; waiting: for a person.");
    add_members(out, "toolrack_plan_runs_total", "state", yyjson_ptr_get(root, "/plans/runs"));
    begin(out, "toolrack_plan_nodes_total", "counter",
          "Nodes of plans that have ended, by how they ended.");
    add_members(out, "toolrack_plan_nodes_total", "state", yyjson_ptr_get(root, "/plans/nodes"));
    begin(out, "toolrack_log_records_lost_total", "counter",
          "Calls that are not in the log: more in a second than are wanted (limit), than could be "
          "written (full), or refused by the store (unwritten).");
    add_members(out, "toolrack_log_records_lost_total", "reason", yyjson_obj_get(root, "unlogged"));
}

/* Of a host that has joined a group. No series for each host: their names are from outside. */
static void add_hosts(struct buf *out, yyjson_val *hosts) {
    static const struct {
        const char *name;
        const char *type;
        const char *key;
        const char *help;
    } rows[] = {
            {"toolrack_hosts", "gauge", "known", "Other hosts of the group."},
            {"toolrack_hosts_trusted", "gauge", "trusted", "Other hosts whose key is trusted."},
            {"toolrack_hosts_slow", "gauge", "slow", "Other hosts that get no calls for a while."},
            {"toolrack_hosts_silent", "gauge", "silent", "Other hosts that do not answer."},
            {"toolrack_hosts_calls_in_flight", "gauge", "running",
             "Calls that run on other hosts, as they said last."},
            {"toolrack_hosts_tools", "gauge", "tools",
             "Tools of other hosts; one of several hosts counts for each."},
            {"toolrack_host_ejections_total", "counter", "ejected",
             "How often another host was found to be slow."}};
    for (size_t i = 0; i < ARRAY_LENGTH(rows) && hosts != NULL; i++) {
        add_single(out, rows[i].name, rows[i].type, rows[i].help,
                   yyjson_obj_get(hosts, rows[i].key));
    }
    if (hosts != NULL) {
        begin(out, "toolrack_host_calls_total", "counter",
              "Calls that were sent to other hosts, by their end: answered, late, cancelled, or "
              "lost with the host.");
        add_members(out, "toolrack_host_calls_total", "end", yyjson_obj_get(hosts, "calls"));
    }
}

static void add_requests(struct buf *out, const struct serve_counts *counts) {
    static const char name[] = "toolrack_http_requests_total";
    begin(out, name, "counter",
          "Requests over HTTP, by the protocol and the status of the answer; none: the connection "
          "ended before there was one.");
    for (unsigned front = 0; front < COUNTS_FRONTS; front++) {
        const char *of = counts_front_name((enum counts_front)front);
        for (unsigned i = 0; i < COUNTS_STATUS_COUNT; i++) {
            uint64_t count = atomic_load_explicit(&counts->answers[front][i], memory_order_relaxed);
            if (count > 0) {
                buf_printf(out, "%s{front=\"%s\",status=\"%u\"}", name, of,
                           COUNTS_STATUS_FIRST + i);
                add_number(out, count);
            }
        }
        buf_printf(out, "%s{front=\"%s\",status=\"none\"}", name, of);
        add_number(out, atomic_load_explicit(&counts->unanswered[front], memory_order_relaxed));
    }
    begin(out, "toolrack_access_records_lost_total", "counter",
          "Requests that are not in the access log, since their lines could not be written in "
          "time.");
    buf_add_text(out, "toolrack_access_records_lost_total");
    add_number(out, atomic_load_explicit(&counts->lost, memory_order_relaxed));
}

void metrics_write(struct buf *out, yyjson_val *root, const struct serve_counts *counts) {
    begin(out, "toolrack_build_info", "gauge", "The version of toolrack; always 1.");
    buf_add_text(out, "toolrack_build_info{version=\"");
    add_value(out, toolrack_version());
    buf_add_text(out, "\"} 1\n");
    add_tools(out, root);
    add_host(out, root);
    add_hosts(out, yyjson_obj_get(root, "hosts"));
    if (counts != NULL) {
        add_requests(out, counts);
    }
}

void metrics_answer(struct rest_request *request) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    if (toolrack_metrics(request->rest->host, &text, rest_err(request)) < 0) {
        rest_fail(request);
        return;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = json_read(text);
    struct buf *out = &request->out;
    if (read != NULL) {
        metrics_write(out, yyjson_doc_get_root(read), request->rest->counts);
    }
    if (read == NULL || out->failed) {
        rest_oom(request);
    } else {
        rest_answer_typed(request, METRICS_TYPE, out->data, out->length);
    }
}
