/* The functions that the API forwards to record and choose. */
#include "toolrack/records.h"
#include "api/follow.h"
#include "api/host.h"

int toolrack_log(struct toolrack *host, const struct toolrack_log_filter *filter,
                 struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return record_log(host->record, filter, ret, err);
}

int toolrack_statistics(struct toolrack *host, const char *name, struct toolrack_text **ret,
                        struct toolrack_error *err) {
    HOST_SCOPE(host);
    return record_statistics(host->record, name, ret, err);
}

int toolrack_flush(struct toolrack *host, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return record_flush(host->record, err);
}

int toolrack_recommend(struct toolrack *host, const struct toolrack_recommend_options *options,
                       struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return choose_recommend(host->choose, options, ret, err);
}

int toolrack_feedback(struct toolrack *host, const char *name, bool good, uint64_t call,
                      const char *who, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return choose_feedback(host->choose, name, good, call, host_who(host, who), err);
}

int toolrack_mark(struct toolrack *host, enum toolrack_mark mark, const char *name, bool on,
                  const char *why, const char *who, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct hosts_telling telling;
    follow_begin(host, &telling);
    int code = follow_end(
            host, &telling, HOSTS_DECISION,
            choose_mark(host->choose, mark, name, on, why, host_who(host, who), NULL, err));
    return follow_not_found(host, code, err);
}

int toolrack_marked(struct toolrack *host, enum toolrack_mark mark, struct toolrack_text **ret,
                    struct toolrack_error *err) {
    HOST_SCOPE(host);
    return choose_marked(host->choose, mark, ret, err);
}
