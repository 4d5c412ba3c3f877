/* channel-wait.h - how a wait for the other side of a channel ends. */
#pragma once

enum channel_wait {
    CHANNEL_FRAME,       /* a frame came; this side holds the channel */
    CHANNEL_LATE,        /* no frame by the given time */
    CHANNEL_INTERRUPTED, /* channel_interrupt() */
    CHANNEL_GONE,        /* channel_abandon(): the other side is dead */
    CHANNEL_NONSENSE, /* what was received is no frame: number, size or type out of range; final */
    CHANNEL_NO_MEMORY /* for the copy of the frame; receiving can be repeated */
};
