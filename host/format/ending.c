/* ending.c - why a model's message ended: the providers' words for it, as one of a few endings, and
 * which of its calls are made then. Streams and whole messages are judged by the one table. */
#include <ctype.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "format/stream-parts.h"

static const char *const words[] = {
#define WORD(constant, word, meaning) word,
        TOOLRACK_ENDINGS(WORD)
#undef WORD
};

/* Compared without regard to case, and with "-" as "_": no two providers mean different things by
 * one word. */
static const struct {
    const char *reason;
    enum toolrack_ending ending;
} reasons[] = {
        {"", TOOLRACK_ENDING_DONE},
        {"stop", TOOLRACK_ENDING_DONE},
        {"tool_calls", TOOLRACK_ENDING_DONE},
        {"function_call", TOOLRACK_ENDING_DONE},
        {"end_turn", TOOLRACK_ENDING_DONE},
        {"stop_sequence", TOOLRACK_ENDING_DONE},
        {"tool_use", TOOLRACK_ENDING_DONE},
        {"eos", TOOLRACK_ENDING_DONE}, /* servers that offer OpenAI's format */
        {"eos_token", TOOLRACK_ENDING_DONE},
        {"finish_reason_unspecified", TOOLRACK_ENDING_DONE},
        {"length", TOOLRACK_ENDING_LENGTH},
        {"incomplete", TOOLRACK_ENDING_LENGTH},
        {"max_tokens", TOOLRACK_ENDING_LENGTH},
        {"max_output_tokens", TOOLRACK_ENDING_LENGTH},
        {"model_length", TOOLRACK_ENDING_LENGTH}, /* Mistral's: of the model's context */
        {"model_context_window_exceeded", TOOLRACK_ENDING_LENGTH},
        {"refusal", TOOLRACK_ENDING_REFUSAL},
        {"content_filter", TOOLRACK_ENDING_CONTENT_FILTER},
        {"content_filtered", TOOLRACK_ENDING_CONTENT_FILTER},     /* Bedrock's */
        {"guardrail_intervened", TOOLRACK_ENDING_CONTENT_FILTER}, /* Bedrock's */
        {"sensitive", TOOLRACK_ENDING_CONTENT_FILTER},            /* Zhipu's */
        /* Gemini's, of an answer and of a prompt. */
        {"safety", TOOLRACK_ENDING_SAFETY},
        {"recitation", TOOLRACK_ENDING_SAFETY},
        {"blocklist", TOOLRACK_ENDING_SAFETY},
        {"prohibited_content", TOOLRACK_ENDING_SAFETY},
        {"spii", TOOLRACK_ENDING_SAFETY},
        {"model_armor", TOOLRACK_ENDING_SAFETY},
        {"image_safety", TOOLRACK_ENDING_SAFETY},
        {"image_prohibited_content", TOOLRACK_ENDING_SAFETY},
        {"image_recitation", TOOLRACK_ENDING_SAFETY},
        {"block_reason_unspecified", TOOLRACK_ENDING_SAFETY},
        {"malformed_function_call", TOOLRACK_ENDING_MALFORMED_CALL},
        {"unexpected_tool_call", TOOLRACK_ENDING_MALFORMED_CALL},
        {"malformed_response", TOOLRACK_ENDING_MALFORMED_CALL},
        {"function_call_filter", TOOLRACK_ENDING_MALFORMED_CALL}, /* Google's, in OpenAI's format */
        {"malformed_model_output", TOOLRACK_ENDING_MALFORMED_CALL}, /* Bedrock's */
        {"malformed_tool_use", TOOLRACK_ENDING_MALFORMED_CALL},
        /* Gemini's. */
        {"other", TOOLRACK_ENDING_STOPPED},
        {"language", TOOLRACK_ENDING_STOPPED},
        {"too_many_tool_calls", TOOLRACK_ENDING_STOPPED},
        {"missing_thought_signature", TOOLRACK_ENDING_STOPPED},
        {"image_other", TOOLRACK_ENDING_STOPPED},
        {"no_image", TOOLRACK_ENDING_STOPPED},
        /* DeepSeek's, Zhipu's, watsonx's, and those of vLLM and SGLang. */
        {"insufficient_system_resource", TOOLRACK_ENDING_STOPPED},
        {"network_error", TOOLRACK_ENDING_STOPPED},
        {"time_limit", TOOLRACK_ENDING_STOPPED},
        {"cancelled", TOOLRACK_ENDING_STOPPED},
        {"abort", TOOLRACK_ENDING_STOPPED},
        {"aborted", TOOLRACK_ENDING_STOPPED},
};

const char *toolrack_ending_word(enum toolrack_ending ending) {
    return (unsigned)ending < ARRAY_LENGTH(words) ? words[ending] : NULL;
}

/* Whether the first `length` bytes of a reason are this word. */
static bool is_word(const char *word, const char *reason, size_t length) {
    size_t i = 0;
    while (i < length && word[i] != '\0' &&
           (tolower((unsigned char)reason[i]) == word[i] || (reason[i] == '-' && word[i] == '_'))) {
        i++;
    }
    return i == length && word[i] == '\0';
}

/* Google writes its own word behind that of OpenAI's format: "content_filter: SPII". */
static enum toolrack_ending find(const char *reason) {
    const size_t length = strcspn(reason, ":");
    for (size_t i = 0; i < ARRAY_LENGTH(reasons); i++) {
        if (is_word(reasons[i].reason, reason, length) && (length > 0 || reason[0] == '\0')) {
            return reasons[i].ending;
        }
    }
    return TOOLRACK_ENDING_OTHER;
}

/* The words of Gemini are an enumeration of one provider, and of all new ones so far none meant
 * that a message is complete. Servers with OpenAI's and Anthropic's formats have words of their own
 * for that. */
static enum toolrack_ending find_in(enum toolrack_format format, const char *reason) {
    enum toolrack_ending ending = find(reason);
    return ending == TOOLRACK_ENDING_OTHER && format == TOOLRACK_FORMAT_GEMINI
                   ? TOOLRACK_ENDING_STOPPED
                   : ending;
}

/* ------------------------------------------------------------------- streams */

static const char *reason_of(const struct toolrack_stream *stream) {
    return stream->reason.length > 0 ? stream->reason.data : "";
}

enum toolrack_ending toolrack_stream_ending(const struct toolrack_stream *stream,
                                            const char **ret_reason) {
    const char *reason = reason_of(stream);
    if (ret_reason != NULL) {
        *ret_reason = reason;
    }
    if (stream->refused) {
        return TOOLRACK_ENDING_REFUSAL;
    }
    return !stream->complete && reason[0] == '\0' ? TOOLRACK_ENDING_NONE
                                                  : find_in(stream->kind, reason);
}

/* Whether no call of a message that ended so is made. */
static bool withdraws(enum toolrack_ending ending) {
    return ending == TOOLRACK_ENDING_REFUSAL || ending == TOOLRACK_ENDING_SAFETY ||
           ending == TOOLRACK_ENDING_CONTENT_FILTER || ending == TOOLRACK_ENDING_MALFORMED_CALL ||
           ending == TOOLRACK_ENDING_STOPPED;
}

bool stream_takes_back(const struct toolrack_stream *stream, const char *reason) {
    return withdraws(find_in(stream->kind, reason_of(stream))) &&
           !withdraws(find_in(stream->kind, reason));
}

bool stream_is_cut_off(const struct toolrack_stream *stream) {
    enum toolrack_ending ending = find(reason_of(stream));
    return ending == TOOLRACK_ENDING_LENGTH || ending == TOOLRACK_ENDING_CONTENT_FILTER;
}

/* ------------------------------------------------------------ whole messages */

enum toolrack_ending turn_ending(const struct turn_reader *reader, yyjson_val *reason) {
    return yyjson_is_str(reason) ? find_in(reader->message->format, yyjson_get_str(reason))
                                 : TOOLRACK_ENDING_DONE;
}

int turn_end(struct turn_reader *reader, const struct turn_end *end) {
    const char *word = yyjson_is_str(end->reason) ? yyjson_get_str(end->reason) : "";
    if (end->ending == TOOLRACK_ENDING_LENGTH) {
        return end->is_in_call ? turn_cut_off(reader) : 0;
    }
    if (end->ending == TOOLRACK_ENDING_MALFORMED_CALL) {
        return error_set_field(reader->err, TOOLRACK_E_INVALID, end->place,
                               "the model wrote a call that cannot be read (%s), so no call of the "
                               "message is made: ask again, or ask another model",
                               word);
    }
    if (reader->message->count == 0) {
        return 0;
    }
    if (end->ending == TOOLRACK_ENDING_REFUSAL) {
        return error_set_field(reader->err, TOOLRACK_E_REFUSED, end->place,
                               "the model refuses the task, so no call of the message is made: "
                               "change the task, or ask another model");
    }
    if (end->ending == TOOLRACK_ENDING_STOPPED) {
        return error_set_field(reader->err, TOOLRACK_E_INVALID, end->place,
                               "the provider stopped the message (%s), so no call of it is made: "
                               "ask again, or ask another model",
                               word);
    }
    const char *filter = end->ending == TOOLRACK_ENDING_SAFETY           ? "safety"
                         : end->ending == TOOLRACK_ENDING_CONTENT_FILTER ? "content"
                                                                         : NULL;
    return filter == NULL ? 0
                          : error_set_field(reader->err, TOOLRACK_E_REFUSED, end->place,
                                            "the provider's %s filter stopped the message (%s), "
                                            "so no call of it is made: change the task, or ask "
                                            "another model",
                                            filter, word);
}
