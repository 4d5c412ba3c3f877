/* object-tool.c - what the host does with objects, for a test that compares it with another client.
 *
 *     object-tool URL BUCKET put NAME FILE
 *     object-tool URL BUCKET get NAME FILE
 *     object-tool URL BUCKET delete NAME
 *     object-tool URL BUCKET list
 *
 * An error is written to the standard error, with exit code 1. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "remote/nats/object.h"

CLEANUP_DEFINE(struct objects, objects_close)

static void close_file(FILE **file) {
    if (*file != NULL) {
        (void)fclose(*file);
    }
}

static bool show(void *user, const struct object_info *info) {
    (void)user;
    (void)printf("%s %llu %llu\n", info->name, (unsigned long long)info->size,
                 (unsigned long long)info->chunks);
    return true;
}

static int put(struct objects *objects, const char *name, const char *path,
               struct toolrack_error *err) {
    char bytes[65536];
    size_t length;
    CLEANUP(buf_finish) struct buf all = BUF_INIT;
    CLEANUP(close_file) FILE *file = fopen(path, "rb");
    while (file != NULL && (length = fread(bytes, 1, sizeof bytes, file)) > 0) {
        buf_add(&all, bytes, length);
    }
    return file == NULL || all.failed ? error_set(err, TOOLRACK_E_IO, "%s cannot be read", path)
                                      : object_put(objects, name, all.length > 0 ? all.data : "",
                                                   all.length, NULL, err);
}

static int get(struct objects *objects, const char *name, const char *path,
               struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf all = BUF_INIT;
    int code = object_get(objects, name, OBJECT_SIZE_MAX, &all, NULL, err);
    CLEANUP(close_file) FILE *file = code == 0 ? fopen(path, "wb") : NULL;
    return code < 0 ? code
           : file == NULL || fwrite(all.data, 1, all.length, file) != all.length
                   ? error_set(err, TOOLRACK_E_IO, "%s cannot be written", path)
                   : 0;
}

static int run(natsConnection *connection, char **argv, int argc, struct toolrack_error *err) {
    CLEANUP(objects_closep) struct objects *objects = NULL;
    const struct objects_options options = {.bucket = argv[2]};
    int code = objects_open(connection, &options, &objects, err);
    if (code < 0) {
        return code;
    }
    return strcmp(argv[3], "put") == 0 && argc == 6      ? put(objects, argv[4], argv[5], err)
           : strcmp(argv[3], "get") == 0 && argc == 6    ? get(objects, argv[4], argv[5], err)
           : strcmp(argv[3], "delete") == 0 && argc == 5 ? object_delete(objects, argv[4], err)
           : strcmp(argv[3], "list") == 0                ? objects_list(objects, show, NULL, err)
                                          : error_set(err, TOOLRACK_E_INVALID, "unknown command");
}

int main(int argc, char **argv) {
    struct toolrack_error err = {.code = TOOLRACK_E_INVALID, .message = "too few arguments"};
    natsConnection *connection = NULL;
    natsOptions *options = NULL;
    int code = argc < 4 ? err.code : libnats_load(&err);
    const char *urls[] = {argc > 1 ? argv[1] : ""};
    if (code == 0 && (nats.Options_Create(&options) != NATS_OK ||
                      nats.Options_SetServers(options, urls, 1) != NATS_OK ||
                      nats.Connection_Connect(&connection, options) != NATS_OK)) {
        code = error_set(&err, TOOLRACK_E_IO, "cannot connect to %s", urls[0]);
    }
    code = code < 0 ? code : run(connection, argv, argc, &err);
    if (code < 0) {
        (void)fprintf(stderr, "%s\n", err.message);
    }
    if (options != NULL) {
        nats.Options_Destroy(options);
    }
    if (connection != NULL) {
        nats.Connection_Destroy(connection);
    }
    return code < 0 ? 1 : 0;
}
