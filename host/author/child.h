/* child.h - a process for a step of a test, and what it tells.
 *
 * Whatever a plugin does ends the child at most: the parent says what it did, ends what is left of
 * its processes, and starts the step again at the next tool. */
#pragma once

#include "author/inside.h"

struct child;

/** A step: goes through the tools of the session from child_first() on. In the child. */
typedef void step_function(struct child *child, struct session *session);

/** Run a step in a child, and in one more for each tool that ended it.
 * @param rule  the rule that such an end breaks */
void child_run(struct session *session, enum rule rule, step_function *step);

/** The same for the step that says which tools there are. It runs no plugin: of one that does, a
 * plugin may write what it says. */
void child_list(struct session *session, step_function *step);

/** End the child that runs, and start no more: a signal came. [signal handler] */
void child_interrupt(int number);
/** Whether that was called. */
bool child_interrupted(void);

/* In the child. */

/** The tool at which the step is to begin. */
size_t child_first(const struct child *child);

/** Say what is done now, for the case that it does not come back; counts as a sign of life. */
void child_at(struct child *child, size_t tool, const char *sent, const char *doing);

/** What ends the process from now on is a warning: it may not be the plugin's fault. */
void child_warn(struct child *child);

/** The rule that the end of the process breaks. */
enum rule child_rule(const struct child *child);

void child_find(struct child *child, enum rule rule, bool is_warning, const char *tool,
                const char *sent, const char *came);
void child_skip(struct child *child, enum rule rule, const char *tool, const char *why);
void child_count(struct child *child, enum rule rule, uint64_t checks);

/** Tell of the tools of the plugin, in order, and of the calls that are to be made again. */
void child_add_tool(struct child *child, const struct tested_tool *tool);
void child_add_sample(struct child *child, const struct sample *sample);
/** Say that a tool is given up, that the plugin cannot be loaded. */
void child_give_up(struct child *child, size_t tool);
void child_is_dead(struct child *child);
/** Say of a sample that it is loose, or bad. */
void child_is_loose(struct child *child, size_t sample);
void child_is_bad(struct child *child, size_t sample);
