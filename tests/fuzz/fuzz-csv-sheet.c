/* CSV as tables of the csv plugin: any text is read or refused with a message, each row is there,
 * and what is in a column of numbers is a number. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sheet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static int64_t ask(sqlite3 *database, const char *sql) {
    sqlite3_stmt *statement = NULL;
    require(sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK);
    require(sqlite3_step(statement) == SQLITE_ROW);
    int64_t number = sqlite3_column_int64(statement, 0);
    (void)sqlite3_finalize(statement);
    return number;
}

static void check(const struct sheet *sheet, sqlite3 *database) {
    require(sheet->columns > 0 && ask(database, "SELECT count(*) FROM l") == (int64_t)sheet->rows);
    for (size_t i = 0; i < sheet->columns && i < 8; i++) {
        struct buf sql = BUF_INIT;
        require(sheet->names[i][0] != '\0' && sheet_find(sheet, sheet->names[i]) == i);
        buf_add_text(&sql, "SELECT count(*) FROM l WHERE typeof(");
        sheet_add_column(sheet, i, &sql);
        buf_add_text(&sql, sheet->types[i] == SHEET_INTEGER  ? ") NOT IN ('integer','null')"
                           : sheet->types[i] == SHEET_NUMBER ? ") NOT IN ('real','null')"
                                                             : ") NOT IN ('text','null')");
        require(!sql.failed && ask(database, sql.data) == 0);
        buf_finish(&sql);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char delimiters[] = {'\0', ',', ';', '\t', 'a'};
    sqlite3 *database = NULL;
    if (size == 0) {
        return 0;
    }
    require(sqlite3_open(":memory:", &database) == SQLITE_OK);
    struct sheet sheet = {.table = 'l',
                          .delimiter = delimiters[data[0] % sizeof delimiters],
                          .quote = '"',
                          .decimal = data[0] % 7 == 0 ? ',' : '.',
                          .thousands = data[0] % 5 != 0   ? '\0'
                                       : data[0] % 7 == 0 ? '.'
                                                          : ',',
                          .has_header = data[0] % 2 == 0,
                          .keep_text = data[0] % 3 == 0};
    if (sheet_load(&sheet, database, (const char *)data + 1, size - 1, NULL, NULL)) {
        check(&sheet, database);
    } else {
        require(sheet.message[0] != '\0');
    }
    sheet_finish(&sheet);
    (void)sqlite3_close(database);
    return 0;
}
