/* Pass the definitions of a configuration to the code that turns them into tools; and keep the
 * services of the app that they name. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/ownership.h"
#include "config/parts.h"

int config_add_service(struct config *config, const struct toolrack_service *service,
                       struct toolrack_error *err) {
    (void)pthread_mutex_lock(&config->lock);
    int code = services_add(&config->services, service, err);
    (void)pthread_mutex_unlock(&config->lock);
    return code;
}

void config_drop_service(struct config *config) {
    (void)pthread_mutex_lock(&config->lock);
    services_drop(&config->services);
    (void)pthread_mutex_unlock(&config->lock);
}

/* Most bytes of a file that a definition names. */
#define FILE_MAX (16u * 1024 * 1024)

/* Who can change such a file can change what the tool does, as with the configuration itself. */
static int read_file(const struct config *config, const char *path, struct buf *ret,
                     struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf full = BUF_INIT;
    struct toolrack_error why;
    struct stat status;
    buf_printf(&full, "%s%s%s", path[0] == '/' ? "" : config->folder, path[0] == '/' ? "" : "/",
               path);
    if (full.failed) {
        return error_oom(err);
    }
    if (ownership_check(full.data, &why) == TOOLRACK_E_REFUSED) {
        return error_set(err, TOOLRACK_E_REFUSED, "%s is not used: %s", full.data, why.message);
    }
    CLEANUP(closep) int fd = open(full.data, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", full.data, strerror(errno));
    }
    if (!S_ISREG(status.st_mode) || status.st_size > (off_t)FILE_MAX) {
        return error_set(err, TOOLRACK_E_INVALID, "%s is no file of at most %u bytes", full.data,
                         FILE_MAX);
    }
    while (buf_reserve(ret, 65536)) {
        ssize_t got = read(fd, ret->data + ret->length, 65536);
        if (got == 0) {
            return 0;
        }
        if (got < 0 && errno != EINTR) {
            return error_set(err, TOOLRACK_E_IO, "cannot read %s: %s", full.data, strerror(errno));
        }
        ret->length += got > 0 ? (size_t)got : 0;
        if (ret->length > FILE_MAX) {
            return error_set(err, TOOLRACK_E_INVALID, "%s grows while it is read", full.data);
        }
    }
    return error_oom(err);
}

struct definition_context config_context(struct config *config, struct problems *problems) {
    return (struct definition_context){.validator = config->validator,
                                       .arena = &config->arena,
                                       .problems = problems,
                                       .services = &config->services,
                                       .builtins = config->options.builtins,
                                       .builtin_count = config->options.builtin_count,
                                       .check_schema = config->options.check_schema,
                                       .check_values = config->options.check_values,
                                       .make_plan = config->options.make_plan,
                                       .make_remote = config->options.make_remote,
                                       .read_file = read_file,
                                       .config = config,
                                       .host = config->options.host};
}

static bool names_service(yyjson_val *value, const char *service) {
    yyjson_val *implementation = yyjson_obj_get(value, "implementation");
    yyjson_val *handler = yyjson_obj_get(implementation, "handler");
    return yyjson_equals_str(yyjson_obj_get(implementation, "type"), "internal") &&
           yyjson_equals_str(handler != NULL ? handler : yyjson_obj_get(value, "handler"), service);
}

const char *config_definition_library(const struct config *config, size_t index) {
    yyjson_val *value = yyjson_arr_get(config_definitions(config), index);
    yyjson_val *implementation = yyjson_obj_get(value, "implementation");
    const char *library = yyjson_get_str(yyjson_obj_get(implementation, "library"));
    return yyjson_equals_str(yyjson_obj_get(implementation, "type"), "native") && library != NULL &&
                           library[0] == '/'
                   ? library
                   : NULL;
}

/* A problem of one definition does not affect the others. */
static int define_one(const struct definition_context *context, size_t index, yyjson_val *value,
                      const struct config_taker *taker, struct toolrack_error *err) {
    char pointer[JSON_POINTER_MAX] = "/tools";
    struct toolrack_error reason;
    struct definition definition;
    json_pointer_add_index(pointer, index);
    int code = definition_read(context, value, pointer, &definition, err);
    if (code == 0) {
        code = taker->take(taker->user, &definition, &reason);
        if (code == TOOLRACK_E_NO_MEMORY) {
            (void)error_oom(err);
        } else if (code < 0) {
            problems_add(context->problems,
                         &(struct problem){.severity = TOOLRACK_SEVERITY_ERROR,
                                           .rule = "definition-unusable",
                                           .pointer = pointer,
                                           .tool = definition.name,
                                           .fix = "correct it as the cause says"},
                         "%s", reason.message);
        }
    }
    definition_finish(&definition);
    return code == TOOLRACK_E_NO_MEMORY ? code : 0; /* any other failure is in the problems */
}

int config_define(struct config *config, const char *service, const struct config_taker *taker,
                  struct toolrack_error *err) {
    struct problems problems = {.arena = &config->arena};
    int code = 0;
    size_t at;
    size_t count;
    yyjson_val *value;
    (void)pthread_mutex_lock(&config->lock);
    const struct definition_context context = config_context(config, &problems);
    yyjson_arr_foreach (config_definitions(config), at, count, value) {
        if (code == 0 && (service == NULL || names_service(value, service))) {
            code = define_one(&context, at, value, taker, err);
        }
    }
    problems_end(&problems);
    for (size_t i = 0; code == 0 && taker->tell != NULL && i < problems.count; i++) {
        size_t line;
        size_t column;
        problem_line(&problems.items[i], config->text.data, config->text.length, &line, &column);
        taker->tell(taker->user, &problems.items[i], line);
    }
    (void)pthread_mutex_unlock(&config->lock);
    return code;
}
