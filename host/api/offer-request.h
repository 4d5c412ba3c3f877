/* offer-request.h - what is asked of offer.h: is it a request, and which functions of plugins is it
 * for? And the handle of a request, which the app has in place of that of a call. */
#pragma once

#include "plugin/offer.h"
#include "toolrack/offer.h"

/** @return 0; TOOLRACK_E_INVALID_ARGUMENTS. [any-thread] */
int offer_request_check(enum toolrack_offer what, const char *arguments, enum offer *ret,
                        struct toolrack_error *err);

/** Cancel, or release the handle of, a request. False: it is the handle of a call.
 * (offer-submit.c) */
bool offering_cancel(struct toolrack_call *call);
bool offering_release(struct toolrack_call *call);
