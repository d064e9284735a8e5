/* A resource: JOBS jobs that share one named lease, a person who takes the same name by hand, and a destination that
   keeps one mark for the lease's line.

   A run holds two leases, its job's and the resource's, taken in one step, renewed, lapsing and given up together. As in
   job.pml there is no time, and whoever was ever given a fence may send any request with it, any time later. */
#include "must.pml"

#ifndef LOOKS
#define LOOKS 1            /* 0: a claim does not ask whether the resource is held */
#endif
#ifndef BOTH
#define BOTH 1             /* 0: renewals and settlings compare the job's half of the fence alone */
#endif
#ifndef RAISES
#define RAISES 1           /* 0: a run takes the resource at the generation that it has */
#endif
#ifndef GIVES_UP
#define GIVES_UP 1         /* 0: a revoke frees the resource by its name, whosever run holds it by then */
#endif
#ifndef TOGETHER
#define TOGETHER 1         /* 0: the resource's lease can lapse alone, the claim looks at nothing else */
#endif
#ifndef REMEMBERS
#define REMEMBERS 1        /* 0: a deleted named lease leaves no floor */
#endif
#ifndef LEASE_LINE
#define LEASE_LINE 1       /* 0: effects carry the job's own generation, which has no order with another job's */
#endif
#define JOBS 2
#ifndef RUNS
#define RUNS 4             /* claims and acquisitions, so that the search ends */
#endif

bit leased[JOBS + 1], live[JOBS + 1]; byte owner[JOBS + 1], gen[JOBS + 1], holds[JOBS + 1];   /* jobs; holds: of the lease */
byte leaseOwner, leaseGen; bit leaseLive; byte floor;                                         /* the named lease */
byte runs, runJob[RUNS + 1], runOwner[RUNS + 1], runGen[RUNS + 1], runLease[RUNS + 1];        /* every fence given out */
byte mark, markOwner;                                                                         /* the destination */
byte last;                                                                                    /* the latest run it admitted */

#define PERSON 3           /* acquires by name: job 0 */
#define LEASE_OURS(r) (leaseOwner == runOwner[r] && leaseGen == runLease[r])
#define JOB_OURS(r) (!runJob[r] || (leased[runJob[r]] && owner[runJob[r]] == runOwner[r] && gen[runJob[r]] == runGen[r]))
#define CURRENT(r) (JOB_OURS(r) && ((BOTH || !runJob[r]) -> LEASE_OURS(r) : 1))
#define TOKEN(r) ((LEASE_LINE || !runJob[r]) -> runLease[r] : runGen[r])

inline judge() {
  n = 0;
  for (i : 1 .. JOBS) { if :: leased[i] && live[i] -> n++ :: else fi }
  must(OneRun, n + (leaseOwner == PERSON && leaseLive) <= 1);
  n = 0; i = 0; j = 0; o = 0; r = 0
}

/* The lease goes to owner o, for a run of job j or for a person. */
inline take() {
  must(I3, !leaseLive);
  leaseGen = ((leaseGen > floor || !RAISES) -> leaseGen : floor) + RAISES; leaseOwner = o; leaseLive = 1;
  for (i : 1 .. runs) { must(I1, runLease[i] != leaseGen) } i = 0;
  runs++; runJob[runs] = j; runOwner[runs] = o; runGen[runs] = gen[j]; runLease[runs] = leaseGen;
  printf("run %d: %c takes the resource at %d, job %d at %d\n", runs, 64 + o, leaseGen, j, gen[j])
}
inline giveUp() { leaseOwner = 0; leaseLive = 0 }

active proctype world() {
  byte i, j, o, r, n;
end:
  do
  :: atomic { runs < RUNS && (!leaseLive || !LOOKS) ->
       any(j, 0, JOBS);
       if
       :: j == 0 -> o = PERSON
       :: j && !runs -> o = 1                          /* names are interchangeable: A is first */
       :: j && runs -> any(o, 1, 2)
       fi;
       if
       :: j == 0 -> take()
       :: j && (!leased[j] || !live[j]) ->
            leased[j] = 1; live[j] = 1; owner[j] = o; gen[j]++;
            take(); holds[j] = leaseGen
       :: else
       fi; judge() }
  :: atomic { leaseLive && leaseOwner == PERSON -> printf("the person's lease lapses\n"); leaseLive = 0 }
  :: atomic { !TOGETHER && leaseLive -> printf("the resource's lease lapses alone\n"); leaseLive = 0 }
  :: atomic { any(j, 1, JOBS);
       if
       :: leased[j] && live[j] -> printf("job %d lapses\n", j);
            live[j] = 0; if :: leaseOwner == owner[j] && leaseGen == holds[j] -> leaseLive = 0 :: else fi
       :: leased[j] -> printf("job %d is revoked\n", j);
            if :: !GIVES_UP || (leaseOwner == owner[j] && leaseGen == holds[j]) -> giveUp() :: else fi;
            leased[j] = 0; live[j] = 0; owner[j] = 0; gen[j]++
       :: else
       fi; judge() }
  :: atomic { leaseOwner == 0 && leaseGen -> printf("the named lease is deleted\n");
       if :: REMEMBERS && leaseGen > floor -> floor = leaseGen :: else fi; leaseGen = 0 }

  /* whatever a fence can be used for, any time after it was given */
  :: atomic { runs -> any(r, 1, runs); j = runJob[r];
       if
       :: CURRENT(r) -> printf("run %d renews\n", r);
            must(I4, LEASE_OURS(r));
            live[j] = (j > 0); if :: LEASE_OURS(r) -> leaseLive = 1 :: else fi
       :: CURRENT(r) -> printf("run %d settles\n", r);
            must(I5, LEASE_OURS(r));
            leased[j] = 0; live[j] = 0; owner[j] = 0; if :: LEASE_OURS(r) -> giveUp() :: else fi
       :: TOKEN(r) > mark || (TOKEN(r) == mark && runOwner[r] == markOwner) ->
            printf("the destination admits run %d with %d\n", r, TOKEN(r));
            must(I7, r >= last);
            mark = TOKEN(r); markOwner = runOwner[r]; last = r
       :: else
       fi; judge() }
  od
}
