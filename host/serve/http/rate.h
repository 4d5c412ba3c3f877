/* rate.h - how many requests a client sends in a minute. */
#pragma once

#include <stdint.h>

struct rate;

struct rate *rate_create(void);
void rate_destroy(struct rate *rate);

/** Count a request of a client. A minute's requests may come at once; then one comes after the
 * other.
 * @return 0; or after how many seconds the next may come: this one is refused */
uint32_t rate_take(struct rate *rate, const char *client, uint32_t per_minute);
