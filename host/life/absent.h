/* absent.h - the bundled plugins that are not installed. */
#pragma once

struct life;
struct plugin_file;

/** Add a row for each to the refusals, by the rule plugin-absent. [writer] */
void absent_note(struct life *life);
/** The same for one file that was removed while the host runs. The caller has taken the file. */
void absent_note_removed(struct life *life, const struct plugin_file *file);
