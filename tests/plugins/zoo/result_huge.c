/* Fault: replies 1 GiB, and does not listen when it is told that this is too much. */
#include <stdlib.h>
#include <string.h>

#include "zoo.h"

#define PIECE  ((size_t)16 << 20)
#define PIECES 64

static tr_status zoo_result_huge(struct tr_call *call) {
    char *text = malloc(PIECE + 1);
    if (text == NULL) {
        return tr_fail(call, TR_FAILED, NULL, "no memory for a piece");
    }
    memset(text, 'x', PIECE);
    text[PIECE] = '\0';
    for (int i = 0; i < PIECES; i++) {
        (void)tr_reply_text(call, text);
    }
    free(text);
    return TR_OK;
}
ZOO_FAULT(zoo_result_huge)
ZOO_PLUGIN(zoo_result_huge)
