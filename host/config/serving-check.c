/* What the file says of serving, beyond the types of its schema: addresses, what belongs together,
 * and files that are not there or of another kind. A server reads the values by the same functions
 * of base/. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/authority.h"
#include "base/error.h"
#include "base/listen.h"
#include "base/network.h"
#include "base/ownership.h"
#include "config/parts.h"

static void add(struct problems *problems, const char *pointer, const char *value, const char *what,
                const char *fix) {
    problems_add(problems,
                 &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                   .rule = "config-value",
                                   .pointer = pointer,
                                   .fix = fix},
                 "\"%.200s\" %s", value, what);
}

/* ------------------------------------------------------------------- values */

/* How the strings of a member are checked: of an array, or one string. */
struct check {
    const char *object; /* that has the member, in "serve", or NULL: that one itself */
    const char *member;
    bool (*fits)(const char *text);
    const char *what; /* is wrong */
    const char *fix;
};

static bool is_host(const char *text) {
    struct authority authority;
    return authority_read(text, strlen(text), &authority) && authority_is_named(&authority);
}

static bool is_origin(const char *text) {
    struct origin origin;
    return origin_read(text, &origin);
}

static bool is_network(const char *text) {
    struct network network;
    return network_read(text, &network);
}

static bool is_base(const char *text) {
    struct authority authority;
    return authority_read_base(text, &authority);
}

static bool is_socket(const char *text) {
    return strlen(text) < sizeof((struct sockaddr_un *)NULL)->sun_path;
}

#define NOT_SAFE "is not https, and whoever is on the way could put other keys there"
#define NOT_SAFE_FIX \
    "write the https address; http is for this machine, as in \"http://localhost:8080\""

static const struct check checks[] = {
        {NULL, "hosts", is_host, "is no host", "write a host, such as \"tools.example.com\""},
        {NULL, "origins", is_origin, "is no origin that a browser sends",
         "write scheme, host and port alone, such as \"https://app.example.org\""},
        {NULL, "trusted_proxies", is_network, "is neither an address nor a network",
         "write an address or a network, such as \"127.0.0.1\" or \"10.0.0.0/8\""},
        {NULL, "public_url", is_base, "is no address to which paths can be appended",
         "write the address that clients use, without a slash at its end, query or fragment, such "
         "as \"https://tools.example.com\""},
        {"oauth", "issuer", authority_is_safe, NOT_SAFE, NOT_SAFE_FIX},
        {"oauth", "jwks_url", authority_is_safe, NOT_SAFE, NOT_SAFE_FIX},
};

static void check_member(yyjson_val *serve, const struct check *check, struct problems *problems) {
    yyjson_val *object = check->object != NULL ? yyjson_obj_get(serve, check->object) : serve;
    yyjson_val *value = yyjson_obj_get(object, check->member);
    size_t count = yyjson_is_arr(value) ? yyjson_arr_size(value) : yyjson_is_str(value) ? 1 : 0;
    for (size_t i = 0; i < count; i++) {
        char pointer[JSON_POINTER_MAX] = "/serve";
        const char *text = yyjson_get_str(yyjson_is_arr(value) ? yyjson_arr_get(value, i) : value);
        if (check->object != NULL) {
            json_pointer_add(pointer, check->object);
        }
        json_pointer_add(pointer, check->member);
        if (yyjson_is_arr(value)) {
            json_pointer_add_index(pointer, i);
        }
        if (!check->fits(text)) {
            add(problems, pointer, text, check->what, check->fix);
        }
    }
}

/* The schema has the most addresses, but not that a socket is one of them. */
static void check_listen(yyjson_val *serve, bool has_socket, struct problems *problems) {
    yyjson_val *value = yyjson_obj_get(serve, "listen");
    const char *texts[LISTEN_MAX];
    size_t count = yyjson_is_arr(value) ? yyjson_arr_size(value) : yyjson_is_str(value) ? 1 : 0;
    for (size_t i = 0; i < count && i < LISTEN_MAX; i++) {
        char pointer[JSON_POINTER_MAX] = "/serve/listen";
        struct authority authority;
        struct listen_problem problem;
        texts[i] = yyjson_get_str(yyjson_is_arr(value) ? yyjson_arr_get(value, i) : value);
        if (yyjson_is_arr(value)) {
            json_pointer_add_index(pointer, i);
        }
        if (!listen_read(texts[i], &authority, &problem) || !listen_fits(texts, i, &problem)) {
            add(problems, pointer, texts[i], problem.what, problem.fix);
        } else if (has_socket && i == LISTEN_MAX - 1) {
            add(problems, pointer, texts[i], "is one too many, with \"socket\": " LISTEN_TOO_MANY,
                "remove one of them");
        }
    }
}

void config_check_serving_values(yyjson_val *serve, const char *socket, struct problems *problems) {
    yyjson_val *oauth = yyjson_obj_get(serve, "oauth");
    check_listen(serve, socket != NULL, problems);
    for (size_t i = 0; i < sizeof checks / sizeof checks[0]; i++) {
        check_member(serve, &checks[i], problems);
    }
    if (socket != NULL && !is_socket(socket)) {
        add(problems, "/serve/socket", socket, "is too long for the path of a socket",
            "choose a shorter one");
    }
    if (yyjson_is_obj(oauth) && !yyjson_is_str(yyjson_obj_get(oauth, "audience")) &&
        !yyjson_is_str(yyjson_obj_get(serve, "public_url"))) {
        problems_add(problems,
                     &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                       .rule = "config-value",
                                       .pointer = "/serve/oauth",
                                       .fix = "set its \"audience\", or the \"public_url\" of "
                                              "\"serve\""},
                     "\"oauth\" does not say for whom tokens are");
    }
}

/* -------------------------------------------------------------------- files */

static void add_file(struct problems *problems, const char *pointer, const char *path,
                     const char *what, const char *fix) {
    problems_add(problems,
                 &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                   .rule = CONFIG_RULE_FILE,
                                   .pointer = pointer,
                                   .fix = fix},
                 "%s %.400s: %s", strrchr(pointer, '/') + 1, path, what);
}

static void check_file(yyjson_val *object, const char *pointer, unsigned parts,
                       struct problems *problems) {
    const char *path = yyjson_get_str(yyjson_obj_get(object, strrchr(pointer, '/') + 1));
    struct stat status;
    if (path == NULL) {
        return;
    }
    if (stat(path, &status) < 0) {
        /* Whoever checks the file may not see what the server sees. */
        if (errno == ENOENT || errno == ENOTDIR || (parts & CONFIG_READABLE) != 0) {
            add_file(problems, pointer, path, strerror(errno),
                     "make the file, or correct the path");
        }
    } else if (S_ISDIR(status.st_mode)) {
        add_file(problems, pointer, path, "it is a folder", "name a file in it");
    } else if (!S_ISREG(status.st_mode)) {
        add_file(problems, pointer, path, "it is not a regular file", "name another file");
    } else if ((parts & CONFIG_READABLE) != 0 && access(path, R_OK) < 0) {
        add_file(problems, pointer, path, strerror(errno),
                 "let the user of the server read it, or name another file");
    }
}

/* Whoever can write the key or the certificate of the server can be the server for its clients, and
 * whoever can read the key too. A group that may read is usual: that of the services with the
 * certificate. */
static void check_secret(yyjson_val *tls, const char *pointer, bool is_key,
                         struct problems *problems) {
    const char *path = yyjson_get_str(yyjson_obj_get(tls, strrchr(pointer, '/') + 1));
    struct stat status;
    struct toolrack_error why;
    if (path == NULL || stat(path, &status) < 0 || !S_ISREG(status.st_mode)) {
        return; /* told by check_file() */
    }
    int code = ownership_check_writers(path, &why);
    if (code == TOOLRACK_E_REFUSED) {
        char *fix = strstr(why.message, "; ");
        if (fix != NULL) {
            *fix = '\0';
            fix += 2;
        }
        add_file(problems, pointer, path, why.message, fix);
    } else if (code == TOOLRACK_E_NO_MEMORY) {
        problems->failed = true;
    }
    if (is_key && (status.st_mode & S_IROTH) != 0) {
        problems_add(problems,
                     &(struct problem){.severity = TOOLRACK_SEVERITY_WARNING,
                                       .rule = CONFIG_RULE_FILE,
                                       .pointer = pointer,
                                       .fix = "chmod o-r it, and make a new key if others may have "
                                              "read this one"},
                     "key %.400s: every user of the machine may read it (mode %04o)", path,
                     (unsigned)(status.st_mode & 07777));
    }
}

/* A socket is made in a folder that is there, or in place of one that a server has left. */
static void check_socket(yyjson_val *serve, struct problems *problems) {
    const char *path = yyjson_get_str(yyjson_obj_get(serve, "socket"));
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    struct stat status;
    if (path != NULL && lstat(path, &status) == 0 && !S_ISSOCK(status.st_mode)) {
        add_file(problems, "/serve/socket", path, "it exists and is no socket",
                 "remove it, or choose another path");
        return;
    }
    if (slash == NULL || slash == path) {
        return;
    }
    const char *folder = arena_copy(problems->arena, path, (size_t)(slash - path));
    if (folder == NULL) {
        problems->failed = true;
    } else if (stat(folder, &status) < 0 ? errno == ENOENT || errno == ENOTDIR
                                         : !S_ISDIR(status.st_mode)) {
        add_file(problems, "/serve/socket", path, "the folder of the socket does not exist",
                 "make the folder, or name a socket in another one");
    }
}

void config_check_serving_files(struct config *config, unsigned parts, struct problems *problems) {
    yyjson_val *serve = config_serving(config);
    yyjson_val *tls = yyjson_obj_get(serve, "tls");
    if (serve == NULL) {
        problems->failed = true;
        return;
    }
    if ((parts & CONFIG_FILES) != 0) {
        check_file(tls, "/serve/tls/certificate", parts, problems);
        check_file(tls, "/serve/tls/key", parts, problems);
        check_secret(tls, "/serve/tls/certificate", false, problems);
        check_secret(tls, "/serve/tls/key", true, problems);
        check_file(yyjson_obj_get(serve, "oauth"), "/serve/oauth/jwks_file", parts, problems);
    }
    if ((parts & CONFIG_SOCKET) != 0) {
        check_socket(serve, problems);
    }
}

int config_serving_files(struct config *config, const char *file, unsigned parts, config_warn *warn,
                         void *user, struct toolrack_error *err) {
    struct arena arena;
    arena_init(&arena, NULL, 0);
    struct problems problems = {.arena = &arena};
    config_check_serving_files(config, parts, &problems);
    int code = problems.failed ? error_oom(err) : 0;
    for (size_t i = 0; i < problems.count && code == 0; i++) {
        struct toolrack_error words = {0};
        bool is_error = problems.items[i].severity == TOOLRACK_SEVERITY_ERROR;
        int refused = config_refuse(config, file, &problems.items[i], is_error ? err : &words);
        if (is_error) {
            code = refused;
        } else {
            warn(user, words.message);
        }
    }
    arena_finish(&arena);
    return code;
}
