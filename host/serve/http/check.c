/* What of "serve" a server would refuse, found without starting one: by the functions with which it
 * starts. */
#include <string.h>

#include "base/cleanup.h"
#include "base/command.h"
#include "serve/http/keys.h"
#include "serve/http/settings.h"
#include "serve/http/tls.h"
#include "serve/serve.h"
#include "toolrack/serving.h"

CLEANUP_DEFINE(struct toolrack_text, toolrack_text_unref)

struct check {
    struct http_settings settings;
    toolrack_tell *tell;
    void *telling;
};

/* Give what a server would be told. @param pointer  the member, unless the error names one */
static void take(const struct check *check, int code, const char *pointer,
                 const struct toolrack_error *err) {
    /* Whoever checks a file may not see what the server sees; what is not there is told before. */
    bool is_unread = code == TOOLRACK_E_IO && err->field[0] != '\0';
    if (code < 0 && !is_unread) {
        check->tell(check->telling, TOOLRACK_SEVERITY_ERROR,
                    err->field[0] != '\0' ? err->field : pointer, err->message);
    }
}

static void check_tls(const struct check *check) {
    struct toolrack_error err = {0};
    struct tls *tls = NULL;
    take(check, tls_create(&check->settings, &tls, &err), "/serve/tls", &err);
    tls_destroy(tls);
}

/* What is fetched is not known before. */
static void check_keys(const struct check *check) {
    const struct oauth *oauth = &check->settings.oauth;
    const struct keys_source source = {.file = oauth->jwks_file, .url = oauth->jwks_url};
    struct toolrack_error err = {0};
    struct keys *keys = NULL;
    if (oauth->issuer != NULL) {
        int code =
                source.file != NULL ? keys_create(&source, &keys, &err) : keys_load(&source, &err);
        take(check, code, "/serve/oauth", &err);
        keys_destroy(keys);
    }
}

/* Tokens are in the state folder, of which a configuration says nothing. */
static void note_tokens(const struct check *check) {
    const char *const otherwise[] = {SETTINGS_LISTEN, NULL};
    const char *const *listen =
            check->settings.listen[0] != NULL ? check->settings.listen : otherwise;
    for (size_t i = 0; check->settings.oauth.issuer == NULL && listen[i] != NULL; i++) {
        struct sockaddr_storage address;
        socklen_t size;
        CLEANUP(buf_finish) struct buf note = BUF_INIT;
        if (address_read(listen[i], &address, &size, NULL) == 0 &&
            !http_settings_is_open(&check->settings, address_is_loopback(&address))) {
            buf_printf(&note,
                       "others than the users of this machine may reach %s, so a server begins "
                       "when there is a token; add one: %s",
                       listen[i], COMMAND("token add", "NAME"));
            check->tell(check->telling, TOOLRACK_SEVERITY_NOTE, "/serve/listen",
                        note.failed ? "" : note.data);
            return;
        }
    }
}

void serve_http_check(struct toolrack *host, toolrack_tell *tell, void *telling) {
    struct check check = {.tell = tell, .telling = telling};
    struct toolrack_error err = {0};
    CLEANUP(toolrack_text_unrefp) struct toolrack_text *text = NULL;
    int code = toolrack_serving(host, &text, NULL);
    code = code < 0 ? error_oom(&err)
                    : http_settings_read(toolrack_text_data(text, NULL), &check.settings, &err);
    take(&check, code, "/serve", &err);
    if (code == 0) {
        check_tls(&check);
        check_keys(&check);
        note_tokens(&check);
    }
    http_settings_finish(&check.settings);
}
