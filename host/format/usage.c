/* usage.c - how many tokens a message took, as its provider counts them. */
#include <string.h>

#include "base/cleanup.h"
#include "format/stream-parts.h"

/* What is more than this is no count of tokens. */
#define TOKENS_MAX (INT64_C(1) << 53)

/* Where each format has its numbers. They come in several events, and the last of each counts. */
static const struct places {
    const char *in[3]; /* the objects that have them: in an event, or in a response */
    /* The first that is there counts; none: the format has no such number. */
    const char *counts[STREAM_COUNTS][3];
} places[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] =
                {/* Groq and Moonshot have them elsewhere in a stream. */
                 {"/x_groq/usage", "/choices/0/usage", "/usage"},
                 {[STREAM_INPUT] = {"/prompt_tokens"},
                  [STREAM_CACHED] = {"/prompt_tokens_details/cached_tokens",
                                     "/prompt_cache_hit_tokens",
                                     /* DeepSeek */ "/cached_tokens" /* Moonshot */},
                  [STREAM_OUTPUT] = {"/completion_tokens"},
                  [STREAM_REASONING] = {"/completion_tokens_details/reasoning_tokens"},
                  [STREAM_TOTAL] = {"/total_tokens"}}},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] =
                {{"/response/usage", "/usage"},
                 {[STREAM_INPUT] = {"/input_tokens"},
                  [STREAM_CACHED] = {"/input_tokens_details/cached_tokens"},
                  [STREAM_OUTPUT] = {"/output_tokens"},
                  [STREAM_REASONING] = {"/output_tokens_details/reasoning_tokens"}}},
        [TOOLRACK_FORMAT_ANTHROPIC] = {{"/message/usage", "/usage"},
                                       {[STREAM_INPUT] = {"/input_tokens"},
                                        [STREAM_CACHED] = {"/cache_read_input_tokens"},
                                        [STREAM_WRITTEN] = {"/cache_creation_input_tokens"},
                                        [STREAM_OUTPUT] = {"/output_tokens"}}},
        [TOOLRACK_FORMAT_GEMINI] = {{"/usageMetadata"},
                                    {[STREAM_INPUT] = {"/promptTokenCount"},
                                     [STREAM_CACHED] = {"/cachedContentTokenCount"},
                                     [STREAM_TOOLS] = {"/toolUsePromptTokenCount"},
                                     [STREAM_OUTPUT] = {"/candidatesTokenCount"},
                                     [STREAM_REASONING] = {"/thoughtsTokenCount"}}},
        [TOOLRACK_FORMAT_OLLAMA] =
                {{""},
                 {[STREAM_INPUT] = {"/prompt_eval_count"}, [STREAM_OUTPUT] = {"/eval_count"}}},
};

/* A count; some servers write it as 1000.0. TOOLRACK_TOKENS_UNKNOWN: it is none. */
static int64_t read_count(yyjson_val *value) {
    if (yyjson_is_uint(value) && yyjson_get_uint(value) <= (uint64_t)TOKENS_MAX) {
        return (int64_t)yyjson_get_uint(value);
    }
    double real = yyjson_is_real(value) ? yyjson_get_real(value) : -1;
    bool is_count = real >= 0 && real <= (double)TOKENS_MAX && real == (double)(int64_t)real;
    return is_count ? (int64_t)real : TOOLRACK_TOKENS_UNKNOWN;
}

void stream_take_usage(struct toolrack_stream *stream, yyjson_val *event) {
    const struct places *known = &places[stream->kind];
    for (size_t i = 0; i < ARRAY_LENGTH(known->in) && known->in[i] != NULL; i++) {
        yyjson_val *usage = yyjson_ptr_get(event, known->in[i]);
        for (size_t k = 0; yyjson_is_obj(usage) && k < STREAM_COUNTS; k++) {
            const char *const *names = known->counts[k];
            int64_t count = TOOLRACK_TOKENS_UNKNOWN;
            for (size_t n = 0; count < 0 && n < ARRAY_LENGTH(known->counts[k]) && names[n] != NULL;
                 n++) {
                count = read_count(yyjson_ptr_get(usage, names[n]));
            }
            stream->counts[k] = count >= 0 ? count : stream->counts[k];
        }
    }
}

/* Numbers of which the first must be known. */
static int64_t sum(int64_t first, int64_t second, int64_t third) {
    return first < 0 ? TOOLRACK_TOKENS_UNKNOWN
                     : first + (second > 0 ? second : 0) + (third > 0 ? third : 0);
}

bool toolrack_stream_usage(const struct toolrack_stream *stream, struct toolrack_usage *usage) {
    const int64_t *counts = stream->counts;
    struct toolrack_usage known = {.size = usage->size,
                                   .input = counts[STREAM_INPUT],
                                   .cached = counts[STREAM_CACHED],
                                   .written = counts[STREAM_WRITTEN],
                                   .output = counts[STREAM_OUTPUT],
                                   .reasoning = counts[STREAM_REASONING]};
    if (stream->kind == TOOLRACK_FORMAT_ANTHROPIC) { /* its input is what no cache had */
        known.input = sum(known.input, known.cached, known.written);
    } else if (stream->kind == TOOLRACK_FORMAT_GEMINI) { /* its output is what is no thought */
        known.input = sum(known.input, counts[STREAM_TOOLS], 0);
        known.output = sum(known.output, known.reasoning, 0);
    } else if (known.input >= 0 && known.output >= 0 && known.reasoning > 0 &&
               counts[STREAM_TOTAL] == known.input + known.output + known.reasoning) {
        known.output += known.reasoning; /* the server counts it apart */
    }
    memcpy(usage, &known, usage->size < sizeof known ? usage->size : sizeof known);
    return known.input >= 0 || known.output >= 0;
}
