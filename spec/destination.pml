/* What a destination owes (D1, D2, D4), on one line: a run makes STEPS effects, each under a key of its own.

   Tokens are granted in rising order, which job.pml and history.pml show of the stores; here token t is also its own
   owner. Whoever was granted a token may send any effect with it, at any moment, as often as it likes. The destination
   may crash between any two of its steps, and loses what it holds in memory. */
#include "must.pml"

#ifndef FENCED
#define FENCED 1           /* 0: nobody compares  1: in the step that writes  2: in a step before it */
#endif
#ifndef KEYED
#define KEYED 1            /* 0: no keys  1: key and effect in one step  2: the key after the effect  3: before it  */
#endif
#ifndef KEY_HAS_TOKEN
#define KEY_HAS_TOKEN 0    /* 1: the generation is part of the key */
#endif
#ifndef REPLAY_RAISES
#define REPLAY_RAISES 1    /* 0: an effect that is answered from its record leaves the mark */
#endif
#ifndef ANSWERS_FIRST
#define ANSWERS_FIRST 1    /* 0: a repeat is answered with what it would have been now */
#endif
#ifndef LOSES
#define LOSES 0            /* a restart loses the last writes: 1 mark, keys and data together  2 the mark alone */
#endif
#ifndef TOKENS
#define TOKENS 4
#endif
#ifndef STEPS
#define STEPS 3
#endif
#define SLOTS (KEY_HAS_TOKEN -> STEPS * (TOKENS + 1) : STEPS)
#define KEY(k, t) (KEY_HAS_TOKEN -> k * (TOKENS + 1) + t : k)

byte granted;                                          /* tokens 1 to `granted` are out */
byte mark; byte record[STEPS * (TOKENS + 1)];          /* what the destination keeps: for each key, its first answer */
bit passed[STEPS * (TOKENS + 1)];                      /* FENCED 2: has passed the check, will write */
bit owes[STEPS * (TOKENS + 1)];                        /* KEYED 2: the key is yet to be written, 3: the effect is */

byte last;                                             /* the highest token admitted so far: applied or answered */
byte applied[STEPS];                                   /* by which token each step took effect; the data */
byte diskMark, diskLast, diskRecord[STEPS * (TOKENS + 1)], diskApplied[STEPS];

inline apply(k, t) {
  printf("applies %d's effect %d\n", t, k);
  must(I7, t >= last);
  must(I8, !applied[k]);
  applied[k] = t; last = t
}

/* An effect that the fence has admitted, or that nobody has compared. */
inline admit(k, t) {
  if
  :: KEYED && record[KEY(k, t)] ->
       printf("answers %d's effect %d from its record\n", t, k);
       must(I8, applied[k]);
       must(I8, (ANSWERS_FIRST -> record[KEY(k, t)] : t) == applied[k]);
       must(I7, t >= last);
       last = t;
       if :: REPLAY_RAISES -> mark = t :: else fi
  :: else ->
       mark = t;
       if
       :: KEYED == 3 -> record[KEY(k, t)] = t; owes[KEY(k, t)] = 1
       :: KEYED == 2 -> apply(k, t); owes[KEY(k, t)] = 1
       :: else -> apply(k, t); if :: KEYED -> record[KEY(k, t)] = t :: else fi
       fi
  fi
}

active proctype world() {
  byte t, k;
end:
  do
  :: atomic { granted < TOKENS -> granted++; printf("token %d is granted\n", granted) }
  :: atomic { granted ->
       any(t, 1, granted); any(k, 0, STEPS - 1);
       if
       :: FENCED == 2 && !passed[k * (TOKENS + 1) + t] && t >= mark ->
            printf("%d's effect %d passes the check\n", t, k); passed[k * (TOKENS + 1) + t] = 1
       :: FENCED == 2 && passed[k * (TOKENS + 1) + t] -> passed[k * (TOKENS + 1) + t] = 0; admit(k, t)
       :: FENCED == 1 && t >= mark -> admit(k, t)
       :: FENCED == 0 -> admit(k, t)
       :: KEYED == 2 && owes[KEY(k, t)] -> record[KEY(k, t)] = t; owes[KEY(k, t)] = 0
       :: KEYED == 3 && owes[KEY(k, t)] -> apply(k, t); owes[KEY(k, t)] = 0
       :: else
       fi; t = 0; k = 0 }
  :: atomic { KEYED > 1 || FENCED == 2 -> printf("the destination crashes\n");
       for (k : 0 .. STEPS * (TOKENS + 1) - 1) { owes[k] = 0; passed[k] = 0 } k = 0 }

  /* a disk that lags behind what was answered */
  :: atomic { LOSES -> diskMark = mark; diskLast = last;
       for (k : 0 .. STEPS - 1) { diskRecord[k] = record[k]; diskApplied[k] = applied[k] } k = 0 }
  :: atomic { LOSES -> printf("the destination restarts from its disk\n"); mark = diskMark;
       if
       :: LOSES == 1 -> last = diskLast;
            for (k : 0 .. STEPS - 1) { record[k] = diskRecord[k]; applied[k] = diskApplied[k] }
       :: else
       fi; k = 0 }
  od
}
