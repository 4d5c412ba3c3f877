#include "quote.h"

#include <stdio.h>
#include <string.h>

void quote_path(struct text *ret, const char *path) {
    static const char named[] = "\a\b\t\n\v\f\r\"\\";
    static const char names[] = "abtnvfr\"\\";
    bool is_plain = true;
    for (const char *at = path; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        is_plain = is_plain && byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
    }
    if (is_plain) {
        text_add_string(ret, path);
        return;
    }
    text_add_string(ret, "\"");
    for (const char *at = path; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        const char *name = strchr(named, *at);
        char code[8];
        if (name != NULL) {
            (void)snprintf(code, sizeof code, "\\%c", names[name - named]);
        } else {
            (void)snprintf(code, sizeof code, byte < ' ' || byte >= 0x7f ? "\\%03o" : "%c", byte);
        }
        text_add_string(ret, code);
    }
    text_add_string(ret, "\"");
}

void quote_python(struct text *ret, const char *string) {
    char quote = strchr(string, '\'') != NULL && strchr(string, '"') == NULL ? '"' : '\'';
    text_add(ret, &quote, 1);
    for (const char *at = string; *at != '\0'; at++) {
        unsigned char byte = (unsigned char)*at;
        unsigned char next = (unsigned char)at[1];
        char code[8] = "";
        if (*at == quote || *at == '\\') {
            (void)snprintf(code, sizeof code, "\\%c", *at);
        } else if (*at == '\n' || *at == '\r' || *at == '\t') {
            (void)snprintf(code, sizeof code, "\\%c", *at == '\n' ? 'n' : *at == '\r' ? 'r' : 't');
        } else if (byte < ' ' || byte == 0x7f) {
            (void)snprintf(code, sizeof code, "\\x%02x", byte);
        } else if (byte == 0xc2 && ((next >= 0x80 && next <= 0xa0) || next == 0xad)) {
            (void)snprintf(code, sizeof code, "\\x%02x",
                           next); /* controls, and two that are not seen */
            at++;
        } else {
            text_add(ret, at, 1);
        }
        text_add_string(ret, code);
    }
    text_add(ret, &quote, 1);
}
