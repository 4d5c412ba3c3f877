#include "remote/mcp/tools.h"

#include <string.h>

#include "base/json-equal.h"
#include "base/json.h"
#include "remote/mcp/request.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

/* A failure of the tool itself: its texts say why. */
static tr_status take_failure(const struct mount_request *request, yyjson_val *content) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    size_t at;
    size_t count;
    yyjson_val *block;
    yyjson_arr_foreach (content, at, count, block) {
        const char *said = yyjson_get_str(yyjson_obj_get(block, "text"));
        if (said != NULL) {
            buf_printf(&text, "%s%s", text.length > 0 ? "; " : "", said);
        }
    }
    return tr_fail(&request->run->base, TR_FAILED, NULL, "%s",
                   text.length > 0 && !text.failed ? text.data : "it does not say why");
}

/* Whether a text says the same as the structured result, as clients of earlier revisions need it.
 */
static bool repeats(yyjson_val *block, yyjson_val *structured) {
    yyjson_val *text = yyjson_obj_get(block, "text");
    struct budget budget = {.steps = 1000000};
    CLEANUP(yyjson_doc_freep)
    yyjson_doc *doc = structured != NULL && yyjson_is_str(text)
                              ? yyjson_read(yyjson_get_str(text), yyjson_get_len(text), 0)
                              : NULL;
    return doc != NULL && json_equal(yyjson_doc_get_root(doc), structured, &budget);
}

static tr_status add_block(const struct mount_request *request, yyjson_val *block) {
    struct run *run = request->run;
    yyjson_val *text = yyjson_obj_get(block, "text");
    bool is_plain = yyjson_equals_str(yyjson_obj_get(block, "type"), "text") &&
                    yyjson_is_str(text) && yyjson_obj_size(block) == 2;
    if (is_plain && strlen(yyjson_get_str(text)) == yyjson_get_len(text)) {
        return tr_reply_text(&run->base, yyjson_get_str(text));
    }
    if (!content_is_block(block)) {
        return mount_request_refuse(request, "one of its blocks is none that MCP has");
    }
    const char *json = mount_request_text(run, block);
    return json != NULL ? tr_reply_content(&run->base, json) : run_no_memory(run);
}

static tr_status take_result(const struct mount_request *request, yyjson_val *result) {
    struct run *run = request->run;
    yyjson_val *content = yyjson_obj_get(result, "content");
    yyjson_val *structured = yyjson_obj_get(result, "structuredContent");
    tr_status status = TR_OK;
    if (content != NULL && !yyjson_is_arr(content)) {
        return mount_request_refuse(request, "its \"content\" is no array");
    }
    if (yyjson_is_true(yyjson_obj_get(result, "isError"))) {
        return take_failure(request, content);
    }
    if (content == NULL && structured == NULL) {
        return mount_request_refuse(request,
                                    "it has neither \"content\" nor \"structuredContent\"");
    }
    size_t at;
    size_t count;
    yyjson_val *block;
    yyjson_arr_foreach (content, at, count, block) {
        if (status == TR_OK && !repeats(block, structured)) {
            status = add_block(request, block);
        }
    }
    if (status == TR_OK && structured != NULL) {
        const char *json = mount_request_text(run, structured);
        status = json != NULL ? tr_reply_json(&run->base, json) : run_no_memory(run);
    } else if (status == TR_OK && count == 0) {
        status = tr_reply_text(&run->base, "");
    }
    return status;
}

tr_status mount_tools_call(struct mcp_client *client, struct run *run, const char *tool,
                           const char *mirrored) {
    CLEANUP(mount_request_finish) struct mount_request request = {.run = run};
    CLEANUP(mcp_message_destroyp) struct message *answer = NULL;
    CLEANUP(buf_finish) struct buf members = BUF_INIT;
    size_t length;
    const char *arguments = run_arguments(run, &length);
    if (arguments == NULL) {
        return TR_FAILED;
    }
    buf_add_text(&members, ",\"name\":");
    buf_add_json_string(&members, tool, strlen(tool));
    buf_add_text(&members, ",\"arguments\":");
    buf_add(&members, arguments, length);
    tr_status status = mount_request_begin(&request, client, run);
    request.mirrored = mirrored;
    status =
            status == TR_OK ? mount_request_ask(&request, "tools/call", &members, &answer) : status;
    return status != TR_OK                   ? status
           : answer->kind == MESSAGE_FAILURE ? mount_request_fail(&request, answer)
                                             : take_result(&request, answer->result);
}
