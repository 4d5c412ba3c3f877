/* choosing.h - what the configuration says of choosing, as host/choose takes it. */
#pragma once

#include "base/error.h"

struct assist;
struct config;
struct embed;
struct scenes;
struct toolrack;

/** The scenes of the host and those of the configuration.
 * @param ret  to be released with scenes_destroy(); NULL: the configuration has none
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED for more words than fit; TOOLRACK_E_NO_MEMORY. */
int choosing_scenes(const struct config *config, struct scenes **ret, struct toolrack_error *err);

/** How the model is asked that the configuration names, with its endpoint NULL where it names none.
 * `ret` borrows from the host. (assist.c) */
void choosing_assist(struct toolrack *host, struct assist *ret);

/** The same of the embeddings model. (embed.c) */
void choosing_embed(struct toolrack *host, struct embed *ret);
