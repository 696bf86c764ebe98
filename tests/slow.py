"""Tests that take several seconds each: `make test-slow` has them, `make test` has not."""

SLOW = {
    "algorithms/test_mishra_srimani_coordinator.py": (
        "test_one_node_may_fail_at_any_time[3-1-1-",
    ),
    "algorithms/test_museum.py": (
        "test_the_exhibit_shows_the_verdict[suzuki-kasami-lifo]",
    ),
    "algorithms/test_mutants.py": (
        "test_a_mutant_is_caught[chaudhuri-edward: if False:]",
        "test_a_mutant_is_caught[naimi-trehel-failures: pass]",
        "test_a_mutant_is_caught[ricart-agrawala-failures: self.settle()]",
    ),
    "algorithms/test_naimi_trehel_failures.py": ("test_nodes_may_fail_at_any_time[4-1-1-",),
    "algorithms/test_sanders.py": ("test_with_three_nodes_too",),
    "lab/test_reproduce.py": (
        "test_a_quick_run",
        "test_the_two_meshes_are_told_apart",
    ),
    "lab/test_voting.py": ("test_squares_come_to_an_end",),
    "quorums/test_quorum_analyses.py": (
        "test_any_two_quorums_meet_and_each_holds_its_node[weighted]",
        "test_every_pair_is_described[100-",
    ),
    "simulator/test_cluster.py": (
        "test_a_mutant_is_caught_by_a_seed[messages of older",
        "test_a_mutant_is_caught_by_a_seed[the next is called",
        "test_a_mutant_of_what_ships_is_caught[a gap is not noticed]",
        "test_a_mutant_of_what_ships_is_caught[a pause of the machine is not",
        "test_a_mutant_of_what_ships_is_caught[a renewal counts",
        "test_no_seed_ends_in_misrule[151]",
        "test_no_seed_ends_in_misrule[201]",
        "test_no_seed_ends_in_misrule[251]",
    ),
}
