/* A model that is asked which tool is right: one request to its provider, without tools. */
#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "api/choosing.h"
#include "api/host.h"
#include "api/models.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "net/http.h"
#include "provider/agent.h"
#include "provider/transcript.h"
#include "registry/text.h"
#include "toolrack/agent.h"

#define TIMEOUT_MS_DEFAULT 5000u

/* It may call nothing. */
static int no_definitions(void *user, struct toolrack_text **ret, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf none = BUF_INIT;
    (void)user;
    buf_add_text(&none, "[]");
    *ret = text_create(&none);
    return *ret != NULL ? 0 : error_oom(err);
}

static int take_message(enum toolrack_format format, const char *message, size_t length,
                        struct toolrack_error *err) {
    (void)format;
    (void)message;
    (void)length;
    (void)err;
    return 0;
}

static int call_nothing(void *user, const char *message, size_t length,
                        const struct agent_watch *watch, struct toolrack_text **ret,
                        struct toolrack_error *err) {
    (void)message;
    (void)length;
    (void)watch;
    return no_definitions(user, ret, err);
}

/* Most bytes of an answer: some times what a scene, an intent, a tool and its arguments take. And
 * of the response that it comes in, which has what the model thinks, and around each few letters
 * what a format wants. */
#define ANSWER_MAX   262144u
#define RESPONSE_MAX (8u * ANSWER_MAX)

/* What ends the conversation, and how long its answer is. */
struct hearing {
    int timer;
    size_t length;
};

/* Nobody follows what it says; too much ends it at once. */
static void hear_text(void *user, const char *text, size_t length) {
    struct hearing *hearing = user;
    (void)text;
    hearing->length += length;
    if (hearing->length > ANSWER_MAX) {
        const struct itimerspec now = {.it_value = {.tv_nsec = 1}};
        (void)timerfd_settime(hearing->timer, 0, &now, NULL);
    }
}

static void hear_note(void *user, const char *line) {
    (void)user;
    (void)line;
}

static uint32_t timeout_of(yyjson_val *settings) {
    uint64_t ms = yyjson_get_uint(yyjson_obj_get(settings, "timeout_ms"));
    return ms != 0 && ms < UINT32_MAX ? (uint32_t)ms : TIMEOUT_MS_DEFAULT;
}

static int ask_model(void *user, const char *system, const char *task, struct buf *ret,
                     bool *ret_has_sent, uint32_t *ret_wait_ms, struct toolrack_error *err) {
    struct toolrack *host = user;
    yyjson_val *settings = config_choosing(host->config);
    uint32_t ms = timeout_of(settings);
    char conversation[TOOLRACK_CONVERSATION_ID_SIZE];
    struct toolrack_call_options call = TOOLRACK_CALL_OPTIONS_INIT;
    struct toolrack_agent_options app = TOOLRACK_AGENT_OPTIONS_INIT;
    const char *format = yyjson_get_str(yyjson_obj_get(settings, "format"));
    CLEANUP(arena_finish) struct arena arena;
    struct named_model model;
    CLEANUP(closep) int timer = http_timer(ms);
    struct hearing hearing = {.timer = timer};
    arena_init(&arena, NULL, 0);
    if (timer < 0) {
        return error_set(err, TOOLRACK_E_IO, "there is no timer for its answer: %s",
                         strerror(errno));
    }
    app.format = TOOLRACK_FORMAT_OPENAI;
    if (format != NULL && toolrack_format_find(format, &app.format, err) < 0) {
        return TOOLRACK_E_INVALID;
    }
    toolrack_conversation_id(conversation);
    call.conversation = conversation;
    app.call = &call;
    app.endpoint = yyjson_get_str(yyjson_obj_get(settings, "endpoint"));
    app.model = yyjson_get_str(yyjson_obj_get(settings, "model"));
    app.system = system;
    app.task = task;
    app.stop_fd = timer;
    app.text = hear_text;
    app.user = &hearing;
    app.note = hear_note;
    app.steps_max = 1;
    int code = models_complete(host, &app, &arena, &model, err);
    if (code < 0) {
        return code;
    }
    CLEANUP(agent_outcome_finish) struct agent_outcome outcome = {0};
    code = agent_run(&(struct agent_options){.definitions = no_definitions,
                                             .check = take_message,
                                             .answer = call_nothing,
                                             .system = system,
                                             .app = &app,
                                             .place = model.name != NULL
                                                              ? model.place
                                                              : "as \"endpoint\" of \"choose\"",
                                             .key_variable = model.key_variable,
                                             .asks_once = true,
                                             .response_max = RESPONSE_MAX},
                     &outcome, err);
    *ret_has_sent = outcome.has_sent;
    *ret_wait_ms = outcome.wait_ms;
    if (hearing.length > ANSWER_MAX) {
        return error_set(err, TOOLRACK_E_LIMIT_EXCEEDED, "its answer is longer than %u bytes",
                         ANSWER_MAX);
    }
    if (code == TOOLRACK_E_CANCELLED) {
        return error_set(err, TOOLRACK_E_TIMEOUT, "it did not answer within %u ms", ms);
    }
    if (outcome.calls > 0) {
        return error_set(err, TOOLRACK_E_INVALID, "it calls a tool instead of answering");
    }
    if (code == 0) {
        buf_add(ret, outcome.text.data != NULL ? outcome.text.data : "", outcome.text.length);
    }
    return code < 0 ? code : ret->failed ? error_oom(err) : 0;
}

void choosing_assist(struct toolrack *host, struct assist *ret) {
    static const struct {
        const char *name;
        unsigned step;
    } names[] = {{"scene", ASSIST_SCENE},
                 {"intent", ASSIST_INTENT},
                 {"evaluate", ASSIST_EVALUATE},
                 {"arguments", ASSIST_ARGUMENTS}};
    yyjson_val *settings = config_choosing(host->config);
    yyjson_val *steps = yyjson_obj_get(settings, "steps");
    const char *name = yyjson_get_str(yyjson_obj_get(settings, "model"));
    yyjson_val *asked = yyjson_obj_get(settings, "endpoint") == NULL && name != NULL
                                ? yyjson_obj_get(config_models(host->config), name)
                                : settings;
    size_t at;
    size_t count;
    yyjson_val *step;
    *ret = (struct assist){.ask = ask_model,
                           .user = host,
                           .endpoint = yyjson_get_str(yyjson_obj_get(asked, "endpoint")),
                           .model = yyjson_get_str(yyjson_obj_get(asked, "model")),
                           .steps = steps == NULL ? ASSIST_ALL : 0};
    yyjson_arr_foreach (steps, at, count, step) {
        for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
            ret->steps |= yyjson_equals_str(step, names[i].name) ? names[i].step : 0;
        }
    }
}
