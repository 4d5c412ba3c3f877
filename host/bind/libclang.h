/* libclang.h - libclang, loaded when a header is read.
 *
 * Its package with headers is hundreds of megabytes large, and its C interface has been the same
 * since version 3, so what is used of it is declared here. With it a header is read as compilers
 * read it; the program clang, which prints its tree as JSON, would give neither sizes nor offsets.
 */
#pragma once

#include "base/error.h"

typedef void *clang_index;
typedef void *clang_unit;
typedef void *clang_file;
typedef void *clang_diagnostic;

struct clang_string {
    const void *data;
    unsigned flags;
};

struct clang_cursor {
    int kind;
    int data;
    const void *more[3];
};

struct clang_type {
    int kind;
    void *data[2];
};

struct clang_location {
    const void *data[2];
    unsigned number;
};

enum clang_cursor_kind {
    CLANG_STRUCT = 2,
    CLANG_UNION = 3,
    CLANG_ENUM = 5,
    CLANG_FIELD = 6,
    CLANG_ENUM_NAME = 7,
    CLANG_FUNCTION = 8,
    CLANG_LINKAGE = 23
};

enum clang_type_kind {
    CLANG_TYPE_VOID = 2,
    CLANG_TYPE_BOOL = 3,
    CLANG_TYPE_CHAR_U = 4,
    CLANG_TYPE_UCHAR = 5,
    CLANG_TYPE_USHORT = 8,
    CLANG_TYPE_ULONG_LONG = 11,
    CLANG_TYPE_CHAR_S = 13,
    CLANG_TYPE_SCHAR = 14,
    CLANG_TYPE_WCHAR = 15,
    CLANG_TYPE_SHORT = 16,
    CLANG_TYPE_LONG_LONG = 19,
    CLANG_TYPE_FLOAT = 21,
    CLANG_TYPE_DOUBLE = 22,
    CLANG_TYPE_POINTER = 101,
    CLANG_TYPE_RECORD = 105,
    CLANG_TYPE_ENUM = 106,
    CLANG_TYPE_ARRAY = 112,
    CLANG_TYPE_OPEN_ARRAY = 114
};

enum clang_visit { CLANG_BREAK = 0, CLANG_CONTINUE = 1, CLANG_RECURSE = 2 };
typedef enum clang_visit (*clang_visitor)(struct clang_cursor cursor, struct clang_cursor parent,
                                          void *user);

/* From this severity on a diagnostic is an error. */
#define CLANG_ERROR 3

/** X(result, name, arguments), for clang_<name>. */
#define LIBCLANG_FUNCTIONS(X)                                                                   \
    X(clang_index, createIndex, (int excludes, int shows))                                      \
    X(void, disposeIndex, (clang_index index))                                                  \
    X(int, parseTranslationUnit2,                                                               \
      (clang_index index, const char *file, const char *const *arguments, int count,            \
       void *unsaved, unsigned unsaved_count, unsigned options, clang_unit *ret))               \
    X(void, disposeTranslationUnit, (clang_unit unit))                                          \
    X(struct clang_cursor, getTranslationUnitCursor, (clang_unit unit))                         \
    X(unsigned, getNumDiagnostics, (clang_unit unit))                                           \
    X(clang_diagnostic, getDiagnostic, (clang_unit unit, unsigned index))                       \
    X(int, getDiagnosticSeverity, (clang_diagnostic diagnostic))                                \
    X(struct clang_string, formatDiagnostic, (clang_diagnostic diagnostic, unsigned options))   \
    X(void, disposeDiagnostic, (clang_diagnostic diagnostic))                                   \
    X(unsigned, visitChildren, (struct clang_cursor cursor, clang_visitor visitor, void *user)) \
    X(int, getCursorKind, (struct clang_cursor cursor))                                         \
    X(struct clang_string, getCursorSpelling, (struct clang_cursor cursor))                     \
    X(struct clang_type, getCursorType, (struct clang_cursor cursor))                           \
    X(struct clang_location, getCursorLocation, (struct clang_cursor cursor))                   \
    X(void, getExpansionLocation,                                                               \
      (struct clang_location location, clang_file * file, unsigned *line, unsigned *column,     \
       unsigned *offset))                                                                       \
    X(struct clang_string, getFileName, (clang_file file))                                      \
    X(const char *, getCString, (struct clang_string string))                                   \
    X(void, disposeString, (struct clang_string string))                                        \
    X(struct clang_type, getCanonicalType, (struct clang_type type))                            \
    X(struct clang_type, getResultType, (struct clang_type type))                               \
    X(struct clang_type, getPointeeType, (struct clang_type type))                              \
    X(struct clang_type, getArrayElementType, (struct clang_type type))                         \
    X(long long, getArraySize, (struct clang_type type))                                        \
    X(struct clang_string, getTypeSpelling, (struct clang_type type))                           \
    X(struct clang_cursor, getTypeDeclaration, (struct clang_type type))                        \
    X(long long, Type_getSizeOf, (struct clang_type type))                                      \
    X(unsigned, isConstQualifiedType, (struct clang_type type))                                 \
    X(unsigned, isFunctionTypeVariadic, (struct clang_type type))                               \
    X(int, Cursor_getNumArguments, (struct clang_cursor cursor))                                \
    X(struct clang_cursor, Cursor_getArgument, (struct clang_cursor cursor, unsigned index))    \
    X(unsigned, Cursor_isBitField, (struct clang_cursor cursor))                                \
    X(long long, Cursor_getOffsetOfField, (struct clang_cursor cursor))                         \
    X(struct clang_type, getEnumDeclIntegerType, (struct clang_cursor cursor))                  \
    X(long long, getEnumConstantDeclValue, (struct clang_cursor cursor))

struct libclang {
#define LIBCLANG_MEMBER(result, name, arguments) result(*name) arguments;
    LIBCLANG_FUNCTIONS(LIBCLANG_MEMBER)
#undef LIBCLANG_MEMBER
};

/** Its functions, after libclang_load(). */
extern struct libclang libclang;

/** Load the newest that is installed.
 * @return 0; TOOLRACK_E_IO: the message says what to install. [any-thread, one at a time] */
int libclang_load(struct toolrack_error *err);
