/* listing.h - the tools as a list, made once for each state of the host. */
#pragma once

struct listing;

struct listing *listing_create(void);
void listing_destroy(struct listing *listing);
