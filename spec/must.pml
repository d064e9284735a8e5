/* What every text shares: how an invariant is asked, and how a request is picked.

   `must(I7, condition)` is an assertion that tells its name: spin prints the text of the one that broke, so the name
   has to stand in it. Names are bits that are always 0; `-DI7=1` on the command line leaves I7 unasked. */
#define must(name, condition) assert((condition) || name)

#ifndef I1
bit I1   /* token unique */
#endif
#ifndef I2
bit I2   /* generation steps */
#endif
#ifndef I3
bit I3   /* legal claim */
#endif
#ifndef I4
bit I4   /* legal renewal */
#endif
#ifndef I5
bit I5   /* legal end */
#endif
#ifndef I6
bit I6   /* terminal is final */
#endif
#ifndef I7
bit I7   /* fence monotone */
#endif
#ifndef I8
bit I8   /* applied once */
#endif
#ifndef I14
bit I14  /* nothing stuck */
#endif
#ifndef I15
bit I15  /* attempts bounded */
#endif
#ifndef I19
bit I19  /* cancel agrees */
#endif
#ifndef I23
bit I23  /* the end is the end */
#endif
#ifndef D3
bit D3   /* no write rests on what was read before another's */
#endif
#ifndef C17
bit C17  /* at most one live job for each key, at most one blocked behind it, freed by the end */
#endif
#ifndef OneRun
bit OneRun  /* section 1: of all that share a resource one holds it */
#endif

/* Any i from `first` to `last`. Each way is searched. */
#define any(i, first, last) i = first; do :: i < last -> i++ :: break od
