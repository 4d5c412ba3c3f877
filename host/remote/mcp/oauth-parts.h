/* oauth-parts.h - the parts of a client of OAuth.
 *
 *   oauth.c         the token: kept, read from its file, asked for, renewed
 *   oauth-server.c  where it is asked for, which the server's metadata say */
#pragma once

#include "base/lock.h"
#include "remote/mcp/oauth-options.h"
#include "remote/mcp/session.h"

#define URL_MAX_LENGTH   2048u
#define SCOPE_MAX_LENGTH 2048u

/* How to get a token; found once. */
struct endpoint {
    bool is_known;
    char issuer[URL_MAX_LENGTH];
    char token_url[URL_MAX_LENGTH];
    char resource[URL_MAX_LENGTH];
    char scope[SCOPE_MAX_LENGTH]; /* that the resource has; "": it does not say */
    bool takes_basic;
};

struct oauth {
    struct oauth_options options;
    struct lock renewal; /* held by the thread that gets a token; guards the next two */
    struct endpoint endpoint;
    char asked[SCOPE_MAX_LENGTH]; /* the scope of the last token */
    struct lock lock;             /* guards what follows */
    char *token;                  /* NULL: none */
    unsigned number;              /* of the token; of none, too */
    uint64_t expires_ns;          /* 0: it does not say */
    bool has_loaded;              /* the file was read */
    unsigned refused;             /* the number of the one that was refused last */
    long status;                  /* how */
    char challenge[OAUTH_CHALLENGE_MAX];
};

/** Why there is no token. @return TOOLRACK_E_PERMISSION_DENIED */
int oauth_refuse(const struct oauth *oauth, struct toolrack_error *err, const char *what,
                 const char *detail);
/* Who waits for what is fetched, for oauth_is_over(). */
struct oauth_waiting {
    const struct session_wait *wait;
};
/** Whether nobody waits any more. @param waiting  struct oauth_waiting */
bool oauth_is_over(void *waiting);
/** Find where tokens are asked for, once. Caller holds the renewal.
 * @return 0; TOOLRACK_E_PERMISSION_DENIED; as web_fetch() */
int oauth_find_endpoint(struct oauth *oauth, const char *challenge, const struct session_wait *wait,
                        struct toolrack_error *err);
