/* The lines of the head of a request: each ends with CRLF, and stands alone.
 *
 * Where two programs on the way disagree about where a header ends, they disagree about which
 * headers there are, and then about where the request ends. libmicrohttpd 1.0 refuses what may be
 * read in two ways. 0.9.75 to 0.9.77 take a line that ends with LF alone, a line that goes on in
 * the next one, a NUL and a CR within a line, and do not tell. But they cut the head up where it
 * lies in their memory: names and values are as far apart as they were on the wire, unless they
 * were moved to be joined. So each must begin where the one before it ends, with a colon and white
 * space or with CRLF between them.
 *
 * Two things do not show: a line that ends with NUL and LF, which looks like CRLF, and a line
 * before the request that begins with NUL, which is skipped as an empty one is. */
#include <stdint.h>
#include <string.h>

#include "serve/http/parts.h"

#define LINE_END 2u /* CRLF */

static void refuse(struct framing *framing, const char *problem) {
    if (framing->problem == NULL) {
        framing->problem = problem;
    }
}

#define EACH_BYTE(value) (UINT64_MAX / 255 * (value))

/* Whether one of eight characters is a control character: less than a space, or DEL. */
static bool is_controlled(uint64_t eight) {
    uint64_t del = eight ^ EACH_BYTE(0x7f);
    return ((((eight - EACH_BYTE(' ')) & ~eight) | ((del - EACH_BYTE(1)) & ~del)) &
            EACH_BYTE(0x80)) != 0;
}

static bool is_control(unsigned char c) {
    return (c < ' ' && c != '\t') || c == 0x7f;
}

/* Whether a text has a control character beside tabs. One is the CR that some programs take for the
 * end of a line. All headers of all requests are searched: so by eight characters. */
static bool has_control(const char *text, size_t length) {
    for (; length >= sizeof(uint64_t); text += sizeof(uint64_t), length -= sizeof(uint64_t)) {
        uint64_t eight;
        memcpy(&eight, text, sizeof eight);
        if (is_controlled(eight)) {
            break; /* by tabs perhaps */
        }
    }
    for (size_t i = 0; i < length; i++) {
        if (is_control((unsigned char)text[i])) {
            return true;
        }
    }
    return false;
}

void framing_take_target(struct conn *conn, const char *target) {
    size_t length = strlen(target);
    conn->framing = (struct framing){.target = target, .version = target + length + 1};
    if (has_control(target, length) || strchr(target, '\t') != NULL) {
        refuse(&conn->framing, "the URL has a control character");
    }
}

void framing_take_line(struct conn *conn, const char *method, const char *version) {
    struct framing *framing = &conn->framing;
    size_t length = strlen(method);
    framing->begin = method;
    framing->next = version + strlen(version) + LINE_END;
    if (heads_token_length(method) != length ||
        (conn->server->lenient &&
         (framing->target != method + length + 1 || framing->version != version))) {
        refuse(framing, "the request line is not METHOD URL VERSION with one space between them");
    }
}

void framing_take_header(struct conn *conn, const char *name, size_t name_length, bool is_name,
                         const char *value, size_t length) {
    struct framing *framing = &conn->framing;
    const char *after = name + name_length + 1;
    if (!is_name) {
        refuse(framing, "the name of a header has a character that no name has, or none at all");
    } else if (has_control(value, length)) {
        refuse(framing, "the value of a header has a control character");
    } else if (conn->server->lenient &&
               (name != framing->next || value != heads_skip_spaces(after))) {
        refuse(framing, FRAMING_LINES);
    }
    framing->next = value + length + LINE_END;
}

void framing_end(struct conn *conn) {
    const union MHD_ConnectionInfo *info =
            !conn->server->lenient
                    ? NULL
                    : mhd.get_connection_info(conn->connection,
                                              MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
    if (info != NULL && conn->framing.begin + info->header_size != conn->framing.next + LINE_END) {
        refuse(&conn->framing, FRAMING_LINES);
    }
}
