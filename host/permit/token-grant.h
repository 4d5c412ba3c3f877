/* token-grant.h - what a token gives, as it is held in memory. */
#pragma once

#include <stdatomic.h>

#include "store/tokens.h"
#include "toolrack/serving.h"

struct toolrack_token_grant {
    atomic_uint refs;
    atomic_bool revoked;
    struct store_token token; /* its strings and `tools` are in the memory behind this struct */
    const char *const *tools; /* NULL-terminated; NULL: all */
};

/** A copy, with one reference; NULL when out of memory. */
struct toolrack_token_grant *token_grant_create(const struct store_token *token);

/** Whether it has not expired by this time. */
bool token_grant_lasts(const struct toolrack_token_grant *grant, int64_t now_s);
