/* micro.c - the tools of a host as micro services of NATS, for any of its clients.
 *
 * By ADR-32: a service answers $SRV.PING, $SRV.INFO and $SRV.STATS, each also with its name and its
 * id behind it, and has endpoints. There is an endpoint for each safe tool; clients have no key, so
 * they could call no other. The hosts of a group are instances of the same service, and share the
 * calls of an endpoint by its queue group. As many services are announced as are needed for each
 * answer to fit into a message. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json-string.h"
#include "remote/nats/parts.h"

#define QUEUE         "toolrack"
/* Endpoints of one service: about 400 bytes each, with what is counted of them. */
#define ENDPOINTS_MAX 1000u

/* Never freed before the member is: a message may just be delivered to it. */
struct endpoint {
    struct member *member;
    char name[SUBJECT_NAME_MAX + 1];
    char version[SUBJECT_NAME_MAX + 1];
    natsSubscription *subscription; /* NULL: no tool is there now */
    bool is_wanted;
    pthread_mutex_t lock; /* guards what is counted */
    uint64_t requests;
    uint64_t errors;
    uint64_t total_ns;
    char last_error[256];
};

void endpoint_count(struct endpoint *endpoint, uint64_t duration_ns,
                    const struct toolrack_error *err) {
    (void)pthread_mutex_lock(&endpoint->lock);
    endpoint->requests++;
    endpoint->total_ns += duration_ns;
    if (err != NULL) {
        endpoint->errors++;
        (void)snprintf(endpoint->last_error, sizeof endpoint->last_error, "%.250s", err->message);
    }
    (void)pthread_mutex_unlock(&endpoint->lock);
}

static void called(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                   void *user) {
    (void)connection;
    (void)subscription;
    struct endpoint *endpoint = user;
    CLEANUP(announced_unrefp) struct announced *catalogue = announced_get(endpoint->member);
    const struct own_tool *own =
            catalogue != NULL ? announced_find(catalogue, endpoint->name, endpoint->version) : NULL;
    if (own != NULL) {
        incoming_foreign(endpoint->member, endpoint, own, message);
    }
    nats.Msg_Destroy(message);
}

/* --------------------------------------------------------------- endpoints */

static const char *endpoint_subject(const struct endpoint *endpoint, char ret[SUBJECT_ROOM]) {
    CLEANUP(buf_finish) struct buf tokens = BUF_INIT;
    subject_add_token(&tokens, endpoint->name, strlen(endpoint->name));
    buf_add_char(&tokens, '.');
    subject_add_token(&tokens, endpoint->version, strlen(endpoint->version));
    return member_subject(endpoint->member, ret, "tool.%s", tokens.failed ? "" : tokens.data);
}

static struct endpoint *find(const struct member *member, const char *name, const char *version) {
    for (size_t i = 0; i < member->endpoint_count; i++) {
        struct endpoint *endpoint = member->endpoints[i];
        if (strcmp(endpoint->name, name) == 0 && strcmp(endpoint->version, version) == 0) {
            return endpoint;
        }
    }
    return NULL;
}

/* NULL: out of memory. */
static struct endpoint *add(struct member *member, const char *name, const char *version) {
    CLEANUP(freep) struct endpoint *endpoint = calloc(1, sizeof *endpoint);
    struct endpoint **grown =
            realloc(member->endpoints, (member->endpoint_count + 1) * sizeof(struct endpoint *));
    member->endpoints = grown != NULL ? grown : member->endpoints;
    if (endpoint == NULL || grown == NULL) {
        return NULL;
    }
    endpoint->member = member;
    (void)pthread_mutex_init(&endpoint->lock, NULL);
    (void)snprintf(endpoint->name, sizeof endpoint->name, "%s", name);
    (void)snprintf(endpoint->version, sizeof endpoint->version, "%s", version);
    member->endpoints[member->endpoint_count++] = endpoint;
    return STEAL(endpoint);
}

static void want(struct member *member, const struct toolrack_tool *tool) {
    const char *name = toolrack_tool_name(tool);
    const char *version = toolrack_tool_version(tool);
    if (toolrack_tool_permission(tool) != TOOLRACK_PERMISSION_SAFE ||
        strlen(version) > SUBJECT_NAME_MAX) {
        return;
    }
    struct endpoint *endpoint = find(member, name, version);
    endpoint = endpoint != NULL ? endpoint : add(member, name, version);
    if (endpoint != NULL) {
        endpoint->is_wanted = true;
    }
}

void micro_update(struct member *member, const struct announced *catalogue) {
    (void)pthread_mutex_lock(&member->lock);
    for (size_t i = 0; i < member->endpoint_count; i++) {
        member->endpoints[i]->is_wanted = false;
    }
    for (size_t i = 0; i < catalogue->count; i++) {
        want(member, catalogue->tools[i].tool);
    }
    (void)pthread_mutex_unlock(&member->lock);
    /* Only this thread adds endpoints. */
    for (size_t i = 0; i < member->endpoint_count; i++) {
        struct endpoint *endpoint = member->endpoints[i];
        char subject[SUBJECT_ROOM];
        natsSubscription *gone = NULL;
        if (!endpoint->is_wanted) {
            (void)pthread_mutex_lock(&member->lock);
            gone = STEAL(endpoint->subscription);
            (void)pthread_mutex_unlock(&member->lock);
        } else if (endpoint->subscription == NULL) {
            natsSubscription *made = NULL;
            (void)member_subscribe(member, endpoint_subject(endpoint, subject), QUEUE, called,
                                   endpoint, &made, NULL);
            (void)pthread_mutex_lock(&member->lock);
            endpoint->subscription = made;
            (void)pthread_mutex_unlock(&member->lock);
        }
        if (gone != NULL) {
            (void)nats.Subscription_Unsubscribe(gone);
            nats.Subscription_Destroy(gone);
        }
    }
}

void micro_stop(struct member *member) {
    for (size_t i = 0; i < member->endpoint_count; i++) {
        struct endpoint *endpoint = member->endpoints[i];
        if (endpoint->subscription != NULL) {
            (void)nats.Subscription_Unsubscribe(endpoint->subscription);
            nats.Subscription_Destroy(STEAL(endpoint->subscription));
        }
    }
}

void micro_destroy(struct member *member) {
    for (size_t i = 0; i < member->endpoint_count; i++) {
        (void)pthread_mutex_destroy(&member->endpoints[i]->lock);
        free(member->endpoints[i]);
    }
    free(member->endpoints);
}

/* ----------------------------------------------------------------- answers */

enum verb { PING, INFO, STATS };
static const char *const verbs[] = {[PING] = "PING", [INFO] = "INFO", [STATS] = "STATS"};
static const char *const types[] = {[PING] = "io.nats.micro.v1.ping_response",
                                    [INFO] = "io.nats.micro.v1.info_response",
                                    [STATS] = "io.nats.micro.v1.stats_response"};

/* How many services there are: at least one, so that a host without safe tools is found. */
static size_t service_count(const struct member *member) {
    size_t there = 0;
    for (size_t i = 0; i < member->endpoint_count; i++) {
        there += member->endpoints[i]->subscription != NULL;
    }
    return there == 0 ? 1 : (there + ENDPOINTS_MAX - 1) / ENDPOINTS_MAX;
}

/* "toolrack-GROUP", "toolrack-GROUP-2" ...: of letters, digits, "-" and "_". */
static void add_name(struct buf *out, const struct member *member, size_t service) {
    size_t from = out->length;
    buf_printf(out, "toolrack-%s", member->options.group);
    for (size_t i = from; !out->failed && i < out->length; i++) {
        char c = out->data[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || c == '-';
        out->data[i] = is_plain ? c : '_';
    }
    if (service > 0) {
        buf_printf(out, "-%zu", service + 1);
    }
}

static void add_string(struct buf *out, const char *name, const char *text) {
    buf_printf(out, "\"%s\":", name);
    if (!buf_add_json_text(out, text, strlen(text))) {
        buf_add_text(out, "\"\"");
    }
}

static void add_endpoint(struct buf *out, struct endpoint *endpoint, enum verb verb) {
    char subject[SUBJECT_ROOM];
    char name[2 * SUBJECT_NAME_MAX + 8];
    (void)snprintf(name, sizeof name, "%s-%s", endpoint->name, endpoint->version);
    for (char *c = name; *c != '\0'; c++) {
        *c = strchr(".+=", *c) != NULL ? '_' : *c;
    }
    buf_add_char(out, '{');
    add_string(out, "name", name);
    buf_add_char(out, ',');
    add_string(out, "subject", endpoint_subject(endpoint, subject));
    buf_add_text(out, ",\"queue_group\":\"" QUEUE "\",");
    if (verb == INFO) {
        buf_add_text(out, "\"metadata\":{");
        add_string(out, "tool", endpoint->name);
        buf_add_char(out, ',');
        add_string(out, "version", endpoint->version);
        buf_add_text(out, "}}");
        return;
    }
    (void)pthread_mutex_lock(&endpoint->lock);
    buf_printf(out,
               "\"num_requests\":%" PRIu64 ",\"num_errors\":%" PRIu64
               ",\"processing_time\":%" PRIu64 ",\"average_processing_time\":%" PRIu64 ",",
               endpoint->requests, endpoint->errors, endpoint->total_ns,
               endpoint->requests > 0 ? endpoint->total_ns / endpoint->requests : 0);
    add_string(out, "last_error", endpoint->last_error);
    (void)pthread_mutex_unlock(&endpoint->lock);
    buf_add_char(out, '}');
}

/* The answer of one service. Caller holds the lock of the member. */
static void write_answer(struct buf *out, const struct member *member, size_t service,
                         enum verb verb) {
    buf_add_text(out, "{\"type\":\"");
    buf_add_text(out, types[verb]);
    buf_add_text(out, "\",\"name\":\"");
    add_name(out, member, service);
    buf_printf(out, "\",\"id\":\"%s-%zu\",\"version\":\"%s\",\"metadata\":{", member->instance,
               service + 1, toolrack_version());
    add_string(out, "group", member->options.group);
    buf_add_char(out, ',');
    add_string(out, "host", member->options.name);
    buf_add_char(out, '}');
    if (verb == INFO) {
        buf_add_text(out, ",\"description\":\"tools of toolrack; a request has the arguments of a "
                          "call as a JSON object, the answer is its result\"");
    } else if (verb == STATS) {
        buf_printf(out, ",\"started\":\"%s\"", member->micro_started);
    }
    if (verb != PING) {
        size_t at = 0;
        const char *comma = "";
        buf_add_text(out, ",\"endpoints\":[");
        for (size_t i = 0; i < member->endpoint_count; i++) {
            if (member->endpoints[i]->subscription != NULL && at++ / ENDPOINTS_MAX == service) {
                buf_add_text(out, comma);
                add_endpoint(out, member->endpoints[i], verb);
                comma = ",";
            }
        }
        buf_add_char(out, ']');
    }
    buf_add_char(out, '}');
}

/* Whether a service is meant by what follows the verb: nothing, its name, or its name and id. */
static bool is_meant(const struct member *member, size_t service, const char *rest) {
    CLEANUP(buf_finish) struct buf name = BUF_INIT;
    if (rest[0] == '\0') {
        return true;
    }
    buf_add_char(&name, '.');
    add_name(&name, member, service);
    if (name.failed || strncmp(rest, name.data, name.length) != 0) {
        return false;
    }
    char id[INSTANCE_ROOM + 24];
    (void)snprintf(id, sizeof id, ".%s-%zu", member->instance, service + 1);
    rest += name.length;
    return rest[0] == '\0' || strcmp(rest, id) == 0;
}

void micro_answer(natsConnection *connection, natsSubscription *subscription, natsMsg *message,
                  void *user) {
    (void)connection;
    (void)subscription;
    struct member *member = user;
    const char *subject = nats.Msg_GetSubject(message) + strlen("$SRV.");
    const char *reply = member_reply(message);
    size_t verb = 0;
    while (verb < ARRAY_LENGTH(verbs) && (strncmp(subject, verbs[verb], strlen(verbs[verb])) != 0 ||
                                          strchr(".", subject[strlen(verbs[verb])]) == NULL)) {
        verb++;
    }
    if (reply != NULL && verb < ARRAY_LENGTH(verbs)) {
        (void)pthread_mutex_lock(&member->lock);
        size_t count = service_count(member);
        (void)pthread_mutex_unlock(&member->lock);
        for (size_t service = 0; service < count; service++) {
            CLEANUP(buf_finish) struct buf out = BUF_INIT;
            if (is_meant(member, service, subject + strlen(verbs[verb]))) {
                (void)pthread_mutex_lock(&member->lock);
                write_answer(&out, member, service, (enum verb)verb);
                (void)pthread_mutex_unlock(&member->lock);
                (void)member_publish(member, reply, NULL, &out);
            }
        }
    }
    nats.Msg_Destroy(message);
}

int micro_start(struct member *member, struct toolrack_error *err) {
    char text[CLOCK_TEXT_ROOM];
    (void)snprintf(member->micro_started, sizeof member->micro_started, "%.31s",
                   clock_wall_text(clock_wall_s(), text));
    int code = 0;
    for (size_t i = 0; i < ARRAY_LENGTH(verbs) && code == 0; i++) {
        char subject[32];
        (void)snprintf(subject, sizeof subject, "$SRV.%s", verbs[i]);
        code = member_keep_subscribed(member, subject, micro_answer, err);
        (void)snprintf(subject, sizeof subject, "$SRV.%s.>", verbs[i]);
        code = code < 0 ? code : member_keep_subscribed(member, subject, micro_answer, err);
    }
    return code;
}
