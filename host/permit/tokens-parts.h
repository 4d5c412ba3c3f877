/* tokens-parts.h - for the files tokens*.c of this folder. */
#pragma once

#include "base/lock.h"
#include "permit/tokens.h"
#include "store/tokens.h"

struct table;

struct tokens {
    struct tokens_options options;
    struct lock read_lock;
    struct lock lock;    /* guards the pointer; taken after read_lock */
    struct table *table; /* a reference */
};

/** What the store has of a secret. */
void tokens_hash(const char *secret, unsigned char ret[STORE_SHA256_SIZE]);
