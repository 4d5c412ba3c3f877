/* clients.h - MCP clients that start servers by a configuration file in JSON: where that file is,
 * and the entry for this program in it. */
#pragma once

#include <stddef.h>
#include <stdio.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/error.h"

/* The name of the entry. */
#define CLIENTS_ENTRY "toolrack"

/* How an entry says what to start. */
enum client_shape {
    CLIENT_PLAIN,   /* {"command", "args", "env"} */
    CLIENT_TYPED,   /* the same, with "type": "stdio" */
    CLIENT_COMMANDS /* {"type": "local", "command": [program, argument ...], "environment"} */
};

struct client {
    const char *name;  /* as the command line has it */
    const char *title; /* as people know it */
    bool in_config;    /* the file is in $XDG_CONFIG_HOME, else in $HOME */
    const char *file;
    const char *servers; /* the member of the file that holds the entries */
    enum client_shape shape;
};

/** The client of a name.
 * @return NULL: none has it, with an error that lists them; `err` is never NULL here. */
const struct client *clients_find(const char *name, struct toolrack_error *err);

/** The path of its file, of $XDG_CONFIG_HOME or $HOME.
 * @return 0; TOOLRACK_E_NOT_FOUND without these; TOOLRACK_E_NO_MEMORY. */
int clients_path(const struct client *client, struct buf *ret, struct toolrack_error *err);

/* What a client is to start. */
struct client_command {
    const char *program;        /* from the root */
    const char *const *words;   /* its arguments, NULL-terminated */
    const char *const *setting; /* NAME=VALUE of the environment, NULL-terminated */
};

/** The entry. NULL when out of memory. */
yyjson_mut_val *clients_entry(const struct client *client, const struct client_command *command,
                              yyjson_mut_doc *doc);

/** A whole file with this entry alone, indented and with a last line feed.
 * @return 0; TOOLRACK_E_NO_MEMORY. */
int clients_document(const struct client *client, const struct client_command *command,
                     struct buf *ret, struct toolrack_error *err);

/** The text of a file with this entry added, or exchanged; all else, comments too, stays as it is.
 * (clients-edit.c)
 * @param old  JSON with comments and trailing commas; empty: as clients_document()
 * @return 0; 1: the file has this entry already; TOOLRACK_E_INVALID for a text that has no place
 *         for it, with the reason; TOOLRACK_E_NO_MEMORY. */
int clients_edit(const struct client *client, const struct client_command *command, const char *old,
                 size_t length, struct buf *ret, struct toolrack_error *err);

/** Put the entry into a file, which is created with its folders if it is missing, and keep what was
 * there before beside it. (clients-install.c)
 * @param ret_kept  the path of what was there before; empty: there was no file
 * @return as clients_edit(); TOOLRACK_E_IO: the file is as it was. */
int clients_install(const struct client *client, const struct client_command *command,
                    const char *path, struct buf *ret_kept, struct toolrack_error *err);
