#ifndef DR_TEST_RUNNER_H
#define DR_TEST_RUNNER_H

/* Between the runner and the checks; tests include harness/test.h only. */

/* Removes what dr_test_tmpdir made. */
void dr_test_cleanup(void);

#endif
