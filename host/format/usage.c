/* usage.c - how many tokens a message took, as its provider counts them. */
#include <string.h>

#include "base/cleanup.h"
#include "format/stream-parts.h"

/* What is more than this is no count of tokens. */
#define TOKENS_MAX (INT64_C(1) << 53)

/* A member of an object, or a member of that. The lengths are known here: each event of a stream is
 * looked at for these. */
struct place {
    const char *name;
    size_t length;
    const char *inner; /* NULL: the member itself */
    size_t inner_length;
};

#define AT(member) \
    { member, sizeof member - 1, NULL, 0 }
#define IN(member, inner) \
    { member, sizeof member - 1, inner, sizeof inner - 1 }

/* Where each format has its numbers. They come in several events, and the last of each counts. */
static const struct places {
    struct place in[2]; /* the objects that have them: in an event, or in a response */
    size_t in_count;
    bool in_choice; /* or in its first choice, which counts more than the first of `in` */
    bool in_event;  /* or the event itself */
    struct {
        enum stream_count count;
        struct place at;
    } numbers[7]; /* of several for one count the first that is there counts */
    size_t number_count;
} places[TOOLRACK_FORMAT_COUNT] = {
        [TOOLRACK_FORMAT_OPENAI] =
                {/* Groq and Moonshot have them elsewhere in a stream. */
                 .in = {IN("x_groq", "usage"), AT("usage")},
                 .in_count = 2,
                 .in_choice = true,
                 .numbers = {{STREAM_INPUT, AT("prompt_tokens")},
                             {STREAM_CACHED, IN("prompt_tokens_details", "cached_tokens")},
                             {STREAM_CACHED, AT("prompt_cache_hit_tokens")}, /* DeepSeek */
                             {STREAM_CACHED, AT("cached_tokens")},           /* Moonshot */
                             {STREAM_OUTPUT, AT("completion_tokens")},
                             {STREAM_REASONING,
                              IN("completion_tokens_details", "reasoning_tokens")},
                             {STREAM_TOTAL, AT("total_tokens")}},
                 .number_count = 7},
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] =
                {.in = {IN("response", "usage"), AT("usage")},
                 .in_count = 2,
                 .numbers = {{STREAM_INPUT, AT("input_tokens")},
                             {STREAM_CACHED, IN("input_tokens_details", "cached_tokens")},
                             {STREAM_OUTPUT, AT("output_tokens")},
                             {STREAM_REASONING, IN("output_tokens_details", "reasoning_tokens")}},
                 .number_count = 4},
        [TOOLRACK_FORMAT_ANTHROPIC] = {.in = {IN("message", "usage"), AT("usage")},
                                       .in_count = 2,
                                       .numbers = {{STREAM_INPUT, AT("input_tokens")},
                                                   {STREAM_CACHED, AT("cache_read_input_tokens")},
                                                   {STREAM_WRITTEN,
                                                    AT("cache_creation_input_tokens")},
                                                   {STREAM_OUTPUT, AT("output_tokens")}},
                                       .number_count = 4},
        [TOOLRACK_FORMAT_GEMINI] = {.in = {AT("usageMetadata")},
                                    .in_count = 1,
                                    .numbers = {{STREAM_INPUT, AT("promptTokenCount")},
                                                {STREAM_CACHED, AT("cachedContentTokenCount")},
                                                {STREAM_TOOLS, AT("toolUsePromptTokenCount")},
                                                {STREAM_OUTPUT, AT("candidatesTokenCount")},
                                                {STREAM_REASONING, AT("thoughtsTokenCount")}},
                                    .number_count = 5},
        [TOOLRACK_FORMAT_OLLAMA] = {.in_event = true,
                                    .numbers = {{STREAM_INPUT, AT("prompt_eval_count")},
                                                {STREAM_OUTPUT, AT("eval_count")}},
                                    .number_count = 2},
};

/* Of a key, which is a string: nearly all differ in length. */
static inline bool is_place(const struct place *place, yyjson_val *key) {
    return unsafe_yyjson_get_len(key) == place->length &&
           memcmp(unsafe_yyjson_get_str(key), place->name, place->length) == 0;
}

static inline yyjson_val *value_at(const struct place *place, yyjson_val *value) {
    return place->inner == NULL ? value : yyjson_obj_getn(value, place->inner, place->inner_length);
}

/* A count; some servers write it as 1000.0. TOOLRACK_TOKENS_UNKNOWN: it is none. */
static int64_t read_count(yyjson_val *value) {
    if (yyjson_is_uint(value) && yyjson_get_uint(value) <= (uint64_t)TOKENS_MAX) {
        return (int64_t)yyjson_get_uint(value);
    }
    double real = yyjson_is_real(value) ? yyjson_get_real(value) : -1;
    bool is_count = real >= 0 && real <= (double)TOKENS_MAX && real == (double)(int64_t)real;
    return is_count ? (int64_t)real : TOOLRACK_TOKENS_UNKNOWN;
}

/* The number that a member of the usage is, or has; the count of numbers: none. */
static inline size_t find_number(const struct places *known, yyjson_val *key) {
    size_t i = 0;
    while (i < known->number_count && !is_place(&known->numbers[i].at, key)) {
        i++;
    }
    return i;
}

/* One walk over the members: Gemini and others tell their numbers in each event. */
static void take_counts(struct toolrack_stream *stream, const struct places *known,
                        yyjson_val *usage) {
    size_t taken[STREAM_COUNTS] = {0}; /* which number each count is from, counted from 1 */
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (usage, at, count, key, value) {
        size_t i = find_number(known, key);
        if (i == known->number_count) {
            continue;
        }
        enum stream_count kind = known->numbers[i].count;
        if (taken[kind] != 0 && taken[kind] <= i) {
            continue;
        }
        int64_t number = read_count(value_at(&known->numbers[i].at, value));
        if (number >= 0) {
            stream->counts[kind] = number;
            taken[kind] = i + 1;
        }
    }
}

bool stream_look(struct toolrack_stream *stream, yyjson_val *event) {
    const struct places *known = &places[stream->kind];
    yyjson_val *found[ARRAY_LENGTH(known->in)] = {NULL};
    yyjson_val *choices = NULL;
    bool has_number = false;
    bool may_be_error = false;
    unsigned seen = 0; /* members that are read, a bit each */
    size_t at;
    size_t count;
    yyjson_val *key;
    yyjson_val *value;
    json_obj_foreach (event, at, count, key, value) {
        if (unsafe_yyjson_is_num(value)) {
            has_number = true;
        } else if (unsafe_yyjson_is_obj(value)) {
            for (size_t i = 0; i < known->in_count; i++) {
                found[i] = is_place(&known->in[i], key) ? value_at(&known->in[i], value) : found[i];
            }
        } else if (unsafe_yyjson_is_arr(value) && known->in_choice && turn_is(key, "choices")) {
            choices = value;
        }
        const char first = unsafe_yyjson_get_str(key)[0];
        if (first == 'e' || first == 'o') { /* "error", "object" */
            const unsigned bit = turn_is(key, "error") ? 1 : turn_is(key, "object") ? 2 : 0;
            stream->has_twice = stream->has_twice || (seen & bit) != 0;
            seen |= bit;
            may_be_error = may_be_error || stream_may_be_error(key, value);
            stream->has_error = stream->has_error || stream_is_empty_error(key, value);
        } else if (first == 'c' && known->in_choice && turn_is(key, "choices")) {
            stream->has_twice = stream->has_twice || (seen & 4) != 0;
            seen |= 4;
        }
    }
    yyjson_val *const usages[] = {found[0], yyjson_obj_get(yyjson_arr_get_first(choices), "usage"),
                                  found[1], known->in_event && has_number ? event : NULL};
    for (size_t i = 0; i < ARRAY_LENGTH(usages); i++) {
        if (usages[i] != NULL) {
            take_counts(stream, known, usages[i]);
        }
    }
    return may_be_error;
}

/* Numbers of which the first must be known. */
static int64_t sum(int64_t first, int64_t second, int64_t third) {
    return first < 0 ? TOOLRACK_TOKENS_UNKNOWN
                     : first + (second > 0 ? second : 0) + (third > 0 ? third : 0);
}

/* What is read from a cache is a part of the input. Where a provider's is more, its input is what
 * no cache had, unless its total says that the input is all: then the part is wrong. */
static void fit_cached(struct toolrack_usage *known, int64_t total) {
    if (known->input < 0) {
        known->cached = known->written = TOOLRACK_TOKENS_UNKNOWN; /* of what, is not known */
    } else if (known->cached > known->input && known->output >= 0 &&
               total == known->input + known->output) {
        known->cached = TOOLRACK_TOKENS_UNKNOWN;
    } else if (known->cached > known->input) {
        known->input += known->cached;
    }
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
    fit_cached(&known, counts[STREAM_TOTAL]);
    memcpy(usage, &known, usage->size < sizeof known ? usage->size : sizeof known);
    return known.input >= 0 || known.output >= 0;
}
