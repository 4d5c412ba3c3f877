/* refused.h - what servers have refused of requests, kept between conversations.
 *
 * A server that does not know a member of a request refuses it, and is asked without (see
 * conversation_drop_refused()). Another conversation with the same server and model leaves that out
 * from the beginning, for some time: a server learns. They are a file of the state folder; it is
 * only a memory, so whatever goes wrong with it is ignored. */
#pragma once

#include "provider/conversation.h"

/* How long it counts, most servers with their models, of which the oldest go, and bytes of the
 * file. */
#define REFUSED_AGE_S_MAX 604800u
#define REFUSED_MAX       64u
#define REFUSED_BYTES_MAX 65536u

/** Leave out of a new conversation what this server refused of this model's requests.
 * @param state_dir  NULL: nothing is kept */
void refused_apply(const char *state_dir, const char *url, const char *model,
                   struct conversation *conversation);

/** Keep that it refused one more.
 * @param name  as of struct conversation_refused */
void refused_keep(const char *state_dir, const char *url, const char *model, const char *name);
