/* Lamport's algorithm of 1978, for SPIN: N nodes, R requests by each, channels in order.

   The paper's rules, with the same state as algorithms/lamport.py:
   1. To request, a node queues its own request and sends its time to all others.
   2. A node that receives a request queues it and sends a REPLY.
   3. To release, a node removes its request and sends a RELEASE to all others.
   4. A node that receives a RELEASE removes the sender's request.
   5. A node enters, in the same step, as soon as its request is the first in its queue (by
      time, then by number) and every other node has replied.

   spin -DN=4 -DR=1 -a lamport.pml && gcc -O2 -DSAFETY -DNOREDUCE -o pan pan.c && ./pan -E */

#ifndef N
#define N 3
#endif
#ifndef R
#define R 1
#endif

#define REPLY 254
#define RELEASE 255 /* any other byte is the time of a request */
#define LINK(from, to) link[(from) * N + (to)]
#define QUEUED(at, of) known[(at) * N + (of)] /* the time of a request; 0 is none */

chan link[N * N] = [4] of { byte };
byte known[N * N];
byte clock[N];
byte left[N];        /* requests that a node may still make */
byte outstanding[N]; /* the bits of the nodes whose REPLY is awaited */
byte inside = 0;     /* the bits of the nodes that are inside */

hidden byte j;
hidden byte message;
hidden byte first;

inline send_all(me, what) {
  j = 0;
  do
  :: j < N && j != me -> LINK(me, j)!what; j++
  :: j == me -> j++
  :: j == N -> break
  od;
  j = 0
}

inline enter_if_first(me) { /* rule 5 */
  first = QUEUED(me, me) != 0 && outstanding[me] == 0 && !(inside & (1 << me));
  j = 0;
  do
  :: first && j < N ->
     if
     :: j != me && QUEUED(me, j) != 0 && (QUEUED(me, j) < QUEUED(me, me) ||
          (QUEUED(me, j) == QUEUED(me, me) && j < me)) -> first = false
     :: else
     fi;
     j++
  :: else -> break
  od;
  if
  :: first -> inside = inside | (1 << me); assert((inside & (inside - 1)) == 0)
  :: else
  fi;
  j = 0
}

proctype User(byte me) {
  do
  :: d_step { /* rule 1 */
       QUEUED(me, me) == 0 && left[me] > 0 ->
       left[me]--;
       clock[me]++;
       QUEUED(me, me) = clock[me];
       outstanding[me] = ((1 << N) - 1) ^ (1 << me);
       send_all(me, clock[me]);
       enter_if_first(me)
     }
  :: d_step { /* rule 3 */
       inside & (1 << me) ->
       inside = inside ^ (1 << me);
       QUEUED(me, me) = 0;
       send_all(me, RELEASE)
     }
  od
}

proctype Receiver(byte from, me) {
  do
  :: d_step {
       LINK(from, me)?message ->
       if
       :: message == REPLY -> outstanding[me] = outstanding[me] ^ (1 << from)
       :: message == RELEASE -> QUEUED(me, from) = 0 /* rule 4 */
       :: else -> /* rule 2 */
          if :: message > clock[me] -> clock[me] = message :: else fi;
          QUEUED(me, from) = message;
          LINK(me, from)!REPLY
       fi;
       enter_if_first(me)
     }
  od
}

init {
  byte a, b;
  d_step {
    for (a : 0 .. N - 1) { left[a] = R }
  }
  atomic {
    for (a : 0 .. N - 1) {
      run User(a);
      for (b : 0 .. N - 1) {
        if :: a != b -> run Receiver(a, b) :: else fi
      }
    }
    a = 0; b = 0
  }
}
