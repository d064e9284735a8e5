/* D3: an effect that was computed from what its owner had read, outside the guarded step.

   Tokens 1 to TOKENS are granted in rising order. Each may advance the mark, read the value, and write what it read plus
   one; the write arrives once, any time later. */
#include "must.pml"

#ifndef ADVANCES
#define ADVANCES 1         /* 0: reads without raising the mark first */
#endif
#ifndef TOKENS
#define TOKENS 4
#endif

byte granted, mark, value;
bit advanced[TOKENS + 1], sent[TOKENS + 1];
byte read[TOKENS + 1];                                  /* what the write that was sent rests on */

active proctype world() {
  byte t;
end:
  do
  :: atomic { granted < TOKENS -> granted++; printf("token %d is granted\n", granted) }
  :: atomic { granted ->
       any(t, 1, granted);
       if
       :: ADVANCES && !advanced[t] && t >= mark -> printf("%d advances the mark\n", t); mark = t; advanced[t] = 1
       :: !sent[t] && (!ADVANCES || advanced[t]) -> printf("%d reads %d\n", t, value); read[t] = value; sent[t] = 1
       :: sent[t] && read[t] != 255 && t >= mark ->
            printf("%d writes %d\n", t, read[t] + 1);
            must(D3, read[t] == value);
            mark = t; value = read[t] + 1; read[t] = 255
       :: else
       fi; t = 0 }
  od
}
