#include "plugin/rules.h"

#include "base/cleanup.h"

/* By the rules of finding.h. */
static const struct {
    const char *about;
    const char *example;
} texts[FINDING_RULE_COUNT] = {
        /* The file as such. */
        [FINDING_FILE_NOT_REGULAR] = {"It is a folder, a device or a pipe. A plugin is a regular "
                                      "file; others are not opened.",
                                      "mkdir plugins/math.so"},
        [FINDING_FILE_DANGLING_LINK] = {"A symbolic link leads nowhere. Links to plugins are "
                                        "followed, and the file behind this one is not there.",
                                        "ln -s build/math.so math.so   # from another folder"},
        [FINDING_FILE_UNREADABLE] = {"The user of the host may not read the file. What cannot be "
                                     "read cannot be checked, and is not loaded.",
                                     "chmod 600 math.so, owned by another user"},
        [FINDING_FILE_CHANGING] =
                {"The file changed while it was read. A plugin that is written in "
                 "place is seen half written; a rename replaces it as a whole.",
                 "cp math.so ~/.local/share/toolrack/plugins/.math.tmp\n"
                 "mv ~/.local/share/toolrack/plugins/.math.tmp "
                 "~/.local/share/toolrack/plugins/math.so"},
        [FINDING_FILE_EMPTY] = {"The file has no bytes. Mostly a copy or a build failed.", NULL},
        [FINDING_FILE_TOO_LARGE] = {"The file is larger than the host reads. Reading it would hold "
                                    "up the start of a host, and loading it would fill its memory.",
                                    "strip --strip-debug math.so"},
        [FINDING_FILE_SPARSE] = {"Much of the file was never written. Such holes cost their author "
                                 "nothing and everybody who copies the file a lot.",
                                 "truncate -s 1G math.so"},
        [FINDING_ELF_NOT_ELF] = {"The file is not an ELF file. A plugin is a shared object, as "
                                 "compilers make it with -shared.",
                                 "cp math.c math.so"},
        [FINDING_ELF_CLASS] = {"The file is for a 32-bit or big-endian machine. Hosts are 64-bit "
                               "and little-endian.",
                               "cc -m32 -shared -fPIC math.c -o math.so"},
        [FINDING_ELF_TYPE] =
                {"The file is a program or an object file. Only a shared object can be "
                 "loaded into a process.",
                 "cc math.c -o math.so   # without -shared -fPIC"},
        [FINDING_ELF_MACHINE] = {"The file is for a processor that this host is not. It cannot be "
                                 "loaded here. `check` reads files for x86-64 and AArch64 on both "
                                 "(rule elf-foreign), and no others.",
                                 "riscv64-linux-gnu-gcc -shared -fPIC math.c -o math.so"},
        [FINDING_ELF_TRUNCATED] = {"The file is cut off. Its headers speak of more bytes than it "
                                   "has, as after a copy that was interrupted.",
                                   "head -c 4000 math.so > copy.so"},
        [FINDING_ELF_HEADER] = {"The ELF header is wrong. No ordinary linker writes such a file.",
                                NULL},
        [FINDING_ELF_SEGMENT] = {"The segments are wrong: they overlap, or are not aligned as the "
                                 "loader demands. No ordinary linker writes such a file.",
                                 NULL},
        [FINDING_ELF_EXEC_STACK] = {"The file demands an executable stack. The loader would make "
                                    "the stacks of the whole process executable, which helps every "
                                    "attack on it; newer C libraries refuse.",
                                    "an assembly file without a .note.GNU-stack section"},
        [FINDING_ELF_STACK_UNSAID] = {"The file does not say whether its stack must be executable. "
                                      "Some loaders then make it executable.",
                                      "an object file of an assembler without .note.GNU-stack"},
        [FINDING_ELF_TEXT_RELOCATION] =
                {"The loader would have to write into the code of the file. "
                 "Then the code is writable for a time, and is shared with "
                 "no other process.",
                 "an object file that was compiled without -fPIC"},
        [FINDING_ELF_DYNAMIC] = {"The dynamic section is wrong. It tells the loader where "
                                 "everything is; what it says must be within the file.",
                                 NULL},
        [FINDING_ELF_RELOCATION] = {"A part of the descriptor is not constant data. The host reads "
                                    "it from the file without running code, so it cannot contain "
                                    "what a constructor or another library fills in.",
                                    "const struct tr_tool *const tools[] = {get_tool()};  // C++"},
        [FINDING_ELF_NO_SYMBOL] = {"The file exports no toolrack_plugin. That symbol is the "
                                   "descriptor, by which a host knows a plugin.",
                                   "a version script whose global part lacks toolrack_plugin"},
        [FINDING_ELF_SYMBOL] = {"The symbol toolrack_plugin is not data of this file. It is a "
                                "function, a number, or used and not defined.",
                                "extern const struct tr_plugin toolrack_plugin;"},
        [FINDING_ELF_LIBRARY] = {"A library that the file needs is not on this machine. The loader "
                                 "will refuse the file at the first call. A library beside the "
                                 "plugin is not found: the host loads a copy of the file.",
                                 "cc -shared -fPIC rates.c -o rates.so -lrates"},
        [FINDING_ELF_UNDEFINED] = {"The file uses a symbol that nothing defines. The loader will "
                                   "refuse the file at the first call; the linker reports it with "
                                   "-Wl,-z,defs.",
                                   "double x = sin(1);   // linked without -lm"},
        [FINDING_ELF_RUN_PATH] = {"The file tells the loader where to look for libraries. Only "
                                  "absolute folders work, since the host loads a copy of the file, "
                                  "and a worker may read such a folder only by a capability.",
                                  "-Wl,-rpath,/opt/rates/lib   # TR_READS(\"/opt/rates/lib\")"},
        [FINDING_ELF_ORIGIN] = {"The loader would look for libraries in a folder above that of the "
                                "file. The host loads a copy, so that is a folder of the host, or "
                                "one where another plugin may put a library.",
                                "-Wl,-rpath,'$ORIGIN/../lib'"},
        [FINDING_ELF_AUDIT] = {"The file names an audit library. The loader uses those of programs "
                               "only, so the entry has no effect.",
                               "-Wl,--audit=/usr/lib/watch.so"},
        [FINDING_ELF_FILTER] =
                {"The file takes symbols from a filter library. Whether that library "
                 "is there is not checked.",
                 "-Wl,--filter=libreal.so"},
        [FINDING_ELF_NODELETE] = {"The file cannot be unloaded. Where a host runs it in its own "
                                  "process, each reload leaves the old build in memory.",
                                  "-Wl,-z,nodelete"},
        [FINDING_ELF_UNIQUE] = {"The file has a unique symbol of C++, which keeps it in memory. "
                                "Static data of templates and inline functions are such symbols "
                                "with gcc; each reload in process leaves the old build.",
                                "inline int count() { static int n; return ++n; }"},
        [FINDING_ELF_STATIC_TLS] = {"The file needs thread-local storage of the kind that is set "
                                    "aside at the start of a process. There is little of it, and "
                                    "loading fails when it is used up.",
                                    "cc -ftls-model=initial-exec ..."},
        [FINDING_ELF_EXPORTS] = {"The file exports more than its descriptor. In an app that runs "
                                 "the plugin in its own process, such a symbol can take the place "
                                 "of another one of the same name; hidden ones also load faster.",
                                 "int helper(void) {...}   // without static or "
                                 "-fvisibility=hidden"},
        /* The descriptor. */
        [FINDING_ABI_MAGIC] =
                {"The descriptor does not begin with the magic number. Something else "
                 "has the name toolrack_plugin.",
                 "const int toolrack_plugin = 1;"},
        [FINDING_ABI_SIZE] =
                {"The descriptor states a size that it cannot have. The size tells the "
                 "host which members there are.",
                 ".size = sizeof(struct tr_tool)"},
        [FINDING_ABI_MAJOR] = {"The plugin is built for another major version of the interface. "
                               "Within one major version all plugins and hosts fit together, "
                               "between them none.",
                               NULL},
        [FINDING_ABI_MINOR] = {"The plugin says that it needs a newer host. Without that statement "
                               "it would run here as far as it can.",
                               ".host_minor_min = 99"},
        [FINDING_PLUGIN_POINTER] = {"A pointer of the descriptor leads out of the file's data. The "
                                    "host reads the descriptor from the file.",
                                    ".vendor = environ"},
        [FINDING_PLUGIN_TEXT] = {"A text of the plugin is not UTF-8, has control characters, or "
                                 "does not end. It is shown in terminals and sent to models.",
                                 ".vendor = \"M\\xfcller\"   // Latin-1"},
        [FINDING_TEXT_HIDDEN] = {"A text has a character that people do not see and models read. "
                                 "Instructions can be hidden from a reviewer so; models are shown "
                                 "the code of the character.",
                                 "\"Add numbers\\u200b\""},
        [FINDING_PLUGIN_ID] = {"The id of the plugin has a form that is not allowed. It is a part "
                               "of commands, settings and paths.",
                               "TR_PLUGIN(\"my plugin!\", \"1.0.0\", add)"},
        [FINDING_PLUGIN_ID_RESERVED] = {"The id is that of a part of the host. Lines of the log "
                                        "under it would look like the host's own.",
                                        "TR_PLUGIN(\"scan\", \"1.0.0\", add)"},
        [FINDING_PLUGIN_VERSION] = {"The version is not a Semantic Version. Hosts choose between "
                                    "builds, and callers between tools, by comparing versions.",
                                    "TR_PLUGIN(\"math\", \"v1\", add)"},
        [FINDING_PLUGIN_TABLE] = {"A table of the plugin has a wrong count, size or entry. What "
                                  "TR_PLUGIN writes is right.",
                                  ".tool_count = 2000"},
        [FINDING_PLUGIN_CAPABILITY] = {"A declared capability is of no known kind or has no value. "
                                       "The administrator could not decide about it.",
                                       "{.kind = 99, .value = \"x\"}"},
        [FINDING_COUNT_ZERO] = {"A pointer of the descriptor is set and the count beside it is 0. "
                                "Nothing of it is read: a capability is not asked for, an example "
                                "not shown.",
                                ".capabilities = wanted,   // and no .capability_count"},
        [FINDING_CAPABILITY_VALUE] = {"A declared capability can never be granted. Calls that need "
                                      "it will fail, whatever the administrator allows.",
                                      "TR_READS(\"data\")   // neither absolute nor ${data}"},
        [FINDING_CAPABILITY_CHARACTERS] = {"A path or program has characters that a shell reads in "
                                           "its own way. Nothing expands them here.",
                                           "TR_READS(\"/srv/*.csv\")"},
        [FINDING_CAPABILITY_HOST] = {"A capability names a host. The kernel's rules know ports "
                                     "only, so that port of every host must be allowed.",
                                     "TR_CONNECTS(\"api.example.com:443\")"},
        [FINDING_PLUGIN_FUNCTION] = {"open, close or get_extension does not point to a function. "
                                     "Calling it would crash.",
                                     NULL},
        [FINDING_PLUGIN_FLAGS] = {"The plugin has a flag that this host does not know. It is "
                                  "ignored; a newer host may honour it.",
                                  NULL},
        [FINDING_PLUGIN_EMPTY] = {"The plugin has no tools. It can be loaded and does nothing.",
                                  "TR_PLUGIN(\"math\", \"1.0.0\")"},
        [FINDING_PLUGIN_LICENSE] =
                {"The plugin states no licence. Who installs it cannot know what "
                 "they may do with it.",
                 "TR_PLUGIN((\"math\", .license = \"MIT\"), \"1.0.0\", add)"},
        [FINDING_PLUGIN_MEMORY] = {"The texts and types of the plugin take more memory than a host "
                                   "gives to one.",
                                   NULL},
        /* One tool. */
        [FINDING_TOOL_POINTER] = {"A pointer of the tool leads out of the file's data. The host "
                                  "reads tools from the file; this tool is left out.",
                                  NULL},
        [FINDING_TOOL_SIZE] =
                {"The tool states a size that it cannot have. The size tells the host "
                 "which members there are.",
                 ".size = 8"},
        [FINDING_TOOL_TEXT] = {"A text of the tool is not UTF-8, has control characters, or does "
                               "not end. It is shown in terminals and sent to models.",
                               ".title = \"Bell\\a\""},
        [FINDING_TOOL_NAME] = {"The tool's name has a form that is not allowed. Every provider "
                               "accepts the allowed form; a request with another name is refused "
                               "as a whole.",
                               ".name = \"add two\""},
        [FINDING_TOOL_VERSION] = {"The tool's version is not a Semantic Version. Callers choose by "
                                  "it (add@^1).",
                                  ".version = \"2\""},
        [FINDING_TOOL_DUPLICATE] =
                {"The plugin has two tools of one name and version. A call could "
                 "mean either.",
                 NULL},
        [FINDING_TOOL_ENTRY] = {"The tool has two functions or none. A typed tool has .function, a "
                                "JSON tool has .run.",
                                NULL},
        [FINDING_TOOL_FUNCTION] = {"The tool's function is not in the code of the file. Calling it "
                                   "would crash.",
                                   NULL},
        [FINDING_TOOL_PERMISSION] = {"The tool's permission is a number without a meaning. It "
                                     "decides whether somebody is asked before a call.",
                                     ".permission = 7"},
        [FINDING_TOOL_FLAGS] =
                {"The tool has a flag that this host does not know. It is ignored; a "
                 "newer host may honour it.",
                 NULL},
        [FINDING_TOOL_DISABLED] = {"The tool is disabled until an administrator enables it. "
                                   "TR_DISABLED has the number of TR_THREAD_SAFE, which belongs to "
                                   "the plugin and not to a tool.",
                                   ".flags = TR_THREAD_SAFE   // of a tool"},
        [FINDING_TOOL_IGNORED] = {"The tool states what is not used of its kind: a schema beside "
                                  "types, or types beside a schema.",
                                  NULL},
        [FINDING_TOOL_DESCRIPTION] = {"The tool has no description. A model sees the name and the "
                                      "description, and chooses by them; without one the tool is "
                                      "refused.",
                                      "TR_TOOL(add, \"\", TR_F64, ...)"},
        [FINDING_TOOL_DESCRIPTION_LONG] = {"The description is longer than helps. Models read it "
                                           "with every request, and OpenAI refuses more than 1,024 "
                                           "characters, so exports are cut.",
                                           NULL},
        [FINDING_SCHEMA_MISSING] = {"The JSON tool has no schema. Models and the host would not "
                                    "know its arguments.",
                                    "TR_JSON_TOOL(greet, \"Greet somebody by name\", NULL)"},
        [FINDING_SCHEMA_INVALID] =
                {"The schema of the arguments is not valid. No argument could be "
                 "checked, so the tool is refused.",
                 "{\"type\": \"object\", \"properties\": []}"},
        [FINDING_SCHEMA_RESULT_INVALID] = {"The schema of the result is not valid. No result could "
                                           "be checked, so the tool is refused.",
                                           "{\"type\": \"number\", \"minimum\": \"0\"}"},
        [FINDING_SCHEMA_DEFAULT] =
                {"A default does not fit its own schema. It is ignored: the tool "
                 "gets no value.",
                 "{\"type\": \"integer\", \"default\": \"ten\"}"},
        [FINDING_SCHEMA_ROOT] = {"The schema has alternatives at its root. OpenAI, Anthropic and "
                                 "Gemini refuse them there; exports describe them in words.",
                                 "{\"type\": \"object\", \"oneOf\": [...]}"},
        [FINDING_SCHEMA_PROPERTY] = {"A property has a name that some providers refuse. Exports "
                                     "rename it, which models see.",
                                     "\"first name\": {\"type\": \"string\"}"},
        [FINDING_SCHEMA_ITEMS] = {"An array does not say what is in it. Gemini and OpenAI refuse a "
                                  "definition without items.",
                                  "{\"type\": \"array\"}"},
        [FINDING_SCHEMA_CHOICE] = {"No value of an enum or const has the type beside it. Every "
                                   "argument would be refused.",
                                   "{\"type\": \"integer\", \"enum\": [\"1\", \"2\"]}"},
        [FINDING_SCHEMA_REQUIRED] = {"A property is required that is not among the properties. A "
                                     "model is told nothing of it; where no others are allowed, "
                                     "no arguments are ever valid.",
                                     "{\"properties\": {\"town\": {}}, \"required\": [\"city\"]}"},
        [FINDING_SCHEMA_NULLABLE] = {"nullable is a word of OpenAPI. JSON Schema ignores it, so "
                                     "null is refused.",
                                     "{\"type\": \"string\", \"nullable\": true}"},
        [FINDING_SCHEMA_HEADER] = {"x-mcp-header is wrong. It names the header in which an MCP "
                                   "client repeats an argument; a wrong one is not asked for.",
                                   "\"x-mcp-header\": \"my header\""},
        [FINDING_TOOL_ICONS] = {"The icons of the tool are wrong. It is shown without any.",
                                ".icons = \"[{\\\"src\\\": \\\"http://...\\\"}]\"   // not https:"},
        [FINDING_EXAMPLE_TABLE] = {"The table of examples has a wrong count or size. What "
                                   "TR_EXAMPLES writes is right.",
                                   NULL},
        [FINDING_EXAMPLE_ARGUMENTS] = {"The arguments of an example do not fit the tool's schema. "
                                       "Models imitate examples; this one is left out.",
                                       "TR_EXAMPLE(\"{\\\"number\\\": \\\"1\\\"}\", NULL)"},
        [FINDING_EXAMPLE_RESULT] = {"The result of an example does not fit the tool's schema. This "
                                    "example is left out.",
                                    "TR_EXAMPLE(\"{}\", \"not JSON\")"},
        [FINDING_PARAM_TABLE] = {"The table of parameters has a wrong count or size. What TR_TOOL "
                                 "writes is right.",
                                 NULL},
        [FINDING_PARAM_NAME] = {"A parameter has a name that is not allowed, or that another one "
                                "has. Models write these names.",
                                NULL},
        [FINDING_PARAM_DESCRIPTION] = {"A parameter has no description. Models fill it in by its "
                                       "name alone, and guess units and forms.",
                                       "(TR_F64, speed, NULL)   // km/h? m/s?"},
        [FINDING_PARAM_FLAGS] = {"A parameter has a flag that this host does not know. It is "
                                 "ignored.",
                                 NULL},
        [FINDING_PARAM_OPTION] = {"A parameter has an option that does not go with its type. It "
                                  "would not be checked.",
                                  "(TR_F64, x, \"abscissa\", .max_length = 3)"},
        [FINDING_PARAM_DEFAULT] = {"The default of a parameter does not fit the parameter. A call "
                                   "without the argument would fail.",
                                   "(TR_I32, n, \"how many\", TR_DEFAULT(\"ten\"))"},
        [FINDING_PARAM_BOUND] =
                {"The bounds of a parameter leave no value. Every argument would be "
                 "refused.",
                 "TR_MINIMUM(10), TR_MAXIMUM(1)"},
        [FINDING_PARAM_CHOICES] =
                {"The choices of a parameter are not distinct values of its type.",
                 "(TR_I32, n, \"how many\", TR_CHOICES(1, \"two\"))"},
        [FINDING_TYPE_KIND] = {"A type is of a kind that cannot stand there.", NULL},
        [FINDING_TYPE_FLAGS] = {"A type is marked in several ways of which only one can be: "
                                "nullable, optional, by pointer.",
                                NULL},
        [FINDING_TYPE_SIZE] = {"A type states a size that it cannot have. The size tells the host "
                               "which members there are.",
                               NULL},
        [FINDING_TYPE_DEPTH] = {"Types are nested deeper than models and hosts follow.", NULL},
        [FINDING_TYPE_LAYOUT] = {"A described struct is not as the C compiler lays it out. The "
                                 "function would get other values than the caller gave.",
                                 "a member of the struct that TR_DEFINE_STRUCT lacks"},
        [FINDING_TYPE_ENUM] = {"A described enumeration has no values, or a wrong size.", NULL},
        /* For authors. */
        [FINDING_DESCRIPTION_VAGUE] = {"The description does not say what the tool does. Models "
                                       "choose among dozens of tools by descriptions; one that "
                                       "repeats the name, is unfinished or has one word makes them "
                                       "guess.",
                                       "TR_TOOL(convert, \"Converts things\", ...)\n"
                                       "better: \"Convert an amount of money from one currency to "
                                       "another, at today's rate\""},
        [FINDING_DESCRIPTION_SAME] = {"Two tools have the same description. A model has nothing to "
                                      "choose by, and takes either.",
                                      "add and sum, both \"Add two numbers\""},
        [FINDING_NAME_GENERIC] =
                {"The name could be that of any tool. In a host with other plugins "
                 "it collides, and it tells a model nothing.",
                 "TR_TOOL(run, ...)   better: TR_TOOL(invoice_total, ...)"},
        [FINDING_NAME_NEAR] = {"Two tools have nearly the same name. Models mix up case and "
                               "separators, and call the wrong one.",
                               "read_file and readFile"},
        [FINDING_PARAM_VAGUE] = {"The description of a parameter repeats its name. It costs tokens "
                                 "and says nothing of meaning, unit or form.",
                                 "(TR_STRING, date, \"the date\")\n"
                                 "better: \"first day of the stay, as YYYY-MM-DD\""},
        [FINDING_PARAM_SECRET] =
                {"A parameter is named like a password or key and is not marked as "
                 "secret. Arguments are written to the call log and shown to who "
                 "approves a call; marked ones are masked there. Models should not "
                 "see secrets at all: take them from the plugin's settings.",
                 "(TR_STRING, api_key, \"key of the service\", .format = "
                 "\"password\")"},
        [FINDING_EXAMPLE_MISSING] =
                {"The tool has no example. Models imitate examples, people read "
                 "them first, and a host that reloads the plugin tries the "
                 "examples of safe tools before the new build serves.",
                 "TR_TOOL(add, (\"Add two numbers\", TR_EXAMPLES(TR_EXAMPLE("
                 "TR_SCHEMA({\"a\": 1, \"b\": 2}), \"3\"))), ...)"},
        [FINDING_HINTS_CONTRADICT] = {"The tool claims to change nothing and to destroy data. "
                                      "Clients run tools that only read without asking.",
                                      ".flags = TR_READ_ONLY | TR_DESTRUCTIVE"},
        [FINDING_PERMISSION_DESTRUCTIVE] =
                {"The tool may destroy data and runs without asking. The "
                 "permission decides whether a person agrees first; the "
                 "hint alone only informs clients.",
                 ".flags = TR_DESTRUCTIVE, .permission = TR_CONFIRM"},
        [FINDING_PERMISSION_SAFE] = {"The plugin may write or start programs, and no tool asks "
                                     "before. Either a tool changes something, and should be "
                                     "TR_CONFIRM, or it only reads, and should say so.",
                                     "TR_CAPABILITIES(TR_WRITES(\"${data}\")) and only TR_SAFE "
                                     "tools"},
        [FINDING_CAPABILITY_WIDE] = {"The plugin asks for nearly everything of a kind. An "
                                     "administrator who reads that refuses the plugin, or allows "
                                     "more than they meant.",
                                     "TR_WRITES(\"/\")   better: TR_WRITES(\"${data}\")"},
        [FINDING_TOOLS_MANY] = {"The plugin has more tools than a request takes. OpenAI takes 128 "
                                "tools in all, and models choose worse the more there are.",
                                NULL},
        [FINDING_SCHEMA_DOUBTFUL] =
                {"A part of the schema is not what it was meant to be. JSON "
                 "Schema ignores words that it does not know, so the tool would "
                 "take arguments that it does not expect.",
                 "{\"type\": \"object\", \"propertys\": {...}}\n"
                 "{\"city\": {\"type\": \"string\"}}   without \"properties\" "
                 "around it"},
        [FINDING_PROVIDER_REFUSED] =
                {"A provider's format cannot describe the tool. It is left out "
                 "of the definitions for that provider, and its models never "
                 "see it.",
                 "an argument for which no value is valid"},
        [FINDING_IMPORT_NETWORK] =
                {"The file uses functions of the network and declares no "
                 "connections. In a worker every socket is refused, so the calls "
                 "fail; the administrator sees no reason to allow it.",
                 "TR_CAPABILITIES(TR_CONNECTS(\"*:443\"))"},
        [FINDING_IMPORT_SPAWN] =
                {"The file starts programs and declares none. In a worker fork and "
                 "exec are refused, so the calls fail.",
                 "TR_CAPABILITIES(TR_SPAWNS(\"git\"))"},
        [FINDING_IMPORT_WRITE] = {"The file changes files and declares no folder to write to. In a "
                                  "worker that is refused; ${data} is a folder that the host makes "
                                  "for the plugin.",
                                  "TR_CAPABILITIES(TR_WRITES(\"${data}\"))"},
        [FINDING_IMPORT_READ] = {"The file opens files and declares no folder. A worker reads the "
                                 "folders of the system's libraries and the plugin itself, and "
                                 "nothing else.",
                                 "TR_CAPABILITIES(TR_READS(\"${workspace}\"))"},
        [FINDING_IMPORT_ENV] = {"The file reads environment variables and declares none. A worker "
                                "has only PATH and LANG.",
                                "TR_CAPABILITIES(TR_READS_ENV(\"TZ\"))"},
        [FINDING_IMPORT_REFUSED] = {"The file uses functions that workers refuse, whatever is "
                                    "allowed: servers, modes and owners of files, memory shared "
                                    "without a file, signals to others.",
                                    "chmod(path, 0600)   better: open(path, O_CREAT | O_WRONLY, "
                                    "0600)"},
        [FINDING_IMPORT_EXIT] =
                {"The file can end the process. All other calls in the worker end "
                 "with it, and in process it ends the host's app.",
                 "if (bad) exit(1);   better: return tr_fail(call, TR_FAILED, NULL, "
                 "\"...\");"},
        [FINDING_IMPORT_STATE] =
                {"The file changes what belongs to the whole process: working "
                 "folder, locale, environment, signals, limits. Other calls, and in "
                 "process the app, see the change.",
                 "setlocale(LC_ALL, \"C\")   better: newlocale() and strtod_l()"},
        [FINDING_IMPORT_THREADS] = {"The file starts threads and does not say so. A thread that "
                                    "outlives its call must be announced: the host then gives more "
                                    "room for threads and does not unload the file under it.",
                                    "TR_PLUGIN((\"x\", .flags = TR_STARTS_THREADS), ...)"},
        [FINDING_IMPORT_UNSAFE] =
                {"The plugin claims to be thread safe and uses functions that are "
                 "not. They return a buffer that all threads share, so calls mix "
                 "up each other's results.",
                 "localtime(&t)   better: localtime_r(&t, &parts)"},
        [FINDING_IMPORT_PRINTS] =
                {"The file prints. A tool's result goes through tr_reply_*(); what "
                 "is printed becomes lines of the log, or breaks the output of an "
                 "app that runs the plugin in process, such as a server over "
                 "standard output.",
                 "printf(\"%d\\n\", n)   better: tr_log(call, TR_LOG_INFO, "
                 "\"%d\", n)"},
        [FINDING_ELF_RUN_PATH_UNSAFE] = {"The loader would look for libraries where others can put "
                                         "one. A relative or empty entry is of the folder in which "
                                         "the process happens to be; in /tmp everybody may write.",
                                         "-Wl,-rpath,.   or -Wl,-rpath,/tmp/build"},
        [FINDING_ELF_GLIBC_NEW] = {"The file needs a newer C library than Debian 12 has. It will "
                                   "not load on the older systems that toolrack supports.",
                                   "built on Ubuntu 24.04: strtol() becomes "
                                   "__isoc23_strtol@GLIBC_2.38"},
        [FINDING_ELF_GLIBC_MISSING] =
                {"The file needs a newer C library than this machine has. The "
                 "loader will refuse the file at the first call.",
                 NULL},
        [FINDING_ELF_CONSTRUCTORS] = {"Code of the file runs when it is loaded. It runs before "
                                      "open(), where it cannot fail with a reason, log, or read "
                                      "settings.",
                                      "__attribute__((constructor)) static void start(void) {...}\n"
                                      "std::map<...> table;   // C++, not constexpr"},
        [FINDING_ELF_FOREIGN] = {"The file is for another machine. Its descriptor was checked; "
                                 "whether libraries and symbols are there can only be said on a "
                                 "machine of that kind. A host here does not load it "
                                 "(elf-machine).",
                                 "aarch64-linux-gnu-gcc -shared -fPIC math.c -o math.so"},
        [FINDING_LEFT_OUT] = {"There are more findings than are shown.", NULL},
};

/* Rules of other rooms. Of some the severity depends on the case: the usual one. */
#define AS_TOLD "do what the finding says at its place"
static const struct rule_words others[] = {
        {"file-exposed", FINDING_WARNING,
         "let only root and the user of the host write to the file and above it",
         "Other users may change the file or a folder above it. What they put there would run as "
         "the user of the host, so a host that runs plugins in its own process refuses it.",
         "chmod g-w math.so"},
        {"config-syntax", FINDING_ERROR, AS_TOLD, "The configuration is not JSON with comments.",
         NULL},
        {"config-value", FINDING_ERROR, AS_TOLD,
         "A member of the configuration has a value that it cannot have.", "\"pool\": \"many\""},
        {"config-missing", FINDING_ERROR, AS_TOLD, "A member that is required is missing.", NULL},
        {"config-key", FINDING_ERROR, AS_TOLD,
         "A member is unknown. It would have no effect, so mistyped names are errors.",
         "\"polcies\": {}"},
        {"config-path", FINDING_ERROR, AS_TOLD, "A path cannot be used as it is written.", NULL},
        {"config-file", FINDING_ERROR, AS_TOLD,
         "A file that the configuration names cannot be used. A server would not start.", NULL},
        {"config-grant", FINDING_WARNING, AS_TOLD, "A grant or an allowance has no effect.", NULL},
        {"config-allow", FINDING_WARNING, AS_TOLD,
         "An item of allow names nothing that the plugin declares, or cannot be granted.",
         "\"allow\": [\"network:api.example.com:443\"]"},
        {"config-unused", FINDING_WARNING, AS_TOLD, "A member has no effect beside the others.",
         NULL},
        {"config-folder", FINDING_WARNING, AS_TOLD,
         "A folder of plugins is not there or cannot be read.", "\"folders\": [\"absent\"]"},
        {"config-plugin", FINDING_WARNING, AS_TOLD,
         "The configuration names a plugin that no folder has.", NULL},
        {"config-tool", FINDING_WARNING, AS_TOLD,
         "The configuration names a tool that is not there.", NULL},
        {"config-model", FINDING_ERROR, AS_TOLD, "A model of the configuration cannot be asked.",
         NULL},
        {"config-mcp", FINDING_ERROR, AS_TOLD, "A server of \"mcpServers\" cannot be mounted.",
         NULL},
        {"config-nats", FINDING_ERROR, AS_TOLD,
         "A host with this configuration would not join the others.", NULL},
        {"config-serve", FINDING_ERROR, AS_TOLD,
         "A server with this configuration would not start, or not do what it says.", NULL},
        {"config-start", FINDING_ERROR, AS_TOLD, "A host with this configuration would not open.",
         NULL},
        {"definition-value", FINDING_ERROR, AS_TOLD,
         "A member of a tool's definition has a value that it cannot have.", NULL},
        {"definition-missing", FINDING_ERROR, AS_TOLD,
         "A member that a tool's definition requires is missing.", NULL},
        {"definition-key", FINDING_ERROR, AS_TOLD, "A member of a tool's definition is unknown.",
         "\"descripton\": \"...\""},
        {"definition-schema", FINDING_WARNING, AS_TOLD,
         "The schema of a definition was written in another dialect, or says nothing.",
         "\"parameters\": {\"city\": \"string\"}"},
        {"definition-ignored", FINDING_WARNING, AS_TOLD,
         "A member of a definition has no effect for its type.", NULL},
        {"definition-service", FINDING_NOTE, AS_TOLD,
         "A definition names a service that an app registers. Whether it does is not known here.",
         NULL},
        {"definition-handler", FINDING_ERROR, AS_TOLD,
         "A definition names a handler in a wrong form.", NULL},
        {"definition-native", FINDING_ERROR, AS_TOLD,
         "A definition of a function of an installed library cannot be used.", NULL},
        {"definition-plan", FINDING_ERROR, AS_TOLD,
         "A definition names a plan that cannot be used.", NULL},
        {"definition-http", FINDING_ERROR, AS_TOLD,
         "A definition is of a type that is not offered.", NULL},
        {"definition-unusable", FINDING_ERROR, AS_TOLD, "A definition gives no usable tool.", NULL},
        {"tool-exists", FINDING_ERROR, "give one of them another name or version",
         "Two definitions have one name and version. A call could mean either.", NULL},
        {"allow-invalid", FINDING_ERROR, AS_TOLD,
         "The list of what is accepted (toolrack-check.json) is wrong. An item without a reason "
         "would "
         "hide a problem from everybody who comes later.",
         "{\"allow\": [{\"rule\": \"elf-exports\"}]}   // no reason"},
        {"allow-unused", FINDING_NOTE, "remove it",
         "What is accepted was not found. Left in place, it would hide the problem when it comes "
         "back.",
         "--allow elf-exports='static library', and the library is gone"},
        {"problems-left-out", FINDING_NOTE, "correct those that are told, and look again",
         "There are more problems of definitions than are told.", NULL},
};

size_t rules_count(void) {
    return FINDING_RULE_COUNT + ARRAY_LENGTH(others);
}

struct rule_words rules_get(size_t index) {
    if (index >= FINDING_RULE_COUNT) {
        return others[index - FINDING_RULE_COUNT];
    }
    struct rule_words one = {.about = texts[index].about, .example = texts[index].example};
    (void)finding_rule_get((int)index, &one.rule, &one.severity, &one.fix);
    return one;
}
