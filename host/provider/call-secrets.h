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

/** The schema of a tool's arguments, if it marks secrets.
 * @param name  of the tool, as the model has it, or as a node of a plan does
 * @param ret   to be freed by yyjson_doc_free(); NULL: there is no such tool, or it has no secrets
 * @return false: no memory */
typedef bool call_secrets_schema(void *user, const char *name, yyjson_doc **ret);

/** Append a message of a model with its secrets masked.
 * @param secrets  of all messages so far; those of this one are added
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int call_secrets_of_message(enum toolrack_format format, const char *message, size_t length,
                            call_secrets_schema *schema, void *user, struct buf *secrets,
                            struct buf *ret, struct toolrack_error *err);

/** Append the results of calls, in which secrets are masked. @return as above */
int call_secrets_of_results(const char *results, size_t length, const struct buf *secrets,
                            struct buf *ret, struct toolrack_error *err);
