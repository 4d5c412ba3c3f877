#include "format/template.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* `reached` says of each place of the URI whether what was read of the template can end there. */

/* The template's text up to the next expression. @return whether a place is left */
static bool pass_text(bool *reached, const char *uri, size_t length, const char *text,
                      size_t size) {
    bool any = false;
    for (size_t at = length + 1; at-- > 0;) { /* from the end: what is set was looked at before */
        bool is = at >= size && reached[at - size] && memcmp(uri + at - size, text, size) == 0;
        reached[at] = is;
        any = any || is;
    }
    return any;
}

static bool is_allowed(char sign, char c) {
    switch (sign) {
    case '+':
    case '#': return true;
    case '?':
    case '&': return c != '#';
    case '/': return c != '?' && c != '#';
    default: return strchr("/?#", c) == NULL;
    }
}

/* What can stand for an expression whose operator is `sign`; ' ': it has none. */
static void pass_expression(bool *reached, const char *uri, size_t length, char sign) {
    bool begins_so = strchr("/.;?&", sign) != NULL;
    bool is_open = false;
    for (size_t at = 0; at < length; at++) {
        bool may_begin = reached[at] && (begins_so ? uri[at] == sign : is_allowed(sign, uri[at]));
        reached[at] = reached[at] || is_open;
        is_open = may_begin || (is_open && is_allowed(sign, uri[at]));
    }
    reached[length] = reached[length] || is_open;
}

bool template_matches(const char *template, const char *uri) {
    size_t length = strlen(uri);
    size_t size = strcspn(template, "{");
    if (strncmp(uri, template, size) != 0) {
        return false; /* most of them */
    }
    CLEANUP(freep) bool *reached = calloc(length + 1, sizeof *reached);
    if (reached == NULL) {
        return false;
    }
    reached[size] = true;
    for (unsigned i = 0; template[size] == '{'; i++) {
        template += size + 1;
        size_t end = strcspn(template, "}");
        if (i == TEMPLATE_EXPRESSIONS_MAX || template[end] == '\0') {
            return false;
        }
        bool has_operator = template[0] != '\0' && strchr("+#/.;?&", template[0]) != NULL;
        pass_expression(reached, uri, length, has_operator ? template[0] : ' ');
        template += end + 1;
        size = strcspn(template, "{");
        if (!pass_text(reached, uri, length, template, size)) {
            return false;
        }
    }
    return reached[length];
}
