/* finding.h - what is wrong with a plugin file, and the fix.
 *
 * The table below has every rule that a file can break. A finding is one broken rule at one place:
 * its id is for programs and for documentation, the cause states what was found where, and the fix
 * what to do. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum finding_severity {
    FINDING_NOTE,    /* worth knowing */
    FINDING_WARNING, /* works, but will cause problems */
    FINDING_ERROR    /* the tool, or the whole file, is refused; by the loader, at the first call,
                      * where it is about other files (elf-library, elf-undefined,
                      * elf-glibc-missing) */
};

/** X(constant, severity, id, what to do about it) */
#define FINDING_RULES(X)                                                                           \
    /* The file as such. */                                                                        \
    X(FILE_NOT_REGULAR, ERROR, "file-not-regular",                                                 \
      "put the plugin's .so file itself into the folder")                                          \
    X(FILE_DANGLING_LINK, ERROR, "file-dangling-link", "correct the link or remove it")            \
    X(FILE_UNREADABLE, ERROR, "file-unreadable",                                                   \
      "let the user that runs the host read the file (chmod a+r, and a+x on the folders above)")   \
    X(FILE_CHANGING, ERROR, "file-changing",                                                       \
      "install plugins by rename: copy to a name that does not end in .so, then mv")               \
    X(FILE_EMPTY, ERROR, "file-empty", "copy or build the plugin again")                           \
    X(FILE_TOO_LARGE, ERROR, "file-too-large", "strip the plugin, or split it into several")       \
    X(FILE_SPARSE, ERROR, "file-sparse",                                                           \
      "build the plugin again, or write the holes out (cp --sparse=never)")                        \
    X(ELF_NOT_ELF, ERROR, "elf-not-elf",                                                           \
      "build a shared object (cc -shared -fPIC), or remove the file from the plugin folder")       \
    X(ELF_CLASS, ERROR, "elf-class", "build the plugin for a 64-bit little-endian machine")        \
    X(ELF_TYPE, ERROR, "elf-type", "link the plugin with -shared -fPIC")                           \
    X(ELF_MACHINE, ERROR, "elf-machine", "install the build of the plugin for this machine")       \
    X(ELF_TRUNCATED, ERROR, "elf-truncated",                                                       \
      "copy the plugin again, to another name first and then rename it into place")                \
    X(ELF_HEADER, ERROR, "elf-header", "build the plugin again with an ordinary linker")           \
    X(ELF_SEGMENT, ERROR, "elf-segment", "build the plugin again with an ordinary linker")         \
    X(ELF_EXEC_STACK, ERROR, "elf-exec-stack",                                                     \
      "link with -Wl,-z,noexecstack; assembly files need a .note.GNU-stack section")               \
    X(ELF_STACK_UNSAID, WARNING, "elf-stack-unsaid", "link with -Wl,-z,noexecstack")               \
    X(ELF_TEXT_RELOCATION, ERROR, "elf-text-relocation", "compile every object file with -fPIC")   \
    X(ELF_DYNAMIC, ERROR, "elf-dynamic", "build the plugin again with an ordinary linker")         \
    X(ELF_RELOCATION, ERROR, "elf-relocation",                                                     \
      "let the descriptor be constant data, with pointers to constant data of the same file")      \
    X(ELF_NO_SYMBOL, ERROR, "elf-no-symbol",                                                       \
      "end the plugin with TR_PLUGIN(...), or export a constant named toolrack_plugin")            \
    X(ELF_SYMBOL, ERROR, "elf-symbol",                                                             \
      "define toolrack_plugin in this file, as one constant struct tr_plugin")                     \
    X(ELF_LIBRARY, ERROR, "elf-library",                                                           \
      "install the library, or link it statically; one beside the plugin is not found, since the " \
      "host loads a copy of the file")                                                             \
    X(ELF_UNDEFINED, ERROR, "elf-undefined",                                                       \
      "define the symbol, or link the library that has it (-lNAME); with -Wl,-z,defs the linker "  \
      "finds this")                                                                                \
    X(ELF_RUN_PATH, NOTE, "elf-run-path",                                                          \
      "install libraries where the system's loader finds them; or name their folder by an "        \
      "absolute path, declare TR_READS(\"FOLDER\") and have it allowed (toolrack allow PLUGIN "    \
      "read:FOLDER), as a worker may read no others than the system's. Folders relative to the "   \
      "file ($ORIGIN) lead elsewhere, as the host loads a copy")                                   \
    X(ELF_ORIGIN, ERROR, "elf-origin",                                                             \
      "install the libraries where the system's loader finds them, or link them statically; or "   \
      "name their folder by an absolute path, declare TR_READS(\"FOLDER\") and have it allowed "   \
      "(toolrack allow PLUGIN read:FOLDER); patchelf --remove-rpath takes the entry out")          \
    X(ELF_AUDIT, NOTE, "elf-audit",                                                                \
      "link without --audit and --depaudit: the loader loads audit libraries of programs only")    \
    X(ELF_FILTER, NOTE, "elf-filter",                                                              \
      "link that library with -l instead: check finds it if it is missing")                        \
    X(ELF_NODELETE, WARNING, "elf-nodelete", "link without -z nodelete")                           \
    X(ELF_UNIQUE, WARNING, "elf-unique", "compile C++ with -fno-gnu-unique")                       \
    X(ELF_STATIC_TLS, WARNING, "elf-static-tls", "compile without -ftls-model=initial-exec")       \
    X(ELF_EXPORTS, NOTE, "elf-exports",                                                            \
      "compile with -fvisibility=hidden. Templates of C++ libraries, and libraries that are "      \
      "linked statically, export theirs all the same: link with -Wl,--version-script=FILE, the "   \
      "file being { global: toolrack_plugin; local: *; }; or leave them: they matter only to an "  \
      "app that runs the plugin in its own process and has symbols of the same names")             \
    /* The descriptor. */                                                                          \
    X(ABI_MAGIC, ERROR, "abi-magic", "start the descriptor with .magic = TR_MAGIC")                \
    X(ABI_SIZE, ERROR, "abi-size", "set .size = sizeof(struct tr_plugin)")                         \
    X(ABI_MAJOR, ERROR, "abi-major", "compile the plugin against this host's toolrack/plugin.h")   \
    X(ABI_MINOR, ERROR, "abi-minor", "update toolrack, or lower the plugin's .host_minor_min")     \
    X(PLUGIN_POINTER, ERROR, "plugin-pointer", "point to constant data in the same file only")     \
    X(PLUGIN_TEXT, ERROR, "plugin-text", "use UTF-8 text without control characters")              \
    X(TEXT_HIDDEN, WARNING, "text-hidden",                                                         \
      "remove the character: nobody sees it, and models read it (they are shown its code "         \
      "instead)")                                                                                  \
    X(PLUGIN_ID, ERROR, "plugin-id",                                                               \
      "use 1 to 64 letters, digits, '_', '.' or '-', beginning with a letter or '_'")              \
    X(PLUGIN_ID_RESERVED, ERROR, "plugin-id-reserved",                                             \
      "choose another id: under this one the host writes its own lines to the log")                \
    X(PLUGIN_VERSION, ERROR, "plugin-version", "use a Semantic Version such as 1.0.0")             \
    X(PLUGIN_TABLE, ERROR, "plugin-table", "set count and size as TR_PLUGIN does")                 \
    X(PLUGIN_CAPABILITY, ERROR, "plugin-capability",                                               \
      "use TR_CAPABILITIES with TR_READS, TR_WRITES, TR_CONNECTS, TR_SPAWNS or TR_READS_ENV, and " \
      "values that can be granted")                                                                \
    X(COUNT_ZERO, WARNING, "count-zero",                                                           \
      "set the count, as TR_CAPABILITIES, TR_EXAMPLES and TR_TOOL do, or leave the pointer NULL")  \
    X(CAPABILITY_VALUE, WARNING, "capability-value",                                               \
      "correct the value: nothing is granted by it")                                               \
    X(CAPABILITY_CHARACTERS, WARNING, "capability-characters",                                     \
      "name the file itself: no shell reads the value and nothing expands it, and who allows it "  \
      "would have to quote it")                                                                    \
    X(CAPABILITY_HOST, NOTE, "capability-host",                                                    \
      "declare \"*:PORT\", which is what can be granted: that port of every host")                 \
    X(PLUGIN_FUNCTION, ERROR, "plugin-function", "point to a function, or leave it NULL")          \
    X(PLUGIN_FLAGS, NOTE, "plugin-flags", "update toolrack if the flag matters")                   \
    X(PLUGIN_EMPTY, WARNING, "plugin-empty", "name the plugin's tools in TR_PLUGIN")               \
    X(PLUGIN_LICENSE, NOTE, "plugin-license", "set .license to an SPDX expression such as MIT")    \
    X(PLUGIN_MEMORY, ERROR, "plugin-memory", "split the plugin, or shorten its texts and types")   \
    /* One tool. */                                                                                \
    X(TOOL_POINTER, ERROR, "tool-pointer", "point to constant data in the same file only")         \
    X(TOOL_SIZE, ERROR, "tool-size", "set .size = sizeof(struct tr_tool)")                         \
    X(TOOL_TEXT, ERROR, "tool-text", "use UTF-8 text without control characters")                  \
    X(TOOL_NAME, ERROR, "tool-name",                                                               \
      "use 1 to 64 letters, digits, '_' or '-', beginning with a letter or '_'")                   \
    X(TOOL_VERSION, ERROR, "tool-version", "use a Semantic Version, or NULL for the plugin's")     \
    X(TOOL_DUPLICATE, ERROR, "tool-duplicate", "give the tool another name or version")            \
    X(TOOL_ENTRY, ERROR, "tool-entry",                                                             \
      "set exactly one of .function (a typed tool) and .run (a JSON tool)")                        \
    X(TOOL_FUNCTION, ERROR, "tool-function", "point to a function")                                \
    X(TOOL_PERMISSION, ERROR, "tool-permission", "use TR_SAFE, TR_CONFIRM or TR_DANGEROUS")        \
    X(TOOL_FLAGS, NOTE, "tool-flags", "update toolrack if the flag matters")                       \
    X(TOOL_DISABLED, NOTE, "tool-disabled",                                                        \
      "leave TR_DISABLED out to offer the tool; if TR_THREAD_SAFE was meant, which is the same "   \
      "number, it is a flag of the plugin (TR_PLUGIN)")                                            \
    X(TOOL_IGNORED, WARNING, "tool-ignored", "remove what the tool's kind does not use")           \
    X(TOOL_DESCRIPTION, ERROR, "tool-description",                                                 \
      "state what the tool does and when to use it: models choose by it")                          \
    X(TOOL_DESCRIPTION_LONG, NOTE, "tool-description-long", "keep to what a model needs")          \
    X(SCHEMA_MISSING, ERROR, "schema-missing", "set .schema, with type object at its root")        \
    X(SCHEMA_INVALID, ERROR, "schema-invalid", "correct the schema (JSON Schema 2020-12)")         \
    X(SCHEMA_RESULT_INVALID, ERROR, "schema-result-invalid",                                       \
      "correct the result's schema (JSON Schema 2020-12), or leave it out")                        \
    X(SCHEMA_DEFAULT, WARNING, "schema-default",                                                   \
      "correct the default, or leave it out: a call without the argument gets none")               \
    X(SCHEMA_ROOT, WARNING, "schema-root",                                                         \
      "describe the alternatives inside a property: strict providers refuse them at the root")     \
    X(SCHEMA_PROPERTY, WARNING, "schema-property",                                                 \
      "use 1 to 64 letters, digits or '_', beginning with a letter or '_': some providers refuse " \
      "other names")                                                                               \
    X(SCHEMA_ITEMS, WARNING, "schema-items",                                                       \
      "state the type of the items: some providers require it")                                    \
    X(SCHEMA_CHOICE, WARNING, "schema-choice",                                                     \
      "write the values in the type that is stated, or state the type of the values")              \
    X(SCHEMA_REQUIRED, WARNING, "schema-required", "describe the property, or do not require it")  \
    X(SCHEMA_NULLABLE, WARNING, "schema-nullable",                                                 \
      "write \"type\": [\"string\", \"null\"]: nullable is of OpenAPI, JSON Schema has no such "   \
      "word")                                                                                      \
    X(SCHEMA_HEADER, WARNING, "schema-header",                                                     \
      "give x-mcp-header a token of letters, digits, '-' or '_', once each, at properties of "     \
      "type "                                                                                      \
      "string, integer or boolean; without it no header is asked for")                             \
    /* An example. */                                                                              \
    X(TOOL_ICONS, WARNING, "tool-icons", "correct the icons; the tool is used without any")        \
    X(EXAMPLE_TABLE, ERROR, "example-table", "set count and size as TR_EXAMPLES does")             \
    X(EXAMPLE_ARGUMENTS, WARNING, "example-arguments",                                             \
      "give the text of a JSON object that the tool's own schema accepts")                         \
    X(EXAMPLE_RESULT, WARNING, "example-result",                                                   \
      "give the text of a JSON value that the tool can return, or NULL where any will do")         \
    /* A parameter or field of a typed tool, and its type. */                                      \
    X(PARAM_TABLE, ERROR, "param-table", "set count and size as TR_TOOL does")                     \
    X(PARAM_NAME, ERROR, "param-name",                                                             \
      "use 1 to 64 letters, digits, '_' or '-', beginning with a letter or '_', once each")        \
    X(PARAM_DESCRIPTION, NOTE, "param-description", "describe the parameter: models read it")      \
    X(PARAM_FLAGS, NOTE, "param-flags", "update toolrack if the flag matters")                     \
    X(PARAM_OPTION, ERROR, "param-option", "remove the option: it would not be checked")           \
    X(PARAM_DEFAULT, ERROR, "param-default", "give a default that the parameter itself accepts")   \
    X(PARAM_BOUND, ERROR, "param-bound", "give bounds that some value of the type can satisfy")    \
    X(PARAM_CHOICES, ERROR, "param-choices", "list distinct values of the parameter's type")       \
    X(TYPE_KIND, ERROR, "type-kind", "use a kind that can stand there")                            \
    X(TYPE_FLAGS, ERROR, "type-flags", "use TR_NULLABLE, TR_OPTIONAL or TR_POINTER, one of them")  \
    X(TYPE_SIZE, ERROR, "type-size", "set .size = sizeof(struct tr_type)")                         \
    X(TYPE_DEPTH, ERROR, "type-depth", "flatten the type, or pass it as TR_JSON")                  \
    X(TYPE_LAYOUT, ERROR, "type-layout",                                                           \
      "describe every member, in the order of the C struct, or pass it by TR_POINTER")             \
    X(TYPE_ENUM, ERROR, "type-enum", "describe the enumeration as TR_DEFINE_ENUM does")            \
    /* What an author can improve. Only `check` looks for these, with advice.h, imports.h and      \
     * linkage.h; a host that loads the file does not. */                                          \
    X(DESCRIPTION_VAGUE, WARNING, "description-vague",                                             \
      "state what the tool does, with what, and when to use it: models choose by it")              \
    X(DESCRIPTION_SAME, WARNING, "description-same",                                               \
      "state in each description what distinguishes the tool from the other one")                  \
    X(NAME_GENERIC, NOTE, "name-generic",                                                          \
      "name what the tool does and with what, such as image_resize")                               \
    X(NAME_NEAR, WARNING, "name-near",                                                             \
      "choose names that differ in more than case, '_' and '-': models confuse them")              \
    X(PARAM_VAGUE, NOTE, "param-vague", "state the meaning of the value, its unit and its form")   \
    X(PARAM_SECRET, WARNING, "param-secret",                                                       \
      "give it the format \"password\" (.format = \"password\"), so that records mask it; "        \
      "better, "                                                                                   \
      "take secrets from the settings of the plugin, which models do not see")                     \
    X(EXAMPLE_MISSING, NOTE, "example-missing",                                                    \
      "add TR_EXAMPLES(TR_EXAMPLE(ARGUMENTS, RESULT)): models imitate it, and the host tries it "  \
      "before a new build serves")                                                                 \
    X(HINTS_CONTRADICT, WARNING, "hints-contradict",                                               \
      "remove TR_READ_ONLY or TR_DESTRUCTIVE: what destroys data does not only read it")           \
    X(PERMISSION_DESTRUCTIVE, WARNING, "permission-destructive",                                   \
      "use TR_CONFIRM or TR_DANGEROUS, or remove TR_DESTRUCTIVE if nothing can be lost")           \
    X(PERMISSION_SAFE, NOTE, "permission-safe",                                                    \
      "give the tools that change something TR_CONFIRM or TR_DANGEROUS, and the others "           \
      "TR_READ_ONLY")                                                                              \
    X(CAPABILITY_WIDE, WARNING, "capability-wide",                                                 \
      "declare the folders, ports and programs that are needed: administrators refuse the rest")   \
    X(TOOLS_MANY, NOTE, "tools-many",                                                              \
      "split the plugin, so that an administrator can choose which part models get")               \
    X(SCHEMA_DOUBTFUL, WARNING, "schema-doubtful", "write the schema as JSON Schema 2020-12")      \
    X(PROVIDER_REFUSED, WARNING, "provider-refused",                                               \
      "change the schema, or accept that models of this provider do not get the tool")             \
    X(IMPORT_NETWORK, WARNING, "import-network",                                                   \
      "declare the ports: TR_CAPABILITIES(TR_CONNECTS(\"*:443\")); a worker has no sockets "       \
      "without "                                                                                   \
      "it")                                                                                        \
    X(IMPORT_SPAWN, WARNING, "import-spawn",                                                       \
      "declare the programs: TR_CAPABILITIES(TR_SPAWNS(\"PROGRAM\")); a worker starts none "       \
      "without "                                                                                   \
      "it")                                                                                        \
    X(IMPORT_WRITE, NOTE, "import-write",                                                          \
      "declare the folders: TR_CAPABILITIES(TR_WRITES(\"${data}\")); a worker changes no files "   \
      "without it")                                                                                \
    X(IMPORT_READ, NOTE, "import-read",                                                            \
      "declare the folders: TR_CAPABILITIES(TR_READS(\"FOLDER\")); a worker reads only the "       \
      "folders "                                                                                   \
      "of libraries without it")                                                                   \
    X(IMPORT_ENV, NOTE, "import-env",                                                              \
      "declare the variables: TR_CAPABILITIES(TR_READS_ENV(\"NAME\")), or take a setting of the "  \
      "plugin; a worker has only PATH and LANG without it")                                        \
    X(IMPORT_REFUSED, NOTE, "import-refused",                                                      \
      "do without: workers refuse it, whatever is allowed; it works only where the host runs the " \
      "plugin in its own process")                                                                 \
    X(IMPORT_EXIT, WARNING, "import-exit",                                                         \
      "return an error (tr_fail()): this ends the process, with all other calls in it")            \
    X(IMPORT_STATE, NOTE, "import-state",                                                          \
      "use functions that change nothing for the whole process, such as newlocale() and openat()") \
    X(IMPORT_THREADS, NOTE, "import-threads",                                                      \
      "set TR_STARTS_THREADS if a thread may outlive the call that starts it")                     \
    X(IMPORT_UNSAFE, WARNING, "import-unsafe",                                                     \
      "use the function that takes a buffer (localtime_r(), strtok_r() ...), or remove "           \
      "TR_THREAD_SAFE")                                                                            \
    X(IMPORT_PRINTS, NOTE, "import-prints",                                                        \
      "reply with tr_reply_*() and log with tr_log(): what is printed becomes lines of the log, "  \
      "or "                                                                                        \
      "breaks the output of an app that runs the plugin in its own process")                       \
    X(ELF_RUN_PATH_UNSAFE, WARNING, "elf-run-path-unsafe",                                         \
      "name an absolute folder that only root can write to, or link without -Wl,-rpath")           \
    X(ELF_GLIBC_NEW, NOTE, "elf-glibc-new",                                                        \
      "build on the oldest system that is to be supported; objdump -T shows which functions need " \
      "the version")                                                                               \
    X(ELF_GLIBC_MISSING, ERROR, "elf-glibc-missing",                                               \
      "build the plugin on this system or an older one, or update the C library")                  \
    X(ELF_CONSTRUCTORS, NOTE, "elf-constructors",                                                  \
      "move the code to the plugin's open(): constructors run before, without a way to fail or "   \
      "log")                                                                                       \
    X(ELF_FOREIGN, NOTE, "elf-foreign",                                                            \
      "nothing, if it is meant: check it on a machine of its kind too, where libraries and "       \
      "symbols "                                                                                   \
      "are looked for")                                                                            \
    /* About this list. */                                                                         \
    X(LEFT_OUT, NOTE, "left-out", "correct the findings above first")

enum finding_rule {
#define FINDING_RULE(constant, severity, id, fix) FINDING_##constant,
    FINDING_RULES(FINDING_RULE)
#undef FINDING_RULE
            FINDING_RULE_COUNT
};

struct finding {
    const char *rule; /* id, such as "elf-truncated"; static text */
    int severity;
    const char *tool; /* the tool concerned, or NULL for the file */
    const char *cause;
    const char *fix;
};

/* Most findings kept for one file; further ones are only counted. */
#define FINDINGS_MAX 64

/* A list under construction; all strings are in its arena. */
struct findings {
    struct arena *arena; /* borrowed */
    struct finding *items;
    uint32_t count;
    uint32_t left_out;
    uint32_t errors; /* of severity FINDING_ERROR, including those left out */
    uint32_t room;   /* of `items` */
    bool failed;     /* out of memory for one of them */
};

/* Longest string of an untrusted file shown in a cause, by "%.*s" with FINDING_SHOWN_MAX. */
#define FINDING_SHOWN_MAX 64

void findings_init(struct findings *list, struct arena *arena);

/** Add a finding. The cause is one line without a full stop; bytes that are not printable UTF-8 are
 * replaced, so it may contain anything found in a file. In a full list, a finding replaces one of
 * lower severity. `tool` may be NULL, else it is valid as long as the list. */
void findings_add(struct findings *list, enum finding_rule rule, const char *tool,
                  const char *cause, ...) TOOLRACK_PRINTF(4, 5);
void findings_addv(struct findings *list, enum finding_rule rule, const char *tool,
                   const char *cause, va_list args) TOOLRACK_PRINTF(4, 0);

/** Add a finding with the number of findings left out, if any. Called once, at the end. */
void findings_close(struct findings *list);

/** "note", "warning" or "error". Static text. */
const char *finding_severity_name(int severity);

/** One rule of the table: id, severity and fix; false when `rule` is no rule. */
bool finding_rule_get(int rule, const char **ret_id, int *ret_severity, const char **ret_fix);
