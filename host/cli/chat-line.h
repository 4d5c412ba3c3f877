/* chat-line.h - the prompt of a chat: a line is edited, remembered and completed.
 *
 * The history is a file that only its owner can read, with the lines of all chats of the state
 * folder. */
#pragma once

#include "base/buf.h"
#include "cli/cli.h"

/* Lines that are remembered; bytes of their file, above which it is shortened; bytes of a message.
 */
#define CHAT_LINES_MAX   1000
#define CHAT_HISTORY_MAX (1024u * 1024)
#define CHAT_MESSAGE_MAX (1024u * 1024)

struct chat_line;

/** What the prompt needs from the chat. */
struct chat_words {
    void *user;
    /** Give each word that may stand where the last word of a text is, which is to be completed.
     * @param at  where that word begins in it */
    void (*complete)(void *user, const char *text, size_t at,
                     void (*take)(void *taker, const char *word), void *taker);
    /** Overwrite keys in a line before it is remembered. @return false: do not remember it */
    bool (*mask)(void *user, char *text);
};

enum chat_read {
    CHAT_READ,     /* a message */
    CHAT_CLEARED,  /* Ctrl-C: what was typed is dropped */
    CHAT_ENDED,    /* Ctrl-D, or the terminal is gone */
    CHAT_STOPPED,  /* by a signal, which is in `signal` of the command */
    CHAT_TOO_LONG, /* the message is dropped */
    CHAT_NO_MEMORY
};

/** Begin.
 * @param state_dir  of the history; NULL: it is forgotten at the end
 * @param words      borrowed until chat_line_close()
 * @return 0; or the code of the failure, which is set. */
int chat_line_open(struct cli *cli, const char *state_dir, const struct chat_words *words,
                   struct chat_line **ret);
void chat_line_close(struct chat_line *line);

/** Read a message: a line, with those that follow if it ends in a backslash. A pasted text may have
 * several lines. A message that begins with a space is not remembered.
 * @param ret  receives it, without the end of its last line */
enum chat_read chat_line_read(struct chat_line *line, struct buf *ret);
