/* process - programs that an administrator allows, with arguments and without a shell.
 *
 * The setting `programs` names them, and the capability `spawn` has the kernel let the worker
 * execute these files and no others. What a program does is confined by the sandbox of the worker.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <toolrack/plugin.h>
#include <unistd.h>

#include "../filesystem/place.h"
#include "run.h"

/* As many as there are capabilities below. */
#define PROGRAMS_MAX 8u

/* These numbers are repeated in the schema, which cannot contain macros. */
#define ARGUMENTS_MAX 256u

/* Where a program works if no folder is granted. */
#define NO_FOLDER "/"

static char programs[PROGRAMS_MAX][PATH_MAX];
static size_t program_count;

/* ------------------------------------------------------------------- programs */

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* A name without a folder is looked for where the host looks. */
static void find_program(const char *named, char ret[PATH_MAX]) {
    static const char *const folders[] = {"/usr/local/bin", "/usr/bin", "/bin"};
    if (strchr(named, '/') == NULL) {
        for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
            int length = snprintf(ret, PATH_MAX, "%s/%s", folders[i], named);
            if (length < PATH_MAX && access(ret, F_OK) == 0) {
                return;
            }
        }
    }
    (void)snprintf(ret, PATH_MAX, "%s", named);
}

static tr_status open_process(struct tr_host *host) {
    char key[sizeof "programs/" + 10];
    program_count = 0;
    for (unsigned i = 0;; i++) {
        (void)snprintf(key, sizeof key, "programs/%u", i);
        const char *named = tr_host_config(host, key, NULL);
        if (named == NULL) {
            break;
        }
        if (i == PROGRAMS_MAX) {
            return tr_host_fail(host,
                                "the setting programs has more than %u programs; name a "
                                "script that chooses among some of them",
                                PROGRAMS_MAX);
        }
        if (named[0] == '\0' || strlen(named) >= PATH_MAX ||
            (named[0] != '/' && strchr(named, '/') != NULL)) {
            return tr_host_fail(host,
                                "the setting %s is \"%.200s\"; it must be an absolute path, or "
                                "the name of a program in /usr/bin",
                                key, named);
        }
        find_program(named, programs[program_count++]);
    }
    return place_open_roots(host);
}

/* By its path or its name; NULL fails the call. */
static const char *choose_program(struct tr_call *call) {
    const char *asked = tr_get_string(call, "program", "");
    char list[600] = "";
    size_t length = 0;
    for (size_t i = 0; i < program_count; i++) {
        if (strcmp(asked, programs[i]) == 0 || strcmp(asked, name_of(programs[i])) == 0) {
            return programs[i];
        }
        if (length < sizeof list - 1) {
            length += (size_t)snprintf(list + length, sizeof list - length, "%s%s",
                                       i > 0 ? ", " : "", programs[i]);
        }
    }
    if (program_count == 0) {
        (void)tr_fail(call, TR_FAILED, NULL,
                      "no program is allowed; an administrator names those that may run in the "
                      "setting \"programs\" of the plugin process, and allows it spawn");
    } else {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "program",
                      "\"%.200s\" is none of the allowed programs: %s", asked, list);
    }
    return NULL;
}

/* --------------------------------------------------------------------- folder */

static bool choose_folder(struct tr_call *call, struct place *ret, const char **ret_folder) {
    struct place_fault fault;
    const char *asked = tr_get_string(call, "folder", NULL);
    if (asked == NULL) {
        *ret_folder = place_root_count() > 0 ? place_root(0)->path : NO_FOLDER;
        return true;
    }
    if (!place_find(asked, ret, &fault)) {
        (void)tr_fail(call, fault.code, "folder", "%s", fault.message);
        return false;
    }
    int fd = place_open(ret, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "folder", "%s is no folder: %s", ret->path,
                      strerror(errno));
        return false;
    }
    (void)close(fd);
    *ret_folder = ret->path;
    return true;
}

/* ------------------------------------------------------------------ the reply */

static void put_text(struct tr_call *call, const char *key, const struct run_output *output) {
    struct text text = {0};
    text_add_utf8(&text, output->kept.data, output->kept.length);
    (void)call->api->put_string(call, key, text.length > 0 ? text.data : "", text.length);
    text_finish(&text);
}

static tr_status reply(struct tr_call *call, const struct run_result *result,
                       const struct run_order *order) {
    const struct run_output *out = &result->outputs[0];
    const struct run_output *errors = &result->outputs[1];
    (void)tr_put_object(call, NULL);
    if (result->end == RUN_EXITED) {
        (void)tr_put_i64(call, "exit_status", result->status);
    } else {
        const char *name = sigabbrev_np(result->status);
        char signal[20];
        (void)snprintf(signal, sizeof signal, name != NULL ? "SIG%s" : "%s%d",
                       name != NULL ? name : "", result->status);
        (void)tr_put_string(call, "signal", signal);
    }
    (void)tr_put_bool(call, "timed_out", result->end == RUN_LATE);
    put_text(call, "stdout", out);
    put_text(call, "stderr", errors);
    (void)tr_put_bool(call, "truncated",
                      out->size > order->output_size || errors->size > order->output_size);
    (void)tr_put_u64(call, "stdout_bytes", out->size);
    (void)tr_put_u64(call, "stderr_bytes", errors->size);
    (void)tr_put_u64(call, "duration_ms", result->duration_ms);
    (void)tr_put_bool(call, "left_running", result->left_running);
    return tr_put_end(call);
}

static tr_status fail_start(struct tr_call *call, const char *program, int number) {
    if (number == EACCES || number == EPERM) {
        size_t index = 0;
        while (programs[index] != program) {
            index++;
        }
        /* With the name that its capability has, so that the host says how to allow it. */
        return tr_fail(call, TR_FAILED, NULL,
                       "cannot run %s: Permission denied (it is ${setting:programs/%zu})", program,
                       index);
    }
    return tr_fail(call, TR_FAILED, NULL, "cannot run %s: %s%s", program, strerror(number),
                   number == EAGAIN
                           ? "; the plugin has as many processes as its policy lets it have"
                   : number == E2BIG ? "; its arguments are too long, so pass them as input"
                                     : "");
}

/* ---------------------------------------------------------------- process_run */

static tr_status run_order(struct tr_call *call, const struct run_order *order) {
    struct run_result result;
    int number = run_program(call, order, &result);
    tr_status status;
    if (number != 0) {
        status = fail_start(call, order->program, number);
    } else if (result.end == RUN_CANCELLED) {
        status = tr_fail(call, TR_CANCELLED, NULL, "%s was ended, as the call is over",
                         order->program);
    } else if (result.outputs[0].kept.failed || result.outputs[1].kept.failed) {
        status = tr_fail(call, TR_FAILED, NULL, "out of memory");
    } else {
        status = reply(call, &result, order);
    }
    run_finish(&result);
    return status;
}

static tr_status process_run(struct tr_call *call) {
    const char *words[ARGUMENTS_MAX + 2] = {NULL};
    struct place place;
    struct run_order order = {.program = choose_program(call), .words = words, .input = ""};
    if (order.program == NULL || !choose_folder(call, &place, &order.folder)) {
        return TR_FAILED;
    }
    uint64_t count = tr_count(call, "arguments");
    words[0] = name_of(order.program);
    for (uint64_t i = 0; i < count && i < ARGUMENTS_MAX; i++) {
        char path[sizeof "arguments/" + 20];
        (void)snprintf(path, sizeof path, "arguments/%u", (unsigned)i);
        words[i + 1] = tr_get_string(call, path, NULL);
        if (words[i + 1] == NULL) {
            return tr_fail(call, TR_INVALID_ARGUMENTS, path, "must be a text without U+0000");
        }
    }
    uint64_t length = 0;
    if (call->api->get_string(call, "input", &order.input, &length) == TR_OK) {
        order.input_length = (size_t)length;
    }
    order.time_ms = tr_get_u64(call, "timeout_s", 60) * 1000;
    order.output_size = (size_t)tr_get_u64(call, "max_output_bytes", 65536);
    return run_order(call, &order);
}
/* ----------------------------------------------------------- process_programs */

static tr_status process_programs(struct tr_call *call) {
    (void)tr_put_object(call, NULL);
    (void)tr_put_array(call, "programs");
    for (size_t i = 0; i < program_count; i++) {
        (void)tr_put_string(call, NULL, programs[i]);
    }
    (void)tr_put_end(call);
    (void)tr_put_array(call, "folders");
    for (size_t i = 0; i < place_root_count(); i++) {
        (void)tr_put_string(call, NULL, place_root(i)->path);
    }
    (void)tr_put_end(call);
    return tr_put_end(call);
}
/* ------------------------------------------------------------------ the table */

/* clang-format off */
TR_JSON_TOOL(process_run,
    ("Run or start a program with arguments and wait for its end. There is no shell: no pipes, wildcards, "
     "variables or redirections; each argument reaches the program as it is. Only programs that an "
     "administrator allows can run: process_programs lists them. A program that fails is no failure "
     "of the call: look at exit_status and stderr.",
     .title = "Run a program", .category = "system", .tags = "program,command,execute,run,start",
     .permission = TR_DANGEROUS, .flags = TR_DESTRUCTIVE | TR_OPEN_WORLD, .deadline_ms = 610000,
     .result_schema = TR_SCHEMA({"type": "object", "properties": {
         "exit_status": {"type": "integer", "description": "Of a program that ended by itself; 0 is success"},
         "signal": {"type": "string", "description": "What ended the program otherwise, such as SIGSEGV"},
         "timed_out": {"type": "boolean", "description": "It was ended after timeout_s"},
         "stdout": {"type": "string", "description": "Its standard output; bytes that are not UTF-8 are U+FFFD"},
         "stderr": {"type": "string", "description": "Its standard error"},
         "truncated": {"type": "boolean", "description": "stdout or stderr is cut off at max_output_bytes"},
         "stdout_bytes": {"type": "integer", "description": "Length of the whole standard output"},
         "stderr_bytes": {"type": "integer", "description": "Length of the whole standard error"},
         "duration_ms": {"type": "integer", "description": "How long it ran"},
         "left_running": {"type": "boolean", "description": "It left processes behind that ignore SIGTERM; they end with the worker of the plugin"}
     }, "required": ["timed_out", "stdout", "stderr", "truncated", "stdout_bytes", "stderr_bytes", "duration_ms", "left_running"]})),
    TR_SCHEMA({"type": "object", "properties": {
        "program": {"type": "string", "minLength": 1, "description": "Name or absolute path of an allowed program, such as git"},
        "arguments": {"type": "array", "items": {"type": "string", "maxLength": 100000}, "maxItems": 256, "default": [], "description": "Its arguments, one string each, without quotes"},
        "folder": {"type": "string", "description": "Where it works: a folder within the granted ones; if left out, the first of these"},
        "input": {"type": "string", "maxLength": 1000000, "default": "", "description": "Text for its standard input"},
        "timeout_s": {"type": "integer", "minimum": 1, "maximum": 600, "default": 60, "description": "Seconds after which it is ended"},
        "max_output_bytes": {"type": "integer", "minimum": 0, "maximum": 4194304, "default": 65536, "description": "How many bytes of stdout, and of stderr, are kept from the beginning"}
    }, "required": ["program"], "additionalProperties": false}))

TR_JSON_TOOL(process_programs,
    ("List the programs that are allowed to be run by process_run, and the folders in which they can work.",
     .title = "Allowed programs", .category = "system", .tags = "program,command",
     .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     .result_schema = TR_SCHEMA({"type": "object", "properties": {
         "programs": {"type": "array", "items": {"type": "string"}, "description": "Absolute paths"},
         "folders": {"type": "array", "items": {"type": "string"}, "description": "With all that is below; the first is the default"}
     }, "required": ["programs", "folders"]}),
     TR_EXAMPLES(TR_EXAMPLE("{}", NULL))),
    TR_SCHEMA({"type": "object", "additionalProperties": false}))
/* clang-format on */

TR_PLUGIN(("process", .description = "Programs that an administrator allows, without a shell",
           .vendor = "toolrack", .license = "MIT", .flags = TR_NEEDS_WORKER, .open = open_process,
           .close = place_close_roots,
           TR_CAPABILITIES(
                   TR_SPAWNS("${setting:programs/0}"), TR_MAY_SPAWN("${setting:programs/1}"),
                   TR_MAY_SPAWN("${setting:programs/2}"), TR_MAY_SPAWN("${setting:programs/3}"),
                   TR_MAY_SPAWN("${setting:programs/4}"), TR_MAY_SPAWN("${setting:programs/5}"),
                   TR_MAY_SPAWN("${setting:programs/6}"), TR_MAY_SPAWN("${setting:programs/7}"),
                   TR_MAY_READ("${workspace}"), TR_MAY_WRITE("${workspace}"))),
          "1.0.0", process_run, process_programs)
