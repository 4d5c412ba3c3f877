/* plain-commands.h - a text as it is where its host has the default places: tests give each host a
 * folder of its own, which its commands then state. */
#pragma once

#include <stdio.h>
#include <string.h>

/** "toolrack --state /tmp/x grant wipe" becomes "toolrack grant wipe". In memory of this function,
 * until it is called the next time. */
static inline const char *plain_commands(const char *text) {
    static _Thread_local char plain[16384];
    static const char *const options[] = {" --config ", " --state ", " --plugins "};
    static const char name[] = "toolrack";
    size_t length = 0;
    while (*text != '\0' && length + sizeof name < sizeof plain) {
        if (strncmp(text, name, strlen(name)) != 0) {
            plain[length++] = *text++;
            continue;
        }
        memcpy(plain + length, name, strlen(name));
        length += strlen(name);
        text += strlen(name);
        for (size_t i = 0; i < 3; i++) {
            size_t option = strlen(options[i]);
            if (strncmp(text, options[i], option) == 0) {
                text += option;
                text += *text == '\'' ? strcspn(text + 1, "'") + 2 : strcspn(text, " ");
                i = (size_t)-1; /* the same option may follow */
            }
        }
    }
    plain[length] = '\0';
    return plain;
}
