/* A plugin without a finding of `toolrack check`, and the same with one fault: FAULT_ and the rule
 * that finds it, in capitals. The file is named after the rule, and test-check.c expects it, and no
 * other. */
#include <toolrack/plugin.h>

#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------------ what a fault changes */

#define ID          "planted"
#define VERSION     "1.0.0"
#define LICENSE     "MIT"
#define NAME        add
#define DESCRIPTION "Add two numbers"
#define PARAMETER   "first addend"
#define HINTS       TR_READ_ONLY | TR_IDEMPOTENT
#define EXAMPLE     TR_EXAMPLE("{\"a\": 1, \"b\": 2}", "3")
#define MORE_TOOL   /* .option = value, */
#define MORE_PLUGIN /* .option = value, */
#define MORE_TOOLS  /* , name */
#define VISIBLE     static
#define CODE        /* a statement */

/* The schema of a second tool, if it has one. */
#define TEXT "\"text\": {\"type\": \"string\", \"description\": \"what to repeat\"}"

#if defined(FAULT_DESCRIPTION_VAGUE)
#undef DESCRIPTION
#define DESCRIPTION "This tool adds"
#elif defined(FAULT_DESCRIPTION_VAGUE_2)
#undef DESCRIPTION
#define DESCRIPTION "TODO: describe the addition of numbers"
#elif defined(FAULT_TEXT_HIDDEN)
#undef DESCRIPTION
#define DESCRIPTION "Add two\u200b numbers"
#elif defined(FAULT_NAME_GENERIC)
#undef NAME
#define NAME run
#elif defined(FAULT_PARAM_VAGUE)
#undef PARAMETER
#define PARAMETER "The a."
#elif defined(FAULT_PARAM_DESCRIPTION)
#undef PARAMETER
#define PARAMETER NULL
#elif defined(FAULT_EXAMPLE_ARGUMENTS)
#undef EXAMPLE
#define EXAMPLE TR_EXAMPLE("{\"a\": 1, \"b\": 2}", "3"), TR_EXAMPLE("{\"a\": 1}", "1")
#elif defined(FAULT_EXAMPLE_RESULT)
#undef EXAMPLE
#define EXAMPLE \
    TR_EXAMPLE("{\"a\": 1, \"b\": 2}", "3"), TR_EXAMPLE("{\"a\": 1, \"b\": 1}", "\"two\"")
#elif defined(FAULT_HINTS_CONTRADICT)
#undef HINTS
#define HINTS TR_READ_ONLY | TR_DESTRUCTIVE
#elif defined(FAULT_PERMISSION_DESTRUCTIVE)
#undef HINTS
#define HINTS TR_DESTRUCTIVE
#elif defined(FAULT_TOOL_DISABLED)
#undef HINTS
#define HINTS TR_READ_ONLY | TR_DISABLED
#elif defined(FAULT_TOOL_FLAGS)
#undef HINTS
#define HINTS TR_READ_ONLY | 1u << 20
#elif defined(FAULT_TOOL_VERSION)
#undef MORE_TOOL
#define MORE_TOOL .version = "one",
#elif defined(FAULT_TOOL_PERMISSION)
#undef MORE_TOOL
#define MORE_TOOL .permission = 7,
#elif defined(FAULT_TOOL_ICONS)
#undef MORE_TOOL
#define MORE_TOOL .icons = "[{\"src\": \"http://example.org/a.png\"}]",
#elif defined(FAULT_PERMISSION_SAFE)
#undef HINTS
#define HINTS TR_IDEMPOTENT
#undef MORE_PLUGIN
#define MORE_PLUGIN TR_CAPABILITIES(TR_WRITES("${data}")),
#elif defined(FAULT_CAPABILITY_WIDE)
#undef MORE_PLUGIN
#define MORE_PLUGIN TR_CAPABILITIES(TR_READS("/")),
#elif defined(FAULT_CAPABILITY_WIDE_2)
#undef MORE_PLUGIN
#define MORE_PLUGIN TR_CAPABILITIES(TR_CONNECTS("*")),
#elif defined(FAULT_CAPABILITY_VALUE)
#undef MORE_PLUGIN
#define MORE_PLUGIN TR_CAPABILITIES(TR_READS("data")),
#elif defined(FAULT_CAPABILITY_CHARACTERS)
#undef MORE_PLUGIN
#define MORE_PLUGIN TR_CAPABILITIES(TR_READS("/srv/*.csv")),
#elif defined(FAULT_CAPABILITY_HOST)
#undef MORE_PLUGIN
#define MORE_PLUGIN TR_CAPABILITIES(TR_CONNECTS("api.example.com:443")),
#elif defined(FAULT_PLUGIN_CAPABILITY)
#undef MORE_PLUGIN
#define MORE_PLUGIN TR_CAPABILITIES(TR_CONNECTS("*:99999")),
#elif defined(FAULT_COUNT_ZERO)
static const struct tr_capability wanted[] = {{.kind = TR_CAP_READ, .value = "/srv/data"}};
#undef MORE_PLUGIN
#define MORE_PLUGIN .capabilities = wanted,
#elif defined(FAULT_PLUGIN_LICENSE)
#undef LICENSE
#define LICENSE NULL
#elif defined(FAULT_PLUGIN_FLAGS)
#undef MORE_PLUGIN
#define MORE_PLUGIN .flags = 1u << 20,
#elif defined(FAULT_PLUGIN_ID)
#undef ID
#define ID "my plugin"
#elif defined(FAULT_PLUGIN_ID_RESERVED)
#undef ID
#define ID "scan"
#elif defined(FAULT_PLUGIN_VERSION)
#undef VERSION
#define VERSION "1.0"
#elif defined(FAULT_ABI_MINOR)
#undef MORE_PLUGIN
#define MORE_PLUGIN .host_minor_min = 99,
#elif defined(FAULT_IMPORT_NETWORK)
#undef CODE
#define CODE (void)connect(3, NULL, 0);
#elif defined(FAULT_IMPORT_SPAWN)
#undef CODE
#define CODE                          \
    char *const arguments[] = {NULL}; \
    (void)execv("/bin/true", arguments);
#elif defined(FAULT_IMPORT_WRITE)
#undef CODE
#define CODE (void)unlink("/srv/list");
#elif defined(FAULT_IMPORT_READ)
#undef CODE
#define CODE (void)fclose(fopen("/srv/list", "re"));
#elif defined(FAULT_IMPORT_ENV)
#undef CODE
#define CODE a += getenv("ADD") != NULL;
#elif defined(FAULT_IMPORT_REFUSED)
#undef CODE
#define CODE (void)chmod("/srv/list", 0600);
#elif defined(FAULT_IMPORT_EXIT)
#undef CODE
#define CODE     \
    if (a > b) { \
        exit(1); \
    }
#elif defined(FAULT_IMPORT_STATE)
#undef CODE
#define CODE (void)setlocale(LC_ALL, "C");
#elif defined(FAULT_IMPORT_THREADS)
static void *work(void *nothing) {
    return nothing;
}
#undef CODE
#define CODE          \
    pthread_t thread; \
    (void)pthread_create(&thread, NULL, work, NULL);
#elif defined(FAULT_IMPORT_UNSAFE)
#undef MORE_PLUGIN
#define MORE_PLUGIN .flags = TR_THREAD_SAFE,
#undef CODE
#define CODE             \
    char text[] = "a b"; \
    a += strtok(text, " ") != NULL;
#elif defined(FAULT_IMPORT_PRINTS)
#undef CODE
#define CODE (void)puts("adding");
#elif defined(FAULT_ELF_CONSTRUCTORS)
static double start;
__attribute__((constructor)) static void begin(void) {
    start = 0.5;
}
#undef CODE
#define CODE a += start;
#elif defined(FAULT_ELF_EXPORTS)
#undef VISIBLE
#define VISIBLE __attribute__((visibility("default")))
VISIBLE double add(double a, double b);
#elif defined(FAULT_ELF_UNDEFINED)
double nowhere(double a);
#undef CODE
#define CODE a = nowhere(a);
#endif

/* ------------------------------------------------------------------------------ the plugin */

#ifndef FAULT_TOOLS_MANY
VISIBLE double NAME(double a, double b) {
    CODE return a + b;
}
#ifdef FAULT_EXAMPLE_MISSING
TR_TOOL(NAME, (DESCRIPTION, .flags = HINTS), TR_F64, (TR_F64, a, PARAMETER),
        (TR_F64, b, "second addend"))
#elif defined(FAULT_TOOL_DESCRIPTION_LONG)
#define LONG_64  "Add two numbers, of any size and sign, as often as you want to. "
#define LONG_512 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64 LONG_64
TR_TOOL(NAME, (LONG_512 LONG_512 LONG_64, .flags = HINTS, TR_EXAMPLES(EXAMPLE)), TR_F64,
        (TR_F64, a, PARAMETER), (TR_F64, b, "second addend"))
#else
TR_TOOL(NAME, (DESCRIPTION, .flags = HINTS, MORE_TOOL TR_EXAMPLES(EXAMPLE)), TR_F64,
        (TR_F64, a, PARAMETER), (TR_F64, b, "second addend"))
#endif
#endif

/* A second tool. */

#define REPEATED TR_EXAMPLES(TR_EXAMPLE("{\"text\": \"a\"}", "\"a\""))
#define REPEAT(schema)                                               \
    static tr_status repeat(struct tr_call *call) {                  \
        return tr_reply_text(call, tr_get_string(call, "text", "")); \
    }                                                                \
    TR_JSON_TOOL(repeat, ("Give a text back, unchanged", .flags = TR_READ_ONLY, REPEATED), schema)
#define WITH_TEXT(...) "{\"type\": \"object\", \"properties\": {" TEXT "}" __VA_ARGS__ "}"
#define WITH(...)      "{\"type\": \"object\", \"properties\": {" TEXT ", " __VA_ARGS__ "}}"
#undef MORE_TOOLS

#if defined(FAULT_DESCRIPTION_SAME)
static double total(double a, double b) {
    return a + b;
}
TR_TOOL(total, (DESCRIPTION, .flags = HINTS, TR_EXAMPLES(EXAMPLE)), TR_F64, (TR_F64, a, PARAMETER),
        (TR_F64, b, "second addend"))
#define MORE_TOOLS , total
#elif defined(FAULT_NAME_NEAR)
static double Ad_d(double a, double b) {
    return a + b;
}
TR_TOOL(Ad_d, ("The sum of a pair", .flags = HINTS, TR_EXAMPLES(EXAMPLE)), TR_F64,
        (TR_F64, a, PARAMETER), (TR_F64, b, "second addend"))
#define MORE_TOOLS , Ad_d
#elif defined(FAULT_PARAM_SECRET)
REPEAT(WITH("\"api_key\": {\"type\": \"string\", \"description\": \"key of the service\"}"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_DOUBTFUL)
REPEAT("{\"type\": \"object\", \"propertys\": {" TEXT "}}")
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_DOUBTFUL_2)
REPEAT(WITH("\"code\": {\"type\": \"string\", \"description\": \"four digits\", \"pattern\": "
            "\"/^[0-9]{4}$/\"}"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_ROOT)
REPEAT(WITH_TEXT(", \"anyOf\": [{\"required\": [\"text\"]}]"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_PROPERTY)
REPEAT(WITH("\"first name\": {\"type\": \"string\", \"description\": \"of a person\"}"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_ITEMS)
REPEAT(WITH("\"list\": {\"type\": \"array\", \"description\": \"what else\"}"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_CHOICE)
REPEAT(WITH("\"size\": {\"type\": \"integer\", \"enum\": [\"1\"], \"description\": \"of it\"}"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_REQUIRED)
/* No such object is valid. */
REPEAT(WITH("\"page\": {\"type\": \"object\", \"description\": \"where it stands\", "
            "\"properties\": {\"left\": {\"type\": \"integer\"}}, "
            "\"required\": [\"right\"], \"additionalProperties\": false}"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_REQUIRED_2)
/* Models are not told of it. */
#undef REPEATED
#define REPEATED   TR_EXAMPLES(TR_EXAMPLE("{\"text\": \"a\", \"times\": 1}", "\"a\""))
REPEAT(WITH_TEXT(", \"required\": [\"times\"]"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_NULLABLE)
REPEAT(WITH("\"end\": {\"type\": \"string\", \"nullable\": true, \"description\": \"behind it\"}"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_HEADER)
REPEAT(WITH("\"end\": {\"type\": \"string\", \"x-mcp-header\": \"a b\", \"description\": \"behind "
            "it\"}"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_DEFAULT)
REPEAT(WITH("\"times\": {\"type\": \"integer\", \"default\": \"ten\", \"description\": \"how "
            "often\"}"))
#define MORE_TOOLS , repeat
#elif defined(FAULT_PROVIDER_REFUSED)
/* Each refers to the next one twice: without references, as one provider wants it, it is 2^16 times
 * as long. */
#define TWICE(name, next)                                                                     \
    "\"" name "\": {\"type\": \"object\", \"properties\": {\"x\": {\"$ref\": \"#/$defs/" next \
    "\"}, \"y\": {\"$ref\": \"#/$defs/" next "\"}}}, "
REPEAT("{\"type\": \"object\", \"properties\": {" TEXT
       ", \"tree\": {\"$ref\": \"#/$defs/a\"}}, \"$defs\": {" TWICE("a", "b") TWICE("b", "c")
               TWICE("c", "d") TWICE("d", "e") TWICE("e", "f") TWICE("f", "g") TWICE("g", "h")
                       TWICE("h", "i") TWICE("i", "j") TWICE("j", "k") TWICE("k", "l")
                               TWICE("l", "m") TWICE("m", "n") TWICE("n", "o") TWICE("o", "p")
                                       TWICE("p", "q") "\"q\": {\"type\": \"string\"}}}")
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_MISSING)
REPEAT(NULL)
#define MORE_TOOLS , repeat
#elif defined(FAULT_SCHEMA_INVALID)
REPEAT("{\"type\": \"object\", \"properties\": []}")
#define MORE_TOOLS , repeat
#elif defined(FAULT_TOOLS_MANY)
#define COUNT(n)                                                                   \
    static int32_t count_##n(void) {                                               \
        return n;                                                                  \
    }                                                                              \
    TR_TOOL(count_##n,                                                             \
            ("Give the number of place " #n " in the list", .flags = TR_READ_ONLY, \
             TR_EXAMPLES(TR_EXAMPLE("{}", NULL))),                                 \
            TR_I32)
#define COUNT_10(n) \
    COUNT(n##0)     \
    COUNT(n##1)     \
    COUNT(n##2) COUNT(n##3) COUNT(n##4) COUNT(n##5) COUNT(n##6) COUNT(n##7) COUNT(n##8) COUNT(n##9)
COUNT_10(10)
COUNT_10(11)
COUNT_10(12)
COUNT_10(13)
COUNT_10(14)
COUNT_10(15) COUNT_10(16) COUNT_10(17) COUNT_10(18) COUNT_10(19) COUNT_10(20) COUNT_10(21)
        COUNT_10(22) COUNT_10(23) COUNT_10(24) COUNT_10(25) COUNT_10(26) COUNT_10(27) COUNT_10(28)
                COUNT_10(29)
#define T(n)    &tr_tool_count_##n,
#define T_10(n) T(n##0) T(n##1) T(n##2) T(n##3) T(n##4) T(n##5) T(n##6) T(n##7) T(n##8) T(n##9)
                        static const
        struct tr_tool *const all[] = {T_10(10) T_10(11) T_10(12) T_10(13) T_10(14) T_10(15)
                                               T_10(16) T_10(17) T_10(18) T_10(19) T_10(20) T_10(21)
                                                       T_10(22) T_10(23) T_10(24) T_10(25) T_10(26)
                                                               T_10(27) T_10(28) T_10(29)};
TR_EXPORT const struct tr_plugin toolrack_plugin;
const struct tr_plugin toolrack_plugin = {.magic = TR_MAGIC,
                                          .size = sizeof(struct tr_plugin),
                                          .abi_major = TR_ABI_MAJOR,
                                          .abi_minor = TR_ABI_MINOR,
                                          .id = ID,
                                          .version = VERSION,
                                          .license = LICENSE,
                                          .tool_count = sizeof all / sizeof *all,
                                          .tool_size = sizeof(struct tr_tool),
                                          .tools = all};
#endif
#ifndef MORE_TOOLS
#define MORE_TOOLS
#endif

#ifndef FAULT_TOOLS_MANY
TR_PLUGIN((ID, MORE_PLUGIN.license = LICENSE), VERSION, NAME MORE_TOOLS)
#endif
