#include "cli/template.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

/* Marks within marks. */
#define MARKS_MAX      8
/* Open folders while one is removed. */
#define FOLDERS_MAX    8
#define FILE_MODE      0666
#define PROGRAM_MODE   0777
#define TEMPLATE_NAME  "hello"
#define TEMPLATE_YEAR  "@year@"
#define YEAR_TEXT_ROOM 16

/* ------------------------------------------------------------------- texts */

bool template_has_language(const char *language) {
    for (size_t i = 0; i < template_file_count; i++) {
        if (strcmp(template_files[i].set, language) == 0) {
            return strcmp(language, "common") != 0;
        }
    }
    return false;
}

bool template_applies(const struct template_choice *choice, const struct template_file *file) {
    return strcmp(file->set, "common") == 0 || strcmp(file->set, choice->language) == 0;
}

void template_prefix(const char *id, char ret[static TEMPLATE_PREFIX_MAX + 1]) {
    const char *last = strrchr(id, '.');
    const char *from = last != NULL && ascii_is_word_start(last[1]) ? last + 1 : id;
    size_t length = 0;
    for (; length < TEMPLATE_PREFIX_MAX && from[length] != '\0'; length++) {
        ret[length] = ascii_is_word(from[length]) ? from[length] : '_';
    }
    ret[length] = '\0';
}

static void add_year(struct buf *out) {
    struct tm now;
    time_t seconds = time(NULL);
    char year[YEAR_TEXT_ROOM] = "";
    if (localtime_r(&seconds, &now) != NULL) {
        (void)strftime(year, sizeof year, "%Y", &now);
    }
    buf_add_text(out, year);
}

/* Append a piece of a text with its names exchanged. */
static void add_named(const struct template_choice *choice, const char *text, size_t length,
                      struct buf *out) {
    char prefix[TEMPLATE_PREFIX_MAX + 1];
    const char *end = text + length;
    const size_t name_length = strlen(TEMPLATE_NAME);
    const size_t year_length = strlen(TEMPLATE_YEAR);
    template_prefix(choice->id, prefix);
    while (text < end) {
        size_t left = (size_t)(end - text);
        if (left >= name_length && memcmp(text, TEMPLATE_NAME, name_length) == 0) {
            bool begins_identifier = left > name_length && text[name_length] == '_';
            buf_add_text(out, begins_identifier ? prefix : choice->id);
            text += name_length;
        } else if (left >= year_length && memcmp(text, TEMPLATE_YEAR, year_length) == 0) {
            add_year(out);
            text += year_length;
        } else {
            buf_add_char(out, *text++);
        }
    }
}

static bool word_applies(const struct template_choice *choice, const char *word, size_t length) {
    const bool is_rust = strcmp(choice->language, "rust") == 0;
    const struct {
        const char *word;
        bool applies;
    } words[] = {{choice->language, true},
                 {"meson", !is_rust},
                 {"typed", !choice->has_json_tool},
                 {"json", choice->has_json_tool},
                 {"resources", choice->has_resources}};
    for (size_t i = 0; i < ARRAY_LENGTH(words); i++) {
        if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0) {
            return words[i].applies;
        }
    }
    return false;
}

/* The marks around a line. */
struct marks {
    unsigned depth;
    unsigned left_out; /* how many of them leave the line out */
    bool applies[MARKS_MAX];
};

/* Whether the line is a mark, which is applied then. */
static bool take_mark(struct marks *marks, const struct template_choice *choice, const char *line,
                      size_t length) {
    static const char begin[] = "@if ";
    const char *found = memmem(line, length, begin, strlen(begin));
    bool is_else = memmem(line, length, "@else@", strlen("@else@")) != NULL;
    if (found != NULL && marks->depth < MARKS_MAX) {
        const char *word = found + strlen(begin);
        const char *end = memchr(word, '@', (size_t)(line + length - word));
        bool applies = end != NULL && word_applies(choice, word, (size_t)(end - word));
        marks->applies[marks->depth++] = applies;
        marks->left_out += !applies;
        return true;
    }
    if (marks->depth == 0 || (!is_else && memmem(line, length, "@end@", strlen("@end@")) == NULL)) {
        return false;
    }
    bool *applies = &marks->applies[marks->depth - 1];
    marks->left_out -= !*applies;
    if (is_else) {
        *applies = !*applies;
        marks->left_out += !*applies;
    } else {
        marks->depth--;
    }
    return true;
}

void template_path(const struct template_choice *choice, const struct template_file *file,
                   struct buf *out) {
    add_named(choice, file->path, strlen(file->path), out);
}

void template_text(const struct template_choice *choice, const struct template_file *file,
                   struct buf *out) {
    if (file->is_verbatim) {
        buf_add(out, file->data, file->size);
        return;
    }
    struct marks marks = {0};
    const char *end = file->data + file->size;
    for (const char *line = file->data; line < end;) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        size_t length = (size_t)((feed != NULL ? feed + 1 : end) - line);
        if (!take_mark(&marks, choice, line, length) && marks.left_out == 0) {
            add_named(choice, line, length, out);
        }
        line += length;
    }
}

/* ------------------------------------------------------------------- files */

static int fail(struct toolrack_error *err, const char *path, int number) {
    return error_set(err, TOOLRACK_E_IO, "cannot write %s: %s", path, strerror(number));
}

/* Make the folders of a path below another folder. 0, or a negative errno. */
static int make_parents(int folder, char *path) {
    for (char *at = strchr(path, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        int made = mkdirat(folder, path, PROGRAM_MODE) == 0 || errno == EEXIST ? 0 : -errno;
        *at = '/';
        if (made < 0) {
            return made;
        }
    }
    return 0;
}

static int write_file(int folder, char *path, const struct buf *text, bool is_program) {
    int code = make_parents(folder, path);
    if (code < 0) {
        return code;
    }
    CLEANUP(closep)
    int fd = openat(folder, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                    is_program ? PROGRAM_MODE : FILE_MODE);
    return fd < 0 ? -errno : write_all(fd, text->data, text->length);
}

static int write_files(const struct template_choice *choice, int folder,
                       struct toolrack_error *err) {
    for (size_t i = 0; i < template_file_count; i++) {
        CLEANUP(buf_finish) struct buf path = BUF_INIT;
        CLEANUP(buf_finish) struct buf text = BUF_INIT;
        if (!template_applies(choice, &template_files[i])) {
            continue;
        }
        template_path(choice, &template_files[i], &path);
        template_text(choice, &template_files[i], &text);
        if (path.failed || text.failed) {
            return error_oom(err);
        }
        int code = write_file(folder, path.data, &text, template_files[i].is_program);
        if (code < 0) {
            return fail(err, path.data, -code);
        }
    }
    return 0;
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *place) {
    (void)status;
    (void)kind;
    (void)place;
    (void)remove(path);
    return 0;
}

/* A folder that was made to be private gets the mode of any other. */
static int share_folder(int folder) {
    mode_t mask = umask(0);
    (void)umask(mask);
    return fchmod(folder, PROGRAM_MODE & ~mask) < 0 ? -errno : 0;
}

int template_write(const struct template_choice *choice, struct toolrack_error *err) {
    CLEANUP(buf_finish) struct buf made = BUF_INIT;
    buf_printf(&made, ".%s.toolrack-XXXXXX", choice->id);
    if (made.failed) {
        return error_oom(err);
    }
    if (mkdtemp(made.data) == NULL) {
        return fail(err, choice->id, errno);
    }
    CLEANUP(closep)
    int folder = open(made.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int code = folder < 0 ? fail(err, choice->id, errno) : write_files(choice, folder, err);
    int shared = code == 0 ? share_folder(folder) : 0;
    if (shared < 0) {
        code = fail(err, choice->id, -shared);
    }
    if (code == 0 && rename(made.data, choice->id) < 0) {
        /* An empty folder is replaced. */
        bool exists = errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR;
        code = exists ? error_set(err, TOOLRACK_E_EXISTS,
                                  "%s exists already and is not an empty folder; choose another "
                                  "name, or move it away",
                                  choice->id)
                      : fail(err, choice->id, errno);
    }
    if (code < 0) {
        (void)nftw(made.data, remove_one, FOLDERS_MAX, FTW_DEPTH | FTW_PHYS);
    }
    return code;
}
