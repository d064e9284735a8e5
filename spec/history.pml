/* One job, a store that loses acknowledged writes, and one destination that keeps D1 and D2.

   Store 0 is the first primary. At a failover its standby, which lags behind by any number of writes, becomes the
   primary, and the old one lives on: it still claims, renews and completes for whoever reaches it. A generation is one
   integer: a claim sets max(generation, floor) + 1, and the floor of epoch e is e * EPOCH.

   There is no time and there are no workers, as in job.pml: whoever was ever given a fence, by whichever store, may send
   any request with it to any store and to the destination, at any moment, as often as it likes. */
#include "must.pml"

#ifndef FLOOR
#define FLOOR 1            /* 0: no epoch in the number, as when two standbys are promoted to one timeline */
#endif
#ifndef SYNC
#define SYNC 0             /* 1: a write is acknowledged when the standby has it, and the old primary cannot write */
#endif
#ifndef LOST
#define LOST 1             /* 0: a fence from before the failover is not told apart (C5: generation above epoch * 2^32) */
#endif
#ifndef RENEWS
#define RENEWS 1           /* 0: never  1: owner and generation  2: re-grants above the floor  3: the owner alone */
#endif
#ifndef SETTLES
#define SETTLES 1          /* 0: the owner alone */
#endif
#ifndef FENCED
#define FENCED 1           /* the destination: 0 compares nothing */
#endif
#ifndef D2
#define D2 1               /* 0: an equal generation of another owner is admitted */
#endif
#ifndef HEAL
#define HEAL 0             /* C19, when a current owner is refused at the destination: 1 in the primary  2 in any store */
#endif
#ifndef REVOKE
#define REVOKE 0           /* 1: C13  2: only ends the lease */
#endif
#ifndef ONE_END
#define ONE_END 0          /* 1: asks that the job end once over all epochs, which no asynchronous store can promise */
#endif
#ifndef OTHERS
#define OTHERS 0           /* 1: nobody claims twice in a row, which makes stories easier to read */
#endif
#ifndef STORES
#define STORES 2
#endif
#ifndef CLAIMS
#define CLAIMS 3           /* generations per epoch, so that the search ends */
#endif
#define EPOCH (CLAIMS + 1)
#define TOP (STORES * EPOCH)
#define OWNERS 2
#define START(x) (FLOOR -> (x) * EPOCH : 0)
#define NEXT(x) ((gen[x] > START(x) -> gen[x] : START(x)) + 1)
#define ROOM(x) (NEXT(x) <= START(x) + CLAIMS)
#define FENCE(o, g) ((o) * TOP + (g))

byte owner[STORES], gen[STORES]; bit live[STORES], ended[STORES];           /* the record, in each store */
byte copyOwner, copyGen; bit copyLive, copyEnded;                           /* what the standby has of it */
byte primary;
bit begun;                                    /* names are interchangeable: the first claim of all is A's */
bit given[(OWNERS + 1) * TOP];                                              /* all fences that any store ever granted */
byte mark, markOwner;                                                       /* the destination */

byte last, lastOwner;                                                       /* what it admitted last */
byte finisher;                                                              /* who ended the job, in the present history */
byte ends, revoked[STORES];

#define WRITES(x) (x <= primary && (!SYNC || x == primary))
#define FREE(x) (WRITES(x) && !ended[x] && ROOM(x) && (owner[x] == 0 || !live[x]) && !(OTHERS && owner[x] == o))
#define CURRENT(x, how) (WRITES(x) && !ended[x] && owner[x] == o && (!how || gen[x] == g) && (!LOST || g > START(x)))
#define BELOW(x) (x == primary && g <= START(x) && !ended[x] && owner[x] == o && gen[x] == g)
#define GIVEN given[FENCE(o, g)]
#define REFUSED (FENCED && (g < mark || (D2 && g == mark && o != markOwner)))

inline replicate(x) { copyOwner = owner[x]; copyGen = gen[x]; copyLive = live[x]; copyEnded = ended[x] }
inline written(x) { if :: SYNC -> replicate(x) :: else fi }
inline grant(x) {
  gen[x] = NEXT(x); owner[x] = o; live[x] = 1;
  must(I1, !given[FENCE(1, gen[x])] && !given[FENCE(2, gen[x])]);
  given[FENCE(o, gen[x])] = 1;
  printf("store %d: %c claims with generation %d\n", x, 64 + o, gen[x]);
  written(x)
}

active proctype world() {
  byte x, o, g;
end:
  do
  :: atomic { any(x, 0, primary); any(o, 1, OWNERS);
       if
       :: FREE(x) && (begun || o == 1) -> begun = 1; grant(x)
       :: else
       fi; x = 0; o = 0 }
  :: atomic { any(x, 0, primary);
       if :: live[x] -> printf("store %d: the lease lapses\n", x); live[x] = 0 :: else fi; x = 0 }
  :: atomic { !SYNC && primary + 1 < STORES -> printf("the standby catches up\n"); replicate(primary) }
  :: atomic { primary + 1 < STORES -> primary++;
       printf("failover: store %d is the primary\n", primary);
       owner[primary] = copyOwner; gen[primary] = copyGen; live[primary] = copyLive; ended[primary] = copyEnded;
       if :: !copyEnded -> finisher = 0 :: else fi }
  :: atomic { REVOKE && owner[primary] && !ended[primary] && (REVOKE == 2 || ROOM(primary)) ->
       printf("store %d: revoke of generation %d\n", primary, gen[primary]);
       revoked[primary] = gen[primary]; live[primary] = 0;
       if :: REVOKE == 1 -> gen[primary] = NEXT(primary); owner[primary] = 0 :: else fi;
       written(primary) }

  /* whatever a fence can be used for, any time after it was given */
  :: atomic { any(o, 1, OWNERS); any(g, 1, TOP - 1); any(x, 0, primary);
       if
       :: GIVEN && RENEWS == 2 && BELOW(x) && ROOM(x) -> grant(x)
       :: GIVEN && RENEWS && CURRENT(x, (RENEWS != 3)) ->
            printf("store %d: %c's %d renews\n", x, 64 + o, g);
            must(I4, gen[x] == g);
            live[x] = 1; written(x)
       :: GIVEN && CURRENT(x, SETTLES) ->
            printf("store %d: %c's %d completes\n", x, 64 + o, g);
            must(I5, gen[x] == g);
            must(I5, g > revoked[x]);
            ended[x] = 1; ends++;
            must(I5, !ONE_END || ends == 1);
            if :: x == primary -> finisher = g :: else fi;
            written(x)
       :: GIVEN && REFUSED && HEAL && (HEAL == 2 || x == primary) && CURRENT(x, 1) && mark <= START(x) + CLAIMS ->
            printf("store %d: %c's %d, refused, heals to the mark %d\n", x, 64 + o, g, mark);
            gen[x] = mark; owner[x] = 0; live[x] = 0; written(x)
       :: GIVEN && !REFUSED ->
            printf("the destination admits %c's %d\n", 64 + o, g);
            mark = g; markOwner = o;
            must(I7, g >= last);
            must(I7, g != last || o == lastOwner);
            must(I23, !finisher || g <= finisher);
            last = g; lastOwner = o
       :: else
       fi; x = 0; o = 0; g = 0 }
  od
}
