/* fetch - gets a page of the web and gives its content as Markdown.
 *
 * Each URL on the way, that of the call and those of redirects, is asked for only if the robots.txt
 * of its server allows it, and connects only to addresses of the public internet (http.h). */
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <toolrack/plugin.h>

#include "base/hidden.h"

#include "../shared/http.h"
#include "charset.h"
#include "markdown.h"
#include "robots.h"

#define REDIRECTS_MAX      5
#define BYTES_MAX          (UINT64_C(5) << 20)
#define TIMEOUT_MS         25000L
#define CONVERSION_S_MAX   5
#define ROBOTS_SHOWN       300 /* bytes of a robots.txt in a message */
#define AGENT_SIZE         64
#define DEFAULT_USER_AGENT "toolrack/1.0 (Autonomous)"

static struct http_policy policy;
static bool ignores_robots;

static tr_status open_fetch(struct tr_host *host) {
    char message[ADDRESS_MESSAGE_SIZE];
    const char *agent = tr_host_config(host, "user_agent", DEFAULT_USER_AGENT);
    policy = (struct http_policy){.bytes_max = BYTES_MAX, .timeout_ms = TIMEOUT_MS};
    if (agent[0] == '\0' || strpbrk(agent, "\r\n") != NULL ||
        (size_t)snprintf(policy.user_agent, sizeof policy.user_agent, "%s", agent) >=
                sizeof policy.user_agent) {
        return tr_host_fail(host, "user_agent must be one line of 1 to %zu bytes",
                            sizeof policy.user_agent - 1);
    }
    if (!networks_parse(tr_host_config(host, "allow_networks", ""), &policy.allowed, message)) {
        return tr_host_fail(host, "allow_networks: %s", message);
    }
    const char *ignores = tr_host_config(host, "ignore_robots_txt", "false");
    ignores_robots = strcmp(ignores, "true") == 0;
    if (!ignores_robots && strcmp(ignores, "false") != 0) {
        return tr_host_fail(host, "ignore_robots_txt must be true or false, not %.32s", ignores);
    }
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return tr_host_fail(host, "libcurl cannot be used");
    }
    return TR_OK;
}

static void close_fetch(void) {
    curl_global_cleanup();
}

/* One call: the connection, and the robots.txt of the server that was asked last. */
struct visit {
    struct tr_call *call;
    struct http *http;
    char robots_url[HTTP_URL_SIZE];
    struct http_reply robots;
};

static bool fail_reply(struct visit *visit, const struct http_reply *reply) {
    static const tr_status codes[] = {[HTTP_OK] = TR_FAILED,
                                      [HTTP_BAD_URL] = TR_INVALID_ARGUMENTS,
                                      [HTTP_REFUSED] = TR_PERMISSION_DENIED,
                                      [HTTP_FAILED] = TR_FAILED,
                                      [HTTP_TOO_LARGE] = TR_LIMIT_EXCEEDED,
                                      [HTTP_CANCELLED] = TR_CANCELLED};
    (void)tr_fail(visit->call, codes[reply->fault], reply->fault == HTTP_BAD_URL ? "url" : NULL,
                  "%s", reply->message);
    return false;
}

static bool is_redirect(const struct http_reply *reply) {
    return reply->status >= 300 && reply->status < 400 && reply->redirect[0] != '\0';
}

/* ---------------------------------------------------------------- robots.txt */

/* Whoever gets no page is to learn what to do. */
#define MAY_DO_IT_BY_HAND \
    "tell the user that the page was not fetched, and that they can open it themselves"

/* Get the robots.txt of a server, by way of redirects, which RFC 9309 wants followed. */
static bool get_robots(struct visit *visit, const char *robots_url) {
    char url[HTTP_URL_SIZE];
    (void)snprintf(url, sizeof url, "%s", robots_url);
    for (unsigned i = 0;; i++) {
        http_reply_finish(&visit->robots);
        if (!http_get(visit->http, url, "text/plain", &visit->robots)) {
            return fail_reply(visit, &visit->robots);
        }
        if (!is_redirect(&visit->robots) || i == REDIRECTS_MAX) {
            break;
        }
        (void)snprintf(url, sizeof url, "%s", visit->robots.redirect);
    }
    (void)snprintf(visit->robots_url, sizeof visit->robots_url, "%s", robots_url);
    return true;
}

/* The name without its version, by which a robots.txt calls a client. */
static void agent_name(char ret[AGENT_SIZE]) {
    size_t length =
            strspn(policy.user_agent, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
    (void)snprintf(ret, AGENT_SIZE, "%.*s", (int)length, policy.user_agent);
}

static bool robots_say_yes(struct visit *visit, const char *url) {
    char robots_url[HTTP_URL_SIZE];
    char target[HTTP_URL_SIZE];
    char agent[AGENT_SIZE];
    if (!http_url_at(url, "/robots.txt", robots_url) || !http_url_target(url, target)) {
        (void)tr_fail(visit->call, TR_INVALID_ARGUMENTS, "url", "is no URL: %.200s", url);
        return false;
    }
    if (strcmp(robots_url, visit->robots_url) != 0 && !get_robots(visit, robots_url)) {
        return false;
    }
    long status = visit->robots.status;
    if (status == 401 || status == 403 || status >= 500) {
        (void)tr_fail(visit->call, TR_FAILED, NULL,
                      "%.300s was answered with status %ld, so fetching pages of this server by a "
                      "program is taken as not allowed; " MAY_DO_IT_BY_HAND,
                      robots_url, status);
        return false;
    }
    const char *text = visit->robots.body != NULL ? visit->robots.body : "";
    agent_name(agent);
    if (status >= 400 || robots_allow(text, visit->robots.length, agent, target)) {
        return true;
    }
    size_t shown = strnlen(text, ROBOTS_SHOWN);
    while (shown > 0 && ((unsigned char)text[shown] & 0xc0) == 0x80) {
        shown--;
    }
    (void)tr_fail(visit->call, TR_FAILED, NULL,
                  "%.300s does not allow programs to fetch %.300s; " MAY_DO_IT_BY_HAND
                  " (user agent: %.100s; robots.txt: %.*s)",
                  robots_url, url, policy.user_agent, (int)shown, text);
    return false;
}

/* ------------------------------------------------------------------ the page */

/* Get a page, by way of redirects; `url` becomes that of the page. */
static bool get_page(struct visit *visit, char url[HTTP_URL_SIZE], struct http_reply *ret) {
    for (unsigned i = 0;; i++) {
        *ret = (struct http_reply){0};
        if (!http_check(url, ret)) {
            return fail_reply(visit, ret);
        }
        if (!ignores_robots && !robots_say_yes(visit, url)) {
            return false;
        }
        if (!http_get(visit->http, url, "text/html,application/xhtml+xml,text/*;q=0.9,*/*;q=0.5",
                      ret)) {
            return fail_reply(visit, ret);
        }
        if (!is_redirect(ret)) {
            break;
        }
        if (i == REDIRECTS_MAX) {
            (void)tr_fail(visit->call, TR_FAILED, NULL,
                          "more than %d redirects, the last to %.300s", REDIRECTS_MAX,
                          ret->redirect);
            return false;
        }
        (void)snprintf(url, HTTP_URL_SIZE, "%s", ret->redirect);
        http_reply_finish(ret);
    }
    if (ret->status >= 400) {
        (void)tr_fail(visit->call, TR_FAILED, NULL, "Failed to fetch %.300s - status code %ld", url,
                      ret->status);
    }
    return ret->status < 400;
}

static bool type_is(const char *type, const char *wanted) {
    return strncasecmp(type, wanted, strlen(wanted)) == 0;
}

static bool is_text(const struct http_reply *reply) {
    const char *type = reply->type;
    size_t length = strcspn(type, "; ");
    if (type[0] == '\0') {
        return memchr(reply->body, '\0', reply->length) == NULL;
    }
    return type_is(type, "text/") || type_is(type, "application/json") ||
           type_is(type, "application/xml") || type_is(type, "application/xhtml+xml") ||
           type_is(type, "application/javascript") || type_is(type, "application/ecmascript") ||
           type_is(type, "application/yaml") || type_is(type, "application/toml") ||
           (length > 5 && strncasecmp(type + length - 5, "+json", 5) == 0) ||
           (length > 4 && strncasecmp(type + length - 4, "+xml", 4) == 0);
}

static bool is_html(const struct http_reply *reply) {
    size_t head = reply->length < 100 ? reply->length : 100;
    return reply->type[0] == '\0' || type_is(reply->type, "text/html") ||
           type_is(reply->type, "application/xhtml+xml") ||
           memmem(reply->body, head, "<html", 5) != NULL;
}

/* The part of a text from one character to another, in characters; the whole count is returned. */
struct part {
    const char *start;
    size_t size;    /* bytes */
    uint64_t count; /* characters in it */
    uint64_t all;   /* characters of the text */
};

static struct part part_of(const char *text, size_t length, uint64_t from, uint64_t count) {
    struct part part = {.start = text + length};
    for (size_t i = 0; i < length; i++) {
        if (((unsigned char)text[i] & 0xc0) == 0x80) {
            continue;
        }
        if (part.all == from) {
            part.start = text + i;
        }
        if (part.all == from + count) {
            part.size = (size_t)(text + i - part.start);
        }
        part.all++;
    }
    if (part.all > from) {
        part.count = part.all - from < count ? part.all - from : count;
        part.size = part.all - from <= count ? (size_t)(text + length - part.start) : part.size;
    }
    return part;
}

static tr_status reply_part(struct tr_call *call, const char *prefix, const char *url,
                            const char *text, size_t length) {
    uint64_t start = tr_get_u64(call, "start_index", 0);
    uint64_t most = tr_get_u64(call, "max_length", 5000);
    struct part part = part_of(text, length, start, most);
    uint64_t end = start + part.count;
    if (part.count == 0) {
        return tr_reply_textf(call, "%sContents of %s:\n<error>No more content available.</error>",
                              prefix, url);
    }
    char more[160] = "";
    if (end < part.all) {
        (void)snprintf(more, sizeof more,
                       "\n\n<error>Content truncated. Call the fetch tool with a start_index of "
                       "%llu to get more content.</error>",
                       (unsigned long long)end);
    }
    return tr_reply_textf(call, "%sContents of %s:\n%.*s%s", prefix, url, (int)part.size,
                          part.start, more);
}

/* Leave out, in place, what no reader sees: hidden characters, such as tags that spell a text for a
 * model only, and control characters, with which a text could act on a terminal. The new length. */
static size_t strip_unseen(char *text, size_t length) {
    size_t out = 0;
    for (size_t at = 0; at < length;) {
        size_t size = 0;
        size_t found = at + hidden_find(text + at, length - at, &size, NULL);
        for (; at < found; at++) {
            unsigned char byte = (unsigned char)text[at];
            bool is_c1 = byte == 0xc2 && at + 1 < found && (unsigned char)text[at + 1] < 0xa0;
            at += is_c1;
            if (!is_c1 && byte != 0x7f && (byte >= ' ' || strchr("\t\n\r", byte) != NULL)) {
                text[out++] = text[at];
            }
        }
        at = found + size;
    }
    text[out] = '\0';
    return out;
}

/* Converting ends with the call, and after a while: gumbo takes quadratic time for a tree that is
 * very deep. */
struct conversion {
    struct tr_call *call;
    struct timespec start;
};

static bool is_over(void *user) {
    const struct conversion *conversion = user;
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec - conversion->start.tv_sec > CONVERSION_S_MAX ||
           tr_cancelled(conversion->call);
}

static tr_status reply_page(struct tr_call *call, const char *url, const struct http_reply *reply) {
    char charset[CHARSET_NAME_SIZE];
    size_t length = 0;
    const char *body = reply->body != NULL ? reply->body : "";
    if (!is_text(reply)) {
        return tr_fail(call, TR_FAILED, NULL, "%.300s is not text but %.100s", url,
                       reply->type[0] != '\0' ? reply->type : "of no stated type");
    }
    bool is_page = is_html(reply);
    charset_find(body, reply->length, reply->type, is_page, charset);
    char *text = charset_decode(body, reply->length, charset, &length);
    if (text == NULL) {
        return tr_fail(call, TR_FAILED, NULL, "%.300s cannot be read as %s", url, charset);
    }
    char prefix[HTTP_TYPE_SIZE + 96] = "";
    if (is_page && !tr_get_bool(call, "raw", false)) {
        char *markdown = NULL;
        struct conversion conversion = {.call = call};
        (void)clock_gettime(CLOCK_MONOTONIC, &conversion.start);
        enum markdown_fault fault =
                markdown_of_html(text, length, url, is_over, &conversion, &markdown, &length);
        free(text);
        if (fault != MARKDOWN_OK) {
            return tr_fail(call, TR_LIMIT_EXCEEDED, NULL,
                           "the page is too large or too deep to be simplified; raw gives it as it "
                           "is");
        }
        text = markdown;
    } else {
        (void)snprintf(prefix, sizeof prefix,
                       "Content type %s cannot be simplified to markdown, but here is the raw "
                       "content:\n",
                       reply->type);
    }
    length = strip_unseen(text, length);
    tr_status status = reply_part(call, prefix, url, text, length);
    free(text);
    return status;
}

static tr_status fetch(struct tr_call *call) {
    char url[HTTP_URL_SIZE];
    const char *wanted = tr_get_string(call, "url", "");
    if ((size_t)snprintf(url, sizeof url, "%s", wanted) >= sizeof url) {
        return tr_fail(call, TR_INVALID_ARGUMENTS, "url", "is longer than %zu bytes",
                       sizeof url - 1);
    }
    struct visit *visit = calloc(1, sizeof *visit);
    struct http *http = visit != NULL ? http_create(call, &policy) : NULL;
    if (http == NULL) {
        free(visit);
        return tr_fail(call, TR_LIMIT_EXCEEDED, NULL, "no memory is left");
    }
    visit->call = call;
    visit->http = http;
    struct http_reply reply = {0};
    tr_status status = TR_FAILED;
    if (get_page(visit, url, &reply)) {
        status = reply_page(call, url, &reply);
    }
    http_reply_finish(&reply);
    http_reply_finish(&visit->robots);
    http_destroy(http);
    free(visit);
    return status;
}

/* clang-format off */
TR_JSON_TOOL(fetch,
    ("Fetch a page of the internet by its URL and return its content as Markdown. Of a long page a "
     "part is returned, and start_index gets the rest. Text that is no HTML is returned as it is.",
     .title = "Fetch a page", .category = "web", .tags = "http,url,web,page,download,markdown",
     .flags = TR_READ_ONLY | TR_OPEN_WORLD, .deadline_ms = 60000),
    TR_SCHEMA({
        "type": "object",
        "properties": {
            "url": {"type": "string", "format": "uri", "minLength": 1, "maxLength": 4095,
                    "description": "The address of the page, such as https://example.org/page"},
            "max_length": {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 1000000,
                           "default": 5000, "description": "How many characters are returned at most"},
            "start_index": {"type": "integer", "minimum": 0, "default": 0,
                            "description": "The first character to return, to get what an earlier call left out"},
            "raw": {"type": "boolean", "default": false,
                    "description": "Return the HTML as it is, not as Markdown"}
        },
        "required": ["url"],
        "additionalProperties": false
    }))

TR_PLUGIN(("fetch", .description = "Gets pages of the web as Markdown", .vendor = "toolrack",
           .license = "MIT", .flags = TR_THREAD_SAFE, .open = open_fetch, .close = close_fetch,
           TR_CAPABILITIES(TR_CONNECTS("*"), TR_CONNECTS("udp"))),
          "1.0.0", fetch)
