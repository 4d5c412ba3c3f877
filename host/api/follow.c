#include "api/follow.h"

#include <string.h>

#include "api/host.h"
#include "base/error.h"
#include "base/name.h"
#include "permit/tokens.h"
#include "record/tasks.h"
#include "store/defaults.h"

/* -------------------------------------------------------------------- tell */

void follow_begin(struct toolrack *host, struct hosts_telling *ret) {
    atomic_store(&host->applies_at_start, false);
    hosts_begin(host->hosts, ret);
}

int follow_end(struct toolrack *host, struct hosts_telling *telling, enum hosts_change change,
               int code) {
    if (code < 0) {
        hosts_cancel(telling);
        return code;
    }
    hosts_end(host->hosts, telling, change);
    host_decided(host);
    return 0;
}

int follow_not_found(struct toolrack *host, int code, struct toolrack_error *err) {
    struct hosts_telling telling;
    if (code != TOOLRACK_E_NOT_FOUND) {
        return code;
    }
    hosts_begin(host->hosts, &telling);
    if (telling.count > 0) {
        error_append(err, "if a running app brings it itself, only that app can decide about it");
    }
    hosts_cancel(&telling);
    return code;
}

void follow_tell(struct toolrack *host, enum hosts_change change) {
    hosts_tell(host->hosts, change);
}

void toolrack_reached(struct toolrack *host, struct toolrack_reached *reached) {
    HOST_SCOPE(host);
    struct hosts_count last;
    hosts_last(host->hosts, &last);
    size_t size = reached->size;
    struct toolrack_reached full = {.size = size, .applied = last.applied, .silent = last.silent};
    full.unreachable = last.unreachable;
    full.at_start = atomic_load(&host->applies_at_start);
    memcpy(reached, &full, size < sizeof full ? size : sizeof full);
}

/* ------------------------------------------------------------------- follow */

static bool report(const struct toolrack *host, int code, const struct toolrack_error *err) {
    if (code < 0) {
        log_line(&host->log, LOG_ERROR, "store",
                 "what another process has decided is not in effect, and is read again with the "
                 "next "
                 "decision: %s",
                 err->message);
    }
    return code == 0;
}

static void add_choice(void *user, const struct store_default *chosen) {
    uint64_t *hash = user;
    *hash = *hash * 31 + name_hash(chosen->tool, strlen(chosen->tool));
    *hash = *hash * 31 + name_hash(chosen->identity, strlen(chosen->identity));
}

/* The names that an administrator gave to other plugins since the last time. */
static void follow_choices(struct toolrack *host) {
    struct toolrack_error unheard; /* the caller has reported that the store cannot be read */
    uint64_t hash = 0;
    if (store_choices_read(host->store, add_choice, &hash, &unheard) == 0 &&
        atomic_exchange(&host->choices, hash) != hash) {
        life_settle_name(host->life, NULL);
    }
}

bool follow_decisions(void *user) {
    struct toolrack *host = user;
    struct toolrack_error err;
    bool was_unread = atomic_exchange(&host->settings_unread, false);
    bool is_followed = tokens_follow(host->tokens);
    is_followed = tasks_follow(host->tasks) && is_followed;
    int code = permit_follow(host->permit, &err);
    if (code < 0 && was_unread) {
        atomic_store(&host->settings_unread, true);
    }
    if (code == 0) {
        follow_choices(host);
        life_retry_bound(host->life);
        code = life_follow(host->life, &err);
    }
    if (code == 0 && permit_withholds(host->permit)) {
        code = permit_admit(host->permit, &err);
    }
    host_decided(host);
    return report(host, code, &err) && is_followed;
}

bool follow_contents(void *user) {
    struct toolrack *host = user;
    struct toolrack_error err;
    return report(host, life_follow_contents(host->life, &err), &err);
}
