/* verb-install.h - what of packages other verbs do. */
#pragma once

#include "cli/cli.h"

/* A request, while the library works on it. */
struct install_asking {
    struct cli *cli;
    bool is_asked;      /* the person was asked at the terminal, and shown the report */
    bool is_unanswered; /* nobody could be asked */
};

/** Ask the person, as `agree` of the options of installing. */
bool install_agree(void *asking, const char *report);

/** The failure of such a request: without a person, say what to do. @return an exit code */
int install_fail(const struct install_asking *asking, const char *verb, const char *name);

/** Append, behind what was done, that a tool is held and how it is approved. */
void install_add_held(struct buf *out, const char *tool);

/** rollback of a package. @return an exit code */
int install_go_back_verb(struct cli *cli, const char *id);

/** search --packages. @return an exit code */
int install_search_verb(struct cli *cli);
