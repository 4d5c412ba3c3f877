/* proof.c - what two hosts say to each other about a call, and that it is they who say it.
 *
 * A message between two hosts has the code of key_code(), made with the secret of both: the call of
 * a tool that is not safe, what the calling host says of a call later (a control message), and each
 * message of the serving host. The statement has the subject that the call wants its answers at,
 * which no other call has: what belongs to one call is nothing for another. A call has a time and a
 * nonce too, and is taken once.
 *
 * Deriving the secret costs as much as a signature, so it is kept. */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "remote/nats/parts.h"

/* Secrets that are kept, each in the place that the hash of its public key gives it. */
#define SECRETS_MAX 1024u

struct kept_secret {
    char public[KEY_TEXT_ROOM]; /* "": the place is free */
    struct key_secret secret;
};

struct secrets {
    pthread_mutex_t lock;
    struct kept_secret places[SECRETS_MAX];
};

struct secrets *secrets_create(void) {
    struct secrets *secrets = calloc(1, sizeof *secrets);
    if (secrets != NULL) {
        (void)pthread_mutex_init(&secrets->lock, NULL);
    }
    return secrets;
}

void secrets_destroy(struct secrets *secrets) {
    if (secrets != NULL) {
        (void)pthread_mutex_destroy(&secrets->lock);
        sodium_memzero(secrets, sizeof *secrets);
        free(secrets);
    }
}

/* The secret of this host and another one. False: the text is no public key. */
static bool get_secret(const struct member *member, const char *public, struct key_secret *ret) {
    struct secrets *secrets = member->secrets;
    uint32_t place = 0;
    if (strlen(public) != KEY_TEXT_ROOM - 1) {
        return false;
    }
    memcpy(&place, public, sizeof place);
    struct kept_secret *kept = &secrets->places[place % SECRETS_MAX];
    (void)pthread_mutex_lock(&secrets->lock);
    bool is_kept = strcmp(kept->public, public) == 0;
    if (is_kept) {
        *ret = kept->secret;
    }
    (void)pthread_mutex_unlock(&secrets->lock);
    if (is_kept) {
        return true;
    }
    if (!key_agree(member->key, public, ret)) {
        return false;
    }
    (void)pthread_mutex_lock(&secrets->lock);
    memcpy(kept->public, public, sizeof kept->public);
    kept->secret = *ret;
    (void)pthread_mutex_unlock(&secrets->lock);
    return true;
}

static bool set_code(const struct member *member, const char *other,
                     const struct key_statement *statement, natsMsg *message) {
    struct key_secret secret;
    char code[KEY_TEXT_ROOM];
    if (!get_secret(member, other, &secret)) {
        return false;
    }
    key_code(&secret, key_public(member->key), statement, code);
    sodium_memzero(&secret, sizeof secret);
    return nats.MsgHeader_Set(message, HEADER_CODE, code) == NATS_OK;
}

static bool has_code(const struct member *member, const char *other,
                     const struct key_statement *statement, natsMsg *message) {
    struct key_secret secret;
    if (!get_secret(member, other, &secret)) {
        return false;
    }
    bool fits = key_code_fits(&secret, other, statement, member_header(message, HEADER_CODE));
    sodium_memzero(&secret, sizeof secret);
    return fits;
}

/* -------------------------------------------------------------------- call */

static bool prove_call(const struct member *member, const char *instance, const char *key,
                       const char *inbox, const struct buf *data, natsMsg *message) {
    char time[24];
    char nonce[KEY_NONCE_ROOM];
    (void)snprintf(time, sizeof time, "%lld", (long long)clock_wall_ms());
    key_nonce(nonce);
    const struct key_statement statement = {.purpose = "call",
                                            .group = member->group_token,
                                            .instance = instance,
                                            .time = time,
                                            .nonce = nonce,
                                            .data = data->data,
                                            .length = data->length,
                                            .reply = inbox};
    return nats.MsgHeader_Set(message, HEADER_TIME, time) == NATS_OK &&
           nats.MsgHeader_Set(message, HEADER_NONCE, nonce) == NATS_OK &&
           set_code(member, key, &statement, message);
}

bool proof_send_call(struct member *member, const char *instance, const char *key, bool is_proven,
                     const char *inbox, const struct buf *data) {
    char subject[SUBJECT_ROOM];
    natsMsg *message = NULL;
    (void)member_subject(member, subject, "host.%s.call", instance);
    if (key[0] == '\0') {
        return member_publish(member, subject, inbox, data);
    }
    bool is_sent =
            nats.Msg_Create(&message, subject, inbox, data->data, (int)data->length) == NATS_OK &&
            nats.MsgHeader_Set(message, HEADER_KEY, key_public(member->key)) == NATS_OK &&
            (!is_proven || prove_call(member, instance, key, inbox, data, message)) &&
            nats.Connection_PublishMsg(member->connection, message) == NATS_OK;
    nats.Msg_Destroy(message);
    return is_sent;
}

int proof_check_call(struct member *member, natsMsg *message, const char **ret_key,
                     struct toolrack_error *err) {
    const char *key = member_header(message, HEADER_KEY);
    const struct key_statement statement = {.purpose = "call",
                                            .group = member->group_token,
                                            .instance = member->instance,
                                            .time = member_header(message, HEADER_TIME),
                                            .nonce = member_header(message, HEADER_NONCE),
                                            .data = nats.Msg_GetData(message),
                                            .length = (size_t)nats.Msg_GetDataLength(message),
                                            .reply = nats.Msg_GetReply(message)};
    *ret_key = NULL;
    if (member_header(message, HEADER_CODE)[0] == '\0' || !member_obeys(member, key)) {
        return 0; /* as without a key */
    }
    if (!has_code(member, key, &statement, message)) {
        return error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                         "the code of the call does not fit; it is not by the key %s, or is of "
                         "another call",
                         key);
    }
    *ret_key = key;
    return nonces_take(member->nonces, statement.time, statement.nonce, clock_wall_ms(), err);
}

/* ----------------------------------------------------- later messages of it */

bool proof_send(struct member *member, const char *purpose, const char *instance, const char *key,
                const char *inbox, const struct buf *data) {
    natsMsg *message = NULL;
    char control[SUBJECT_ROOM];
    const char *subject = inbox;
    if (strcmp(purpose, "control") == 0) {
        subject = member_subject(member, control, "host.%s.control", instance);
    }
    if (key[0] == '\0' || data->failed) {
        return member_publish(member, subject, NULL, data);
    }
    const struct key_statement statement = {.purpose = purpose,
                                            .group = member->group_token,
                                            .instance = instance,
                                            .time = "",
                                            .nonce = "",
                                            .data = data->data,
                                            .length = data->length,
                                            .reply = inbox};
    natsStatus status = nats.Msg_Create(&message, subject, NULL, data->data, (int)data->length);
    status = status == NATS_OK && !set_code(member, key, &statement, message) ? NATS_NO_MEMORY
                                                                              : status;
    status = status == NATS_OK ? nats.Connection_PublishMsg(member->connection, message) : status;
    nats.Msg_Destroy(message);
    if (status != NATS_OK && !member->stops) {
        log_line(member->options.log, LOG_WARNING, "nats", "cannot publish to %s: %s", subject,
                 nats.Status_GetText(status));
    }
    return status == NATS_OK;
}

bool proof_check(const struct member *member, const char *purpose, const char *instance,
                 const char *key, const char *inbox, natsMsg *message) {
    const struct key_statement statement = {.purpose = purpose,
                                            .group = member->group_token,
                                            .instance = instance,
                                            .time = "",
                                            .nonce = "",
                                            .data = nats.Msg_GetData(message),
                                            .length = (size_t)nats.Msg_GetDataLength(message),
                                            .reply = inbox};
    return key[0] == '\0' || has_code(member, key, &statement, message);
}
