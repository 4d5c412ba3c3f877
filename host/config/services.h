/* services.h - functions that the embedding app registered by name. */
#pragma once

#include "base/buf.h"
#include "run/run.h"
#include "toolrack/toolrack.h"

/* Most services of one host. */
#define SERVICES_MAX 4096u

struct service {
    char *name;
    struct run_service run;
};

/* Used by one thread at a time. */
struct services {
    struct service *items;
    size_t count;
};

/** Add a service; its name is copied.
 * @return 0; TOOLRACK_E_INVALID; TOOLRACK_E_EXISTS; TOOLRACK_E_LIMIT_EXCEEDED;
 *         TOOLRACK_E_NO_MEMORY. */
int services_add(struct services *services, const struct toolrack_service *service,
                 struct toolrack_error *err);
/** Remove the last one. */
void services_drop(struct services *services);
void services_finish(struct services *services);

/** The service with a name, or NULL. */
const struct service *services_find(const struct services *services, const char *name);

/** Append all names, with ", " between them. */
void services_add_names(const struct services *services, struct buf *out);
