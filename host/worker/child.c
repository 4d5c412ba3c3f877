#include "worker/child.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/command.h"
#include "base/error.h"
#include "base/json.h"
#include "base/sanitizer.h"
#include "plugin/foreign.h"
#include "plugin/load.h"
#include "run/native.h"
#include "run/run.h"
#include "worker/crash.h"
#include "worker/granted.h"
#include "worker/notice.h"
#include "worker/peak.h"
#include "worker/protocol-fd.h"
#include "worker/protocol.h"

/* Invariants:
 *
 *  (1) A channel belongs to one thread. That thread holds the channel whenever it runs code of the
 *      plugin, and hands it over only to wait until it is handed back.
 *  (2) A message of the host that is not an expected frame ends the process: there is nobody to
 *      report it to.
 *  (3) Everything here lives as long as the process. */

/* One tool, prepared for FRAME_CALL. */
struct ready_tool {
    const struct descriptor_tool *spec; /* NULL: no valid tool has this index */
    pthread_mutex_t lock;               /* held while the signature is created, at the first call */
    _Atomic(struct signature *) signature;
    void (*function)(void);
    tr_status (*entry)(struct tr_call *);
    const struct native *native; /* of a function that is not called plainly; or NULL */
    atomic_uint calls;           /* begun */
    atomic_bool is_long;         /* its last call took long */
};

struct child {
    struct channel *channel; /* the first one, of the main thread */
    struct arena arena;      /* of the start frame */
    struct frame_start start;
    struct command_places places; /* of the host */
    yyjson_val *settings;
    struct notice_mark notice_mark;
    int status_fd; /* /proc/self/status, opened before the sandbox; -1: none */
    struct descriptor *desc;
    struct image *image; /* NULL: the tool is a function of an installed library: */
    struct foreign foreign;
    struct log log;
    struct ready_tool *tools; /* by index */
    uint32_t tool_count;
    struct ready_tool offers[OFFER_COUNT]; /* by enum offer */
    struct descriptor_tool offer_specs[OFFER_COUNT];
};

/* One run of a tool on one channel. */
struct lane_run {
    struct run run; /* first */
    struct channel *channel;
};

__attribute__((noreturn)) static void give_up(void) {
    _exit(WORKER_EXIT_PROTOCOL);
}

static struct frame_in receive(struct channel *channel) {
    struct frame_in frame;
    if (channel_receive(channel, 0, &frame) != CHANNEL_FRAME) {
        give_up();
    }
    return frame;
}

/* While no call runs, no thread of the host waits on the channel: the supervisor waits for many
 * workers at once, and reads the channel when something arrives in the pipe. */
static void ring(const struct child *child) {
    notice_ring(WORKER_NOTICES, &child->notice_mark);
}

static void await_go_on(struct channel *channel) {
    if (receive(channel).type != FRAME_GO_ON) {
        give_up();
    }
}

/* ---------------------------------------------------- what the tool says meanwhile */

static struct lane_run *lane_run_of(const struct run *run) {
    return (struct lane_run *)(uintptr_t)run;
}

static bool is_cancelled(const struct run *run) {
    return channel_is_cancelled(lane_run_of(run)->channel);
}

/* After the deadline or a cancellation, messages have no receiver. */
static bool is_heard(const struct run *run) {
    return !is_cancelled(run) && (run->deadline_ns == 0 || clock_now_ns() < run->deadline_ns);
}

static void show_progress(struct run *run, double done, double total, const char *message) {
    struct channel *channel = lane_run_of(run)->channel;
    const struct frame_progress progress = {.done = done, .total = total, .message = message};
    if (is_heard(run) && send_progress(channel, &progress)) {
        await_go_on(channel);
    }
}

static void log_message(struct run *run, int level, const char *message) {
    struct channel *channel = lane_run_of(run)->channel;
    const struct frame_log log = {.level = level, .message = message};
    if (is_heard(run) && send_log(channel, &log)) {
        await_go_on(channel);
    }
}

/* The answers are valid only until the next frame, so they are copied. */
static int ask_host(struct run *run, struct toolrack_input *inputs, size_t count) {
    struct channel *channel = lane_run_of(run)->channel;
    struct frame_question question = {.count = (uint32_t)count};
    struct frame_answer answer;
    for (size_t i = 0; i < count; i++) {
        question.inputs[i] = (struct frame_input){.kind = (uint32_t)inputs[i].kind,
                                                  .key = inputs[i].key,
                                                  .message = inputs[i].message,
                                                  .schema = inputs[i].schema,
                                                  .request = inputs[i].request};
        inputs[i].answer = TOOLRACK_ANSWER_DISMISSED;
    }
    if (!is_heard(run) || !send_question(channel, &question)) {
        return 0;
    }
    const struct frame_in frame = receive(channel);
    if (frame.type != FRAME_ANSWER || !read_answer(&frame, &answer) || answer.count != count) {
        give_up();
    }
    run->deadline_ns = answer.deadline_ns;
    for (size_t i = 0; i < count; i++) {
        const struct frame_answered *from = &answer.answers[i];
        inputs[i].answer = from->action;
        inputs[i].content = from->content != NULL ? strdup(from->content) : NULL;
        if (from->content != NULL && inputs[i].content == NULL) {
            inputs[i].answer = TOOLRACK_ANSWER_DISMISSED;
            (void)run_no_memory(run);
        }
    }
    return answer.later ? TOOLRACK_INPUT_LATER : 0;
}

static const struct run_host run_host = {.progress = show_progress,
                                         .log = log_message,
                                         .cancelled = is_cancelled,
                                         .input = ask_host};

/* ------------------------------------------------------------------- calls */

static int make_signature(struct ready_tool *tool, const struct signature **ret,
                          struct toolrack_error *err) {
    *ret = atomic_load(&tool->signature);
    if (*ret != NULL) {
        return 0;
    }
    struct signature *made = NULL;
    (void)pthread_mutex_lock(&tool->lock);
    made = atomic_load(&tool->signature);
    int code = made != NULL ? 0 : signature_create(tool->spec->tool, &made, err);
    if (code == 0) {
        atomic_store(&tool->signature, made);
    }
    (void)pthread_mutex_unlock(&tool->lock);
    *ret = made;
    return code;
}

static int run_tool(struct run *run, struct ready_tool *tool, struct buf *out,
                    struct toolrack_error *err) {
    if (tool->function == NULL) {
        int code = run_json_tool(run, tool->entry, err);
        return code < 0 || result_only_text(run) != NULL ? code : result_add_replies(run, out, err);
    }
    if (tool->native != NULL) {
        return native_run(tool->native, run, out, err);
    }
    const struct signature *signature = NULL;
    int code = make_signature(tool, &signature, err);
    if (code < 0) {
        return code;
    }
    /* The values of the parameters, by name: the host has checked them and filled in the defaults.
     */
    const struct tr_tool *spec = tool->spec->tool;
    yyjson_val **values = arena_alloc(&run->arena, (spec->param_count + 1) * sizeof *values);
    if (values == NULL) {
        return run_memory_error(run, err);
    }
    size_t count = 0;
    for (uint32_t i = 0; i < spec->param_count; i++) {
        if (spec->params[i].type->kind != TR_KIND_CALL) {
            values[count++] = yyjson_obj_get(run->arguments, spec->params[i].name);
        }
    }
    struct frame frame;
    code = signature_bind(signature, values, &run->arena, &frame, err);
    return code < 0 ? code : run_typed_tool(run, signature, tool->function, &frame, out, err);
}

/* ----------------------------------------------------------------- measure */

/* Cost of a call. Measuring the CPU time takes two system calls, each checked by the sandbox's
 * filter. Measuring the memory takes the kernel 20 us; getrusage() is no alternative, as it
 * includes the process before exec. So only one in so many short calls is measured, but every call
 * of a tool whose calls take longer, and every call where the configuration says so.
 *
 * What a late call has used is counted from the last reading of its thread's clock: that at its
 * begin, or one with only short calls since. */
#define METER_CPU_EACH       16u
#define METER_CPU_LONG_NS    50000u
#define METER_MEMORY_EACH    256u
#define METER_MEMORY_LONG_NS 1000000u

struct meter {
    uint64_t cpu_ns;
    uint64_t memory;
};

static bool is_late(const struct run *run) {
    return run->deadline_ns != 0 && clock_now_ns() >= run->deadline_ns;
}

/* NULL: there is none, or it cannot be called. */
static struct ready_tool *tool_at(struct child *child, uint32_t index) {
    struct ready_tool *tool = offer_is(index) ? &child->offers[index - OFFER_INDEX_FIRST]
                              : index < child->tool_count ? &child->tools[index]
                                                          : NULL;
    return tool != NULL && tool->spec != NULL ? tool : NULL;
}

static int run_measured(struct child *child, uint32_t index, struct run *run, struct meter *meter,
                        struct buf *out, struct toolrack_error *err) {
    struct ready_tool *tool = tool_at(child, index);
    unsigned calls = atomic_fetch_add_explicit(&tool->calls, 1, memory_order_relaxed);
    bool takes_all = child->start.measures_all;
    bool takes_cpu = takes_all || calls % METER_CPU_EACH == 0 ||
                     atomic_load_explicit(&tool->is_long, memory_order_relaxed);
    uint64_t start_ns = clock_now_ns();
    if (takes_cpu) {
        *crash_lane_cpu() = clock_cpu_ns();
    }
    int code = run_tool(run, tool, out, err);
    uint64_t took_ns = clock_now_ns() - start_ns;
    bool is_long = took_ns > METER_MEMORY_LONG_NS;
    if (takes_cpu || is_long) {
        uint64_t cpu_ns = clock_cpu_ns();
        if (takes_cpu || is_late(run)) {
            meter->cpu_ns = cpu_ns - *crash_lane_cpu();
        }
        *crash_lane_cpu() = cpu_ns;
    }
    if (takes_all || is_long || calls % METER_MEMORY_EACH == 0) {
        meter->memory = peak_read(child->status_fd, PROTOCOL_UNMEASURED);
    }
    atomic_store_explicit(&tool->is_long, took_ns > METER_CPU_LONG_NS, memory_order_relaxed);
    return code;
}

/* What the call came to: a text as the tool gave it, or the JSON in `out`. */
static int send_reply(struct channel *channel, const struct run *run, struct buf *out,
                      const struct meter *meter, struct toolrack_error *err) {
    const struct reply_block *text = result_only_text(run);
    struct toolrack_result *result = NULL;
    struct frame_result frame = {
            .is_structured = run->has_json, .cpu_ns = meter->cpu_ns, .memory = meter->memory};
    if (text != NULL) {
        frame.is_text = true;
        frame.value = text->data;
        frame.length = text->size;
    } else {
        int code = result_end(out, NULL, &result, err);
        if (code < 0) {
            return code;
        }
        frame.is_content = toolrack_result_is_content(result);
        frame.value = toolrack_result_json(result, &frame.length);
    }
    bool is_sent = send_result(channel, &frame);
    toolrack_result_free(result);
    return is_sent ? 0 : error_oom(err);
}

/* Send a result, or the failure with that code; a result for which there is no memory becomes a
 * failure. */
static void reply(struct channel *channel, const struct run *run, int code, struct buf *out,
                  struct toolrack_error *err, const struct meter *meter) {
    code = code == 0 ? send_reply(channel, run, out, meter, err) : code;
    if (code < 0 && !send_failure(channel, FRAME_FAILURE,
                                  &(struct frame_failure){.code = err->code,
                                                          .field = err->field,
                                                          .message = err->message,
                                                          .trace = err->trace,
                                                          .from_tool = err->from_tool,
                                                          .tool_code = err->tool_code,
                                                          .cpu_ns = meter->cpu_ns,
                                                          .memory = meter->memory})) {
        give_up();
    }
}

static void run_call(struct child *child, struct channel *channel, const struct frame_call *call) {
    _Alignas(16) char memory[RUN_FIRST_MEMORY];
    struct lane_run lane; /* not cleared, as its error is large; likewise `err` */
    struct run *run = &lane.run;
    lane.channel = channel;
    run_init(run, &run_host, memory, sizeof memory);
    run->deadline_ns = call->deadline_ns;
    run->context = (struct run_context){.tool = call->tool_name,
                                        .caller = call->caller,
                                        .channel = call->channel,
                                        .conversation = call->conversation,
                                        .trace = call->trace};
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    struct toolrack_error err;
    struct meter meter = {.cpu_ns = PROTOCOL_UNMEASURED, .memory = PROTOCOL_UNMEASURED};
    int code = 0;
    if (call->values != NULL) {
        run->arguments = call->values;
        run->arguments_filled = true; /* there is no text */
    } else {
        code = run_parse(run, call->arguments, call->arguments_length, &err);
    }
    if (code == 0) {
        code = run_measured(child, call->tool, run, &meter, &out, &err);
    }
    reply(channel, run, code, &out, &err, &meter);
    run_finish(run);
}

/* ------------------------------------------------------------------- lanes */

struct lane {
    struct child *child;
    struct channel *channel;
};

static void serve(struct child *child, struct channel *channel);

static void *lane_main(void *argument) {
    struct lane lane = *(struct lane *)argument;
    free(argument);
    if (!crash_thread_begin()) {
        give_up();
    }
    serve(lane.child, lane.channel);
    crash_thread_end();
    return NULL;
}

/* Start a thread for another channel, whose memory comes over the socket. */
static void open_lane(struct child *child) {
    struct toolrack_error err;
    struct lane *lane = calloc(1, sizeof *lane);
    pthread_t thread;
    if (lane == NULL) {
        give_up();
    }
    lane->child = child;
    lane->channel = channel_join(protocol_receive_fd(WORKER_SOCKET), &err);
    if (lane->channel == NULL || pthread_create(&thread, NULL, lane_main, lane) != 0) {
        give_up();
    }
    (void)pthread_detach(thread);
}

static void serve(struct child *child, struct channel *channel) {
    if (!crash_lane_begin(channel)) {
        give_up();
    }
    for (;;) {
        const struct frame_in frame = receive(channel);
        struct frame_call call;
        switch (frame.type) {
        case FRAME_CALL:
            if (!read_call(&frame, &call) || tool_at(child, call.tool) == NULL) {
                give_up();
            }
            run_call(child, channel, &call);
            break;
        case FRAME_OPEN:
            open_lane(child);
            send_plain(channel, FRAME_READY);
            ring(child);
            break;
        case FRAME_END:
            image_unload(child->image);
            exit(WORKER_EXIT_DONE); /* runs the plugin's exit handlers and destructors */
        default: give_up();
        }
    }
}

/* ------------------------------------------------------------------- start */

static const char *find_setting(void *user, const char *plugin_id, const char *path) {
    struct child *child = user;
    (void)plugin_id;
    yyjson_alc alc = arena_alc(&child->arena);
    return json_setting(child->settings, path, &alc);
}

/* Send a log line of open(), which runs on the main thread. */
static void send_line(void *user, int level, const char *source, const char *line) {
    struct child *child = user;
    (void)source;
    if (send_log(child->channel, &(struct frame_log){.level = level, .message = line})) {
        ring(child);
        await_go_on(child->channel);
    }
}

static void send_notice(void *user, const char *plugin_id, enum plugin_notice notice,
                        const char *text) {
    const struct child *child = user;
    (void)plugin_id;
    notice_send(WORKER_NOTICES, &child->notice_mark, notice, text);
}

static int make_tools(struct child *child, struct toolrack_error *err) {
    const struct descriptor *desc = child->desc;
    child->tool_count = desc->tool_count == 0 ? 0 : desc->tools[desc->tool_count - 1].index + 1;
    child->tools = calloc(child->tool_count + 1, sizeof *child->tools);
    if (child->tools == NULL) {
        return error_oom(err);
    }
    for (uint32_t i = 0; i < desc->tool_count; i++) {
        struct ready_tool *tool = &child->tools[desc->tools[i].index];
        tool->spec = &desc->tools[i];
        (void)pthread_mutex_init(&tool->lock, NULL);
        if (child->image != NULL) {
            image_entry(child->image, tool->spec, &tool->function, &tool->entry);
        } else {
            tool->function = tool->spec->tool->function;
        }
    }
    for (enum offer offer = 0; child->image != NULL && offer < OFFER_COUNT; offer++) {
        if (offer_is_stated(offer, desc->plugin->flags)) {
            struct ready_tool *tool = &child->offers[offer];
            child->offer_specs[offer] = offer_tool(offer, desc->plugin->version);
            tool->spec = &child->offer_specs[offer];
            image_entry(child->image, tool->spec, &tool->function, &tool->entry);
        }
    }
    return 0;
}

/* The library is searched for and opened only here. The worker needs no names, descriptions or
 * other data of the tool. */
static int load_foreign(struct child *child, struct toolrack_error *err) {
    struct foreign *foreign = &child->foreign;
    struct native *native = NULL;
    void (*function)(void) = NULL;
    yyjson_doc *doc = yyjson_read(child->start.foreign, strlen(child->start.foreign), 0);
    foreign->name = child->start.plugin_id;
    int code = foreign_parse(yyjson_doc_get_root(doc), &child->arena, foreign, err);
    yyjson_doc_free(doc);
    if (code == 0) {
        code = foreign_find(foreign, foreign->symbol, &function, err);
    }
    if (code == 0) {
        code = foreign_describe(foreign, function,
                                &(struct descriptor_options){.is_of_configuration = true},
                                &child->desc, err);
    }
    if (code == 0) {
        code = make_tools(child, err);
    }
    if (code == 0 && !foreign->is_plain) {
        code = native_create(foreign, child->desc->tools[0].tool, function, &native, err);
        child->tools[child->desc->tools[0].index].native = native;
    }
    return code;
}

static int load_plugin(struct child *child, struct toolrack_error *err) {
    const struct image_host host = {.file = child->start.file,
                                    .log = &child->log,
                                    .config = find_setting,
                                    .notice = send_notice,
                                    .user = child,
                                    .paths = granted_paths(&child->start.policy, &child->arena)};
    if (host.paths == NULL) {
        return error_oom(err);
    }
    const char *path = child->start.path;
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return error_set(err, TOOLRACK_E_IO, "cannot open %s: %s", path, strerror(errno));
    }
    int code = descriptor_read(fd, &(struct descriptor_options){0}, &child->desc, err);
    if (code == 0 && child->desc->plugin == NULL) {
        code = error_set(err, TOOLRACK_E_REFUSED, "%s cannot be used: %s", path,
                         child->desc->findings[0].cause);
    }
    if (code == 0) {
        code = image_load(path, &child->start.identity, child->desc, &host, &child->image, err);
    }
    return code < 0 ? code : make_tools(child, err);
}

/* Most paths of sandbox_library_paths(), plus one for the plugin. */
#define LIBRARY_PATHS_MAX 64

static int enter_sandbox(struct child *child, uint32_t *ret_layers, struct toolrack_error *err) {
    const struct frame_start *start = &child->start;
    const char *paths[LIBRARY_PATHS_MAX + 2];
    size_t count = 0;
    for (const char *const *path = sandbox_library_paths();
         *path != NULL && count < LIBRARY_PATHS_MAX; path++) {
        paths[count++] = *path;
    }
    if (start->path[0] == '/') { /* a library that is searched for is in one of the paths above */
        paths[count++] = start->path;
    }
    paths[count] = NULL;
    struct sandbox_policy policy = start->policy;
    policy.plugin_id = start->plugin_id;
    if (SANITIZER_ADDRESS || SANITIZER_THREAD) {
        policy.limits.memory_bytes = UINT64_MAX; /* sanitizers map terabytes */
    }
    int code = sandbox_apply(&policy, paths, start->filter, start->filter_size, WORKER_SOCKET,
                             ret_layers, err);
    uint32_t missing = start->layers_required & ~*ret_layers;
    if (code == 0 && missing != 0) {
        CLEANUP(buf_finish) struct buf words = BUF_INIT;
        sandbox_describe(missing, &words);
        code = error_set(err, TOOLRACK_E_REFUSED,
                         "the sandbox is required, and this system lacks %s",
                         words.failed ? "a part of it" : words.data);
    }
    return code;
}

static void start(struct child *child) {
    struct toolrack_error err = {0};
    struct frame_in frame = receive(child->channel);
    frame.payload = arena_copy(&child->arena, frame.payload, frame.size);
    if (frame.payload == NULL || frame.type != FRAME_START ||
        !read_start(&frame, &child->arena, &child->start)) {
        give_up();
    }
    child->notice_mark = notice_mark(child->start.notice_mark);
    command_places_take(&child->places, child->start.places);
    child->log = (struct log){
            .write = send_line, .user = child, .level_min = child->start.log_level_min};
    yyjson_doc *doc = yyjson_read(child->start.settings, strlen(child->start.settings), 0);
    child->settings = yyjson_doc_get_root(doc); /* never freed */
    child->status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    uint32_t layers = 0;
    int code = crash_install(channel_crash_area(child->channel)) && crash_thread_begin()
                       ? enter_sandbox(child, &layers, &err)
                       : error_set(&err, TOOLRACK_E_IO, "cannot install the crash handler: %s",
                                   strerror(errno));
    if (code == 0) {
        ring(child); /* code of the plugin may start threads, for which the host is asked */
        code = child->start.foreign != NULL ? load_foreign(child, &err) : load_plugin(child, &err);
    }
    if (code < 0) {
        const struct frame_failure failure = {.code = err.code, .message = err.message};
        (void)send_failure(child->channel, FRAME_REFUSED, &failure);
        ring(child);
        _exit(WORKER_EXIT_REFUSED);
    }
    if (child->start.opens_lane) {
        open_lane(child);
    }
    send_plain(child->channel, FRAME_READY);
    ring(child);
}

_Noreturn void child_main(void) {
    /* If the host died before prctl(), no signal comes, but its messages are still in the socket
     * and the channel. So compare the parent with the socket's creator, the host. */
    struct ucred host;
    socklen_t size = sizeof host;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ||
        getsockopt(WORKER_SOCKET, SOL_SOCKET, SO_PEERCRED, &host, &size) < 0 ||
        host.pid != getppid() || chdir("/") < 0 ||
        fcntl(WORKER_SOCKET, F_SETFD, FD_CLOEXEC) < 0 || /* what is exec'd gets none of them */
        fcntl(WORKER_NOTICES, F_SETFD, FD_CLOEXEC) < 0) {
        give_up();
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* the host shows whole lines */
    struct child child = {0};
    struct toolrack_error err;
    arena_init(&child.arena, NULL, 0);
    child.channel = channel_join(protocol_receive_fd(WORKER_SOCKET), &err);
    if (child.channel == NULL) {
        give_up();
    }
    start(&child);
    serve(&child, child.channel);
    give_up();
}
