/* ending.c - why a model's message ended: the providers' words for it, as one of a few endings. */
#include <strings.h>

#include "base/cleanup.h"
#include "format/stream-parts.h"

static const char *const words[] = {
#define WORD(constant, word, meaning) word,
        TOOLRACK_ENDINGS(WORD)
#undef WORD
};

/* Compared without regard to case: no two providers mean different things by one word. */
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
        {"model_context_window_exceeded", TOOLRACK_ENDING_LENGTH},
        {"refusal", TOOLRACK_ENDING_REFUSAL},
        {"content_filter", TOOLRACK_ENDING_CONTENT_FILTER},
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
};

const char *toolrack_ending_word(enum toolrack_ending ending) {
    return (unsigned)ending < ARRAY_LENGTH(words) ? words[ending] : NULL;
}

enum toolrack_ending toolrack_stream_ending(const struct toolrack_stream *stream,
                                            const char **ret_reason) {
    const char *reason = stream->reason.length > 0 ? stream->reason.data : "";
    if (ret_reason != NULL) {
        *ret_reason = reason;
    }
    if (stream->refused) {
        return TOOLRACK_ENDING_REFUSAL;
    }
    if (!stream->complete && reason[0] == '\0') {
        return TOOLRACK_ENDING_NONE;
    }
    for (size_t i = 0; i < ARRAY_LENGTH(reasons); i++) {
        if (strcasecmp(reasons[i].reason, reason) == 0) {
            return reasons[i].ending;
        }
    }
    return TOOLRACK_ENDING_OTHER;
}
