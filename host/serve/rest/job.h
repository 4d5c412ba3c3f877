/* job.h - a call that is answered with a task, and goes on without its request. */
#pragma once

struct rest;
struct rest_request;

/** Answer with a task, and make the call of request->tool with request->body, which lasts. On a
 * thread that may wait for the store. */
void rest_job_begin(struct rest_request *request);
/** A task was cancelled, perhaps by another process: end its call. */
void rest_job_cancel(struct rest *rest, const char *id);
/** End the calls whose token does not hold any more, and store how far the others are. On the
 * thread of the ticker. */
void rest_jobs_look(struct rest *rest);
/** End all. */
void rest_jobs_cancel(struct rest *rest);
