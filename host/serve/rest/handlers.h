/* handlers.h - what the routes do; see routes.c. */
#pragma once

struct rest_request;

/* listing.c */
void listing_answer(struct rest_request *request);

/* tools.c */
void tools_show(struct rest_request *request);
void tools_export(struct rest_request *request);
void tools_recommend(struct rest_request *request);

/* about.c */
void about_health(struct rest_request *request);
void about_ready(struct rest_request *request);
void about_document(struct rest_request *request);

/* records.c */
void records_log(struct rest_request *request);
void records_call(struct rest_request *request);
void records_statistics(struct rest_request *request);
void records_decisions(struct rest_request *request);

/* plugins.c */
void plugins_list(struct rest_request *request);
void plugins_show(struct rest_request *request);

/* decided.c */
void decided_grants(struct rest_request *request);
void decided_approvals(struct rest_request *request);
void decided_list(struct rest_request *request);
void decided_tokens(struct rest_request *request);
