/* agent: a model works on a task with the tools.
 *
 * The conversation runs on a separate thread; the main thread waits for its end and for Ctrl-C, so
 * that a transfer, a wait, a question and a call are all interrupted the same way. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "base/thread.h"
#include "cli/agent-view.h"
#include "cli/ask.h"
#include "cli/chat.h"
#include "cli/conversations.h"
#include "cli/interrupt.h"
#include "cli/json.h"
#include "cli/markdown.h"
#include "cli/offer.h"
#include "cli/output.h"
#include "cli/person.h"
#include "toolrack/agent.h"

/* Least of --max-result: the model is to get some sense of a result. */
#define RESULT_BYTES_MIN 1024u

/* How long until calls are cancelled again: some may have been starting at the Ctrl-C. */
#define CANCEL_AGAIN_MS 50u

struct conversation_thread {
    struct cli *cli;
    const struct toolrack_agent_options *options;
    struct agent_view *view;       /* NULL: lines are printed */
    struct toolrack_text *outcome; /* a JSON object; NULL: the conversation did not start */
    int code;
    bool in_line;  /* the last output did not end with a line end */
    int unwritten; /* why standard output cannot be written, a negative errno; or 0 */
    atomic_bool done;
};

/* ----------------------------------------------------------------- printing */

static void print_text(void *user, const char *text, size_t length) {
    struct conversation_thread *thread = user;
    const struct options *options = &thread->cli->options;
    if (options->json || options->quiet || thread->unwritten < 0) {
        return;
    }
    const char *piece = text != NULL ? text : "\n";
    length = text != NULL ? length : thread->in_line ? 1 : 0;
    if (thread->view != NULL) {
        thread->unwritten = agent_view_text(thread->view, text, length);
    } else if (length > 0) {
        thread->in_line = piece[length - 1] != '\n';
        thread->unwritten = output_write(STDOUT_FILENO, piece, length);
    }
    if (thread->unwritten < 0) {
        (void)eventfd_write(thread->options->stop_fd, 1); /* the output is closed: stop */
    }
}

static void print_note(void *user, const char *line) {
    const struct conversation_thread *thread = user;
    if (!thread->cli->options.quiet) {
        output_note("%s", line);
    }
}

static void take_event(void *user, const struct toolrack_agent_event *event) {
    const struct conversation_thread *thread = user;
    agent_view_event(thread->view, event);
    interrupt_wake(thread->cli);
}

/* Count down on one line, which disappears at the end. */
static void show_wait(void *user, uint32_t left_ms) {
    const struct conversation_thread *thread = user;
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    if (thread->view != NULL) {
        agent_view_wait(thread->view, left_ms);
        return;
    }
    buf_add_text(&line, left_ms > 0 ? "\r\033[Kasking again in " : "\r\033[K");
    if (left_ms > 0) {
        text_add_wait(&line, (left_ms + 999) / 1000 * 1000);
        buf_add_char(&line, ' ');
    }
    if (!line.failed) {
        (void)write_all(STDERR_FILENO, line.data, line.length);
    }
}

/* --------------------------------------------------------------- the person */

static bool ask_to_wait(void *user, const char *why, uint32_t wait_ms) {
    const struct conversation_thread *thread = user;
    CLEANUP(buf_finish) struct buf question = BUF_INIT;
    buf_printf(&question, "%s; wait ", why);
    text_add_wait(&question, (wait_ms + 999) / 1000 * 1000);
    buf_add_char(&question, '?');
    agent_view_pause(thread->view);
    bool agrees = !question.failed && person_agrees(question.data);
    agent_view_resume(thread->view);
    return agrees;
}

/* On the threads that run the tools. */
static int ask_inputs(void *user, struct toolrack_input *inputs, size_t count) {
    const struct conversation_thread *thread = user;
    for (size_t i = 0; i < count; i++) {
        inputs[i].answer = TOOLRACK_ANSWER_NOBODY;
        if (inputs[i].kind == TOOLRACK_INPUT_FORM) {
            agent_view_pause(thread->view);
            inputs[i].answer = person_ask((void *)(uintptr_t)inputs[i].tool, inputs[i].message,
                                          inputs[i].schema, &inputs[i].content);
            agent_view_resume(thread->view);
        }
    }
    return 0;
}

static int approve(void *user, const struct toolrack_approval_request *request) {
    const struct conversation_thread *thread = user;
    agent_view_pause(thread->view);
    int answer = cli_approve(NULL, request);
    agent_view_resume(thread->view);
    return answer;
}

/* ------------------------------------------------------ the thread, and Ctrl-C */

static void *thread_main(void *argument) {
    struct conversation_thread *thread = argument;
    thread->code =
            toolrack_agent(thread->cli->host, thread->options, &thread->outcome, thread->cli->err);
    atomic_store(&thread->done, true);
    interrupt_wake(thread->cli);
    return NULL;
}

/* Run the conversation to its end. Ctrl-C stops it, and the next one has its usual effect. */
static int run_thread(struct conversation_thread *thread) {
    struct cli *cli = thread->cli;
    int code = interrupt_begin(cli);
    if (code < 0) {
        return code;
    }
    pthread_t id;
    int failed = thread_start(&id, thread_main, thread);
    if (failed == 0) {
        while (!atomic_load(&thread->done)) {
            if (!interrupt_came(cli)) {
                interrupt_wait(cli, agent_view_draw(thread->view));
            } else {
                (void)eventfd_write(thread->options->stop_fd, 1);
                person_stop();
                toolrack_cancel_conversation(cli->host, thread->options->call->conversation);
                interrupt_wait(cli, CANCEL_AGAIN_MS);
            }
        }
        (void)pthread_join(id, NULL);
        code = thread->code;
    } else {
        code = cli_error(cli, TOOLRACK_E_IO, "cannot start a thread: %s", strerror(failed));
    }
    interrupt_end(cli, code);
    return code;
}

/* ----------------------------------------------------------- the command line */

/* Providers refuse a message without any text. */
static bool is_blank(const char *text) {
    return text[strspn(text, " \t\r\n")] == '\0';
}

/* Without a task, a person at the terminal types messages. */
static bool is_chat(const struct cli *cli) {
    return cli->options.words.count == 0 && !cli->options.json && ask_possible();
}

static int read_options(struct cli *cli, struct toolrack_agent_options *ret) {
    const struct options *options = &cli->options;
    const bool goes_on = ret->resume != 0;
    if (options->endpoint != NULL && options->model == NULL && !goes_on) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--endpoint needs --model NAME: the name that its provider gives a model");
    }
    if (options->endpoint == NULL && options->format != NULL && !goes_on) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--format is that of an --endpoint: a model of the configuration has its "
                         "own \"format\" there");
    }
    const char *format = options->format != NULL ? options->format : "openai";
    if ((!goes_on || options->format != NULL) &&
        toolrack_format_find(format, &ret->format, cli->err) < 0) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "there is no format \"%s\"; --format takes openai, openai-responses, "
                         "anthropic, gemini or ollama",
                         format);
    }
    ret->endpoint = options->endpoint;
    ret->model = options->model;
    ret->system = options->system;
    ret->transcript = options->transcript;
    ret->headers = options->headers.count > 0 ? options->headers.items : NULL;
    ret->query = options->query.count > 0 ? options->query.items : NULL;
    ret->parameters = options->parameters.count > 0 ? options->parameters.items : NULL;
    ret->task = options->words.count > 0 ? options->words.items[0] : NULL;
    if (ret->task != NULL && is_blank(ret->task)) {
        return cli_error(cli, TOOLRACK_E_INVALID, "the task is empty: say what to do");
    }
    if (ret->task == NULL && !goes_on && !is_chat(cli)) {
        return cli_error(cli, TOOLRACK_E_INVALID, "an argument is missing; usage: toolrack %s %s",
                         options->verb->name, options->verb->arguments);
    }
    ret->verbose = options->verbose;
    ret->plan = options->plan;
    if (options->max_result > TOOLRACK_AGENT_RESULT_BYTES_MAX ||
        (options->max_result != 0 && options->max_result < RESULT_BYTES_MIN)) {
        return cli_error(cli, TOOLRACK_E_INVALID, "--max-result takes bytes from %u to %d, not %u",
                         RESULT_BYTES_MIN, TOOLRACK_AGENT_RESULT_BYTES_MAX, options->max_result);
    }
    ret->result_bytes_max = options->max_result;
    ret->wait_ms_max = (uint64_t)options->max_wait_s * 1000;
    long long steps = TOOLRACK_AGENT_STEPS_DEFAULT;
    if (options->max_steps != NULL &&
        !options_number(options->max_steps, 1, TOOLRACK_AGENT_STEPS_MAX, &steps)) {
        return cli_error(cli, TOOLRACK_E_INVALID,
                         "--max-steps takes a number from 1 to %d, not \"%s\"",
                         TOOLRACK_AGENT_STEPS_MAX, options->max_steps);
    }
    ret->steps_max = (uint32_t)steps;
    return 0;
}

/* Most bytes of a task from standard input. */
#define TASK_MAX (16u * 1024 * 1024)

/* Read the task "-"; any other is left as it is. An empty one is a wrong use, as the argument ""
 * is.
 * @param ret_exit  set on failure */
static int read_task(struct cli *cli, struct buf *text, const char **task, int *ret_exit) {
    if (*task == NULL || strcmp(*task, "-") != 0) {
        return 0;
    }
    int code = cli_read(cli, STDIN_FILENO, "standard input", TASK_MAX, text);
    bool is_empty = false;
    if (code == 0 && text->length >= TASK_MAX) {
        code = cli_error(cli, TOOLRACK_E_LIMIT_EXCEEDED, "the task is longer than %u bytes",
                         TASK_MAX - 1);
    } else if (code == 0 && text->length > 0 && memchr(text->data, '\0', text->length) != NULL) {
        code = cli_error(cli, TOOLRACK_E_INVALID, "the task has a zero byte: it must be text");
    } else if (code == 0 && (text->length == 0 || is_blank(text->data))) {
        code = cli_error(cli, TOOLRACK_E_INVALID, "the task is empty: write it to standard input");
        is_empty = true;
    }
    if (code < 0) {
        *ret_exit = is_empty ? cli_fail_usage(cli) : cli_fail(cli);
    }
    *task = text->data;
    return code;
}

/* ------------------------------------------------------------------- the end */

/* The endings that are failures of their own. */
static const struct {
    enum toolrack_ending ending;
    enum cli_exit exit;
    bool is_cut; /* the text is not whole */
} endings[] = {
        {TOOLRACK_ENDING_LENGTH, CLI_CUT_OFF, true},
        {TOOLRACK_ENDING_REFUSAL, CLI_REFUSED, false},
        {TOOLRACK_ENDING_SAFETY, CLI_REFUSED, true},
        {TOOLRACK_ENDING_CONTENT_FILTER, CLI_REFUSED, true},
        {TOOLRACK_ENDING_MALFORMED_CALL, CLI_UNANSWERED, true},
        {TOOLRACK_ENDING_EMPTY, CLI_UNANSWERED, false},
        {TOOLRACK_ENDING_STOPPED, CLI_UNANSWERED, true},
};

/* The exit code of a conversation that failed; `*ret_is_cut`: its text is not whole. */
static int exit_of(yyjson_val *outcome, int code, bool *ret_is_cut) {
    yyjson_val *word = yyjson_obj_get(outcome, "ending");
    *ret_is_cut = yyjson_equals_str(word, toolrack_ending_word(TOOLRACK_ENDING_NONE));
    for (size_t i = 0; i < ARRAY_LENGTH(endings); i++) {
        if (yyjson_equals_str(word, toolrack_ending_word(endings[i].ending))) {
            *ret_is_cut = endings[i].is_cut;
            return (int)endings[i].exit;
        }
    }
    return cli_exit_of(code);
}

/* Mark text that is not whole where it ends: standard output may be a file. */
static void mark_cut(const struct cli *cli, yyjson_val *outcome, int code) {
    const char *word = yyjson_get_str(yyjson_obj_get(outcome, "ending"));
    CLEANUP(buf_finish) struct buf mark = BUF_INIT;
    bool is_cut = false;
    (void)exit_of(outcome, code, &is_cut);
    if (code == 0 || !is_cut || cli->options.json ||
        yyjson_get_len(yyjson_obj_get(outcome, "text")) == 0) {
        return;
    }
    bool is_known = strcmp(word, toolrack_ending_word(TOOLRACK_ENDING_NONE)) != 0;
    buf_printf(&mark, "[cut off%s%s]\n", is_known ? ": " : "", is_known ? word : "");
    if (!mark.failed) {
        (void)output_write(STDOUT_FILENO, mark.data, mark.length);
    }
}

/* What there was of the conversation goes with the error. */
static void print_failed(struct cli *cli, yyjson_val *outcome) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_val_mut_copy(doc, outcome);
    (void)cli_error_object(cli, doc, root, NULL);
    (void)json_print(cli, doc, root);
}

static int report_failure(struct cli *cli, yyjson_val *outcome, int code) {
    if (yyjson_get_uint(yyjson_obj_get(outcome, "steps")) == 0) {
        return code == TOOLRACK_E_INVALID ? cli_fail_usage(cli) : cli_fail(cli);
    }
    bool is_cut;
    int exit = exit_of(outcome, code, &is_cut);
    if (cli->options.json) {
        print_failed(cli, outcome);
        return exit;
    }
    (void)cli_fail(cli);
    return exit;
}

/* "1,234". */
static void add_number(struct buf *out, uint64_t number) {
    if (number >= 1000) {
        add_number(out, number / 1000);
        buf_printf(out, ",%03u", (unsigned)(number % 1000));
    } else {
        buf_printf(out, "%u", (unsigned)number);
    }
}

/* "3 calls"; what there is none of is not said, if `is_said` does not say so. */
static void add_count(struct buf *out, yyjson_val *count, const char *what, bool is_said) {
    uint64_t number = yyjson_get_uint(count);
    if (is_said || number > 0) {
        buf_add_text(out, out->length > 0 ? ", " : "");
        add_number(out, number);
        buf_printf(out, " %s%s", what, text_plural(number));
    }
}

static void add_tokens(struct buf *out, yyjson_val *usage) {
    yyjson_val *input = yyjson_obj_get(usage, "input");
    yyjson_val *cached = yyjson_obj_get(usage, "cached");
    yyjson_val *output = yyjson_obj_get(usage, "output");
    if (yyjson_is_int(input)) {
        buf_add_text(out, ", ");
        add_number(out, yyjson_get_uint(input));
        buf_add_text(out, " tokens in");
        if (yyjson_get_uint(cached) > 0) {
            buf_add_text(out, " (");
            add_number(out, yyjson_get_uint(cached));
            buf_add_text(out, " cached)");
        }
    }
    if (yyjson_is_int(output)) {
        buf_add_text(out, ", ");
        add_number(out, yyjson_get_uint(output));
        buf_add_text(out, yyjson_is_int(input) ? " out" : " tokens out");
    }
}

/* "4.2 s (tools 0.6 s), 0.0012 USD". */
static void add_latency(struct buf *out, yyjson_val *root) {
    yyjson_val *latency = yyjson_obj_get(root, "latency");
    yyjson_val *cost = yyjson_obj_get(root, "cost");
    double amount = yyjson_get_num(yyjson_obj_get(cost, "amount"));
    double tools_ms = yyjson_get_num(yyjson_obj_get(latency, "tools_ms"));
    buf_printf(out, ", %.1f s", yyjson_get_num(yyjson_obj_get(latency, "total_ms")) / 1000);
    if (tools_ms > 0) {
        buf_printf(out, " (tools %.1f s)", tools_ms / 1000);
    }
    if (yyjson_is_obj(cost)) {
        buf_printf(out, ", %.*f %s", amount < 1 ? 4 : 2, amount,
                   yyjson_get_str(yyjson_obj_get(cost, "currency")));
    }
}

/* What it took, for a person. */
static void print_sum(const struct cli *cli, yyjson_val *root) {
    CLEANUP(buf_finish) struct buf sum = BUF_INIT;
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    if (cli->options.json || cli->options.quiet || isatty(STDERR_FILENO) != 1 ||
        yyjson_get_uint(yyjson_obj_get(root, "steps")) == 0) {
        return;
    }
    add_count(&sum, yyjson_obj_get(root, "steps"), "request", true);
    add_count(&sum, yyjson_obj_get(root, "calls"), "call", false);
    add_tokens(&sum, yyjson_obj_get(root, "usage"));
    add_latency(&sum, root);
    text_add_line(&line, sum.data != NULL ? sum.data : "", sum.length);
    if (!sum.failed && !line.failed) {
        (void)output_line(STDERR_FILENO, line.data, line.length);
    }
}

/* The answer alone, as a terminal shows it. */
static int print_answer(const struct cli *cli, yyjson_val *root) {
    yyjson_val *text = yyjson_obj_get(root, "text");
    const char *answer = yyjson_is_str(text) ? yyjson_get_str(text) : "";
    size_t length = yyjson_get_len(text);
    bool is_line = length > 0 && answer[length - 1] != '\n';
    struct markdown *markdown =
            output_has_cursor() ? markdown_create(output_has_color(cli->options.color)) : NULL;
    if (markdown == NULL) {
        int code = output_write(STDOUT_FILENO, answer, length);
        return code < 0 ? code : output_write(STDOUT_FILENO, "\n", is_line);
    }
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    markdown_feed(markdown, answer, length, output_width(), &out);
    markdown_end(markdown, output_width(), &out);
    markdown_destroy(markdown);
    return out.failed ? -ENOMEM : write_all(STDOUT_FILENO, out.data, out.length);
}

static int report(struct cli *cli, struct conversation_thread *thread, int code) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = thread->outcome != NULL ? json_read(thread->outcome) : NULL;
    yyjson_val *root = yyjson_doc_get_root(doc);
    yyjson_val *transcript = yyjson_obj_get(root, "transcript");
    if (root != NULL && cli->options.quiet && !cli->options.json) {
        thread->unwritten = print_answer(cli, root);
    }
    if (root != NULL && thread->unwritten == 0) {
        mark_cut(cli, root, code);
    }
    print_sum(cli, root);
    if (yyjson_is_str(transcript) && !cli->options.quiet && !is_chat(cli)) {
        output_note_whole("transcript", yyjson_get_str(transcript));
    }
    if (thread->unwritten < 0) {
        output_note("cannot write to standard output: %s", strerror(-thread->unwritten));
        return CLI_FAILED;
    }
    if (code < 0) {
        return report_failure(cli, root, code);
    }
    return cli->options.json ? json_print_text(cli, thread->outcome) : CLI_OK;
}

static bool has_begun(const struct conversation_thread *thread) {
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = thread->outcome != NULL ? json_read(thread->outcome) : NULL;
    return yyjson_get_uint(yyjson_obj_get(yyjson_doc_get_root(doc), "steps")) > 0;
}

/* @param ret_began  the conversation is kept */
static int run(struct cli *cli, const struct toolrack_agent_options *given, bool *ret_began) {
    eventfd_t before; /* an interrupt of an earlier message */
    (void)eventfd_read(given->stop_fd, &before);
    struct toolrack_agent_options options = *given;
    struct toolrack_call_options call = *given->call;
    struct conversation_thread thread = {.cli = cli, .options = &options};
    const bool is_quiet = cli->options.json || cli->options.quiet;
    thread.view = is_quiet ? NULL : agent_view_begin(cli);
    options.text = print_text;
    options.note = print_note;
    options.event = thread.view != NULL ? take_event : NULL;
    options.user = &thread;
    options.call = &call;
    call.user = &thread;
    if (person_begin(cli)) {
        call.input = ask_inputs;
        call.approve = approve;
        options.wait_longer = cli->options.max_wait_s == 0 ? ask_to_wait : NULL;
    }
    options.wait = !is_quiet && isatty(STDERR_FILENO) == 1 ? show_wait : NULL;
    int code = run_thread(&thread);
    agent_view_end(thread.view);
    person_finish();
    code = report(cli, &thread, code);
    *ret_began = has_begun(&thread);
    toolrack_text_unref(thread.outcome);
    return code;
}

int verb_agent(struct cli *cli) {
    struct toolrack_agent_options options = TOOLRACK_AGENT_OPTIONS_INIT;
    CLEANUP(offer_finish) struct offer offer = {0};
    char conversation[TOOLRACK_CONVERSATION_ID_SIZE];
    if (cli->options.list) {
        return conversations_list(cli);
    }
    if (cli->options.forgotten != NULL) {
        return conversations_forget(cli);
    }
    if (cli->options.resume != NULL || cli->options.goes_on) {
        options.resume = 1;
        int code = conversations_find(cli, conversation, &options.format);
        if (code < 0) {
            return code == TOOLRACK_E_INVALID ? cli_fail_usage(cli) : cli_fail(cli);
        }
    } else {
        toolrack_conversation_id(conversation);
    }
    if (read_options(cli, &options) < 0) {
        return cli_fail_usage(cli);
    }
    CLEANUP(buf_finish) struct buf task = BUF_INIT;
    int ended = 0;
    if (offer_read(cli, &offer) < 0) {
        return cli_fail(cli);
    }
    if (read_task(cli, &task, &options.task, &ended) < 0) {
        return ended;
    }
    bool is_part = offer.names != NULL || offer.options.profile != NULL ||
                   offer.options.limit != 0 || offer.options.budget != 0;
    CLEANUP(closep) int stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop < 0) {
        (void)cli_error(cli, TOOLRACK_E_IO, "cannot begin a conversation: %s", strerror(errno));
        return cli_fail(cli);
    }
    char who[CLI_WHO_ROOM];
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    cli_who(who, sizeof who);
    call.caller = who;
    call.channel = "agent";
    call.conversation = conversation;
    call.offered = is_part ? &offer.options : NULL;
    options.call = &call;
    options.stop_fd = stop;
    bool began;
    return is_chat(cli)
                   ? chat(cli,
                          &(struct chat_exchange){
                                  .options = &options, .call = &call, .offer = &offer, .run = run})
                   : run(cli, &options, &began);
}
