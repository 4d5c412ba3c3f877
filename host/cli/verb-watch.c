/* watch: a host that watches its folders until a signal ends it.
 *
 * Events arrive on threads of the host, so each line is written at once, with one write. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/json-write.h"
#include "base/text.h"
#include "cli/json.h"
#include "cli/output.h"

/* Why a line could not be written, a negative errno; or 0. */
static atomic_int unwritten;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static const char *event_name(enum toolrack_event_kind kind) {
    switch (kind) {
    case TOOLRACK_EVENT_ADDED: return "added";
    case TOOLRACK_EVENT_REMOVED: return "removed";
    case TOOLRACK_EVENT_CHANGED: return "changed";
    case TOOLRACK_EVENT_LOADED: return "loaded";
    case TOOLRACK_EVENT_FAILED: return "failed";
    case TOOLRACK_EVENT_STUCK: return "stuck";
    case TOOLRACK_EVENT_RECOVERED: return "recovered";
    case TOOLRACK_EVENT_CRASHED: return "crashed";
    case TOOLRACK_EVENT_QUARANTINED: return "quarantined";
    case TOOLRACK_EVENT_RELEASED: return "released";
    case TOOLRACK_EVENT_RELOADED: return "reloaded";
    case TOOLRACK_EVENT_REFUSED: return "refused";
    case TOOLRACK_EVENT_UNLOADED: return "unloaded";
    case TOOLRACK_EVENT_STOPPED: return "stopped";
    case TOOLRACK_EVENT_CHANGED_TEXT: return "changed-text";
    case TOOLRACK_EVENT_TASK: return "task";
    case TOOLRACK_EVENT_RESOURCES_CHANGED: return "resources-changed";
    case TOOLRACK_EVENT_PROMPTS_CHANGED: return "prompts-changed";
    case TOOLRACK_EVENT_RESOURCE_UPDATED: return "resource-updated";
    }
    return "unknown";
}

static void add_json(struct buf *out, const struct toolrack_event *event) {
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = json_begin();
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    json_add_text(doc, root, "event", event_name(event->kind));
    json_add_text(doc, root, "plugin", event->plugin);
    json_add_text(doc, root, "tool", event->tool);
    json_add_text(doc, root, "version", event->version);
    json_add_text(doc, root, "message", event->message);
    yyjson_mut_doc_set_root(doc, root);
    CLEANUP(freep) char *text = json_write(doc, 0, NULL, NULL);
    buf_add_text(out, text != NULL ? text : "{\"event\":\"out of memory\"}");
}

static void add_word(struct buf *out, const char *text) {
    if (text != NULL && text[0] != '\0') {
        buf_add_char(out, ' ');
        text_add_line(out, text, strlen(text));
    }
}

static void print_event(void *user, const struct toolrack_event *event) {
    const struct cli *cli = user;
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    if (cli->options.json) {
        add_json(&line, event);
        buf_add_char(&line, '\n');
    } else {
        buf_add_text(&line, event_name(event->kind));
        add_word(&line, event->plugin);
        add_word(&line, event->tool);
        add_word(&line, event->version);
        add_word(&line, event->message);
    }
    (void)pthread_mutex_lock(&writing);
    int failed = line.failed         ? -ENOMEM
                 : cli->options.json ? output_write(STDOUT_FILENO, line.data, line.length)
                                     : output_line(STDOUT_FILENO, line.data, line.length);
    (void)pthread_mutex_unlock(&writing);
    if (failed < 0 && atomic_exchange(&unwritten, failed) == 0) {
        (void)kill(getpid(), SIGTERM);
    }
}

static int wait_for_end(struct cli *cli, const sigset_t *signals) {
    for (;;) {
        int number = sigwaitinfo(signals, NULL);
        if (number < 0 && errno != EINTR) {
            return cli_error(cli, TOOLRACK_E_IO, "cannot wait for signals: %s", strerror(errno));
        }
        if (number == SIGHUP && toolrack_reload(cli->host, NULL, NULL, cli->err) < 0) {
            output_note("%s", toolrack_error_message(cli->err));
        }
        if (number == SIGINT || number == SIGTERM) {
            return 0;
        }
    }
}

int verb_watch(struct cli *cli) {
    sigset_t signals;
    sigset_t before;
    cli_block_signals(&signals, &before);
    int code = cli_open(cli, print_event);
    if (code == 0) {
        output_note("watching the plugin folders; Ctrl-C ends");
        code = wait_for_end(cli, &signals);
    }
    cli_close(cli);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    int failed = atomic_load(&unwritten);
    if (code == 0 && failed < 0) {
        output_note("cannot write to standard output: %s", strerror(-failed));
        return CLI_FAILED;
    }
    return code < 0 ? cli_fail(cli) : CLI_OK;
}
