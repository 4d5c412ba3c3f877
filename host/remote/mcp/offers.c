/* offers.c - see offers.h. */
#include "remote/mcp/offers.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json-write.h"
#include "base/json.h"
#include "base/lock.h"
#include "base/utf8.h"
#include "remote/mcp/names.h"
#include "remote/mcp/request.h"

CLEANUP_DEFINE(yyjson_mut_doc, yyjson_mut_doc_free)

/* What a server answers that has no such resource or prompt: by revisions until 2025-11-25, and
 * from 2026-07-28 on. */
#define CODE_NO_RESOURCE -32002
#define CODE_NO_PARAMS   -32602

struct mount_offers {
    struct mount_offers_options options;
    struct lock lock; /* guards what follows */
    struct names prompts;
};

struct mount_offers *mount_offers_create(const struct mount_offers_options *options) {
    struct mount_offers *offers = calloc(1, sizeof *offers);
    if (offers != NULL) {
        offers->options = *options;
        lock_init(&offers->lock);
        names_init(&offers->prompts);
    }
    return offers;
}

void mount_offers_destroy(struct mount_offers *offers) {
    if (offers != NULL) {
        names_finish(&offers->prompts);
        lock_finish(&offers->lock);
        free(offers);
    }
}

/* No tool has such a name. */
bool mount_offers_has(const struct run *run) {
    return strchr(run->context.tool, '/') != NULL;
}

/* -------------------------------------------------------------------- lists */

/* Take one page. @param ret_cursor  of the next one, as long as the answer; NULL: it was the last
 */
static tr_status take_page(const struct mount_request *request, const struct message *answer,
                           const char *member, yyjson_mut_doc *doc, yyjson_mut_val *all,
                           const char **ret_cursor) {
    yyjson_val *items = yyjson_obj_get(answer->result, member);
    size_t at;
    size_t count;
    yyjson_val *item;
    *ret_cursor = yyjson_get_str(yyjson_obj_get(answer->result, "nextCursor"));
    if (!yyjson_is_arr(items)) {
        return mount_request_refuse(request, "it has no list of what was asked for");
    }
    if (yyjson_mut_arr_size(all) + yyjson_arr_size(items) > OFFERS_ITEMS_MAX) {
        return mount_request_refuse(request, "its list has more than 10000 items");
    }
    yyjson_arr_foreach (items, at, count, item) {
        (void)yyjson_mut_arr_append(all, yyjson_val_mut_copy(doc, item));
    }
    return TR_OK;
}

/* All pages as one. A server that does not know the method has none. */
static tr_status list(struct mount_request *request, const char *method, const char *member,
                      yyjson_mut_doc *doc, yyjson_mut_val *all) {
    CLEANUP(mcp_message_destroyp) struct message *answer = NULL;
    const char *cursor = NULL;
    for (unsigned page = 0; page == 0 || cursor != NULL; page++) {
        CLEANUP(buf_finish) struct buf members = BUF_INIT;
        if (page == CLIENT_PAGES_MAX) {
            return mount_request_refuse(request, "its list has more than 100 pages");
        }
        if (cursor != NULL) {
            buf_add_text(&members, ",\"cursor\":");
            buf_add_json_string(&members, cursor, strlen(cursor));
        }
        mcp_message_destroy(answer);
        answer = NULL;
        tr_status status = mount_request_ask(request, method, &members, &answer);
        if (status == TR_OK && answer->kind == MESSAGE_FAILURE) {
            return answer->code == MESSAGE_NO_METHOD ? TR_OK : mount_request_fail(request, answer);
        }
        status = status == TR_OK ? take_page(request, answer, member, doc, all, &cursor) : status;
        if (status != TR_OK) {
            return status;
        }
    }
    return TR_OK;
}

/* Put the names here in place of those at the server, and keep both. */
static bool rename_prompts(struct mount_offers *offers, yyjson_mut_doc *doc, yyjson_mut_val *all) {
    struct names names;
    bool has_memory = true;
    size_t at;
    size_t count;
    yyjson_mut_val *item;
    names_init(&names);
    yyjson_mut_arr_foreach(all, at, count, item) {
        yyjson_mut_val *value = yyjson_mut_obj_get(item, "name");
        const char *remote = yyjson_mut_get_str(value);
        if (remote == NULL || strlen(remote) != yyjson_mut_get_len(value)) {
            continue; /* it is left out where lists are checked */
        }
        const char *name = names_add(&names, offers->options.prefix, remote);
        has_memory = has_memory && name != NULL && yyjson_mut_obj_get(item, "title") == NULL
                             ? yyjson_mut_obj_add_strcpy(doc, item, "title", remote)
                             : has_memory && name != NULL;
        if (has_memory) {
            has_memory = yyjson_mut_set_str(value, name) &&
                         yyjson_mut_obj_replace(item, yyjson_mut_str(doc, "name"),
                                                yyjson_mut_strcpy(doc, name));
        }
    }
    names_sort(&names);
    lock_take(&offers->lock);
    struct names before = offers->prompts;
    offers->prompts = has_memory ? names : before;
    lock_release(&offers->lock);
    names_finish(has_memory ? &before : &names);
    return has_memory;
}

static tr_status reply_list(struct mount_offers *offers, struct mount_request *request,
                            const char *method) {
    struct run *run = request->run;
    bool is_prompts = strcmp(method, "prompts/list") == 0;
    const char *member = is_prompts                              ? "prompts"
                         : strcmp(method, "resources/list") == 0 ? "resources"
                                                                 : "resourceTemplates";
    const yyjson_alc alc = arena_alc(&run->arena);
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *root = yyjson_mut_obj(doc);
    yyjson_mut_val *all = yyjson_mut_obj_add_arr(doc, root, member);
    yyjson_mut_doc_set_root(doc, root);
    tr_status status = all != NULL ? list(request, method, member, doc, all) : run_no_memory(run);
    if (status != TR_OK) {
        return status;
    }
    if (is_prompts && !rename_prompts(offers, doc, all)) {
        return run_no_memory(run);
    }
    const char *text = yyjson_mut_write_opts(doc, YYJSON_WRITE_NOFLAG, &alc, NULL, NULL);
    return text != NULL ? tr_reply_json(&run->base, text) : run_no_memory(run);
}

/* ------------------------------------------------------------------ one thing */

/* The name of a prompt at the server, in the run's arena; NULL: it has none. */
static const char *known_prompt(struct mount_offers *offers, struct run *run, const char *name) {
    LOCK_SCOPE(&offers->lock);
    const char *remote = names_remote(&offers->prompts, name);
    return remote != NULL ? arena_copy(&run->arena, remote, strlen(remote)) : NULL;
}

/* The same; its list is asked for if the name is not known.
 * @param ret  receives the name; NULL: there is no such prompt */
static tr_status find_prompt(struct mount_offers *offers, struct mount_request *request,
                             const char *name, const char **ret) {
    const yyjson_alc alc = arena_alc(&request->run->arena);
    *ret = known_prompt(offers, request->run, name);
    if (*ret != NULL) {
        return TR_OK;
    }
    CLEANUP(yyjson_mut_doc_freep) yyjson_mut_doc *doc = yyjson_mut_doc_new(&alc);
    yyjson_mut_val *all = yyjson_mut_arr(doc);
    tr_status status = all != NULL ? list(request, "prompts/list", "prompts", doc, all)
                                   : run_no_memory(request->run);
    if (status == TR_OK && !rename_prompts(offers, doc, all)) {
        status = run_no_memory(request->run);
    }
    *ret = status == TR_OK ? known_prompt(offers, request->run, name) : NULL;
    return status;
}

/* Ask the person whom the caller has. What is told of a subscription is no content. */
static tr_status confirm(const struct mount_offers *offers, struct run *run, const char *method) {
    const char *content;
    yyjson_val *name = yyjson_obj_get(run->arguments, "name");
    const char *what = yyjson_get_str(name != NULL ? name : yyjson_obj_get(run->arguments, "uri"));
    const char *server = mcp_client_name(offers->options.client);
    char shown[1001];
    utf8_copy(shown, sizeof shown, what != NULL ? what : "");
    utf8_make_line(shown); /* so that it says nothing in this host's name */
    const char *message = arena_printf(&run->arena,
                                       "toolrack asks whether MCP server '%s' may be asked for "
                                       "this (%s): %s",
                                       server, method, shown);
    tr_status status =
            message == NULL ? run_no_memory(run)
                            : run_ask_person(run, message,
                                             "{\"type\":\"object\",\"properties\":{}}", &content);
    if (status == TR_ABSENT) {
        return run_fail(run, TOOLRACK_E_PERMISSION_DENIED, TR_PERMISSION_DENIED, NULL,
                        "resources and prompts of MCP server '%s' have permission confirm, and "
                        "nobody can be asked here; \"permission\": \"safe\" of \"%s\" in "
                        "\"mcpServers\" allows them, and its tools",
                        server, server);
    }
    return status;
}

/* The members of a request, with the prompt's name at the server in place of the one here.
 * @param ret_is_known  false: the server has no such prompt */
static tr_status write_members(struct mount_offers *offers, struct mount_request *request,
                               const char *name, struct buf *out, bool *ret_is_known) {
    yyjson_val *arguments = request->run->arguments;
    yyjson_val *reference = yyjson_obj_get(arguments, "ref");
    const char *remote = NULL;
    *ret_is_known = true;
    if (name != NULL) {
        tr_status status = find_prompt(offers, request, name, &remote);
        *ret_is_known = remote != NULL;
        if (status != TR_OK || remote == NULL) {
            return status;
        }
    }
    yyjson_obj_iter each = yyjson_obj_iter_with(arguments);
    for (yyjson_val *key; (key = yyjson_obj_iter_next(&each)) != NULL;) {
        yyjson_val *value = yyjson_obj_iter_get_val(key);
        buf_add_char(out, ',');
        json_add_value(out, key);
        buf_add_char(out, ':');
        if (remote != NULL && value == reference) {
            buf_add_text(out, "{\"type\":\"ref/prompt\",\"name\":");
            buf_add_json_string(out, remote, strlen(remote));
            buf_add_char(out, '}');
        } else if (remote != NULL && reference == NULL && json_has_text(key, "name")) {
            buf_add_json_string(out, remote, strlen(remote));
        } else {
            json_add_value(out, value);
        }
    }
    return out->failed ? run_no_memory(request->run) : TR_OK;
}

/* Whether a failure says that the server has no such thing, so that another plugin may. */
static bool says_absent(const struct message *answer, const char *method) {
    return answer->code == MESSAGE_NO_METHOD || answer->code == CODE_NO_RESOURCE ||
           (answer->code == CODE_NO_PARAMS && strcmp(method, "prompts/get") != 0);
}

static tr_status reply_one(struct mount_offers *offers, struct mount_request *request,
                           const char *method) {
    struct run *run = request->run;
    yyjson_val *reference = yyjson_obj_get(run->arguments, "ref");
    yyjson_val *named = reference != NULL ? reference : run->arguments;
    const char *name = yyjson_get_str(yyjson_obj_get(named, "name"));
    bool is_known;
    CLEANUP(buf_finish) struct buf members = BUF_INIT;
    CLEANUP(mcp_message_destroyp) struct message *answer = NULL;
    tr_status status = write_members(offers, request, name, &members, &is_known);
    if (status != TR_OK || !is_known) {
        return status;
    }
    status = status == TR_OK ? mount_request_ask(request, method, &members, &answer) : status;
    if (status != TR_OK) {
        return status;
    }
    if (answer->kind == MESSAGE_FAILURE) {
        return says_absent(answer, method) ? TR_OK : mount_request_fail(request, answer);
    }
    const char *text = mount_request_text(run, answer->result);
    return text != NULL ? tr_reply_json(&run->base, text) : run_no_memory(run);
}

/* A person is not asked at each letter that is completed. */
static bool asks(const struct mount_offers *offers, const char *method) {
    return offers->options.asks &&
           (strcmp(method, "resources/read") == 0 || strcmp(method, "prompts/get") == 0);
}

tr_status mount_offers_run(struct mount_offers *offers, struct run *run) {
    CLEANUP(mount_request_finish) struct mount_request request = {.run = run};
    const char *method = run->context.tool;
    size_t end = strlen(method);
    size_t length;
    if (run_arguments(run, &length) == NULL) {
        return TR_FAILED;
    }
    if (offers->options.asks && strcmp(method, "completion/complete") == 0) {
        return TR_OK;
    }
    tr_status status = asks(offers, method) ? confirm(offers, run, method) : TR_OK;
    status = status == TR_OK ? mount_request_begin(&request, offers->options.client, run) : status;
    if (status != TR_OK) {
        return status;
    }
    bool is_list = end > 5 && strcmp(method + end - 5, "/list") == 0;
    return is_list ? reply_list(offers, &request, method) : reply_one(offers, &request, method);
}
