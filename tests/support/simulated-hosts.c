#include "simulated-hosts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "remote/nats/key.h"
#include "remote/nats/libnats.h"
#include "remote/nats/subject.h"

#define WAIT_MS 20000

struct simulated {
    bool is_gone;
    bool lacks_first;
    unsigned changes;
};

struct simulation {
    natsConnection *connection;
    natsSubscription *subscriptions[3];
    struct key *key;
    char group[128]; /* its token */
    unsigned tools;
    unsigned beat_ms;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool stops;
    unsigned long pages;
    unsigned count;
    struct simulated hosts[];
};

/* The instance of a host is its number. */
static void name_instance(unsigned host, char ret[17]) {
    (void)snprintf(ret, 17, "%016x", host);
}

static bool read_instance(const char *subject, const struct simulation *simulation, unsigned *ret) {
    const char *at = strstr(subject, ".host.");
    *ret = at != NULL ? (unsigned)strtoul(at + 6, NULL, 16) : simulation->count;
    return *ret < simulation->count;
}

/* Caller holds the lock. */
static void announce(struct simulation *simulation, unsigned host, bool leaving) {
    const struct simulated *simulated = &simulation->hosts[host];
    char instance[17];
    char subject[200];
    char text[512];
    name_instance(host, instance);
    (void)snprintf(subject, sizeof subject, "toolrack.1.%s.announce.%s", simulation->group,
                   instance);
    int length = snprintf(text, sizeof text,
                          "{\"v\":1,\"instance\":\"%s\",\"name\":\"sim-%u\",\"key\":\"%s\","
                          "\"version\":\"1\",\"digest\":\"%u.%u\",\"running\":0,\"tools\":%u%s}",
                          instance, host, key_public(simulation->key), host, simulated->changes,
                          simulation->tools, leaving ? ",\"leaving\":true" : "");
    (void)nats.Connection_Publish(simulation->connection, subject, text, length);
}

/* All hosts, spread over the beat, so that the server is not given all at once. */
static void *beat(void *user) {
    struct simulation *simulation = user;
    unsigned host = 0;
    uint64_t at_ns = clock_now_ns();
    (void)pthread_mutex_lock(&simulation->lock);
    while (!simulation->stops) {
        for (unsigned i = 0; i < (simulation->count + 19) / 20; i++) {
            host = (host + 1) % simulation->count;
            if (!simulation->hosts[host].is_gone) {
                announce(simulation, host, false);
            }
        }
        at_ns += (uint64_t)simulation->beat_ms * CLOCK_NS_PER_MS / 20;
        const struct timespec until = clock_timespec(at_ns);
        while (!simulation->stops &&
               pthread_cond_timedwait(&simulation->changed, &simulation->lock, &until) == 0) {
        }
    }
    (void)pthread_mutex_unlock(&simulation->lock);
    return NULL;
}

static void hello(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                  void *user) {
    struct simulation *simulation = user;
    (void)connection;
    (void)subscription;
    (void)pthread_mutex_lock(&simulation->lock);
    for (unsigned i = 0; i < simulation->count; i++) {
        if (!simulation->hosts[i].is_gone) {
            announce(simulation, i, false);
        }
    }
    (void)pthread_mutex_unlock(&simulation->lock);
    nats.Msg_Destroy(message);
}

static void probed(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                   void *user) {
    struct simulation *simulation = user;
    unsigned host;
    char text[64];
    (void)subscription;
    (void)pthread_mutex_lock(&simulation->lock);
    bool is_there = read_instance(nats.Msg_GetSubject(message), simulation, &host) &&
                    !simulation->hosts[host].is_gone;
    (void)pthread_mutex_unlock(&simulation->lock);
    int length =
            snprintf(text, sizeof text, "{\"v\":1,\"time_ms\":%lld}", (long long)clock_wall_ms());
    if (is_there && nats.Msg_GetReply(message) != NULL) {
        (void)nats.Connection_Publish(connection, nats.Msg_GetReply(message), text, length);
    }
    nats.Msg_Destroy(message);
}

static void write_page(const struct simulation *simulation, unsigned host, struct buf *page) {
    const struct simulated *simulated = &simulation->hosts[host];
    buf_printf(page, "{\"v\":1,\"digest\":\"%u.%u\",\"from\":0,\"tools\":[", host,
               simulated->changes);
    for (unsigned i = simulated->lacks_first ? 1 : 0; i < simulation->tools; i++) {
        buf_printf(
                page,
                "%s{\"name\":\"sim_%u_%u\",\"version\":\"1.0.0\",\"description\":\"Tool %u of "
                "the simulated host %u\",\"schema\":\"{\\\"type\\\":\\\"object\\\",\\\"properties"
                "\\\":{\\\"path\\\":{\\\"type\\\":\\\"string\\\"}}}\",\"permission\":\"safe\"}",
                i > (simulated->lacks_first ? 1u : 0u) ? "," : "", host, i, i, host);
    }
    buf_add_text(page, "],\"next\":null}");
}

static void asked(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                  void *user) {
    struct simulation *simulation = user;
    CLEANUP(buf_finish) struct buf page = BUF_INIT;
    unsigned host;
    natsMsg *answer = NULL;
    char instance[17];
    char signature[KEY_SIGNATURE_ROOM];
    (void)subscription;
    (void)pthread_mutex_lock(&simulation->lock);
    bool is_there = read_instance(nats.Msg_GetSubject(message), simulation, &host) &&
                    !simulation->hosts[host].is_gone;
    if (is_there) {
        write_page(simulation, host, &page);
        simulation->pages++;
    }
    (void)pthread_mutex_unlock(&simulation->lock);
    if (is_there && !page.failed) {
        name_instance(host, instance);
        const struct key_statement statement = {.purpose = "tools",
                                                .group = simulation->group,
                                                .instance = instance,
                                                .time = "",
                                                .nonce = "",
                                                .data = page.data,
                                                .length = page.length};
        key_sign(simulation->key, &statement, signature);
        (void)nats.Msg_Create(&answer, nats.Msg_GetReply(message), NULL, page.data,
                              (int)page.length);
        (void)nats.MsgHeader_Set(answer, "Toolrack-Key", key_public(simulation->key));
        (void)nats.MsgHeader_Set(answer, "Toolrack-Signature", signature);
        (void)nats.Connection_PublishMsg(connection, answer);
        nats.Msg_Destroy(answer);
    }
    nats.Msg_Destroy(message);
}

static bool connect_to(struct simulation *simulation, const char *url) {
    const struct {
        const char *rest;
        natsMsgHandler handle;
    } wanted[] = {{"hello", hello}, {"host.*.tools", asked}, {"host.*.probe", probed}};
    natsOptions *options = NULL;
    const char *servers[] = {url};
    bool is_done = nats.Options_Create(&options) == NATS_OK &&
                   nats.Options_SetServers(options, servers, 1) == NATS_OK &&
                   nats.Connection_Connect(&simulation->connection, options) == NATS_OK;
    nats.Options_Destroy(options);
    for (size_t i = 0; is_done && i < ARRAY_LENGTH(wanted); i++) {
        char subject[200];
        (void)snprintf(subject, sizeof subject, "toolrack.1.%s.%s", simulation->group,
                       wanted[i].rest);
        is_done = nats.Connection_Subscribe(&simulation->subscriptions[i], simulation->connection,
                                            subject, wanted[i].handle, simulation) == NATS_OK;
    }
    return is_done && nats.Connection_FlushTimeout(simulation->connection, WAIT_MS) == NATS_OK;
}

struct simulation *simulation_start(const char *url, const char *group, unsigned hosts,
                                    unsigned tools, unsigned beat_ms) {
    struct toolrack_error err = {0};
    CLEANUP(buf_finish) struct buf token = BUF_INIT;
    struct simulation *simulation =
            calloc(1, sizeof *simulation + hosts * sizeof simulation->hosts[0]);
    if (simulation == NULL) {
        return NULL;
    }
    simulation->count = hosts;
    simulation->tools = tools;
    simulation->beat_ms = beat_ms;
    (void)pthread_mutex_init(&simulation->lock, NULL);
    clock_cond_init(&simulation->changed);
    subject_add_token(&token, group, strlen(group));
    (void)snprintf(simulation->group, sizeof simulation->group, "%s", token.data);
    if (libnats_load(&err) < 0 || key_open(NULL, &simulation->key, &err) < 0 ||
        !connect_to(simulation, url) ||
        pthread_create(&simulation->thread, NULL, beat, simulation) != 0) {
        (void)fprintf(stderr, "the simulation does not start: %s\n", err.message);
        return NULL;
    }
    return simulation;
}

void simulation_toggle(struct simulation *simulation, unsigned host) {
    (void)pthread_mutex_lock(&simulation->lock);
    simulation->hosts[host].lacks_first = !simulation->hosts[host].lacks_first;
    simulation->hosts[host].changes++;
    announce(simulation, host, false);
    (void)pthread_mutex_unlock(&simulation->lock);
}

void simulation_leave(struct simulation *simulation, unsigned host) {
    (void)pthread_mutex_lock(&simulation->lock);
    simulation->hosts[host].is_gone = true;
    announce(simulation, host, true);
    (void)pthread_mutex_unlock(&simulation->lock);
}

void simulation_kill(struct simulation *simulation, unsigned host) {
    (void)pthread_mutex_lock(&simulation->lock);
    simulation->hosts[host].is_gone = true;
    (void)pthread_mutex_unlock(&simulation->lock);
}

unsigned long simulation_pages(struct simulation *simulation) {
    (void)pthread_mutex_lock(&simulation->lock);
    unsigned long pages = simulation->pages;
    (void)pthread_mutex_unlock(&simulation->lock);
    return pages;
}

void simulation_stop(struct simulation *simulation) {
    (void)pthread_mutex_lock(&simulation->lock);
    simulation->stops = true;
    (void)pthread_cond_broadcast(&simulation->changed);
    (void)pthread_mutex_unlock(&simulation->lock);
    (void)pthread_join(simulation->thread, NULL);
    nats.Connection_Close(simulation->connection);
    for (size_t i = 0; i < ARRAY_LENGTH(simulation->subscriptions); i++) {
        nats.Subscription_Destroy(simulation->subscriptions[i]);
    }
    nats.Connection_Destroy(simulation->connection);
    key_destroy(simulation->key);
    (void)pthread_cond_destroy(&simulation->changed);
    (void)pthread_mutex_destroy(&simulation->lock);
    free(simulation);
}
