/* rollout.c - a package is installed on all hosts of the group: on one first, then on the others.
 *
 * All state is here, with the person who has ordered it: a host knows only what it has installed.
 * So when this process is killed, some hosts have the package and others have not; to order it
 * again goes on. */
#include "toolrack/hosts.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "api/host.h"
#include "api/hosts.h"
#include "api/install.h"
#include "api/obey.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "package/archive.h"
#include "registry/document.h"
#include "remote/nats/member.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)
CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* How long hosts are waited for, how long an order may take, and what `calls` may by default. */
#define GATHER_MS    500u
#define ORDER_MS_MAX 120000u
#define CALLS_MS_MAX 600000u
/* How often it is looked how many calls there were. */
#define LOOK_MS      200u

enum state { WAITING, INSTALLED, UNCHANGED, ROLLED_BACK, FAILED, UNTRUSTED, SILENT };
static const char *const states[] = {"waiting", "installed", "unchanged", "rolled-back",
                                     "failed",  "untrusted", "silent"};

/* One host of the group; texts are of the document of hosts. */
struct target {
    const char *name;
    const char *instance;
    const char *key;
    bool is_self;
    enum state state;
    char from[SEMVER_LENGTH_MAX + 1]; /* the version before; "": none */
    char reason[ERROR_MESSAGE_MAX];
};

struct rollout {
    struct toolrack *host;
    struct member *member;
    struct toolrack_rollout_options options;
    const char *who;
    struct source source;
    struct buf bytes;
    yyjson_doc *hosts;
    struct target *targets;
    size_t count;
    char id[LAYOUT_ID_MAX + 1];
    char version[SEMVER_LENGTH_MAX + 1];
    char reason[ERROR_MESSAGE_MAX + 128]; /* why it was ended; "": it was not */
};

static void finish(struct rollout *rollout) {
    source_finish(&rollout->source);
    buf_finish(&rollout->bytes);
    yyjson_doc_free(rollout->hosts);
    free(rollout->targets);
}

static void tell(const struct rollout *rollout, const struct target *target, const char *what) {
    char line[ERROR_MESSAGE_MAX + 128];
    (void)snprintf(line, sizeof line, "%.63s: %s", target->name, what);
    if (rollout->options.told != NULL) {
        rollout->options.told(rollout->options.user, line);
    }
}

/* ------------------------------------------------------------------- hosts */

static void add_target(struct rollout *rollout, yyjson_val *row, const char *own_key) {
    struct target *target = &rollout->targets[rollout->count++];
    *target = (struct target){.name = yyjson_get_str(yyjson_obj_get(row, "name")),
                              .instance = yyjson_get_str(yyjson_obj_get(row, "instance")),
                              .key = yyjson_get_str(yyjson_obj_get(row, "key")),
                              .is_self = yyjson_is_true(yyjson_obj_get(row, "self"))};
    bool is_silent = yyjson_equals_str(yyjson_obj_get(row, "state"), "silent");
    if (!member_takes(rollout->member, target->key) && strcmp(target->key, own_key) != 0) {
        target->state = UNTRUSTED;
        (void)snprintf(target->reason, sizeof target->reason,
                       "this host does not trust it; add its key to \"trusted_hosts\" of \"nats\" "
                       "in the configuration");
    } else if (is_silent) {
        target->state = SILENT;
        (void)snprintf(target->reason, sizeof target->reason,
                       "it does not answer; order the package again when it does");
    }
}

static int compare_targets(const void *a, const void *b) {
    const struct target *one = a;
    const struct target *two = b;
    int order = strcmp(one->name, two->name);
    return order != 0 ? order : strcmp(one->instance, two->instance);
}

/* The hosts by their names; this one too, unless it only observes. */
static int find_hosts(struct rollout *rollout, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *row;
    member_gather(rollout->member, GATHER_MS);
    member_describe(rollout->member, &text);
    rollout->hosts = text.failed ? NULL : yyjson_read(text.data, text.length, 0);
    yyjson_val *rows = yyjson_doc_get_root(rollout->hosts);
    rollout->targets = calloc(yyjson_arr_size(rows) + 1, sizeof *rollout->targets);
    if (rollout->hosts == NULL || rollout->targets == NULL) {
        return error_oom(err);
    }
    yyjson_val *self = yyjson_arr_get_first(rows);
    const char *own_key = yyjson_get_str(yyjson_obj_get(self, "key"));
    yyjson_arr_foreach (rows, at, count, row) {
        if (row != self || member_serves(rollout->member)) {
            add_target(rollout, row, own_key);
        }
    }
    qsort(rollout->targets, rollout->count, sizeof *rollout->targets, compare_targets);
    return 0;
}

/* ------------------------------------------------------------------ orders */

/* Have a host carry out an order; the report, to be released by yyjson_doc_free(). */
static int order(const struct rollout *rollout, const struct target *target,
                 const struct message_order *wanted, yyjson_doc **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf report = BUF_INIT;
    int code = target->is_self ? obey_order(rollout->host, wanted, &rollout->bytes, target->key,
                                            &report, err)
                               : member_order(rollout->member, target->instance, target->key,
                                              wanted, ORDER_MS_MAX, &report, err);
    if (code < 0) {
        return code;
    }
    *ret = report.failed ? NULL : yyjson_read(report.data, report.length, 0);
    return *ret != NULL ? 0
                        : error_set(err, TOOLRACK_E_INVALID, "the host's report is no JSON value");
}

static struct message_order order_of(const struct rollout *rollout, const char *what) {
    return (struct message_order){
            .what = what, .id = rollout->id, .version = rollout->version, .who = rollout->who};
}

static int fail(struct rollout *rollout, struct target *target, const char *why) {
    (void)snprintf(target->reason, sizeof target->reason, "%s", why);
    (void)snprintf(rollout->reason, sizeof rollout->reason, "%.63s: %s", target->name, why);
    tell(rollout, target, why);
    return -1;
}

/* @return 0; or it failed */
static int install_on(struct rollout *rollout, struct target *target) {
    struct toolrack_error err;
    CLEANUP(yyjson_doc_freep) yyjson_doc *report = NULL;
    struct message_order wanted = order_of(rollout, "install");
    wanted.package = rollout->source.sha256;
    wanted.size = rollout->bytes.length;
    wanted.signature = rollout->source.signature.data;
    wanted.file = strrchr(rollout->source.name, '/') != NULL
                          ? strrchr(rollout->source.name, '/') + 1
                          : rollout->source.name;
    int code = order(rollout, target, &wanted, &report, &err);
    if (code < 0) {
        target->state = FAILED; /* without an answer nobody knows whether it has it */
        return fail(rollout, target, err.message);
    }
    yyjson_val *root = yyjson_doc_get_root(report);
    const char *from = yyjson_get_str(yyjson_obj_get(root, "installed"));
    (void)snprintf(target->from, sizeof target->from, "%s", from != NULL ? from : "");
    target->state = yyjson_is_true(yyjson_obj_get(root, "changed")) ? INSTALLED : UNCHANGED;
    tell(rollout, target,
         target->state == INSTALLED ? "it is installed" : "it is installed already");
    return 0;
}

/* Whether a host finds the package healthy. @return 0; or it does not */
static int check_on(struct rollout *rollout, struct target *target, bool tests,
                    uint64_t *ret_calls) {
    struct toolrack_error err;
    CLEANUP(yyjson_doc_freep) yyjson_doc *report = NULL;
    struct message_order wanted = order_of(rollout, "check");
    wanted.tests = tests;
    if (order(rollout, target, &wanted, &report, &err) < 0) {
        return fail(rollout, target, err.message);
    }
    yyjson_val *root = yyjson_doc_get_root(report);
    uint64_t failures = yyjson_get_uint(yyjson_obj_get(root, "failures"));
    const char *why = yyjson_get_str(yyjson_obj_get(root, "reason"));
    *ret_calls = yyjson_get_uint(yyjson_obj_get(root, "calls"));
    if (!yyjson_is_true(yyjson_obj_get(root, "healthy"))) {
        return fail(rollout, target, why != NULL ? why : "it does not find the package healthy");
    }
    return failures > 0 && rollout->options.calls > 0
                   ? fail(rollout, target, "a call of a tool of the package failed")
                   : 0;
}

/* Wait for the calls that the first host must have answered. */
static int await_calls(struct rollout *rollout, struct target *target, uint64_t calls) {
    uint64_t wait_ms = rollout->options.wait_ms > 0 ? rollout->options.wait_ms : CALLS_MS_MAX;
    const uint64_t until_ns = clock_now_ns() + wait_ms * CLOCK_NS_PER_MS;
    int code = 0;
    while (code == 0 && calls < rollout->options.calls) {
        if (clock_now_ns() >= until_ns) {
            char why[128];
            (void)snprintf(why, sizeof why, "only %llu of %llu calls came in time",
                           (unsigned long long)calls, (unsigned long long)rollout->options.calls);
            return fail(rollout, target, why);
        }
        (void)nanosleep(&(struct timespec){.tv_nsec = LOOK_MS * 1000L * 1000}, NULL);
        code = check_on(rollout, target, false, &calls);
    }
    return code;
}

static int bring_to(struct rollout *rollout, struct target *target, bool is_first) {
    uint64_t calls = 0;
    int code = install_on(rollout, target);
    code = code < 0 ? code : check_on(rollout, target, true, &calls);
    code = code < 0 || !is_first ? code : await_calls(rollout, target, calls);
    if (code == 0) {
        tell(rollout, target, "it is healthy");
    }
    return code;
}

/* All that have installed it go back. */
static void take_back(struct rollout *rollout) {
    for (size_t i = rollout->count; i-- > 0;) {
        struct toolrack_error err;
        CLEANUP(yyjson_doc_freep) yyjson_doc *report = NULL;
        struct target *target = &rollout->targets[i];
        struct message_order wanted = order_of(rollout, "back");
        wanted.from = target->from[0] != '\0' ? target->from : NULL;
        if (target->state != INSTALLED) {
            continue;
        }
        if (order(rollout, target, &wanted, &report, &err) < 0) {
            target->state = FAILED;
            (void)snprintf(target->reason, sizeof target->reason,
                           "it has the package and could not go back: %.1400s", err.message);
            tell(rollout, target, target->reason);
        } else {
            target->state = ROLLED_BACK;
            tell(rollout, target, "it has gone back");
        }
    }
}

/* The host that gets it first; NULL: err is set. */
static struct target *choose_first(struct rollout *rollout, struct toolrack_error *err) {
    const char *first = rollout->options.first;
    for (size_t i = 0; i < rollout->count; i++) {
        struct target *target = &rollout->targets[i];
        if (target->state == WAITING && (first == NULL || strcmp(first, target->name) == 0)) {
            return target;
        }
    }
    (void)error_set(err, first != NULL ? TOOLRACK_E_NOT_FOUND : TOOLRACK_E_UNAVAILABLE,
                    "there is no host%s%.63s of the group that is here and that this one trusts; "
                    "%zu are there, see: %s",
                    first != NULL ? " " : "", first != NULL ? first : "", rollout->count,
                    COMMAND("hosts"));
    return NULL;
}

static void roll_out(struct rollout *rollout, struct target *first) {
    int code = bring_to(rollout, first, true);
    for (size_t i = 0; i < rollout->count && code == 0; i++) {
        if (rollout->targets[i].state == WAITING) {
            code = bring_to(rollout, &rollout->targets[i], false);
        }
    }
    if (code < 0) {
        take_back(rollout);
    }
}

/* ----------------------------------------------------------------- package */

static int read_package(struct rollout *rollout, struct toolrack_error *err) {
    struct source_name name;
    char bytes[65536];
    off_t at = 0;
    ssize_t length;
    const struct source_judge judge = {.ring = NULL};
    if (rollout->options.file == NULL) {
        return error_set(err, TOOLRACK_E_INVALID, "name the file of a package");
    }
    int code = source_name_read(rollout->options.file, &name, err);
    if (code == 0 && name.kind != SOURCE_FILE) {
        code = error_set(err, TOOLRACK_E_NOT_FOUND, "there is no file %s", rollout->options.file);
    }
    code = code < 0 ? code : source_open(&judge, &name, &rollout->source, err);
    if (code < 0) {
        return code;
    }
    if (rollout->source.signature.length == 0) {
        return error_set(
                err, TOOLRACK_E_REFUSED,
                "%s has no signature, without which no other host installs it; sign it: %s",
                rollout->options.file, COMMAND("sign", rollout->options.file));
    }
    while ((length = pread(rollout->source.fd, bytes, sizeof bytes, at)) > 0) {
        buf_add(&rollout->bytes, bytes, (size_t)length);
        at += length;
    }
    return rollout->bytes.failed ? error_oom(err) : 0;
}

/* What is sent is verified by the keys of this host, and a person sees it. */
static int verify(struct rollout *rollout, struct toolrack_error *err) {
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *report = NULL;
    const struct source_given given = {.name = rollout->source.name,
                                       .data = rollout->bytes.data,
                                       .length = rollout->bytes.length,
                                       .signature = rollout->source.signature.data};
    int code = install_given(rollout->host, &given, true, rollout->who, &report, err);
    if (code < 0) {
        return code;
    }
    size_t length = 0;
    const char *text = toolrack_text_data(report, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(text, length, 0);
    yyjson_val *root = yyjson_doc_get_root(read);
    const char *id = yyjson_get_str(yyjson_obj_get(root, "id"));
    const char *version = yyjson_get_str(yyjson_obj_get(root, "version"));
    if (id == NULL || version == NULL) {
        return error_oom(err);
    }
    (void)snprintf(rollout->id, sizeof rollout->id, "%s", id);
    (void)snprintf(rollout->version, sizeof rollout->version, "%s", version);
    return rollout->options.agree != NULL && rollout->options.agree(rollout->options.user, text)
                   ? 0
                   : error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                               "nobody agreed to it; nothing was changed");
}

/* ------------------------------------------------------------------ report */

static void add_host(const struct target *target, yyjson_mut_doc *doc, yyjson_mut_val *list) {
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
    document_add_text(doc, row, "name", target->name);
    document_add_text(doc, row, "instance", target->instance);
    document_add_text(doc, row, "key", target->key);
    document_add_text(doc, row, "state", states[target->state]);
    document_add_text(doc, row, "from", target->from[0] != '\0' ? target->from : NULL);
    document_add_text(doc, row, "reason", target->reason[0] != '\0' ? target->reason : NULL);
}

static int report_of(const struct rollout *rollout, struct toolrack_text **ret,
                     struct toolrack_error *err) {
    yyjson_mut_val *root;
    yyjson_mut_doc *doc = document_begin(&root);
    document_add_text(doc, root, "id", rollout->id);
    document_add_text(doc, root, "version", rollout->version);
    document_add_text(doc, root, "package", rollout->source.sha256);
    (void)yyjson_mut_obj_add_bool(doc, root, "done", rollout->reason[0] == '\0');
    document_add_text(doc, root, "reason", rollout->reason[0] != '\0' ? rollout->reason : NULL);
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "hosts");
    for (size_t i = 0; i < rollout->count; i++) {
        add_host(&rollout->targets[i], doc, list);
    }
    return document_end(doc, ret, err);
}

static int begin(struct rollout *rollout, struct toolrack *host, struct toolrack_error *err) {
    *rollout = (struct rollout){
            .host = host, .member = host_member(host), .source = SOURCE_INIT, .bytes = BUF_INIT};
    return rollout->member != NULL
                   ? 0
                   : error_set(err, TOOLRACK_E_NOT_FOUND,
                               "this host has joined no others; name a NATS server, with --nats or "
                               "in \"nats\" of the configuration");
}

int toolrack_rollout(struct toolrack *host, const struct toolrack_rollout_options *options,
                     struct toolrack_text **ret_report, struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(finish) struct rollout rollout;
    struct target *first = NULL;
    int code = begin(&rollout, host, err);
    memcpy(&rollout.options, options,
           options->size < sizeof rollout.options ? options->size : sizeof rollout.options);
    rollout.who = host_who(host, rollout.options.who);
    code = code < 0 ? code : read_package(&rollout, err);
    code = code < 0 ? code : verify(&rollout, err);
    code = code < 0 ? code : find_hosts(&rollout, err);
    if (code == 0) {
        first = choose_first(&rollout, err);
        code = first == NULL ? TOOLRACK_E_UNAVAILABLE : 0;
    }
    code = code < 0 ? code
                    : member_put_package(rollout.member, rollout.source.sha256, rollout.bytes.data,
                                         rollout.bytes.length, err);
    if (code < 0) {
        return first == NULL && rollout.targets != NULL && err != NULL ? err->code : code;
    }
    roll_out(&rollout, first);
    return ret_report != NULL ? report_of(&rollout, ret_report, err) : 0;
}

/* ---------------------------------------------------------------- packages */

static void add_packages(const struct rollout *rollout, const struct target *target,
                         yyjson_mut_doc *doc, yyjson_mut_val *list) {
    struct toolrack_error err;
    CLEANUP(yyjson_doc_freep) yyjson_doc *report = NULL;
    const struct message_order wanted = {.what = "list", .who = rollout->who};
    yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
    const char *reason = target->reason[0] != '\0' ? target->reason : NULL;
    if (target->state == WAITING && order(rollout, target, &wanted, &report, &err) < 0) {
        reason = err.message;
    }
    document_add_text(doc, row, "name", target->name);
    document_add_text(doc, row, "key", target->key);
    document_add_text(doc, row, "reason", reason);
    if (report != NULL) {
        (void)yyjson_mut_obj_add_val(doc, row, "packages",
                                     yyjson_val_mut_copy(doc, yyjson_doc_get_root(report)));
    } else {
        (void)yyjson_mut_obj_add_null(doc, row, "packages");
    }
}

int toolrack_hosts_packages(struct toolrack *host, struct toolrack_text **ret,
                            struct toolrack_error *err) {
    HOST_SCOPE(host);
    CLEANUP(finish) struct rollout rollout;
    CLEANUP(buf_finish) struct buf stored = BUF_INIT;
    yyjson_mut_val *root;
    int code = begin(&rollout, host, err);
    code = code < 0 ? code : find_hosts(&rollout, err);
    code = code < 0 ? code : member_list_packages(rollout.member, &stored, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(stored.data, stored.length, 0);
    yyjson_mut_doc *doc = document_begin(&root);
    (void)yyjson_mut_obj_add_val(doc, root, "store",
                                 yyjson_val_mut_copy(doc, yyjson_doc_get_root(read)));
    yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "hosts");
    for (size_t i = 0; i < rollout.count; i++) {
        add_packages(&rollout, &rollout.targets[i], doc, list);
    }
    return document_end(doc, ret, err);
}
