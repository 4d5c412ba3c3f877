/* kept.h - a conversation that goes on, as its transcript has it.
 *
 * The kinds of lines that count:
 *
 * - beginning: the settings, and the body of the first request;
 * - resume: the conversation went on: the settings from then on, and the user's message, if any;
 * - message: of the model, as it came;
 * - results: of its calls;
 * - end: of one run of the loop; with `unsent` the model's last message is not sent again;
 * - undo: the last message of the user is taken back, and all after it.
 *
 * Lines of other kinds are for people. An exchange is a message of the user and what follows it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "provider/conversation.h"
#include "provider/transcript.h"

struct kept_exchange {
    char *task;      /**< owned; the user's message */
    size_t length;   /**< of the messages before it, in bytes */
    size_t count;    /**< and their number */
    size_t answered; /**< how many of `answered` of the conversation came before it */
};

/** Whether a message of a model has calls, so that results follow it. */
typedef bool kept_has_calls(enum toolrack_format format, const char *message, size_t length);

struct kept {
    struct transcript *transcript; /**< owned, locked */
    kept_has_calls *has_calls;
    struct conversation conversation; /**< its messages, without a system prompt */
    char *id;                         /**< NULL: the transcript does not say */
    char *name;     /**< of the model in the configuration; NULL: not from there */
    char *endpoint; /**< NULL: the transcript does not say */
    char *model;    /**< as above */
    char *system;   /**< NULL: none */
    bool plan;
    char **query;      /**< ends with NULL; NULL: empty */
    char **parameters; /**< as above */
    struct kept_exchange *exchanges;
    size_t exchange_count;
    char **answered; /**< the model's messages whose calls have results, JSON */
    size_t answered_count;
    char *open; /**< the model's message that is the last one: its calls, if any, have no results */
    size_t open_length; /**< of the messages before it */
    size_t open_count;
    bool has_failed; /**< the last run of the loop was a failure */
};

/** Open the transcript of a conversation, and read it.
 * @param ret  released with kept_finish() in any case
 * @return 0; TOOLRACK_E_INVALID for a file that is no such transcript, with the line, or is that of
 *         another conversation; what
 *         transcript_open() and transcript_read() return. [any-thread] */
int kept_open(const struct transcript_place *place, kept_has_calls *has_calls, struct kept *ret,
              struct toolrack_error *err);
/** An empty one is ignored. */
void kept_finish(struct kept *kept);

/** Take back the last exchange, in memory. There is one. */
void kept_undo(struct kept *kept);

/** Take back the model's message that is the last one. There is one. */
void kept_drop_open(struct kept *kept);

/* Most characters of a task in the list. */
#define KEPT_TASK_SHOWN 200u

/** Append the conversations of a state folder as a JSON array, the one that was written to last
 * first: id, format, endpoint, model, task (its beginning), began (a text), last_ms (since 1970),
 * steps, bytes, in_use. A file that is no transcript is left out.
 * @param state_dir  NULL: there is none, and nothing is kept
 * @return 0; TOOLRACK_E_IO; TOOLRACK_E_NO_MEMORY. [any-thread] */
int kept_list(const char *state_dir, struct buf *out, struct toolrack_error *err);

/** Remove a conversation that goes on nowhere.
 * @return 0; what transcript_open() returns. [any-thread] */
int kept_remove(const char *state_dir, const char *id, struct toolrack_error *err);
