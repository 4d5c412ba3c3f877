/* turn-parts.h - shared by the files that read and write the turns of one provider each.
 *
 *   turn.c             the table of formats; reads a message, writes its results
 *   turn-parts.c       shared by the formats
 *   turn-likely.c      which other format a message is of
 *   turn-<provider>.c  where the calls are in a message, and the format of their results */
#pragma once

#include "base/buf.h"
#include "format/message.h"

/** A message that is being read. */
struct turn_reader {
    struct format_message *message;
    struct toolrack_error *err;
};

/** One piece of a result. Text is UTF-8. */
struct turn_piece {
    enum turn_piece_kind { TURN_TEXT, TURN_IMAGE, TURN_AUDIO, TURN_RESOURCE } kind;
    const char *text; /**< the text, or a description for providers that accept no such piece */
    size_t length;
    const char *data; /**< base64, of an image or audio */
    size_t data_length;
    const char *mime_type; /**< of the data */
    bool is_json;          /**< the text is JSON, not plain text */
    bool is_apart;         /**< turn_write_text() leaves it out: it is written as data */
    yyjson_val *block;     /**< the block in MCP's format; NULL if the result had none */
};

/* Arguments that are not JSON are replaced by an object with this one key, whose value is their
 * text: some providers require an object in the history. turn_arguments() reads it. */
#define TURN_BROKEN_INPUT "INVALID_JSON"

/** The result of a call, in pieces. */
struct turn_result {
    bool failed;
    bool not_found;    /**< there is no such tool */
    const char *model; /**< that gets it; NULL: not known */
    struct turn_piece *pieces;
    size_t count;
    const char *structured; /**< JSON text of an object from the tool, or NULL */
    size_t structured_length;
    const char *changed; /**< JSON text: what was changed in the arguments, or NULL */
    size_t changed_length;
};

/** One provider. */
struct turn_format {
    /** Find the calls. @return 0, or the code of the failure. */
    int (*read)(struct turn_reader *reader, yyjson_val *root);
    const char *before; /**< text before the results, which are separated by commas */
    void (*write)(struct buf *out, const struct format_call *call,
                  const struct turn_result *result);
    const char *after;
};

extern const struct turn_format turn_openai;
extern const struct turn_format turn_responses;
extern const struct turn_format turn_anthropic;
extern const struct turn_format turn_gemini;
extern const struct turn_format turn_ollama;
extern const struct turn_format turn_mcp;

/* ------------------------------------------------------------------- reading */

/** Add a call.
 * @param id         NULL, or its id
 * @param name       NULL, or the name of its tool
 * @param arguments  an object, or its text; NULL, null and empty strings mean {}
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int turn_add_call(struct turn_reader *reader, yyjson_val *raw, yyjson_val *id, yyjson_val *name,
                  yyjson_val *arguments);

/** Arguments as the model wrote them, of a call that may have been in a stream: their text, if that
 * was not JSON. */
yyjson_val *turn_arguments(yyjson_val *arguments);

/** Add a call of a custom tool, with free text; such a call cannot be made.
 * @return as above. */
int turn_add_custom(struct turn_reader *reader, yyjson_val *raw, yyjson_val *id, yyjson_val *name);

/** Record that the call added last cannot be made. */
int turn_add_problem(struct turn_reader *reader, int code, const char *why);

/** The model was stopped, perhaps within the call added last: if that call has no arguments it
 * cannot be made, since the model may not have written them yet. */
int turn_cut_off(struct turn_reader *reader);

/** How a message ended, as it says itself. */
struct turn_end {
    enum toolrack_ending ending;
    yyjson_val *reason; /**< the provider's word for it; any value, or NULL */
    const char *place;  /**< JSON Pointer of that word, or of the model's refusal */
    bool is_in_call;    /**< the message ends with the call added last */
};

/** The ending that a provider's word means. A value that is not a string says nothing: the message
 * is complete. */
enum toolrack_ending turn_ending(const struct turn_reader *reader, yyjson_val *reason);

/** See to it that only such calls are made as may be after this ending: none of a message that was
 * refused, or that the provider stopped; at a limit of tokens not one without its arguments. A
 * message without calls has none to refuse, unless the model's call could not be read.
 * @return 0; TOOLRACK_E_REFUSED; TOOLRACK_E_INVALID; TOOLRACK_E_NO_MEMORY */
int turn_end(struct turn_reader *reader, const struct turn_end *end);

/** Refuse the message: `what` is wrong at `place`, a JSON Pointer. */
int turn_refuse(struct turn_reader *reader, const char *place, const char *what);

/** The format that a message is of by what it has, objects or lists of them: another than its own
 * only if it has nothing of that. */
enum toolrack_format turn_likely_format(yyjson_val *root, enum toolrack_format own);

/** Refuse the message if an element of one of its lists is no object: what it says would be lost.
 * @param place  of the list
 * @return 0; TOOLRACK_E_INVALID */
int turn_check_element(struct turn_reader *reader, yyjson_val *element, const char *place,
                       size_t index);

/** Whether an object is a model's by its role: it says none, or "assistant" or "model". Readers
 * differ in which of two roles counts, so all must be. */
bool turn_is_models(yyjson_val *object);

/** Refuse a message with calls that are not a model's by its role.
 * @param place  of the message
 * @return 0; TOOLRACK_E_INVALID */
int turn_check_role(struct turn_reader *reader, yyjson_val *message, const char *place);

/** Whether the `error` of an object says that something failed: some servers send null, "", {}, 0
 * or false with each piece of a good answer. */
bool turn_says_error(yyjson_val *error);

/** What a failure says in words: a string, or an object that has one. Never empty. */
const char *turn_error_reason(yyjson_val *error);

/** Whether an object of a response reports a failure; then err is set.
 * @param place  JSON Pointer of its `error` */
bool turn_is_error(struct turn_reader *reader, yyjson_val *object, const char *place);

/** Whether a value is this string. Inline, since most are compared with a literal, and a streamed
 * answer with a dozen of them for each event. */
static inline bool turn_is(yyjson_val *value, const char *text) {
    return yyjson_equals_str(value, text);
}

/** Whether a value is a string that is not empty. */
static inline bool turn_is_text(yyjson_val *value) {
    return yyjson_is_str(value) && yyjson_get_len(value) > 0;
}

/** Read the calls of `message.tool_calls`, the format of OpenAI and Ollama. `place` is that of the
 * message. */
int turn_read_tool_calls(struct turn_reader *reader, yyjson_val *message, const char *place);

/* ------------------------------------------------------------------- writing */

/** Append `"key":value,` with a value of the message; nothing when it is NULL. */
void turn_write_member(struct buf *out, const char *key, yyjson_val *value);

/** Append a result as one JSON string, with a line for each piece that is not written apart. */
void turn_write_text(struct buf *out, const struct turn_result *result);
