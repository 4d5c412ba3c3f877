/* client.c - see client.h. */
#include "serve/mcp/client.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/object.h"
#include "serve/mcp/level.h"
#include "serve/principal.h"

static void destroy(struct client *client) {
    arena_finish(&client->arena);
    replay_finish(&client->replay);
    lock_finish(&client->lock);
    OBJECT_WIPE(client, CLIENT_MAGIC);
    free(client);
}

static void choose(char ret[static CLIENT_ID_LENGTH + 1]) {
    unsigned char bits[CLIENT_ID_LENGTH / 2];
    randombytes_buf(bits, sizeof bits);
    (void)sodium_bin2hex(ret, CLIENT_ID_LENGTH + 1, bits, sizeof bits);
}

struct client *client_create(struct mcp *mcp, const struct principal *principal, bool is_pipe) {
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        return NULL;
    }
    client->magic = CLIENT_MAGIC;
    atomic_init(&client->refs, 1);
    lock_init(&client->lock);
    arena_init(&client->arena, NULL, 0);
    replay_init(&client->replay);
    client->mcp = mcp;
    client->is_pipe = is_pipe;
    client->log_level = LEVEL_FIRST;
    client->used_ns = clock_now_ns();
    choose(client->id);
    choose(client->secret); /* no hash of the other: nothing is to be learnt from one about both */
    client->principal = *principal;
    client->principal.grant = NULL; /* each request has its own */
    bool kept = principal_keep(&client->principal, &client->arena);
    if (principal->id == NULL) { /* nobody is known: then the pipe or session is the principal */
        client->principal.id = arena_printf(&client->arena, "%s%s",
                                            is_pipe ? PIPE_PREFIX : SESSION_PREFIX, client->id);
        client->principal.party = is_pipe ? client->principal.id : client->principal.party;
    }
    if (!kept || client->principal.id == NULL) {
        destroy(client);
        return NULL;
    }
    return client;
}

struct client *client_ref(struct client *client) {
    OBJECT_CHECK(client, CLIENT_MAGIC);
    (void)atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
    return client;
}

void client_unref(struct client *client) {
    if (client != NULL && atomic_fetch_sub_explicit(&client->refs, 1, memory_order_acq_rel) == 1) {
        destroy(client);
    }
}
