/* The life of one job in one store that loses nothing: claims, lapses, renewals, ends, attempts, cancel, revoke, retry.

   There is no time: a lease may lapse at any moment. There are no workers either: whoever was ever given a fence may
   send any request with it, at any moment, as often as it likes. That is a paused owner, a request that was delayed,
   doubled or whose answer was lost, and a worker with bugs, all in one.

   Each step changes the record, and `judge` then compares it with what it was before, as src/protocol/invariants.ts does
   for the code: a rule that is broken on purpose by a switch below never shares a line with the check that finds it. */
#include "must.pml"

#ifndef SETTLES
#define SETTLES 3          /* what a settling compares: 0 the id alone, 1 the owner, 2 the generation, 3 both */
#endif
#ifndef RENEWS
#define RENEWS 3           /* the same for a renewal */
#endif
#ifndef STEPS
#define STEPS 1            /* 0: a claim of a lapsed lease keeps the generation */
#endif
#ifndef RECLAIM
#define RECLAIM 1          /* 0: a sweep notes lapsed leases, and frees them later by id */
#endif
#ifndef COUNTED
#define COUNTED 1          /* when a try is counted: 1 at the claim (C12), 0 at the failure */
#endif
#ifndef GIVES_BACK
#define GIVES_BACK 1       /* 0: a revoke keeps the attempt */
#endif
#ifndef C12_RAISES
#define C12_RAISES 1       /* 0: the end of a lapsed job leaves the generation */
#endif
#ifndef RETRY_RAISES
#define RETRY_RAISES 1
#endif
#ifndef ENDED_REFUSES
#define ENDED_REFUSES 1    /* 0: a settling matches what history keeps of the last one (C9) */
#endif
#ifndef CANCEL_LOST
#define CANCEL_LOST 0      /* who forgets a pending cancel: 1 a failure with a retry, 2 a release, 3 a lapse, 4 a revoke */
#endif
#ifndef CANCEL_ENDED
#define CANCEL_ENDED 0     /* 1: a cancel is also written over an end */
#endif
#ifndef MAX
#define MAX 3              /* attempts */
#endif
#ifndef TOP
#define TOP 8              /* generations, so that the search ends */
#endif

mtype = { ready, leased, completed, failed, cancelled };
mtype = { claim, renew, complete, fail, giveUp, release, expire, cancel, revoke, retry, free };

mtype state = ready; byte owner, gen, attempt; bit live, asked;             /* the record; asked: pending cancel */
byte settledBy, settledGen;                                                 /* what history keeps of the end */
byte holder[TOP + 1];                                                       /* who was given generation g */
bit noted;                                                                  /* RECLAIM 0: what the sweep has seen */

mtype wasState = ready; byte wasOwner, wasGen, wasAttempt; bit wasLive;     /* the record before the step */
byte left = MAX;                                                            /* starts that the budget still allows */
bit wanted;                                                                 /* cancel has answered that it will be so */

#define ENDED(s) (s == completed || s == failed || s == cancelled)
#define MATCHES(how) ((how == 0) || ((how == 2 || owner == o) && (how == 1 || gen == g)))
#define CURRENT(how) (state == leased && MATCHES(how))
#define WAS_OWNERS (wasState == leased && wasOwner == o && wasGen == g)

inline judge(op) {
  must(I2, gen == wasGen + ((op == claim || op == expire || op == revoke || op == retry) -> 1 : 0));
  must(I3, op != claim || wasState == ready || (wasState == leased && !wasLive));
  must(I3, op != free || (wasState == leased && !wasLive));
  must(I4, op != renew || WAS_OWNERS);
  must(I5, (op != complete && op != fail && op != giveUp && op != release) || WAS_OWNERS);
  must(I6, !ENDED(wasState) || op == retry);
  must(I15, op != claim || left > 0);
  if
  :: op == claim -> left--
  :: op == retry -> left = MAX; wanted = 0
  :: op == cancel && state == leased -> wanted = 1
  :: else -> if :: attempt < wasAttempt -> left++ :: else fi
  fi;
  must(I19, !(wanted && state == ready));
  wasState = state; wasOwner = owner; wasGen = gen; wasAttempt = attempt; wasLive = live; o = 0; g = 0
}

inline vacate(to) { state = to; owner = 0; live = 0; asked = 0 }
inline settled(to) { settledBy = o; settledGen = g; vacate(to) }
inline returned() { if :: attempt > 0 -> attempt-- :: else fi }

active proctype world() {
  byte o, g;
end:
  do
  /* C2, C12 */
  :: atomic { gen < TOP && (state == ready || (state == leased && !live)) ->
       if
       :: state == leased && asked && CANCEL_LOST != 3 -> gen++; vacate(cancelled); judge(expire)
       :: state == leased && attempt >= MAX -> gen = gen + C12_RAISES; vacate(failed); judge(expire)
       :: else ->
            if :: gen -> any(o, 1, 2) :: else -> o = 1 fi;             /* names are interchangeable: A is first */
            if :: STEPS || state == ready -> gen++ :: else fi;
            printf("%c claims with generation %d\n", 64 + o, gen);
            state = leased; owner = o; live = 1; attempt = attempt + COUNTED; holder[gen] = o;
            if :: CANCEL_LOST == 3 -> asked = 0 :: else fi;
            judge(claim)
       fi }
  :: atomic { state == leased && live -> printf("the lease lapses\n"); live = 0; wasLive = 0 }
  :: atomic { !RECLAIM && state == leased && !live -> noted = 1 }
  :: atomic { !RECLAIM && noted && state == leased && !asked -> noted = 0;
       printf("the sweep frees what it noted\n"); vacate(ready); judge(free) }

  /* C5 to C8: a request of anybody who was given a fence */
  :: atomic { state == leased || !ENDED_REFUSES ->
       any(g, 1, TOP); o = holder[g];
       if
       :: !o -> g = 0
       :: o && !ENDED_REFUSES && ENDED(state) && settledBy == o && settledGen == g ->
            printf("%c's %d fails the job once more\n", 64 + o, g); state = failed; judge(giveUp)
       :: o && CURRENT(RENEWS) -> printf("%c's %d renews\n", 64 + o, g); live = 1; judge(renew)
       :: o && CURRENT(SETTLES) -> printf("%c's %d completes\n", 64 + o, g); settled(completed); judge(complete)
       :: o && CURRENT(SETTLES) -> printf("%c's %d fails for good\n", 64 + o, g); settled(failed); judge(giveUp)
       :: o && CURRENT(SETTLES) -> printf("%c's %d fails\n", 64 + o, g);
            if :: !COUNTED -> attempt++ :: else fi;
            if
            :: asked && CANCEL_LOST != 1 -> settled(cancelled)
            :: else -> if :: attempt >= MAX -> settled(failed) :: else -> settled(ready) fi
            fi;
            judge(fail)
       :: o && CURRENT(SETTLES) -> printf("%c's %d gives back\n", 64 + o, g);
            if :: COUNTED -> returned() :: else fi;
            if :: asked && CANCEL_LOST != 2 -> settled(cancelled) :: else -> settled(ready) fi;
            judge(release)
       :: else -> o = 0; g = 0
       fi }

  /* C13, C18: operators */
  :: atomic { state == ready -> printf("cancel\n"); vacate(cancelled); judge(cancel) }
  :: atomic { state == leased && !asked -> printf("cancel, pending\n"); asked = 1; judge(cancel) }
  :: atomic { CANCEL_ENDED && ENDED(state) -> printf("cancel of an ended job\n"); vacate(cancelled); judge(cancel) }
  :: atomic { state == leased && gen < TOP -> printf("revoke\n");
       gen++; if :: GIVES_BACK && COUNTED -> returned() :: else fi;
       if :: asked && CANCEL_LOST != 4 -> vacate(cancelled) :: else -> vacate(ready) fi;
       judge(revoke) }
  :: atomic { ENDED(state) && gen < TOP -> printf("retry\n");
       gen = gen + RETRY_RAISES; attempt = 0; settledBy = 0; settledGen = 0; vacate(ready); judge(retry) }
  od
}
