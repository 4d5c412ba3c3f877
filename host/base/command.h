/* command.h - a command that a message recommends, safe to copy into a shell.
 *
 * Its words may come from anybody: a plugin chooses what it declares, and a file may have any name.
 * A word of other characters than letters, digits and _@+=:,./- stands in single quotes, which
 * every POSIX shell reads alike. A word that cannot be copied from a line of text is not offered:
 * one with control or hidden characters (hidden.h), one that is not UTF-8, one that is empty or
 * begins with '-', which would be an option. Then the command is the help of its verb.
 *
 * A command is for the host that shows it. Where that has other places than the default ones, the
 * command states them, before its verb: "toolrack --state /srv/tools grant wipe"; what a person
 * decides in another state folder would be another decision. Where hosts with several such places
 * are open in a process, none of them is stated for sure: then, too, it is the help of its verb.
 *
 * In a message a command follows a colon and ends the message, or has "; " after it. Nothing
 * encloses it: quotes around it would turn those inside to the contrary where both are copied. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/** The places of a host, or of the process, that are in effect while it is there. */
struct command_places {
    char *options; /* "" or " --state /srv/tools"; NULL: they cannot be copied */
    struct command_places *next;
};

/** State the places from now on: NULL is the default one, and "" is none, which no command can
 * name. Relative ones are those of the working folder. A host that keeps nothing (a `state` of "")
 * has no place at all: it states none. The memory of `ret` stays until command_places_remove().
 * [any-thread] */
void command_places_add(struct command_places *ret, const char *config, const char *state,
                        const char *const *plugin_dirs);
/** The places of this process, as commands state them, for another process to state: to be freed
 * with free(). NULL: they differ, they cannot be copied, or they are longer than a command.
 * [any-thread] */
char *command_places_text(void);
/** State those of another process: NULL is what cannot be stated. [any-thread] */
void command_places_take(struct command_places *ret, const char *text);
/** Also of one that is zero. [any-thread] */
void command_places_remove(struct command_places *places);

/** Append a message for somebody who cannot execute its commands on this machine, and is not told
 * what places it has: they are left out of its commands. What was cut within them ends there.
 * [any-thread] */
void command_add_placeless(struct buf *out, const char *message, size_t length);

/** Append "toolrack VERB", with the places, which check and test refuse and help does not need. False: it
 * cannot be copied, and nothing was appended. [any-thread] */
bool command_begin(struct buf *out, const char *verb);

/** Append a space and the word. False: it cannot be copied, and nothing was appended. [any-thread]
 */
bool command_add_word(struct buf *out, const char *word);

/* Longest command, with its final zero; for a longer one stands the help of its verb. */
#define COMMAND_ROOM 512

struct command_text {
    char text[COMMAND_ROOM];
};

/** Write "toolrack VERB WORD ...". `words` begins with the verb, which is the caller's own text and
 * may have an option after it ("default --plugin"), and ends with NULL. Returns the text of `ret`.
 * [any-thread] */
const char *command_write(struct command_text *ret, const char *const words[]);

/** The same as an argument of a call: COMMAND("grant", name). It holds until the block ends. */
#define COMMAND(...) \
    command_write(&(struct command_text){.text = ""}, (const char *const[]){__VA_ARGS__, NULL})
