/* explain.h - the steps of a selection, explained to people: a few lines each. */
#pragma once

#include "base/buf.h"
#include "choose/selecting.h"

/* Say what is asked, and what came of it. */
void explain_begin(const struct selecting *selecting, struct buf *out);
void explain_end(const struct selecting *selecting, struct buf *out);

/* Each step. */
void explain_scene(const struct selecting *selecting, struct buf *out);
void explain_intent(const struct selecting *selecting, struct buf *out);
void explain_match(const struct selecting *selecting, struct buf *out);
void explain_evaluate(const struct selecting *selecting, struct buf *out);
void explain_arguments(const struct selecting *selecting, struct buf *out);
