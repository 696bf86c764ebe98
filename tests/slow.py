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
    "algorithms/test_agrawal_el_abbadi.py": (
        "test_it_holds_whoever_crashes_and_when[3-2-1-(39846, 115655, 32)]",
        "test_the_others_go_on_when_as_many_crash_as_can_be_survived[2-31]",
    ),
    "algorithms/test_catalogue.py": ("test_it_can_be_checked[mishra-srimani]",),
    "algorithms/test_chaudhuri_91.py": (
        "test_it_holds_with_the_pinned_counts[9-requests2-counts2]",
        "test_that_is_three_and_a_half_root_n_on_average[100]",
        "test_that_is_three_and_a_half_root_n_on_average[400]",
    ),
    "algorithms/test_chaudhuri_95.py": ("test_that_is_three_root_n_on_average[400]",),
    "algorithms/test_chaudhuri_edward.py": (
        "test_it_holds_with_the_pinned_counts[4-1-settings2-counts2]",
    ),
    "algorithms/test_chaudhuri_karaata.py": (
        "test_it_holds_with_the_pinned_counts[6-1-counts3]",
        "test_nobody_waits_for_ever[5-10782]",
    ),
    "algorithms/test_helary_plouzeau_raynal.py": (
        "test_it_holds_with_the_pinned_counts[3-2-line-counts0]",
    ),
    "algorithms/test_maekawa_takeover.py": (
        "test_nodes_may_fail_at_any_time[3-2-1-coverage4]",
        "test_whoever_fails_whenever_the_others_go_on[level-13]",
    ),
    "algorithms/test_mishra_srimani.py": ("test_nobody_waits_for_ever[3-1-1]",),
    "algorithms/test_mishra_srimani_coordinator.py": (
        "test_one_node_may_fail_at_any_time[3-1-1-",
    ),
    "algorithms/test_museum.py": (
        "test_the_exhibit_shows_the_verdict[suzuki-kasami-lifo]",
    ),
    "algorithms/test_mutants.py": (
        "test_a_harmless_mutant_does_no_harm[mishra-srimani-coordinator: pass]",
        "test_a_mutant_is_caught[chaudhuri-edward: if False:]",
        "test_a_mutant_is_caught[mishra-srimani-coordinator: nothing]",
        "test_a_mutant_is_caught[naimi-trehel-failures: pass]",
        "test_a_mutant_is_caught[ricart-agrawala-failures: self.settle()]",
        "test_a_mutant_is_caught[sanders: pass]",
        "test_both_searches_catch_it_in_the_same_way[maekawa: pass0]",
        "test_both_searches_catch_it_in_the_same_way[mishra-srimani-coordinator: ",
        "test_both_searches_catch_it_in_the_same_way[naimi-trehel-failures: pass]",
        "test_both_searches_catch_it_in_the_same_way[ricart-agrawala-failures: self.set",
    ),
    "algorithms/test_naimi_trehel_failures.py": (
        "test_nodes_may_fail_at_any_time[3-2-0-coverage4]",
        "test_nodes_may_fail_at_any_time[3-2-1-coverage5]",
        "test_nodes_may_fail_at_any_time[4-1-1-",
    ),
    "algorithms/test_neilsen_mizuno.py": (
        "test_it_holds_with_the_pinned_counts[4-2-line-counts6]",
    ),
    "algorithms/test_nishio_li_manning.py": (
        "test_it_holds_with_losses_and_early_time_outs[3-(0, 1, 1)-any order, 1 loss-3-",
    ),
    "algorithms/test_outside.py": ("test_what_is_new_passes_its_own_test[base2]",),
    "algorithms/test_raymond_recovery.py": (
        "test_who_fails_comes_back_and_all_go_on[3-1-2-star-coverage4]",
        "test_who_fails_comes_back_and_all_go_on[3-2-1-star-coverage5]",
        "test_who_fails_comes_back_and_all_go_on[4-1-1-line-coverage7]",
    ),
    "algorithms/test_raynal_prime.py": (
        "test_as_published_an_attempt_costs_2_n_minus_1[25]",
        "test_from_a_request_to_its_entry_it_takes_n_minus_1_squared_at_most[50]",
    ),
    "algorithms/test_ricart_agrawala_bounded.py": (
        "test_it_holds_with_requests_without_end[3-5-coverage4]",
    ),
    "algorithms/test_ricart_agrawala_broadcast.py": (
        "test_it_holds[(2, 1, 1)-True-(12383, 33035, 26)-19/4-3]",
        "test_it_holds[(3, 3, 1)-True-(144740, 416606, 45)-34/7-4]",
    ),
    "algorithms/test_ricart_agrawala_broadcast_ordered.py": (
        "test_an_entry_costs_two_broadcasts[Level(p=0.1)-25]",
    ),
    "algorithms/test_ricart_agrawala_failures.py": (
        "test_nodes_join_and_leave_in_every_schedule[3-1-(3,)-(53079, 184284, 36)]",
        "test_nodes_may_fail_and_come_back_at_any_time[3-(0, 1, 1)-any order, 1 crash, ",
        "test_nodes_may_fail_and_come_back_at_any_time[3-1-any order, 2 crashes-(17814,",
        "test_ways_a_to_d_give_a_number_that_is_high_enough[a-requests0]",
        "test_ways_a_to_d_give_a_number_that_is_high_enough[d-requests3]",
        "test_when_all_compete_too[50]",
    ),
    "algorithms/test_ricart_agrawala_implicit.py": (
        "test_it_holds_in_every_schedule_that_a_bound_allows[(2, 2, 1)-True-(55187, 168",
    ),
    "algorithms/test_ricart_agrawala_insertion.py": (
        "test_nodes_may_come_and_go[(1, 1, 1)-any order-(1,)-(47320, 176348, 32)]",
    ),
    "algorithms/test_ricart_agrawala_priority.py": (
        "test_in_order_the_bound_of_the_appendix_does_not_depend_on_steps[(1, 1, 4)]",
    ),
    "algorithms/test_ricart_agrawala_ring.py": (
        "test_the_bounds_of_the_appendix_hold_on_a_ring_too[False-5-ricart-agrawala-rin",
        "test_the_bounds_of_the_appendix_hold_on_a_ring_too[True-4-ricart-agrawala-ring",
        "test_three_nodes_that_ask_twice[ricart-agrawala-ring-notes-coverage1-messages1",
        "test_to_set_the_count_by_the_notes_forgets_an_early_reply[3-False]",
    ),
    "algorithms/test_ricart_agrawala_token.py": (
        "test_a_node_that_everyone_knows_to_wait_waits_for_each_other_once[9]",
    ),
    "algorithms/test_sanders.py": ("test_with_three_nodes_too",),
    "algorithms/test_singhal_dynamic.py": (
        "test_that_is_n_minus_1_on_average[25]",
        "test_that_is_n_minus_1_on_average[50]",
        "test_three_halves_if_it_is_chance_whether_the_holder_comes_first[40]",
    ),
    "algorithms/test_singhal_heuristic.py": (
        "test_it_holds_with_the_pinned_counts[requests2-counts2]",
    ),
    "checker/test_checker.py": (
        "test_an_algorithm_holds_with_the_pinned_counts[('mishra-srimani', 3, 1, '')-(5",
        "test_an_algorithm_holds_with_the_pinned_counts[('naimi-trehel-failures', 3, 2,",
        "test_fences_grow_in_every_step_of_the_worst_schedule[nishio-li-manning-apart]",
        "test_fences_that_are_really_counted_grow[nishio-li-manning-apart]",
        "test_maekawa_1985_deadlocks_on_the_grid_of_four[plain]",
        "test_the_fast_search_finds_what_a_naive_one_finds[nishio-li-manning-apart-Fals",
        "test_the_fast_search_finds_what_a_naive_one_finds[raymond-k-True-3-1]",
        "test_the_fast_search_finds_what_a_naive_one_finds[ricart-agrawala-readers-writ",
        "test_tr869_6_4_outstanding_numbers_are_at_most_n_minus_1_apart[(2, 2, 2)-fifo]",
        "test_tr869_listing_exceeds_the_bound_out_of_order[requests0-6]",
    ),
    "checker/test_checker_arrays.py": (
        "test_both_searches_find_the_same_states_in_the_same_order[maekawa]",
        "test_keys_get_one_number_each_whatever_their_hashes_are[2]",
        "test_the_museum_shows_its_verdicts_on_arrays_too[maekawa-1985]",
    ),
    "checker/test_node_schedules.py": (
        "test_a_node_that_errs_is_found_out[a death re-forms nothing]",
        "test_every_schedule_of_a_story_holds[death]",
        "test_every_schedule_of_a_story_holds[forgetting]",
        "test_every_schedule_of_a_story_holds[newcomers]",
        "test_every_schedule_of_a_story_holds[semaphore]",
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
    "house/test_chaos.py": ("test_the_same_with_postgresql",),
    "lab/test_executor.py": (
        "test_workers_of_a_new_cluster_ignore_ctrl_c_and_are_replaced",
    ),
    "lab/test_reproduce.py": (
        "test_a_quick_run",
        "test_the_two_meshes_are_told_apart",
    ),
    "lab/test_voting.py": ("test_squares_come_to_an_end",),
    "membership/test_engine_suite.py": (
        "TestEtcd::test_a_member_that_renews_stays",
        "TestEtcd::test_a_process_that_ends_without_leaving_is_out_after_its_lease",
        "TestEtcd::test_a_silent_member_is_out_after_its_lease_and_not_before",
    ),
    "membership/test_postgresql_full.py": ("test_a_disk_that_is_full",),
    "node/test_fences.py": ("test_seeds_with_blocks_that_run_out_all_the_time[4]",),
    "quorums/test_quorum_analyses.py": (
        "test_any_two_quorums_meet_and_each_holds_its_node[masking]",
        "test_any_two_quorums_meet_and_each_holds_its_node[tree]",
        "test_any_two_quorums_meet_and_each_holds_its_node[weighted]",
        "test_availability_is_drawn[64-pdf]",
        "test_every_kind_is_described[cyclic-31]",
        "test_every_kind_is_described[grid-400]",
        "test_every_kind_is_described[k-coterie-31]",
        "test_every_kind_is_described[plane-31]",
        "test_every_kind_is_described[triangle-400]",
        "test_every_pair_is_described[100-",
        "test_every_pair_is_described[31-agreement:plane]",
        "test_every_pair_is_described[31-sanders:maekawa]",
    ),
    "quorums/test_quorums.py": (
        "test_any_two_quorums_meet_and_each_holds_its_node[majority]",
        "test_any_two_quorums_meet_and_each_holds_its_node[plane]",
    ),
    "simulator/test_cluster.py": (
        "test_a_mutant_is_caught_by_a_seed[a death re-forms nothing]",
        "test_a_mutant_is_caught_by_a_seed[a member answers Formed and speaks on]",
        "test_a_mutant_is_caught_by_a_seed[messages of older",
        "test_a_mutant_is_caught_by_a_seed[only the first reports count]",
        "test_a_mutant_is_caught_by_a_seed[the next is called",
        "test_a_mutant_is_caught_by_a_seed[what comes twice is taken twice]",
        "test_a_mutant_of_what_ships_is_caught[a connection comes without a greeting]",
        "test_a_mutant_of_what_ships_is_caught[a connection that comes up after it was ",
        "test_a_mutant_of_what_ships_is_caught[a gap is accepted]",
        "test_a_mutant_of_what_ships_is_caught[a gap is not noticed]",
        "test_a_mutant_of_what_ships_is_caught[a pause of the machine is not",
        "test_a_mutant_of_what_ships_is_caught[a renewal counts",
        "test_a_mutant_of_what_ships_is_caught[a socket that cannot be looked at is no ",
        "test_a_mutant_of_what_ships_is_caught[a step that failed is not told to the pr",
        "test_a_mutant_of_what_ships_is_caught[an engine that fails unforeseen leaves t",
        "test_a_mutant_of_what_ships_is_caught[an error of the engine counts as a renew",
        "test_a_mutant_of_what_ships_is_caught[one effect that fails ends all]",
        "test_a_mutant_of_what_ships_is_caught[the margin is ignored]",
        "test_a_mutant_of_what_ships_is_caught[what follows from a step that failed is ",
        "test_a_mutant_of_what_ships_is_caught[who is not connected is not dialled]",
        "test_no_seed_ends_in_misrule[151]",
        "test_no_seed_ends_in_misrule[201]",
        "test_no_seed_ends_in_misrule[251]",
        "test_no_seed_ends_in_misrule[51]",
    ),
}
