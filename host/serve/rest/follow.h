/* follow.h - clients that follow the log. */
#pragma once

struct rest;
struct rest_request;

/** GET /api/log as an event stream: each call that is logged from now on, or after the one of
 * Last-Event-ID, or of the parameter after. */
void rest_follow_begin(struct rest_request *request);
/** Send what was logged since the last look. On the thread of the ticker. */
void rest_follow_look(struct rest *rest);
