/* offer.h - which tools a model is offered: --allow, --profile, --limit and --budget. */
#pragma once

#include "cli/cli.h"
#include "toolrack/format.h"

/** What is behind the names of `allow`. */
struct offer {
    struct toolrack_export_options options; /**< borrows from the rest and from the command line */
    char *text;
    const char **names;
};

/** @return 0; TOOLRACK_E_NO_MEMORY, with the error set. Release with offer_finish(). */
int offer_read(struct cli *cli, struct offer *ret);
/** Offer the tools of `names`; NULL: those of the profile that is stated, else the basic one. */
void offer_set_names(struct offer *offer, const struct options *options);
void offer_finish(struct offer *offer);
