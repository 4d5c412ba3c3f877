#include "api/share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/defaults.h"
#include "api/follow.h"
#include "api/host.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "toolrack/records.h"

bool share_digest(struct toolrack *host, const char *selector, char ret[ANNOUNCE_DIGEST_ROOM]) {
    CLEANUP(buf_finish) struct buf json = BUF_INIT;
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(host->registry, selector);
    if (tool == NULL) {
        return false;
    }
    announce_write(&json, tool);
    if (json.failed) {
        return false;
    }
    announce_digest(json.data, json.length, ret);
    return true;
}

/* "alice on the host gpu-1, 2026-11-29T08:00:00Z", or without who it was. */
static const char *describe_who(const struct decision *decision, char ret[STORE_WHO_SIZE]) {
    char time[CLOCK_TEXT_ROOM];
    (void)snprintf(ret, STORE_WHO_SIZE, "%.40s%sthe host %s, %s",
                   decision->who != NULL ? decision->who : "", decision->who != NULL ? " on " : "",
                   decision->name, clock_wall_text(decision->stamp / 1000, time));
    return ret;
}

static int set(struct toolrack *host, const struct decision *decision,
               const struct store_shared_order *order, const char *who,
               struct toolrack_error *err) {
    bool is_enabled = decision->kind == STORE_SHARED_ENABLED;
    const char *value = decision->value;
    return host_set(host,
                    &(struct store_setting){
                            .selector = decision->selector,
                            .has_enabled = is_enabled,
                            .enabled = is_enabled && value != NULL && strcmp(value, "true") == 0,
                            .has_priority = !is_enabled,
                            .priority = !is_enabled && value != NULL ? atoi(value) : 0,
                            .clears = value == NULL,
                            .order = order},
                    who, err);
}

static int set_default(struct toolrack *host, const struct decision *decision,
                       const struct store_shared_order *order, const char *who,
                       struct toolrack_error *err) {
    char digest[ANNOUNCE_DIGEST_ROOM];
    CLEANUP(buf_finish) struct buf selector = BUF_INIT;
    if (decision->value == NULL) {
        int code = defaults_set(host, decision->selector, NULL, NULL, who, order, err);
        if (code == 0) {
            life_settle_name(host->life, decision->selector);
        }
        return code;
    }
    size_t length = strcspn(decision->value, " ");
    buf_printf(&selector, "%s@%.*s", decision->selector, (int)length, decision->value);
    if (selector.failed) {
        return error_oom(err);
    }
    if (!share_digest(host, selector.data, digest) ||
        strcmp(digest, decision->value + length + 1) != 0) {
        return error_set(err, TOOLRACK_E_NOT_FOUND, "%s is not the same tool here", selector.data);
    }
    return defaults_set(host, decision->selector, strchr(selector.data, '@') + 1, NULL, who, order,
                        err);
}

static int grant(struct toolrack *host, const struct decision *decision,
                 const struct store_shared_order *order, const char *who,
                 struct toolrack_error *err) {
    long long until_s = decision->value != NULL ? atoll(decision->value) : 0;
    struct hosts_telling telling;
    follow_begin(host, &telling);
    int code;
    if (decision->value == NULL || (until_s != 0 && until_s <= order->now_s)) {
        code = permit_revoke(host->permit, decision->selector, who, order, err);
        code = code == TOOLRACK_E_NOT_FOUND ? 0 : code; /* all the same it is noted */
    } else {
        uint64_t seconds = until_s != 0 ? (uint64_t)(until_s - order->now_s) : 0;
        code = permit_grant(host->permit, decision->selector, seconds, who, order, err);
    }
    bool is_renewed = code == 0 && decision->value != NULL &&
                      life_renew_covered(host->life, decision->selector);
    return follow_end(host, &telling, is_renewed ? HOSTS_CONTENT : HOSTS_DECISION, code);
}

static int list(struct toolrack *host, const struct decision *decision,
                const struct store_shared_order *order, const char *who,
                struct toolrack_error *err) {
    struct hosts_telling telling;
    follow_begin(host, &telling);
    int code;
    if (decision->value != NULL) {
        enum toolrack_mark mark = strcmp(decision->value, "whitelist") == 0
                                          ? TOOLRACK_MARK_WHITELIST
                                          : TOOLRACK_MARK_BLACKLIST;
        code = choose_mark(host->choose, mark, decision->selector, true, decision->why, who, order,
                           err);
    } else {
        code = choose_mark(host->choose, TOOLRACK_MARK_BLACKLIST, decision->selector, false, NULL,
                           who, order, err);
        if (code == TOOLRACK_E_NOT_FOUND) {
            code = choose_mark(host->choose, TOOLRACK_MARK_WHITELIST, decision->selector, false,
                               NULL, who, order, err);
        }
        if (code == TOOLRACK_E_NOT_FOUND) { /* it is on none */
            code = store_shared_settle(host->store, order->group, order->thing, order->host, err);
        }
    }
    return follow_end(host, &telling, HOSTS_DECISION, code);
}

int share_carry_out(struct toolrack *host, const struct decision *decision,
                    const struct store_shared_order *order, struct toolrack_error *err) {
    char who[STORE_WHO_SIZE];
    (void)describe_who(decision, who);
    switch (decision->kind) {
    case STORE_SHARED_ENABLED:
    case STORE_SHARED_PRIORITY: return set(host, decision, order, who, err);
    case STORE_SHARED_DEFAULT: return set_default(host, decision, order, who, err);
    case STORE_SHARED_GRANT: return grant(host, decision, order, who, err);
    case STORE_SHARED_LIST: return list(host, decision, order, who, err);
    case STORE_SHARED_KINDS: break;
    }
    return error_set(err, TOOLRACK_E_INVALID, "the decision is of no kind");
}

/* Room for the value of a decision in words. */
#define VALUE_ROOM 96u

/* A value as a person says it: of "grant", when it ends. */
static const char *describe_value(const struct decision *decision, char ret[VALUE_ROOM]) {
    const char *value = decision->value;
    char time[CLOCK_TEXT_ROOM];
    if (decision->kind == STORE_SHARED_ENABLED) {
        return value == NULL                ? "as configured"
               : strcmp(value, "true") == 0 ? "enabled"
                                            : "disabled";
    }
    if (decision->kind != STORE_SHARED_GRANT) {
        (void)snprintf(ret, VALUE_ROOM, "%s %.64s", decision_kind_name(decision->kind),
                       value != NULL ? value : "none");
    } else if (value == NULL) {
        return "revoked";
    } else if (atoll(value) == 0) {
        return "granted until it is revoked";
    } else {
        (void)snprintf(ret, VALUE_ROOM, "granted until %s", clock_wall_text(atoll(value), time));
    }
    return ret;
}

void share_note_overruled(struct toolrack *host, const struct decision *loser,
                          const struct decision *winner) {
    char who[STORE_WHO_SIZE];
    char by[STORE_WHO_SIZE];
    char why[3 * STORE_WHO_SIZE];
    char lost[VALUE_ROOM];
    char won[VALUE_ROOM];
    CLEANUP(freep) char *name = strndup(loser->selector, strcspn(loser->selector, "@"));
    CLEANUP(toolrack_tool_unrefp)
    struct toolrack_tool *tool = registry_get(host->registry, loser->selector);
    const char *version = strchr(loser->selector, '@');
    (void)snprintf(why, sizeof why, "%s; at the same time it was %s by %s",
                   describe_value(loser, lost), describe_value(winner, won),
                   describe_who(winner, by));
    permit_note(host->permit,
                &(struct store_decision){.tool = name,
                                         .version = version != NULL ? version + 1 : NULL,
                                         .plugin = tool != NULL ? toolrack_tool_plugin(tool) : NULL,
                                         .origin = tool != NULL ? tool->reg->plugin->origin : NULL,
                                         .decision = "overruled",
                                         .who = describe_who(loser, who),
                                         .why = why});
}
