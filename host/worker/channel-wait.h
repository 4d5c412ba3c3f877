/* channel-wait.h - how a wait for the other side of a channel ends. */
#pragma once

enum channel_wait {
    CHANNEL_FRAME,       /* a frame came; this side holds the channel */
    CHANNEL_LATE,        /* not by the moment */
    CHANNEL_INTERRUPTED, /* channel_interrupt() */
    CHANNEL_GONE,        /* channel_abandon(): the other side is dead */
    CHANNEL_NONSENSE,    /* what came is no frame: number, size or type out of range. It stays so */
    CHANNEL_NO_MEMORY    /* to copy the frame to; it can be received again */
};
