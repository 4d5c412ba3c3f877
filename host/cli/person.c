#include "cli/person.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/ask.h"
#include "cli/output.h"
#include "cli/pager.h"
#include "cli/width.h"

/* `stop` is below 0 while no questions can be asked. */
static struct ask person = {.stop = -1};
static uint32_t call_deadline_ms; /* 0: not known */

/* Calls that run in parallel ask at one terminal. */
static pthread_mutex_t one_question = PTHREAD_MUTEX_INITIALIZER;
static uint64_t asked; /* questions */

/* One part in so many of a call's time is reserved for the tool after a question. */
#define ASK_RESERVE_PART 10u

/* A question ends a little before the call does, if the end of the call is known: the tool can then
 * still return a result, and the call need not wait for the person. */
static void begin_patience(void) {
    if (call_deadline_ms != 0) {
        uint64_t most_ns = (uint64_t)call_deadline_ms * CLOCK_NS_PER_MS;
        person.deadline_ns = clock_now_ns() + most_ns - most_ns / ASK_RESERVE_PART;
    }
}

bool person_begin(const struct cli *cli) {
    bool begun =
            !cli->options.json && ask_possible() && ask_init(&person, STDIN_FILENO, STDERR_FILENO);
    person.pager = isatty(STDOUT_FILENO) == 1 ? pager_command() : NULL;
    return begun;
}

void person_finish(void) {
    ask_finish(&person);
}

void person_set_deadline(uint32_t call_ms) {
    call_deadline_ms = call_ms;
    begin_patience();
}

void person_stop(void) {
    ask_stop(&person);
}

bool person_hold(uint64_t *ret_asked) {
    if (pthread_mutex_trylock(&one_question) != 0) {
        return false;
    }
    *ret_asked = asked;
    return true;
}

void person_release(void) {
    (void)pthread_mutex_unlock(&one_question);
}

/* One question at a time, and no line is written into it. */
static void begin_question(void) {
    (void)pthread_mutex_lock(&one_question);
    output_hold_notes(NULL);
    asked++;
}

static void end_question(void) {
    output_release_notes();
    (void)pthread_mutex_unlock(&one_question);
}

bool person_agrees(const char *question) {
    CLEANUP(buf_finish) struct buf line = BUF_INIT;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    CLEANUP(buf_finish) struct buf answer = BUF_INIT;
    text_add_line(&line, question, strlen(question));
    begin_question();
    struct ask patient = person;
    patient.deadline_ns = 0;
    ask_forget_typed(&patient);
    if (!line.failed) {
        width_wrap(&text, "", "  ", line.data, line.length, ask_columns(&patient), false);
    }
    buf_add_text(&text, "[y]es, [N]o: ");
    bool agrees = !line.failed && !text.failed && !ask_is_stopped(&patient) &&
                  ask_line(&patient, &text, &answer) && ask_is_yes(answer.data);
    end_question();
    return agrees;
}

int person_ask(void *user, const char *message, const char *schema, char **ret_content) {
    CLEANUP(freep) char *content = NULL;
    begin_question();
    int answer = ask_person(&person, user, message, schema, &content);
    end_question();
    if (content != NULL) {
        *ret_content = toolrack_alloc(strlen(content) + 1);
        if (*ret_content == NULL) {
            return TOOLRACK_ANSWER_DISMISSED; /* out of memory: what was filled in is lost */
        }
        (void)strcpy(*ret_content, content);
    }
    return answer;
}

/* On a thread of the host, before the tool runs. The call's time begins with the answer. */
int cli_approve(void *user, const struct toolrack_approval_request *request) {
    (void)user;
    begin_question();
    struct ask patient = person;
    patient.deadline_ns = 0;
    cli_who(request->who, request->who_room);
    int answer = ask_approval(&patient, request);
    begin_patience();
    end_question();
    return answer;
}
