#include "permit/token-grant.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* How far a clock may be set back without ending a token that expires: further, it would be valid
 * for longer than was said, or again. */
#define CLOCK_STEP_S 60

static const char *put(char **at, const char *text) {
    if (text == NULL) {
        return NULL;
    }
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

static size_t size_of(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

struct toolrack_token_grant *token_grant_create(const struct store_token *token) {
    size_t count = token->tools != NULL && token->tools[0] != '\0' ? 1 : 0;
    for (const char *at = token->tools; at != NULL && *at != '\0'; at++) {
        count += *at == '\n';
    }
    size_t pointers = token->tools != NULL ? (count + 1) * sizeof(char *) : 0;
    struct toolrack_token_grant *grant =
            malloc(sizeof *grant + pointers + size_of(token->name) + size_of(token->id) +
                   size_of(token->profile) + size_of(token->tools) + size_of(token->who));
    if (grant == NULL) {
        return NULL;
    }
    char **list = (char **)(void *)(grant + 1);
    char *at = (char *)(grant + 1) + pointers;
    *grant = (struct toolrack_token_grant){.refs = 1, .token = *token};
    grant->token.name = put(&at, token->name);
    grant->token.id = put(&at, token->id);
    grant->token.profile = put(&at, token->profile);
    grant->token.who = put(&at, token->who);
    if (token->tools != NULL) {
        char *tools = at;
        grant->token.tools = NULL; /* cut into the list */
        (void)put(&at, token->tools);
        for (size_t i = 0; i < count; i++) {
            list[i] = tools;
            tools += strcspn(tools, "\n");
            *tools++ = '\0';
        }
        list[count] = NULL;
        grant->tools = (const char *const *)list;
    }
    return grant;
}

struct toolrack_token_grant *toolrack_token_grant_ref(struct toolrack_token_grant *grant) {
    (void)atomic_fetch_add_explicit(&grant->refs, 1, memory_order_relaxed);
    return grant;
}

void toolrack_token_grant_unref(struct toolrack_token_grant *grant) {
    if (grant != NULL && atomic_fetch_sub_explicit(&grant->refs, 1, memory_order_acq_rel) == 1) {
        free(grant);
    }
}

bool token_grant_lasts(const struct toolrack_token_grant *grant, int64_t now_s) {
    return grant->token.expires_s == 0 ||
           (grant->token.expires_s > now_s && grant->token.created_s <= now_s + CLOCK_STEP_S);
}

bool toolrack_token_grant_holds(const struct toolrack_token_grant *grant) {
    return !atomic_load(&grant->revoked) && token_grant_lasts(grant, clock_wall_s());
}

const char *toolrack_token_grant_id(const struct toolrack_token_grant *grant) {
    return grant->token.id;
}

const char *toolrack_token_grant_name(const struct toolrack_token_grant *grant) {
    return grant->token.name;
}

bool toolrack_token_grant_is_admin(const struct toolrack_token_grant *grant) {
    return grant->token.admin;
}

bool toolrack_token_grant_approves(const struct toolrack_token_grant *grant) {
    return grant->token.approves;
}

const char *toolrack_token_grant_profile(const struct toolrack_token_grant *grant) {
    return grant->token.profile;
}

const char *const *toolrack_token_grant_tools(const struct toolrack_token_grant *grant) {
    return grant->tools;
}

uint32_t toolrack_token_grant_rate_per_minute(const struct toolrack_token_grant *grant) {
    return grant->token.rate_per_minute;
}

int64_t toolrack_token_grant_expires_s(const struct toolrack_token_grant *grant) {
    return grant->token.expires_s;
}
