/* remote-tool.c - the tools of other hosts: which there are, and which are registered here.
 *
 * Tables are those of the C library (tsearch()): by what a tool is, and the first tool of each
 * name. Only the member's thread changes them. */
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "remote/nats/peer.h"

/* ------------------------------------------------------------------ tables */

static int compare_identities(const void *left, const void *right) {
    const struct remote_identity *a = left;
    const struct remote_identity *b = right;
    int order = strcmp(a->digest, b->digest);
    return order != 0                             ? order
           : a->terms.trusted != b->terms.trusted ? (int)a->terms.trusted - (int)b->terms.trusted
           : a->terms.trust != b->terms.trust     ? (int)a->terms.trust - (int)b->terms.trust
                                              : (int)a->terms.permission - (int)b->terms.permission;
}

static int compare_name(const void *name, const void *tool) {
    return strcmp(name, ((const struct remote_tool *)tool)->name);
}

static int compare_names(const void *left, const void *right) {
    return compare_name(((const struct remote_tool *)left)->name, right);
}

/* The first of a name; NULL: there is none. */
static struct remote_tool *first_of(const struct member *member, const char *name) {
    struct remote_tool **place = tfind(name, &member->tools_by_name, compare_name);
    return place != NULL ? *place : NULL;
}

/* Tools of hosts that are not trusted are counted. */
static void count_unknown(struct member *member, const struct remote_tool *tool, bool is_new) {
    if (!tool->identity.terms.trusted) {
        member->unknown_count += is_new ? 1 : (size_t)-1;
        member->unknown_size += is_new ? tool->size : 0 - tool->size;
    }
}

/* Put a tool into both tables and the list. False: out of memory. */
static bool insert(struct member *member, struct remote_tool *tool) {
    if (tsearch(tool, &member->tools_by_identity, compare_identities) == NULL) {
        return false;
    }
    struct remote_tool **place = tsearch(tool, &member->tools_by_name, compare_names);
    if (place == NULL) {
        (void)tdelete(tool, &member->tools_by_identity, compare_identities);
        return false;
    }
    if (*place != tool) { /* there are others of the name: it becomes the first */
        tool->next_of_name = *place;
        tool->next_of_name->previous_of_name = tool;
        *place = tool;
    }
    tool->next = member->remote_tools;
    if (tool->next != NULL) {
        tool->next->previous = tool;
    }
    member->remote_tools = tool;
    member->remote_tool_count++;
    count_unknown(member, tool, true);
    return true;
}

static void take_out(struct member *member, struct remote_tool *tool) {
    (void)tdelete(tool, &member->tools_by_identity, compare_identities);
    if (tool->previous_of_name != NULL) {
        tool->previous_of_name->next_of_name = tool->next_of_name;
    } else if (tool->next_of_name != NULL) {
        struct remote_tool **place = tfind(tool->name, &member->tools_by_name, compare_name);
        *place = tool->next_of_name;
    } else {
        (void)tdelete(tool, &member->tools_by_name, compare_names);
    }
    if (tool->next_of_name != NULL) {
        tool->next_of_name->previous_of_name = tool->previous_of_name;
    }
    *(tool->previous != NULL ? &tool->previous->next : &member->remote_tools) = tool->next;
    if (tool->next != NULL) {
        tool->next->previous = tool->previous;
    }
    member->remote_tool_count--;
    count_unknown(member, tool, false);
}

/* -------------------------------------------------------------------- life */

/* A run_service.release too. */
static void unref(void *user) {
    struct remote_tool *tool = user;
    if (atomic_fetch_sub(&tool->refs, 1) == 1) {
        free(tool->hosts);
        free(tool);
    }
}

/* No host has it (any more). Caller holds the lock. */
static void note_unused(struct remote_tool *tool) {
    if (!tool->is_unused) {
        tool->is_unused = true;
        tool->next_unused = tool->member->unused;
        tool->member->unused = tool;
    }
}

static struct remote_tool *create(struct member *member, const struct tr_tool *described,
                                  const struct remote_identity *identity, size_t size) {
    size_t name_size = strlen(described->name) + 1;
    size_t version_size = strlen(described->version) + 1;
    struct remote_tool *tool = calloc(1, sizeof *tool + name_size + version_size);
    if (tool != NULL) {
        tool->identity = *identity;
        atomic_init(&tool->refs, 1);
        tool->member = member;
        tool->size = size;
        tool->idempotent = (described->flags & (TR_IDEMPOTENT | TR_READ_ONLY)) != 0;
        tool->is_safe = described->permission == TR_SAFE;
        tool->name = memcpy(tool->texts, described->name, name_size);
        tool->version = memcpy(tool->texts + name_size, described->version, version_size);
    }
    return tool;
}

/* Whether there is room for one more. */
static int check_room(const struct member *member, const struct host_terms *terms, size_t size,
                      struct toolrack_error *err) {
    if (member->remote_tool_count == MEMBER_REMOTE_TOOLS_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "all hosts together have more than %u tools; use several groups",
                         MEMBER_REMOTE_TOOLS_MAX);
    }
    if (!terms->trusted && (member->unknown_count == MEMBER_UNKNOWN_TOOLS_MAX ||
                            size > MEMBER_UNKNOWN_SIZE_MAX - member->unknown_size)) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED,
                         "the hosts that are not trusted here have together more than %u tools, or "
                         "%u bytes of descriptions; add the keys of those that you know to "
                         "\"trusted_hosts\" of \"nats\" in the configuration",
                         MEMBER_UNKNOWN_TOOLS_MAX, MEMBER_UNKNOWN_SIZE_MAX);
    }
    return 0;
}

int remote_tool_get(struct member *member, const struct tr_tool *described, const char *digest,
                    size_t size, const struct host_terms *terms, struct remote_tool **ret,
                    struct toolrack_error *err) {
    struct remote_identity identity = {.terms = *terms};
    (void)snprintf(identity.digest, sizeof identity.digest, "%s", digest);
    struct remote_tool **place = tfind(&identity, &member->tools_by_identity, compare_identities);
    if (place != NULL) {
        *ret = *place;
        return 0;
    }
    int code = check_room(member, terms, size, err);
    if (code < 0) {
        return code;
    }
    struct remote_tool *tool = create(member, described, &identity, size);
    if (tool == NULL || !insert(member, tool)) {
        free(tool);
        return error_oom(err);
    }
    (void)pthread_mutex_lock(&member->lock);
    note_unused(tool); /* until its host is known to have it, if that comes to be */
    (void)pthread_mutex_unlock(&member->lock);
    *ret = tool;
    return 0;
}

/* ------------------------------------------------------------- their hosts */

/* Room for one more host of a tool. False: out of memory. */
static bool reserve(struct remote_tool *tool) {
    if (tool->host_count < tool->host_room) {
        return true;
    }
    size_t room = tool->host_room == 0 ? 1 : 2 * tool->host_room;
    struct peer **grown = realloc(tool->hosts, room * sizeof *tool->hosts);
    if (grown != NULL) {
        tool->hosts = grown;
        tool->host_room = room;
    }
    return grown != NULL;
}

static void remove_host(struct remote_tool *tool, const struct peer *peer) {
    for (size_t i = 0; i < tool->host_count; i++) {
        if (tool->hosts[i] == peer) {
            tool->hosts[i] = tool->hosts[--tool->host_count];
            break;
        }
    }
    if (tool->host_count == 0) {
        note_unused(tool);
    }
}

void peer_set_tools(struct peer *peer, struct remote_tool *const *tools, size_t count) {
    for (size_t i = 0; i < peer->tool_count; i++) {
        remove_host(peer->tools[i], peer);
    }
    free(peer->tools);
    peer->tools = calloc(count + 1, sizeof(struct remote_tool *));
    peer->tool_count = 0;
    for (size_t i = 0; peer->tools != NULL && i < count; i++) {
        if (reserve(tools[i])) { /* else the host is not asked for this tool */
            tools[i]->hosts[tools[i]->host_count++] = peer;
            peer->tools[peer->tool_count++] = tools[i];
        }
    }
}

/* ------------------------------------------------------------- registering */

static void say_refused(struct member *member, const struct remote_tool *tool, int code,
                        const char *why) {
    if (code != TOOLRACK_E_EXISTS && !member_may_warn(member)) {
        return;
    }
    /* That this host has the tool itself is as it should be. */
    log_line(member->options.log, code == TOOLRACK_E_EXISTS ? LOG_INFO : LOG_WARNING, "nats",
             "the tool %s@%s of other hosts is not registered: %s", tool->name, tool->version, why);
}

static void unregister(struct member *member, struct remote_tool *tool) {
    if (tool->is_registered) {
        member->options.remove(member->options.user, tool->name, tool->uid);
        tool->is_registered = false;
    }
}

/* A host that nobody vouches for does not keep a name from one with a trusted key. */
static void free_name(struct member *member, const char *name) {
    for (struct remote_tool *tool = first_of(member, name); tool != NULL;
         tool = tool->next_of_name) {
        if (tool->is_registered && !tool->identity.terms.trusted) {
            unregister(member, tool);
            tool->refused = TOOLRACK_E_EXISTS;
        }
    }
}

void remote_tool_register(struct member *member, struct remote_tool *tool,
                          const struct tr_tool *described) {
    struct toolrack_error err;
    if (tool->is_registered || tool->refused != 0 || !member->options.uses) {
        return;
    }
    if (tool->identity.terms.trusted) {
        free_name(member, tool->name);
    }
    const struct run_service service = {
            .run = outgoing_run, .user = tool, .release = unref, .returns = true, .waits = true};
    (void)atomic_fetch_add(&tool->refs, 1); /* of the service */
    tool->refused = member->options.add(member->options.user, described, tool->identity.terms.trust,
                                        &service, &tool->uid, &err);
    tool->is_registered = tool->refused == 0;
    if (tool->refused != 0) {
        say_refused(member, tool, tool->refused, err.message);
    }
}

/* The next unused tool, which is in no list then; NULL: there is none. */
static struct remote_tool *next_unused(struct member *member) {
    struct remote_tool *tool;
    (void)pthread_mutex_lock(&member->lock);
    do {
        tool = member->unused;
        if (tool != NULL) {
            member->unused = tool->next_unused;
            tool->is_unused = false;
        }
    } while (tool != NULL && tool->host_count > 0);
    (void)pthread_mutex_unlock(&member->lock);
    return tool;
}

bool remote_tools_clean(struct member *member) {
    bool has_removed = false;
    struct remote_tool *tool;
    while ((tool = next_unused(member)) != NULL) {
        has_removed = has_removed || tool->is_registered;
        unregister(member, tool);
        take_out(member, tool);
        unref(tool);
    }
    return has_removed;
}

static bool is_here(struct member *member, const char *selector) {
    struct toolrack_tool *tool = member->options.get(member->options.user, selector);
    toolrack_tool_unref(tool);
    return tool != NULL;
}

/* Whether what kept a tool from being registered may be over: not so for one that is wrong. */
static bool may_be_registered(struct member *member, const struct remote_tool *tool) {
    return (tool->refused == TOOLRACK_E_EXISTS || tool->refused == TOOLRACK_E_LIMIT_EXCEEDED ||
            tool->refused == TOOLRACK_E_NO_MEMORY) &&
           !is_here(member, tool->name);
}

/* Whether a tool of this host has taken its place, and is gone too. */
static bool was_replaced(struct member *member, const struct remote_tool *tool) {
    char selector[2 * SUBJECT_NAME_MAX + 2];
    (void)snprintf(selector, sizeof selector, "%s@%s", tool->name, tool->version);
    return tool->is_registered && !is_here(member, selector);
}

/* Descriptions are not kept, so the tools of one host that has it are read again. */
void remote_tools_retry(struct member *member) {
    for (struct remote_tool *tool = member->remote_tools; tool != NULL; tool = tool->next) {
        if (may_be_registered(member, tool) || was_replaced(member, tool)) {
            tool->refused = 0;
            tool->is_registered = false;
            (void)pthread_mutex_lock(&member->lock);
            if (tool->host_count > 0) {
                tool->hosts[0]->known[0] = '\0';
                member->wants = true;
                member_wake(member);
            }
            (void)pthread_mutex_unlock(&member->lock);
        }
    }
}

void remote_tools_stop(struct member *member) {
    for (struct remote_tool *tool = member->remote_tools; tool != NULL; tool = tool->next) {
        unregister(member, tool);
    }
}

void remote_tools_destroy(struct member *member) {
    while (member->remote_tools != NULL) {
        struct remote_tool *tool = member->remote_tools;
        take_out(member, tool);
        unref(tool);
    }
}
