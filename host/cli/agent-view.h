/* agent-view.h - a conversation on a terminal while it goes on.
 *
 * The model's text is shown as Markdown, the calls of a message as a group of lines that change
 * while they run, and below all one line that says what is waited for. What is below the text goes
 * to standard error and disappears without a trace, except for the calls once they have ended. */
#pragma once

#include "cli/cli.h"
#include "toolrack/agent.h"

struct agent_view;

/** NULL where nothing can be drawn: standard output or standard error is no terminal, or one that
 * cannot move its cursor; or there is no memory. Release with agent_view_end(). */
struct agent_view *agent_view_begin(const struct cli *cli);

/** As the callbacks of struct toolrack_agent_options. `view` may not be NULL.
 * @return 0, or why standard output cannot be written: a negative errno */
int agent_view_text(struct agent_view *view, const char *text, size_t length);
void agent_view_event(struct agent_view *view, const struct toolrack_agent_event *event);
void agent_view_wait(struct agent_view *view, uint32_t left_ms);

/** A question to the person begins, and ends: nothing is drawn meanwhile. NULL is ignored.
 * [any-thread] */
void agent_view_pause(struct agent_view *view);
void agent_view_resume(struct agent_view *view);

/** Draw what has changed. NULL is ignored.
 * @return after how many milliseconds it is to be drawn again; 0 without a view */
uint32_t agent_view_draw(struct agent_view *view);

/** The conversation has ended: what is left of the text and the calls is shown. NULL is ignored. */
void agent_view_end(struct agent_view *view);
