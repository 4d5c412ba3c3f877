#include "serve/http/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tools of any permission: whether one may run is up to the host. */
#define ALL_PERMISSIONS UINT32_MAX

int authorise_check(const struct server *server, const struct listener *listener, const char *text,
                    struct toolrack_error *err) {
    (void)server;
    if (listener->open) {
        return 0;
    }
    return error_set(err, TOOLRACK_E_REFUSED,
                     "others than the users of this machine reach %s, and nothing says who they "
                     "are; add a token: toolrack token add NAME",
                     text);
}

static void of_user(struct conn *conn) {
    struct identity *identity = &conn->identity;
    if (asprintf(&identity->id, "uid:%u", (unsigned)conn->user) < 0) {
        identity->id = NULL;
        request_refuse(conn, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory");
        return;
    }
    identity->principal.id = identity->id;
}

void authorise(struct conn *conn) {
    conn->identity.principal.permissions = ALL_PERMISSIONS;
    if (conn->heads.authorization != NULL) {
        request_refuse(conn, MHD_HTTP_UNAUTHORIZED, "the token is not valid");
    } else if (conn->listener->path != NULL) {
        of_user(conn);
    } else if (!conn->listener->open) {
        request_refuse(conn, MHD_HTTP_UNAUTHORIZED,
                       "this server needs a token; send it as Authorization: Bearer TOKEN");
    }
}

void authorise_challenge(struct conn *conn, struct MHD_Response *response) {
    if (conn->refusal.status == MHD_HTTP_UNAUTHORIZED) {
        (void)mhd.add_response_header(response, "WWW-Authenticate", "Bearer");
    }
}

void identity_finish(struct identity *identity) {
    free(identity->id);
    *identity = (struct identity){0};
}
