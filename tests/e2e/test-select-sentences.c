/* select --call: what the tools that every installation has are asked for, and what they give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "e2e.h"
#include "sentences.h"

static void what_is_asked_is_done_or_declined(void **state) {
    (void)state;
    const char *bundled = getenv("E2E_BUNDLED");
    if (bundled == NULL || *bundled == '\0') {
        skip();
    }
    for (size_t i = 0; i < SENTENCES; i++) {
        const struct sentence *row = &sentences[i];
        struct run run = RUN_WITH(HOW(.plugins = bundled), "select", row->text, "--call");
        char said[512];
        print_message("# %s\n", row->text);
        (void)snprintf(said, sizeof said, "toolrack: this choice is *\ntoolrack: %s %s*\n",
                       row->tool, row->arguments);
        if (row->tool != NULL) {
            EXPECT(run, 0, row->result, said);
        } else {
            EXPECT(run, 3, "",
                   "toolrack: this choice is *\ntoolrack: NotFound: no tool fits well enough (0.* "
                   "of 0.50): *\n");
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
            cmocka_unit_test_setup_teardown(what_is_asked_is_done_or_declined, e2e_setup,
                                            e2e_teardown),
    };
    return cmocka_run_group_tests_name("select-sentences", tests, NULL, NULL);
}
