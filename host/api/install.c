/* Packages: install, update, go back, remove. */
#include "toolrack/install.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/follow.h"
#include "api/host.h"
#include "api/install.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "package/install.h"
#include "package/publish.h"
#include "registry/document.h"
#include "store/decisions.h"
#include "store/standings.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* A request of the app, as the room has it. */
struct request {
    struct toolrack *host;
    struct toolrack_install_options options;
    const char *indexes[SOURCE_INDEXES_MAX + 1];
    struct install_host install;
    struct hosts_telling telling;
    bool is_telling;
    bool goes_back;
    char path[2 * LAYOUT_PATH_MAX]; /* of what is exchanged, as this host knows it; or "" */
    /* Whose pins were exchanged, and for which; "": none were, and it is removed. NULL: neither */
    struct plugin *standing;
    char kept_as[LAYOUT_PATH_MAX];
};

static int agree(void *user, const char *report, struct toolrack_error *err) {
    const struct request *request = user;
    bool agrees =
            request->options.agree != NULL && request->options.agree(request->options.user, report);
    return agrees ? 0
                  : error_set(err, TOOLRACK_E_PERMISSION_DENIED,
                              "nobody agreed to it; nothing was changed");
}

/* The path by which this host knows a link such as "community/ID.so". False: none of its folders
 * has packages. */
static bool path_of(const struct toolrack *host, const char *link, char ret[2 * LAYOUT_PATH_MAX]) {
    const char *file = strchr(link, '/') + 1;
    for (size_t i = 0; i < host->places.folder_count; i++) {
        const struct scan_folder *folder = &host->places.folders[i];
        const char *last = strrchr(folder->path, '/');
        if (folder->installs && last != NULL &&
            strncmp(link, last + 1, (size_t)(file - link) - 1) == 0) {
            return snprintf(ret, 2 * LAYOUT_PATH_MAX, "%s/%s", folder->path, file) <
                   (int)(2 * LAYOUT_PATH_MAX);
        }
    }
    return false;
}

/* A plugin with some id that came with the host. */
struct bundled {
    const char *id;
    char found[LAYOUT_ID_MAX + 1]; /* "": there is none */
};

static bool look_for_bundled(void *user, struct toolrack_tool *tool) {
    struct bundled *bundled = user;
    const struct plugin *plugin = tool->reg->plugin;
    if (plugin->trust == TRUST_BUILTIN && plugin->desc != NULL && plugin->desc->plugin != NULL &&
        strcasecmp(plugin->desc->plugin->id, bundled->id) == 0) {
        (void)snprintf(bundled->found, sizeof bundled->found, "%s", plugin->desc->plugin->id);
    }
    return bundled->found[0] == '\0';
}

/* Of one id the plugin with the highest trust serves, and no key gives that of a builtin one. To a
 * person an id that differs in case is the same. */
static int admits(void *user, const char *id, struct toolrack_error *err) {
    const struct request *request = user;
    struct bundled bundled = {.id = id};
    registry_visit(request->host->registry, look_for_bundled, &bundled);
    return bundled.found[0] == '\0'
                   ? 0
                   : error_set(err, TOOLRACK_E_REFUSED,
                               "the package '%s' would never serve: the plugin '%s', which comes "
                               "with toolrack, has that id; its publisher has to give it an id of "
                               "its own, such as org.example.NAME",
                               id, bundled.found);
}

/* What is approved of the version that serves is kept for who goes back to it; or was kept before,
 * and is in effect again. If that fails, a tool is held that need not be: the safe side. */
static void keep_standing(struct request *request, const struct installed *of,
                          const struct installed *after) {
    struct toolrack_error why;
    struct toolrack *host = request->host;
    struct plugin *plugin = life_find_described(host->life, request->path);
    int code = 0;
    if (plugin == NULL) {
        return;
    }
    if (after == NULL) {
        request->standing = plugin; /* all is forgotten when it is gone */
        return;
    }
    if (!request->goes_back) {
        code = store_standing_keep(host->store, plugin->identity_text, of->folder, clock_wall_s(),
                                   &why);
    } else {
        code = store_standing_exchange(host->store, plugin->identity_text, after->folder, &why);
        if (code == 0) {
            (void)snprintf(request->kept_as, sizeof request->kept_as, "%s", after->folder);
            request->standing = plugin;
            return;
        }
    }
    if (code < 0 && code != TOOLRACK_E_NOT_FOUND) {
        log_line(&host->log, LOG_WARNING, "permission",
                 "what was approved of '%s' is not kept for a rollback: %s", of->id, why.message);
    }
    plugin_unref(plugin);
}

/* Whoever has gone back needs what was approved of the other version no longer; if he has not, it
 * is in effect again. What is removed has no version to go back to. */
static void end_standing(struct request *request, bool is_done) {
    struct toolrack_error unheard; /* tools are held then, and say what to do */
    if (request->standing == NULL) {
        return;
    }
    struct store *store = request->host->store;
    const char *identity = request->standing->identity_text;
    const char *kept_as = request->kept_as[0] != '\0' ? request->kept_as : NULL;
    if (is_done) {
        (void)store_standing_forget(store, identity, kept_as, &unheard);
    } else if (kept_as != NULL) {
        (void)store_standing_exchange(store, identity, kept_as, &unheard);
    }
    plugin_unref(request->standing);
    request->standing = NULL;
}

/* The other hosts are connected before the change. What serves now is copied, so that its version
 * stays callable; or is not to be used any more. */
static void before(void *user, const char *link, const struct installed *of,
                   const struct installed *after) {
    struct request *request = user;
    struct life *life = request->host->life;
    follow_begin(request->host, &request->telling);
    request->is_telling = true;
    if (!path_of(request->host, link, request->path)) {
        request->path[0] = '\0';
        return;
    }
    life_keep_installed(life, request->path);
    if (of != NULL) {
        keep_standing(request, of, after);
    }
    if (request->goes_back) {
        life_judge_installed(life, request->path, false);
    }
}

static void set_indexes(struct request *request) {
    for (size_t i = 0; i < SOURCE_INDEXES_MAX; i++) {
        request->indexes[i] = request->options.indexes != NULL
                                      ? request->options.indexes[i]
                                      : config_package_index(request->host->config, i);
        if (request->indexes[i] == NULL) {
            return;
        }
    }
}

static int begin(struct request *request, struct toolrack *host,
                 const struct toolrack_install_options *options, struct toolrack_error *err) {
    *request = (struct request){.host = host};
    if (options != NULL) {
        memcpy(&request->options, options,
               options->size < sizeof request->options ? options->size : sizeof request->options);
    }
    if (host->places.packages == NULL) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "packages are installed in the state folder, and this host has none; name "
                         "one with --state");
    }
    set_indexes(request);
    request->install = (struct install_host){.packages = host->places.packages,
                                             .indexes = request->indexes,
                                             .store = host->store,
                                             .who = host_who(host, request->options.who),
                                             .looks_only = request->options.looks_only != 0,
                                             .agree = agree,
                                             .admits = admits,
                                             .before = before,
                                             .user = request};
    return 0;
}

/* A decision of a person, which is in the log before it is acknowledged. */
static void note(struct toolrack *host, const char *decision, const struct installed *one,
                 const char *who, const char *why) {
    permit_note(host->permit, &(struct store_decision){.version = one->version,
                                                       .plugin = one->id,
                                                       .decision = decision,
                                                       .who = who,
                                                       .why = why});
    permit_flush(host->permit);
}

static void note_installed(const struct request *request, const struct install_done *done) {
    CLEANUP(buf_finish) struct buf why = BUF_INIT;
    const struct installed *now = &done->now;
    if (now->key[0] != '\0') {
        buf_printf(&why, "signed by %s, ", now->key);
    } else {
        buf_add_text(&why, "unsigned, ");
    }
    buf_printf(&why, "trust %s, from %s", trust_name(now->trust), now->source);
    note(request->host, done->was_installed ? "updated" : "installed", now, request->install.who,
         why.failed ? NULL : why.data);
}

/* A change that was made takes effect here and in all hosts of the state folder. */
static int end(struct request *request, int code) {
    struct life *life = request->host->life;
    end_standing(request, code == 0);
    if (request->is_telling && (code == 0) != request->goes_back) {
        life_judge_installed(life, request->path, true); /* what was installed, or still is */
    }
    if (code == 0 && request->is_telling) {
        life_follow_installs(life);
    }
    return request->is_telling ? follow_end(request->host, &request->telling, HOSTS_CONTENT, code)
                               : code;
}

/* The tools of a plugin that are held, as a list. */
struct held {
    const char *id;
    yyjson_mut_doc *doc;
    yyjson_mut_val *list;
};

static bool list_held(void *user, struct toolrack_tool *tool) {
    const struct held *held = user;
    if (tool_is_held(tool) && !toolrack_tool_is_kept(tool) &&
        strcmp(toolrack_tool_plugin(tool), held->id) == 0) {
        (void)yyjson_mut_arr_add_strcpy(held->doc, held->list, toolrack_tool_name(tool));
    }
    return true;
}

/* Which tools do not run as they are not as they were approved: who has changed them should not
 * learn of it by their next call. */
static void add_held(struct toolrack *host, const char *id, yyjson_mut_doc *doc,
                     yyjson_mut_val *root) {
    struct held held = {id, doc, yyjson_mut_obj_add_arr(doc, root, "held")};
    registry_visit(host->registry, list_held, &held);
}

/* Whether the plugin of a package serves here: another one may have its id. */
static void add_serves(struct toolrack *host, const struct installed *now, yyjson_mut_doc *doc,
                       yyjson_mut_val *root) {
    char link[LAYOUT_PATH_MAX];
    char path[2 * LAYOUT_PATH_MAX];
    struct toolrack_error unheard;
    yyjson_mut_val *refused = yyjson_mut_obj(doc);
    (void)snprintf(link, sizeof link, "%s/%s.so", trust_name(now->trust), now->id);
    bool is_known = path_of(host, link, path);
    CLEANUP(plugin_unrefp)
    struct plugin *plugin = is_known ? life_find_described(host->life, path) : NULL;
    (void)yyjson_mut_obj_add_bool(doc, root, "serves", plugin != NULL);
    if (!is_known) {
        document_add_text(doc, root, "reason",
                          "this host looks for plugins in other folders only; start it without "
                          "--plugins and --safe-mode");
    } else if (plugin == NULL &&
               life_describe_refused(host->life, path, doc, refused, &unheard) == 0) {
        document_add_text(doc, root, "reason",
                          yyjson_mut_get_str(yyjson_mut_obj_get(refused, "reason")));
    }
}

/* Add to a report whether anything was changed, and whether it serves. */
static int end_report(struct toolrack *host, struct toolrack_text *report,
                      const struct install_done *done, struct toolrack_text **ret,
                      struct toolrack_error *err) {
    size_t length = 0;
    const char *text = toolrack_text_data(report, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(text, length, 0);
    yyjson_mut_doc *doc = read != NULL ? yyjson_doc_mut_copy(read, NULL) : NULL;
    yyjson_mut_val *root = yyjson_mut_doc_get_root(doc);
    toolrack_text_unref(report);
    if (doc == NULL) {
        return error_oom(err);
    }
    (void)yyjson_mut_obj_add_bool(doc, root, "changed", done->changed);
    add_serves(host, &done->now, doc, root);
    if (done->changed) {
        add_held(host, done->now.id, doc, root);
    }
    if (ret == NULL) {
        yyjson_mut_doc_free(doc);
        return 0;
    }
    return document_end(doc, ret, err);
}

typedef int install_step(struct request *request, struct install_done *ret,
                         struct toolrack_text **ret_report, struct toolrack_error *err);

static int install_named(struct request *request, struct install_done *ret,
                         struct toolrack_text **ret_report, struct toolrack_error *err) {
    return install_package(&request->install, request->options.name,
                           request->options.is_unsigned != 0, ret, ret_report, err);
}

static int update_named(struct request *request, struct install_done *ret,
                        struct toolrack_text **ret_report, struct toolrack_error *err) {
    return install_update(&request->install, request->options.name, ret, ret_report, err);
}

/* Take the step, and let all hosts of the state folder take what it has changed. */
static int take_step(struct request *request, install_step *step, struct toolrack_text **ret_report,
                     struct toolrack_error *err) {
    struct install_done done = {0};
    struct toolrack_text *report = NULL;
    int code = step(request, &done, &report, err);
    if (code == 0 && done.changed) {
        note_installed(request, &done);
    }
    code = end(request, code);
    if (code < 0) {
        toolrack_text_unref(report);
        return code;
    }
    return end_report(request->host, report, &done, ret_report, err);
}

static int change(struct toolrack *host, const struct toolrack_install_options *options,
                  install_step *step, struct toolrack_text **ret_report,
                  struct toolrack_error *err) {
    struct request request;
    int code = begin(&request, host, options, err);
    if (code == 0 && request.options.name == NULL) {
        code = error_set(err, TOOLRACK_E_INVALID, "name what is to be installed");
    }
    return code < 0 ? code : take_step(&request, step, ret_report, err);
}

int toolrack_install(struct toolrack *host, const struct toolrack_install_options *options,
                     struct toolrack_text **ret_report, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return change(host, options, install_named, ret_report, err);
}

/* Who ordered it was asked. */
static bool always(void *user, const char *report) {
    (void)user;
    (void)report;
    return true;
}

int install_given(struct toolrack *host, const struct source_given *given, bool looks_only,
                  const char *who, struct toolrack_text **ret_report, struct toolrack_error *err) {
    struct request request;
    struct toolrack_install_options options = TOOLRACK_INSTALL_OPTIONS_INIT;
    options.name = given->name;
    options.who = who;
    options.agree = always;
    options.looks_only = looks_only;
    int code = begin(&request, host, &options, err);
    request.install.given = given;
    return code < 0 ? code : take_step(&request, install_named, ret_report, err);
}

/* ------------------------------------------------------------------ update */

/* Update one package, and add what became of it to a list. */
static void update_into(struct request *request, const char *id, yyjson_mut_doc *doc,
                        yyjson_mut_val *list) {
    struct toolrack_text *report = NULL;
    struct toolrack_error why;
    size_t length = 0;
    request->options.name = id;
    request->is_telling = false;
    int code = take_step(request, update_named, &report, &why);
    if (code < 0) {
        yyjson_mut_val *row = yyjson_mut_arr_add_obj(doc, list);
        document_add_text(doc, row, "id", id);
        document_add_text(doc, row, "error", why.message);
        document_add_text(doc, row, "type", toolrack_code_name(code));
        return;
    }
    const char *text = toolrack_text_data(report, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(text, length, 0);
    (void)yyjson_mut_arr_append(list, yyjson_val_mut_copy(doc, yyjson_doc_get_root(read)));
    toolrack_text_unref(report);
}

/* The indexes are fetched once for all. */
static int update_all(struct toolrack *host, const struct toolrack_install_options *options,
                      struct toolrack_text **ret_report, struct toolrack_error *err) {
    struct request request;
    struct source_index fetched[SOURCE_INDEXES_MAX] = {{.location = NULL}};
    struct toolrack_text *installed = NULL;
    size_t at;
    size_t count;
    yyjson_val *row;
    yyjson_mut_val *list;
    int code = begin(&request, host, options, err);
    if (code == 0) {
        code = install_list(&request.install, &installed, err);
    }
    if (code < 0) {
        return code;
    }
    size_t length = 0;
    const char *text = toolrack_text_data(installed, &length);
    CLEANUP(yyjson_doc_freep) yyjson_doc *read = yyjson_read(text, length, 0);
    yyjson_mut_doc *doc = document_begin_list(&list);
    request.install.fetched = fetched;
    yyjson_arr_foreach (yyjson_doc_get_root(read), at, count, row) {
        update_into(&request, yyjson_get_str(yyjson_obj_get(row, "id")), doc, list);
    }
    candidates_finish(fetched);
    toolrack_text_unref(installed);
    if (ret_report == NULL) {
        yyjson_mut_doc_free(doc);
        return 0;
    }
    return document_end(doc, ret_report, err);
}

int toolrack_update(struct toolrack *host, const struct toolrack_install_options *options,
                    struct toolrack_text **ret_report, struct toolrack_error *err) {
    HOST_SCOPE(host);
    return options != NULL && options->name == NULL
                   ? update_all(host, options, ret_report, err)
                   : change(host, options, update_named, ret_report, err);
}

/* ------------------------------------------------------- remove and go back */

static int begin_simple(struct request *request, struct toolrack *host, const char *who,
                        struct toolrack_error *err) {
    struct toolrack_install_options options = TOOLRACK_INSTALL_OPTIONS_INIT;
    options.who = who;
    return begin(request, host, &options, err);
}

/* @param host  of whoever went back: what serves now is reported too; NULL: nothing does */
static int report_done(struct toolrack *host, const struct install_done *done,
                       struct toolrack_text **ret, struct toolrack_error *err) {
    yyjson_mut_val *root;
    if (ret == NULL) {
        return 0;
    }
    yyjson_mut_doc *doc = document_begin(&root);
    document_add_text(doc, root, "id", done->now.id);
    document_add_text(doc, root, "version", done->now.version);
    if (host != NULL) {
        document_add_text(doc, root, "from", done->before.version);
        add_held(host, done->now.id, doc, root);
    }
    return document_end(doc, ret, err);
}

int toolrack_uninstall(struct toolrack *host, const char *id, const char *who,
                       struct toolrack_text **ret_report, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct request request;
    struct install_done done;
    int code = begin_simple(&request, host, who, err);
    if (code < 0) {
        return code;
    }
    code = install_remove(&request.install, id, &done, err);
    if (code == 0) {
        note(host, "uninstalled", &done.now, request.install.who, NULL);
    }
    code = end(&request, code);
    return code < 0 ? code : report_done(NULL, &done, ret_report, err);
}

int toolrack_install_rollback(struct toolrack *host, const char *id, const char *who,
                              struct toolrack_text **ret_report, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct request request;
    struct install_done done;
    char why[SEMVER_LENGTH_MAX + 32];
    int code = begin_simple(&request, host, who, err);
    if (code < 0) {
        return code;
    }
    request.goes_back = true;
    code = install_go_back(&request.install, id, &done, err);
    if (code == 0) {
        (void)snprintf(why, sizeof why, "from version %s", done.before.version);
        note(host, "rolled-back", &done.now, request.install.who, why);
    }
    code = end(&request, code);
    return code < 0 ? code : report_done(host, &done, ret_report, err);
}

/* ------------------------------------------------------------------- lists */

bool toolrack_is_installed(struct toolrack *host, const char *id) {
    HOST_SCOPE(host);
    struct installed one;
    struct toolrack_error unheard;
    CLEANUP(layout_finish) struct layout layout = LAYOUT_INIT;
    return host->places.packages != NULL &&
           layout_open(host->places.packages, &layout, &unheard) == 0 &&
           layout_find(&layout, id, &one, &unheard) != TOOLRACK_E_NOT_FOUND;
}

int toolrack_packages(struct toolrack *host, struct toolrack_text **ret,
                      struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct request request;
    int code = begin_simple(&request, host, NULL, err);
    return code < 0 ? code : install_list(&request.install, ret, err);
}

int toolrack_search_packages(struct toolrack *host, const char *const *indexes, const char *words,
                             struct toolrack_text **ret, struct toolrack_error *err) {
    HOST_SCOPE(host);
    struct request request;
    struct toolrack_install_options options = TOOLRACK_INSTALL_OPTIONS_INIT;
    options.indexes = indexes;
    int code = begin(&request, host, &options, err);
    return code < 0 ? code : install_search(&request.install, words, ret, err);
}

int toolrack_make_index(const char *folder, int64_t for_s, struct toolrack_text **ret_report,
                        struct toolrack_error *err) {
    return publish_index(folder, for_s, ret_report, err);
}
