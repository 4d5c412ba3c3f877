/* usage.c - how many tokens a message took, as its provider counts them. */
#include <string.h>

#include "base/cleanup.h"
#include "format/stream-parts.h"

/* What is more than this is no count of tokens. */
#define TOKENS_MAX (INT64_C(1) << 53)

/* Where each format has its numbers. They come in several events, and the last of each counts. */
static const struct places {
    const char *in[2];                 /* the object that has them: in an event, or in a response */
    const char *counts[STREAM_COUNTS]; /* NULL: the format has no such number */
} places[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] = {{"/usage"},
                                    {[STREAM_INPUT] = "/prompt_tokens",
                                     [STREAM_CACHED] = "/prompt_tokens_details/cached_tokens",
                                     [STREAM_OUTPUT] = "/completion_tokens",
                                     [STREAM_REASONING] =
                                             "/completion_tokens_details/reasoning_tokens"}},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = {{"/response/usage", "/usage"},
                                              {[STREAM_INPUT] = "/input_tokens",
                                               [STREAM_CACHED] =
                                                       "/input_tokens_details/cached_tokens",
                                               [STREAM_OUTPUT] = "/output_tokens",
                                               [STREAM_REASONING] =
                                                       "/output_tokens_details/reasoning_tokens"}},
        [TOOLRACK_FORMAT_ANTHROPIC] = {{"/message/usage", "/usage"},
                                       {[STREAM_INPUT] = "/input_tokens",
                                        [STREAM_CACHED] = "/cache_read_input_tokens",
                                        [STREAM_WRITTEN] = "/cache_creation_input_tokens",
                                        [STREAM_OUTPUT] = "/output_tokens"}},
        [TOOLRACK_FORMAT_GEMINI] = {{"/usageMetadata"},
                                    {[STREAM_INPUT] = "/promptTokenCount",
                                     [STREAM_CACHED] = "/cachedContentTokenCount",
                                     [STREAM_TOOLS] = "/toolUsePromptTokenCount",
                                     [STREAM_OUTPUT] = "/candidatesTokenCount",
                                     [STREAM_REASONING] = "/thoughtsTokenCount"}},
        [TOOLRACK_FORMAT_OLLAMA] =
                {{""}, {[STREAM_INPUT] = "/prompt_eval_count", [STREAM_OUTPUT] = "/eval_count"}},
};

void stream_take_usage(struct toolrack_stream *stream, yyjson_val *event) {
    const struct places *known = &places[stream->kind];
    for (size_t i = 0; i < ARRAY_LENGTH(known->in) && known->in[i] != NULL; i++) {
        yyjson_val *usage = yyjson_ptr_get(event, known->in[i]);
        for (size_t k = 0; yyjson_is_obj(usage) && k < STREAM_COUNTS; k++) {
            yyjson_val *count =
                    known->counts[k] != NULL ? yyjson_ptr_get(usage, known->counts[k]) : NULL;
            if (yyjson_is_uint(count) && yyjson_get_uint(count) <= (uint64_t)TOKENS_MAX) {
                stream->counts[k] = (int64_t)yyjson_get_uint(count);
            }
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
    }
    memcpy(usage, &known, usage->size < sizeof known ? usage->size : sizeof known);
    return known.input >= 0 || known.output >= 0;
}
