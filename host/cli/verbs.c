/* The table of verbs: name, arguments, options and function of each. Parsing, usage and help use
 * it. */
#include <stddef.h>

#include "cli/cli.h"

#define MEMBER(member) offsetof(struct options, member)
#define MANY_WORDS     10000u

static const struct option_spec list_options[] = {
        {"all", NULL, "also disabled and refused tools, with the reason", OPTION_FLAG, MEMBER(all)},
        {"plugin", "ID", "only tools of this plugin", OPTION_TEXT, MEMBER(plugin)},
        {"in-state", "S", "only tools in this state, such as failed, disabled or refused",
         OPTION_TEXT, MEMBER(in_state)},
        {"tag", "T", "only tools with this tag", OPTION_TEXT, MEMBER(tag)},
        {"category", "C", "only tools of this category", OPTION_TEXT, MEMBER(category)},
        {"purpose", "TEXT", "only tools whose purpose contains TEXT", OPTION_TEXT, MEMBER(purpose)},
        {"scenario", "S", "only tools for this scenario", OPTION_TEXT, MEMBER(scenario)},
        {0},
};

static const struct option_spec call_options[] = {
        {"arg", "NAME=VALUE", "one argument; repeatable", OPTION_LIST, MEMBER(args)},
        {"timeout", "MS", "give up after MS milliseconds", OPTION_TIMEOUT, MEMBER(timeout_ms)},
        {"yes", NULL, "agree to what the tool does", OPTION_FLAG, MEMBER(yes)},
        {"caller", "NAME", "the caller, as the tool and the log see it", OPTION_TEXT,
         MEMBER(caller)},
        {"conversation", "ID", "the conversation to which the call belongs", OPTION_TEXT,
         MEMBER(conversation)},
        {"trace", "ID", "an id that ties records together", OPTION_TEXT, MEMBER(trace)},
        {"debug", NULL, "run it under gdb, in the command's process, without a deadline",
         OPTION_FLAG, MEMBER(debug)},
        {0},
};

static const struct option_spec check_options[] = {
        {"level", "L", "fail from this severity on: note, warning (the default) or error",
         OPTION_TEXT, MEMBER(level)},
        {"allow", "RULE=REASON", "accept findings of this rule; repeatable", OPTION_LIST,
         MEMBER(allow)},
        {"sarif", NULL, "print SARIF 2.1.0, for code hosts and editors", OPTION_FLAG,
         MEMBER(sarif)},
        {"explain", NULL, "explain the RULEs, or list all", OPTION_FLAG, MEMBER(explain)},
        {0},
};

static const struct option_spec default_options[] = {
        {"plugin", "ID", "give the name to this plugin, of several that provide it", OPTION_TEXT,
         MEMBER(plugin)},
        {"reset", NULL, "make the highest version the default again", OPTION_FLAG, MEMBER(reset)},
        {0},
};

static const struct option_spec answer_options[] = {
        {"format", "F", "the provider's format", OPTION_TEXT, MEMBER(format)},
        {"model", "NAME", "the model that gets the results: which images it takes", OPTION_TEXT,
         MEMBER(model)},
        {"caller", "WHO", "the caller, as the tools and the log see it", OPTION_TEXT,
         MEMBER(caller)},
        {"conversation", "ID", "the conversation to which the calls belong", OPTION_TEXT,
         MEMBER(conversation)},
        {"timeout", "MS", "give up each call after MS milliseconds", OPTION_TIMEOUT,
         MEMBER(timeout_ms)},
        {"yes", NULL, "agree to what the tools do", OPTION_FLAG, MEMBER(yes)},
        {"allow", "A,B", "only these tools; repeatable", OPTION_LIST, MEMBER(allow)},
        {"profile", "NAME", "only the tools of this profile of the configuration", OPTION_TEXT,
         MEMBER(profile)},
        {"limit", "N", "at most N tools, by priority", OPTION_COUNT, MEMBER(limit)},
        {"budget", "TOKENS", "at most TOKENS tokens together, by priority", OPTION_COUNT,
         MEMBER(budget)},
        {0},
};

static const struct option_spec grant_options[] = {
        {"for", "DURATION", "the duration, such as 30s, 10m, 2h or 7d", OPTION_DURATION,
         MEMBER(for_s)},
        {0},
};

static const struct option_spec approvals_options[] = {
        {"caller", "WHO", "with deny: all calls of this caller that wait", OPTION_TEXT,
         MEMBER(caller)},
        {0},
};

static const struct option_spec plan_options[] = {
        {"context", "JSON", "now, time zone, locale, working folder, earlier results", OPTION_TEXT,
         MEMBER(context)},
        {"caller", "NAME", "for whom; earlier texts of NAME count first", OPTION_TEXT,
         MEMBER(caller)},
        {0},
};

static const struct option_spec feedback_options[] = {
        {"call", "ID", "the id of the call in the log", OPTION_ID, MEMBER(call)},
        {"select", "ID", "the id that 'toolrack select' printed", OPTION_TEXT, MEMBER(selection)},
        {"tool", "NAME", "with --select: the tool that is right; none: no tool is", OPTION_TEXT,
         MEMBER(tool)},
        {0},
};

static const struct option_spec mark_options[] = {
        {"why", "TEXT", "the reason, shown in the list", OPTION_TEXT, MEMBER(reason)},
        {0},
};

static const struct option_spec recommend_options[] = {
        {"task", "TEXT", "the task in words", OPTION_TEXT, MEMBER(task)},
        {"limit", "N", "at most N tools (10)", OPTION_COUNT, MEMBER(limit)},
        {"explain", NULL, "show the factors of each score", OPTION_FLAG, MEMBER(explain)},
        {0},
};

static const struct option_spec select_options[] = {
        {"explain", NULL, "say how the choice was made, step by step", OPTION_FLAG,
         MEMBER(explain)},
        {"limit", "N", "at most N candidates (5)", OPTION_COUNT, MEMBER(limit)},
        {"call", NULL, "call the tool that was chosen and print its result", OPTION_FLAG,
         MEMBER(calls)},
        {"context", "JSON", "now, time zone, locale, working folder, earlier results", OPTION_TEXT,
         MEMBER(context)},
        {"caller", "NAME", "for whom; earlier texts of NAME count first", OPTION_TEXT,
         MEMBER(caller)},
        {"timeout", "MS", "with --call: give up after MS milliseconds", OPTION_TIMEOUT,
         MEMBER(timeout_ms)},
        {"yes", NULL, "with --call: agree to what the tool does", OPTION_FLAG, MEMBER(yes)},
        {"forget", NULL, "forget the earlier texts of the caller", OPTION_FLAG, MEMBER(forget)},
        {0},
};

static const struct option_spec runs_options[] = {
        {"owner", "O", "only runs of this owner", OPTION_TEXT, MEMBER(owner)},
        {0},
};

static const struct option_spec run_options[] = {
        {"input", "NAME=VALUE", "one input; repeatable", OPTION_LIST, MEMBER(inputs)},
        {"dry-run", NULL, "check the plan, and run nothing", OPTION_FLAG, MEMBER(dry_run)},
        {"graph", "F", "print the graph as text, dot or mermaid, and run nothing", OPTION_TEXT,
         MEMBER(graph)},
        {"watch", NULL, "on a terminal: a row for each node while it runs, and the critical path",
         OPTION_FLAG, MEMBER(watch)},
        {"yes", NULL, "agree to what the tools do", OPTION_FLAG, MEMBER(yes)},
        {"resume", "ID", "go on with a run that was interrupted or waits", OPTION_TEXT,
         MEMBER(resume)},
        {"repeat", "NODE", "with --resume: make its call again; repeatable", OPTION_LIST,
         MEMBER(repeats)},
        {"skip", "NODE", "with --resume: go on without it; repeatable", OPTION_LIST, MEMBER(skips)},
        {0},
};

static const struct option_spec search_options[] = {
        {"limit", "N", "at most N tools (10)", OPTION_COUNT, MEMBER(limit)},
        {"explain", NULL, "show which words led to each tool", OPTION_FLAG, MEMBER(explain)},
        {"packages", NULL, "look for packages to install, in indexes", OPTION_FLAG,
         MEMBER(packages)},
        {"index", "URL", "with --packages: this index, not those of the configuration; repeatable",
         OPTION_LIST, MEMBER(indexes)},
        {0},
};

static const struct option_spec install_options[] = {
        {"index", "URL", "look for ids in this index, not those of the configuration; repeatable",
         OPTION_LIST, MEMBER(indexes)},
        {"yes", NULL, "agree to what it wants", OPTION_FLAG, MEMBER(yes)},
        {"dry-run", NULL, "verify it, show what it wants, and change nothing", OPTION_FLAG,
         MEMBER(dry_run)},
        {"unsigned", NULL, "take a local file without a signature, with trust community",
         OPTION_FLAG, MEMBER(is_unsigned)},
        {0},
};

static const struct option_spec update_options[] = {
        {"index", "URL", "look in this index, not in those of the configuration; repeatable",
         OPTION_LIST, MEMBER(indexes)},
        {"yes", NULL, "agree to what changes", OPTION_FLAG, MEMBER(yes)},
        {"dry-run", NULL, "show what would change, and change nothing", OPTION_FLAG,
         MEMBER(dry_run)},
        {0},
};

static const struct option_spec index_options[] = {
        {"for", "DURATION", "how long the index is good, such as 30d (90d)", OPTION_DURATION,
         MEMBER(for_s)},
        {0},
};

static const struct option_spec log_options[] = {
        {"tool", "T", "only calls of this tool, NAME or NAME@VERSION", OPTION_TEXT, MEMBER(tool)},
        {"caller", "WHO", "only calls of this caller", OPTION_TEXT, MEMBER(caller)},
        {"conversation", "ID", "only calls of this conversation", OPTION_TEXT,
         MEMBER(conversation)},
        {"trace", "ID", "only calls of this trace, such as the id of a run", OPTION_TEXT,
         MEMBER(trace)},
        {"exit", "E", "only calls that ended so: ok, Timeout, an exit code ...", OPTION_TEXT,
         MEMBER(outcome)},
        {"errors", NULL, "only calls that failed", OPTION_FLAG, MEMBER(errors)},
        {"since", "WHEN", "only newer calls: 30s, 10m, 2h, 7d, or 2026-01-31T18:00", OPTION_TEXT,
         MEMBER(since)},
        {"limit", "N", "at most the newest N calls (1000)", OPTION_COUNT, MEMBER(limit)},
        {"follow", NULL, "wait for new calls and print them", OPTION_FLAG, MEMBER(follow)},
        {0},
};

static const struct option_spec decisions_options[] = {
        {"tool", "T", "only decisions about this tool, NAME or NAME@VERSION", OPTION_TEXT,
         MEMBER(tool)},
        {"plugin", "ID", "only decisions about this plugin and its tools", OPTION_TEXT,
         MEMBER(plugin)},
        {"since", "WHEN", "only newer ones: 30s, 10m, 2h, 7d, or 2026-01-31T18:00", OPTION_TEXT,
         MEMBER(since)},
        {"limit", "N", "at most the newest N (1000)", OPTION_COUNT, MEMBER(limit)},
        {0},
};

static const struct option_spec token_options[] = {
        {"admin", NULL, "let it administer the host", OPTION_FLAG, MEMBER(admin)},
        {"profile", "P", "show it only the tools of this profile of the configuration", OPTION_TEXT,
         MEMBER(profile)},
        {"expires", "WHEN", "until when it is valid: 12h, 30d, or 2027-01-31T18:00", OPTION_TEXT,
         MEMBER(expires)},
        {"rate", "N", "at most N requests a minute", OPTION_COUNT, MEMBER(rate)},
        {"tool", "T", "only this tool, NAME or NAME@VERSION, * stands for any letters; repeatable",
         OPTION_LIST, MEMBER(tools)},
        {"approves", NULL, "its answers to questions about confirm tools count as a person's",
         OPTION_FLAG, MEMBER(approves)},
        {0},
};

static const struct option_spec tasks_options[] = {
        {"owner", "O", "only tasks of this owner", OPTION_TEXT, MEMBER(owner)},
        {0},
};

static const struct option_spec test_options[] = {
        {"seed", "N", "the seed of the random arguments; the report says it", OPTION_ID,
         MEMBER(seed)},
        {"runs", "N", "calls with random arguments of each tool (50)", OPTION_COUNT, MEMBER(runs)},
        {"only", "RULE", "only this rule; repeatable", OPTION_LIST, MEMBER(rules)},
        {"list", NULL, "list the rules", OPTION_FLAG, MEMBER(list)},
        {"timeout", "MS", "how long a call may take (2000)", OPTION_TIMEOUT, MEMBER(timeout_ms)},
        {"grant", "CAPABILITY", "allow the plugin this, such as read; repeatable", OPTION_LIST,
         MEMBER(grants)},
        {"allow-dangerous", NULL, "call tools that need consent or a grant, too", OPTION_FLAG,
         MEMBER(allow_dangerous)},
        {"settings", "JSON|FILE", "the plugin's settings: a JSON object, or a file with one",
         OPTION_TEXT, MEMBER(settings)},
        {"junit", "FILE", "write the report as JUnit XML to FILE, too", OPTION_TEXT, MEMBER(junit)},
        {0},
};

static const struct option_spec dev_options[] = {
        {"build", "COMMAND", "build it with this command, in the folder", OPTION_TEXT,
         MEMBER(build)},
        {"install", NULL, "put each build into the plugin folder", OPTION_FLAG, MEMBER(installs)},
        {"timeout", "MS", "how long an example may take (2000)", OPTION_TIMEOUT,
         MEMBER(timeout_ms)},
        {0},
};

static const struct option_spec why_options[] = {
        {"crash", "ID", "only this stored crash", OPTION_TEXT, MEMBER(crash)},
        {0},
};

static const struct option_spec show_options[] = {
        {"schema", NULL, "also the JSON Schema of arguments and result", OPTION_FLAG,
         MEMBER(schema)},
        {0},
};

static const struct option_spec agent_options[] = {
        {"endpoint", "URL", "the provider's address, such as https://api.openai.com", OPTION_TEXT,
         MEMBER(endpoint)},
        {"model", "NAME", "the model; without --endpoint one of the configuration", OPTION_TEXT,
         MEMBER(model)},
        {"format", "F", "openai (the default), openai-responses, anthropic, gemini or ollama",
         OPTION_TEXT, MEMBER(format)},
        {"header", "NAME: VALUE", "send this header too; repeatable", OPTION_LIST, MEMBER(headers)},
        {"query", "NAME=VALUE", "add this to the address; repeatable", OPTION_LIST, MEMBER(query)},
        {"parameter", "NAME=VALUE", "such as temperature=0.2 or max_tokens=1000; repeatable",
         OPTION_LIST, MEMBER(parameters)},
        {"max-steps", "N", "at most N requests to the model (20)", OPTION_TEXT, MEMBER(max_steps)},
        {"max-wait", "TIME", "wait so long at most for a busy provider: 30s, 10m (2m)", OPTION_WAIT,
         MEMBER(max_wait_s)},
        {"max-result", "BYTES", "give it longer results in parts (65536)", OPTION_COUNT,
         MEMBER(max_result)},
        {"plan", NULL, "let it write plans of calls instead of single calls", OPTION_FLAG,
         MEMBER(plan)},
        {"allow", "A,B", "offer only these tools; repeatable", OPTION_LIST, MEMBER(allow)},
        {"profile", "NAME", "offer only the tools of this profile of the configuration",
         OPTION_TEXT, MEMBER(profile)},
        {"limit", "N", "offer at most N tools, by priority", OPTION_COUNT, MEMBER(limit)},
        {"budget", "TOKENS", "offer what fits into TOKENS tokens, by priority", OPTION_COUNT,
         MEMBER(budget)},
        {"quiet", NULL, "print the answer alone, when it is complete", OPTION_FLAG, MEMBER(quiet)},
        {"system", "TEXT", "instructions to the model", OPTION_TEXT, MEMBER(system)},
        {"transcript", "FILE", "keep the conversation in FILE", OPTION_TEXT, MEMBER(transcript)},
        {"resume", "ID", "go on with this conversation; the beginning of its id will do",
         OPTION_TEXT, MEMBER(resume)},
        {"continue", NULL, "go on with your last conversation", OPTION_FLAG, MEMBER(goes_on)},
        {"list", NULL, "list the conversations that are kept", OPTION_FLAG, MEMBER(list)},
        {"forget", "ID", "remove this conversation", OPTION_TEXT, MEMBER(forgotten)},
        {0},
};

static const char agent_details[] =
        "TASK - is read from standard input. Without TASK the terminal is a chat: a line is a\n"
        "message, /help lists the commands, such as /tools, /allow, /undo and /retry, Ctrl-C "
        "stops\n"
        "the answer, and Ctrl-D ends the chat.\n"
        "The model gets the task and the definitions of the enabled tools. The tools that it\n"
        "calls are executed at the same time, and their results are sent back, until the model\n"
        "calls no tool. Its text is printed while it arrives; calls and results are shown on\n"
        "standard error. Tools ask for permission, and ask questions of their own, as with\n"
        "'toolrack call'. Ctrl-C ends the calls and the conversation.\n"
        "\n"
        "On a terminal the text is shown as Markdown, block by block, with a line for each call\n"
        "and one for what is waited for; at the end there is a line with the requests, the calls,\n"
        "the tokens, the time, and what it cost if the model has \"prices\". Elsewhere the text "
        "is\n"
        "printed as it comes. --json prints the text, the calls, the tokens and the times.\n"
        "\n"
        "The exit code is 8 if the answer is cut off at a limit of tokens, which is marked in the\n"
        "text, 9 if the model refuses or a filter of the provider stopped it, 10 if the answer\n"
        "is empty, a call in it cannot be read, or the provider stopped it for another reason.\n"
        "Tools that are left out are told; a call of one is answered as NotFound.\n"
        "\n"
        "Of a result longer than --max-result the model gets the first part, and a tool that "
        "reads\n"
        "and searches the rest, read_result.\n"
        "\n"
        "With --plan the model writes plans, as 'toolrack run' takes them: each is checked, and\n"
        "asked about once, before anything of it runs. What is wrong goes back to the model.\n"
        "\n"
        "Without --endpoint the model is one of those that toolrack.json names in \"models\", with "
        "its\n"
        "endpoint, format, parameters and key: --model NAME, or else the one that \"agent\" names\n"
        "there. --header, --query and --parameter come before what it has under the same name.\n"
        "\n"
        "The key is read from OPENAI_API_KEY, ANTHROPIC_API_KEY, or GEMINI_API_KEY or\n"
        "GOOGLE_API_KEY, according to the format, and is neither logged nor stored. A busy\n"
        "provider is asked again, up to four times, after the time that it states, or after\n"
        "half a second and twice as long each time. If it states more than --max-wait, the\n"
        "conversation ends; without --max-wait you are asked at the terminal.\n"
        "\n"
        "The conversation is kept in the folder transcripts of the state folder, in a file that\n"
        "is named at the end, until --forget removes it. --continue goes on with the last one of\n"
        "this state folder, --resume ID with any: the model gets the earlier messages again as\n"
        "they were, and the task. Endpoint, format, model, --system, --plan, --query and\n"
        "--parameter are those of the conversation, unless they are given; the format cannot be\n"
        "another one. Without TASK and terminal it goes on where it was interrupted. A call that "
        "had not ended\n"
        "is told to the model as such, and not repeated.\n";

static const char models_details[] =
        "Models are members of \"models\" in toolrack.json. 'toolrack agent --model NAME' asks "
        "one,\n"
        "without --model and --endpoint the default: the one that \"agent\" names there.\n";

static const struct option_spec export_options[] = {
        {"format", "F", "openai, openai-responses, anthropic, gemini, ollama or mcp", OPTION_TEXT,
         MEMBER(format)},
        {"allow", "A,B", "only these tools; repeatable", OPTION_LIST, MEMBER(allow)},
        {"profile", "NAME", "only the tools of this profile of the configuration", OPTION_TEXT,
         MEMBER(profile)},
        {"limit", "N", "at most N tools, by priority", OPTION_COUNT, MEMBER(limit)},
        {"budget", "TOKENS", "at most TOKENS tokens together, by priority", OPTION_COUNT,
         MEMBER(budget)},
        {"disabled", NULL, "disabled tools and changed ones too", OPTION_FLAG, MEMBER(disabled)},
        {"explain", NULL, "report what was changed or omitted, and why", OPTION_FLAG,
         MEMBER(explain)},
        {0},
};

static const char call_details[] =
        "VERSION is a version, or a range such as ^1, ~1.2, 1.x or \">=1.2 <2\", which selects\n"
        "the highest enabled version in it. Without VERSION the default version is called: see\n"
        "'toolrack help default'.\n"
        "\n"
        "The arguments are one JSON object; - reads them from standard input. --arg sets one\n"
        "argument, whose type is taken from the tool's schema: a string is used as it is,\n"
        "any other value is read as JSON. a.b=VALUE sets b inside the object a. A repeated\n"
        "--arg adds an item to an array. --arg overrides the JSON object.\n"
        "\n"
        "A text result is printed as it is, any other result as JSON; with --json always JSON.\n"
        "Ctrl-C cancels the call, and the command ends by SIGINT (130 in a shell).\n"
        "A tool with the permission 'confirm' asks at the terminal; without a terminal it runs\n"
        "only with --yes. A 'dangerous' tool runs only after 'toolrack grant NAME'.\n"
        "\n"
        "--debug starts gdb, which stops where the plugin has been loaded, and then where the\n"
        "function of the tool's name begins.\n";

static const char answer_details[] =
        "Reads a model's message, or the whole response that contains it, from FILE or\n"
        "standard input, executes the tools that the message calls at the same time, and\n"
        "prints, as JSON, what must be appended to the conversation: [] if the message calls\n"
        "no tool. A failed call is a result that contains the error. Of a message that the model\n"
        "refused, or that a filter of the provider stopped, no call is executed: the exit code\n"
        "is 9. F is openai,\n"
        "openai-responses, anthropic, gemini, ollama or mcp. With --allow, --profile, --limit or\n"
        "--budget, as the definitions were exported with, only tools of that export run. Gemini\n"
        "gets images of results from its third generation on: by the message's modelVersion, or\n"
        "by --model.\n";

static const char export_details[] =
        "Prints the JSON array that a provider takes as its list of tools. Names and schemas\n"
        "are adapted to the provider; a tool that cannot be adapted is omitted. Omitted and\n"
        "shortened tools are reported on standard error, every change with --explain. With\n"
        "--explain --json the output is one object with 'definitions' and 'report'. A token is\n"
        "estimated as four bytes.\n";

static const char check_details[] =
        "Reads plugins and configurations without running any of their code. A file that ends\n"
        "in .json or begins as JSON is a configuration: its errors are shown with line and\n"
        "column, including those of the tools that it defines and all for which 'toolrack serve'\n"
        "would not start with it, and warnings of folders, grants and plugins that this machine\n"
        "does not have. What only a start can know is not checked: a port that another process\n"
        "has, an address that this machine does not have, missing rights.\n"
        "--plugins and --safe-mode say with which plugins a configuration is checked. --config,\n"
        "--state and --require-sandbox are refused.\n"
        "Of a folder all files that end in .so are checked, or, where it has none, those of its\n"
        "build or target/release. Findings that are meant are accepted\n"
        "by --allow, or by a file toolrack-check.json in the folder of the plugin:\n"
        "{\"allow\": [{\"rule\": \"elf-exports\", \"reason\": \"...\", \"file\": \"math.so\"}]}\n"
        "with \"tool\" for one tool. Each needs a reason, errors cannot be accepted, and what is\n"
        "accepted and was not found is told. --explain RULE says why a rule matters.\n"
        "The exit code is 1 if any file has a finding of the level or above, 2 for a wrong "
        "command\n"
        "line, and 3 if a file is not there.\n";

static const char new_details[] =
        "Makes the folder NAME with a plugin of that id: its source, its build, a unit test, "
        "calls\n"
        "with their results (cases.json), README.md, LICENSE (MIT; write your name into it),\n"
        ".gitignore and a workflow for GitHub. It builds and passes its tests as it is, and the\n"
        "commands for that are printed. An empty folder of that name is used, any other file is\n"
        "left as it is.\n"
        "The plugin has a typed tool, with --json-tool one that brings its own schema; with\n"
        "--resources it also has something to read by a URI. C is the default of --lang.\n";

static const struct option_spec new_options[] = {
        {"lang", "L", "c, c++ or rust", OPTION_TEXT, MEMBER(language)},
        {"json-tool", NULL, "with a tool that brings its own JSON Schema", OPTION_FLAG,
         MEMBER(json_tool)},
        {"resources", NULL, "with resources, which clients read by their URI", OPTION_FLAG,
         MEMBER(resources)},
        {0},
};

static const char bind_details[] =
        "Reads from the debug information of LIB, or with --header from a header, what its\n"
        "functions take, and prints a configuration with a tool of type native for each. LIB is a\n"
        "path, or a name such as libz.so.1; it is read and not loaded. Debug information may be "
        "in\n"
        "a file of its own in /usr/lib/debug, or with --debuginfod on a server of\n"
        "DEBUGINFOD_URLS.\n"
        "What cannot be known, such as whether a function reads or writes what a pointer leads "
        "to,\n"
        "a person decides: the argument has a member \"decide\" with choices, and the tool is\n"
        "refused until the members of one of them are there in its place. --decide does that, as\n"
        "in --decide frexp.exp=out or --decide 'sha_*.out=out:32' for a room of 32 bytes; "
        "\"result\"\n"
        "and \"error\" stand for what a function returns, and how it says that it failed.\n"
        "Such tools run in workers only. A signature that is wrong ends its worker at best.\n";

static const struct option_spec bind_options[] = {
        {"function", "PATTERN", "only functions with such a name; repeatable", OPTION_LIST,
         MEMBER(functions)},
        {"header", "FILE", "read this header in place of debug information", OPTION_TEXT,
         MEMBER(header)},
        {"include", "DIR", "a folder of headers that the header includes; repeatable", OPTION_LIST,
         MEMBER(includes)},
        {"decide", "F.ARGUMENT=CHOICE", "decide what an argument is; repeatable", OPTION_LIST,
         MEMBER(decisions)},
        {"debuginfod", NULL, "ask the servers of DEBUGINFOD_URLS", OPTION_FLAG, MEMBER(debuginfod)},
        {"output", "FILE", "write to this new file", OPTION_TEXT, MEMBER(output)},
        {0},
};

static const char name_details[] =
        "NAME means all versions of a tool, future ones included; NAME@VERSION means one.\n"
        "The setting is stored in the state folder.\n";

static const char default_details[] =
        "By default 'call NAME' calls the highest enabled version; releases come before\n"
        "pre-releases. This verb makes VERSION the default instead, for as long as VERSION is\n"
        "present and enabled. Without VERSION it shows the current default. Other versions are\n"
        "called as NAME@VERSION, or by a range such as NAME@^1.\n"
        "A name that plugins from several folders provide belongs to the most trusted, then to\n"
        "the first; the tools of the others are refused. --plugin gives it to another one, and\n"
        "--reset takes that back. The setting is stored in the state folder.\n";

static const char why_details[] =
        "NAME is a plugin's id or the name of one of its tools. Shows the plugin's state and\n"
        "its stored crashes, the newest first: signal, backtrace, last lines of output. For a\n"
        "tool that changed after it was approved it shows what changed; for a tool that breaks\n"
        "the compatibility its version promises, how it differs from the version before.\n";

static const char grant_details[] =
        "Allows a 'dangerous' tool to run, and a 'confirm' tool to run without asking: all\n"
        "versions of NAME, future ones included, or one version. The grant is for the tool as\n"
        "it is now: if its description, schema or another text of it changes, its state\n"
        "becomes 'changed', and 'toolrack why NAME' shows the difference. Grant it again to\n"
        "let it run again.\n";

static const char revoke_details[] =
        "Withdraws grants, approvals that were given for a conversation or for always, and what\n"
        "was allowed once and not called since. Calls that were allowed once and have more to\n"
        "ask are asked about again. Forgets how the tool was then (its pin), also where the\n"
        "grant has expired. What the configuration grants stays, for the tool that it\n"
        "was for, until it is removed there.\n";

static const char allow_details[] =
        "Without arguments: lists what was allowed and disallowed. A plugin gets what it declares\n"
        "and is allowed, by the configuration or by this command: for example "
        "read:/srv/rates.xml,\n"
        "network:*:443, 'read' for all paths that it declares to read, '*' for everything; also a\n"
        "path in a declared folder. What is never granted is refused, with the reason. It is\n"
        "in effect at once, for the plugin in its folder; 'toolrack show' lists what it "
        "declares.\n";

static const char disallow_details[] =
        "Takes what 'allow' or the configuration gives a plugin, until it is allowed again. Its\n"
        "workers are replaced at once; calls that run end with what they had.\n";

static const char approvals_details[] =
        "Without arguments: lists the calls that wait for approval. With an answer and an id:\n"
        "'allow' lets the call run once; 'conversation' and 'always' approve all calls of this\n"
        "version of the tool, of the caller in the conversation or always; 'deny' refuses the\n"
        "call. Of a whole plan only 'allow', for one run, and 'deny' are taken.\n"
        "The caller must repeat the call within an hour; until then 'deny' with the whole\n"
        "id takes 'allow' back, and 'toolrack revoke' takes back all three. An answer is for the\n"
        "tool as the call found it: of one that has changed since, only 'deny' is accepted. The\n"
        "beginning of the id of a call that waits is enough if no other one begins so.\n"
        "'deny --caller WHO' denies all calls of a caller. Of one caller 64 calls wait at most.\n";

static const char token_details[] =
        "A client of a server ('toolrack serve') shows the secret of a token. 'add' prints the\n"
        "secret, which begins with trk_ and is stored nowhere: only a hash of it is. 'revoke'\n"
        "makes it unknown, at once and in all running servers, and ends its calls that wait for\n"
        "approval. Without arguments: lists the tokens. --profile and --tool hold together.\n";

static const char tasks_details[] =
        "A server answers a long call with a task; the client asks for the result later. Lists\n"
        "the tasks of all servers of the state folder, the oldest first; 'show' prints one with\n"
        "its result, 'cancel' ends one, in whatever process it runs, 'remove' removes a completed\n"
        "or failed one, with its result. A task whose server has ended has failed. The beginning\n"
        "of an id is enough if no other one begins so.\n";

static const char feedback_details[] =
        "Records whether a tool was good or bad, in general or in one call. Recommendations\n"
        "take feedback into account. With --select ID --tool NAME, and without other words, it\n"
        "records which tool is right for the text of a choice: later texts like it lead to that\n"
        "tool.\n";

static const char select_details[] =
        "Finds the tool that does what TEXT says, in English or Chinese, and fills its arguments,\n"
        "by rules and word lists, without a model. It is not called without --call. If no tool\n"
        "fits well enough, none is chosen: the best candidates are printed with the question\n"
        "that would decide, and the exit code is 0; with --call it is 3, and 4 if an argument is\n"
        "missing or invalid. Standard output is then for the result of the tool: what was chosen,\n"
        "its id and the explanation of --explain are notes on standard error.\n"
        "\n"
        "The context is a JSON object: now (milliseconds since 1970, or a text as in RFC 3339),\n"
        "time_zone (such as Asia/Shanghai; UTC without it), locale (such as en-GB: the order of\n"
        "day and month, the decimal sign, 'my currency'), folder (the absolute path of 'here'),\n"
        "results (an array of earlier results, or an object with their names, the newest last:\n"
        "'that file', 'the result').\n"
        "\n"
        "What was chosen, whether the call then worked, and corrections ('toolrack feedback\n"
        "--select ID --tool NAME') are kept for each caller, and help with later texts.\n"
        "--forget removes them; without TEXT it does nothing else.\n";

static const char search_details[] =
        "Ranks the tools by how well their texts fit TEXT, in English or Chinese: names, titles,\n"
        "descriptions, parameters, choices, tags, categories, scenarios and examples. Tools that\n"
        "are disabled, blacklisted or not as they were approved are not searched.\n"
        "With --packages the packages of indexes are listed that have all words of TEXT in their\n"
        "id, or in names and descriptions of their tools.\n";

static const char blacklist_details[] =
        "Tools on the blacklist are never recommended; they can still be called. NAME means\n"
        "all versions of a tool, NAME@VERSION means one. A tool that fails five times in a row\n"
        "within ten minutes is blacklisted automatically for five minutes. Then it is\n"
        "recommended once more; each further failure doubles the time. A successful call, or\n"
        "'remove', takes it off the list.\n";

static const char whitelist_details[] =
        "Tools on the whitelist are recommended before all others. NAME means all versions of\n"
        "a tool, NAME@VERSION means one. It is for the plugin that provides the tool now, not\n"
        "for one from another folder that has the name later.\n";

static const char recommend_details[] =
        "Lists the tools with the best record first: success, speed, feedback and time of the\n"
        "last call; with --task also how well the tool's texts match the task. Only tools that\n"
        "are allowed to run are listed. A blacklisted tool that is due for a retry is\n"
        "recommended once, until it was called or the next retry is due.\n";

static const char release_details[] =
        "A plugin that crashes three times within a minute is put into quarantine: its tools\n"
        "are refused, also after restarts, until it is released. This verb also releases a\n"
        "plugin that was left out because the host ended while loading it, and one that could\n"
        "not be loaded.\n";

static const char reload_details[] =
        "NAME is a plugin's id, the name of one of its tools, or the path of its file: that\n"
        "plugin is loaded again, even if its file is unchanged. Without NAME all plugin files\n"
        "are checked for changes. With NAME a content that was gone back from is tried again,\n"
        "and a rollback ends. If a new file is refused, the previous content keeps serving\n"
        "and the exit code is 1. A plugin that was left out after it ended a host process is\n"
        "tried again.\n";

static const char adopt_details[] =
        "What was decided about a plugin (policy, settings, grants, pins, quarantine) is bound to\n"
        "its id and to the folder that it came from. When it comes from another folder and the\n"
        "earlier one is gone, it is refused until this verb says that FILE is the same plugin:\n"
        "then all of that holds for it. FILE is the path of the file or the id of the plugin.\n";

static const char install_details[] =
        "WHAT is a package, a file ID-VERSION.trp, its folder or URL; an id, of which the highest\n"
        "version in the indexes of the configuration (\"packages\") or of --index is taken; or an\n"
        "index, its URL or a folder that has one, if all its packages have one id. VERSION may be\n"
        "a range, as in 'toolrack call'. FILE.trp.minisig beside it has the signature, by a key\n"
        "that 'toolrack keys add' has made known for this id: its trust is that of the key. It is\n"
        "verified before anything of the package is read. Then it is shown which tools it has,\n"
        "which permissions and capabilities they want, and for an update what changes for\n"
        "callers; without a terminal that is shown too, and only --yes agrees. Nothing of a\n"
        "package is run by installing it. Running hosts of the state folder take it at once,\n"
        "whole; 'toolrack rollback ID' goes back to the version before, with what was approved of\n"
        "that. An update needs a higher version and the key of what is installed, or one that\n"
        "this key has signed over to. The id of a bundled plugin is refused.\n";

static const char update_details[] =
        "Looks in all indexes for the highest newer version of a package, or of all that are\n"
        "installed, that is signed by a key that may have done so, shows what would break for\n"
        "callers, which permissions, capabilities and texts change, and asks before each. A\n"
        "version that 'toolrack rollback' went back from is not taken, nor is a pre-release in\n"
        "place of a release: name it to 'toolrack install'. An index that has expired, is of the\n"
        "future, is older than one that was seen, or is signed by another key is refused.\n";

static const char uninstall_details[] =
        "Removes a package and the versions of it that were kept. What was decided about its\n"
        "plugin (grants, allowances, settings) stays, and holds if it is installed again.\n";

static const char packages_details[] =
        "Lists what 'toolrack install' has installed: who signed it, from where it came, and the\n"
        "version that 'toolrack rollback ID' goes back to.\n";

static const char index_details[] =
        "Writes index.json in a folder of packages, for any web server: the size and hash of each\n"
        "package, a number that is one higher than before, and when it expires. Sign it by\n"
        "'toolrack sign DIR/index.json', and publish the folder. 'toolrack install ID --index "
        "URL'\n"
        "finds the packages there, or in the folder itself.\n";

static const char rollback_details[] =
        "Of a package, named by its id, it goes back to the version that was installed before.\n"
        "Otherwise it\n"
        "returns to the previous content of the plugin's file, which is named by its plugin, a\n"
        "tool, its name or its path, and may be broken, and says which version serves then. What\n"
        "was gone back from is not used again; a second rollback goes further back. The rollback\n"
        "lasts for as long as the file has that content; put another file there, or reload it by\n"
        "name, to end it. Tools that are not as they were approved are named.\n";

static const struct option_spec serve_options[] = {
        {"listen", "ADDRESS:PORT", "listen there; port 0 is a free one; repeatable", OPTION_LIST,
         MEMBER(listen)},
        {"socket", "PATH", "listen on a Unix socket of this user; repeatable", OPTION_LIST,
         MEMBER(sockets)},
        {"profile", "NAME", "only the tools of this profile", OPTION_TEXT, MEMBER(profile)},
        {"nats", "URL", "join other hosts by this NATS server", OPTION_TEXT, MEMBER(nats)},
        {"group", "NAME", "the group of hosts to join (default)", OPTION_TEXT, MEMBER(group)},
        {"name", "HOST", "this host's name among them", OPTION_TEXT, MEMBER(name)},
        {0},
};

static const struct option_spec hosts_options[] = {
        {"nats", "URL", "ask the hosts of this NATS server", OPTION_TEXT, MEMBER(nats)},
        {"group", "NAME", "those of this group (default)", OPTION_TEXT, MEMBER(group)},
        {"first", "HOST", "with rollout: the host that gets it first", OPTION_TEXT,
         MEMBER(rollout_first)},
        {"calls", "N", "with rollout: so many calls must succeed there first (0)", OPTION_COUNT,
         MEMBER(rollout_calls)},
        {"yes", NULL, "with rollout: agree to what it wants", OPTION_FLAG, MEMBER(yes)},
        {0},
};

static const char hosts_details[] =
        "Shows the hosts that are joined by NATS ('toolrack serve --nats URL'): the name and the\n"
        "public key of each, whether this host trusts it, how many calls it runs, how many tools\n"
        "it has, its version, how long it takes to answer, and by how much its clock is ahead.\n"
        "Without --nats the daemon says who is in its group, and where no daemon has joined one,\n"
        "the server of the configuration is asked. A host that is \"slow\" did not answer calls\n"
        "in time and gets none for a while; one that is \"silent\" is probably gone.\n\n"
        "'hosts packages' shows which packages the hosts have installed. 'hosts rollout FILE'\n"
        "installs a package, with its signature beside it, on all hosts that this one trusts: on\n"
        "one first, and on the others when that one finds it healthy. Each verifies it by its own\n"
        "keys, and obeys only if it trusts this host; at the first failure all go back.\n";

static const char serve_details[] =
        "Clients of the Model Context Protocol reach the tools at http://ADDRESS:PORT/mcp, and\n"
        "those of a profile at /mcp/NAME; other programs under /api, as /api/openapi.json\n"
        "describes. Without --listen and --socket the configuration says where; its default is\n"
        "127.0.0.1:8137. For each address one line is printed when the server is ready. An\n"
        "address that other machines reach needs authorisation: add a token with\n"
        "'toolrack token add NAME', name a file that has one in TOOLRACK_TOKEN_FILE, or\n"
        "configure \"oauth\". Routes that change something or show what is others' want a token\n"
        "with --admin, or the owner of the socket.\n"
        "\n"
        "A state folder has one such server, its daemon ('toolrack status'), which also listens "
        "on\n"
        "the Unix socket toolrack.sock in $XDG_RUNTIME_DIR/toolrack, or in the state folder where\n"
        "--state names it or there is no such variable. With --no-daemon it is none: it serves\n"
        "beside it, and only where it is told.\n"
        "\n"
        "SIGTERM and Ctrl-C end the server after the calls that run were answered, a second\n"
        "one at once. SIGHUP reads certificates, keys and plugin files again.\n";

static const struct option_spec mcp_options[] = {
        {"profile", "NAME", "only the tools of this profile of the configuration", OPTION_TEXT,
         MEMBER(profile)},
        {"install", "CLIENT", "put the server into the configuration file of this client",
         OPTION_TEXT, MEMBER(install)},
        {"print-config", "CLIENT", "print what such a file has to say instead", OPTION_TEXT,
         MEMBER(print_config)},
        {0},
};

static const struct option_spec pack_options[] = {
        {"output", "FILE", "the package's file; else ID-VERSION.trp here", OPTION_TEXT,
         MEMBER(output)},
        {0},
};

static const struct option_spec sign_options[] = {
        {"key", "FILE", "the secret key", OPTION_TEXT, MEMBER(key)},
        {"password-file", "FILE", "the password is the first line of FILE", OPTION_TEXT,
         MEMBER(password_file)},
        {0},
};

static const struct option_spec verify_options[] = {
        {"key", "KEY", "only this public key, a file or its line", OPTION_TEXT, MEMBER(key)},
        {0},
};

static const struct option_spec keys_options[] = {
        {"trust", "T", "with add: official or community, as the plugins that it signs", OPTION_TEXT,
         MEMBER(trust)},
        {"ids", "PATTERN", "with add: what it may sign: an id, org.example.*, or *; repeatable",
         OPTION_LIST, MEMBER(ids)},
        {"name", "TEXT", "with add: whose key it is, for the list", OPTION_TEXT, MEMBER(key_name)},
        {"password-file", "FILE", "with new: the password is the first line of FILE", OPTION_TEXT,
         MEMBER(password_file)},
        {"no-password", NULL, "with new: do not encrypt the secret key", OPTION_FLAG,
         MEMBER(no_password)},
        {0},
};

static const char pack_details[] =
        "Makes the package ID-VERSION.trp of a plugin, an ordinary tar.zst with a manifest. DIR\n"
        "has the plugin's file: DIR/ARCH-LIBC/NAME.so for each platform, such as x86_64-gnu; or\n"
        "else the only .so in DIR, in DIR/build, or in DIR/target/release. It has README.md and\n"
        "LICENSE, too, and perhaps NOTICE and CHANGELOG.md. The plugin is checked first, as by\n"
        "'toolrack check', and one with errors is refused. The same files make the same bytes,\n"
        "with the same libzstd.\n";

static const char sign_details[] =
        "Writes FILE.minisig, a signature as minisign writes it, which 'minisign -V' verifies "
        "too.\n"
        "A package is checked first, and its id and version are signed with it. The signature of\n"
        "a public key says that this key succeeds the one that signs: see 'toolrack help keys'.\n"
        "The password of the key is asked for at the terminal.\n";

static const char verify_details[] =
        "Verifies FILE.minisig before anything of the package is unpacked: the key must be one of\n"
        "'toolrack keys', and one that may sign this id. Then everything in the package is\n"
        "compared with its manifest. Nothing is installed or run.\n";

static const char keys_details[] =
        "'new NAME' makes the files NAME.key, the secret key, and NAME.pub, as minisign does.\n"
        "'add KEY' trusts a public key, a file or its line: what it signs has the trust that is\n"
        "given, and it may sign only these ids. Where KEY.minisig is a signature of a trusted "
        "key,\n"
        "made by 'toolrack sign KEY', the new key succeeds that one, and --trust and --ids may be\n"
        "left out: they are those of the key before it. 'remove ID' trusts a key no longer; what\n"
        "is installed stays. Without arguments: lists the keys.\n";

static const char status_details[] =
        "Shows the daemon of the state folder, the 'toolrack serve' that runs there: its process,\n"
        "since when, its version and where it listens; how many plugins and tools there are; and\n"
        "of the daemon how many workers, and calls that run.\n"
        "The exit code is 0 without a daemon too; with --json \"daemon\" is null then.\n";

static const char mcp_details[] =
        "A client of the Model Context Protocol starts this command and exchanges messages\n"
        "with it: standard input and output carry nothing else, whatever a plugin prints.\n"
        "The log goes to standard error. The command watches the plugin folders as `watch`\n"
        "does, and ends when the client closes its side, after all that it asked is answered.\n"
        "With --install the client is told to start it so, with the other options that are\n"
        "given, and nothing is served: its file gets one entry, the rest of it stays, and what\n"
        "it was before is kept beside it. The configuration and the profile must be there. The\n"
        "clients are claude-desktop, claude-code, cline, cursor, gemini-cli, lm-studio,\n"
        "opencode, vscode, windsurf and zed.\n";

static const char watch_details[] =
        "Runs until Ctrl-C or SIGTERM and prints a line for each event; with --json one object\n"
        "for each. SIGHUP checks all plugin files at once.\n";

static const char list_details[] =
        "With NAMEs only these tools; in a NAME, * stands for any letters and ? for one.\n"
        "--in-state also lists disabled and refused tools: a state is listed, loaded, failed,\n"
        "stuck, quarantined, changed, left-out, needs, disabled, kept, shared or refused.\n";

static const char dev_details[] =
        "Builds the plugin in DIR with its own build (meson.build, Cargo.toml, Makefile, or\n"
        "--build) whenever its sources change, shows what the compiler says, loads the newest\n"
        "plugin file that is there in a host of its own, runs its examples, and shows results\n"
        "that are others than those of the build before. It runs until Ctrl-C.\n"
        "\n"
        "A good build takes the place of the file of its name in the plugin folder, the first of\n"
        "--plugins or your own one, if there is one: a running daemon has it at once. --install\n"
        "puts it there in any case. With --json it prints one object a line.\n";

static const char test_details[] =
        "Runs the plugin through a list of rules, each in a process of its own: its examples,\n"
        "random arguments by its schemas, what calls leave behind, reloads, both isolations,\n"
        "threads, deadlines, and memory that is not there. A crash or a hang ends that process\n"
        "alone. Nothing is kept: state, home, working and temporary folder are temporary, the\n"
        "plugin gets no capabilities but those of --grant, and in the host's process it can\n"
        "write nowhere else, where the kernel has Landlock.\n"
        "\n"
        "A plugin that was built with ThreadSanitizer (-fsanitize=thread) is put to the rule\n"
        "parallel alone, in a process with gcc's runtime; its reports are findings.\n"
        "\n"
        "A finding says what was sent, what came, and the command that repeats it. The exit code\n"
        "is 1 if a rule failed, and 0 otherwise, also with warnings.\n";

static const char decisions_details[] =
        "Lists what was allowed, refused, granted, revoked, approved, denied or found changed,\n"
        "by whom and why, the newest first. Calls of safe tools are not decisions.\n";

static const char plugins_details[] =
        "Lists the plugins that have tools, and the files of which nothing was registered, with\n"
        "the reason. 'toolrack why ID' explains a state.\n";

static const char log_details[] =
        "With ID: everything about one call; the beginning of an id is enough if no other id\n"
        "begins so. E is ok, failed, the type of an error such as Timeout, an exit code of\n"
        "'toolrack call', or several of these separated by commas.\n"
        "\n"
        "Lists the calls of all processes that share the state folder, the oldest first. Calls\n"
        "of the last second may still be missing. Long arguments and results are shortened;\n"
        "values that a schema marks as writeOnly or as password are shown as ***. --follow\n"
        "runs until Ctrl-C or SIGTERM; with --json it prints one object a line.\n";

static const char plan_details[] =
        "Finds what TEXT wants done, in English or Chinese, by rules and word lists, without a\n"
        "model, and prints a node for each call, with the arguments that the text says and\n"
        "references to the results of other nodes. Nothing runs. What the text does not say is an\n"
        "input of the plan. What is uncertain is said beside it. With --json the plan is printed\n"
        "as 'toolrack run' takes it, and what is uncertain on standard error.\n";

static const char run_details[] =
        "PLAN is a file, or - for standard input. The run is kept: after a crash 'toolrack runs'\n"
        "shows it, and --resume goes on with it. Nodes that have ended do not run again. A node\n"
        "that was running runs again if its tool is idempotent; otherwise the run waits until\n"
        "you say --repeat NODE or --skip NODE. Secret inputs are not kept: give them again.\n"
        "Without a terminal a plan whose calls need approval is refused, and these calls are\n"
        "listed, with --json as \"approvals\"; --yes agrees to them.\n";

static const char runs_details[] =
        "Without an argument it lists the runs of plans that are kept, the newest first; with an\n"
        "ID, or its beginning, it shows one, with its nodes and the commands that go on with it.\n"
        "\"cancel\" ends a run of this process or of the daemon, or one that no process runs; one\n"
        "that another process runs, such as 'toolrack run', is ended there, by Ctrl-C;\n"
        "\"remove\" removes one that does not run. The newest 1000 that have ended are kept. Where "
        "a\n"
        "limit is reached (256 MiB of texts or 100 runs that have not ended of one party, 1 GiB "
        "or\n"
        "1000 of all), those that have ended go first, then those that were interrupted, the "
        "oldest\n"
        "first; a run that a process runs, or that waits for a person, does not go.\n";

static const char statistics_details[] =
        "Shows, over all hosts of the state folder, the number of calls, how many succeeded,\n"
        "and their duration: mean, median (p50), p95 and p99. With NAME or NAME@VERSION it\n"
        "shows everything that is known about the calls of one tool. The calls of another\n"
        "plugin that had the name before are not counted. \"stats\" is an alias.\n";

/* In the order of the help: the first verb of a group names it. */
const struct verb cli_verbs[] = {
        {"list", "[NAME[@VERSION] ...]", "list the tools, highest priority first", list_details,
         list_options, 0, MANY_WORDS, true, verb_list, .group = "tools", .relayed = RELAYED_SHOWS},
        {"show", "NAME[@VERSION]", "show a tool's details", NULL, show_options, 1, 1, true,
         verb_show, .relayed = RELAYED_SHOWS},
        {"call", "NAME[@VERSION] [JSON|-]", "call a tool and print its result", call_details,
         call_options, 1, 2, true, verb_call, .runs_tools = true, .raw = true,
         .relayed = RELAYED_ACTS},
        {"plan", "TEXT", "make a plan, a graph of calls, from a text", plan_details, plan_options,
         1, 1, true, verb_plan, .relayed = RELAYED_SHOWS},
        {"run", "[PLAN]", "run the calls of a plan, a graph in a file", run_details, run_options, 0,
         1, true, verb_run, .runs_tools = true, .raw = true},
        {"select", "TEXT", "choose the tool that does what a sentence says, with its arguments",
         select_details, select_options, 0, 1, true, verb_select, .runs_tools = true, .raw = true,
         .relayed = RELAYED_ACTS},
        {"search", "TEXT", "rank the tools for a task by their texts", search_details,
         search_options, 1, 1, true, verb_search, .relayed = RELAYED_SHOWS},
        {"recommend", "", "list the tools with the best record", recommend_details,
         recommend_options, 0, 0, true, verb_recommend, .relayed = RELAYED_ACTS},
        {"feedback", "NAME[@VERSION] good|bad", "record feedback on a tool", feedback_details,
         feedback_options, 0, 2, true, verb_feedback, .relayed = RELAYED_ACTS},
        {"blacklist", "[list|add|remove [NAME[@VERSION]]]",
         "list or change the tools that are never recommended", blacklist_details, mark_options, 0,
         2, true, verb_blacklist, .relayed = RELAYED_ACTS},
        {"whitelist", "[list|add|remove [NAME[@VERSION]]]",
         "list or change the tools that are recommended first", whitelist_details, mark_options, 0,
         2, true, verb_whitelist, .relayed = RELAYED_ACTS},
        {"export", "--format F", "print the tool definitions in a provider's format",
         export_details, export_options, 0, 0, true, verb_export, .group = "models", .raw = true,
         .relayed = RELAYED_SHOWS},
        {"answer", "--format F [FILE|-]", "execute the calls of a model's message", answer_details,
         answer_options, 0, 1, true, verb_answer, .runs_tools = true, .raw = true},
        {"agent", "[--endpoint URL] [--model NAME] [TASK]",
         "let a model work on a task with the tools", agent_details, agent_options, 0, 1, true,
         verb_agent, .runs_tools = true, .raw = true},
        {"models", "", "list the models of the configuration, which agent asks", models_details,
         NULL, 0, 0, true, verb_models},
        {"enable", "NAME[@VERSION]", "enable a tool", name_details, NULL, 1, 1, true, verb_enable,
         .group = "settings", .relayed = RELAYED_ACTS},
        {"disable", "NAME[@VERSION]", "disable a tool", name_details, NULL, 1, 1, true,
         verb_disable, .relayed = RELAYED_ACTS},
        {"priority", "NAME[@VERSION] N", "set a tool's priority; higher comes first", name_details,
         NULL, 2, 2, true, verb_priority, .relayed = RELAYED_ACTS},
        {"default", "NAME [VERSION]", "set or show the default version of a tool", default_details,
         default_options, 1, 2, true, verb_default, .relayed = RELAYED_ACTS},
        {"grant", "NAME[@VERSION]", "allow a dangerous or confirm tool to run", grant_details,
         grant_options, 1, 1, true, verb_grant, .group = "permissions", .relayed = RELAYED_ACTS},
        {"revoke", "NAME[@VERSION]", "withdraw grants and approvals", revoke_details, NULL, 1, 1,
         true, verb_revoke, .relayed = RELAYED_ACTS},
        {"grants", "", "list grants and approvals", NULL, NULL, 0, 0, true, verb_grants,
         .relayed = RELAYED_SHOWS},
        {"allow", "[PLUGIN CAPABILITY ...]", "let a plugin use files, network or programs",
         allow_details, NULL, 0, MANY_WORDS, true, verb_allow, .relayed = RELAYED_ACTS},
        {"disallow", "PLUGIN CAPABILITY ...", "take what a plugin was allowed", disallow_details,
         NULL, 2, MANY_WORDS, true, verb_disallow, .relayed = RELAYED_ACTS},
        {"approvals", "[allow|always|conversation|deny ID]",
         "list the calls that wait for approval, or answer one", approvals_details,
         approvals_options, 0, 2, true, verb_approvals, .relayed = RELAYED_ACTS},
        {"serve", "", "serve MCP and REST over HTTP", serve_details, serve_options, 0, 0, false,
         verb_serve, .group = "serving", .tells_all = true, .raw = true, .runs_tools = true},
        {"status", "", "show whether a daemon serves", status_details, NULL, 0, 0, true,
         verb_status, .relayed = RELAYED_SHOWS},
        {"hosts", "[packages|rollout FILE]", "show the hosts that are joined by NATS",
         hosts_details, hosts_options, 0, 2, true, verb_hosts, .relayed = RELAYED_SHOWS},
        {"mcp", "", "serve MCP on standard input and output", mcp_details, mcp_options, 0, 0, false,
         verb_mcp, .tells_all = true, .raw = true, .runs_tools = true, .relayed = RELAYED_ACTS},
        {"token", "[list|add|revoke [NAME]]", "list or change the tokens of clients", token_details,
         token_options, 0, 2, true, verb_token, .raw = true, .relayed = RELAYED_ACTS},
        {"tasks", "[list|show|cancel|remove [ID]]", "list or cancel the tasks of clients",
         tasks_details, tasks_options, 0, 2, true, verb_tasks, .relayed = RELAYED_ACTS},
        {"runs", "[ID|show|cancel|remove [ID]]", "list the runs of plans, or show or cancel one",
         runs_details, runs_options, 0, 2, true, verb_runs, .relayed = RELAYED_ACTS},
        {"plugins", "", "list the plugins", plugins_details, NULL, 0, 0, true, verb_plugins,
         .group = "plugins", .relayed = RELAYED_SHOWS},
        {"check", "FILE|DIR ... | --explain [RULE ...]",
         "find problems in a plugin or in toolrack.json", check_details, check_options, 0,
         MANY_WORDS, false, verb_check},
        {"pack", "DIR", "make a package of a plugin", pack_details, pack_options, 1, 1, false,
         verb_pack},
        {"sign", "FILE", "sign a package", sign_details, sign_options, 1, 1, false, verb_sign},
        {"verify", "FILE", "verify the signature of a package, and all that is in it",
         verify_details, verify_options, 1, 1, false, verb_verify},
        {"keys", "[list|new|add|remove [NAME]]", "list or change the keys that may sign packages",
         keys_details, keys_options, 0, 2, false, verb_keys},
        {"dev", "DIR", "build a plugin whenever its sources change", dev_details, dev_options, 1, 1,
         false, verb_dev, .raw = true},
        {"test", "[--list] [FILE]", "put a plugin to the test", test_details, test_options, 0, 1,
         false, verb_test},
        {"new", "NAME", "make the folder of a new plugin", new_details, new_options, 1, 1, false,
         verb_new},
        {"bind", "LIB", "define the functions of a shared library as tools", bind_details,
         bind_options, 1, 1, false, verb_bind},
        {"why", "NAME", "explain a plugin's state", why_details, why_options, 1, 1, true, verb_why,
         .tells_all = true, .relayed = RELAYED_SHOWS, .takes_file = true},
        {"release", "NAME", "let a plugin run again that is in quarantine or has failed",
         release_details, NULL, 1, 1, true, verb_release, .relayed = RELAYED_ACTS},
        {"reload", "[NAME]", "load changed plugin files", reload_details, NULL, 0, 1, true,
         verb_reload, .relayed = RELAYED_ACTS, .takes_file = true},
        {"rollback", "NAME", "return to the previous content of a plugin's file", rollback_details,
         NULL, 1, 1, true, verb_rollback, .relayed = RELAYED_ACTS, .takes_file = true},
        {"install", "WHAT[@VERSION]", "install a package, a plugin that somebody has signed",
         install_details, install_options, 1, 1, true, verb_install},
        {"update", "[ID]", "update packages from their indexes", update_details, update_options, 0,
         1, true, verb_update},
        {"uninstall", "ID", "remove a package", uninstall_details, NULL, 1, 1, true,
         verb_uninstall},
        {"packages", "", "list the packages that are installed", packages_details, NULL, 0, 0, true,
         verb_packages},
        {"index", "DIR", "make the index of a folder of packages", index_details, index_options, 1,
         1, false, verb_index},
        {"adopt", "FILE", "say that a file is the plugin that came from another folder",
         adopt_details, NULL, 1, 1, true, verb_adopt},
        {"watch", "", "reload plugins when their files change", watch_details, NULL, 0, 0, false,
         verb_watch, .tells_all = true},
        {"log", "[ID]", "list the calls in the log, or show one", log_details, log_options, 0, 1,
         true, verb_log, .group = "records", .relayed = RELAYED_SHOWS},
        {"decisions", "", "list the decisions about calls and tools", decisions_details,
         decisions_options, 0, 0, true, verb_decisions, .relayed = RELAYED_SHOWS},
        {"statistics", "[NAME[@VERSION]]", "show statistics of the calls", statistics_details, NULL,
         0, 1, true, verb_statistics, "stats", .relayed = RELAYED_SHOWS},
        {"help", "[VERB]", "print help", NULL, NULL, 0, 1, false, verb_help, .group = "help"},
        {"version", "", "print the version", NULL, NULL, 0, 0, false, verb_version},
        {0},
};
