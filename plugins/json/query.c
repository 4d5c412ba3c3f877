/* A jq program is a program: it may run for ever, take all memory, and ask for files. libjq 1.6 has
 * no limits of its own. So
 *
 *  - it runs on a thread with a stack for deep values, while the caller's thread looks every
 *    QUERY_LOOK_MS at the clock, at the memory and whether the call was cancelled, and halts it:
 *    jq looks at that flag before each of its instructions;
 *  - where a single instruction wants more memory than there is, jq calls a handler "that may
 *    longjmp to safety", as its source says, and this one does;
 *  - the functions that reach out of the program (environment, modules, inputs, messages, halting),
 *    and those that end the process on wrong arguments, are defined again before it. The program
 *    stands in parentheses, in which jq's grammar has no `import` and no `include`. */
#include "query.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <jq.h>

#include "base/utf8.h"

/* clang-format off */
#define NOT_HERE(name, why) "def " name ": error(\"" name ": " why "\");"

/* One line, so that line numbers of the program are easily put right. A number that is no time
 * makes gmtime fail, where strftime would go on with the failure, and end the process. */
static const char before[] =
        "def __implode: implode;"
        "def implode: if type == \"array\" and all(.[]; type == \"number\" and . >= 0 and"
        " . <= 1114111 and (. < 55296 or . > 57343)) then __implode"
        " else error(\"implode: must be an array of Unicode code points\") end;"
        "def __strftime(f): strftime(f); def __strflocaltime(f): strflocaltime(f);"
        "def strftime(f): (if type == \"number\" then gmtime else . end) | __strftime(f);"
        "def strflocaltime(f): (if type == \"number\" then localtime else . end)"
        " | __strflocaltime(f);"
        "def todate: strftime(\"%Y-%m-%dT%H:%M:%SZ\");"
        "def todateiso8601: todate; def date: todate;"
        NOT_HERE("env", "the environment is not available")
        NOT_HERE("halt", "is not available; use empty, first or limit")
        NOT_HERE("halt_error", "is not available; use error")
        "def halt_error(f): halt_error;"
        NOT_HERE("input", "there is only one document")
        "def inputs: empty; def debug: .; def stderr: .;"
        "def input_filename: null; def input_line_number: 0;"
        "def get_search_list: []; def get_prog_origin: null; def get_jq_origin: null;"
        NOT_HERE("modulemeta", "there are no modules")
        "{} as $ENV | (\n";
static const char after[] = "\n)";
/* clang-format on */

/* To compile a program takes 20 ms, as jq compiles its own functions with each. So the last one is
 * kept, and used again where the program and its variables are the same: a filter is often used on
 * one document after the other. Runs are one at a time, so nothing guards it. */
static jq_state *kept;
static struct buf kept_key; /* program, a zero, variables */

struct job {
    const struct query *query;
    struct query_result *result;
    jq_state *jq;
    jmp_buf no_memory;

    /* What both threads use. */
    pthread_mutex_t lock;
    pthread_cond_t done_changed;
    bool started; /**< halting has an effect */
    bool done;
    bool halted; /**< by the caller's thread, which has set result->end */
};

/* ------------------------------------------------------------ the thread of the program */

/* jq 1.6 calls the handler without the pointer that it was given for it. */
static _Thread_local struct job *running;

/* Of libjq, whose installed headers only have jq_set_nomem_handler(): that takes what jq_init() has
 * made, and allocates for. */
extern void jv_nomem_handler(void (*handler)(void *user), void *user);

static void out_of_memory(void *unused) {
    (void)unused;
    longjmp(running->no_memory, 1);
}

/* The text of an error, without what jq's command says around it. */
static void set_message(struct query_result *result, jv error) {
    jv text = jv_get_kind(error) == JV_KIND_STRING ? error : jv_dump_string(error, 0);
    const char *from = jv_string_value(text);
    const char *prefix = "jq: error: ";
    from += strncmp(from, prefix, strlen(prefix)) == 0 ? strlen(prefix) : 0;
    utf8_copy(result->message, sizeof result->message, from);
    static const char *const ends[] = {" (Unix shell quoting issues?)", " at <", "\n"};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        char *end = strstr(result->message, ends[i]);
        if (end != NULL) {
            *end = '\0';
        }
    }
    utf8_make_line(result->message);
    jv_free(text);
}

/* The first of several messages is the cause. */
static void keep_message(void *user, jv error) {
    struct job *job = user;
    if (job->result->message[0] == '\0') {
        set_message(job->result, error);
    } else {
        jv_free(error);
    }
}

static void make_key(const struct query *query, struct buf *ret) {
    buf_add(ret, query->program, strlen(query->program) + 1);
    buf_add_text(ret, query->variables != NULL ? query->variables : "");
}

/* The program that was kept, if it is this one. */
static jq_state *take_kept(const struct query *query) {
    struct buf key = BUF_INIT;
    jq_state *found = NULL;
    make_key(query, &key);
    if (kept != NULL && !key.failed && key.length == kept_key.length &&
        memcmp(key.data, kept_key.data, key.length) == 0) {
        found = kept;
        kept = NULL;
    }
    buf_finish(&key);
    return found;
}

/* Only what ran to its end has nothing left of its run. */
static bool keep(const struct query *query, jq_state *jq) {
    buf_clear(&kept_key);
    make_key(query, &kept_key);
    if (kept_key.failed) {
        buf_finish(&kept_key);
        return false;
    }
    kept = jq;
    return true;
}

void query_forget(void) {
    jq_teardown(&kept);
    buf_finish(&kept_key);
}

static bool compile(struct job *job) {
    struct buf program = BUF_INIT;
    buf_add_text(&program, before);
    buf_add_text(&program, job->query->program);
    buf_add_text(&program, after);
    jv variables = job->query->variables == NULL ? jv_object() : jv_parse(job->query->variables);
    if (program.failed || jv_get_kind(variables) != JV_KIND_OBJECT) {
        buf_finish(&program);
        jv_free(variables);
        job->result->end = QUERY_NO_RESOURCE;
        return false;
    }
    int compiled = jq_compile_args(job->jq, program.data, variables);
    buf_finish(&program);
    if (!compiled) {
        job->result->end = QUERY_BAD_PROGRAM;
    }
    return compiled;
}

/* An error that the program did not catch: a message, or any value. */
static void end_by_error(struct job *job, jv invalid) {
    jv message = jv_invalid_get_msg(invalid);
    if (jv_get_kind(message) == JV_KIND_NULL || job->result->end != QUERY_OK) {
        jv_free(message);
        return;
    }
    job->result->end = QUERY_FAILED;
    set_message(job->result, message);
}

/* Whether jq left out what is too deep: it then writes "<skipped: too deep>" without quotes, and
 * nothing else has a "<" outside of strings. */
static bool is_cut(const char *text, size_t length) {
    bool in_string = false;
    if (memchr(text, '<', length) == NULL) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '"') {
            in_string = !in_string;
        } else if (in_string && text[i] == '\\') {
            i++;
        } else if (!in_string && text[i] == '<') {
            return true;
        }
    }
    return false;
}

static void add_result(struct query_result *result, jv value) {
    jv text = jv_dump_string(value, 0);
    if (is_cut(jv_string_value(text), (size_t)jv_string_length_bytes(jv_copy(text)))) {
        jv_free(text);
        result->end = QUERY_TOO_DEEP;
        return;
    }
    if (result->count > 0) {
        buf_add_char(&result->output, ',');
    }
    buf_add(&result->output, jv_string_value(text), (size_t)jv_string_length_bytes(jv_copy(text)));
    jv_free(text);
    result->count++;
}

static void collect(struct job *job) {
    struct query_result *result = job->result;
    for (;;) {
        jv value = jq_next(job->jq);
        if (!jv_is_valid(value)) {
            end_by_error(job, value);
            return;
        }
        if (result->count == job->query->results_max) {
            jv_free(value);
            result->end = QUERY_TRUNCATED;
            return;
        }
        add_result(result, value);
        if (result->end != QUERY_OK) {
            return;
        }
        if (result->output.failed) {
            result->end = QUERY_NO_RESOURCE;
            return;
        }
        if (result->output.length > QUERY_OUTPUT_MAX) {
            result->end = QUERY_TOO_MUCH;
            return;
        }
    }
}

static void set_started(struct job *job, bool started) {
    (void)pthread_mutex_lock(&job->lock);
    job->started = started;
    (void)pthread_mutex_unlock(&job->lock);
}

static void run_program(struct job *job, bool is_compiled) {
    jv document = jv_parse_sized(job->query->document, (int)job->query->document_length);
    if (!jv_is_valid(document)) {
        job->result->end = QUERY_BAD_DOCUMENT;
        set_message(job->result, jv_invalid_get_msg(document));
        return;
    }
    if (!is_compiled && !compile(job)) {
        jv_free(document);
        return;
    }
    jq_start(job->jq, document, 0);
    set_started(job, true);
    collect(job);
    set_started(job, false);
}

static void *thread_main(void *user) {
    struct job *job = user;
    running = job;
    jv_nomem_handler(out_of_memory, NULL);
    if (setjmp(job->no_memory) == 0) {
        job->jq = take_kept(job->query);
        bool is_compiled = job->jq != NULL;
        if (!is_compiled) {
            jq_teardown(&kept);
            job->jq = jq_init();
        }
        if (job->jq == NULL) {
            job->result->end = QUERY_NO_RESOURCE;
        } else {
            jq_set_nomem_handler(job->jq, out_of_memory, NULL);
            jq_set_error_cb(job->jq, keep_message, job);
            run_program(job, is_compiled);
        }
    } else {
        /* In the middle of an instruction: what it held is lost, the rest can be freed. */
        set_started(job, false);
        job->result->end = QUERY_TOO_LARGE;
    }
    bool is_whole =
            !job->halted && (job->result->end == QUERY_OK || job->result->end == QUERY_FAILED);
    if (job->jq != NULL && !(is_whole && keep(job->query, job->jq)) &&
        setjmp(job->no_memory) == 0) {
        jq_teardown(&job->jq);
    }
    (void)pthread_mutex_lock(&job->lock);
    job->done = true;
    (void)pthread_cond_signal(&job->done_changed);
    (void)pthread_mutex_unlock(&job->lock);
    return NULL;
}

/* ------------------------------------------------------------ the caller's thread */

static int64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTED_BY_SANITIZER
#endif
#endif

/* A sanitizer has an allocator of its own, of which mallinfo2() knows nothing. */
#ifdef COUNTED_BY_SANITIZER
extern size_t __sanitizer_get_current_allocated_bytes(void);

static size_t memory_used(void) {
    return __sanitizer_get_current_allocated_bytes();
}
#else
static size_t memory_used(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}
#endif

/* Why the program has to stop now; QUERY_OK if it has not. */
static enum query_end reason_to_stop(const struct query *query, int64_t deadline_ms,
                                     size_t memory_before) {
    size_t memory = memory_used();
    return query->cancelled != NULL && query->cancelled(query->user)             ? QUERY_CANCELLED
           : now_ms() > deadline_ms                                              ? QUERY_TOO_LONG
           : memory > memory_before && memory - memory_before > QUERY_MEMORY_MAX ? QUERY_TOO_LARGE
                                                                                 : QUERY_OK;
}

static void watch(struct job *job, size_t memory_before) {
    int64_t deadline_ms = now_ms() + (int64_t)job->query->time_ms_max;
    enum query_end stop = QUERY_OK;
    (void)pthread_mutex_lock(&job->lock);
    while (!job->done) {
        struct timespec until;
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += QUERY_LOOK_MS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        (void)pthread_cond_timedwait(&job->done_changed, &job->lock, &until);
        if (stop == QUERY_OK) {
            stop = reason_to_stop(job->query, deadline_ms, memory_before);
        }
        if (stop != QUERY_OK && job->started && !job->done && !job->halted) {
            job->halted = true;
            jq_halt(job->jq, jv_invalid(), jv_invalid());
        }
    }
    (void)pthread_mutex_unlock(&job->lock);
    if (job->halted) {
        job->result->end = stop;
    }
}

static bool start(struct job *job, pthread_t *ret) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) {
        return false;
    }
    bool started = pthread_attr_setstacksize(&attributes, QUERY_STACK_SIZE) == 0 &&
                   pthread_create(ret, &attributes, thread_main, job) == 0;
    (void)pthread_attr_destroy(&attributes);
    return started;
}

void query_run(const struct query *query, struct query_result *ret) {
    *ret = (struct query_result){.output = BUF_INIT};
    struct job job = {.query = query, .result = ret};
    pthread_condattr_t by_clock;
    pthread_t thread;
    size_t memory_before = memory_used();
    (void)pthread_condattr_init(&by_clock);
    (void)pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&job.lock, NULL);
    (void)pthread_cond_init(&job.done_changed, &by_clock);
    if (start(&job, &thread)) {
        watch(&job, memory_before);
        (void)pthread_join(thread, NULL);
    } else {
        ret->end = QUERY_NO_RESOURCE;
    }
    (void)pthread_cond_destroy(&job.done_changed);
    (void)pthread_mutex_destroy(&job.lock);
    (void)pthread_condattr_destroy(&by_clock);
}

void query_result_finish(struct query_result *result) {
    buf_finish(&result->output);
}
