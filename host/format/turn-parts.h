/* turn-parts.h - what the files share that read and write the turns of one provider each.
 *
 *   turn.c             the table of formats; a message read, its results written
 *   turn-parts.c       what the formats share while they do that
 *   turn-<provider>.c  where the calls stand in a message, and what their results look like */
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
    const char *text; /**< itself, or words for it where a provider takes no such piece */
    size_t length;
    const char *data; /**< base64, of an image or a sound */
    size_t data_length;
    const char *mime_type; /**< of the data */
    bool is_json;          /**< the text is JSON, not words */
    yyjson_val *block;     /**< as MCP has it; NULL if it did not come as a block */
};

#define TURN_BIT(kind) (1u << (kind))

/* Arguments that were not JSON are replaced by an object with this one key, which holds their text:
 * a provider that requires an object gets one back. */
#define TURN_BROKEN_INPUT "INVALID_JSON"

/** How a call ended, in pieces. */
struct turn_result {
    bool failed;
    bool not_found; /**< there is no such tool */
    struct turn_piece *pieces;
    size_t count;
    const char *structured; /**< text of a JSON object that the tool gave; or NULL */
    size_t structured_length;
};

/** One provider. */
struct turn_format {
    /** Find the calls. @return 0, or the code of the failure. */
    int (*read)(struct turn_reader *reader, yyjson_val *root);
    const char *before; /**< the results, which are separated by commas */
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
 * @param id         NULL, or what identifies it
 * @param name       NULL, or its tool's name
 * @param arguments  an object, or text of one; NULL, null and empty texts are {}
 * @return 0; TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. */
int turn_add_call(struct turn_reader *reader, yyjson_val *raw, yyjson_val *id, yyjson_val *name,
                  yyjson_val *arguments);

/** Add a call of a custom tool, with free text; it cannot be made.
 * @return as above. */
int turn_add_custom(struct turn_reader *reader, yyjson_val *raw, yyjson_val *id, yyjson_val *name);

/** Say that the call added last cannot be made. */
int turn_add_problem(struct turn_reader *reader, int code, const char *why);

/** The model was stopped, perhaps within the call added last: if that call has no arguments it
 * cannot be made, since the model may have meant to give some. */
int turn_cut_off(struct turn_reader *reader);

/** Refuse the message: `what` is wrong at `place`, a JSON Pointer. */
int turn_refuse(struct turn_reader *reader, const char *place, const char *what);

/** Whether a response says that it failed; then err is set. */
bool turn_is_error(struct turn_reader *reader, yyjson_val *root);

/** Whether a value is a string with this text. */
bool turn_is(yyjson_val *value, const char *text);

/** Read the calls of `message.tool_calls`, as OpenAI and Ollama have them. `place` is that of the
 * message. */
int turn_read_tool_calls(struct turn_reader *reader, yyjson_val *message, const char *place);

/* ------------------------------------------------------------------- writing */

/** Append `"key":value,` with a value of the message; nothing when it is NULL. */
void turn_write_member(struct buf *out, const char *key, yyjson_val *value);

/** Append a value. */
void turn_write_value(struct buf *out, yyjson_val *value);

/** Append a result as one JSON string, a line for each piece.
 * @param without  TURN_BIT() of the kinds that are left out */
void turn_write_text(struct buf *out, const struct turn_result *result, unsigned without);
