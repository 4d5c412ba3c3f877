/* exchange.h - one call on one lane: the frames in both directions. */
#pragma once

#include "worker/crew-parts.h"

/** How a call left its lane. */
enum exchange_end {
    EXCHANGE_DONE,    /* over: the lane is free */
    EXCHANGE_LEFT,    /* the tool still runs: the lane lingers */
    EXCHANGE_GONE,    /* the worker is dead; its death says why */
    EXCHANGE_NONSENSE /* the worker sent invalid data; err is set */
};

/** Exchange a call's frames on its lane. Unless the worker is GONE, *ret_code is what crew_run()
 * returns. [the lane's caller] */
enum exchange_end exchange_run(struct crew_call *call, struct crew_reply *ret, int *ret_code,
                               struct toolrack_error *err);

/** The state of a lane without a caller; does not wait. [supervisor] */
enum lingering { LINGER_ON, LINGER_OVER, LINGER_NONSENSE };
enum lingering exchange_linger(struct lane *lane);
