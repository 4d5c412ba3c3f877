/* announce.h - a tool as one host describes it to others.
 *
 * The description is a JSON object of texts, numbers and booleans, always written alike, so that
 * its hash, the digest, is the same on every host. Tools of several hosts are one tool only if all
 * of that is equal. A call names the digest: a host whose tool has changed refuses it. */
#pragma once

#include <stdbool.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/error.h"
#include "registry/tool.h"

/* Longest description; the limit of a message of NATS is 1 MiB, unless its server says otherwise.
 */
#define ANNOUNCE_SIZE_MAX    (256u * 1024)
/* Room for a digest as text, with the terminating zero. */
#define ANNOUNCE_DIGEST_ROOM 33u

/** The JSON of a tool of this host, appended. [any-thread] */
void announce_write(struct buf *out, const struct toolrack_tool *tool);

/** The digest of a description. [any-thread] */
void announce_digest(const char *json, size_t length, char ret[static ANNOUNCE_DIGEST_ROOM]);

/** Make the struct of a tool of another host; its texts are those of `described`. What must be
 * there and is not, or is of another type, is an error; the registry checks all else.
 *
 * @param permission  the least that the tool has here, enum tr_permission
 * @param ret      its `run` is not set
 * @return 0; TOOLRACK_E_INVALID. [any-thread] */
int announce_read(yyjson_val *described, uint32_t permission, struct tr_tool *ret,
                  struct toolrack_error *err);
