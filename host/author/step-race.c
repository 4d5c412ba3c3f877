/* Calls on several threads at once of a plugin that was built with ThreadSanitizer, which reports
 * what two of them do to the same memory. Results are not compared: that is done for a build
 * without it (step_parallel). */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "author/bench.h"
#include "author/cases.h"
#include "author/image.h"
#include "author/place.h"
#include "author/steps.h"
#include "author/tsan.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "toolrack/plugin.h"

/* Threads that call at once, and for how long: each pair of calls has met by then. */
#define CALLERS           8u
#define RACE_MS           500u
/* Longest file of reports. */
#define REPORT_LENGTH_MAX ((size_t)4 << 20)

/* One call that is made. */
struct shot {
    size_t tool;
    char *arguments; /* owned */
};

struct race {
    struct bench *bench;
    struct shot *shots; /* owned */
    size_t count;
    size_t room;
    bool is_refused;    /* the plugin cannot be loaded */
    atomic_bool begins; /* all threads are there */
};

struct caller {
    struct race *race;
    struct toolrack_error *err;
    pthread_t thread;
    unsigned number;
};

static void finish(struct race *race) {
    for (size_t i = 0; i < race->count; i++) {
        free(race->shots[i].arguments);
    }
    free(race->shots);
}

/* Take arguments, unless a call with them takes long; the call loads the plugin, too. */
static void add_shot(struct race *race, size_t tool, char *arguments) {
    struct answer answer;
    if (arguments == NULL) {
        return;
    }
    bench_call(race->bench, tool, arguments, TOOLRACK_NO_DEADLINE, &answer);
    if (answer.code == TOOLRACK_E_EXECUTION_FAILED && !answer.has_begun && !race->is_refused) {
        race->is_refused = true; /* by the loader, as it will be each time */
        child_find(race->bench->child, RULE_LOAD, false, NULL, NULL, answer.message);
    }
    bool is_quick = answer.has_begun && answer.ns < QUICK_NS;
    answer_finish(&answer);
    if (!is_quick || race->count == race->room) {
        free(arguments);
        return;
    }
    race->shots[race->count++] = (struct shot){.tool = tool, .arguments = arguments};
}

/* Examples, and arguments by the schema. */
static void add_shots(struct race *race, size_t tool) {
    struct toolrack_tool *about = race->bench->tools[tool];
    size_t count = toolrack_tool_example_count(about);
    struct cases cases;
    cases_begin(&cases, race->bench, tool, RULE_PARALLEL);
    for (size_t i = 0; i < SAMPLES_MAX; i++) {
        add_shot(race, tool,
                 i < count ? strdup(toolrack_tool_example_arguments(about, i))
                           : cases_typical(&cases));
    }
    cases_end(&cases);
}

static void *call_on(void *argument) {
    struct caller *caller = argument;
    struct race *race = caller->race;
    struct toolrack_call_options options = bench_options(race->bench, TOOLRACK_NO_DEADLINE);
    while (!atomic_load(&race->begins)) {
        (void)sched_yield();
    }
    uint64_t until_ns = clock_now_ns() + (uint64_t)RACE_MS * CLOCK_NS_PER_MS;
    for (size_t i = caller->number; clock_now_ns() < until_ns; i++) {
        const struct shot *shot = &race->shots[i % race->count];
        struct toolrack_result *result = NULL;
        (void)toolrack_tool_call(race->bench->host, race->bench->tools[shot->tool], shot->arguments,
                                 strlen(shot->arguments), &options, &result, caller->err);
        toolrack_result_free(result);
    }
    return NULL;
}

static void call_together(struct race *race) {
    struct caller callers[CALLERS];
    unsigned started = 0;
    child_at(race->bench->child, race->bench->session->tool_count, NULL,
             "during calls on several threads at once");
    for (; started < CALLERS; started++) {
        callers[started] =
                (struct caller){.race = race, .number = started, .err = toolrack_error_create()};
        if (thread_start(&callers[started].thread, call_on, &callers[started]) != 0) {
            toolrack_error_free(callers[started].err);
            break;
        }
    }
    atomic_store(&race->begins, true);
    for (unsigned i = 0; i < started; i++) {
        (void)pthread_join(callers[i].thread, NULL);
        toolrack_error_free(callers[i].err);
    }
    child_count(race->bench->child, RULE_PARALLEL, started);
}

static void tell_reports(struct child *child, const struct session *session, const char *path) {
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    char plugin[PLACE_ROOM];
    char some[65536];
    CLEANUP(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;
    while (fd >= 0 && text.length < REPORT_LENGTH_MAX &&
           (length = read(fd, some, sizeof some)) > 0) {
        buf_add(&text, some, (size_t)length);
    }
    if (text.failed || text.length == 0) {
        return;
    }
    const char *name = strrchr(place_plugin(session, plugin), '/') + 1;
    const char *at = text.data;
    for (;;) {
        CLEANUP(buf_finish) struct buf came = BUF_INIT;
        if (!tsan_next_report(&at, name, &came) || came.failed) {
            return;
        }
        child_find(child, RULE_PARALLEL, false, NULL, NULL, came.data);
    }
}

void step_race(struct child *child, struct session *session) {
    struct bench bench;
    CLEANUP(finish) struct race race = {.bench = &bench, .room = session->tool_count * SAMPLES_MAX};
    char path[PLACE_ROOM];
    char file[PLACE_ROOM + 16];
    uint32_t flags = 0;
    race.shots = calloc(race.room + 1, sizeof *race.shots);
    if (race.shots == NULL || !bench_open(&bench, child, session, true)) {
        return;
    }
    tsan_begin_reports(place_path(session, "race", path));
    (void)snprintf(file, sizeof file, "%s.%d", path, (int)getpid());
    for (size_t i = child_first(child); i < session->tool_count; i++) {
        if (session->tools[i].skipped == NULL && bench.tools[i] != NULL) {
            add_shots(&race, i);
        }
    }
    if (race.count == 0) {
        child_skip(child, RULE_PARALLEL, NULL, "no call of it can be made");
    } else if (!image_flags(&flags) || (flags & TR_THREAD_SAFE) == 0) {
        child_skip(child, RULE_PARALLEL, NULL, "it does not claim to be thread-safe");
    } else {
        call_together(&race);
        tell_reports(child, session, file);
    }
}
