#include "isolation-unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "patience.h"
#include "remove-tree.h"

int isolation_open(void **state, const char *plugin, enum toolrack_isolation isolation,
                   bool keeps) {
    struct isolation_unit *unit = calloc(1, sizeof *unit);
    char from[512];
    char to[128];
    char state_dir[96];
    if (unit == NULL) {
        return -1;
    }
    *state = unit;
    (void)snprintf(unit->root, sizeof unit->root, "/tmp/toolrack-test-XXXXXX");
    if (mkdtemp(unit->root) == NULL) {
        return -1;
    }
    (void)snprintf(from, sizeof from, "%s/%s.so", TEST_PLUGINS, plugin);
    (void)snprintf(to, sizeof to, "%s/%s.so", unit->root, plugin);
    (void)snprintf(state_dir, sizeof state_dir, "%s/state", unit->root);
    if (symlink(from, to) != 0) {
        return -1;
    }
    const char *const dirs[] = {unit->root, NULL};
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    options.config_file = "";
    options.state_dir = keeps ? state_dir : "";
    options.plugin_dirs = dirs;
    options.isolation = isolation;
    (void)alarm(PATIENCE_S * 4);
    return toolrack_open(&options, &unit->host, NULL);
}

int isolation_close(void **state) {
    struct isolation_unit *unit = *state;
    toolrack_close(unit->host);
    (void)alarm(0);
    int code = remove_tree(unit->root);
    free(unit);
    return code;
}
