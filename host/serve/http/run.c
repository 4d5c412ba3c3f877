/* `toolrack serve`: from the start to the last answer. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>

#include "base/cleanup.h"
#include "base/manager.h"
#include "base/thread.h"
#include "serve/http/beat.h"
#include "serve/http/parts.h"
#include "serve/rest/rest.h"
#include "serve/serve.h"
#include "serve/web/web.h"
#include "toolrack/choose.h"
#include "toolrack/serving.h"

/* What the end takes at most when no call is waited for any more. */
#define END_MAX_S 30u

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

/* The same strings, NULL-terminated; NULL: none, or no memory. */
static const char **terminated(const char *const *items, size_t count) {
    const char **copy = count > 0 ? calloc(count + 1, sizeof *copy) : NULL;
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = items[i];
    }
    return copy;
}

static int start(struct toolrack *host, struct mcp *mcp, struct front *front,
                 struct serve_counts *counts, const struct serve_http *options, struct server **ret,
                 struct toolrack_error *err) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *settings = NULL;
    CLEANUP(freep) const char **listen = terminated(options->listen, options->listen_count);
    CLEANUP(freep) const char **sockets = terminated(options->sockets, options->socket_count);
    if ((listen == NULL && options->listen_count > 0) ||
        (sockets == NULL && options->socket_count > 0) ||
        toolrack_serving(host, &settings, NULL) < 0) {
        return error_oom(err);
    }
    const struct server_start start = {.host = host,
                                       .mcp = mcp,
                                       .fronts = {front, web_front()},
                                       .counts = counts,
                                       .settings = toolrack_text_data(settings, NULL),
                                       .listen = listen,
                                       .sockets = sockets,
                                       .local = options->local,
                                       .profile = options->profile,
                                       .manager = options->manager,
                                       .note = options->note,
                                       .user = options->user};
    int code = server_start(&start, ret, err);
    for (size_t i = 0; code == 0 && i < (*ret)->listener_count; i++) {
        options->ready(options->user, (*ret)->listeners[i].where);
    }
    return code;
}

/* Tell what keeps a part of a reload from being done. */
static void note_problem(const struct server *server, int code, const char *what,
                         const struct toolrack_error *err) {
    if (code < 0) {
        server_note(server, "%s%s", what,
                    err != NULL ? toolrack_error_message(err) : "out of memory");
    }
}

static void reload(struct server *server, const struct serve_http *options) {
    manager_reloading(options->manager);
    server_reload(server);
    struct toolrack_error *err = toolrack_error_create();
    if (options->token_file != NULL) {
        note_problem(server, toolrack_token_file(server->host, options->token_file, err),
                     "the token of the file stays as it was: ", err);
    }
    note_problem(server, toolrack_reload(server->host, NULL, NULL, err), "", err);
    toolrack_error_free(err);
    if (options->reloaded != NULL) {
        options->reloaded(options->user);
    }
    manager_tell(options->manager, "READY=1");
}

static void wait_for_end(struct server *server, const struct serve_http *options,
                         const sigset_t *signals) {
    int number;
    do {
        number = sigwaitinfo(signals, NULL);
        if (number == SIGHUP) {
            reload(server, options);
        }
    } while (number == SIGHUP || (number < 0 && errno == EINTR));
}

/* Of each address, as long as there is room. */
static void tell_ready(const struct server *server, const struct manager *manager) {
    CLEANUP(buf_finish) struct buf where = BUF_INIT;
    for (size_t i = 0; i < server->listener_count; i++) {
        buf_printf(&where, "%s%s", i > 0 ? ", " : "", server->listeners[i].where);
    }
    manager_status(manager, "serving at %s", where.failed ? "" : where.data);
    manager_tell(manager, "READY=1");
}

/* A manager that waits less would end the calls. */
static void tell_stopping(const struct server *server, const struct manager *manager) {
    unsigned long long most_s = server->settings.limits.drain_s + END_MAX_S;
    manager_status(manager, "ending; calls that run are answered for %u s at most",
                   (unsigned)server->settings.limits.drain_s);
    manager_tell(manager, "STOPPING=1\nEXTEND_TIMEOUT_USEC=%llu", most_s * 1000000);
}

static void end(struct server *server, const struct manager *manager) {
    tell_stopping(server, manager);
    sigset_t enders;
    (void)sigemptyset(&enders);
    (void)sigaddset(&enders, SIGINT);
    (void)sigaddset(&enders, SIGTERM);
    CLEANUP(closep) int hurry = signalfd(-1, &enders, SFD_CLOEXEC | SFD_NONBLOCK);
    if (!server_drain(server, hurry)) {
        server_note(server, "ending; calls that still run are cancelled");
        manager_status(manager, "ending; calls that still run are cancelled");
        server_cut(server);
    }
    struct signalfd_siginfo taken;
    while (hurry >= 0 && read(hurry, &taken, sizeof taken) > 0) {
    }
}

/* The first search need not wait for the index. */
static void *prepare(void *host) {
    (void)toolrack_search_prepare(host, NULL); /* without memory the first search tries again */
    return NULL;
}

static int serve(struct server *server, const struct serve_http *options, const sigset_t *signals,
                 struct toolrack_error *err) {
    const struct manager *manager = options->manager;
    struct beat *beat;
    int code = beat_start(server, manager, &beat, err);
    pthread_t thread;
    if (code == 0) {
        bool is_preparing = thread_start(&thread, prepare, server->host) == 0;
        tell_ready(server, manager);
        wait_for_end(server, options, signals);
        end(server, manager);
        beat_stop(beat);
        if (is_preparing) {
            (void)pthread_join(thread, NULL);
        }
    }
    return code;
}

int serve_http_run(struct toolrack *host, const struct serve_http *options, const sigset_t *signals,
                   struct toolrack_error *err) {
    struct mcp *mcp = NULL;
    struct server *server = NULL;
    struct front *front = NULL;
    struct serve_counts counts = {0};
    const struct rest_options rest_options = {
            .host = host, .profile = options->profile, .counts = &counts};
    const struct mcp_options mcp_options = {.host = host, .profile = options->profile};
    int code = mcp_create(&mcp_options, &mcp, err);
    code = code < 0 ? code : rest_create(&rest_options, &front, err);
    code = code < 0 ? code : start(host, mcp, front, &counts, options, &server, err);
    if (code == 0) {
        code = serve(server, options, signals, err);
        server_silence(server);
    }
    mcp_destroy(mcp);
    rest_destroy(front);
    if (server != NULL) {
        server_stop(server);
    }
    return code;
}
