#include "sheet.h"

#include <csv.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Bytes that are parsed between two looks at whether the call was cancelled. */
#define PIECE_SIZE ((size_t)256 << 10)

/* Digits that an integer may have to be one in JSON and in SQL without rounding. */
#define DIGITS_MAX 15u

/* The row that is being read. libcsv gives a cell after the other, and then the end of the row. */
struct reading {
    struct sheet *sheet;
    sqlite3 *database;
    sqlite3_stmt *insert; /* NULL: the first row has not been read */
    size_t cell;
    uint64_t line; /* of the rows, for messages */
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void fail(struct reading *reading, const char *format,
                                                       ...) {
    if (!reading->failed) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(reading->sheet->message, SHEET_MESSAGE_MAX, format, args);
        va_end(args);
        reading->failed = true;
    }
}

/* ------------------------------------------------------------ columns */

static bool name_taken(const struct sheet *sheet, const char *name) {
    return sheet_find(sheet, name) != SIZE_MAX;
}

/* Columns without a name, or with one that is taken, get one with a number. */
static void add_column(struct reading *reading, const char *name) {
    struct sheet *sheet = reading->sheet;
    char numbered[32];
    if (sheet->columns == SHEET_COLUMNS_MAX) {
        fail(reading, "there are more than %u columns", SHEET_COLUMNS_MAX);
        return;
    }
    if (name[0] == '\0') {
        (void)snprintf(numbered, sizeof numbered, "column_%zu", sheet->columns + 1);
        name = numbered;
    }
    char *made = strdup(name);
    for (unsigned number = 2; made != NULL && name_taken(sheet, made); number++) {
        free(made);
        if (asprintf(&made, "%s_%u", name, number) < 0) {
            made = NULL;
        }
    }
    if (made == NULL) {
        fail(reading, "out of memory");
        return;
    }
    sheet->types[sheet->columns] = sheet->keep_text ? SHEET_TEXT : SHEET_EMPTY;
    sheet->names[sheet->columns++] = made;
}

static void create_table(struct reading *reading) {
    const struct sheet *sheet = reading->sheet;
    struct buf create = BUF_INIT;
    struct buf insert = BUF_INIT;
    buf_printf(&create, "CREATE TABLE %c(", sheet->table);
    buf_printf(&insert, "INSERT INTO %c VALUES(", sheet->table);
    for (size_t i = 0; i < sheet->columns; i++) {
        buf_printf(&create, "%sc%zu TEXT", i > 0 ? "," : "", i);
        buf_add_text(&insert, i > 0 ? ",?" : "?");
    }
    buf_add_char(&create, ')');
    buf_add_char(&insert, ')');
    if (create.failed || insert.failed ||
        sqlite3_exec(reading->database, create.data, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(reading->database, insert.data, -1, &reading->insert, NULL) !=
                SQLITE_OK) {
        fail(reading, "%s", sqlite3_errmsg(reading->database));
    }
    buf_finish(&create);
    buf_finish(&insert);
}

/* ------------------------------------------------------------ cells */

static size_t count_digits(const char *at) {
    return strspn(at, "0123456789");
}

/* How long the part of a number before its decimals is, and how many digits it has; 0: it is none.
 * Digits are in groups of three or in no groups: "1.20" is no 120. */
static size_t whole_length(const char *cell, char thousands, size_t *ret_digits) {
    size_t at = count_digits(cell);
    *ret_digits = at;
    if (at == 0 || at > 3 || thousands == '\0' || cell[at] != thousands) {
        return at;
    }
    for (; cell[at] == thousands; at += 4) {
        if (count_digits(cell + at + 1) != 3) {
            return 0;
        }
        *ret_digits += 3;
    }
    return at;
}

/* A number as JSON writes it: a leading zero, as of postal codes, makes it text. */
static enum sheet_type type_of(const char *cell, size_t length, const struct sheet *sheet) {
    size_t at = cell[0] == '-' ? 1 : 0;
    size_t digits;
    size_t whole = whole_length(cell + at, sheet->thousands, &digits);
    if (whole == 0 || (digits > 1 && cell[at] == '0')) {
        return SHEET_TEXT;
    }
    at += whole;
    enum sheet_type type = digits <= DIGITS_MAX ? SHEET_INTEGER : SHEET_TEXT;
    if (cell[at] == sheet->decimal) {
        size_t decimals = count_digits(cell + at + 1);
        type = decimals > 0 ? SHEET_NUMBER : SHEET_TEXT;
        at += 1 + decimals;
    }
    if (type != SHEET_TEXT && (cell[at] == 'e' || cell[at] == 'E')) {
        at += cell[at + 1] == '-' || cell[at + 1] == '+' ? 2 : 1;
        size_t power = count_digits(cell + at);
        type = power > 0 && power <= 2 ? SHEET_NUMBER : SHEET_TEXT;
        at += power;
    }
    return at == length ? type : SHEET_TEXT;
}

static void widen(const struct reading *reading, size_t column, const char *cell, size_t length) {
    struct sheet *sheet = reading->sheet;
    enum sheet_type *type = &sheet->types[column];
    if (*type == SHEET_TEXT) {
        return;
    }
    enum sheet_type other = type_of(cell, length, sheet);
    *type = other > *type ? other : *type;
    if (other == SHEET_TEXT) {
        struct sheet_cell *odd = &sheet->odd_cells[column];
        odd->row = reading->line;
        utf8_copy(odd->text, sizeof odd->text, cell);
        utf8_make_line(odd->text);
    }
}

static void take_cell(void *bytes, size_t length, void *user) {
    struct reading *reading = user;
    struct sheet *sheet = reading->sheet;
    const char *cell = bytes == NULL ? "" : bytes;
    size_t column = reading->cell++;
    if (reading->failed) {
        return;
    }
    if (memchr(cell, '\0', length) != NULL) {
        fail(reading, "row %llu has a character U+0000", (unsigned long long)reading->line);
        return;
    }
    if (reading->insert == NULL) { /* the first row */
        add_column(reading, sheet->has_header ? cell : "");
        if (sheet->has_header) {
            return;
        }
        column = sheet->columns - 1;
    }
    if (column >= sheet->columns) {
        fail(reading, "row %llu has more cells than the %zu of the first row",
             (unsigned long long)reading->line, sheet->columns);
        return;
    }
    if (length > 0) {
        widen(reading, column, cell, length);
    }
}

/* Cells are bound as they come, but those of a first row that is no header: its table is not there
 * yet. So all are kept until the row ends. */
struct kept {
    struct reading *reading;
    struct buf cells;
    size_t ends[SHEET_COLUMNS_MAX];
    size_t count;
};

static void keep_cell(void *bytes, size_t length, void *user) {
    struct kept *kept = user;
    take_cell(bytes, length, kept->reading);
    if (kept->count < SHEET_COLUMNS_MAX) {
        buf_add(&kept->cells, bytes, bytes == NULL ? 0 : length);
        kept->ends[kept->count++] = kept->cells.length;
    }
}

/* An empty cell, and one that is missing at the end, is NULL. */
static void insert_row(struct kept *kept) {
    struct reading *reading = kept->reading;
    struct sheet *sheet = reading->sheet;
    size_t from = 0;
    (void)sqlite3_clear_bindings(reading->insert);
    for (size_t i = 0; i < kept->count; i++) {
        size_t length = kept->ends[i] - from;
        if (length > 0) {
            (void)sqlite3_bind_text64(reading->insert, (int)i + 1, kept->cells.data + from, length,
                                      SQLITE_STATIC, SQLITE_UTF8);
        }
        from = kept->ends[i];
    }
    int code = sqlite3_step(reading->insert);
    (void)sqlite3_reset(reading->insert);
    if (code != SQLITE_DONE) {
        fail(reading, "%s", sqlite3_errmsg(reading->database));
    } else if (++sheet->rows > SHEET_ROWS_MAX) {
        fail(reading, "there are more than %u rows", SHEET_ROWS_MAX);
    }
}

static void end_row(int end, void *user) {
    (void)end;
    struct kept *kept = user;
    struct reading *reading = kept->reading;
    bool header = reading->insert == NULL && reading->sheet->has_header;
    if (!reading->failed && reading->insert == NULL) {
        create_table(reading);
    }
    if (kept->cells.failed) {
        fail(reading, "out of memory");
    }
    if (!reading->failed && !header) {
        insert_row(kept);
    }
    buf_clear(&kept->cells);
    kept->count = 0;
    reading->cell = 0;
    reading->line++;
}

/* ------------------------------------------------------------ the whole text */

/* RFC 4180: white space is a part of a cell. */
static int no_space(unsigned char c) {
    (void)c;
    return 0;
}

/* The separator that is most often in the first line, outside of quotes. */
static char find_delimiter(const char *text, size_t length, char quote) {
    static const char candidates[] = ",;\t|";
    size_t counts[sizeof candidates] = {0};
    bool quoted = false;
    for (size_t i = 0; i < length && (quoted || (text[i] != '\n' && text[i] != '\r')); i++) {
        quoted = text[i] == quote ? !quoted : quoted;
        const char *found = quoted || text[i] == '\0' ? NULL : strchr(candidates, text[i]);
        if (found != NULL) {
            counts[found - candidates]++;
        }
    }
    size_t best = 0;
    for (size_t i = 1; candidates[i] != '\0'; i++) {
        best = counts[i] > counts[best] ? i : best;
    }
    return candidates[best];
}

static bool is_utf8(struct reading *reading, const char *text, size_t length) {
    if (length >= 2 && (memcmp(text, "\xff\xfe", 2) == 0 || memcmp(text, "\xfe\xff", 2) == 0)) {
        fail(reading, "is UTF-16; convert it to UTF-8");
        return false;
    }
    if (!utf8_valid(text, length)) {
        fail(reading, "is no UTF-8; convert it, such as from Windows-1252");
        return false;
    }
    return true;
}

static void parse(struct kept *kept, struct csv_parser *parser, const char *text, size_t length,
                  bool (*cancelled)(void *user), void *user) {
    struct reading *reading = kept->reading;
    for (size_t at = 0; at < length && !reading->failed;) {
        size_t piece = length - at < PIECE_SIZE ? length - at : PIECE_SIZE;
        size_t parsed = csv_parse(parser, text + at, piece, keep_cell, end_row, kept);
        if (parsed != piece) {
            fail(reading, "row %llu: %s", (unsigned long long)reading->line,
                 csv_error(parser) == CSV_EPARSE
                         ? "a quote inside of a cell; a cell with quotes is quoted, and each quote "
                           "in it doubled"
                         : csv_strerror(csv_error(parser)));
        }
        if (cancelled != NULL && cancelled(user)) {
            fail(reading, "cancelled");
        }
        at += piece;
    }
    if (!reading->failed && csv_fini(parser, keep_cell, end_row, kept) != 0) {
        fail(reading, "row %llu: a quoted cell has no end", (unsigned long long)reading->line);
    }
    if (!reading->failed && reading->sheet->columns == 0) {
        fail(reading, "is empty");
    }
}

bool sheet_load(struct sheet *sheet, sqlite3 *database, const char *text, size_t length,
                bool (*cancelled)(void *user), void *user) {
    struct csv_parser parser;
    struct reading reading = {.sheet = sheet, .database = database, .line = 1};
    struct kept kept = {.reading = &reading, .cells = BUF_INIT};
    if (!is_utf8(&reading, text, length)) {
        return false;
    }
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
        text += 3;
        length -= 3;
    }
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL) != 0) {
        fail(&reading, "out of memory");
        return false;
    }
    if (sheet->delimiter == '\0') {
        sheet->delimiter = find_delimiter(text, length, sheet->quote);
    }
    csv_set_delim(&parser, (unsigned char)sheet->delimiter);
    csv_set_quote(&parser, (unsigned char)sheet->quote);
    csv_set_space_func(&parser, no_space);
    (void)sqlite3_exec(database, "BEGIN", NULL, NULL, NULL);
    parse(&kept, &parser, text, length, cancelled, user);
    (void)sqlite3_exec(database, "COMMIT", NULL, NULL, NULL);
    csv_free(&parser);
    for (size_t i = 0; i < sheet->columns; i++) {
        sheet->types[i] = sheet->types[i] == SHEET_EMPTY ? SHEET_TEXT : sheet->types[i];
    }
    (void)sqlite3_finalize(reading.insert);
    buf_finish(&kept.cells);
    return !reading.failed;
}

void sheet_finish(struct sheet *sheet) {
    for (size_t i = 0; i < sheet->columns; i++) {
        free(sheet->names[i]);
    }
    sheet->columns = 0;
}

size_t sheet_find(const struct sheet *sheet, const char *name) {
    for (size_t i = 0; i < sheet->columns; i++) {
        if (strcmp(sheet->names[i], name) == 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

void sheet_list(const struct sheet *sheet, char *ret, size_t room) {
    size_t length = 0;
    ret[0] = '\0';
    for (size_t i = 0; i < sheet->columns; i++) {
        int more =
                snprintf(ret + length, room - length, "%s%s", i > 0 ? ", " : "", sheet->names[i]);
        if (more < 0 || (size_t)more >= room - length) {
            ret[utf8_cut(ret, strlen(ret))] = '\0';
            return;
        }
        length += (size_t)more;
    }
}

void sheet_add_column_of(const struct sheet *sheet, const char *table, size_t column,
                         struct buf *sql) {
    enum sheet_type type = sheet->types[column];
    if (type == SHEET_TEXT) {
        buf_printf(sql, "%sc%zu", table, column);
        return;
    }
    bool has_groups = sheet->thousands != '\0';
    bool has_comma = sheet->decimal == ',';
    buf_printf(sql, "CAST(%s%s%sc%zu", has_comma ? "replace(" : "", has_groups ? "replace(" : "",
               table, column);
    if (has_groups) { /* before the decimal comma becomes a point */
        buf_printf(sql, ",char(%d),'')", sheet->thousands);
    }
    buf_printf(sql, "%s AS %s)", has_comma ? ",',','.')" : "",
               type == SHEET_INTEGER ? "INTEGER" : "REAL");
}

void sheet_add_column(const struct sheet *sheet, size_t column, struct buf *sql) {
    sheet_add_column_of(sheet, (const char[]){sheet->table, '.', '\0'}, column, sql);
}
