/* Fault: writes frames and numbers of its own into the memory that it shares with the host, and
 * sends messages on the worker's socket. */
#include <sys/socket.h>

#include "channel.h"
#include "zoo.h"

/* The socket of every worker. */
#define SOCKET       3
#define ROUNDS       1000
#define MESSAGES_MAX 1000

static tr_status zoo_forged_frames(struct tr_call *call) {
    char *memory = zoo_find_channel(call);
    if (memory == NULL) {
        return tr_fail(call, TR_FAILED, NULL, "no channel");
    }
    for (int i = 0; i < MESSAGES_MAX && send(SOCKET, "x", 1, MSG_DONTWAIT | MSG_NOSIGNAL) == 1;
         i++) {
    }
    /* Number, type, size, CPU, "sleeps", as any thread could write them at any time. */
    volatile uint32_t *side = (volatile uint32_t *)(void *)(memory + ZOO_SIDE_AT);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        side[1] = i % 16;
        side[2] = i % 2 == 0 ? UINT32_MAX : i;
        side[3] = i;
        side[4] = i % 2;
        side[0] += 2 * (i % 3);
    }
    return zoo_survived(call);
}
ZOO_FAULT(zoo_forged_frames)
ZOO_PLUGIN(zoo_forged_frames)
