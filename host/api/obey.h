/* obey.h - orders of other hosts about packages. */
#pragma once

#include "base/buf.h"
#include "remote/nats/message.h"
#include "toolrack/toolrack.h"

/** Carry out an order: see member_options. */
int obey_order(struct toolrack *host, const struct message_order *order, const struct buf *package,
               const char *key, struct buf *out, struct toolrack_error *err);
