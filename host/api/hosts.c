/* Hosts that are joined by NATS: what a member (remote/nats/member.h) needs of the host. */
#include "toolrack/hosts.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "api/host.h"
#include "api/hosts.h"
#include "api/obey.h"
#include "api/share.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/json.h"
#include "registry/text.h"
#include "remote/nats/access.h"
#include "remote/nats/member.h"

CLEANUP_DEFINE(struct toolrack_tools, toolrack_tools_free)

/* A membership, also one that was left: calls of its tools may still be held. */
struct joined {
    struct joined *next;
    struct toolrack *host;
    struct arena arena;    /* of the options' texts */
    struct member *member; /* NULL: it could not join */
    bool is_left;
};

/* ------------------------------------------------------ what a member calls */

static bool is_own(const struct toolrack_tool *tool) {
    return plugin_distance(tool->reg->plugin) < PLUGIN_ELSEWHERE;
}

/* Tools of other hosts are offered by those, and what nobody has agreed to or what cannot run here
 * is of no use there either. */
static int list_own(void *user, struct toolrack_tools **ret, struct toolrack_error *err) {
    const struct joined *joined = user;
    CLEANUP(toolrack_tools_freep) struct toolrack_tools *tools = NULL;
    int code = toolrack_list(joined->host, NULL, &tools, err);
    if (code < 0) {
        return code;
    }
    tools_keep(tools, is_own);
    *ret = STEAL(tools);
    return 0;
}

static struct toolrack_tool *get_tool(void *user, const char *selector) {
    const struct joined *joined = user;
    return toolrack_get(joined->host, selector);
}

static int submit(void *user, struct toolrack_tool *tool, const char *arguments, size_t length,
                  const struct toolrack_call_options *options, toolrack_done *done, void *done_user,
                  struct toolrack_call **ret, struct toolrack_error *err) {
    const struct joined *joined = user;
    return toolrack_submit_tool(joined->host, tool, arguments, length, options, done, done_user,
                                ret, err);
}

static uint32_t running(void *user) {
    const struct joined *joined = user;
    return call_running(&joined->host->calls);
}

/* Never called: the service runs in its place. */
static tr_status run_elsewhere(struct tr_call *call) {
    return tr_fail(call, TR_FAILED, NULL, "the tool runs on other hosts");
}

/* A plugin of one tool, as one of the configuration; the same pins and policies hold for it. */
static int add_tool(void *user, const struct tr_tool *tool, enum trust trust,
                    const struct run_service *service, uint64_t *ret_uid,
                    struct toolrack_error *err) {
    const struct joined *joined = user;
    struct toolrack *host = joined->host;
    struct tr_tool one = *tool;
    const struct tr_tool *const tools[] = {&one};
    one.run = run_elsewhere;
    struct tr_plugin described = {.magic = TR_MAGIC,
                                  .size = sizeof described,
                                  .abi_major = TR_ABI_MAJOR,
                                  .abi_minor = TR_ABI_MINOR,
                                  .flags = TR_THREAD_SAFE,
                                  .id = tool->name,
                                  .version = tool->version,
                                  .tool_count = 1,
                                  .tool_size = sizeof(struct tr_tool),
                                  .tools = tools};
    return host_register(host,
                         &(struct host_registering){.plugin = &described,
                                                    .trust = trust,
                                                    .origin = ORIGIN_REMOTE,
                                                    .service = service},
                         ret_uid, err);
}

static void remove_tool(void *user, const char *name, uint64_t uid) {
    const struct joined *joined = user;
    (void)registry_remove_of_name(joined->host->registry, name, uid, NULL);
}

static bool digest_of(void *user, const char *selector, char ret[ANNOUNCE_DIGEST_ROOM]) {
    const struct joined *joined = user;
    return share_digest(joined->host, selector, ret);
}

static int carry_out(void *user, const struct decision *decision,
                     const struct store_shared_order *order, struct toolrack_error *err) {
    const struct joined *joined = user;
    return share_carry_out(joined->host, decision, order, err);
}

static void overruled(void *user, const struct decision *loser, const struct decision *winner) {
    const struct joined *joined = user;
    share_note_overruled(joined->host, loser, winner);
}

static int obey(void *user, const struct message_order *order, const struct buf *package,
                const char *key, struct buf *out, struct toolrack_error *err) {
    const struct joined *joined = user;
    return obey_order(joined->host, order, package, key, out, err);
}

/* A toolrack_listener. */
static void tell_changed(void *user, const struct toolrack_event *event) {
    struct joined *joined = user;
    switch (event->kind) {
    case TOOLRACK_EVENT_ADDED:
    case TOOLRACK_EVENT_REMOVED:
    case TOOLRACK_EVENT_CHANGED:
    case TOOLRACK_EVENT_CHANGED_TEXT:
    case TOOLRACK_EVENT_RELOADED:
    case TOOLRACK_EVENT_QUARANTINED:
    case TOOLRACK_EVENT_RELEASED: member_changed(joined->member); break;
    default: break;
    }
}

/* ----------------------------------------------------------------- options */

/* A text in the arena; NULL stays NULL. @return whether there was memory. */
static bool keep(struct joined *joined, const char **text, const char *otherwise) {
    const char *from = *text != NULL ? *text : otherwise;
    *text = from != NULL ? arena_copy(&joined->arena, from, strlen(from)) : NULL;
    return from == NULL || *text != NULL;
}

static bool keep_trusted(struct joined *joined, const char *const *trusted,
                         struct member_options *ret) {
    size_t count = 0;
    while (trusted != NULL && trusted[count] != NULL) {
        count++;
    }
    const char **kept = arena_alloc(&joined->arena, (count + 1) * sizeof *kept);
    for (size_t i = 0; kept != NULL && i < count; i++) {
        kept[i] = trusted[i];
        if (!keep(joined, &kept[i], NULL)) {
            return false;
        }
    }
    ret->trusted = kept;
    ret->trusted_count = count;
    return kept != NULL;
}

/* What the options leave open, as the configuration says; lists in the arena. */
static bool add_configured(struct joined *joined, struct toolrack_join_options *options) {
    yyjson_val *nats = config_nats(joined->host->config);
    const struct {
        const char **option;
        const char *name;
    } texts[] = {{&options->url, "url"},   {&options->group, "group"},
                 {&options->name, "name"}, {&options->credentials, "credentials"},
                 {&options->ca, "ca"},     {&options->certificate, "certificate"},
                 {&options->key, "key"},   {&options->nkey, "nkey"}};
    for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
        if (*texts[i].option == NULL) {
            *texts[i].option = yyjson_get_str(yyjson_obj_get(nats, texts[i].name));
        }
    }
    if (options->trusted == NULL) {
        yyjson_val *keys = yyjson_obj_get(nats, "trusted_hosts");
        const char **trusted =
                arena_zalloc(&joined->arena, (yyjson_arr_size(keys) + 1) * sizeof *trusted);
        size_t at;
        size_t count;
        yyjson_val *key;
        yyjson_arr_foreach (keys, at, count, key) {
            if (trusted != NULL) {
                trusted[at] = yyjson_get_str(key);
            }
        }
        options->trusted = trusted;
    }
    return options->trusted != NULL;
}

/* What "hosts" of the configuration says of others, in the arena. False: out of memory. */
static bool add_hosts(struct joined *joined, struct member_options *ret) {
    yyjson_val *hosts = yyjson_obj_get(config_nats(joined->host->config), "hosts");
    struct member_host *all =
            arena_zalloc(&joined->arena, (yyjson_obj_size(hosts) + 1) * sizeof *all);
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *host;
    json_obj_foreach (hosts, at, count, key, host) {
        const char *trust = yyjson_get_str(yyjson_obj_get(host, "trust"));
        const char *permission = yyjson_get_str(yyjson_obj_get(host, "permission"));
        if (all == NULL) {
            return false;
        }
        all[at] = (struct member_host){
                .key = yyjson_get_str(key),
                .trust = trust != NULL && strcmp(trust, "official") == 0 ? TRUST_OFFICIAL
                                                                         : TRUST_COMMUNITY,
                .permission = permission == NULL                   ? -1
                              : strcmp(permission, "safe") == 0    ? TR_SAFE
                              : strcmp(permission, "confirm") == 0 ? TR_CONFIRM
                                                                   : TR_DANGEROUS};
    }
    ret->hosts = all;
    ret->host_count = yyjson_obj_size(hosts);
    return all != NULL;
}

static int fill(struct joined *joined, const struct toolrack_join_options *given,
                struct member_options *ret, struct toolrack_error *err) {
    struct toolrack *host = joined->host;
    char name[64] = "";
    (void)gethostname(name, sizeof name - 1);
    *ret = (struct member_options){
            .log = &host->log,
            .url = given->url,
            .group = given->group,
            .name = given->name,
            .credentials = given->credentials,
            .nkey = given->nkey,
            .ca = given->ca,
            .certificate = given->certificate,
            .key = given->key,
            .key_folder =
                    given->observes == 0 || given->orders != 0 ? host->places.state_dir : NULL,
            .serves = given->observes == 0,
            .uses = given->observes == 0,
            .beat_ms = given->beat_ms < UINT32_MAX ? (unsigned)given->beat_ms : MEMBER_BEAT_MS,
            .user = joined,
            .list = list_own,
            .get = get_tool,
            .submit = submit,
            .cancel = toolrack_cancel,
            .let_go = toolrack_call_unref,
            .running = running,
            .add = add_tool,
            .obey = obey,
            .remove = remove_tool,
            .store = host->store,
            .digest = digest_of,
            .carry_out = carry_out,
            .overruled = overruled};
    if (!keep(joined, &ret->url, "nats://127.0.0.1:4222") ||
        !keep(joined, &ret->group, "default") ||
        !keep(joined, &ret->name, name[0] != '\0' ? name : "host") ||
        !keep(joined, &ret->credentials, NULL) || !keep(joined, &ret->nkey, NULL) ||
        !add_hosts(joined, ret) || !keep(joined, &ret->ca, NULL) ||
        !keep(joined, &ret->certificate, NULL) || !keep(joined, &ret->key, NULL) ||
        !keep_trusted(joined, given->trusted, ret)) {
        return error_oom(err);
    }
    return 0;
}

/* ----------------------------------------------------------- join and leave */

void joined_destroy(struct joined *joined) {
    while (joined != NULL) {
        struct joined *next = joined->next;
        member_destroy(joined->member);
        arena_finish(&joined->arena);
        free(joined);
        joined = next;
    }
}

/* The membership that is not left, or NULL. */
static struct joined *present(struct toolrack *host) {
    struct joined *joined = atomic_load(&host->joined);
    return joined != NULL && !joined->is_left ? joined : NULL;
}

void host_decided(struct toolrack *host) {
    struct joined *joined = present(host);
    if (joined != NULL) {
        member_decided(joined->member);
    }
}

struct member *host_member(struct toolrack *host) {
    struct joined *joined = present(host);
    return joined != NULL ? joined->member : NULL;
}

int toolrack_join(struct toolrack *host, const struct toolrack_join_options *options,
                  struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct toolrack_join_options given = TOOLRACK_JOIN_OPTIONS_INIT;
    struct member_options wanted;
    if (options != NULL) {
        memcpy(&given, options, options->size < sizeof given ? options->size : sizeof given);
    }
    if (present(host) != NULL) {
        return error_set(err, TOOLRACK_E_EXISTS,
                         "this host has joined a group already; leave it first");
    }
    struct joined *joined = calloc(1, sizeof *joined);
    if (joined == NULL) {
        return error_oom(err);
    }
    joined->host = host;
    arena_init(&joined->arena, NULL, 0);
    int code = add_configured(joined, &given) ? fill(joined, &given, &wanted, err) : error_oom(err);
    code = code < 0 ? code : member_join(&wanted, &joined->member, err);
    if (code < 0) {
        joined_destroy(joined);
        return code;
    }
    joined->next = atomic_load(&host->joined);
    atomic_store(&host->joined, joined);
    code = wanted.serves ? toolrack_add_listener(host, tell_changed, joined, err) : 0;
    if (code < 0) {
        toolrack_leave(host);
        return code;
    }
    member_changed(joined->member); /* what has changed before it was listened */
    return 0;
}

int hosts_check(struct toolrack *host, struct toolrack_error *err) {
    struct toolrack_join_options given = TOOLRACK_JOIN_OPTIONS_INIT;
    struct joined configured = {.host = host};
    if (config_nats(host->config) == NULL) {
        return 0;
    }
    arena_init(&configured.arena, NULL, 0);
    int code = add_configured(&configured, &given)
                       ? access_check(&(struct access_options){.url = given.url,
                                                               .credentials = given.credentials,
                                                               .nkey = given.nkey,
                                                               .ca = given.ca,
                                                               .certificate = given.certificate,
                                                               .key = given.key},
                                      err)
                       : error_oom(err);
    arena_finish(&configured.arena);
    return code;
}

bool toolrack_joins(struct toolrack *host) {
    HOST_SCOPE(host);
    return yyjson_obj_get(config_nats(host->config), "url") != NULL;
}

void toolrack_leave(struct toolrack *host) {
    HOST_SCOPE(host);
    struct joined *joined = present(host);
    if (joined != NULL) {
        toolrack_remove_listener(host, tell_changed, joined);
        member_leave(joined->member);
        joined->is_left = true;
    }
}

void joined_describe(struct toolrack *host, yyjson_mut_doc *doc, yyjson_mut_val *root) {
    struct joined *joined = present(host);
    struct member_counts counts;
    if (joined == NULL) {
        return;
    }
    member_count(joined->member, &counts);
    const struct {
        const char *key;
        uint64_t number;
    } rows[] = {{"known", counts.hosts},    {"trusted", counts.trusted}, {"slow", counts.slow},
                {"silent", counts.silent},  {"running", counts.running}, {"tools", counts.tools},
                {"ejected", counts.ejected}};
    const struct {
        const char *key;
        uint64_t number;
    } ends[] = {{"answered", counts.answered},
                {"late", counts.late},
                {"cancelled", counts.cancelled},
                {"lost", counts.lost}};
    yyjson_mut_val *hosts = yyjson_mut_obj_add_obj(doc, root, "hosts");
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        (void)yyjson_mut_obj_add_uint(doc, hosts, rows[i].key, rows[i].number);
    }
    yyjson_mut_val *calls = yyjson_mut_obj_add_obj(doc, hosts, "calls");
    for (size_t i = 0; i < ARRAY_LENGTH(ends); i++) {
        (void)yyjson_mut_obj_add_uint(doc, calls, ends[i].key, ends[i].number);
    }
}

int toolrack_hosts(struct toolrack *host, uint32_t wait_ms, struct toolrack_text **ret,
                   struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct joined *joined = present(host);
    if (joined == NULL) {
        return error_set(err, TOOLRACK_E_NOT_FOUND,
                         "this host has joined no others, and no daemon that has runs here; name "
                         "their NATS server: %s, or \"nats\": {\"url\": ...} in the configuration",
                         COMMAND("hosts --nats URL"));
    }
    if (wait_ms > 0) {
        member_gather(joined->member, wait_ms);
    }
    member_describe(joined->member, &out);
    *ret = text_create(&out);
    return *ret != NULL ? 0 : error_oom(err);
}
