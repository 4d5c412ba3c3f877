#include "cli/chat.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/name.h"
#include "base/text.h"
#include "cli/chat-line.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/rows.h"
#include "view/tool.h"

CLEANUP_DEFINE(struct toolrack_tool, toolrack_tool_unref)

/* Most characters of a message that are shown when it is taken back. */
#define TASK_SHOWN 60u

struct chat {
    struct cli *cli;
    const struct chat_exchange *exchange;
    struct buf task; /* the last message; empty: none */
};

/* ----------------------------------------------------------------- printing */

static void print_error(struct chat *chat) {
    (void)cli_fail(chat->cli);
}

/* Write what a command has printed, and forget it. */
static void print(struct chat *chat) {
    struct cli *cli = chat->cli;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    output_render(&cli->out, &cli->styles, output_has_color(cli->options.color), cli->width, &text);
    if (!text.failed) {
        (void)write_all(STDERR_FILENO, text.data != NULL ? text.data : "", text.length);
    }
    buf_clear(&cli->out);
    style_clear(&cli->styles);
}

/* ------------------------------------------------------------------- tools */

/* Which tools are offered; without `is_allowed` which could be. NULL: a failure, which is set. */
static yyjson_doc *read_offered(const struct chat *chat, bool is_allowed) {
    struct cli *cli = chat->cli;
    struct toolrack_export_options options = chat->exchange->offer->options;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    options.allow = is_allowed ? options.allow : NULL;
    options.profile = is_allowed ? options.profile : cli->options.profile;
    if (toolrack_export(cli->host, TOOLRACK_FORMAT_MCP, &options, &text, &report, cli->err) < 0) {
        return NULL;
    }
    yyjson_doc *doc = json_read(text);
    if (doc == NULL) {
        (void)cli_oom(cli);
    }
    return doc;
}

static bool has_text(const struct toolrack_tool *tool, const char *text) {
    return strcasestr(toolrack_tool_name(tool), text) != NULL ||
           strcasestr(toolrack_tool_description(tool), text) != NULL;
}

static bool show_tools(struct chat *chat, char *text) {
    static const char *const headings[] = {"TOOL", "PERMISSION", "DESCRIPTION"};
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = read_offered(chat, true);
    CLEANUP(table_finish) struct table table;
    size_t at;
    size_t count;
    yyjson_val *row;
    if (doc == NULL) {
        print_error(chat);
        return true;
    }
    table_init(&table, headings, ARRAY_LENGTH(headings));
    yyjson_arr_foreach (yyjson_doc_get_root(doc), at, count, row) {
        CLEANUP(toolrack_tool_unrefp)
        struct toolrack_tool *tool = toolrack_get(chat->cli->host, rows_member(row, "name", ""));
        if (tool != NULL && has_text(tool, text)) {
            table_add(&table, toolrack_tool_name(tool));
            table_add(&table, view_permission(toolrack_tool_permission(tool)));
            table_add(&table, toolrack_tool_description(tool));
        }
    }
    if (table.cells == ARRAY_LENGTH(headings)) {
        output_note(text[0] != '\0'
                            ? "no tool that is offered has \"%s\" in its name or description"
                            : "no tool is offered%s",
                    text);
        return true;
    }
    table_print(&table, chat->cli->width, &chat->cli->out, &chat->cli->styles);
    print(chat);
    return true;
}

static bool has_name(yyjson_val *rows, const char *name) {
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_arr_foreach (rows, at, count, row) {
        if (strcmp(rows_member(row, "name", ""), name) == 0) {
            return true;
        }
    }
    return false;
}

/* Why a name cannot be offered. */
static void refuse_name(struct chat *chat, const char *name) {
    CLEANUP(toolrack_tool_unrefp) struct toolrack_tool *tool = cli_find_called(chat->cli, name);
    if (tool == NULL) {
        print_error(chat);
        return;
    }
    output_note("%s cannot be offered: %s", name,
                !toolrack_tool_enabled(tool) ? "it is disabled"
                                             : "the profile or the limits leave it out");
}

/* The names in a text, which ends up cut into them; the list ends with NULL. */
static const char **split(char *text) {
    const char **names = calloc(strlen(text) / 2 + 2, sizeof *names);
    char *rest = text;
    for (size_t count = 0; names != NULL && rest != NULL;) {
        char *name = strsep(&rest, " ,\t\n");
        if (name[0] != '\0') {
            names[count++] = name;
        }
    }
    return names;
}

static bool set_allowed(struct chat *chat, char *text) {
    struct offer *offer = chat->exchange->offer;
    bool is_all = strcmp(text, "all") == 0;
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = read_offered(chat, false);
    if (doc == NULL) {
        print_error(chat);
        return true;
    }
    CLEANUP(freep) char *copy = strdup(text);
    CLEANUP(freep) const char **names = copy != NULL && !is_all ? split(copy) : NULL;
    if (copy == NULL || (names == NULL && !is_all)) {
        (void)cli_oom(chat->cli);
        print_error(chat);
        return true;
    }
    if (!is_all && names[0] == NULL) {
        output_note("/allow takes the names of tools, or all; /tools lists those that are offered");
        return true;
    }
    for (size_t i = 0; names != NULL && names[i] != NULL; i++) {
        if (!has_name(yyjson_doc_get_root(doc), names[i])) {
            refuse_name(chat, names[i]);
            return true;
        }
    }
    offer_finish(offer);
    offer->text = STEAL(copy);
    offer->names = STEAL(names);
    offer_set_names(offer, &chat->cli->options);
    chat->exchange->call->offered = &offer->options;
    output_note("the model is offered %s from its next answer on",
                is_all ? "all tools again" : "these tools only");
    return true;
}

/* --------------------------------------------------------------- exchanges */

static void send_task(struct chat *chat, const char *task) {
    struct toolrack_agent_options *options = chat->exchange->options;
    bool began = false;
    options->task = task;
    int code = chat->exchange->run(chat->cli, options, &began);
    options->task = NULL;
    chat->cli->signal = 0;
    cli_forget_error(chat->cli);
    options->resume = options->resume != 0 || began;
    if (code != CLI_OK) {
        output_note("/retry goes on with this message, /undo takes it back");
    }
}

static bool retry(struct chat *chat, char *text) {
    (void)text;
    if (chat->exchange->options->resume != 0) {
        send_task(chat, NULL);
    } else if (chat->task.length > 0) {
        send_task(chat, chat->task.data);
    } else {
        output_note("there is no message to go on with: type one");
    }
    return true;
}

static void tell_undone(yyjson_val *undone) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf task = BUF_INIT;
    const char *text = rows_member(undone, "task", "");
    size_t at;
    size_t count;
    yyjson_val *name;
    text_add_line(&task, text, strlen(text));
    buf_add_text(&line, "taken back: ");
    text_add_cut(&line, task.data != NULL ? task.data : "", task.length, TASK_SHOWN);
    yyjson_arr_foreach (yyjson_obj_get(undone, "calls"), at, count, name) {
        buf_add_text(&line, at == 0 ? "; what was called is not undone: " : ", ");
        text_add_line(&line, yyjson_get_str(name), yyjson_get_len(name));
    }
    output_note("%s", line.failed || task.failed ? "taken back" : line.data);
}

static bool undo(struct chat *chat, char *text) {
    struct cli *cli = chat->cli;
    const struct toolrack_agent_options *options = chat->exchange->options;
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *undone = NULL;
    (void)text;
    if (options->resume == 0) {
        output_note("there is nothing to take back%s",
                    chat->task.length > 0 ? ": the message was not sent" : "");
        buf_clear(&chat->task);
    } else if (toolrack_conversation_undo(cli->host, options->transcript,
                                          chat->exchange->call->conversation, &undone,
                                          cli->err) < 0) {
        print_error(chat);
    } else {
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = json_read(undone);
        tell_undone(yyjson_doc_get_root(doc));
    }
    return true;
}

/* ---------------------------------------------------------------- commands */

static bool quit(struct chat *chat, char *text) {
    (void)chat;
    (void)text;
    return false;
}

static bool help(struct chat *chat, char *text);

static const struct command {
    const char *name;
    const char *arguments;
    const char *help;
    bool takes_text;
    bool (*run)(struct chat *chat, char *text); /* @return whether the chat goes on */
} commands[] = {
        {"/help", "", "list the commands", false, help},
        {"/tools", " [TEXT]", "list the tools that the model is offered", true, show_tools},
        {"/allow", " NAME ... | all", "offer only these tools, or all again", true, set_allowed},
        {"/retry", "", "ask for the answer again, or go on where it stopped", false, retry},
        {"/undo", "", "take back your last message, and all that followed", false, undo},
        {"/quit", "", "end the chat, as Ctrl-D does", false, quit},
};

static bool help(struct chat *chat, char *text) {
    struct buf *out = &chat->cli->out;
    (void)text;
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        const struct command *command = &commands[i];
        int width = (int)(24 - strlen(command->name) - strlen(command->arguments));
        buf_printf(out, "  %s%s%*s%s\n", command->name, command->arguments, width, "",
                   command->help);
    }
    buf_add_text(out, "  //TEXT                  send /TEXT\n"
                      "A line that ends in \\ goes on in the next one. Ctrl-C drops what is typed, "
                      "or stops the answer.\n"
                      "A line that begins with a space is not remembered.\n");
    print(chat);
    return true;
}

static bool refuse_command(const char *name) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        (void)nearest_try(&nearest, commands[i].name);
    }
    output_note("there is no command %.64s; %s%s%s; to send it write /%.64s", name,
                nearest.name != NULL ? "did you mean " : "/help lists the commands",
                nearest.name != NULL ? nearest.name : "", nearest.name != NULL ? "?" : "", name);
    return true;
}

/* Do what a line says. @return whether the chat goes on */
static bool do_command(struct chat *chat, char *line) {
    char *text = line + strcspn(line, " \t\n");
    char *end = line + strlen(line);
    if (*text != '\0') {
        *text++ = '\0';
        text += strspn(text, " \t\n");
    }
    while (end > text && strchr(" \t\n", end[-1]) != NULL) {
        *--end = '\0';
    }
    for (size_t i = 0; i < ARRAY_LENGTH(commands); i++) {
        const struct command *command = &commands[i];
        if (strcmp(command->name, line) != 0) {
            continue;
        }
        if (!command->takes_text && *text != '\0') {
            output_note("%s takes nothing more: write it alone", command->name);
            return true;
        }
        bool goes_on = command->run(chat, text);
        cli_forget_error(chat->cli);
        return goes_on;
    }
    return refuse_command(line);
}

/* --------------------------------------------------------------- the prompt */

static void complete(void *user, const char *text, size_t at,
                     void (*take)(void *taker, const char *word), void *taker) {
    const struct chat *chat = user;
    if (at == 0) {
        for (size_t i = 0; text[0] == '/' && i < ARRAY_LENGTH(commands); i++) {
            take(taker, commands[i].name);
        }
        return;
    }
    if (strncmp(text, "/allow ", strlen("/allow ")) != 0) {
        return;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = read_offered(chat, false);
    size_t index;
    size_t count;
    yyjson_val *row;
    take(taker, "all");
    yyjson_arr_foreach (yyjson_doc_get_root(doc), index, count, row) {
        take(taker, rows_member(row, "name", ""));
    }
}

static bool mask(void *user, char *text) {
    const struct chat *chat = user;
    return toolrack_mask_keys(chat->cli->host, chat->exchange->options->headers, text, NULL) == 0;
}

/* @return whether the chat goes on */
static bool take(struct chat *chat, struct buf *message) {
    char *text = message->data;
    if (text[strspn(text, " \t\n")] == '\0') {
        return true;
    }
    if (text[0] == '/' && text[1] != '/') {
        return do_command(chat, text);
    }
    text += text[0] == '/';
    buf_clear(&chat->task);
    buf_add_text(&chat->task, text);
    if (chat->task.failed) {
        buf_finish(&chat->task);
    }
    send_task(chat, text);
    return true;
}

static void ignore(int number) {
    (void)number;
}

static void tell_beginning(const struct chat *chat) {
    const struct toolrack_agent_options *options = chat->exchange->options;
    if (options->resume != 0) {
        output_note("the conversation %s goes on; /help lists the commands, Ctrl-D ends the chat",
                    chat->exchange->call->conversation);
    } else {
        output_note("/help lists the commands, Ctrl-D ends the chat");
    }
}

static int read_messages(struct chat *chat, struct chat_line *line) {
    CLEANUP(buf_finish) struct buf message = BUF_INIT;
    for (;;) {
        switch (chat_line_read(line, &message)) {
        case CHAT_READ:
            if (!take(chat, &message)) {
                return CLI_OK;
            }
            break;
        case CHAT_CLEARED: break;
        case CHAT_ENDED: return CLI_OK;
        case CHAT_STOPPED: return CLI_FAILED;
        case CHAT_TOO_LONG:
            output_note("a message has at most %u bytes: it is not sent", CHAT_MESSAGE_MAX);
            break;
        case CHAT_NO_MEMORY: (void)cli_oom(chat->cli); return cli_fail(chat->cli);
        }
    }
}

int chat(struct cli *cli, const struct chat_exchange *exchange) {
    struct chat chat = {.cli = cli, .exchange = exchange};
    const struct chat_words words = {.user = &chat, .complete = complete, .mask = mask};
    const char *state_dir = toolrack_state_dir(cli->host);
    struct chat_line *line = NULL;
    if (state_dir == NULL && exchange->options->transcript == NULL) {
        (void)cli_error(cli, TOOLRACK_E_INVALID,
                        "a chat has to be kept from one message to the next: name a state folder "
                        "with --state DIR, or a file with --transcript FILE");
        return cli_fail_usage(cli);
    }
    if (chat_line_open(cli, state_dir, &words, &line) < 0) {
        return cli_fail(cli);
    }
    /* A Ctrl-C that comes when an answer has just ended is too late, and ends nothing. */
    struct sigaction before;
    (void)sigaction(SIGINT, NULL, &before);
    if (before.sa_handler != SIG_IGN) {
        struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
        (void)sigaction(SIGINT, &action, NULL);
    }
    tell_beginning(&chat);
    int code = read_messages(&chat, line);
    (void)sigaction(SIGINT, &before, NULL);
    chat_line_close(line);
    buf_finish(&chat.task);
    if (exchange->options->resume != 0 && exchange->options->transcript == NULL) {
        output_note_whole("the conversation is kept; go on with",
                          COMMAND("agent --resume", exchange->call->conversation));
    }
    return code;
}
