/* change.h - what of the lists that clients are shown can change. */
#pragma once

enum change { CHANGE_TOOLS = 1 << 0, CHANGE_PROMPTS = 1 << 1, CHANGE_RESOURCES = 1 << 2 };

/** The method of the notification of one change. */
static inline const char *change_method(enum change change) {
    switch (change) {
    case CHANGE_TOOLS: return "notifications/tools/list_changed";
    case CHANGE_PROMPTS: return "notifications/prompts/list_changed";
    case CHANGE_RESOURCES: return "notifications/resources/list_changed";
    }
    return "";
}
