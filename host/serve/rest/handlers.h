/* handlers.h - what the routes do; see routes.c. */
#pragma once

struct rest_request;

/* listing.c */
void listing_answer(struct rest_request *request);

/* tools.c */
void tools_show(struct rest_request *request);
void tools_export(struct rest_request *request);
void tools_recommend(struct rest_request *request);
void tools_set(struct rest_request *request);

/** Of the names in a text with commas those that the principal is shown, and those that nobody has,
 * which an export reports. NULL-terminated, in the arena of the request. NULL: out of memory. */
const char **tools_named(struct rest_request *request, const char *allow);

/* select.c */
void select_search(struct rest_request *request);
void select_choose(struct rest_request *request);
void select_note(struct rest_request *request);
void select_plan(struct rest_request *request);

/* plans.c */
void rest_plans_check(struct rest_request *request);

/* runs.c */
void rest_runs_begin(struct rest_request *request);
void rest_runs_list(struct rest_request *request);
void rest_runs_show(struct rest_request *request);
void rest_runs_cancel(struct rest_request *request);
void rest_runs_resume(struct rest_request *request);
void rest_runs_remove(struct rest_request *request);

/* about.c */
void about_health(struct rest_request *request);
void about_ready(struct rest_request *request);
void about_hosts(struct rest_request *request);
void about_document(struct rest_request *request);

/* session.c */
void session_begin(struct rest_request *request);
void session_show(struct rest_request *request);
void session_finish(struct rest_request *request);

/* metrics.c */
void metrics_answer(struct rest_request *request);

/* calls.c */
void call_tool(struct rest_request *request);
void call_message(struct rest_request *request);

/* events.c */
void rest_events_listen(struct rest_request *request);

/* tasks.c */
void rest_tasks_list(struct rest_request *request);
void rest_tasks_show(struct rest_request *request);
void rest_tasks_delete(struct rest_request *request);

/* records.c */
struct toolrack_log_filter;
void records_filter(const struct rest_request *request, struct toolrack_log_filter *ret);
void records_log(struct rest_request *request);
void records_feedback(struct rest_request *request);
void records_call(struct rest_request *request);
void records_statistics(struct rest_request *request);
void records_decisions(struct rest_request *request);

/* plugins.c */
void plugins_list(struct rest_request *request);
void plugins_show(struct rest_request *request);
void plugins_reload_all(struct rest_request *request);
void plugins_reload(struct rest_request *request);
void plugins_rollback(struct rest_request *request);
void plugins_release(struct rest_request *request);

/* decided.c */
void decided_grants(struct rest_request *request);
void decided_approvals(struct rest_request *request);
void decided_list(struct rest_request *request);
void decided_tokens(struct rest_request *request);
void decided_answer(struct rest_request *request);
void decided_grant(struct rest_request *request);
void decided_revoke(struct rest_request *request);
void decided_mark(struct rest_request *request);
void decided_unmark(struct rest_request *request);
void decided_add_token(struct rest_request *request);
void decided_revoke_token(struct rest_request *request);
