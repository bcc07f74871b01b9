/** What the model reads as the result of a call that was cut off: by a stop, or by the end of its thread. */
export const CUT_CALL = {
  interrupted: 'This call was interrupted: the user stopped the run. It may have taken effect in part.',
  cancelled: 'This call was cancelled: the thread was terminated.',
} as const
