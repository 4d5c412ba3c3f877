#include "nats-server.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "remove-tree.h"

static bool make_folder(struct nats_server *server, const char *configuration) {
    char path[96];
    (void)snprintf(server->folder, sizeof server->folder, "/tmp/toolrack-nats.XXXXXX");
    if (mkdtemp(server->folder) == NULL) {
        return false;
    }
    (void)snprintf(path, sizeof path, "%s/server.conf", server->folder);
    FILE *file = fopen(path, "w");
    bool is_written = file != NULL && fputs(configuration, file) >= 0;
    return file != NULL && fclose(file) == 0 && is_written;
}

static void run(const struct nats_server *server, bool jetstream, int out) {
    char path[96];
    (void)snprintf(path, sizeof path, "%s/server.conf", server->folder);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(out, STDERR_FILENO);
    /* The list ends after the file of the configuration without JetStream. */
    (void)execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", "-1", "-c", path,
                 jetstream ? "-js" : NULL, "-sd", server->folder, (char *)NULL);
    _exit(127);
}

bool nats_server_start(struct nats_server *server, bool jetstream, const char *configuration) {
    int fds[2];
    char line[512];
    bool is_ready = false;
    *server = (struct nats_server){.pid = -1};
    if (!make_folder(server, configuration != NULL ? configuration : "") || pipe(fds) < 0) {
        return false;
    }
    server->pid = fork();
    if (server->pid == 0) {
        run(server, jetstream, fds[1]);
    }
    (void)close(fds[1]);
    server->log = fdopen(fds[0], "r");
    while (!is_ready && server->log != NULL && fgets(line, sizeof line, server->log) != NULL) {
        const char *at = strstr(line, "client connections on 127.0.0.1:");
        server->port = at != NULL ? atoi(strrchr(at, ':') + 1) : server->port;
        is_ready = strstr(line, "Server is ready") != NULL;
    }
    (void)snprintf(server->url, sizeof server->url, "nats://127.0.0.1:%d", server->port);
    return is_ready && server->port > 0;
}

void nats_server_stop(struct nats_server *server) {
    if (server->pid > 0) {
        (void)kill(server->pid, SIGKILL);
        (void)waitpid(server->pid, NULL, 0);
    }
    if (server->log != NULL) {
        (void)fclose(server->log);
    }
    if (server->folder[0] != '\0') {
        (void)remove_tree(server->folder);
    }
    *server = (struct nats_server){.pid = -1};
}
