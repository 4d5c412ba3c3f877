/* oauth-options.h - what a token for an MCP server is got with, and limits. */
#pragma once

#include "base/log.h"
#include "remote/mcp/secrets.h"
#include "remote/mcp/web.h"

/* Longest token and challenge. */
#define OAUTH_TOKEN_MAX     16384u
#define OAUTH_CHALLENGE_MAX 8192u

/* All borrowed as long as the object, as they are after mount_secrets_expand(); NULL: not given. */
struct oauth_options {
    const char *url; /* of the MCP server */
    const char *client_id;
    const char *client_secret;
    const char *scope;
    const char *method;    /* "client_secret_basic" or "client_secret_post" */
    const char *issuer;    /* the only authorization server that gets the secret */
    const char *token_url; /* is asked without a look at metadata */
    const char *file;      /* with the tokens; NULL: client_credentials */
    struct web_rules rules;
    struct secrets *secrets;
    const struct log *log;
};
