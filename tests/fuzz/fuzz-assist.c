/* fuzz-assist.c - any bytes as the answer of a model that is asked while a tool is chosen. The text
 * and the answer are separated by a zero. Whatever it says, the choice is one JSON object, names a
 * tool that there is or none, and is ready only if nothing is open, the tool is granted, and the
 * arguments are what its schema takes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

#include "api/host.h"
#include "base/buf.h"
#include "choose/choose.h"
#include "toolrack/plugin.h"
#include "toolrack/toolrack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static tr_status delete_file(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
static tr_status set_volume(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
static tr_status send_mail(struct tr_call *call) {
    return tr_reply_text(call, "done");
}
TR_JSON_TOOL(delete_file, ("Delete a file for ever", .permission = TR_DANGEROUS), TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"path" : {"type" : "string"}},
                 "required" : ["path"]
             }))
TR_JSON_TOOL(set_volume, ("Set the volume of the loudspeaker"), TR_SCHEMA({
                 "type" : "object",
                 "properties" : {"volume" : {"type" : "integer", "minimum" : 0, "maximum" : 11}},
                 "required" : ["volume"],
                 "additionalProperties" : false
             }))
TR_JSON_TOOL(send_mail, ("Send a mail to people"), TR_SCHEMA({
                 "type" : "object",
                 "properties" : {
                     "to" : {"type" : "array", "items" : {"type" : "string"}},
                     "text" : {"type" : "string"},
                     "a/b~c" : {"type" : "object"}
                 },
                 "required" : ["to"]
             }))
TR_PLUGIN(("fuzzed", .flags = TR_THREAD_SAFE), "1.0.0", delete_file, set_volume, send_mail)

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

/* What the model says. */
struct answer {
    const uint8_t *data;
    size_t size;
};

static int answer_with(void *user, const char *system, const char *task, struct buf *ret,
                       bool *ret_has_sent, uint32_t *ret_wait_ms, struct toolrack_error *err) {
    const struct answer *answer = user;
    (void)system;
    (void)task;
    (void)err;
    buf_add(ret, (const char *)answer->data, answer->size);
    *ret_has_sent = true;
    *ret_wait_ms = 0;
    return 0;
}

static struct toolrack *open_host(void) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack *host = NULL;
    options.config_file = options.state_dir = "";
    options.no_scan = 1;
    options.isolation = TOOLRACK_ISOLATION_NONE;
    require(toolrack_open(&options, &host, NULL) == 0 &&
            toolrack_register(host, &toolrack_plugin, NULL, NULL) == 0);
    return host;
}

static void check_ready(yyjson_val *root, const char *tool) {
    yyjson_val *arguments = yyjson_obj_get(root, "arguments");
    require(strcmp(tool, "delete_file") != 0); /* nobody granted it */
    require(yyjson_arr_size(yyjson_obj_get(root, "missing")) == 0);
    require(yyjson_arr_size(yyjson_obj_get(root, "invalid")) == 0);
    require(yyjson_is_null(yyjson_obj_get(root, "question")));
    if (strcmp(tool, "set_volume") == 0) {
        yyjson_val *volume = yyjson_obj_get(arguments, "volume");
        require(yyjson_obj_size(arguments) == 1 && yyjson_is_int(volume) &&
                yyjson_get_int(volume) >= 0 && yyjson_get_int(volume) <= 11);
    } else {
        require(yyjson_is_arr(yyjson_obj_get(arguments, "to")));
    }
}

static void check(const struct toolrack_text *text) {
    size_t length;
    const char *json = toolrack_text_data(text, &length);
    yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    const char *tool = yyjson_get_str(yyjson_obj_get(root, "tool"));
    double confidence = yyjson_get_num(yyjson_obj_get(root, "confidence"));
    require(yyjson_is_obj(yyjson_obj_get(root, "arguments")));
    require(confidence >= 0 && confidence <= 1);
    require(yyjson_get_bool(yyjson_obj_get(root, "abstained")) == (tool == NULL));
    require(tool == NULL || strcmp(tool, "delete_file") == 0 || strcmp(tool, "set_volume") == 0 ||
            strcmp(tool, "send_mail") == 0);
    if (yyjson_get_bool(yyjson_obj_get(root, "ready"))) {
        require(tool != NULL);
        check_ready(root, tool);
    }
    yyjson_doc_free(doc);
}

/* A host that chooses anew for each input: one that has failed would not ask for a while. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static struct toolrack *host;
    host = host != NULL ? host : open_host();
    const uint8_t *zero = memchr(data, 0, size);
    size_t length = zero != NULL ? (size_t)(zero - data) : size;
    size_t skipped = zero != NULL ? length + 1 : size;
    struct answer answer = {data + skipped, size - skipped};
    char *wish = strndup((const char *)data, length);
    struct choose_options options = {.log = &host->log,
                                     .store = host->store,
                                     .registry = host->registry,
                                     .permit = host->permit,
                                     .assist = {.ask = answer_with,
                                                .user = &answer,
                                                .endpoint = "http://127.0.0.1",
                                                .model = "fuzzed",
                                                .steps = ASSIST_ALL}};
    struct choose *choose = choose_create(&options);
    struct toolrack_select_options asked = TOOLRACK_SELECT_OPTIONS_INIT;
    struct toolrack_text *text = NULL;
    require(wish != NULL && choose != NULL);
    asked.text = wish;
    asked.explain = 1;
    if (choose_select(choose, &asked, &text, NULL) == 0) {
        check(text);
    }
    toolrack_text_unref(text);
    choose_destroy(choose);
    free(wish);
    return 0;
}
