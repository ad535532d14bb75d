/* Preloaded into the programs that Wine runs (ci/wine). PoCL's compiler replaces the handlers of signals by which Wine
 * ends threads and raises Windows' exceptions. Its handlers are for one delivery only (SA_RESETHAND): after that the
 * system's default action applies until the handler has restored Wine's. If several threads are left when a program
 * ends, the second of them then ends the whole program by SIGQUIT, whatever its own exit status was. A compiler for
 * Windows can't do that, so such handlers are ignored here. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

typedef int set_action(int, const struct sigaction *, struct sigaction *);

int sigaction(int signal, const struct sigaction *action, struct sigaction *before) {
    set_action *set = (set_action *)dlsym(RTLD_NEXT, "sigaction");
    return set(signal, action && action->sa_flags & SA_RESETHAND ? NULL : action, before);
}
