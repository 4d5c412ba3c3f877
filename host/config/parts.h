/* parts.h - the configuration as the files see it that read and check it. */
#pragma once

#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "config/config.h"
#include "config/services.h"

struct validator;

struct config {
    struct config_options options;
    yyjson_doc *doc; /* NULL without a file, like what follows */
    struct validator *validator;
    struct buf text; /* of which it was made, to tell lines */
    yyjson_val *root;
    struct config_settings settings;
    struct scan_folder *folders; /* of the settings */

    pthread_mutex_t lock; /* guards what follows, once the configuration is made */
    struct arena arena;
    struct services services;
};

/** An empty one. @return NULL without memory. */
struct config *config_new(const struct config_options *options);

/** Read a file, of at most CONFIG_SIZE_MAX bytes, into the text. */
int config_read_file(struct config *config, const char *path, struct toolrack_error *err);

/** Parse and check the text, and take the settings over where nothing is wrong. What is wrong is
 * added to the problems and is no failure.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int config_read_text(struct config *config, struct problems *problems, struct toolrack_error *err);

/** What definition_read() needs. */
struct definition_context config_context(struct config *config, struct problems *problems);

/** The array of definitions, or NULL. */
yyjson_val *config_definitions(const struct config *config);
