"""Which tests `pytest -m quick` plays: all but those listed here.

Together the quick ones take about a minute on two cores once kernels are compiled, and reach every room of the package.
Whatever is listed here starts many processes or browsers, plays long simulations, waits, or compiles on purpose. What
takes longer than a second belongs here; a name that no longer exists is refused by `test_quick_part.py`.
"""

from __future__ import annotations

import pytest

SLOW_FILES = {
    "test_any_machine.py",
    "test_benchmark_harness.py",
    "test_changed_sources.py",
    "test_dashboard.py",
    "test_dask.py",
    "test_examples.py",
    "test_full_bandit_figures.py",
    "test_gradient_ts_regret.py",
    "test_hostile_files.py",
    "test_maximize_optimistic_against_rivals.py",
    "test_maximizer_against_peers.py",
    "test_reference_figures.py",
    "test_replay_figures.py",
    "test_report.py",
    "test_reproduce_command.py",
    "test_semi_bandit_certified.py",
    "test_semi_bandit_figures.py",
    "test_semi_bandit_radii.py",
    "test_semi_bandit_recomputation.py",
    "test_service_description.py",
    "test_service_limits.py",
    "test_service_postgres.py",
    "test_service_process.py",
    "test_service_stopping.py",
    "test_site.py",
    "test_study_compilation.py",
    "test_study_faults_database.py",
    "test_study_faults_killed.py",
    "test_study_faults_service.py",
    "test_study_machine.py",
    "test_uncompiled.py",
}
"""Files without any quick test. They are not even imported if only quick tests are wanted."""

SLOW_TESTS = {
    "test_against_revision.py": {
        "test_a_changed_learner_is_named_and_fails_the_run",
        "test_equal_results_end_with_zero",
    },
    "test_aggregate_moments.py": {
        "test_any_number_of_options",
        "test_estimates_are_unbiased",
        "test_estimates_with_relevances_are_unbiased_and_calibrated",
        "test_heavy_tails_widen_the_errors_of_the_covariance",
        "test_intervals_of_single_entries_hold_from_300_totals_on",
        "test_skewed_rewards_cost_some_coverage",
        "test_standard_errors_follow_the_chi_square_law",
        "test_the_bias_of_reweighting_is_small_beside_the_error_where_variances_differ_a_hundredfold",
        "test_weighting_beats_plain_least_squares_where_variances_differ",
        "test_without_reweighting_there_is_no_bias_in_small_samples_either",
    },
    "test_campaign.py": {
        "test_a_folder_is_held_by_one_process_and_as_often_as_it_likes",
    },
    "test_client.py": {
        "test_a_retry_does_what_one_request_would_have_done",
        "test_errors_are_those_of_the_study",
    },
    "test_command_line.py": {
        "test_a_killed_command_leaves_no_compiling_process_behind",
        "test_compilation_survives_the_loss_of_its_processes",
        "test_ctrl_c_while_kernels_are_compiled_ends_all_processes",
        "test_nothing_writable_still_works",
        "test_warmup_compiles_into_the_cache",
    },
    "test_csv_cells.py": {
        "test_exported_keys_and_options_come_back",
    },
    "test_declared_state.py": {
        "test_a_compiled_learner_of_0_1_still_runs",
        "test_a_view_frees_no_memory_that_others_hold",
    },
    "test_documentation.py": {
        "test_each_page_shows_a_plain_learner_and_a_compiled_one",
        "test_learners_that_pages_show_pass_the_whole_conformance_suite",
        "test_snippets_run_and_print_what_the_page_says",
    },
    "test_full_bandit_estimates.py": {
        "test_the_nearest_semidefinite_matrix",
    },
    "test_full_bandit_runs.py": {
        "test_three_hundred_options_complete_rounds",
    },
    "test_histories.py": {
        "test_real_histories_are_never_refused_and_their_mistakes_are",
    },
    "test_lapack.py": {
        "test_other_processes_find_the_code_in_the_cache",
    },
    "test_learners_conform.py": {
        "test_memory_is_bounded",
    },
    "test_maximize_optimistic_real_instances.py": {
        "test_real_instances_are_certified_to_1e_9",
        "test_real_instances_of_twenty_options_are_certified_to_1e_6",
    },
    "test_maximize_optimistic_search.py": {
        "test_the_search_proves_nothing_and_says_so",
    },
    "test_maximize_utility.py": {
        "test_large_problems_are_certified",
        "test_large_problems_with_caps_are_certified",
        "test_problems_up_to_forty_options_are_solved_and_proven",
        "test_small_problems_are_solved_and_proven",
    },
    "test_maximize_utility_indefinite.py": {
        "test_branch_and_bound_finds_the_best_without_the_search",
        "test_many_options_end_within_seconds",
        "test_no_face_has_anything_better",
        "test_scip_agrees",
        "test_up_to_ten_options_are_certified",
    },
    "test_missing_rewards.py": {
        "test_options_come_and_go_for_long",
    },
    "test_names_in_two_spellings.py": {
        "test_a_study_is_found_by_either_spelling",
    },
    "test_one_option_at_a_time.py": {
        "test_a_simulation_from_a_file_says_it_once_in_a_line",
    },
    "test_pair_ucb.py": {
        "test_regret_beats_equal_weights_and_the_papers_learner",
    },
    "test_problem.py": {
        "test_gap_is_exact_with_any_caps",
    },
    "test_problem_distributions.py": {
        "test_any_workers_give_the_same_numbers_and_results_resume",
        "test_every_learner_pays_the_floor_of_theorem_4",
        "test_mc_empirical_pays_of_order_root_t_on_theorem_2",
    },
    "test_problems.py": {
        "test_random_spreads",
    },
    "test_read_returns.py": {
        "test_csv_needs_the_core_installation_only",
    },
    "test_reproduction.py": {
        "test_a_folder_with_more_replications_than_the_report_gives_the_reports_claims",
        "test_every_statement_is_judged",
        "test_verdicts_on_a_seeded_run",
        "test_without_risk_aversion_it_is_a_bandit_whose_rewards_are_all_seen",
    },
    "test_retired_options.py": {
        "test_no_weight_at_once_and_for_ever",
    },
    "test_returns.py": {
        "test_packaged_agrees_with_the_package_and_does_not_import_it",
        "test_packaged_market_data",
    },
    "test_semi_bandit_degenerate.py": {
        "test_an_option_never_seen_again",
    },
    "test_semi_bandit_numerics.py": {
        "test_no_cancellation_far_from_zero",
    },
    "test_semi_bandit_warnings.py": {
        "test_a_simulation_doubts_once_per_learner",
    },
    "test_service.py": {
        "test_names_are_text_whatever_they_hold",
    },
    "test_service_access.py": {
        "test_only_known_host_names_are_served",
        "test_strangers_learn_nothing_of_a_store_that_is_down",
    },
    "test_service_refusals.py": {
        "test_malformed_bodies_change_nothing",
        "test_noise_changes_nothing",
    },
    "test_simulate_command.py": {
        "test_a_cluster_gives_the_same_table",
        "test_ctrl_c_keeps_replications_and_the_same_command_continues",
        "test_names_are_printed_as_they_are_written",
        "test_the_example_is_printed_checked_and_run",
    },
    "test_simulation.py": {
        "test_ctrl_c_keeps_what_is_finished",
        "test_progress_is_shown_on_a_terminal_only",
        "test_same_numbers_on_any_number_of_workers",
    },
    "test_specifications.py": {
        "test_a_sweep_is_one_table_in_several_formats",
        "test_dollars_and_underscores_of_users_are_drawn_letter_by_letter",
        "test_whole_numbers_beyond_64_bits_are_text_in_parquet",
        "test_without_pyarrow_everything_else_is_written",
    },
    "test_study_changes.py": {
        "test_a_new_option_starts_unseen_and_is_found",
        "test_a_retired_option_gets_nothing_and_keeps_its_statistics",
    },
    "test_study_command.py": {
        "test_in_processes_of_their_own",
    },
    "test_study_command_files.py": {
        "test_a_log_with_keys_and_a_history_in_json",
        "test_files_that_are_refused",
    },
    "test_study_command_refusals.py": {
        "test_every_help_teaches_by_example",
        "test_refused",
    },
    "test_study_estimates.py": {
        "test_more_feedback_shows_less",
    },
    "test_study_faults_damage.py": {
        "test_a_store_of_an_older_version_is_upgraded_with_everything_in_it",
        "test_bytes_that_changed_on_the_disk_never_end_in_an_error_of_others",
    },
    "test_terminal_tables.py": {
        "test_long_names_of_learners_are_whole",
        "test_no_word_or_number_is_broken",
    },
}
"""The slow tests of files that have quick ones, too."""


SLOW_FIXTURES = {"reproduced"}
"""Fixtures that take seconds. Every test that uses one is slow."""

QUICK_STORE = "sqlite"
"""Of the tests that are played with every kind of store, the quick part plays this kind, which needs no server."""


def is_quick(item: pytest.Item) -> bool:
    """Return True if the quick part plays this test, or this example of a docstring."""
    name = getattr(item, "originalname", item.name)
    parameters = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return (
        item.path.name not in SLOW_FILES
        and name not in SLOW_TESTS.get(item.path.name, ())
        and SLOW_FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
        and parameters.get("store_url", QUICK_STORE) == QUICK_STORE
    )
