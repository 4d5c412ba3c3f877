/* absent.h - the bundled plugins that are not installed. */
#pragma once

struct life;

/** Add a row for each to the refusals, by the rule plugin-absent. [writer] */
void absent_note(struct life *life);
