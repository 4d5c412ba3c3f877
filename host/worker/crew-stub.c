#include "worker/crew.h"
#include "base/error.h"
int crew_run(struct crew *crew, struct crew_call *call, struct crew_reply *ret, struct toolrack_error *err) { (void)crew;(void)call;(void)ret; return error_oom(err); }
void crew_interrupt(struct crew *crew, struct crew_call *call) { (void)crew;(void)call; }
void crew_unref(struct crew *crew) { (void)crew; }
void crew_release(struct crew *crew) { (void)crew; }
void crew_status(struct crew *crew, struct crew_status *ret) { (void)crew; (void)ret; }
struct supervisor *supervisor_create(const struct supervisor_options *options, struct toolrack_error *err) { (void)options; (void)error_oom(err); return NULL; }
void supervisor_destroy(struct supervisor *supervisor) { (void)supervisor; }
int crew_create(struct supervisor *supervisor, const struct crew_options *options, struct crew **ret, struct toolrack_error *err) { (void)supervisor; (void)options; (void)ret; return error_oom(err); }
