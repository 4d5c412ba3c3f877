/* options.h - parse the command line.
 *
 * Tables name the verbs and options; this file only reads them. Global options are accepted before
 * and after the verb, those of a verb after it. `--name value` and `--name=value` are the same;
 * `--` ends the options. An option with a value is given once, unless it collects a list; a word
 * such as -5 or - is not an option. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "toolrack/error.h"

/* Longest wait that --timeout takes: one day. */
#define OPTIONS_TIMEOUT_MS_MAX 86400000u
/* Largest count for an option such as --limit. */
#define OPTIONS_COUNT_MAX      1000000000u
/* Longest validity that --for takes: ten years. */
#define OPTIONS_FOR_S_MAX      315360000u
/* Longest wait that --max-wait takes: a day, as providers are not waited for longer. */
#define OPTIONS_WAIT_S_MAX     86400u

/** Strings in the order of the command line, borrowed from it. */
struct texts {
    const char **items;
    size_t count;
};

/** The parsed command line. */
struct options {
    const struct verb *verb; /**< NULL when no verb was given */
    struct texts words;      /**< the words after the verb that are not options */

    const char *config_file;
    const char *state_dir;
    struct texts plugin_dirs; /**< items[count] is NULL */
    bool require_sandbox;
    bool safe_mode;
    bool no_daemon;
    bool json;
    const char *color; /**< NULL, "auto", "always" or "never" */
    bool no_pager;
    bool verbose;
    bool help;
    bool version;

    bool all;
    const char *tag;
    const char *category;
    const char *purpose;
    const char *scenario;
    const char *plugin;
    const char *in_state;
    const char *crash;
    bool reset;
    const char *caller; /**< NULL: the user who is logged in */
    const char *conversation;
    const char *trace;
    struct texts args;
    uint32_t timeout_ms; /**< 0 when not given */
    bool yes;
    uint32_t for_s; /**< 0 when not given */
    const char *tool;
    bool errors;
    const char *outcome;
    const char *since;
    bool follow;

    const char *task;
    const char *context;
    const char *selection;
    bool calls;
    bool forget;
    uint64_t call; /**< 0 when not given */
    const char *reason;

    const char *format;
    const char *endpoint;
    const char *model;
    struct texts headers;
    struct texts query;
    struct texts parameters;
    uint32_t max_result; /**< bytes; 0: not given */
    const char *max_steps;
    const char *rollout_first; /**< hosts rollout */
    uint32_t rollout_calls;    /**< likewise */
    uint32_t max_wait_s;       /**< 0 when not given */
    const char *level;         /**< of findings */
    bool sarif;
    bool plan;
    bool quiet;
    const char *system;
    const char *transcript;
    struct texts allow;
    struct texts listen;
    struct texts sockets;
    const char *nats;  /**< the address of a NATS server */
    const char *group; /**< of hosts */
    const char *name;  /**< of this host */
    uint32_t limit;    /**< 0 when not given */
    uint32_t budget;   /**< 0 when not given */
    bool explain;
    bool disabled;
    bool schema;

    struct texts inputs;
    bool dry_run;
    const char *graph;
    bool watch;
    const char *resume;
    bool goes_on; /**< --continue */
    bool list;
    const char *forgotten; /**< --forget ID */
    struct texts repeats;
    struct texts skips;

    uint64_t seed; /* 0 when not given */
    uint32_t runs; /* likewise */
    struct texts rules;
    struct texts grants;
    const char *junit;
    const char *settings; /* of a plugin: JSON, or the name of a file */
    bool debug;
    const char *build;
    bool installs;
    bool allow_dangerous;

    const char *header; /**< of `bind`, as all until debuginfod */
    struct texts functions;
    struct texts decisions;
    struct texts includes;
    bool debuginfod;

    const char *language;
    bool json_tool;
    bool resources;

    const char *owner;
    const char *profile;
    const char *print_config;
    const char *install;
    const char *expires;
    struct texts tools;   /**< items[count] is NULL */
    uint32_t rate;        /**< 0 when not given */
    struct texts indexes; /**< items[count] is NULL */
    bool is_unsigned;
    bool packages;
    bool admin;
    bool approves;

    const char *output;
    const char *key;
    const char *key_name;
    const char *trust;
    struct texts ids; /**< items[count] is NULL */
    const char *password_file;
    bool no_password;

    const char **memory; /**< owned; the lists above are parts of it */
};

enum option_kind {
    OPTION_FLAG,
    OPTION_TEXT,
    OPTION_LIST,
    OPTION_TIMEOUT,
    OPTION_DURATION,
    OPTION_WAIT,  /* a duration of a day at most */
    OPTION_COUNT, /* into a uint32_t */
    OPTION_ID     /* into a uint64_t */
};

/** One option. A table of them ends with a name that is NULL. */
struct option_spec {
    const char *name;  /**< without the two dashes */
    const char *value; /**< the name of its value in the help; NULL for a flag */
    const char *help;  /**< one line */
    enum option_kind kind;
    size_t offset; /**< of its member in struct options */
};

struct cli;

/** Whether a daemon runs a verb in place of the command. */
enum relayed {
    RELAYED_NEVER,
    RELAYED_ACTS, /* what it does may have taken effect when the daemon is lost */
    RELAYED_SHOWS /* it changes nothing, and can be done again */
};

/** Read a duration such as 30s, 10m, 2h or 7d. False: not a duration, or longer than
 * OPTIONS_FOR_S_MAX. */
bool options_duration(const char *text, uint32_t *ret_s);

/** One verb. The table of verbs ends with a name that is NULL; the help is made from it. */
struct verb {
    const char *name;
    const char *arguments;             /**< as the usage line shows them; "" for none */
    const char *summary;               /**< one line */
    const char *details;               /**< paragraphs for `help VERB`, each line ended; or NULL */
    const struct option_spec *options; /**< its own; NULL for none */
    unsigned words_min;
    unsigned words_max;
    bool host;                   /**< runs with an open host */
    int (*run)(struct cli *cli); /**< @return an exit code */
    const char *alias;           /**< another accepted name; or NULL */
    const char *group;           /**< heading above it in the help; NULL: that of the verb before */
    bool tells_all;              /**< prints each refusal of a tool or definition */
    bool raw;                    /**< its output is a result for a program: no wrapping, no pager */
    bool runs_tools;             /**< may take long: decisions of others take effect meanwhile */
    enum relayed relayed;
    bool takes_file; /**< its word may be a path, of the folder of the command */
};

/** Options that every verb takes. */
extern const struct option_spec options_global[];

/** Parse a command line. Nothing is printed.
 *
 * @param ret  set even on failure, as far as was read (so that --json is known); release with
 *             options_finish()
 * @return 0; TOOLRACK_E_INVALID (the message is a usage error); TOOLRACK_E_NO_MEMORY. */
int options_parse(const struct verb *verbs, int argc, char **argv, struct options *ret,
                  struct toolrack_error *err);
void options_finish(struct options *options);

/** The verb of that name, or NULL. */
const struct verb *options_verb(const struct verb *verbs, const char *name);

/** Whether there is a filter by what only tools have: tag, category, purpose or scenario. */
bool options_has_values(const struct options *options);

/** Read a whole decimal number from `text`. */
bool options_number(const char *text, long long min, long long max, long long *ret);

/** Set `err` to a usage error about an unknown verb, with the nearest one. */
int options_unknown_verb(const struct verb *verbs, const char *name, struct toolrack_error *err);
