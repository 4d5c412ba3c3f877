/* message.h - what a command and the daemon say to each other over a Unix socket.
 *
 * A message is its kind, its length and so many bytes, in the machine's byte order: both ends are
 * on one machine. The command begins with MESSAGE_RUN; the daemon acknowledges it with
 * MESSAGE_BEGUN, and ends with MESSAGE_END or MESSAGE_ALONE. Either end may be of another build, so
 * what comes is checked. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Grows with each change of a message. */
#define MESSAGE_PROTOCOL 3u

/* Arguments of a call and their names, or a result; and most words of a command line. */
#define MESSAGE_LENGTH_MAX (66u * 1024 * 1024)
#define MESSAGE_WORDS_MAX  20000u

enum message_kind {
    MESSAGE_RUN = 1, /* to the daemon: see struct message_run; descriptors follow that of `mcp` */
    MESSAGE_STOP,    /* to the daemon: Ctrl-C */
    MESSAGE_ANSWER,  /* to the daemon: an int32_t, and the text of what was filled in */
    MESSAGE_ALONE, /* to the command: the daemon does not run it; the text says why, or is empty */
    MESSAGE_NOTE,  /* to the command: a line for standard error */
    MESSAGE_QUESTION, /* to the command: milliseconds as uint32_t; tool, message and schema */
    MESSAGE_APPROVAL, /* to the command: tool, version, plugin, reason, arguments, permission */
    MESSAGE_END,      /* to the command: see struct message_end */
    MESSAGE_BEGUN,    /* to the command: the daemon runs it from now on */
    MESSAGE_PROBE     /* to the daemon, in place of MESSAGE_RUN: does it answer? by MESSAGE_BEGUN */
};

struct message {
    uint32_t kind;
    struct buf bytes; /* a zero follows them */
};

/** A command line, and what the process of the command knows. */
struct message_run {
    const char *version; /* of toolrack */
    bool terminal;       /* standard output is one */
    bool asks;           /* there is a person who answers */
    uint32_t columns;    /* of standard output; 0: any number */
    char **words;        /* with the program's name; NULL-terminated; owned */
    int count;
    const char *input; /* what was read from standard input; NULL: nothing was */
    size_t input_length;
};

/** The end of a command; before its output and behind it are the styles. */
struct message_end {
    int32_t code;
    int32_t signal;
    uint32_t failed;      /* there was no memory for the output */
    uint32_t style_count; /* pairs of uint64_t: byte and style */
};

/** Append a text of a message, with its final zero. */
void message_add(struct buf *bytes, const char *text);
/** The next text of a message; NULL: there is none. `at` begins with 0. */
const char *message_next(const struct buf *bytes, size_t *at);

/** Append a command line; `words` and `count` are as main() has them. */
void message_write_run(struct buf *bytes, const struct message_run *run);
/** Read one; `ret` refers to `bytes`, and its words are to be released with free().
 * @return 0; -EPROTO: it is of another protocol, and only the version is set, if that; -EBADMSG;
 *         -ENOMEM. */
int message_read_run(const struct buf *bytes, struct message_run *ret);

/** Send a message. 0, or a negative errno. */
int message_send(int fd, enum message_kind kind, const void *bytes, size_t length);
/* Descriptors that are sent together. */
#define MESSAGE_DESCRIPTORS 2

/** Send descriptors, between messages. 0, or a negative errno. */
int message_send_descriptors(int fd, const int descriptors[static MESSAGE_DESCRIPTORS]);
/** Receive them: close-on-exec, and to be closed. 0, or a negative errno. */
int message_receive_descriptors(int fd, int ret[static MESSAGE_DESCRIPTORS]);

/** Receive one. 0; -ENODATA: the other end has closed; -EBADMSG: it closed within a message, or the
 * kind is none; -EMSGSIZE; another negative errno. */
int message_receive(int fd, struct message *ret);
