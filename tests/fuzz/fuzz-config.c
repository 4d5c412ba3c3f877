/* The configuration file: whatever it holds, it is read or refused with a message. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "config/config.h"
#include "toolrack/toolrack.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

/* The check opens a host, which looks at the default folders: those of an empty home. */
static void make_home(void) {
    static const char *const places[] = {
            "HOME",           "XDG_CONFIG_HOME", "XDG_DATA_HOME",
            "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TOOLRACK_BUILTIN_DIR"};
    static char home[] = "/tmp/toolrack-fuzz-XXXXXX";
    require(mkdtemp(home) != NULL);
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        require(setenv(places[i], home, 1) == 0);
    }
    require(unsetenv("TOOLRACK_PLUGIN_PATH") == 0);
    require(rmdir(home) == 0); /* a folder that does not exist is empty */
}

/* What the start refuses, the check explains; definitions and all. */
static void check(const char *path, int code) {
    struct toolrack_findings *findings = NULL;
    struct toolrack_error err;
    if (toolrack_check(path, &findings, &err) < 0) {
        require(err.message[0] != '\0');
        return;
    }
    bool errors = false;
    for (size_t i = 0; i < toolrack_findings_count(findings); i++) {
        const struct toolrack_finding *finding = toolrack_findings_get(findings, i);
        require(finding->rule[0] != '\0' && finding->cause[0] != '\0' && finding->fix[0] != '\0');
        if (toolrack_findings_is_configuration(findings)) {
            require(finding->line >= 1 && finding->column >= 1);
        }
        errors = errors || finding->severity == TOOLRACK_SEVERITY_ERROR;
    }
    require(code == 0 || errors);
    toolrack_findings_free(findings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool has_home;
    char path[64];
    if (!has_home) {
        has_home = true;
        make_home();
    }
    int fd = memfd_create("toolrack.json", MFD_CLOEXEC);
    require(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);

    struct config *config = NULL;
    struct toolrack_error err = {0};
    int code = config_create(&(struct config_options){.path = path}, &config, &err);
    require(code == 0 ? err.code == 0 : err.code == code && err.message[0] != '\0');
    if (code == 0) {
        for (size_t i = 0; i < config_settings(config)->folder_count; i++) {
            require(config_settings(config)->folders[i].path[0] != '\0');
        }
        (void)config_grants(config, "wipe", "1.0.0");
        const char *value = config_plugin_setting(config, "currency", "rates_file");
        require(value == NULL || strlen(value) <= size * 12);
        (void)config_plugin_setting(config, "currency", "/a/0");
        struct config_policy policy;
        config_policy(config, "currency", &policy);
        require(policy.isolation <= ISOLATION_NONE && policy.pin <= PIN_ENFORCE);
        (void)config_placeholder(config, "workspace", strlen("workspace"));
        config_destroy(config);
    }
    check(path, code);
    (void)close(fd);
    return 0;
}
