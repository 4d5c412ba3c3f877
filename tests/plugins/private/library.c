int private_answer(void);

#ifdef BLOCK /* more than the loader has left for what is loaded later */
static _Thread_local volatile char block[1 << 20] __attribute__((tls_model("initial-exec")));

int private_answer(void) {
    return block[42];
}
#else
int private_answer(void) {
    return 42;
}
#endif
