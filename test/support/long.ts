/** Whether tests run with as many threads as a guarantee was shown with; every run of the suite has fewer. */
export const IS_LONG = process.env['EVERTHREAD_TEST_LONG'] === '1'
