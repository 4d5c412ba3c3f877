/* The verbs: what each is called, takes and does. Parsing, usage and help all read this table. */
#include <stddef.h>

#include "cli/cli.h"

#define MEMBER(member) offsetof(struct options, member)
#define MANY_WORDS     10000u

static const struct option_spec list_options[] = {
        {"all", NULL, "also disabled tools, and what was refused and why", OPTION_FLAG,
         MEMBER(all)},
        {"tag", "T", "only tools with this tag", OPTION_TEXT, MEMBER(tag)},
        {"category", "C", "only tools of this category", OPTION_TEXT, MEMBER(category)},
        {"purpose", "TEXT", "only tools with this in their purpose", OPTION_TEXT, MEMBER(purpose)},
        {"scenario", "S", "only tools for this scenario", OPTION_TEXT, MEMBER(scenario)},
        {0},
};

static const struct option_spec call_options[] = {
        {"arg", "NAME=VALUE", "one argument; repeatable", OPTION_LIST, MEMBER(args)},
        {"timeout", "MS", "give up after so many milliseconds", OPTION_TIMEOUT, MEMBER(timeout_ms)},
        {"yes", NULL, "you agree to what the tool does", OPTION_FLAG, MEMBER(yes)},
        {"caller", "NAME", "who calls, for the tool and the log", OPTION_TEXT, MEMBER(caller)},
        {"conversation", "ID", "the conversation that the call is part of", OPTION_TEXT,
         MEMBER(conversation)},
        {"trace", "ID", "an id that ties records together", OPTION_TEXT, MEMBER(trace)},
        {0},
};

static const struct option_spec default_options[] = {
        {"reset", NULL, "let the highest version be the default again", OPTION_FLAG, MEMBER(reset)},
        {0},
};

static const struct option_spec answer_options[] = {
        {"format", "F", "whose message it is", OPTION_TEXT, MEMBER(format)},
        {"caller", "WHO", "who calls, for the tools and the log", OPTION_TEXT, MEMBER(caller)},
        {"conversation", "ID", "the conversation it belongs to", OPTION_TEXT, MEMBER(conversation)},
        {"timeout", "MS", "give each call up after so many milliseconds", OPTION_TIMEOUT,
         MEMBER(timeout_ms)},
        {"yes", NULL, "you agree to what the tools do", OPTION_FLAG, MEMBER(yes)},
        {0},
};

static const struct option_spec grant_options[] = {
        {"for", "DURATION", "how long, such as 30s, 10m, 2h or 7d", OPTION_DURATION, MEMBER(for_s)},
        {0},
};

static const struct option_spec feedback_options[] = {
        {"call", "ID", "the call of the log that it is about", OPTION_ID, MEMBER(call)},
        {0},
};

static const struct option_spec mark_options[] = {
        {"why", "TEXT", "the reason, for who looks at the list", OPTION_TEXT, MEMBER(reason)},
        {0},
};

static const struct option_spec recommend_options[] = {
        {"task", "TEXT", "what is to be done, in words", OPTION_TEXT, MEMBER(task)},
        {"limit", "N", "at most so many; otherwise 10", OPTION_COUNT, MEMBER(limit)},
        {"explain", NULL, "show what each score is made of", OPTION_FLAG, MEMBER(explain)},
        {0},
};

static const struct option_spec log_options[] = {
        {"tool", "T", "only calls of this tool, NAME or NAME@VERSION", OPTION_TEXT, MEMBER(tool)},
        {"errors", NULL, "only calls that failed", OPTION_FLAG, MEMBER(errors)},
        {"since", "WHEN", "not older than this: 30s, 10m, 2h, 7d, or 2026-01-31T18:00", OPTION_TEXT,
         MEMBER(since)},
        {"limit", "N", "at most so many, the newest; 1000 otherwise", OPTION_COUNT, MEMBER(limit)},
        {"follow", NULL, "go on with those that are made", OPTION_FLAG, MEMBER(follow)},
        {0},
};

static const struct option_spec agent_options[] = {
        {"endpoint", "URL", "where the provider is, such as https://api.openai.com", OPTION_TEXT,
         MEMBER(endpoint)},
        {"model", "NAME", "which of its models", OPTION_TEXT, MEMBER(model)},
        {"format", "F", "openai (the default), openai-responses, anthropic, gemini or ollama",
         OPTION_TEXT, MEMBER(format)},
        {"max-steps", "N", "ask the model so often at most; otherwise 20", OPTION_TEXT,
         MEMBER(max_steps)},
        {"system", "TEXT", "what the model is told beforehand", OPTION_TEXT, MEMBER(system)},
        {"transcript", "FILE", "keep the transcript there", OPTION_TEXT, MEMBER(transcript)},
        {0},
};

static const char agent_details[] =
        "The model gets the task and the enabled tools; what it calls runs side by side,\n"
        "and what that gives goes back to it, until it calls nothing. Its text is printed as\n"
        "it comes; calls and their results are noted on standard error. Tools ask for\n"
        "permission as with 'toolrack call'. Ctrl-C ends the calls and the conversation.\n"
        "\n"
        "The key is read from OPENAI_API_KEY, ANTHROPIC_API_KEY, or GEMINI_API_KEY or\n"
        "GOOGLE_API_KEY, by the format, and is neither logged nor kept. A provider that is\n"
        "busy is asked again, when it says to or after half a second and longer each time.\n"
        "All that is said is kept in the state folder, below transcripts; the note at the\n"
        "end says where.\n";

static const struct option_spec export_options[] = {
        {"format", "F", "openai, openai-responses, anthropic, gemini, ollama or mcp", OPTION_TEXT,
         MEMBER(format)},
        {"allow", "A,B", "only these tools", OPTION_TEXT, MEMBER(allow)},
        {"limit", "N", "at most so many tools, by priority", OPTION_COUNT, MEMBER(limit)},
        {"budget", "TOKENS", "at most so many tokens in all, by priority", OPTION_COUNT,
         MEMBER(budget)},
        {"explain", NULL, "say what was changed or left out, and why", OPTION_FLAG,
         MEMBER(explain)},
        {0},
};

static const char call_details[] =
        "VERSION is a version, or a range such as ^1, ~1.2, 1.x or \">=1.2 <2\": the highest in\n"
        "it that is enabled. Without it, it is the default: 'toolrack help default'.\n"
        "\n"
        "The arguments are one JSON object; - reads it from standard input. --arg sets\n"
        "one argument, taking its type from the tool's schema: a string stays as it is,\n"
        "anything else is read as JSON. a.b=VALUE sets b inside the object a. Given\n"
        "again, an array gets one more item. --arg wins over the JSON.\n"
        "\n"
        "A text result is printed as it is, any other as JSON; with --json always JSON.\n"
        "Ctrl-C cancels the call; the command then ends of SIGINT (130 in a shell).\n"
        "A tool whose permission is 'confirm' asks at the terminal whether it may run;\n"
        "elsewhere it runs with --yes only. A 'dangerous' one runs when it is granted:\n"
        "'toolrack grant NAME'.\n";

static const char answer_details[] =
        "Reads a model's message, or the whole response that holds it, from FILE or standard\n"
        "input; executes the tools it calls, side by side; and prints as JSON what is to be\n"
        "appended to the conversation behind it: [] when it calls nothing. A call that fails\n"
        "is a result that says so. F is one of openai, openai-responses, anthropic, gemini,\n"
        "ollama and mcp.\n";

static const char export_details[] =
        "Prints the JSON array that a provider wants as its list of tools. Names and schemas\n"
        "are made acceptable to it; a tool that cannot be is left out, and the others are\n"
        "not the worse for it. What was cut, refused or not found is said on standard error,\n"
        "with --explain every change; with --explain --json all is one object with\n"
        "'definitions' and 'report'. A token is taken for four bytes.\n";

static const char check_details[] =
        "Reads plugins and configurations, and runs nothing of them. What ends in .json\n"
        "or begins as JSON is a configuration: its errors have line and column, those of\n"
        "the tools that it defines too. Exit code 1 when there is an error or\n"
        "a warning in any of them; notes alone are no failure.\n";

static const char name_details[] =
        "NAME stands for all versions of a tool, those to come too; NAME@VERSION for one.\n"
        "Kept in the state folder, for every later run.\n";

static const char default_details[] =
        "What 'call NAME' means is the highest version that is enabled, releases before\n"
        "pre-releases; from now on it is VERSION, whatever versions come, as long as that\n"
        "one is there and enabled. Without a version: says which it is. The other versions\n"
        "are called as NAME@VERSION, or by a range such as NAME@^1.\n"
        "Kept in the state folder, for every later run.\n";

static const char why_details[] =
        "NAME is a plugin's id or one of its tools. Shows its state and the crashes kept\n"
        "of it, the newest first: signal, backtrace, last lines; of a tool that is not as\n"
        "it was approved, what changed; of one that breaks the promise of its version, how\n"
        "it differs from the version before.\n";

static const char grant_details[] =
        "Lets a 'dangerous' tool run, and a 'confirm' one without asking: all versions of\n"
        "NAME, those to come too, or one. What is granted is the tool as it is now: when\n"
        "its description or schema changes, its state is 'changed', and 'toolrack why\n"
        "NAME' shows how. Granted again, it runs again.\n";

static const char revoke_details[] =
        "Takes back what was granted, and what was approved for always or for a\n"
        "conversation. What the configuration grants stays.\n";

static const char approvals_details[] =
        "Without words: the calls that wait for somebody's answer. With them the answer to\n"
        "one: 'allow' lets it run once, 'conversation' and 'always' every call of this\n"
        "version of the tool from now on, 'deny' none. Whoever called has to call again,\n"
        "within an hour.\n";

static const char feedback_details[] =
        "Says how good a tool was, in general or in one call. Counts when tools are\n"
        "recommended.\n";

static const char blacklist_details[] =
        "What is on the blacklist is never recommended; it can be called all the same. NAME\n"
        "stands for all versions of a tool, NAME@VERSION for one. A tool that fails five\n"
        "times in a row within ten minutes is on it by itself, for five minutes; then it is\n"
        "tried again, and each time it fails that doubles. A result takes it off, and so\n"
        "does 'remove'.\n";

static const char whitelist_details[] =
        "What is on the whitelist is recommended before all else. NAME stands for all\n"
        "versions of a tool, NAME@VERSION for one.\n";

static const char recommend_details[] =
        "The tools that did best, the best first: by results, speed, feedback and how\n"
        "lately they were called; with --task also by how well their texts fit it. Only\n"
        "tools that may run. A tool of the blacklist that is tried again is recommended\n"
        "once, until it was called or has rested again.\n";

static const char release_details[] =
        "A plugin that crashes three times within a minute is put into quarantine: its\n"
        "tools are refused, over restarts, until someone releases it. So is one in the\n"
        "middle of whose loading the host ended: it is left out.\n";

static const char reload_details[] =
        "NAME is a plugin's id, one of its tools, or the path of its file: that one is made\n"
        "ready anew, also when its file is the same; without it, all files are looked at.\n"
        "Whatever is wrong with a file, what it had before goes on serving; exit code 1 when\n"
        "a file was refused. A plugin that was left out since it ended a process is tried\n"
        "again.\n";

static const char rollback_details[] =
        "Goes back to the content that the plugin's file had before. That is remembered\n"
        "for as long as the file stays as it is: put another one there to end it.\n";

static const char watch_details[] =
        "Runs until it is told to end (Ctrl-C, SIGTERM), and prints a line for each thing\n"
        "that happens; with --json an object each. SIGHUP makes it look at all files.\n";

static const char log_details[] =
        "The calls of all processes that share the state folder, the oldest first. What was\n"
        "called within the last second may be missing yet. Long arguments and results are\n"
        "cut, and what a schema marks as writeOnly or as a password is ***. --follow runs\n"
        "until it is told to end (Ctrl-C, SIGTERM), with --json an object a line.\n";

static const char statistics_details[] =
        "Over all runs: calls, how many succeeded, and how long they took: on average, and\n"
        "half, 95 and 99 of 100 of them at most. With NAME or NAME@VERSION all that is known\n"
        "of that tool. \"stats\" is the same verb.\n";

const struct verb cli_verbs[] = {
        {"list", "", "list the tools, highest priority first", NULL, list_options, 0, 0, true,
         verb_list},
        {"show", "NAME[@VERSION]", "show all that is known about a tool", NULL, NULL, 1, 1, true,
         verb_show},
        {"call", "NAME[@VERSION] [JSON|-]", "call a tool and print its result", call_details,
         call_options, 1, 2, true, verb_call},
        {"answer", "--format F [FILE|-]", "execute the calls of a model's message", answer_details,
         answer_options, 0, 1, true, verb_answer},
        {"agent", "--endpoint URL --model NAME TASK", "let a model work on a task with the tools",
         agent_details, agent_options, 1, 1, true, verb_agent},
        {"export", "--format F", "print the tools as a provider of models wants them",
         export_details, export_options, 0, 0, true, verb_export},
        {"enable", "NAME[@VERSION]", "switch a tool on", name_details, NULL, 1, 1, true,
         verb_enable},
        {"disable", "NAME[@VERSION]", "switch a tool off", name_details, NULL, 1, 1, true,
         verb_disable},
        {"priority", "NAME[@VERSION] N", "set a tool's priority; higher goes first", name_details,
         NULL, 2, 2, true, verb_priority},
        {"default", "NAME [VERSION]", "set or show the version that a name alone means",
         default_details, default_options, 1, 2, true, verb_default},
        {"grant", "NAME[@VERSION]", "let a tool run that is dangerous or asks", grant_details,
         grant_options, 1, 1, true, verb_grant},
        {"revoke", "NAME[@VERSION]", "take back what was granted or approved", revoke_details, NULL,
         1, 1, true, verb_revoke},
        {"grants", "", "list what is granted and approved", NULL, NULL, 0, 0, true, verb_grants},
        {"approvals", "[allow|always|conversation|deny ID]",
         "list the calls that wait for an answer, or give it", approvals_details, NULL, 0, 2, true,
         verb_approvals},
        {"recommend", "", "list the tools that did best", recommend_details, recommend_options, 0,
         0, true, verb_recommend},
        {"feedback", "NAME[@VERSION] good|bad", "say how good a tool was", feedback_details,
         feedback_options, 2, 2, true, verb_feedback},
        {"blacklist", "list|add|remove [NAME[@VERSION]]",
         "list or change what is never recommended", blacklist_details, mark_options, 1, 2, true,
         verb_blacklist},
        {"whitelist", "list|add|remove [NAME[@VERSION]]",
         "list or change what is recommended first", whitelist_details, mark_options, 1, 2, true,
         verb_whitelist},
        {"why", "NAME", "say why a plugin is as it is: state and crashes", why_details, NULL, 1, 1,
         true, verb_why},
        {"release", "NAME", "let a plugin in quarantine run again", release_details, NULL, 1, 1,
         true, verb_release},
        {"reload", "[NAME]", "look at the plugin files again", reload_details, NULL, 0, 1, true,
         verb_reload},
        {"rollback", "NAME", "go back to what a plugin's file had before", rollback_details, NULL,
         1, 1, true, verb_rollback},
        {"watch", "", "reload plugins as their files change", watch_details, NULL, 0, 0, false,
         verb_watch},
        {"log", "", "list the calls that were made", log_details, log_options, 0, 0, true,
         verb_log},
        {"statistics", "[NAME[@VERSION]]", "show statistics of the calls", statistics_details, NULL,
         0, 1, true, verb_statistics, "stats"},
        {"check", "FILE ...", "say what is wrong with a plugin or toolrack.json", check_details,
         NULL, 1, MANY_WORDS, false, verb_check},
        {"version", "", "print the version", NULL, NULL, 0, 0, false, verb_version},
        {"help", "[VERB]", "print help", NULL, NULL, 0, 1, false, verb_help},
        {0},
};
