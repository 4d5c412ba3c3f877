/* A command line that a process sends to the daemon (cli/message.h): it is refused, or has words
 * that end within the message, and comes out again as it was. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

/* Written again it is the same message, but for facts of which only "not 0" counts. */
static void check_again(const struct message_run *run) {
    struct message_run again;
    struct buf bytes = BUF_INIT;
    message_write_run(&bytes, run);
    require(!bytes.failed && message_read_run(&bytes, &again) == 0);
    require(again.count == run->count && again.columns == run->columns &&
            again.terminal == run->terminal && again.asks == run->asks &&
            (again.input == NULL) == (run->input == NULL) &&
            again.input_length == run->input_length && strcmp(again.version, run->version) == 0);
    for (int i = 0; i < run->count; i++) {
        require(strcmp(again.words[i], run->words[i]) == 0);
    }
    free(again.words);
    buf_finish(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct message_run run;
    struct buf bytes = BUF_INIT;
    buf_add(&bytes, data, size);
    require(!bytes.failed);
    int failed = message_read_run(&bytes, &run);
    if (failed == 0) {
        require(run.version != NULL && run.count > 0 && run.words[run.count] == NULL);
        require(run.input == NULL || run.input + run.input_length == bytes.data + bytes.length);
        check_again(&run);
        free(run.words);
    } else {
        require((failed == -EBADMSG || failed == -EPROTO) && run.words == NULL);
    }
    buf_finish(&bytes);
    return 0;
}
