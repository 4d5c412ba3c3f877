/* report.h - a reload or a rollback that somebody asks for, and what came of it. */
#pragma once

#include "toolrack/toolrack.h"

struct life;

/** As toolrack_reload(). [any-thread] */
int report_reload(struct life *life, const char *name, struct toolrack_text **ret_report,
                  struct toolrack_error *err);

/** As toolrack_rollback(). [any-thread] */
int report_rollback(struct life *life, const char *name, struct toolrack_error *err);
