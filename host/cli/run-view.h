/* run-view.h - a run of a plan on a terminal, while it runs: a row for each node, drawn again in
 * place; and at the end what took its time. */
#pragma once

#include "cli/cli.h"
#include "toolrack/plan.h"

struct run_view;

/** The view of a run that begins now.
 * @param plan  borrowed until run_view_end()
 * @return NULL: standard output is no terminal that can draw, or there is no memory */
struct run_view *run_view_begin(const struct cli *cli, const struct toolrack_plan *plan);

/** Say which run it is. [any-thread] */
void run_view_name(struct run_view *view, const char *id);

/** Take what happened to a node; run_view_draw() shows it. [any-thread] */
void run_view_take(struct run_view *view, const struct toolrack_plan_event *event);

/** Draw it, unless it was drawn a moment ago or a question to the person stands on the terminal.
 * @return milliseconds until it is to be drawn again */
uint32_t run_view_draw(struct run_view *view);

/** Draw it as it ended, and beneath it the critical path; release it. NULL is ignored. */
void run_view_end(struct run_view *view);
