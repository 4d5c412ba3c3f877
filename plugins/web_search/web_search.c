/* web_search - asks a search engine that speaks SearXNG's JSON, at an address in the settings.
 *
 * The administrator chose the engine, so it may be on a private network, unlike what fetch gets. */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <toolrack/plugin.h>
#include <yyjson.h>

#include "../shared/http.h"

#define BYTES_MAX  (UINT64_C(4) << 20)
#define TIMEOUT_MS 20000L
#define TEXT_MAX   2000 /* bytes of one title or snippet */

static struct http_policy policy;
static char endpoint[HTTP_URL_SIZE]; /* "": none is configured */

static tr_status open_search(struct tr_host *host) {
    char message[ADDRESS_MESSAGE_SIZE];
    const char *address = tr_host_config(host, "endpoint", "");
    struct http_reply reply = {0};
    policy = (struct http_policy){.bytes_max = BYTES_MAX, .timeout_ms = TIMEOUT_MS};
    (void)snprintf(policy.user_agent, sizeof policy.user_agent, "toolrack/1.0 (web_search)");
    if ((size_t)snprintf(endpoint, sizeof endpoint, "%s", address) >= sizeof endpoint ||
        (endpoint[0] != '\0' && !http_check(endpoint, &reply))) {
        return tr_host_fail(host, "endpoint: %s", reply.message);
    }
    if (!networks_parse("0.0.0.0/0, ::/0", &policy.allowed, message)) {
        return tr_host_fail(host, "%s", message);
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return tr_host_fail(host, "libcurl cannot be used");
    }
    return TR_OK;
}

static void close_search(void) {
    curl_global_cleanup();
}

/* ------------------------------------------------------------- the question */

static bool add_query(CURLU *url, const char *name, const char *value) {
    char *pair = NULL;
    if (asprintf(&pair, "%s=%s", name, value) < 0) {
        return false;
    }
    bool done = curl_url_set(url, CURLUPART_QUERY, pair, CURLU_APPENDQUERY | CURLU_URLENCODE) ==
                CURLUE_OK;
    free(pair);
    return done;
}

/* The address of the question; false: it is too long, or there is no memory. */
static bool make_url(struct tr_call *call, char ret[HTTP_URL_SIZE]) {
    char page[24];
    char *whole = NULL;
    const char *time = tr_get_string(call, "time_range", NULL);
    const char *language = tr_get_string(call, "language", NULL);
    (void)snprintf(page, sizeof page, "%lld", (long long)tr_get_i64(call, "page", 1));
    CURLU *url = curl_url();
    bool done = url != NULL && curl_url_set(url, CURLUPART_URL, endpoint, 0) == CURLUE_OK &&
                add_query(url, "q", tr_get_string(call, "query", "")) &&
                add_query(url, "format", "json") && add_query(url, "pageno", page) &&
                add_query(url, "safesearch", tr_get_bool(call, "safe_search", true) ? "1" : "0") &&
                (time == NULL || add_query(url, "time_range", time)) &&
                (language == NULL || add_query(url, "language", language)) &&
                curl_url_get(url, CURLUPART_URL, &whole, 0) == CURLUE_OK;
    done = done && (size_t)snprintf(ret, HTTP_URL_SIZE, "%s", whole) < HTTP_URL_SIZE;
    curl_free(whole);
    curl_url_cleanup(url);
    return done;
}

/* --------------------------------------------------------------- the answer */

/* A text of the engine's, cut where a character begins. */
static void put_text(struct tr_call *call, const char *key, yyjson_val *value) {
    const char *text = yyjson_get_str(value);
    size_t length = text != NULL ? yyjson_get_len(value) : 0;
    char cut[TEXT_MAX + 1];
    if (text == NULL) {
        return;
    }
    if (length > TEXT_MAX) {
        length = TEXT_MAX;
        while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
            length--;
        }
    }
    memcpy(cut, text, length);
    cut[length] = '\0';
    (void)tr_put_string(call, key, cut);
}

static tr_status reply_results(struct tr_call *call, yyjson_val *root) {
    yyjson_val *results = yyjson_obj_get(root, "results");
    uint64_t limit = tr_get_u64(call, "max_results", 10);
    uint64_t put = 0;
    size_t i;
    size_t count;
    yyjson_val *item;
    if (!yyjson_is_arr(results)) {
        return tr_fail(call, TR_FAILED, NULL,
                       "the search engine's answer has no \"results\": it does not speak SearXNG's "
                       "JSON");
    }
    (void)tr_put_object(call, NULL);
    (void)tr_put_string(call, "query", tr_get_string(call, "query", ""));
    (void)tr_put_array(call, "results");
    yyjson_arr_foreach (results, i, count, item) {
        if (put == limit || !yyjson_is_str(yyjson_obj_get(item, "url"))) {
            continue;
        }
        put++;
        (void)tr_put_object(call, NULL);
        put_text(call, "title", yyjson_obj_get(item, "title"));
        put_text(call, "url", yyjson_obj_get(item, "url"));
        put_text(call, "snippet", yyjson_obj_get(item, "content"));
        put_text(call, "published", yyjson_obj_get(item, "publishedDate"));
        (void)tr_put_end(call);
    }
    (void)tr_put_end(call);
    return tr_put_end(call);
}

static tr_status reply_answer(struct tr_call *call, const struct http_reply *reply) {
    if (reply->status >= 300) {
        bool is_forbidden = reply->status == 403;
        return tr_fail(call, TR_FAILED, NULL, "the search engine answered with status %ld%s",
                       reply->status,
                       is_forbidden ? "; SearXNG does so if \"json\" is not in search.formats of "
                                      "its settings.yml"
                                    : "");
    }
    yyjson_read_err wrong;
    yyjson_doc *doc = yyjson_read_opts(reply->body, reply->length, 0, NULL, &wrong);
    if (doc == NULL) {
        return tr_fail(call, TR_FAILED, NULL,
                       "the search engine's answer is no JSON: %s at byte %zu", wrong.msg,
                       wrong.pos);
    }
    tr_status status = reply_results(call, yyjson_doc_get_root(doc));
    yyjson_doc_free(doc);
    return status;
}

static tr_status web_search(struct tr_call *call) {
    char url[HTTP_URL_SIZE];
    struct http_reply reply = {0};
    if (endpoint[0] == '\0') {
        return tr_fail(call, TR_FAILED, NULL,
                       "no search engine is configured: set \"endpoint\" of the plugin to the "
                       "search address of a SearXNG, such as https://searx.example.org/search");
    }
    if (!make_url(call, url)) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "query", "is too long for an address");
    }
    struct http *http = http_create(call, &policy);
    if (http == NULL) {
        return tr_fail(call, TR_LIMIT_EXCEEDED, NULL, "no memory is left");
    }
    tr_status status =
            http_get(http, url, "application/json", &reply)
                    ? reply_answer(call, &reply)
                    : tr_fail(call, reply.fault == HTTP_CANCELLED ? TR_CANCELLED : TR_FAILED, NULL,
                              "%s", reply.message);
    http_reply_finish(&reply);
    http_destroy(http);
    return status;
}

/* clang-format off */
TR_JSON_TOOL(web_search,
    ("Search the web, the internet, and return titles, addresses and short extracts of the pages that were found. "
     "Read a page whole with fetch.",
     .title = "Search the web", .category = "web", .tags = "search,web,internet,find,query,news",
     .flags = TR_READ_ONLY | TR_OPEN_WORLD),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "maxLength": 1000,
                      "description": "What to search for"},
            "max_results": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10,
                            "description": "How many results are returned at most"},
            "page": {"type": "integer", "minimum": 1, "maximum": 100, "default": 1,
                     "description": "The page of results, to get more of them"},
            "time_range": {"type": "string", "enum": ["day", "month", "year"],
                           "description": "How old a page may be"},
            "language": {"type": "string", "pattern": "^[a-z]{2}(-[A-Z]{2})?$",
                         "description": "The language of the pages, such as en or pt-BR"},
            "safe_search": {"type": "boolean", "default": true,
                            "description": "Leave out what is not for everybody"}
        },
        "required": ["query"],
        "additionalProperties": false
    }))

TR_PLUGIN(("web_search", .description = "Searches the web by a SearXNG of one's own choice",
           .vendor = "toolrack", .license = "MIT", .flags = TR_THREAD_SAFE, .open = open_search,
           .close = close_search, TR_CAPABILITIES(TR_CONNECTS("*"), TR_CONNECTS("udp"))),
          "1.0.0", web_search)
