/* models.h - models of providers that the configuration names. */
#pragma once

#include "api/host.h"
#include "provider/prices.h"
#include "toolrack/agent.h"

/** What is known of the model of a conversation beside the options of the app. */
struct named_model {
    const char *name;         /**< in the configuration; NULL: the app gives an endpoint itself */
    const char *place;        /**< where its endpoint is set, for messages */
    const char *key_variable; /**< that must have the key; NULL: one of the format's */
    struct prices prices;
};

/** Whether the configuration has a model of that name. [any-thread] */
bool models_has(const struct toolrack *host, const char *name);

/** Complete options without an endpoint by the model of the configuration that they name, or by its
 * default. Headers, parts of the query and parameters of the app come beside those of the model,
 * or in place of them.
 * @param app    its format, endpoint, model and lists are set
 * @param arena  has what `app` and `ret` point to, as the configuration has the rest
 * @return 0; TOOLRACK_E_INVALID where there is no such model, with the names of those that there
 *         are; TOOLRACK_E_NO_MEMORY. [any-thread] */
int models_complete(const struct toolrack *host, struct toolrack_agent_options *app,
                    struct arena *arena, struct named_model *ret, struct toolrack_error *err);

/** Give each model that cannot be asked: its name, and why.
 * @return 0; TOOLRACK_E_NO_MEMORY. [any-thread] */
int models_check(const struct toolrack *host,
                 void (*take)(void *user, const char *name, const char *why), void *user,
                 struct toolrack_error *err);
