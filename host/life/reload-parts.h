/* reload-parts.h - a reload as a struct, and its steps. Each returns the outcome, or
 * RELOAD_UNDECIDED: then the next step follows.
 *
 *     reload-file.c      the steps in order; whether the file has changed; the try-out
 *     reload-make.c      the next generation
 *     reload-exchange.c  whether it may serve, and what gives way to it
 *     reload-refuse.c    how a refusal is told */
#pragma once

#include <sodium.h>

#include "base/error.h"
#include "life/identities.h"
#include "life/parts.h"
#include "life/reload.h"

/* One file that is being reloaded. */
struct reload {
    struct life *life;
    struct plugin_file *file;
    enum reload_how how;
    struct reload_row *row;
    struct plugin *old; /* a reference to the plugin that serves, or NULL */
    bool is_moved; /* its folder leads elsewhere than to where `old` is from: `old` is the plugin
                      of another file, which is gone */
    struct content content;
    struct descriptor *desc;
    struct plugin *new;
    struct identities identities;
    struct identity_claim *claims; /* the file's, then those of `others` */
    struct plugin **others;        /* plugins of other files with the same id; references */
    size_t other_count;
    const char *bad_rule; /* the content of the file is refused by it, and no other one serves */
};

/** Whether an earlier content is used because the one that the file has was refused. */
static inline bool reload_is_in_place_of_refused(const struct reload *reload) {
    return reload->content.is_earlier && reload->content.rollback.is_automatic;
}

static inline void reload_set_hash(struct reload_row *row, const uint8_t *sha256) {
    (void)sodium_bin2hex(row->sha256, sizeof row->sha256, sha256, STAGE_HASH_SIZE);
}

/** Copy the file, or find the content that is to serve in its place; read the copy; make the next
 * generation. */
enum reload_outcome reload_copy(struct reload *reload);
/** The next generation is made of the copy that serves, whatever the file has become. Kept versions
 * go: they have the old policy. */
enum reload_outcome reload_renew(struct reload *reload);

/** May the file use its id? */
enum reload_outcome reload_claim_id(struct reload *reload);
/** The next generation serves. */
enum reload_outcome reload_exchange(struct reload *reload);
/** The file is gone: remove its tools. */
enum reload_outcome reload_remove(struct reload *reload);
/** Nothing of the file serves, so what serves, which is_moved, is removed too; the refusals of the
 * file are replaced. */
int reload_remove_moved(struct reload *reload, const struct toolrack_refusal *rows, size_t count,
                        struct toolrack_error *err);

/** The present content of the file does not serve: report it. The plugin that serves stays. */
enum reload_outcome reload_refuse_rows(struct reload *reload, const struct toolrack_refusal *rows,
                                       size_t count);
enum reload_outcome reload_refuse(struct reload *reload, const char *rule, const char *tool,
                                  const char *reason, const char *fix);
/** The cause is not the file, for example no memory or a full disk. The file is tried again. */
enum reload_outcome reload_refuse_for_now(struct reload *reload, const struct toolrack_error *err);
