/* calculator - arithmetic for models, on muparser.
 *
 * Each call has its own parser, so calls share nothing. Three properties of muparser's C interface
 * determine this file:
 *
 *  - Its own functions and constants vary with the version, and its _pi has 12 decimals; they are
 *    removed, and only the tables below are defined.
 *  - mupGetErrorMsg() and mupGetErrorToken() copy a text that contains parts of the expression into
 *    one static buffer of 2048 characters, without a check. So only the code and the position are
 *    read, and the messages are written here.
 *  - Numbers are read with a decimal point in every locale, as long as nobody
 *    in the process asks muparser for another one; nothing here does. */
#include <toolrack/plugin.h>

#include <math.h>
#include <string.h>

#include <muParserDLL.h>

/* In characters. muparser refuses more than 5000. */
#define EXPRESSION_MAX 4096

#define PI 3.14159265358979323846
#define E  2.71828182845904523536

static double sign(double x) {
    return (double)((x > 0) - (x < 0));
}

static double min_of(const double *values, int count) {
    double least = values[0];
    for (int i = 1; i < count; i++) {
        least = fmin(least, values[i]);
    }
    return least;
}

static double max_of(const double *values, int count) {
    double most = values[0];
    for (int i = 1; i < count; i++) {
        most = fmax(most, values[i]);
    }
    return most;
}

static double sum_of(const double *values, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum += values[i];
    }
    return sum;
}

static double average_of(const double *values, int count) {
    return sum_of(values, count) / count;
}

static const struct {
    const char *name;
    double value;
} constants[] = {{"pi", PI}, {"e", E}};

static const struct {
    const char *name;
    double (*function)(double);
} functions[] = {
        {"sin", sin},     {"cos", cos},     {"tan", tan},   {"asin", asin},   {"acos", acos},
        {"atan", atan},   {"sinh", sinh},   {"cosh", cosh}, {"tanh", tanh},   {"asinh", asinh},
        {"acosh", acosh}, {"atanh", atanh}, {"exp", exp},   {"ln", log},      {"log", log},
        {"log2", log2},   {"log10", log10}, {"sqrt", sqrt}, {"cbrt", cbrt},   {"abs", fabs},
        {"sign", sign},   {"floor", floor}, {"ceil", ceil}, {"round", round}, {"trunc", trunc},
};

static const struct {
    const char *name;
    double (*function)(double, double);
} functions_of_two[] = {{"atan2", atan2}, {"hypot", hypot}, {"pow", pow}, {"mod", fmod}};

static const struct {
    const char *name;
    double (*function)(const double *, int);
} functions_of_many[] = {{"min", min_of}, {"max", max_of}, {"sum", sum_of}, {"avg", average_of}};

/* Precedence of muparser's own operators: * and / have 6, ^ has 7. */
static const struct {
    const char *name;
    double (*function)(double, double);
    int precedence;
    bool right;
} operators[] = {{"%", fmod, 6, false}, {"**", pow, 7, true}};

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

static void define_names(muParserHandle_t parser) {
    mupClearFun(parser);
    mupClearConst(parser);
    for (size_t i = 0; i < COUNT(constants); i++) {
        mupDefineConst(parser, constants[i].name, constants[i].value);
    }
    for (size_t i = 0; i < COUNT(functions); i++) {
        mupDefineFun1(parser, functions[i].name, functions[i].function, 1);
    }
    for (size_t i = 0; i < COUNT(functions_of_two); i++) {
        mupDefineFun2(parser, functions_of_two[i].name, functions_of_two[i].function, 1);
    }
    for (size_t i = 0; i < COUNT(functions_of_many); i++) {
        mupDefineMultFun(parser, functions_of_many[i].name, functions_of_many[i].function, 1);
    }
    for (size_t i = 0; i < COUNT(operators); i++) {
        mupDefineOprt(parser, operators[i].name, operators[i].function, operators[i].precedence,
                      operators[i].right ? muOPRT_ASCT_RIGHT : muOPRT_ASCT_LEFT, 1);
    }
}

/* muparser's error codes, which its C header does not name. They are the same in all of 2.x. */
static const char *error_text(int code) {
    static const char *const texts[] = {
            [0] = "unexpected operator",
            [1] = "unknown name or character",
            [2] = "the expression ends too early",
            [3] = "unexpected comma",
            [4] = "unexpected argument",
            [5] = "unexpected number: an operator is missing before it",
            [6] = "unexpected variable",
            [7] = "unexpected parenthesis",
            [8] = "text is not allowed, only numbers",
            [9] = "text is not allowed, only numbers",
            [10] = "a number is missing",
            [11] = "a closing parenthesis is missing",
            [12] = "unexpected function: an operator is missing before it",
            [13] = "text is not allowed, only numbers",
            [14] = "too many arguments for this function",
            [15] = "too few arguments for this function",
            [16] = "operators that do not go together",
            [17] = "text is not allowed, only numbers",
            [25] = "the expression is empty",
            [32] = "unexpected ?: operator",
            [33] = "the : of a ?: operator is missing",
    };
    if (code < 0 || (size_t)code >= COUNT(texts) || texts[code] == NULL) {
        return "not a valid expression";
    }
    return texts[code];
}

/* The place of a character, counted in characters from 1. */
static size_t place_of(const char *text, const char *character) {
    size_t place = 1;
    for (; text < character; text++) {
        place += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return place;
}

/* Fail the call with the error and its place, and quote the text from there on, so that nobody has
 * to count. */
static void fail_at(struct tr_call *call, const char *expression, int code, int position) {
    size_t length = strlen(expression);
    if (position < 0 || length == 0) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "expression", "%s", error_text(code));
    } else if ((size_t)position >= length) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "expression", "%s, at its end", error_text(code));
    } else {
        const char *rest = expression + position;
        while (rest > expression && ((unsigned char)*rest & 0xc0) == 0x80) {
            rest--; /* muparser counts bytes: back to the start of the character */
        }
        size_t quoted = strnlen(rest, 20);
        while (rest[quoted] != '\0' && ((unsigned char)rest[quoted] & 0xc0) == 0x80) {
            quoted--;
        }
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "expression", "%s, at position %zu: \"%.*s%s\"",
                      error_text(code), place_of(expression, rest), (int)quoted, rest,
                      rest[quoted] == '\0' ? "" : "...");
    }
}

static double evaluate(struct tr_call *call, muParserHandle_t parser, const char *expression) {
    mupSetExpr(parser, expression);
    int count = 0;
    const double *values = mupError(parser) ? NULL : mupEvalMulti(parser, &count);
    if (mupError(parser)) {
        fail_at(call, expression, mupGetErrorCode(parser), mupGetErrorPos(parser));
        return 0;
    }
    if (values == NULL || count != 1) {
        /* muparser reads 1,5 as two expressions; returning only the last would be wrong. */
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "expression",
                      "has %d results; give one expression, with a point for decimals and no "
                      "comma in numbers",
                      count);
        return 0;
    }
    double value = values[0];
    if (isnan(value)) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "expression",
                      "has no real result, such as 0/0 or the root of a negative number");
    } else if (isinf(value)) {
        (void)tr_fail(call, TR_INVALID_ARGUMENTS, "expression",
                      "divides by zero or is too large (the limit is about 1.8e308)");
    }
    return value == 0 ? 0 : value; /* not -0 */
}

static double calculator(struct tr_call *call, const char *expression) {
    muParserHandle_t parser = mupCreate(muBASETYPE_FLOAT);
    if (parser == NULL) {
        (void)tr_fail(call, TR_FAILED, NULL, "out of memory");
        return 0;
    }
    define_names(parser);
    double value = evaluate(call, parser, expression);
    mupRelease(parser);
    return value;
}

/* clang-format off */
TR_TOOL(calculator,
    ("Evaluate one arithmetic expression and return the number, exact to about 15 digits. Use it for "
     "any calculation instead of working it out yourself. "
     "Operators: + - * / % (remainder) ^ or ** (power), comparisons (1 or 0), && ||, "
     "condition ? a : b, parentheses; multiplication is always written (2*pi, not 2pi). "
     "Constants: pi, e. Angles are in radians. "
     "Functions: sqrt cbrt abs sign exp ln (natural; so is log) log2 log10 "
     "sin cos tan asin acos atan atan2(y,x) sinh cosh tanh asinh acosh atanh hypot(x,y) pow(x,y) "
     "mod(x,y) floor ceil round trunc min max sum avg (any number of arguments).",
     .title = "Calculator", .category = "math", .tags = "arithmetic,math,number,expression",
     .priority = TR_PRIORITY_BUILTIN, .permission = TR_SAFE, .flags = TR_READ_ONLY | TR_IDEMPOTENT,
     .result_description = "The value of the expression",
     TR_EXAMPLES(TR_EXAMPLE(TR_SCHEMA({"expression": "sqrt(144) + pi"}), "15.141592653589793"),
                 TR_EXAMPLE(TR_SCHEMA({"expression": "3 > 2 && 1 != 2 ? 10 : 20"}), "10"))),
    TR_F64, TR_CALL,
    (TR_STRING, expression, "The expression, for example: sqrt(144) + pi",
     .min_length = 1, .max_length = EXPRESSION_MAX))

TR_PLUGIN(("calculator", .description = "Evaluates arithmetic expressions",
           .vendor = "toolrack", .license = "MIT", .flags = TR_THREAD_SAFE),
          "1.0.0", calculator)
