/* graph.h - the store of a knowledge graph: entities with observations, and relations of their
 * names, in an SQLite database that several processes write at once.
 *
 * A change is one transaction: it is in the file whole, or not at all, and on the disk when the
 * function returns. What is read is one state. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include <toolrack/plugin.h>

struct sqlite3;

/* Why something was not done. */
struct graph_fault {
    tr_status code;
    char message[600];
};

/** Where the database is: set by open(), before the first call. NULL: nowhere. */
void graph_set_folder(const char *folder);
/** Close the database, if it is open. */
void graph_close(void);

/** Begin and end what a tool does: it opens the database at the first one. `call` is asked whether
 * to go on waiting for other writers. graph_end() without success undoes all; it sets the fault
 * where the end itself fails. */
bool graph_begin(struct tr_call *call, bool writes, struct graph_fault *fault);
bool graph_end(bool success, struct graph_fault *fault);

/* Each takes an array of the tool's arguments; what is made is added to `made`. False, with the
 * reason. */
bool graph_create_entities(yyjson_val *entities, yyjson_mut_doc *doc, yyjson_mut_val *made,
                           struct graph_fault *fault);
bool graph_create_relations(yyjson_val *relations, yyjson_mut_doc *doc, yyjson_mut_val *made,
                            struct graph_fault *fault);
bool graph_add_observations(yyjson_val *observations, yyjson_mut_doc *doc, yyjson_mut_val *made,
                            struct graph_fault *fault);
bool graph_delete_entities(yyjson_val *names, struct graph_fault *fault);
bool graph_delete_observations(yyjson_val *deletions, struct graph_fault *fault);
bool graph_delete_relations(yyjson_val *relations, struct graph_fault *fault);

/* Which entities are read, with the relations that one of them takes part in. */
enum graph_choice {
    GRAPH_ALL,    /* and all relations */
    GRAPH_NAMED,  /* the text is a JSON array of names */
    GRAPH_SEARCH, /* the text is in the name, the type or an observation, in capitals or not */
};

/** Add them to the members `entities` and `relations` of `graph`. */
bool graph_read(enum graph_choice choice, const char *text, size_t length, yyjson_mut_doc *doc,
                yyjson_mut_val *graph, struct graph_fault *fault);
