#include "serve/rest/openapi.h"

#include <stdio.h>
#include <string.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "serve/rest/problem.h"
#include "serve/rest/routes.h"
#include "serve/rest/schemas.h"
#include "toolrack/toolrack.h"

static void add_string(struct buf *out, const char *text) {
    buf_add_json_string(out, text, strlen(text));
}

static void add_member(struct buf *out, const char *name, const char *text) {
    add_string(out, name);
    buf_add_char(out, ':');
    add_string(out, text);
}

/* ---------------------------------------------------------------- what is sent */

static void add_choices(struct buf *out, const char *choices) {
    const char *before = "";
    for (const char *at = choices; at != NULL;) {
        size_t length = strcspn(at, "|");
        buf_add_text(out, before);
        buf_add_json_string(out, at, length);
        before = ",";
        at = at[length] == '|' ? at + length + 1 : NULL;
    }
}

static void add_type(struct buf *out, const struct field *field) {
    switch (field->type) {
    case FIELD_BOOLEAN: buf_add_text(out, "\"type\":\"boolean\""); break;
    case FIELD_INTEGER:
        buf_printf(out, "\"type\":\"integer\",\"minimum\":%llu,\"maximum\":%llu",
                   (unsigned long long)field->least, (unsigned long long)field_most(field));
        break;
    case FIELD_SIGNED:
        buf_printf(out, "\"type\":\"integer\",\"minimum\":%d,\"maximum\":%d", INT32_MIN, INT32_MAX);
        break;
    case FIELD_STRINGS:
        buf_add_text(out, "\"type\":\"array\",\"items\":{\"type\":\"string\"}");
        break;
    case FIELD_OBJECT: buf_add_text(out, "\"type\":[\"object\",\"null\"]"); break;
    case FIELD_STRING: buf_add_text(out, "\"type\":\"string\""); break;
    }
    if (field->choices != NULL) {
        buf_add_text(out, ",\"enum\":[");
        add_choices(out, field->choices);
        buf_add_char(out, ']');
    }
}

/* Headers that are heard; what the specification has other places for (Accept, Authorization,
 * Content-Type) is not among them. */
static const struct header {
    unsigned flags; /* of a route, or 0: of each */
    const char *name;
    const char *description;
} headers[] = {
        {0, "X-Request-Id",
         "The id of the request in answer and logs: up to 64 letters, digits, '-', '_' and '.'; "
         "one is made up without it"},
        {0, "traceparent", "The trace that the request is a span of, as W3C Trace Context says"},
        {ROUTE_TAGGED, "If-None-Match", "ETags that the client has: 304 if the answer has one"},
        {ROUTE_RESUMES, "Last-Event-ID",
         "The id of the last event that was received: a stream goes on after it"},
        {ROUTE_ASYNC, "Prefer",
         "respond-async: be answered by a task at once, which GET /api/tasks/{id} shows"},
};

static void add_headers(struct buf *out, const struct route *route, const char *before) {
    for (size_t i = 0; i < ARRAY_LENGTH(headers); i++) {
        if (headers[i].flags == 0 || (route->flags & headers[i].flags) != 0) {
            buf_printf(out, "%s{\"name\":\"%s\",\"in\":\"header\",", before, headers[i].name);
            add_member(out, "description", headers[i].description);
            buf_add_text(out, ",\"schema\":{\"type\":\"string\"}}");
            before = ",";
        }
    }
}

static void add_parameters(struct buf *out, const struct route *route) {
    const char *before = "";
    buf_add_text(out, ",\"parameters\":[");
    for (const char *at = strchr(route->path, '{'); at != NULL; at = strchr(at + 1, '{')) {
        size_t length = strcspn(at + 1, "}");
        buf_printf(out,
                   "%s{\"name\":\"%.*s\",\"in\":\"path\",\"required\":true,\"schema\":{\"type\":"
                   "\"string\",\"minLength\":1}}",
                   before, (int)length, at + 1);
        before = ",";
    }
    for (const struct field *field = route->query; field != NULL && field->name != NULL; field++) {
        buf_printf(out, "%s{\"name\":\"%s\",\"in\":\"query\",\"required\":%s,", before, field->name,
                   field->required ? "true" : "false");
        add_member(out, "description", field->description);
        buf_add_text(out, ",\"schema\":{");
        add_type(out, field);
        buf_add_text(out, "}}");
        before = ",";
    }
    add_headers(out, route, before);
    buf_add_char(out, ']');
}

static void add_body_schema(struct buf *out, const struct route *route) {
    const char *before = "";
    buf_add_text(out, "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{");
    for (const struct field *field = route->body; field != NULL && field->name != NULL; field++) {
        buf_printf(out, "%s\"%s\":{", before, field->name);
        add_type(out, field);
        buf_add_char(out, ',');
        add_member(out, "description", field->description);
        buf_add_char(out, '}');
        before = ",";
    }
    buf_add_text(out, "},\"required\":[");
    before = "";
    for (const struct field *field = route->body; field != NULL && field->name != NULL; field++) {
        if (field->required) {
            buf_printf(out, "%s\"%s\"", before, field->name);
            before = ",";
        }
    }
    buf_add_text(out, "]}");
}

static void add_body(struct buf *out, const struct route *route) {
    if (strcmp(route->method, "GET") == 0 || strcmp(route->method, "DELETE") == 0) {
        return;
    }
    buf_printf(out, ",\"requestBody\":{\"required\":%s,\"content\":{\"application/json\":{",
               route->example != NULL ? "true" : "false");
    buf_add_text(out, "\"schema\":");
    if ((route->flags & ROUTE_ANY_BODY) != 0) {
        buf_add_text(out, "{}");
    } else {
        add_body_schema(out, route);
    }
    if (route->example != NULL) {
        buf_printf(out, ",\"example\":%s", route->example);
    }
    buf_add_text(out, "}}}");
}

/* -------------------------------------------------------------- what comes back */

#define HEADER "{\"schema\":{\"type\":\"string\"}}"

static void add_success(struct buf *out, const struct route *route) {
    buf_printf(out, "\"%u\":{", route->status);
    add_member(out, "description", route->summary);
    buf_add_text(out, ",\"headers\":{\"X-Request-Id\":" HEADER ",\"traceresponse\":" HEADER);
    if ((route->flags & ROUTE_TAGGED) != 0) {
        buf_add_text(out, ",\"ETag\":" HEADER);
    }
    buf_add_text(out, "},\"content\":{");
    if ((route->flags & ROUTE_EVENTS_ONLY) == 0) {
        buf_printf(out, "\"%s\":{\"schema\":{\"$ref\":\"#/components/schemas/%s\"}}",
                   (route->flags & ROUTE_TEXT) != 0 ? "text/plain" : "application/json",
                   route->response);
    }
    if (route->event != NULL) { /* OpenAPI 3.1 has no word of its own for what an event has */
        buf_printf(out,
                   "%s\"text/event-stream\":{\"schema\":{\"type\":\"string\"},\"x-event-data\":{"
                   "\"$ref\":\"#/components/schemas/%s\"}}",
                   (route->flags & ROUTE_EVENTS_ONLY) == 0 ? "," : "", route->event);
    }
    buf_add_text(out, "}}");
    if ((route->flags & ROUTE_ASYNC) != 0) {
        buf_add_text(out, ",\"202\":{\"description\":\"The call runs as a task, as Prefer says\","
                          "\"headers\":{\"Location\":" HEADER ",\"Preference-Applied\":" HEADER
                          "},\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
                          "\"#/components/schemas/Task\"}}}}");
    }
    if ((route->flags & ROUTE_TAGGED) != 0) {
        buf_add_text(out, ",\"304\":{\"description\":\"It is as If-None-Match says\"}");
    }
}

/* Whether a route answers with a status for a type of failures. */
static bool has_status(const struct route *route, const char *type, size_t length,
                       unsigned status) {
    unsigned usual = problem_status_of(type, length);
    bool is_of_call = (route->flags & ROUTE_ASYNC) != 0 && usual == 429;
    return usual == status || (is_of_call && status == PROBLEM_LIMIT_OF_CALL);
}

/* The types of failures that have this status. */
static bool add_types(struct buf *out, const struct route *route, unsigned status) {
    bool found = false;
    for (const char *at = route->failures; *at != '\0';) {
        size_t length = strcspn(at, " ");
        if (has_status(route, at, length, status)) {
            buf_printf(out, "%s%.*s", found ? ", " : "", (int)length, at);
            found = true;
        }
        at += length + (at[length] == ' ');
    }
    return found;
}

static void add_failure(struct buf *out, const char *status, const char *description) {
    buf_printf(out, ",\"%s\":{", status);
    add_member(out, "description", description);
    buf_add_text(out, ",\"content\":{\"" PROBLEM_TYPE
                      "\":{\"schema\":{\"$ref\":\"#/components/schemas/Problem\"}}}}");
}

static void add_responses(struct buf *out, const struct route *route) {
    buf_add_text(out, ",\"responses\":{");
    add_success(out, route);
    for (unsigned status = 400; status < 600; status++) {
        struct buf types = BUF_INIT;
        if (add_types(&types, route, status) && !types.failed) {
            char text[8];
            (void)snprintf(text, sizeof text, "%u", status);
            add_failure(out, text, types.data);
        }
        out->failed = out->failed || types.failed;
        buf_finish(&types);
    }
    add_failure(out, "default",
                "What every route may answer: the request is wrong in its form, "
                "its sender may not send it, or the server is too busy");
    buf_add_char(out, '}');
}

/* ------------------------------------------------------------------- the document */

static void add_security(struct buf *out, enum front_class class) {
    switch (class) {
    case FRONT_PUBLIC: buf_add_text(out, ",\"security\":[]"); break;
    case FRONT_CALLER: buf_add_text(out, ",\"security\":[{},{\"token\":[]}]"); break;
    case FRONT_ADMIN: buf_add_text(out, ",\"security\":[{\"token\":[]},{\"session\":[]}]"); break;
    }
    static const char *const names[] = {"public", "caller", "admin"};
    buf_printf(out, ",\"x-class\":\"%s\"", names[class]);
}

static void add_operation(struct buf *out, const struct route *route, enum front_class class) {
    char method[8] = "";
    ascii_copy_lower(method, route->method, strlen(route->method));
    buf_printf(out, "\"%s\":{", method);
    add_member(out, "operationId", route->operation);
    buf_add_char(out, ',');
    add_member(out, "summary", route->summary);
    add_security(out, class);
    add_parameters(out, route);
    add_body(out, route);
    add_responses(out, route);
    buf_add_char(out, '}');
}

static bool is_first(size_t index) {
    for (size_t i = 0; i < index; i++) {
        if (strcmp(routes[i].path, routes[index].path) == 0) {
            return false;
        }
    }
    return true;
}

static void add_paths(struct buf *out, enum front_class metrics) {
    buf_add_text(out, "\"paths\":{");
    for (size_t i = 0; i < route_count; i++) {
        if (!is_first(i)) {
            continue;
        }
        buf_printf(out, "%s\"%s\":{", i > 0 ? "," : "", routes[i].path);
        for (size_t k = i; k < route_count; k++) {
            if (strcmp(routes[k].path, routes[i].path) == 0) {
                buf_add_text(out, k > i ? "," : "");
                add_operation(out, &routes[k], routes_class(&routes[k], metrics));
            }
        }
        buf_add_char(out, '}');
    }
    buf_add_char(out, '}');
}

static void add_problem(struct buf *out) {
    buf_add_text(out,
                 "\"Problem\":{\"type\":\"object\",\"description\":\"RFC 9457\",\"required\":["
                 "\"type\",\"title\",\"status\",\"detail\",\"error\"],\"properties\":{\"type\":{"
                 "\"type\":\"string\",\"enum\":[");
    for (size_t i = 0; problem_type(i) != NULL; i++) {
        buf_printf(out, "%s\"" PROBLEM_URI "%s\"", i > 0 ? "," : "", problem_type(i));
    }
    buf_add_text(out,
                 "]},\"title\":{\"type\":\"string\"},\"status\":{\"type\":\"integer\"},\"detail\":{"
                 "\"type\":\"string\"},\"suggestions\":{\"type\":\"array\",\"items\":{\"type\":"
                 "\"string\"}},\"error\":{\"type\":\"object\",\"required\":[\"type\",\"message\","
                 "\"is_recoverable\"],\"properties\":{\"type\":{\"type\":\"string\"},\"message\":{"
                 "\"type\":\"string\"},\"is_recoverable\":{\"type\":\"boolean\"},\"field\":{"
                 "\"type\":\"string\"},\"mistakes\":{\"type\":\"array\",\"description\":"
                 "\"All of several mistakes in the arguments\",\"items\":{\"type\":\"object\","
                 "\"required\":[\"field\",\"message\"],\"properties\":{\"field\":{\"type\":"
                 "\"string\"},\"message\":{\"type\":\"string\"}}}},\"tool_name\":{\"type\":"
                 "\"string\"},\"trace\":{\"type\":"
                 "\"array\",\"items\":{\"type\":\"string\"}}}}}}");
}

void openapi_write(struct buf *out, enum front_class metrics) {
    buf_add_text(out, "{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"toolrack\",");
    add_member(out, "version", toolrack_version());
    buf_add_text(out, ",\"summary\":\"Native tools for models: list, call, administer\"},");
    add_paths(out, metrics);
    buf_add_text(
            out,
            ",\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\","
            "\"scheme\":\"bearer\",\"description\":\"A token of toolrack token add; "
            "routes of the class admin want one with --admin, or the owner at the unix "
            "socket without a "
            "token\"},\"session\":{\"type\":\"apiKey\",\"in\":\"header\",\"name\":\"X-CSRF-Token\","
            "\"description\":\"What POST /api/session answers, together with the cookie that it "
            "sets\"}},\"schemas\":{");
    add_problem(out);
    for (size_t i = 0; i < schema_count; i++) {
        buf_printf(out, ",\"%s\":%s", schemas[i].name, schemas[i].json);
    }
    buf_add_text(out, "}}}");
}
