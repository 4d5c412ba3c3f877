/* verb-install.h - what of packages other verbs do. */
#pragma once

#include "cli/cli.h"

/** Append, behind what was done, that a tool is held and how it is approved. */
void install_add_held(struct buf *out, const char *tool);

/** rollback of a package. @return an exit code */
int install_go_back_verb(struct cli *cli, const char *id);

/** search --packages. @return an exit code */
int install_search_verb(struct cli *cli);
