/* The stem of each line: what compile.py asks for, so that it and the host agree. */
#include <stdio.h>
#include <string.h>

#include "choose/stem.h"

#define LINE_MAX_SIZE 256

int main(void) {
    char line[LINE_MAX_SIZE];
    while (fgets(line, sizeof line, stdin) != NULL) {
        size_t length = stem_english(line, strcspn(line, "\n"), line);
        (void)printf("%.*s\n", (int)length, line);
    }
    return 0;
}
