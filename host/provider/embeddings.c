#include "provider/embeddings.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "net/http.h"
#include "net/libcurl.h"
#include "provider/endpoint.h"
#include "provider/keys.h"
#include "provider/refusal.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)
CLEANUP_DEFINE(struct http, http_destroy)

void embeddings_finish(struct embeddings *embeddings) {
    free(embeddings->values);
    *embeddings = (struct embeddings){0};
}

/* ------------------------------------------------------------------------- the answer */

static int wrong(struct toolrack_error *err, const char *what) {
    return error_set(err, TOOLRACK_E_INVALID, "its answer %s", what);
}

/* Make the length of a vector 1. False: it has no direction. */
static bool make_unit(float *values, size_t dimension) {
    double squares = 0;
    for (size_t i = 0; i < dimension; i++) {
        squares += (double)values[i] * (double)values[i];
    }
    double length = sqrt(squares);
    for (size_t i = 0; i < dimension; i++) {
        values[i] = (float)((double)values[i] / length);
    }
    return squares > 0;
}

static int read_vector(yyjson_val *numbers, float *ret, size_t dimension,
                       struct toolrack_error *err) {
    size_t at;
    size_t count;
    yyjson_val *number;
    yyjson_arr_foreach (numbers, at, count, number) {
        double value = yyjson_is_num(number) ? yyjson_get_num(number) : NAN;
        if (!(fabs(value) <= (double)FLT_MAX)) {
            return wrong(err, "has a vector with something that is no number, or too large");
        }
        ret[at] = (float)value;
    }
    return make_unit(ret, dimension) ? 0 : wrong(err, "has a vector of zeros");
}

/* Which text a vector is of: its index, or else its place. */
static size_t place_of(yyjson_val *item, size_t at) {
    yyjson_val *index = yyjson_obj_get(item, "index");
    if (index == NULL) {
        return at;
    }
    return yyjson_is_uint(index) ? (size_t)yyjson_get_uint(index) : SIZE_MAX;
}

/* Put each vector at the place of its text. */
static int read_all(yyjson_val *data, size_t count, struct embeddings *ret,
                    struct toolrack_error *err) {
    bool has[EMBEDDINGS_TEXTS_MAX] = {false};
    size_t at;
    size_t items;
    yyjson_val *item;
    yyjson_arr_foreach (data, at, items, item) {
        yyjson_val *numbers = yyjson_obj_get(item, "embedding");
        size_t place = place_of(item, at);
        if (place >= count || has[place]) {
            return wrong(err, "has a vector for no text, or two for one");
        }
        if (yyjson_arr_size(numbers) != ret->dimension) {
            return wrong(err, "has vectors of different dimensions, or something else instead");
        }
        has[place] = true;
        int code = read_vector(numbers, ret->values + place * ret->dimension, ret->dimension, err);
        if (code < 0) {
            return code;
        }
    }
    return 0;
}

int embeddings_read(const char *json, size_t length, size_t count, size_t dimension,
                    struct embeddings *ret, struct toolrack_error *err) {
    CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(json, length, 0);
    yyjson_val *data = yyjson_obj_get(yyjson_doc_get_root(doc), "data");
    *ret = (struct embeddings){0};
    if (doc == NULL) {
        return wrong(err, "is not JSON");
    }
    if (!yyjson_is_arr(data)) {
        return wrong(err, "has no list \"data\"");
    }
    if (count == 0 || count > EMBEDDINGS_TEXTS_MAX || yyjson_arr_size(data) != count) {
        return error_set(err, TOOLRACK_E_INVALID, "its answer has %zu vectors for %zu texts",
                         yyjson_arr_size(data), count);
    }
    size_t found = yyjson_arr_size(yyjson_obj_get(yyjson_arr_get_first(data), "embedding"));
    if (found == 0 || found > EMBEDDINGS_DIMENSION_MAX || (dimension != 0 && found != dimension)) {
        return error_set(err, TOOLRACK_E_INVALID,
                         "its answer has vectors of %zu numbers; they must have %s%zu", found,
                         dimension != 0 ? "" : "from 1 to ",
                         dimension != 0 ? dimension : (size_t)EMBEDDINGS_DIMENSION_MAX);
    }
    ret->dimension = found;
    ret->values = malloc(count * found * sizeof *ret->values);
    int code = ret->values != NULL ? read_all(data, count, ret, err) : error_oom(err);
    if (code < 0) {
        embeddings_finish(ret);
    }
    return code;
}

/* ------------------------------------------------------------------------ the request */

static int write_body(const struct embeddings_request *request, struct buf *out,
                      struct toolrack_error *err) {
    buf_add_text(out, "{\"model\":");
    buf_add_json_string(out, request->model, strlen(request->model));
    if (request->dimension != 0) {
        buf_printf(out, ",\"dimensions\":%u", request->dimension);
    }
    buf_add_text(out, ",\"input\":[");
    for (size_t i = 0; i < request->count; i++) {
        buf_add(out, ",", i > 0);
        buf_add_json_string(out, request->texts[i], strlen(request->texts[i]));
    }
    buf_add_text(out, "]}");
    return out->failed ? error_oom(err) : 0;
}

static int take(void *user, const char *bytes, size_t length, struct toolrack_error *err) {
    struct buf *answer = user;
    buf_add(answer, bytes, length);
    return answer->failed ? error_oom(err) : 0;
}

/* Send the body, and take what comes until it ends or the time is over. */
static int post(const struct embeddings_request *request, const char *url, const struct key *key,
                struct buf *answer, uint32_t *ret_wait_ms, bool *ret_has_sent,
                struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf body = BUF_INIT;
    CLEANUP(http_response_finish) struct http_response response = {0};
    CLEANUP(closep) int timer = http_timer(request->timeout_ms);
    if (timer < 0) {
        return error_set(err, TOOLRACK_E_IO, "there is no timer for its answer: %s",
                         strerror(errno));
    }
    CLEANUP(http_destroyp) struct http *http = http_create(timer);
    int code = http != NULL ? write_body(request, &body, err) : error_oom(err);
    if (code == 0) {
        const char *const headers[] = {key->header, NULL};
        code = http_post(http,
                         &(struct http_request){.url = url,
                                                .headers = headers,
                                                .body = body.data,
                                                .length = body.length,
                                                .response_max = EMBEDDINGS_ANSWER_MAX,
                                                .accept = "Accept: application/json"},
                         &(struct http_sink){.take = take, .user = answer}, &response, err);
        *ret_has_sent = http_has_sent(http);
    }
    if (code == TOOLRACK_E_CANCELLED) {
        return error_set(err, TOOLRACK_E_TIMEOUT, "it did not answer within %u ms",
                         request->timeout_ms);
    }
    if (code == 0 && response.status != 200) {
        (void)refusal_may_pass(&response, ret_wait_ms);
        *ret_wait_ms = *ret_wait_ms < REFUSAL_REST_MS_MAX ? *ret_wait_ms : REFUSAL_REST_MS_MAX;
        code = refusal_set(&(struct refusal){.url = url,
                                             .response = &response,
                                             .key = key,
                                             .tries = 1,
                                             .place = "as \"endpoint\" of \"embeddings\""},
                           err);
    }
    return code;
}

int embeddings_ask(const struct embeddings_request *request, struct embeddings *ret,
                   uint32_t *ret_wait_ms, struct toolrack_error *err) {
    CLEANUP(freep) char *url = NULL;
    CLEANUP(key_finish) struct key key = {0};
    CLEANUP(buf_finish) struct buf answer = BUF_INIT;
    struct toolrack_error problem;
    bool has_sent = false;
    *ret = (struct embeddings){0};
    *ret_wait_ms = 0;
    int code = libcurl_load(&problem);
    if (code == 0) {
        code = endpoint_embeddings_url(request->endpoint, &url, &problem);
    }
    if (code == 0) {
        code = key_read(TOOLRACK_FORMAT_OPENAI, NULL, &key, &problem);
    }
    if (code == 0) {
        code = post(request, url, &key, &answer, ret_wait_ms, &has_sent, &problem);
    }
    if (code == 0) {
        code = embeddings_read(answer.data != NULL ? answer.data : "", answer.length,
                               request->count, request->dimension, ret, &problem);
    }
    ret->has_sent = has_sent;
    if (code < 0) {
        key_redact(&key, problem.message, strlen(problem.message));
        toolrack_error_copy(err, &problem);
    }
    return code;
}
