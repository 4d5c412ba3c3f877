/* Vectors of texts, from the embeddings model that the configuration names. */
#include "choose/embed.h"
#include "api/choosing.h"
#include "api/host.h"
#include "provider/embeddings.h"
#include "store/vectors.h"

#define TIMEOUT_MS_DEFAULT 2000u

_Static_assert(EMBED_TEXTS_MAX <= EMBEDDINGS_TEXTS_MAX, "a request may have so many texts");
_Static_assert(EMBEDDINGS_DIMENSION_MAX <= STORE_VECTOR_DIMENSION_MAX, "the store takes each");

static const char *text_of(yyjson_val *settings, const char *name, const char *otherwise) {
    yyjson_val *text = yyjson_obj_get(settings, name);
    return text != NULL ? yyjson_get_str(text) : otherwise;
}

static uint32_t number_of(yyjson_val *settings, const char *name, uint32_t otherwise) {
    uint64_t number = yyjson_get_uint(yyjson_obj_get(settings, name));
    return number != 0 && number < UINT32_MAX ? (uint32_t)number : otherwise;
}

static yyjson_val *settings_of(const struct toolrack *host) {
    return yyjson_obj_get(config_choosing(host->config), "embeddings");
}

static int ask(void *user, const char *const *texts, size_t count, uint32_t timeout_ms, float **ret,
               size_t *ret_dimension, bool *ret_has_sent, uint32_t *ret_wait_ms,
               struct toolrack_error *err) {
    const struct toolrack *host = user;
    yyjson_val *settings = settings_of(host);
    struct embeddings found;
    int code = embeddings_ask(
            &(struct embeddings_request){.endpoint = text_of(settings, "endpoint", NULL),
                                         .model = text_of(settings, "model", NULL),
                                         .dimension = number_of(settings, "dimensions", 0),
                                         .texts = texts,
                                         .count = count,
                                         .timeout_ms = timeout_ms},
            &found, ret_wait_ms, err);
    *ret = found.values;
    *ret_dimension = found.dimension;
    *ret_has_sent = found.has_sent;
    return code;
}

void choosing_embed(struct toolrack *host, struct embed *ret) {
    yyjson_val *settings = settings_of(host);
    *ret = (struct embed){.ask = ask,
                          .user = host,
                          .endpoint = text_of(settings, "endpoint", NULL),
                          .model = text_of(settings, "model", NULL),
                          .query_prefix = text_of(settings, "query_prefix", ""),
                          .tool_prefix = text_of(settings, "tool_prefix", ""),
                          .dimension = number_of(settings, "dimensions", 0),
                          .timeout_ms = number_of(settings, "timeout_ms", TIMEOUT_MS_DEFAULT)};
}
