/* parts.h - the struct of the configuration, for the files that read and check it. */
#pragma once

#include <pthread.h>

#include "base/arena.h"
#include "base/buf.h"
#include "config/config.h"
#include "config/services.h"

struct validator;

struct config {
    struct config_options options;
    yyjson_doc *doc; /* this and the next are NULL without a file */
    struct validator *validator;
    struct buf text; /* the text of the file, to find line numbers */
    yyjson_val *root;
    struct config_settings settings;
    struct scan_folder *folders; /* those of `settings` */
    const char *folder;          /* that of the file, with its links resolved */

    pthread_mutex_t lock; /* guards what follows, once the configuration is complete */
    struct arena arena;
    struct services services;
    yyjson_doc *serving; /* config_serving() in "serve"; NULL until somebody asks */
};

/** An empty configuration; NULL when out of memory. */
struct config *config_new(const struct config_options *options);

/** Read a file, of at most CONFIG_SIZE_MAX bytes, into the text. */
int config_read_file(struct config *config, const char *path, struct toolrack_error *err);

/** Parse and check the text, and use the settings if there are no errors. Problems are added to the
 * list and are no failure.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int config_read_text(struct config *config, struct problems *problems, struct toolrack_error *err);

/** Add the problems of what the policies of a file allow. [any-thread] */
void config_check_allowances(yyjson_val *root, struct problems *problems);

/** Add a problem for each name of a model that "models" does not have. [any-thread] */
void config_check_models(yyjson_val *root, struct problems *problems);

/** Add a warning for each member of a policy that has no effect beside another. [any-thread] */
void config_check_unused(yyjson_val *root, struct problems *problems);

/** A path of the file from the root, in the arena: "~" is HOME, and a relative path is below the
 * file's folder. "" for what cannot be resolved, with a problem at `pointer`; NULL when out of
 * memory. */
const char *config_resolve(struct config *config, const char *path, const char *pointer,
                           struct problems *problems);

/** Add the problems of the paths and values of "serve". */
void config_check_serving(struct config *config, struct problems *problems);
/** Those of its values. @param socket  from the root, or NULL */
void config_check_serving_values(yyjson_val *serve, const char *socket, struct problems *problems);
/** Those of the files that it names. @param parts  as for config_serving_files() */
void config_check_serving_files(struct config *config, unsigned parts, struct problems *problems);

/** Give a problem as an error about the file. */
int config_refuse(const struct config *config, const char *file, const struct problem *problem,
                  struct toolrack_error *err);

/** The context for definition_read(). */
struct definition_context config_context(struct config *config, struct problems *problems);

/** The array of definitions, or NULL. */
yyjson_val *config_definitions(const struct config *config);
