/* Sessions: the table, and what a request shows of its own.
 *
 * Invariants, guarded by `lock`:
 *
 *  (1) A slot has a session, with a reference, or NULL.
 *  (2) At most SESSIONS_OF_TOKEN of them have the same token. */
#include "serve/http/session.h"

#include <sodium.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/lock.h"
#include "base/object.h"
#include "serve/http/heads.h"
#include "toolrack/serving.h"

#define HASH_BYTES 32u
#define BITS_BYTES 32u

struct session {
    uint32_t magic;
    atomic_uint refs;
    atomic_bool ended;
    unsigned char cookie[HASH_BYTES];
    unsigned char csrf[HASH_BYTES];
    struct toolrack_token_grant *grant;
    uint64_t end_s;
    uint64_t used; /* sessions.uses when it was used last; under their lock */
};
#define SESSION_MAGIC 0x73657373u

struct sessions {
    struct lock lock;
    uint64_t uses;
    struct session *slots[SESSIONS_MAX];
};

struct sessions *sessions_create(void) {
    struct sessions *sessions = sodium_init() >= 0 ? calloc(1, sizeof *sessions) : NULL;
    if (sessions != NULL) {
        lock_init(&sessions->lock);
    }
    return sessions;
}

void session_unref(struct session *session) {
    if (session == NULL) {
        return;
    }
    OBJECT_CHECK(session, SESSION_MAGIC);
    if (atomic_fetch_sub_explicit(&session->refs, 1, memory_order_acq_rel) == 1) {
        toolrack_token_grant_unref(session->grant);
        sodium_memzero(session->cookie, sizeof session->cookie);
        sodium_memzero(session->csrf, sizeof session->csrf);
        OBJECT_WIPE(session, SESSION_MAGIC);
        free(session);
    }
}

void session_end(struct session *session) {
    OBJECT_CHECK(session, SESSION_MAGIC);
    atomic_store(&session->ended, true);
}

bool session_holds(const struct session *session) {
    OBJECT_CHECK(session, SESSION_MAGIC);
    return !atomic_load(&session->ended) && toolrack_token_grant_holds(session->grant);
}

struct toolrack_token_grant *session_grant(const struct session *session) {
    OBJECT_CHECK(session, SESSION_MAGIC);
    return session->grant;
}

uint64_t session_end_s(const struct session *session) {
    OBJECT_CHECK(session, SESSION_MAGIC);
    return session->end_s;
}

static void empty(struct session **slot) {
    if (*slot != NULL) {
        session_end(*slot);
        session_unref(*slot);
        *slot = NULL;
    }
}

void sessions_destroy(struct sessions *sessions) {
    if (sessions != NULL) {
        for (size_t i = 0; i < SESSIONS_MAX; i++) {
            empty(&sessions->slots[i]);
        }
        lock_finish(&sessions->lock);
        free(sessions);
    }
}

/* ---------------------------------------------------------------- beginning */

static void hash(const char *secret, size_t length, unsigned char ret[static HASH_BYTES]) {
    (void)crypto_generichash(ret, HASH_BYTES, (const unsigned char *)secret, length, NULL, 0);
}

static void make_secret(char ret[static SESSION_SECRET_ROOM],
                        unsigned char ret_hash[static HASH_BYTES]) {
    unsigned char bits[BITS_BYTES];
    randombytes_buf(bits, sizeof bits);
    (void)sodium_bin2hex(ret, SESSION_SECRET_ROOM, bits, sizeof bits);
    sodium_memzero(bits, sizeof bits);
    hash(ret, SESSION_SECRET_ROOM - 1, ret_hash);
}

static bool is_over(const struct session *session, uint64_t now_s) {
    return now_s >= session->end_s || !session_holds(session);
}

static bool is_older(const struct session *session, struct session *const *than) {
    return than == NULL || session->used < (*than)->used;
}

/* The slot for a new session of a token, empty. */
static struct session **make_room(struct sessions *sessions, struct toolrack_token_grant *grant,
                                  uint64_t now_s) {
    struct session **unused = NULL;
    struct session **oldest = NULL;
    struct session **oldest_own = NULL;
    const char *id = toolrack_token_grant_id(grant);
    unsigned own = 0;
    LOCK_ASSERT_HELD(&sessions->lock);
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        struct session **slot = &sessions->slots[i];
        if (*slot != NULL && is_over(*slot, now_s)) {
            empty(slot);
        }
        if (*slot == NULL) {
            unused = slot;
            continue;
        }
        oldest = is_older(*slot, oldest) ? slot : oldest;
        if (strcmp(toolrack_token_grant_id((*slot)->grant), id) == 0) {
            own++;
            oldest_own = is_older(*slot, oldest_own) ? slot : oldest_own;
        }
    }
    struct session **slot = own >= SESSIONS_OF_TOKEN ? oldest_own
                            : unused != NULL         ? unused
                                                     : oldest;
    empty(slot);
    return slot;
}

bool sessions_begin(struct sessions *sessions, struct toolrack_token_grant *grant, uint64_t now_s,
                    char ret_cookie[static SESSION_SECRET_ROOM],
                    char ret_csrf[static SESSION_SECRET_ROOM]) {
    struct session *session = calloc(1, sizeof *session);
    if (session == NULL) {
        return false;
    }
    session->magic = SESSION_MAGIC;
    atomic_init(&session->refs, 1);
    session->grant = toolrack_token_grant_ref(grant);
    session->end_s = now_s + SESSION_S;
    make_secret(ret_cookie, session->cookie);
    make_secret(ret_csrf, session->csrf);
    LOCK_SCOPE(&sessions->lock);
    session->used = ++sessions->uses;
    *make_room(sessions, grant, now_s) = session;
    return true;
}

/* ---------------------------------------------------------------- finding */

/* The hashes of the cookies of a name that may be a secret. */
static size_t read_cookies(const char *text, const char *name,
                           unsigned char ret[static SESSION_COOKIES_MAX][HASH_BYTES]) {
    size_t count = 0;
    size_t name_length = strlen(name);
    while (text != NULL && *text != '\0' && count < SESSION_COOKIES_MAX) {
        text = heads_skip_spaces(text);
        size_t length = strcspn(text, ";");
        const char *end = text + length;
        while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
            length--;
        }
        if (length == name_length + 1 + SESSION_SECRET_ROOM - 1 &&
            strncmp(text, name, name_length) == 0 && text[name_length] == '=') {
            hash(text + name_length + 1, SESSION_SECRET_ROOM - 1, ret[count++]);
        }
        text = *end == ';' ? end + 1 : end;
    }
    return count;
}

/* Whether one of these cookies and the second secret are those of a session. */
static bool is_of(const struct session *session, const unsigned char csrf[static HASH_BYTES],
                  unsigned char cookies[][HASH_BYTES], size_t count) {
    bool has_cookie = false;
    for (size_t i = 0; i < count; i++) {
        has_cookie |= sodium_memcmp(session->cookie, cookies[i], HASH_BYTES) == 0;
    }
    bool has_csrf = sodium_memcmp(session->csrf, csrf, HASH_BYTES) == 0;
    return has_cookie && has_csrf;
}

struct session *sessions_find(struct sessions *sessions, const char *cookies, const char *name,
                              const char *csrf, uint64_t now_s) {
    unsigned char own[SESSION_COOKIES_MAX][HASH_BYTES];
    unsigned char second[HASH_BYTES];
    size_t count = read_cookies(cookies, name, own);
    struct session *found = NULL;
    hash(csrf, strlen(csrf), second);
    LOCK_SCOPE(&sessions->lock);
    for (size_t i = 0; i < SESSIONS_MAX; i++) {
        struct session *session = sessions->slots[i];
        if (session != NULL && is_of(session, second, own, count)) {
            found = session;
        }
    }
    if (found == NULL || is_over(found, now_s)) {
        return NULL;
    }
    found->used = ++sessions->uses;
    (void)atomic_fetch_add_explicit(&found->refs, 1, memory_order_relaxed);
    return found;
}
