/* rate.h - how many requests a party sends in a minute. */
#pragma once

#include <stdint.h>

struct rate;

struct rate *rate_create(void);
void rate_destroy(struct rate *rate);

/** What stands for a party, by its text: not 0. Nobody chooses with whom it shares one. */
uint64_t rate_key(const struct rate *rate, const char *party);

/** Count a request of a party. A minute's requests may come at once; then one comes after the
 * other.
 * @return 0; or after how many seconds the next may come: this one is refused */
uint32_t rate_take(struct rate *rate, uint64_t party, uint32_t per_minute);
