/* ask.h - questions of a tool, or about it, put to the person at the terminal.
 *
 * A question comes with the schema of a flat object: each of its properties is one
 * line to fill in, and at the end the person agrees to send the answer or not. What
 * the tool wrote is shown escaped. What the person typed is checked where a message can
 * say what to correct; the tool checks the rest.
 *
 * Each question begins by forgetting what was typed before it was shown: nobody answers what he has
 * not seen. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "toolrack/toolrack.h"

/* Longest line of an answer, and how often a wrong one may be typed again. */
#define ASK_LINE_LENGTH_MAX 4096u
#define ASK_TRIES_MAX       10u

/* The terminal of the person. ask_stop() ends a question. */
struct ask {
    int in;               /* lines are read from here */
    int out;              /* and asked for here */
    int stop;             /* an eventfd: readable when the answer is not needed any more */
    const char *pager;    /* a command to show long text in; NULL: it is written to `out` */
    uint64_t deadline_ns; /* of the monotonic clock: a question ends there too; 0: no deadline */
};

/** Whether somebody can be asked: standard input and standard error are a terminal. */
bool ask_possible(void);

/** Begin to ask on these two descriptors. False: questions are not possible, errno says why. */
bool ask_init(struct ask *ask, int in, int out);
/** Release it when no question is open. This and ask_stop() do nothing when `stop` is below 0. */
void ask_finish(struct ask *ask);

/** End the question that is open and all later ones. [any-thread] */
void ask_stop(const struct ask *ask);

/** Whether ask_stop() was called: a later question is not even shown. [any-thread] */
bool ask_is_stopped(const struct ask *ask);

/** Forget what was typed and not read yet, if it was typed at a terminal. */
void ask_forget_typed(const struct ask *ask);

/** Columns of the terminal; 0: any number. */
size_t ask_columns(const struct ask *ask);

/** Rows of the terminal; 0: any number. */
size_t ask_rows(const struct ask *ask);

/** Append what a tool or a caller wrote, escaped, with the prefix before each line that the
 * terminal makes of it: none looks like the host's. `exact`: with every space. */
void ask_add_text(const struct ask *ask, struct buf *out, const char *prefix, const char *text,
                  size_t length, bool exact);

/** Show text as it is; a failed buffer is not shown, and nobody will answer it either. */
void ask_show(const struct ask *ask, const struct buf *text);

/** Show a prompt and read the answer, without surrounding white space.
 * @return false: end of input, the question has ended, or the line is too long */
bool ask_line(const struct ask *ask, const struct buf *text, struct buf *line);

bool ask_is_yes(const char *text);
bool ask_is_no(const char *text);

/** Put one question. Each line of the message begins with the tool's name, so that no line of it
 * can be taken for one of the host.
 *
 * @param tool         the tool that asks
 * @param schema       a JSON object
 * @param ret_content  receives the answer when it was accepted, to be released with free()
 * @return enum toolrack_answer: accepted; declined explicitly; dismissed by the end of input, too
 *         many tries, ask_stop() or the deadline; nobody, when the schema asks for a value that
 *         cannot be typed on one line. [call-thread] */
int ask_person(const struct ask *ask, const char *tool, const char *message, const char *schema,
               char **ret_content);

/* Bytes of arguments, and of one value of them, that are shown at first. */
#define ASK_ARGUMENTS_SHOWN_MAX 4096u
#define ASK_VALUE_SHOWN_MAX     512u

/* Columns of the longest prompt for a yes. */
#define ASK_PROMPT_COLUMNS_MAX 80u

/** Ask whether a call may run: once, always, or not. Each argument is a line. Of longer ones
 * the beginning is shown, how many bytes there are, and `v` shows all; a yes counts only after
 * that. Nor does it before, and no more is shown, where the lines are more than the terminal's
 * rows: the tool and the first arguments would have scrolled away.
 * @return enum toolrack_approval; DENY for anything but a clear yes, and when the question ends
 *         before it is answered; UNWANTED after ask_stop(), also of a question that was open then.
 *         [call-thread] */
int ask_approval(const struct ask *ask, const struct toolrack_approval_request *request);
