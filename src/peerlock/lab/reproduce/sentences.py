"""The sentence, figure or row of a table that each item tests, in the paper's words.

By the source, and by how the titles of its items begin.  An item without one cannot be
made: what no paper says is not reproduced.
"""

from __future__ import annotations

from peerlock.algorithms.entry import Quotation

# What is measured of algorithms that a paper only sketches is as much ours as the paper's.
REBUILT = ("§2: chaudhuri-91", "§2: chaudhuri-95", "§2: chaudhuri-karaata")

Words = tuple[tuple[str, str, str], ...]  # the title begins so, the place, the words

MAEKAWA: Words = (
    ("§7: the sets for", "7", "which produces the following set of S_i 's"),
    (
        "§7: Method 2, sets",
        "7",
        "The set of S_i 's is symmetric in the sense that |S_i| = 2L - 1 for any i and "
        "that any i is contained in (2L - 1) subsets.",
    ),
    (
        "§7: Method 2, about",
        "7",
        "the number of messages per mutual exclusion is about twice that calculated in "
        "Section 3.",
    ),
    (
        "§7: the largest",
        "7",
        "The largest gap between L and M is only 2 … L = 34 and M = 38",
    ),
    (
        "§7: Bruck",
        "7",
        "there exists no finite projective plane of order k if either k - 1 or k - 2 is "
        "divisible by 4 and if k cannot be expressed as the sum of two integral squares",
    ),
    (
        "Table III: the number of nodes to",
        "Table III",
        "The number of nodes to which a REQUEST must be sent 1 √N - 1 N - 1",
    ),
    (
        "Table III: the number of nodes of which each node keeps dynamic",
        "Table III",
        "about which each (control) node keeps dynamic information N √N N",
    ),
    (
        "Table III: the number of nodes of which a failure",
        "Table III",
        "dynamic information about which is lost by a (control) node failure N √N 1",
    ),
    (
        "Table III: the number of nodes of which each node keeps static",
        "Table III",
        "about which each (control) node keeps static information 0 √N N",
    ),
    (
        "Table III: removal",
        "Table III",
        "Removal of a (control) node Needs a back-up control node Dynamically possible "
        "Dynamically possible",
    ),
    (
        "Table III: overtaking",
        "Table III",
        "Overtaking by another node Needs a back-up control node Dynamically possible "
        "Not necessary",
    ),
    (
        "Fig. 3: a circular",
        "Fig. 3",
        "1 waits for 2; 2 waits for 4 and 6; 4 waits for 1; 6 waits for 1.",
    ),
    (
        "Fig. 3: the circular",
        "6.2",
        "This will allow node 2 to succeed in locking all its members and allow it to "
        "enter its critical section.",
    ),
    (
        "§2: Thomas",
        "2",
        "Thomas's majority consensus algorithm can also satisfy all the above properties, "
        "where K = N and D = N",
    ),
    ("§9", "9", "The lost dynamic information can be regained by O(√N) , instead of O(N)"),
    (
        "Table I:",
        "Table I",
        "3 ( K = 2 ) 3 4 7 ( K = 3 ) 6 12 13 ( K = 4 ) 9 24 21 ( K = 5 ) 12 40 133 "
        "( K = 12 ) 33 264 381 ( K = 20 ) 57 760",
    ),
    ("Table II", "Table II", "5 4.8 8 6 5.5 10 10 8.1 18 18 11.7 34"),
    (
        "Fig. 1",
        "Fig. 1",
        "Subsets of integers with pairwise nonnull intersection property. (a) K = 2 ; (b) "
        "K = 3 ; (c) K = 4 ; (d) K = 5",
    ),
    ("Fig. 2a", "5", "nodes 7, 8, and 11 circularly lock each other"),
    (
        "Fig. 2b",
        "5",
        "node 11 knows that it cannot enter its critical section and thus returns a "
        "RELINQUISH message to node 13. … This REQUEST then locks node 13 and returns a "
        "LOCKED to node 7. Node 7 then can enter its critical section",
    ),
    (
        "§5: then node 8",
        "5",
        "This will cause node 8 to successfully lock all its members and enter its "
        "critical section. Finally node 11 completes its critical section.",
    ),
    (
        "§5: node 3's",
        "5",
        "the REQUEST from node 3 locks node 13 instead of the REQUEST from node 7. Node 3 "
        "will then succeed in locking all its members",
    ),
    ("§6.3", "6.3", "This will occur after, at most, (K - 1) REQUESTs have been processed"),
    ("§8.1", "8.1", "A total of three (K - 1) messages are required."),
    ("§8.2: 4(K−1)", "8.2", "A total of four (K - 1) messages are required"),
    (
        "§8.2: 5(K−1)",
        "8.2",
        "five (K - 1) messages are altogether required per mutual exclusion. This is the "
        "worst case",
    ),
    (
        "§10: members",
        "10",
        "requires only two (K - 1) messages to create an instance of mutual exclusion. … "
        "additional (K - 1) messages or message passes are required to clear the REQUESTs.",
    ),
    (
        "§10: a request",
        "10",
        "further be reduced to K message passes by cyclically passing a REQUEST … "
        "additional (K - 1) messages or message passes are required to clear the REQUESTs.",
    ),
)

TR_869: Words = (
    (
        "§2.4",
        "2.4",
        "no other node may enter its critical section twice before Node A has entered its "
        "critical section.",
    ),
    (
        "§6.5: the lower",
        "6.5",
        "The algorithm tends to favor lower numbered nodes slightly due to the "
        "tie-breaking rule.",
    ),
    (
        "§6.5: random",
        "6.5",
        "This favoritism can be reduced by incrementing the sequence number by a random "
        "integer.",
    ),
    (
        "§6.5: steps of 1",
        "6.5",
        "nodes may be allowed to monopolize critical section processing until forced to "
        "increment their sequence numbers past the one chosen by a lower priority node.",
    ),
    (
        "§7.2.2",
        "7.2.2",
        "sends a broadcast message asking all other nodes to include it on their list of "
        "participating nodes.",
    ),
    ("§5.3.1", "5.3.1", "no request can be serviced in less than one roundtrip time"),
    (
        "§5.3.3",
        "5.3.3",
        "no other node can enter its critical section in less than a one-way trip "
        "transmission time.",
    ),
    (
        "§6.2: with implicit",
        "6.2",
        "If combined with the implicit reply modification discussed above the message "
        "count can be as low as one.",
    ),
    (
        "Fig. A",
        "2.3",
        "It chooses sequence number 1 and sends REQUEST messages to Nodes 1 and 2.",
    ),
    (
        "Fig. B",
        "2.3",
        "It also chooses sequence number 1 and sends REQUEST messages to the other nodes "
        "(Figure B).",
    ),
    (
        "Fig. C",
        "2.3",
        "At Node 1, which has not yet made a request itself, a REPLY is immediately "
        "generated. … Node 2 wins on the node number tie-breaking rule. A REPLY is sent. "
        "… A reply is deferred.",
    ),
    (
        "Fig. D",
        "2.3",
        "Figure D shows Node 1 making a request to enter its critical section. It uses "
        "sequence number 2 … No reply message is sent",
    ),
    (
        "Fig. E",
        "2.3",
        "In Figure E, Node 2 can now enter its critical section since it has received "
        "both of the necessary replies.",
    ),
    (
        "Fig. F",
        "2.3",
        "it sends REPLY messages back to both Nodes 1 and 3 (Figure F).",
    ),
    (
        "Fig. G",
        "2.3",
        "In Figure G, Nodes 1 and 3 have received their REPLY messages from Node 2 but "
        "not yet from each other. Node 3's request has arrived at Node 1. Since it bears "
        "a smaller sequence number, a REPLY is immediately generated.",
    ),
    (
        "Fig. H",
        "2.3",
        "Figure H shows Node 3 entering its critical section after it received both "
        "replies.",
    ),
    (
        "Fig. I",
        "2.3",
        "In Figure I, Node 3 has finished its critical section processing and is "
        "returning the deferred REPLY message to Node 1.",
    ),
    (
        "Fig. J",
        "2.3",
        "Finally in Figure J, Node 1 begins critical section processing. At the "
        "conclusion of its critical section, Node 1 does nothing since it knows of no "
        "other node wishing to invoke mutual exclusion.",
    ),
    ("§6.4: outstanding", "6.4", "the numbers must fall within the range from x to x+N-1"),
    (
        "§6.4: numbers modulo",
        "6.4",
        "The sequence numbers can be stored modulo M where M ≥ 2N-1.",
    ),
    (
        "§6.4: ricart-agrawala-bounded",
        "4 and 6.4",
        "one message to (REQUEST) and one message from (REPLY) each other node for each "
        "entry to a critical section. … can be stored modulo M",
    ),
    (
        "appendix: entries that overtake a request, 2(N−1)",
        "appendix",
        "no other node may enter its critical section more than twice between the time "
        "that A selects a sequence number and A is permitted to enter its critical "
        "section.",
    ),
    (
        "appendix: entries that overtake a request, N(N+1)",
        "appendix",
        "N(N+1)/2-1 nodes can enter their critical section before Node A may",
    ),
    (
        "appendix: the same",
        "2.2 and appendix",
        "Highest_Sequence_Number := Maximum (Highest_Sequence_Number, k) … N(N+1)/2-1",
    ),
    (
        "§2: ricart-agrawala",
        "4",
        "one message to (REQUEST) and one message from (REPLY) each other node for each "
        "entry to a critical section.",
    ),
    (
        "§6.5: ricart-agrawala-priority",
        "4 and 6.5",
        "one message to (REQUEST) and one message from (REPLY) each other node for each "
        "entry to a critical section. … Two situations make larger increments attractive",
    ),
    (
        "§6.6: ricart-agrawala-readers-writers",
        "4 and 6.6",
        "one message to (REQUEST) and one message from (REPLY) each other node for each "
        "entry to a critical section. … The algorithm is easily modified to solve the "
        "Readers and Writers problem",
    ),
    (
        "§6.1: implicit replies, N−1",
        "6.1",
        "When there is little contention for the critical section resource, the number of "
        "messages approaches … (N-1).",
    ),
    (
        "§6.1: implicit replies, at most",
        "6.1",
        "The number of messages required by the implicit reply scheme varies between … "
        "(N-1) and … (N-1) depending on the number of DEFERRED messages sent.",
    ),
    (
        "§5.3.2",
        "5.3.2",
        "half of the time a critical section grant cannot be made until after the node "
        "making the later request has received its round-trip replies",
    ),
    ("§6.2: broadcast", "6.2", "N messages, one broadcast REQUEST and (N-1) REPLYs"),
    ("§6.2.1", "6.2.1", "only two messages per critical section invocation are required"),
    (
        "§6.3: ring, N",
        "6.3",
        "The number of messages can be cut to N by processing the requests serially",
    ),
    (
        "§6.3: ring with",
        "6.3",
        "With little contention this technique comes close to N messages",
    ),
)

CHAUDHURI_EDWARD: Words = (
    ("§2: raymond", "2", "The worst case topology gives O(n)."),
    (
        "§3.1",
        "3.1",
        "add a node to each group in turn, until we have added all nodes. Here |LG_i| ≤ "
        "√n.",
    ),
    (
        "§3.2",
        "3.2",
        "the number of links used for message passing to achieve mutual exclusion based on "
        "the proposed algorithm is … = √n(n-1)/2.",
    ),
    ("Theorem 3: the", "5.2", "will carry a token queue of length at most √n"),
    (
        "Theorem 3: LRQ",
        "5.2",
        "Queues of length √n are required for both the LRQ and GRQ",
    ),
    (
        "§2: helary",
        "2",
        "the number of messages vary from n to 2e+n-1 depending on the network topology",
    ),
    (
        "§7",
        "7",
        "in the worst case a node will have to wait until all other nodes have entered the "
        "critical section for a total time of (n - 1)(t + ϑ).",
    ),
    ("Fig. 2a", "3.6", "a REQUEST message is sent to node (0, 1), the GRC (Figure 2 (a))"),
    (
        "Fig. 2b",
        "3.6",
        "then broadcasts a new GRC message to all nodes in the Global Group",
    ),
    ("Fig. 2c", "3.6", "the token is forwarded to node (3, 2)"),
    (
        "§5.1: the worst",
        "5.1",
        "Hence the total number of messages for the execution of this critical section is "
        "6 + 3(√n - 1) = O(√n).",
    ),
    ("§5.1: heavy load, approaches", "5.1", "This value approaches 2 as n gets large."),
    (
        "§5.1: heavy load",
        "5.1",
        "the number of messages per critical section is 2(n + √n - 1)/n = "
        "2(1 + 1/√n - 1/n)",
    ),
    (
        "Fig. 3",
        "6",
        "as n increases the graph approaches a limiting value of 2 messages per critical "
        "section entry, at every load level",
    ),
    ("Fig. 4", "6", "outperforming these algorithms at the lower load levels (5% and 25%)"),
    ("Fig. 5", "6", "outperforming these algorithms at the lower load levels (5% and 25%)"),
    (
        "Fig. 6",
        "6",
        "performs almost identically under heavy load (70%), to the network given as a "
        "linear array in [Raymond, 89].",
    ),
    (
        "§2: chaudhuri-91, 3.5",
        "2",
        "This algorithm requires 3.5√n messages under light demand",
    ),
    ("§2: chaudhuri-91, 4", "2", "reduces to four messages only under heavy demand"),
    ("§2: chaudhuri-95, 3√n", "2", "requires 3√n messages under light demand"),
    ("§2: chaudhuri-95, √n", "2", "and √n messages under heavy demand"),
    ("§2: chaudhuri-karaata", "2", "proposed an O(n^{1/3}) distributed mutual exclusion"),
    (
        "§2: banerjee-chrysanthis",
        "2",
        "The message complexity is O(n) under light load and tends to 3 messages per "
        "critical section invocation under heavy load.",
    ),
)

SURVEY: Words = (
    (
        "Srimani-Reddy: sequence",
        "6",
        "Sequence numbers are bounded by the use of a large integer L > N.",
    ),
    ("Lamport: first", "5", "Requests are served in a first-come-first-served manner."),
    (
        "Ricart-Agrawala: first",
        "5",
        "Requests are serviced in a first-come-first-served manner.",
    ),
    (
        "Helary-Plouzeau-Raynal: first",
        "4",
        "by the use of logical clocks and are granted in a first-come-first-served manner",
    ),
    (
        "Raymond: first",
        "4",
        "to enforce the order of events and requests are granted in a "
        "first-come-first-served manner.",
    ),
    (
        "Ricart-Agrawala's token: first",
        "4",
        "Therefore, a first-come-first-served service is not guaranteed.",
    ),
    (
        "Raymond: a piggyback",
        "4",
        "A piggyback strategy could be used to reduce the number of messages.",
    ),
    (
        "Agrawal-El Abbadi: log",
        "5",
        "may not be able to form a tree quorum in some cases after the failure of log N "
        "nodes.",
    ),
    (
        "Singhal's heuristic: entries",
        "4",
        "prevents a node from obtaining the token twice while some other node is waiting "
        "for it.",
    ),
    (
        "Thomas",
        "5",
        "to obtain permission from only a majority (N+1)/2 of nodes.",
    ),
    (
        "Kakugawa et al: with",
        "6",
        "there exists another quorum that has a null intersection with one of these h "
        "quorums.",
    ),
    (
        "Kakugawa et al: the example",
        "6",
        "at most two nodes are in the CS simultaneously.",
    ),
    (
        "Mizuno-Neilsen-Rao: 2√2",
        "4",
        "and the upper bound in this case would be (2 * SQRT(2) * SQRT(N) - 2).",
    ),
    ("Agrawal-El Abbadi: any", "5", "and can be generalized to arbitrary trees"),
    ("Table 1: Ricart", "Table 1", "Ricart-Agrawala [21] N"),
    ("Table 1: Suzuki-Kasami, N", "Table 1", "Suzuki-Kazami [27] N"),
    (
        "Table 1: Suzuki-Kasami, L",
        "Table 1",
        "L * N + (N - 1) for bounded sequence numbers.",
    ),
    ("Table 1: Nishio", "Table 1", "Nishio [15] N"),
    ("Table 1: Mishra-Srimani", "Table 1", "Mishra-Srimani [11] L*N+(N-1)"),
    ("Table 1: Mizuno-Neilsen-Rao, binary", "Table 1", "binary tree protocol … avg log N"),
    (
        "Table 1: Mizuno-Neilsen-Rao, finite",
        "Table 1",
        "finite proj. planes avg log N 3 * SQRT(N)",
    ),
    (
        "Table 1: Mizuno-Neilsen-Rao, modified",
        "4",
        "A modified grid-set protocol may be used to generate the quorum agreements and "
        "the upper bound in this case would be (2 * SQRT(2) * SQRT(N) - 2).",
    ),
    ("Table 1: Neilsen-Mizuno", "Table 1", "linear topology star topology D + 1 N 3"),
    ("Table 1: Helary", "Table 1", "N to (N-1+D) N to 2(N-1) N to 2N N"),
    ("Table 1: Raymond", "Table 1", "Raymond [16] 2*D avg log N"),
    (
        "Table 1: Singhal",
        "4",
        "is (N+1)/2 in case of light traffic, and N in the case of heavy traffic.",
    ),
    ("Table 1: Naimi", "Table 1", "Naimi-Trehel [13] avg log N"),
    ("Table 2: Lamport", "Table 2", "Lamport [8] 3*(N-1)"),
    ("Table 2: Ricart", "Table 2", "Ricart-Agrawala [20] 2*(N-1)"),
    ("Table 2: Carvalho", "Table 2", "Carvalho-Roucairol [3] 0 to 2*(N-1)"),
    ("Table 2: Raynal as", "5", "has an upper bound of (N-1)2 in the worst case"),
    ("Table 2: Raynal,", "Table 2", "Raynal [18] 2*(N-1)2"),
    ("Table 2: Maekawa", "Table 2", "Maekawa [9] 3*sqrt(N) to 5*sqrt(N)"),
    ("Table 2: Sanders", "Table 2", "Sanders [22] Ii - {i} + 2( Ri - {i} ) Uses quorums."),
    ("Table 2: Agrawal-El Abbadi, O", "Table 2", "Agrawal-El Abbadi [2] O(log N)"),
    (
        "Table 2: Agrawal-El Abbadi, (N",
        "5",
        "it requires (N+1)/2 messages when some failures occur.",
    ),
    ("Table 2: Singhal", "5", "an average of (N-1) messages … it requires 3 * (N-1)/2."),
    ("Table 3: Raymond", "Table 3", "Raymond [17] … 2*(N-1) 0 or N+K-1 3*s to 5*s"),
    ("Table 3: Srimani", "Table 3", "Srimani-Reddy [26] … 2*(N-1) 0 or N+K-1 3*s to 5*s"),
    ("Table 3: Kakugawa", "Table 3", "Kakugawa et al [7] 2*(N-1) 0 or N+K-1 3*s to 5*s"),
)

LECTURE: Words = (
    (
        "complete mesh",
        "Token-Based Solution",
        "Exactly 0 or n messages are needed in the physical topology.",
    ),
    (
        "majority",
        "Majority-Based Approaches",
        "receives confirmations from at least ⌊ n / 2 ⌋ + 1 processes including itself",
    ),
    (
        "deadlocks",
        "Mesh Algorithm",
        "Avoidable through the introduction of two additional message types",
    ),
    ("lift", "Lift Algorithm", "creates a spanning tree with edges directed towards it"),
    ("Suzuki", "Token-Based Solution", "(order in increasing sequence numbers)"),
    (
        "mesh: sets of",
        "Mesh Algorithm",
        "Granting sets have the size (2√n) - 1 … Each process is a member of (2√n) - 1 "
        "granting sets",
    ),
    (
        "mesh: two sets",
        "Mesh Algorithm",
        "their R_i and R_j have at least two processes in common",
    ),
    (
        "triangle: sets of about",
        "Triangular Arrangement of Processes",
        "Granting sets have a size of about √2√n",
    ),
    (
        "triangle: sets of either",
        "Solution for Load Balancing",
        "Each granting set of the one scheme intersects with each granting set of the "
        "other scheme",
    ),
    (
        "triangle: in both",
        "Solution for Load Balancing",
        "All processes occur altogether in both schemes equally often in a granting set",
    ),
    (
        "triangle: by one",
        "Triangular Arrangement of Processes",
        "Process 15 only occurs in one granting set … Process 1 occurs in 9 granting sets",
    ),
    (
        "minimal arrangements: K",
        "minimal arrangement",
        "For the size of the granting set holds … K = … (1 + √(4n - 3)) = … √n",
    ),
    (
        "minimal arrangements: n",
        "minimal arrangement",
        "K - 1 = 4 = 2^2 … n = 21 … K - 1 = 5 = 5^1 … n = 43",
    ),
    (
        "minimal arrangements: there",
        "minimal arrangement",
        "K = 7 or K = 10 there is no minimal arrangement.",
    ),
    ("closing table: Token", "closing table", "Token Ring 1 ... ∞"),
    ("closing table: Simple", "closing table", "Simple Broadcast 3(n - 1)"),
    ("closing table: Improved Broadcast", "closing table", "Improved Broadcast 2(n - 1)"),
    ("closing table: Improved Token", "closing table", "Improved Token Ring 0 ... 2n - 1"),
    (
        "closing table: Mesh",
        "Mesh Algorithm and closing table",
        "3[(2√n) - 1] = O(√n) messages per access altogether … "
        "5[(2√n) - 1] in the worst-case … Mesh Arrangement O(√n)",
    ),
    (
        "mesh: 5(2√n−1)",
        "Mesh Algorithm",
        "Increases the number of messages per access on 5[(2√n) - 1] in the worst-case",
    ),
    ("closing table: Lift", "closing table", "Lift Algorithm on k -ary Tree O(logk n)"),
    ("closing table: Central", "closing table", "Central Manager 3"),
)

BY_SOURCE: dict[str, tuple[str, Words]] = {
    "Maekawa 1985": ("maekawa-1985", MAEKAWA),
    "Ricart-Agrawala TR-869": ("ricart-agrawala-tr869-1980", TR_869),
    "Chaudhuri-Edward": ("chaudhuri-edward", CHAUDHURI_EDWARD),
    "Velazquez survey 1993": ("velazquez-1993-survey", SURVEY),
    "Mühl lecture": ("muehl-lecture", LECTURE),
}


def sentence(source: str, title: str) -> Quotation:
    paper, words = BY_SOURCE[source]
    found = (
        Quotation(paper, place, quoted)
        for beginning, place, quoted in words
        if title.startswith(beginning)
    )
    return next(found)
