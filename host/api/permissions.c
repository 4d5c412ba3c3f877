/* The functions that the API forwards to the permit. */
#include "api/follow.h"
#include "api/host.h"

int toolrack_grant(struct toolrack *host, const char *name, uint64_t seconds, const char *who,
                   struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    int code = permit_grant(host->permit, name, seconds, host_who(host, who), NULL, err);
    bool is_renewed = code == 0 && life_renew_covered(host->life, name);
    code = follow_end(host, &telling, is_renewed ? HOSTS_CONTENT : HOSTS_DECISION, code);
    return follow_not_found(host, code, err);
}

int toolrack_allow(struct toolrack *host, const char *plugin, const char *capability,
                   const char *who, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    int code = follow_end(host, &telling, HOSTS_CONTENT,
                          life_allow(host->life, plugin, capability, host_who(host, who), err));
    atomic_store(&host->applies_at_start, code == 0 && life_is_foreign(host->life, plugin));
    return code;
}

int toolrack_disallow(struct toolrack *host, const char *plugin, const char *capability,
                      const char *who, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    int code = follow_end(host, &telling, HOSTS_CONTENT,
                          life_disallow(host->life, plugin, capability, host_who(host, who), err));
    atomic_store(&host->applies_at_start, code == 0 && life_is_foreign(host->life, plugin));
    return code;
}

int toolrack_allowances(struct toolrack *host, struct toolrack_text **ret,
                        struct toolrack_error *err) {
    HOST_SCOPE(host);
    return life_allowances(host->life, ret, err);
}

int toolrack_revoke(struct toolrack *host, const char *name, const char *who,
                    struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    int code = follow_end(host, &telling, HOSTS_DECISION,
                          permit_revoke(host->permit, name, host_who(host, who), NULL, err));
    return follow_not_found(host, code, err);
}

int toolrack_grants(struct toolrack *host, struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return permit_grants(host->permit, ret, err);
}

int toolrack_pending(struct toolrack *host, struct toolrack_text **ret,
                     struct toolrack_error *err) {
    HOST_SCOPE(host);
    return permit_pending(host->permit, NULL, ret, err);
}

int toolrack_pending_of(struct toolrack *host, const struct toolrack_pending_filter *filter,
                        struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return permit_pending(host->permit, filter, ret, err);
}

int toolrack_resolve(struct toolrack *host, const char *id, enum toolrack_approval approval,
                     const char *who, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    return follow_end(host, &telling, HOSTS_DECISION,
                      permit_resolve(host->permit, id, approval, host_who(host, who), err));
}

int toolrack_decisions(struct toolrack *host, const struct toolrack_decisions_filter *filter,
                       struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return permit_decisions(host->permit, filter, ret, err);
}
