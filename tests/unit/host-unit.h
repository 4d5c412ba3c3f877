/* host-unit.h - a host with a configuration and a state folder of its own, on a clock that the test
 * sets: the program is linked with --wrap=clock_gettime. */
#pragma once

#include <stdatomic.h>
#include <yyjson.h>

#include "base/error.h"
#include "toolrack/toolrack.h"

extern struct toolrack *host; /* closed by host_tear_down() */
extern struct toolrack_error err;
extern char dir[64]; /* has the others */
extern char state_dir[80];
extern char config_file[80];
extern atomic_int later_s; /* what is added to the wall clock */

/** Make the folder with an empty configuration, and set the clock back. @return 0, or -1. */
int host_set_up(void);
/** cmocka's teardown. */
int host_tear_down(void **state);

void host_configure(const char *text);

/** Calls whose error is `err`. */
void assert_ok(int code);
void assert_error(int code, int expected, const char *part);

/** The JSON of a text, which is released. */
yyjson_doc *host_read_json(struct toolrack_text *text);
