/* C17: JOBS jobs that were enqueued with one unique key, in one store, and one row of the index that holds the key.

   Enqueuers, owners and operators do what they like in any order. Leases and fences are job.pml's; of them only the late
   repeat of a settling is left here, which must not touch a key that has gone on to another job. */
#include "must.pml"

#ifndef LOOKS
#define LOOKS 1            /* 0: an enqueue looks for the key in a step before its insert */
#endif
#ifndef FREED
#define FREED 1            /* 0 never  1 by the step that ends the job  2 by the claim  3 when a try fails  4 after the end */
#endif
#ifndef BY_NAME
#define BY_NAME 0          /* 1: a settling frees the key by its name, also when it comes too late */
#endif
#ifndef RETRY_LOOKS
#define RETRY_LOOKS 1      /* 0: an operator's retry (C18) takes the key from whoever has it */
#endif
#ifndef SPARES_LEASED
#define SPARES_LEASED 1    /* 0: replace puts a new job beside a leased one */
#endif
#ifndef PROMOTES
#define PROMOTES 1         /* 0: the end of a job forgets the one that is blocked behind it */
#endif
#ifndef ONE_BEHIND
#define ONE_BEHIND 1       /* 0: any number may be blocked behind */
#endif
#ifndef JOBS
#define JOBS 4
#endif

mtype = { absent, blocked, ready, leased, ended };
mtype state[JOBS + 1] = absent;                        /* jobs are 1 to JOBS */
byte key;                                              /* the job that holds it, or 0 */
bit saw[JOBS + 1];                                     /* LOOKS 0: the key was free when this enqueue looked */

#define LIVE(j) (state[j] == ready || state[j] == leased)

/* What must hold between any two steps. */
inline judge() {
  live = 0; behind = 0;
  for (i : 1 .. JOBS) {
    if
    :: LIVE(i) -> live++
    :: state[i] == blocked -> behind++
    :: else
    fi
  }
  must(C17, live <= 1);
  must(C17, behind <= 1);
  must(C17, key == 0 || LIVE(key));
  must(C17, live == 0 || key != 0);
  must(I14, behind == 0 || key != 0);
  live = 0; behind = 0; i = 0; j = 0
}

inline insert() { state[j] = ready; key = j }

/* Whoever is blocked behind takes the key over in the same step. */
inline free() {
  key = 0; i = 1;
  do
  :: i <= JOBS && PROMOTES && state[i] == blocked -> state[i] = ready; key = i; break
  :: i <= JOBS && !(PROMOTES && state[i] == blocked) -> i++
  :: i > JOBS -> break
  od; i = 0
}

active proctype world() {
  byte j, i, live, behind;
end:
  do
  :: atomic { any(j, 1, JOBS);
       if
       /* enqueue: keep and throw insert nothing, replace and follow-up do */
       :: LOOKS && state[j] == absent && key == 0 -> printf("job %d is enqueued\n", j); insert()
       :: LOOKS && state[j] == absent && key && (state[key] == ready || !SPARES_LEASED) ->
            printf("job %d replaces job %d\n", j, key);
            if :: state[key] == ready -> state[key] = ended :: else fi; insert()
       :: LOOKS && state[j] == absent && key ->
            i = 1; do :: i <= JOBS && state[i] != blocked -> i++ :: else -> break od;
            if :: i > JOBS || !ONE_BEHIND -> printf("job %d is blocked behind job %d\n", j, key); state[j] = blocked
               :: else fi; i = 0
       :: !LOOKS && state[j] == absent && !saw[j] && key == 0 -> printf("job %d's enqueue sees no key\n", j); saw[j] = 1
       :: !LOOKS && state[j] == absent && saw[j] -> printf("job %d is enqueued\n", j); saw[j] = 0; insert()

       :: state[j] == ready -> printf("job %d is claimed\n", j); state[j] = leased;
            if :: FREED == 2 -> free() :: else fi
       :: state[j] == leased -> printf("job %d fails, and waits for its next try\n", j); state[j] = ready;
            if :: FREED == 3 -> free() :: else fi
       :: state[j] == leased || state[j] == ready -> printf("job %d ends\n", j); state[j] = ended;
            if :: FREED == 1 -> free() :: else fi
       :: state[j] == blocked -> printf("job %d, blocked, is cancelled\n", j); state[j] = ended
       :: state[j] == ended && BY_NAME -> printf("job %d's completion arrives again\n", j); free()
       :: state[j] == ended && FREED == 4 && key == j -> free()
       :: state[j] == ended && (key == 0 || !RETRY_LOOKS) -> printf("job %d is retried\n", j); insert()
       :: else
       fi; judge() }
  od
}
