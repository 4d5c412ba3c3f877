/* nats-cluster.h - one to three real nats-servers on free ports of loopback, that are joined as a
 * cluster, for tests that stop, kill and start them again. They die with the test. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <sys/types.h>

#define NATS_CLUSTER_MAX 3u

struct nats_cluster;

struct nats_node {
    struct nats_cluster *cluster;
    unsigned number;
    pid_t pid; /* 0: it does not run */
    int port;  /* the same at each start */
    int route_port;
    char url[64];
    int log; /* what it says is read by: */
    pthread_t reader;
    bool is_ready; /* guarded by the cluster's lock, as are the next */
    unsigned routes;
};

struct nats_cluster {
    unsigned count;
    struct nats_node nodes[NATS_CLUSTER_MAX];
    char urls[256]; /* of all, as hosts take them */
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

/** Start them, and wait until each is ready and all routes are there. False: they do not start. */
bool nats_cluster_start(struct nats_cluster *cluster, unsigned count);
/** Start one that was killed, on its port. */
bool nats_cluster_restart(struct nats_cluster *cluster, unsigned number);
void nats_cluster_kill(struct nats_cluster *cluster, unsigned number);
/** SIGSTOP: its connections stay, and nothing comes through them. */
void nats_cluster_pause(struct nats_cluster *cluster, unsigned number);
void nats_cluster_resume(struct nats_cluster *cluster, unsigned number);
void nats_cluster_stop(struct nats_cluster *cluster);
