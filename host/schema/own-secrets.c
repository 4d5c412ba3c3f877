#include "schema/own-secrets.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "schema/secret.h"

/* Each with a zero behind it. */
static struct buf secrets;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Most processes have none: their log takes no lock. */
static atomic_bool any;

static bool is_known(const char *text) {
    for (size_t at = 0; at < secrets.length; at += strlen(secrets.data + at) + 1) {
        if (strcmp(secrets.data + at, text) == 0) {
            return true;
        }
    }
    return false;
}

static bool add(const char *text, size_t size) {
    if (is_known(text)) {
        return true;
    }
    if (size > SECRETS_SIZE_MAX) {
        return false;
    }
    size_t forgotten = 0;
    while (secrets.length - forgotten + size > SECRETS_SIZE_MAX) {
        forgotten += strlen(secrets.data + forgotten) + 1;
    }
    if (!buf_reserve(&secrets, size)) {
        secrets.failed = false; /* what was known stays known */
        return false;
    }
    memmove(secrets.data, secrets.data + forgotten, secrets.length - forgotten);
    buf_truncate(&secrets, secrets.length - forgotten);
    buf_add(&secrets, text, size);
    atomic_store(&any, true);
    return true;
}

bool own_secrets_add(const char *text) {
    (void)pthread_mutex_lock(&lock);
    bool is_added = add(text, strlen(text) + 1);
    (void)pthread_mutex_unlock(&lock);
    return is_added;
}

bool own_secrets_are_known(void) {
    return atomic_load(&any);
}

void own_secrets_mask(char *text) {
    if (atomic_load(&any)) {
        (void)pthread_mutex_lock(&lock);
        secrets_mask(&secrets, text);
        (void)pthread_mutex_unlock(&lock);
    }
}
