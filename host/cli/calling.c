#include "cli/calling.h"

#include <stdatomic.h>

#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/peer.h"
#include "cli/person.h"

CLEANUP_DEFINE(struct toolrack_call, toolrack_call_unref)
CLEANUP_DEFINE(struct toolrack_result, toolrack_result_free)

/* ------------------------------------------------------- the call, and Ctrl-C */

struct outcome {
    struct cli *cli; /* its error says why there is no result */
    atomic_bool done;
    struct toolrack_result *result;
};

/* On a thread of the host. */
static void call_done(void *user, struct toolrack_result *result,
                      const struct toolrack_error *err) {
    struct outcome *outcome = user;
    outcome->result = result;
    toolrack_error_copy(outcome->cli->err, err);
    atomic_store(&outcome->done, true);
    interrupt_wake(outcome->cli);
}

/* What the callbacks of a call get. */
struct calling {
    struct cli *cli;
    const char *tool;
};

/* On the thread that runs the tool, as the next ones. */
static void print_progress(void *user, double done, double total, const char *message) {
    const char *tool = ((const struct calling *)user)->tool;
    const char *text = message != NULL ? message : "";
    if (total > 0) {
        output_note("%s: %g of %g %s", tool, done, total, text);
    } else {
        output_note("%s: %g %s", tool, done, text);
    }
}

static int ask(void *user, const char *message, const char *schema, char **ret_content) {
    const struct calling *calling = user;
    return calling->cli->peer != NULL
                   ? peer_ask(calling->cli->peer, calling->tool, message, schema, ret_content)
                   : person_ask((void *)(uintptr_t)calling->tool, message, schema, ret_content);
}

/* In the daemon, in the place of the host's own. */
static int approve(void *user, const struct toolrack_approval_request *request) {
    const struct calling *calling = user;
    cli_who(request->who, request->who_room);
    return peer_approve(calling->cli->peer, request);
}

/* Let the person be asked, if there is one. */
static void set_person(struct cli *cli, const struct toolrack_tool *tool,
                       struct toolrack_call_options *options) {
    uint32_t call_ms =
            options->deadline_ms != 0 ? options->deadline_ms : toolrack_tool_deadline_ms(tool);
    if (cli->peer != NULL && cli->peer->asks) {
        peer_set_deadline(cli->peer, call_ms);
        options->ask = ask;
        options->approve = approve;
    } else if (cli->peer == NULL && person_begin(cli)) {
        person_set_deadline(call_ms);
        options->ask = ask;
    }
}

/* Run the call to its end. The first Ctrl-C cancels it, the next one has its usual effect. */
static int run_call(struct cli *cli, const char *name, const char *arguments,
                    const struct toolrack_call_options *options, struct outcome *outcome) {
    int code = interrupt_begin(cli);
    if (code < 0) {
        return code;
    }
    CLEANUP(toolrack_call_unrefp) struct toolrack_call *call = NULL;
    code = toolrack_submit(cli->host, name, arguments, options, call_done, outcome, &call,
                           cli->err);
    if (code == 0) {
        bool cancelled = false;
        while (!atomic_load(&outcome->done)) {
            interrupt_wait(cli, 0);
            if (interrupt_came(cli) && !cancelled) {
                toolrack_cancel(call);
                if (cli->peer != NULL) {
                    peer_stop_questions(cli->peer);
                } else {
                    person_stop();
                }
                cancelled = true;
            }
        }
        code = outcome->result != NULL ? 0 : toolrack_error_code(cli->err);
    }
    interrupt_end(cli, code);
    return code;
}

/* ------------------------------------------------------------------ result */

/* A result that is one string is printed as text, whether the tool replied with text or returned a
 * string. */
static bool add_string(struct buf *out, const char *json, size_t length) {
    if (length == 0 || json[0] != '"') {
        return false;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *string = yyjson_doc_get_root(doc);
    if (!yyjson_is_str(string)) {
        return false;
    }
    buf_add(out, yyjson_get_str(string), yyjson_get_len(string));
    return true;
}

static void print_result(struct cli *cli, const struct toolrack_result *result) {
    struct buf *out = &cli->out;
    size_t length = 0;
    const char *text = cli->options.json ? NULL : toolrack_result_text(result, &length);
    if (text != NULL) {
        buf_add(out, text, length);
    } else {
        const char *json = toolrack_result_json(result, &length);
        if (cli->options.json || !add_string(out, json, length)) {
            buf_add(out, json, length);
        }
    }
    if (out->length == 0 || out->data[out->length - 1] != '\n') {
        buf_add_char(out, '\n');
    }
}

/* Append a result that is an object with what was changed in the arguments as `_meta`, as over MCP.
 * @return false: there is no place for that, or no memory */
static bool add_with_changes(struct buf *out, const struct toolrack_result *result) {
    static const char meta_key[] = "_meta";
    size_t length = 0;
    const char *changed = toolrack_result_changed(result, NULL);
    const char *json = toolrack_result_json(result, &length);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = changed != NULL ? yyjson_read(json, length, YYJSON_READ_NUMBER_AS_RAW) : NULL;
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
    yyjson_mut_val *root = yyjson_mut_doc_get_root(copy);
    yyjson_mut_val *meta = yyjson_mut_obj_get(root, meta_key);
    if (yyjson_mut_is_obj(root) && meta == NULL) {
        meta = yyjson_mut_obj_add_obj(copy, root, meta_key);
    }
    if (!yyjson_mut_is_obj(meta) ||
        !yyjson_mut_obj_put(meta, yyjson_mut_str(copy, "toolrack/changed"),
                            yyjson_mut_rawcpy(copy, changed))) {
        return false;
    }
    CLEANUP(freep) char *text = yyjson_mut_write(copy, YYJSON_WRITE_NOFLAG, &length);
    buf_add(out, text, text != NULL ? length : 0);
    return text != NULL;
}

/* What was changed in the arguments is no part of the result. */
static void tell_changes(const struct toolrack_result *result) {
    size_t length = 0;
    const char *changed = toolrack_result_changed(result, &length);
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = changed != NULL ? yyjson_read(changed, length, 0) : NULL;
    size_t at;
    size_t count;
    yyjson_val *change;
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, change) {
        output_note("the argument %s was changed to fit: %s",
                    yyjson_get_str(yyjson_obj_get(change, "field")),
                    yyjson_get_str(yyjson_obj_get(change, "change")));
    }
}

int calling_run(struct cli *cli, const struct toolrack_tool *tool, const char *name,
                const char *arguments, int *ret_code) {
    struct outcome outcome = {.cli = cli};
    char who[CLI_WHO_ROOM];
    struct toolrack_call_options options = TOOLRACK_CALL_OPTIONS_INIT;
    cli_who(who, sizeof who);
    options.deadline_ms = cli_is_debugged(cli) ? TOOLRACK_NO_DEADLINE : cli->options.timeout_ms;
    options.confirmed = cli->options.yes;
    options.caller = cli->options.caller != NULL ? cli->options.caller : who;
    options.conversation = cli->options.conversation;
    options.trace = cli->options.trace;
    options.channel = "cli";
    options.progress = cli->options.verbose ? print_progress : NULL;
    struct calling calling = {.cli = cli, .tool = toolrack_tool_name(tool)};
    options.user = &calling;
    set_person(cli, tool, &options);
    *ret_code = run_call(cli, name, arguments, &options, &outcome);
    if (cli->peer == NULL) {
        person_finish(); /* neither an ended nor a cancelled call asks more questions */
    }
    CLEANUP(toolrack_result_freep) struct toolrack_result *result = outcome.result;
    if (*ret_code < 0) {
        if (*ret_code == TOOLRACK_E_CONFIRMATION_REQUIRED) {
            /* The host does not know the option of this command. */
            (void)cli_error(cli, *ret_code, "%s; --yes agrees to the call",
                            toolrack_error_message(cli->err));
            cli_error_set_tool(cli, toolrack_error_tool(cli->err));
        }
        return cli_fail(cli);
    }
    if (cli->options.json && add_with_changes(&cli->out, result)) {
        buf_add_char(&cli->out, '\n');
        return CLI_OK;
    }
    tell_changes(result);
    print_result(cli, result);
    return CLI_OK;
}
