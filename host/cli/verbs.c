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
        {0},
};

static const struct option_spec call_options[] = {
        {"arg", "NAME=VALUE", "one argument; repeatable", OPTION_LIST, MEMBER(args)},
        {"timeout", "MS", "give up after so many milliseconds", OPTION_TIMEOUT, MEMBER(timeout_ms)},
        {"yes", NULL, "you agree to what the tool does", OPTION_FLAG, MEMBER(yes)},
        {0},
};

static const char call_details[] =
        "The arguments are one JSON object; - reads it from standard input. --arg sets\n"
        "one argument, taking its type from the tool's schema: a string stays as it is,\n"
        "anything else is read as JSON. a.b=VALUE sets b inside the object a. Given\n"
        "again, an array gets one more item. --arg wins over the JSON.\n"
        "\n"
        "A text result is printed as it is, any other as JSON; with --json always JSON.\n"
        "Ctrl-C cancels the call; the command then ends of SIGINT (130 in a shell).\n"
        "A tool whose permission is 'confirm' runs with --yes only, and a 'dangerous'\n"
        "one when the configuration grants it.\n";

static const char check_details[] =
        "Reads the files and runs nothing of them. Exit code 1 when there is an error or\n"
        "a warning in any of them; notes alone are no failure.\n";

static const char name_details[] =
        "NAME stands for all versions of a tool, those to come too; NAME@VERSION for one.\n"
        "Kept in the state folder, for every later run.\n";

static const char why_details[] =
        "NAME is a plugin's id or one of its tools. Shows its state and the crashes kept\n"
        "of it, the newest first: signal, backtrace, last lines.\n";

static const char release_details[] =
        "A plugin that crashes three times within a minute is put into quarantine: its\n"
        "tools are refused, over restarts, until someone releases it.\n";

const struct verb cli_verbs[] = {
        {"list", "", "list the tools, highest priority first", NULL, list_options, 0, 0, true,
         verb_list},
        {"show", "NAME[@VERSION]", "show all that is known about a tool", NULL, NULL, 1, 1, true,
         verb_show},
        {"call", "NAME[@VERSION] [JSON|-]", "call a tool and print its result", call_details,
         call_options, 1, 2, true, verb_call},
        {"enable", "NAME[@VERSION]", "switch a tool on", name_details, NULL, 1, 1, true,
         verb_enable},
        {"disable", "NAME[@VERSION]", "switch a tool off", name_details, NULL, 1, 1, true,
         verb_disable},
        {"priority", "NAME[@VERSION] N", "set a tool's priority; higher goes first", name_details,
         NULL, 2, 2, true, verb_priority},
        {"why", "NAME", "say why a plugin is as it is: state and crashes", why_details, NULL, 1, 1,
         true, verb_why},
        {"release", "NAME", "let a plugin in quarantine run again", release_details, NULL, 1, 1,
         true, verb_release},
        {"check", "FILE.so ...", "say what is wrong with a plugin, and the fix", check_details,
         NULL, 1, MANY_WORDS, false, verb_check},
        {"version", "", "print the version", NULL, NULL, 0, 0, false, verb_version},
        {"help", "[VERB]", "print help", NULL, NULL, 0, 1, false, verb_help},
        {0},
};
