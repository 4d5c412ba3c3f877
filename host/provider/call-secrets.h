/* call-secrets.h - secrets among the arguments of a model's calls, for what is shown and kept.
 *
 * What a tool's schema marks as a secret (schema/secret.h) is for the tool and for the model that
 * wrote it, which gets its own message back as it was. It is masked in all else: what the app is
 * told of calls, and the transcript. So is what repeats a secret later: the result of the call, and
 * further messages of the model. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/error.h"
#include "toolrack/format.h"

/** What is secret of the arguments of a call. */
enum call_secrets {
    CALL_SECRETS_NONE,
    CALL_SECRETS_MARKED, /**< what the tool's schema marks */
    CALL_SECRETS_ANY, /**< it is not known what: there is no such tool, and others have secrets */
    CALL_SECRETS_PLAN /**< what is secret for the tools of a plan's nodes, and its inputs */
};

/** Find what is secret of the arguments of a call, or of a node of a plan.
 * @param name        of the tool, as the model wrote it; "" for what is no name
 * @param ret_schema  of what is marked; to be freed by yyjson_doc_free(); else it stays
 * @return false: no memory */
typedef bool call_secrets_look(void *user, const char *name, enum call_secrets *ret_what,
                               yyjson_doc **ret_schema);

/** Append a message of a model with its secrets masked.
 * @param secrets  of all messages so far; those of this one are added
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int call_secrets_of_message(enum toolrack_format format, const char *message, size_t length,
                            call_secrets_look *look, void *user, struct buf *secrets,
                            struct buf *ret, struct toolrack_error *err);

/** Append the results of calls, in which secrets are masked. @return as above */
int call_secrets_of_results(const char *results, size_t length, const struct buf *secrets,
                            struct buf *ret, struct toolrack_error *err);
