/* gate.h - where the tools of a test wait, until the test lets them go on or they are cancelled. */
#pragma once

#include <stdbool.h>

struct tr_call;

/** Wait; whether the call goes on, which it does unless it was cancelled. */
bool gate_pass(struct tr_call *call);

/** Let those that wait go on, and those that come. */
void gate_open(void);
/** Shut it again, and count anew. */
void gate_reset(void);

/** How many have come, and how many of them were cancelled; or wait until there are so many. */
unsigned gate_come(void);
unsigned gate_cancelled(void);
void gate_await_come(unsigned count);
void gate_await_cancelled(unsigned count);
