/* config-reading.h - what the readers of the configuration's members share.
 *
 *   config.c         the file, its members, and questions about them
 *   config-policy.c  the members about isolation and capabilities */
#pragma once

#include "config/config.h"

/* What a member's reader needs. */
struct reading {
    struct config *config;
    const char *path;          /* of the file, for messages */
    const char *example;       /* how the member could be written, or NULL */
    struct problems *problems; /* NULL: the first error ends the reading */
    struct toolrack_error *err;
};

/** Tell what is wrong at `pointer`; `reason` follows it in the message. Returns the code of the
 * error, or 0 where problems are gathered and the reading goes on. */
int config_wrong(const struct reading *reading, const char *pointer, const char *reason);
/** The same with a format for the pointer. */
int config_wrong_at(const struct reading *reading, const char *reason, const char *pointer, ...)
        TOOLRACK_PRINTF(3, 4);
/** The same of a key that is not known in the object at `parent`; `nearest` may be NULL. */
int config_unknown(const struct reading *reading, const char *parent, const char *key,
                   const char *nearest);
/** Whether an object has only keys of a list that ends in NULL; a value of another kind has none.
 */
int config_check_keys(const struct reading *reading, const char *parent, yyjson_val *value,
                      const char *const *known);

/** The member "isolation" of the object at `parent`: "process" or "none"; NULL is not stated. */
int config_read_isolation(const struct reading *reading, const char *parent, yyjson_val *value,
                          enum isolation *ret);
/** "off", "warn" or "enforce", likewise. */
int config_read_pin(const struct reading *reading, const char *parent, yyjson_val *value,
                    enum pin_policy *ret);

/* Members of the root. */
int config_read_isolation_member(const struct reading *reading, yyjson_val *value);
int config_read_require_sandbox(const struct reading *reading, yyjson_val *value);
int config_read_pin_member(const struct reading *reading, yyjson_val *value);
int config_read_paths(const struct reading *reading, yyjson_val *value);
int config_read_policies(const struct reading *reading, yyjson_val *value);
