/* Which URIs a template stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "format/template.h"

static void templates_stand_for_uris(void **state) {
    (void)state;
    static const struct {
        const char *template, *uri;
        bool matches;
    } rows[] = {
            {"notes://{id}", "notes://today", true},
            {"notes://{id}", "notes://", true},
            {"notes://{id}", "notes://a/b", false},
            {"notes://{id}", "note://today", false},
            {"notes://{+path}", "notes://a/b?c#d", true},
            {"notes://{id}/end", "notes://x/end", true},
            {"notes://{id}/end", "notes://x/ends", false},
            {"notes://{id}-{of}", "notes://a-b-c", true},
            {"notes://{id}-{of}", "notes://abc", false},
            {"notes://x{/a,b}", "notes://x", true},
            {"notes://x{/a,b}", "notes://x/1/2", true},
            {"notes://x{/a,b}", "notes://x1", false},
            {"notes://x{?a,b}", "notes://x?a=1&b=2", true},
            {"notes://x{?a,b}", "notes://xa=1", false},
            {"notes://x{.kind}", "notes://x.txt", true},
            {"notes://x{#part}", "notes://x#p", true},
            {"test://o/{name}/{?part}", "test://o/a/", true},
            {"test://o/{name}/{?part}", "test://o/a", false},
            {"notes://{+a}aa{+b}", "notes://aaa", true},
            {"notes://{+a}aaaa{+b}", "notes://aaa", false},
            {"notes://plain", "notes://plain", true},
            {"notes://plain", "notes://plainer", false},
            {"n:{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}{m}{n}{o}{p}", "n:x", true},
            {"n:{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}{k}{l}{m}{n}{o}{p}{q}", "n:x", false},
    };
    for (size_t i = 0; i < ARRAY_LENGTH(rows); i++) {
        if (template_matches(rows[i].template, rows[i].uri) != rows[i].matches) {
            fail_msg("%s %s", rows[i].template, rows[i].uri);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(templates_stand_for_uris)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
