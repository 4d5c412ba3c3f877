/* config-reading.h - what the readers of the configuration's members share.
 *
 *   config.c         the file, its members, and questions about them
 *   config-policy.c  the members about isolation and capabilities */
#pragma once

#include "api/config.h"

/* What a member's reader needs. */
struct reading {
    struct config *config;
    const char *path; /* of the file, for messages */
    struct toolrack_error *err;
};

/** The error of a member at `pointer`; `reason` follows it in the message. Returns its code. */
int config_wrong(const struct reading *reading, const char *pointer, const char *reason);

/** "process" or "none"; `value` NULL is not stated. */
int config_read_isolation(const struct reading *reading, const char *pointer, yyjson_val *value,
                          enum isolation *ret);
/** "off", "warn" or "enforce", likewise. */
int config_read_pin(const struct reading *reading, const char *pointer, yyjson_val *value,
                    enum pin_policy *ret);

/* Members of the root. */
int config_read_isolation_member(const struct reading *reading, yyjson_val *value);
int config_read_require_sandbox(const struct reading *reading, yyjson_val *value);
int config_read_pin_member(const struct reading *reading, yyjson_val *value);
int config_read_paths(const struct reading *reading, yyjson_val *value);
int config_read_policies(const struct reading *reading, yyjson_val *value);
