/* tokens-parts.h - for the files tokens*.c of this folder. */
#pragma once

#include "base/lock.h"
#include "permit/tokens.h"
#include "store/tokens.h"

struct table;

struct tokens {
    struct tokens_options options;
    struct lock read_lock;
    struct lock lock;                     /* guards the pointer; taken after read_lock */
    struct table *table;                  /* a reference */
    struct toolrack_token_grant *of_file; /* guarded by `lock`; a reference, or NULL */
};

/** The token of a file, as a reference; NULL: there is none. [any-thread] */
struct toolrack_token_grant *tokens_of_file(struct tokens *tokens);

/** What the store has of a secret. */
void tokens_hash(const char *secret, unsigned char ret[STORE_SHA256_SIZE]);
