#include "config/services.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

int services_add(struct services *services, const struct toolrack_service *service,
                 struct toolrack_error *err) {
    if (service->name == NULL || service->name[0] == '\0' || service->run == NULL ||
        !utf8_valid(service->name, strlen(service->name))) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "a service needs a name, which is UTF-8, and a function");
    }
    if (services_find(services, service->name) != NULL) {
        return error_set(err, TOOLRACK_E_EXISTS,
                         "there is a service '%s' already; give this one another name",
                         service->name);
    }
    if (services->count == SERVICES_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "a host has at most %u services",
                         SERVICES_MAX);
    }
    struct service *grown = realloc(services->items, (services->count + 1) * sizeof *grown);
    if (grown == NULL) {
        return error_oom(err);
    }
    services->items = grown;
    char *name = strdup(service->name);
    if (name == NULL) {
        return error_oom(err);
    }
    grown[services->count++] =
            (struct service){.name = name, .run = {.run = service->run, .user = service->user}};
    return 0;
}

void services_drop(struct services *services) {
    free(services->items[--services->count].name);
}

void services_finish(struct services *services) {
    while (services->count > 0) {
        services_drop(services);
    }
    free(services->items);
    *services = (struct services){0};
}

const struct service *services_find(const struct services *services, const char *name) {
    for (size_t i = 0; i < services->count; i++) {
        if (strcmp(services->items[i].name, name) == 0) {
            return &services->items[i];
        }
    }
    return NULL;
}

void services_add_names(const struct services *services, struct buf *out) {
    for (size_t i = 0; i < services->count; i++) {
        buf_printf(out, "%s%s", i > 0 ? ", " : "", services->items[i].name);
    }
}
