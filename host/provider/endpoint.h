/* endpoint.h - the URL of a provider's API. */
#pragma once

#include <stdbool.h>

#include "toolrack/format.h"

/* The formats that model providers use; MCP is not one of them. */
#define ENDPOINT_FORMATS "openai, openai-responses, anthropic, gemini or ollama"

/** The URL to post a conversation to.
 *
 * @param base   "https://api.example.com", to which the version ("/v1") and the method are added;
 *               with a path only the method is, but for ANTHROPIC and OLLAMA, where the version is
 *               added unless the path ends with one; or the whole path
 * @param model  the model; part of the URL for some formats
 * @param ret    receives the URL, to be released by free()
 * @return 0; TOOLRACK_E_INVALID for an invalid base, and for a format that no model provider uses;
 *         TOOLRACK_E_NO_MEMORY. [any-thread] */
int endpoint_url(enum toolrack_format format, const char *base, const char *model, char **ret,
                 struct toolrack_error *err);

/* Most parts of the query that are added. */
#define ENDPOINT_QUERY_MAX 32u

/** Add "NAME=VALUE" to the query of a URL, escaped.
 * @param url    replaced on success
 * @param query  up to NULL; NULL: nothing is added
 * @return 0; TOOLRACK_E_INVALID for what is not so, and for a name of a key;
 *         TOOLRACK_E_LIMIT_EXCEEDED; TOOLRACK_E_NO_MEMORY. [any-thread] */
int endpoint_add_query(char **url, const char *const *query, struct toolrack_error *err);

/** Whether a URL is of OpenAI's own API, in any of its regions, or of Azure, which has the same.
 * The many others that speak its format know fewer members. NULL is neither. */
bool endpoint_is_openai(const char *url);
bool endpoint_is_azure(const char *url);

/** The URL to ask for embeddings at, in OpenAI's format: the same for "/v1/embeddings". */
int endpoint_embeddings_url(const char *base, char **ret, struct toolrack_error *err);
