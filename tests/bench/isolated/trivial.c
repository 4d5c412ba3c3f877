/* The program that does nothing: what the start of any costs. */
int main(void) {
    return 0;
}
