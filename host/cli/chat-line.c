#include "cli/chat-line.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <yyjson.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/own-folder.h"
#include "base/utf8.h"
#include "cli/libedit.h"
#include "cli/output.h"
#include "cli/width.h"

CLEANUP_DEFINE(yyjson_doc, yyjson_doc_free)

#define HISTORY_FILE "chat-history"
#define HISTORY_NEW  ".chat-history"

/* The terminal marks what is pasted, so that its line ends do not end the message. */
#define PASTE_ON    "\033[?2004h"
#define PASTE_OFF   "\033[?2004l"
#define PASTE_BEGIN "\033[200~"
#define PASTE_END   "\033[201~"

/* Words that are shown below the prompt. */
#define SHOWN_MAX 100u

struct chat_line {
    struct cli *cli;
    const struct chat_words *words;
    EditLine *el;
    History *history;
    FILE *out; /* standard error, with a buffer: libedit writes single characters */
    int dir;   /* of the history; -1: none */
    locale_t locale;
    locale_t before;
    const char *prompt;
    bool is_cleared;
    bool is_plain;  /* the terminal knows no sequences */
    size_t columns; /* for which libedit has broken the line; 0: any number */
};

/* ------------------------------------------------------- signals, and notes */

static int wake = -1; /* an eventfd: a signal came, or a note */
static volatile sig_atomic_t resized;
static volatile sig_atomic_t ended_by;

static void take_signal(int number) {
    int error = errno;
    if (number == SIGWINCH) {
        resized = 1;
    } else {
        ended_by = number;
    }
    (void)eventfd_write(wake, 1);
    errno = error;
}

static atomic_bool noted;

/* On any thread. */
static void take_note(void) {
    atomic_store(&noted, true);
    (void)eventfd_write(wake, 1);
}

static const int signals[] = {SIGWINCH, SIGTERM, SIGHUP};

static void take_signals(struct sigaction before[]) {
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        struct sigaction action = {.sa_handler = take_signal, .sa_flags = SA_RESTART};
        (void)sigaction(signals[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) {
            (void)sigaction(signals[i], &action, NULL);
        }
    }
}

static void give_back_signals(const struct sigaction before[]) {
    for (size_t i = 0; i < ARRAY_LENGTH(signals); i++) {
        (void)sigaction(signals[i], &before[i], NULL);
    }
}

/* ----------------------------------------------------------------- reading */

static struct chat_line *line_of(EditLine *el) {
    void *line = NULL;
    (void)libedit.el_get(el, EL_CLIENTDATA, &line);
    return line;
}

/* Rows from the prompt to the cursor. A terminal that breaks lines anew has broken them at the
 * columns that there are now, another one shows them as libedit has broken them before. */
static size_t rows_above(EditLine *el, size_t columns_now) {
    const struct chat_line *line = line_of(el);
    const LineInfo *info = libedit.el_line(el);
    const size_t columns = output_reflows() ? columns_now : line->columns;
    size_t width = strlen(line->prompt);
    size_t rows = 0;
    for (const char *at = info->buffer; columns > 0 && at < info->cursor;) {
        size_t length = 1;
        while (at + length < info->cursor && ((unsigned char)at[length] & 0xc0) == 0x80) {
            length++;
        }
        bool is_control = (unsigned char)at[0] < ' ' || at[0] == 0x7f; /* shown as "^I" */
        if (at[0] == '\n') {
            rows += 1 + (width > 0 ? (width - 1) / columns : 0);
            width = 0;
        } else {
            width += is_control ? 2 : width_of(at, length);
        }
        at += length;
    }
    return columns > 0 ? rows + width / columns : 0;
}

/* Erase the line, from the prompt on. */
static void erase(EditLine *el, size_t columns) {
    const struct chat_line *line = line_of(el);
    const size_t rows = rows_above(el, columns);
    (void)fputs(line->is_plain ? "\r" : "\r\033[J", line->out);
    for (size_t i = 0; i < rows && !line->is_plain; i++) {
        (void)fputs("\033[A\033[2K", line->out);
    }
}

/* The terminal has another width: draw the line anew, in the place of what is there of it. */
static void draw_again(EditLine *el) {
    struct chat_line *line = line_of(el);
    const size_t columns = output_width();
    erase(el, columns);
    libedit.el_resize(el);
    line->columns = columns;
    (void)libedit.el_set(el, EL_REFRESH);
}

/* Write the notes that came while the line stands, above it. */
static void show_notes(EditLine *el) {
    const struct chat_line *line = line_of(el);
    erase(el, line->columns);
    (void)fputs(line->is_plain ? "\n" : "", line->out);
    (void)fflush(line->out);
    output_release_notes();
    output_hold_notes(take_note);
    (void)libedit.el_set(el, EL_REFRESH);
}

/* A byte, when there is one. @return 1; 0: the end; -1: a signal ends the chat */
static int read_byte(EditLine *el, unsigned char *ret) {
    for (;;) {
        struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
                               {.fd = wake, .events = POLLIN}};
        eventfd_t count;
        if (poll(fds, 2, -1) < 0 && errno != EINTR) {
            return 0;
        }
        if (fds[1].revents != 0) {
            (void)eventfd_read(wake, &count);
        }
        if (ended_by != 0) {
            return -1;
        }
        if (resized != 0) {
            resized = 0;
            draw_again(el);
        }
        if (atomic_exchange(&noted, false)) {
            show_notes(el);
        }
        if (fds[0].revents != 0) {
            ssize_t got = read(STDIN_FILENO, ret, 1);
            if (got >= 0 || (errno != EINTR && errno != EAGAIN)) {
                return got > 0 ? 1 : 0;
            }
        }
    }
}

/* For EL_GETCFN: a character of UTF-8, whatever the locale of the process is. */
static int read_char(EditLine *el, wchar_t *ret) {
    char bytes[4];
    uint32_t point;
    size_t length = 0;
    size_t wanted = 1;
    while (length < wanted) {
        unsigned char byte;
        int got = read_byte(el, &byte);
        if (got <= 0) {
            return got;
        }
        if (length == 0) {
            wanted = byte < 0xc2 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : byte < 0xf5 ? 4 : 1;
        } else if ((byte & 0xc0u) != 0x80u) {
            break; /* not of this character: both are dropped */
        }
        bytes[length++] = (char)byte;
    }
    *ret = utf8_valid(bytes, length) && utf8_decode(bytes, length, &point) == length
                   ? (wchar_t)point
                   : L'\ufffd';
    return 1;
}

/* ---------------------------------------------------------- what keys do */

static unsigned char clear(EditLine *el, int key) {
    struct chat_line *line = line_of(el);
    (void)key;
    line->is_cleared = true;
    (void)fputs("^C\n", line->out);
    return CC_NEWLINE;
}

/* The job stops, with the terminal as it was. */
static unsigned char suspend(EditLine *el, int key) {
    (void)key;
    (void)libedit.el_set(el, EL_PREP_TERM, 0);
    (void)raise(SIGTSTP);
    (void)libedit.el_set(el, EL_PREP_TERM, 1);
    return CC_REDISPLAY;
}

/* Take a pasted text as it is, with its line ends, but without other control characters. */
static unsigned char paste(EditLine *el, int key) {
    static const char end[] = PASTE_END;
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    unsigned char byte;
    (void)key;
    while (text.length < CHAT_MESSAGE_MAX && read_byte(el, &byte) > 0) {
        buf_add_char(&text, byte == '\r' ? '\n' : (char)byte);
        size_t length = text.length;
        if (length >= sizeof end - 1 &&
            memcmp(text.data + length - (sizeof end - 1), end, sizeof end - 1) == 0) {
            buf_truncate(&text, length - (sizeof end - 1));
            break;
        }
    }
    if (text.failed || text.length == 0 || !utf8_valid(text.data, text.length)) {
        return CC_REFRESH_BEEP;
    }
    size_t kept = 0;
    for (size_t i = 0; i < text.length; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if ((c >= ' ' && c != 0x7f) || c == '\n' || c == '\t') {
            text.data[kept++] = (char)c;
        }
    }
    buf_truncate(&text, kept);
    return kept == 0 || libedit.el_insertstr(el, text.data) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
}

/* The words that may stand where one was begun. */
struct matches {
    const char *begun;
    size_t length;
    struct buf words;  /* one a line */
    struct buf common; /* the beginning of all of them */
    size_t count;
};

static void take_word(void *taker, const char *word) {
    struct matches *matches = taker;
    if (strncmp(word, matches->begun, matches->length) != 0) {
        return;
    }
    if (matches->count++ == 0) {
        buf_add_text(&matches->common, word);
    }
    size_t same = 0;
    while (same < matches->common.length && matches->common.data[same] == word[same]) {
        same++;
    }
    if (!matches->common.failed) {
        buf_truncate(&matches->common, same);
    }
    if (matches->count <= SHOWN_MAX) {
        buf_printf(&matches->words, "  %s\n", word);
    }
}

static unsigned char complete(EditLine *el, int key) {
    struct chat_line *line = line_of(el);
    const LineInfo *info = libedit.el_line(el);
    CLEANUP(buf_finish) struct buf text = BUF_INIT;
    struct matches matches = {0};
    unsigned char done = CC_ERROR;
    (void)key;
    buf_add(&text, info->buffer, (size_t)(info->cursor - info->buffer));
    if (text.failed) {
        return CC_ERROR;
    }
    const char *space = memrchr(text.data, ' ', text.length);
    matches.begun = space != NULL ? space + 1 : text.data;
    matches.length = strlen(matches.begun);
    line->words->complete(line->words->user, text.data, (size_t)(matches.begun - text.data),
                          take_word, &matches);
    if (matches.count == 1) {
        buf_add_char(&matches.common, ' ');
    }
    if (matches.words.failed || matches.common.failed) {
        done = CC_ERROR;
    } else if (matches.count > 0 && matches.common.length > matches.length) {
        done = libedit.el_insertstr(el, matches.common.data + matches.length) == 0 ? CC_REFRESH
                                                                                   : CC_ERROR;
    } else if (matches.count > 1) {
        if (matches.count > SHOWN_MAX) {
            buf_printf(&matches.words, "  %zu more\n", matches.count - SHOWN_MAX);
        }
        (void)fprintf(line->out, "\n%s", matches.words.failed ? "" : matches.words.data);
        done = CC_REDISPLAY;
    }
    buf_finish(&matches.words);
    buf_finish(&matches.common);
    return done;
}

static char *prompt_of(EditLine *el) {
    return (char *)(uintptr_t)line_of(el)->prompt;
}

/* ----------------------------------------------------------------- history */

static void enter(struct chat_line *line, const char *text) {
    HistEvent event;
    (void)libedit.history(line->history, &event, H_ENTER, text);
}

/* Read the last lines of the file. @return how many bytes it has */
static size_t load(struct chat_line *line, int fd) {
    off_t size = lseek(fd, 0, SEEK_END);
    off_t from = size > (off_t)CHAT_HISTORY_MAX ? size - (off_t)CHAT_HISTORY_MAX : 0;
    size_t room = size > 0 ? (size_t)(size - from) : 0;
    CLEANUP(freep) char *text = malloc(room + 1);
    ssize_t got = text != NULL && room > 0 ? pread(fd, text, room, from) : 0;
    size_t length = got > 0 ? (size_t)got : 0;
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        size_t next = end != NULL ? (size_t)(end - text) + 1 : length;
        CLEANUP(yyjson_doc_freep) yyjson_doc *doc = yyjson_read(text + at, next - at, 0);
        const char *entry = yyjson_get_str(yyjson_doc_get_root(doc));
        if (entry != NULL) { /* the first may be a part of a line */
            enter(line, entry);
        }
        at = next;
    }
    return size > 0 ? (size_t)size : 0;
}

static bool write_entry(int fd, const char *text) {
    CLEANUP(buf_finish) struct buf out = BUF_INIT;
    buf_add_json_string(&out, text, strlen(text));
    buf_add_char(&out, '\n');
    return !out.failed && write_all(fd, out.data, out.length) == 0;
}

/* Keep what is remembered in place of a file that has become long. */
static void shorten(struct chat_line *line) {
    HistEvent event;
    bool is_whole = true;
    (void)unlinkat(line->dir, HISTORY_NEW, 0); /* of a process that was killed */
    CLEANUP(closep)
    int fd = openat(line->dir, HISTORY_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    if (fd < 0) {
        return;
    }
    for (int got = libedit.history(line->history, &event, H_LAST); is_whole && got >= 0;
         got = libedit.history(line->history, &event, H_PREV)) {
        is_whole = write_entry(fd, event.str);
    }
    if (!is_whole || renameat(line->dir, HISTORY_NEW, line->dir, HISTORY_FILE) < 0) {
        (void)unlinkat(line->dir, HISTORY_NEW, 0);
    }
}

static void open_history(struct chat_line *line, const char *state_dir) {
    CLEANUP(closep) int fd = own_file_open(state_dir, HISTORY_FILE, O_RDWR | O_CREAT | O_APPEND);
    if (fd < 0) {
        output_note("what is typed is not remembered: cannot open %s/" HISTORY_FILE ": %s",
                    state_dir, own_file_words(fd));
        return;
    }
    line->dir = open(state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (load(line, fd) > CHAT_HISTORY_MAX && line->dir >= 0) {
        shorten(line);
    }
}

static void remember(struct chat_line *line, const struct buf *message) {
    CLEANUP(freep) char *text = strdup(message->data);
    if (text == NULL || text[0] == ' ' || text[0] == '\0' ||
        !line->words->mask(line->words->user, text)) {
        return;
    }
    enter(line, text);
    CLEANUP(closep)
    int fd = line->dir >= 0 ? openat(line->dir, HISTORY_FILE,
                                     O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
                            : -1;
    if (fd >= 0) {
        (void)write_entry(fd, text);
    }
}

/* -------------------------------------------------------------------- life */

static bool set_up(struct chat_line *line) {
    HistEvent event;
    EditLine *el = line->el;
    return libedit.history(line->history, &event, H_SETSIZE, CHAT_LINES_MAX) == 0 &&
           libedit.history(line->history, &event, H_SETUNIQUE, 1) == 0 &&
           libedit.el_set(el, EL_CLIENTDATA, line) == 0 &&
           libedit.el_set(el, EL_EDITOR, "emacs") == 0 &&
           libedit.el_set(el, EL_HIST, libedit.history, line->history) == 0 &&
           libedit.el_set(el, EL_PROMPT, prompt_of) == 0 &&
           libedit.el_set(el, EL_GETCFN, read_char) == 0 &&
           /* Ctrl-C is a key like any other: no signal can come between two of them. */
           libedit.el_set(el, EL_SETTY, "-d", "-isig", NULL) == 0 &&
           libedit.el_set(el, EL_ADDFN, "chat-clear", "Drop what was typed", clear) == 0 &&
           libedit.el_set(el, EL_ADDFN, "chat-suspend", "Stop the job", suspend) == 0 &&
           libedit.el_set(el, EL_ADDFN, "chat-paste", "Insert what is pasted", paste) == 0 &&
           libedit.el_set(el, EL_ADDFN, "chat-complete", "Complete a word", complete) == 0 &&
           libedit.el_set(el, EL_BIND, "^C", "chat-clear", NULL) == 0 &&
           libedit.el_set(el, EL_BIND, "^Z", "chat-suspend", NULL) == 0 &&
           libedit.el_set(el, EL_BIND, "^R", "em-inc-search-prev", NULL) == 0 &&
           libedit.el_set(el, EL_BIND, "^I", "chat-complete", NULL) == 0 &&
           libedit.el_set(el, EL_BIND, PASTE_BEGIN, "chat-paste", NULL) == 0;
}

void chat_line_close(struct chat_line *line) {
    if (line == NULL) {
        return;
    }
    if (line->el != NULL) {
        libedit.el_end(line->el);
    }
    if (line->history != NULL) {
        libedit.history_end(line->history);
    }
    if (line->out != NULL) {
        (void)fclose(line->out);
    }
    if (line->locale != (locale_t)0) {
        (void)uselocale(line->before);
        freelocale(line->locale);
    }
    closep(&line->dir);
    closep(&wake);
    free(line);
}

static FILE *open_out(void) {
    CLEANUP(closep) int fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    FILE *out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (out != NULL) {
        fd = -1;
    }
    return out;
}

int chat_line_open(struct cli *cli, const char *state_dir, const struct chat_words *words,
                   struct chat_line **ret) {
    const char *term = getenv("TERM");
    int code = libedit_load(cli->own);
    if (code < 0) {
        return code;
    }
    struct chat_line *line = calloc(1, sizeof *line);
    if (line == NULL) {
        return cli_oom(cli);
    }
    *line = (struct chat_line){.cli = cli, .words = words, .dir = -1, .prompt = "> "};
    line->is_plain = term == NULL || term[0] == '\0' || strcmp(term, "dumb") == 0;
    /* libedit decodes and measures by the locale of the thread. */
    line->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    line->before = line->locale != (locale_t)0 ? uselocale(line->locale) : (locale_t)0;
    line->out = open_out();
    wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    line->history = libedit.history_init();
    line->el = line->out != NULL ? libedit.el_init("toolrack", stdin, line->out, line->out) : NULL;
    if (line->el == NULL || line->history == NULL || wake < 0 || !set_up(line)) {
        chat_line_close(line);
        return cli_error(cli, TOOLRACK_E_IO,
                         "the terminal cannot be used for a chat; give the task on the command "
                         "line");
    }
    if (state_dir != NULL) {
        open_history(line, state_dir);
    }
    *ret = line;
    return 0;
}

/* ----------------------------------------------------------------- messages */

/* One line, with its end, added to the message. */
static enum chat_read read_line(struct chat_line *line, struct buf *ret) {
    struct sigaction before[ARRAY_LENGTH(signals)];
    int count = 0;
    line->is_cleared = false;
    libedit.el_resize(line->el);
    line->columns = output_width();
    take_signals(before);
    if (!line->is_plain) {
        (void)fputs(PASTE_ON, line->out);
    }
    /* Else the prompt would be there before the keys are. */
    (void)libedit.el_set(line->el, EL_PREP_TERM, 1);
    output_hold_notes(take_note);
    const char *text = libedit.el_gets(line->el, &count);
    if (text != NULL) {
        buf_add(ret, text, (size_t)count);
    }
    if (!line->is_plain) {
        (void)fputs(PASTE_OFF, line->out);
    }
    /* An empty line that is dropped is none for libedit either. */
    const bool has_ended = text == NULL && !line->is_cleared;
    if (has_ended) {
        (void)fputs("\n", line->out);
    }
    (void)fflush(line->out);
    output_release_notes();
    give_back_signals(before);
    if (ended_by != 0) {
        line->cli->signal = ended_by;
        return CHAT_STOPPED;
    }
    return has_ended ? CHAT_ENDED : line->is_cleared ? CHAT_CLEARED : CHAT_READ;
}

enum chat_read chat_line_read(struct chat_line *line, struct buf *ret) {
    enum chat_read read;
    bool goes_on = true;
    buf_clear(ret);
    line->prompt = "> ";
    while (goes_on) {
        read = read_line(line, ret);
        if (read != CHAT_READ) {
            return read;
        }
        if (ret->failed) {
            return CHAT_NO_MEMORY;
        }
        if (ret->length > 0 && ret->data[ret->length - 1] == '\n') {
            buf_truncate(ret, ret->length - 1);
        }
        goes_on = ret->length > 0 && ret->data[ret->length - 1] == '\\';
        if (goes_on) {
            ret->data[ret->length - 1] = '\n';
            line->prompt = "... ";
        }
        if (ret->length > CHAT_MESSAGE_MAX) {
            return CHAT_TOO_LONG;
        }
    }
    buf_add(ret, "", 0); /* an empty message is a string too */
    if (ret->failed) {
        return CHAT_NO_MEMORY;
    }
    remember(line, ret);
    return CHAT_READ;
}
