/* app.c - an app that embeds the library, with the state folder of a daemon: it enables and
 * disables what its input says, "enable NAME" or "disable NAME", and prints what its host tells of
 * tools. */
#include <stdio.h>
#include <string.h>
#include <toolrack/toolrack.h>

static void print_change(void *user, const struct toolrack_event *event) {
    (void)user;
    if (event->kind == TOOLRACK_EVENT_CHANGED) {
        (void)printf("%s %s\n", event->tool, event->message);
    }
}

static int do_line(struct toolrack *host, char *line, struct toolrack_error *err) {
    char *name = line + strcspn(line, " ");
    name += *name == ' ';
    name[strcspn(name, "\n")] = '\0';
    return toolrack_set_enabled(host, name, strncmp(line, "enable ", 7) == 0, NULL, err);
}

/* CONFIGURATION STATE PLUGINS, until the end of its input. */
int main(int argc, char **argv) {
    struct toolrack_options options = TOOLRACK_OPTIONS_INIT;
    struct toolrack_error *err = toolrack_error_create();
    struct toolrack *host = NULL;
    char line[256];
    if (argc != 4) {
        (void)fprintf(stderr, "usage: app CONFIGURATION STATE PLUGINS\n");
        return 2;
    }
    const char *const folders[] = {argv[3], NULL};
    options.config_file = argv[1];
    options.state_dir = argv[2];
    options.plugin_dirs = folders;
    options.event = print_change;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    int code = toolrack_open(&options, &host, err);
    if (code == 0) {
        (void)puts("open");
    }
    while (code == 0 && fgets(line, sizeof line, stdin) != NULL) {
        code = do_line(host, line, err);
    }
    if (code < 0) {
        (void)fprintf(stderr, "app: %s\n", toolrack_error_message(err));
    }
    toolrack_close(host);
    toolrack_error_free(err);
    return code < 0;
}
