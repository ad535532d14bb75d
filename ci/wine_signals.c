/* Loaded before all else into the programs that Wine runs (ci/wine). PoCL's compiler takes signals by which Wine ends threads and makes
 * Windows' exceptions, each for one delivery only, after which the system's own action stands until the handler has put Wine's back.
 * Where several threads are left when a program ends, the second of them then ends the whole program by SIGQUIT, whatever its own exit
 * status was. On Windows no compiler can do so, so here such handlers are passed over. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stddef.h>

typedef int set_action(int, const struct sigaction *, struct sigaction *);

int sigaction(int signal, const struct sigaction *action, struct sigaction *before) {
    set_action *set = (set_action *)dlsym(RTLD_NEXT, "sigaction");
    return set(signal, action && action->sa_flags & SA_RESETHAND ? NULL : action, before);
}
