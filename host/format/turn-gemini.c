/* turn-gemini.c - turns of Gemini generateContent: parts, of which some are calls.
 *
 * The third generation takes images in `parts` of a result; earlier models refuse the whole request
 * ("`function_response.parts` is not supported for this model",
 * https://github.com/google-gemini/gemini-cli/issues/19436). Which types it takes is said in
 * https://ai.google.dev/gemini-api/docs/function-calling#multimodal-function-responses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "format/turn-parts.h"

/* The first generation that takes media in results. */
#define FIRST_WITH_MEDIA 3u

/* A member in either spelling; NULL: there is none. Google's SDKs write both, and null for none. */
static yyjson_val *get(yyjson_val *object, const char *key, const char *other) {
    yyjson_val *value = yyjson_obj_get(object, key);
    value = value == NULL || yyjson_is_null(value) ? yyjson_obj_get(object, other) : value;
    return yyjson_is_null(value) ? NULL : value;
}

static yyjson_val *call_of(yyjson_val *part) {
    return get(part, "functionCall", "function_call");
}

static int read_content(struct turn_reader *reader, yyjson_val *content, const char *place) {
    yyjson_val *parts = yyjson_obj_get(content, "parts");
    if (!yyjson_is_obj(content) || (parts != NULL && !yyjson_is_arr(parts))) {
        return turn_refuse(reader, place, "expected an object with an array 'parts'");
    }
    char list[64];
    (void)snprintf(list, sizeof list, "%s/parts", place);
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *part;
    yyjson_arr_foreach (parts, at, count, part) {
        yyjson_val *call = call_of(part);
        code = code < 0 ? code : turn_check_element(reader, part, list, at);
        if (code == 0 && call != NULL) {
            code = turn_add_call(reader, call, yyjson_obj_get(call, "id"),
                                 yyjson_obj_get(call, "name"),
                                 turn_arguments(yyjson_obj_get(call, "args")));
        }
    }
    return code < 0 ? code : turn_check_role(reader, content, place);
}

static int end_candidate(struct turn_reader *reader, yyjson_val *candidate) {
    yyjson_val *reason = get(candidate, "finishReason", "finish_reason");
    yyjson_val *parts = yyjson_obj_get(yyjson_obj_get(candidate, "content"), "parts");
    const struct turn_end end = {.ending = turn_ending(reader, reason),
                                 .reason = reason,
                                 .place = yyjson_obj_get(candidate, "finishReason") == reason
                                                  ? "/candidates/0/finishReason"
                                                  : "/candidates/0/finish_reason",
                                 .is_in_call = call_of(yyjson_arr_get_last(parts)) != NULL};
    return turn_end(reader, &end);
}

/* Whatever the reason that it was blocked for: nothing should have come of a blocked prompt. */
static int check_prompt(struct turn_reader *reader, yyjson_val *root) {
    yyjson_val *feedback = get(root, "promptFeedback", "prompt_feedback");
    yyjson_val *reason = get(feedback, "blockReason", "block_reason");
    const struct turn_end end = {.ending = turn_is_text(reason) ? TOOLRACK_ENDING_SAFETY
                                                                : TOOLRACK_ENDING_DONE,
                                 .reason = reason,
                                 .place = "/promptFeedback/blockReason"};
    return turn_end(reader, &end);
}

static int read_candidates(struct turn_reader *reader, yyjson_val *candidates) {
    yyjson_val *first = yyjson_arr_get_first(candidates);
    yyjson_val *content = yyjson_obj_get(first, "content");
    if (!yyjson_is_arr(candidates) || (first != NULL && !yyjson_is_obj(first))) {
        return turn_refuse(reader, "/candidates", "expected an array of objects");
    }
    int code = content == NULL ? 0 : read_content(reader, content, "/candidates/0/content");
    return code < 0 ? code : end_candidate(reader, first);
}

/* A candidate that was stopped before it began has no content, and a blocked request has no
 * candidate: neither has calls. */
static int read_turn(struct turn_reader *reader, yyjson_val *root) {
    yyjson_val *candidates = yyjson_obj_get(root, "candidates");
    reader->message->model = yyjson_get_str(yyjson_obj_get(root, "modelVersion"));
    if (candidates != NULL) {
        int code = read_candidates(reader, candidates);
        return code < 0 ? code : check_prompt(reader, root);
    }
    if (yyjson_is_obj(yyjson_obj_get(root, "promptFeedback"))) {
        return 0;
    }
    /* Of a model that wrote nothing there is only the role; others' messages have one too. */
    bool is_empty = yyjson_obj_get(root, "role") != NULL && yyjson_obj_get(root, "content") == NULL;
    return yyjson_obj_get(root, "parts") != NULL || is_empty
                   ? read_content(reader, root, "")
                   : turn_refuse(reader, "", "it has no candidates and no parts");
}

/* Whether a model takes media in results: "gemini-3-pro-preview", "models/gemini-3.1-flash". */
static bool takes_media(const char *model) {
    static const char family[] = "gemini-";
    const char *version = model != NULL ? strstr(model, family) : NULL;
    version = version != NULL ? version + sizeof family - 1 : "";
    return ascii_is_digit(version[0]) && strtoul(version, NULL, 10) >= FIRST_WITH_MEDIA;
}

static bool is_taken(const struct turn_piece *piece) {
    static const char *const types[] = {"image/png", "image/jpeg", "image/webp"};
    for (size_t i = 0; piece->kind == TURN_IMAGE && i < ARRAY_LENGTH(types); i++) {
        if (strcmp(piece->mime_type, types[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void write_data(struct buf *out, const struct turn_result *result) {
    bool first = true;
    for (size_t i = 0; i < result->count; i++) {
        const struct turn_piece *piece = &result->pieces[i];
        if (!piece->is_apart) {
            continue;
        }
        buf_add_text(out, first ? ",\"parts\":[" : ",");
        first = false;
        buf_add_text(out, "{\"inlineData\":{\"mimeType\":");
        buf_add_json_string(out, piece->mime_type, strlen(piece->mime_type));
        buf_add_text(out, ",\"data\":");
        buf_add_json_string(out, piece->data, piece->data_length);
        buf_add_text(out, "}}");
    }
    buf_add_text(out, first ? "" : "]");
}

static void write_result(struct buf *out, const struct format_call *call,
                         const struct turn_result *result) {
    for (size_t i = 0; i < result->count && takes_media(result->model); i++) {
        result->pieces[i].is_apart = is_taken(&result->pieces[i]);
    }
    buf_add_text(out, "{\"functionResponse\":{");
    turn_write_member(out, "id", yyjson_obj_get(call->raw, "id"));
    turn_write_member(out, "name", yyjson_obj_get(call->raw, "name"));
    buf_printf(out, "\"response\":{\"%s\":", result->failed ? "error" : "output");
    if (result->count == 1 && result->pieces[0].is_json) {
        buf_add(out, result->pieces[0].text, result->pieces[0].length);
    } else {
        turn_write_text(out, result);
    }
    buf_add_char(out, '}');
    write_data(out, result);
    buf_add_text(out, "}}");
}

const struct turn_format turn_gemini = {read_turn, "[{\"role\":\"user\",\"parts\":[", write_result,
                                        "]}]"};
