/* filter-make.h - the system call filters, made while toolrack is built.
 *
 * A filter depends on a few grants only, so there are FILTER_COUNT of them, and all are made in
 * advance (filter-make.c writes them as C). When a host made the one that it needed, that and
 * loading libseccomp took 0.6 of the 9.7 ms of `toolrack call` with an isolated plugin, and 0.1 of
 * the 1.4 ms of `toolrack version`. */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

/* What a filter depends on; their sum is its number. */
enum filter_grant {
    FILTER_TCP = 1 << 0,
    FILTER_UDP = 1 << 1,
    FILTER_SPAWN = 1 << 2,
    FILTER_FILES = 1 << 3,
    FILTER_TRUNCATE = 1 << 4 /* the kernel's Landlock controls truncate() */
};
#define FILTER_COUNT 32u

/** The filters, one after the other; filter n ends where filter n + 1 begins. */
extern const struct sock_filter filter_instructions[];
extern const unsigned filter_begins[FILTER_COUNT + 1];

/* As libseccomp names them. A tree instead of a list: a lookup takes few steps, also for each call
 * that the kernel evaluates when the filter is put into force. */
enum filter_form { FILTER_LIST = 1, FILTER_TREE = 2 };

/** Compile a filter. Not part of the library: of the program that makes them, and of a test.
 * @param ret  has room for `room` instructions
 * @return 0, or what libseccomp returned, and what for: what it refused first */
int filter_make(unsigned grants, enum filter_form form, struct sock_filter *ret, size_t room,
                size_t *ret_count, const char **ret_what);
