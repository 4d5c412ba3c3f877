#include "nats-cluster.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "patience.h"

/* The number at the end of a line that says where it listens; 0: the line says something else. */
static int port_in(const char *line, const char *what) {
    const char *at = strstr(line, what);
    return at != NULL ? atoi(at + strlen(what)) : 0;
}

static void hear(struct nats_node *node, const char *line) {
    struct nats_cluster *cluster = node->cluster;
    int port = port_in(line, "client connections on 127.0.0.1:");
    int route_port = port_in(line, "route connections on 127.0.0.1:");
    (void)pthread_mutex_lock(&cluster->lock);
    node->port = port > 0 ? port : node->port;
    node->route_port = route_port > 0 ? route_port : node->route_port;
    node->is_ready = node->is_ready || strstr(line, "Server is ready") != NULL;
    node->routes += strstr(line, "Route connection created") != NULL;
    (void)pthread_cond_broadcast(&cluster->changed);
    (void)pthread_mutex_unlock(&cluster->lock);
}

/* All that it says is read: it would wait for that. */
static void *read_log(void *user) {
    struct nats_node *node = user;
    char line[1024];
    FILE *log = fdopen(node->log, "r");
    while (log != NULL && fgets(line, sizeof line, log) != NULL) {
        hear(node, line);
    }
    if (log != NULL) {
        (void)fclose(log);
    }
    return NULL;
}

static void run(const struct nats_node *node, int out) {
    char port[16];
    char cluster[64];
    char routes[64];
    const struct nats_node *first = &node->cluster->nodes[node->number == 0 ? 1 : 0];
    (void)snprintf(port, sizeof port, "%d", node->port > 0 ? node->port : -1);
    (void)snprintf(cluster, sizeof cluster, "nats://127.0.0.1:%d",
                   node->route_port > 0 ? node->route_port : -1);
    (void)snprintf(routes, sizeof routes, "nats-route://127.0.0.1:%d", first->route_port);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)dup2(out, STDERR_FILENO);
    if (node->cluster->count == 1) {
        (void)execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", port, (char *)NULL);
    } else {
        (void)execlp("nats-server", "nats-server", "-a", "127.0.0.1", "-p", port, "--cluster_name",
                     "test", "--cluster", cluster, first->route_port > 0 ? "--routes" : NULL,
                     routes, (char *)NULL);
    }
    _exit(127);
}

static bool start(struct nats_node *node) {
    struct nats_cluster *cluster = node->cluster;
    int fds[2];
    struct timespec until;
    if (pipe(fds) < 0) {
        return false;
    }
    node->is_ready = false;
    node->routes = 0;
    node->pid = fork();
    if (node->pid == 0) {
        run(node, fds[1]);
    }
    (void)close(fds[1]);
    node->log = fds[0];
    if (node->pid < 0 || pthread_create(&node->reader, NULL, read_log, node) != 0) {
        (void)close(fds[0]);
        return false;
    }
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    int waited = 0;
    (void)pthread_mutex_lock(&cluster->lock);
    /* Where others of a cluster reach it is said last. */
    while ((!node->is_ready || (cluster->count > 1 && node->route_port == 0)) && waited == 0) {
        waited = pthread_cond_clockwait(&cluster->changed, &cluster->lock, CLOCK_MONOTONIC, &until);
    }
    (void)snprintf(node->url, sizeof node->url, "nats://127.0.0.1:%d", node->port);
    bool is_ready = node->is_ready && node->port > 0 && waited == 0;
    (void)pthread_mutex_unlock(&cluster->lock);
    return is_ready;
}

/* Each server has told of a route to each of the others. */
static bool await_routes(struct nats_cluster *cluster) {
    struct timespec until;
    int waited = 0;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PATIENCE_S;
    (void)pthread_mutex_lock(&cluster->lock);
    for (unsigned i = 0; i < cluster->count && waited == 0;) {
        if (cluster->nodes[i].routes + 1 >= cluster->count) {
            i++;
        } else {
            waited = pthread_cond_clockwait(&cluster->changed, &cluster->lock, CLOCK_MONOTONIC,
                                            &until);
        }
    }
    (void)pthread_mutex_unlock(&cluster->lock);
    return waited == 0;
}

bool nats_cluster_start(struct nats_cluster *cluster, unsigned count) {
    *cluster = (struct nats_cluster){.count = count};
    (void)pthread_mutex_init(&cluster->lock, NULL);
    (void)pthread_cond_init(&cluster->changed, NULL);
    for (unsigned i = 0; i < count; i++) {
        struct nats_node *node = &cluster->nodes[i];
        node->cluster = cluster;
        node->number = i;
        if (!start(node)) {
            return false;
        }
        size_t length = strlen(cluster->urls);
        (void)snprintf(cluster->urls + length, sizeof cluster->urls - length, "%s%s",
                       i > 0 ? "," : "", node->url);
    }
    return await_routes(cluster);
}

bool nats_cluster_restart(struct nats_cluster *cluster, unsigned number) {
    return start(&cluster->nodes[number]);
}

void nats_cluster_kill(struct nats_cluster *cluster, unsigned number) {
    struct nats_node *node = &cluster->nodes[number];
    if (node->pid > 0) {
        (void)kill(node->pid, SIGKILL);
        (void)waitpid(node->pid, NULL, 0);
        (void)pthread_join(node->reader, NULL);
        node->pid = 0;
    }
}

void nats_cluster_pause(struct nats_cluster *cluster, unsigned number) {
    (void)kill(cluster->nodes[number].pid, SIGSTOP);
}

void nats_cluster_resume(struct nats_cluster *cluster, unsigned number) {
    (void)kill(cluster->nodes[number].pid, SIGCONT);
}

void nats_cluster_stop(struct nats_cluster *cluster) {
    for (unsigned i = 0; i < cluster->count; i++) {
        nats_cluster_kill(cluster, i);
    }
    (void)pthread_cond_destroy(&cluster->changed);
    (void)pthread_mutex_destroy(&cluster->lock);
}
