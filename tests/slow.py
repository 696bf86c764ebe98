"""Which tests are left out, and where.

SLOW: they take several seconds each.  `make test-slow` has them, `make test` has not.
LONG: real servers, real processes, whole searches.  `make test-quick` has none of them, and
of a test with many parameters only the first cases; `make test` has all.
"""

QUICK_CASES = 2

LONG = (
    "api/test_processes.py",
    "checker/test_node_schedules.py",
    "cli/test_like_flock.py",
    "cli/test_lock_cli.py",
    "house/test_chaos.py",
    "house/test_docs.py",
    "lab/test_own_algorithm.py",
    "lab/test_reproduce.py",
    "membership/test_etcd",
    "runtime/test_tcp.py",
    "serve/test_live.py",
    "serve/test_other_languages.py",
    "serve/test_serve.py",
    "simulator/test_cluster.py",
)

SLOW = {
    "algorithms/test_chaudhuri_91.py": (
        "test_that_is_three_and_a_half_root_n_on_average[400]",
    ),
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
    "checker/test_checker.py": (
        "test_fences_that_are_really_counted_grow[nishio-li-manning-apart]",
        "test_the_fast_search_finds_what_a_naive_one_finds[nishio-li-manning-apart-False-",
    ),
    "checker/test_node_schedules.py": (
        "test_every_schedule_of_a_story_holds[newcomers]",
        "test_every_schedule_of_a_story_holds[three]",
    ),
    "cli/test_no_fork.py": ("test_without_its_keeper_the_command_ends_in_time[stop]",),
    "contrib/test_in_the_box.py": ("test_work_is_done_once_for_all_workers",),
    "contrib/test_recipes.py": (
        "test_apscheduler",
        "test_celery_beat",
        "test_dask",
        "test_django",
        "test_gunicorn",
        "test_jupyter",
        "test_the_page_of_pytest",
    ),
    "contrib/test_tooz.py": ("test_the_suite_of_tooz",),
    "lab/test_reproduce.py": (
        "test_a_quick_run",
        "test_the_two_meshes_are_told_apart",
    ),
    "lab/test_voting.py": ("test_squares_come_to_an_end",),
    "house/test_chaos.py": ("test_the_same_with_postgresql",),
    "membership/test_engine_suite.py": (
        "TestEtcd::test_a_member_that_renews_stays",
        "TestEtcd::test_a_process_that_ends_without_leaving_is_out_after_its_lease",
        "TestEtcd::test_a_silent_member_is_out_after_its_lease_and_not_before",
    ),
    "membership/test_postgresql_full.py": ("test_a_disk_that_is_full",),
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
