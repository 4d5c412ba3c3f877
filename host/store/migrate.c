/* The schema versions of the tables. A released step is never changed: existing files were made
 * with it. */
#include "store/database.h"

/* Tables of feedback, marks and health. */
#define OPINION_TABLES                                               \
    "CREATE TABLE feedback ("                                        \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT,"                        \
    "  time_ms INTEGER NOT NULL,"                                    \
    "  tool TEXT NOT NULL,"                                          \
    "  version TEXT NOT NULL,"                                       \
    "  good INTEGER NOT NULL,"                                       \
    "  call INTEGER,"                                                \
    "  who TEXT NOT NULL"                                            \
    ") STRICT;"                                                      \
    "CREATE INDEX feedback_of_tool ON feedback (tool, version, id);" \
    "CREATE TABLE marks ("                                           \
    "  selector TEXT PRIMARY KEY NOT NULL,"                          \
    "  list INTEGER NOT NULL,"                                       \
    "  since_ms INTEGER NOT NULL,"                                   \
    "  who TEXT NOT NULL,"                                           \
    "  why TEXT"                                                     \
    ") WITHOUT ROWID, STRICT;"                                       \
    "CREATE TABLE health ("                                          \
    "  tool TEXT NOT NULL,"                                          \
    "  version TEXT NOT NULL,"                                       \
    "  failed_1_ms INTEGER NOT NULL,"                                \
    "  failed_2_ms INTEGER NOT NULL,"                                \
    "  failed_3_ms INTEGER NOT NULL,"                                \
    "  failed_4_ms INTEGER NOT NULL,"                                \
    "  failed_5_ms INTEGER NOT NULL,"                                \
    "  since_ms INTEGER NOT NULL,"                                   \
    "  trial_ms INTEGER NOT NULL,"                                   \
    "  cool_down_ms INTEGER NOT NULL,"                               \
    "  tried INTEGER NOT NULL,"                                      \
    "  PRIMARY KEY (tool, version)"                                  \
    ") WITHOUT ROWID, STRICT;"

/* What was seen of plugins, and what was said about that. `plugin` of pins, quarantine and crashes
 * is the text of an identity from this step on; rows that have an id alone are bound to its owner
 * (identities.c). */
#define IDENTITY_TABLES                       \
    "CREATE TABLE identities ("               \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT," \
    "  plugin TEXT NOT NULL,"                 \
    "  origin TEXT NOT NULL,"                 \
    "  trust INTEGER NOT NULL,"               \
    "  seen_s INTEGER NOT NULL,"              \
    "  owns INTEGER NOT NULL,"                \
    "  file TEXT,"                            \
    "  version TEXT,"                         \
    "  UNIQUE (plugin, origin)"               \
    ") STRICT;"                               \
    "CREATE TABLE names ("                    \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT," \
    "  tool TEXT NOT NULL,"                   \
    "  identity INTEGER NOT NULL,"            \
    "  UNIQUE (tool, identity)"               \
    ") STRICT;"                               \
    "CREATE TABLE identity_sets ("            \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT," \
    "  sha256 BLOB UNIQUE NOT NULL"           \
    ") STRICT;"                               \
    "CREATE TABLE told ("                     \
    "  subject TEXT PRIMARY KEY NOT NULL,"    \
    "  what TEXT NOT NULL"                    \
    ") WITHOUT ROWID, STRICT;"                \
    "ALTER TABLE defaults ADD COLUMN identity TEXT;"

/* Contents that could not be loaded. */
#define FAILURE_TABLES                  \
    "CREATE TABLE failures ("           \
    "  path TEXT PRIMARY KEY NOT NULL," \
    "  sha256 BLOB NOT NULL,"           \
    "  conditions BLOB NOT NULL,"       \
    "  reason TEXT NOT NULL,"           \
    "  since_s INTEGER NOT NULL"        \
    ") WITHOUT ROWID, STRICT;"

/* What is known of the contents of plugin files, beside their order in `generations`. `rule` and
 * `reason` say why a content is not used; NULL: it may be used. `worked`: a tool of it has
 * answered. */
#define CONTENT_TABLES                                            \
    "CREATE TABLE contents ("                                     \
    "  path TEXT NOT NULL,"                                       \
    "  sha256 BLOB NOT NULL,"                                     \
    "  plugin TEXT,"                                              \
    "  version TEXT,"                                             \
    "  rule TEXT,"                                                \
    "  reason TEXT,"                                              \
    "  worked INTEGER NOT NULL DEFAULT 0,"                        \
    "  removed INTEGER NOT NULL,"                                 \
    "  PRIMARY KEY (path, sha256)"                                \
    ") WITHOUT ROWID, STRICT;"                                    \
    "CREATE TABLE quarantine_of_one AS SELECT * FROM quarantine;" \
    "DROP TABLE quarantine;"                                      \
    "CREATE TABLE quarantine ("                                   \
    "  plugin TEXT NOT NULL,"                                     \
    "  sha256 BLOB NOT NULL,"                                     \
    "  reason TEXT NOT NULL,"                                     \
    "  since_s INTEGER NOT NULL,"                                 \
    "  crash_count INTEGER NOT NULL,"                             \
    "  PRIMARY KEY (plugin, sha256)"                              \
    ") WITHOUT ROWID, STRICT;"                                    \
    "INSERT INTO quarantine SELECT * FROM quarantine_of_one;"     \
    "DROP TABLE quarantine_of_one;"

/* What plugins may do, and what a pin holds beside its first texts; NULL in those of schema 3. The
 * number of the file is that of DATABASE_APPLICATION_ID. */
#define CAPABILITY_TABLES                                                                     \
    "CREATE TABLE capabilities ("                                                             \
    "  plugin TEXT NOT NULL,"                                                                 \
    "  kind INTEGER NOT NULL,"                                                                \
    "  word TEXT NOT NULL,"                                                                   \
    "  capability TEXT NOT NULL,"                                                             \
    "  since_s INTEGER NOT NULL,"                                                             \
    "  who TEXT NOT NULL,"                                                                    \
    "  PRIMARY KEY (plugin, kind, word, capability)"                                          \
    ") WITHOUT ROWID, STRICT;"                                                                \
    "CREATE TABLE cautions ("                                                                 \
    "  plugin TEXT NOT NULL,"                                                                 \
    "  tool TEXT NOT NULL,"                                                                   \
    "  permission INTEGER NOT NULL,"                                                          \
    "  PRIMARY KEY (plugin, tool)"                                                            \
    ") WITHOUT ROWID, STRICT;"                                                                \
    "CREATE TABLE pins_of_two_texts AS SELECT * FROM pins;"                                   \
    "DROP TABLE pins;"                                                                        \
    "CREATE TABLE pins ("                                                                     \
    "  plugin TEXT NOT NULL,"                                                                 \
    "  tool TEXT NOT NULL,"                                                                   \
    "  version TEXT NOT NULL,"                                                                \
    "  sha256 BLOB NOT NULL,"                                                                 \
    "  description TEXT NOT NULL,"                                                            \
    "  schema TEXT NOT NULL,"                                                                 \
    "  approved_s INTEGER NOT NULL,"                                                          \
    "  who TEXT NOT NULL,"                                                                    \
    "  permission INTEGER,"                                                                   \
    "  flags INTEGER,"                                                                        \
    "  capabilities TEXT,"                                                                    \
    "  title TEXT,"                                                                           \
    "  deprecated TEXT,"                                                                      \
    "  result_schema TEXT,"                                                                   \
    "  purpose TEXT,"                                                                         \
    "  scenarios TEXT,"                                                                       \
    "  category TEXT,"                                                                        \
    "  tags TEXT,"                                                                            \
    "  examples TEXT,"                                                                        \
    "  PRIMARY KEY (plugin, tool, version)"                                                   \
    ") STRICT;"                                                                               \
    "INSERT INTO pins (plugin, tool, version, sha256, description, schema, approved_s, who) " \
    "SELECT plugin, tool, version, sha256, description, schema, approved_s, who FROM "        \
    "pins_of_two_texts;"                                                                      \
    "DROP TABLE pins_of_two_texts;"                                                           \
    "PRAGMA application_id = 1953460076;"

/* Pins and cautions as they were under another version of a plugin (standings.h). */
#define STANDING_TABLES                              \
    "CREATE TABLE standings ("                       \
    "  plugin TEXT NOT NULL,"                        \
    "  kept_as TEXT NOT NULL,"                       \
    "  since_s INTEGER NOT NULL,"                    \
    "  PRIMARY KEY (plugin, kept_as)"                \
    ") STRICT;"                                      \
    "CREATE TABLE kept_cautions ("                   \
    "  plugin TEXT NOT NULL,"                        \
    "  kept_as TEXT NOT NULL,"                       \
    "  tool TEXT NOT NULL,"                          \
    "  permission INTEGER NOT NULL,"                 \
    "  PRIMARY KEY (plugin, kept_as, tool)"          \
    ") WITHOUT ROWID, STRICT;"                       \
    "CREATE TABLE kept_pins ("                       \
    "  plugin TEXT NOT NULL,"                        \
    "  kept_as TEXT NOT NULL,"                       \
    "  tool TEXT NOT NULL,"                          \
    "  version TEXT NOT NULL,"                       \
    "  sha256 BLOB NOT NULL,"                        \
    "  description TEXT NOT NULL,"                   \
    "  schema TEXT NOT NULL,"                        \
    "  approved_s INTEGER NOT NULL,"                 \
    "  who TEXT NOT NULL,"                           \
    "  permission INTEGER,"                          \
    "  flags INTEGER,"                               \
    "  capabilities TEXT,"                           \
    "  title TEXT,"                                  \
    "  deprecated TEXT,"                             \
    "  result_schema TEXT,"                          \
    "  purpose TEXT,"                                \
    "  scenarios TEXT,"                              \
    "  category TEXT,"                               \
    "  tags TEXT,"                                   \
    "  examples TEXT,"                               \
    "  PRIMARY KEY (plugin, kept_as, tool, version)" \
    ") STRICT;"

/* What was measured and said about tools, and what was set and marked, by the identity that it is
 * about. It is empty for what holds for a name whoever provides it (a tool that is disabled, or on
 * the blacklist), and in rows of schema 3, until they are bound to the owner of the name. `plugin`
 * of calls is the text of an identity from this step on; earlier rows have an id alone.
 * (identities.c) */
#define BOUND_TABLES                                                                          \
    "CREATE TABLE settings_of_names AS SELECT * FROM settings;"                               \
    "DROP TABLE settings;"                                                                    \
    "CREATE TABLE settings ("                                                                 \
    "  selector TEXT NOT NULL,"                                                               \
    "  plugin TEXT NOT NULL,"                                                                 \
    "  enabled INTEGER,"                                                                      \
    "  priority INTEGER,"                                                                     \
    "  PRIMARY KEY (selector, plugin)"                                                        \
    ") WITHOUT ROWID, STRICT;"                                                                \
    "INSERT INTO settings SELECT selector, '', enabled, priority FROM settings_of_names;"     \
    "DROP TABLE settings_of_names;"                                                           \
    "CREATE TABLE marks_of_names AS SELECT * FROM marks;"                                     \
    "DROP TABLE marks;"                                                                       \
    "CREATE TABLE marks ("                                                                    \
    "  selector TEXT NOT NULL,"                                                               \
    "  plugin TEXT NOT NULL,"                                                                 \
    "  list INTEGER NOT NULL,"                                                                \
    "  since_ms INTEGER NOT NULL,"                                                            \
    "  who TEXT NOT NULL,"                                                                    \
    "  why TEXT,"                                                                             \
    "  PRIMARY KEY (selector, plugin)"                                                        \
    ") WITHOUT ROWID, STRICT;"                                                                \
    "INSERT INTO marks SELECT selector, '', list, since_ms, who, why FROM marks_of_names;"    \
    "DROP TABLE marks_of_names;"                                                              \
    "CREATE TABLE health_of_names AS SELECT * FROM health;"                                   \
    "DROP TABLE health;"                                                                      \
    "CREATE TABLE health ("                                                                   \
    "  tool TEXT NOT NULL,"                                                                   \
    "  version TEXT NOT NULL,"                                                                \
    "  plugin TEXT NOT NULL,"                                                                 \
    "  failed_1_ms INTEGER NOT NULL,"                                                         \
    "  failed_2_ms INTEGER NOT NULL,"                                                         \
    "  failed_3_ms INTEGER NOT NULL,"                                                         \
    "  failed_4_ms INTEGER NOT NULL,"                                                         \
    "  failed_5_ms INTEGER NOT NULL,"                                                         \
    "  since_ms INTEGER NOT NULL,"                                                            \
    "  trial_ms INTEGER NOT NULL,"                                                            \
    "  cool_down_ms INTEGER NOT NULL,"                                                        \
    "  tried INTEGER NOT NULL,"                                                               \
    "  PRIMARY KEY (tool, version, plugin)"                                                   \
    ") WITHOUT ROWID, STRICT;"                                                                \
    "INSERT INTO health SELECT tool, version, '', failed_1_ms, failed_2_ms, failed_3_ms, "    \
    "failed_4_ms, failed_5_ms, since_ms, trial_ms, cool_down_ms, tried FROM health_of_names;" \
    "DROP TABLE health_of_names;"                                                             \
    "CREATE TABLE usage_of_names AS SELECT * FROM usage;"                                     \
    "DROP TABLE usage;"                                                                       \
    "CREATE TABLE usage ("                                                                    \
    "  id INTEGER PRIMARY KEY,"                                                               \
    "  tool TEXT NOT NULL,"                                                                   \
    "  version TEXT NOT NULL,"                                                                \
    "  plugin TEXT NOT NULL,"                                                                 \
    "  calls INTEGER NOT NULL,"                                                               \
    "  failures INTEGER NOT NULL,"                                                            \
    "  unlogged INTEGER NOT NULL,"                                                            \
    "  total_ns INTEGER NOT NULL,"                                                            \
    "  max_ns INTEGER NOT NULL,"                                                              \
    "  cpu_calls INTEGER NOT NULL,"                                                           \
    "  cpu_ns INTEGER NOT NULL,"                                                              \
    "  memory_calls INTEGER NOT NULL,"                                                        \
    "  memory INTEGER NOT NULL,"                                                              \
    "  bytes_in INTEGER NOT NULL,"                                                            \
    "  bytes_out INTEGER NOT NULL,"                                                           \
    "  first_ms INTEGER NOT NULL,"                                                            \
    "  last_ms INTEGER NOT NULL,"                                                             \
    "  last_error TEXT,"                                                                      \
    "  last_error_ms INTEGER NOT NULL,"                                                       \
    "  UNIQUE (tool, version, plugin)"                                                        \
    ") STRICT;"                                                                               \
    "INSERT INTO usage SELECT id, tool, version, '', calls, failures, unlogged, total_ns, "   \
    "max_ns, cpu_calls, cpu_ns, memory_calls, memory, bytes_in, bytes_out, first_ms, "        \
    "last_ms, last_error, last_error_ms FROM usage_of_names;"                                 \
    "DROP TABLE usage_of_names;"                                                              \
    "ALTER TABLE usage ADD COLUMN hindered INTEGER NOT NULL DEFAULT 0;"                       \
    "ALTER TABLE feedback ADD COLUMN plugin TEXT NOT NULL DEFAULT '';"                        \
    "CREATE INDEX calls_of_ids ON calls (plugin) WHERE instr(plugin, ' ') = 0;"

/* Of arguments with secrets, which are stored masked; NULL: they have none, or the row is of
 * an earlier schema. The identity of the tool's plugin, which the process that answers may not
 * know, and what the tool was when the call began to wait. */
#define PENDING_TABLES                                      \
    "ALTER TABLE pending ADD COLUMN arguments_sha256 BLOB;" \
    "ALTER TABLE pending ADD COLUMN plugin TEXT;"           \
    "ALTER TABLE pending ADD COLUMN pin TEXT;"

/* The order of what several processes wrote: by time, which the rows of one second need in parts of
 * it. NULL in rows of an earlier schema. */
#define ORDER_COLUMNS                                        \
    "ALTER TABLE generations ADD COLUMN seen_ms INTEGER;"    \
    "CREATE INDEX decisions_of_time ON decisions (time_ms);" \
    "ALTER TABLE decisions ADD COLUMN origin TEXT;"

/* Who may use a server, and calls that are answered with a task. Of an outcome with a size and no
 * text there is a file. */
#define SERVING_TABLES                                        \
    "ALTER TABLE pending ADD COLUMN party TEXT;"              \
    "CREATE TABLE tokens ("                                   \
    "  name TEXT PRIMARY KEY NOT NULL,"                       \
    "  id TEXT UNIQUE NOT NULL,"                              \
    "  sha256 BLOB UNIQUE NOT NULL,"                          \
    "  admin INTEGER NOT NULL,"                               \
    "  approves INTEGER NOT NULL,"                            \
    "  profile TEXT,"                                         \
    "  tools TEXT,"                                           \
    "  rate_per_minute INTEGER NOT NULL,"                     \
    "  created_s INTEGER NOT NULL,"                           \
    "  expires_s INTEGER NOT NULL,"                           \
    "  who TEXT NOT NULL"                                     \
    ") STRICT;"                                               \
    "CREATE TABLE tasks ("                                    \
    "  id TEXT UNIQUE NOT NULL,"                              \
    "  owner TEXT NOT NULL,"                                  \
    "  runner TEXT NOT NULL,"                                 \
    "  tool TEXT NOT NULL,"                                   \
    "  version TEXT NOT NULL,"                                \
    "  method TEXT NOT NULL,"                                 \
    "  status INTEGER NOT NULL,"                              \
    "  message TEXT,"                                         \
    "  created_ms INTEGER NOT NULL,"                          \
    "  updated_ms INTEGER NOT NULL,"                          \
    "  expires_ms INTEGER NOT NULL,"                          \
    "  poll_ms INTEGER NOT NULL,"                             \
    "  input TEXT,"                                           \
    "  outcome TEXT,"                                         \
    "  outcome_size INTEGER NOT NULL"                         \
    ") STRICT;"                                               \
    "CREATE INDEX tasks_of_owner ON tasks (owner);"           \
    "CREATE INDEX tasks_of_runner ON tasks (runner, status);" \
    "CREATE INDEX tasks_of_time ON tasks (expires_ms);"

/* An approval for a conversation is of who calls in it; '' is a call without a caller, NULL whoever
 * calls, as in rows of schema 4. */
#define CALLER_COLUMNS                                                                     \
    "CREATE TABLE approvals_of_conversations AS SELECT * FROM approvals;"                  \
    "DROP TABLE approvals;"                                                                \
    "CREATE TABLE approvals ("                                                             \
    "  tool TEXT NOT NULL,"                                                                \
    "  version TEXT NOT NULL,"                                                             \
    "  conversation TEXT NOT NULL,"                                                        \
    "  who TEXT NOT NULL,"                                                                 \
    "  approved_s INTEGER NOT NULL,"                                                       \
    "  caller TEXT,"                                                                       \
    "  UNIQUE (tool, version, conversation, caller)"                                       \
    ") STRICT;"                                                                            \
    "INSERT INTO approvals (tool, version, conversation, who, approved_s) "                \
    "SELECT tool, version, conversation, who, approved_s FROM approvals_of_conversations;" \
    "DROP TABLE approvals_of_conversations;"

/* Which calls have an id alone, as rows of schema 3. The index that said so was looked at for each
 * call that was logged, whatever it has. */
#define UNBOUND_TABLES                                                                         \
    "CREATE TABLE unbound_calls (call INTEGER PRIMARY KEY NOT NULL) STRICT;"                   \
    "INSERT INTO unbound_calls SELECT id FROM calls WHERE instr(plugin, ' ') = 0 ORDER BY id;" \
    "DROP INDEX calls_of_ids;"

/* Which tool was chosen for which text. A row that changes is replaced by one with the next number:
 * who keeps the rows reads those that are new to it. */
#define SELECTION_TABLES                          \
    "CREATE TABLE selections ("                   \
    "  change INTEGER PRIMARY KEY AUTOINCREMENT," \
    "  id TEXT UNIQUE NOT NULL,"                  \
    "  principal TEXT NOT NULL,"                  \
    "  text TEXT NOT NULL,"                       \
    "  tool TEXT NOT NULL,"                       \
    "  plugin TEXT NOT NULL,"                     \
    "  time_ms INTEGER NOT NULL,"                 \
    "  worked INTEGER NOT NULL,"                  \
    "  failed INTEGER NOT NULL,"                  \
    "  right_tool TEXT,"                          \
    "  right_plugin TEXT NOT NULL"                \
    ") STRICT;"                                   \
    "CREATE INDEX selections_of_principal ON selections (principal, change);"

/* The key by which ids are made. Those of before were made without one. */
#define SELECTION_KEY_TABLES                                   \
    "CREATE TABLE selection_key (key BLOB NOT NULL) STRICT;"   \
    "INSERT INTO selection_key (key) VALUES (randomblob(32));" \
    "UPDATE selections SET id = lower(hex(randomblob(8)));"

/* What an embeddings model said of texts of tools; the lowest id was kept longest. */
#define VECTOR_TABLES                         \
    "CREATE TABLE vectors ("                  \
    "  id INTEGER PRIMARY KEY AUTOINCREMENT," \
    "  sha256 BLOB UNIQUE NOT NULL,"          \
    "  vector BLOB NOT NULL"                  \
    ") STRICT;"

/* Runs of plans (runs.h). A run's nodes are removed with it. */
#define RUN_TABLES                                \
    "CREATE TABLE runs ("                         \
    "  number INTEGER PRIMARY KEY AUTOINCREMENT," \
    "  id TEXT UNIQUE NOT NULL,"                  \
    "  name TEXT,"                                \
    "  owner TEXT,"                               \
    "  caller TEXT,"                              \
    "  channel TEXT,"                             \
    "  runner TEXT NOT NULL,"                     \
    "  state INTEGER NOT NULL,"                   \
    "  created_ms INTEGER NOT NULL,"              \
    "  updated_ms INTEGER NOT NULL,"              \
    "  ended_ms INTEGER NOT NULL,"                \
    "  seed INTEGER NOT NULL,"                    \
    "  node_count INTEGER NOT NULL,"              \
    "  error TEXT,"                               \
    "  code INTEGER NOT NULL DEFAULT 0,"          \
    "  result TEXT,"                              \
    "  sha256 BLOB NOT NULL,"                     \
    "  tools TEXT NOT NULL,"                      \
    "  inputs TEXT NOT NULL,"                     \
    "  plan TEXT NOT NULL"                        \
    ") STRICT;"                                   \
    "CREATE TABLE run_nodes ("                    \
    "  run TEXT NOT NULL,"                        \
    "  node INTEGER NOT NULL,"                    \
    "  state INTEGER NOT NULL,"                   \
    "  attempts INTEGER NOT NULL,"                \
    "  began_ms INTEGER NOT NULL,"                \
    "  ended_ms INTEGER NOT NULL,"                \
    "  code INTEGER NOT NULL,"                    \
    "  error TEXT,"                               \
    "  unkept TEXT,"                              \
    "  result TEXT,"                              \
    "  PRIMARY KEY (run, node)"                   \
    ") STRICT;"

/* Which run a call is of: its trace may be that of a peer. Whose share a run takes; NULL: that of
 * its owner. */
#define RUN_COLUMNS                          \
    "ALTER TABLE calls ADD COLUMN run TEXT;" \
    "ALTER TABLE runs ADD COLUMN party TEXT;"

/* What persons have agreed to in runs (runs.h). */
#define AGREED_TABLES                             \
    "CREATE TABLE run_agreed ("                   \
    "  number INTEGER PRIMARY KEY AUTOINCREMENT," \
    "  run TEXT NOT NULL,"                        \
    "  node INTEGER NOT NULL,"                    \
    "  fallback INTEGER NOT NULL,"                \
    "  tool TEXT NOT NULL,"                       \
    "  version TEXT NOT NULL,"                    \
    "  standing INTEGER NOT NULL,"                \
    "  hash BLOB,"                                \
    "  any_arguments INTEGER NOT NULL,"           \
    "  who TEXT NOT NULL"                         \
    ") STRICT;"                                   \
    "CREATE INDEX agreed_of_run ON run_agreed (run);"

/* What the texts of a run take (runs.h): not in its row, which is long to read and to write. */
#define RUN_BYTES_TABLES                                                                  \
    "CREATE TABLE run_bytes ("                                                            \
    "  run TEXT PRIMARY KEY NOT NULL,"                                                    \
    "  party TEXT,"                                                                       \
    "  bytes INTEGER NOT NULL"                                                            \
    ") WITHOUT ROWID, STRICT;"                                                            \
    "INSERT INTO run_bytes "                                                              \
    "SELECT id, coalesce(party, owner), length(CAST(plan || inputs || tools AS BLOB)) + " \
    "coalesce(length(CAST(result AS BLOB)), 0) + "                                        \
    "(SELECT coalesce(sum(coalesce(length(CAST(result AS BLOB)), 0) + "                   \
    "coalesce(length(CAST(error AS BLOB)), 0)), 0) FROM run_nodes WHERE run = id) FROM runs;"

/* The texts of a run (runs.h): not in its row either, which each commit of a node reads whole to
 * change it. */
#define RUN_TEXTS_TABLES                                                                \
    "CREATE TABLE run_texts ("                                                          \
    "  run TEXT PRIMARY KEY NOT NULL,"                                                  \
    "  tools TEXT NOT NULL,"                                                            \
    "  inputs TEXT NOT NULL,"                                                           \
    "  plan TEXT NOT NULL"                                                              \
    ") STRICT;"                                                                         \
    "INSERT INTO run_texts SELECT id, tools, inputs, plan FROM runs;"                   \
    "ALTER TABLE runs RENAME TO runs_with_texts;"                                       \
    "CREATE TABLE runs ("                                                               \
    "  number INTEGER PRIMARY KEY AUTOINCREMENT,"                                       \
    "  id TEXT UNIQUE NOT NULL,"                                                        \
    "  name TEXT,"                                                                      \
    "  owner TEXT,"                                                                     \
    "  party TEXT,"                                                                     \
    "  caller TEXT,"                                                                    \
    "  channel TEXT,"                                                                   \
    "  runner TEXT NOT NULL,"                                                           \
    "  state INTEGER NOT NULL,"                                                         \
    "  created_ms INTEGER NOT NULL,"                                                    \
    "  updated_ms INTEGER NOT NULL,"                                                    \
    "  ended_ms INTEGER NOT NULL,"                                                      \
    "  seed INTEGER NOT NULL,"                                                          \
    "  node_count INTEGER NOT NULL,"                                                    \
    "  sha256 BLOB NOT NULL,"                                                           \
    "  code INTEGER NOT NULL DEFAULT 0,"                                                \
    "  error TEXT,"                                                                     \
    "  result TEXT"                                                                     \
    ") STRICT;"                                                                         \
    "INSERT INTO runs SELECT number, id, name, owner, party, caller, channel, runner, " \
    "state, created_ms, updated_ms, ended_ms, seed, node_count, sha256, code, error, "  \
    "result FROM runs_with_texts;"                                                      \
    "DROP TABLE runs_with_texts;"

/* The strings of who decided, and why, are stored as given; the store does not interpret them.
 * Times are seconds since 1970, in the two logs milliseconds. */
static const struct {
    int number;
    const char *sql; /* compilers take at most 4095 bytes */
} steps[] = {
        /* 1: settings made at run time */
        {1, "CREATE TABLE settings ("
            "  selector TEXT PRIMARY KEY NOT NULL,"
            "  enabled INTEGER,"
            "  priority INTEGER"
            ") WITHOUT ROWID, STRICT;"},

        /* 2: decisions about tools, and what plugins did */
        {2, "CREATE TABLE grants ("
            "  selector TEXT PRIMARY KEY NOT NULL,"
            "  expires_s INTEGER NOT NULL,"
            "  who TEXT NOT NULL,"
            "  granted_s INTEGER NOT NULL"
            ") WITHOUT ROWID, STRICT;"
            /* An empty conversation means all: in a key no NULL is equal to another. */
            "CREATE TABLE approvals ("
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  conversation TEXT NOT NULL,"
            "  who TEXT NOT NULL,"
            "  approved_s INTEGER NOT NULL,"
            "  PRIMARY KEY (tool, version, conversation)"
            ") STRICT;"
            "CREATE TABLE pending ("
            "  id TEXT PRIMARY KEY NOT NULL,"
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  arguments TEXT NOT NULL,"
            "  caller TEXT,"
            "  channel TEXT,"
            "  conversation TEXT,"
            "  reason TEXT,"
            "  created_s INTEGER NOT NULL,"
            "  expires_s INTEGER NOT NULL,"
            "  answer INTEGER NOT NULL,"
            "  answered_by TEXT"
            ") STRICT;"
            "CREATE TABLE pins ("
            "  plugin TEXT NOT NULL,"
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  sha256 BLOB NOT NULL,"
            "  description TEXT NOT NULL,"
            "  schema TEXT NOT NULL,"
            "  approved_s INTEGER NOT NULL,"
            "  who TEXT NOT NULL,"
            "  PRIMARY KEY (plugin, tool, version)"
            ") STRICT;"
            "CREATE TABLE quarantine ("
            "  plugin TEXT PRIMARY KEY NOT NULL,"
            "  sha256 BLOB NOT NULL,"
            "  reason TEXT NOT NULL,"
            "  since_s INTEGER NOT NULL,"
            "  crash_count INTEGER NOT NULL"
            ") WITHOUT ROWID, STRICT;"
            "CREATE TABLE crashes ("
            "  id INTEGER PRIMARY KEY AUTOINCREMENT,"
            "  plugin TEXT NOT NULL,"
            "  time_s INTEGER NOT NULL,"
            "  bundle TEXT NOT NULL"
            ") STRICT;"
            "CREATE INDEX crashes_of_plugin ON crashes (plugin, id);"
            "CREATE TABLE generations ("
            "  sequence INTEGER PRIMARY KEY AUTOINCREMENT,"
            "  path TEXT NOT NULL,"
            "  sha256 BLOB NOT NULL,"
            "  staged TEXT NOT NULL,"
            "  seen_s INTEGER NOT NULL"
            ") STRICT;"
            "CREATE INDEX generations_of_path ON generations (path, sequence);"
            "CREATE TABLE rollbacks ("
            "  path TEXT PRIMARY KEY NOT NULL,"
            "  bad_sha256 BLOB NOT NULL,"
            "  use_sha256 BLOB NOT NULL"
            ") WITHOUT ROWID, STRICT;"
            "CREATE TABLE decisions ("
            "  id INTEGER PRIMARY KEY,"
            "  time_ms INTEGER NOT NULL,"
            "  tool TEXT,"
            "  version TEXT,"
            "  plugin TEXT,"
            "  caller TEXT,"
            "  channel TEXT,"
            "  conversation TEXT,"
            "  decision TEXT NOT NULL,"
            "  who TEXT,"
            "  why TEXT"
            ") STRICT;"},

        /* 3: default versions; the log of calls and statistics */
        {3, "CREATE TABLE defaults ("
            "  tool TEXT PRIMARY KEY NOT NULL,"
            "  version TEXT NOT NULL"
            ") WITHOUT ROWID, STRICT;"
            "CREATE TABLE calls ("
            "  id INTEGER PRIMARY KEY,"
            "  time_ms INTEGER NOT NULL,"
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  plugin TEXT NOT NULL,"
            "  caller TEXT,"
            "  channel TEXT,"
            "  conversation TEXT,"
            "  trace TEXT,"
            "  duration_ns INTEGER NOT NULL,"
            "  arguments TEXT NOT NULL,"
            "  result TEXT,"
            "  bytes_in INTEGER NOT NULL,"
            "  bytes_out INTEGER NOT NULL,"
            "  error TEXT,"
            "  cpu_ns INTEGER,"
            "  memory INTEGER,"
            "  written INTEGER NOT NULL"
            ") STRICT;"
            "CREATE INDEX calls_that_failed ON calls (id) WHERE error IS NOT NULL;"
            "CREATE TABLE usage ("
            "  id INTEGER PRIMARY KEY,"
            "  tool TEXT NOT NULL,"
            "  version TEXT NOT NULL,"
            "  calls INTEGER NOT NULL,"
            "  failures INTEGER NOT NULL,"
            "  unlogged INTEGER NOT NULL,"
            "  total_ns INTEGER NOT NULL,"
            "  max_ns INTEGER NOT NULL,"
            "  cpu_calls INTEGER NOT NULL,"
            "  cpu_ns INTEGER NOT NULL,"
            "  memory_calls INTEGER NOT NULL,"
            "  memory INTEGER NOT NULL,"
            "  bytes_in INTEGER NOT NULL,"
            "  bytes_out INTEGER NOT NULL,"
            "  first_ms INTEGER NOT NULL,"
            "  last_ms INTEGER NOT NULL,"
            "  last_error TEXT,"
            "  last_error_ms INTEGER NOT NULL,"
            "  UNIQUE (tool, version)"
            ") STRICT;"
            "CREATE TABLE usage_times ("
            "  usage INTEGER NOT NULL,"
            "  bucket INTEGER NOT NULL,"
            "  count INTEGER NOT NULL,"
            "  PRIMARY KEY (usage, bucket)"
            ") WITHOUT ROWID, STRICT;" OPINION_TABLES},

        /* 4: identities of plugins, and what is bound to them; failed loads; what is known of
         * contents; several contents of one plugin may be in quarantine; whose the records and
         * settings of tools are */
        {4, IDENTITY_TABLES FAILURE_TABLES CAPABILITY_TABLES CONTENT_TABLES},
        {4, BOUND_TABLES},
        {4, PENDING_TABLES ORDER_COLUMNS},

        /* 5: tokens and tasks of servers; whose the approvals for conversations are, and whose
         * share a call takes that waits */
        {5, SERVING_TABLES CALLER_COLUMNS},

        /* 6: calls without an index that only rows of schema 3 needed */
        {6, UNBOUND_TABLES},

        /* 7: which tool was chosen for which text */
        {7, SELECTION_TABLES},

        /* 8: vectors of texts of tools */
        {8, VECTOR_TABLES},

        /* 9: ids of selections tell nothing of their texts */
        {9, SELECTION_KEY_TABLES},

        /* 10: runs of plans */
        {10, RUN_TABLES},

        /* 11: calls of runs, and what was agreed to in them */
        {11, RUN_COLUMNS AGREED_TABLES},

        /* 12: bytes of runs */
        {12, RUN_BYTES_TABLES},

        /* 13: texts of runs */
        {13, RUN_TEXTS_TABLES},

        /* 14: what was changed in the arguments of calls */
        {14, "ALTER TABLE calls ADD COLUMN changed TEXT"},

        /* 15: keys that sign packages, in the order in which they were added */
        {15, "CREATE TABLE keys ("
             "  id TEXT PRIMARY KEY NOT NULL,"
             "  public BLOB NOT NULL,"
             "  trust INTEGER NOT NULL,"
             "  ids TEXT NOT NULL,"
             "  follows TEXT NOT NULL,"
             "  comment TEXT NOT NULL,"
             "  since_s INTEGER NOT NULL,"
             "  who TEXT NOT NULL"
             ") STRICT;"},

        /* 16: what was approved of a plugin before an update */
        {16, STANDING_TABLES},

        /* 17: the decisions of a group of hosts, and what of its own this one has told them */
        {17, "CREATE TABLE shared ("
             "  grp TEXT NOT NULL,"
             "  thing TEXT NOT NULL,"
             "  host TEXT NOT NULL,"
             "  stamp INTEGER NOT NULL,"
             "  value TEXT NOT NULL,"
             "  is_seen INTEGER NOT NULL,"
             "  is_done INTEGER NOT NULL,"
             "  PRIMARY KEY (grp, thing, host)"
             ") WITHOUT ROWID, STRICT;"
             "CREATE TABLE shared_bases ("
             "  grp TEXT NOT NULL,"
             "  kind INTEGER NOT NULL,"
             "  selector TEXT NOT NULL,"
             "  digest TEXT NOT NULL,"
             "  value TEXT,"
             "  PRIMARY KEY (grp, kind, selector)"
             ") WITHOUT ROWID, STRICT;"},
};

/* Set in the same transaction as the tables. */
static const char set_number[] = "PRAGMA user_version = 17";
_Static_assert(SCHEMA_NUMBER == 17, "set_number says the number that the steps lead to");

bool database_migrate(sqlite3 *db, int from) {
    for (size_t i = 0; i < ARRAY_LENGTH(steps); i++) {
        if (steps[i].number > from &&
            sqlite.exec(db, steps[i].sql, NULL, NULL, NULL) != SQLITE_OK) {
            return false;
        }
    }
    return sqlite.exec(db, set_number, NULL, NULL, NULL) == SQLITE_OK;
}
