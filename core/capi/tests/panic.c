/* What the archive's panic handler does: it tells the host, then aborts. Built with the feature `panic-test`. */
#include <oncilla.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

extern void oncilla_test_panic(void);

static void told(const char *file, size_t length, uint32_t line) {
    printf("a panic at %.*s:%u\n", (int)length, file, (unsigned)line);
    fflush(stdout);
}

static void aborted(int signal) {
    (void)signal;
    _Exit(42);
}

int main(void) {
    signal(SIGABRT, aborted);
    oncilla_on_panic(told);
    oncilla_test_panic();
    return 1;
}
