/* pick.c - which host gets a call, and what its end says of the host. */
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "remote/nats/peer.h"

/* How often a host is drawn by chance before all are looked at in turn: with most hosts fit, a tool
 * that 1,000 have costs no more than one that two have. */
#define DRAWS 8u

static uint64_t now_ms(void) {
    return clock_now_ns() / CLOCK_NS_PER_MS;
}

/* What is asked for in one choice. */
struct choice {
    const struct remote_tool *tool;
    const struct peer_pick *not_this;
    size_t not_count;
    uint64_t now_ms;
    bool slow; /* also hosts that get no calls at present */
};

static bool is_fit(const struct choice *choice, const struct peer *peer) {
    for (size_t i = 0; i < choice->not_count; i++) {
        if (strcmp(peer->instance, choice->not_this[i].instance) == 0) {
            return false;
        }
    }
    return choice->slow || breaker_allows(&peer->breaker, choice->now_ms);
}

/* One that may be asked, by chance, but not `but`; NULL: there is none. */
static struct peer *draw(const struct choice *choice, const struct peer *but) {
    const struct remote_tool *tool = choice->tool;
    uint32_t at = 0;
    for (unsigned i = 0; tool->host_count > 0 && i < DRAWS; i++) {
        at = randombytes_uniform((uint32_t)tool->host_count);
        if (tool->hosts[at] != but && is_fit(choice, tool->hosts[at])) {
            return tool->hosts[at];
        }
    }
    for (size_t i = 0; i < tool->host_count; i++) {
        struct peer *peer = tool->hosts[(at + i) % tool->host_count];
        if (peer != but && is_fit(choice, peer)) {
            return peer;
        }
    }
    return NULL;
}

static uint64_t load_of(const struct peer *peer) {
    return peer->running > peer->sent ? peer->running : peer->sent;
}

/* Of two the one with less load. Caller holds the lock. Slow hosts are asked where all are slow. */
static struct peer *choose(struct choice *choice) {
    struct peer *a = draw(choice, NULL);
    if (a == NULL) {
        choice->slow = true;
        a = draw(choice, NULL);
    }
    struct peer *b = a != NULL && choice->tool->host_count > 1 ? draw(choice, a) : NULL;
    return b != NULL && load_of(b) < load_of(a) ? b : a;
}

int peers_pick(struct member *member, const struct remote_tool *tool,
               const struct peer_pick *not_this, size_t count, struct peer_pick *ret,
               struct toolrack_error *err) {
    struct choice choice = {
            .tool = tool, .not_this = not_this, .not_count = count, .now_ms = now_ms()};
    (void)pthread_mutex_lock(&member->lock);
    bool can_send = !member->stops && atomic_load(&member->connected);
    struct peer *peer = can_send ? choose(&choice) : NULL;
    if (peer != NULL) {
        memcpy(ret->instance, peer->instance, sizeof ret->instance);
        memcpy(ret->name, peer->name, sizeof ret->name);
        (void)snprintf(ret->key, sizeof ret->key, "%s", peer->is_proven ? peer->key : "");
        peer->sent++;
        member->counts.sent++;
        breaker_begin(&peer->breaker);
    }
    (void)pthread_mutex_unlock(&member->lock);
    if (peer != NULL) {
        return 0;
    }
    return !atomic_load(&member->connected)
                   ? error_set(err, TOOLRACK_E_UNAVAILABLE,
                               "%s runs on other hosts, and the NATS server is not reached; try "
                               "again later",
                               tool->name)
                   : error_set(err, TOOLRACK_E_UNAVAILABLE,
                               "no host that has %s can be reached; try again later", tool->name);
}

static void note_late(struct member *member, struct peer *peer) {
    bool was_open = breaker_is_open(&peer->breaker);
    breaker_fail(&peer->breaker, now_ms());
    if (breaker_is_open(&peer->breaker)) {
        member->counts.ejected += !was_open;
        log_line(member->options.log, LOG_WARNING, "nats",
                 "the host %s did not answer %u calls in time; it gets none for %llu ms",
                 peer->name, peer->breaker.failures, (unsigned long long)peer->breaker.pause_ms);
    }
}

static void count(struct member *member, struct peer *peer, enum peer_outcome outcome) {
    uint64_t *const counted[] = {[PEER_ANSWERED] = &member->counts.answered,
                                 [PEER_LATE] = &member->counts.late,
                                 [PEER_CANCELLED] = &member->counts.cancelled,
                                 [PEER_GONE] = &member->counts.lost};
    (*counted[outcome])++;
    if (peer != NULL) {
        peer->sent -= peer->sent > 0; /* it may have gone and come back meanwhile */
        peer->calls++;
        peer->failed += outcome == PEER_LATE || outcome == PEER_GONE;
    }
}

void peers_ended(struct member *member, const struct peer_pick *pick, enum peer_outcome outcome) {
    (void)pthread_mutex_lock(&member->lock);
    struct peer *peer = peer_find(member, pick->instance);
    count(member, peer, outcome);
    if (peer != NULL) {
        switch (outcome) {
        case PEER_ANSWERED: breaker_succeed(&peer->breaker); break;
        case PEER_CANCELLED: breaker_forget(&peer->breaker); break;
        case PEER_LATE: note_late(member, peer); break;
        case PEER_GONE: peer_forget(member, peer); break;
        }
    }
    (void)pthread_mutex_unlock(&member->lock);
}
