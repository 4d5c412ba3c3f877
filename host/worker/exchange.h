/* exchange.h - one call on one lane: the frames that go there and back. */
#pragma once

#include "worker/crew-parts.h"

/** How a call left its lane. */
enum exchange_end {
    EXCHANGE_DONE,    /* over: the lane is free */
    EXCHANGE_LEFT,    /* the tool goes on: the lane lingers */
    EXCHANGE_GONE,    /* the worker is dead; its death says why */
    EXCHANGE_NONSENSE /* the worker cannot be understood; err is set */
};

/** Exchange a call's frames on its lane. *ret_code: as crew_run() returns it, where the worker is
 * not GONE. [the lane's caller] */
enum exchange_end exchange_run(struct crew_call *call, struct crew_reply *ret, int *ret_code,
                               struct toolrack_error *err);

/** What a lane without a caller has come to, without waiting. [supervisor] */
enum lingering { LINGER_ON, LINGER_OVER, LINGER_NONSENSE };
enum lingering exchange_linger(struct lane *lane);
