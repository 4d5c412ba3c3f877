/* Fault: claims to be thread-safe, and counts its calls without a lock. No result shows it; a build
 * with ThreadSanitizer does. With SOUND it has a lock. */
#include <pthread.h>
#include <toolrack/plugin.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int64_t calls;

static int32_t counted(int32_t n) {
#ifdef SOUND
    (void)pthread_mutex_lock(&lock);
    calls++;
    (void)pthread_mutex_unlock(&lock);
#else
    (void)lock;
    calls++;
#endif
    return n;
}
TR_TOOL(counted, "Gives what it is given, and counts", TR_I32, (TR_I32, n, "a number"))

/* Memory that goes through the host's hands. */
static const char *copied(struct tr_call *call, const char *text) {
    size_t length = 0;
    while (text[length] != '\0') {
        length++;
    }
    char *copy = tr_alloc(call, length + 1);
    for (size_t i = 0; copy != NULL && i <= length; i++) {
        copy[i] = text[i];
    }
    return copy;
}
TR_TOOL(copied, "Gives a copy of a text", TR_STRING, TR_CALL, (TR_STRING, text, "a text"))

TR_PLUGIN(("counts", .flags = TR_THREAD_SAFE), "1.0.0", counted, copied)
