/** Whether tests run at the size with which a guarantee was shown; without it, at one that takes less than a minute. */
export const IS_LONG = process.env['EVERTHREAD_TEST_LONG'] === '1'
