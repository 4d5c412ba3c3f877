/* run: the calls of a plan. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/person.h"
#include "cli/rows.h"
#include "cli/run-view.h"
#include "cli/runs.h"
#include "toolrack/plan.h"

CLEANUP_DEFINE(struct toolrack_findings, toolrack_findings_free)
CLEANUP_DEFINE(struct toolrack_plan, toolrack_plan_close)

/* ------------------------------------------------------------------------------------- reading */

static void add_json_finding(yyjson_mut_doc *doc, yyjson_mut_val *list,
                             const struct toolrack_finding *finding) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
    json_add_text(doc, row, "severity",
                  finding->severity == TOOLRACK_SEVERITY_ERROR ? "error" : "warning");
    json_add_text(doc, row, "id", finding->rule);
    json_add_text(doc, row, "node", finding->tool);
    json_add_text(doc, row, "pointer", finding->pointer);
    (void)yyjson_mut_obj_add_uint(doc, row, "line", finding->line);
    (void)yyjson_mut_obj_add_uint(doc, row, "column", finding->column);
    json_add_text(doc, row, "cause", finding->cause);
    json_add_text(doc, row, "fix", finding->fix);
}

/* FILE:LINE:COLUMN: cause, and what to do: as compilers write it. */
static void add_text_finding(struct buf *out, const char *file,
                             const struct toolrack_finding *finding) {
    text_add_line(out, file, strlen(file));
    buf_printf(out, ":%zu:%zu: %s: ", finding->line, finding->column, finding->rule);
    if (finding->tool != NULL) {
        text_add_line(out, finding->tool, strlen(finding->tool));
        buf_add_text(out, ": ");
    }
    text_add_line(out, finding->cause, strlen(finding->cause));
    buf_add_text(out, "\n    fix: ");
    text_add_line(out, finding->fix, strlen(finding->fix));
    buf_add_char(out, '\n');
}

/* All findings as JSON, with the size of the plan if it can be run. */
static int print_json_findings(struct cli *cli, const struct toolrack_findings *findings,
                               const struct toolrack_plan *plan) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "findings");
    const size_t count = findings != NULL ? toolrack_findings_count(findings) : 0;
    for (size_t i = 0; i < count; i++) {
        add_json_finding(doc, list, toolrack_findings_get(findings, i));
    }
    if (plan != NULL) {
        size_t depth;
        size_t width;
        toolrack_plan_size(plan, &depth, &width);
        (void)yyjson_mut_obj_add_uint(doc, root, "nodes", toolrack_plan_count(plan));
        (void)yyjson_mut_obj_add_uint(doc, root, "depth", depth);
        (void)yyjson_mut_obj_add_uint(doc, root, "width", width);
    }
    return json_print(cli, doc, root);
}

/* Findings that keep nothing from running stand on standard error: standard output has a result or
 * a graph then. */
static void show_warnings(const char *file, const struct toolrack_findings *findings) {
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        add_text_finding(&text, file, toolrack_findings_get(findings, i));
        if (!text.failed) {
            (void)output_write(STDERR_FILENO, text.data, text.length);
        }
    }
}

/* Open the plan, and show what is wrong with it. @return 0; or an exit code. */
static int open_plan(struct cli *cli, const char *file, struct toolrack_plan **ret,
                     struct toolrack_findings **ret_findings) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    if (cli_read_file(cli, file, TOOLRACK_PLAN_TEXT_MAX + 1, &text) < 0 ||
        toolrack_plan_open(cli->host, text.data, text.length, ret_findings, ret, cli->err) < 0) {
        return cli_fail(cli);
    }
    if (*ret != NULL) {
        if (!cli->options.json) {
            show_warnings(file, *ret_findings);
        }
        return 0;
    }
    if (cli->options.json) {
        (void)print_json_findings(cli, *ret_findings, NULL);
        return CLI_FAILED;
    }
    for (size_t i = 0; i < toolrack_findings_count(*ret_findings); i++) {
        add_text_finding(&cli->out, file, toolrack_findings_get(*ret_findings, i));
    }
    return CLI_FAILED;
}

/* -------------------------------------------------------------------------------------- graphs */

static void add_text_graph(struct buf *out, const struct toolrack_plan *plan) {
    for (size_t i = 0; i < toolrack_plan_count(plan); i++) {
        size_t node;
        bool data;
        buf_printf(out, "%s: %s@%s", toolrack_plan_node(plan, i), toolrack_plan_tool(plan, i),
                   toolrack_plan_tool_version(plan, i));
        for (size_t k = 0; toolrack_plan_need(plan, i, k, &node, &data); k++) {
            buf_printf(out, "%s%s", k == 0 ? data ? ", with the result of " : ", after " : ", ",
                       toolrack_plan_node(plan, node));
        }
        buf_add_char(out, '\n');
    }
}

/* For Graphviz, or Mermaid, in which an id such as "end" is a keyword: there nodes are numbers. */
static void add_drawn_graph(struct buf *out, const struct toolrack_plan *plan, bool is_dot) {
    buf_add_text(out, is_dot ? "digraph plan {\n" : "flowchart TD\n");
    for (size_t i = 0; i < toolrack_plan_count(plan); i++) {
        const char *id = toolrack_plan_node(plan, i);
        const char *tool = toolrack_plan_tool(plan, i);
        if (is_dot) {
            buf_printf(out, "  \"%s\" [label=\"%s\\n%s\"];\n", id, id, tool);
        } else {
            buf_printf(out, "  n%zu[\"%s: %s\"]\n", i, id, tool);
        }
    }
    for (size_t i = 0; i < toolrack_plan_count(plan); i++) {
        size_t node;
        bool data;
        for (size_t k = 0; toolrack_plan_need(plan, i, k, &node, &data); k++) {
            const char *from = toolrack_plan_node(plan, node);
            const char *to = toolrack_plan_node(plan, i);
            if (is_dot) {
                buf_printf(out, "  \"%s\" -> \"%s\"%s;\n", from, to, data ? "" : " [style=dashed]");
            } else {
                buf_printf(out, "  n%zu %s n%zu\n", node, data ? "-->" : "-.->", i);
            }
        }
    }
    buf_add_text(out, is_dot ? "}\n" : "");
}

static int print_graph(struct cli *cli, const struct toolrack_plan *plan, const char *form) {
    if (strcmp(form, "text") == 0) {
        add_text_graph(&cli->out, plan);
    } else if (strcmp(form, "dot") == 0 || strcmp(form, "mermaid") == 0) {
        add_drawn_graph(&cli->out, plan, strcmp(form, "dot") == 0);
    } else {
        (void)cli_error(cli, TOOLRACK_E_INVALID, "--graph takes text, dot or mermaid, not \"%s\"",
                        form);
        return cli_fail_usage(cli);
    }
    return CLI_OK;
}

/* ------------------------------------------------------------------------------------- running */

/* How a node has ended. */
struct node_end {
    const char *state; /* NULL: it has not begun */
    uint64_t attempts;
    uint64_t duration_ns;
    char *result; /* JSON, owned */
    char *error;  /* owned; also that in place of which the fallback gave the result */
    int code;
};

struct plan_work {
    struct cli *cli;
    struct toolrack_plan *plan;
    struct toolrack_plan_options options;
    struct node_end *ends;
    struct run_view *view; /* NULL: lines are printed */
    struct lock lock;      /* guards what follows */
    struct buf unasked;    /* JSON without its last bracket: the calls that nobody could approve */
    struct toolrack_text *result;
    int code;
    bool has_begun;
    atomic_bool done;
};

/* A line of JSON while the plan runs. */
static void print_json_event(const struct plan_work *work,
                             const struct toolrack_plan_event *event) {
    static const char *const names[] = {[TOOLRACK_PLAN_BEGAN] = "began",
                                        [TOOLRACK_PLAN_RETRIED] = "retried",
                                        [TOOLRACK_PLAN_ENDED] = "ended"};
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_doc_set_root(doc, root);
    json_add_text(doc, root, "event", names[event->kind]);
    json_add_text(doc, root, "node", toolrack_plan_node(work->plan, event->node));
    json_add_text(doc, root, "tool", toolrack_plan_tool(work->plan, event->node));
    json_add_text(doc, root, "state", event->state);
    if (event->kind == TOOLRACK_PLAN_RETRIED) {
        (void)yyjson_mut_obj_add_uint(doc, root, "delay_ms", event->delay_ms);
    }
    if (event->kind == TOOLRACK_PLAN_ENDED) {
        (void)yyjson_mut_obj_add_uint(doc, root, "attempts", event->attempts);
        (void)yyjson_mut_obj_add_real(doc, root, "duration_ms", (double)event->duration_ns / 1e6);
    }
    if (event->err != NULL) {
        json_add_text(doc, root, "error", toolrack_error_message(event->err));
    }
    if (event->replaced != NULL) {
        json_add_text(doc, root, "fallback", toolrack_error_message(event->replaced));
    }
    CLEANUP(freep) char *text = yyjson_mut_write(doc, YYJSON_WRITE_NEWLINE_AT_END, NULL);
    if (text != NULL) {
        (void)output_write(STDOUT_FILENO, text, strlen(text));
    }
}

/* On the thread of the run. */
static void take_event(void *user, const struct toolrack_plan_event *event) {
    struct plan_work *work = user;
    struct node_end *end = &work->ends[event->node];
    const struct toolrack_error *why = event->err != NULL ? event->err : event->replaced;
    if (work->cli->options.json) {
        print_json_event(work, event);
    } else if (work->view != NULL) {
        run_view_take(work->view, event);
        interrupt_wake(work->cli);
    } else if (event->kind != TOOLRACK_PLAN_BEGAN &&
               (event->attempts > 0 || strcmp(event->state, "cancelled") != 0)) {
        output_note("%s (%s): %s%s%s%s", toolrack_plan_node(work->plan, event->node),
                    toolrack_plan_tool(work->plan, event->node),
                    event->kind == TOOLRACK_PLAN_RETRIED ? "is tried again" : event->state,
                    event->replaced != NULL ? " by its fallback" : "", why != NULL ? ": " : "",
                    why != NULL ? toolrack_error_message(why) : "");
    }
    if (event->kind == TOOLRACK_PLAN_ENDED) {
        end->state = event->state;
        end->attempts = event->attempts;
        end->duration_ns = event->duration_ns;
        end->result = event->result != NULL ? strndup(event->result, event->result_length) : NULL;
        end->error = why != NULL ? strdup(toolrack_error_message(why)) : NULL;
        end->code = event->err != NULL ? toolrack_error_code(event->err) : 0;
    }
}

/* How to go on with the run if this process ends. */
static void take_id(void *user, const char *id) {
    struct plan_work *work = user;
    work->has_begun = true;
    if (work->cli->options.json) {
        CLEANUP(buf_finish) struct buf line = BUF_INIT;
        buf_printf(&line, "{\"event\":\"started\",\"run\":\"%s\"}\n", id);
        if (!line.failed) {
            (void)output_write(STDOUT_FILENO, line.data, line.length);
        }
    } else if (work->view != NULL) {
        run_view_name(work->view, id);
    } else {
        output_note("this is run %s, for 'runs' and 'run --resume'", id);
    }
}

/* Tools of the run ask the person, whose time does not count for their calls. On the threads that
 * run the tools. */
static int ask_inputs(void *user, struct toolrack_input *inputs, size_t count) {
    const struct options *options = &((const struct plan_work *)user)->cli->options;
    CLEANUP(buf_finish) struct buf who = BUF_INIT;
    buf_printf(&who, "a tool of %s", options->resume != NULL ? "run " : "");
    buf_add_text(&who, options->resume != NULL ? options->resume : options->words.items[0]);
    for (size_t i = 0; i < count; i++) {
        inputs[i].answer = TOOLRACK_ANSWER_NOBODY;
        if (inputs[i].kind == TOOLRACK_INPUT_FORM && !who.failed) {
            inputs[i].answer =
                    person_ask(who.data, inputs[i].message, inputs[i].schema, &inputs[i].content);
        }
    }
    return 0;
}

/* Without a person at the terminal: what would be asked about, without secrets. */

static void add_unasked(struct plan_work *work, const yyjson_mut_val *row) {
    CLEANUP(freep) char *text = yyjson_mut_val_write(row, YYJSON_WRITE_NOFLAG, NULL);
    buf_add_text(&work->unasked, work->unasked.length > 0 ? "," : "[");
    buf_add_text(&work->unasked, text != NULL ? text : "null");
    work->unasked.failed = work->unasked.failed || text == NULL;
}

/* The calls of a plan that need the approval. */
static void note_calls(struct plan_work *work, const char *calls) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *read = yyjson_read(calls, strlen(calls), YYJSON_READ_NUMBER_AS_RAW);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_arr_foreach (yyjson_doc_get_root(read), at, count, call) {
        if (yyjson_is_true(yyjson_obj_get(call, "asks"))) {
            yyjson_mut_val *row = yyjson_val_mut_copy(doc, call);
            (void)yyjson_mut_obj_remove_key(row, "asks");
            add_unasked(work, row);
        }
    }
}

/* A call of a node whose arguments were not known before. */
static void note_call(struct plan_work *work, const struct toolrack_approval_request *asked,
                      const char *arguments) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *row = yyjson_mut_obj(doc);
    json_add_text(doc, row, "node", asked->node);
    json_add_text(doc, row, "tool", asked->tool);
    json_add_text(doc, row, "version", asked->version);
    json_add_text(doc, row, "permission", "confirm");
    (void)yyjson_mut_obj_add_bool(doc, row, "open", false);
    (void)yyjson_mut_obj_add_val(doc, row, "arguments", yyjson_mut_raw(doc, arguments));
    add_unasked(work, row);
}

/* On any thread. */
static int note_unasked(void *user, const struct toolrack_approval_request *asked) {
    struct plan_work *work = user;
    const char *arguments = asked->masked != NULL ? asked->masked : asked->arguments;
    LOCK_SCOPE(&work->lock);
    if (asked->node == NULL) {
        note_calls(work, arguments);
    } else {
        note_call(work, asked, arguments);
    }
    return TOOLRACK_APPROVAL_NOBODY;
}

/* A line for each on standard error. */
static void print_unasked(const struct plan_work *work) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = work->unasked.length > 0 && !work->unasked.failed
                              ? yyjson_read(work->unasked.data, work->unasked.length,
                                            YYJSON_READ_NUMBER_AS_RAW)
                              : NULL;
    size_t at;
    size_t count;
    yyjson_val *call;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, call) {
        CLEANUP(freep)
        char *arguments =
                yyjson_val_write(yyjson_obj_get(call, "arguments"), YYJSON_WRITE_NOFLAG, NULL);
        yyjson_val *most = yyjson_obj_get(call, "max_items");
        yyjson_val *calls = yyjson_obj_get(call, "calls");
        output_note("needs approval: %s (%s %s%s)%s%s%s: %s%s%s",
                    yyjson_get_str(yyjson_obj_get(call, "node")),
                    yyjson_get_str(yyjson_obj_get(call, "tool")),
                    yyjson_get_str(yyjson_obj_get(call, "version")),
                    yyjson_is_true(yyjson_obj_get(call, "fallback")) ? ", its fallback" : "",
                    most != NULL ? ", at most " : "", most != NULL ? yyjson_get_raw(most) : "",
                    most != NULL ? " items" : "", arguments != NULL ? arguments : "",
                    calls != NULL ? "; a plan that calls " : "",
                    calls != NULL ? yyjson_get_str(calls) : "");
    }
}

/* For JSON. */
static void add_unasked_list(const struct plan_work *work, yyjson_mut_doc *doc,
                             yyjson_mut_val *root) {
    if (work->unasked.length > 0 && !work->unasked.failed) {
        (void)yyjson_mut_obj_add_val(doc, root, "approvals",
                                     yyjson_mut_raw(doc, work->unasked.data));
    }
}

/* The refusal of a plan that nobody could approve, with what would be asked about. */
static int print_json_refusal(const struct plan_work *work) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    int code = cli_error_object(work->cli, doc, root, NULL);
    add_unasked_list(work, doc, root);
    int printed = json_print(work->cli, doc, root);
    return printed != CLI_OK ? printed : code;
}

static void *run_plan(void *user) {
    struct plan_work *work = user;
    work->code = toolrack_plan_run(work->plan, &work->options, &work->result, work->cli->err);
    atomic_store(&work->done, true);
    interrupt_wake(work->cli);
    return NULL;
}

/* The first Ctrl-C cancels the run, the next one has its usual effect. */
static int wait_for_run(struct plan_work *work) {
    struct cli *cli = work->cli;
    pthread_t thread;
    if (interrupt_begin(cli) < 0) {
        return TOOLRACK_E_IO;
    }
    int failed = thread_start(&thread, run_plan, work);
    if (failed != 0) {
        work->code = cli_error(cli, TOOLRACK_E_LIMIT_EXCEEDED, "cannot start a thread: %s",
                               strerror(failed));
        atomic_store(&work->done, true);
    }
    while (!atomic_load(&work->done)) {
        interrupt_wait(cli, work->view != NULL ? run_view_draw(work->view) : 0);
        if (interrupt_came(cli)) {
            toolrack_plan_cancel(work->plan);
            person_stop();
        }
    }
    if (failed == 0) {
        (void)pthread_join(thread, NULL);
    }
    interrupt_end(cli, work->code);
    return work->code;
}

/* The last line of JSON: all that came of the run. */
static int print_json_end(const struct plan_work *work) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "event", "end");
    json_add_text(doc, root, "state",
                  work->code == 0                      ? "succeeded"
                  : work->code == TOOLRACK_E_CANCELLED ? "cancelled"
                                                       : "failed");
    const char *result = work->code == 0 ? toolrack_text_data(work->result, NULL) : "null";
    (void)yyjson_mut_obj_add_val(doc, root, "result", yyjson_mut_raw(doc, result));
    if (work->code < 0) {
        (void)cli_error_object(work->cli, doc, root, NULL);
    }
    add_unasked_list(work, doc, root);
    yyjson_mut_val *nodes = yyjson_mut_obj_add_obj(doc, root, "nodes");
    for (size_t i = 0; i < toolrack_plan_count(work->plan); i++) {
        const struct node_end *end = &work->ends[i];
        yyjson_mut_val *node =
                yyjson_mut_obj_add_obj(doc, nodes, toolrack_plan_node(work->plan, i));
        json_add_text(doc, node, "state", end->state != NULL ? end->state : "cancelled");
        if (end->result != NULL) {
            (void)yyjson_mut_obj_add_val(doc, node, "result", yyjson_mut_raw(doc, end->result));
        }
        if (end->error != NULL) {
            json_add_text(doc, node, end->result != NULL ? "fallback" : "error", end->error);
        }
        (void)yyjson_mut_obj_add_uint(doc, node, "attempts", end->attempts);
    }
    int code = json_print(work->cli, doc, root);
    return code;
}

static int run(struct cli *cli, struct toolrack_plan *plan) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *inputs = NULL;
    char who[CLI_WHO_ROOM];
    const struct texts *given = &cli->options.inputs;
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    struct plan_work work = {.cli = cli, .plan = plan, .options = TOOLRACK_PLAN_OPTIONS_INIT};
    if (toolrack_plan_inputs(plan, NULL, given->items, given->count, &inputs, cli->err) < 0) {
        return cli_fail_usage(cli);
    }
    cli_who(who, sizeof who);
    call.caller = who;
    call.channel = "cli";
    call.confirmed = cli->options.yes;
    work.options.inputs = toolrack_text_data(inputs, NULL);
    work.options.call = &call;
    work.options.event = take_event;
    work.options.started = take_id;
    work.options.user = &work;
    work.ends = calloc(toolrack_plan_count(plan), sizeof *work.ends);
    if (work.ends == NULL) {
        return cli_oom(cli), cli_fail(cli);
    }
    work.view = cli->options.watch && !cli->options.json ? run_view_begin(cli, plan) : NULL;
    if (person_begin(cli)) {
        call.input = ask_inputs;
        call.user = &work;
    } else {
        call.approve = note_unasked;
        call.user = &work;
    }
    lock_init(&work.lock);
    int code = wait_for_run(&work);
    run_view_end(work.view);
    person_finish();
    lock_finish(&work.lock);
    buf_add_text(&work.unasked, work.unasked.length > 0 ? "]" : "");
    if (code == TOOLRACK_E_CONFIRMATION_REQUIRED) {
        (void)cli_error(cli, code, "%s; --yes agrees to all of its calls",
                        toolrack_error_message(cli->err));
    }
    int status = CLI_OK;
    const bool is_refused = code < 0 && !work.has_begun;
    if (!cli->options.json) {
        print_unasked(&work);
    }
    if (cli->options.json && is_refused && work.unasked.length > 0) {
        status = print_json_refusal(&work);
    } else if (cli->options.json && !is_refused) {
        status = print_json_end(&work);
    } else if (code == 0) {
        status = json_print_text(cli, work.result);
    }
    for (size_t i = 0; i < toolrack_plan_count(plan); i++) {
        free(work.ends[i].result);
        free(work.ends[i].error);
    }
    const bool is_listed = cli->options.json && work.unasked.length > 0;
    free(work.ends);
    buf_finish(&work.unasked);
    toolrack_text_unref(work.result);
    return is_refused && is_listed                          ? status
           : code < 0 && (is_refused || !cli->options.json) ? cli_fail(cli)
           : code < 0                                       ? cli_exit_of(code)
                                                            : status;
}

/* Open the run of --resume, with the words about its nodes. @return 0; or an exit code. */
static int reopen_run(struct cli *cli, struct toolrack_plan **ret) {
    const struct texts *const lists[] = {&cli->options.repeats, &cli->options.skips};
    static const enum toolrack_run_word words[] = {TOOLRACK_RUN_REPEAT, TOOLRACK_RUN_SKIP};
    CLEANUP(freep) char *id = NULL;
    CLEANUP(freep)
    struct toolrack_run_said *said = calloc(lists[0]->count + lists[1]->count + 1, sizeof *said);
    size_t count = 0;
    if (said == NULL) {
        return cli_oom(cli), cli_fail(cli);
    }
    if (runs_find(cli, cli->options.resume, &id) < 0) {
        return cli_fail_usage(cli);
    }
    for (size_t list = 0; list < ARRAY_LENGTH(lists); list++) {
        for (size_t i = 0; i < lists[list]->count; i++) {
            said[count++] = (struct toolrack_run_said){lists[list]->items[i], words[list]};
        }
    }
    return toolrack_run_reopen(cli->host, NULL, id, said, count, ret, cli->err) < 0 ? cli_fail(cli)
                                                                                    : 0;
}

int verb_run(struct cli *cli) {
    CLEANUP(toolrack_findings_freep) struct toolrack_findings *findings = NULL;
    CLEANUP(toolrack_plan_closep) struct toolrack_plan *plan = NULL;
    const bool resumes = cli->options.resume != NULL;
    if (cli->options.words.count + resumes != 1 ||
        (!resumes && cli->options.repeats.count + cli->options.skips.count > 0)) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "give the file of a plan, or --resume ID of a run, with which alone "
                        "--repeat and --skip go");
        return cli_fail_usage(cli);
    }
    int status = resumes ? reopen_run(cli, &plan)
                         : open_plan(cli, cli->options.words.items[0], &plan, &findings);
    if (plan == NULL) {
        return status;
    }
    if (cli->options.graph != NULL) {
        return print_graph(cli, plan, cli->options.graph);
    }
    if (!cli->options.dry_run) {
        return run(cli, plan);
    }
    if (cli->options.json) {
        return print_json_findings(cli, findings, plan);
    }
    size_t depth;
    size_t width;
    toolrack_plan_size(plan, &depth, &width);
    buf_printf(&cli->out, "%zu node%s, %zu deep, at most %zu at once: %s\n",
               toolrack_plan_count(plan), text_plural(toolrack_plan_count(plan)), depth, width,
               findings != NULL && toolrack_findings_count(findings) > 0 ? "no errors"
                                                                         : "nothing is wrong");
    return CLI_OK;
}
