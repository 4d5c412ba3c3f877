/* trial.h - trying out a generation before it serves.
 *
 * The generation is loaded, and the examples of its tools are called: those of tools that are safe,
 * enabled, and neither destructive nor dependent on the outside world. If an example states a
 * result, the call must return that result. A trial runs code of a plugin that is not known yet, so
 * it runs on a thread of its own, which is given up if it does not return. */
#pragma once

#include <stdatomic.h>

#include "base/lock.h"
#include "life/options.h"
#include "registry/plugin.h"

/* How long one generation may take to load, and then all its examples together. */
#define TRIAL_LOAD_MS_MAX     10000u
#define TRIAL_EXAMPLES_MS_MAX 10000u
/* How long a trial that was asked to end may take to end. */
#define TRIAL_GRACE_MS        1000u

struct trial;

/* The trials of a host. */
struct trials {
    const struct life_options *options;
    struct lock lock;    /* guards the next two */
    struct trial *first; /* the trials that run */
    bool stopping;
    atomic_uint lost; /* threads that were given up and have not returned */
};

void trials_init(struct trials *all, const struct life_options *options);
void trials_finish(struct trials *all);

/** Whether any tool of a plugin has examples that a trial would call. [any-thread] */
bool trial_has_examples(const struct trials *all, struct plugin *plugin);

/** Try out a generation that is not registered.
 * @return 0; TOOLRACK_E_REFUSED with the cause, and err->tool set if an example of a tool failed;
 *         TOOLRACK_E_CANCELLED when the host is closing; TOOLRACK_E_NO_MEMORY. [any-thread] */
int trial_run(struct trials *all, struct plugin *plugin, struct toolrack_error *err);

/** End all running trials; no other may begin. [any-thread] */
void trials_stop(struct trials *all);
