#include "serve/web/web.h"

#include <stdio.h>
#include <string.h>

/* The page loads its own files and asks this server, nothing else; it has no script or style in its
 * text, and nobody frames it. Texts of tools and plugins cannot become scripts even if the page
 * mistook them for HTML. One line each has room in an answer. */
#define CONTENT_SECURITY_POLICY                                                         \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "         \
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " \
    "require-trusted-types-for 'script'"
#define FIELDS                                                         \
    "Content-Security-Policy: " CONTENT_SECURITY_POLICY "\r\n"         \
    "X-Frame-Options: DENY\r\n"                                        \
    "Referrer-Policy: no-referrer\r\n"                                 \
    "Cross-Origin-Opener-Policy: same-origin\r\n"                      \
    "Cross-Origin-Resource-Policy: same-origin\r\n"                    \
    "Permissions-Policy: camera=(), geolocation=(), microphone=()\r\n" \
    "Cache-Control: no-cache\r\n"

static const struct web_file *find_file(const char *target) {
    size_t length = strcspn(target, "?");
    for (size_t i = 0; i < web_file_count; i++) {
        if (strlen(web_files[i].path) == length && memcmp(web_files[i].path, target, length) == 0) {
            return &web_files[i];
        }
    }
    return NULL;
}

static bool front_find(struct front *front, const char *method, const char *target,
                       struct front_route *ret) {
    const struct web_file *file = find_file(target);
    (void)front;
    *ret = (struct front_route){0};
    if (file == NULL) {
        return false;
    }
    (void)snprintf(ret->allow, sizeof ret->allow, "GET, HEAD, OPTIONS");
    if (strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0) {
        ret->route = file;
        ret->class = FRONT_PUBLIC;
        ret->is_page = true;
    } else if (strcmp(method, "OPTIONS") == 0) {
        ret->status = 204;
    } else {
        ret->status = 405;
        ret->message = "the page is read by GET";
    }
    return true;
}

/* What is lent stays anyway. */
static void keep(void *lent) {
    (void)lent;
}

static void front_receive(struct front *front, const struct principal *principal,
                          const struct front_request *request, struct exchange *exchange) {
    const struct web_file *file = request->route;
    char fields[1024];
    (void)front;
    (void)principal;
    (void)snprintf(fields, sizeof fields, FIELDS "ETag: %s\r\n", file->tag);
    bool is_known =
            request->if_none_match != NULL && strstr(request->if_none_match, file->tag) != NULL;
    struct exchange_answer answer = {.status = is_known ? 304 : 200, .fields = fields};
    if (!is_known) {
        answer.text = file->text;
        answer.length = file->length;
        answer.type = file->type;
        answer.release = keep;
    }
    exchange->calls->finish(exchange, &answer);
}

static void front_gone(struct front *front, struct exchange *exchange) {
    (void)front;
    (void)exchange;
}

static void front_drain(struct front *front) {
    (void)front;
}

static void front_cut(struct front *front) {
    (void)front;
}

static void front_refuse(struct buf *out, unsigned status, const char *message) {
    (void)status;
    buf_printf(out, "%s\n", message);
}

struct front *web_front(void) {
    static const struct front_calls calls = {.find = front_find,
                                             .receive = front_receive,
                                             .gone = front_gone,
                                             .drain = front_drain,
                                             .cut = front_cut,
                                             .refuse = front_refuse,
                                             .refusal_type = "text/plain; charset=utf-8",
                                             .counted_as = COUNTS_PAGE};
    static struct front front = {.calls = &calls};
    return &front;
}
