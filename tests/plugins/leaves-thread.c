/* A plugin that leaves a thread behind: close() does not end it. The tool does, and may be called
 * without a call, by tests of loading alone. With BUSY the thread never waits for anything. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <toolrack/plugin.h>

static pthread_t thread;
static sem_t end;
static atomic_bool ended;

static void *stay(void *argument) {
#ifdef BUSY
    while (!atomic_load(&ended)) {
    }
#else
    while (sem_wait(&end) != 0) {
    }
#endif
    return argument;
}

static tr_status end_thread(struct tr_call *call) {
    atomic_store(&ended, 1);
    sem_post(&end);
    pthread_join(thread, NULL);
    return call == NULL ? TR_OK : tr_reply_text(call, "ended");
}
TR_JSON_TOOL(end_thread, "End the thread", TR_SCHEMA({"type" : "object"}))

static tr_status start_thread(struct tr_host *host) {
    sem_init(&end, 0, 0);
    return pthread_create(&thread, NULL, stay, NULL) == 0 ? TR_OK : tr_host_fail(host, "no thread");
}
TR_PLUGIN(("test.leaves_thread", .license = "MIT", .open = start_thread,
           .flags = TR_STARTS_THREADS),
          "1.0.0", end_thread)
