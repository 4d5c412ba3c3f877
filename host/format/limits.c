#include "format/limits.h"

#include "format/tool.h"

/* https://platform.openai.com/docs/guides/structured-outputs#supported-schemas */
#define OPENAI_STRICT                                                                           \
    {                                                                                           \
        .depth = 10, .properties = 5000, .enum_values = 1000, .text = 120000, .long_enum = 250, \
        .long_enum_text = 15000                                                                 \
    }

/* Names have FORMAT_NAME_MAX bytes at most in every format, so that a tool has one name where no
 * character is refused: 64 is OpenAI's limit; the others take 128 today, and took 64 before. */
const struct provider_limits provider_limits[TOOLRACK_FORMAT_COUNT] = {
        /* https://platform.openai.com/docs/api-reference/chat/create, and the errors
         * array_above_max_length ("expected an array with maximum length 128") and
         * string_above_max_length ("expected a string with maximum length 1024") */
        [TOOLRACK_FORMAT_OPENAI] = {.tools_max = 128,
                                    .description_max = 1024,
                                    .name_max = FORMAT_NAME_MAX,
                                    .name_extra = "",
                                    .strict = OPENAI_STRICT},
        /* https://platform.openai.com/docs/api-reference/responses/create */
        [TOOLRACK_FORMAT_OPENAI_RESPONSES] = {.tools_max = 128,
                                              .name_max = FORMAT_NAME_MAX,
                                              .name_extra = "",
                                              .strict = OPENAI_STRICT},
        /* https://docs.anthropic.com/en/api/messages for names; the error for keys, "Property keys
         * should match pattern", in https://github.com/anthropics/claude-code/issues/79418 */
        [TOOLRACK_FORMAT_ANTHROPIC] = {.name_max = FORMAT_NAME_MAX,
                                       .name_extra = "",
                                       .keys = KEYS_ANTHROPIC},
        /* https://ai.google.dev/api/caching#FunctionDeclaration for names; 512 declarations in
         * https://github.com/google-gemini/gemini-cli/issues/19083 */
        [TOOLRACK_FORMAT_GEMINI] = {.tools_max = 512,
                                    .name_max = FORMAT_NAME_MAX,
                                    .name_extra = ".:",
                                    .name_letter_first = true,
                                    .keys = KEYS_IDENTIFIER},
        /* https://github.com/ollama/ollama/blob/main/docs/api.md has none; the rules of names are
         * OpenAI's, which its models and its other routes expect */
        [TOOLRACK_FORMAT_OLLAMA] = {.name_max = FORMAT_NAME_MAX, .name_extra = ""},
        /* https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names */
        [TOOLRACK_FORMAT_MCP] = {.name_max = FORMAT_NAME_MAX, .name_extra = "."},
};
